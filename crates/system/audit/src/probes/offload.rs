//! CPUs whose RCU callbacks are offloaded to threads.

use super::cmdline::unsupported;
use super::cpu_lists::{ISOLCPUS, isolation, possible, scope};
use super::kernel::{backports, release};
use super::open_lists::shown;
use super::{Probe, With};
use crate::cmdline::list::{self, Release, Scope};
use crate::reading::{Cause, Gap, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::parameter;
use punctual_units::CpuList;

pub(super) const PROBES: &[Probe] = &[
    // CPUs whose RCU callbacks are offloaded by the command line or the kernel's configuration, or `none`.
    Probe { name: "offloaded", with: &[], reads: ISOLCPUS, run: offloaded_cpus },
    // The option that the offloading of these CPUs needs, if it is unknown whether the kernel is built with it.
    Probe { name: "offloading-needs", with: &[], reads: ISOLCPUS, run: needs },
];

/// Since this release a bad list offloads every CPU, and `all` is supported: "rcu: Report error for bad rcu_nocbs=
/// parameter values" and "rcu: Allow rcu_nocbs= to specify all CPUs", both of Linux 5.2 (rcu_nocb_setup,
/// kernel/rcu/tree_plugin.h).
pub(super) const NOCBS_CHECKED: Release = (5, 2);

pub(super) fn offload_list(value: &str, scope: Scope) -> Result<CpuList, String> {
    match value.eq_ignore_ascii_case("all") {
        true if scope.is_before(NOCBS_CHECKED) => Err("`all` is supported since Linux 5.2".to_owned()),
        // RCU itself handled this word before bitmap_parselist() did.
        true => list::parse(value, Scope { release: None, ..scope }),
        false => list::parse(value, scope),
    }
}

/// Before Linux 5.2, the CPUs that the list names before a mistake are offloaded: rcu_nocb_setup() ignores the result
/// of cpulist_parse().
pub(super) fn offloaded_partly(value: &str, scope: Scope) -> CpuList {
    list::parse_partly(value, scope).0
}

/// Determines the offloaded CPUs as rcu_nocb_setup() and rcu_init_nohz() do (kernel/rcu/tree_nocb.h). Without a list,
/// RCU_NOCB_CPU_ALL applied until
/// 4.12, RCU_NOCB_CPU_DEFAULT_ALL since 6.0.
fn offloaded_cpus(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let line = match sight.cmdline() {
        Ok(line) => line,
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::gap(gap);
        }
    };
    let asked = match sight.asked("rcu_nocbs", &mut Notes::default()) {
        Ok(asked) => asked,
        Err(gap) => return Reading::gap(gap),
    };
    let possible = possible(sight, &mut Notes::default()).ok();
    let scope = scope(sight, &line, possible.as_ref(), 1);
    let isolation = isolation(sight, &line, possible.as_ref(), 1);
    let mut cpus: CpuList = isolation.tickless().cloned().unwrap_or_default();
    let by_default = by_default(sight, asked.is_some() || !cpus.is_empty());
    if by_default == Ok(true) {
        return Reading::word("every CPU");
    }
    match asked.map(|value| offload_list(&value, scope)) {
        Some(Ok(list)) => cpus = cpus.iter().chain(list.iter()).collect(),
        Some(Err(_)) if !scope.is_before(NOCBS_CHECKED) => return Reading::word("every CPU"),
        Some(Err(_)) => {
            let value = parameter(&line, "rcu_nocbs").unwrap_or_default();
            cpus = cpus.iter().chain(offloaded_partly(&value, scope).iter()).collect();
        }
        None => {}
    }
    if let Some(gap) = by_default.err().filter(|gap| cpus.is_empty() && gap.is_not_given()) {
        notes.add(&gap.source, gap.cause.describe());
        return Reading::gap(gap);
    }
    let cpus = if cpus.is_empty() { "none".to_owned() } else { shown(sight, &["rcu_nocbs", "nohz_full"], &cpus) };
    notes.add("/proc/cmdline: CPUs with offloaded callbacks", &cpus);
    Reading::word(cpus)
}

/// Returns true if the kernel is built to offload every CPU: until 4.12 regardless of the command line, since 6.0 if
/// the command line has no list.
fn by_default(sight: &Sight, has_list: bool) -> Result<bool, Gap> {
    let release = release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    let release = release.filter(|_| !backports(sight));
    let options: &[&str] = match release {
        Some(release) if release < (4, 13) => &["RCU_NOCB_CPU_ALL"],
        Some(release) if release < (6, 0) => &[],
        _ if has_list => &[],
        _ => &["RCU_NOCB_CPU_DEFAULT_ALL"],
    };
    let mut is_on = false;
    for option in options {
        is_on |= sight.option(option, &mut Notes::default())? == Value::Text("y".to_owned());
    }
    Ok(is_on)
}

/// rcu_init_nohz() offloads the CPUs of nohz_full= only in kernels with NO_HZ_FULL, which selects RCU_NOCB_CPU.
fn needs(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let is_listed = sight.cmdline().is_ok_and(|line| parameter(&line, "rcu_nocbs").is_some());
    let is_default = by_default(sight, is_listed) == Ok(true);
    let option = if is_listed || is_default { "RCU_NOCB_CPU" } else { "NO_HZ_FULL" };
    match sight.option(option, notes) {
        Ok(_) => Reading::gap(Gap::new(option, Cause::Absent)),
        Err(_) => Reading::word(option),
    }
}

/// Reports rcu_nocb_poll if no CPU is offloaded, so that it has no effect (kernel/rcu/tree_nocb.h).
pub(super) fn polls_for_nobody(sight: &Sight, line: &str) -> Option<String> {
    parameter(line, "rcu_nocb_poll")?;
    if unsupported(sight, "rcu_nocb_poll").is_some() || sight.variable("rcu_nocbs").is_some() {
        return None;
    }
    let none = offloaded_cpus(sight, &With::new(), &mut Notes::default()) == Reading::word("none");
    none.then(|| "rcu_nocb_poll has no effect: no CPU's callbacks are offloaded".to_owned())
}
