//! A mailbox for values of a fixed size, with many writers and one reader that sleeps until a value arrives.

use crate::boundary::{bytes, copy_out, guard, put, shared, take, wanted};
use crate::mutex;
use crate::queue::{PRT_QUEUE_LARGEST, capacity_failure, overflow};
use crate::status::{Failure, prt_status};
use punctual_rt::{LockError, Mailbox, MailboxCounts, Nanos, NotSent, Overflow};
use std::ffi::{c_int, c_void};

/// Maximum memory of a mailbox, bytes.
const MAX: usize = 1 << 30;

/// Counters of a mailbox: sent == received + dropped_oldest + waiting values.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_mailbox_counts {
    /// Number of values put into the mailbox.
    pub sent: u64,
    /// Number of values taken out of the mailbox.
    pub received: u64,
    /// Number of values dropped because the mailbox was full (PRT_OVERFLOW_DROP_NEWEST).
    pub dropped_newest: u64,
    /// Number of waiting values dropped to make room (PRT_OVERFLOW_DROP_OLDEST).
    pub dropped_oldest: u64,
    /// Number of values returned to the sender because the mailbox was full (PRT_OVERFLOW_REFUSE).
    pub refused: u64,
}

/// How long to wait for a value.
enum Wait {
    Forever,
    Until(Nanos),
    Never,
}

/// Operations of a mailbox that do not depend on the size of its values.
trait Values {
    fn send(&self, value: &[u8]) -> Result<(), Failure>;
    fn receive(&self, wait: Wait, take: &mut dyn FnMut(&[u8])) -> Result<bool, LockError>;
    fn counts(&self) -> Result<MailboxCounts, LockError>;
}

impl<const SIZE: usize> Values for Mailbox<[u8; SIZE]> {
    fn send(&self, value: &[u8]) -> Result<(), Failure> {
        let mut whole = [0; SIZE];
        whole[..value.len()].copy_from_slice(value);
        Mailbox::send(self, whole).map_err(|refused| match refused {
            NotSent::Full(_) => {
                Failure::fixed(prt_status::Full, c"the mailbox is full: its reader is slower than its writers")
            }
            NotSent::Lock(_, error) => mutex::failure(error),
        })
    }

    fn receive(&self, wait: Wait, take: &mut dyn FnMut(&[u8])) -> Result<bool, LockError> {
        let value = match wait {
            Wait::Forever => Some(Mailbox::receive(self)?),
            Wait::Until(until) => Some(self.receive_until(until)?),
            Wait::Never => self.try_receive()?,
        };
        Ok(value.map(|value| take(&value)).is_some())
    }

    fn counts(&self) -> Result<MailboxCounts, LockError> {
        Mailbox::counts(self)
    }
}

fn made<const SIZE: usize>(capacity: usize, overflow: Overflow) -> Result<Box<dyn Values + Send + Sync>, Failure> {
    if capacity > MAX / SIZE {
        return Err(Failure::written(prt_status::Invalid, format!("{capacity} values of {SIZE} bytes exceed 1 GiB")));
    }
    let mut made = Mailbox::<[u8; SIZE]>::new(capacity, overflow).map_err(capacity_failure)?;
    // Without the privilege the memory is not locked; prt_builder_lock_memory() reports that for the whole program.
    let _ = made.lock_memory();
    Ok(Box::new(made))
}

/// A bounded mailbox that passes values in order of arrival from any number of threads to one thread, which sleeps
/// while the mailbox is empty. Writers take turns through a mutex with priority inheritance, which they hold while they
/// copy one value. For threads of one process.
pub struct prt_mailbox {
    inside: Box<dyn Values + Send + Sync>,
    size: usize,
}

/// Creates a mailbox for `capacity` values of `size` bytes. `overflow` is one of enum prt_overflow. The mailbox's
/// memory is locked if RLIMIT_MEMLOCK or CAP_IPC_LOCK allows it.
///
/// Threads: any non-real-time thread. Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size
/// beyond PRT_QUEUE_LARGEST, more than 1 GiB, or an unknown policy; PRT_STATUS_REFUSED if there is not enough memory
/// or, if all memory is locked, RLIMIT_MEMLOCK does not allow it. Ownership: `*out` is the caller's until
/// prt_mailbox_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_new(
    size: usize,
    capacity: usize,
    overflow: c_int,
    out: *mut *mut prt_mailbox,
) -> c_int {
    guard(|| {
        wanted(out, c"out is NULL")?;
        let overflow = self::overflow(overflow)?;
        // Slot sizes are rounded up to a power of two.
        let inside = match size {
            1..=8 => made::<8>(capacity, overflow),
            9..=16 => made::<16>(capacity, overflow),
            17..=32 => made::<32>(capacity, overflow),
            33..=64 => made::<64>(capacity, overflow),
            65..=128 => made::<128>(capacity, overflow),
            129..=256 => made::<256>(capacity, overflow),
            257..=512 => made::<512>(capacity, overflow),
            513..=1024 => made::<1024>(capacity, overflow),
            1025..=2048 => made::<2048>(capacity, overflow),
            2049..=PRT_QUEUE_LARGEST => made::<PRT_QUEUE_LARGEST>(capacity, overflow),
            _ => {
                let text = format!(
                    "values of {size} bytes are not supported: use 1 to {PRT_QUEUE_LARGEST}; for larger values, send a pointer or an index"
                );
                Err(Failure::written(prt_status::Invalid, text))
            }
        }?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt_mailbox { inside, size })), c"out is NULL") }
    })
}

