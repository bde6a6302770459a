//! What the next boot will get, and what this one got.

use crate::words::{is_same, key};

/// Parameters of a machine: configured, passed next time, running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// The words in the files that a change edits.
    pub configured: Vec<String>,
    /// The words the loader will pass at the next boot, as far as its files tell: with what a generator adds (`root=`), without
    /// what firmware adds. `None` where that is not known.
    pub next: Option<Vec<String>>,
    /// The words of the running kernel: /proc/cmdline. `None` where nothing runs, or it cannot be read.
    pub running: Option<Vec<String>>,
    /// The files that were read.
    pub sources: Vec<String>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// How the next boot differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Configured and not running: they wait for a reboot, or for the generator.
    pub waiting: Vec<String>,
    /// Running with another value or under a name that is configured otherwise; gone at the next boot.
    pub going: Vec<String>,
    /// Running and configured nowhere: the firmware or the loader adds them, or this was a boot of its own (a trial).
    pub foreign: Vec<String>,
}

impl Configured {
    /// Compares with the running kernel; `None` where its parameters are not known.
    pub fn drift(&self) -> Option<Drift> {
        let running = self.running.as_ref()?;
        let next = self.next.as_ref().unwrap_or(&self.configured);
        let is_in = |list: &[String], word: &String| list.iter().any(|other| is_same(other, word));
        let known = |word: &&String| next.iter().any(|other| key(other) == key(word));
        let extra: Vec<&String> = running.iter().filter(|word| !is_in(next, word)).collect();
        Some(Drift {
            // Variables of a loader, which it fills in.
            waiting: self
                .configured
                .iter()
                .filter(|word| !word.starts_with('$') && !is_in(running, word))
                .cloned()
                .collect(),
            going: extra.iter().copied().filter(known).cloned().collect(),
            foreign: extra.iter().copied().filter(|word| !known(word)).cloned().collect(),
        })
    }
}
