//! Requests a line for its edges, and reads its events.

use crate::chip::Chip;
use crate::error::GpioError;
use crate::event::{Edges, Event, EventClock};
use punctual_uapi::gpio::{self, EVENT_BYTES, INPUT, LineRequest};
use punctual_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, read};
use rustix::time::{ClockId, clock_gettime};

/// Default number of events that the kernel buffers (linereq_create: 16 per line).
pub const USUAL_BUFFER: u32 = 16;
/// Maximum number of events that the kernel buffers (GPIO_V2_LINES_MAX × 16).
pub const MAX_BUFFERED: u32 = 1024;
/// Maximum number of events read by one read(2).
const CHUNK: usize = 64;

fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

fn timespec(time: Nanos) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (time.0 % 1_000_000_000) as _,
    }
}

/// A line requested for its edges. Dropping it releases the line.
#[derive(Debug)]
pub struct Line {
    fd: OwnedFd,
    offset: u32,
    bytes: Box<[[u8; EVENT_BYTES]; CHUNK]>,
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Line {
    /// Requests a line of `chip` as an input whose `edges` generate events. `buffer` is the number of events the kernel
    /// keeps for a late reader, 1 to [`MAX_BUFFERED`]. The kernel rounds it up to a power of two (kfifo_alloc), and
    /// drops the oldest event when the buffer is full.
    ///
    /// # Errors
    /// The line does not exist, is in use, or cannot raise interrupts.
    pub fn edges(chip: &Chip, offset: u32, edges: Edges, buffer: u32, clock: EventClock) -> Result<Line, GpioError> {
        if !(1..=MAX_BUFFERED).contains(&buffer) {
            return Err(GpioError::Usage(format!(
                "a buffer of {buffer} events is not supported: choose 1 to {MAX_BUFFERED}"
            )));
        }
        let flags = INPUT | edges.flags() | clock.flags();
        let consumer = "punctual";
        let wanted = LineRequest { offset, consumer, flags, event_buffer_size: buffer, value: false };
        let fd = chip.request(&wanted)?;
        Ok(Line { fd, offset, bytes: Box::new([[0; EVENT_BYTES]; CHUNK]) })
    }

    /// Returns the offset of the line on its chip.
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// Reads the line's logical value.
    ///
    /// # Errors
    /// The chip was removed, or its driver returned an error.
    pub fn value(&self) -> Result<bool, GpioError> {
        gpio::value(&self.fd).map_err(|e| GpioError::of_call(self.offset, e))
    }

    /// Waits until an event can be read, but no longer than `limit` (`None` means without limit). Returns `false` if
    /// none arrived. A signal neither ends nor extends the wait.
    ///
    /// # Errors
    /// poll(2) failed.
    pub fn wait(&self, limit: Option<Nanos>) -> Result<bool, GpioError> {
        let until = limit.map(|limit| Nanos(monotonic().0.saturating_add(limit.0)));
        loop {
            let left = until.map(|until| timespec(until.saturating_sub(monotonic())));
            match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], left.as_ref()) {
                Err(Errno::INTR) => {}
                ready => return Ok(ready.map_err(|e| GpioError::of_line("poll", self.offset, e))? > 0),
            }
        }
    }

    /// Reads pending events, at most `events.len()` and 64 at once; blocks until there is one. Returns their number,
    /// which is 0 only if `events` is empty. Does not allocate.
    ///
    /// # Errors
    /// The chip was removed, or the kernel sent an event that is not an edge.
    pub fn read(&mut self, events: &mut [Event]) -> Result<usize, GpioError> {
        loop {
            match self.read_until_signal(events)? {
                0 if !events.is_empty() => {}
                count => return Ok(count),
            }
        }
    }

    /// Like [`Line::read`], but returns 0 if a signal arrives before an event. For a thread that is stopped by a
    /// signal.
    ///
    /// # Errors
    /// See [`Line::read`].
    pub fn read_until_signal(&mut self, events: &mut [Event]) -> Result<usize, GpioError> {
        let most = events.len().min(CHUNK);
        if most == 0 {
            return Ok(0);
        }
        let Line { fd, offset, bytes } = self;
        let room = bytes.as_flattened_mut().get_mut(..most * EVENT_BYTES).unwrap_or_default();
        let got = match read(&*fd, &mut *room) {
            Err(Errno::INTR) => 0,
            other => other.map_err(|e| GpioError::of_line("read", *offset, e))?,
        };
        let count = got / EVENT_BYTES;
        for (event, bytes) in events.iter_mut().zip(bytes.iter()).take(count) {
            *event = Event::parse(bytes)?;
        }
        Ok(count)
    }

    /// Iterates over events, blocking until the next one arrives. Ends after the first error.
    pub fn events(&mut self) -> Events<'_> {
        Events { line: self, held: [Event::default(); CHUNK], next: 0, end: 0, failed: false }
    }
}