/// Frees the mailbox and the values that wait in it. No thread may be using it. NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_free(mailbox: *mut prt_mailbox) {
    // SAFETY: NULL or the caller's handle, from prt_mailbox_new, not used any more.
    drop(unsafe { take(mailbox) });
}

fn sized(mailbox: &prt_mailbox, size: usize) -> Result<(), Failure> {
    if size == mailbox.size {
        return Ok(());
    }
    Err(Failure::fixed(
        prt_status::Invalid,
        c"size differs from the size of the mailbox's values: pass the size given to prt_mailbox_new()",
    ))
}

/// Sends a copy of the `size` bytes at `value`; `size` must be the size given to prt_mailbox_new().
///
/// Threads: any. Real-time: waits at most while another value is copied; futex(2) if another thread holds the lock or
/// the reader sleeps.
/// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for another size; PRT_STATUS_OWNER_DIED if a
/// thread ended while it held the lock; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_send(mailbox: *const prt_mailbox, value: *const c_void, size: usize) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let mailbox = unsafe { shared(mailbox, c"mailbox is NULL") }?;
        sized(mailbox, size)?;
        // SAFETY: NULL, or the caller has that many bytes there.
        mailbox.inside.send(unsafe { bytes(value, size, c"value is NULL") }?)
    })
}

/// # Safety
/// `mailbox` is NULL or a live handle; `value` is NULL or has room for `size` bytes.
unsafe fn receive(mailbox: *const prt_mailbox, value: *mut c_void, size: usize, wait: Wait) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let mailbox = unsafe { shared(mailbox, c"mailbox is NULL") }?;
    sized(mailbox, size)?;
    wanted(value, c"value is NULL")?;
    let mut copied = Ok(());
    let came = mailbox.inside.receive(wait, &mut |from| {
        // SAFETY: not NULL, and the caller has room for that many bytes there.
        copied = unsafe { copy_out(&from[..size], value, c"value is NULL") };
    });
    copied?;
    match came {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::fixed(prt_status::Empty, c"the mailbox is empty")),
        Err(LockError::TimedOut) => Err(Failure::fixed(prt_status::TimedOut, c"no value came in time")),
        Err(error) => Err(mutex::failure(error)),
    }
}

/// Takes the oldest value, sleeping until there is one, and copies its `size` bytes to `value`; the size must be the
/// mailbox's. Neither a signal nor prt_stop() ends the wait.
///
/// Threads: any; with several readers, each value goes to one of them. Real-time: futex(2); blocks.
/// Errors: PRT_STATUS_INVALID for another size; PRT_STATUS_OWNER_DIED; PRT_STATUS_NULL. In these cases no value is
/// taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_receive(mailbox: *const prt_mailbox, value: *mut c_void, size: usize) -> c_int {
    // SAFETY: the caller's promises.
    guard(|| unsafe { receive(mailbox, value, size, Wait::Forever) })
}

/// Like prt_mailbox_receive(), but waits at most until `until_ns` on CLOCK_MONOTONIC.
///
/// Threads: any. Real-time: futex(2); blocks.
/// Errors: PRT_STATUS_TIMED_OUT; those of prt_mailbox_receive(). In these cases no value is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_receive_until(
    mailbox: *const prt_mailbox,
    value: *mut c_void,
    size: usize,
    until_ns: u64,
) -> c_int {
    let until = Nanos(until_ns.min(i64::MAX as u64));
    // SAFETY: the caller's promises.
    guard(|| unsafe { receive(mailbox, value, size, Wait::Until(until)) })
}

