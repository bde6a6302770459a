//! Paths that no other user can change, for root.
//!
//! As safe_path of OpenSSH (auth2-pubkeyfile.c) and CHASE_SAFE of systemd (src/basic/chase.c) ask: each directory on the way belongs
//! to root and no other user can rename what lies in it.

use crate::Error;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Links followed before a path counts as a loop (MAXSYMLINKS, include/linux/namei.h).
const MAX_LINKS: usize = 40;
/// Readable by all, less the umask.
pub(crate) const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);

/// Opens a directory whose whole path only root (or the caller) can change, and which itself belongs to the caller and is writable
/// by nobody else. Missing directories are made where `make`.
///
/// # Errors
/// [`Error::Exposed`] names the directory at fault and who can change it.
pub(crate) fn open(path: &Path, make: bool) -> Result<OwnedFd, Error> {
    walk(path, make, check)
}

/// Opens a directory. On the way no user may decide where the path leads to what belongs to another user (CHASE_SAFE): once in
/// somebody's directory, or behind somebody's link, all that follows belongs to the same user.
///
/// # Errors
/// [`Error::Exposed`] names where the owner changes.
pub(crate) fn follow(path: &Path) -> Result<OwnedFd, Error> {
    let mut before = 0;
    walk(path, false, |stat, shown, last| {
        let (from, to) = (std::mem::replace(&mut before, stat.st_uid), stat.st_uid);
        if from == 0 || from == to || is_unmapped(from) {
            // In root's directory that others can write to, they can give root's own entries other names.
            let is_roots = to == 0 && FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            return if is_roots && !last { writable_by_others(stat, shown, false) } else { Ok(()) };
        }
        let why = format!("it belongs to user {to}, and user {from} decides that the path leads there");
        Err(Error::Exposed { path: shown.into(), why, owner: None })
    })
}

/// Opens a directory name by name. `judge` is called for each, links too, with `true` for the last one.
fn walk(
    path: &Path,
    make: bool,
    mut judge: impl FnMut(&Stat, &Path, bool) -> Result<(), Error>,
) -> Result<OwnedFd, Error> {
    let absolute =
        std::path::absolute(path).map_err(|source| Error::Io { doing: "resolve", path: path.into(), source })?;
    // Names still to be walked, the next one last, and whether they may be made: not where a link leads to nothing.
    let mut left: Vec<(OsString, bool)> = Vec::new();
    push(&mut left, &absolute, make);
    // Opened to be read only at the end: landlock(7) may refuse what lies above.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = || openat(CWD, c"/", flags, Mode::empty()).map_err(Error::io("open", "/"));
    let mut at: Vec<(OwnedFd, PathBuf)> = vec![(root()?, PathBuf::from("/"))];
    let mut links = 0;
    let mut look = |fd: &OwnedFd, shown: &Path, last: bool| {
        let stat = fstat(fd).map_err(Error::io("open", shown))?;
        match FileType::from_raw_mode(stat.st_mode) {
            kind @ (FileType::Directory | FileType::Symlink) => judge(&stat, shown, last).map(|()| kind),
            _ => Err(Error::io(if make { "create" } else { "open" }, path)(Errno::NOTDIR)),
        }
    };
    look(&at[0].0, &at[0].1, left.is_empty())?;
    while let Some((name, make)) = left.pop() {
        if name == OsStr::new("..") {
            if at.len() > 1 {
                at.pop();
            }
            if let Some((fd, shown)) = at.last() {
                look(fd, shown, left.is_empty())?;
            }
            continue;
        }
        let (here, shown) = at
            .last()
            .map(|(fd, shown)| (fd.as_fd(), shown.join(&name)))
            .ok_or_else(|| Error::io("open", &absolute)(Errno::NOENT))?;
        let mut opened = openat(here, name.as_bytes(), flags, Mode::empty());
        if make && matches!(opened, Err(Errno::NOENT)) {
            match mkdirat(here, name.as_bytes(), DIRECTORY_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(Error::io("create", shown)(errno)),
            }
            opened = openat(here, name.as_bytes(), flags, Mode::empty());
        }
        let found = opened.map_err(Error::io("open", &shown))?;
        if look(&found, &shown, left.is_empty())? == FileType::Symlink {
            links += 1;
            if links > MAX_LINKS {
                return Err(Error::io("open", shown)(Errno::LOOP));
            }
            let target = readlinkat(&found, c"", Vec::new()).map_err(Error::io("read link", &shown))?.into_bytes();
            let target = PathBuf::from(OsString::from_vec(target));
            if target.is_absolute() {
                at.truncate(1);
                look(&at[0].0, &at[0].1, false)?;
            }
            push(&mut left, &target, false);
        } else {
            at.push((found, shown));
        }
    }
    let (last, _) = at.pop().ok_or_else(|| Error::io("open", &absolute)(Errno::NOENT))?;
    openat(&last, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(Error::io("open", absolute))
}

/// Whether other users can change what lies in a directory on the way; `last`: or in the one that is written to.
fn check(stat: &Stat, shown: &Path, last: bool) -> Result<(), Error> {
    trusted_owner(stat, shown)?;
    // Nobody but its owner can have chosen where a link leads: links are replaced, never changed. Their mode is no mode.
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Ok(());
    }
    writable_by_others(stat, shown, last)
}

