//! `cargo trials lab`: tests the lab with real kernels in QEMU.

mod apps;
mod events;
mod gpio;
pub mod isolated;
mod wakeups;

use crate::built::punctual;
use crate::cases;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Test = fn(&Path) -> Result<String, String>;

/// Name of each test, what it shows, and its function.
const TESTS: [(&str, &str, Test); 17] = [
    ("boot", "a script runs in PREEMPT_RT, files go in and out, the exit code is the script's", boot),
    ("panic", "a kernel panic is reported", panics),
    ("hang", "a guest that hangs is reported within its timeout", hangs),
    ("silent", "a guest without a console is reported within its timeout", is_silent),
    ("network", "two guests reach each other", network),
    ("negative", "the stock kernel fails the claim that the RT kernel passes", negative_control),
    ("repeatable", "the same seed gives the same bytes, another seed does not", repeatable),
    ("bisect", "the commit that makes the kernel late is found", bisect),
    ("isolated", "cyclictest -S measures isolated CPUs as well, and respects taskset", isolated::isolated),
    (
        "timerlat",
        "the kernel's timerlat is measured to the last period, and nothing is left behind, even after kill -9",
        timerlat,
    ),
    ("hwlat", "the kernel's hwlat is measured", hwlat),
    (
        "deadline",
        "SCHED_DEADLINE threads are pinned by partitions, which are removed afterwards, even after kill -9",
        deadline,
    ),
    ("wakeups", "every wakeup source accounts for every period, including a UART in loopback mode", wakeups::wakeups),
    (
        "gpio",
        "every edge of a simulated GPIO line is received or accounted for; a PCI interrupt reaches UIO",
        gpio::gpio,
    ),
    ("events", "the event suite keeps every promise in the RT, the stock and the gpio-sim kernel", events::events),
    (
        "apps",
        "the applications on simulated lines: every code decoded under load, dial to radio, the paper's table",
        apps::apps,
    ),
    ("control", "several virtual CPUs show their control", control),
];

/// Tests that run only if named, because they need a kernel that takes minutes to build.
const NAMED_ONLY: [&str; 3] = ["gpio", "events", "apps"];

/// Tests in virtual time, which other load does not affect. They run at the same time as those of [`BESIDE`].
const VIRTUAL: [&str; 3] = ["negative", "repeatable", "bisect"];
/// Tests that are judged by their output, not by its timing. The test `boot`, which runs earlier, fetches the kernel
/// that they need.
const BESIDE: [&str; 4] = ["panic", "hang", "silent", "network"];

/// Run `punctual lab` with real kernels in QEMU (docs/lab.md)
///
/// Build first: cargo build --release. For gpio: cargo build --release -p punctual-gpio --features sim
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Tests to run; by default all but gpio, events and apps, whose kernel takes minutes to build
    #[arg(value_name = "TEST", value_parser = PossibleValuesParser::new(TESTS.map(|(name, what, _)| PossibleValue::new(name).help(what))))]
    names: Vec<String>,
}

/// Runs the tests, two at a time where that does not affect them.
pub fn run(wanted: &Wanted) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("punctual-lab-{}", std::process::id()));
    let wanted = |name: &str| match wanted.names.as_slice() {
        [] => !NAMED_ONLY.contains(&name),
        names => names.iter().any(|n| n == name),
    };
    let these = |which: &dyn Fn(&str) -> bool| -> Vec<&_> {
        TESTS.iter().filter(|(name, ..)| wanted(name) && which(name)).collect()
    };
    let is_beside = |name: &str| VIRTUAL.contains(&name) || BESIDE.contains(&name);
    let (first, rest) = (these(&|name| name == "boot"), these(&|name| name != "boot" && !is_beside(name)));
    let (a, b) = (these(&|name| VIRTUAL.contains(&name)), these(&|name| BESIDE.contains(&name)));
    let mut failed = one_by_one(&first, &folder);
    failed.extend(std::thread::scope(|scope| {
        let beside = scope.spawn(|| one_by_one(&b, &folder));
        let mut failed = one_by_one(&a, &folder);
        failed.extend(beside.join().unwrap_or_else(|_| vec!["a test panicked"]));
        failed
    }));
    failed.extend(one_by_one(&rest, &folder));
    match failed.is_empty() {
        true => fs::remove_dir_all(&folder).map_err(|e| e.to_string()),
        false => Err(format!("failed: {}; kept in {}", failed.join(", "), folder.display())),
    }
}

