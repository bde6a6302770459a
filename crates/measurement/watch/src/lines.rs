//! Writes `series.jsonl`, which has one line per block, new maximum or gap. It survives a full disk, and its size is
//! limited.

use punctual_directory::{Dir, Error};
use punctual_model::WatchLine;
use std::collections::VecDeque;
use std::io::{self, Write};

pub(crate) const SERIES: &str = "series.jsonl";
pub(crate) const OLD: &str = "series.old.jsonl";
/// Size in bytes at which a new file is started: about 4 months of five-minute blocks of two CPUs, 120 bytes each.
const LARGEST: u64 = 4 << 20;
/// Maximum number of lines that wait for disk space: two weeks of blocks.
const MOST_WAITING: usize = 4096;

pub(crate) struct Lines {
    dir: Dir,
    waiting: VecDeque<Vec<u8>>,
    lost: u64,
}

impl Lines {
    pub fn new(dir: Dir) -> Lines {
        Lines { dir, waiting: VecDeque::new(), lost: 0 }
    }

    /// Adds a line. If too many lines are waiting, the oldest is dropped and counted.
    pub fn push(&mut self, line: &WatchLine) {
        let Ok(mut text) = serde_json::to_vec(line) else { return };
        text.push(b'\n');
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.pop_front();
            self.lost += 1;
        }
        self.waiting.push_back(text);
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the lines that were not written.
    pub fn waiting(&self) -> Vec<WatchLine> {
        self.waiting.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Writes the waiting lines: each line completely or not at all.
    ///
    /// # Errors
    /// The remaining lines stay in the queue.
    pub fn write(&mut self, sync: bool) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut file = self.dir.append(SERIES)?;
        let mut length = file.metadata()?.len();
        while let Some(line) = self.waiting.front() {
            if length > LARGEST {
                self.dir.rename(SERIES, OLD)?;
                (file, length) = (self.dir.append(SERIES)?, 0);
            }
            if let Err(e) = file.write_all(line) {
                // A partial line would damage the next line. Truncating the file needs no disk space.
                let _ = file.set_len(length);
                return Err(e);
            }
            length += line.len() as u64;
            self.waiting.pop_front();
        }
        if sync { file.sync_data() } else { Ok(()) }
    }
}

/// Removes a partial line at the end, which a killed process left. Returns the number of bytes removed.
///
/// # Errors
/// The file exists but cannot be read or truncated.
pub(crate) fn repair(dir: &Dir) -> Result<u64, Error> {
    if dir.kind(SERIES)?.is_none() {
        return Ok(0);
    }
    let content = dir.read(SERIES, 4 * LARGEST)?;
    let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < content.len() {
        let cut = dir.update(SERIES)?.set_len(whole as u64);
        cut.map_err(|source| Error::Io { doing: "truncate", path: dir.path().join(SERIES), source })?;
    }
    Ok((content.len() - whole) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    fn folder() -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        (folder, dir)
    }

    fn note(n: u64) -> WatchLine {
        WatchLine::Note { real_ns: n, text: "x".into() }
    }

    #[test]
    fn lines_wait_for_room_and_the_oldest_are_lost_and_counted() {
        let (folder, dir) = folder();
        // The file cannot be created, as on a full disk.
        fs::create_dir(folder.path().join(SERIES)).unwrap();
        let mut lines = Lines::new(dir);
        (0..MOST_WAITING as u64 + 3).for_each(|n| lines.push(&note(n)));
        assert!(lines.write(false).is_err());
        assert_eq!((lines.lost(), lines.waiting.len()), (3, MOST_WAITING));
        fs::remove_dir(folder.path().join(SERIES)).unwrap();
        lines.write(true).unwrap();
        let text = fs::read_to_string(folder.path().join(SERIES)).unwrap();
        let first: WatchLine = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((first, text.lines().count()), (note(3), MOST_WAITING));
    }

    #[test]
    fn a_torn_line_is_cut_off_and_the_next_is_whole() {
        let (folder, dir) = folder();
        let mut lines = Lines::new(dir.clone());
        assert_eq!(repair(&dir).unwrap(), 0);
        lines.push(&note(1));
        lines.write(false).unwrap();
        let path = folder.path().join(SERIES);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"line\":\"no").unwrap();
        assert_eq!(repair(&dir).unwrap(), 11);
        lines.push(&note(2));
        lines.write(false).unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert!(text.lines().all(|line| serde_json::from_str::<WatchLine>(line).is_ok()) && text.lines().count() == 2);
    }

    /// Rotates files as logrotate(8) does: by renaming, and with `copytruncate`.
    #[test]
    fn a_rotated_series_goes_on_in_a_new_file_and_no_line_is_lost() {
        let (folder, dir) = folder();
        let path = folder.path().join(SERIES);
        let mut lines = Lines::new(dir);
        let mut seen = 0;
        let mut check = |lines: &mut Lines, n: u64| {
            lines.push(&note(n));
            lines.write(false).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            seen += text.lines().filter(|line| serde_json::from_str::<WatchLine>(line).is_ok()).count();
        };
        check(&mut lines, 1);
        fs::rename(folder.path().join(SERIES), folder.path().join("series.jsonl.1")).unwrap();
        check(&mut lines, 2);
        File::options().write(true).open(folder.path().join(SERIES)).unwrap().set_len(0).unwrap();
        check(&mut lines, 3);
        assert_eq!((seen, lines.lost()), (3, 0));
    }

    #[test]
    fn a_large_file_becomes_the_old_one() {
        let (folder, dir) = folder();
        fs::write(folder.path().join(SERIES), vec![b'\n'; LARGEST as usize + 1]).unwrap();
        let mut lines = Lines::new(dir);
        lines.push(&note(1));
        lines.write(false).unwrap();
        assert!(fs::metadata(folder.path().join(SERIES)).unwrap().len() < 100);
        assert_eq!(fs::metadata(folder.path().join(OLD)).unwrap().len(), LARGEST + 1);
    }
}
