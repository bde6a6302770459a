//! Contents of a file written by another tool, and the information that the file lacks.
//!
//! An imported run keeps every count, minimum and maximum of the file. A [`Blur`] bounds how far samples can differ
//! from the values in the file. [`Import::lost`] describes the missing information in words.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// Origin of an imported run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Import {
    /// Format of the first file, for example `cyclictest-histogram`.
    pub format: String,
    /// Files in the order given.
    pub files: Vec<ImportedFile>,
    /// Resolution of the values in ns, for example 1000 for whole microseconds; the coarsest of all files. Absent if
    /// there are no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// Start as stated in the file, ns since 1970; absent if not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_real_ns: Option<u64>,
    /// End as stated in the file, ns since 1970; absent if not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_real_ns: Option<u64>,
    /// Information that the files lack.
    pub lost: Vec<Lost>,
    /// Values that are not latencies of a thread, for example benchmark times or temperatures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedFile {
    /// Base name of the file.
    pub name: String,
    pub format: String,
    pub bytes: u64,
    /// CRC-32 (IEEE 802.3) of the file.
    pub crc32: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    pub kind: LostKind,
    /// Phase to which the loss applies; absent if it applies to all phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// CPU to which the loss applies; absent if it applies to all CPUs of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuId>,
    /// Number of samples or rows; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LostKind {
    /// Samples beyond the last bin are counted, but their values are lost.
    Overflow,
    /// The file has no count of samples beyond its last bin.
    OverflowUnknown,
    /// Only the count and the extremes are known, not the distribution.
    Distribution,
    /// Periods skipped while the thread was late were not counted.
    SkippedPeriods,
    /// Values are rounded to a resolution.
    Resolution,
    /// The order of the samples in time is unknown, so clusters cannot be detected.
    Order,
    /// Threads are numbered, but their CPUs are unknown.
    Affinity,
    /// The unit is not stated and was assumed.
    Unit,
    /// The period of the threads is unknown.
    Period,
    /// Samples are missing from the log.
    Gap,
    /// The file is truncated at its end or beginning.
    Truncated,
    /// Two values in the file contradict each other.
    Disagreement,
    /// Lines could not be read.
    Unreadable,
    /// Other missing information that affects the interpretation, or a kind from a later version.
    #[serde(other)]
    Other,
}

/// Bounds on the difference between the latencies of one thread and the values in a file: a value `v` stands for a
/// latency from `v − below_ns` to `v + above_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blur {
    /// Largest amount by which a latency can be smaller than its value, ns.
    pub below_ns: u64,
    /// Largest amount by which a latency can be larger than its value, ns; 999 if the file rounds down to microseconds.
    pub above_ns: u64,
    /// Samples without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplaced: Option<Unplaced>,
    /// Value in ns at and above which the file may leave samples uncounted; absent if it counts all samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_from_ns: Option<u64>,
    /// Upper bound on the number of skipped periods; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_at_most: Option<u64>,
}

/// Samples that are counted without a value. The histogram records them at `from_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unplaced {
    /// Number of samples. Does not include the largest sample if its value is known; the histogram holds it in the bin
    /// of that value.
    pub count: u64,
    /// Lower bound on each value, ns.
    pub from_ns: u64,
    /// Upper bound on each value, ns; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<u64>,
}

/// Values in the order in which they were measured, with a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Conditions of the measurement, for example `N-queens, N = 12, 4 threads`.
    pub of: String,
    /// Name of the measured quantity, for example `time of a batch` or `CPU temperature`.
    pub name: String,
    /// Unit of the values, for example `s`, `°C`, `µs` or `%`.
    pub unit: String,
    /// Number of values, including those that are not in `points`.
    pub count: u64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// The first [`Series::MOST_POINTS`] values, in order.
    pub points: Vec<f64>,
    /// Name of each point, for example `CPU 0`; empty if the points have no names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl Series {
    /// Maximum number of points kept per series.
    pub const MOST_POINTS: usize = 100_000;

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

    /// Adds one value; ignores it if it is not finite.
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
