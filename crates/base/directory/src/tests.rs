use super::*;
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Returns a temporary directory and a directory in it; both belong to the caller.
fn own() -> (tempfile::TempDir, Dir) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let dir = Dir::create(&folder.path().join("run"), Whose::Results).unwrap();
    (folder, dir)
}

fn secret(folder: &tempfile::TempDir) -> String {
    fs::read_to_string(folder.path().join("secret")).unwrap()
}

#[test]
fn what_is_written_can_be_read() {
    let (_folder, dir) = own();
    dir.make_dir("a/b").unwrap();
    dir.replace("a/b/x", b"one", true).unwrap();
    dir.replace("a/b/x", b"two", false).unwrap();
    assert_eq!(dir.read("a/b/x", 3).unwrap(), b"two");
    assert!(dir.read("a/b/x", 2).unwrap_err().to_string().contains("larger than 2 bytes"));
    for line in [b"1\n", b"2\n"] {
        dir.append("log").unwrap().write_all(line).unwrap();
    }
    assert_eq!(dir.read("log", 100).unwrap(), b"1\n2\n");
    assert_eq!(dir.entries().unwrap(), [("a".into(), Kind::Directory), ("log".into(), Kind::File)]);
    assert_eq!(dir.kind("none").unwrap(), None);
    dir.rename("log", "a/log").unwrap();
    dir.remove_all("a").unwrap();
    dir.remove_all("a").unwrap();
    assert_eq!(dir.entries().unwrap(), []);
}

