//! Writes marks of a program into the kernel's trace.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, write};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

/// Files through which marks are written, at both mount points of tracefs (Documentation/trace/ftrace.rst). Accessing
/// the second one mounts it.
const PLACES: [&str; 2] = ["/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker"];

/// Prefix of every mark.
const PREFIX: &[u8] = b"punctual: ";
/// Maximum length of a name, bytes; the rest is cut off.
const MAX_NAME: usize = 64;
/// Maximum number of decimal digits of a `u64`.
const MAX_DIGITS: usize = 20;
/// Maximum length of a mark: prefix, name, space, number, newline; bytes.
const MAX_LINE: usize = PREFIX.len() + MAX_NAME + 1 + MAX_DIGITS + 1;

/// Writes marks into the kernel's trace, between its scheduler events: a line `punctual: NAME` or `punctual: NAME
/// VALUE` in `trace_marker`, which trace readers show as `tracing_mark_write` (Documentation/trace/ftrace.rst).
///
/// Open it before the real-time part. A mark is one write(2), without allocation. If marks cannot be written (no
/// tracefs, no permission, tracing is off), the program runs nevertheless: the marks are only counted, and
/// [`Marks::problem`] returns the reason.
///
/// ```
/// use punctual_rt::Marks;
/// let marks = Marks::open();
/// marks.mark("setpoint");
/// marks.mark_value("queued", 3);
/// if let Some(problem) = marks.problem() {
///     eprintln!("{problem}");
/// }
/// assert_eq!(marks.counts().written + marks.counts().failed, 2);
/// ```
#[derive(Debug)]
pub struct Marks {
    file: Result<OwnedFd, String>,
    written: AtomicU64,
    failed: AtomicU64,
    /// The errno of the last write that failed, or 0.
    errno: AtomicI32,
}

/// Counters of [`Marks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkCounts {
    /// Number of marks written to the trace.
    pub written: u64,
    /// Number of marks that could not be written.
    pub failed: u64,
}

impl Marks {
    /// Opens the kernel's trace_marker. This needs a mounted tracefs and permission to write to the file, which only
    /// root has by default; without these, marks are only counted.
    pub fn open() -> Marks {
        let opened = PLACES.map(|place| opened(Path::new(place)));
        // If neither can be opened, reports the error of the first one.
        let [first, second] = opened;
        Marks::from(first.or_else(|error| second.map_err(|_| error)).map_err(|e| refused(PLACES[0], e)))
    }

    /// Opens another file, for example the trace_marker of an instance: /sys/kernel/tracing/instances/NAME/trace_marker.
    pub fn open_at(path: &Path) -> Marks {
        Marks::from(opened(path).map_err(|errno| refused(&path.display().to_string(), errno)))
    }

    fn from(file: Result<OwnedFd, String>) -> Marks {
        Marks { file, written: AtomicU64::new(0), failed: AtomicU64::new(0), errno: AtomicI32::new(0) }
    }

    /// Writes `punctual: NAME` with one write(2). Any thread may call it, even a real-time thread. Returns false if the
    /// mark was not written.
    ///
    /// Each space and control character in the name becomes `_`, and so does an empty name. The name is cut after 64
    /// bytes.
    pub fn mark(&self, name: &str) -> bool {
        self.put(name, None)
    }

    /// Writes `punctual: NAME VALUE`, like [`Marks::mark`].
    pub fn mark_value(&self, name: &str, value: u64) -> bool {
        self.put(name, Some(value))
    }

    /// Says that the program is late: writes `punctual: late`, or `punctual: late NAME`, like [`Marks::mark`]. `punctual
    /// watch --app` then keeps and explains the events before it.
    pub fn late(&self, name: Option<&str>) -> bool {
        let mut line = [0; MAX_LINE];
        let length = said_late(&mut line, name);
        self.write(&line[..length])
    }

    fn put(&self, name: &str, value: Option<u64>) -> bool {
        let mut line = [0; MAX_LINE];
        let length = written(&mut line, name, value);
        self.write(&line[..length])
    }

    fn write(&self, line: &[u8]) -> bool {
        let done = match &self.file {
            Ok(file) => write(file, line).map_err(|errno| self.errno.store(errno.raw_os_error(), Relaxed)),
            Err(_) => Err(()),
        };
        let counter = if done.is_ok() { &self.written } else { &self.failed };
        counter.fetch_add(1, Relaxed);
        done.is_ok()
    }

    /// Returns the current counters.
    pub fn counts(&self) -> MarkCounts {
        MarkCounts { written: self.written.load(Relaxed), failed: self.failed.load(Relaxed) }
    }

    /// Returns why marks are not in the trace and what to do about it; `None` if all of them are. Allocates, so it is
    /// for ordinary threads only.
    pub fn problem(&self) -> Option<String> {
        if let Err(text) = &self.file {
            return Some(text.clone());
        }
        let (MarkCounts { written, failed }, errno) = (self.counts(), self.errno.load(Relaxed));
        let errno = (errno != 0).then(|| Errno::from_raw_os_error(errno))?;
        let remedy = match errno {
            Errno::BADF => "; tracing is off: echo 1 > /sys/kernel/tracing/tracing_on",
            Errno::INVAL => "; the option `markers` is off: echo 1 > /sys/kernel/tracing/options/markers",
            _ => "",
        };
        Some(format!("{failed} of {} marks are not in the trace: write: {errno}{remedy}", written + failed))
    }
}

