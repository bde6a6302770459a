//! Reads lines of a stream into a bounded buffer.

use std::io::Read;

/// Size of the buffer and maximum length of a line; longer lines are truncated.
const BUFFER: usize = 256 * 1024;

#[derive(Clone, Copy)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

/// The lines of `input`. A failed read ends the stream; the error is kept.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    eof: bool,
    peeked: Option<Span>,
    /// Number of the last line returned, from 1.
    pub(crate) number: u64,
    pub(crate) cut: bool,
    pub(crate) error: Option<std::io::Error>,
    /// True if the last line lacks a newline: the file may be truncated.
    pub(crate) unfinished: bool,
    /// True if no unread byte begins markup or a non-ASCII space, so that lines need not be searched for them.
    pub(crate) plain: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(head: &[u8], input: R) -> Lines<R> {
        let mut buffer = head.to_vec();
        buffer.resize(BUFFER.max(head.len()), 0);
        Lines {
            input,
            buffer,
            start: 0,
            end: head.len(),
            eof: false,
            peeked: None,
            number: 0,
            cut: false,
            error: None,
            unfinished: false,
            plain: is_plain(head),
        }
    }

    pub(crate) fn get(&self, span: Span) -> &[u8] {
        self.buffer.get(span.start..span.end).unwrap_or_default()
    }

    /// Returns the next line; `None` at the end. Invalidates earlier spans.
    pub(crate) fn advance(&mut self) -> Option<Span> {
        let span = match self.peeked.take() {
            Some(span) => span,
            None => self.scan()?,
        };
        self.number += 1;
        Some(span)
    }

    /// Returns the line after the current one, without advancing. Invalidates the current span.
    pub(crate) fn peek(&mut self) -> Option<Span> {
        if self.peeked.is_none() {
            self.peeked = self.scan();
        }
        self.peeked
    }

    fn scan(&mut self) -> Option<Span> {
        let mut searched = 0;
        loop {
            let unread = self.buffer.get(self.start..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', unread.get(searched..).unwrap_or_default()) {
                return Some(self.take(searched + at, 1));
            }
            searched = unread.len();
            if self.eof {
                self.unfinished |= searched > 0;
                return (searched > 0).then(|| self.take(searched, 0));
            }
            if searched == self.buffer.len() {
                self.cut = true;
                return Some(self.take(searched, 0));
            }
            self.fill();
        }
    }

    fn take(&mut self, length: usize, newline: usize) -> Span {
        let start = self.start;
        self.start += length + newline;
        let mut end = start + length;
        if self.buffer.get(start..end).is_some_and(|line| line.ends_with(b"\r")) {
            end -= 1;
        }
        Span { start, end }
    }

    fn fill(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let Some(free) = self.buffer.get_mut(self.end..) else { return };
        match self.input.read(free) {
            Ok(0) => self.eof = true,
            Ok(n) => self.end += n.min(free.len()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => (self.eof, self.error) = (true, Some(e)),
        }
        self.plain = is_plain(self.buffer.get(..self.end).unwrap_or_default());
    }
}

fn is_plain(bytes: &[u8]) -> bool {
    memchr::memchr3(b'&', 0xc2, b'*', bytes).is_none() && memchr::memmem::find(bytes, b"\\_").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(head: &[u8], rest: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(head, rest);
        let mut found = Vec::new();
        while let Some(span) = lines.advance() {
            found.push(lines.get(span).to_vec());
        }
        found
    }

    #[test]
    fn lines_of_any_ending() {
        assert_eq!(all(b"a\r\nb", b"c\n\nlast"), [&b"a"[..], b"bc", b"", b"last"]);
        assert!(all(b"", b"").is_empty());
    }

    #[test]
    fn peeking_keeps_the_order_and_long_lines_are_cut() {
        let long = [vec![b'x'; 2 * BUFFER], b"\ny\nz".to_vec()].concat();
        let mut lines = Lines::new(b"", &long[..]);
        let lengths: Vec<usize> = std::iter::from_fn(|| {
            lines.peek();
            lines.advance().map(|span| lines.get(span).len())
        })
        .collect();
        assert_eq!(lengths, [BUFFER, BUFFER, 0, 1, 1]);
        assert!(lines.cut && lines.unfinished);
    }
}
