//! A queue with one writer and one reader for values of a fixed size.

use crate::boundary::{bytes, copy_out, exclusive, guard, put, shared, take, wanted};
use crate::status::{Failure, prt_status};
use punctual_rt::{CapacityError, Overflow, QueueCounts, Receiver, Sender, queue};
use std::ffi::{c_int, c_void};

/// What happens to a value that does not fit because the queue is full. Each such value is counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_overflow {
    /// The sender gets PRT_STATUS_FULL.
    Refuse = 0,
    /// The value is dropped, and the sender is not notified.
    DropNewest = 1,
    /// The oldest waiting value is dropped to make room. For mailboxes only.
    DropOldest = 2,
}

pub(crate) fn overflow(overflow: c_int) -> Result<Overflow, Failure> {
    match overflow {
        o if o == prt_overflow::Refuse as c_int => Ok(Overflow::Refuse),
        o if o == prt_overflow::DropNewest as c_int => Ok(Overflow::DropNewest),
        o if o == prt_overflow::DropOldest as c_int => Ok(Overflow::DropOldest),
        other => {
            let text = format!("overflow policy {other} is unknown: use one of enum prt_overflow");
            Err(Failure::written(prt_status::Invalid, text))
        }
    }
}

/// Maximum size of a value, bytes. For larger values, pass a pointer or an index.
pub const PRT_QUEUE_LARGEST: usize = 4096;

/// Maximum memory of a queue, bytes.
const MAX: usize = 1 << 30;

/// Counters of a queue: sent == received + waiting values + values that were never received.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_queue_counts {
    /// Number of values put into the queue.
    pub sent: u64,
    /// Number of values taken out of the queue.
    pub received: u64,
    /// Number of values dropped because the queue was full.
    pub dropped: u64,
    /// Number of values returned to the sender because the queue was full.
    pub refused: u64,
}

fn counts(counts: QueueCounts) -> prt_queue_counts {
    let QueueCounts { sent, received, dropped, refused } = counts;
    prt_queue_counts { sent, received, dropped, refused }
}

/// Operations of a queue's writing end that do not depend on the size of the values.
trait Sends {
    fn send(&mut self, value: &[u8]) -> bool;
    fn counts(&self) -> QueueCounts;
    fn lock_memory(&mut self) -> Result<usize, punctual_uapi::Error>;
}

/// Operations of a queue's reading end that do not depend on the size of the values.
trait Receives {
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> bool;
    fn waiting(&self) -> usize;
    fn counts(&self) -> QueueCounts;
}

impl<const SIZE: usize> Sends for Sender<[u8; SIZE]> {
    fn send(&mut self, value: &[u8]) -> bool {
        let mut whole = [0; SIZE];
        whole[..value.len()].copy_from_slice(value);
        Sender::send(self, whole).is_ok()
    }

    fn counts(&self) -> QueueCounts {
        Sender::counts(self)
    }

    fn lock_memory(&mut self) -> Result<usize, punctual_uapi::Error> {
        Sender::lock_memory(self)
    }
}

impl<const SIZE: usize> Receives for Receiver<[u8; SIZE]> {
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        Receiver::receive(self).map(|value| take(&value)).is_some()
    }

    fn waiting(&self) -> usize {
        Receiver::waiting(self)
    }

    fn counts(&self) -> QueueCounts {
        Receiver::counts(self)
    }
}

type Ends = (Box<dyn Sends>, Box<dyn Receives>);

fn ends<const SIZE: usize>(capacity: usize, overflow: Overflow) -> Result<Ends, Failure> {
    if capacity > MAX / SIZE {
        return Err(Failure::written(prt_status::Invalid, format!("{capacity} values of {SIZE} bytes exceed 1 GiB")));
    }
    let made = queue::<[u8; SIZE]>(capacity, overflow);
    let (sender, receiver) = made.map_err(capacity_failure)?;
    Ok((Box::new(sender), Box::new(receiver)))
}

pub(crate) fn capacity_failure(error: CapacityError) -> Failure {
    match error {
        CapacityError::Zero => Failure::written(prt_status::Invalid, error),
        CapacityError::Memory(_) => Failure::written(prt_status::Refused, error),
        CapacityError::DropOldest => Failure::fixed(
            prt_status::Invalid,
            c"PRT_OVERFLOW_DROP_OLDEST is for mailboxes: in a queue or pipe only the receiver may take values",
        ),
    }
}

/// Creates a queue whose slots have `size` bytes, rounded up to a power of two, and returns its ends.
fn sized(size: usize, capacity: usize, overflow: Overflow) -> Result<Ends, Failure> {
    match size {
        1..=8 => ends::<8>(capacity, overflow),
        9..=16 => ends::<16>(capacity, overflow),
        17..=32 => ends::<32>(capacity, overflow),
        33..=64 => ends::<64>(capacity, overflow),
        65..=128 => ends::<128>(capacity, overflow),
        129..=256 => ends::<256>(capacity, overflow),
        257..=512 => ends::<512>(capacity, overflow),
        513..=1024 => ends::<1024>(capacity, overflow),
        1025..=2048 => ends::<2048>(capacity, overflow),
        2049..=PRT_QUEUE_LARGEST => ends::<PRT_QUEUE_LARGEST>(capacity, overflow),
        _ => {
            let text = format!(
                "values of {size} bytes are not supported: use 1 to {PRT_QUEUE_LARGEST}; for larger values, send a pointer or an index"
            );
            Err(Failure::written(prt_status::Invalid, text))
        }
    }
}

/// The writing end of a queue.
pub struct prt_sender {
    end: Box<dyn Sends>,
    size: usize,
}

/// The reading end of a queue.
pub struct prt_receiver {
    end: Box<dyn Receives>,
    size: usize,
}

