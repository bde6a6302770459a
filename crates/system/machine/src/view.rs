//! The one way the rest of the program looks at a machine.

/// Largest file [`Machine::read`] returns, bytes. `/proc/config.gz` has 0.3 MB, `/proc/cpuinfo` of 256 CPUs 0.4 MB.
pub const READ_LIMIT: usize = 4 << 20;

/// What reading one file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// Its whole content.
    Known(Vec<u8>),
    /// There is no such file (ENOENT, ENOTDIR).
    Absent,
    /// The kernel refused (EACCES, EPERM): permission, lockdown, or a security module.
    Denied,
    /// Reading failed otherwise, with this errno: EFBIG when larger than [`READ_LIMIT`], EISDIR for a directory,
    /// ENXIO for a device, fifo or socket (these are never opened).
    Failed(i32),
    /// Nobody looked: only some of the machine's files were given, and this is none of them ([`crate::Given`]). Says
    /// nothing about the machine.
    NotGiven,
}

impl Read {
    /// The content, where it is known.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Read::Known(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The content as text without surrounding white space and NULs (device-tree strings end in one); `None` also
    /// where it is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.bytes()?).ok()?;
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0'))
    }
}

/// What listing one directory came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The names in it, sorted by their bytes, without `.` and `..`.
    Known(Vec<String>),
    /// There is no such directory.
    Absent,
    /// The kernel refused.
    Denied,
    /// Listing failed otherwise, with this errno.
    Failed(i32),
    /// Nobody looked: see [`Read::NotGiven`].
    NotGiven,
}

impl Listing {
    /// The names, where they are known.
    pub fn names(&self) -> Option<&[String]> {
        match self {
            Listing::Known(names) => Some(names),
            _ => None,
        }
    }
}

/// A machine to look at: the running one, or a recording of another.
///
/// Paths are absolute (`/proc/version`); another path gives `Failed(EINVAL)`. No call blocks on a fifo or device, and
/// none changes the machine.
pub trait Machine {
    /// Reads a whole file of at most [`READ_LIMIT`] bytes.
    fn read(&self, path: &str) -> Read;

    /// Lists a directory.
    fn list(&self, folder: &str) -> Listing;

    /// Reads at most `length` bytes of a file of any size from `offset` on; fewer at its end, none behind it.
    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read;
}
