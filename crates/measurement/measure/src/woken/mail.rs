//! State shared by sender and receiver, and the receiver's accounting of messages.

use punctual_rt::{Remarks, Wakeup};
use punctual_units::Nanos;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Number of messages whose sending times are kept until the receiver accounts for them. Further messages are only
/// counted; the oldest kept message determines the latency.
const SLOTS: usize = 1024;

/// A value on its own cache line, to avoid false sharing.
#[repr(align(128))]
pub(crate) struct Own<T>(pub T);

struct Slot {
    sequence: AtomicU64,
    sent: AtomicU64,
}

/// Messages to one receiver: number sent, sending times, number taken. Page-aligned like [`crate::Cell`].
#[repr(C)]
#[cfg_attr(target_arch = "aarch64", repr(align(65536)))]
#[cfg_attr(not(target_arch = "aarch64"), repr(align(4096)))]
pub(crate) struct Mailbox {
    /// Number of published messages, which is also the number of the next one.
    head: Own<AtomicU64>,
    /// The lower half of `head`, for futex(2).
    pub word: Own<AtomicU32>,
    taken: Own<AtomicU64>,
    /// Number of the first recorded message; `u64::MAX` if it is unknown.
    recorded: Own<AtomicU64>,
    closed: AtomicBool,
    left: AtomicBool,
    slots: [Slot; SLOTS],
}

impl Mailbox {
    pub fn new() -> Mailbox {
        Mailbox {
            head: Own(AtomicU64::new(0)),
            word: Own(AtomicU32::new(0)),
            taken: Own(AtomicU64::new(0)),
            recorded: Own(AtomicU64::new(u64::MAX)),
            closed: AtomicBool::new(false),
            left: AtomicBool::new(false),
            slots: [const { Slot { sequence: AtomicU64::new(u64::MAX), sent: AtomicU64::new(0) } }; SLOTS],
        }
    }

    /// Makes all pages resident, and locks them if that is permitted.
    pub fn lock(&self) {
        for slot in &self.slots {
            slot.sent.store(slot.sent.load(Relaxed), Relaxed);
        }
        // A failure is not reported here: the receiver reports whether memory can be locked, and counts its page
        // faults.
        let _ = punctual_uapi::lock(self);
    }

    /// Returns the number of published messages. If it is called before reading the clock, all of them were sent before
    /// that reading.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.head.0.load(Acquire)
    }

    /// Publishes the next message with sending time `now`. Returns its number. The sender calls this just before it
    /// sends.
    #[inline(always)]
    pub fn publish(&self, now: Nanos) -> u64 {
        let sequence = self.head.0.load(Relaxed);
        if sequence.wrapping_sub(self.taken.0.load(Acquire)) < SLOTS as u64 {
            let slot = &self.slots[sequence as usize % SLOTS];
            slot.sent.store(now.0, Relaxed);
            slot.sequence.store(sequence, Relaxed);
        }
        self.head.0.store(sequence + 1, Release);
        self.word.0.store((sequence + 1) as u32, Release);
        sequence
    }

    /// Returns the sending time of a message; `None` if it is no longer kept.
    #[inline(always)]
    fn sent(&self, sequence: u64) -> Option<Nanos> {
        let slot = &self.slots[sequence as usize % SLOTS];
        (slot.sequence.load(Relaxed) == sequence).then(|| Nanos(slot.sent.load(Relaxed)))
    }

    /// Makes the next message the first recorded one. Called by the sender.
    pub fn record(&self) {
        self.recorded.0.store(self.head.0.load(Relaxed), Release);
    }

    /// Returns true if the receiver has accounted for all messages.
    pub fn is_empty(&self) -> bool {
        self.taken.0.load(Relaxed) == self.head()
    }

    pub fn close(&self) {
        self.closed.store(true, Release);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }

    pub fn leave(&self) {
        self.left.store(true, Release);
    }

    pub fn has_left(&self) -> bool {
        self.left.load(Acquire)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // Unlocks the memory, because the allocator may reuse it.
        let _ = punctual_uapi::unlock(self);
    }
}

/// What the system call in which the receiver slept reveals about new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A message was published. Messages cannot be lost, and several may cause a single wakeup.
    State,
    /// Number of messages sent since the last read, which cause a single wakeup.
    Count(u64),
    /// The next `messages` (at least one) of a queue. The lowest `bits` bits of `last` are the lowest bits of the last
    /// message's number.
    Queue { messages: u64, last: u64, bits: u32 },
}

