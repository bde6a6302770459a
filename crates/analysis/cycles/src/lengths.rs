//! Tells relative sleeps whose lengths the program computes from a clock from those that let the period drift, and
//! absolute times that are computed from the previous one from those computed from the present time.

use crate::Wait;

/// Minimum number of intervals between sleeps that are judged.
const FEWEST: usize = 20;
/// One of this many intervals is judged: those in which the thread was late, or worked, least usually.
const UNUSUAL: usize = 20;
/// Deviation below which nothing is judged, ns: reading a clock and entering the call take up to 1 µs, and usleep(3)
/// rounds to 1 µs.
const NOISE: u64 = 4_000;

/// How the lengths of relative sleeps follow the time of the cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// The sleep after a longer cycle or a late wakeup is shorter by as much: the releases keep their grid.
    HoldGrid,
    /// Longer cycles, or at least late wakeups, delay all later releases.
    Drift,
    /// The cycles do not vary enough, or the times for which the timers were set are not known.
    Unknown,
}

impl Lengths {
    /// Judges the relative sleeps at one place, in chronological order.
    ///
    /// From one due time to the next the thread wakes late, works, and sleeps for a requested length. Where one of the
    /// first two is unusually long, either the interval is so, too, or the length makes up for it. A program that
    /// subtracts only the time of its work makes up for that, but not for late wakeups.
    pub fn of(waits: &[Wait]) -> Lengths {
        let dues: Vec<(&Wait, u64)> = waits.iter().filter_map(|wait| Some((wait, wait.due?.0))).collect();
        let pairs = dues.windows(2).map(|pair| {
            let ((one, due), (other, next)) = (pair[0], pair[1]);
            let since = |time: u64| time.saturating_sub(due) as i64;
            (since(next), (since(other.begin.0), since(one.end.0)))
        });
        let (intervals, (spent, late)): (Vec<i64>, (Vec<i64>, Vec<i64>)) = pairs.unzip();
        let Some(period) = median(&intervals).filter(|period| *period > 0 && intervals.len() >= FEWEST) else {
            return Lengths::Unknown;
        };
        // Where a time was missed, the program may take the next one of its grid.
        let folded = |value: i64| {
            let rest = value.rem_euclid(period);
            rest.min(period - rest).unsigned_abs()
        };
        let makes_up_for = |times: &[i64]| {
            let usual = median(times)?;
            let mut all: Vec<(u64, u64)> = times
                .iter()
                .zip(&intervals)
                .map(|(time, interval)| (folded(time.saturating_sub(usual)), folded(*interval)))
                .collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all.truncate((all.len() / UNUSUAL).max(FEWEST / 4));
            let (deviations, rests): (Vec<u64>, Vec<u64>) = all.into_iter().unzip();
            let (deviation, rest) = (median(&deviations)?, median(&rests)?);
            match (deviation >= NOISE, rest.saturating_mul(4)) {
                (true, rest) if rest <= deviation => Some(true),
                (true, rest) if rest >= deviation.saturating_mul(3) => Some(false),
                _ => None,
            }
        };
        match (makes_up_for(&spent), makes_up_for(&late)) {
            (Some(false), _) | (_, Some(false)) => Lengths::Drift,
            (_, Some(true)) => Lengths::HoldGrid,
            // What makes up for work may add up the latencies of the wakeups.
            (_, None) => Lengths::Unknown,
        }
    }
}

/// Maximum spread of times that are computed from each other, ns.
const EXACT: u64 = 25;
/// Number of times by which the spread of the intervals between the times must exceed that of the times since the
/// clock was read.
const FEWER: u64 = 3;

/// Returns true if each timer at one place was set to a fixed time after the last wakeup, or after the moment in which it
/// was set: the intervals between the times then vary with the latencies. False if it is unknown.
///
/// Times on a grid have equal intervals, and arbitrary times vary by as much from the last wakeup as from each other.
pub fn are_from_now(waits: &[Wait]) -> bool {
    // Due times, when each timer was set, and when the waits ended.
    let timers: Vec<[u64; 3]> = waits.iter().filter_map(|wait| Some([wait.due?.0, wait.set?.0, wait.end.0])).collect();
    if timers.len() <= FEWEST {
        return false;
    }
    let spread = |since: fn(&[u64; 3], &[u64; 3]) -> u64| {
        let since = |pair: &[[u64; 3]]| pair[1][0].saturating_sub(since(&pair[0], &pair[1]));
        let mut all: Vec<u64> = timers.windows(2).map(since).collect();
        all.sort_unstable();
        let quarter = all.len() / 4;
        all[all.len() - 1 - quarter] - all[quarter]
    };
    let intervals = spread(|[due, ..], _| *due);
    let since_now = spread(|[.., end], _| *end).min(spread(|_, [_, set, _]| *set));
    intervals >= FEWER.saturating_mul(since_now.max(EXACT))
}

