//! Results of `watch`, which measures a machine for weeks. The results of the individual runs are in their run
//! directories.

use crate::{AppLate, AppThread, EndedBy, Stamp, Tool};
use punctual_units::{CpuId, CpuList, Nanos, Scheduling};
use serde::{Deserialize, Serialize, Serializer};

/// Value of [`Watch::schema`]; the number after the slash is the major version.
pub const WATCH_SCHEMA: &str = "punctual.series/1";

/// `watch.json`: state of a series, rewritten every few seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    pub schema: String,
    /// Version as `major.minor`. A new minor version only adds fields.
    pub schema_version: String,
    pub tool: Tool,
    pub host: Option<String>,
    pub kernel: Option<String>,
    /// ID of the boot in which the times of this file were taken, needed because CLOCK_MONOTONIC restarts with each
    /// boot; null if the kernel does not report it.
    pub boot_id: Option<String>,
    /// CLOCK_REALTIME time at the start of the series, ns since 1970.
    pub series_started_real_ns: u64,
    /// Time at which this process started.
    pub started: Stamp,
    /// Time of this update.
    pub updated: Stamp,
    /// How the process ended; null while the process runs, or if it was killed.
    pub ended_by: Option<EndedBy>,
    /// ID of the measuring process.
    pub pid: u32,
    pub settings: WatchSettings,
    /// Run directory being measured, relative to the watch directory; null if there is none.
    pub segment: Option<String>,
    /// The current block; null if there is none.
    pub block: Option<WatchBlock>,
    /// Results of each CPU over the whole series.
    pub cpus: Vec<WatchCpu>,
    /// Counts of new maxima and of their traces since this process started.
    pub maxima: WatchMaxima,
    /// The reason why nothing is traced; null if tracing works.
    pub untraced: Option<String>,
    /// Write failures since this process started.
    pub disk: WatchDisk,
    /// Cost of watching since this process started.
    pub cost: WatchCost,
    /// Clock steps, suspends and lost CPUs since this process started.
    pub upsets: WatchUpsets,
    /// The application whose cycles are watched; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<WatchApp>,
}

/// State of an application whose cycles are watched, since this process started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchApp {
    /// The command line of the application, or the process or unit that is watched.
    pub program: String,
    pub threads: Vec<AppThread>,
    /// Claims whose violation makes the application late.
    pub claims: Vec<String>,
    /// True if the user gave no claim, so that these claims were derived from the detected periods.
    pub is_proposed: bool,
    /// Length of the window that is kept before each moment at which the application was late.
    pub window_ns: Nanos,
    /// Cycles of each thread so far.
    pub cycles: Vec<WatchAppThread>,
    pub late: WatchLates,
    /// Number of events that the kernel overwrote before they were read; cycles and moments recorded in them are
    /// missing.
    pub lost_events: u64,
    /// The reason why lines of trace_marker are not visible; null if they are visible.
    pub no_marks: Option<String>,
    /// The reason why the application is no longer watched; null while it is watched.
    pub ended: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchAppThread {
    pub thread: String,
    pub cycles: u64,
    /// Releases without a cycle.
    pub skipped: u64,
    /// Cycles that had not ended at the next release.
    pub overruns: u64,
    /// Largest response time; null before the first cycle.
    pub longest_ns: Option<Nanos>,
}

/// Number of moments at which the application was late, by outcome. `seen` is the sum of `explained`, `too_many` and
/// `failed`, and the number of moments that are still being explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchLates {
    pub seen: u64,
    pub explained: u64,
    /// Moments that were not kept, because others had occurred shortly before.
    pub too_many: u64,
    /// Moments of which no cycle was recorded completely.
    pub failed: u64,
    /// Windows of events that could not be saved, for example because the disk was full. Each belongs to one or more
    /// moments, which are counted above as well.
    #[serde(default)]
    pub unsaved: u64,
}

/// A moment at which the application was late; a line of `series.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchLate {
    /// CLOCK_REALTIME time, ns since 1970.
    pub real_ns: u64,
    pub late: AppLate,
    /// Run directory with the trace; see [`WatchMaximum::segment`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// Cause in one sentence; absent if not explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The reason for a missing verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Trace file, relative to the run directory. Set only in the output of commands, not on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchSettings {
    pub period_ns: Nanos,
    pub scheduling: Scheduling,
    pub cpus: CpuList,
    /// Measurement time per run directory.
    pub segment_ns: Nanos,
    /// Length of the blocks whose maxima are kept.
    pub block_ns: Nanos,
    /// Latency above which new maxima are traced.
    pub trace_above_ns: Nanos,
    /// Maximum growth of all files together, in bytes per CPU and day.
    pub bytes_a_cpu_and_day: u64,
}

