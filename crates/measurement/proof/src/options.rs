//! What the caller may choose.

use crate::watching::Watching;
use punctual_measure::Tick;
use punctual_model::{Alignment, Claim, Look, Phase, VirtualTime, Worst};
use punctual_units::{CpuList, Nanos, Policy, Priority, Way};
use std::path::PathBuf;

/// Everything about a run that can be chosen; `None` is the default of cli.md.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the run directory is made.
    pub out: PathBuf,
    /// For the record.
    pub command: Vec<String>,
    /// Policy of the measuring threads; naming it makes a refusal an error.
    pub policy: Option<Policy>,
    /// Their priority; naming it makes a refusal an error.
    pub priority: Option<Priority>,
    /// By what they are woken.
    pub via: Way,
    /// Their period.
    pub period: Nanos,
    /// The measured CPUs; `None`: all allowed ones.
    pub cpus: Option<CpuList>,
    /// How the releases of several CPUs lie to each other.
    pub alignment: Alignment,
    /// Total measuring time, shared equally by the loads.
    pub duration: Nanos,
    /// Measure on, after `duration`, until every claim is decided, but no longer than this in all.
    pub until: Option<Nanos>,
    /// Length of the blocks of which the maxima are kept.
    pub maxima_block: Nanos,
    /// Time before recording, in each phase.
    pub warmup: Nanos,
    /// One phase each.
    pub loads: Vec<String>,
    /// Sample the machine's context?
    pub context: bool,
    /// Hold /dev/cpu_dma_latency at this many µs while measuring.
    pub cpu_dma_latency_us: Option<i32>,
    /// Worst wakeups kept a phase and CPU.
    pub worst_kept: usize,
    /// The deadline, where one was given.
    pub deadline: Option<Nanos>,
    /// What is claimed.
    pub claims: Vec<Claim>,
    /// The machine that answers the network load.
    pub peer: Option<String>,
    /// Where the io load writes; `None`: the folder of the run.
    pub scratch: Option<PathBuf>,
    /// Bytes the io load may write in all.
    pub write_cap: u64,
    /// Tracing of late wakeups.
    pub trace: Trace,
    /// Make checkpoints survive a power cut?
    pub sync: bool,
    /// The clock model, where this machine is emulated in virtual time.
    pub virtual_time: Option<VirtualTime>,
    /// CLOCK_MONOTONIC when the program started.
    pub started_mono: Nanos,
}

/// How late wakeups are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Whether at all.
    pub when: When,
    /// More events than attribution needs at least: idle states, interrupts between CPUs, CPU time.
    pub full: bool,
    /// Each CPU's buffer, KiB; `None`: by the machine's memory.
    pub buffer_kb: Option<u64>,
}

/// Whether to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// No.
    Never,
    /// If this machine lets us; else the report says why not.
    Auto,
    /// Yes; refuse to measure without.
    Always,
}

/// The usual block of which the maximum is kept.
pub const MAXIMA_BLOCK: Nanos = Nanos::from_secs(300);

/// What the run does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The load and the measuring threads are started.
    Starting,
    /// The machine is audited, by another process, while the first phase warms up.
    Auditing,
    /// Tracing is switched on.
    Tracing,
    /// Warm-up until `start`, then recording until `end`, both CLOCK_MONOTONIC. A signal, or a claim that is decided, ends it earlier.
    Measuring {
        /// The first recorded release.
        start: Nanos,
        /// The planned end.
        end: Nanos,
        /// Is [`Observer::tick`] called meanwhile?
        ticks: bool,
    },
    /// The load and the measuring threads are ended, their results collected.
    Collecting,
    /// All is measured; the end of the run is written and read back.
    Writing,
    /// The traces of the latest wakeups are read.
    Explaining,
    /// The claims are judged.
    Judging,
    /// The report is written.
    Reporting,
}

/// Told how it goes. Called by the thread that runs the measurement: between the phases, and within one at each [`Step`] only. Who
/// wants to look meanwhile does so through [`Watching`], or about once a second through [`Observer::tick`].
pub trait Observer {
    /// A phase is about to start.
    fn phase_starts(&mut self, _number: usize, _of: usize, _load: &str, _lasts: Nanos) {}
    /// It runs, and may be looked at.
    fn phase_runs(&mut self, _watching: Watching) {}
    /// What is done from now on.
    fn step(&mut self, _step: Step) {}
    /// To be called about once a second while a phase is measured: by the context thread after its sample, which wakes then anyway.
    /// Without a context thread the waiting thread calls it where it has a CPU that is not measured, and nobody does elsewhere.
    fn tick(&self) -> Option<Tick> {
        None
    }
    /// A phase has ended.
    fn phase_ended(&mut self, _phase: &Phase, _worst: Option<&Worst>) {}
    /// All is measured; what follows is judging and writing. Returns notes for the record.
    fn measured(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// The claims, `of` in all, were looked at for the `number`th time; `left`: how much longer it takes to decide them at this
    /// rate, `None`: longer than it may, or for ever.
    fn looked(&mut self, _number: usize, _look: &Look, _of: usize, _left: Option<Nanos>) {}
}

/// Observes nothing.
pub struct Quiet;

impl Observer for Quiet {}
