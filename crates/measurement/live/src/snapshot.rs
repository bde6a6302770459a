use punctual_units::{Bin, CpuId, Nanos};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Starting,
    /// The load and the threads run; nothing is recorded yet.
    WarmingUp,
    Measuring,
    Between,
    /// Everything is measured: judging and writing.
    Finishing,
    /// The attached process no longer measures.
    Ended,
}

/// The state of a run. What is unknown is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// `measure` or `prove`.
    pub command: String,
    pub stage: Stage,
    /// The load of this phase, as the user named it.
    pub load: String,
    /// The current phase, counting from 1.
    pub number: usize,
    pub of: usize,
    pub elapsed: Nanos,
    pub planned: Nanos,
    /// Latencies above this are late.
    pub deadline: Option<Nanos>,
    pub cpus: Vec<CpuView>,
    /// Is the machine's context sampled in this run?
    pub context: bool,
    /// The last context; `None` during the first second.
    pub machine: Option<Machine>,
    /// Does the drawing thread share CPUs with the measuring ones?
    pub shared: bool,
    pub paused: bool,
    pub help: bool,
    /// What a key did.
    pub word: Option<String>,
    /// Another process measures: keys do not end or mark its run, and `status` replaces the state of the machine.
    pub attached: bool,
    /// Lines on the state of an attached measurement; the most important first.
    pub status: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuView {
    pub cpu: CpuId,
    /// Periods in which the thread woke.
    pub ran: u64,
    /// Periods that passed while it was late.
    pub skipped: u64,
    /// ns, exact.
    pub min: Option<u64>,
    /// Nearest-rank median, ns, to its bin.
    pub median: Option<u64>,
    /// 99 % quantile, ns, to its bin.
    pub p99: Option<u64>,
    /// ns, exact.
    pub worst: Option<u64>,
    /// Share of the last interval that the hypervisor took, 0 to 1.
    pub steal: Option<f64>,
    /// Non-empty bins, ascending.
    pub bins: Vec<Bin>,
}

/// From the last context sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The hottest sensor, and m°C.
    pub hottest: Option<(String, i64)>,
    /// Throttling and under-voltage events within the interval; `None` without readable counters.
    pub throttled: Option<i64>,
    /// Lowest and highest frequency of the measured CPUs before this phase, kHz.
    pub khz: Option<(u64, u64)>,
    /// Frequency transitions a second, all CPUs.
    pub steps_per_s: Option<f64>,
}
