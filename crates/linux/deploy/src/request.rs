#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub is_rt: bool,
    /// Time in seconds from the start of the trial boot after which the guard returns to the old kernel, unless the
    /// trial has been committed.
    pub limit_s: u64,
    /// True if someone is at the machine, so that a trial without automatic fallback is accepted.
    pub manual_recovery: bool,
    /// Kernel parameters for every boot of the deployed kernel.
    pub add: Vec<String>,
    /// Names of checks whose failure is accepted.
    pub skip: Vec<String>,
}

impl Default for Request {
    fn default() -> Request {
        Request { is_rt: true, limit_s: 600, manual_recovery: false, add: Vec::new(), skip: Vec::new() }
    }
}

impl Request {
    /// Returns true if the failure of this check is accepted; `room` is an earlier name of `space`.
    pub fn skips(&self, check: &str) -> bool {
        self.skip.iter().any(|name| name == check || (name == "room" && check == "space"))
    }
}
