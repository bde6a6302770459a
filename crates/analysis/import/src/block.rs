//! What was found in a file, before it becomes a run.

use crate::bins::Bins;
use punctual_model::{LostKind, MachineFacts, Series};
use punctual_units::{Histogram, Scheduling};

/// Everything a file told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The format, finer than [`crate::Format`].
    pub format: String,
    /// The tool that measured, and its version.
    pub tool: Option<String>,
    pub version: Option<String>,
    /// Its command line.
    pub command: Vec<String>,
    pub host: Option<String>,
    pub machine: MachineFacts,
    pub started_real_ns: Option<u64>,
    pub ended_real_ns: Option<u64>,
    pub dma_latency_us: Option<i32>,
    /// One phase each.
    pub blocks: Vec<Block>,
    pub series: Vec<Series>,
    /// What concerns the whole file.
    pub lost: Vec<Loss>,
    pub notes: Vec<String>,
}

/// Figures taken together, one result a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// What they are: `wakeup latency`.
    pub label: String,
    pub threads: Vec<Thread>,
    /// What concerns all of it.
    pub lost: Vec<Loss>,
}

/// A loss, and whether it makes the figures doubtful: a problem of its phase.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub kind: LostKind,
    pub count: Option<u64>,
    pub text: String,
    pub problem: bool,
}

impl Loss {
    /// A loss that is only named.
    pub fn told(kind: LostKind, count: Option<u64>, text: impl Into<String>) -> Loss {
        Loss { kind, count, text: text.into(), problem: false }
    }

    /// A loss that makes a pass impossible.
    pub fn problem(kind: LostKind, count: Option<u64>, text: impl Into<String>) -> Loss {
        Loss { kind, count, text: text.into(), problem: true }
    }
}

/// The samples of a thread.
#[derive(Clone, Debug)]
pub(crate) enum Samples {
    /// By the edge of their bins.
    Bins(Bins),
    /// One by one.
    Each(Histogram),
    /// Only number and extremes.
    Summary,
}

/// Samples beyond the last bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// There can be none.
    None,
    /// So many, each of this and more, ns.
    Counted { count: u64, from_ns: u64 },
    /// As many as the thread's number of samples leaves.
    Rest { from_ns: u64 },
    /// Not told.
    Unknown { from_ns: u64 },
}

/// What can have been skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    /// Missed periods pass uncounted: cyclictest, timerlat.
    Uncounted,
    /// Every period runs, late or not: jitterdebugger.
    Never,
    /// There are no periods: oslat, osnoise.
    NoPeriods,
}

/// What a file tells of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// Its number in the file.
    pub number: u32,
    /// The CPU, where it is told.
    pub cpu: Option<u32>,
    pub tid: Option<i32>,
    pub got: Option<Scheduling>,
    pub period_ns: Option<u64>,
    /// It measured for no longer than this.
    pub longest_ns: Option<u64>,
    pub samples: Samples,
    /// Width of the bins, ns.
    pub width_ns: u64,
    /// Are bins named by their upper edge?
    pub upper_edges: bool,
    pub beyond: Beyond,
    pub skips: Skips,
    /// As told: number of samples, smallest, largest, mean.
    pub count: Option<u64>,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    pub mean_ns: Option<f64>,
    /// What is known to be missing of it.
    pub lost: Vec<Loss>,
}

impl Thread {
    /// One of which only its samples are known.
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
