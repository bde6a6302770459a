//! What one phase is to measure.

use crate::bell::Bell;
use punctual_model::Alignment;
use punctual_units::{CpuId, CpuList, Nanos, Scheduling, Way};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Plan {
    pub phase: String,
    /// One thread on each.
    pub cpus: CpuList,
    pub scheduling: Scheduling,
    pub via: Way,
    /// CPUs for the threads that wake them, if any; empty: each shares its receiver's CPU.
    pub senders: CpuList,
    /// The cgroup that a CPU's thread enters first, as the file to write its id to (cgroup.threads); empty: none.
    pub groups: BTreeMap<CpuId, PathBuf>,
    pub period: Nanos,
    /// How the releases of the threads relate to each other.
    pub alignment: Alignment,
    pub warmup: Nanos,
    pub duration: Nanos,
    pub keep: usize,
    /// Above which late episodes are recorded.
    pub limits: Vec<Nanos>,
    /// For [`Cell::watch`](crate::Cell::watch).
    pub bell: Option<Bell>,
}
