//! What was done, and when.

use serde::{Deserialize, Serialize};

/// One stretch of time in which a planted cause kept the victim's CPU, or would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// The class an explanation should name, as in `punctual explain --json`: `higher_priority`, `softirq`, …; or
    /// `tracer_left_on`.
    pub class: String,
    /// The thread that is to blame, if one is.
    pub tid: Option<i32>,
    /// Its name.
    pub comm: Option<String>,
    /// Its policy and priority, for people.
    pub scheduled: String,
    /// On which CPU.
    pub cpu: u32,
    /// Beginning, CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// It cannot have begun before.
    pub earliest_ns: u64,
    /// It cannot have ended after; `None`: when the victim ran.
    pub latest_ns: Option<u64>,
    /// Times inside it in which the thread, or the CPU that watched, could not look at the clock: an interrupt, or the host of
    /// a guest, had the CPU. Not known to be the burst's.
    #[serde(default)]
    pub gaps: Vec<(u64, u64)>,
    /// Beginning and end tell the share of a delay; otherwise only the class is known.
    pub exact: bool,
}

/// Something that another CPU looked for again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// It had not come yet.
    pub not_yet: u64,
    /// It had.
    pub seen: u64,
}

/// A burst of which another CPU saw the first and the last effect; it began after `asked`.
pub(crate) fn seen(burst: &Burst, asked: u64, first: Seen, last: Seen, gaps: Vec<(u64, u64)>) -> Burst {
    let end_ns = last.not_yet.max(first.seen);
    // The softirq or interrupt goes on for a while after its last effect.
    Burst { start_ns: first.seen, end_ns, earliest_ns: asked, latest_ns: None, gaps, ..burst.clone() }
}

impl Burst {
    /// What it surely took of the time from `from` to `to`, ns.
    pub fn overlap(&self, from: u64, to: u64) -> u64 {
        let (from, to) = (self.start_ns.max(from), self.end_ns.min(to));
        let gaps: u64 = self.gaps.iter().map(|gap| gap.1.min(to).saturating_sub(gap.0.max(from))).sum();
        to.saturating_sub(from).saturating_sub(gaps)
    }

    /// The most that it can have taken of it. What is between a thread's clock readings and the switch to and from it
    /// cannot be told: an interrupt, or the host of a guest, may have come in between.
    pub fn most(&self, from: u64, to: u64) -> u64 {
        self.latest_ns.unwrap_or(to).min(to).saturating_sub(self.earliest_ns.max(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_not_surely_the_bursts() {
        let burst = Burst {
            class: "higher_priority".into(),
            tid: Some(7),
            comm: None,
            scheduled: String::new(),
            cpu: 1,
            start_ns: 100,
            end_ns: 200,
            earliest_ns: 90,
            latest_ns: None,
            gaps: vec![(120, 140), (195, 300)],
            exact: true,
        };
        assert_eq!(burst.overlap(0, 1000), 75);
        assert_eq!(burst.overlap(130, 150), 10);
        assert_eq!(burst.overlap(300, 400), 0);
        assert_eq!(burst.most(0, 1000), 910);
        assert_eq!(Burst { latest_ns: Some(210), ..burst }.most(95, 1000), 115);
    }
}
