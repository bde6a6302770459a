use crate::watching::Watching;
use punctual_measure::Tick;
use punctual_model::{Alignment, Claim, Explained, Look, Phase, Recording, VirtualTime, Worst};
use punctual_units::{CpuList, Nanos, Policy, Priority, WakeupSource};
use std::path::PathBuf;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The run directory to create.
    pub out: PathBuf,
    /// Command line, for the record.
    pub command: Vec<String>,
    /// Policy of the measuring threads; if set, a refusal is an error.
    pub policy: Option<Policy>,
    /// Priority of the measuring threads; if set, a refusal is an error.
    pub priority: Option<Priority>,
    pub via: WakeupSource,
    pub period: Nanos,
    /// CPUs to measure; `None`: all allowed ones.
    pub cpus: Option<CpuList>,
    /// How the releases of several CPUs are aligned.
    pub alignment: Alignment,
    pub duration: Nanos,
    /// Continue past `duration` until every claim is decided, up to this total.
    pub until: Option<Nanos>,
    /// Length of the blocks whose maxima are kept.
    pub maxima_block: Nanos,
    /// Time before recording starts, in each phase.
    pub warmup: Nanos,
    /// One phase per load.
    pub loads: Vec<String>,
    pub context: bool,
    /// Hold /dev/cpu_dma_latency at this many µs while measuring.
    pub cpu_dma_latency_us: Option<i32>,
    /// Number of worst wakeups to keep per phase and CPU.
    pub worst_kept: usize,
    pub deadline: Option<Nanos>,
    pub claims: Vec<Claim>,
    /// Host that answers the network load.
    pub peer: Option<String>,
    /// File with the peer's secret.
    pub secret_file: Option<PathBuf>,
    /// Directory of the io load's file; `None`: that of the run.
    pub scratch: Option<PathBuf>,
    /// Maximum number of bytes that the io load writes in total.
    pub write_cap: u64,
    pub trace: Trace,
    /// Sync checkpoints to disk (fsync), so that they survive a power failure.
    pub sync: bool,
    /// The clock model, if this machine is emulated in virtual time.
    pub virtual_time: Option<VirtualTime>,
    /// Directory of the journal of changes (`punctual_fix::FOLDER`). Changes to the machine and other measurements
    /// during the run make it inconclusive. `None`: not checked.
    pub changes: Option<PathBuf>,
    /// CLOCK_MONOTONIC when the program started.
    pub started_mono: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    pub when: When,
    /// Also record events that attribution does not need: ends of threads and timers, frequencies.
    pub full: bool,
    /// Also record the kernel's stacks that name sections with interrupts or preemption off.
    pub stacks: bool,
    /// Per CPU, KiB; `None`: derived from the machine's memory.
    pub buffer_kb: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Never,
    /// Trace if possible; otherwise the report says why not.
    Auto,
    /// Refuse to measure without a trace.
    Always,
}

/// Default of [`Options::maxima_block`].
pub const MAXIMA_BLOCK: Nanos = Nanos::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Starting,
    /// Another process audits the machine while the first phase warms up.
    Auditing,
    Tracing,
    /// Warm-up until `start`, then recording until `end`, both CLOCK_MONOTONIC. A signal or a decided claim ends it
    /// earlier.
    Measuring {
        /// First recorded release.
        start: Nanos,
        end: Nanos,
        /// True if [`Observer::tick`] is called meanwhile.
        ticks: bool,
    },
    /// The load and the measuring threads have ended; their results are collected.
    Collecting,
    /// The end of the run is written and read back.
    Writing,
    Explaining,
    Judging,
    Reporting,
}

/// Observes a run. Called by the thread that runs the measurement: between phases, and within a phase only at each
/// [`Step`]. To look in between, use [`Watching`], or [`Observer::tick`] about once a second.
pub trait Observer {
    /// A condition before the first phase already makes the run inconclusive.
    fn not_alone(&mut self, _what: &str) {}
    fn phase_starts(&mut self, _number: usize, _of: usize, _load: &str, _lasts: Nanos) {}
    fn phase_runs(&mut self, _watching: Watching) {}
    fn step(&mut self, _step: Step) {}
    /// A function to call about once a second while a phase is measured: by the context thread after its sample, since
    /// it wakes up anyway. Without a context thread the waiting thread calls it if its CPU is not measured; otherwise
    /// it is not called.
    fn tick(&self) -> Option<Tick> {
        None
    }
    fn phase_ended(&mut self, _phase: &Phase, _worst: Option<&Worst>) {}
    /// True if the traced wakeups of a phase are to be explained when it has ended, which takes up to some seconds.
    fn wants_causes(&self) -> bool {
        false
    }
    /// The explained wakeups of the phases so far.
    fn explained(&mut self, _run: &Recording, _explained: &[Explained]) {}
    /// All phases are measured; judging and writing follow. Returns notes for the record.
    fn measured(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// The `of` claims were checked for the `number`th time. `left`: estimated measuring time until they are decided;
    /// `None`: longer than allowed, or never.
    fn looked(&mut self, _number: usize, _look: &Look, _of: usize, _left: Option<Nanos>) {}
}

pub struct Quiet;

impl Observer for Quiet {}
