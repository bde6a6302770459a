//! Delays caused by the timer interrupt, which wakes hundreds of real-time threads of lower priority than the victim at
//! one instant. Their timers expire in the interrupt even on PREEMPT_RT (kernel/time/hrtimer.c,
//! `__hrtimer_init_sleeper`). User space can observe the end only when the first of these threads runs: by then the
//! interrupt has ended and the victim has run.

use crate::InjectError;
use crate::child::begin;
use crate::config::{Config, Slot};
use crate::thread::{become_thread, fifo, joined, now, sleep_until};
use crate::truth::Burst;
use std::sync::Barrier;

const THREADS: usize = 400;

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
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
                let woke = |slot: &Slot| {
                    sleep_until(slot.from);
                    now()
                };
                bound.map(|()| slots.iter().map(woke).collect::<Vec<u64>>())
            };
            let builder = std::thread::Builder::new().stack_size(64 << 10);
            sleepers.push(builder.spawn_scoped(scope, sleeper).map_err(InjectError::at("start a thread"))?);
        }
        ready.wait();
        let begun = *start.get_or_init(begin);
        go.wait();
        let results: Vec<_> = sleepers.into_iter().map(|sleeper| joined(sleeper.join())).collect();
        let woke = results.into_iter().collect::<Result<Vec<Vec<u64>>, _>>()?;
        let first = |n: usize| woke.iter().filter_map(|all| all.get(n)).min().copied().unwrap_or(0);
        Ok(config.slots(begun).iter().enumerate().map(|(n, slot)| burst(config, slot.from, first(n))).collect())
    })
}

fn burst(config: &Config, start_ns: u64, end_ns: u64) -> Burst {
    Burst {
        class: "irq".into(),
        tid: None,
        comm: None,
        what: None,
        scheduled: String::new(),
        cpu: config.cpu,
        start_ns,
        end_ns,
        earliest_ns: start_ns,
        worst_ns: None,
        gaps: Vec::new(),
        exact: false,
    }
}
