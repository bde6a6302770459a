//! Writes marks of a program into the kernel's trace.

use crate::boundary::{guard, put, shared, take, wanted};
use crate::status::{Failure, prt_status};
use punctual_rt::{MarkCounts, Marks};
use std::ffi::{CStr, c_char, c_int};

/// Writes marks into the kernel's trace, between its scheduler events: lines `punctual: NAME` or `punctual: NAME VALUE`
/// in trace_marker (Documentation/trace/ftrace.rst). Marks that cannot be written are only counted.
pub struct prt_marks(Marks);

/// Counters of marks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_mark_counts {
    /// Number of marks written to the trace.
    pub written: u64,
    /// Number of marks that could not be written.
    pub failed: u64,
}

/// Opens the kernel's trace_marker. This needs a mounted tracefs and permission to write to the file, which only root
/// has by default.
///
/// Threads: a non-real-time thread, before the real-time part.
/// Errors: PRT_STATUS_REFUSED, with the reason, if the file cannot be opened: `*out` is set nevertheless, and its marks
/// are only counted. PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_marks_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_marks_open(out: *mut *mut prt_marks) -> c_int {
    guard(|| {
        wanted(out, c"out is NULL")?;
        let marks = Marks::open();
        let problem = marks.problem();
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt_marks(marks))), c"out is NULL") }?;
        problem.map_or(Ok(()), |text| Err(Failure::written(prt_status::Refused, text)))
    })
}

/// Writes `punctual: NAME` into the trace. Each space and control character in the name becomes `_`, and the name is
/// cut after 64 bytes.
///
/// Threads: any. Real-time: one write(2), or none if trace_marker is not open.
/// Errors: PRT_STATUS_REFUSED if the mark was not written, which is counted; PRT_STATUS_INVALID if the name is not
/// UTF-8; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mark(marks: *const prt_marks, name: *const c_char) -> c_int {
    // SAFETY: as this function's caller promises.
    guard(|| unsafe { mark(marks, name, Marks::mark) })
}

/// Like prt_mark(), but writes `punctual: NAME VALUE`.
///
/// Threads: any. Real-time: one write(2), or none if trace_marker is not open.
/// Errors: as for prt_mark().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mark_value(marks: *const prt_marks, name: *const c_char, value: u64) -> c_int {
    // SAFETY: as this function's caller promises.
    guard(|| unsafe { mark(marks, name, |marks, name| marks.mark_value(name, value)) })
}

/// Says that the program is late: writes `punctual: late`, or with a name `punctual: late NAME`. `punctual watch --app`
/// then keeps and explains the events before it. `name` may be NULL.
///
/// Threads: any. Real-time: one write(2), or none if trace_marker is not open. Errors: as for prt_mark(), but a NULL
/// name is not an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_late(marks: *const prt_marks, name: *const c_char) -> c_int {
    if name.is_null() {
        // SAFETY: as this function's caller promises; the name is a C string.
        return guard(|| unsafe { mark(marks, c"late".as_ptr(), |marks, _| marks.late(None)) });
    }
    // SAFETY: as this function's caller promises.
    guard(|| unsafe { mark(marks, name, |marks, name| marks.late(Some(name))) })
}

/// # Safety
/// `marks` is NULL or a live handle; `name` is NULL or a C string.
unsafe fn mark(
    marks: *const prt_marks,
    name: *const c_char,
    write: impl Fn(&Marks, &str) -> bool,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises; it is changed by atomic operations only.
    let marks = unsafe { shared(marks, c"marks is NULL") }?;
    // SAFETY: as the caller promises.
    let name = unsafe { text(name, c"name is NULL") }?;
    if write(&marks.0, name) {
        return Ok(());
    }
    Err(Failure::fixed(prt_status::Refused, c"the mark is not in the trace: prt_marks_check() returns the reason"))
}

/// Returns a C string as UTF-8. For real-time functions: the text of an error is fixed, not formatted.
///
/// # Safety
/// `pointer` is NULL, or the string ends with a NUL byte and is not changed while the text is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, null: &'static CStr) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::fixed(prt_status::Null, null));
    }
    // SAFETY: not NULL, and the caller promises the rest.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|_| Failure::fixed(prt_status::Invalid, c"the text is not UTF-8: pass UTF-8 text"))
}

/// Returns PRT_STATUS_REFUSED if a mark is not in the trace; prt_last_error() then returns the reason and what to do.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_REFUSED, PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_marks_check(marks: *const prt_marks) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let marks = unsafe { shared(marks, c"marks is NULL") }?;
        marks.0.problem().map_or(Ok(()), |text| Err(Failure::written(prt_status::Refused, text)))
    })
}

/// Reads the counters.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_marks_counts(marks: *const prt_marks, out: *mut prt_mark_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let MarkCounts { written, failed } = unsafe { shared(marks, c"marks is NULL") }?.0.counts();
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, prt_mark_counts { written, failed }, c"out is NULL") }
    })
}

/// Closes trace_marker. NULL is ignored.
///
/// Threads: any non-real-time thread, after the last mark.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_marks_free(marks: *mut prt_marks) {
    // SAFETY: NULL or the caller's handle, from prt_marks_open, not used any more.
    drop(unsafe { take(marks) });
}
