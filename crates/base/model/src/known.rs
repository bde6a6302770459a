//! What is known about samples that a file describes only in part. Only this module decides which values, quantiles and
//! bins of a [`Histogram`] with a [`Blur`] are known.

use crate::{Blur, CpuResult, Unplaced};
use punctual_units::{Bin, Histogram, held_rank};
use std::borrow::Cow;

const MICRO: u64 = 1_000;

impl Blur {
    /// The blur of samples measured by this program, whose values are exact.
    pub const EXACT: Blur =
        Blur { below_ns: 0, above_ns: 0, unplaced: None, hidden_from_ns: None, skipped_at_most: Some(0) };

    pub fn of(result: &CpuResult) -> Blur {
        result.blur.unwrap_or(Blur::EXACT)
    }

    /// Returns the blur of the union of two sets of samples.
    pub fn and(self, other: Blur) -> Blur {
        let unplaced = match (self.unplaced, other.unplaced) {
            (Some(a), Some(b)) => Some(Unplaced {
                count: a.count.saturating_add(b.count),
                from_ns: a.from_ns.min(b.from_ns),
                to_ns: a.to_ns.zip(b.to_ns).map(|(a, b)| a.max(b)),
            }),
            (a, b) => a.or(b),
        };
        Blur {
            below_ns: self.below_ns.max(other.below_ns),
            above_ns: self.above_ns.max(other.above_ns),
            unplaced,
            hidden_from_ns: self.hidden_from_ns.into_iter().chain(other.hidden_from_ns).min(),
            skipped_at_most: self.skipped_at_most.zip(other.skipped_at_most).map(|(a, b)| a.saturating_add(b)),
        }
    }

    /// Returns true if all values are whole microseconds, rounded down.
    pub fn is_whole_micros(&self) -> bool {
        (self.below_ns, self.above_ns) == (0, MICRO - 1)
    }

    /// Returns the largest value that a sample in this bin can have, ns. `max` is the maximum of all samples.
    pub fn most_of(&self, bin: &Bin, max: Option<u64>) -> u64 {
        value(bin, max, self).saturating_add(self.above_ns)
    }

    /// Returns true if the file counts every sample.
    pub fn is_counted(&self) -> bool {
        self.hidden_from_ns.is_none()
    }
}

/// Samples together with their blur.
#[derive(Clone, Debug, PartialEq)]
pub struct Known<'a> {
    all: Cow<'a, Histogram>,
    /// The samples with a value; `None` if all samples have a value.
    placed: Option<Histogram>,
    blur: Blur,
}

impl Default for Known<'_> {
    fn default() -> Self {
        Known { all: Cow::Owned(Histogram::new()), placed: None, blur: Blur::EXACT }
    }
}

impl<'a> Known<'a> {
    pub fn new(all: Cow<'a, Histogram>, blur: Blur) -> Known<'a> {
        let placed = blur.unplaced.map(|unplaced| placed(&all, &unplaced, &blur));
        Known { all, placed, blur }
    }

    /// Adds the samples of another thread or load.
    pub fn add(&mut self, other: &Known) {
        let blur = self.blur.and(other.blur);
        let placed = blur.unplaced.map(|unplaced| {
            let (mut all, both) = (Histogram::new(), [self.values(), other.values()]);
            let known = both.iter().flat_map(|h| h.bins().map(|bin| (value(&bin, h.max(), &blur), bin.count)));
            known.filter(|(ns, _)| *ns < unplaced.from_ns).for_each(|(ns, count)| all.record_n(ns, count));
            all
        });
        (self.blur, self.placed) = (blur, placed);
        self.all.to_mut().merge(&other.all);
    }

    pub fn blur(&self) -> &Blur {
        &self.blur
    }

    /// Returns all counted samples; samples without a value are placed at their lower bound. Only the extremes and the
    /// count may be shown. For bins, use [`Known::values`].
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// Returns the number of all samples; `None` if the file does not count all of them.
    pub fn count(&self) -> Option<u64> {
        self.blur.is_counted().then(|| self.all.count())
    }

    /// Returns the smallest value; `None` if an uncounted sample could be smaller.
    pub fn min(&self) -> Option<u64> {
        self.all.min().filter(|min| self.blur.hidden_from_ns.is_none_or(|from| *min < from))
    }

    /// Returns the largest value; `None` if another sample could be larger.
    pub fn max(&self) -> Option<u64> {
        let is_known = self.blur.unplaced.is_none_or(|unplaced| unplaced.to_ns.is_some());
        self.all.max().filter(|_| is_known && self.blur.is_counted())
    }

    /// Returns the samples with a value, whose bins may be shown. Their extremes equal the extremes of [`Known::all`]
    /// only if [`Known::beyond`] is 0.
    pub fn values(&self) -> &Histogram {
        self.placed.as_ref().unwrap_or(&self.all)
    }

    /// Returns the number of samples that are counted but not in [`Known::values`].
    pub fn beyond(&self) -> u64 {
        self.all.count() - self.values().count()
    }

    /// Returns true if only the count and the extremes of the samples are known.
    pub fn is_summary(&self) -> bool {
        self.beyond() > 0 && self.values().is_empty()
    }

    /// Returns true if every sample is counted and has a value.
    pub fn is_whole(&self) -> bool {
        self.beyond() == 0 && self.blur.is_counted()
    }

    /// Returns the `q` quantile (0–1) of the counted samples by nearest rank; `None` if there are too few samples for
    /// this quantile ([`held_rank`]), or if the sample of this rank has no value.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.at_rank(held_rank(q, self.all.count())?)
    }

