//! Replaces files atomically: writes a temporary file in the same directory, syncs it, renames it, and syncs the
//! directory.

use crate::change::Kept;
use crate::system::{Attributes, Kind, System, is_absent};
use punctual_model::Edit;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the file at a path; `None` if it does not exist. Links, files with several hard links and other types are
/// errors, because new content would be written elsewhere, or not appear under all names.
pub(crate) fn kept(sys: &dyn System, path: &Path) -> io::Result<Option<Kept>> {
    let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    match sys.look(path) {
        Err(e) if is_absent(&e) => Ok(None),
        Err(e) => Err(e),
        Ok((Kind::File(1 | 0), attributes)) => Ok(Some(Kept::new(&sys.read(path)?, attributes))),
        Ok((Kind::File(names), _)) => {
            refused(format!("it has {names} hard links: a new file would replace only one of them"))
        }
        Ok((Kind::Link(target), _)) => refused(format!("it is a symbolic link to {target}: change that file")),
        Ok((Kind::Folder, _)) => refused("it is a folder".to_owned()),
        Ok((Kind::Other, _)) => refused("it is not a regular file".to_owned()),
    }
}

pub(crate) fn edited(sys: &dyn System, edit: &Edit, old: Option<&Kept>) -> Option<Kept> {
    let fresh = Attributes { mode: 0o644, uid: sys.user(), gid: 0, modified: None, extended: Vec::new() };
    let mut attributes = old.map_or(fresh, |old| old.attributes.clone());
    attributes.modified = None;
    if let Some(mode) = edit.mode {
        attributes.mode = mode;
    }
    if let Some((uid, gid)) = edit.owner {
        (attributes.uid, attributes.gid) = (uid, gid);
    }
    edit.new.as_ref().map(|content| Kept::new(content, attributes))
}

/// Checks that no other user can change the directories above the file, and so replace the file while it is written.
pub(crate) fn check_folders(sys: &dyn System, path: &Path) -> io::Result<()> {
    for folder in path.ancestors().skip(1) {
        let (kind, attributes) = match sys.look(folder) {
            Err(e) if is_absent(&e) => continue,
            other => other?,
        };
        let is_ours = attributes.uid == 0 || attributes.uid == sys.user();
        let is_open = attributes.mode & 0o022 != 0 && attributes.mode & 0o1000 == 0;
        // A link is as safe as the directory that contains it.
        let is_safe = matches!(kind, Kind::Link(_)) || (kind == Kind::Folder && is_ours && !is_open);
        if !is_safe {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} is writable by others", folder.display()),
            ));
        }
    }
    Ok(())
}

/// Returns the temporary name under which new content is written.
pub(crate) fn aside(path: &Path, entry: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.punctual-{entry}"))
}

/// Removes the file that an interrupted write left.
pub(crate) fn remove_aside(sys: &dyn System, path: &Path, entry: u64) -> io::Result<()> {
    match sys.remove(&aside(path, entry)) {
        Err(e) if !is_absent(&e) => Err(e),
        _ => Ok(()),
    }
}

pub(crate) fn put(sys: &dyn System, path: &Path, wanted: Option<&Kept>, entry: u64) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    remove_aside(sys, path, entry)?;
    let Some(wanted) = wanted else {
        match sys.remove(path) {
            Err(e) if !is_absent(&e) => return Err(e),
            _ => {}
        }
        return sys.sync_folder(folder);
    };
    let aside = aside(path, entry);
    let content = wanted.bytes().ok_or(io::ErrorKind::InvalidData)?;
    let made = sys
        .create(&aside, &content)
        .and_then(|()| sys.set_attributes(&aside, &wanted.attributes))
        .and_then(|()| sys.rename(&aside, path));
    if made.is_err() {
        // A failure is ignored, because undoing removes the file as well.
        let _ = remove_aside(sys, path, entry);
    }
    made.and_then(|()| sys.sync_folder(folder))
}

/// Returns the removed and the added lines, without the lines at the beginning and the end that both texts have in
/// common.
pub fn diff(old: &[u8], new: &[u8]) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let part = |lines: &[&str], sign: char| {
        let lines = lines.get(first..lines.len() - last).unwrap_or_default();
        lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>()
    };
    part(&old, '-') + &part(&new, '+')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn differences_are_the_lines_between() {
        assert_eq!(diff(b"a\nb\nc\n", b"a\nx\ny\nc\n"), "-b\n+x\n+y\n");
        assert_eq!((diff(b"", b"a\n"), diff(b"a\n", b"a\n")), ("+a\n".to_owned(), String::new()));
    }

    proptest! {
        #[test]
        fn any_two_differ_somehow(a in "[ab\n]{0,20}", b in "[ab\n]{0,20}") {
            let lines = |t: &str| t.lines().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(diff(a.as_bytes(), b.as_bytes()).is_empty(), lines(&a) == lines(&b));
        }
    }
}
