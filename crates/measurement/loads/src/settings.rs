use punctual_units::{CpuList, Nanos};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The first argument that makes the program a load: pass what follows to [`child_main`](crate::child_main).
pub const HIDDEN_ARG: &str = "__load";

/// What the scheduler load starts and reaps repeatedly.
pub(crate) const EXIT_ARG: &str = "exit";

/// Where and within which bounds loads run.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSettings {
    /// The CPUs to load. Workers are bound to them in turn, so that isolated CPUs (which the scheduler does not
    /// balance) are loaded as well.
    pub cpus: CpuList,
    /// A folder on a real disk, for the io load's scratch file; the file has no name there.
    pub scratch_folder: PathBuf,
    /// Limit of what the io load writes in total: SD cards wear. It is spread over `phase`.
    pub write_cap_bytes: u64,
    /// `HOST[:PORT]` of a `punctual serve`, for the network load.
    pub peer: Option<String>,
    /// The file of the secret that the peer asks for.
    pub secret_file: Option<PathBuf>,
    /// Limit of the network load, both directions together.
    pub network_cap_bytes_per_s: u64,
    /// Limit of a load's buffers; `None`: an eighth of what is available, cgroup limits included.
    pub memory_limit_bytes: Option<u64>,
    /// The program to run as the load: `/proc/self/exe`, whose `main` calls [`child_main`](crate::child_main).
    pub self_exe: PathBuf,
    /// How long the load will run, including warm-up: the io load spreads its writing over this time.
    pub phase: Nanos,
    /// Workers of each kind; `None`: one per CPU.
    pub workers: Option<u32>,
    /// Limit of the time to every worker's first heartbeat.
    pub ready_within: Nanos,
}

impl LoadSettings {
    /// 1 GiB to write, 100 MB/s of network traffic, this program, 60 s.
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

/// The nearest folder at or above `path` that is there: on the same disk as what will be made at `path`.
pub fn folder_at(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().find(|folder| folder.is_dir()).map_or(absolute.clone(), Path::to_owned)
}

/// The second argument of the load's process.
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
    /// Slots in the shared words.
    pub slots: usize,
    /// How many loads run at once and share the bounds.
    pub sharing: u32,
    /// The caller: when it is no longer the parent, it has died.
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

    /// Is it a part of `all`? Then it must leave room for the others: a queue of ten on each CPU starves them all.
    pub fn together(&self) -> bool {
        self.sharing > 1
    }

    pub fn workers(&self) -> usize {
        self.workers.map_or(self.cpus.len(), |n| n as usize).max(1)
    }

    /// Each in turn.
    pub fn cpu_of(&self, worker: usize) -> Option<punctual_units::CpuId> {
        self.cpus.iter().nth(worker % self.cpus.len().max(1))
    }
}

/// Room for the workers of any load, which have at most four kinds.
fn slots(settings: &LoadSettings) -> usize {
    4 * settings.workers.map_or(settings.cpus.len(), |n| n as usize).max(1)
}