/// A group's right counts whatever the group: the bits of the group are also the mask of an access control list (acl(5)).
fn writable_by_others(stat: &Stat, shown: &Path, last: bool) -> Result<(), Error> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    // In a sticky directory (/tmp) nobody can rename or remove what belongs to another; in the last one, others could still add to it.
    if mode.intersects(Mode::WOTH | Mode::WGRP) && (last || !mode.contains(Mode::SVTX)) {
        let who = if mode.contains(Mode::WOTH) { "every user" } else { "its group" };
        return Err(Error::Exposed { path: shown.into(), why: format!("{who} can write there"), owner: None });
    }
    Ok(())
}

fn trusted_owner(stat: &Stat, shown: &Path) -> Result<(), Error> {
    let uid = stat.st_uid;
    if uid == 0 || uid == rustix::process::geteuid().as_raw() || is_unmapped(uid) {
        return Ok(());
    }
    Err(Error::Exposed { path: shown.into(), why: format!("it belongs to user {uid}"), owner: Some(uid) })
}

/// In a user namespace that has no number for the owner, who is outside of it (user_namespaces(7)). Such a file is the host's own in a
/// container; its real owner cannot be known here.
pub(crate) fn is_unmapped(uid: u32) -> bool {
    static OVERFLOW: OnceLock<Option<u32>> = OnceLock::new();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let overflow = || unmapped(&read("/proc/self/uid_map"), &read("/proc/sys/kernel/overflowuid"));
    *OVERFLOW.get_or_init(overflow) == Some(uid)
}

/// The number that stands for users outside of a namespace; `None`: it is also a user inside, or there are none outside.
fn unmapped(map: &str, overflow: &str) -> Option<u32> {
    let overflow: u32 = overflow.trim().parse().ok()?;
    let inside = map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
        let (first, count) = (numbers.next().unwrap_or(0), numbers.nth(1).unwrap_or(0));
        (first..first.saturating_add(count)).contains(&u64::from(overflow))
    });
    (!map.trim().is_empty() && !inside).then_some(overflow)
}

/// The names of a path, the next one last.
fn push(left: &mut Vec<(OsString, bool)>, path: &Path, make: bool) {
    let names = path.components().rev().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_owned()),
        std::path::Component::ParentDir => Some("..".into()),
        _ => None,
    });
    left.extend(names.map(|name| (name, make)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_outside_has_a_number_only_where_nobody_inside_has_it() {
        let all = "         0          0 4294967295\n";
        assert_eq!(unmapped(all, "65534\n"), None);
        assert_eq!(unmapped("0 1000 1\n", "65534\n"), Some(65_534));
        assert_eq!(unmapped("0 1000 1\n1 100000 65536\n", "65534"), None);
        assert_eq!(unmapped("", "65534"), None);
    }
}
