//! Resolves paths within a folder as if it were `/`.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat, statat};
use rustix::io::Errno;

/// Maximum number of links followed before ELOOP (MAXSYMLINKS, include/linux/namei.h).
const MAX_LINKS: usize = 40;

/// Opens `path` with `root` as its root: neither links nor `..` lead out of it. Uses openat2(2) with RESOLVE_IN_ROOT,
/// and walks name by name if the kernel lacks it (before Linux 5.6) or a seccomp filter refuses it.
pub(crate) fn open(root: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    match openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        // A seccomp filter returns EPERM for a call that it does not know. If access to the file itself was refused,
        // the walk is refused too.
        Err(Errno::NOSYS | Errno::PERM) => by_names(root, path, flags),
        opened => opened,
    }
}

/// Walks as the kernel does (fs/namei.c, `link_path_walk`), with one call per step that never follows a link.
fn by_names(root: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    // Used as a stack: the next name is the last element.
    let mut left: Vec<Vec<u8>> = Vec::new();
    push(&mut left, path.as_bytes());
    let mut folders: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(name) = left.pop() {
        match &name[..] {
            b"." => continue,
            b".." => {
                folders.pop();
                continue;
            }
            _ => {}
        }
        let at = folders.last().unwrap_or(root).as_fd();
        let stat = statat(at, &name[..], AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            let target = readlinkat(at, &name[..], Vec::new())?.into_bytes();
            if target.first() == Some(&b'/') {
                folders.clear();
            }
            push(&mut left, &target);
        } else if left.is_empty() {
            return step(at, &name, flags);
        } else {
            folders.push(step(at, &name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?);
        }
    }
    step(folders.last().unwrap_or(root).as_fd(), b".", flags)
}

/// Opens a component. If it has become a link since it was examined, it is refused with ELOOP, or opened with O_PATH as
/// the link itself, which cannot be read.
fn step(at: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Pushes the names in `path`, the first one last. `.` is kept, and is added if the path ends in a slash, because what
/// precedes the slash must be a directory.
fn push(left: &mut Vec<Vec<u8>>, path: &[u8]) {
    if path.ends_with(b"/") {
        left.push(b".".to_vec());
    }
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    left.extend(names.rev().map(<[u8]>::to_vec));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::{CWD, fstat};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn folder(path: &Path) -> OwnedFd {
        openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    fn found(opened: Result<OwnedFd, Errno>) -> Result<(u64, u64), Errno> {
        opened.map(|fd| fstat(&fd).map(|stat| (stat.st_dev, stat.st_ino)).unwrap())
    }

    const LINKS: [(&str, &str); 9] = [
        ("a/up", ".."),
        ("a/out", "../../../../../.."),
        ("a/b/root", "/"),
        ("a/b/file", "/a/f"),
        ("loop", "loop"),
        ("round", "a/round"),
        ("a/round", "/round"),
        ("gone", "a/none"),
        ("etc", "/a/b"),
    ];

    fn tree() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("r/a/b")).unwrap();
        fs::write(home.path().join("r/a/f"), "inside").unwrap();
        fs::write(home.path().join("f"), "outside").unwrap();
        LINKS.iter().for_each(|(name, to)| symlink(to, home.path().join("r").join(name)).unwrap());
        home
    }

    #[test]
    fn nothing_leads_out() {
        let home = tree();
        let root = folder(&home.path().join("r"));
        let (own, f) = (found(root.try_clone().map_err(|_| Errno::IO)), by_names(&root, "/a/f", OFlags::RDONLY));
        for path in ["/", "..", "/a/out", "/../..", "/a/up", "/a/b/root", "/etc/root/a/out/a/up"] {
            assert_eq!(found(by_names(&root, path, OFlags::PATH)), own, "{path}");
        }
        assert_eq!(found(by_names(&root, "/etc/file", OFlags::RDONLY)), found(f));
        assert_eq!(by_names(&root, "/../f", OFlags::RDONLY).unwrap_err(), Errno::NOENT);
    }

    proptest! {
        /// Compares the results of the walk with those of openat2(2), which the kernel must support.
        #[test]
        fn names_lead_where_the_kernel_leads(
            names in prop::collection::vec(
                prop::sample::select(vec!["a", "b", "f", "up", "out", "root", "file", "loop", "round", "gone", "etc", "..", ".", ""]),
                1..7,
            ),
        ) {
            let home = tree();
            let root = folder(&home.path().join("r"));
            let path = format!("/{}", names.join("/"));
            let kernel = openat2(&root, &path[..], OFlags::PATH, Mode::empty(), ResolveFlags::IN_ROOT);
            prop_assume!(!matches!(kernel, Err(Errno::NOSYS | Errno::PERM)));
            prop_assert_eq!(found(by_names(&root, &path, OFlags::PATH)), found(kernel), "{}", path);
        }
    }
}
