//! Splits the input into lines using bounded memory.

use std::io::{self, Read};

/// Maximum length of a line. Longer lines are truncated; no tool writes them.
pub(crate) const LONGEST: usize = 256 << 10;
const CHUNK: usize = 64 << 10;

/// Returns a file name for display, without directories and control characters.
pub(crate) fn clean_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let clean: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
    if clean.is_empty() { "input".into() } else { clean }
}

pub(crate) struct Lines<'a> {
    input: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    at: usize,
    end: bool,
    /// True if the last line ended with a carriage return. A newline that follows immediately belongs to it.
    after_return: bool,
    /// The error that ended reading before the end of the input.
    pub failed: Option<io::Error>,
    /// Number of truncated lines.
    pub cut: u64,
}

impl<'a> Lines<'a> {
    pub fn new(input: Box<dyn Read + 'a>) -> Lines<'a> {
        Lines { input, buffer: Vec::new(), at: 0, end: false, after_return: false, failed: None, cut: 0 }
    }

    /// Returns the first bytes, at most `most`, without consuming them.
    pub fn head(&mut self, most: usize) -> io::Result<&[u8]> {
        while self.buffer.len() < most && self.fill()? {}
        Ok(self.buffer.get(..most.min(self.buffer.len())).unwrap_or_default())
    }

    /// Returns the buffered bytes, refilled if there are none. Empty at the end of the input.
    fn rest(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            self.fill()?;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    /// Refills the buffer. An error after some bytes is treated as the end of the input.
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
        self.end = n == 0;
        self.failed = read.err();
        Ok(n > 0)
    }

    /// Returns the buffered bytes if they begin a line.
    pub fn ahead(&self) -> &[u8] {
        if self.after_return { &[] } else { self.buffer.get(self.at..).unwrap_or_default() }
    }

    /// Consumes bytes returned by `ahead`.
    pub fn skip(&mut self, n: usize) {
        self.at = self.at.saturating_add(n).min(self.buffer.len());
    }

    /// Reads `n` bytes, or the rest of the input if it is shorter.
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

    /// Reads the next raw line without its line end, truncated to [`LONGEST`] bytes. Returns `false` at the end of the
    /// input.
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
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let room = LONGEST.saturating_sub(out.len()).min(piece.len());
            out.extend_from_slice(piece.get(..room).unwrap_or_default());
            let cut = room < piece.len();
            let by_return = end.is_some_and(|end| rest.get(end) == Some(&b'\r'));
            self.at += end.map_or(rest.len(), |end| end + 1);
            self.after_return = by_return;
            self.cut += u64::from(cut && end.is_some());
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}
