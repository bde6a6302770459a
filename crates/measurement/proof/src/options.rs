use crate::watching::Watching;
use punctual_measure::Tick;
use punctual_model::{Alignment, Claim, Explained, Look, Phase, Recording, VirtualTime, Worst};
use punctual_units::{CpuList, Nanos, Policy, Priority, WakeupSource};
use std::path::PathBuf;

/// Options of a run of `prove` or `measure`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the run directory to create.
    pub out: PathBuf,
    /// The command line, to be recorded in the run.
    pub command: Vec<String>,
    /// Policy of the measuring threads; `None` to use the default. If it is set and refused, the run fails.
    pub policy: Option<Policy>,
    /// Priority of the measuring threads; `None` to use the default. If it is set and refused, the run fails.
    pub priority: Option<Priority>,
    pub via: WakeupSource,
    pub period: Nanos,
    /// CPUs to measure; `None` means all CPUs that this process may use.
    pub cpus: Option<CpuList>,
    /// Relation between the releases of different CPUs.
    pub alignment: Alignment,
    pub duration: Nanos,
    /// If set, the run continues after `duration` until every claim is decided, at most for this total measurement
    /// time.
    pub until: Option<Nanos>,
    /// Length of the blocks of time for which the largest latency is kept.
    pub maxima_block: Nanos,
    /// Duration of the warm-up in each phase; nothing is recorded during that time.
    pub warmup: Nanos,
    /// Loads, one phase each.
    pub loads: Vec<String>,
    pub context: bool,
    /// Value to hold in /dev/cpu_dma_latency while measuring, µs; `None` if it is not opened.
    pub cpu_dma_latency_us: Option<i32>,
    /// Number of worst wakeups to keep per phase and CPU.
    pub worst_kept: usize,
    pub deadline: Option<Nanos>,
    pub claims: Vec<Claim>,
    /// Host that returns the traffic of the network load.
    pub peer: Option<String>,
    /// File that contains the secret of the peer.
    pub secret_file: Option<PathBuf>,
    /// Directory for the file of the io load; `None` means the directory of the run.
    pub scratch: Option<PathBuf>,
    /// Maximum number of bytes that the io load writes in the whole run.
    pub write_cap: u64,
    pub trace: Trace,
    /// Syncs checkpoints to disk (fsync), so that they survive a power failure.
    pub sync: bool,
    /// The clock model of a machine emulated in virtual time; `None` for any other machine.
    pub virtual_time: Option<VirtualTime>,
    /// Directory of the journal of changes (`punctual_fix::FOLDER`). Changes to the machine during the run, and other
    /// measurements, make the run inconclusive. `None` disables this check.
    pub changes: Option<PathBuf>,
    /// CLOCK_MONOTONIC when the program started.
    pub started_mono: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    pub when: When,
    /// Also records events that are not needed to find causes: ends of threads and timers, frequency changes.
    pub full: bool,
    /// Also records kernel stacks, which show in which code interrupts or preemption are disabled.
    pub stacks: bool,
    /// Buffer size per CPU, KiB; `None` derives it from the machine's memory.
    pub buffer_kb: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Never,
    /// Traces if that is possible; otherwise the report states the reason.
    Auto,
    /// Fails instead of measuring without a trace.
    Always,
}

/// Default of [`Options::maxima_block`].
pub const MAXIMA_BLOCK: Nanos = Nanos::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Starting,
    /// A separate process audits the machine while the first phase warms up.
    Auditing,
    Tracing,
    /// The load and the measuring threads run: warm-up until `start`, recording until `end`, both CLOCK_MONOTONIC. A
    /// signal or a decided claim may end the phase earlier.
    Measuring {
        /// Time of the first recorded release.
        start: Nanos,
        end: Nanos,
        /// True if [`Observer::tick`] is called during the phase.
        ticks: bool,
    },
    /// The load and the measuring threads have ended; their results are being collected.
    Collecting,
    /// The run is being completed on disk and read back.
    Writing,
    Explaining,
    Judging,
    Reporting,
}

/// Receives the progress of a run. The thread that controls the run calls it between phases, and during a phase only at
/// each [`Step`]. To observe a running phase, use [`Watching`], or [`Observer::tick`] about once a second.
pub trait Observer {
    /// Reports, before the first phase starts, something that makes the run inconclusive.
    fn not_alone(&mut self, _what: &str) {}
    fn phase_starts(&mut self, _number: usize, _of: usize, _load: &str, _lasts: Nanos) {}
    fn phase_runs(&mut self, _watching: Watching) {}
    fn step(&mut self, _step: Step) {}
    /// Returns a function to call about once a second while a phase is measured. The context thread calls it after its
    /// sample, when it is awake anyway. Without a context thread the waiting thread calls it, but only if its CPU is
    /// not measured.
    fn tick(&self) -> Option<Tick> {
        None
    }
    fn phase_ended(&mut self, _phase: &Phase, _worst: Option<&Worst>) {}
    /// Returns true if the traced wakeups of a phase should be explained when it ends, which may take some seconds.
    fn wants_causes(&self) -> bool {
        false
    }
    /// Receives the explained wakeups of the completed phases.
    fn explained(&mut self, _run: &Recording, _explained: &[Explained]) {}
    /// Reports that all phases have been measured. Returns notes to record in the run.
    fn measured(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Reports the result of a check of the claims: its number, and the number of claims. `left` is the estimated
    /// measurement time until they are decided; `None` if it exceeds the permitted time or is infinite.
    fn looked(&mut self, _number: usize, _look: &Look, _of: usize, _left: Option<Nanos>) {}
}

pub struct Quiet;

impl Observer for Quiet {}
