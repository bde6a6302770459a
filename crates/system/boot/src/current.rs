use crate::words::{is_same, key};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// The parameters in the files that a change would edit.
    pub configured: Vec<String>,
    /// The parameters that the boot loader will pass at the next boot, as far as its files show. They include
    /// parameters that a generator adds (`root=`), but not those that firmware adds. `None` if unknown.
    pub next: Option<Vec<String>>,
    /// The parameters in /proc/cmdline; `None` if no kernel is running or it cannot be read.
    pub running: Option<Vec<String>>,
    pub sources: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Parameters that are configured but not on the running kernel's command line. They take effect after a reboot, or
    /// a run of the generator and a reboot.
    pub waiting: Vec<String>,
    /// Parameters whose value on the running kernel's command line differs from the configured one; the next boot uses
    /// the configured value.
    pub going: Vec<String>,
    /// Parameters that are on the running kernel's command line but not configured: firmware, the boot loader or a
    /// trial boot added them.
    pub foreign: Vec<String>,
}

impl Configured {
    /// Compares the configuration with the running kernel; `None` if the kernel's parameters are unknown.
    pub fn drift(&self) -> Option<Drift> {
        let running = self.running.as_ref()?;
        let next = self.next.as_ref().unwrap_or(&self.configured);
        let is_in = |list: &[String], word: &String| list.iter().any(|other| is_same(other, word));
        let known = |word: &&String| next.iter().any(|other| key(other) == key(word));
        let extra: Vec<&String> = running.iter().filter(|word| !is_in(next, word)).collect();
        Some(Drift {
            // Leaves out words with variables, which only the boot loader can expand.
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
