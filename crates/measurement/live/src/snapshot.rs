//! Everything that is drawn, as plain values.

use punctual_units::{Bin, CpuId, Nanos};

/// What the run is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is measured yet.
    #[default]
    Starting,
    /// The load and the threads run; nothing is recorded yet.
    WarmingUp,
    /// Recording.
    Measuring,
    /// One load has ended, the next has not begun.
    Between,
    /// All is measured: judging and writing.
    Finishing,
}

/// One look at a run. What is not known is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// `measure` or `prove`.
    pub command: String,
    /// What it is doing.
    pub stage: Stage,
    /// The load of this phase, as the user named it.
    pub load: String,
    /// Which phase, counting from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
    /// Recorded so far in this phase.
    pub elapsed: Nanos,
    /// To be recorded in each phase.
    pub planned: Nanos,
    /// Latencies above this are late.
    pub deadline: Option<Nanos>,
    /// The measured CPUs.
    pub cpus: Vec<CpuView>,
    /// Is the machine's context sampled in this run?
    pub context: bool,
    /// The latest context; `None` before the first second is over.
    pub machine: Option<Machine>,
    /// Does the drawing thread share CPUs with the measuring ones?
    pub shared: bool,
    /// The display stands still; measuring goes on.
    pub paused: bool,
    /// Show what the keys do.
    pub help: bool,
    /// What a key did.
    pub word: Option<String>,
}

/// One CPU's results in this phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuView {
    /// Which.
    pub cpu: CpuId,
    /// Periods in which the thread woke.
    pub ran: u64,
    /// Periods that passed while it was late.
    pub skipped: u64,
    /// Smallest latency, ns, exact.
    pub min: Option<u64>,
    /// Nearest-rank median, ns, to its bin.
    pub median: Option<u64>,
    /// 99 % quantile, ns, to its bin.
    pub p99: Option<u64>,
    /// Largest latency, ns, exact.
    pub worst: Option<u64>,
    /// Share of the last interval the hypervisor took, 0 to 1.
    pub steal: Option<f64>,
    /// Bins that are not empty, in rising order.
    pub bins: Vec<Bin>,
}

/// What the context sampler saw last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The hottest sensor and its m°C.
    pub hottest: Option<(String, i64)>,
    /// Throttling and under-voltage events within the interval; `None` where no counter can be read.
    pub throttled: Option<i64>,
    /// Lowest and highest frequency of the measured CPUs before this phase, kHz.
    pub khz: Option<(u64, u64)>,
    /// Frequency transitions a second, all CPUs.
    pub steps_per_s: Option<f64>,
}
