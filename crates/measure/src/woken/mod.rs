//! Woken by a partner thread: it sends a message at each release, and the measuring thread's latency counts from the partner's clock
//! reading just before the sending call.

mod links;
mod mail;
mod sender;
mod serial;

pub(crate) use links::{Eventfd, Futex, Link, Signal, Udp};
pub(crate) use mail::Mailbox;
pub(crate) use sender::{Sender, place};
pub use sender::{SenderPlace, Sent};
pub(crate) use serial::Serial;
pub use serial::SerialError;

use mail::Inbox;
use punctual_rt::{Remarks, Wait, Wakeup};
use punctual_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The receiving end. Recording begins with the sender's first recorded message.
pub(crate) struct Woken<'a, L> {
    link: &'a L,
    mail: &'a Mailbox,
    inbox: Inbox,
    /// The first recorded wakeup, which ended the warm-up.
    first: Option<Wakeup>,
    went_on: bool,
}

impl<'a, L: Link> Woken<'a, L> {
    pub fn new(link: &'a L, mail: &'a Mailbox, period: Nanos) -> Woken<'a, L> {
        Woken { link, mail, inbox: Inbox::new(period), first: None, went_on: false }
    }
}

impl<L: Link> Wait for Woken<'_, L> {
    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if stop.load(Relaxed) || self.mail.is_closed() {
                self.mail.leave();
                return None;
            }
            let Some(arrival) = self.link.receive(self.mail, self.inbox.taken()) else { continue };
            // In this order: all that is counted was sent before the clock is read.
            let head = self.mail.head();
            let woke = punctual_rt::monotonic();
            let Some(wakeup) = self.inbox.book(self.mail, arrival, head, woke) else { continue };
            if self.inbox.is_recording() != self.went_on {
                self.first = Some(wakeup);
                return None;
            }
            return Some(wakeup);
        }
    }

    /// The sender decides how long.
    fn go_on(&mut self, _: Nanos) {
        self.went_on = true;
    }

    fn released(&self) -> u64 {
        self.inbox.released()
    }

    fn remarks(&self) -> Remarks {
        self.inbox.remarks(self.mail)
    }
}
