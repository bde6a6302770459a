use super::PlanError;
use crate::reading::Cause;
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use punctual_units::{CpuId, CpuList};

const CPU: &str = "/sys/devices/system/cpu";

/// A core below this share of the fastest is slow: the small cores of big.LITTLE have 30 to 60 %, while turbo
/// frequencies of equal cores differ by less than 10 %.
const SLOW_PERCENT: i64 = 85;

/// Number of cache folders read per CPU: only index0 to index4 exist.
const CACHES: u32 = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Core {
    pub cpus: CpuList,
    pub node: Option<u32>,
    /// True if the core's capacity is below [`SLOW_PERCENT`] of the fastest core's.
    pub is_slow: bool,
    /// CPUs that share the second-level cache; empty if unknown.
    pub l2: CpuList,
    /// CPUs that share the third-level cache.
    pub l3: CpuList,
}

/// Topology of the machine; `cores` begins with the core of the first CPU.
#[derive(Debug)]
pub(super) struct Topology {
    pub online: CpuList,
    pub cores: Vec<Core>,
    pub near: Option<CpuList>,
    pub gaps: Vec<String>,
}

impl Topology {
    pub fn read(sight: &Sight, near: Option<&str>) -> Result<Topology, PlanError> {
        let unknown = |gap: crate::reading::Gap| PlanError::Unknown(gap.describe());
        let online = sight.set(Set::Online, &mut Notes::default()).map_err(unknown)?;
        let mut topology = Topology { near: None, cores: Vec::new(), gaps: Vec::new(), online };
        topology.near = near.map(|device| near_device(sight, device)).transpose()?;
        let nodes = nodes(sight);
        let mut capacities = Vec::new();
        for cpu in topology.online.clone().iter() {
            if topology.cores.iter().any(|core| core.cpus.contains(cpu)) {
                continue;
            }
            let core = topology.core(sight, cpu, &nodes);
            capacities.push(capacity(sight, cpu));
            topology.cores.push(core);
        }
        let fastest = capacities.iter().flatten().max().copied().unwrap_or(0);
        for (core, capacity) in topology.cores.iter_mut().zip(capacities) {
            core.is_slow = capacity.is_some_and(|capacity| capacity.saturating_mul(100) < fastest * SLOW_PERCENT);
        }
        Ok(topology)
    }

    fn core(&mut self, sight: &Sight, cpu: CpuId, nodes: &[(u32, CpuList)]) -> Core {
        let path = format!("{CPU}/cpu{cpu}/topology/thread_siblings_list");
        let siblings = match sight.cpu_list(&path, &mut Notes::default()) {
            Ok(siblings) => siblings.and(&self.online),
            // Kernels for single-threaded processors may lack the topology files.
            Err(gap) if gap.cause == Cause::Absent => CpuList::new(),
            Err(gap) => {
                self.gaps.push(format!("cannot tell if CPU {cpu} shares its core: {}", gap.describe()));
                CpuList::new()
            }
        };
        let cpus = if siblings.contains(cpu) { siblings } else { [cpu].into_iter().collect() };
        let node = nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(node, _)| *node);
        Core { cpus, node, is_slow: false, l2: cache(sight, cpu, 2), l3: cache(sight, cpu, 3) }
    }
}

fn cache(sight: &Sight, cpu: CpuId, level: i64) -> CpuList {
    let mut unnoted = Notes::default();
    for index in 0..CACHES {
        let folder = format!("{CPU}/cpu{cpu}/cache/index{index}");
        if sight.number(&format!("{folder}/level"), &mut unnoted) == Ok(level) {
            return sight.cpu_list(&format!("{folder}/shared_cpu_list"), &mut unnoted).unwrap_or_default();
        }
    }
    CpuList::new()
}

/// Returns the CPU's capacity as the scheduler reports it (arm64, hybrid x86) or, failing that, the firmware; otherwise
/// the CPU's highest frequency. The units differ, but they are the same for all CPUs of a machine, which have the same
/// files.
fn capacity(sight: &Sight, cpu: CpuId) -> Option<i64> {
    let files = ["cpu_capacity", "acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"];
    let mut unnoted = Notes::default();
    files.iter().find_map(|file| sight.number(&format!("{CPU}/cpu{cpu}/{file}"), &mut unnoted).ok())
}

fn nodes(sight: &Sight) -> Vec<(u32, CpuList)> {
    const NODES: &str = "/sys/devices/system/node";
    let numbers = sight.numbered(NODES, "node").unwrap_or_default();
    let list = |node: u32| sight.cpu_list(&format!("{NODES}/node{node}/cpulist"), &mut Notes::default()).ok();
    numbers.into_iter().filter_map(|node| Some((node, list(node)?))).collect()
}

fn near_device(sight: &Sight, device: &str) -> Result<CpuList, PlanError> {
    let no_device = |why: String| PlanError::NoDevice { device: device.to_owned(), why };
    if device.is_empty() || device.contains('/') || device.starts_with('.') {
        return Err(no_device("this is not the name of a network interface".to_owned()));
    }
    let path = format!("/sys/class/net/{device}/device/local_cpulist");
    let cpus = sight.cpu_list(&path, &mut Notes::default()).map_err(|gap| no_device(gap.describe()))?;
    if cpus.is_empty() { Err(no_device(format!("{path} is empty"))) } else { Ok(cpus) }
}
