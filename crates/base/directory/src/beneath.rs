//! Resolves paths beneath a directory without following links.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// Opens `path` relative to `dir` with openat2(2). If openat2 is missing (before Linux 5.6) or blocked by a seccomp
/// filter, opens it component by component.
///
/// # Errors
/// `ELOOP`: a component of the path is a symbolic link. `EXDEV`: the path is absolute or contains `..`. Otherwise see
/// open(2).
pub(crate) fn open(dir: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(Errno::XDEV);
    }
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(dir, path, flags, mode, resolve) {
        // A seccomp filter returns EPERM for a call that it does not know. If access to the file itself was refused,
        // opening it by components is refused too.
        Err(Errno::NOSYS | Errno::PERM) => by_names(dir, path, flags, mode),
        opened => opened,
    }
}

/// Like [`open`], with one openat(2) per component.
fn by_names(dir: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    // A trailing `/` or `/.` requires a directory; `Path` ignores it.
    let wants_directory = [&b"/"[..], b"/."].iter().any(|end| path.as_os_str().as_bytes().ends_with(end));
    let flags = if wants_directory { flags | OFlags::DIRECTORY } else { flags };
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.as_bytes()),
        _ => None,
    });
    let Some(mut name) = names.next() else { return openat(dir, c".", flags, mode) };
    let mut at: Option<OwnedFd> = None;
    for next in names {
        let here = at.as_ref().map_or(dir, |fd| fd.as_fd());
        // With O_DIRECTORY a link fails with ENOTDIR where openat2 returns ELOOP. Both name the same entry.
        at = Some(openat(
            here,
            name,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        name = next;
    }
    openat(at.as_ref().map_or(dir, |fd| fd.as_fd()), name, flags, mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::{CWD, fstat};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn opened(path: &Path) -> OwnedFd {
        openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// For paths in a small tree with links that point into and out of it, both methods open the same file or both
        /// fail, and neither leaves the tree.
        #[test]
        fn both_ways_agree_and_none_leads_out(parts in prop::collection::vec(
            prop::sample::select(vec!["a", "b", "file", "in", "out", "up", ".", "..", "none", "/"]), 1..6
        )) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("root");
            fs::create_dir_all(root.join("a/b")).unwrap();
            for file in ["file", "a/file", "a/b/file"] {
                fs::write(root.join(file), file).unwrap();
            }
            fs::write(folder.path().join("file"), "outside").unwrap();
            symlink("a", root.join("in")).unwrap();
            symlink(folder.path(), root.join("out")).unwrap();
            symlink("../..", root.join("a/up")).unwrap();
            let path = parts.join("/");
            let dir = opened(&root);
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let one = open(dir.as_fd(), Path::new(&path), flags, Mode::empty());
            let id = |fd: &OwnedFd| fstat(fd).map(|s| (s.st_dev, s.st_ino)).unwrap();
            if path.starts_with('/') || parts.contains(&"..") {
                prop_assert_eq!(one.as_ref().err(), Some(&Errno::XDEV));
            } else {
                let two = by_names(dir.as_fd(), Path::new(&path), flags, Mode::empty());
                prop_assert_eq!(one.as_ref().ok().map(id), two.as_ref().ok().map(id), "{}", path);
                let linked = parts.iter().any(|part| ["in", "out", "up"].contains(part));
                prop_assert!(!linked || one.is_err(), "{}", path);
            }
        }
    }
}
