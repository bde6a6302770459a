//! Pipes of lines between a real-time thread and the shell.

use crate::boundary::{bytes, copy_out, guard, put, shared, take, text, wanted};
use crate::queue::{capacity_failure, overflow};
use crate::status::{Failure, prt_status};
use punctual_rt::{Bridge, Line, Nanos, NotOpened, Overflow, PipeCounts, RtReceiver, RtSender, pipe, pipe_out};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};

/// Maximum length of a line in a pipe, bytes, without its newline.
pub const PRT_LINE_LONGEST: usize = 62;

/// Maximum number of lines waiting in a pipe.
pub const PRT_PIPE_MOST: usize = 4096;

/// A pipe for lines from the shell to a real-time thread: `echo d21 > /run/NAME`.
pub struct prt_pipe_in {
    /// The real-time end of the pipe, used only by the real-time thread.
    end: UnsafeCell<RtReceiver<Line>>,
    /// Eventfd that is readable when lines have arrived.
    fd: c_int,
    bridge: Bridge,
}

/// A pipe for lines from a real-time thread to the shell: `cat /run/NAME`.
pub struct prt_pipe_out {
    /// The real-time end of the pipe, used only by the real-time thread.
    end: UnsafeCell<RtSender<Line>>,
    bridge: Bridge,
}

/// Counters of a pipe.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_pipe_counts {
    /// Number of lines read from the FIFO and passed to the real-time side.
    pub received: u64,
    /// Number of lines from the real-time side that were written to the FIFO.
    pub sent: u64,
    /// Number of lines dropped because the ring was full.
    pub dropped: u64,
    /// Number of lines returned to the real-time sender because the ring was full.
    pub refused: u64,
    /// Number of lines longer than PRT_LINE_LONGEST.
    pub malformed: u64,
}

fn counts(bridge: &Bridge) -> prt_pipe_counts {
    let PipeCounts { received, sent, dropped, refused, malformed } = bridge.counts();
    prt_pipe_counts { received, sent, dropped, refused, malformed }
}

/// Calls a function whose capacity is a const parameter, with `$capacity` rounded up to a supported capacity.
macro_rules! with_capacity {
    ($capacity:expr, $function:ident, $at:expr, $overflow:expr) => {
        match $capacity {
            1..=16 => Ok($function::<Line, 16>($at, $overflow)),
            17..=64 => Ok($function::<Line, 64>($at, $overflow)),
            65..=256 => Ok($function::<Line, 256>($at, $overflow)),
            257..=1024 => Ok($function::<Line, 1024>($at, $overflow)),
            1025..=PRT_PIPE_MOST => Ok($function::<Line, PRT_PIPE_MOST>($at, $overflow)),
            other => {
                let text = format!("a pipe of {other} lines is not supported: give 1 to {PRT_PIPE_MOST}");
                Err(Failure::written(prt_status::Invalid, text))
            }
        }
    };
}

fn open_in(at: &str, capacity: usize, overflow: Overflow) -> Result<prt_pipe_in, Failure> {
    let (end, bridge) = with_capacity!(capacity, pipe, at, overflow)?.map_err(not_opened)?;
    Ok(prt_pipe_in { fd: end.as_fd().as_raw_fd(), end: UnsafeCell::new(end), bridge })
}

fn open_out(at: &str, capacity: usize, overflow: Overflow) -> Result<prt_pipe_out, Failure> {
    let (end, bridge) = with_capacity!(capacity, pipe_out, at, overflow)?.map_err(not_opened)?;
    Ok(prt_pipe_out { end: UnsafeCell::new(end), bridge })
}

fn not_opened(error: NotOpened) -> Failure {
    match error {
        NotOpened::Capacity(error) => capacity_failure(error),
        other => Failure::written(prt_status::Refused, other),
    }
}

