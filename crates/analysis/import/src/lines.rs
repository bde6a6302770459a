//! Input as cleaned lines in bounded memory, with size and checksum of all that was read.

use crate::repair;
use std::io::{self, Read};

/// Longer lines are cut; no tool writes such a line.
pub(crate) const LONGEST: usize = 256 << 10;
const CHUNK: usize = 16 << 10;

/// A file name fit for display: without directories and control characters.
pub(crate) fn clean_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let clean: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
    if clean.is_empty() { "input".into() } else { clean }
}

pub(crate) struct Counted<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    end: bool,
    /// The last line ended with a carriage return; a newline right after it belongs to it.
    after_return: bool,
    bytes: u64,
    sum: crc32fast::Hasher,
}

impl<R: Read> Counted<R> {
    pub fn new(input: R) -> Counted<R> {
        Counted {
            input,
            buffer: Vec::new(),
            at: 0,
            end: false,
            after_return: false,
            bytes: 0,
            sum: crc32fast::Hasher::new(),
        }
    }

    /// Up to `most` first bytes, without consuming them.
    pub fn head(&mut self, most: usize) -> io::Result<&[u8]> {
        while self.buffer.len() < most && self.fill()? {}
        Ok(self.buffer.get(..most.min(self.buffer.len())).unwrap_or_default())
    }

    /// The buffered bytes, refilled if there are none; empty at the end.
    fn rest(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            self.fill()?;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    fn fill(&mut self) -> io::Result<bool> {
        if self.end {
            return Ok(false);
        }
        let had = self.buffer.len();
        self.buffer.resize(had + CHUNK, 0);
        let read = loop {
            match self.input.read(self.buffer.get_mut(had..).unwrap_or_default()) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let n = read.as_ref().map_or(0, |n| (*n).min(CHUNK));
        self.buffer.truncate(had + n);
        self.sum.update(self.buffer.get(had..).unwrap_or_default());
        self.bytes += n as u64;
        self.end = n == 0;
        read.map(|n| n > 0)
    }

    /// All of the input; `None` if it exceeds `most` bytes.
    pub fn all(&mut self, most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut all = Vec::new();
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return Ok(Some(all));
            }
            all.extend_from_slice(rest);
            self.at = self.buffer.len();
            if all.len() > most {
                return Ok(None);
            }
        }
    }

    /// `n` bytes, or what is left.
    pub fn exact(&mut self, out: &mut Vec<u8>, n: usize) -> io::Result<()> {
        out.clear();
        while out.len() < n {
            let rest = self.rest()?;
            if rest.is_empty() {
                break;
            }
            let take = rest.len().min(n - out.len());
            out.extend_from_slice(rest.get(..take).unwrap_or_default());
            self.at += take;
        }
        Ok(())
    }

    /// The next raw line without its end, cut after [`LONGEST`] bytes. Returns `false` at the end.
    pub fn line(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        out.clear();
        let mut any = false;
        loop {
            let after_return = std::mem::take(&mut self.after_return);
            let rest = self.rest()?;
            if rest.is_empty() {
                return Ok(any);
            }
            if after_return && rest.first() == Some(&b'\n') {
                self.at += 1;
                continue;
            }
            any = true;
            let end = rest.iter().position(|&b| b == b'\n' || b == b'\r');
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let room = LONGEST.saturating_sub(out.len()).min(piece.len());
            out.extend_from_slice(piece.get(..room).unwrap_or_default());
            let by_return = end.is_some_and(|end| rest.get(end) == Some(&b'\r'));
            self.at += end.map_or(rest.len(), |end| end + 1);
            self.after_return = by_return;
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Reads the rest. Returns size and CRC-32 of the whole input.
    pub fn finish(mut self) -> io::Result<(u64, u32)> {
        while !self.rest()?.is_empty() {
            self.at = self.buffer.len();
        }
        Ok((self.bytes, self.sum.finalize()))
    }
}

/// The next cleaned line, with soft line breaks of mail (`=` at the end) joined.
pub(crate) fn next_line<R: Read>(
    input: &mut Counted<R>,
    raw: &mut Vec<u8>,
    number: &mut u64,
) -> io::Result<Option<String>> {
    let mut line = String::new();
    loop {
        if !input.line(raw)? {
            return Ok((!line.is_empty()).then_some(line));
        }
        *number += 1;
        let clean = repair::line(&String::from_utf8_lossy(raw));
        match clean.strip_suffix('=') {
            Some(soft) if line.len() < LONGEST && raw.last() == Some(&b'=') => line.push_str(soft),
            _ => {
                line.push_str(&clean);
                return Ok(Some(line));
            }
        }
    }
}