#[test]
fn no_write_goes_through_a_link() {
    let (folder, dir) = own();
    let beside = folder.path().join("secret");
    let path = dir.path().join("x");
    for link in [symlink::<&Path, &Path>, |to: &Path, at: &Path| fs::hard_link(to, at)] {
        link(&beside, &path).unwrap();
        dir.replace("x", b"mine", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        fs::remove_file(&path).unwrap();
    }
    symlink(&beside, dir.path().join("linked")).unwrap();
    fs::hard_link(&beside, dir.path().join("hard")).unwrap();
    assert!(dir.create_new("linked").is_err() && dir.append("linked").is_err() && dir.update("linked").is_err());
    assert!(dir.append("hard").unwrap_err().to_string().contains("2 names (hard links)"));
    assert!(dir.update("hard").is_err() && dir.file("linked").is_err());
    assert_eq!(secret(&folder), "secret");
}

#[test]
fn a_directory_that_became_a_link_is_refused() {
    let (folder, dir) = own();
    symlink(folder.path(), dir.path().join("hist")).unwrap();
    assert!(dir.make_dir("hist").is_err() && dir.dir("hist").is_err());
    assert!(dir.replace("hist/secret", b"no", false).is_err() && dir.create_new("hist/new").is_err());
    assert!(dir.remove_file("hist/secret").is_err() && dir.rename("hist/secret", "taken").is_err());
    for outside in ["../secret", "/etc/hostname", "a/../../secret"] {
        assert!(dir.file(outside).is_err() && dir.replace(outside, b"no", false).is_err(), "{outside}");
    }
    // The link itself is removed, not its target.
    dir.remove_all("hist").unwrap();
    assert_eq!(secret(&folder), "secret");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_parent_that_is_swapped_redirects_nothing() {
    let (folder, dir) = own();
    let victim = folder.path().join("victim");
    fs::create_dir(&victim).unwrap();
    dir.make_dir("hist").unwrap();
    fs::rename(dir.path(), folder.path().join("run.real")).unwrap();
    symlink(&victim, folder.path().join("run")).unwrap();
    dir.replace("run.json", b"{}", true).unwrap();
    dir.create_new("hist/0.json").unwrap();
    assert_eq!(fs::read_dir(victim).unwrap().count(), 0);
    assert!(folder.path().join("run.real/hist/0.json").exists());
}

#[test]
fn a_draft_is_whole_or_not_there() {
    let (_folder, dir) = own();
    let mut draft = dir.draft("page").unwrap();
    draft.write_all(b"half").unwrap();
    drop(draft);
    assert_eq!(dir.entries().unwrap(), []);
    let mut draft = dir.draft("page").unwrap();
    draft.write_all(b"whole").unwrap();
    draft.publish_new(true).unwrap();
    let taken = dir.draft("page").unwrap().publish_new(false).unwrap_err();
    assert_eq!(taken.kind(), Some(std::io::ErrorKind::AlreadyExists));
    assert_eq!(dir.entries().unwrap(), [("page".into(), Kind::File)]);
    assert_eq!(dir.read("page", 9).unwrap(), b"whole");
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let (_folder, dir) = own();
    rustix::fs::mknodat(&dir, c"fifo", rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR, 0)
        .unwrap();
    dir.make_dir("folder").unwrap();
    for name in ["fifo", "folder"] {
        assert!(matches!(dir.file(name), Err(Error::Unfit { .. })), "{name}");
        assert!(dir.append(name).is_err(), "{name}");
    }
}

/// Tests the path walk that root uses. It also accepts directories of the caller, so the test does not need root.
#[test]
fn a_path_that_others_can_change_is_not_safe() {
    let (folder, dir) = own();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let new = dir.path().join("a/b");
    safe::open(&new, true).unwrap();
    symlink("run/a", folder.path().join("own-link")).unwrap();
    safe::open(&folder.path().join("own-link/b/../b"), false).unwrap();
    for open_to_all in [0o777, 0o757] {
        mode(dir.path(), open_to_all);
        let Err(Error::Exposed { path, .. }) = safe::open(&new, true) else { panic!("{open_to_all:o}") };
        assert_eq!(path, dir.path());
    }
    // Like /tmp: nobody can rename another user's directory in it, but anyone can add to it.
    mode(dir.path(), 0o1777);
    safe::open(&new, false).unwrap();
    assert!(safe::open(dir.path(), false).is_err());
    symlink("none", folder.path().join("dangling")).unwrap();
    assert!(safe::open(&folder.path().join("dangling"), true).is_err());
    symlink("loop", folder.path().join("loop")).unwrap();
    assert!(safe::open(&folder.path().join("loop"), true).is_err());
}

#[test]
fn the_lock_is_exclusive() {
    let (_folder, dir) = own();
    assert!(dir.lock(true).unwrap() && dir.clone().lock(true).unwrap());
    assert!(!Dir::open(dir.path()).unwrap().lock(false).unwrap());
}

#[test]
fn what_is_never_replaced_is_written_in_place() {
    let (folder, dir) = own();
    dir.make_fifo("fifo").unwrap();
    assert!(dir.make_fifo("fifo").is_err() && dir.special("fifo", false).is_err(), "nobody reads");
    let mut reader = fs::File::options().read(true).write(true).open(dir.path().join("fifo")).unwrap();
    dir.special("fifo", false).unwrap().write_all(b"text").unwrap();
    let mut text = [0; 4];
    std::io::Read::read_exact(&mut reader, &mut text).unwrap();
    assert_eq!(&text, b"text");
    dir.create_new("file").unwrap();
    symlink("fifo", dir.path().join("link")).unwrap();
    dir.special("link", false).unwrap();
    assert!(dir.special("file", true).is_err() && dir.special("none", true).is_err());
    assert_eq!(secret(&folder), "secret");
}

/// Tests the path walk to the directory of a single file. In this test, one user owns all directories.
#[test]
fn a_single_file_is_written_beneath_its_directory() {
    let (folder, dir) = own();
    let (of, name) = Dir::of_file(&dir.path().join("page")).unwrap();
    of.replace(&name, b"page", true).unwrap();
    assert_eq!(dir.read("page", 9).unwrap(), b"page");
    symlink("run", folder.path().join("short")).unwrap();
    let (of, name) = Dir::of_file(&folder.path().join("short/page")).unwrap();
    of.replace(&name, b"again", false).unwrap();
    assert_eq!((dir.read("page", 9).unwrap(), dir.bytes()), (b"again".to_vec(), 5));
    assert!(Dir::of_file(Path::new("/")).is_err() && Dir::of_file(&folder.path().join("none/page")).is_err());
}

#[test]
fn a_directory_is_handed_on_as_a_descriptor() {
    let (_folder, dir) = own();
    dir.replace("x", b"1", false).unwrap();
    let handed = Dir::inherited(dir.as_fd().try_clone_to_owned().unwrap(), dir.path()).unwrap();
    assert_eq!(handed.read("x", 9).unwrap(), b"1");
    assert!(Dir::inherited(dir.file("x").unwrap().into(), dir.path()).is_err());
}

/// Root does not follow the path of another user to a directory that belongs to someone else.
#[test]
#[ignore = "live: root"]
fn root_writes_in_a_users_directory_as_that_user_and_nowhere_else() {
    use std::os::unix::fs::{MetadataExt, chown, lchown};
    const USER: u32 = 61_236;
    let (folder, _) = own();
    let (home, own) = (folder.path().join("home"), folder.path().join("own"));
    for path in [&home, &own] {
        fs::create_dir(path).unwrap();
    }
    chown(&home, Some(USER), Some(USER)).unwrap();
    let (dir, name) = Dir::of_file(&home.join("page")).unwrap();
    dir.replace(&name, b"page", true).unwrap();
    assert_eq!(fs::metadata(home.join("page")).unwrap().uid(), USER);
    for (link, target) in [("absolute", own.clone()), ("relative", "../own".into())] {
        symlink(&target, home.join(link)).unwrap();
        lchown(home.join(link), Some(USER), Some(USER)).unwrap();
        assert!(matches!(Dir::of_file(&home.join(link).join("page")), Err(Error::Exposed { .. })), "{link}");
    }
    // The other user's link in a shared directory.
    symlink(&own, folder.path().join("theirs")).unwrap();
    lchown(folder.path().join("theirs"), Some(USER), Some(USER)).unwrap();
    assert!(matches!(Dir::of_file(&folder.path().join("theirs/page")), Err(Error::Exposed { .. })));
    // Root's own links, and root's directories.
    symlink(&own, folder.path().join("mine")).unwrap();
    let (dir, name) = Dir::of_file(&folder.path().join("mine/page")).unwrap();
    dir.replace(&name, b"page", true).unwrap();
    assert_eq!(fs::metadata(own.join("page")).unwrap().uid(), 0);
    // `--owner` applies to results only.
    for (whose, named) in [(Whose::Results, Some(USER)), (Whose::System, None)] {
        let refused = Dir::create(&home.join("run"), whose).unwrap_err();
        assert!(matches!(refused, Error::Exposed { owner, .. } if owner == named), "{refused}");
    }
}

#[test]
fn a_staged_directory_is_whole_or_not_there() {
    let (folder, dir) = own();
    let to = dir.path().join("new/run");
    let fill = || {
        let staging = Staging::create(&to, Whose::Results).unwrap();
        staging.dir().replace("in/run.json", b"{}", false).unwrap_err();
        staging.dir().make_dir("in").unwrap().replace("run.json", b"{}", false).unwrap();
        staging
    };
    drop(fill());
    assert_eq!(dir.dir("new").unwrap().entries().unwrap(), []);
    fs::create_dir(&to).unwrap();
    fill().publish("in").unwrap();
    assert_eq!(fs::read(to.join("run.json")).unwrap(), b"{}");
    // The existing content is kept.
    assert!(fill().publish("in").is_err());
    fs::remove_dir_all(&to).unwrap();
    symlink(folder.path(), &to).unwrap();
    assert!(fill().publish("in").is_err());
    assert_eq!(dir.dir("new").unwrap().entries().unwrap(), [("run".into(), Kind::Other)]);
    assert!(Staging::create(Path::new("/"), Whose::Results).is_err());
    assert_eq!(secret(&folder), "secret");
}
