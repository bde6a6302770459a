//! A machine watched for weeks: what `watch` keeps of it beside its run directories.

use crate::{EndedBy, Stamp, Tool};
use punctual_units::{CpuId, CpuList, Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// Format of `watch.json`; the number after the slash is the major version.
pub const WATCH_SCHEMA: &str = "punctual.series/1";

/// `watch.json`: how a series stands, written anew every few seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// `punctual.series/1`.
    pub schema: String,
    /// `major.minor`; a minor version adds fields only.
    pub schema_version: String,
    /// Who wrote it.
    pub tool: Tool,
    /// The machine's name.
    pub host: Option<String>,
    /// Its kernel's release.
    pub kernel: Option<String>,
    /// The boot that the stamps are of: CLOCK_MONOTONIC begins anew with each. `None`: not told by the kernel.
    pub boot_id: Option<String>,
    /// CLOCK_REALTIME at which the series began, ns since 1970.
    pub series_started_real_ns: u64,
    /// When this process began.
    pub started: Stamp,
    /// When this was written.
    pub updated: Stamp,
    /// How it ended; `None`: it runs, or was killed.
    pub ended_by: Option<EndedBy>,
    /// Process id, while it runs.
    pub pid: u32,
    /// How it measures.
    pub settings: WatchSettings,
    /// The run directory being measured, relative to the watch's own.
    pub segment: Option<String>,
    /// The block of maxima that is running.
    pub block: Option<WatchBlock>,
    /// By CPU, over the whole series.
    pub cpus: Vec<WatchCpu>,
    /// Traces of new maxima, since this process began.
    pub maxima: WatchMaxima,
    /// Why nothing is traced; `None`: it is.
    pub untraced: Option<String>,
    /// Files that could not be written, since this process began.
    pub disk: WatchDisk,
    /// What watching costs, since this process began.
    pub cost: WatchCost,
    /// Times that the wall clock was set, the machine slept, or a measured CPU went offline, since this process began.
    pub upsets: WatchUpsets,
}

/// How a machine is watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchSettings {
    /// Period of every measuring thread.
    pub period_ns: Nanos,
    /// What the measuring threads run as.
    pub scheduling: Scheduling,
    /// The measured CPUs.
    pub cpus: CpuList,
    /// Length of a run directory.
    pub segment_ns: Nanos,
    /// Length of the blocks of which the maxima are kept.
    pub block_ns: Nanos,
    /// A new maximum is traced from this latency on.
    pub trace_above_ns: Nanos,
    /// Most bytes that all files together may grow by, a CPU and day.
    pub bytes_a_cpu_and_day: u64,
}

/// The largest latencies of a block: a line of `series.jsonl`, or the running one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchBlock {
    /// CLOCK_REALTIME at its beginning, ns since 1970.
    pub from_real_ns: u64,
    /// Its length by CLOCK_MONOTONIC.
    pub lasts_ns: u64,
    /// CPU and largest latency of the wakeups in it, ns; `None`: its thread never woke.
    pub max_ns: Vec<(CpuId, Option<u64>)>,
}

/// One CPU over the whole series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCpu {
    /// Which.
    pub cpu: CpuId,
    /// The latest wakeup of the series; `None` before the first.
    pub ever: Option<WatchMaximum>,
    /// Largest latency since this process began, ns.
    pub since_start_ns: Option<u64>,
    /// Periods released, over the series as far as it was kept.
    pub released: u64,
    /// Periods in which the thread woke.
    pub ran: u64,
    /// Periods that passed while it was late.
    pub skipped: u64,
    /// A release of the running segment, CLOCK_MONOTONIC: all others are whole periods away. `None`: none was late yet.
    pub release_mono_ns: Option<u64>,
}

/// A new maximum of a CPU; a line of `series.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchMaximum {
    /// Where.
    pub cpu: CpuId,
    /// CLOCK_REALTIME when the thread should have woken, ns since 1970.
    pub real_ns: u64,
    /// The same by CLOCK_MONOTONIC.
    pub mono_ns: u64,
    /// How much later it did.
    pub latency_ns: u64,
    /// The run directory it is in, relative to the watch's own; may have been deleted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// What delayed it, in one sentence; `None`: not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Why there is no verdict, or no trace beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// The trace, relative to the run directory; may have been deleted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// What became of new maxima above the floor; the first is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchMaxima {
    /// New maxima of a CPU above the floor.
    pub seen: u64,
    /// Explained by a trace.
    pub explained: u64,
    /// Not traced, because others had been just before.
    pub too_many: u64,
    /// Not explained: no trace can be had, it was overwritten, or could not be written or read.
    pub failed: u64,
    /// Traces deleted to stay within the room: their sentences stay.
    pub traces_deleted: u64,
}

/// Files that could not be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchDisk {
    /// Checkpoints with a failure.
    pub failures: u64,
    /// What fails now; `None`: nothing does.
    pub failing: Option<String>,
    /// Lines of the series that were dropped because too many waited for room.
    pub lines_lost: u64,
    /// Run directories deleted because newer ones needed their room.
    pub segments_deleted: u64,
}

/// What watching costs. `None`: could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCost {
    /// CPU time of the process and the children it waited for, in steps of a tick (10 ms as a rule).
    pub cpu_ns: Option<u64>,
    /// Resident memory now, bytes.
    pub rss_bytes: Option<u64>,
}

/// What else happened to the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchUpsets {
    /// The wall clock was set.
    pub clock_steps: u64,
    /// The machine slept.
    pub suspends: u64,
    /// A measured CPU went offline, or was taken away.
    pub cpus_lost: u64,
}

/// A line of `series.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum WatchLine {
    /// A block is over.
    Block(WatchBlock),
    /// A CPU was later than ever since the process began.
    Maximum(WatchMaximum),
    /// Nothing was measured.
    Gap {
        /// CLOCK_REALTIME, ns since 1970: the last moment that was recorded.
        from_real_ns: u64,
        /// The first moment that was recorded again.
        to_real_ns: u64,
        /// Why.
        why: String,
    },
    /// Something else that a reader of the series must know.
    Note {
        /// CLOCK_REALTIME, ns since 1970.
        real_ns: u64,
        /// What.
        text: String,
    },
}

/// A folder of `watch`, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// How it stands.
    pub watch: Watch,
    /// The lines of the series that are still kept, in order of writing.
    pub lines: Vec<WatchLine>,
    /// Run directories that are still kept, the oldest first, relative to the folder.
    pub segments: Vec<String>,
    /// Bytes of all files.
    pub bytes: u64,
    /// Is a process writing it?
    pub running: bool,
    /// What cannot be read.
    pub damage: Vec<String>,
}

impl Watched {
    /// Largest latency of a CPU in the `within` before the last update; blocks count where they end in it. `None`: nothing is known.
    pub fn max_within(&self, cpu: CpuId, within: Nanos) -> Option<u64> {
        let since = self.watch.updated.real_ns.saturating_sub(within.0);
        let blocks = self.lines.iter().filter_map(|line| match line {
            WatchLine::Block(block) => Some(block),
            _ => None,
        });
        let all = blocks.chain(&self.watch.block).filter(|b| b.from_real_ns + b.lasts_ns > since);
        all.flat_map(|b| &b.max_ns).filter(|(c, _)| *c == cpu).filter_map(|(_, max)| *max).max()
    }
}
