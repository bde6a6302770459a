//! Checks that a measuring command has enough file descriptors, processes and memory before it starts. A command that
//! runs out of one of them during a measurement loses its run.

use crate::args::Command;
use crate::prove::args::ProveArgs;
use crate::refusal::Refusal;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// Maximum resources that a command uses with default options, measured with two CPUs on Linux 6.18
/// (docs/reliability.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    descriptors: u64,
    /// Number of threads of this process and its children.
    tasks: u64,
    memory: u64,
}

impl Need {
    /// Returns what the command needs on this number of CPUs; `None` if it is not checked.
    fn of(command: &Command, cpus: u64) -> Option<Need> {
        // The tasks are the measuring threads, the main thread, and those that sample the machine, the trace and the
        // clock.
        let engine = Need { descriptors: 24 + 6 * cpus, tasks: cpus + 4, memory: 6 * MIB };
        match command {
            Command::Prove(ProveArgs { measure: args, .. }) | Command::Measure(args) => {
                let proves = matches!(command, Command::Prove(_));
                let named = args.run.loads.iter().flat_map(|names| names.split(',')).filter(|name| *name != "idle");
                let parts = match (args.run.loads.is_empty(), named.clone().any(|name| name == "all")) {
                    (true, _) if !proves => 0,
                    (true, _) | (_, true) => 6,
                    _ => u64::from(named.count() > 0),
                };
                Some(Need {
                    descriptors: engine.descriptors + 3 * parts + if proves { 4 + 2 * cpus } else { 0 },
                    tasks: engine.tasks + parts * (1 + cpus) + u64::from(proves),
                    memory: engine.memory + parts * 4 * MIB + if proves { 8 * MIB } else { 0 },
                })
            }
            Command::Watch(args) if args.shown().is_some() => None,
            Command::Watch(_) => Some(Need { descriptors: engine.descriptors + 4 + 2 * cpus, ..engine }),
            Command::Explain(args) if args.live => {
                Some(Need { descriptors: engine.descriptors + 2 * cpus, memory: 10 * MIB, ..engine })
            }
            Command::Tune(_) => {
                Some(Need { descriptors: engine.descriptors + 24, tasks: engine.tasks + 8, memory: 24 * MIB })
            }
            Command::Events(_) => Some(Need { descriptors: 16, tasks: 7, memory: 20 * MIB }),
            Command::Sched(_) => Some(Need { descriptors: 16, tasks: 6, memory: 12 * MIB }),
            Command::Bench(_) => Some(Need { descriptors: 16, tasks: cpus + 4, memory: 4 * MIB }),
            Command::Cyclictest(_) | Command::Selftest(_) => {
                Some(Need { descriptors: 12, tasks: cpus + 2, memory: 4 * MIB })
            }
            Command::Audit(_) => Some(Need { descriptors: 12, tasks: 1, memory: 14 * MIB }),
            Command::Serve(_) => Some(Need { descriptors: 12, tasks: 4, memory: 4 * MIB }),
            _ => None,
        }
    }
}

/// Available resources; `None` for a resource that is unlimited or unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Has {
    descriptors: Option<u64>,
    tasks: Option<u64>,
    memory: Option<u64>,
}

impl Has {
    fn look() -> Has {
        let left = |controller: &str, limit: &str, used: &str| {
            groups(controller)
                .iter()
                .filter_map(|group| Some(number(group, limit)?.saturating_sub(number(group, used)?)))
                .min()
        };
        let memory = match is_v2() {
            true => left("memory", "memory.max", "memory.current"),
            false => left("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
        };
        let tasks = left("pids", "pids.max", "pids.current").map(|left| left + own_tasks());
        Has { descriptors: getrlimit(Resource::Nofile).current, tasks, memory }
    }
}

/// Returns an error, with the amount needed and the remedy, if the command has too little of a resource. Raises the
/// soft limit of descriptors if that is enough.
///
/// # Errors
/// A resource is too small.
pub fn check(command: &Command) -> Result<(), Refusal> {
    let cpus = punctual_uapi::affinity(0).map_or(1, |cpus| cpus.len() as u64);
    let Some(need) = Need::of(command, cpus) else { return Ok(()) };
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_some_and(|soft| soft < need.descriptors)
        && limits.maximum.is_none_or(|hard| hard >= need.descriptors)
    {
        // If this fails, the check below reports the shortage.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(need.descriptors), ..limits });
    }
    match missing(need, Has::look()) {
        None => Ok(()),
        Some(what) => Err(Refusal::environment(what)),
    }
}

fn missing(need: Need, has: Has) -> Option<String> {
    let too_few = |has: Option<u64>, need: u64| has.filter(|has| *has < need);
    let descriptors = too_few(has.descriptors, need.descriptors).map(|has| {
        format!(
            "it needs up to {} open files, but {has} are allowed: `ulimit -n {}`",
            need.descriptors, need.descriptors
        )
    });
    let tasks = too_few(has.tasks, need.tasks).map(|has| {
        format!("it needs {} processes and threads, but its control group allows {has}: raise pids.max", need.tasks)
    });
    let memory = too_few(has.memory, need.memory).map(|has| {
        let (need, has) = (need.memory / MIB, has / MIB);
        format!("it needs {need} MiB of memory, but its control group has {has} MiB left: raise memory.max")
    });
    let all: Vec<String> = [descriptors, tasks, memory].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("not started: {}", all.join("; ")))
}

fn is_v2() -> bool {
    Path::new("/sys/fs/cgroup/cgroup.controllers").exists()
}

/// Returns the control groups of this process that have the controller, from the group of the process up to the root
/// (cgroups(7)).
fn groups(controller: &str) -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let v2 = is_v2();
    let of = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_it = if v2 { controllers.is_empty() } else { controllers.split(',').any(|c| c == controller) };
        is_it.then(|| path.trim_start_matches('/').to_owned())
    };
    let Some(path) = text.lines().find_map(of) else { return Vec::new() };
    let top = if v2 { root.to_owned() } else { root.join(controller) };
    Path::new(&path).ancestors().map(|part| top.join(part)).collect()
}

/// Reads a limit of a control group. Returns `None` for `max`, which means unlimited.
fn number(group: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

fn own_tasks() -> u64 {
    fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: Need = Need { descriptors: 40, tasks: 8, memory: 12 * MIB };

    #[test]
    fn all_that_is_missing_is_said_with_what_to_do() {
        assert_eq!(missing(NEED, Has::default()), None);
        let enough = Has { descriptors: Some(40), tasks: Some(8), memory: Some(12 * MIB) };
        assert_eq!(missing(NEED, enough), None);
        let less = Has { descriptors: Some(39), tasks: Some(7), memory: Some(12 * MIB - 1) };
        let what = missing(NEED, less).unwrap();
        for word in ["40 open files, but 39", "ulimit -n 40", "8 processes", "allows 7", "12 MiB", "11 MiB left"] {
            assert!(what.contains(word), "{what}");
        }
        assert!(!missing(NEED, Has { tasks: None, memory: None, ..less }).unwrap().contains("pids.max"));
    }
}
