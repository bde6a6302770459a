//! Results of one measuring thread: counters, histograms and its worst wakeups. Only that thread writes them; other
//! threads only read.
//!
//! The writer uses relaxed stores, no lock and no allocation. While it runs, a reader may see a sample in one counter
//! and not yet in another. After it has ended, all counters agree.

use crate::bell::Bell;
use crate::episodes::{LIMITS, Track};
use punctual_model::{Episodes, Worst};
use punctual_rt::Wakeup;
use punctual_units::{BINS, CpuId, Histogram, Nanos, bin_index, bins_of_steps};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Maximum number of worst wakeups that a cell keeps.
pub const WORST: usize = 128;

/// Results of one thread. They are aligned to pages, so that locking them locks no other memory. Pages of arm64 have up
/// to 64 KiB (CONFIG_ARM64_64K_PAGES); the Raspberry Pi 5's default kernel has pages of 16 KiB.
#[repr(C)]
#[cfg_attr(target_arch = "aarch64", repr(align(65536)))]
#[cfg_attr(not(target_arch = "aarch64"), repr(align(4096)))]
pub struct Cell {
    /// Only latencies above this take the slow path, ns. It is the minimum of the smallest kept worst latency, the
    /// maximum of the current window, and the lowest limit above which episodes are recorded.
    gate: AtomicU64,
    min: AtomicU64,
    sum: AtomicU64,
    skipped_sum: AtomicU64,
    window_max: AtomicU64,
    keep: AtomicU64,
    /// Sequence counter of the list of worst wakeups; odd during a change.
    sequence: AtomicU64,
    kept: AtomicU64,
    raw: [AtomicU64; BINS],
    skipped: [AtomicU64; BINS],
    worst: [[AtomicU64; 4]; WORST],
    /// Sequence counter of the episodes; odd during a change.
    episodes_sequence: AtomicU64,
    /// Episode records in ascending order of their limits.
    tracks: [Track; LIMITS],
    tracked: AtomicU64,
    /// The next wakeup later than this, ns, signals the bell; `u64::MAX` disables it.
    breach: AtomicU64,
    bell: Option<Bell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// CLOCK_MONOTONIC of the release, ns.
    pub release: u64,
    /// Latency, ns.
    pub latency: u64,
    /// Number of the release within the phase.
    pub cycle: u64,
    /// Number of releases skipped because of this wakeup.
    pub skipped: u64,
}

impl Kept {
    pub fn of(self, phase: &str, cpu: CpuId) -> Worst {
        Worst {
            phase: phase.to_owned(),
            cpu,
            release_mono_ns: self.release,
            latency_ns: self.latency,
            cycle: self.cycle,
            skipped: self.skipped,
            trace_offset: None,
            suspicions: Vec::new(),
        }
    }
}

/// A copy of a cell's bin counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub raw: Vec<u64>,
    pub skipped: Vec<u64>,
}

impl Cell {
    /// Creates a cell that keeps the `keep` worst wakeups, 1 to [`WORST`].
    pub fn new(keep: usize) -> Cell {
        Cell {
            gate: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            sum: AtomicU64::new(0),
            skipped_sum: AtomicU64::new(0),
            window_max: AtomicU64::new(0),
            keep: AtomicU64::new(keep.clamp(1, WORST) as u64),
            sequence: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            raw: [const { AtomicU64::new(0) }; BINS],
            skipped: [const { AtomicU64::new(0) }; BINS],
            worst: [const { [const { AtomicU64::new(0) }; 4] }; WORST],
            episodes_sequence: AtomicU64::new(0),
            tracks: [const { Track::new() }; LIMITS],
            tracked: AtomicU64::new(0),
            breach: AtomicU64::new(u64::MAX),
            bell: None,
        }
    }

    /// Records the episodes above each of these limits, at most [`LIMITS`].
    pub fn with_limits(self, limits: &[Nanos]) -> Cell {
        let mut limits = limits.to_vec();
        limits.sort_unstable();
        limits.dedup();
        limits.truncate(LIMITS);
        limits.iter().zip(&self.tracks).for_each(|(limit, track)| track.set(*limit));
        self.tracked.store(limits.len() as u64, Relaxed);
        self
    }

    fn tracks(&self) -> &[Track] {
        self.tracks.get(..self.tracked.load(Relaxed) as usize).unwrap_or_default()
    }

