//! The command line: every command, with its options from `<command>/args.rs`.

pub mod common;
pub mod help;

use crate::audit::args::{AuditArgs, SnapshotArgs};
use crate::bench::args::BenchCommand;
use crate::bound::args::BoundArgs;
use crate::check::args::CheckArgs;
use crate::compare::args::CompareArgs;
use crate::cyclictest::args::CyclictestArgs;
use crate::events::args::EventsArgs;
use crate::explain::args::ExplainArgs;
use crate::fix::args::UndoArgs;
#[cfg(feature = "history")]
use crate::history::args::HistoryArgs;
use crate::import::args::ImportArgs;
use crate::kernel::args::KernelCommand;
use crate::lab::args::LabCommand;
use crate::manual::args::{CompletionsArgs, ManArgs};
use crate::new::args::NewArgs;
use crate::prove::args::{MeasureArgs, ProveArgs};
use crate::references::args::ReferencesArgs;
use crate::refusal::Refusal;
use crate::report::args::ReportArgs;
use crate::run_directory::{newest, newest_of};
use crate::sched::args::SchedArgs;
use crate::selftest::args::SelftestArgs;
use crate::serve::args::ServeArgs;
use crate::tune::args::TuneArgs;
use crate::watch::args::WatchArgs;
use clap::{Parser, Subcommand};
use std::ffi::{OsStr, OsString};

/// Measures whether a machine runs real-time programs on time, and finds what delays them
#[derive(Parser, Debug)]
#[command(name = "punctual", version, about, max_term_width = 100)]
#[command(
    help_template = help::template(),
    after_help = "Exit codes: 0 pass or held, 1 a claim fails, 2 wrong usage, 3 inconclusive, 4 refused by the environment, 128+n ended by signal n."
)]
pub struct Arguments {
    /// Write results as this user; only for root [default: the user who called sudo]
    #[arg(long, global = true, value_name = "USER", display_order = 900)]
    pub owner: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Audit the machine, measure it idle and under each load, judge the claims, write a report
    #[command(after_help = help::PROVE)]
    Prove(ProveArgs),
    /// Check this machine, a tree of files or a snapshot for everything that causes latency
    #[command(after_help = help::AUDIT)]
    Audit(AuditArgs),
    /// Observe a program and report what in its real-time threads is not real-time, with function and line
    #[command(after_help = help::CHECK)]
    Check(CheckArgs),
    /// Try the audit's fixes, measure this machine with and without each, and keep those that help
    #[command(after_help = help::TUNE)]
    Tune(TuneArgs),
    /// Undo what `audit --fix` and `tune` changed, byte for byte: everything, or the changes for some rules
    #[command(after_help = help::UNDO)]
    Undo(UndoArgs),
    /// Save what an audit reads to a file, without data that identifies the machine
    #[command(after_help = help::SNAPSHOT)]
    Snapshot(SnapshotArgs),
    /// Show published latencies of a board, or check a file of published latencies
    #[command(after_help = help::REFERENCES)]
    References(ReferencesArgs),
    /// Measure wakeup latency under named loads and write a run directory
    #[command(after_help = help::MEASURE)]
    Measure(MeasureArgs),
    /// Watch a machine for weeks at less than 1 % of its CPU time: six-hour run directories, 5-minute maxima, every new
    /// maximum explained
    #[command(after_help = help::WATCH)]
    Watch(WatchArgs),
    /// Run as cyclictest, with its options and its output; `punctual cyclictest --help` lists them
    #[command(disable_help_flag = true, after_help = help::CYCLICTEST)]
    Cyclictest(CyclictestArgs),
    /// Inject known delays beside the measuring engine and check that it finds each (2 s, as root)
    #[command(after_help = help::SELFTEST)]
    Selftest(SelftestArgs),
    /// Run the portable event suite: periodic and interrupt-driven events, their timing, and whether any is lost
    #[command(after_help = help::EVENTS)]
    Events(EventsArgs),
    /// Run scheduling experiments: predict when threads of given policies, priorities and CPUs end, and measure when
    /// they do
    #[command(after_help = help::SCHED)]
    Sched(SchedArgs),
    /// Benchmark a kernel: N-queens, network, memory, disk, context switches; repeated, with temperature and frequency,
    /// for `compare`
    #[command(subcommand)]
    #[command(after_help = help::BENCH)]
    Bench(BenchCommand),
    /// Import other tools' results into a run directory: cyclictest, rtla, jitterdebugger, oslat, CSV
    #[command(after_help = help::IMPORT)]
    Import(ImportArgs),
    /// Show a run directory or another tool's file: as text, HTML, JSON, CSV, or in a format of CI systems and
    /// dashboards
    #[command(after_help = help::REPORT)]
    Report(ReportArgs),
    /// Explain the worst wakeups of a run, of a trace (trace.dat, the kernel's own text, pasted lines), or
    /// of this machine now
    #[command(after_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Compose a bound on the scheduling latency from the longest sections and interrupts of a recording, or of this
    /// machine now
    #[command(after_help = help::BOUND)]
    Bound(BoundArgs),
    /// Compare two or more runs, kernels or other tools' files: what differs, and with what confidence
    Compare(CompareArgs),
    /// Track runs by machine, kernel and settings: shifts, and whether a run is worse than its baseline
    #[cfg(feature = "history")]
    #[command(after_help = help::HISTORY)]
    History(HistoryArgs),
    /// Serve the network load of another machine
    #[command(after_help = help::SERVE)]
    Serve(ServeArgs),
    /// Boot kernels in QEMU: run scripts in them, measure and compare them in virtual time, without a board
    #[command(subcommand)]
    #[command(after_help = help::LAB)]
    Lab(LabCommand),
    /// Choose, check, build and deploy a real-time kernel for a board
    #[command(subcommand)]
    #[command(after_help = help::KERNEL)]
    Kernel(KernelCommand),
    /// Write a real-time program to start from: a 1 kHz loop with a log, statistics and checks
    #[command(after_help = help::NEW)]
    New(NewArgs),
    /// Print shell completions
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory, one for each command
    #[command(hide = true)]
    Man(ManArgs),
}

