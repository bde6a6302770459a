//! A machine recorded in one text file.

use crate::kernel_types::{KERNEL_TYPES, encode};
use crate::{Listing, Machine, READ_LIMIT, Read};
use flate2::{Compression, write::GzEncoder};
use rustix::io::Errno;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A recorded machine. Its folder holds `machine.toml`:
///
/// ```toml
/// description = "the machine in one line"
/// origin = "recorded on it" # or the public facts it was made from
/// folders = ["/sys/kernel/debug"] # empty ones
/// denied = ["/root"] # EACCES for these and everything below
/// kernel_types = ["rq", "fair_server"] # names in the kernel's type information, as far as needed
/// [failed]
/// "/proc/broken" = 5 # reading fails with this errno
/// [files]
/// "/proc/sys/kernel/osrelease" = "6.12.0"
/// [gzipped]
/// "/proc/config.gz" = "CONFIG_PREEMPT_RT=y"
/// [bytes]
/// "/dev/cpu_dma_latency" = [0, 0, 0, 0]
/// ```
///
/// A folder exists if something in it is recorded; everything else is absent.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    description: String,
    entries: BTreeMap<String, Read>,
    folders: BTreeSet<String>,
    /// The paths that the snapshot covers; `None` if it covers the whole machine.
    asked: Option<Asked>,
}

#[derive(Clone, Debug)]
pub(crate) struct Asked(pub Vec<String>);

impl Asked {
    fn covers(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| match pattern.strip_suffix("/**") {
            Some(folder) => path == folder || is_below(path, folder),
            None => {
                pattern.split('/').count() == path.split('/').count()
                    && pattern.split('/').zip(path.split('/')).all(|(part, name)| fits(part, name))
            }
        })
    }
}

/// ENODATA: the snapshot does not cover the path.
const NOT_ASKED: i32 = 61;

#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    #[error("cannot read the recorded machine {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// The file does not have the form that [`Recorded`] describes; the error names line and column.
    #[error("{}: {source}", path.display())]
    Malformed { path: PathBuf, source: toml::de::Error },
    #[error("{}: `{name}` is not an absolute path", path.display())]
    NotAbsolute { path: PathBuf, name: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    description: String,
    #[serde(rename = "origin")]
    _origin: String,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    denied: Vec<String>,
    kernel_types: Option<Vec<String>>,
    #[serde(default)]
    failed: BTreeMap<String, i32>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    gzipped: BTreeMap<String, String>,
    #[serde(default)]
    bytes: BTreeMap<String, Vec<u8>>,
}

