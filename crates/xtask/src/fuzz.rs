//! Mutated traces through every reader and attribution: no panic, no hang, no memory beyond bounds, labels that add up.
//! Mutated files of a machine through the audit: what cannot be read passes nowhere, no path leads out of a snapshot.
//! Mutated run directories through the report, packages of kernels, and what others write or send.
//!
//! Deterministic: the same seed and number give the same input. Coverage-guided fuzzing with libFuzzer is in
//! crates/trace/fuzz; this runs anywhere, and in the tests.

mod boot;
mod execute;
mod folder;
mod foreign;
mod import;
mod mutate;
mod parts;
mod seeds;
mod texts;
mod whole;

use execute::Executor;
use mutate::{Random, mutate};
use punctual_import::Format;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Dat6,
    Dat7,
    Pages,
    Kernel,
    TraceCmd,
    Perf,
    Rtla,
    Cmdline,
    Kconfig,
    CpuList,
    PiConfig,
    Grub,
    Interrupts,
    Profile,
    Snapshot,
    Machine,
    /// A machine's boot loader's files.
    Boot,
    /// Files that `punctual import` reads.
    Import(Format),
    /// A run directory, and its report.
    Run,
    /// A kernel's package that `punctual deploy` takes.
    Package,
    Experiment,
    RtApp,
    PatchIndex,
    /// Pulses of a radio's recorder.
    Pulses,
    /// Commands to a radio switch.
    Codes,
    /// What a client sends to `punctual serve`.
    Upload,
}

const READERS: [(&str, Reader); 31] = [
    ("dat6", Reader::Dat6),
    ("dat7", Reader::Dat7),
    ("pages", Reader::Pages),
    ("kernel", Reader::Kernel),
    ("trace-cmd", Reader::TraceCmd),
    ("perf", Reader::Perf),
    ("rtla", Reader::Rtla),
    ("cmdline", Reader::Cmdline),
    ("kconfig", Reader::Kconfig),
    ("cpulist", Reader::CpuList),
    ("config.txt", Reader::PiConfig),
    ("grub", Reader::Grub),
    ("interrupts", Reader::Interrupts),
    ("profile", Reader::Profile),
    ("snapshot", Reader::Snapshot),
    ("machine", Reader::Machine),
    ("boot", Reader::Boot),
    ("import-cyclictest", Reader::Import(Format::Cyclictest)),
    ("import-json", Reader::Import(Format::Json)),
    ("import-csv", Reader::Import(Format::Csv)),
    ("import-rtla", Reader::Import(Format::Rtla)),
    ("import-jitterdebugger", Reader::Import(Format::JitterdebuggerRaw)),
    ("import-nqueens", Reader::Import(Format::NQueens)),
    ("run", Reader::Run),
    ("package", Reader::Package),
    ("experiment", Reader::Experiment),
    ("rt-app", Reader::RtApp),
    ("patch-index", Reader::PatchIndex),
    ("pulses", Reader::Pulses),
    ("codes", Reader::Codes),
    ("upload", Reader::Upload),
];

impl Reader {
    /// Words that a reader of text looks for; none where it reads bytes.
    fn words(self) -> &'static [&'static str] {
        match self {
            Reader::Kernel | Reader::TraceCmd | Reader::Rtla => mutate::TRACE_WORDS,
            Reader::Dat6 | Reader::Dat7 | Reader::Pages | Reader::Perf | Reader::Snapshot | Reader::Machine => &[],
            Reader::Boot => boot::WORDS,
            Reader::Import(format) if import::is_text(format) => mutate::TRACE_WORDS,
            Reader::Import(_) => &[],
            Reader::Run | Reader::Package => folder::WORDS,
            _ if self.is_text_of_others() => texts::WORDS,
            _ => foreign::WORDS,
        }
    }

    fn is_text_of_others(self) -> bool {
        let texts =
            [Reader::Experiment, Reader::RtApp, Reader::PatchIndex, Reader::Pulses, Reader::Codes, Reader::Upload];
        texts.contains(&self)
    }

    /// How many executions take as long as a thousand of a trace's reader, about.
    fn thousand(self) -> u64 {
        match self {
            Reader::Profile | Reader::Snapshot | Reader::Boot => 100,
            Reader::Machine => 2,
            Reader::Run => 20,
            Reader::Package | Reader::Upload => 100,
            _ => 1000,
        }
    }
}

/// Figures of one run.
struct Run {
    executions: u64,
    events: u64,
    slowest: Duration,
    findings: Vec<String>,
}

