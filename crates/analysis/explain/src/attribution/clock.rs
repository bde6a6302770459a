//! Detects a trace clock that is too coarse to measure anything.

use punctual_trace::{Event, Kind};

/// Minimum step reported, ns: the jiffies of a machine without sched_clock() (kernel/time/sched_clock.c) are 1 to 10
/// ms.
const LEAST: u64 = 1_000_000;
/// Minimum number of events for a judgement of the clock.
const EVENTS: u64 = 6;

/// The step size of a trace clock, from the times of its events.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    last: Option<u64>,
    /// Greatest common divisor of all differences between times of events.
    step: u64,
    events: u64,
    ticks: u64,
}

impl Clock {
    pub fn see(&mut self, event: &Event) {
        // A mark of omitted events has the time of the event before it.
        if matches!(event.kind, Kind::Restart | Kind::LostEvents { .. }) {
            self.last = None;
            return;
        }
        self.events += 1;
        let Some(passed) = self.last.replace(event.t_ns).and_then(|last| event.t_ns.checked_sub(last)) else { return };
        if passed > 0 && (self.step == 0 || self.step >= LEAST) {
            self.ticks += 1;
            self.step = divisor(self.step, passed);
        }
    }

    /// Returns the clock's step, ns, if at least three consecutive events have the same time, and all differ by a
    /// multiple of a millisecond.
    pub fn step(&self) -> Option<u64> {
        let coarse = self.step >= LEAST && self.events >= EVENTS && self.ticks * 3 <= self.events;
        coarse.then_some(self.step)
    }
}

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(times_us: &[u64]) -> Option<u64> {
        let mut clock = Clock::default();
        for t in times_us {
            let kind = Kind::CpuFrequency { khz: 1, cpu: 0 };
            clock.see(&Event { t_ns: t * 1000, cpu: 0, tid: None, comm: None, flags: None, kind });
        }
        clock.step()
    }

    #[test]
    fn a_clock_of_jiffies_stands_still_between_its_steps() {
        assert_eq!(step(&[0, 0, 0, 4000, 4000, 4000, 4000, 12000, 12000]), Some(4_000_000));
        assert_eq!(step(&[0, 0, 0, 0, 0, 0, 2000, 2000]), Some(2_000_000));
        assert_eq!(step(&[0, 0, 0, 4000, 4000, 4000, 4000, 12001, 12001]), None);
        assert_eq!(step(&[0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]), None);
        assert_eq!(step(&[5, 5, 5, 5, 5, 5, 5, 5, 5]), None);
    }
}
