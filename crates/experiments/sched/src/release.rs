//! Releases threads on time, independently of their policies.

use crate::schedstat::parse;
use punctual_model::{Doing, GanttSpan};
use punctual_rt::{monotonic, sleep_until};
use punctual_units::{Arrange, CpuId, Nanos};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{Thread, park};

#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicU64);

impl Gate {
    /// Sleeps until the gate is opened. Returns the time at which it was opened, CLOCK_MONOTONIC.
    pub fn wait(&self) -> Nanos {
        loop {
            match self.0.load(Acquire) {
                0 => park(),
                at => return Nanos(at),
            }
        }
    }

    fn open(&self, thread: &Thread) {
        self.0.store(monotonic().0.max(1), Release);
        thread.unpark();
    }
}

/// Opens each gate at its time. Threads cannot use their own timers: with threaded interrupts, the timers of ordinary
/// threads are served by a thread that a real-time thread may preempt (Documentation/timers/timers-howto.rst, hrtimer
/// soft expiry).
pub(crate) fn release(start: Nanos, gates: &[(Nanos, &Gate, Thread)]) {
    let mut order: Vec<&(Nanos, &Gate, Thread)> = gates.iter().collect();
    order.arrange_by_key(|(offset, ..)| *offset);
    for (offset, gate, thread) in order {
        // If this fails, the gate opens early.
        let _ = sleep_until(start + *offset);
        gate.open(thread);
    }
}

/// Samples the threads every `every` until `over` returns true, and derives their states from the CPU time charged to
/// them.
pub(crate) fn sample(start: Nanos, tids: &[i32], every: Nanos, over: impl Fn() -> bool) -> Vec<GanttSpan> {
    let mut before: Vec<_> = tids.iter().map(|tid| Look::at(*tid)).collect();
    let (mut at, mut spans) = (monotonic(), Vec::new());
    while !over() {
        let _ = sleep_until(at + every);
        let now = monotonic();
        for (thread, (tid, before)) in tids.iter().zip(&mut before).enumerate() {
            let this = Look::at(*tid);
            if let (Some(this), Some(before)) = (&this, &*before) {
                let doing = this.since(before, now.saturating_sub(at));
                let since = |t: Nanos| t.saturating_sub(start);
                let cpu = this.cpu.filter(|_| doing != Doing::Sleeps);
                spans.push(GanttSpan { thread, cpu, doing, from_ns: since(at), to_ns: since(now) });
            }
            *before = this;
        }
        at = now;
    }
    spans
}

struct Look {
    run: Nanos,
    is_runnable: bool,
    cpu: Option<CpuId>,
}

impl Look {
    /// Samples a thread. Returns `None` if it has ended.
    fn at(tid: i32) -> Option<Look> {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/task/{tid}/{name}")).ok();
        let (run, _) = parse(&read("schedstat")?)?;
        let stat = read("stat")?;
        // The name may contain any characters, so parsing starts after it. The state is the third field, the processor
        // the 39th (proc_pid_stat(5)).
        let mut words = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let is_runnable = words.next()? == "R";
        Some(Look { run, is_runnable, cpu: words.nth(35).and_then(|cpu| cpu.parse().ok()).map(CpuId) })
    }

    fn since(&self, before: &Look, length: Nanos) -> Doing {
        match self.run.saturating_sub(before.run).0 {
            ran if ran * 10 >= length.0 * 8 => Doing::Runs,
            ran if ran * 10 >= length.0 => Doing::Shares,
            _ if self.is_runnable => Doing::Waits,
            _ => Doing::Sleeps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_returns_its_opening_time_and_threads_pass_in_order_of_their_offsets() {
        let (late, early) = (Gate::default(), Gate::default());
        let start = monotonic();
        let (a, b) = std::thread::scope(|s| {
            let (a, b) = (s.spawn(|| late.wait()), s.spawn(|| early.wait()));
            let ms = Nanos::from_millis;
            release(start, &[(ms(2), &late, a.thread().clone()), (ms(1), &early, b.thread().clone())]);
            (a.join().unwrap(), b.join().unwrap())
        });
        assert!(b < a && b >= start + Nanos::from_millis(1));
    }

    #[test]
    fn a_thread_that_has_ended_is_not_there() {
        assert!(Look::at(i32::MAX).is_none());
        let look = Look::at(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        assert!(look.is_runnable && look.cpu.is_some());
    }
}