fn median<T: Copy + Ord>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Release;
    use proptest::prelude::*;
    use punctual_units::Nanos;

    const PERIOD: u64 = 5_333_000;

    /// Returns sleeps whose wakeups are late and whose cycles work for these times; `length` computes each length from
    /// the time at which it begins, the end of the last sleep, and the next time of the grid.
    fn sleeps(cycles: &[(u64, u64)], mut length: impl FnMut(u64, u64, u64) -> u64) -> Vec<Wait> {
        let (mut end, mut work, mut grid) = (0, 100_000, 0);
        let mut one = |&(late, next): &(u64, u64)| {
            let begin = end + work;
            while grid <= begin {
                grid += PERIOD;
            }
            let due = begin + length(begin, end, grid);
            (end, work) = (due + late, next);
            Wait {
                place: 0,
                release: Release::RelativeSleep,
                begin: Nanos(begin - 800),
                due: Some(Nanos(due)),
                set: Some(Nanos(begin)),
                woken: Some(Nanos(due + late / 2)),
                end: Nanos(end),
            }
        };
        cycles.iter().map(&mut one).collect()
    }

    /// Returns late wakeups and times of work with few large and many small deviations; some cycles miss a time.
    fn cycles(late: u64, work: u64) -> Vec<(u64, u64)> {
        let one = |n: u64| {
            let is_rare = n % 17 == 5;
            (5_000 + n * 7_919 % 13 * late / 13 + if is_rare { late * 4 } else { 0 }, 200_000 + n * 104_729 % 11 * work)
        };
        (0..300).map(one).collect()
    }

    #[test]
    fn lengths_until_a_grid_are_told_from_fixed_ones() {
        let varied = cycles(20_000, 40_000);
        let rounded = |begin: u64, _: u64, grid: u64| (grid - begin) / 1_000 * 1_000;
        assert_eq!(Lengths::of(&sleeps(&varied, rounded)), Lengths::HoldGrid);
        let missed: Vec<(u64, u64)> = varied
            .iter()
            .enumerate()
            .map(|(n, one)| if n % 9 == 0 { (one.0, 2 * PERIOD + 9_000 * n as u64) } else { *one })
            .collect();
        assert_eq!(Lengths::of(&sleeps(&missed, rounded)), Lengths::HoldGrid);
        assert_eq!(Lengths::of(&sleeps(&varied, |_, _, _| PERIOD)), Lengths::Drift);
        // The time of the work alone is subtracted.
        assert_eq!(Lengths::of(&sleeps(&varied, |begin, end, _| PERIOD - (begin - end))), Lengths::Drift);
    }

    #[test]
    fn lengths_that_follow_the_work_alone_hold_no_grid_that_is_known() {
        // The wakeups are late by about the same time, so it is not seen that the lengths ignore it.
        let steady: Vec<(u64, u64)> =
            cycles(20_000, 40_000).into_iter().map(|(late, work)| (5_000 + late % 2_000, work)).collect();
        assert_eq!(Lengths::of(&sleeps(&steady, |begin, end, _| PERIOD - (begin - end))), Lengths::Unknown);
    }

    #[test]
    fn lengths_that_never_had_to_differ_are_unknown() {
        let even = vec![(5_000, 200_000); 300];
        assert_eq!(Lengths::of(&sleeps(&even, |_, _, _| PERIOD)), Lengths::Unknown);
        let few = sleeps(&cycles(20_000, 40_000)[..15], |_, _, _| PERIOD);
        assert_eq!(Lengths::of(&few), Lengths::Unknown);
        let hidden: Vec<Wait> = sleeps(&cycles(20_000, 40_000), |_, _, _| PERIOD)
            .into_iter()
            .map(|one| Wait { due: None, ..one })
            .collect();
        assert_eq!(Lengths::of(&hidden), Lengths::Unknown);
    }

    #[test]
    fn times_from_now_are_told_from_a_grid_and_from_arbitrary_ones() {
        let varied = cycles(20_000, 40_000);
        assert!(!are_from_now(&sleeps(&varied, |begin, _, grid| grid - begin)));
        // The clock is read at once after the wakeup, or after the work.
        assert!(are_from_now(&sleeps(&varied, |begin, end, _| PERIOD - (begin - end))));
        assert!(are_from_now(&sleeps(&varied, |_, _, _| PERIOD)));
        assert!(!are_from_now(&sleeps(&varied[..15], |_, _, _| PERIOD)));
        // A grid whose period is adjusted, and times of a melody.
        let (mut next, mut n) = (0, 0);
        let mut scheduled = |interval: fn(u64) -> u64| {
            (next, n) = (0, 0);
            are_from_now(&sleeps(&varied, |begin, _, _| {
                n += 1;
                next += PERIOD + interval(n);
                next - begin
            }))
        };
        assert!(!scheduled(|n| n * 7_919 % 13 * 500));
        assert!(!scheduled(|n| n * 104_729 % 11 * 1_000_000));
    }

    proptest! {
        #[test]
        fn random_lengths_hold_no_grid(lengths in prop::collection::vec(1_000_000u64..4_000_000, 60..200)) {
            let mut next = lengths.iter().copied();
            let some = sleeps(&cycles(20_000, 40_000)[..lengths.len()], |_, _, _| next.next().unwrap());
            let found = Lengths::of(&some);
            prop_assert_ne!(found, Lengths::HoldGrid);
        }

        #[test]
        fn any_sleeps_are_answered(raw in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..60)) {
            let wait = |&(begin, due, end): &(u64, u64, u64)| Wait {
                place: 0,
                release: Release::RelativeSleep,
                begin: Nanos(begin),
                due: Some(Nanos(due)),
                set: Some(Nanos(begin)),
                woken: None,
                end: Nanos(end),
            };
            let waits: Vec<Wait> = raw.iter().map(wait).collect();
            let _ = (Lengths::of(&waits), are_from_now(&waits));
        }
    }
}
