//! Reads events for a comparison in chunks, so that a long recording is neither held in memory nor fully parsed.

use crate::events::{self, Detail};
use crate::files;
use crate::layout::{self, FileSum};
use punctual_directory::Dir;
use punctual_model::Event;
use std::fs::File;
use std::io::Read;

/// Bytes per read, small enough for the CPU's caches.
const PIECE: usize = 256 << 10;
/// Maximum line length. For comparison, a line for hundreds of CPUs has about 100 kB.
const LONGEST_LINE: usize = 16 << 20;

/// Returns the events in the first bytes of the file, up to `mark`. `None` on any error (unreadable, too short, wrong
/// checksum, malformed line); the slower reader then reports it.
pub(crate) fn events(dir: &Dir, mark: FileSum, limit: u64) -> Option<Vec<Event>> {
    let file = files::open(dir, layout::EVENTS, limit).ok()?;
    let mut lines = Lines { file, buffer: vec![0; PIECE], filled: 0, left: mark.bytes };
    let mut sum = crc32fast::Hasher::new();
    let mut found = Vec::new();
    while lines.fill(&mut sum)? {
        lines.take(&mut found)?;
    }
    (lines.filled == 0 && sum.finalize() == mark.crc32).then_some(found)
}

struct Lines {
    file: File,
    buffer: Vec<u8>,
    filled: usize,
    left: u64,
}

impl Lines {
    /// Reads more bytes. Returns `Some(false)` at the end of the file, `None` on failure.
    fn fill(&mut self, sum: &mut crc32fast::Hasher) -> Option<bool> {
        if self.left == 0 {
            return Some(false);
        }
        if self.filled == self.buffer.len() {
            let longer = self.filled.checked_mul(2).filter(|n| *n <= LONGEST_LINE)?;
            self.buffer.resize(longer, 0);
        }
        let room = self.buffer.get_mut(self.filled..)?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(room.len());
        let got = self.file.read(room.get_mut(..most)?).ok().filter(|got| *got > 0)?;
        sum.update(room.get(..got)?);
        self.filled += got;
        self.left -= got as u64;
        Some(true)
    }

    /// Parses all complete lines and moves the rest to the front.
    fn take(&mut self, into: &mut Vec<Event>) -> Option<()> {
        let content = self.buffer.get(..self.filled)?;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', content) {
            let line = content.get(start..end)?;
            if !line.is_empty() {
                into.push(events::event(line, Detail::Brief).ok()?);
            }
            start = end + 1;
        }
        self.buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8], mark: FileSum) -> Option<Vec<Event>> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("events.jsonl"), content).unwrap();
        events(&Dir::open(folder.path()).unwrap(), mark, 1 << 30)
    }

    /// Tests lines longer than a chunk, and lines across chunk boundaries.
    #[test]
    fn pieces_are_joined() {
        let mut content = Vec::new();
        let mut wanted = Vec::new();
        for n in 0..2_000u64 {
            let text = "x".repeat(if n == 1_000 { 3 * PIECE } else { (n as usize * 37) % 700 });
            let event = Event::PhaseStart { mono_ns: n, phase: text };
            serde_json::to_writer(&mut content, &event).unwrap();
            content.push(b'\n');
            wanted.push(event);
        }
        assert_eq!(read(&content, files::sum(&content)), Some(wanted));
    }

    #[test]
    fn what_is_amiss_is_left_to_the_slow_way() {
        let good = b"{\"event\":\"signal\",\"mono_ns\":1,\"number\":2}\n".to_vec();
        let mark = files::sum(&good);
        assert_eq!(read(&good, mark).map(|e| e.len()), Some(1));
        // Only the bytes up to the mark belong to the run.
        assert_eq!(read(&[&good[..], b"torn"].concat(), mark).map(|e| e.len()), Some(1));
        assert_eq!(read(&good, FileSum { crc32: mark.crc32 ^ 1, ..mark }), None);
        assert_eq!(read(&good[..9], mark), None);
        assert_eq!(read(&good[..9], files::sum(&good[..9])), None, "a line without its end");
        let bad = b"{\"event\":\"signal\"}\n";
        assert_eq!(read(bad, files::sum(bad)), None);
    }
}
