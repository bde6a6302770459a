//! `cargo xtask fuzz`: mutated inputs through every reader (qa/fuzz), and the same readers guided by coverage ([`guided`]).
//!
//! Mutation is deterministic: the same seed, number, fixtures and corpus give the same input; it runs anywhere, and in the tests.

mod guided;
mod slice;
mod state;

use punctual_fuzz::{Executor, READERS, Reader, input};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// CPU time an input may take (a machine of files of 4 MiB each more), and how long a machine that is busy with other things may let it wait.
const SLOW: Duration = Duration::from_millis(250);
const SLOW_MACHINE: Duration = Duration::from_secs(2);
const HANG: Duration = Duration::from_secs(120);
/// Address space of the whole run: no reader holds more than 64 MiB.
const MEMORY: u64 = 512 << 20;
/// Findings before it is enough.
const FINDINGS: usize = 10;
/// Executions between two lines of progress.
const PROGRESS: u64 = 1_000_000;

/// What `fuzz` takes, each with a value.
const OPTIONS: [&str; 5] = ["--executions", "--seconds", "--first", "--seed", "--seeds"];

/// Figures of one run.
struct Run {
    executions: u64,
    events: u64,
    slowest: Duration,
    findings: Vec<String>,
}

/// `fuzz [READER] [--executions N] [--seconds S] [--first N] [--seed S] [--seeds DIR]`: `--first` with one execution repeats a
/// finding; `--seconds` ends each reader after that time, whatever it has executed.
pub fn run(words: &[String]) -> Result<(), String> {
    if words.first().is_some_and(|word| word == "guided") {
        return guided::run(words.get(1..).unwrap_or_default());
    }
    known(words)?;
    let value = |key: &str| words.iter().position(|w| w == key).and_then(|at| words.get(at + 1));
    let number = |key: &str, default: u64| match value(key) {
        Some(word) => word.replace('_', "").parse().map_err(|_| format!("{key} {word}: not a number")),
        None => Ok(default),
    };
    let (seed, first) = (number("--seed", 1)?, number("--first", 0)?);
    let wanted = words.first().filter(|w| !w.starts_with("--"));
    let readers: Vec<_> = READERS.iter().filter(|(name, _)| wanted.is_none_or(|w| w == name)).collect();
    if readers.is_empty() {
        return Err(format!("readers: {}", READERS.map(|(name, _)| name).join(", ")));
    }
    if let Some(folder) = value("--seeds") {
        return readers.iter().try_for_each(|(name, reader)| write_seeds(folder, name, *reader));
    }
    if cfg!(panic = "abort") {
        return again(words);
    }
    limit_memory()?;
    let longest = Duration::from_secs(number("--seconds", u64::from(u32::MAX))?);
    let mut failed = false;
    for (name, reader) in readers {
        let executions = number("--executions", 1000 * reader.thousand())?;
        failed |= !told(name, *reader, Amount { seed, first, executions, longest });
    }
    if failed { Err("findings: inputs are in target/fuzz".to_owned()) } else { Ok(()) }
}

/// Refuses words that this command does not have: a mistyped option would let it run for hours as if it were not there.
fn known(words: &[String]) -> Result<(), String> {
    let has_reader = words.first().is_some_and(|word| !word.starts_with("--"));
    let mut rest = words.iter().skip(usize::from(has_reader));
    while let Some(word) = rest.next() {
        if !OPTIONS.contains(&word.as_str()) {
            return Err(format!("{word}: fuzz takes [READER] and {}, or `guided`", OPTIONS.join(", ")));
        }
        rest.next().ok_or_else(|| format!("{word}: a value is missing"))?;
    }
    Ok(())
}

