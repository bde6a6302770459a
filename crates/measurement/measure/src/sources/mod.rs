//! What is read from the kernel while measuring, one file per kind. Nothing read meanwhile disturbs a measured CPU; what
//! does is in [`between`], or left out by [`thermal`], and read between phases only.

pub(crate) mod between;
pub(crate) mod interrupts;
pub(crate) mod system;
pub(crate) mod tasks;
pub(crate) mod thermal;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file of /proc or /sys that is kept open and read repeatedly; each read gives fresh content.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    text: Vec<u8>,
}

/// No file read here is larger: /proc/interrupts of 512 CPUs is about 1 MiB.
const LARGEST: usize = 16 << 20;

impl Source {
    /// `None` if it is absent or forbidden.
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

/// `None` if it cannot be read.
pub(crate) fn read_trimmed(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}