    /// Returns the value of the sample with this rank (1 = smallest), like [`Histogram::value_at_rank`], in whole
    /// microseconds if the file has that resolution; `None` if the sample has no value.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        // Samples without a value are not smaller than the others.
        let bin = bin_at(self.values(), rank)?;
        Some(value(&bin, self.values().max(), &self.blur))
    }

    /// Returns a lower bound on the sample with this rank; `None` if the number of skipped periods, which count as
    /// samples, is unknown or not 0.
    pub fn at_least(&self, rank: u64) -> Option<u64> {
        let bin = bin_at(&self.all, rank).filter(|_| self.blur.skipped_at_most == Some(0))?;
        let low = bin.low.max(self.all.min()?);
        let whole = low.div_ceil(MICRO).saturating_mul(MICRO);
        let low = if self.blur.is_whole_micros() && whole <= bin.high { whole } else { low };
        Some(low.saturating_sub(self.blur.below_ns))
    }

    /// Returns an upper bound on the sample with this rank; `None` if there is none.
    pub fn at_most(&self, rank: u64) -> Option<u64> {
        let is_closed = self.blur.is_counted() && self.blur.skipped_at_most == Some(0);
        if !is_closed || rank == 0 || rank > self.all.count() {
            return None;
        }
        let high = self.at_rank(rank).or_else(|| self.blur.unplaced?.to_ns)?;
        Some(high.saturating_add(self.blur.above_ns))
    }
}

fn bin_at(histogram: &Histogram, rank: u64) -> Option<Bin> {
    let mut seen = 0u64;
    histogram.bins().find(|bin| {
        seen = seen.saturating_add(bin.count);
        rank > 0 && seen >= rank
    })
}

/// Returns the largest value that a sample in this bin can have: the upper end of the bin or `max`, whichever is
/// smaller; with a resolution of 1 µs, the last whole microsecond up to it.
fn value(bin: &Bin, max: Option<u64>, blur: &Blur) -> u64 {
    let high = max.map_or(bin.high, |max| bin.high.min(max));
    let whole = high / MICRO * MICRO;
    if blur.is_whole_micros() && whole >= bin.low { whole } else { high }
}

