//! `cargo trials app`: compares the results of `prove --app` with what the programs themselves logged.

mod culprits;

use culprits::{CULPRITS, scored};
use punctual_model::{Application, Run};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TRUTH: &str = include_str!("truth.c");
const STAGES: &str = include_str!("stages.c");
const CULPRIT: &str = include_str!("culprit.c");

/// Number of runs for each way to make a cycle long; each run reports its eight longest cycles.
const ROUNDS: usize = 4;
/// Minimum share of the deliberately lengthened cycles that must name their cause.
const NAMED: f64 = 0.97;

/// Share by which a mean or maximum may differ; a difference of [`NEAR_NS`] is also accepted, because the program
/// writes its log before the system call that ends the cycle.
const SHARE: f64 = 0.02;
const NEAR_NS: f64 = 5_000.0;
/// Time of a cycle's system calls, ns, which the measured CPU time includes and the logged one does not.
const CALLS_NS: f64 = 10_000.0;
/// Length of a clock tick in /proc/stat (USER_HZ), ns.
const TICK_NS: f64 = 10_000_000.0;

/// Run programs with known releases, ends and CPU times, and compare these with what `prove --app` found (docs/app.md)
///
/// Build first: cargo build --release -p punctual. Needs root, tracefs, cc
#[derive(Debug, clap::Args)]
pub struct Wanted {
    #[arg(long, value_name = "FILE", default_value = "target/release/punctual")]
    punctual: PathBuf,
    /// Time to measure each program
    #[arg(long, value_name = "TIME", default_value = "4s")]
    duration: String,
    /// Only programs whose description contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Directory for programs, logs and runs
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-app"))]
    out: PathBuf,
}

struct Case {
    about: String,
    /// The program and its arguments, without the path of the log.
    program: String,
    /// The thread or chain whose values are compared.
    response: String,
    period_us: u64,
    /// True if the log has the CPU times of this thread.
    has_cpu: bool,
}

fn cases() -> Vec<Case> {
    let truth = |mode: &str, period: u64, work: u64| Case {
        about: format!("{mode}, {period} us, work {work} us"),
        program: format!("truth {mode} {period} {work} 80"),
        response: "response(truth)".into(),
        period_us: period,
        has_cpu: true,
    };
    let stages = |number: u32, period: u64| Case {
        about: format!("chain of {number}, {period} us"),
        program: format!("stages {number} {period} 60"),
        response: format!("chain({})", (0..number).map(|n| format!("stage-{n}")).collect::<Vec<_>>().join(" > ")),
        period_us: period,
        has_cpu: false,
    };
    let mut all = vec![
        truth("sleep", 200, 50),
        truth("sleep", 1_000, 200),
        truth("sleep", 5_000, 2_000),
        truth("sleep", 100_000, 20_000),
        truth("timerfd", 500, 100),
        truth("timerfd", 10_000, 1_000),
        truth("epoll", 1_000, 300),
        truth("posix", 2_000, 400),
        truth("late", 2_000, 400),
        truth("behind", 2_000, 400),
    ];
    all.extend((2..=6).map(|number| stages(number, 2_000)));
    all
}

/// Release, end and CPU time of each cycle, ns.
type Log = Vec<(u64, u64, u64)>;

struct Compared {
    what: &'static str,
    found: f64,
    truth: f64,
    /// The value may differ by this many ns, or by [`SHARE`] of the logged value; `None` if it must be equal.
    near: Option<f64>,
}

impl Compared {
    fn is_right(&self) -> bool {
        let apart = (self.found - self.truth).abs();
        apart <= self.near.map_or(0.0, |near| near.max(self.truth * SHARE))
    }
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    fs::create_dir_all(&wanted.out).map_err(|e| e.to_string())?;
    for (name, source) in [("truth", TRUTH), ("stages", STAGES), ("culprit", CULPRIT)] {
        let file = wanted.out.join(format!("{name}.c"));
        fs::write(&file, source).map_err(|e| e.to_string())?;
        let built = Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(wanted.out.join(name)).arg(&file).status();
        built.ok().filter(|status| status.success()).ok_or("cc failed")?;
    }
    let (mut compared, mut wrong) = (0, 0);
    for case in cases().iter().filter(|case| wanted.only.as_ref().is_none_or(|only| case.about.contains(only))) {
        match one(wanted, case) {
            Ok(values) => {
                for value in &values {
                    (compared, wrong) = (compared + 1, wrong + usize::from(!value.is_right()));
                    let mark = if value.is_right() { "" } else { "  WRONG" };
                    println!("{:<28} {:<14} {:>14.1} {:>14.1}{mark}", case.about, value.what, value.found, value.truth);
                }
            }
            Err(why) => {
                (compared, wrong) = (compared + 1, wrong + 1);
                println!("{:<28} {why}  WRONG", case.about);
            }
        }
    }
    println!("{wrong} of {compared} figures differ from what the programs logged");
    let unnamed = match wanted.only.as_ref().is_none_or(|only| "culprits".contains(only.as_str())) {
        true => culprits(wanted)?,
        false => 0,
    };
    match wrong + unnamed {
        0 => Ok(()),
        _ => Err(format!("{wrong} figures are wrong, {unnamed} culprits missed beyond the bar")),
    }
}