/// Largest latencies in a block: a line of `series.jsonl`, or the current block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchBlock {
    /// CLOCK_REALTIME time at the start of the block, ns since 1970.
    pub from_real_ns: u64,
    /// Length of the block, measured with CLOCK_MONOTONIC.
    pub lasts_ns: u64,
    /// Pairs of a CPU and its largest wakeup latency, ns; null if the thread on that CPU never woke during the block.
    pub max_ns: Vec<(CpuId, Option<u64>)>,
}

/// Results of one CPU over the whole series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCpu {
    pub cpu: CpuId,
    /// Worst wakeup of the series; null before the first wakeup.
    pub ever: Option<WatchMaximum>,
    /// Largest latency since this process started, ns; null before the first wakeup.
    pub since_start_ns: Option<u64>,
    /// Number of releases recorded in the series.
    pub released: u64,
    pub ran: u64,
    /// Number of periods skipped because the thread was late.
    pub skipped: u64,
    /// CLOCK_MONOTONIC time of one release in the current segment. All other releases differ from it by a multiple of
    /// the period. Null before the first late wakeup.
    pub release_mono_ns: Option<u64>,
}

/// A new maximum of a CPU; a line of `series.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchMaximum {
    pub cpu: CpuId,
    /// CLOCK_REALTIME time of the release, ns since 1970.
    pub real_ns: u64,
    /// CLOCK_MONOTONIC time of the release.
    pub mono_ns: u64,
    pub latency_ns: u64,
    /// Run directory of the maximum, relative to the watch directory. In `series.jsonl` this is the name at that time,
    /// and the directory may have been deleted since. In the output of commands it is absent if the directory was
    /// deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// Cause in one sentence; absent if not explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The reason for a missing verdict or trace; absent if both exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Trace file, relative to the run directory; absent if there is none. Set only in the output of commands, not on
    /// disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// Number of new maxima above the threshold by outcome. `seen` is the sum of `explained`, `too_many` and `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchMaxima {
    /// Number of new maxima above the threshold.
    pub seen: u64,
    pub explained: u64,
    /// Number of maxima that were not traced because too many others had occurred shortly before.
    pub too_many: u64,
    /// Number of maxima that were not explained: no trace was available, it was overwritten, or it could not be written
    /// or read.
    pub failed: u64,
    /// Number of traces deleted to stay within the size limit. Their verdicts are kept.
    pub traces_deleted: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchDisk {
    /// Number of checkpoints at which writing failed.
    pub failures: u64,
    /// The current failure; null if there is none.
    pub failing: Option<String>,
    /// Number of lines of the series that were dropped because too many lines waited for disk space.
    pub lines_lost: u64,
    /// Number of run directories that were deleted to make space for newer runs.
    pub segments_deleted: u64,
}

/// Cost of watching. Values that could not be read are null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCost {
    /// CPU time of the process and of the children for which it waited, in steps of a tick (usually 10 ms).
    pub cpu_ns: Option<u64>,
    pub rss_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchUpsets {
    /// Number of times CLOCK_REALTIME was set.
    pub clock_steps: u64,
    /// Number of times the machine was suspended.
    pub suspends: u64,
    /// Number of times a measured CPU went offline or was removed from the process's CPUs.
    pub cpus_lost: u64,
}

/// A line of `series.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum WatchLine {
    Block(WatchBlock),
    /// A CPU reached its largest latency since the process started.
    Maximum(WatchMaximum),
    /// The application was late.
    Late(WatchLate),
    /// Nothing was measured during this interval.
    Gap {
        /// Time at which recording ended, CLOCK_REALTIME, ns since 1970.
        from_real_ns: u64,
        /// Time at which recording resumed, CLOCK_REALTIME, ns since 1970.
        to_real_ns: u64,
        why: String,
    },
    /// Another remark needed to interpret the series.
    Note {
        /// Time of the remark, CLOCK_REALTIME, ns since 1970.
        real_ns: u64,
        text: String,
    },
}

/// Contents of a `watch` directory: the output of `watch` and `watch --status`, and of `report` for the directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    pub watch: Watch,
    /// Lines of the series that are still stored, in the order written. Blocks are not serialized.
    #[serde(serialize_with = "without_blocks")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<WatchLine>"))]
    pub lines: Vec<WatchLine>,
    /// Existing run directories, oldest first, relative to the watch directory.
    pub segments: Vec<String>,
    /// Total size of all files in the directory, in bytes.
    pub bytes: u64,
    /// True if a process writes to the directory.
    pub running: bool,
    pub damage: Vec<String>,
}

