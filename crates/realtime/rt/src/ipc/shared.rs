//! A value shared between processes, with one writer and any number of readers that never wait for each other.

use punctual_uapi::{self as uapi, SharedWords};
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Plain data that can be converted to and from 64-bit words. The trait is safe to implement, because `from_words`
/// accepts any words that another process writes. The data is converted instead of cast (`bytemuck::Pod`), because a
/// cast would require that nobody changes the bytes while they are read.
///
/// Both processes must interpret the words in the same way: for a struct, convert its fields as a tuple or array.
pub trait Words: Sized {
    /// Number of 64-bit words that the value occupies.
    const COUNT: usize;
    /// Writes the value into `words`, which has length [`Words::COUNT`].
    fn to_words(&self, words: &mut [u64]);
    /// Returns the value stored in `words`, which has length [`Words::COUNT`]. Must accept any words.
    fn from_words(words: &[u64]) -> Self;
}

macro_rules! one_word {
    ($($kind:ty, $to:expr, $from:expr;)*) => {$(
        impl Words for $kind {
            const COUNT: usize = 1;
            fn to_words(&self, words: &mut [u64]) {
                words[0] = $to(*self);
            }
            fn from_words(words: &[u64]) -> Self {
                $from(words[0])
            }
        }
    )*};
}

one_word! {
    u64, |v| v, |w| w;
    i64, |v| v as u64, |w| w as i64;
    u32, u64::from, |w| w as u32;
    i32, |v| i64::from(v) as u64, |w| w as i32;
    bool, u64::from, |w| w != 0;
    f64, f64::to_bits, f64::from_bits;
}

impl<T: Words, const N: usize> Words for [T; N] {
    const COUNT: usize = T::COUNT * N;
    fn to_words(&self, words: &mut [u64]) {
        for (i, value) in self.iter().enumerate() {
            value.to_words(&mut words[i * T::COUNT..(i + 1) * T::COUNT]);
        }
    }
    fn from_words(words: &[u64]) -> Self {
        std::array::from_fn(|i| T::from_words(&words[i * T::COUNT..(i + 1) * T::COUNT]))
    }
}

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: Words),*> Words for ($($name,)*) {
            const COUNT: usize = 0 $(+ $name::COUNT)*;
            #[allow(non_snake_case)]
            fn to_words(&self, words: &mut [u64]) {
                let ($($name,)*) = self;
                let mut rest = words;
                $({
                    let (mine, others) = rest.split_at_mut($name::COUNT);
                    Words::to_words($name, mine);
                    rest = others;
                })*
                let _ = rest;
            }
            fn from_words(words: &[u64]) -> Self {
                let mut at = 0;
                ($({
                    let from = at;
                    at += $name::COUNT;
                    $name::from_words(&words[from..at])
                },)*)
            }
        }
    };
}

tuple!(A B);
tuple!(A B C);
tuple!(A B C D);

/// Maximum size of a value in 64-bit words.
const MAX_WORDS: usize = 64;
const SEQUENCE: usize = 0;
const CLAIMED: usize = 1;
const HEADER: usize = 2;

/// The writer changed the value during every attempt to read it.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the shared value changed during each of 64 attempts to read it: it is written without a pause")]
pub struct Unsteady;

/// A value of plain data in locked memory shared between processes: memfd_create(2), mlock(2). Initially all words are
/// zero.
///
/// There are two copies. The writer changes one while readers read the other, so a writer that is preempted or killed
/// does not block readers, and a reader never sees a partial change. This is the latch of include/linux/seqlock.h, here
/// with atomics, so that no process can cause undefined behaviour in another. Pass the descriptor to a child (for
/// example as its standard input) or over a socket.
///
/// ```
/// use punctual_rt::Shared;
/// let (mine, fd) = Shared::<(f64, u64)>::create("position")?;
/// let theirs = Shared::<(f64, u64)>::from_fd(&fd)?; // in the other process
/// let mut writer = mine.writer().expect("the first");
/// writer.write(&(1.5, 7));
/// assert_eq!(theirs.read(), Ok((1.5, 7)));
/// assert!(theirs.writer().is_none());
/// # Ok::<(), punctual_uapi::Error>(())
/// ```
#[derive(Debug)]
pub struct Shared<T> {
    words: SharedWords,
    not_locked: Option<String>,
    value: PhantomData<fn() -> T>,
}

impl<T: Words> Shared<T> {
    const FITS: () = assert!(T::COUNT <= MAX_WORDS, "a shared value has at most 64 words (512 bytes)");