/// Opens a pipe from the shell. `at` without a slash is a name under /run, otherwise it is a path. If the FIFO does not
/// exist, it is created, and removed by prt_pipe_in_free(). An existing FIFO is used and left in place; a FIFO used by
/// another running program is refused. The pipe holds at least `capacity` lines (16, 64, 256, 1024 or 4096). `overflow`
/// is one of enum prt_overflow; with PRT_OVERFLOW_REFUSE the FIFO's writers wait.
///
/// Threads: any non-real-time thread. Errors: PRT_STATUS_REFUSED; PRT_STATUS_INVALID for a capacity of 0 or beyond
/// PRT_PIPE_MOST, an unknown policy, or PRT_OVERFLOW_DROP_OLDEST; PRT_STATUS_NULL. Ownership: `*out` is the caller's
/// until prt_pipe_in_free(). Until then a thread under SCHED_OTHER transfers the lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_open(
    at: *const c_char,
    capacity: usize,
    overflow: c_int,
    out: *mut *mut prt_pipe_in,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string of the caller.
        let at = unsafe { text(at, c"at is NULL") }?;
        wanted(out, c"out is NULL")?;
        let pipe = open_in(at, capacity, self::overflow(overflow)?)?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(pipe)), c"out is NULL") }
    })
}

/// Opens a pipe to the shell; the arguments are those of prt_pipe_in_open(). While no program reads the FIFO, it holds
/// up to 64 KiB of text, and further lines wait in the ring; when the ring is full, `overflow` applies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_out_open(
    at: *const c_char,
    capacity: usize,
    overflow: c_int,
    out: *mut *mut prt_pipe_out,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string of the caller.
        let at = unsafe { text(at, c"at is NULL") }?;
        wanted(out, c"out is NULL")?;
        let pipe = open_out(at, capacity, self::overflow(overflow)?)?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(pipe)), c"out is NULL") }
    })
}

/// Takes the oldest line and copies it to the buffer `line`, without its newline and with a terminating NUL byte.
/// `size` is the size of the buffer, at least PRT_LINE_LONGEST + 1.
///
/// Threads: only one, the receiver. Real-time: wait-free, no system call.
/// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for a smaller buffer; PRT_STATUS_NULL. `*length` receives the length of
/// the line, which may contain NUL bytes; `length` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_receive(
    pipe: *const prt_pipe_in,
    line: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    const EMPTY: Failure = Failure::fixed(prt_status::Empty, c"the pipe is empty");
    // SAFETY: as this function's caller promises.
    guard(|| unsafe { receive(pipe, [line.cast(), length.cast()], size, |end| end.receive().ok_or(EMPTY)) })
}

/// Like prt_pipe_in_receive(), but sleeps until there is a line, at most until `until_ns` on CLOCK_MONOTONIC.
///
/// Threads: only one, the receiver. Real-time: poll(2) and read(2) on an eventfd; blocks.
/// Errors: as for prt_pipe_in_receive(), but PRT_STATUS_TIMED_OUT instead of PRT_STATUS_EMPTY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_receive_until(
    pipe: *const prt_pipe_in,
    until_ns: u64,
    line: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    const LATE: Failure = Failure::fixed(prt_status::TimedOut, c"no line came before the time limit");
    let until = Nanos(until_ns.min(i64::MAX as u64));
    guard(|| {
        let wait = |end: &mut RtReceiver<Line>| end.receive_until(until).map_err(|_| LATE);
        // SAFETY: as this function's caller promises.
        unsafe { receive(pipe, [line.cast(), length.cast()], size, wait) }
    })
}