/// Iterator over the events of a line, created by [`Line::events`]. Events that were read but not consumed are lost on
/// drop.
#[derive(Debug)]
pub struct Events<'a> {
    line: &'a mut Line,
    held: [Event; CHUNK],
    next: usize,
    end: usize,
    failed: bool,
}

impl Iterator for Events<'_> {
    type Item = Result<Event, GpioError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if self.next == self.end {
            match self.line.read(&mut self.held) {
                Ok(count) => (self.next, self.end) = (0, count),
                Err(e) => {
                    self.failed = true;
                    return Some(Err(e));
                }
            }
        }
        let event = self.held.get(self.next).copied()?;
        self.next += 1;
        Some(Ok(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Edge, tests::bytes_of};
    use punctual_uapi::{install_wakeup, wake};
    use rustix::io::write;
    use rustix::pipe::pipe;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    /// Creates a line backed by a pipe instead of the kernel, and returns the writing end of the pipe.
    fn line_and_writer() -> (Line, OwnedFd) {
        let (fd, writer) = pipe().unwrap();
        (Line { fd, offset: 4, bytes: Box::new([[0; EVENT_BYTES]; CHUNK]) }, writer)
    }

    fn event(number: u32) -> Event {
        let edge = if number.is_multiple_of(2) { Edge::Falling } else { Edge::Rising };
        Event { timestamp_ns: u64::from(number) * 1000, edge, offset: 4, seqno: number, line_seqno: number }
    }

    #[test]
    fn events_come_whole_and_in_order() {
        let (mut line, writer) = line_and_writer();
        assert!(!line.wait(Some(Nanos(0))).unwrap());
        for number in 1..=70 {
            assert_eq!(write(&writer, &bytes_of(&event(number))).unwrap(), EVENT_BYTES);
        }
        assert!(line.wait(None).unwrap());
        let mut few = [Event::default(); 3];
        assert_eq!(line.read(&mut few).unwrap(), 3);
        assert_eq!(few, [event(1), event(2), event(3)]);
        assert_eq!(line.read(&mut []).unwrap(), 0);
        let rest: Vec<Event> = line.events().take(67).map(Result::unwrap).collect();
        assert_eq!(rest, (4..=70).map(event).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_the_events() {
        let (mut line, writer) = line_and_writer();
        write(&writer, &[0xff; EVENT_BYTES]).unwrap();
        let mut events = line.events();
        assert!(matches!(events.next(), Some(Err(GpioError::Unknown(u32::MAX)))));
        assert!(events.next().is_none());
    }

    /// A thread is stopped by signals that are repeated until it has ended. They must not extend its wait, even at
    /// intervals shorter than the limit.
    #[test]
    fn signals_do_not_make_a_wait_longer() {
        install_wakeup().unwrap();
        let (line, _writer) = line_and_writer();
        let waiter = rustix::thread::gettid().as_raw_nonzero().get();
        let done = AtomicBool::new(false);
        let stopped = std::thread::scope(|s| {
            let sender = s.spawn(|| {
                let mut signals = 0;
                while !done.load(Relaxed) && signals < 30_000 {
                    wake(waiter).unwrap();
                    signals += 1;
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                signals
            });
            wake(waiter).unwrap();
            let came = line.wait(Some(Nanos::from_millis(200)));
            done.store(true, Relaxed);
            assert!(!came.unwrap());
            sender.join().unwrap()
        });
        assert!(stopped < 30_000, "{stopped}");
    }
}
