//! Selects the trace windows to save.

use punctual_model::LateWakeup;
use punctual_units::{Arrange, Nanos};

pub(crate) const MOST: usize = 8;
/// Number of worst wakeups per CPU of which traces are saved.
pub(crate) const RANKS: usize = 4;
/// Maximum number of windows saved at once from a buffer, which holds a few seconds of events.
const AT_ONCE: usize = 4;
/// Maximum length of a window, ns. The end of a delay of a minute is enough to explain it.
const LONGEST: u64 = 10_000_000_000;

pub(crate) type Late = LateWakeup;

#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Start of the window, CLOCK_MONOTONIC, ns; `to` is its end on the same clock.
    pub from: u64,
    pub to: u64,
    pub late: Vec<LateWakeup>,
}

impl Window {
    fn worst(&self) -> u64 {
        self.late.iter().map(|late| late.latency_ns).max().unwrap_or(0)
    }
}

/// Returns windows around the wakeups `late`, in chronological order, merged where they overlap. Returns at most
/// [`AT_ONCE`], and only for wakeups among the [`MOST`] worst including those already `kept`.
pub(crate) fn windows(mut late: Vec<Late>, before: Nanos, after: Nanos, kept: &[u64]) -> Vec<Window> {
    late.arrange_by_key(|l| l.release_mono_ns);
    let mut all: Vec<Window> = Vec::new();
    for one in late {
        let to = one.release_mono_ns + one.latency_ns + after.0;
        let from = one.release_mono_ns.saturating_sub(before.0).max(to.saturating_sub(LONGEST));
        match all.last_mut().filter(|window| from <= window.to) {
            Some(window) => {
                window.to = window.to.max(to);
                window.late.push(one);
            }
            None => all.push(Window { from, to, late: vec![one] }),
        }
    }
    all.arrange_by_key(|window| std::cmp::Reverse(window.worst()));
    all.truncate(AT_ONCE);
    let better = |window: &Window| kept.iter().filter(|latency| **latency >= window.worst()).count() < MOST;
    all.retain(better);
    all.arrange_by_key(|window| window.from);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_units::CpuId;

    fn late(cpu: u32, release: u64, latency: u64) -> Late {
        LateWakeup { cpu: CpuId(cpu), tid: 1, release_mono_ns: release, latency_ns: latency }
    }

    fn chosen(late: Vec<Late>, kept: &[u64]) -> Vec<(u64, u64, usize)> {
        let windows = windows(late, Nanos(100), Nanos(10), kept);
        windows.into_iter().map(|w| (w.from, w.to, w.late.len())).collect()
    }

    #[test]
    fn overlapping_windows_are_one() {
        let three = vec![late(0, 1000, 50), late(1, 1100, 500), late(0, 9000, 5)];
        assert_eq!(chosen(three, &[]), [(900, 1610, 2), (8900, 9015, 1)]);
    }

    #[test]
    fn what_is_less_late_than_all_that_is_kept_is_not_kept() {
        let kept = [70; MOST];
        assert_eq!(chosen(vec![late(0, 1000, 60), late(0, 5000, 80)], &kept), [(4900, 5090, 1)]);
        assert_eq!(chosen(vec![late(0, 1000, 60)], &kept[1..]), [(900, 1070, 1)]);
    }

    proptest! {
        #[test]
        fn windows_hold_their_wakeups_and_do_not_overlap(list in proptest::collection::vec((0u64..100_000, 0u64..3_000), 0..30)) {
            let late: Vec<Late> = list.iter().map(|&(release, latency)| late(0, release, latency)).collect();
            let windows = windows(late, Nanos(100), Nanos(10), &[]);
            prop_assert!(windows.len() <= AT_ONCE);
            prop_assert!(windows.windows(2).all(|pair| pair[0].to < pair[1].from));
            for window in &windows {
                prop_assert!(window.late.iter().all(|l| window.from <= l.release_mono_ns && l.release_mono_ns + l.latency_ns < window.to));
            }
            let worst = list.iter().map(|(_, latency)| *latency).max();
            prop_assert_eq!(windows.iter().map(Window::worst).max(), worst);
        }
    }
}
