//! A pool of memory blocks of one size.

use crate::Error;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Usage counters of a [`Pool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Number of blocks in use now.
    pub used: u32,
    /// Largest number of blocks in use at once.
    pub peak: u32,
    /// Number of allocations that failed because no block was free.
    pub exhausted: u64,
}

/// A pool of `N` blocks for values of `T`. Any thread can allocate and free blocks. Both take a few instructions and
/// need no lock, system call or heap allocation. An operation is retried only if another thread succeeded at the same
/// instant (lock-free).
///
/// The free blocks form a stack of indices (R. K. Treiber, "Coping with Parallelism", IBM RJ 5118, 1986). A change
/// counter next to the head prevents a head that was removed and put back from being mistaken for an unchanged head
/// (the ABA problem; the counter wraps after 2^32 changes).
///
/// ```
/// use punctual_uapi::Pool;
/// static SAMPLES: Pool<[u16; 64], 8> = Pool::new();
/// let block = SAMPLES.alloc([0; 64]).expect("one of eight is free");
/// assert_eq!(SAMPLES.counts().used, 1);
/// drop(block); // gives it back
/// assert_eq!(SAMPLES.counts().used, 0);
/// ```
pub struct Pool<T, const N: usize> {
    /// Low 32 bits: index of the first free block + 1, or 0 if none is free. High 32 bits: change counter.
    head: AtomicU64,
    used: AtomicU32,
    peak: AtomicU32,
    exhausted: AtomicU64,
    /// For each free block, the index of the next free block + 1, or 0 if it is the last.
    next: [AtomicU32; N],
    blocks: [UnsafeCell<MaybeUninit<T>>; N],
}

// SAFETY: a cell is reached only through the one `Block` that has its index, which moves the value between threads.
unsafe impl<T: Send, const N: usize> Sync for Pool<T, N> {}

impl<T, const N: usize> Default for Pool<T, N> {
    fn default() -> Pool<T, N> {
        Pool::new()
    }
}

impl<T, const N: usize> Pool<T, N> {
    /// Creates a pool in which all blocks are free. `N` must fit in 32 bits, which is checked at compile time.
    pub const fn new() -> Pool<T, N> {
        const { assert!(N < u32::MAX as usize, "a pool must have fewer than 2^32 - 1 blocks") };
        let mut next = [const { AtomicU32::new(0) }; N];
        let mut i = 0;
        while i + 1 < N {
            next[i] = AtomicU32::new(i as u32 + 2);
            i += 1;
        }
        Pool {
            head: AtomicU64::new(if N == 0 { 0 } else { 1 }),
            used: AtomicU32::new(0),
            peak: AtomicU32::new(0),
            exhausted: AtomicU64::new(0),
            next,
            blocks: [const { UnsafeCell::new(MaybeUninit::uninit()) }; N],
        }
    }

    /// Allocates a block and moves `value` into it. Never sleeps.
    ///
    /// # Errors
    /// No block is free: returns `value` and counts the failure.
    pub fn alloc(&self, value: T) -> Result<Block<'_, T, N>, T> {
        let Some(index) = self.pop() else {
            self.exhausted.fetch_add(1, Relaxed);
            return Err(value);
        };
        let used = self.used.fetch_add(1, Relaxed) + 1;
        self.peak.fetch_max(used, Relaxed);
        // SAFETY: the index came off the free stack, so until it is returned only this call, and then the block, access
        // the cell; the cell holds no value that would have to be dropped.
        unsafe { (*self.blocks[index].get()).write(value) };
        Ok(Block { pool: self, index })
    }

    fn pop(&self) -> Option<usize> {
        let mut head = self.head.load(Acquire);
        loop {
            let (changes, first) = (head >> 32, head as u32);
            let index = first.checked_sub(1)? as usize;
            // If another thread takes this block meanwhile, `next` may have any value; the change counter then makes
            // the exchange fail.
            let new = changes.wrapping_add(1) << 32 | u64::from(self.next[index].load(Relaxed));
            match self.head.compare_exchange_weak(head, new, AcqRel, Acquire) {
                Ok(_) => return Some(index),
                Err(now) => head = now,
            }
        }
    }

    fn push(&self, index: usize) {
        let mut head = self.head.load(Relaxed);
        loop {
            self.next[index].store(head as u32, Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | (index as u64 + 1);
            match self.head.compare_exchange_weak(head, new, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Returns the usage counters. If other threads use the pool at the same time, the counters may not match each
    /// other.
    pub fn counts(&self) -> PoolCounts {
        PoolCounts {
            used: self.used.load(Relaxed),
            peak: self.peak.load(Relaxed),
            exhausted: self.exhausted.load(Relaxed),
        }
    }

    /// Locks the memory of the whole pool (mlock(2)), so that no access to a block causes a page fault. The pool cannot
    /// be unlocked, because locks apply to whole pages, which may be shared. Call this function before real-time work
    /// starts.
    ///
    /// # Errors
    /// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK is too low.
    pub fn lock_memory(&self) -> Result<(), Error> {
        crate::lock(self)
    }
}

impl<T, const N: usize> fmt::Debug for Pool<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("blocks", &N).field("counts", &self.counts()).finish()
    }
}

/// A block of a [`Pool`], freed on drop. A block of a pool in a `static` has the lifetime `'static` and can be sent
/// through any queue.
#[must_use = "if unused, if unused, the block is freed immediately"]
pub struct Block<'p, T, const N: usize> {
    pool: &'p Pool<T, N>,
    index: usize,
}

// SAFETY: only the block accesses its cell, so it may move wherever its value may move.
unsafe impl<T: Send, const N: usize> Send for Block<'_, T, N> {}
// SAFETY: a shared block gives out `&T` only.
unsafe impl<T: Send + Sync, const N: usize> Sync for Block<'_, T, N> {}

impl<T, const N: usize> Block<'_, T, N> {
    /// Moves the value out and frees the block.
    pub fn into_inner(self) -> T {
        let (pool, index) = (self.pool, self.index);
        std::mem::forget(self);
        // SAFETY: the cell holds a value and belongs to this block; the value is moved out once, because the block is
        // consumed and its Drop does not run.
        let value = unsafe { (*pool.blocks[index].get()).assume_init_read() };
        pool.used.fetch_sub(1, Relaxed);
        pool.push(index);
        value
    }
}