/// Like prt_mailbox_receive(), but does not wait until a value arrives.
///
/// Threads: any. Real-time: waits at most while another value is copied.
/// Errors: PRT_STATUS_EMPTY; those of prt_mailbox_receive(). In these cases no value is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_try_receive(
    mailbox: *const prt_mailbox,
    value: *mut c_void,
    size: usize,
) -> c_int {
    // SAFETY: the caller's promises.
    guard(|| unsafe { receive(mailbox, value, size, Wait::Never) })
}

/// Reads the counters.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_OWNER_DIED; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mailbox_get_counts(mailbox: *const prt_mailbox, out: *mut prt_mailbox_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let mailbox = unsafe { shared(mailbox, c"mailbox is NULL") }?;
        let counts = mailbox.inside.counts().map_err(mutex::failure)?;
        let MailboxCounts { sent, received, dropped_newest, dropped_oldest, refused } = counts;
        let counts = prt_mailbox_counts { sent, received, dropped_newest, dropped_oldest, refused };
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, counts, c"out is NULL") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::prt_overflow;
    use punctual_rt::monotonic;

    fn new(size: usize, capacity: usize, overflow: c_int) -> Result<*mut prt_mailbox, c_int> {
        let mut mailbox = std::ptr::null_mut();
        // SAFETY: a place for a pointer.
        match unsafe { prt_mailbox_new(size, capacity, overflow, &raw mut mailbox) } {
            0 => Ok(mailbox),
            status => Err(status),
        }
    }

    fn send(mailbox: *const prt_mailbox, value: u32) -> c_int {
        // SAFETY: a live handle, and four bytes.
        unsafe { prt_mailbox_send(mailbox, (&raw const value).cast(), 4) }
    }

    fn receive_by(mailbox: *const prt_mailbox, until: u64) -> Result<u32, c_int> {
        let mut value = 0u32;
        // SAFETY: a live handle, and room for four bytes.
        match unsafe { prt_mailbox_receive_until(mailbox, (&raw mut value).cast(), 4, until) } {
            0 => Ok(value),
            status => Err(status),
        }
    }

    #[test]
    fn a_sleeping_reader_gets_what_several_threads_send() {
        let mailbox = new(4, 64, prt_overflow::Refuse as c_int).unwrap();
        let address = mailbox as usize;
        let all = move |n: u32| (0..16).map(|k| send(address as *const prt_mailbox, n * 16 + k)).sum::<c_int>();
        let writers: Vec<_> = (0..4).map(|n| std::thread::spawn(move || all(n))).collect();
        let until = (monotonic() + Nanos::from_secs(20)).0;
        let mut got: Vec<u32> = (0..64).map(|_| receive_by(mailbox, until).unwrap()).collect();
        got.sort_unstable();
        assert_eq!(got, (0..64).collect::<Vec<u32>>());
        assert!(writers.into_iter().all(|writer| writer.join().unwrap() == 0));
        assert_eq!(receive_by(mailbox, monotonic().0), Err(prt_status::TimedOut as c_int));
        let mut counts = prt_mailbox_counts::default();
        // SAFETY: a live handle, freed once.
        unsafe {
            assert_eq!(prt_mailbox_get_counts(mailbox, &raw mut counts), 0);
            prt_mailbox_free(mailbox);
        }
        assert_eq!((counts.sent, counts.received, counts.refused), (64, 64, 0));
    }

    #[test]
    fn a_full_one_follows_its_policy_and_wrong_arguments_are_refused() {
        let full = |policy: prt_overflow| {
            let mailbox = new(4, 2, policy as c_int).unwrap();
            let last = [1, 2, 3].map(|value| send(mailbox, value))[2];
            let mut first = 0u32;
            // SAFETY: a live handle, room for four bytes, freed once.
            unsafe {
                assert_eq!(prt_mailbox_try_receive(mailbox, (&raw mut first).cast(), 4), 0);
                assert_eq!(prt_mailbox_receive(mailbox, (&raw mut first).cast(), 3), prt_status::Invalid as c_int);
                assert_eq!(prt_mailbox_send(mailbox, std::ptr::null(), 4), prt_status::Null as c_int);
                prt_mailbox_free(mailbox);
            }
            (last, first)
        };
        assert_eq!(full(prt_overflow::Refuse), (prt_status::Full as c_int, 1));
        assert_eq!(full(prt_overflow::DropNewest), (0, 1));
        assert_eq!(full(prt_overflow::DropOldest), (0, 2));
        for (size, capacity, policy) in
            [(0, 1, 0), (PRT_QUEUE_LARGEST + 1, 1, 0), (4, 0, 0), (4, usize::MAX, 0), (4, 1, 9)]
        {
            assert_eq!(new(size, capacity, policy), Err(prt_status::Invalid as c_int));
        }
        assert_eq!(send(std::ptr::null(), 1), prt_status::Null as c_int);
    }
}
