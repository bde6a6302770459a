//! Event sources that need no GPIO line or timer: eventfd(2), and UIO devices.

use crate::interrupt::{Arrival, Source};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, retry_on_intr, write};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of events that can be raised, or reported by a source, at once. The limit prevents an overflow of
/// their sum.
pub const MOST_EVENTS: u64 = 1 << 32;

/// An eventfd(2) that another thread or process, or the kernel (KVM, AIO), increments. Several increments before a
/// wakeup are one arrival with that number of events.
#[derive(Clone, Debug)]
pub struct Eventfd(Arc<OwnedFd>);

impl Eventfd {
    /// Creates an eventfd. A clone of it can be given to the thread that calls [`Eventfd::raise`].
    ///
    /// # Errors
    /// `MFILE`, `NFILE`, `NOMEM`.
    pub fn new() -> Result<Eventfd, Errno> {
        Ok(Eventfd(Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?)))
    }

    /// Adds `events`, with one system call; 0 wakes nobody. Never blocks in practice (only if 2^64 − 2 events have not
    /// been received yet).
    ///
    /// # Errors
    /// `INVAL`: more than [`MOST_EVENTS`].
    pub fn raise(&self, events: u64) -> Result<(), Errno> {
        if events > MOST_EVENTS {
            return Err(Errno::INVAL);
        }
        retry_on_intr(|| write(&*self.0, &events.to_ne_bytes())).map(drop)
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

/// A UIO device, /dev/uioN: the kernel counts its interrupt and masks it until [`Source::wait`] is called again.
/// Documentation/driver-api/uio-howto.rst.
#[derive(Debug)]
pub struct Uio {
    file: File,
    seen: Option<u32>,
    /// True if the driver accepts a write that unmasks the interrupt.
    unmask: bool,
}

impl Uio {
    /// Opens a device, for example `/dev/uio0`.
    ///
    /// Errors of open(2): the device does not exist (load uio_pdrv_genirq or the device's own driver), or it is not
    /// accessible (use a udev rule that assigns it to a group).
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
        // The counter wraps after 2^32 interrupts. The first value read would also include interrupts before the device
        // was opened, so it counts as one event.
        let events = self.seen.map_or(1, |seen| u64::from(count.wrapping_sub(seen)).max(1));
        self.seen = Some(count);
        Ok(Arrival { at: None, events, lost: 0, value: 0 })
    }
}
