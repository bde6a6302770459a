//! Values read from the kernel, with a module for each kind of file. Files that are read during a measurement disturb
//! no measured CPU. Other values are read only between phases ([`between`]) or not at all ([`thermal`]).

pub(crate) mod between;
pub(crate) mod interrupts;
pub(crate) mod system;
pub(crate) mod tasks;
pub(crate) mod thermal;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file of /proc or /sys that is read repeatedly.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    text: Vec<u8>,
}

/// Maximum number of bytes read from a file. For comparison, /proc/interrupts of 512 CPUs has about 1 MiB.
const LARGEST: usize = 16 << 20;

impl Source {
    /// Opens a file; `None` if it does not exist or may not be read.
    pub fn open(path: impl AsRef<Path>) -> Option<Source> {
        Some(Source { file: File::open(path).ok()?, text: vec![0; 512] })
    }

    /// Reads the whole file; `None` if reading fails (the task has ended, or the driver refuses).
    pub fn read(&mut self) -> Option<&str> {
        let mut filled = 0;
        loop {
            let n = self.file.read_at(&mut self.text[filled..], filled as u64).ok()?;
            filled += n;
            if n == 0 || filled >= LARGEST {
                return std::str::from_utf8(&self.text[..filled]).ok();
            }
            if filled == self.text.len() {
                self.text.resize(filled * 2, 0);
            }
        }
    }

    pub fn number(&mut self) -> Option<i64> {
        self.read()?.trim().parse().ok()
    }
}

/// Reads a file and removes surrounding white space; `None` if it cannot be read.
pub(crate) fn read_trimmed(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}