    pub fn with_bell(mut self, bell: Option<Bell>) -> Cell {
        self.bell = bell;
        self
    }

    /// Signals the bell once, at the next wakeup whose latency exceeds both `ns` and the smallest of the kept worst
    /// latencies. The signal takes one system call after the wakeup is recorded.
    pub fn watch(&self, ns: u64) {
        self.breach.store(ns, Relaxed);
    }

    /// Writes to every page, so that a new cell is resident even if its memory may not be locked.
    pub fn touch(&self) {
        let episodes = self.tracks.iter().flat_map(Track::words);
        for word in self.raw.iter().chain(&self.skipped).chain(self.worst.iter().flatten()).chain(episodes) {
            word.store(word.load(Relaxed), Relaxed);
        }
    }

    /// Returns the address of the slow path's code, which is locked in memory together with the sampling loop.
    pub fn cold_path() -> usize {
        Cell::record_late as *const () as usize
    }

    /// Records one wakeup. This is part of the sampling path: only a few instructions unless the wakeup is among the
    /// worst.
    #[inline(always)]
    pub fn record(&self, wakeup: &Wakeup, period: u64) {
        let latency = wakeup.latency();
        add(&self.raw[bin_index(latency)], 1);
        add(&self.sum, latency);
        if latency < self.min.load(Relaxed) {
            self.min.store(latency, Relaxed);
        }
        if latency > self.gate.load(Relaxed) {
            self.record_late(wakeup, latency, period);
        }
    }

    /// Records skipped releases that no late wakeup explains, with a latency of zero. It is too slow for the sampling
    /// path.
    pub fn skip(&self, releases: u64) {
        add(&self.skipped[0], releases);
    }

    #[cold]
    #[inline(never)]
    fn record_late(&self, wakeup: &Wakeup, latency: u64, period: u64) {
        if wakeup.skipped > 0 {
            self.record_skipped(latency, period, wakeup.skipped);
        }
        if latency > self.window_max.load(Relaxed) {
            self.window_max.store(latency, Relaxed);
        }
        let least = self.keep_if_worst(&Kept {
            release: wakeup.release.0,
            latency,
            cycle: wakeup.cycle,
            skipped: wakeup.skipped,
        });
        // A wakeup that skips a release is at least a period late and must always take this path.
        let lowest = self.tracks().first().map_or(u64::MAX, Track::limit);
        let gate = least.min(self.window_max.load(Relaxed)).min(period.saturating_sub(1)).min(lowest);
        self.gate.store(gate, Relaxed);
        if latency > lowest {
            self.record_episodes(wakeup, latency, period);
        }
        if latency > self.breach.load(Relaxed) {
            self.breach.store(u64::MAX, Relaxed);
            if let Some(bell) = &self.bell {
                bell.ring();
            }
        }
    }

    fn record_episodes(&self, wakeup: &Wakeup, latency: u64, period: u64) {
        self.episodes_sequence.store(self.episodes_sequence.load(Relaxed) + 1, Relaxed);
        fence(Release);
        for track in self.tracks().iter().take_while(|track| latency > track.limit()) {
            track.record(wakeup, latency, period);
        }
        self.episodes_sequence.store(self.episodes_sequence.load(Relaxed) + 1, Release);
    }

    /// Returns the late episodes above each limit, in ascending order of limits, after `released` periods. They are
    /// exact even while the thread runs.
    pub fn episodes(&self, released: u64) -> Vec<Episodes> {
        loop {
            let before = self.episodes_sequence.load(Acquire);
            let found = self.tracks().iter().map(|track| track.read(released)).collect();
            fence(Acquire);
            if before.is_multiple_of(2) && self.episodes_sequence.load(Relaxed) == before {
                return found;
            }
            std::thread::yield_now();
        }
    }

    /// Records the skipped releases. The j-th release after the late one is `latency − j·period` late.
    fn record_skipped(&self, latency: u64, period: u64, skipped: u64) {
        bins_of_steps(latency.saturating_sub(period), period, skipped, |bin, n, sum| {
            add(&self.skipped[bin], n);
            add(&self.skipped_sum, sum);
        });
    }

