//! Links from a sender to a receiver that need no device.

use super::mail::{Arrival, Mailbox};
use punctual_uapi::{self as uapi, Origin, Sig, SignalSet};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, write};
use rustix::thread::futex;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// A channel for messages, with one system call per operation and no allocation.
pub(crate) trait Link: Send + Sync {
    /// Called in the receiving thread before the first message is sent.
    fn prepare(&self) -> Result<(), uapi::Error> {
        Ok(())
    }

    /// Sends the message that was just published. Returns false if the kernel refuses it.
    fn send(&self, mail: &Mailbox, sequence: u64) -> bool;

    /// Sleeps until a message arrives. The first `taken` messages are already accounted for. Returns `None` after a
    /// signal, or after a message that is not from the sender.
    fn receive(&self, mail: &Mailbox, taken: u64) -> Option<Arrival>;
}

/// A futex(2) that the sender wakes with FUTEX_WAKE.
pub(crate) struct Futex;

impl Link for Futex {
    #[inline(always)]
    fn send(&self, mail: &Mailbox, _: u64) -> bool {
        futex::wake(&mail.word.0, futex::Flags::PRIVATE, 1).is_ok()
    }

    #[inline(always)]
    fn receive(&self, mail: &Mailbox, taken: u64) -> Option<Arrival> {
        match futex::wait(&mail.word.0, futex::Flags::PRIVATE, taken as u32, None) {
            // The word changed before the thread went to sleep.
            Ok(()) | Err(Errno::AGAIN) => Some(Arrival::State),
            Err(_) => None,
        }
    }
}

/// A queued real-time signal.
pub(crate) struct Signal {
    signals: SignalSet,
    receiver: AtomicI32,
}

impl Signal {
    pub fn new() -> Signal {
        Signal { signals: SignalSet::new(&[Sig::RtMin]), receiver: AtomicI32::new(0) }
    }
}

impl Link for Signal {
    fn prepare(&self) -> Result<(), uapi::Error> {
        self.receiver.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
        uapi::block(&self.signals)
    }

    #[inline(always)]
    fn send(&self, _: &Mailbox, sequence: u64) -> bool {
        uapi::queue(self.receiver.load(Relaxed), Sig::RtMin, sequence as u32).is_ok()
    }

    #[inline(always)]
    fn receive(&self, _: &Mailbox, _: u64) -> Option<Arrival> {
        let taken = uapi::take(&self.signals).ok().filter(|taken| taken.origin == Origin::Queue)?;
        Some(Arrival::Queue { messages: 1, last: taken.value.into(), bits: 32 })
    }
}

pub(crate) struct Eventfd(OwnedFd);

impl Eventfd {
    pub fn new() -> io::Result<Eventfd> {
        Ok(Eventfd(eventfd(0, EventfdFlags::CLOEXEC)?))
    }
}

impl Link for Eventfd {
    #[inline(always)]
    fn send(&self, _: &Mailbox, _: u64) -> bool {
        write(&self.0, &1u64.to_ne_bytes()).is_ok()
    }

    #[inline(always)]
    fn receive(&self, _: &Mailbox, _: u64) -> Option<Arrival> {
        let mut count = [0u8; 8];
        read(&self.0, &mut count).ok()?;
        Some(Arrival::Count(u64::from_ne_bytes(count)))
    }
}

/// Two connected UDP sockets on 127.0.0.1.
pub(crate) struct Udp {
    from: UdpSocket,
    to: UdpSocket,
}

impl Udp {
    pub fn new() -> io::Result<Udp> {
        let (from, to) = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        from.connect(to.local_addr()?)?;
        to.connect(from.local_addr()?)?;
        Ok(Udp { from, to })
    }
}

impl Link for Udp {
    #[inline(always)]
    fn send(&self, _: &Mailbox, sequence: u64) -> bool {
        self.from.send(&sequence.to_ne_bytes()).is_ok()
    }

    #[inline(always)]
    fn receive(&self, _: &Mailbox, _: u64) -> Option<Arrival> {
        let mut sequence = [0u8; 8];
        self.to.recv(&mut sequence).ok()?;
        Some(Arrival::Queue { messages: 1, last: u64::from_ne_bytes(sequence), bits: 64 })
    }
}
