use punctual_units::{Bin, CpuId, Nanos};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Starting,
    /// The load and the measuring threads run, but recording has not started.
    WarmingUp,
    Measuring,
    Between,
    /// The measurement is complete. The run is being judged and written.
    Finishing,
    /// The other process has stopped measuring.
    Ended,
}

/// State of a run. Unknown values are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Name of the command: `measure` or `prove`.
    pub command: String,
    pub stage: Stage,
    /// Load of the phase as named by the user.
    pub load: String,
    /// Number of the current phase, counted from 1.
    pub number: usize,
    pub of: usize,
    pub elapsed: Nanos,
    pub planned: Nanos,
    /// Latency above which a wakeup is late.
    pub deadline: Option<Nanos>,
    pub cpus: Vec<CpuView>,
    /// True if the machine's context is sampled in this run.
    pub context: bool,
    /// The latest context sample; `None` during the first second.
    pub machine: Option<Machine>,
    /// True if the drawing thread shares CPUs with the measuring threads.
    pub shared: bool,
    pub paused: bool,
    pub help: bool,
    /// Message with the result of the last key press.
    pub word: Option<String>,
    /// True if another process is measuring. Keys then do not end or mark its run, and the line about the machine is
    /// omitted.
    pub attached: bool,
    /// Lines below the table, most important first: causes found so far, or the state of the measurement in another
    /// process.
    pub status: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuView {
    pub cpu: CpuId,
    /// Number of periods in which the thread woke up.
    pub ran: u64,
    /// Number of periods skipped because the thread was still late.
    pub skipped: u64,
    /// Exact minimum, ns.
    pub min: Option<u64>,
    /// Nearest-rank median, ns, rounded up to the upper limit of its bin.
    pub median: Option<u64>,
    /// 99 % quantile, ns, rounded up to the upper limit of its bin.
    pub p99: Option<u64>,
    /// Exact maximum, ns.
    pub worst: Option<u64>,
    /// Share of steal time in the last interval, 0 to 1.
    pub steal: Option<f64>,
    /// Non-empty bins of the histogram, in ascending order.
    pub bins: Vec<Bin>,
}

/// Values of the latest context sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Name of the hottest sensor, and its temperature in m°C.
    pub hottest: Option<(String, i64)>,
    /// Throttling and under-voltage events in the interval; `None` if no counter is readable.
    pub throttled: Option<i64>,
    /// Lowest and highest frequency of the measured CPUs before this phase, kHz.
    pub khz: Option<(u64, u64)>,
    /// Frequency changes per second on all CPUs together.
    pub steps_per_s: Option<f64>,
}
