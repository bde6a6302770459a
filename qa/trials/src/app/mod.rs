//! `cargo trials app`: compares the results of `prove --app` with what the programs themselves logged.

mod cases;
mod culprits;
mod guests;

use cases::{Case, cases};
use culprits::{CULPRITS, scored};
use punctual_model::{AppCycles, Application, Run};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAMS: [(&str, &str); 3] =
    [("truth", include_str!("truth.c")), ("stages", include_str!("stages.c")), ("culprit", include_str!("culprit.c"))];

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
/// Build first: cargo build --release -p punctual. Needs root, tracefs, cc; in guests also a static C library
#[derive(Debug, clap::Args)]
pub struct Wanted {
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// Time to measure each program
    #[arg(long, value_name = "TIME", default_value = "4s")]
    duration: String,
    /// Only programs whose description contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Run the programs in guests with this kernel, such as rt@6.12, in virtual time, instead of on this machine
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Number of CPUs of the guests
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kernel")]
    cpus: u32,
    /// Draw periods, work and lengths of chains with this seed, instead of the usual ones
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run nothing; compare the results in the directory again
    #[arg(long, requires = "kernel")]
    score: bool,
    /// Directory for programs, logs and runs
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-app"))]
    out: PathBuf,
}

/// A program to measure once.
struct Job {
    name: String,
    /// The program and its arguments, without the path of the log.
    program: String,
    claim: String,
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
    let all = cases(wanted.seed);
    let is_wanted = |about: &str| wanted.only.as_ref().is_none_or(|only| about.contains(only.as_str()));
    let cases: Vec<(Job, Case)> = all
        .into_iter()
        .filter(|case| is_wanted(&case.about))
        .enumerate()
        .map(|(n, case)| (case.job(n), case))
        .collect();
    let culprits = if is_wanted("culprits") { culprit_jobs() } else { Vec::new() };
    build(wanted)?;
    if let Some(kernel) = wanted.kernel.as_ref().filter(|_| !wanted.score) {
        let jobs: Vec<&Job> = cases.iter().map(|(job, _)| job).chain(culprits.iter().map(|(job, _)| job)).collect();
        guests::measured(wanted, kernel, &jobs)?;
    }
    let (mut compared, mut wrong) = (0, 0);
    for (job, case) in &cases {
        match one(wanted, job, case) {
            Ok(values) => {
                for value in &values {
                    (compared, wrong) = (compared + 1, wrong + usize::from(!value.is_right()));
                    let mark = if value.is_right() { "" } else { "  WRONG" };
                    println!("{:<34} {:<14} {:>14.1} {:>14.1}{mark}", case.about, value.what, value.found, value.truth);
                }
            }
            Err(why) => {
                (compared, wrong) = (compared + 1, wrong + 1);
                println!("{:<34} {why}  WRONG", case.about);
            }
        }
    }
    println!("{wrong} of {compared} figures differ from what the programs logged");
    let unnamed = if culprits.is_empty() { 0 } else { unnamed(wanted, &culprits)? };
    match wrong + unnamed {
        0 => Ok(()),
        _ => Err(format!("{wrong} figures are wrong, {unnamed} culprits missed beyond the bar")),
    }
}

/// Compiles the programs; for guests statically, since they have no C library.
fn build(wanted: &Wanted) -> Result<(), String> {
    fs::create_dir_all(&wanted.out).map_err(|e| e.to_string())?;
    let options: &[&str] = if wanted.kernel.is_some() { &["-O2", "-pthread", "-static"] } else { &["-O2", "-pthread"] };
    for (name, source) in PROGRAMS {
        let file = wanted.out.join(format!("{name}.c"));
        fs::write(&file, source).map_err(|e| e.to_string())?;
        let built = Command::new("cc").args(options).arg("-o").arg(wanted.out.join(name)).arg(&file).status();
        built.ok().filter(|status| status.success()).ok_or("cc failed")?;
    }
    Ok(())
}

/// Returns the runs of the programs that make cycles long, each with the name of the culprit.
fn culprit_jobs() -> Vec<(Job, Option<&'static str>)> {
    let job = |mode: &str, round: usize| Job {
        name: format!("{mode}-{round}"),
        program: format!("culprit {mode}"),
        claim: "late(victim) = 0".into(),
    };
    CULPRITS.iter().flat_map(|(mode, culprit)| (0..ROUNDS).map(|round| (job(mode, round), *culprit))).collect()
}

/// Returns 0, or the number of missed culprits if they are too many.
fn unnamed(wanted: &Wanted, jobs: &[(Job, Option<&str>)]) -> Result<usize, String> {
    let (mut all, mut missed) = (0, 0);
    for (job, culprit) in jobs {
        let (_, application, log) = proved(wanted, job)?;
        let pair = |line: &str| {
            let (begin, end) = line.split_once(' ')?;
            Some((begin.parse().ok()?, end.parse().ok()?))
        };
        let injected: Vec<(u64, u64)> = log.lines().filter_map(pair).collect();
        for cycles in application.cycles.iter().filter(|cycles| cycles.thread == "victim") {
            let (count, wrong) = scored(&cycles.worst, &injected, *culprit);
            (all, missed) = (all + count, missed + wrong.len());
            wrong.iter().for_each(|cycle| println!("{}: {}  WRONG", job.name, cycle.verdict));
        }
    }
    println!("{} of {all} cycles made long on purpose name the reason", all - missed as u64);
    let is_enough = all > 0 && (all - missed as u64) as f64 >= all as f64 * NAMED;
    Ok(if is_enough { 0 } else { missed.max(1) })
}

/// Runs a program under `prove --app`, or reads what a guest has done with it. Returns the run, the application and the
/// program's log.
fn proved(wanted: &Wanted, job: &Job) -> Result<(Run, Application, String), String> {
    let place = wanted.out.join("results").join(&job.name);
    let log = place.join("log");
    if wanted.kernel.is_none() {
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        let command = format!("{}/{} {}", wanted.out.display(), job.program, log.display());
        let ended = Command::new(&wanted.punctual)
            .args(["prove", "--quiet", "--load", "idle", "--duration", &wanted.duration, "--app", &command])
            .args(["--claim", &job.claim, "--out"])
            .arg(place.join("run"))
            .stdout(Stdio::null())
            .status()
            .map_err(|e| e.to_string())?;
        if !matches!(ended.code(), Some(0 | 1 | 3)) {
            return Err(format!("prove ended with {ended}"));
        }
    }
    let said = || fs::read_to_string(place.join("err")).unwrap_or_default();
    let run = read(&place.join("run/run.json")).map_err(|e| format!("{e}; {}", said().trim()))?;
    let text = fs::read_to_string(&log).map_err(|e| format!("no log: {e}"))?;
    Ok((run, read(&place.join("run/application.json"))?, text))
}

fn one(wanted: &Wanted, job: &Job, case: &Case) -> Result<Vec<Compared>, String> {
    let stolen_before = steal_ticks();
    let (run, application, text) = proved(wanted, job)?;
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
    let sum = |of: &dyn Fn(&AppCycles) -> u64| application.cycles.iter().map(of).sum::<u64>() as f64;
    values.push(Compared { what: "accounted", found: sum(&accounted), truth: sum(&|of| of.response_ns), near: None });
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

/// Returns the time of a thread's cycles whose use is known, ns.
fn accounted(cycles: &AppCycles) -> u64 {
    let delays: u64 = cycles.delays.iter().map(|delay| delay.ns).sum();
    cycles.behind_ns + cycles.ran_ns + cycles.blocked_ns + delays
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
