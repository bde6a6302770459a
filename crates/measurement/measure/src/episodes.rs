//! Late episodes of one measuring thread above each limit. The thread records them without locks or allocation.

use punctual_model::{EPISODE_GAP, Episode, Episodes};
use punctual_rt::Wakeup;
use punctual_units::Nanos;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of limits above which a cell records episodes.
pub const LIMITS: usize = 16;

/// Limits above which episodes are always recorded, in addition to those of the claims: 1-2-5 steps from 100 µs to 100
/// ms.
pub const GRID: [Nanos; 10] = [
    Nanos::from_micros(100),
    Nanos::from_micros(200),
    Nanos::from_micros(500),
    Nanos::from_millis(1),
    Nanos::from_millis(2),
    Nanos::from_millis(5),
    Nanos::from_millis(10),
    Nanos::from_millis(20),
    Nanos::from_millis(50),
    Nanos::from_millis(100),
];

/// Number of words per episode: start, cycle number of the first and last late release, number of late releases, area.
const WORDS: usize = 5;

/// The episodes above one limit. One thread writes them with relaxed stores.
#[derive(Debug)]
pub(crate) struct Track {
    limit: AtomicU64,
    count: AtomicU64,
    late: AtomicU64,
    area: AtomicU64,
    most_late: AtomicU64,
    longest: AtomicU64,
    length: AtomicU64,
    /// The current episode, which may still continue.
    now: [AtomicU64; WORDS],
    /// The earlier episodes with the largest area.
    kept: [[AtomicU64; WORDS]; Episodes::KEPT],
    kept_count: AtomicU64,
}

impl Track {
    pub const fn new() -> Track {
        Track {
            limit: AtomicU64::new(u64::MAX),
            count: AtomicU64::new(0),
            late: AtomicU64::new(0),
            area: AtomicU64::new(0),
            most_late: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            length: AtomicU64::new(0),
            now: [const { AtomicU64::new(0) }; WORDS],
            kept: [const { [const { AtomicU64::new(0) }; WORDS] }; Episodes::KEPT],
            kept_count: AtomicU64::new(0),
        }
    }

    pub fn set(&self, limit: Nanos) {
        self.limit.store(limit.0, Relaxed);
    }

    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    pub fn words(&self) -> impl Iterator<Item = &AtomicU64> {
        [
            &self.limit,
            &self.count,
            &self.late,
            &self.area,
            &self.most_late,
            &self.longest,
            &self.length,
            &self.kept_count,
        ]
        .into_iter()
        .chain(&self.now)
        .chain(self.kept.iter().flatten())
    }

    /// Records a wakeup later than the limit, and the releases it skipped. The j-th release after the late one was
    /// `latency − j·period` late.
    pub fn record(&self, wakeup: &Wakeup, latency: u64, period: u64) {
        let over = latency.saturating_sub(self.limit());
        let more = over.saturating_sub(1).checked_div(period).unwrap_or(0).min(wakeup.skipped);
        let releases = more + 1;
        let steps = period.saturating_mul(more.saturating_mul(releases) / 2);
        let area = over.saturating_mul(releases).saturating_sub(steps);
        let [start, first, last, late, sum] = self.now.each_ref();
        let ended = self.count.load(Relaxed) == 0 || wakeup.cycle.saturating_sub(last.load(Relaxed)) > EPISODE_GAP;
        if ended {
            self.keep();
            start.store(wakeup.release.0, Relaxed);
            first.store(wakeup.cycle, Relaxed);
            late.store(0, Relaxed);
            sum.store(0, Relaxed);
            add(&self.count, 1);
            add(&self.length, releases);
        } else {
            add(&self.length, wakeup.cycle.saturating_add(more) - last.load(Relaxed));
        }
        last.store(wakeup.cycle.saturating_add(more), Relaxed);
        add(late, releases);
        add(sum, area);
        add(&self.late, releases);
        add(&self.area, area);
        raise(&self.most_late, late.load(Relaxed));
        raise(&self.longest, last.load(Relaxed) - first.load(Relaxed) + 1);
    }

    /// Ends the current episode. It is kept if there is room or a kept episode is smaller, which it then replaces.
    fn keep(&self) {
        if self.count.load(Relaxed) == 0 {
            return;
        }
        let kept = self.kept_count.load(Relaxed) as usize;
        let area = |words: &[AtomicU64; WORDS]| words[WORDS - 1].load(Relaxed);
        let place = if kept < Episodes::KEPT {
            self.kept_count.store(kept as u64 + 1, Relaxed);
            self.kept.get(kept)
        } else {
            self.kept.iter().min_by_key(|words| area(words)).filter(|least| area(least) < area(&self.now))
        };
        for (to, from) in place.into_iter().flatten().zip(&self.now) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }

