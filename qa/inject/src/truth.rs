use serde::{Deserialize, Serialize};

/// An interval in which an injected cause occupied the victim's CPU, or would have done so if the victim had been due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// The class that an explanation should name, as in `punctual explain --json`: `higher_priority`, `softirq`, …; or
    /// `tracer_left_on`.
    pub class: String,
    /// ID of the responsible thread, if there is one.
    pub tid: Option<i32>,
    pub comm: Option<String>,
    /// Text that the explanation must also contain: the name of the interrupt, or the evidence.
    #[serde(default)]
    pub what: Option<String>,
    /// Policy and priority of the responsible thread, as text.
    pub scheduled: String,
    pub cpu: u32,
    /// Start of the burst, ns on CLOCK_MONOTONIC, like the other times.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Earliest possible start of the burst, ns.
    pub earliest_ns: u64,
    /// Latest possible end of the burst, ns; `None` means the time when the victim ran.
    pub worst_ns: Option<u64>,
    /// Intervals within the burst in which the thread, or the CPU that observed it, could not read the clock, because
    /// an interrupt or the host of a guest had the CPU. They may or may not belong to the burst.
    #[serde(default)]
    pub gaps: Vec<(u64, u64)>,
    /// True if start and end determine the share of a delay; false if only the class is known.
    pub exact: bool,
}

/// Bounds of the time at which an effect occurred, observed by another CPU that polled for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Last time at which the effect had not occurred yet, ns.
    pub not_yet: u64,
    /// First time at which the effect had occurred, ns.
    pub seen: u64,
}

/// Returns a burst of which another CPU observed the first and the last effect; it started after `asked`.
pub(crate) fn seen(burst: &Burst, asked: u64, first: Seen, last: Seen, gaps: Vec<(u64, u64)>) -> Burst {
    let end_ns = last.not_yet.max(first.seen);
    // The softirq or interrupt continues for a short time after its last effect.
    Burst { start_ns: first.seen, end_ns, earliest_ns: asked, worst_ns: None, gaps, ..burst.clone() }
}

impl Burst {
    /// Returns the minimum time that the burst can have taken between `from` and `to`, ns.
    pub fn overlap(&self, from: u64, to: u64) -> u64 {
        let (from, to) = (self.start_ns.max(from), self.end_ns.min(to));
        let gaps: u64 = self.gaps.iter().map(|gap| gap.1.min(to).saturating_sub(gap.0.max(from))).sum();
        to.saturating_sub(from).saturating_sub(gaps)
    }

    /// Returns the maximum time that the burst can have taken between `from` and `to`, ns. The time between a thread's
    /// clock reads and the switches to and from it is uncertain: an interrupt, or the host of a guest, may have taken
    /// the CPU.
    pub fn most(&self, from: u64, to: u64) -> u64 {
        self.worst_ns.unwrap_or(to).min(to).saturating_sub(self.earliest_ns.max(from))
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
            what: None,
            scheduled: String::new(),
            cpu: 1,
            start_ns: 100,
            end_ns: 200,
            earliest_ns: 90,
            worst_ns: None,
            gaps: vec![(120, 140), (195, 300)],
            exact: true,
        };
        assert_eq!(burst.overlap(0, 1000), 75);
        assert_eq!(burst.overlap(130, 150), 10);
        assert_eq!(burst.overlap(300, 400), 0);
        assert_eq!(burst.most(0, 1000), 910);
        assert_eq!(Burst { worst_ns: Some(210), ..burst }.most(95, 1000), 115);
    }
}
