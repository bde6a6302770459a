//! Memory locking (mlock(2), mlockall(2)), and settings of glibc's heap that affect it.
//!
//! `mlockall(MCL_CURRENT)` faults in the whole binary and, with glibc's arenas, 64 MiB of address space per thread. In
//! one measurement it locked 141 MB although 0.2 MB were used. Measuring threads therefore lock only the ranges they
//! need.

use crate::Error;
use std::hint::black_box;

pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Locks the pages of `value`, so that they become and stay resident: mlock(2).
///
/// Locks apply to whole pages and do not nest, so `value` should not share pages with other data.
///
/// # Errors
/// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK is too low.
pub fn lock<T: ?Sized>(value: &T) -> Result<(), Error> {
    lock_addresses((&raw const *value).addr(), size_of_val(value))
}

/// Undoes [`lock`].
///
/// # Errors
/// `ENOMEM`: the range is not mapped.
pub fn unlock<T: ?Sized>(value: &T) -> Result<(), Error> {
    let start = (&raw const *value).addr();
    // SAFETY: munlock changes no memory, only what the kernel may page out.
    let rc = unsafe { libc::munlock(start as *const libc::c_void, size_of_val(value)) };
    if rc == 0 { Ok(()) } else { Err(Error::last("munlock", format!("{} bytes", size_of_val(value)))) }
}

/// Locks the pages of an address range, for example of code.
///
/// # Errors
/// `ENOMEM`: the range is not mapped, or RLIMIT_MEMLOCK is too low. `EPERM`: RLIMIT_MEMLOCK is 0.
pub fn lock_addresses(start: usize, bytes: usize) -> Result<(), Error> {
    // SAFETY: mlock changes no memory; a range that is not mapped is an error, not undefined.
    let rc = unsafe { libc::mlock(start as *const libc::c_void, bytes) };
    if rc == 0 { Ok(()) } else { Err(Error::last("mlock", format!("{bytes} bytes"))) }
}

/// Makes glibc use one heap for all threads (mallopt(3), M_ARENA_MAX). Otherwise each thread that allocates reserves 64
/// MiB of address space and touches several hundred KiB. No effect with other C libraries.
pub fn one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes a setting of the allocator; a refusal leaves the default.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Stops glibc's heap from returning memory to the kernel and from mapping large blocks separately, so that memory
/// stays resident after its first use (mallopt(3), M_TRIM_THRESHOLD and M_MMAP_MAX). No effect with other C libraries.
pub fn keep_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes settings of the allocator; a refusal leaves the defaults.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
}

/// Locks all current and future pages of the process (mlockall(2), MCL_CURRENT and MCL_FUTURE). Stacks of future
/// threads become fully resident. Meant for programs that are entirely real-time. Call [`one_heap`] first.
///
/// # Errors
/// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK is too low and the process lacks CAP_IPC_LOCK.
pub fn lock_all() -> Result<(), Error> {
    // SAFETY: changes what the kernel may page out, no memory.
    let rc = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if rc == 0 { Ok(()) } else { Err(Error::last("mlockall", "all memory")) }
}

const STACK: usize = 32 * 1024;

/// Locks the 32 KiB of stack below the caller. The calling thread's real-time code must not use more than that.
///
/// # Errors
/// See [`lock`].
#[inline(never)]
pub fn lock_stack() -> Result<(), Error> {
    let room = [0u8; STACK];
    lock(black_box(&room))
}

/// Touches the 32 KiB of stack below the caller so that they become resident. For processes that may not lock memory.
#[inline(never)]
pub fn touch_stack() {
    black_box(&[1u8; STACK]);
}

/// Locks the writable data of the executable (`.data`, `.bss`) and returns its size in bytes. System call wrappers may
/// use this data, and it may hold the vDSO pointer.
///
/// # Errors
/// See [`lock`]; it also fails if /proc/self/maps cannot be read.
pub fn lock_program_data() -> Result<usize, Error> {
    let fail = |source| Error { call: "read", on: "/proc/self/maps".into(), source };
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(fail)?;
    let exe = std::fs::read_link("/proc/self/exe").map_err(fail)?;
    let mut locked = 0;
    for (start, end) in maps.lines().filter_map(|line| data_range(line, &exe.to_string_lossy())) {
        lock_addresses(start, end - start)?;
        locked += end - start;
    }
    Ok(locked)
}

/// Parses a line of /proc/self/maps. Returns the start and end address if the line is a private writable mapping of
/// `exe`.
fn data_range(line: &str, exe: &str) -> Option<(usize, usize)> {
    let (range, rest) = line.split_once(' ')?;
    if !rest.starts_with("rw-p") || !rest.ends_with(exe) {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_be_locked_and_unlocked() {
        let page = vec![0u8; page_size()];
        // Fails if RLIMIT_MEMLOCK is less than this page and the stack.
        let Ok(()) = lock(&page[..]).and_then(|()| lock_stack()) else {
            return assert!(rustix::process::getrlimit(rustix::process::Resource::Memlock).current.is_some());
        };
        unlock(&page[..]).unwrap();
        touch_stack();
    }

    #[test]
    fn what_is_not_mapped_is_an_error() {
        assert!(lock_addresses(0, 1).is_err());
    }

    #[test]
    fn only_our_writable_data_counts() {
        let line = "006a5000-006a8000 rw-p 002a5000 fe:00 123    /usr/bin/punctual";
        assert_eq!(data_range(line, "/usr/bin/punctual"), Some((0x6a5000, 0x6a8000)));
        assert_eq!(data_range(&line.replace("rw-p", "r-xp"), "/usr/bin/punctual"), None);
        assert_eq!(data_range(line, "/usr/bin/other"), None);
        assert_eq!(data_range("rubbish", "/usr/bin/other"), None);
    }
}