/// Creates a queue that passes up to `capacity` values of `size` bytes in order from one thread to another. `overflow`
/// is one of enum prt_overflow. The receiver is not woken: poll in every cycle.
///
/// Threads: any non-real-time thread. Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size
/// beyond PRT_QUEUE_LARGEST, more than 1 GiB, an unknown policy, or PRT_OVERFLOW_DROP_OLDEST; PRT_STATUS_REFUSED if
/// there is not enough memory or, if all memory is locked, RLIMIT_MEMLOCK does not allow it. Ownership: the ends are
/// the caller's, each until its own …_free(), in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_queue_new(
    size: usize,
    capacity: usize,
    overflow: c_int,
    sender: *mut *mut prt_sender,
    receiver: *mut *mut prt_receiver,
) -> c_int {
    guard(|| {
        wanted(sender, c"sender is NULL")?;
        wanted(receiver, c"receiver is NULL")?;
        let (sends, receives) = sized(size, capacity, self::overflow(overflow)?)?;
        let sends = Box::into_raw(Box::new(prt_sender { end: sends, size }));
        let receives = Box::into_raw(Box::new(prt_receiver { end: receives, size }));
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(sender, sends, c"sender is NULL") }?;
        // SAFETY: as above.
        unsafe { put(receiver, receives, c"receiver is NULL") }
    })
}

/// Locks the queue's memory: mlock(2). Call it before the first value is sent, and before the real-time part.
///
/// Threads: a non-real-time thread, before the sender starts.
/// Errors: PRT_STATUS_REFUSED if RLIMIT_MEMLOCK does not allow it; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_sender_lock_memory(sender: *mut prt_sender) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, of one thread at a time.
        let sender = unsafe { exclusive(sender, c"sender is NULL") }?;
        let locked = sender.end.lock_memory();
        locked.map(drop).map_err(|error| {
            let text = format!("cannot lock the queue's memory: {error}; raise memlock, or grant CAP_IPC_LOCK");
            Failure::written(prt_status::Refused, text)
        })
    })
}

/// Sends a copy of the `size` bytes at `value`; `size` must be the size given to prt_queue_new().
///
/// Threads: only one, the sender. Real-time: wait-free, no system call.
/// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for another size; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_send(sender: *mut prt_sender, value: *const c_void, size: usize) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, of one thread at a time.
        let sender = unsafe { exclusive(sender, c"sender is NULL") }?;
        other_size(size, sender.size)?;
        // SAFETY: NULL, or the caller has that many bytes there.
        let value = unsafe { bytes(value, size, c"value is NULL") }?;
        match sender.end.send(value) {
            true => Ok(()),
            false => Err(Failure::fixed(prt_status::Full, c"the queue is full: its reader is slower than its writer")),
        }
    })
}

fn other_size(size: usize, queue: usize) -> Result<(), Failure> {
    if size == queue {
        return Ok(());
    }
    Err(Failure::fixed(
        prt_status::Invalid,
        c"size differs from the size of the queue's values: pass the size given to prt_queue_new()",
    ))
}

/// Takes the oldest value and copies its `size` bytes to `value`; `size` must be the size given to prt_queue_new().
///
/// Threads: only one, the receiver. Real-time: wait-free, no system call.
/// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for another size; PRT_STATUS_NULL. In these cases no value is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_receive(receiver: *mut prt_receiver, value: *mut c_void, size: usize) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, of one thread at a time.
        let receiver = unsafe { exclusive(receiver, c"receiver is NULL") }?;
        other_size(size, receiver.size)?;
        wanted(value, c"value is NULL")?;
        let mut copied = Ok(());
        let taken = receiver.end.receive(&mut |from| {
            // SAFETY: not NULL, and the caller has room for that many bytes there.
            copied = unsafe { copy_out(&from[..size], value, c"value is NULL") };
        });
        copied?;
        if taken { Ok(()) } else { Err(Failure::fixed(prt_status::Empty, c"the queue is empty")) }
    })
}

/// Returns the number of waiting values; 0 if `receiver` is NULL.
///
/// Threads: the receiver. Real-time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_waiting(receiver: *const prt_receiver) -> usize {
    // SAFETY: NULL or a live handle, of one thread at a time.
    unsafe { shared(receiver, c"receiver is NULL") }.map_or(0, |receiver| receiver.end.waiting())
}

/// Reads the counters of the queue through its writing end.
///
/// Threads: the sender. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_sender_counts(sender: *const prt_sender, out: *mut prt_queue_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, of one thread at a time.
        let sender = unsafe { shared(sender, c"sender is NULL") }?;
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, counts(sender.end.counts()), c"out is NULL") }
    })
}

/// Reads the counters of the queue through its reading end.
///
/// Threads: the receiver. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_receiver_counts(receiver: *const prt_receiver, out: *mut prt_queue_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, of one thread at a time.
        let receiver = unsafe { shared(receiver, c"receiver is NULL") }?;
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, counts(receiver.end.counts()), c"out is NULL") }
    })
}

/// Frees the writing end. Waiting values can still be taken. NULL is ignored.
///
/// Threads: any non-real-time thread, after the sender has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_sender_free(sender: *mut prt_sender) {
    guard(|| {
        // SAFETY: NULL or the caller's handle, not used any more.
        drop(unsafe { take(sender) });
        Ok(())
    });
}

/// Frees the reading end. Values sent afterwards are never received. NULL is ignored.
///
/// Threads: any non-real-time thread, after the receiver has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_receiver_free(receiver: *mut prt_receiver) {
    guard(|| {
        // SAFETY: NULL or the caller's handle, not used any more.
        drop(unsafe { take(receiver) });
        Ok(())
    });
}