fn opened(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
}

fn refused(path: &str, errno: Errno) -> String {
    let remedy = match errno {
        Errno::NOENT => "; mount tracefs: mount -t tracefs nodev /sys/kernel/tracing",
        Errno::ACCESS | Errno::PERM => {
            "; run as root, or give your group write access: mount -o remount,gid=GROUP /sys/kernel/tracing"
        }
        _ => "",
    };
    format!("marks are not written, only counted: {path}: {errno}{remedy}")
}

/// Writes the line of a mark and returns its length.
fn written(line: &mut [u8; MAX_LINE], name: &str, value: Option<u64>) -> usize {
    let mut digits = [0; MAX_DIGITS];
    let digits = value.map_or(&[][..], |value| decimal(value, &mut digits));
    let space = if value.is_some() { &b" "[..] } else { b"" };
    assembled(line, b"", name, &[space, digits].map(<[u8]>::iter))
}

/// Writes `punctual: late` or `punctual: late NAME` and returns its length.
fn said_late(line: &mut [u8; MAX_LINE], name: Option<&str>) -> usize {
    match name {
        Some(name) => assembled(line, b"late ", name, &[]),
        None => written(line, "late", None),
    }
}

/// Writes prefix, `before`, name, `after` and the end of the line. Returns the length.
fn assembled(line: &mut [u8; MAX_LINE], before: &[u8], name: &str, after: &[std::slice::Iter<'_, u8>]) -> usize {
    let word = |byte: u8| if byte.is_ascii_control() || byte == b' ' { b'_' } else { byte };
    let name = cut(if name.is_empty() { "_" } else { name }).bytes().map(word);
    let after = after.iter().flat_map(|part| part.clone().copied());
    let bytes = PREFIX.iter().chain(before).copied().chain(name).chain(after).chain([b'\n']);
    // The parts are as long as MAX_LINE allows.
    line.iter_mut().zip(bytes).map(|(place, byte)| *place = byte).count()
}

/// Returns at most the first [`MAX_NAME`] bytes of `name`, cut between characters.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}

fn decimal(mut value: u64, digits: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut begin = MAX_DIGITS;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        (value, begin) = (value / 10, begin - 1);
        if value == 0 {
            break;
        }
    }
    &digits[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn line(name: &str, value: Option<u64>) -> String {
        let mut line = [0; MAX_LINE];
        let length = written(&mut line, name, value);
        std::str::from_utf8(&line[..length]).unwrap().to_owned()
    }

    #[test]
    fn a_mark_is_one_line_of_two_or_three_words() {
        assert_eq!(line("setpoint", None), "punctual: setpoint\n");
        assert_eq!(line("queued", Some(0)), "punctual: queued 0\n");
        assert_eq!(line("Zähler", Some(u64::MAX)), "punctual: Zähler 18446744073709551615\n");
        assert_eq!(line("a b\nc\t", Some(40)), "punctual: a_b_c_ 40\n");
        assert_eq!(line("", Some(1)), "punctual: _ 1\n");
        let late = |name| {
            let mut line = [0; MAX_LINE];
            let length = said_late(&mut line, name);
            std::str::from_utf8(&line[..length]).unwrap().to_owned()
        };
        assert_eq!(late(None), "punctual: late\n");
        assert_eq!(late(Some("axis 2")), "punctual: late axis_2\n");
        assert_eq!(late(Some(&"x".repeat(200))).len(), PREFIX.len() + 5 + MAX_NAME + 1);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(line(&"x".repeat(200), Some(u64::MAX)).len(), MAX_LINE);
        for before in 60..65 {
            let name = format!("{}ßßß", "x".repeat(before));
            let written = line(&name, None);
            let kept = written.strip_prefix("punctual: ").unwrap().trim_end();
            assert!(name.starts_with(kept) && (63..=64).contains(&kept.len()), "{written}");
        }
    }

    #[test]
    fn marks_are_written_in_order_without_allocation() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let marks = Marks::open_at(file.path());
        let allocated = allocation_counter::measure(|| {
            assert!(marks.mark("begin") && marks.mark_value("step", 7) && marks.late(None) && marks.late(Some("x")));
        });
        assert_eq!(allocated.count_total, 0);
        let lines = "punctual: begin\npunctual: step 7\npunctual: late\npunctual: late x\n";
        assert_eq!(fs::read_to_string(file.path()).unwrap(), lines);
        assert_eq!((marks.counts(), marks.problem()), (MarkCounts { written: 4, failed: 0 }, None));
    }

    #[test]
    fn marks_that_cannot_be_written_are_counted_and_said() {
        let missing = Marks::open_at(Path::new("/nonexistent/trace_marker"));
        let allocated = allocation_counter::measure(|| assert!(!missing.mark("a") && !missing.mark_value("b", 1)));
        assert_eq!((allocated.count_total, missing.counts()), (0, MarkCounts { written: 0, failed: 2 }));
        assert_eq!(
            missing.problem().unwrap(),
            "marks are not written, only counted: /nonexistent/trace_marker: No such file or directory (os error 2); mount \
             tracefs: mount -t tracefs nodev /sys/kernel/tracing"
        );
        let full = Marks::open_at(Path::new("/dev/full"));
        assert!(full.problem().is_none() && !full.mark("a"));
        assert_eq!(
            full.problem().unwrap(),
            "1 of 1 marks are not in the trace: write: No space left on device (os error 28)"
        );
    }
}
