//! `cargo trials fuzz guided`: runs every reader under libFuzzer, guided by coverage, in time slices, at low priority.
//! It can be resumed.
//!
//! The program is built as cargo-fuzz builds it without a sanitizer (`-s none`, which a stable compiler supports): see
//! qa/libfuzzer/README.md.

use super::slice::{Slice, Tools};
use super::state::State;
use punctual_fuzz::{READERS, Reader};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Maximum duration of a slice, after which its result is written. Each slice starts with the reader's whole corpus,
/// which takes 15 s for some readers.
const SLICE: Duration = Duration::from_secs(300);
/// Duration of the first slice, long enough to measure the speed.
const FIRST: Duration = Duration::from_secs(4);
/// Number of findings after which a reader is stopped.
const FINDINGS: usize = 3;
/// Flags that cargo-fuzz 0.13 uses for instrumentation without a sanitizer.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0 --cfg fuzzing -Ccodegen-units=1";
/// Flag that cargo-fuzz sets unless `--no-trace-compares` is given: libFuzzer learns which values are compared. Without
/// it 20,000 executions were 1.10 (dat6) to 1.4 (boot) times as fast.
const COMPARES: &str = " -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Run the readers under libFuzzer, guided by coverage, at nice 19; resumes where the last run ended
/// (qa/libfuzzer/README.md)
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Readers to run; by default all
    #[arg(value_name = "READER", value_parser = super::names())]
    readers: Vec<String>,
    /// Number of executions of each reader, over all runs
    #[arg(long, value_name = "N", default_value = "10_000_000", value_parser = super::number)]
    executions: u64,
    /// Number of readers that run at the same time
    #[arg(long, value_name = "J", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Stop after this time
    #[arg(long, value_name = "M")]
    minutes: Option<u64>,
    /// File that records the progress
    #[arg(long, value_name = "FILE", default_value = "target/fuzz/state.json")]
    state: PathBuf,
    /// Instrumented program to run, instead of building one
    #[arg(long, value_name = "FILE", conflicts_with = "no_trace_compares")]
    program: Option<PathBuf>,
    /// Build without tracing comparisons: this is faster, but finds less
    #[arg(long)]
    no_trace_compares: bool,
    /// Print the progress so far
    #[arg(long, conflicts_with = "keep")]
    table: bool,
    /// Reduce the corpora and store them in qa/libfuzzer/corpus
    #[arg(long)]
    keep: bool,
}

struct Options {
    readers: Vec<(&'static str, Reader)>,
    executions: u64,
    until: Option<Instant>,
    state: PathBuf,
}

impl Options {
    fn new(wanted: &Wanted) -> Options {
        let is_wanted = |name: &str| wanted.readers.is_empty() || wanted.readers.iter().any(|reader| reader == name);
        Options {
            readers: READERS.into_iter().filter(|(name, _)| is_wanted(name)).collect(),
            executions: wanted.executions,
            until: wanted.minutes.and_then(|minutes| Instant::now().checked_add(Duration::from_secs(60 * minutes))),
            state: wanted.state.clone(),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        self.readers.iter().map(|(name, _)| *name).collect()
    }
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let options = Options::new(wanted);
    let state = State::read(&options.state)?;
    if wanted.table {
        print!("{}", state.table(&options.names(), options.executions));
        return Ok(());
    }
    let folder = options.state.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let program = match &wanted.program {
        Some(program) => program.clone(),
        None => build(!wanted.no_trace_compares)?,
    };
    // Measurements on this machine take precedence.
    rustix::process::setpriority_process(None, 19).map_err(|e| format!("setpriority(2): {e}"))?;
    let tools = Tools { program, folder: folder.to_owned() };
    if wanted.keep {
        return options.names().into_iter().try_for_each(|name| {
            tools.keep(name).map(|inputs| println!("{name}: {inputs} inputs in qa/libfuzzer/corpus"))
        });
    }
    let work = Mutex::new(Work { state, running: Vec::new(), failed: Vec::new() });
    std::thread::scope(|scope| {
        for _ in 0..wanted.jobs {
            scope.spawn(|| turns(&options, &tools, &work));
        }
    });
    let work = work.into_inner().map_err(|_| "a thread panicked".to_owned())?;
    print!("{}", work.state.table(&options.names(), options.executions));
    let found: Vec<&String> = work.state.0.values().flat_map(|one| &one.findings).chain(&work.failed).collect();
    found.iter().for_each(|finding| println!("  {finding}"));
    if found.is_empty() { Ok(()) } else { Err("findings; to repeat them see qa/libfuzzer/README.md".to_owned()) }
}

struct Work {
    state: State,
    running: Vec<&'static str>,
    /// Readers that could not be executed, with the reason.
    failed: Vec<String>,
}

impl Work {
    /// Returns the fastest unfinished reader. Readers that were never executed come first.
    fn next(&mut self, options: &Options) -> Option<(&'static str, Reader)> {
        let rate = |name: &str| self.state.0.get(name).and_then(|one| one.rate()).unwrap_or(f64::INFINITY);
        let is_open = |name: &str| {
            let done = self
                .state
                .0
                .get(name)
                .is_some_and(|one| one.executions >= options.executions || one.findings.len() >= FINDINGS);
            !done
                && !self.running.contains(&name)
                && !self.failed.iter().any(|why| why.starts_with(&format!("{name}: ")))
        };
        let open = options.readers.iter().filter(|(name, _)| is_open(name));
        let next = open.max_by(|a, b| rate(a.0).total_cmp(&rate(b.0))).copied();
        self.running.extend(next.map(|(name, _)| name));
        next
    }

