//! A queue with one writer and one reader: rtrb's ring with an overflow policy and counters.

use super::Overflow;
use punctual_uapi as uapi;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counters of a [`queue`]. `sent` is the sum of `received`, the values that are still waiting, and the values dropped
/// together with the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Number of values put into the queue.
    pub sent: u64,
    /// Number of values taken out of the queue.
    pub received: u64,
    /// Number of values dropped because the queue was full ([`Overflow::DropNewest`]).
    pub dropped: u64,
    /// Number of values returned to the sender because the queue was full ([`Overflow::Refuse`]).
    pub refused: u64,
}

/// Counters of one end of the queue, in a cache line of their own to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    taken: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Counts {
    sender: Line,
    receiver: Line,
}

impl Counts {
    fn get(&self) -> QueueCounts {
        // Reads the reader's count first, so that no value appears to be received before it was sent.
        let received = self.receiver.taken.load(Relaxed);
        let s = &self.sender;
        QueueCounts {
            sent: s.taken.load(Relaxed),
            received,
            dropped: s.dropped.load(Relaxed),
            refused: s.refused.load(Relaxed),
        }
    }
}

/// Adds one to a counter that only the calling side writes, without an atomic read-modify-write instruction.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

/// Why a queue or mailbox cannot be created.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// A capacity of 0.
    #[error("the capacity is 0: it must be at least 1")]
    Zero,
    /// There is not enough memory, or it cannot be locked (mlockall(2), RLIMIT_MEMLOCK).
    #[error("not enough memory for {0} bytes: give a smaller capacity or, if all memory is locked, raise memlock")]
    Memory(usize),
    /// The policy needs a [`Mailbox`](crate::Mailbox).
    #[error(
        "DropOldest is not possible with one writer and one reader, since only the reader may take values: use a Mailbox"
    )]
    DropOldest,
}

impl Overflow {
    /// Checks that a ring with one writer and one reader of values `T` can have this capacity and policy.
    pub(super) fn for_ring<T>(self, capacity: usize) -> Result<(), CapacityError> {
        match self {
            _ if capacity == 0 => Err(CapacityError::Zero),
            Overflow::DropOldest => Err(CapacityError::DropOldest),
            _ => there_is_memory::<T>(capacity),
        }
    }
}

/// Allocates memory for `capacity` values `T` and frees it: the allocation of the values themselves ends the program if
/// it fails.
fn there_is_memory<T>(capacity: usize) -> Result<(), CapacityError> {
    Vec::<T>::new().try_reserve_exact(capacity).map_err(|_| CapacityError::memory::<T>(capacity))
}

impl CapacityError {
    pub(super) fn memory<T>(capacity: usize) -> CapacityError {
        CapacityError::Memory(capacity.saturating_mul(size_of::<T>()))
    }
}

/// The queue is full; contains the value.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full: its reader is slower than its writer")]
pub struct Full<T>(
    /// The value that was not sent.
    pub T,
);

/// Creates a queue that passes up to `capacity` values in order from one thread to another. No other call allocates.
///
/// Both ends are wait-free: a few instructions, no lock, no system call. The reader is not woken: poll in every cycle,
/// or use a [`Mailbox`](crate::Mailbox). A value discarded because the queue is full is dropped in the sender's thread,
/// so use values without heap memory.
///
/// ```
/// use punctual_rt::{Overflow, queue};
/// let (mut sender, mut receiver) = queue::<u32>(2, Overflow::DropNewest)?;
/// for n in 0..3 {
///     sender.send(n).expect("DropNewest refuses nothing");
/// }
/// assert_eq!((receiver.receive(), receiver.receive(), receiver.receive()), (Some(0), Some(1), None));
/// assert_eq!(receiver.counts().dropped, 1);
/// # Ok::<(), punctual_rt::CapacityError>(())
/// ```
///
/// # Errors
/// [`CapacityError`].
pub fn queue<T>(capacity: usize, overflow: Overflow) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
    overflow.for_ring::<T>(capacity)?;
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    let counts = Arc::new(Counts::default());
    Ok((Sender { producer, overflow, counts: counts.clone() }, Receiver { consumer, counts }))
}

/// The writing end of a [`queue`].
#[derive(Debug)]
pub struct Sender<T> {
    producer: rtrb::Producer<T>,
    overflow: Overflow,
    counts: Arc<Counts>,
}

impl<T> Sender<T> {
    /// Puts `value` into the queue. Wait-free.
    ///
    /// # Errors
    /// [`Full`]; only with [`Overflow::Refuse`].
    #[inline]
    pub fn send(&mut self, value: T) -> Result<(), Full<T>> {
        match self.producer.push(value) {
            Ok(()) => count(&self.counts.sender.taken),
            Err(rtrb::PushError::Full(value)) if self.overflow == Overflow::Refuse => {
                count(&self.counts.sender.refused);
                return Err(Full(value));
            }
            Err(rtrb::PushError::Full(_)) => count(&self.counts.sender.dropped),
        }
        Ok(())
    }

    /// Returns the current counters.
    pub fn counts(&self) -> QueueCounts {
        self.counts.get()
    }

    /// Returns true if the receiver was dropped. Values can still be sent, but nothing will receive them.
    pub fn is_abandoned(&self) -> bool {
        self.producer.is_abandoned()
    }

    /// Locks the ring and the counters in memory: mlock(2). Locks every slot only if the queue is empty. Returns the
    /// number of bytes locked. Call it before the real-time part.
    ///
    /// # Errors
    /// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK.
    pub fn lock_memory(&mut self) -> Result<usize, uapi::Error> {
        uapi::lock(&*self.counts)?;
        let mut locked = size_of::<Counts>();
        let free = self.producer.slots();
        let Ok(mut chunk) = self.producer.write_chunk_uninit(free) else { return Ok(locked) };
        let (first, second) = chunk.as_mut_slices();
        for part in [first, second].into_iter().filter(|part| !part.is_empty()) {
            uapi::lock(part)?;
            locked += size_of_val(part);
        }
        Ok(locked)
    }
}

/// The reading end of a [`queue`].
#[derive(Debug)]
pub struct Receiver<T> {
    consumer: rtrb::Consumer<T>,
    counts: Arc<Counts>,
}

impl<T> Receiver<T> {
    /// Takes the oldest value, if there is one. Wait-free.
    #[inline]
    pub fn receive(&mut self) -> Option<T> {
        let value = self.consumer.pop().ok()?;
        count(&self.counts.receiver.taken);
        Some(value)
    }

    /// Returns the number of waiting values.
    pub fn waiting(&self) -> usize {
        self.consumer.slots()
    }

    /// Returns the current counters.
    pub fn counts(&self) -> QueueCounts {
        self.counts.get()
    }

    /// Returns true if the sender was dropped. Waiting values can still be received.
    pub fn is_abandoned(&self) -> bool {
        self.consumer.is_abandoned()
    }
}

punctual_units::debug_as_display!(CapacityError);

punctual_units::debug_as_display!(<T> Full);
