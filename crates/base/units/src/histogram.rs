//! A fixed-size log-linear histogram of nanoseconds over the whole 64-bit range.
//!
//! Each value below 256 ns has its own bin. From 256 ns on, every octave is divided into 128 equal bins, so a bin is at
//! most 1/128 = 0.78 % wide. 7,424 bins (58 KiB) cover 0 ns to 584 years, so that no value is out of range. The scheme
//! is similar to Gil Tene's HdrHistogram.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

const SUB_BITS: u32 = 7;
const LINEAR: u64 = 1 << (SUB_BITS + 1);

pub const BINS: usize = LINEAR as usize + (64 - SUB_BITS as usize - 1) * (1 << SUB_BITS);

/// Returns the index of the bin that contains `ns`; always below [`BINS`].
#[inline(always)]
pub const fn bin_index(ns: u64) -> usize {
    // For ns < 256 the shift is 0 and the index is the value itself; above, each octave adds 128. The low 8 bits are
    // set so that ilog2() is never below 7.
    let shift = (ns | (LINEAR - 1)).ilog2() - SUB_BITS;
    ((shift as u64) << SUB_BITS) as usize + (ns >> shift) as usize
}

pub const fn bin_low(index: usize) -> u64 {
    if index < LINEAR as usize {
        return index as u64;
    }
    let shift = (index >> SUB_BITS) as u32 - 1;
    ((index & ((1 << SUB_BITS) - 1)) as u64 + (1 << SUB_BITS)) << shift
}

/// Returns the largest value of the bin `index`, ns (inclusive).
pub const fn bin_high(index: usize) -> u64 {
    if index + 1 >= BINS { u64::MAX } else { bin_low(index + 1) - 1 }
}

/// Sorts the `count` values `largest`, `largest − step`, …, each at least 0, into bins. Calls `each` with the index of
/// a bin, the number of values in it, and their sum. The number of calls is limited by the number of bins, not by the
/// number of values, which can be thousands after a long stall.
pub fn bins_of_steps(largest: u64, step: u64, count: u64, mut each: impl FnMut(usize, u64, u64)) {
    let step = step.max(1);
    let value = |j: u64| largest.saturating_sub(j.saturating_mul(step));
    let mut left = count;
    while left > 0 {
        // Goes up from the smallest value; `n` is the number of values that fall in its bin.
        let smallest = value(left - 1);
        let bin = bin_index(smallest);
        let n = ((bin_high(bin) - smallest) / step + 1).min(left);
        let highest = value(left - n);
        each(bin, n, ((u128::from(smallest) + u128::from(highest)) * u128::from(n) / 2) as u64);
        left -= n;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value of the bin, ns.
    pub low: u64,
    /// Largest value of the bin, ns (inclusive).
    pub high: u64,
    pub count: u64,
}

/// A histogram with exact count, minimum, maximum and sum. Allocates memory only up to the bin of the largest sample.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Prints a summary, because there are thousands of bins.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Histogram");
        out.field("count", &self.count);
        if self.count > 0 {
            out.field("min", &self.min).field("p50", &self.quantile(0.5)).field("max", &self.max);
        }
        out.finish()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// Returns the nearest rank ⌈q·n⌉ (from 1) of the `q` quantile (0–1) of `n` samples; `None` for a quantile above the
/// median that no sample exceeds. For example, p99.99 needs more than 10 000 samples.
pub fn held_rank(q: f64, n: u64) -> Option<u64> {
    let rank = ((q * n as f64).ceil() as u64).clamp(1, n.max(1));
    (n > 0 && (rank < n || q <= 0.5)).then_some(rank)
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram { bins: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Creates a histogram from the counts per bin and the exact minimum, maximum and sum.
    ///
    /// `min` and `max` are clamped to the outermost non-empty bins. They can lie outside, because a reader that runs
    /// concurrently with the sampling loop may see a count before the minimum or maximum that belongs to it.
    pub fn from_bins(bins: Vec<u64>, min: u64, max: u64, sum: u128) -> Histogram {
        let mut bins = bins;
        bins.truncate(bins.iter().rposition(|&c| c > 0).map_or(0, |last| last + 1).min(BINS));
        // One histogram is kept for every load and CPU until the run ends. Without this each takes 59 KB.
        bins.shrink_to_fit();
        let count = bins.iter().sum();
        let first = bins.iter().position(|&c| c > 0);
        let last = bins.iter().rposition(|&c| c > 0);
        let (min, max) = match (first, last) {
            (Some(first), Some(last)) => {
                (min.clamp(bin_low(first), bin_high(first)), max.clamp(bin_low(last), bin_high(last)))
            }
            _ => (u64::MAX, 0),
        };
        Histogram { bins, count, sum, min, max }
    }

    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    pub fn record_n(&mut self, ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        let index = bin_index(ns);
        if index >= self.bins.len() {
            self.bins.resize(index + 1, 0);
        }
        self.bins[index] += n;
        self.count += n;
        self.sum += u128::from(ns) * u128::from(n);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    pub fn merge(&mut self, other: &Histogram) {
        if other.bins.len() > self.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the exact minimum of the samples, ns; `None` if there are no samples.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the exact maximum of the samples, ns; `None` if there are no samples.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the exact sum of the samples, ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the exact mean of the samples, ns; `None` if there are no samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the non-empty bins, in ascending order.
    pub fn bins(&self) -> impl DoubleEndedIterator<Item = Bin> + '_ {
        self.bins.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(i, &count)| Bin {
            low: bin_low(i),
            high: bin_high(i),
            count,
        })
    }

    /// Returns the value of the sample with this rank (1 = smallest), ns: the upper edge of its bin or the exact
    /// maximum, whichever is smaller. `None` if the rank is 0 or exceeds the number of samples.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0;
        for bin in self.bins() {
            seen += bin.count;
            if seen >= rank {
                return Some(bin.high.min(self.max));
            }
        }
        None
    }

    /// Returns the `q` quantile (0–1) by nearest rank ⌈q·n⌉, without interpolation, ns; `None` for a quantile above the
    /// median that no sample exceeds, because it would equal the maximum (see [`held_rank`]).
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.value_at_rank(held_rank(q, self.count)?)
    }

    /// Returns a lower and an upper bound on the number of samples above `limit`. They differ at most by the samples in
    /// the bin that contains `limit`.
    pub fn above(&self, limit: u64) -> (u64, u64) {
        let cut = bin_index(limit);
        if self.count == 0 || self.max <= limit {
            return (0, 0);
        }
        let surely: u64 = self.bins[cut + 1..].iter().sum();
        let within = if bin_high(cut) == limit || self.min > limit { 0 } else { self.bins[cut] };
        if self.min > limit {
            return (self.count, self.count);
        }
        // The exact maximum is known: if it lies in this bin, at least one of its samples is above the limit.
        let known = u64::from(within > 0 && bin_index(self.max) == cut);
        (surely + known, surely + within)
    }
}