/// Runs the tests one after the other and prints the result of each. Returns the names of those that failed.
fn one_by_one(tests: &[&(&'static str, &str, Test)], folder: &Path) -> Vec<&'static str> {
    let mut failed = Vec::new();
    for (name, what, test) in tests {
        let place = folder.join(name);
        let run = || {
            fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
            test(&place).map(|figures| format!("{what}{figures}")).map_err(|why| format!("{what}: {why}"))
        };
        if cases::tried(name, run).is_none() {
            failed.push(*name);
        }
    }
    failed
}

/// Runs `punctual lab`. If a guest with several CPUs panics before the script runs, it is booted once more, with a
/// message: about one in 120 boots of Debian's RT kernels in QEMU 7.2 (TCG, one thread per CPU) panicked, each time in
/// a different place. The same applies if a guest ends with an unexpected breakpoint: the kernel patches its code with
/// the help of breakpoints (text_poke_bp_batch() in arch/x86/kernel/alternative.c), and an emulated CPU can still hit
/// one after the kernel has finished patching.
pub fn in_lab(words: &[&str]) -> Result<Output, String> {
    let words = [&["lab"], words].concat();
    let output = punctual(&words)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let emulated = said.contains("the kernel panicked") && (said.contains(EARLY) || said.contains(BREAKPOINT));
    if !(words.contains(&"--cpus") && emulated) {
        return Ok(output);
    }
    println!("trying once more: {said}");
    punctual(&words)
}

/// Part of the error of `punctual lab` for a guest that panics before the script runs.
const EARLY: &str = ", before the script started: ";
/// Part of the kernel's message about an unexpected breakpoint.
const BREAKPOINT: &str = "Oops: int3: ";

/// Runs `punctual lab` and checks the exit code and the output on both streams.
fn expect(words: &[&str], code: i32, says: &str) -> Result<String, String> {
    let output = in_lab(words)?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() == Some(code) && said.contains(says) {
        true => Ok(said),
        false => Err(format!("{words:?} ended with {}, expected {code} and `{says}`:\n{said}", output.status)),
    }
}

fn boot(place: &Path) -> Result<String, String> {
    let file = place.join("in.txt");
    fs::write(&file, "from outside\n").map_err(|e| e.to_string())?;
    let out = place.join("out");
    let put = format!("{}:/data/in.txt", file.display());
    let script = "uname -v; mkdir /tmp/r; tr a-z A-Z < /data/in.txt > /tmp/r/out.txt; exit 7";
    let out_text = out.display().to_string();
    expect(&["boot", "-k", "rt", "--put", &put, "--get", "/tmp/r", "--out", &out_text, "--", script], 7, "PREEMPT_RT")?;
    match fs::read_to_string(out.join("tmp/r/out.txt")) {
        Ok(text) if text == "FROM OUTSIDE\n" => Ok(String::new()),
        other => Err(format!("out.txt: {other:?}")),
    }
}

fn panics(_: &Path) -> Result<String, String> {
    expect(
        &["boot", "-k", "rt", "--append", "rdinit=/nowhere root=/dev/nowhere", "--", "true"],
        1,
        "the kernel panicked",
    )?;
    Ok(String::new())
}

fn hangs(_: &Path) -> Result<String, String> {
    expect(&["boot", "-k", "rt", "--timeout", "45s", "--", "sleep 10000"], 1, "the script did not end within 45s")?;
    Ok(String::new())
}

fn is_silent(_: &Path) -> Result<String, String> {
    let words = ["boot", "-k", "rt", "--timeout", "10s", "--append", "8250.nr_uarts=0", "--", "true"];
    expect(&words, 1, "nothing came from the console")?;
    Ok(String::new())
}

fn network(_: &Path) -> Result<String, String> {
    // Each guest waits until the other one responds.
    let script = "for i in $(seq 60); do ping -c 1 -W 1 10.77.0.$((3 - VM_NUMBER)) && break; done; sleep 5; \
                  ping -c 3 10.77.0.$((3 - VM_NUMBER))";
    expect(&["boot", "-k", "rt", "--guests", "2", "--", script], 0, "3 packets received, 0% packet loss")?;
    Ok(String::new())
}

/// Loads under which the stock kernel is late.
const LOADS: &str = "idle,memory,loopback,scheduler";

fn prove(kernel: &str, claim: &str, seed: &str, out: &Path) -> Result<(i32, Value), String> {
    let out = out.display().to_string();
    let words =
        ["prove", "-k", kernel, "-l", LOADS, "-D", "1200ms", "-c", claim, "--seed", seed, "--json", "--out", &out];
    let output = in_lab(&words)?;
    let error = || format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let document = serde_json::from_slice(&output.stdout).map_err(|_| error())?;
    Ok((output.status.code().unwrap_or(-1), document))
}

fn worst_ns(document: &Value) -> f64 {
    document["result"]["boots"][0]["verdict"]["worst"]["max_ns"].as_f64().unwrap_or(f64::NAN)
}

fn negative_control(place: &Path) -> Result<String, String> {
    let claim = "max < 40us";
    let (rt_code, rt) = prove("rt@6.12", claim, "1", &place.join("rt"))?;
    let (stock_code, stock) = prove("stock@6.12", claim, "1", &place.join("stock"))?;
    let (a, b) = (worst_ns(&rt), worst_ns(&stock));
    let figures = format!(": worst {:.1} µs (RT), {:.1} µs (stock), ratio {:.1}", a / 1e3, b / 1e3, b / a);
    match (rt_code, stock_code) {
        (0, 1) if b / a >= 5.0 => Ok(figures),
        codes => Err(format!("exit codes {codes:?}, expected (0, 1) and a ratio of at least 5{figures}")),
    }
}

fn repeatable(place: &Path) -> Result<String, String> {
    for (name, seed) in [("a", "3"), ("b", "3"), ("c", "4")] {
        prove("rt@6.12", "max < 1s", seed, &place.join(name))?;
    }
    let (a, b, c) = (tree(&place.join("a"))?, tree(&place.join("b"))?, tree(&place.join("c"))?);
    let mut said = String::new();
    if a != b {
        let differing =
            a.iter().zip(&b).find(|(x, y)| x != y).map_or(Path::new("a file more"), |(x, _)| &x.0).display();
        // Seen once with QEMU 7.2 on a loaded machine: two more instructions (4 ns) before one of the events.
        prove("rt@6.12", "max < 1s", "3", &place.join("again"))?;
        let again = tree(&place.join("again"))?;
        if again != a && again != b {
            return Err(format!("three runs with the same seed differ: {differing}"));
        }
        said = format!(" in two of three runs; the third differs: {differing}");
    }
    let histograms = |files: &[(PathBuf, Vec<u8>)]| -> Vec<Vec<u8>> {
        files.iter().filter(|(path, _)| path.starts_with("hist")).map(|(_, bytes)| bytes.clone()).collect()
    };
    match histograms(&a) == histograms(&c) {
        true => Err("another seed gave the same histograms".into()),
        false => Ok(format!("{said}: {} files", a.len())),
    }
}

fn tree(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).map_err(|e| format!("{}: {e}", next.display()))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                files.push((path.strip_prefix(folder).unwrap_or(&path).to_owned(), bytes));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Shell function that prints the timerlat settings that all its users share, the tracing instances and the journal.
const TRACES: &str = "traces() { cd /sys/kernel/tracing; cat osnoise/cpus osnoise/timerlat_period_us osnoise/options \
                      osnoise/stop_tracing_us; ls instances; ls /run/punctual 2>/dev/null; cd /; }; ";

fn timerlat(_: &Path) -> Result<String, String> {
    let script = format!(
        "{TRACES} echo 77 > /sys/kernel/tracing/osnoise/stop_tracing_us; traces > /tmp/before; \
         punctual measure --via timerlat -i 2ms -a 1 -D 3s -c 'max < 10s' -q -o /tmp/r || exit 1; \
         [ $(grep -cE '\"released\": (149[0-9]|150[0-9]),' /tmp/r/run.json) = 3 ] || {{ grep released /tmp/r/run.json; exit 2; }}; \
         traces > /tmp/after; cmp /tmp/before /tmp/after || exit 3; \
         punctual measure --via timerlat -D 60s -q -o /tmp/k & sleep 4; kill -9 $!; sleep 1; \
         [ -n \"$(ls /sys/kernel/tracing/instances)\" ] || exit 4; punctual measure -D 1s -q -o /tmp/l; \
         traces > /tmp/after; cmp /tmp/before /tmp/after || exit 5; grep -c . /tmp/r/run.json"
    );
    expect(
        &["boot", "-k", "rt@6.12", "--cpus", "2", "--timeout", "180s", "--", &script],
        0,
        "undid a change that process",
    )?;
    Ok(String::new())
}

fn hwlat(_: &Path) -> Result<String, String> {
    let script = "punctual measure --via hwlat -D 5s -c 'max < 10s' -o /tmp/r && ls /sys/kernel/tracing/instances";
    expect(&["boot", "-k", "rt@6.12", "--cpus", "2", "--timeout", "120s", "--", script], 0, "hardware latency")?;
    let script = "punctual measure --via hwlat -D 5s -o /tmp/r";
    let says = "it needs CONFIG_HWLAT_TRACER";
    expect(&["boot", "-k", "stock@6.12", "--timeout", "120s", "--", script], 4, says)?;
    Ok(String::new())
}

fn deadline(_: &Path) -> Result<String, String> {
    let script = "mkdir /cg; mount -t cgroup2 none /cg; look() { cat /cg/cpuset.cpus.effective; ls -d /cg/punctual*; ls /run/punctual; }; \
                  punctual measure --policy deadline -a 1,2 -D 4s -q -o /tmp/r & P=$!; sleep 3; \
                  for t in /proc/$P/task/*; do echo $(cat $t/comm) on $(grep Cpus_allowed_list $t/status) policy \
                  $(awk '{print $41}' $t/stat); done; wait $P || exit 1; look; \
                  punctual measure --policy deadline -a 1 -D 60s -q -o /tmp/k & sleep 3; kill -9 $!; sleep 1; \
                  punctual measure -D 1s -q -o /tmp/l; sleep 1; look; [ $(cat /cg/cpuset.cpus.effective) = 0-2 ]";
    let in_guest = |kernel, script, code, says| {
        expect(&["boot", "-k", kernel, "--cpus", "3", "--timeout", "120s", "--", script], code, says)
    };
    let said = in_guest("rt@6.12", script, 0, "undid a change")?;
    for thread in ["measure/1 on Cpus_allowed_list: 1 policy 6", "measure/2 on Cpus_allowed_list: 2 policy 6"] {
        if !said.contains(thread) {
            return Err(format!("no `{thread}` in:\n{said}"));
        }
    }
    // On this kernel, a partition would reset the affinity of every other process.
    let script = "mkdir /cg; mount -t cgroup2 none /cg; punctual measure --policy deadline -a 1,2 -D 1s -q -o /tmp/r";
    in_guest("rt@6.1", script, 4, "before Linux 6.2")?;
    Ok(String::new())
}

fn control(place: &Path) -> Result<String, String> {
    let out = place.join("run").display().to_string();
    let output =
        in_lab(&["prove", "-k", "rt@6.12", "--cpus", "2", "-l", "cpu", "-D", "800ms", "--json", "--out", &out])?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let control = &document["result"]["boots"][0]["verdict"]["virtual_control"];
    let ns = |name: &str| control[name].as_f64().unwrap_or(f64::NAN);
    let ratio = ns("beside_spinner_ns") / ns("idle_ns");
    let code = output.status.code();
    match (ratio >= 2.0, code) {
        (true, Some(3)) | (false, Some(0)) => Ok(format!(": {ratio:.1} times, exit code {code:?}")),
        _ => Err(format!("control {control}, exit code {code:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Bisects a Git tree whose "build" copies one of the distribution's kernels: PREEMPT_RT up to the third commit, the
/// stock kernel from the fourth on.
fn bisect(place: &Path) -> Result<String, String> {
    let tree = place.join("tree");
    fs::create_dir_all(&tree).map_err(|e| e.to_string())?;
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&tree).args(["-c", "user.name=vm", "-c", "user.email=vm@example.org"]).args(words);
        let output = command.output().map_err(|e| format!("git: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(format!("git {words:?}: {said}")) }
    };
    git(&["init", "-q"])?;
    let make =
        "olddefconfig:\n\nbzImage:\n\tmkdir -p $(O)/arch/x86/boot\n\tcp $$(cat kernel) $(O)/arch/x86/boot/bzImage\n";
    fs::write(tree.join("Makefile"), make).map_err(|e| e.to_string())?;
    let (rt, stock) = (cached_image("rt-amd64")?, cached_image("amd64")?);
    for number in 1..=5 {
        let image = if number < 4 { &rt } else { &stock };
        fs::write(tree.join("kernel"), image.display().to_string()).map_err(|e| e.to_string())?;
        fs::write(tree.join("number"), number.to_string()).map_err(|e| e.to_string())?;
        git(&["add", "-A"])?;
        git(&["commit", "-q", "-m", &format!("change {number}")])?;
        git(&["tag", &format!("v{number}")])?;
    }
    let config = place.join("config");
    fs::write(&config, "CONFIG_PREEMPT_RT=y\n").map_err(|e| e.to_string())?;
    let (tree, config, out) =
        (tree.display().to_string(), config.display().to_string(), place.join("out").display().to_string());
    let words = ["bisect", "--tree", &tree, "--good", "v1", "--bad", "v5", "--config", &config, "--out", &out];
    let proof = ["-l", "idle,memory,loopback", "-D", "900ms", "--claim", "max < 40us"];
    expect(&[&words[..], &proof[..]].concat(), 0, "change 4\n\n kernel | 2 +-").map(|_| String::new())
}

/// Returns the newest image of the 6.12 series that earlier tests have fetched.
fn cached_image(flavour: &str) -> Result<PathBuf, String> {
    let cache = punctual_vm::Cache::usual().map_err(|e| e.to_string())?;
    let lab = cache.root();
    let entries = fs::read_dir(lab).map_err(|e| format!("{}: {e}; run the test `negative` first", lab.display()))?;
    let images = entries.flatten().filter_map(|entry| fs::read_dir(entry.path().join("boot")).ok());
    let images = images.flat_map(|boot| boot.flatten()).map(|file| file.path());
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let flavoured = name.strip_prefix("vmlinuz-6.12.").and_then(|n| n.split_once('-')).map(|(_, f)| f.to_owned());
        flavoured.as_deref() == Some(flavour)
    };
    images
        .filter(wanted)
        .max()
        .ok_or(format!("no 6.12 kernel `{flavour}` in {}: run the test `negative` first", lab.display()))
}
