//! Stores images received by HTTP POST in a directory: the server side of `bench network`.
//!
//! File names are generated, not taken from requests, and files are created relative to an open directory without
//! following links. A client therefore controls only a file's content. An image is stored completely or not at all. The
//! oldest images are removed if there are too many.

use crate::wire::{CHUNK, Connection};
use crate::{LoadError, wire};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Maximum size of a request's head, bytes.
const LONGEST_HEAD: usize = 8 << 10;
const MOST_FIELDS: usize = 32;
/// Time limit for a request's head, counted from the end of the previous request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// Time limit for a request with its answer; some time is added for each MiB.
const WITHIN: Duration = Duration::from_secs(30);
const WITHIN_EACH_MIB: Duration = Duration::from_secs(1);
/// Space on the file system that always stays free, bytes.
const LEFT_FREE: u64 = 64 * MIB;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    pub largest: u64,
    /// Maximum total size of the images, bytes. If it is exceeded, the oldest images of this server are removed.
    pub kept: u64,
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        StoreLimits { largest: 64 * MIB, kept: 256 * MIB }
    }
}

#[derive(Debug)]
pub struct Store {
    folder: OwnedFd,
    limits: StoreLimits,
    token: String,
    files: Mutex<Files>,
}

/// Stored images, oldest first.
#[derive(Debug, Default)]
struct Files {
    next: u64,
    kept: VecDeque<(String, u64)>,
    /// Total size, including images that are being received.
    bytes: u64,
}

#[derive(Debug)]
enum Refused {
    /// The client made an error, or a limit is exceeded: status and reason of the answer.
    Status(u16, &'static str),
    /// The connection or the disk failed.
    Failed(io::Error),
}

impl From<io::Error> for Refused {
    fn from(e: io::Error) -> Refused {
        Refused::Failed(e)
    }
}

impl Store {
    pub fn open(folder: &Path, limits: StoreLimits) -> Result<Store, LoadError> {
        let on = || folder.display().to_string();
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(folder, flags, Mode::empty()).map_err(|e| LoadError::system("open", on(), e))?;
        let token = wire::new_token().map_err(LoadError::on("getrandom", on()))?;
        let token = token.iter().take(4).map(|b| format!("{b:02x}")).collect();
        Ok(Store { folder: fd, limits, token, files: Mutex::default() })
    }

    pub fn clear(&self) {
        let mut files = self.files();
        while let Some((name, bytes)) = files.kept.pop_front() {
            self.remove(&name);
            files.bytes -= bytes;
        }
    }