/// Serialized form of a histogram: `{count, min_ns, max_ns, sum_ns, bins: [[low_ns, width_ns, count], …]}`, without
/// empty bins.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OnDisk {
    count: u64,
    /// Exact minimum; null if there are no samples.
    min_ns: Option<u64>,
    /// Exact maximum; null if there are no samples.
    max_ns: Option<u64>,
    /// Sum of all samples; if it exceeds 64 bits, the largest 64-bit number.
    sum_ns: u64,
    /// Smallest value (ns), width (ns) and sample count of each non-empty bin.
    bins: Vec<(u64, u64, u64)>,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        OnDisk::json_schema(generator)
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        OnDisk {
            count: self.count,
            min_ns: self.min(),
            max_ns: self.max(),
            sum_ns: u64::try_from(self.sum).unwrap_or(u64::MAX),
            bins: self.bins().map(|b| (b.low, (b.high - b.low).saturating_add(1), b.count)).collect(),
        }
        .serialize(s)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let disk = OnDisk::deserialize(d)?;
        let mut bins = vec![0u64; BINS];
        let mut total = 0u64;
        for (low, _, count) in &disk.bins {
            let bin = &mut bins[bin_index(*low)];
            *bin = bin.checked_add(*count).ok_or_else(|| serde::de::Error::custom("a bin overflows"))?;
            total = total.checked_add(*count).ok_or_else(|| serde::de::Error::custom("the bins overflow"))?;
        }
        if total != disk.count {
            return Err(serde::de::Error::custom(format!(
                "the bins contain {total} samples, but `count` is {}",
                disk.count
            )));
        }
        Ok(Histogram::from_bins(bins, disk.min_ns.unwrap_or(u64::MAX), disk.max_ns.unwrap_or(0), disk.sum_ns.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_cover_the_whole_range_without_gap() {
        for i in 0..BINS {
            assert_eq!(bin_index(bin_low(i)), i);
            assert_eq!(bin_index(bin_high(i)), i);
            if i > 0 {
                assert_eq!(bin_high(i - 1) + 1, bin_low(i));
            }
        }
        assert_eq!(bin_index(u64::MAX), BINS - 1);
    }

    #[test]
    fn an_empty_histogram_knows_nothing() {
        let h = Histogram::new();
        assert_eq!((h.min(), h.max(), h.quantile(0.5), h.above(0)), (None, None, None, (0, 0)));
    }

    proptest! {
        #[test]
        fn a_bin_is_less_than_one_percent_wide(ns in 256u64..) {
            let i = bin_index(ns);
            prop_assert!(bin_low(i) <= ns && ns <= bin_high(i));
            prop_assert!((bin_high(i) - bin_low(i)) as f64 <= 0.01 * bin_low(i) as f64);
        }

        #[test]
        fn what_lies_above_a_limit_is_bracketed(values in proptest::collection::vec(0u64..100_000, 1..200), limit in 0u64..110_000) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(v));
            let truth = values.iter().filter(|&&v| v > limit).count() as u64;
            let (least, most) = h.above(limit);
            prop_assert!(least <= truth && truth <= most, "{least} <= {truth} <= {most}");
        }

        #[test]
        fn disk_form_keeps_everything(values in proptest::collection::vec(0u64..10_000_000_000, 0..200)) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(v));
            let text = serde_json::to_string(&h).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), h);
        }

        #[test]
        fn a_quantile_is_within_one_bin(values in proptest::collection::vec(0u64..10_000_000, 1..300), q in 0.0f64..1.0) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(v));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            let truth = sorted[rank - 1];
            match h.quantile(q) {
                Some(got) => prop_assert!(got >= truth && got <= bin_high(bin_index(truth))),
                None => prop_assert!(q > 0.5 && rank == sorted.len()),
            }
        }
    }
}
