use punctual_units::{Bin, CpuId, Nanos};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Starting,
    /// The load and the threads run, but nothing is recorded yet.
    WarmingUp,
    Measuring,
    Between,
    /// The measurement is complete; judging and writing follow.
    Finishing,
    /// The attached process no longer measures.
    Ended,
}

/// State of a run; unknown values are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// `measure` or `prove`.
    pub command: String,
    pub stage: Stage,
    /// The phase's load as named by the user.
    pub load: String,
    /// Number of the current phase, from 1.
    pub number: usize,
    pub of: usize,
    pub elapsed: Nanos,
    pub planned: Nanos,
    /// Latencies above this are late.
    pub deadline: Option<Nanos>,
    pub cpus: Vec<CpuView>,
    /// True if the machine's context is sampled in this run.
    pub context: bool,
    /// The most recent context sample; `None` during the first second.
    pub machine: Option<Machine>,
    /// True if the drawing thread shares CPUs with the measuring ones.
    pub shared: bool,
    pub paused: bool,
    pub help: bool,
    /// Result of the last key.
    pub word: Option<String>,
    /// Another process measures: keys do not end or mark its run, and the machine is not shown.
    pub attached: bool,
    /// Lines below the table, the most important first: causes so far, or the state of an attached measurement.
    pub status: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuView {
    pub cpu: CpuId,
    /// Periods in which the thread woke.
    pub ran: u64,
    /// Periods that passed while it was late.
    pub skipped: u64,
    /// Exact, ns.
    pub min: Option<u64>,
    /// Nearest-rank median, ns, rounded up to its bin.
    pub median: Option<u64>,
    /// 99 % quantile, ns, rounded up to its bin.
    pub p99: Option<u64>,
    /// Exact, ns.
    pub worst: Option<u64>,
    /// Share of the last interval taken by the hypervisor, 0 to 1.
    pub steal: Option<f64>,
    /// Non-empty bins, in ascending order.
    pub bins: Vec<Bin>,
}

/// Values of the most recent context sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The hottest sensor, in m°C.
    pub hottest: Option<(String, i64)>,
    /// Throttling and under-voltage events in the interval; `None` without readable counters.
    pub throttled: Option<i64>,
    /// Lowest and highest frequency of the measured CPUs before this phase, kHz.
    pub khz: Option<(u64, u64)>,
    /// Frequency transitions per second of all CPUs.
    pub steps_per_s: Option<f64>,
}
