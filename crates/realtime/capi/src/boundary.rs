//! Handling of C pointers and panics: NULL is an error, and a panic does not cross the boundary.

use crate::status::{Failure, Text, prt_status, remember};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work` and returns its status. If the library is built with unwinding panics, a panic also becomes a status.
#[inline]
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let status = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => prt_status::Ok,
        Ok(Err(failure)) => remember(failure),
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            let text =
                format!("a panic inside the library{said}; please report it, and name the function that was called");
            remember(Failure { status: prt_status::Panic, text: Text::Written(text) })
        }
    };
    status as c_int
}

/// Returns the error for a NULL pointer; `text` names the argument.
const fn null(text: &'static CStr) -> Failure {
    Failure::fixed(prt_status::Null, text)
}

/// Returns a shared reference to the value that `pointer` points to, or an error with `text` if it is NULL.
///
/// # Safety
/// `pointer` is NULL, or it points to a live `T` that is not changed while the reference is used, except through
/// interior mutability.
#[inline]
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, text: &'static CStr) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or(null(text))
}

/// Returns an exclusive reference to the value that `pointer` points to, or an error with `text` if it is NULL.
///
/// # Safety
/// `pointer` is NULL, or it points to a live `T` that nothing else uses while the reference exists.
#[inline]
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T, text: &'static CStr) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }.ok_or(null(text))
}

/// Writes `value` to `pointer` without dropping the old value. Returns an error with `text` if `pointer` is NULL.
///
/// # Safety
/// `pointer` is NULL, or valid for writing a `T`.
#[inline]
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T, text: &'static CStr) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(text));
    }
    // SAFETY: not NULL, and the caller promises the rest.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Returns an error with `text` if a result pointer is NULL. Called before anything is created that could then not be
/// returned.
pub(crate) fn wanted<T>(pointer: *mut T, text: &'static CStr) -> Result<(), Failure> {
    if pointer.is_null() { Err(null(text)) } else { Ok(()) }
}

/// Takes back ownership of a handle. Returns `None` if `pointer` is NULL.
///
/// # Safety
/// `pointer` is NULL, or it comes from [`Box::into_raw`] of a `T`, and is not used again.
pub(crate) unsafe fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: not NULL, and the caller promises the rest.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// Returns a C string as UTF-8, or an error if it is NULL or not UTF-8. `name` is the text of the error for NULL.
///
/// # Safety
/// `pointer` is NULL, or the string ends with a NUL byte and is not changed while the text is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &'static CStr) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, and the caller promises the rest.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|error| {
        Failure::written(prt_status::Invalid, format!("the text {bytes:?} is not UTF-8: {error}; pass UTF-8 text"))
    })
}

/// Returns the caller's bytes as a slice. `name` is the text of the error for NULL.
///
/// # Safety
/// `pointer` is NULL, or `size` bytes are readable there while the slice is used. NULL is not an error if `size` is 0.
#[inline]
pub(crate) unsafe fn bytes<'a>(pointer: *const c_void, size: usize, name: &'static CStr) -> Result<&'a [u8], Failure> {
    if size == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, bytes need no alignment, and the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), size) })
}

/// Copies `from` to the caller's buffer. `name` is the text of the error for NULL.
///
/// # Safety
/// `to` is NULL, or valid for writing `from.len()` bytes; it must not overlap with `from`.
#[inline]
pub(crate) unsafe fn copy_out(from: &[u8], to: *mut c_void, name: &'static CStr) -> Result<(), Failure> {
    if to.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, and the caller promises the rest.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), from.len()) };
    Ok(())
}

/// A pointer that the caller passes to its callback; the library does not use what it points to.
#[derive(Clone, Copy)]
pub(crate) struct Data(*mut c_void);

impl Data {
    pub(crate) fn new(pointer: *mut c_void) -> Data {
        Data(pointer)
    }

    #[inline]
    pub(crate) fn get(&self) -> *mut c_void {
        self.0
    }
}

// SAFETY: the library never dereferences the pointer; the functions that take it require that the callback may use it
// in another thread.
unsafe impl Send for Data {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::prt_last_error;

    fn last_error() -> String {
        // SAFETY: the thread's text, which ends with a NUL byte and stays until its next failure.
        unsafe { CStr::from_ptr(prt_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_status_with_what_it_said() {
        let what: [fn() -> Result<(), Failure>; 3] = [
            || panic!("said as it stands"),
            || panic!("said of {}", "a number"),
            || std::panic::resume_unwind(Box::new(7)),
        ];
        let texts = what.map(|work| {
            assert_eq!(guard(work), prt_status::Panic as c_int);
            last_error()
        });
        let [plain, formatted, other] = texts.each_ref().map(String::as_str);
        assert_eq!(
            plain,
            "a panic inside the library: said as it stands; please report it, and name the function that was called"
        );
        assert_eq!(
            formatted,
            "a panic inside the library: said of a number; please report it, and name the function that was called"
        );
        assert_eq!(other, "a panic inside the library; please report it, and name the function that was called");
    }

    #[test]
    fn a_thread_has_its_own_last_error() {
        assert_eq!(guard(|| Err(null(c"here"))), prt_status::Null as c_int);
        let elsewhere = std::thread::spawn(|| {
            assert_eq!(last_error(), "");
            guard(|| Err(Failure::written(prt_status::Refused, "a \0 in it")));
            last_error()
        });
        assert_eq!(elsewhere.join().unwrap(), "a ? in it");
        assert_eq!(guard(|| Ok(())), prt_status::Ok as c_int);
        assert_eq!(last_error(), "here");
    }
}
