//! Checks whether other users can change a path, for processes of root.
//!
//! The rules are the same as in safe_path of OpenSSH (auth2-pubkeyfile.c) and in CHASE_SAFE of systemd
//! (src/basic/chase.c): each directory on the path belongs to root, and no other user can rename its entries.

use crate::Error;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Maximum number of links followed before a path counts as a loop (MAXSYMLINKS, include/linux/namei.h).
const MAX_LINKS: usize = 40;
/// Mode of new directories: readable by everyone, subject to the umask.
pub(crate) const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);

/// Opens a directory. It must belong to the caller and be writable by nobody else, and only root or the caller may be
/// able to change its path. Missing directories are created if `make` is set.
///
/// # Errors
/// [`Error::Exposed`] names the directory that violates this, and who can change it.
pub(crate) fn open(path: &Path, make: bool) -> Result<OwnedFd, Error> {
    walk(path, make, check)
}

/// Opens a directory, and refuses a path that a user could redirect to an entry of another user (like systemd's
/// CHASE_SAFE): after a directory or link that belongs to a user other than root, all further components must belong to
/// the same user.
///
/// # Errors
/// [`Error::Exposed`] names the component at which the owner changes.
pub(crate) fn follow(path: &Path) -> Result<OwnedFd, Error> {
    let mut before = 0;
    walk(path, false, |stat, shown, last| {
        let (from, to) = (std::mem::replace(&mut before, stat.st_uid), stat.st_uid);
        if from == 0 || from == to || is_unmapped(from) {
            // In a directory of root's that others may write to, they can rename root's own entries.
            let is_roots = to == 0 && FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            return if is_roots && !last { writable_by_others(stat, shown, false) } else { Ok(()) };
        }
        let why = format!("it belongs to user {to}, and user {from} controls where the path leads");
        Err(Error::Exposed { path: shown.into(), why, owner: None })
    })
}

/// Opens a directory component by component. `judge` is called for each component, including links, with its path and
/// with `true` if it is the last component.
fn walk(
    path: &Path,
    make: bool,
    mut judge: impl FnMut(&Stat, &Path, bool) -> Result<(), Error>,
) -> Result<OwnedFd, Error> {
    let absolute =
        std::path::absolute(path).map_err(|source| Error::Io { doing: "resolve", path: path.into(), source })?;
    // Components still to walk, the next one last, each with a flag that allows creating it; the components of a link's
    // target are never created.
    let mut left: Vec<(OsString, bool)> = Vec::new();
    push(&mut left, &absolute, make);
    // Opened for reading only at the end: landlock(7) may refuse access to the parents.
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

/// Fails if other users can change a directory on the path or, if `last` is set, create entries in it.
fn check(stat: &Stat, shown: &Path, last: bool) -> Result<(), Error> {
    trusted_owner(stat, shown)?;
    // Only its owner can have chosen a link's target: links are replaced, never modified. The mode of a link has no
    // meaning.
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Ok(());
    }
    writable_by_others(stat, shown, last)
}

/// Fails if other users can write to a directory. Write permission for the group counts as well, because the group bits
/// are also the mask of an access control list (acl(5)).
fn writable_by_others(stat: &Stat, shown: &Path, last: bool) -> Result<(), Error> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    // In a sticky directory (/tmp) nobody can rename or remove another user's entries, but others could still add
    // entries to the last one.
    if mode.intersects(Mode::WOTH | Mode::WGRP) && (last || !mode.contains(Mode::SVTX)) {
        let who = if mode.contains(Mode::WOTH) { "every user" } else { "its group" };
        return Err(Error::Exposed {
            path: shown.into(),
            why: format!("{who} can write to this directory"),
            owner: None,
        });
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

/// Returns true if `uid` stands for a user outside this user namespace, who has no ID in it (user_namespaces(7)). In a
/// container, a file with this owner belongs to the host, and its real owner cannot be determined.
pub(crate) fn is_unmapped(uid: u32) -> bool {
    static OVERFLOW: OnceLock<Option<u32>> = OnceLock::new();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let overflow = || unmapped(&read("/proc/self/uid_map"), &read("/proc/sys/kernel/overflowuid"));
    *OVERFLOW.get_or_init(overflow) == Some(uid)
}

/// Returns the ID that represents users outside the namespace; `None` if a user inside also has that ID, or if there
/// are no users outside. The arguments are the contents of /proc/self/uid_map and /proc/sys/kernel/overflowuid.
fn unmapped(map: &str, overflow: &str) -> Option<u32> {
    let overflow: u32 = overflow.trim().parse().ok()?;
    let inside = map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
        let (first, count) = (numbers.next().unwrap_or(0), numbers.nth(1).unwrap_or(0));
        (first..first.saturating_add(count)).contains(&u64::from(overflow))
    });
    (!map.trim().is_empty() && !inside).then_some(overflow)
}

/// Adds the components of a path to `left` in reverse order, so that the next component to open is the last element.
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
