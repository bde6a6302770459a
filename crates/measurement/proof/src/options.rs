use crate::watching::Watching;
use punctual_measure::Tick;
use punctual_model::{Alignment, Claim, Look, Phase, VirtualTime, Worst};
use punctual_units::{CpuList, Nanos, Policy, Priority, Way};
use std::path::PathBuf;

/// Options of a run; `None` is the default of cli.md.
#[derive(Clone, Debug)]
pub struct Options {
    /// Parent of the run directory.
    pub out: PathBuf,
    /// For the record.
    pub command: Vec<String>,
    /// Policy of the measuring threads; if named, a refusal is an error.
    pub policy: Option<Policy>,
    /// Their priority; if named, a refusal is an error.
    pub priority: Option<Priority>,
    pub via: Way,
    pub period: Nanos,
    /// The measured CPUs; `None`: all allowed ones.
    pub cpus: Option<CpuList>,
    /// Phase of the releases between CPUs.
    pub alignment: Alignment,
    pub duration: Nanos,
    /// Continue past `duration` until every claim is decided, up to this total.
    pub until: Option<Nanos>,
    /// Length of the blocks of which the maxima are kept.
    pub maxima_block: Nanos,
    /// Time before recording, in each phase.
    pub warmup: Nanos,
    /// One phase each.
    pub loads: Vec<String>,
    pub context: bool,
    /// Hold /dev/cpu_dma_latency at this many µs while measuring.
    pub cpu_dma_latency_us: Option<i32>,
    /// Per phase and CPU.
    pub worst_kept: usize,
    pub deadline: Option<Nanos>,
    pub claims: Vec<Claim>,
    /// Host that answers the network load.
    pub peer: Option<String>,
    /// The file of the secret that it asks for.
    pub secret_file: Option<PathBuf>,
    /// Where the io load writes; `None`: the folder of the run.
    pub scratch: Option<PathBuf>,
    /// Bytes the io load may write in all.
    pub write_cap: u64,
    pub trace: Trace,
    /// Make checkpoints survive a power cut (fsync).
    pub sync: bool,
    /// The clock model, if this machine is emulated in virtual time.
    pub virtual_time: Option<VirtualTime>,
    /// Folder of the journal of changes (`punctual_fix::FOLDER`): what is changed or measured by others meanwhile makes
    /// the run inconclusive. `None`: nobody looks.
    pub changes: Option<PathBuf>,
    /// CLOCK_MONOTONIC when the program started.
    pub started_mono: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    pub when: When,
    /// More events than attribution needs: ends of threads and timers, frequencies.
    pub full: bool,
    /// Also the kernel's stacks that name sections with interrupts or preemption off.
    pub stacks: bool,
    /// Per CPU, KiB; `None`: by the machine's memory.
    pub buffer_kb: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Never,
    /// If possible; else the report says why not.
    Auto,
    /// Refuse to measure without.
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
    /// Warm-up until `start`, then recording until `end`, both CLOCK_MONOTONIC. A signal, or a decided claim, ends it
    /// earlier.
    Measuring {
        /// The first recorded release.
        start: Nanos,
        end: Nanos,
        /// Is [`Observer::tick`] called meanwhile?
        ticks: bool,
    },
    /// The load and the measuring threads are ended, their results collected.
    Collecting,
    /// The end of the run is written and read back.
    Writing,
    Explaining,
    Judging,
    Reporting,
}

/// Follows a run. Called by the thread that runs the measurement: between the phases, and within one at each [`Step`]
/// only. To look in between, use [`Watching`], or [`Observer::tick`] about once a second.
pub trait Observer {
    /// Something before the first phase already makes the run inconclusive.
    fn not_alone(&mut self, _what: &str) {}
    fn phase_starts(&mut self, _number: usize, _of: usize, _load: &str, _lasts: Nanos) {}
    fn phase_runs(&mut self, _watching: Watching) {}
    fn step(&mut self, _step: Step) {}
    /// To be called about once a second while a phase is measured: by the context thread after its sample, which wakes
    /// then anyway. Without a context thread the waiting thread calls it if it has a CPU that is not measured; else it
    /// is not called.
    fn tick(&self) -> Option<Tick> {
        None
    }
    fn phase_ended(&mut self, _phase: &Phase, _worst: Option<&Worst>) {}
    /// All is measured; judging and writing follow. Returns notes for the record.
    fn measured(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// The `of` claims were looked at for the `number`th time; `left`: how much longer it takes to decide them at this
    /// rate, `None`: longer than allowed, or never.
    fn looked(&mut self, _number: usize, _look: &Look, _of: usize, _left: Option<Nanos>) {}
}

pub struct Quiet;

impl Observer for Quiet {}