    /// Answers a client's requests until it hangs up or a request is refused. `begun` contains the bytes of the first
    /// request that were already read. `stored` is called with the size of each stored image.
    ///
    /// # Errors
    /// The connection failed, or a request was refused; in that case the client was sent the reason.
    pub fn serve(&self, stream: &mut impl Connection, begun: &[u8], mut stored: impl FnMut(u64)) -> io::Result<()> {
        let mut buffer = begun.to_vec();
        loop {
            let answer = match self.request(stream, &mut buffer) {
                Ok(None) => return Ok(()),
                Ok(Some(bytes)) => {
                    stored(bytes);
                    stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")?;
                    continue;
                }
                Err(Refused::Status(status, why)) => (status, why),
                Err(Refused::Failed(e)) if e.kind() == io::ErrorKind::StorageFull => (507, "Insufficient Storage"),
                Err(Refused::Failed(e)) => return Err(e),
            };
            let (status, why) = answer;
            write!(stream, "HTTP/1.1 {status} {why}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a request was refused: {status} {why}")));
        }
    }

    /// Stores one image. Returns its size; `None` if the client hung up between requests.
    fn request(&self, stream: &mut impl Connection, buffer: &mut Vec<u8>) -> Result<Option<u64>, Refused> {
        stream.limit(HEAD_WITHIN);
        let head = loop {
            if let Some(head) = head(buffer)? {
                break head;
            }
            if buffer.len() > LONGEST_HEAD {
                return Err(Refused::Status(431, "Request Header Fields Too Large"));
            }
            let mut piece = [0; 1024];
            match stream.read(&mut piece)? {
                0 if buffer.is_empty() => return Ok(None),
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => buffer.extend_from_slice(piece.get(..n).unwrap_or_default()),
            }
        };
        if head.bytes > self.limits.largest {
            return Err(Refused::Status(413, "Content Too Large"));
        }
        stream.limit(WITHIN + WITHIN_EACH_MIB * u32::try_from(head.bytes / MIB).unwrap_or(u32::MAX));
        if head.waits {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        buffer.drain(..head.length);
        self.image(stream, buffer, head.bytes)?;
        Ok(Some(head.bytes))
    }

    /// Removes the oldest images so that `bytes` more can be stored, and reserves the space. Some space on the file
    /// system always stays free.
    fn make_room(&self, bytes: u64) -> Result<(), Refused> {
        let mut files = self.files();
        while files.bytes.saturating_add(bytes) > self.limits.kept
            && let Some((name, old)) = files.kept.pop_front()
        {
            self.remove(&name);
            files.bytes -= old;
        }
        let space = rustix::fs::fstatvfs(&self.folder).map_err(io::Error::from)?;
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        // Images that other clients are sending may fill the space even after all stored images are removed.
        let crowded = files.bytes.saturating_add(bytes) > self.limits.kept;
        if crowded || free < bytes.saturating_add(LEFT_FREE) {
            return Err(Refused::Status(507, "Insufficient Storage"));
        }
        files.bytes += bytes;
        Ok(())
    }

    /// Reads the body into a new file. The file is removed if the body is incomplete.
    fn image(&self, stream: &mut impl Read, buffer: &mut Vec<u8>, bytes: u64) -> Result<(), Refused> {
        let number = {
            let mut files = self.files();
            files.next += 1;
            files.next
        };
        let name = format!("punctual-{}-{number:08}.img", self.token);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR).map_err(io::Error::from)?;
        let (mut file, mut here) = (File::from(file), 0);
        // Only received bytes use space, whatever length the request states.
        let kept = body(stream, buffer, bytes, |part| {
            self.make_room(part.len() as u64)?;
            here += part.len() as u64;
            Ok(file.write_all(part)?)
        });
        if let Err(e) = kept {
            self.remove(&name);
            self.files().bytes -= here;
            return Err(e);
        }
        self.files().kept.push_back((name, bytes));
        Ok(())
    }

    fn remove(&self, name: &str) {
        // Another process may have removed the image.
        let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The relevant fields of a request's head.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    /// Length of the head, bytes.
    length: usize,
    /// Length of the body, bytes.
    bytes: u64,
    /// True if the client waits for `100 Continue` before it sends the body.
    waits: bool,
}

/// Parses a request's head; `None` if it is incomplete.
fn head(buffer: &[u8]) -> Result<Option<Head>, Refused> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused::Status(431, "Request Header Fields Too Large")),
        Err(_) => return Err(Refused::Status(400, "Bad Request")),
    };
    if request.method != Some("POST") {
        return Err(Refused::Status(405, "Method Not Allowed"));
    }
    let named = |name: &'static str| request.headers.iter().filter(move |h| h.name.eq_ignore_ascii_case(name));
    if named("transfer-encoding").next().is_some() {
        return Err(Refused::Status(411, "Length Required"));
    }
    // Requests with two lengths are refused, because they can be used for request smuggling.
    let mut lengths = named("content-length").map(|h| std::str::from_utf8(h.value).ok().and_then(digits));
    let bytes = match (lengths.next(), lengths.next()) {
        (None, _) => return Err(Refused::Status(411, "Length Required")),
        (Some(Some(bytes)), None) => bytes,
        _ => return Err(Refused::Status(400, "Bad Request")),
    };
    let waits = named("expect").any(|h| h.value.eq_ignore_ascii_case(b"100-continue"));
    Ok(Some(Head { length, bytes, waits }))
}

/// Parses digits only; `parse` would also accept a sign.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Passes the body to `keep`, starting with the part already read, and leaves the bytes of the next request in
/// `buffer`.
fn body(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
    bytes: u64,
    mut keep: impl FnMut(&[u8]) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let here = usize::try_from(bytes).unwrap_or(usize::MAX).min(buffer.len());
    keep(buffer.get(..here).unwrap_or_default())?;
    buffer.drain(..here);
    let mut left = bytes - here as u64;
    let mut piece = vec![0; CHUNK];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK);
        match stream.read(piece.get_mut(..most).unwrap_or_default())? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            n => {
                keep(piece.get(..n).unwrap_or_default())?;
                left -= n as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
