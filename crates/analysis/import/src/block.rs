use crate::bins::Bins;
use punctual_model::{LostKind, MachineFacts, Series};
use punctual_units::{Histogram, Scheduling};

pub(crate) const MOST_THREADS: u32 = 4_096;

#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Name of the format, more specific than [`crate::Format`].
    pub format: String,
    pub tool: Option<String>,
    pub version: Option<String>,
    pub command: Vec<String>,
    pub host: Option<String>,
    pub machine: MachineFacts,
    pub started_real_ns: Option<u64>,
    pub ended_real_ns: Option<u64>,
    pub dma_latency_us: Option<i32>,
    /// Blocks, each of which becomes a phase.
    pub blocks: Vec<Block>,
    pub series: Vec<Series>,
    pub lost: Vec<Loss>,
    pub notes: Vec<String>,
}

impl Found {
    pub fn has_figures(&self) -> bool {
        self.blocks.iter().any(|block| !block.threads.is_empty()) || !self.series.is_empty()
    }
}

/// A table of figures with one result per thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// The measured quantity, such as `wakeup latency`.
    pub label: String,
    /// Number of its first line, counted from 1; 0 if the format has no lines.
    pub line: u64,
    /// The last preceding text that does not consist of figures. It names the block in a text with several blocks.
    pub before: Option<String>,
    /// Source named by the prefix of a log, for example `VM 1`.
    pub source: Option<String>,
    pub threads: Vec<Thread>,
    pub lost: Vec<Loss>,
}

#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub kind: LostKind,
    pub count: Option<u64>,
    pub text: String,
    pub problem: bool,
}

impl Loss {
    /// Returns a loss that is reported but does not prevent a pass.
    pub fn reported(kind: LostKind, count: Option<u64>, text: impl Into<String>) -> Loss {
        Loss { kind, count, text: text.into(), problem: false }
    }

    /// Returns a loss that prevents a pass.
    pub fn problem(kind: LostKind, count: Option<u64>, text: impl Into<String>) -> Loss {
        Loss { kind, count, text: text.into(), problem: true }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Samples {
    Bins(Bins),
    Each(Histogram),
    Summary,
}

/// Samples beyond the last bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// No samples can be beyond the last bin.
    None,
    /// There are `count` samples of at least `from_ns`.
    Counted { count: u64, from_ns: u64 },
    /// The number of samples beyond the last bin is the thread's number of samples minus those in bins.
    Rest { from_ns: u64 },
    /// The file does not record the samples beyond the last bin.
    Unknown { from_ns: u64 },
}

/// How the tool handles missed periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    /// Missed periods are skipped without being counted (cyclictest, timerlat).
    Uncounted,
    /// Every cycle runs, even if it is late (jitterdebugger).
    Never,
    /// The tool has no periods (oslat, osnoise).
    NoPeriods,
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub number: u32,
    pub cpu: Option<u32>,
    pub tid: Option<i32>,
    pub got: Option<Scheduling>,
    pub period_ns: Option<u64>,
    /// Upper bound on the measurement time.
    pub longest_ns: Option<u64>,
    pub samples: Samples,
    pub width_ns: u64,
    /// True if bins are named by their upper edge.
    pub upper_edges: bool,
    pub beyond: Beyond,
    pub skips: Skips,
    /// Number of samples stated in the file's summary.
    pub count: Option<u64>,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    pub mean_ns: Option<f64>,
    pub lost: Vec<Loss>,
}

impl Thread {
    pub fn new(number: u32, samples: Samples, width_ns: u64) -> Thread {
        Thread {
            number,
            cpu: None,
            tid: None,
            got: None,
            period_ns: None,
            longest_ns: None,
            samples,
            width_ns,
            upper_edges: false,
            beyond: Beyond::None,
            skips: Skips::Uncounted,
            count: None,
            min_ns: None,
            max_ns: None,
            mean_ns: None,
            lost: Vec::new(),
        }
    }
}