    /// Returns the episodes after `released` periods. They are exact only if the writer is not writing.
    pub fn read(&self, released: u64) -> Episodes {
        let count = self.count.load(Relaxed);
        let kept = self.kept.iter().take(self.kept_count.load(Relaxed) as usize);
        let [_, _, last, late, _] = self.now.each_ref().map(|word| word.load(Relaxed));
        let goes_on = count > 0 && released.saturating_sub(last.saturating_add(1)) < EPISODE_GAP;
        let mut found = Episodes {
            limit_ns: Nanos(self.limit()),
            count,
            late: self.late.load(Relaxed),
            area_ns: self.area.load(Relaxed),
            most_late: self.most_late.load(Relaxed),
            longest: self.longest.load(Relaxed),
            length: self.length.load(Relaxed),
            open: if goes_on { late } else { 0 },
            kept: kept.chain((count > 0).then_some(&self.now)).map(episode).collect(),
        };
        found.keep_largest();
        found
    }
}

fn episode(words: &[AtomicU64; WORDS]) -> Episode {
    let [start_mono_ns, cycle, last, late, area_ns] = words.each_ref().map(|word| word.load(Relaxed));
    Episode { start_mono_ns, cycle, length: last.saturating_sub(cycle) + 1, late, area_ns }
}

fn add(word: &AtomicU64, n: u64) {
    word.store(word.load(Relaxed).saturating_add(n), Relaxed);
}

fn raise(word: &AtomicU64, to: u64) {
    if to > word.load(Relaxed) {
        word.store(to, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(limit: u64, period: u64, wakeups: &[(u64, u64)]) -> (Episodes, u64) {
        let track = Track::new();
        track.set(Nanos(limit));
        let mut cycle = 0;
        for &(gap, latency) in wakeups {
            cycle += gap;
            let (release, skipped) = (Nanos(cycle * period), latency / period);
            if latency > limit {
                track.record(&Wakeup { cycle, release, woke: release + Nanos(latency), skipped }, latency, period);
            }
            cycle += 1 + skipped;
        }
        (track.read(cycle), cycle)
    }

    #[test]
    fn a_stall_is_one_episode_and_so_is_every_fifth_release() {
        let (stall, _) = recorded(100, 1_000, &[(5, 50_300), (500, 0)]);
        // A wakeup that is 50,300 ns late at a limit of 100 ns counts, with 50 skipped periods.
        assert_eq!((stall.count, stall.late, stall.longest, stall.open), (1, 51, 51, 0));
        assert_eq!(stall.kept.len(), 1);
        assert_eq!((stall.kept[0].cycle, stall.kept[0].start_mono_ns, stall.kept[0].length), (5, 5_000, 51));
        let fifth = vec![(4, 200); 200];
        let (fifth, _) = recorded(100, 1_000, &fifth);
        assert_eq!((fifth.count, fifth.late, fifth.longest, fifth.open), (1, 200, 996, 200));
        let (apart, _) = recorded(100, 1_000, &vec![(EPISODE_GAP, 200); 50]);
        assert_eq!((apart.count, apart.most_late), (50, 1));
    }

    proptest! {
        /// Recording wakeup by wakeup gives the same result as recording one release at a time.
        #[test]
        fn counted_by_wakeups_as_by_releases(
            wakeups in proptest::collection::vec((0u64..25, 0u64..9_000), 1..200), limit in 1u64..3_000
        ) {
            let period = 1_000;
            let (found, released) = recorded(limit, period, &wakeups);
            let mut late = vec![0u64; released as usize];
            let mut cycle = 0;
            for &(gap, latency) in &wakeups {
                cycle += gap;
                for j in 0..=latency / period {
                    late[(cycle + j) as usize] = (latency - j * period).saturating_sub(limit);
                }
                cycle += 1 + latency / period;
            }
            let mut slow = Episodes { limit_ns: Nanos(limit), ..Episodes::default() };
            let mut all: Vec<Episode> = Vec::new();
            for (cycle, over) in (0u64..).zip(&late).filter(|(_, over)| **over > 0) {
                match all.last_mut().filter(|e| cycle - (e.cycle + e.length - 1) <= EPISODE_GAP) {
                    Some(e) => *e = Episode { length: cycle - e.cycle + 1, late: e.late + 1, area_ns: e.area_ns + over, ..*e },
                    None => all.push(Episode { start_mono_ns: cycle * period, cycle, length: 1, late: 1, area_ns: *over }),
                }
                slow.late += 1;
                slow.area_ns += over;
            }
            slow.count = all.len() as u64;
            slow.most_late = all.iter().map(|e| e.late).max().unwrap_or(0);
            slow.longest = all.iter().map(|e| e.length).max().unwrap_or(0);
            slow.length = all.iter().map(|e| e.length).sum();
            slow.open = all.last().filter(|e| released - (e.cycle + e.length) < EPISODE_GAP).map_or(0, |e| e.late);
            let (mut found, found_kept) = (found.clone(), found.kept);
            found.kept.clear();
            prop_assert_eq!(&found, &slow);
            // Any of several episodes with equal area may be kept.
            let areas = |mut episodes: Vec<Episode>| {
                episodes.sort_by_key(|e| std::cmp::Reverse(e.area_ns));
                episodes.iter().take(Episodes::KEPT).map(|e| e.area_ns).collect::<Vec<_>>()
            };
            prop_assert_eq!(areas(found_kept), areas(all));
        }
    }
}
