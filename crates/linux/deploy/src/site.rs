//! The machine that receives the kernel: this one, or a folder in tests.

use crate::record::Store;
use punctual_fix::System;
use punctual_machine::Machine;
use std::path::{Path, PathBuf};

pub struct Site<'s> {
    /// `/`, or the folder that represents it.
    pub root: PathBuf,
    /// Changes small files and runs commands, and records this in a journal.
    pub sys: &'s dyn System,
    pub view: &'s dyn Machine,
}

impl Site<'_> {
    /// Maps an absolute path of the machine to a path of this process.
    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub fn store(&self) -> Store {
        Store::of(&self.root)
    }

    /// Returns the output of `uname -r`, read from /proc.
    pub fn release(&self) -> Option<String> {
        self.text("/proc/sys/kernel/osrelease")
    }

    /// Returns the output of `uname -v`, read from /proc.
    pub fn version(&self) -> Option<String> {
        self.text("/proc/sys/kernel/version")
    }

    /// Returns the output of `uname -m`. If the root is a folder, it is known only for kernels since 6.1.
    pub fn machine(&self) -> Option<String> {
        if self.root == Path::new("/") {
            return rustix::system::uname().machine().to_str().ok().map(str::to_owned);
        }
        self.text("/proc/sys/kernel/arch")
    }

    pub fn is_trial_of(&self, id: &str) -> Option<bool> {
        let line = self.text("/proc/cmdline")?;
        let word = format!("{}={id}", punctual_boot::TRIAL_PARAMETER);
        Some(line.split_whitespace().any(|other| other == word))
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.view.read(path).text().filter(|text| !text.is_empty()).map(str::to_owned)
    }
}
