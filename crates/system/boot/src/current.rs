use crate::words::{is_same, key};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// The parameters in the files that a change edits.
    pub configured: Vec<String>,
    /// The parameters that the loader will pass at the next boot, as far as its files show: including those added by a
    /// generator (`root=`), excluding those added by firmware. `None` if unknown.
    pub next: Option<Vec<String>>,
    /// /proc/cmdline; `None` if no kernel is running, or it cannot be read.
    pub running: Option<Vec<String>>,
    pub sources: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Parameters that are configured but not on the running kernel's command line; effective after a reboot or a run
    /// of the generator.
    pub waiting: Vec<String>,
    /// Parameters that are on the running kernel's command line with a value other than the configured one; lost at the
    /// next boot.
    pub going: Vec<String>,
    /// Parameters that are on the running kernel's command line but not configured: added by firmware or loader, or by
    /// a trial boot.
    pub foreign: Vec<String>,
}

impl Configured {
    /// Compares with the running kernel; `None` if its parameters are unknown.
    pub fn drift(&self) -> Option<Drift> {
        let running = self.running.as_ref()?;
        let next = self.next.as_ref().unwrap_or(&self.configured);
        let is_in = |list: &[String], word: &String| list.iter().any(|other| is_same(other, word));
        let known = |word: &&String| next.iter().any(|other| key(other) == key(word));
        let extra: Vec<&String> = running.iter().filter(|word| !is_in(next, word)).collect();
        Some(Drift {
            // Skips variables, which only the loader can expand.
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