    /// Creates a value. Also returns the descriptor with which another process can open it.
    ///
    /// # Errors
    /// Errors of memfd_create(2), ftruncate(2), fcntl(2) and mmap(2).
    pub fn create(name: &str) -> Result<(Shared<T>, OwnedFd), uapi::Error> {
        let () = Self::FITS;
        let (words, fd) = SharedWords::create(name, HEADER + 2 * T::COUNT)?;
        Ok((Shared::of(words), fd))
    }

    /// Opens a value made by [`Shared::create`] with the same `T`.
    ///
    /// # Errors
    /// Errors of fstat(2) and mmap(2); `EINVAL` if the descriptor is too small or not sealed against shrinking.
    pub fn from_fd(fd: impl AsFd) -> Result<Shared<T>, uapi::Error> {
        let () = Self::FITS;
        Ok(Shared::of(SharedWords::from_fd(fd, HEADER + 2 * T::COUNT)?))
    }

    fn of(words: SharedWords) -> Shared<T> {
        let not_locked = uapi::lock(words.words()).err().map(|e| e.to_string());
        Shared { words, not_locked, value: PhantomData }
    }

    /// Returns why the memory is not locked, in which case accesses may fault; `None` if it is locked.
    pub fn not_locked(&self) -> Option<&str> {
        self.not_locked.as_deref()
    }

    /// Returns the right to write, or `None` while another writer exists in any process.
    pub fn writer(&self) -> Option<SharedWriter<'_, T>> {
        let claim = self.words.words()[CLAIMED].compare_exchange(0, 1, Acquire, Relaxed);
        claim.is_ok().then(|| SharedWriter::of(self))
    }

    /// Like [`Shared::writer`], but also succeeds while another process has a writer: for a new writer after the old
    /// one was killed. With two concurrent writers, a reader may see a mixture of their values; they do no other harm.
    pub fn take_over(&self) -> SharedWriter<'_, T> {
        self.words.words()[CLAIMED].swap(1, AcqRel);
        SharedWriter::of(self)
    }

    /// Returns the last value written. No system call, no lock; reads again if the writer wrote twice in the meantime.
    ///
    /// # Errors
    /// [`Unsteady`] after 64 attempts.
    pub fn read(&self) -> Result<T, Unsteady> {
        let sequence = &self.words.words()[SEQUENCE];
        let mut local = [0; MAX_WORDS];
        let local = &mut local[..T::COUNT];
        for _ in 0..64 {
            let before = sequence.load(Acquire);
            for (to, from) in local.iter_mut().zip(self.copy(before)) {
                *to = from.load(Relaxed);
            }
            fence(Acquire);
            if sequence.load(Relaxed) == before {
                return Ok(T::from_words(local));
            }
        }
        Err(Unsteady)
    }

    /// Returns the copy that readers use at this sequence number.
    fn copy(&self, sequence: u64) -> &[AtomicU64] {
        let from = HEADER + (sequence & 1) as usize * T::COUNT;
        &self.words.words()[from..from + T::COUNT]
    }
}

/// The right to write a [`Shared`] value.
#[derive(Debug)]
pub struct SharedWriter<'s, T: Words>(&'s Shared<T>);

impl<'s, T: Words> SharedWriter<'s, T> {
    /// Creates the writer. Makes both copies equal, since a killed writer may have left them different.
    fn of(shared: &'s Shared<T>) -> SharedWriter<'s, T> {
        let now = shared.words.words()[SEQUENCE].load(Acquire);
        for (other, read) in shared.copy(now.wrapping_add(1)).iter().zip(shared.copy(now)) {
            other.store(read.load(Relaxed), Relaxed);
        }
        SharedWriter(shared)
    }

    /// Writes `value`. Wait-free, no system call.
    pub fn write(&mut self, value: &T) {
        let mut local = [0; MAX_WORDS];
        let local = &mut local[..T::COUNT];
        value.to_words(local);
        let sequence = &self.0.words.words()[SEQUENCE];
        let now = sequence.load(Relaxed);
        // Each step directs the readers to the other copy, then changes the one they have left.
        for step in [now.wrapping_add(1), now.wrapping_add(2)] {
            sequence.store(step, Release);
            fence(Release);
            for (to, from) in self.0.copy(step.wrapping_add(1)).iter().zip(local.iter()) {
                to.store(*from, Relaxed);
            }
        }
    }
}

impl<T: Words> Drop for SharedWriter<'_, T> {
    fn drop(&mut self) {
        self.0.words.words()[CLAIMED].store(0, Release);
    }
}

punctual_units::debug_as_display!(Unsteady);
