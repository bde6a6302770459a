//! The interface through which all other code reads a machine.

/// Largest file that [`Machine::read`] returns, bytes. `/proc/config.gz` has 0.3 MB, `/proc/cpuinfo` of 256 CPUs 0.4
/// MB.
pub const READ_LIMIT: usize = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    Known(Vec<u8>),
    /// The file does not exist (ENOENT, ENOTDIR).
    Absent,
    /// Reading was refused (EACCES, EPERM): permissions, lockdown or a security module.
    Denied,
    /// Any other errno: EFBIG if larger than [`READ_LIMIT`], EISDIR for a directory, ENXIO for a device, fifo or socket
    /// (these are never opened).
    Failed(i32),
    /// The file was not among those that were given ([`crate::Given`]); the machine may have it.
    NotGiven,
}

impl Read {
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Read::Known(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the text without surrounding white space and NULs (device-tree strings end in one); `None` also if it is
    /// not UTF-8.
    pub fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.bytes()?).ok()?;
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0'))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Names in the folder, sorted bytewise, without `.` and `..`.
    Known(Vec<String>),
    Absent,
    Denied,
    Failed(i32),
    /// See [`Read::NotGiven`].
    NotGiven,
}

impl Listing {
    pub fn names(&self) -> Option<&[String]> {
        match self {
            Listing::Known(names) => Some(names),
            _ => None,
        }
    }
}

/// The running machine, or a recording of one.
///
/// Paths are absolute (`/proc/version`); any other path gives `Failed(EINVAL)`. No call blocks on a fifo or device, and
/// none changes the machine.
pub trait Machine {
    /// Reads a whole file of at most [`READ_LIMIT`] bytes.
    fn read(&self, path: &str) -> Read;

    fn list(&self, folder: &str) -> Listing;

    /// Reads at most `length` bytes at `offset` of a file of any size: fewer at its end, none beyond it.
    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read;
}
