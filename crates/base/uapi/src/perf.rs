//! Kernel events of other threads, and the ring buffers to which the kernel writes them: perf_event_open(2).

use crate::Error;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// struct perf_event_attr of include/uapi/linux/perf_event.h as of Linux 4.8 (PERF_ATTR_SIZE_VER5, 112 bytes).
///
/// `flags` contains the bit field that follows `read_format`, from its lowest bit: disabled, inherit, …
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfAttr {
    pub kind: u32,
    /// Size of this structure in bytes; set by [`PerfEvent::open`].
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    /// Number of events until a wakeup; with the flag `watermark`, the number of bytes instead.
    pub wakeup: u32,
    pub bp_type: u32,
    /// Extension of `config`; for a breakpoint, its address (`bp_addr`).
    pub config1: u64,
    /// Extension of `config1`; for a breakpoint, its length (`bp_len`).
    pub config2: u64,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clockid: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub reserved: u16,
}

// _IO('$', n) of include/uapi/linux/perf_event.h.
const ENABLE: libc::Ioctl = 0x2400u32 as libc::Ioctl;
const DISABLE: libc::Ioctl = 0x2401u32 as libc::Ioctl;
const SET_OUTPUT: libc::Ioctl = 0x2405u32 as libc::Ioctl;
/// _IOW('$', 6, char *)
const SET_FILTER: libc::Ioctl = (0x4000_2406u32 | (size_of::<usize>() as u32) << 16) as libc::Ioctl;
const FD_CLOEXEC: u64 = 8;

/// An event of one thread or CPU. The observation ends when the value is dropped or this process ends.
#[derive(Debug)]
pub struct PerfEvent(OwnedFd);

