use crate::plan::Refusal;
use punctual_machine::{Listing, Machine, Read};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootError {
    #[error("cannot read {path}: {why}")]
    Unreadable { path: String, why: String },
    #[error("{path} is missing")]
    Missing { path: String },
    /// Part of a file is not understood, so the file is not changed.
    #[error("{path}: {what}")]
    Unclear { path: String, what: String },
    #[error("no boot chain is recognised: looked for {looked}")]
    Unknown { looked: String },
    #[error("the boot chain is ambiguous: {}", found.join("; "))]
    Ambiguous { found: Vec<String> },
}

pub(crate) fn unclear(path: &str, what: impl Into<String>) -> BootError {
    BootError::Unclear { path: path.to_owned(), what: what.into() }
}

fn unreadable(path: &str, why: impl Into<String>) -> BootError {
    BootError::Unreadable { path: path.to_owned(), why: why.into() }
}

pub(crate) fn text(view: &dyn Machine, path: &str) -> Result<Option<String>, BootError> {
    let Some(bytes) = bytes(view, path)? else { return Ok(None) };
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(unclear(path, "contains a NUL byte, so it is not a text file")),
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(unclear(path, "is not UTF-8 text")),
    }
}

fn bytes(view: &dyn Machine, path: &str) -> Result<Option<Vec<u8>>, BootError> {
    match view.read(path) {
        Read::Known(bytes) => Ok(Some(bytes)),
        Read::Absent => Ok(None),
        Read::Denied => Err(unreadable(path, "permission denied: try as root")),
        Read::Failed(errno) => Err(unreadable(path, format!("error {errno}"))),
        Read::NotGiven => Err(unreadable(path, "not among the files given")),
    }
}

pub(crate) fn required(view: &dyn Machine, path: &str) -> Result<String, BootError> {
    text(view, path)?.ok_or_else(|| BootError::Missing { path: path.to_owned() })
}

/// Returns a file's text for use as evidence. Bytes that are not UTF-8 are replaced. `None` if it cannot be read.
pub(crate) fn hint(view: &dyn Machine, path: &str) -> Option<String> {
    view.read(path).bytes().map(|bytes| String::from_utf8_lossy(bytes).trim_matches(['\0', '\n', ' ']).to_owned())
}

/// Returns true if the path exists, or may exist because it cannot be read.
pub(crate) fn exists(view: &dyn Machine, path: &str) -> bool {
    match view.read_part(path, 0, 1) {
        Read::Known(_) | Read::Denied => true,
        // It is a directory, a device, or a program that is too large to be read.
        Read::Failed(_) => true,
        Read::Absent | Read::NotGiven => matches!(view.list(path), Listing::Known(_)),
    }
}

/// Returns the names in a directory; empty if it cannot be read.
pub(crate) fn names(view: &dyn Machine, folder: &str) -> Vec<String> {
    match view.list(folder) {
        Listing::Known(names) => names,
        _ => Vec::new(),
    }
}

/// Returns the names in a directory; empty if it does not exist.
pub(crate) fn listed(view: &dyn Machine, folder: &str) -> Result<Vec<String>, BootError> {
    match view.list(folder) {
        Listing::Known(names) => Ok(names),
        Listing::Absent => Ok(Vec::new()),
        Listing::Denied => Err(unreadable(folder, "permission denied: try as root")),
        Listing::Failed(errno) => Err(unreadable(folder, format!("error {errno}"))),
        Listing::NotGiven => Err(unreadable(folder, "not among the files given")),
    }
}

/// Returns the words of the running kernel's command line, for display; `None` if unknown.
pub(crate) fn running(view: &dyn Machine) -> Option<Vec<String>> {
    seen(view).ok().flatten()
}

/// Returns the words of the running kernel's command line, for decisions; `None` if no kernel is running, so that
/// /proc/cmdline does not exist.
pub(crate) fn seen(view: &dyn Machine) -> Result<Option<Vec<String>>, BootError> {
    let bytes = bytes(view, "/proc/cmdline")?;
    Ok(bytes.map(|bytes| crate::words::words(String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', ' ']))))
}

/// Returns the words of the running kernel's command line. Refuses the change if they are unknown.
pub(crate) fn needed(view: &dyn Machine, what: &str) -> Result<Vec<String>, Refusal> {
    let hand = "run this on the machine itself, as root";
    let unknown = |why: String| Refusal::by_hand(format!("cannot tell {what}: {why}"), hand);
    let nothing_runs = || unknown("no system is running: /proc/cmdline does not exist".to_owned());
    seen(view).map_err(|error| unknown(error.to_string()))?.ok_or_else(nothing_runs)
}

/// Returns the text of an EFI variable: four bytes of attributes, then UTF-16 (efivarfs).
pub(crate) fn efi_text(view: &dyn Machine, name: &str) -> Option<String> {
    // systemd's vendor UUID (https://systemd.io/BOOT_LOADER_INTERFACE).
    let path = format!("/sys/firmware/efi/efivars/{name}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f");
    let read = view.read(&path);
    let units: Vec<u16> = read
        .bytes()?
        .get(4..)?
        .chunks_exact(2)
        .filter_map(|pair| Some(u16::from_le_bytes(pair.try_into().ok()?)))
        .collect();
    Some(String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned())
}

/// Returns type and device of the file system that contains a path, from the running machine's mounts if they are
/// known, otherwise from /etc/fstab.
pub(crate) fn mounted(view: &dyn Machine, path: &str) -> Option<(String, String)> {
    let holds =
        |point: &str| path == point || point == "/" || path.strip_prefix(point).is_some_and(|r| r.starts_with('/'));
    let longest = |mounts: Vec<(String, String, String)>| {
        mounts.into_iter().filter(|(point, ..)| holds(point)).max_by_key(|(point, ..)| point.len())
    };
    let mounts = hint(view, "/proc/self/mountinfo").map(|text| text.lines().filter_map(mountinfo).collect());
    let found = mounts.and_then(longest).or_else(|| {
        let table = hint(view, "/etc/fstab")?;
        longest(table.lines().filter_map(fstab).collect())
    });
    found.map(|(_, kind, device)| (kind, device))
}

/// Parses a line such as `36 35 98:0 /root /point opts shared:1 - ext4 /dev/sda1 rw` (proc_pid_mountinfo(5)).
fn mountinfo(line: &str) -> Option<(String, String, String)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    Some((before.split(' ').nth(4)?.to_owned(), after.next()?.to_owned(), after.next()?.to_owned()))
}

fn fstab(line: &str) -> Option<(String, String, String)> {
    let mut fields = line.split_whitespace();
    let device = fields.next().filter(|field| !field.starts_with('#'))?.to_owned();
    Some((fields.next()?.to_owned(), fields.next()?.to_owned(), device))
}