    /// Keeps the wakeup if it is among the worst. Returns the latency above which the next wakeup is kept, ns.
    fn keep_if_worst(&self, new: &Kept) -> u64 {
        let keep = self.keep.load(Relaxed) as usize;
        let kept = self.kept.load(Relaxed) as usize;
        let latency_at = |i: usize| self.worst[i][1].load(Relaxed);
        let place = if kept < keep {
            kept
        } else {
            match (0..keep).min_by_key(|&i| latency_at(i)) {
                Some(least) if latency_at(least) < new.latency => least,
                Some(least) => return latency_at(least),
                None => return u64::MAX,
            }
        };
        self.sequence.store(self.sequence.load(Relaxed) + 1, Relaxed);
        fence(Release);
        for (word, value) in self.worst[place].iter().zip([new.release, new.latency, new.cycle, new.skipped]) {
            word.store(value, Relaxed);
        }
        if kept < keep {
            self.kept.store(kept as u64 + 1, Relaxed);
        }
        self.sequence.store(self.sequence.load(Relaxed) + 1, Release);
        if kept + 1 < keep { 0 } else { (0..keep).map(latency_at).min().unwrap_or(0) }
    }

    /// Returns the largest latency since the last call, ns, for the time series; 0 without a wakeup.
    pub fn take_window_max(&self) -> u64 {
        let max = self.window_max.swap(0, Relaxed);
        self.gate.store(0, Relaxed);
        max
    }

    /// Returns the kept wakeups, worst first. They are exact even while the thread runs.
    pub fn worst(&self) -> Vec<Kept> {
        loop {
            let before = self.sequence.load(Acquire);
            let mut kept: Vec<Kept> = self.worst[..self.kept.load(Relaxed) as usize].iter().map(read_kept).collect();
            fence(Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Relaxed) == before {
                kept.sort_by_key(|k| (std::cmp::Reverse(k.latency), k.cycle));
                return kept;
            }
            std::thread::yield_now();
        }
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.copy_counts(&mut counts);
        counts
    }

    /// Like [`Cell::counts`], but reuses memory, so that repeated calls do not allocate.
    pub fn copy_counts(&self, counts: &mut Counts) {
        let copy = |bins: &[AtomicU64; BINS], into: &mut Vec<u64>| {
            into.clear();
            into.extend(bins.iter().map(|b| b.load(Relaxed)));
        };
        copy(&self.raw, &mut counts.raw);
        copy(&self.skipped, &mut counts.skipped);
    }

    /// Returns the exact smallest and largest latency so far, ns; `None` before the first wakeup. While the thread
    /// runs, they may be from different times.
    pub fn extremes(&self) -> Option<(u64, u64)> {
        let min = self.min.load(Relaxed);
        let max = self.worst.iter().map(|kept| kept[1].load(Relaxed)).max().unwrap_or(0);
        (min != u64::MAX).then_some((min, max.max(min)))
    }

    /// Returns the histograms of wakeups and of skipped releases, with exact extremes.
    pub fn histograms(&self) -> (Histogram, Histogram) {
        let counts = self.counts();
        let worst = self.worst();
        let max = worst.first().map_or(0, |k| k.latency);
        let raw = Histogram::from_bins(counts.raw, self.min.load(Relaxed), max, self.sum.load(Relaxed).into());
        // A skipped release is less late than the wakeup that skipped it. Extremes of skipped releases are known only
        // to the resolution of the bins.
        let skipped = Histogram::from_bins(counts.skipped, 0, max, self.skipped_sum.load(Relaxed).into());
        (raw, skipped)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // The allocator may reuse the memory, which should then not be locked. Unlocking has no effect on a cell that
        // was never locked.
        let _ = punctual_uapi::unlock(self);
    }
}

fn read_kept(words: &[AtomicU64; 4]) -> Kept {
    let [release, latency, cycle, skipped] = words.each_ref().map(|w| w.load(Relaxed));
    Kept { release, latency, cycle, skipped }
}