impl<T, const N: usize> Deref for Block<'_, T, N> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the cell holds a value from `alloc` until the block is dropped, and belongs to this block.
        unsafe { (*self.pool.blocks[self.index].get()).assume_init_ref() }
    }
}

impl<T, const N: usize> DerefMut for Block<'_, T, N> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the block is borrowed exclusively.
        unsafe { (*self.pool.blocks[self.index].get()).assume_init_mut() }
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Block<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T, const N: usize> Drop for Block<'_, T, N> {
    fn drop(&mut self) {
        let cell = self.pool.blocks[self.index].get();
        // SAFETY: the cell holds a value, and nothing uses it afterwards, because the block is returned only below. If
        // T's Drop panics, the block is never returned.
        unsafe { ptr::drop_in_place((*cell).as_mut_ptr()) };
        self.pool.used.fetch_sub(1, Relaxed);
        self.pool.push(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several threads allocate, check and free blocks. A block allocated to two threads at once would contain the mark
    /// of the other thread. Also runs under miri.
    #[test]
    fn no_block_is_in_two_hands() {
        static POOL: Pool<[u64; 2], 3> = Pool::new();
        let rounds = if cfg!(miri) { 60 } else { 20_000 };
        std::thread::scope(|s| {
            for mark in 0..4u64 {
                s.spawn(move || {
                    for round in 0..rounds {
                        let Ok(mut block) = POOL.alloc([mark, round]) else { continue };
                        block[1] += 1;
                        std::thread::yield_now();
                        assert_eq!(*block, [mark, round + 1]);
                    }
                });
            }
        });
        let counts = POOL.counts();
        assert_eq!(counts.used, 0);
        assert!((1..=3).contains(&counts.peak));
    }

    #[test]
    fn values_are_dropped_once() {
        let value = std::sync::Arc::new(());
        let pool = Pool::<_, 2>::new();
        let (a, b) = (pool.alloc(value.clone()).unwrap(), pool.alloc(value.clone()).unwrap());
        assert_eq!(std::sync::Arc::strong_count(&value), 3);
        assert!(pool.alloc(value.clone()).is_err());
        drop(a);
        assert_eq!(std::sync::Arc::strong_count(&value), 2);
        drop(b.into_inner());
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
        assert_eq!(pool.counts(), PoolCounts { used: 0, peak: 2, exhausted: 1 });
    }

    #[test]
    fn a_pool_of_nothing_is_always_exhausted() {
        let pool = Pool::<u8, 0>::new();
        assert!(pool.alloc(1).is_err());
        assert_eq!(pool.counts().exhausted, 1);
    }
}