/// Executes and prints figures and findings; true if there are none.
fn told(name: &str, reader: Reader, amount: Amount) -> bool {
    let start = Instant::now();
    let run = fuzz(name, reader, amount);
    let rate = run.executions as f64 / start.elapsed().as_secs_f64();
    println!(
        "{name:10} seed {}: {} executions, {} events, {rate:.0}/s, slowest {:.1} ms, {} findings",
        amount.seed,
        run.executions,
        run.events,
        run.slowest.as_secs_f64() * 1e3,
        run.findings.len()
    );
    run.findings.iter().for_each(|finding| println!("  {finding}"));
    run.findings.is_empty()
}

/// The release profile aborts at a panic and lets numbers overflow: another profile does neither.
fn again(words: &[String]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--profile", "fuzz", "--package", "punctual-trials", "--", "fuzz"]).args(words);
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("fuzzing ended with {status}")) }
}

fn limit_memory() -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).map_err(|e| e.to_string())
}

fn write_seeds(folder: &str, name: &str, reader: Reader) -> Result<(), String> {
    let folder = format!("{folder}/{name}");
    fs::create_dir_all(&folder).map_err(|e| format!("{folder}: {e}"))?;
    for (n, seed) in reader.seeds().iter().enumerate() {
        fs::write(format!("{folder}/{n}"), seed).map_err(|e| format!("{folder}: {e}"))?;
    }
    Ok(())
}

/// What is executed: which, from which to which, and for how long at most.
#[derive(Clone, Copy)]
struct Amount {
    seed: u64,
    first: u64,
    executions: u64,
    longest: Duration,
}

/// What mutation begins with: by turns a reader's own seeds and the inputs of `qa/libfuzzer/corpus`, which guided fuzzing found to lead elsewhere.
struct Seeds {
    reader: Reader,
    own: Vec<Vec<u8>>,
    kept: Vec<Vec<u8>>,
}

impl Seeds {
    fn new(name: &str, reader: Reader) -> Seeds {
        Seeds { reader, own: reader.seeds(), kept: slice::kept(name) }
    }

    fn input(&self, seed: u64, n: u64) -> Vec<u8> {
        let from = if n.is_multiple_of(2) || self.kept.is_empty() { &self.own } else { &self.kept };
        input(from, self.reader.words(), seed, n)
    }
}

fn fuzz(name: &str, reader: Reader, amount: Amount) -> Run {
    let (seeds, executor) = (Arc::new(Seeds::new(name, reader)), Executor::new(reader));
    let (Amount { seed, first, .. }, last) = (amount, panics());
    let watch = watch(name, Arc::clone(&seeds), seed);
    let mut run = Run { executions: 0, events: 0, slowest: Duration::ZERO, findings: Vec::new() };
    let start = Instant::now();
    for n in first..first.saturating_add(amount.executions) {
        if n > first && start.elapsed() >= amount.longest {
            break;
        }
        watch.current.store(n, Relaxed);
        if n > 0 && n.is_multiple_of(PROGRESS) {
            println!("{name:10} seed {seed}: {n} executions, {} findings", run.findings.len());
        }
        let bytes = seeds.input(seed, n);
        let Some(why) = fault(&executor, reader, &bytes, &mut run, &last) else { continue };
        if run.findings.iter().any(|known| known.ends_with(&why)) {
            continue;
        }
        run.findings.push(format!("{}: {why}", keep(name, n, &smaller(&executor, bytes))));
        if run.findings.len() >= FINDINGS {
            break;
        }
    }
    drop(std::panic::take_hook());
    run
}

/// Panics are kept here instead of being printed.
fn panics() -> Arc<Mutex<String>> {
    let last: Arc<Mutex<String>> = Arc::default();
    let seen = Arc::clone(&last);
    std::panic::set_hook(Box::new(move |panic| {
        if let Ok(mut last) = seen.lock() {
            *last = panic.to_string();
        }
    }));
    last
}

