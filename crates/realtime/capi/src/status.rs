//! Status codes, and the text of a thread's last error.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char};

/// Return value of the library's functions.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_status {
    /// Success.
    Ok = 0,
    /// A pointer is NULL where it must not be.
    Null = 1,
    /// An argument is out of range.
    Invalid = 2,
    /// A check that the program requires failed, or could not be made. The text is the report.
    NotReady = 3,
    /// The system refused: privilege, limits, files. The text states what was refused and what to do.
    Refused = 4,
    /// Nothing is available, for example in an empty queue or pipe.
    Empty = 5,
    /// There is no room in a queue, pipe or set. The value to be sent remains the caller's.
    Full = 6,
    /// The time limit passed.
    TimedOut = 7,
    /// The object is in use by another thread, for example a mutex that is held.
    Busy = 8,
    /// The wait would never end: the thread already holds the mutex, or a task waits for its own end.
    Deadlock = 9,
    /// The mutex's owner ended while holding it: see prt_mutex_lock().
    OwnerDied = 10,
    /// A panic inside the library, which is a bug in the library. The object of the call is in an unknown state.
    Panic = 11,
}

/// An error status with its text.
pub(crate) struct Failure {
    pub(crate) status: prt_status,
    pub(crate) text: Text,
}

/// Text of an error. A real-time function uses a fixed text, which costs nothing; only other functions format it.
pub(crate) enum Text {
    Fixed(&'static CStr),
    Written(String),
}

impl Failure {
    /// Creates a failure with a fixed text, for real-time functions.
    pub(crate) const fn fixed(status: prt_status, text: &'static CStr) -> Failure {
        Failure { status, text: Text::Fixed(text) }
    }

    /// Creates a failure with a formatted text, for functions that may allocate.
    pub(crate) fn written(status: prt_status, text: impl std::fmt::Display) -> Failure {
        Failure { status, text: Text::Written(text.to_string()) }
    }
}

thread_local! {
    static LAST: Cell<&'static CStr> = const { Cell::new(c"") };
    static IS_WRITTEN: Cell<bool> = const { Cell::new(false) };
    static WRITTEN: RefCell<CString> = RefCell::default();
}

/// Stores the failure as the last error of the calling thread, and returns its status.
pub(crate) fn remember(failure: Failure) -> prt_status {
    match failure.text {
        Text::Fixed(text) => {
            LAST.set(text);
            IS_WRITTEN.set(false);
        }
        Text::Written(text) => {
            let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
            // A thread that is ending can no longer store a text.
            let kept = WRITTEN.try_with(|written| written.replace(text)).is_ok();
            LAST.set(c"(the thread is ending: the text of the error is lost)");
            IS_WRITTEN.set(kept);
        }
    }
    failure.status
}

/// Touches the thread-local variables for errors, so that a real-time function is not the first to do so: in a shared
/// library the first access may allocate.
pub(crate) fn touch() {
    LAST.set(c"");
    IS_WRITTEN.set(false);
}

/// Returns the text of the calling thread's last failed call: what failed, on what, why, and what to do. Empty, and
/// never NULL, if no call has failed.
///
/// Threads: any; each has its own text. Real-time.
/// Ownership: the text belongs to the library and is valid until the calling thread's next failed call, or its end.
#[unsafe(no_mangle)]
pub extern "C" fn prt_last_error() -> *const c_char {
    let written = IS_WRITTEN.get().then(|| WRITTEN.try_with(|written| written.borrow().as_ptr()).ok()).flatten();
    written.unwrap_or(LAST.get().as_ptr())
}

/// Returns the name of a status, such as "timed out"; "unknown status" for any other number.
///
/// Threads: any. Real-time.
/// Ownership: the text belongs to the library and is always valid.
#[unsafe(no_mangle)]
pub extern "C" fn prt_status_name(status: i32) -> *const c_char {
    const NAMES: [&CStr; 12] = [
        c"ok",
        c"a pointer is NULL",
        c"an argument is out of range",
        c"the machine is not ready",
        c"refused by the system",
        c"empty",
        c"full",
        c"timed out",
        c"busy",
        c"deadlock",
        c"the owner died",
        c"panic",
    ];
    usize::try_from(status).ok().and_then(|n| NAMES.get(n)).unwrap_or(&c"unknown status").as_ptr()
}

/// Returns the library's version, such as "0.1.0".
///
/// Threads: any. Real-time.
/// Ownership: the text belongs to the library and is always valid.
#[unsafe(no_mangle)]
pub extern "C" fn prt_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