/// Returns the samples below `unplaced.from_ns`. The bin that contains this value holds samples with and without a
/// value.
fn placed(all: &Histogram, unplaced: &Unplaced, blur: &Blur) -> Histogram {
    let mut known = Histogram::new();
    let (from, max) = (unplaced.from_ns, all.max());
    if all.min().is_none_or(|min| min >= from) {
        return known;
    }
    for bin in all.bins().take_while(|bin| bin.low < from) {
        if bin.high < from {
            known.record_n(value(&bin, max, blur), bin.count);
            continue;
        }
        let largest = u64::from(max.is_some_and(|max| max >= from && max <= bin.high));
        let count = bin.count.saturating_sub(unplaced.count).saturating_sub(largest);
        known.record_n(value(&bin, Some(from - 1), blur), count);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: Blur = Blur { above_ns: 999, ..Blur::EXACT };

    fn known_of(values: &[(u64, u64)], beyond: Option<(u64, u64, Option<u64>)>) -> Known<'static> {
        let mut all = Histogram::new();
        values.iter().for_each(|(us, n)| all.record_n(us * MICRO, *n));
        let unplaced = beyond.map(|(count, from_us, to_us)| {
            let (from_ns, to_ns) = (from_us * MICRO, to_us.map(|us| us * MICRO));
            all.record_n(from_ns, count);
            to_ns.into_iter().for_each(|ns| all.record(ns));
            Unplaced { count, from_ns, to_ns }
        });
        Known::new(Cow::Owned(all), Blur { unplaced, ..WHOLE })
    }

    /// Returns 100,000 samples of which only the number and `Min: 5 Avg: 40 Max: 900` are known.
    fn summary() -> Known<'static> {
        known_of(&[(5, 1)], Some((99_998, 5, Some(900))))
    }

    #[test]
    fn of_number_and_extremes_no_quantile_is_known() {
        let known = summary();
        assert!(known.is_summary() && !known.is_whole() && known.values().is_empty());
        assert_eq!((known.beyond(), known.all().min(), known.all().max()), (100_000, Some(5_000), Some(900_000)));
        for q in [0.0, 0.5, 0.9999] {
            assert_eq!(known.quantile(q), None);
        }
        assert_eq!((known.at_least(50_000), known.at_most(50_000)), (Some(5_000), Some(900_999)));
    }

    #[test]
    fn a_counted_overflow_leaves_the_bins_and_the_quantiles_below_it() {
        // The values 400 and 401 µs share a bin of the histogram.
        let known = known_of(&[(10, 90), (400, 7)], Some((2, 401, Some(1_800))));
        assert_eq!((known.values().count(), known.beyond()), (97, 3));
        assert_eq!(
            (known.quantile(0.5), known.quantile(0.97), known.quantile(0.99)),
            (Some(10_000), Some(400_000), None)
        );
        assert_eq!(known.at_most(98), Some(1_800_999));
        assert!(!known.is_summary() && !known.is_whole());
    }

    #[test]
    fn whole_microseconds_stay_whole() {
        for us in 1..5_000 {
            let known = known_of(&[(us, 3)], None);
            assert_eq!(known.quantile(0.5), Some(us * MICRO), "{us}");
            assert_eq!((known.at_least(2), known.at_most(2)), (Some(us * MICRO), Some(us * MICRO + 999)), "{us}");
        }
    }

    #[test]
    fn uncounted_samples_leave_every_quantile_open_above() {
        let mut all = Histogram::new();
        all.record_n(5_000, 10);
        let known = Known::new(Cow::Owned(all), Blur { hidden_from_ns: Some(100_000), ..WHOLE });
        assert_eq!((known.at_most(5), known.at_least(5)), (None, Some(5_000)));
        assert!(!known.is_whole());
    }

    #[test]
    fn threads_together_are_known_where_each_is() {
        let mut all = Known::default();
        all.add(&known_of(&[(10, 90), (60, 5)], Some((4, 100, Some(300)))));
        all.add(&known_of(&[(20, 100), (200, 1)], None));
        assert_eq!((all.values().count(), all.beyond(), all.all().count()), (195, 6, 201));
        assert_eq!((all.quantile(0.5), all.quantile(0.999)), (Some(20_000), None));
        all.add(&summary());
        assert!(all.is_summary());
        assert_eq!(all.quantile(0.5), None);
    }

    proptest! {
        /// Known values are correct and bounds hold, whatever the values of the samples beyond the last bin are.
        #[test]
        fn what_is_known_is_true(
            mut values in prop::collection::vec(1u64..3_000, 1..60), last in 1u64..3_000, q in 0.0..1.0f64
        ) {
            values.sort_unstable();
            let beyond: Vec<u64> = values.iter().copied().filter(|us| *us >= last).collect();
            let bins: Vec<(u64, u64)> = values.iter().filter(|us| **us < last).map(|us| (*us, 1)).collect();
            let unplaced = (beyond.len() > 1).then(|| (beyond.len() as u64 - 1, last, beyond.last().copied()));
            let single: Vec<(u64, u64)> = beyond.iter().filter(|_| unplaced.is_none()).map(|us| (*us, 1)).collect();
            let known = known_of(&[bins.clone(), single].concat(), unplaced);
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let truth = values[rank - 1] * MICRO;
            if let Some(ns) = known.quantile(q) {
                prop_assert!(ns >= truth && ns as f64 <= truth as f64 * 1.0079 && ns % MICRO == 0, "{} {}", ns, truth);
            }
            prop_assert!(known.at_least(rank as u64).is_some_and(|ns| ns <= truth));
            prop_assert!(known.at_most(rank as u64).is_none_or(|ns| ns >= truth));
            if unplaced.is_some() {
                prop_assert_eq!(known.values().count(), bins.len() as u64);
            }
        }
    }
}
