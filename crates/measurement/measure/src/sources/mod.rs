//! Values read from the kernel, one file per kind. Whatever is read during a measurement does not disturb a measured
//! CPU; other values are read between phases only, in [`between`], or skipped by [`thermal`].

pub(crate) mod between;
pub(crate) mod interrupts;
pub(crate) mod system;
pub(crate) mod tasks;
pub(crate) mod thermal;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file of /proc or /sys that is kept open and read repeatedly.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    text: Vec<u8>,
}

/// Read limit: /proc/interrupts of 512 CPUs has about 1 MiB.
const LARGEST: usize = 16 << 20;

impl Source {
    /// `None` if the file is absent or may not be read.
    pub fn open(path: impl AsRef<Path>) -> Option<Source> {
        Some(Source { file: File::open(path).ok()?, text: vec![0; 512] })
    }

    /// `None` if reading fails (the task is gone, the driver refuses).
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

/// `None` if the file cannot be read.
pub(crate) fn read_trimmed(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}
