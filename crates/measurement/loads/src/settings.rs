//! What the caller says about how loads may run.

use punctual_units::{CpuList, Nanos};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where and within which bounds loads run.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSettings {
    /// The CPUs to load. Workers are bound to them in turn, so that isolated CPUs (which the scheduler does not balance)
    /// get their share too.
    pub cpus: CpuList,
    /// A folder on a real disk, for the io load's scratch file; the file has no name there.
    pub scratch_folder: PathBuf,
    /// The most the io load may write from start to stop: SD cards wear. It is spread over `phase`.
    pub write_cap_bytes: u64,
    /// `HOST[:PORT]` of a `punctual serve`, for the network load.
    pub peer: Option<String>,
    /// The most the network load sends and receives in a second.
    pub network_cap_bytes_per_s: u64,
    /// The most memory a load's buffers may take; without it an eighth of what is available, cgroup limits included.
    pub memory_limit_bytes: Option<u64>,
    /// The program to run as the load: `/proc/self/exe`, whose `main` calls [`child_main`](crate::child_main).
    pub self_exe: PathBuf,
    /// How long the load will run, warm-up included: what the io load spreads its writing over.
    pub phase: Nanos,
    /// How many workers of a kind, where not one for each CPU.
    pub workers: Option<u32>,
    /// How long every worker may take to its first heartbeat.
    pub ready_within: Nanos,
}

impl LoadSettings {
    /// The defaults: 1 GiB to write, 100 MB/s of network traffic, this program, 60 s.
    pub fn new(cpus: CpuList, scratch_folder: PathBuf) -> LoadSettings {
        LoadSettings {
            cpus,
            scratch_folder,
            write_cap_bytes: 1 << 30,
            peer: None,
            network_cap_bytes_per_s: 100_000_000,
            memory_limit_bytes: None,
            self_exe: "/proc/self/exe".into(),
            phase: Nanos::from_secs(60),
            workers: None,
            ready_within: Nanos::from_secs(5),
        }
    }
}

/// What the load's process is told, as its second argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChildConfig {
    pub load: String,
    pub command: Option<String>,
    pub cpus: CpuList,
    pub workers: Option<u32>,
    pub scratch_folder: PathBuf,
    pub write_cap_bytes: u64,
    pub peer: Option<String>,
    pub network_cap_bytes_per_s: u64,
    pub memory_limit_bytes: Option<u64>,
    pub phase_ns: Nanos,
    /// How many slots the shared words have.
    pub slots: usize,
    /// How many loads run at once and share the bounds.
    pub sharing: u32,
    /// The caller: when it is not the parent any more, it has died.
    pub parent: i32,
}

impl ChildConfig {
    pub fn new(load: &str, command: Option<&str>, settings: &LoadSettings, sharing: u32) -> ChildConfig {
        ChildConfig {
            load: load.into(),
            command: command.map(Into::into),
            cpus: settings.cpus.clone(),
            workers: settings.workers,
            scratch_folder: settings.scratch_folder.clone(),
            write_cap_bytes: settings.write_cap_bytes,
            peer: settings.peer.clone(),
            network_cap_bytes_per_s: settings.network_cap_bytes_per_s,
            memory_limit_bytes: settings.memory_limit_bytes,
            phase_ns: settings.phase,
            slots: slots(settings),
            sharing,
            parent: rustix::process::getpid().as_raw_nonzero().get(),
        }
    }

    /// Is it a part of `all`? Then it must leave room for the others: a queue of ten on each CPU starves them all.
    pub fn together(&self) -> bool {
        self.sharing > 1
    }

    /// How many workers of each kind.
    pub fn workers(&self) -> usize {
        self.workers.map_or(self.cpus.len(), |n| n as usize).max(1)
    }

    /// The CPU of worker `i`: each in turn.
    pub fn cpu_of(&self, worker: usize) -> Option<punctual_units::CpuId> {
        self.cpus.iter().nth(worker % self.cpus.len().max(1))
    }
}

/// Room for the workers of any load: at most four kinds of them.
fn slots(settings: &LoadSettings) -> usize {
    4 * settings.workers.map_or(settings.cpus.len(), |n| n as usize).max(1)
}