/// Returns 0, or the number of missed culprits if they are too many.
fn culprits(wanted: &Wanted) -> Result<usize, String> {
    let (mut all, mut missed) = (0, 0);
    for (mode, culprit) in CULPRITS {
        for _ in 0..ROUNDS {
            let (_, application, log) = proved(wanted, &format!("culprit {mode}"), "late(victim) = 0")?;
            let pair = |line: &str| {
                let (begin, end) = line.split_once(' ')?;
                Some((begin.parse().ok()?, end.parse().ok()?))
            };
            let injected: Vec<(u64, u64)> = log.lines().filter_map(pair).collect();
            for cycles in application.cycles.iter().filter(|cycles| cycles.thread == "victim") {
                let (count, wrong) = scored(&cycles.worst, &injected, culprit);
                (all, missed) = (all + count, missed + wrong.len());
                wrong.iter().for_each(|cycle| println!("{mode}: {}  WRONG", cycle.verdict));
            }
        }
    }
    println!("{} of {all} cycles made long on purpose name the reason", all - missed as u64);
    let is_enough = all > 0 && (all - missed as u64) as f64 >= all as f64 * NAMED;
    Ok(if is_enough { 0 } else { missed.max(1) })
}

/// Runs a program under `prove --app`. Returns the run, the application and the program's log.
fn proved(wanted: &Wanted, program: &str, claim: &str) -> Result<(Run, Application, String), String> {
    let (log, dir) = (wanted.out.join("log"), wanted.out.join("run"));
    let _ = (fs::remove_file(&log), fs::remove_dir_all(&dir));
    let command = format!("{}/{program} {}", wanted.out.display(), log.display());
    let ended = Command::new(&wanted.punctual)
        .args(["prove", "--quiet", "--load", "idle", "--duration", &wanted.duration, "--app", &command])
        .args(["--claim", claim, "--out"])
        .arg(&dir)
        .stdout(Stdio::null())
        .status()
        .map_err(|e| e.to_string())?;
    if !matches!(ended.code(), Some(0 | 1 | 3)) {
        return Err(format!("prove ended with {ended}"));
    }
    let text = fs::read_to_string(&log).map_err(|e| format!("no log: {e}"))?;
    Ok((read(&dir.join("run.json"))?, read(&dir.join("application.json"))?, text))
}

fn one(wanted: &Wanted, case: &Case) -> Result<Vec<Compared>, String> {
    let stolen_before = steal_ticks();
    let (run, application, text) = proved(wanted, &case.program, &format!("{} < 10s", case.response))?;
    let log: Log = text.lines().filter_map(numbers).collect();
    let problems: Vec<&str> =
        run.phases.iter().flat_map(|phase| &phase.problems).map(|problem| problem.text.as_str()).collect();
    if let Some(problem) = problems.first() {
        return Err((*problem).to_owned());
    }
    let phase = |value: &str| {
        let phase = run.phases.iter().find(|phase| phase.value.as_ref().is_some_and(|v| v.to_string() == value));
        phase.ok_or_else(|| format!("no phase has {value}"))
    };
    let response = phase(&case.response)?;
    let (from, to) = (response.start_mono_ns.unwrap_or(0), response.end_mono_ns.unwrap_or(u64::MAX));
    let within: Log = log.into_iter().filter(|(release, ..)| (from..to).contains(release)).collect();
    let mean = |of: &dyn Fn(&(u64, u64, u64)) -> u64| {
        within.iter().map(|one| of(one) as f64).sum::<f64>() / within.len().max(1) as f64
    };
    let lasted = |one: &(u64, u64, u64)| one.1.saturating_sub(one.0);
    let result = response.cpus.first().ok_or("no result")?;
    let close = |what, found: f64, truth: f64| Compared { what, found, truth, near: Some(NEAR_NS) };
    let mut values = vec![
        Compared { what: "cycles", found: result.ran as f64, truth: within.len() as f64, near: None },
        close("mean response", result.mean_ns.unwrap_or(0.0), mean(&lasted)),
        close("max response", result.max_ns.unwrap_or(0) as f64, within.iter().map(lasted).max().unwrap_or(0) as f64),
    ];
    let period = application.threads.first().and_then(|thread| thread.period_ns).map_or(0, |period| period.0);
    values.push(close("period", period as f64, (case.period_us * 1_000) as f64));
    if case.has_cpu {
        let cpu = phase("cpu(truth)")?.cpus.first().and_then(|cpu| cpu.mean_ns).unwrap_or(0.0);
        // In the guest's events, time that a hypervisor takes from a CPU looks like time of the running thread.
        let stolen = (steal_ticks() - stolen_before) * TICK_NS / within.len().max(1) as f64;
        let near = Some(CALLS_NS + stolen);
        values.push(Compared { what: "mean CPU time", found: cpu, truth: mean(&|one| one.2), near });
        let skipped = |pair: &[(u64, u64, u64)]| (pair[1].0 - pair[0].0) / (case.period_us * 1_000) - 1;
        let truth: u64 = within.windows(2).map(skipped).sum();
        values.push(Compared {
            what: "skipped",
            found: result.skipped.unwrap_or(0) as f64,
            truth: truth as f64,
            near: None,
        });
    }
    Ok(values)
}

/// Returns the steal time of all CPUs since the machine started, ticks.
fn steal_ticks() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    text.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn numbers(line: &str) -> Option<(u64, u64, u64)> {
    let mut words = line.split(' ').map(str::parse);
    Some((words.next()?.ok()?, words.next()?.ok()?, words.next()?.ok()?))
}
