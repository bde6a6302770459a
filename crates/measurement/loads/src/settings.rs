use punctual_units::{CpuList, Nanos};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// First argument of a load's process. The other arguments are passed to [`child_main`](crate::child_main).
pub const HIDDEN_ARG: &str = "__load";

/// Argument with which the scheduler load starts this program so that it exits immediately.
pub(crate) const EXIT_ARG: &str = "exit";

/// Settings that are common to all loads.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSettings {
    /// CPUs to load. Workers are bound to them in turn, so that isolated CPUs, on which the scheduler does not balance
    /// load, are used as well.
    pub cpus: CpuList,
    /// Directory on a real disk for the io load's unnamed scratch file.
    pub scratch_folder: PathBuf,
    /// Maximum number of bytes that the io load writes during `phase`. It is limited because SD cards wear.
    pub write_cap_bytes: u64,
    /// `HOST[:PORT]` of a `punctual serve`, for the network load.
    pub peer: Option<String>,
    /// File that contains the secret of `peer`; `None` if it requires none.
    pub secret_file: Option<PathBuf>,
    /// Rate limit of the network load, both directions together, bytes per second.
    pub network_cap_bytes_per_s: u64,
    /// Limit on the load's buffers, bytes; `None` means an eighth of the available memory within cgroup limits.
    pub memory_limit_bytes: Option<u64>,
    /// Program to run as the load, usually `/proc/self/exe`. Its `main` must call [`child_main`](crate::child_main).
    pub self_exe: PathBuf,
    /// Planned duration of the load including warm-up. The io load spreads its writes over this time.
    pub phase: Nanos,
    /// Number of workers of each kind; `None` means one per CPU.
    pub workers: Option<u32>,
    /// Time limit for the first beat of every worker.
    pub ready_within: Nanos,
}

impl LoadSettings {
    /// Returns the defaults: at most 1 GiB written, 100 MB/s of network traffic, this program, and a phase of 60 s.
    pub fn new(cpus: CpuList, scratch_folder: PathBuf) -> LoadSettings {
        LoadSettings {
            cpus,
            scratch_folder,
            write_cap_bytes: 1 << 30,
            peer: None,
            secret_file: None,
            network_cap_bytes_per_s: 100_000_000,
            memory_limit_bytes: None,
            self_exe: "/proc/self/exe".into(),
            phase: Nanos::from_secs(60),
            workers: None,
            ready_within: Nanos::from_secs(5),
        }
    }
}

/// Returns the nearest existing directory at or above `path`, which is on the disk where `path` would be created.
pub fn folder_at(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().find(|folder| folder.is_dir()).map_or(absolute.clone(), Path::to_owned)
}

/// Configuration of a load's process, passed in its second argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChildConfig {
    pub load: String,
    pub command: Option<String>,
    pub cpus: CpuList,
    pub workers: Option<u32>,
    pub scratch_folder: PathBuf,
    pub write_cap_bytes: u64,
    pub peer: Option<String>,
    pub secret_file: Option<PathBuf>,
    pub network_cap_bytes_per_s: u64,
    pub memory_limit_bytes: Option<u64>,
    pub phase_ns: Nanos,
    /// Number of slots in the shared memory, one per worker.
    pub slots: usize,
    /// Number of loads that run at the same time and divide the limits among them.
    pub sharing: u32,
    /// Process ID of the parent, to detect that it has died.
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
            secret_file: settings.secret_file.clone(),
            network_cap_bytes_per_s: settings.network_cap_bytes_per_s,
            memory_limit_bytes: settings.memory_limit_bytes,
            phase_ns: settings.phase,
            slots: slots(settings),
            sharing,
            parent: rustix::process::getpid().as_raw_nonzero().get(),
        }
    }

    /// Returns true for a part of `all`, which must leave CPU time to the others: ten runnable threads per CPU would
    /// starve all of them.
    pub fn together(&self) -> bool {
        self.sharing > 1
    }

    pub fn workers(&self) -> usize {
        self.workers.map_or(self.cpus.len(), |n| n as usize).max(1)
    }

    /// Returns the CPU of a worker. CPUs are assigned in turn.
    pub fn cpu_of(&self, worker: usize) -> Option<punctual_units::CpuId> {
        self.cpus.iter().nth(worker % self.cpus.len().max(1))
    }
}

/// Returns a number of slots that is sufficient for every load; a load has at most four kinds of workers.
fn slots(settings: &LoadSettings) -> usize {
    4 * settings.workers.map_or(settings.cpus.len(), |n| n as usize).max(1)
}