    fn took(&mut self, name: &'static str, slice: Result<Slice, String>, file: &Path) {
        self.running.retain(|running| *running != name);
        match slice {
            Ok(slice) => {
                let one = self.state.0.entry(name.to_owned()).or_default();
                one.executions += slice.executions;
                one.seconds += slice.seconds;
                one.edges = slice.edges.or(one.edges);
                one.corpus = slice.corpus.or(one.corpus);
                one.findings.extend(slice.finding);
                println!("{name}: {} executions, {} findings", one.executions, one.findings.len());
            }
            Err(why) => self.failed.push(format!("{name}: {why}")),
        }
        if let Err(why) = self.state.write(file) {
            self.failed.push(format!("{name}: {why}"));
        }
    }
}

fn turns(options: &Options, tools: &Tools, work: &Mutex<Work>) {
    loop {
        let left = options.until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
        if left < Duration::from_secs(1) {
            return;
        }
        let Ok(mut shared) = work.lock() else { return };
        let Some((name, reader)) = shared.next(options) else { return };
        let known = shared.state.0.get(name).cloned().unwrap_or_default();
        drop(shared);
        let time = if known.executions == 0 { left.min(FIRST) } else { left };
        let slice = tools.slice(name, reader, options.executions - known.executions, time);
        let Ok(mut shared) = work.lock() else { return };
        shared.took(name, slice, &options.state);
    }
}

/// Builds the instrumented program with the library versions of the workspace's lock file.
fn build(compares: bool) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let (folder, flags) = match compares {
        true => ("guided", format!("{INSTRUMENTED}{COMPARES}")),
        false => ("guided-no-compares", INSTRUMENTED.to_owned()),
    };
    let target = std::path::absolute(target.join(folder)).map_err(|e| format!("where {}: {e}", target.display()))?;
    fs::copy("Cargo.lock", "qa/libfuzzer/Cargo.lock")
        .map_err(|e| format!("cannot copy Cargo.lock into qa/libfuzzer/: {e}"))?;
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--manifest-path", "qa/libfuzzer/Cargo.toml", "--target", &triple]);
    // A shared target folder would be rebuilt whenever the flags change.
    command.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", flags);
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    let program = target.join(triple).join("release/reader");
    if status.success() {
        Ok(program)
    } else {
        Err(format!("building qa/libfuzzer ended with {status}: it needs g++ or clang++"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Progress;
    use super::*;

    fn options(readers: &[&'static str], executions: u64) -> Options {
        let readers = READERS.into_iter().filter(|(name, _)| readers.contains(name)).collect();
        Options { readers, executions, until: None, state: PathBuf::new() }
    }

    fn work(done: &[(&str, u64)]) -> Work {
        let one = |executions| Progress { executions, seconds: 10.0, ..Progress::default() };
        let state = State(done.iter().map(|(name, executions)| ((*name).to_owned(), one(*executions))).collect());
        Work { state, running: Vec::new(), failed: Vec::new() }
    }

    #[test]
    fn the_fastest_that_is_not_done_comes_next_and_none_twice_at_once() {
        let options = options(&["dat6", "dat7", "perf"], 1_000);
        let mut work = work(&[("dat6", 500), ("dat7", 900), ("perf", 1000)]);
        let mut next = || work.next(&options).map(|(name, _)| name);
        assert_eq!([next(), next(), next()], [Some("dat7"), Some("dat6"), None]);
    }

    #[test]
    fn what_was_never_executed_comes_first() {
        let options = options(&["dat6", "dat7"], 10_000_000);
        assert_eq!(work(&[("dat7", 900)]).next(&options).map(|(name, _)| name), Some("dat6"));
    }
}
