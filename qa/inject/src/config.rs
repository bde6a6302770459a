use crate::victim::Manner;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug)]
pub struct Wanted {
    pub cpus: (u32, u32),
    pub bursts: u32,
    /// Length of a burst, ns.
    pub length_ns: u64,
    /// Minimum lateness at which a wakeup counts as late, ns.
    pub late_ns: u64,
    /// Seed of the pseudorandom lengths and phases.
    pub seed: u64,
}

/// Priority of the victim.
pub(crate) const PRIORITY: u8 = 80;

/// Configuration of a child process of the campaign, which it gets as JSON in its arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// A name in [`KINDS`](crate::KINDS), or `victim`.
    pub role: String,
    /// How the victim is scheduled and woken.
    pub manner: Manner,
    pub cpu: u32,
    /// Another CPU, for helper threads that must not disturb the victim.
    pub other_cpu: u32,
    pub priority: u8,
    /// Period of the victim, ns.
    pub period_ns: u64,
    /// Minimum lateness of a recorded wakeup, ns.
    pub late_ns: u64,
    /// Thread ID of the victim; 0 if not yet known.
    pub victim_tid: i32,
    pub bursts: u32,
    /// Nominal length of a burst, ns. The actual length differs by up to a quarter.
    pub length_ns: u64,
    /// Time from the start of a burst to the start of the next, ns.
    pub every_ns: u64,
    /// Seed of the pseudorandom lengths and phases.
    pub seed: u64,
}

/// Planned start and end of a burst, CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub from: u64,
    pub to: u64,
}

impl Slot {
    /// Returns a time within the burst, ns: 0 per cent is its start, 100 its end.
    pub fn at(&self, percent: u64) -> u64 {
        self.from + (self.to - self.from) * percent / 100
    }
}

impl Config {
    pub(crate) fn new(role: &str, manner: Manner, wanted: &Wanted) -> Config {
        Config {
            role: role.into(),
            manner,
            cpu: wanted.cpus.0,
            other_cpu: wanted.cpus.1,
            priority: PRIORITY,
            period_ns: manner.period_ns(),
            late_ns: wanted.late_ns,
            victim_tid: 0,
            bursts: wanted.bursts,
            length_ns: wanted.length_ns,
            every_ns: wanted.length_ns * 3 / 2 + 50_000_000,
            seed: wanted.seed,
        }
    }

    /// Returns the bursts from `start` on. Phase and length differ from burst to burst.
    pub(crate) fn slots(&self, start: u64) -> Vec<Slot> {
        let mut state = self.seed ^ 0x9e37_79b9_7f4a_7c15;
        let mut below = |limit: u64| {
            // Knuth's MMIX generator; any spread is sufficient.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit.max(1)
        };
        let slot = |n: u32| {
            let from = start + u64::from(n) * self.every_ns + below(self.period_ns);
            let length = self.length_ns * 3 / 4 + below(self.length_ns / 2);
            Slot { from, to: from + length }
        };
        (0..self.bursts).map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other_and_stay_in_their_bounds() {
        let config = Config {
            role: "x".into(),
            manner: Manner::Timed,
            cpu: 1,
            other_cpu: 0,
            priority: 80,
            period_ns: 5_000_000,
            late_ns: 1,
            victim_tid: 0,
            bursts: 50,
            length_ns: 16_000_000,
            every_ns: 70_000_000,
            seed: 3,
        };
        let slots = config.slots(1_000);
        assert_eq!(slots.len(), 50);
        assert!(slots.windows(2).all(|w| w[0].to < w[1].from));
        assert!(slots.iter().all(|s| (12_000_000..=20_000_000).contains(&(s.to - s.from))));
    }
}
