//! Event sources available on every Linux system, and UIO.

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

/// An eventfd(2) that another thread or process, or the kernel (KVM, AIO), increments. Several increments before a
/// wakeup are one arrival with several events.
#[derive(Clone, Debug)]
pub struct Eventfd(Arc<OwnedFd>);

impl Eventfd {
    /// Creates an eventfd; a clone of it sends.
    ///
    /// # Errors
    /// `MFILE`, `NFILE`, `NOMEM`.
    pub fn new() -> Result<Eventfd, Errno> {
        Ok(Eventfd(Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?)))
    }

    /// Adds `events`, with one system call. Never blocks in practice (only at 2^64 − 2 events not yet received).
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

/// A timer on CLOCK_MONOTONIC (timerfd(2)) that other threads set through its [`TimerHandle`].
#[derive(Debug)]
pub struct Timer {
    fd: Arc<OwnedFd>,
    times: Arc<Times>,
}

/// First expiration and interval, ns; written by the thread that sets the timer.
#[derive(Debug, Default)]
struct Times {
    first: std::sync::atomic::AtomicU64,
    interval: std::sync::atomic::AtomicU64,
    /// Expirations since the timer was set.
    expired: std::sync::atomic::AtomicU64,
}

/// Sets and cancels a [`Timer`] from any thread, with one system call and without a lock.
#[derive(Clone, Debug)]
pub struct TimerHandle {
    fd: Arc<OwnedFd>,
    times: Arc<Times>,
}

impl Timer {
    /// Creates a timer that is not set, and its handle.
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
    /// Expires at `first` on CLOCK_MONOTONIC, or at once if that has passed, and then every `interval` (zero: only
    /// once). Replaces the previous setting. Use it from one thread at a time: if two threads set it concurrently, the
    /// time stamps of one may be combined with the timer of the other.
    ///
    /// # Errors
    /// Cannot fail for valid times.
    pub fn set(&self, first: Nanos, interval: Nanos) -> Result<(), Errno> {
        use std::sync::atomic::Ordering::Relaxed;
        self.times.first.store(first.0, Relaxed);
        self.times.interval.store(interval.0, Relaxed);
        self.times.expired.store(0, Relaxed);
        let times = Itimerspec { it_interval: timespec(interval), it_value: timespec(Nanos(first.0.max(1))) };
        timerfd_settime(&*self.fd, TimerfdTimerFlags::ABSTIME, &times).map(drop)
    }

    /// Disarms the timer.
    ///
    /// # Errors
    /// See [`TimerHandle::set`].
    pub fn cancel(&self) -> Result<(), Errno> {
        let never = Itimerspec { it_interval: timespec(Nanos::ZERO), it_value: timespec(Nanos::ZERO) };
        timerfd_settime(&*self.fd, TimerfdTimerFlags::empty(), &never).map(drop)
    }
}

impl Source for Timer {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        use std::sync::atomic::Ordering::Relaxed;
        let events = read_count(&self.fd)?;
        // The lateness counts from the first expiration that this wakeup stands for.
        let before = self.times.expired.fetch_add(events, Relaxed);
        let at = self.times.first.load(Relaxed) + before * self.times.interval.load(Relaxed);
        Ok(Arrival { at: Some(Nanos(at)), events, lost: 0, value: 0 })
    }
}

/// A UIO device, /dev/uioN: the kernel counts its interrupt and masks it until [`Source::wait`] is called again.
/// Documentation/driver-api/uio-howto.rst.
#[derive(Debug)]
pub struct Uio {
    file: File,
    seen: Option<u32>,
    /// Whether the driver accepts a write to unmask the interrupt.
    unmask: bool,
}

impl Uio {
    /// Opens a device, for example `/dev/uio0`.
    ///
    /// # Errors
    /// As open(2): the device does not exist (load uio_pdrv_genirq or the device's own driver), or is not accessible
    /// (use a udev rule that assigns it to a group).
    pub fn open(path: &Path) -> std::io::Result<Uio> {
        Ok(Uio { file: File::options().read(true).write(true).open(path)?, seen: None, unmask: true })
    }
}

impl Source for Uio {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        if self.unmask && write(&self.file, &1i32.to_ne_bytes()).is_err() {
            // ENOSYS: the driver has no irqcontrol; the program unmasks the interrupt in the mapped device memory.
            self.unmask = false;
        }
        let mut count = [0; 4];
        if read(&self.file, &mut count)? != count.len() {
            return Err(Errno::IO);
        }
        let count = u32::from_ne_bytes(count);
        // The counter wraps after 2^32 interrupts; the first value read says nothing about those before the device was
        // opened.
        let events = self.seen.map_or(1, |seen| u64::from(count.wrapping_sub(seen)).max(1));
        self.seen = Some(count);
        Ok(Arrival { at: None, events, lost: 0, value: 0 })
    }
}