impl Command {
    /// Adds the newest runs to `report`, `explain` and `compare --last` if the command line names no run.
    ///
    /// # Errors
    /// ./punctual-runs has too few run directories.
    pub fn with_newest(self) -> Result<Command, Refusal> {
        Ok(match self {
            Command::Report(mut args) if args.run.is_empty() => {
                args.run.push(newest()?);
                Command::Report(args)
            }
            Command::Explain(mut args) if args.file.is_none() && !args.live && !args.hardware => {
                args.file = Some(newest()?);
                Command::Explain(args)
            }
            Command::Compare(mut args) => {
                if let Some(n) = args.last {
                    args.groups = newest_of(usize::from(n))?;
                }
                Command::Compare(args)
            }
            other => other,
        })
    }
}

/// Parser of one command. Building the whole command tree would delay the first sample, and takes more memory than an
/// audit.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct Only<T: clap::Args> {
    #[command(flatten)]
    pub options: T,
}

impl<T: clap::Args> Only<T> {
    /// Returns `None` if the words are invalid or ask for help: the complete parser then reports it.
    fn parsed(words: impl Iterator<Item = OsString>) -> Option<T> {
        Only::try_parse_from(words).ok().map(|only: Only<T>| only.options)
    }
}

impl Command {
    /// Returns true if the command measures on this machine for a time that the user has chosen.
    pub fn is_measured(&self) -> bool {
        match self {
            Command::Prove(args) => args.measure.on.target.is_none() && !args.show_cycles,
            Command::Measure(args) => args.on.target.is_none(),
            Command::Watch(_) | Command::Tune(_) => true,
            Command::Cyclictest(_) | Command::Selftest(_) | Command::Events(_) => true,
            Command::Sched(_) | Command::Bench(_) => true,
            Command::Check(args) => args.explain.is_none() && !args.list,
            Command::Explain(args) => args.file.is_none(),
            Command::Bound(args) => args.file.is_none(),
            _ => false,
        }
    }
}

impl Arguments {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// The arguments are invalid, or ask for the help or the version.
    pub fn of_process() -> Result<Arguments, clap::Error> {
        let mut words = std::env::args_os().skip(1);
        let command = match words.next().as_deref().and_then(OsStr::to_str) {
            Some("prove") => Only::parsed(words).map(Command::Prove),
            Some("measure") => Only::parsed(words).map(Command::Measure),
            Some("audit") => Only::parsed(words).map(Command::Audit),
            _ => None,
        };
        match command {
            Some(command) => Ok(Arguments { owner: None, command }),
            // The complete parser reports the error.
            None => Arguments::try_parse(),
        }
    }
}
