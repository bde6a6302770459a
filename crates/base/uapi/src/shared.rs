//! Counters shared between processes.

use crate::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// An array of 64-bit counters in a shared mapping of a memfd. Pass the descriptor to another process (for example as
/// its standard input) and map it there with [`SharedWords::from_fd`]. Each process sees the stores of the other.
///
/// See memfd_create(2) and mmap(2). The memfd is sealed against shrinking, so that neither process can make the other
/// fault.
#[derive(Debug)]
pub struct SharedWords {
    words: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping is only reached through &AtomicU64, which any thread may use.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Creates `count` zeroed words. The descriptor is close-on-exec unless it is passed on explicitly.
    ///
    /// # Errors
    /// See memfd_create(2), ftruncate(2), fcntl(2) and mmap(2).
    pub fn create(name: &str, count: usize) -> Result<(SharedWords, OwnedFd), Error> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Since Linux 6.3 a memfd should be marked non-executable, and must be with vm.memfd_noexec=2; older kernels
        // refuse the flag.
        let fd = memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| memfd_create(name, flags))
            .map_err(|e| Error::from_errno("memfd_create", name, e))?;
        ftruncate(&fd, bytes(count) as u64).map_err(|e| Error::from_errno("ftruncate", name, e))?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW).map_err(|e| Error::from_errno("fcntl", name, e))?;
        Ok((SharedWords::map(&fd, count)?, fd))
    }

    /// Maps `count` words created by [`SharedWords::create`] in another process.
    ///
    /// # Errors
    /// See fstat(2), fcntl(2) and mmap(2); `EINVAL` if the memfd holds fewer words or is not sealed against shrinking.
    pub fn from_fd(fd: impl AsFd, count: usize) -> Result<SharedWords, Error> {
        use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
        let on = "shared words";
        let size = fstat(&fd).map_err(|e| Error::from_errno("fstat", on, e))?.st_size;
        let seals = fcntl_get_seals(&fd).map_err(|e| Error::from_errno("fcntl", on, e))?;
        if (size as u64) < bytes(count) as u64 || !seals.contains(SealFlags::SHRINK) {
            return Err(Error::from_errno("mmap", on, rustix::io::Errno::INVAL));
        }
        SharedWords::map(fd, count)
    }

    fn map(fd: impl AsFd, count: usize) -> Result<SharedWords, Error> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address the kernel chooses; nothing else refers to it.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes(count), prot, flags, fd, 0) }
            .map_err(|e| Error::from_errno("mmap", "shared words", e))?;
        let words = NonNull::new(start.cast()).ok_or_else(|| Error::last("mmap", "shared words"))?;
        Ok(SharedWords { words, count })
    }

    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `count` aligned words, cannot shrink (sealed), lives as long as self, and zero is
        // a valid AtomicU64.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

fn bytes(count: usize) -> usize {
    count.max(1) * size_of::<AtomicU64>()
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; no reference to it outlives self. munmap of a valid range cannot
        // fail in a way that could be handled here.
        let _ = unsafe { rustix::mm::munmap(self.words.as_ptr().cast(), bytes(self.count)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn both_mappings_see_a_store() {
        let (mine, fd) = SharedWords::create("test", 600).unwrap();
        let theirs = SharedWords::from_fd(&fd, 600).unwrap();
        mine.words()[599].store(7, Relaxed);
        assert_eq!(theirs.words()[599].load(Relaxed), 7);
    }

    #[test]
    fn what_is_not_shared_words_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(SharedWords::from_fd(&file, 1).is_err());
        let (_mine, fd) = SharedWords::create("test", 1).unwrap();
        assert_eq!(SharedWords::from_fd(&fd, 100_000).unwrap_err().errno(), Some(libc::EINVAL));
    }
}