fn without_blocks<S: Serializer>(lines: &[WatchLine], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(lines.iter().filter(|line| !matches!(line, WatchLine::Block(_))))
}

impl Watched {
    /// Returns the largest latency of a CPU within the given time before the last update; `None` if no latency is
    /// known. A block counts if it ends in that time, as [`Watched::aged`] says.
    pub fn max_within(&self, cpu: CpuId, within: Nanos) -> Option<u64> {
        let of = |block: &WatchBlock| block.max_ns.iter().find(|(c, _)| *c == cpu).and_then(|(_, max)| *max);
        let blocks = self.aged().take_while(|(ago, _)| *ago < within).filter_map(|(_, line)| match line {
            WatchLine::Block(block) => Some(block),
            _ => None,
        });
        self.watch.block.iter().chain(blocks).filter_map(of).max()
    }

    /// Returns the lines, newest first, each with the time that has passed since it, to the length of a block.
    ///
    /// Time is counted by the lengths of blocks and gaps, so that setting the wall clock has no effect.
    pub fn aged(&self) -> impl Iterator<Item = (Nanos, &WatchLine)> {
        let mut ago = self.watch.block.as_ref().map_or(0, |block| block.lasts_ns);
        self.lines.iter().rev().map(move |line| {
            let lasted = match line {
                WatchLine::Block(block) => block.lasts_ns,
                WatchLine::Gap { from_real_ns, to_real_ns, .. } => to_real_ns.saturating_sub(*from_real_ns),
                WatchLine::Maximum(_) | WatchLine::Late(_) | WatchLine::Note { .. } => 0,
            };
            let since = Nanos(ago);
            ago = ago.saturating_add(lasted);
            (since, line)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(lines: Vec<WatchLine>) -> Watched {
        let now = Stamp { mono_ns: 0, boot_ns: 0, real_ns: 1_000_000_000_000 };
        let scheduling = Scheduling::Other { nice: 0 };
        let settings = WatchSettings {
            period_ns: Nanos(1),
            scheduling,
            cpus: CpuList::new(),
            segment_ns: Nanos(1),
            block_ns: Nanos(300),
            trace_above_ns: Nanos(1),
            bytes_a_cpu_and_day: 1,
        };
        let watch = Watch {
            schema: WATCH_SCHEMA.into(),
            schema_version: "1.0".into(),
            tool: Tool { name: "punctual".into(), version: None },
            host: None,
            kernel: None,
            boot_id: None,
            series_started_real_ns: 0,
            started: now,
            updated: now,
            ended_by: None,
            pid: 1,
            settings,
            segment: None,
            block: Some(WatchBlock { from_real_ns: 0, lasts_ns: 100, max_ns: vec![(CpuId(0), Some(1))] }),
            cpus: Vec::new(),
            maxima: WatchMaxima::default(),
            untraced: None,
            disk: WatchDisk::default(),
            cost: WatchCost::default(),
            upsets: WatchUpsets::default(),
            application: None,
        };
        Watched { watch, lines, segments: Vec::new(), bytes: 0, running: false, damage: Vec::new() }
    }

    #[test]
    fn maxima_of_an_hour_are_those_of_an_hour_however_the_clock_was_set() {
        let year = 31_536_000_000_000_000;
        let block = |from_real_ns, max| {
            WatchLine::Block(WatchBlock { from_real_ns, lasts_ns: 300, max_ns: vec![(CpuId(0), Some(max))] })
        };
        // Written in 2099 according to the wall clock, then in 1970, then at the correct time.
        let lines = vec![block(100 * year, 900), block(0, 50), block(50 * year, 7)];
        let series = watched(lines.clone());
        let within = |series: &Watched, ns| series.max_within(CpuId(0), Nanos(ns));
        assert_eq!(
            [50, 100, 101, 400, 401, 700, 701, 1000].map(|ns| within(&series, ns).unwrap()),
            [1, 1, 7, 7, 50, 50, 900, 900]
        );
        assert_eq!(series.max_within(CpuId(1), Nanos(1000)), None);
        let gap = WatchLine::Gap { from_real_ns: 5, to_real_ns: 505, why: "killed".into() };
        let series = watched([&lines[..2], &[gap], &lines[2..]].concat());
        assert_eq!([400, 900, 901].map(|ns| within(&series, ns).unwrap()), [7, 7, 50]);
    }
}
