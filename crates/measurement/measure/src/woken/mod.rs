//! Wakeups by another thread, the partner. It sends a message at each release. The latency of the measuring thread
//! counts from the partner's clock reading just before the sending call.

mod links;
mod mail;
mod sender;
mod serial;

pub(crate) use links::{Eventfd, Futex, Link, Signal, Udp};
pub(crate) use mail::Mailbox;
pub(crate) use sender::{Sender, place};
pub use sender::{SenderPlace, Sent};
pub use serial::{Serial, SerialError};

use mail::Inbox;
use punctual_rt::{Remarks, Wait, Wakeup};
use punctual_uapi as uapi;
use punctual_units::{Nanos, WakeupSource};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) struct Partner {
    pub mail: Mailbox,
    pub link: AnyLink,
}

/// The link in use, selected once instead of in every period.
pub(crate) enum AnyLink {
    Futex(Futex),
    Signal(Signal),
    Eventfd(Eventfd),
    Udp(Udp),
    Serial(Serial),
}

#[derive(Debug, thiserror::Error)]
pub enum SourceRefused {
    #[error(transparent)]
    Serial(#[from] SerialError),
    /// Several CPUs are to be measured, but only one thread can read a serial port.
    #[error("{port} wakes one thread, but {cpus} CPUs are to be measured: choose one with --cpus")]
    OneThread { port: String, cpus: usize },
    #[error("cannot measure --via {via}: {why}")]
    Call { via: WakeupSource, why: String },
}

impl SourceRefused {
    pub(crate) fn call(via: &WakeupSource, why: impl std::fmt::Display) -> SourceRefused {
        SourceRefused::Call { via: via.clone(), why: why.to_string() }
    }
}

/// Creates a partner for each of `threads` threads; none if timers wake the threads.
pub(crate) fn partners(via: &WakeupSource, threads: usize, period: Nanos) -> Result<Vec<Box<Partner>>, SourceRefused> {
    if !via.is_woken() {
        return Ok(Vec::new());
    }
    uapi::install_wakeup().map_err(|e| SourceRefused::call(via, e))?;
    (0..threads).map(|_| Ok(Box::new(Partner { mail: Mailbox::new(), link: link(via, threads, period)? }))).collect()
}

fn link(via: &WakeupSource, threads: usize, period: Nanos) -> Result<AnyLink, SourceRefused> {
    let files = |e: std::io::Error| SourceRefused::call(via, format!("{e}; raise RLIMIT_NOFILE (ulimit -n)"));
    Ok(match via {
        WakeupSource::Signal => AnyLink::Signal(Signal::new()),
        WakeupSource::Eventfd => AnyLink::Eventfd(Eventfd::new().map_err(files)?),
        WakeupSource::Udp => AnyLink::Udp(
            Udp::new().map_err(|e| SourceRefused::call(via, format!("127.0.0.1: {e}; try ip link set lo up")))?,
        ),
        WakeupSource::Serial(port) if threads > 1 => {
            return Err(SourceRefused::OneThread { port: port.clone(), cpus: threads });
        }
        WakeupSource::Serial(port) => AnyLink::Serial(Serial::open(port, period)?),
        _ => AnyLink::Futex(Futex),
    })
}

/// The receiving side of a link. Recording begins with the sender's first recorded message.
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
    /// Does nothing, because the sender determines the start.
    fn begin(&mut self, _: Nanos, _: Nanos) {}

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
            // In this order, all counted messages were sent before the clock is read.
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

    /// Does nothing, because the sender determines the duration.
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
