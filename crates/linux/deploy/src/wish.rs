//! What is wished for.

/// How a kernel is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Has it to be PREEMPT_RT?
    pub is_rt: bool,
    /// Seconds after the start of the trial boot at which it is returned from, unless committed.
    pub limit_s: u64,
    /// Somebody is at the machine: what cannot return by itself is done all the same.
    pub manual_recovery: bool,
    /// Words for its command line, in every boot of it.
    pub add: Vec<String>,
    /// Checks whose failure is accepted, by name.
    pub skip: Vec<String>,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish { is_rt: true, limit_s: 600, manual_recovery: false, add: Vec::new(), skip: Vec::new() }
    }
}