/// Takes a line by calling `how`, copies it to `line`, and stores its length in `length` if that is not NULL.
///
/// # Safety
/// `pipe` is NULL or live, and the caller is its only receiver; `line` is NULL or valid for writing `size` bytes;
/// `length` is NULL or valid for writing a usize.
unsafe fn receive(
    pipe: *const prt_pipe_in,
    [line, length]: [*mut c_void; 2],
    size: usize,
    how: impl FnOnce(&mut RtReceiver<Line>) -> Result<Line, Failure>,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let pipe = unsafe { shared(pipe, c"pipe is NULL") }?;
    wanted(line, c"line is NULL")?;
    if size <= PRT_LINE_LONGEST {
        return Err(Failure::fixed(prt_status::Invalid, c"size is less than PRT_LINE_LONGEST + 1"));
    }
    // SAFETY: the caller is the only receiver, and nobody else touches this end.
    let got = how(unsafe { &mut *pipe.end.get() })?;
    let mut whole = [0; PRT_LINE_LONGEST + 1];
    let bytes = got.as_bytes();
    whole[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: not NULL, and room for more than this.
    unsafe { copy_out(&whole[..=bytes.len()], line, c"line is NULL") }?;
    if length.is_null() {
        return Ok(());
    }
    // SAFETY: not NULL, and a place for a usize.
    unsafe { put(length.cast(), bytes.len(), c"length is NULL") }
}

/// Returns the eventfd that is readable when lines have arrived, for poll(2) together with other descriptors; −1 if
/// `pipe` is NULL. To wait: call prt_pipe_in_clear(), then prt_pipe_in_receive() until the pipe is empty, then poll(2).
///
/// Threads: any.
/// Ownership: the descriptor belongs to the pipe; do not close it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_fd(pipe: *const prt_pipe_in) -> c_int {
    // SAFETY: NULL or a live handle.
    unsafe { shared(pipe, c"pipe is NULL") }.map_or(-1, |pipe| pipe.fd)
}

/// Makes the eventfd unreadable until the next line arrives.
///
/// Threads: the receiver. Real-time: read(2).
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_clear(pipe: *const prt_pipe_in) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let pipe = unsafe { shared(pipe, c"pipe is NULL") }?;
        // SAFETY: the caller is the only receiver.
        unsafe { &*pipe.end.get() }.clear();
        Ok(())
    })
}

/// Queues the `length` bytes at `line`, which contain no newline, for the thread that writes to the FIFO.
///
/// Threads: only one, the sender. Real-time: wait-free; write(2) to an eventfd if that thread sleeps. Errors:
/// PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for more than PRT_LINE_LONGEST bytes, or a newline
/// among them; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_out_send(pipe: *const prt_pipe_out, line: *const c_char, length: usize) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let pipe = unsafe { shared(pipe, c"pipe is NULL") }?;
        // SAFETY: NULL, or the caller has that many bytes there.
        let text = unsafe { bytes(line.cast(), length, c"line is NULL") }?;
        let wrong =
            Failure::fixed(prt_status::Invalid, c"a line must have at most 62 bytes and must not contain a newline");
        let line = Line::new(text).ok_or(wrong)?;
        let full = Failure::fixed(prt_status::Full, c"the pipe is full: its reader is slower than its writer");
        // SAFETY: the caller is the only sender, and nobody else touches this end.
        unsafe { &mut *pipe.end.get() }.send(line).map_err(|_| full)
    })
}

/// Reads the counters of the pipe.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_counts(pipe: *const prt_pipe_in, out: *mut prt_pipe_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let pipe = unsafe { shared(pipe, c"pipe is NULL") }?;
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, counts(&pipe.bridge), c"out is NULL") }
    })
}

/// Reads the counters of the pipe.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_out_counts(pipe: *const prt_pipe_out, out: *mut prt_pipe_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let pipe = unsafe { shared(pipe, c"pipe is NULL") }?;
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, counts(&pipe.bridge), c"out is NULL") }
    })
}

/// Closes the pipe, and removes its FIFO if prt_pipe_in_open() created it. NULL is ignored.
///
/// Threads: any non-real-time thread, after the receiver has ended. Waits for the thread that transfers the lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_in_free(pipe: *mut prt_pipe_in) {
    guard(|| {
        // SAFETY: NULL or the caller's handle, not used any more.
        drop(unsafe { take(pipe) });
        Ok(())
    });
}

/// Closes the pipe: writes the remaining lines that fit, and removes its FIFO if prt_pipe_out_open() created it. NULL
/// is ignored.
///
/// Threads: any non-real-time thread, after the sender has ended. Waits for the thread that transfers the lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pipe_out_free(pipe: *mut prt_pipe_out) {
    guard(|| {
        // SAFETY: NULL or the caller's handle, not used any more.
        drop(unsafe { take(pipe) });
        Ok(())
    });
}
