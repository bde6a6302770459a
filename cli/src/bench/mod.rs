//! `bench`: benchmarks of a kernel.

pub mod args;

use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::run_directory::{command_line, numbered};
use crate::{exit, signals, terminal};
use args::{BenchArgs, BenchCommand, BesideArg, NetworkArgs};
use punctual_bench::{Around, BenchError, Update, WantedQueens};
use punctual_model::{Bench, BenchPlan, Beside, NetworkSettings, Outcome};
use punctual_report as report;
use punctual_uapi::{self as uapi, Sig};
use punctual_units::Nanos;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Default number of repetitions: enough for a confidence interval in a comparison.
const REPETITIONS: u64 = 20;
const COUNTS: u64 = 10;

/// Runs `punctual bench`. Exits 0 if it measured, 1 on a wrong result, 2 on wrong usage, 3 if incomplete, 4 if the
/// environment prevents the measurement, 128+n on signal n.
pub fn bench(command: &BenchCommand) -> ExitCode {
    let (name, args) = axis(command);
    finish("bench", args.output.quiet_first(), answer(command, name, args))
}

fn answer(command: &BenchCommand, name: &str, args: &BenchArgs) -> Result<Answer, Refusal> {
    let (bench, out, signal) = measure(command, name, args)?;
    let code = match (punctual_bench::outcome(&bench), signal) {
        (Outcome::Fail, _) => exit::FAILED,
        (outcome, None) => exit::of_outcome(outcome),
        (_, Some(signal)) => exit::of_signal(signal),
    };
    let text = || format!("{}\nrun directory: {}\n", report::bench_text(&bench), out.display());
    let early = bench.interrupted.then(|| {
        let by = signal.map(|signal| format!(" by {}", signal.name())).unwrap_or_default();
        format!("ended early{by}; continue with: punctual bench {} --resume {}", name_of(&bench), out.display())
    });
    Ok(Answer::new(args.output.quiet_first(), code, || &bench, text).with_notes(early))
}

fn axis(command: &BenchCommand) -> (&'static str, &BenchArgs) {
    match command {
        BenchCommand::Nqueens(a) => ("nqueens", &a.bench),
        BenchCommand::Network(a) => ("network", &a.bench),
        BenchCommand::Memory(a) => ("memory", &a.bench),
        BenchCommand::Disk(a) => ("disk", &a.bench),
        BenchCommand::Switch(a) => ("switch", &a.bench),
    }
}

fn plan(command: &BenchCommand, stop: &AtomicBool) -> Result<BenchPlan, BenchError> {
    let (_, args) = axis(command);
    let repetitions = args.repeat.unwrap_or(REPETITIONS);
    match command {
        BenchCommand::Nqueens(a) => {
            let repetitions = args.repeat.unwrap_or(COUNTS);
            let (mode, n, threads, fill_s) = (a.mode.into(), a.n, a.threads, a.fill);
            punctual_bench::plan_nqueens(&WantedQueens { mode, n, threads, fill_s, repetitions }, stop)
        }
        BenchCommand::Network(a) => punctual_bench::plan_network(network(a), args.repeat.unwrap_or(COUNTS)),
        BenchCommand::Memory(a) => {
            punctual_bench::plan_memory(a.threads, a.size.map(|mib| mib.saturating_mul(1 << 20)), repetitions)
        }
        BenchCommand::Disk(a) => punctual_bench::plan_disk(&a.dir, a.size, a.writes, repetitions),
        BenchCommand::Switch(a) => punctual_bench::plan_switch(a.rounds, a.cpus, repetitions),
    }
}

fn network(args: &NetworkArgs) -> NetworkSettings {
    let cpus = uapi::affinity(0).map_or(1, |cpus| cpus.len() as u32);
    let beside = match args.beside {
        BesideArg::Nothing => Beside::Nothing,
        BesideArg::Nqueens => Beside::Nqueens { n: args.n, threads: args.threads.unwrap_or(cpus) },
        BesideArg::Measure => Beside::Measure,
    };
    let folder = args.to.is_none().then(|| args.store.clone());
    let (bytes, duration_ns) = (args.size.saturating_mul(1024), args.duration);
    NetworkSettings { to: args.to.clone(), secret_file: args.secret_file.clone(), folder, bytes, duration_ns, beside }
}

type Measured = (Bench, PathBuf, Option<Sig>);

fn measure(command: &BenchCommand, name: &str, args: &BenchArgs) -> Result<Measured, Refusal> {
    let out = match (&args.resume, &args.out) {
        (Some(resumed), _) => resumed.clone(),
        (None, Some(out)) => out.clone(),
        (None, None) => numbered(&format!("bench-{name}")),
    };
    let (stop, caught) = (AtomicBool::new(false), OnceLock::new());
    let around = Around { command: command_line(), stop: &stop, signal: &caught };
    let mut progress = Progress::new(args);
    let bench = signals::catching(&stop, &caught, || match args.resume {
        Some(_) => punctual_bench::resume(&out, &around, &mut |update| progress.show(update)),
        None => plan(command, &stop)
            .and_then(|plan| punctual_bench::run(&plan, &out, &around, &mut |update| progress.show(update))),
    })?;
    progress.clear();
    let bench = bench.map_err(|e| Refusal::either(e.is_usage(), e))?;
    Ok((bench, out, caught.get().copied()))
}

/// Prints repetitions as they end, and, on a terminal, the percentage of the run that is done.
struct Progress {
    quiet: bool,
    moving: bool,
    drawn: Option<Instant>,
}

impl Progress {
    fn new(args: &BenchArgs) -> Progress {
        Progress { quiet: args.output.quiet, moving: terminal::can_overwrite(), drawn: None }
    }

    fn show(&mut self, update: Update<'_>) {
        if self.quiet {
            return;
        }
        match update {
            Update::Repetition(one) => {
                self.clear();
                progress!("{}", report::bench_line(one));
            }
            Update::Share { number, of, done, left } => {
                if !self.moving || self.drawn.is_some_and(|at| at.elapsed() < Duration::from_millis(200)) {
                    return;
                }
                let left = left.map(|l| format!(", {} left", Nanos(l.as_nanos() as u64))).unwrap_or_default();
                terminal::overwrite(&format!("{:.1} % (repetition {number} of {of}){left}", done * 100.0));
                self.drawn = Some(Instant::now());
            }
        }
    }

    /// Erases the progress line.
    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            terminal::wipe();
        }
    }
}

/// Returns the name of the subcommand for a benchmark.
fn name_of(bench: &Bench) -> &'static str {
    use punctual_model::BenchSettings::{Disk, Memory, Network, Nqueens, Switch};
    match bench.plan.settings {
        Nqueens(_) => "nqueens",
        Network(_) => "network",
        Memory { .. } => "memory",
        Disk { .. } => "disk",
        Switch { .. } => "switch",
    }
}