/// `fuzz [READER] [--executions N] [--first N] [--seed S] [--seeds DIR]`: `--first` with one execution repeats a finding.
pub fn run(words: &[String]) -> Result<(), String> {
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
    let mut failed = false;
    for (name, reader) in readers {
        let start = Instant::now();
        let run = fuzz(name, *reader, (first, number("--executions", 1000 * reader.thousand())?), seed);
        let rate = run.executions as f64 / start.elapsed().as_secs_f64();
        println!(
            "{name:10} seed {seed}: {} executions, {} events, {rate:.0}/s, slowest {:.1} ms, {} findings",
            run.executions,
            run.events,
            run.slowest.as_secs_f64() * 1e3,
            run.findings.len()
        );
        run.findings.iter().for_each(|finding| println!("  {finding}"));
        failed |= !run.findings.is_empty();
    }
    if failed { Err("findings: inputs are in target/fuzz".to_owned()) } else { Ok(()) }
}

/// The release profile aborts at a panic and lets numbers overflow: another profile does neither.
fn again(words: &[String]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--profile", "fuzz", "--package", "xtask", "--", "fuzz"]).args(words);
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
    for (n, seed) in seeds::of(reader).iter().enumerate() {
        fs::write(format!("{folder}/{n}"), seed).map_err(|e| format!("{folder}: {e}"))?;
    }
    Ok(())
}

/// The input of an execution.
fn input(seeds: &[Vec<u8>], words: &[&str], seed: u64, n: u64) -> Vec<u8> {
    let mut random = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(n.wrapping_mul(0x9e37_79b9)));
    let mut input = seeds.get(random.below(seeds.len())).cloned().unwrap_or_default();
    let other = seeds.get(random.below(seeds.len())).map(Vec::as_slice).unwrap_or_default();
    mutate(&mut input, other, words, &mut random);
    input
}

fn fuzz(name: &str, reader: Reader, (first, executions): (u64, u64), seed: u64) -> Run {
    let (seeds, executor) = (seeds::of(reader), Executor::new(reader));
    let last: Arc<Mutex<String>> = Arc::default();
    let seen = Arc::clone(&last);
    std::panic::set_hook(Box::new(move |panic| {
        if let Ok(mut last) = seen.lock() {
            *last = panic.to_string();
        }
    }));
    let current = watch(name, reader, seed);
    let mut run = Run { executions: 0, events: 0, slowest: Duration::ZERO, findings: Vec::new() };
    for n in first..first.saturating_add(executions) {
        current.store(n, Relaxed);
        if n > 0 && n.is_multiple_of(PROGRESS) {
            println!("{name:10} seed {seed}: {n} executions, {} findings", run.findings.len());
        }
        let bytes = input(&seeds, reader.words(), seed, n);
        let (result, took) = timed(&executor, &bytes);
        run.executions += 1;
        run.slowest = run.slowest.max(took);
        let why = match result {
            Ok(events) => {
                run.events += events;
                // A host that takes the CPU away shows as CPU time: what is slow is slow again.
                let slow = if reader == Reader::Machine { SLOW_MACHINE } else { SLOW };
                if took < slow || timed(&executor, &bytes).1 < slow {
                    continue;
                }
                format!("took {took:?}")
            }
            Err(_) => last.lock().map(|last| last.clone()).unwrap_or_default(),
        };
        if run.findings.iter().any(|known| known.ends_with(&why)) {
            continue;
        }
        run.findings.push(format!("{}: {why}", keep(name, n, &smaller(&executor, bytes))));
        if run.findings.len() >= FINDINGS {
            break;
        }
    }
    current.store(u64::MAX, Relaxed);
    drop(std::panic::take_hook());
    run
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

/// A thread that keeps the input that hangs, and ends the run.
fn watch(name: &str, reader: Reader, seed: u64) -> Arc<AtomicU64> {
    let current = Arc::new(AtomicU64::new(0));
    let (seen, name) = (Arc::clone(&current), name.to_owned());
    thread::spawn(move || {
        let mut before = u64::MAX - 1;
        loop {
            thread::sleep(HANG);
            match seen.load(Relaxed) {
                u64::MAX => return,
                now if now == before => {
                    let bytes = input(&seeds::of(reader), reader.words(), seed, now);
                    println!("  {}: hangs", keep(&name, now, &bytes));
                    std::process::exit(3);
                }
                now => before = now,
            }
        }
    });
    current
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
    fn seeds_are_read_as_what_they_are() {
        for (name, reader) in READERS {
            let (executor, seeds) = (Executor::new(reader), seeds::of(reader));
            let events: u64 = seeds.iter().map(|seed| executor.run(seed)).sum();
            // A file has threads, not events.
            let least = if matches!(reader, Reader::Import(_)) { 1 } else { 4 };
            assert!(events >= least * seeds.len() as u64, "{name}: {events} events of {} seeds", seeds.len());
        }
    }

    #[test]
    fn a_short_run_finds_nothing() {
        for (name, reader) in READERS {
            let executions = EXECUTIONS * reader.thousand() / 1000;
            let run = fuzz(name, reader, (0, executions), 7);
            assert!(run.findings.is_empty(), "{name}: {:?}", run.findings);
            // A JSON file or a record that is torn is refused as a whole.
            let share = if matches!(reader, Reader::Import(_)) { 20 } else { 4 };
            assert!(run.events > executions / share, "{name}: mutations leave too little to read: {}", run.events);
        }
    }
}
