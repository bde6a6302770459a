//! An entry of an archive, which is validated before it is extracted.

use crate::{Error, Limits};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use tar::{Entries, EntryType, PaxExtensions};

/// Maximum length in bytes of a path component (NAME_MAX).
const PART: usize = 255;
/// Maximum size in bytes of the pax records that precede an entry (name, times, size).
const RECORDS: usize = 16 << 10;

pub(crate) struct Entry<'a, R: Read> {
    /// Name of the entry, exactly as the archive stores it.
    pub name: String,
    /// The parsed name; every component is a plain file name.
    pub path: PathBuf,
    /// Content of a file; `None` for a directory.
    pub content: Option<Content<'a, R>>,
}

pub(crate) struct Content<'a, R: Read> {
    pub data: tar::Entry<'a, R>,
    pub size: u64,
}

impl<'a, R: Read> Entry<'a, R> {
    /// Returns the next file or directory, or `None` at the end of the archive. The name comes from a preceding
    /// long-name record, if there is one.
    pub fn next(entries: &mut Entries<'a, R>, limits: &Limits) -> Result<Option<Entry<'a, R>>, Error> {
        let mut long: Option<Vec<u8>> = None;
        loop {
            let Some(entry) = entries.next() else { return Ok(None) };
            let mut data = entry.map_err(Error::Damaged)?;
            let kind = data.header().entry_type();
            let shown = long.as_deref().unwrap_or(&data.header().path_bytes()).escape_ascii().to_string();
            let refused = |why: String| Error::Refused { name: shown.clone(), why };
            if matches!(kind, EntryType::GNULongName | EntryType::XHeader) {
                if long.is_some() {
                    return Err(refused("has two names".into()));
                }
                let most = if kind == EntryType::XHeader { RECORDS } else { limits.name + 1 };
                let mut record = Vec::new();
                data.by_ref().take(most as u64 + 1).read_to_end(&mut record).map_err(Error::Damaged)?;
                if record.len() > most {
                    return Err(refused(format!("has a name of more than {} bytes", limits.name)));
                }
                long = match kind {
                    EntryType::XHeader => name_of_pax(&record).map_err(refused)?,
                    _ => Some(record.strip_suffix(b"\0").unwrap_or(&record).to_vec()),
                };
                continue;
            }
            let name = long.unwrap_or_else(|| data.header().path_bytes().into_owned());
            let size = data.header().size().map_err(Error::Damaged)?;
            let content = match kind {
                EntryType::Directory if size == 0 => None,
                EntryType::Regular | EntryType::Continuous => Some(Content { data, size }),
                other => return Err(refused(kind_of(other).into())),
            };
            let path = path(&name, limits).map_err(&refused)?;
            // The entry of the packed root directory itself.
            if path == Path::new("") && content.is_none() {
                long = None;
                continue;
            }
            if path == Path::new("") {
                return Err(refused("is not a file name".into()));
            }
            return Ok(Some(Entry { name: shown, path, content }));
        }
    }

    pub fn refused(&self, why: String) -> Error {
        Error::Refused { name: self.name.clone(), why }
    }
}

/// Returns the name in pax(1) records, if there is one. Records for times and the like are ignored. Records that change
/// the size of the content or set a link are refused.
fn name_of_pax(records: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut name = None;
    for record in PaxExtensions::new(records) {
        let record = record.map_err(|e| format!("has unreadable records: {e}"))?;
        match record.key_bytes() {
            b"path" => name = Some(record.value_bytes().to_vec()),
            b"size" | b"linkpath" => return Err("sets a size or a link in its pax records".into()),
            key if key.starts_with(b"GNU.sparse") => return Err(kind_of(EntryType::GNUSparse).into()),
            _ => {}
        }
    }
    Ok(name)
}

fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link | EntryType::GNULongLink => "is a link",
        EntryType::Char | EntryType::Block => "is a device",
        EntryType::Fifo => "is a FIFO",
        EntryType::GNUSparse => "is a sparse file",
        _ => "is neither a file nor a directory",
    }
}

fn path(name: &[u8], limits: &Limits) -> Result<PathBuf, String> {
    if name.len() > limits.name {
        return Err(format!("has a name of more than {} bytes", limits.name));
    }
    let name = std::str::from_utf8(name).map_err(|_| "has a name that is not UTF-8".to_owned())?;
    if name.chars().any(punctual_clean::is_obeyed) {
        return Err("has a name with control characters".into());
    }
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) if part.len() > PART => {
                return Err(format!("has a name of more than {PART} bytes"));
            }
            Component::Normal(part) => path.push(part),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err("has a name that leads outside the directory".into());
            }
        }
    }
    match path.components().count() > limits.depth {
        true => Err(format!("is more than {} directories deep", limits.depth)),
        false => Ok(path),
    }
}
