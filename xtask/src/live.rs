//! `cargo xtask live`: runs the tests that need the real machine.
//!
//! A live test is marked `#[test] #[ignore = "live: NEED, …"]`, with its requirements: `root`, `tracefs`, `devpts`, a
//! program, or `timing`, which means a machine without other load. Each test runs alone, in a process of its own. A
//! failure while something else used the machine is reported as disturbed, not as a failure; nothing is repeated. A
//! test that finds that it cannot test something prints a line that begins with `not tested: ` and counts as not run.

mod find;
mod machine;
mod needs;

use find::Live;
use machine::Disturbance;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Run the tests that need the real machine, each alone
///
/// Exits with 3 if nothing failed but tests were disturbed or not run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// List the tests and what each needs instead of running any
    #[arg(long)]
    list: bool,
    /// Install missing programs with apt-get
    #[arg(long)]
    install: bool,
    /// Start no test after this time
    #[arg(long, value_name = "SECONDS")]
    at_most: Option<u64>,
    /// Run only the tests whose names contain one of these
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Maximum duration of a test. It is not an assertion: a test that hangs must not block the others.
const LONGEST: Duration = Duration::from_secs(600);

/// Features that also build the tests that compare with other implementations.
const FEATURES: &str =
    "punctual/reference-checks,punctual-workloads/reference-checks,punctual-rt-capi/reference-checks";

/// Prefix of a line of a test that passes without having tested everything.
const NOT_TESTED: &str = "not tested: ";

/// Exit code if nothing failed, but something was disturbed or not run.
const INCONCLUSIVE: i32 = 3;

#[derive(Default)]
struct Counts {
    passed: u32,
    failed: Vec<String>,
    disturbed: Vec<String>,
    not_run: Vec<String>,
}

/// Runs the live tests whose names contain one of the words, or all of them, then the tests that compare with other
/// implementations. If the time is limited, these are not built: they need most of the workspace built once more.
///
/// # Errors
/// A test failed on an undisturbed machine. The process exits with 3 if tests were only disturbed or not run.
pub fn run(options: &Options) -> Result<(), String> {
    let Options { install, names, .. } = options;
    let at_most = options.at_most.map(Duration::from_secs);
    let marked = find::marked(crate::root())?;
    if options.list {
        marked.iter().for_each(|m| println!("{}: {} needs {}", m.folder.display(), m.name, m.needs.join(", ")));
        return Ok(());
    }
    let missing = needs::missing(&marked);
    if *install {
        needs::install(&missing)?;
    }
    let missing = if *install { needs::missing(&marked) } else { missing };
    missing.iter().for_each(|need| println!("missing: {need}: {}", needs::advice(need)));
    let mut counts = Counts::default();
    let mut tests = find::tests(&marked, at_most.is_none())?;
    tests.retain(|test| names.is_empty() || names.iter().any(|name| test.path.contains(name)));
    let began = Instant::now();
    let is_late = || at_most.is_some_and(|most| began.elapsed() > most);
    if at_most.is_some() {
        start_elsewhere(&mut tests);
    }
    for test in tests {
        match is_late() {
            true => counts.not_run.push(format!("{} {}", test.package, test.path)),
            false => one(&test, &missing, &mut counts),
        }
    }
    match at_most {
        None if names.is_empty() => compared(&mut counts),
        None => {}
        Some(_) => println!("not built with a time limit: the tests that compare with other implementations"),
    }
    ended(&counts)
}

/// Rotates the order of the tests. If time is short, the starting point changes every hour, so that every test runs
/// from time to time.
fn start_elsewhere(tests: &mut [Live]) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let hours = (now.as_secs() / 3_600) as usize;
    tests.rotate_left((hours * 61) % tests.len().max(1));
}

fn one(test: &Live, missing: &[String], counts: &mut Counts) {
    let name = format!("{} {}", test.package, test.path);
    if let Some(need) = test.needs.iter().find(|need| missing.contains(need)) {
        println!("{name} ... not run: needs {need}");
        return counts.not_run.push(name);
    }
    let mut command = Command::new(&test.program);
    command.args(["--exact", &test.path, "--ignored", "--nocapture"]).current_dir(&test.folder);
    let (passed, said, disturbance) = finished(command);
    let left_out = said.lines().find_map(|line| line.strip_prefix(NOT_TESTED)).filter(|_| passed);
    if let Some(why) = left_out {
        println!("{name} ... not run, or not all of it: {why}");
        return counts.not_run.push(name);
    }
    match (passed, disturbance.is_any()) {
        (true, _) => {
            println!("{name} ... ok");
            counts.passed += 1;
        }
        (false, true) => {
            println!("{said}\n{name} ... disturbed: {disturbance}");
            counts.disturbed.push(name);
        }
        (false, false) => {
            println!("{said}\n{name} ... FAILED");
            counts.failed.push(name);
        }
    }
}

/// Runs a command. Returns whether it passed, its output, and what else used the machine.
fn finished(mut command: Command) -> (bool, String, Disturbance) {
    let before = machine::look();
    let began = Instant::now();
    let out = tempfile::tempfile().and_then(|file| Ok((file.try_clone()?, file.try_clone()?, file)));
    let (stdout, stderr, mut kept) = match out {
        Ok(files) => files,
        Err(e) => return (false, format!("cannot create a temporary file: {e}"), Disturbance::default()),
    };
    let mut child = match command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn() {
        Ok(child) => child,
        Err(e) => return (false, format!("{command:?}: {e}"), Disturbance::default()),
    };
    let mut note = "";
    let passed = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if began.elapsed() < LONGEST => std::thread::sleep(Duration::from_millis(50)),
            _ => {
                note = "\nit did not end within 600 s and was killed";
                let _ = child.kill();
                let _ = child.wait();
                break false;
            }
        }
    };
    let disturbance = machine::since(&before, began.elapsed());
    let mut said = String::new();
    let read = std::io::Seek::rewind(&mut kept).and_then(|()| std::io::Read::read_to_string(&mut kept, &mut said));
    (passed, read.map_or_else(|e| e.to_string(), |_| said + note), disturbance)
}

/// Runs the tests that compare with other implementations (of JSON Schema, of edge detection, of the C header
/// generator), and the test that docs/schemas matches the types.
fn compared(counts: &mut Counts) {
    let workspace = ["test", "--workspace", "--quiet", "--features", FEATURES, "--"];
    let holding =
        ["equality::", "header::", "schemas", "documents", "history::", "kernel::", "kbuild::", "golden::", "watch::"];
    let made = ["test", "--quiet", "-p", "xtask", "--features", "reference-checks", "--", "schemas::"];
    for words in [[&workspace[..], &holding].concat(), made.to_vec()] {
        match Command::new("cargo").args(&words).status() {
            Ok(status) if status.success() => counts.passed += 1,
            _ => counts.failed.push(format!("cargo {}", words.join(" "))),
        }
    }
}

fn ended(counts: &Counts) -> Result<(), String> {
    let Counts { passed, failed, disturbed, not_run } = counts;
    println!(
        "live: {passed} passed, {} failed, {} disturbed, {} not run",
        failed.len(),
        disturbed.len(),
        not_run.len()
    );
    if !failed.is_empty() {
        return Err(format!("failed:\n{}", failed.join("\n")));
    }
    if !disturbed.is_empty() || !not_run.is_empty() {
        println!(
            "disturbed or not run, so their result is unknown:\n{}",
            [&disturbed[..], not_run].concat().join("\n")
        );
        std::process::exit(INCONCLUSIVE);
    }
    Ok(())
}