/// Adds to a word that only this thread writes, with a load and a store instead of a locked instruction.
#[inline(always)]
fn add(word: &AtomicU64, n: u64) {
    word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wakeup(cycle: u64, latency: u64, skipped: u64) -> Wakeup {
        Wakeup { cycle, release: Nanos(1_000_000), woke: Nanos(1_000_000 + latency), skipped }
    }

    fn boxed(keep: usize) -> Box<Cell> {
        Box::new(Cell::new(keep))
    }

    #[test]
    fn a_stall_of_15_ms_at_200_us_scores_75_skipped_releases() {
        let cell = boxed(8);
        cell.record(&wakeup(0, 15_000_100, 75), 200_000);
        let (raw, skipped) = cell.histograms();
        assert_eq!((raw.count(), skipped.count()), (1, 75));
        assert_eq!(skipped.max().map(bin_index), Some(bin_index(14_800_100)));
        assert_eq!(skipped.min().map(bin_index), Some(bin_index(100)));
    }

    #[test]
    fn a_breach_rings_once_until_it_is_watched_for_again() {
        let bell = Bell::new().unwrap();
        let cell = Box::new(Cell::new(4).with_bell(Some(bell.clone())));
        let rung = || bell.wait(Some(Nanos::ZERO));
        cell.record(&wakeup(0, 500, 0), 10_000);
        assert!(!rung());
        cell.watch(400);
        for (n, latency) in [300, 401, 600, 700].into_iter().enumerate() {
            cell.record(&wakeup(n as u64, latency, 0), 10_000);
            assert_eq!(rung(), latency == 401, "{latency}");
        }
        cell.watch(0);
        cell.record(&wakeup(5, 800, 0), 10_000);
        assert!(rung() && !rung());
    }

    #[test]
    fn a_look_agrees_with_the_histograms() {
        let cell = boxed(4);
        assert_eq!(cell.extremes(), None);
        for (n, latency) in [700, 20, 90_000, 1_300].into_iter().enumerate() {
            cell.record(&wakeup(n as u64, latency, 0), 10_000);
        }
        assert_eq!(cell.extremes(), Some((20, 90_000)));
        let mut counts = Counts { raw: vec![9; 3], skipped: Vec::new() };
        cell.copy_counts(&mut counts);
        assert_eq!(counts, cell.counts());
    }

    proptest! {
        #[test]
        fn the_worst_are_the_worst(latencies in proptest::collection::vec(0u64..1_000, 1..500), keep in 1usize..20, window in 1usize..50) {
            let cell = boxed(keep);
            let mut window_max = 0;
            for (i, &latency) in latencies.iter().enumerate() {
                cell.record(&wakeup(i as u64, latency, 0), 10_000);
                window_max = window_max.max(latency);
                if i % window == 0 {
                    prop_assert_eq!(cell.take_window_max(), window_max);
                    window_max = 0;
                }
            }
            let mut sorted = latencies.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.retain(|&l| l > 0);
            sorted.truncate(keep);
            let mut got: Vec<u64> = cell.worst().iter().map(|k| k.latency).collect();
            got.retain(|&l| l > 0);
            prop_assert_eq!(got, sorted);
            let (raw, _) = cell.histograms();
            prop_assert_eq!(raw.count(), latencies.len() as u64);
            prop_assert_eq!(raw.max(), latencies.iter().max().copied());
            prop_assert_eq!(raw.min(), latencies.iter().min().copied());
            prop_assert_eq!(raw.sum(), latencies.iter().map(|&l| u128::from(l)).sum::<u128>());
        }

        /// Counting bin by bin gives the same result as recording release by release.
        #[test]
        fn skipped_releases_are_scored_one_by_one(period in 1u64..3_000_000, skipped in 1u64..5_000, rest in 0u64..3_000_000) {
            let latency = skipped * period + rest % period;
            let cell = boxed(1);
            cell.record(&wakeup(0, latency, skipped), period);
            let mut slow = Histogram::new();
            (1..=skipped).for_each(|j| slow.record(latency - j * period));
            let (_, fast) = cell.histograms();
            prop_assert_eq!(fast.bins().collect::<Vec<_>>(), slow.bins().collect::<Vec<_>>());
            prop_assert!(fast.max().unwrap() <= latency);
            let (fast, slow) = (fast.sum() as f64, slow.sum() as f64);
            prop_assert!((fast - slow).abs() <= 1e-9 * slow + 5_000.0, "{fast} {slow}");
        }

        /// A wakeup that skipped releases always takes the slow path.
        #[test]
        fn skipping_wakeups_are_always_scored(latencies in proptest::collection::vec(0u64..10_000, 1..300), keep in 1usize..5) {
            let (cell, period) = (boxed(keep), 1_000);
            for (i, &latency) in latencies.iter().enumerate() {
                cell.record(&wakeup(i as u64, latency, latency / period), period);
            }
            let (_, skipped) = cell.histograms();
            prop_assert_eq!(skipped.count(), latencies.iter().map(|l| l / period).sum::<u64>());
        }
    }
}
