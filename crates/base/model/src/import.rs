//! What another tool's file told, and what it did not.
//!
//! A run read from such a file keeps every count, minimum and maximum as told. What its samples can be beyond that is a
//! [`Blur`]: figures, for the judge; what was lost stands as sentences in [`Import::lost`], for people.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// Where an imported run comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Import {
    /// The format of the first file, for example `cyclictest-histogram`.
    pub format: String,
    /// The files, in the order given.
    pub files: Vec<ImportedFile>,
    /// The width of the values told: 1000 for whole microseconds. The coarsest of all files; `None`: no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// When it began, ns since 1970, as told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_real_ns: Option<u64>,
    /// When it ended, ns since 1970, as told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_real_ns: Option<u64>,
    /// Every loss of information.
    pub lost: Vec<Lost>,
    /// Figures that are no latencies of a thread: the times of a benchmark, temperatures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
}

/// One file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedFile {
    /// Its name, without folders.
    pub name: String,
    /// What it was read as.
    pub format: String,
    /// Its size.
    pub bytes: u64,
    /// CRC-32 (IEEE 802.3) of all of it.
    pub crc32: u32,
}

/// One thing that the file does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// For programs.
    pub kind: LostKind,
    /// Phase id; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// CPU; `None`: all of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuId>,
    /// How many samples or rows, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// For people.
    pub text: String,
}

/// Kinds of [`Lost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LostKind {
    /// Samples beyond the last bin: counted, their values gone.
    Overflow,
    /// The file has no count of samples beyond its last bin.
    OverflowUnknown,
    /// Only number and extremes are told, no distribution.
    Distribution,
    /// Periods that passed while the thread was late were never counted.
    SkippedPeriods,
    /// Values are told in steps.
    Resolution,
    /// Samples have no order in time: clusters cannot be seen.
    Order,
    /// Threads are numbered; on which CPU each ran is not told.
    Affinity,
    /// The unit is not told and was assumed.
    Unit,
    /// Period of the threads.
    Period,
    /// Samples that the log does not show.
    Gap,
    /// The file ends, or begins, in the middle.
    Truncated,
    /// Two figures of the file contradict each other.
    Disagreement,
    /// Lines that could not be read.
    Unreadable,
    /// Something else that the reader must know.
    Other,
}

/// What the samples of one thread can be beyond what is told: each told value `v` was a latency of `v − below_ns` to
/// `v + above_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blur {
    /// How much smaller than told a latency can have been, ns.
    pub below_ns: u64,
    /// How much larger, ns: 999 where whole microseconds were told, cut off.
    pub above_ns: u64,
    /// Samples without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplaced: Option<Unplaced>,
    /// There may be more samples, of this and later, that the file does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_from_ns: Option<u64>,
    /// Periods skipped can be no more than this; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_at_most: Option<u64>,
}

/// Samples that are counted but whose values are not told; the histogram holds them at `from_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unplaced {
    /// How many. The largest of all, where it is told, is not among them: it stands in the histogram where it was.
    pub count: u64,
    /// Each is this or later, ns.
    pub from_ns: u64,
    /// None is later, ns; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<u64>,
}

/// Figures in the order they were taken, with their summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// What they are of, for example `N-queens, N = 12, 4 threads`.
    pub of: String,
    /// What each is: `time of a batch`, `CPU temperature`.
    pub name: String,
    /// `s`, `°C`, `µs`, `%`.
    pub unit: String,
    /// How many, also of those that are not in `points`.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The first [`Series::MOST_POINTS`] of them, in order.
    pub points: Vec<f64>,
    /// A name for each point, where they have names: `CPU 0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl Series {
    /// Points kept of a series.
    pub const MOST_POINTS: usize = 100_000;

    /// An empty one.
    pub fn new(of: impl Into<String>, name: impl Into<String>, unit: impl Into<String>) -> Series {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        Series {
            of: of.into(),
            name: name.into(),
            unit: unit.into(),
            count: 0,
            mean: 0.0,
            min: nothing.0,
            max: nothing.1,
            points: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Adds one figure; one that is not finite is left out.
    pub fn push(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.count += 1;
        self.mean += (value - self.mean) / self.count as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.points.len() < Series::MOST_POINTS {
            self.points.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_knows_its_extremes_and_mean() {
        let mut series = Series::new("a", "b", "s");
        [3.0, f64::NAN, 1.0, 8.0].into_iter().for_each(|v| series.push(v));
        assert_eq!((series.count, series.mean, series.min, series.max), (3, 4.0, 1.0, 8.0));
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), series);
    }
}
