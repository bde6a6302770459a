use crate::KbuildError;
use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Packs a folder as `.tar.gz`, preceded by the files `more`: sorted, owned by root, all with the same date, and with
/// the modes 755 and 644.
pub fn tarball(root: &Path, more: &[(&str, &[u8])], epoch: u64) -> Result<Vec<u8>, KbuildError> {
    // The gzip header has no name, date or operating system (RFC 1952: 255 is unknown).
    let packed = GzBuilder::new().operating_system(255).write(Vec::new(), Compression::new(6));
    let mut tar = Builder::new(packed);
    for (name, bytes) in more {
        let mut header = header(EntryType::Regular, 0o644, epoch);
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, *bytes).map_err(KbuildError::file("pack", name))?;
    }
    for (path, kind) in entries(root)? {
        let (whole, name) = (root.join(&path), path);
        let done = match kind {
            Kind::Folder => tar.append_data(&mut header(EntryType::Directory, 0o755, epoch), &name, std::io::empty()),
            Kind::Link(to) => tar.append_link(&mut header(EntryType::Symlink, 0o777, epoch), &name, &to),
            Kind::File { mode } => {
                let bytes = fs::read(&whole).map_err(KbuildError::file("pack", &whole))?;
                let mut header = header(EntryType::Regular, mode, epoch);
                header.set_size(bytes.len() as u64);
                tar.append_data(&mut header, &name, bytes.as_slice())
            }
        };
        done.map_err(KbuildError::file("pack", &whole))?;
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(KbuildError::file("pack", root))
}

enum Kind {
    Folder,
    Link(PathBuf),
    File { mode: u32 },
}

/// Returns all entries, sorted so that parents come first.
fn entries(root: &Path) -> Result<BTreeMap<PathBuf, Kind>, KbuildError> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(KbuildError::file("read", &folder))? {
            let path = entry.map_err(KbuildError::file("read", &folder))?.path();
            let meta = path.symlink_metadata().map_err(KbuildError::file("read", &path))?;
            let kind = if meta.is_dir() {
                open.push(path.clone());
                Kind::Folder
            } else if meta.is_symlink() {
                Kind::Link(fs::read_link(&path).map_err(KbuildError::file("read", &path))?)
            } else {
                Kind::File { mode: if meta.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 } }
            };
            if let Ok(name) = path.strip_prefix(root) {
                found.insert(name.to_owned(), kind);
            }
        }
    }
    Ok(found)
}

fn header(kind: EntryType, mode: u32, epoch: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(epoch);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_same_files_give_the_same_bytes_whatever_their_dates() {
        let made = |names: &[&str], date: u64| {
            let folder = tempfile::tempdir().unwrap();
            for name in names {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, name).unwrap();
                let file = File::options().write(true).open(&path).unwrap();
                file.set_modified(UNIX_EPOCH + Duration::from_secs(date)).unwrap();
            }
            std::os::unix::fs::symlink("b", folder.path().join("link")).unwrap();
            tarball(folder.path(), &[("manifest.json", b"{}")], 1_000_000).unwrap()
        };
        let first = made(&["a/x", "b", "c"], 5);
        assert_eq!(first, made(&["c", "b", "a/x"], 500));
        assert_ne!(first, made(&["a/x", "b", "d"], 5));
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(first.as_slice()));
        let names: Vec<String> =
            tar.entries().unwrap().map(|e| e.unwrap().path().unwrap().display().to_string()).collect();
        assert_eq!(names, ["manifest.json", "a", "a/x", "b", "c", "link"]);
    }
}
