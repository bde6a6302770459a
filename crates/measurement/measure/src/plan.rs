//! Parameters of one phase.

use crate::bell::Bell;
use punctual_model::Alignment;
use punctual_units::{CpuId, CpuList, Nanos, Scheduling, WakeupSource};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Plan {
    pub phase: String,
    /// CPUs to measure, one thread each.
    pub cpus: CpuList,
    pub scheduling: Scheduling,
    pub via: WakeupSource,
    /// CPUs for the threads that wake the measuring threads; if empty, each sender runs on its receiver's CPU.
    pub senders: CpuList,
    /// For each CPU, the cgroup.threads file of the cgroup that its thread enters; a thread without an entry enters no
    /// cgroup.
    pub groups: BTreeMap<CpuId, PathBuf>,
    pub period: Nanos,
    /// How the releases of the threads relate to each other.
    pub alignment: Alignment,
    pub warmup: Nanos,
    pub duration: Nanos,
    pub keep: usize,
    /// Limits above which late episodes are recorded.
    pub limits: Vec<Nanos>,
    /// Bell that [`Cell::watch`](crate::Cell::watch) signals.
    pub bell: Option<Bell>,
}
