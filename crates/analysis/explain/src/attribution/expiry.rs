//! Tracks timers: their due times, and the CPUs on which they are overdue.

use super::cpu::Expiring;
use super::machine::Machine;
use super::section::Before;
use punctual_trace::{Event, Kind, Symbol};

/// Maximum difference between clocks that are compared, ns: one may be CLOCK_REALTIME.
const NEAR: u64 = 1_000_000_000;
/// Range of the time from reading the timers' clock to the event, ns. In a trace in whole microseconds it may be
/// negative.
const SAME: std::ops::Range<i64> = -10_000..100_000;

/// The difference between the trace's clock and the timers' clock at the last expiries of a CPU. `hrtimer_interrupt()`
/// reads the timers' clock shortly before the event, so the smallest difference is the offset of the two:
/// trace_clock=local, the default, is sched_clock(), which may be milliseconds away from CLOCK_MONOTONIC.
#[derive(Debug, Default)]
pub(super) struct Offset {
    last: [Option<i64>; 8],
    next: usize,
    /// The start of the last interrupt with an expiry, and the time of its first expiry.
    first: Option<(u64, u64)>,
}

impl Offset {
    fn add(&mut self, t: u64, now: i64) {
        if u64::try_from(now).is_ok_and(|now| t.abs_diff(now) < NEAR) {
            self.last[self.next] = Some(t.wrapping_sub(now as u64) as i64);
            self.next = (self.next + 1) % self.last.len();
        }
    }

    /// Returns the due time, on the trace's clock, of a timer that an interrupt found to be `late` ns late. The
    /// interrupt reads the timers' clock between its start and its first expiry: the later end is taken if they are far
    /// apart, since a timer does not interrupt before it is due.
    fn due(&mut self, irq: u64, t: u64, late: u64) -> u64 {
        const APART: u64 = 5_000;
        let first = match self.first.filter(|(of, _)| *of == irq) {
            Some((_, first)) => first,
            None => self.first.insert((irq, t)).1,
        };
        let read = if first.saturating_sub(irq) > APART { first } else { irq };
        read.saturating_sub(late).min(irq)
    }

    fn get(&self) -> Option<i64> {
        self.last.iter().flatten().min().copied()
    }

    /// Converts a time of the timers' clock to the trace's clock.
    fn convert(&self, due: i64) -> Option<u64> {
        let offset = self.get()?;
        u64::try_from(if SAME.contains(&offset) { due } else { due.checked_add(offset)? }).ok()
    }
}

impl Machine {
    /// Handles a timer's event; ignores other events.
    pub(super) fn timer(&mut self, event: &Event) {
        match &event.kind {
            Kind::HrtimerStart { timer, function, expires_ns, softexpires_ns } => {
                self.recognise(function.as_ref());
                let due = softexpires_ns.unwrap_or(*expires_ns);
                let home = self.timers.start(*timer, due, event.t_ns, event.tid);
                if let Some(cpu) = home.and_then(|home| self.cpu_mut(home))
                    && let Some(due) = cpu.timers.convert(due)
                {
                    cpu.arm(*timer, due);
                }
            }
            Kind::HrtimerExpireEntry { timer, function, now_ns } => {
                self.recognise(function.as_ref());
                let by = self.expire(event, *timer, *now_ns, is_tick(function.as_ref()));
                if matches!(function, Some(Symbol::Name(name)) if name.as_ref() == "dl_task_timer") {
                    self.replenished = Some(event.t_ns);
                    if let Some(by) = by {
                        self.tasks.get(by).replenished = Some(event.t_ns);
                    }
                }
            }
            Kind::HrtimerExpireExit { .. } => self.each(event, |cpu, _| cpu.expiring = None),
            Kind::HrtimerCancel { timer } => {
                if let Some(cpu) = self.timers.cancel(*timer, event.cpu, event.t_ns).and_then(|home| self.cpu_mut(home))
                {
                    cpu.disarm(*timer);
                }
            }
            _ => {}
        }
    }

    /// Returns the due time of a started timer, on the trace's clock; `None` if it is unknown or the timer has expired.
    pub(super) fn due(&self, cpu: u32, timer: u64) -> Option<u64> {
        let cpu = self.cpu(self.timers.home(timer).unwrap_or(cpu))?;
        cpu.timers.convert(self.timers.expires(timer)?)
    }

    /// Handles the expiry of a timer; returns the thread that started the timer.
    fn expire(&mut self, event: &Event, timer: u64, now: Option<i64>, tick: bool) -> Option<i32> {
        let t = event.t_ns;
        let armed = self.timers.expire(timer, event.cpu, t);
        self.seen.expiries += 1;
        let cpu = self.cpu_mut(event.cpu)?;
        if let Some(now) = now {
            cpu.timers.add(t, now);
        }
        let near = now.is_some_and(|now| u64::try_from(now).is_ok_and(|now| t.abs_diff(now) < NEAR));
        let same = near && cpu.timers.get().is_some_and(|offset| SAME.contains(&offset));
        cpu.disarm(timer);
        let irq = cpu.interrupted_since().unwrap_or(t);
        let due = armed.expires.and_then(|expires| match same {
            true => u64::try_from(expires).ok(),
            // The lateness is the same on any clock.
            false => {
                let late = now.and_then(|now| now.checked_sub(expires)).map(|late| late.max(0) as u64);
                late.map(|late| cpu.timers.due(irq, t, late))
            }
        });
        let due = due.map(|due| due.max(armed.started).min(t));
        if let Some(due) = due {
            cpu.before_stack = Before::Expiry { due, irq };
        }
        // Wakeups by the tick have no due time.
        cpu.expiring = (!tick).then_some(Expiring { due, irq });
        self.seen.same_clock += u64::from(same);
        armed.by
    }

    fn recognise(&mut self, function: Option<&Symbol>) {
        let Some(Symbol::Name(name)) = function else { return };
        match name.as_ref() {
            "sched_rt_period_timer" => self.seen.rt_period_timer = true,
            "tick_sched_timer" => self.seen.old_tick = true,
            "tick_nohz_handler" => self.seen.new_tick = true,
            "dl_task_timer" | "dl_server_timer" => self.seen.deadline_timer = true,
            _ => {}
        }
    }
}

fn is_tick(function: Option<&Symbol>) -> bool {
    matches!(function, Some(Symbol::Name(name)) if matches!(name.as_ref(), "tick_sched_timer" | "tick_nohz_handler"))
}