/// The receiver's account of all messages. `released == ran + skipped` always holds.
///
/// Lost messages are not reported exactly in two cases. A late receiver counts a message in transit as skipped; if the
/// queue turns out to have lost it, the message is also reported as lost. The release was missed either way, and the
/// phase is inconclusive. Moreover, a queue reveals a loss only with the next message, so a lost message that was
/// counted as skipped and has no successor is not reported. It was sent and the receiver was late for it, so the
/// account is still correct.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    period: u64,
    /// Number below which all messages are accounted for.
    taken: u64,
    /// Number below which all messages were received from the queue or are included in its count.
    delivered: u64,
    recording: bool,
    /// Number of releases that led to a wakeup or were skipped.
    cycle: u64,
    remarks: Remarks,
}

impl Inbox {
    pub fn new(period: Nanos) -> Inbox {
        Inbox { period: period.0.max(1), ..Inbox::default() }
    }

    /// Accounts for an arrival. `head` must have been read before the clock reading `woke`. `None` if there is nothing
    /// new.
    ///
    /// The release is the sending time of the oldest message that is neither accounted for nor lost. Later messages
    /// count as skipped if the receiver is late for them by whole periods. The others were sent too close together,
    /// which is not attributed to the receiver.
    #[inline(always)]
    pub fn book(&mut self, mail: &Mailbox, arrival: Arrival, head: u64, woke: Nanos) -> Option<Wakeup> {
        let lost = self.remarks.lost;
        let oldest = self.oldest(arrival, head)?;
        let oldest = self.cross(mail, oldest, head, self.remarks.lost - lost);
        if oldest >= head {
            return None;
        }
        let waiting = head - oldest;
        let release = mail.sent(oldest);
        self.taken = head;
        mail.taken.0.store(head, Release);
        let Some(release) = release else {
            self.remarks.lost += waiting;
            return None;
        };
        let latency = woke.0.saturating_sub(release.0);
        let skipped = if waiting == 1 { 0 } else { (waiting - 1).min(latency / self.period) };
        self.remarks.crowded += waiting - 1 - skipped;
        let wakeup = Wakeup { cycle: self.cycle, release, woke, skipped };
        self.cycle += 1 + skipped;
        Some(wakeup)
    }

    /// Returns the oldest message that is neither accounted for nor lost; `None` if there is none.
    #[inline(always)]
    fn oldest(&mut self, arrival: Arrival, head: u64) -> Option<u64> {
        match arrival {
            Arrival::State => {}
            Arrival::Count(count) => {
                self.delivered = self.delivered.saturating_add(count);
                if self.delivered > head {
                    self.remarks.strays = self.remarks.strays.saturating_add(self.delivered - head);
                    self.delivered = head;
                }
            }
            Arrival::Queue { messages, last, bits } => {
                let expected = self.delivered + messages.max(1) - 1;
                let lost = last.wrapping_sub(expected) & (u64::MAX >> (64 - bits.clamp(1, 64)));
                let last = expected.saturating_add(lost);
                if last >= head {
                    self.remarks.strays = self.remarks.strays.saturating_add(messages);
                    return None;
                }
                self.delivered = last + 1;
                if lost > 0 {
                    self.lose(lost, last + 1 - messages.max(1));
                }
                if last < self.taken {
                    // The message was counted together with an earlier one while it was in transit.
                    return None;
                }
            }
        }
        (head > self.taken).then_some(self.taken)
    }

    /// Records that a queue lost `lost` messages, the last of them just before `next`. Messages that are already
    /// accounted for are not changed.
    #[cold]
    fn lose(&mut self, lost: u64, next: u64) {
        self.remarks.lost += lost;
        self.taken = self.taken.max(next);
    }

    /// At the first recorded message, discards the account of earlier messages, except for the `lost` messages that
    /// were just detected.
    #[inline(always)]
    fn cross(&mut self, mail: &Mailbox, oldest: u64, head: u64, lost: u64) -> u64 {
        if self.recording {
            return oldest;
        }
        let first = mail.recorded.0.load(Acquire);
        if head <= first {
            return oldest;
        }
        // So far only earlier messages have been counted. If one read returned several messages, it is unknown which
        // ones are missing.
        let remarks = Remarks { lost, ..Remarks::default() };
        (self.recording, self.cycle, self.remarks) = (true, 0, remarks);
        oldest.max(first)
    }

    /// Returns true if a recorded message has been accounted for.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        self.recording
    }

    #[inline(always)]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    pub fn released(&self) -> u64 {
        if self.recording { self.cycle } else { 0 }
    }

    /// Returns remarks for the report, for example the number of messages that were sent but did not arrive.
    pub fn remarks(&self, mail: &Mailbox) -> Remarks {
        let left = mail.head().saturating_sub(self.taken);
        // A message that is in transit when the measurement is stopped is not lost.
        let left = if mail.is_closed() { left } else { 0 };
        Remarks { lost: self.remarks.lost + left, ..self.remarks.clone() }
    }
}

#[cfg(test)]
mod tests;
