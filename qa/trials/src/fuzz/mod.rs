//! `cargo trials fuzz`: passes mutated inputs to every reader (qa/fuzz), and runs the same readers guided by coverage
//! ([`guided`]).
//!
//! Mutation is deterministic: the same seed, number, fixtures and corpus give the same input. It works on any machine
//! and also runs in the tests.

mod guided;
mod slice;
mod state;

use clap::builder::PossibleValuesParser;
use punctual_fuzz::{Executor, READERS, Reader, input};
use std::fs;
use std::num::ParseIntError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum CPU time of an input, with allowance for a busy host. A machine with files of 4 MiB each may take more.
const SLOW: Duration = Duration::from_millis(250);
const SLOW_MACHINE: Duration = Duration::from_secs(2);
const HANG: Duration = Duration::from_secs(120);
/// Limit on the address space of the whole run, bytes: no reader uses more than 64 MiB.
const MEMORY: u64 = 512 << 20;
/// Number of findings after which the run is stopped.
const FINDINGS: usize = 10;
/// Number of executions between two progress reports.
const PROGRESS: u64 = 1_000_000;

struct Run {
    executions: u64,
    events: u64,
    slowest: Duration,
    findings: Vec<String>,
}

/// Pass mutated inputs to every reader of external files, or to one; `guided`: inputs guided by coverage
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Wanted {
    /// Reader to test; by default all
    #[arg(value_name = "READER", value_parser = names())]
    reader: Option<String>,
    /// Number of executions of each reader; by default 1,000,000 for a fast one
    #[arg(long, value_name = "N", value_parser = number)]
    executions: Option<u64>,
    /// Stop each reader after this time
    #[arg(long, value_name = "S", value_parser = number)]
    seconds: Option<u64>,
    /// Number of the first execution; with --executions 1 this repeats a finding
    #[arg(long, value_name = "N", default_value = "0", value_parser = number)]
    first: u64,
    /// Seed of the mutations
    #[arg(long, value_name = "S", default_value = "1", value_parser = number)]
    seed: u64,
    /// Write the seed inputs to this folder instead of executing anything
    #[arg(long, value_name = "DIR")]
    seeds: Option<String>,
    #[command(subcommand)]
    how: Option<How>,
}

#[derive(Debug, clap::Subcommand)]
enum How {
    Guided(guided::Wanted),
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(READERS.map(|(name, _)| name))
}

/// Parses `10_000_000` as well as 10000000.
fn number(text: &str) -> Result<u64, ParseIntError> {
    text.replace('_', "").parse()
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if let Some(How::Guided(wanted)) = &wanted.how {
        return guided::run(wanted);
    }
    let Wanted { first, seed, .. } = *wanted;
    let is_wanted = |name: &str| wanted.reader.as_ref().is_none_or(|reader| reader == name);
    let readers = READERS.iter().filter(|(name, _)| is_wanted(name));
    if let Some(folder) = &wanted.seeds {
        return readers.into_iter().try_for_each(|(name, reader)| write_seeds(folder, name, *reader));
    }
    if cfg!(panic = "abort") {
        return again();
    }
    limit_memory()?;
    let longest = Duration::from_secs(wanted.seconds.unwrap_or_else(|| u32::MAX.into()));
    let mut failed = false;
    for (name, reader) in readers {
        let executions = wanted.executions.unwrap_or_else(|| 1000 * reader.thousand());
        failed |= !run_reader(name, *reader, Amount { seed, first, executions, longest });
    }
    if failed { Err("findings: inputs are in target/fuzz".to_owned()) } else { Ok(()) }
}

/// Executes a reader and prints statistics and findings. Returns true if there are no findings.
fn run_reader(name: &str, reader: Reader, amount: Amount) -> bool {
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

/// Builds and runs this program again with another profile: the release profile aborts on a panic and ignores
/// overflows.
fn again() -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--profile", "fuzz", "--package", "punctual-trials", "--"]);
    let status = command.args(std::env::args_os().skip(1)).status().map_err(|e| format!("{command:?}: {e}"))?;
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

#[derive(Clone, Copy)]
struct Amount {
    seed: u64,
    first: u64,
    executions: u64,
    longest: Duration,
}

/// Initial inputs: a reader's own seeds alternate with the inputs in `qa/libfuzzer/corpus`, with which guided fuzzing
/// reached other code.
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

/// Stores the messages of panics instead of printing them.
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

/// Executes an input and counts it. Returns its fault, if any.
fn fault(executor: &Executor, reader: Reader, bytes: &[u8], run: &mut Run, last: &Mutex<String>) -> Option<String> {
    let (result, took) = timed(executor, bytes);
    run.executions += 1;
    run.slowest = run.slowest.max(took);
    let Ok(events) = result else { return Some(last.lock().map(|last| last.clone()).unwrap_or_default()) };
    run.events += events;
    // A host that takes the CPU away appears as CPU time, so a slow input must be slow again when repeated.
    let slow = if reader == Reader::Machine { SLOW_MACHINE } else { SLOW };
    (took >= slow && timed(executor, bytes).1 >= slow).then(|| format!("took {took:?}"))
}

fn timed(executor: &Executor, bytes: &[u8]) -> (thread::Result<u64>, Duration) {
    let start = cpu_time();
    let result = catch_unwind(AssertUnwindSafe(|| executor.run(bytes)));
    (result, cpu_time().saturating_sub(start))
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The current execution, and a thread that saves its input and ends the run if it hangs. Dropping it ends the thread:
/// the sleeping threads of short runs would together use more memory than allowed.
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

/// Returns the input without the parts that are not needed for the panic.
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
    use clap::Parser;

    /// Executions of each reader: 20,000 in a release build, fewer in a debug build, which is slower.
    const EXECUTIONS: u64 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };

    #[test]
    #[ignore = "live: timing"]
    fn a_short_run_finds_nothing() {
        for (name, reader) in READERS {
            let executions = EXECUTIONS * reader.thousand() / 1000;
            let run = fuzz(name, reader, Amount { seed: 7, first: 0, executions, longest: Duration::MAX });
            assert!(run.findings.is_empty(), "{name}: {:?}", run.findings);
            // A damaged JSON file or record is refused as a whole.
            let share = if matches!(reader, Reader::Import(_)) { 20 } else { 4 };
            assert!(run.events > executions / share, "{name}: mutations leave too little to read: {}", run.events);
        }
    }

    #[test]
    fn a_word_that_it_does_not_have_ends_it_at_once() {
        let refused = |line: &str| crate::Arguments::try_parse_from(line.split(' ')).unwrap_err().to_string();
        assert!(refused("trials fuzz dat6 --sedd 1").contains("'--sedd'"));
        assert!(refused("trials fuzz dat6 --seconds").contains("a value is required"));
        assert!(refused("trials fuzz dat5 --seconds 1").contains("[possible values: dat6, "));
        assert!(refused("trials fuzz guided --executions many").contains("invalid digit"));
        assert!(crate::Arguments::try_parse_from("trials fuzz guided dat6 --executions 10_000".split(' ')).is_ok());
    }
}