/// Executes an input and counts it; what is wrong with it, if anything is.
fn fault(executor: &Executor, reader: Reader, bytes: &[u8], run: &mut Run, last: &Mutex<String>) -> Option<String> {
    let (result, took) = timed(executor, bytes);
    run.executions += 1;
    run.slowest = run.slowest.max(took);
    let Ok(events) = result else { return Some(last.lock().map(|last| last.clone()).unwrap_or_default()) };
    run.events += events;
    // A host that takes the CPU away shows as CPU time: what is slow is slow again.
    let slow = if reader == Reader::Machine { SLOW_MACHINE } else { SLOW };
    (took >= slow && timed(executor, bytes).1 >= slow).then(|| format!("took {took:?}"))
}

fn timed(executor: &Executor, bytes: &[u8]) -> (thread::Result<u64>, Duration) {
    let start = cpu_time();
    let result = catch_unwind(AssertUnwindSafe(|| executor.run(bytes)));
    (result, cpu_time().saturating_sub(start))
}

/// Of this thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The execution that is under way, and a thread that keeps its input if it hangs, and ends the run. The thread ends with this: were it
/// to sleep on, those of short runs would add up to more memory than is allowed.
struct Watch {
    current: Arc<AtomicU64>,
    _ends: Sender<()>,
}

fn watch(name: &str, seeds: Arc<Seeds>, seed: u64) -> Watch {
    let (ends, ended) = channel();
    let current = Arc::new(AtomicU64::new(0));
    let (seen, name) = (Arc::clone(&current), name.to_owned());
    thread::spawn(move || {
        let mut before = u64::MAX;
        while ended.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
            let now = seen.load(Relaxed);
            if now == before {
                let bytes = seeds.input(seed, now);
                println!("  {}: hangs", keep(&name, now, &bytes));
                std::process::exit(3);
            }
            before = now;
        }
    });
    Watch { current, _ends: ends }
}

/// The input without the pieces that a panic does not need.
fn smaller(executor: &Executor, mut input: Vec<u8>) -> Vec<u8> {
    let fails = |bytes: &[u8]| catch_unwind(AssertUnwindSafe(|| executor.run(bytes))).is_err();
    let mut size = input.len() / 2;
    while size > 0 && fails(&input) {
        let mut at = 0;
        while at < input.len() {
            let mut less = input.clone();
            less.drain(at..(at + size).min(input.len()));
            match fails(&less) {
                true => input = less,
                false => at += size,
            }
        }
        size /= 2;
    }
    input
}

fn keep(name: &str, n: u64, bytes: &[u8]) -> String {
    let path = format!("target/fuzz/{name}-{n}");
    let written = fs::create_dir_all("target/fuzz").and_then(|()| fs::write(&path, bytes));
    if written.is_ok() { path } else { format!("execution {n} (not written)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 executions of each reader where code is fast; some of them in a debug build.
    const EXECUTIONS: u64 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };

    #[test]
    #[ignore = "live: timing"]
    fn a_short_run_finds_nothing() {
        for (name, reader) in READERS {
            let executions = EXECUTIONS * reader.thousand() / 1000;
            let run = fuzz(name, reader, Amount { seed: 7, first: 0, executions, longest: Duration::MAX });
            assert!(run.findings.is_empty(), "{name}: {:?}", run.findings);
            // A JSON file or a record that is torn is refused as a whole.
            let share = if matches!(reader, Reader::Import(_)) { 20 } else { 4 };
            assert!(run.events > executions / share, "{name}: mutations leave too little to read: {}", run.events);
        }
    }

    #[test]
    fn a_word_that_it_does_not_have_ends_it_at_once() {
        let refused = |words: &[&str]| run(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>()).unwrap_err();
        assert!(refused(&["--help"]).starts_with("--help: fuzz takes [READER] and --executions"));
        assert!(refused(&["dat6", "--sedd", "1"]).starts_with("--sedd:"));
        assert_eq!(refused(&["dat6", "--seconds"]), "--seconds: a value is missing");
        assert!(refused(&["dat5", "--seconds", "1"]).starts_with("readers: dat6, "));
    }
}
