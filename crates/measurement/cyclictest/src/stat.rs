//! Results of a measuring thread, which the main thread reads. The thread writes them with relaxed stores and no lock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Number of samples kept for `-v` between two reads by the main thread, which are 10 ms apart (VALBUF_SIZE of
/// cyclictest).
const VALUES: usize = 16_384;

/// Value of `Min:` before the first cycle, as in cyclictest.
const NO_MIN: u64 = 1_000_000;

/// Results of one thread, in the unit of the run: µs, or ns with `-N`.
#[derive(Debug)]
pub(crate) struct Stat {
    pub tid: AtomicI64,
    pub cycles: AtomicU64,
    pub min: AtomicU64,
    pub act: AtomicU64,
    pub max: AtomicU64,
    sum: AtomicU64,
    /// Number of intervals that passed while the thread was late; cyclictest does not count them.
    pub skipped: AtomicU64,
    /// Number of wakeups that seem to be too early because CLOCK_REALTIME was set.
    pub early: AtomicU64,
    pub histogram: Vec<AtomicU64>,
    pub overflows: AtomicU64,
    outliers: Vec<AtomicU64>,
    values: Vec<AtomicU64>,
    /// Time on the clock of the run, µs, and latency of each spike.
    spikes: Vec<[AtomicU64; 2]>,
    pub spike_count: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keep {
    pub bins: usize,
    pub values: bool,
    pub spikes: usize,
}

impl Stat {
    /// Creates empty results, and writes to every page, so that none causes a page fault later.
    pub fn new(keep: Keep) -> Stat {
        let zeros = |count: usize| -> Vec<AtomicU64> { (0..count).map(|_| AtomicU64::new(0)).collect() };
        Stat {
            tid: AtomicI64::new(0),
            cycles: AtomicU64::new(0),
            min: AtomicU64::new(NO_MIN),
            act: AtomicU64::new(0),
            max: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            early: AtomicU64::new(0),
            histogram: zeros(keep.bins),
            overflows: AtomicU64::new(0),
            outliers: zeros(keep.bins),
            values: zeros(if keep.values { VALUES } else { 0 }),
            spikes: (0..keep.spikes).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect(),
            spike_count: AtomicU64::new(0),
        }
    }

    /// Records one latency, in the unit of the run.
    #[inline(always)]
    pub fn record(&self, latency: u64) {
        let cycle = self.cycles.load(Relaxed);
        if latency < self.min.load(Relaxed) || cycle == 0 {
            self.min.store(latency, Relaxed);
        }
        if latency > self.max.load(Relaxed) {
            self.max.store(latency, Relaxed);
        }
        self.sum.store(self.sum.load(Relaxed).wrapping_add(latency), Relaxed);
        self.act.store(latency, Relaxed);
        if let Some(value) = self.values.get(cycle as usize % VALUES) {
            value.store(latency, Relaxed);
        }
        if !self.histogram.is_empty() {
            self.bin(latency, cycle);
        }
        self.cycles.store(cycle + 1, Relaxed);
    }

    #[inline(always)]
    fn bin(&self, latency: u64, cycle: u64) {
        if let Some(bin) = usize::try_from(latency).ok().and_then(|at| self.histogram.get(at)) {
            bin.store(bin.load(Relaxed) + 1, Relaxed);
            return;
        }
        let overflows = self.overflows.load(Relaxed);
        if let Some(outlier) = usize::try_from(overflows).ok().and_then(|at| self.outliers.get(at)) {
            outlier.store(cycle, Relaxed);
        }
        self.overflows.store(overflows + 1, Relaxed);
    }

    pub fn spike(&self, at_us: u64, latency: u64) {
        let count = self.spike_count.load(Relaxed);
        if let Some(place) = usize::try_from(count).ok().and_then(|n| self.spikes.get(n)) {
            place[0].store(at_us, Relaxed);
            place[1].store(latency, Relaxed);
        }
        self.spike_count.store(count + 1, Relaxed);
    }

    /// Returns time and latency of each spike.
    pub fn spikes(&self) -> impl Iterator<Item = (u64, u64)> {
        let count = usize::try_from(self.spike_count.load(Relaxed)).unwrap_or(usize::MAX);
        self.spikes.iter().take(count).map(|[at, latency]| (at.load(Relaxed), latency.load(Relaxed)))
    }

    pub fn outliers(&self) -> impl Iterator<Item = u64> {
        let count = usize::try_from(self.overflows.load(Relaxed)).unwrap_or(usize::MAX);
        self.outliers.iter().take(count).map(|cycle| cycle.load(Relaxed))
    }

    /// Returns the mean latency; 0 before the first cycle, as in cyclictest.
    pub fn average(&self) -> f64 {
        let cycles = self.cycles.load(Relaxed);
        if cycles == 0 { 0.0 } else { self.sum.load(Relaxed) as f64 / cycles as f64 }
    }

    /// Returns the latency of cycle `n`; `None` if it has not been measured yet or is no longer kept.
    pub fn value(&self, n: u64) -> Option<u64> {
        let cycles = self.cycles.load(Relaxed);
        let is_there = n < cycles && cycles - n <= VALUES as u64;
        is_there.then(|| self.values.get(n as usize % VALUES).map(|value| value.load(Relaxed)))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spikes_and_outliers_keep_the_first() {
        let stat = Stat::new(Keep { bins: 2, values: true, spikes: 1 });
        [0, 1, 5, 7, 9].into_iter().for_each(|latency| stat.record(latency));
        assert_eq!(stat.outliers().collect::<Vec<_>>(), [2, 3]);
        assert_eq!((stat.overflows.load(Relaxed), stat.value(2), stat.value(5)), (3, Some(5), None));
        stat.spike(100, 5);
        stat.spike(200, 7);
        assert_eq!((stat.spikes().collect::<Vec<_>>(), stat.spike_count.load(Relaxed)), (vec![(100, 5)], 2));
    }

    proptest! {
        #[test]
        fn every_cycle_is_in_one_bin_or_over(latencies in proptest::collection::vec(0_u64..40, 1..200), bins in 1_usize..30) {
            let stat = Stat::new(Keep { bins, ..Keep::default() });
            latencies.iter().for_each(|latency| stat.record(*latency));
            let binned: u64 = stat.histogram.iter().map(|bin| bin.load(Relaxed)).sum();
            prop_assert_eq!(binned + stat.overflows.load(Relaxed), latencies.len() as u64);
            prop_assert_eq!(Some(&stat.min.load(Relaxed)), latencies.iter().min());
            prop_assert_eq!(Some(&stat.max.load(Relaxed)), latencies.iter().max());
            prop_assert!((stat.average() * latencies.len() as f64 - latencies.iter().sum::<u64>() as f64).abs() < 1e-6);
        }
    }
}
