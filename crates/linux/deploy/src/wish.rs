#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub is_rt: bool,
    /// Seconds after the start of the trial boot at which the guard returns to the old kernel, unless committed.
    pub limit_s: u64,
    /// Somebody is at the machine, so a trial that cannot fall back automatically is accepted.
    pub manual_recovery: bool,
    /// Parameters of its every boot.
    pub add: Vec<String>,
    /// Names of checks whose failure is accepted.
    pub skip: Vec<String>,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish { is_rt: true, limit_s: 600, manual_recovery: false, add: Vec::new(), skip: Vec::new() }
    }
}
