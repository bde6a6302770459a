//! The sending threads, one for each measured CPU.

use super::links::Link;
use super::mail::Mailbox;
use punctual_rt::{Applied, Attributes, Periodic, Refused, Wait, monotonic, sleep_until};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Priority, Scheduling};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderPlace {
    pub cpu: CpuId,
    pub scheduling: Scheduling,
    /// True if the sender runs on the measured CPU.
    pub shared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub place: SenderPlace,
    pub messages: u64,
    /// Number of messages sent more than a quarter of a period after their release. The receiver's latency counts from
    /// the sending time, so it is not affected.
    pub late_sends: u64,
    /// Number of releases without a message, because the previous message was sent too late.
    pub unsent: u64,
    /// Number of messages that the kernel refused because the queue was full.
    pub refused: u64,
    /// Worst delay from release to sending, ns.
    pub worst_ns: u64,
}

/// Chooses CPU and policy of a sender. On a housekeeping CPU it has the policy of the measured thread. Otherwise it
/// shares the measured CPU and must not delay the thread it wakes, so it runs at the next lower priority, or as an
/// ordinary thread if there is none.
pub(crate) fn place(measured: Scheduling, index: usize, cpu: CpuId, housekeeping: &CpuList) -> SenderPlace {
    // A SCHED_DEADLINE thread cannot be bound to a CPU, and its sender needs no reserved runtime.
    let middle = Priority::try_from(50).map_or(Scheduling::Other { nice: 0 }, |priority| Scheduling::Fifo { priority });
    let own = if matches!(measured, Scheduling::Deadline { .. }) { middle } else { measured };
    if let Some(free) = housekeeping.iter().nth(index % housekeeping.len().max(1)) {
        return SenderPlace { cpu: free, scheduling: own, shared: false };
    }
    let lower = |priority: Priority| Priority::try_from(priority.get() - 1).ok();
    let scheduling = match measured {
        Scheduling::Fifo { priority } => lower(priority).map(|priority| Scheduling::Fifo { priority }),
        Scheduling::Rr { priority } => lower(priority).map(|priority| Scheduling::Rr { priority }),
        _ => Some(own),
    };
    SenderPlace { cpu, scheduling: scheduling.unwrap_or(Scheduling::Other { nice: 0 }), shared: true }
}

/// Maximum time for which a sender waits until the receiver has taken its last message.
const GRACE: Nanos = Nanos::from_millis(200);
/// Polling interval while a sender waits for its last message to be taken.
const LOOK: Nanos = Nanos::from_millis(1);

pub(crate) struct Sender<'a> {
    pub place: SenderPlace,
    pub mail: &'a Mailbox,
    pub stop: &'a AtomicBool,
    pub period: Nanos,
    pub warmup: Nanos,
    pub duration: Nanos,
}

impl Sender<'_> {
    /// Sets the policy, priority and CPU affinity of the calling sender, and locks its memory.
    ///
    /// # Errors
    /// Same as for the measuring thread.
    pub fn apply(&self) -> Result<Applied, Refused> {
        let attributes = Attributes { scheduling: self.place.scheduling, cpu: Some(self.place.cpu), lock_stack: true };
        attributes.apply()
    }

    /// Sends messages from `start` on, and finally makes the thread `receiver` end.
    pub fn run<L: Link>(&self, link: &L, start: Nanos, receiver: i32) -> Sent {
        let mut periodic = Periodic::new(start, self.period, start + self.warmup);
        self.send(link, &mut periodic);
        // Messages sent during the warm-up are not counted.
        self.mail.record();
        periodic.go_on(self.duration);
        let sent = self.send(link, &mut periodic);
        self.close(receiver);
        sent
    }

    /// The sending loop, with one system call to sleep and one to send.
    #[inline(never)]
    fn send<L: Link>(&self, link: &L, periodic: &mut Periodic) -> Sent {
        let mut sent = Sent { place: self.place, messages: 0, late_sends: 0, unsent: 0, refused: 0, worst_ns: 0 };
        while let Some(wakeup) = periodic.wait(self.stop) {
            let now = monotonic();
            let sequence = self.mail.publish(now);
            let went = link.send(self.mail, sequence);
            let late = now.0.saturating_sub(wakeup.release.0);
            sent.messages += 1;
            sent.refused += u64::from(!went);
            sent.late_sends += u64::from(late > self.period.0 / 4);
            sent.unsent += wakeup.skipped;
            sent.worst_ns = sent.worst_ns.max(late);
        }
        sent
    }

    /// Waits until the receiver has taken the messages in transit, marks the end, and wakes the receiver repeatedly
    /// until it has noticed the mark. A receiver that was stopped ends on its own.
    fn close(&self, receiver: i32) {
        let give_up = monotonic() + GRACE;
        let pause = || {
            // A signal only makes the wait shorter, so the result is ignored.
            let _ = sleep_until(monotonic() + LOOK);
        };
        while !self.stop.load(Relaxed) && !self.mail.is_empty() && monotonic() < give_up {
            pause();
        }
        if self.stop.load(Relaxed) {
            return;
        }
        self.mail.close();
        while !self.mail.has_left() && !self.stop.load(Relaxed) {
            // ESRCH: the thread has already exited.
            if uapi::wake(receiver).is_err() {
                return;
            }
            pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fifo(n: u8) -> Scheduling {
        Scheduling::Fifo { priority: Priority::try_from(n).unwrap() }
    }

    #[test]
    fn a_sender_runs_elsewhere_or_gives_way() {
        let free: CpuList = "2-3".parse().unwrap();
        let elsewhere = place(fifo(90), 3, CpuId(0), &free);
        assert_eq!(elsewhere, SenderPlace { cpu: CpuId(3), scheduling: fifo(90), shared: false });
        let none = CpuList::new();
        let shared = |scheduling| place(scheduling, 1, CpuId(1), &none);
        assert_eq!(shared(fifo(90)), SenderPlace { cpu: CpuId(1), scheduling: fifo(89), shared: true });
        assert_eq!(shared(fifo(1)).scheduling, Scheduling::Other { nice: 0 });
        assert_eq!(shared(Scheduling::Other { nice: 5 }).scheduling, Scheduling::Other { nice: 5 });
        let ms = Nanos::from_millis(1);
        let deadline = Scheduling::Deadline { runtime_ns: ms, deadline_ns: ms, period_ns: ms };
        assert_eq!(shared(deadline).scheduling, fifo(50));
    }
}