impl Recorded {
    /// Reads `machine.toml` in a folder.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn open(folder: &Path) -> Result<Recorded, RecordedError> {
        let path = folder.join("machine.toml");
        match std::fs::read_to_string(&path) {
            Ok(text) => Recorded::parse(&path, &text),
            Err(source) => Err(RecordedError::Unreadable { path, source }),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Recorded, RecordedError> {
        let written: Written =
            toml::from_str(text).map_err(|source| RecordedError::Malformed { path: path.into(), source })?;
        let mut machine = Recorded { description: written.description, ..Recorded::default() };
        machine.folders.extend(written.folders);
        machine.entries.extend(written.denied.into_iter().map(|p| (p, Read::Denied)));
        machine.entries.extend(written.failed.into_iter().map(|(p, errno)| (p, Read::Failed(errno))));
        machine.entries.extend(written.files.into_iter().map(|(p, text)| (p, Read::Known(text.into_bytes()))));
        machine.entries.extend(written.bytes.into_iter().map(|(p, bytes)| (p, Read::Known(bytes))));
        let types = written.kernel_types.map(|names| (KERNEL_TYPES.to_owned(), Read::Known(encode(&names))));
        machine.entries.extend(types);
        machine.entries.extend(written.gzipped.into_iter().map(|(p, text)| (p, Read::Known(gzip(&text)))));
        match machine.entries.keys().chain(&machine.folders).find(|p| !p.starts_with('/')) {
            Some(name) => Err(RecordedError::NotAbsolute { path: path.into(), name: name.clone() }),
            None => Ok(machine),
        }
    }

    pub fn description(&self) -> &str {
        &self.description
    }

    pub fn entries(&self) -> impl Iterator<Item = (&str, &Read)> {
        self.entries.iter().map(|(path, read)| (path.as_str(), read))
    }

    /// Replaces the result of reading `path`, and removes everything recorded below it. For tests of files that change.
    pub fn set(&mut self, path: &str, read: Read) {
        let known: Vec<String> = self.below(path).map(str::to_owned).collect();
        for gone in known.iter().map(String::as_str).chain([path]) {
            self.entries.remove(gone);
            self.folders.remove(gone);
        }
        match read {
            Read::Absent => {}
            other => {
                self.entries.insert(path.to_owned(), other);
            }
        }
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    pub(crate) fn add(&mut self, path: &str, read: Read) {
        self.entries.insert(path.to_owned(), read);
    }

    /// Makes every path unknown that is neither recorded nor covered by `asked`.
    pub(crate) fn ask(&mut self, asked: Asked) {
        self.asked = Some(asked);
    }

    pub(crate) fn map_text(mut self, change: impl Fn(&str, &str) -> String) -> Recorded {
        for (path, read) in &mut self.entries {
            let Read::Known(bytes) = read else { continue };
            if let Ok(text) = std::str::from_utf8(bytes)
                && path != KERNEL_TYPES
                && !text.contains('\0')
            {
                *bytes = change(path, text).into_bytes();
            }
        }
        self
    }

    pub fn add_folder(&mut self, path: &str) {
        self.folders.insert(path.to_owned());
    }

    fn is_denied(&self, path: &str) -> bool {
        let mut above = Some(path);
        while let Some(p) = above {
            if self.entries.get(p) == Some(&Read::Denied) {
                return true;
            }
            above = p.rfind('/').map(|at| &p[..at]).filter(|p| !p.is_empty());
        }
        false
    }

    /// Returns every recorded path below `folder`, files before folders.
    fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let inside = inside(folder);
        let (files, folders) = (self.entries.range(inside.clone()), self.folders.range(inside));
        files.map(|(path, _)| path.as_str()).chain(folders.map(String::as_str))
    }

    fn children(&self, folder: &str) -> BTreeSet<&str> {
        let length = inside(folder).start.len();
        let names = self.below(folder).filter_map(|path| path.get(length..)?.split('/').next());
        names.filter(|name| !name.is_empty()).collect()
    }
}

/// Returns the range of all paths that begin with `folder/`: they sort before `folder0`, because `0` follows `/` in
/// ASCII.
fn inside(folder: &str) -> Range<String> {
    let folder = if folder == "/" { "" } else { folder };
    format!("{folder}/")..format!("{folder}0")
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Compresses a text; writing into memory cannot fail.
fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

impl Machine for Recorded {
    fn read(&self, path: &str) -> Read {
        if !path.starts_with('/') {
            return Read::Failed(Errno::INVAL.raw_os_error());
        }
        if self.is_denied(path) {
            return Read::Denied;
        }
        match self.entries.get(path) {
            Some(Read::Known(bytes)) if bytes.len() > READ_LIMIT => Read::Failed(Errno::FBIG.raw_os_error()),
            Some(read) => read.clone(),
            None if self.folders.contains(path) || self.below(path).next().is_some() => {
                Read::Failed(Errno::ISDIR.raw_os_error())
            }
            None if self.asked.as_ref().is_some_and(|asked| !asked.covers(path)) => Read::Failed(NOT_ASKED),
            None => Read::Absent,
        }
    }

    fn list(&self, folder: &str) -> Listing {
        if !folder.starts_with('/') {
            return Listing::Failed(Errno::INVAL.raw_os_error());
        }
        if self.is_denied(folder) {
            return Listing::Denied;
        }
        if let Some(Read::Failed(errno)) = self.entries.get(folder) {
            return Listing::Failed(*errno);
        }
        let names = self.children(folder);
        if names.is_empty() && !self.folders.contains(folder) {
            if self.asked.as_ref().is_some_and(|asked| !asked.covers(folder)) {
                return Listing::Failed(NOT_ASKED);
            }
            return Listing::Absent;
        }
        Listing::Known(names.into_iter().map(str::to_owned).collect())
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        match self.read(path) {
            Read::Known(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                Read::Known(rest[..length.min(rest.len())].to_vec())
            }
            other => other,
        }
    }
}

/// Matches a name against a path component with at most one `*`.
pub(crate) fn fits(part: &str, name: &str) -> bool {
    match part.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => part == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(text: &str) -> Recorded {
        let text = format!("description = \"a test\"\norigin = \"made up\"\n{text}");
        Recorded::parse(Path::new("test.toml"), &text).unwrap()
    }

    #[test]
    fn refusals_cover_what_lies_below() {
        let m = machine("denied = [\"/sys/kernel/debug\"]\n[files]\n\"/sys/kernel/debug/x\" = \"1\"");
        assert_eq!(m.read("/sys/kernel/debug/x"), Read::Denied);
        assert_eq!(m.list("/sys/kernel/debug"), Listing::Denied);
        assert_eq!(m.read("/sys/kernel/debugger"), Read::Absent);
    }

    #[test]
    fn folders_follow_from_files() {
        let m = machine("folders = [\"/e\"]\n[files]\n\"/a/b/c\" = \"1\"\n\"/a/d\" = \"2\"");
        assert_eq!(m.list("/a"), Listing::Known(vec!["b".into(), "d".into()]));
        assert_eq!(m.list("/"), Listing::Known(vec!["a".into(), "e".into()]));
        assert_eq!(m.list("/e"), Listing::Known(vec![]));
        assert_eq!(m.list("/a/d"), Listing::Absent);
        assert_eq!(m.read("/a/b"), Read::Failed(Errno::ISDIR.raw_os_error()));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let text = "description = \"x\"\norigin = \"y\"\nfils = 1\n";
        let error = Recorded::parse(Path::new("test.toml"), text).unwrap_err().to_string();
        assert!(error.contains("test.toml") && error.contains("line 3"), "{error}");
    }

    #[test]
    fn forgetting_a_folder_forgets_what_is_in_it() {
        let mut m = machine("[files]\n\"/a/b\" = \"1\"\n\"/ab\" = \"2\"");
        m.set("/a", Read::Absent);
        assert_eq!(m.list("/a"), Listing::Absent);
        assert_eq!(m.read("/ab").text(), Some("2"));
    }

    #[test]
    fn what_only_begins_like_a_folder_is_not_in_it() {
        let names = ["/a", "/a!b/c", "/a-b", "/a/b", "/a/b-c/d", "/a/b/e/f", "/a0", "/a0/g"];
        let mut m = Recorded::default();
        names.iter().for_each(|name| m.add(name, Read::Known(Vec::new())));
        m.add_folder("/a/h");
        m.add_folder("/a.b");
        assert_eq!(m.list("/a"), Listing::Known(vec!["b".into(), "b-c".into(), "h".into()]));
        assert_eq!(m.list("/"), Listing::Known(["a", "a!b", "a-b", "a.b", "a0"].map(str::to_owned).to_vec()));
        m.set("/a", Read::Absent);
        let rest: Vec<&str> = m.entries().map(|(path, _)| path).chain(m.folders()).collect();
        assert_eq!(rest, ["/a!b/c", "/a-b", "/a0", "/a0/g", "/a.b"]);
    }
}
