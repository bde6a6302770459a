//! Chooses CPUs: whole cores, but never the core of the first CPU; cores that share no cache with the first CPU are
//! preferred.

use super::topology::{Core, Topology};
use super::{PlanError, PlanWish};
use punctual_units::{CpuId, CpuList};
use std::cmp::Reverse;

pub(super) struct Choice {
    pub isolated: CpuList,
    pub siblings_off: CpuList,
    pub why: Vec<String>,
    pub doubts: Vec<String>,
}

/// Cost of choosing a core: lower is better, and the most important criterion comes first.
type Cost = (bool, bool, bool, bool, bool, bool, Reverse<Option<CpuId>>);

pub(super) fn choose(topology: &Topology, request: &PlanWish) -> Result<Choice, PlanError> {
    let cores = &topology.cores;
    let Some((boot, rest)) = cores.split_first() else { return Err(PlanError::Unknown("none".to_owned())) };
    if rest.is_empty() {
        return Err(PlanError::OneCore(boot.cpus.clone()));
    }
    if request.count > rest.len() || request.count == 0 {
        let (wanted, cores, boot, most) = (request.count, cores.len(), boot.cpus.clone(), rest.len());
        return Err(PlanError::TooMany { wanted, cores, boot, most });
    }
    let mut chosen: Vec<&Core> = Vec::new();
    while chosen.len() < request.count {
        let left = rest.iter().filter(|core| !chosen.iter().any(|other| other.cpus == core.cpus));
        let Some(best) = left.min_by_key(|core| cost(core, boot, chosen.first().copied(), topology)) else { break };
        chosen.push(best);
    }
    let isolated: CpuList = chosen.iter().filter_map(|core| core.cpus.iter().next()).collect();
    let all: CpuList = chosen.iter().flat_map(|core| core.cpus.iter()).collect();
    let siblings_off = all.minus(&isolated);
    let why = why(&chosen, boot, topology);
    let mut doubts = doubts(&chosen, topology, &all);
    doubts.extend(topology.gaps.iter().cloned());
    Ok(Choice { isolated, siblings_off, why, doubts })
}

fn shares(cache: &CpuList, other: &Core) -> bool {
    !cache.and(&other.cpus).is_empty()
}

fn is_far(core: &Core, topology: &Topology) -> bool {
    topology.near.as_ref().is_some_and(|near| core.cpus.and(near).is_empty())
}

fn cost(core: &Core, boot: &Core, first: Option<&Core>, topology: &Topology) -> Cost {
    // The application's threads share data, so they should share a node and a cache.
    let is_apart = first.is_some_and(|first| core.node != first.node);
    let is_behind_other = first.is_some_and(|first| !core.l3.is_empty() && !shares(&core.l3, first));
    (
        is_far(core, topology),
        core.is_slow,
        is_apart,
        is_behind_other,
        shares(&core.l2, boot),
        shares(&core.l3, boot),
        Reverse(core.cpus.iter().next()),
    )
}

fn why(chosen: &[&Core], boot: &Core, topology: &Topology) -> Vec<String> {
    let all = |fits: &dyn Fn(&Core) -> bool| chosen.iter().all(|core| fits(core));
    let any_core = |fits: &dyn Fn(&Core) -> bool| topology.cores.iter().any(fits);
    let mut why = vec![format!(
        "CPU {} remains for everything else: the first CPU boots the machine, keeps time and serves interrupts that no other CPU serves",
        boot.cpus
    )];
    if let (Some(near), true) = (&topology.near, all(&|core| !is_far(core, topology))) {
        why.push(format!("near the device, whose CPUs are {near}"));
    }
    if all(&|core| !core.is_slow) && any_core(&|core| core.is_slow) {
        let slow: CpuList =
            topology.cores.iter().filter(|core| core.is_slow).flat_map(|core| core.cpus.iter()).collect();
        why.push(format!("fast cores; CPUs {slow} are slower"));
    }
    let is_apart =
        |level: &dyn Fn(&Core) -> CpuList| all(&|core| !level(core).is_empty() && !shares(&level(core), boot));
    if is_apart(&|core| core.l3.clone()) {
        why.push("they do not share a third-level cache with the first CPU".to_owned());
    } else if is_apart(&|core| core.l2.clone()) {
        why.push("they do not share a second-level cache with the first CPU".to_owned());
    }
    let multi: Vec<String> =
        chosen.iter().filter(|core| core.cpus.len() > 1).map(|core| format!("CPU {}", core.cpus)).collect();
    if !multi.is_empty() {
        why.push(format!(
            "whole cores ({}): a busy sibling competes for the core's execution units and caches",
            multi.join("; ")
        ));
    }
    why
}

/// Minimum number of CPUs to leave for everything else if possible: while one of them serves interrupts, the other can
/// run tasks.
const ENOUGH: usize = 2;

fn doubts(chosen: &[&Core], topology: &Topology, all: &CpuList) -> Vec<String> {
    let mut doubts = Vec::new();
    let housekeeping = topology.online.minus(all);
    for (level, name) in [(2, "second"), (3, "last")] {
        let cache = |core: &Core| if level == 2 { core.l2.clone() } else { core.l3.clone() };
        let shared: CpuList =
            chosen.iter().flat_map(|core| cache(core).and(&housekeeping).iter().collect::<Vec<_>>()).collect();
        if !shared.is_empty() {
            let advice = if level == 3 {
                "; resctrl can reserve cache ways for the application if the processor supports it"
            } else {
                ""
            };
            doubts.push(format!(
                "the {name}-level cache is shared with CPU {shared}: its memory traffic slows the application{advice}"
            ));
            break;
        }
    }
    if housekeeping.len() < ENOUGH {
        doubts.push(format!("only CPU {housekeeping} is left for interrupts and everything else"));
    }
    if chosen.iter().any(|core| core.is_slow) {
        doubts.push("one of the chosen cores is slow".to_owned());
    }
    if topology.near.is_some() && chosen.iter().any(|core| is_far(core, topology)) {
        doubts.push("not enough cores are near the device".to_owned());
    }
    let nodes: std::collections::BTreeSet<_> = chosen.iter().map(|core| core.node).collect();
    if nodes.len() > 1 {
        doubts.push("the chosen cores are on several memory nodes: bind each thread's memory to its node".to_owned());
    }
    doubts
}