impl PerfEvent {
    /// Opens an event of the thread `tid` (−1: all threads) while it runs on `cpu` (−1: any CPU).
    ///
    /// # Errors
    /// `EACCES`, `EPERM`: the process lacks CAP_PERFMON and kernel.perf_event_paranoid is too high. `ESRCH`: there is
    /// no such thread. `ENOENT`, `EINVAL`, `EOPNOTSUPP`: this kernel does not support the event. `EMFILE`: too many
    /// open files. `ENOSPC`: no breakpoint is free.
    pub fn open(attr: &PerfAttr, tid: i32, cpu: i32) -> Result<PerfEvent, Error> {
        let attr = PerfAttr { size: size_of::<PerfAttr>() as u32, ..*attr };
        // SAFETY: the kernel reads `size` bytes of a live, initialised struct of that size. Of the kinds of events only
        // kprobes and uprobes (dynamic PMUs, from 6 up) take addresses in it for pointers of this process; they are
        // strings that the kernel copies, and reports an error if they cannot be read.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, tid, cpu, -1i32, FD_CLOEXEC) };
        if fd < 0 {
            return Err(Error::last("perf_event_open", format!("thread {tid}, CPU {cpu}")));
        }
        // SAFETY: a new descriptor that nothing else owns.
        Ok(PerfEvent(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Enables or disables the event, and the events that other threads inherited from it.
    ///
    /// # Errors
    /// Cannot fail for a valid event.
    pub fn enable(&self, is_on: bool) -> Result<(), Error> {
        self.ioctl("PERF_EVENT_IOC_ENABLE", if is_on { ENABLE } else { DISABLE }, 0)
    }

    /// Makes this event write its records to the ring buffer of `other`, an event on the same CPU.
    ///
    /// # Errors
    /// `EINVAL`: `other` is on another CPU or uses another clock.
    pub fn write_to(&self, other: &PerfEvent) -> Result<(), Error> {
        self.ioctl("PERF_EVENT_IOC_SET_OUTPUT", SET_OUTPUT, other.0.as_raw_fd() as usize)
    }

    /// Drops the records of a tracepoint whose fields the filter excludes (Documentation/trace/events.rst, "Event
    /// filtering"), also of threads that inherit the event.
    ///
    /// # Errors
    /// `EINVAL`: the filter is none of this event.
    pub fn set_filter(&self, filter: &CStr) -> Result<(), Error> {
        self.ioctl("PERF_EVENT_IOC_SET_FILTER", SET_FILTER, filter.as_ptr() as usize)
    }

    fn ioctl(&self, name: &'static str, request: libc::Ioctl, argument: usize) -> Result<(), Error> {
        // SAFETY: requests of this descriptor whose argument is a number, or the address of a string that the caller keeps.
        let rc = unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) };
        if rc == 0 { Ok(()) } else { Err(Error::last(name, "perf event")) }
    }

    /// Reads the values that `read_format` selects.
    ///
    /// # Errors
    /// See read(2); `EINVAL` if the kernel returned fewer than `N` values.
    pub fn read<const N: usize>(&self) -> Result<[u64; N], Error> {
        let mut bytes = [[0u8; 8]; N];
        let got = rustix::io::read(&self.0, bytes.as_flattened_mut())
            .map_err(|e| Error::from_errno("read", "perf event", e))?;
        match got == size_of_val(&bytes) {
            true => Ok(bytes.map(u64::from_ne_bytes)),
            false => Err(Error::from_errno("read", "perf event", rustix::io::Errno::INVAL)),
        }
    }
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Offset of `data_head` in struct perf_event_mmap_page; `TAIL` is the offset of `data_tail`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// Size in bytes of struct perf_event_header (type, misc, size).
const HEADER: usize = 8;

/// Ring buffer of an event, and of other events that write to it.
#[derive(Debug)]
pub struct PerfRing {
    start: NonNull<u8>,
    page: usize,
    /// Size of the data area in bytes, a power of two.
    size: usize,
    record: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for PerfRing {}

impl PerfRing {
    /// Maps a buffer of `size` bytes, rounded up to a power-of-two number of pages.
    ///
    /// # Errors
    /// `EPERM`: the size exceeds kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK. `EINVAL`: the event is inherited and
    /// not limited to one CPU.
    pub fn map(event: &PerfEvent, size: usize) -> Result<PerfRing, Error> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let page = crate::page_size();
        let size = size.max(page).next_power_of_two();
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address the kernel chooses; nothing else refers to it.
        let start = unsafe { mmap(std::ptr::null_mut(), page + size, prot, flags, &event.0, 0) }
            .map_err(|e| Error::from_errno("mmap", format!("perf ring buffer of {size} bytes"), e))?;
        let start = NonNull::new(start.cast()).ok_or_else(|| Error::last("mmap", "perf ring buffer"))?;
        Ok(PerfRing { start, page, size, record: Vec::new() })
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the first page of the mapping, which lives as long as self; aligned; the kernel writes it as a
        // whole.
        unsafe { &*self.start.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// Passes each unread record to `each` and frees its space. Returns the share of the buffer that was filled, 0–1.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8])) -> f64 {
        let head = self.word(HEAD).load(Acquire);
        let mut tail = self.word(TAIL).load(Relaxed);
        let filled = head.wrapping_sub(tail) as f64 / self.size as f64;
        while tail != head {
            let mut header = [0; HEADER];
            self.copy(tail, &mut header);
            let length = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if length < HEADER || length as u64 > head.wrapping_sub(tail) {
                // The kernel did not write this record.
                tail = head;
                break;
            }
            let mut record = std::mem::take(&mut self.record);
            record.resize(length, 0);
            self.copy(tail, &mut record);
            each(&record);
            self.record = record;
            tail = tail.wrapping_add(length as u64);
            self.word(TAIL).store(tail, Release);
        }
        self.word(TAIL).store(tail, Release);
        filled
    }

    /// Copies the bytes at position `at` to `to`; they may wrap around the end of the buffer.
    fn copy(&self, at: u64, to: &mut [u8]) {
        let at = (at as usize) & (self.size - 1);
        let first = to.len().min(self.size - at);
        // SAFETY: the data follows the first page and has `size` bytes; both parts lie within it, and `to` is memory of
        // ours. The kernel does not write between tail and head.
        unsafe {
            let data = self.start.as_ptr().add(self.page);
            std::ptr::copy_nonoverlapping(data.add(at), to.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, to.as_mut_ptr().add(first), to.len() - first);
        }
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; no reference to it outlives self. munmap of a valid range cannot
        // fail in a way that could be handled here.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.page + self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_the_kernels() {
        assert_eq!(size_of::<PerfAttr>(), 112);
    }

    #[test]
    fn an_unknown_event_is_refused() {
        let attr = PerfAttr { kind: 12345, ..PerfAttr::default() };
        assert!(PerfEvent::open(&attr, 0, -1).is_err());
    }
}
