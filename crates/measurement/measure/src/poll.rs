//! A measuring thread that never sleeps. It reads CLOCK_MONOTONIC continuously; each difference between two readings is
//! a sample. oslat (rt-tests) works in this way, and so does an application that polls its device on a dedicated CPU.
//!
//! A sample is recorded before the next reading, so that no gap is missed. The smallest sample is the cost of reading
//! and recording.

use punctual_rt::{Wait, Wakeup, monotonic, sleep_until};
use punctual_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Each clock reading (without a system call if the vDSO supports it) counts as a wakeup that was released at the
/// previous reading.
#[derive(Debug, Default)]
pub(crate) struct Poll {
    last: Nanos,
    end: Nanos,
    cycle: u64,
    reading: bool,
}

impl Wait for Poll {
    /// Sleeps until `end`, because polling needs no warm-up.
    fn begin(&mut self, _start: Nanos, end: Nanos) {
        *self = Poll { end, ..Poll::default() };
    }

    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if !self.reading {
            while !stop.load(Relaxed) && sleep_until(self.end).is_err() {}
            return None;
        }
        if self.last >= self.end || stop.load(Relaxed) {
            return None;
        }
        let now = monotonic();
        let wakeup = Wakeup { cycle: self.cycle, release: self.last, woke: now, skipped: 0 };
        self.cycle += 1;
        self.last = now;
        Some(wakeup)
    }

    fn go_on(&mut self, duration: Nanos) {
        *self = Poll { last: monotonic(), end: self.end + duration, cycle: 0, reading: true };
    }

    fn released(&self) -> u64 {
        self.cycle
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::start_polling;
    use crate::plan::Plan;
    use punctual_model::Alignment;
    use punctual_uapi as uapi;
    use punctual_units::{Nanos, Scheduling};
    use std::time::{Duration, Instant};

    fn plan(ms: u64) -> Plan {
        Plan {
            phase: "1-idle".into(),
            cpus: uapi::affinity(0).unwrap(),
            scheduling: punctual_rt::granted_nice(Scheduling::Other { nice: 0 }),
            groups: Default::default(),
            via: Default::default(),
            senders: Default::default(),
            period: Nanos::from_millis(1),
            alignment: Alignment::Staggered,
            warmup: Nanos::from_millis(5),
            duration: Nanos::from_millis(ms),
            keep: 16,
            limits: Vec::new(),
            bell: None,
        }
    }

    #[test]
    #[ignore = "live: timing"]
    fn the_samples_add_up_to_the_whole_time() {
        let running = start_polling(plan(100)).unwrap();
        while !running.finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let outcome = running.collect();
        assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
        for (cpu, (_, distribution)) in outcome.cpus.iter().zip(&outcome.distributions) {
            assert_eq!((cpu.released, cpu.skipped), (Some(cpu.ran), Some(0)));
            assert_eq!(distribution.raw.count(), cpu.ran);
            // Counts from the first reading, which may be late if another thread has the CPU, to the first reading
            // after the end.
            let sum = distribution.raw.sum();
            assert!(cpu.ran > 1000 && sum > 20_000_000, "{cpu:?} {sum}");
            let worst = outcome.worst.iter().filter(|w| w.cpu == cpu.cpu).map(|w| w.latency_ns).max();
            assert_eq!(worst, cpu.max_ns);
        }
    }

    #[test]
    #[ignore = "live: timing"]
    fn a_stop_ends_it_at_once() {
        uapi::install_wakeup().unwrap();
        let running = start_polling(plan(3_600_000)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        while !running.finished() {
            running.stop();
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(begun.elapsed().as_secs() < 1, "{:?}", begun.elapsed());
        assert!(running.collect().cpus.iter().all(|cpu| cpu.ran > 0));
    }
}
