//! Sources that every Linux has, and UIO.

use crate::clock::timespec;
use crate::interrupt::{Arrival, Source};
use punctual_units::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, write};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// An eventfd(2): another thread or process, or the kernel (KVM, AIO), adds to its count. Several additions before a wakeup are one
/// arrival of so many events.
#[derive(Clone, Debug)]
pub struct Eventfd(Arc<OwnedFd>);

impl Eventfd {
    /// A new one; a clone of it sends.
    ///
    /// # Errors
    /// `MFILE`, `NFILE`, `NOMEM`.
    pub fn new() -> Result<Eventfd, Errno> {
        Ok(Eventfd(Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?)))
    }

    /// Adds `events`; one system call, never blocks in practice (it would at 2^64 − 2 events not taken).
    ///
    /// # Errors
    /// `INVAL`: 2^64 − 1.
    pub fn raise(&self, events: u64) -> Result<(), Errno> {
        write(&*self.0, &events.to_ne_bytes()).map(drop)
    }
}

impl Source for Eventfd {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        Ok(Arrival { at: None, events: read_count(&self.0)?, lost: 0, value: 0 })
    }
}

fn read_count(fd: &OwnedFd) -> Result<u64, Errno> {
    let mut count = [0; 8];
    match read(fd, &mut count)? {
        8 => Ok(u64::from_ne_bytes(count)),
        _ => Err(Errno::IO),
    }
}

/// An alarm: a timerfd(2) on CLOCK_MONOTONIC that other threads set by its [`TimerHandle`].
#[derive(Debug)]
pub struct Timer {
    fd: Arc<OwnedFd>,
    times: Arc<Times>,
}

/// When it is due and every how many nanoseconds; written by whoever sets it.
#[derive(Debug, Default)]
struct Times {
    first: std::sync::atomic::AtomicU64,
    interval: std::sync::atomic::AtomicU64,
    /// Expirations since it was set.
    expired: std::sync::atomic::AtomicU64,
}

/// Sets and stops an alarm, from any thread: one system call, no lock.
#[derive(Clone, Debug)]
pub struct TimerHandle {
    fd: Arc<OwnedFd>,
    times: Arc<Times>,
}

impl Timer {
    /// An alarm that is not set, and its handle.
    ///
    /// # Errors
    /// `MFILE`, `NFILE`, `NOMEM`.
    pub fn new() -> Result<(Timer, TimerHandle), Errno> {
        let fd = Arc::new(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?);
        let times = Arc::new(Times::default());
        Ok((Timer { fd: fd.clone(), times: times.clone() }, TimerHandle { fd, times }))
    }
}

impl TimerHandle {
    /// Rings at `first` on CLOCK_MONOTONIC, at once where that has passed, and every `interval` after it (zero: once). Replaces what was
    /// set before. One thread at a time: two that set it together leave the time stamps of one with the alarm of the other.
    ///
    /// # Errors
    /// None that Linux gives for valid times; passed on for honesty.
    pub fn set(&self, first: Nanos, interval: Nanos) -> Result<(), Errno> {
        use std::sync::atomic::Ordering::Relaxed;
        self.times.first.store(first.0, Relaxed);
        self.times.interval.store(interval.0, Relaxed);
        self.times.expired.store(0, Relaxed);
        let times = Itimerspec { it_interval: timespec(interval), it_value: timespec(Nanos(first.0.max(1))) };
        timerfd_settime(&*self.fd, TimerfdTimerFlags::ABSTIME, &times).map(drop)
    }

    /// Rings no more.
    ///
    /// # Errors
    /// As [`TimerHandle::set`].
    pub fn cancel(&self) -> Result<(), Errno> {
        let never = Itimerspec { it_interval: timespec(Nanos::ZERO), it_value: timespec(Nanos::ZERO) };
        timerfd_settime(&*self.fd, TimerfdTimerFlags::empty(), &never).map(drop)
    }
}

impl Source for Timer {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        use std::sync::atomic::Ordering::Relaxed;
        let events = read_count(&self.fd)?;
        // The first of the expirations that this wakeup stands for: what it is late for.
        let before = self.times.expired.fetch_add(events, Relaxed);
        let at = self.times.first.load(Relaxed) + before * self.times.interval.load(Relaxed);
        Ok(Arrival { at: Some(Nanos(at)), events, lost: 0, value: 0 })
    }
}

/// A UIO device, /dev/uioN: its interrupt is counted by the kernel and masked until [`Source::wait`] is called again.
/// Documentation/driver-api/uio-howto.rst.
#[derive(Debug)]
pub struct Uio {
    file: File,
    seen: Option<u32>,
    /// Does the driver take a write to unmask the interrupt?
    unmask: bool,
}

impl Uio {
    /// Opens a device, for example `/dev/uio0`.
    ///
    /// # Errors
    /// As open(2): it is not there (load uio_pdrv_genirq or the device's own driver), or not ours (a udev rule gives it to a group).
    pub fn open(path: &Path) -> std::io::Result<Uio> {
        Ok(Uio { file: File::options().read(true).write(true).open(path)?, seen: None, unmask: true })
    }
}

impl Source for Uio {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        if self.unmask && write(&self.file, &1i32.to_ne_bytes()).is_err() {
            // ENOSYS: a driver without irqcontrol leaves unmasking to its memory.
            self.unmask = false;
        }
        let mut count = [0; 4];
        if read(&self.file, &mut count)? != count.len() {
            return Err(Errno::IO);
        }
        let count = u32::from_ne_bytes(count);
        // The count goes round after 2^32 interrupts; the first one read says nothing about those before the device was opened.
        let events = self.seen.map_or(1, |seen| u64::from(count.wrapping_sub(seen)).max(1));
        self.seen = Some(count);
        Ok(Arrival { at: None, events, lost: 0, value: 0 })
    }
}
