//! The timer's interrupt wakes hundreds of real-time threads at one instant, all below the victim. Their timers expire in
//! the interrupt also on PREEMPT_RT (kernel/time/hrtimer.c, `__hrtimer_init_sleeper`). Its end is not seen from user space,
//! only that the victim runs next.

use crate::PlantError;
use crate::child::begin;
use crate::config::Config;
use crate::thread::{become_thread, fifo, joined, now, sleep_until};
use crate::truth::Burst;
use std::sync::Barrier;

const THREADS: usize = 400;
/// What waking one takes on a fast machine: the burst must end some time.
const MOST_NS: u64 = 100_000_000;

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, PlantError> {
    become_thread("sleepers", config.other_cpu, fifo(20)?)?;
    let (ready, go) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let start = std::sync::OnceLock::new();
    std::thread::scope(|scope| {
        let mut sleepers = Vec::new();
        for _ in 0..THREADS {
            let sleeper = || {
                let bound = fifo(5).and_then(|fifo| become_thread("sleeper", config.cpu, fifo));
                ready.wait();
                go.wait();
                let slots = config.slots(start.get().copied().unwrap_or(0));
                bound.map(|()| slots.iter().for_each(|slot| sleep_until(slot.from)))
            };
            let builder = std::thread::Builder::new().stack_size(64 << 10);
            sleepers.push(builder.spawn_scoped(scope, sleeper).map_err(PlantError::at("start a thread"))?);
        }
        ready.wait();
        let begun = *start.get_or_init(begin);
        go.wait();
        let results: Vec<_> = sleepers.into_iter().map(|sleeper| joined(sleeper.join())).collect();
        results.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(config.slots(begun).iter().map(|slot| burst(config, slot.from)).collect())
    })
}

fn burst(config: &Config, start_ns: u64) -> Burst {
    Burst {
        class: "irq".into(),
        tid: None,
        comm: None,
        scheduled: String::new(),
        cpu: config.cpu,
        start_ns,
        end_ns: (start_ns + MOST_NS).min(now()),
        exact: false,
    }
}
