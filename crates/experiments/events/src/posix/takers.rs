use super::deliver::{Came, Taker, Times};
use punctual_gpio::{Event, Line};
use punctual_rt::{self as rt, Nanos, Semaphore, monotonic};
use punctual_uapi::{SignalSet, take};
use rustix::fd::AsFd;
use rustix::io::{Errno, read};
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Release;

/// Polling interval for sources whose system call restarts after a signal.
pub(super) const LOOK: Nanos = Nanos::from_millis(20);

/// Receives numbers of 8 bytes, little-endian, through pipes, terminals and datagrams.
pub(super) struct Numbers<F> {
    fd: F,
    bytes: [u8; 512],
    held: usize,
}

impl<F> Numbers<F> {
    pub fn new(fd: F) -> Numbers<F> {
        Numbers { fd, bytes: [0; 512], held: 0 }
    }
}

impl<F: AsFd + Send + 'static> Taker for Numbers<F> {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        let got = read(&self.fd, &mut self.bytes[self.held..])?;
        if got == 0 {
            return Err(Errno::PIPE);
        }
        let end = self.held + got;
        let (whole, _) = self.bytes[..end].as_chunks::<8>();
        whole.iter().for_each(|bytes| came(Came::numbered(u64::from_le_bytes(*bytes))));
        // A terminal may return a part of a number.
        self.held = end % 8;
        self.bytes.copy_within(end - self.held..end, 0);
        Ok(())
    }
}

/// Receives events that are only counted: from an eventfd, or other objects of punctual-rt.
pub(super) struct Counted<S>(pub S);

impl<S: rt::Source + 'static> Taker for Counted<S> {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        let arrival = self.0.wait()?;
        came(Came::counted(arrival.events));
        Ok(())
    }
}

/// Receives signals for this thread. A standard signal also carries a value: that of the first instance that became
/// pending, because later instances are merged into it.
pub(super) struct Signals {
    pub set: SignalSet,
    pub thread: Arc<AtomicI32>,
}

impl Taker for Signals {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Release);
        let taken = take(&self.set)?;
        came(Came::numbered(taken.value.into()));
        Ok(())
    }
}

pub(super) struct Queued {
    pub receiver: rt::Receiver<u64>,
    pub filled: Arc<Semaphore>,
}

impl Taker for Queued {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        self.filled.wait_until(monotonic() + LOOK).map_err(|_| Errno::INTR)?;
        while let Some(number) = self.receiver.receive() {
            came(Came::numbered(number));
        }
        Ok(())
    }
}

/// Receives edges of a GPIO line. The kernel reads an edge's timestamp in the hard interrupt handler, and numbers the
/// edge in the interrupt's thread. If the queue is full, numbers are missing; if edges are merged, no number is
/// missing. The timestamp, which is between two send times, therefore identifies the edge.
pub(super) struct Edges {
    pub line: Line,
    pub events: Vec<Event>,
    pub times: Times,
    /// Sequence number that the kernel gave the last edge; `next` is the number that the suite gives the next edge.
    pub last: u32,
    pub next: u64,
}

impl Edges {
    fn came(&mut self, event: &Event) -> Came {
        let dropped = event.line_seqno.wrapping_sub(self.last).wrapping_sub(1);
        self.last = event.line_seqno;
        let number = self.times.number_at(self.next, Nanos(event.timestamp_ns));
        self.next = number + 1;
        Came { dropped: dropped.into(), ..Came::numbered(number) }
    }
}

impl Taker for Edges {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        // `wait` continues after a signal, so it has a time limit.
        if !self.line.wait(Some(LOOK)).map_err(|_| Errno::IO)? {
            return Err(Errno::INTR);
        }
        let mut events = std::mem::take(&mut self.events);
        let got = self.line.read(&mut events).map_err(|_| Errno::IO);
        for event in &events[..*got.as_ref().unwrap_or(&0)] {
            let edge = self.came(event);
            came(edge);
        }
        self.events = events;
        got.map(drop)
    }
}

/// Receives single bytes. Each byte is the low byte of an event number.
pub(super) struct Bytes<F> {
    pub fd: F,
    pub next: u64,
}

impl<F: AsFd + Send + 'static> Taker for Bytes<F> {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        let mut bytes = [0; 64];
        let got = read(&self.fd, &mut bytes)?;
        for byte in &bytes[..got] {
            let number = nearest(self.next, *byte);
            self.next = self.next.max(number + 1);
            came(Came::numbered(number));
        }
        Ok(())
    }
}

/// Returns the number nearest to `next` whose low byte is `byte`.
fn nearest(next: u64, byte: u8) -> u64 {
    let ahead = i64::from(byte.wrapping_sub(next as u8) as i8);
    next.checked_add_signed(ahead).unwrap_or(u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    proptest! {
        #[test]
        fn a_byte_is_the_number_near_by(next in 0u64..1_000_000, ahead in -128i64..128) {
            if let Some(number) = next.checked_add_signed(ahead) {
                prop_assert_eq!(nearest(next, number as u8), number);
            }
        }

        /// However the bytes are split, the numbers are received unchanged.
        #[test]
        fn numbers_may_be_cut(cuts in proptest::collection::vec(1usize..40, 1..20)) {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let all: Vec<u8> = (0u64..64).flat_map(u64::to_le_bytes).collect();
            let (mut taker, mut seen, mut from) = (Numbers::new(reader), Vec::new(), 0);
            for cut in cuts.into_iter().chain([512]) {
                let to = (from + cut).min(all.len());
                if from < to {
                    writer.write_all(&all[from..to]).unwrap();
                    taker.take(&mut |came| seen.push(came.number.unwrap())).unwrap();
                }
                from = to;
            }
            prop_assert_eq!(seen, (0..64).collect::<Vec<u64>>());
        }
    }
}
