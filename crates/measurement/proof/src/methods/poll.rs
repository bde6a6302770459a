//! `busy-poll`: threads that read the clock continuously.

use crate::error::ProofError;
use crate::meter::{Meter, Threads};
use punctual_machine::Live;
use punctual_measure::{Plan, Topology, start_polling};
use punctual_units::{CpuList, Nanos, Policy, Scheduling};
use std::fs::read_to_string;

pub(super) const LABEL: &str = "busy-poll gap";

pub(super) fn start(plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
    let running = start_polling(plan.clone())?;
    Ok(Box::new(Threads { running, scheduling: plan.scheduling, label: Some(LABEL) }))
}

/// Returns the CPUs on which the clock is read, by default all that this process may use, and notes on this choice.
/// With a real-time policy one CPU is always left free, for the kernel's work and so that the user can end the run.
///
/// # Errors
/// All CPUs were requested, or there is only one.
pub(super) fn cpus(
    topology: &Topology,
    chosen: CpuList,
    asked: bool,
    scheduling: Scheduling,
) -> Result<(CpuList, Option<String>), ProofError> {
    if scheduling.policy() == Policy::Deadline {
        let text = "SCHED_DEADLINE gives a thread a runtime budget, which a thread that never sleeps exhausts: choose --policy fifo or other";
        return Err(ProofError::Usage(text.into()));
    }
    let real_time = matches!(scheduling.policy(), Policy::Fifo | Policy::Rr);
    let usable = topology.allowed.and(&topology.online);
    if !real_time || !usable.minus(&chosen).is_empty() {
        return Ok((chosen, None));
    }
    let left: CpuList = chosen.iter().take(1).collect();
    let rest = chosen.minus(&left);
    let why = "a real-time thread that never sleeps never releases its CPU";
    match (asked, rest.is_empty()) {
        (_, true) => Err(ProofError::Usage(format!(
            "busy-poll cannot occupy the only CPU {left}: {why}, and nothing could stop the run; use --policy other"
        ))),
        (true, false) => Err(ProofError::Usage(format!(
            "busy-poll cannot occupy every CPU that this process may use ({chosen}): {why}. Leave one out, for example \
             --cpus {rest}, or write --policy other"
        ))),
        (false, false) => {
            let shared = topology.siblings.iter().any(|core| !core.and(&left).is_empty());
            let sibling = if shared { "; it shares a core with a measured CPU, which it disturbs" } else { "" };
            Ok((rest, Some(format!("CPU {left} was left free for everything else and not measured: {why}{sibling}"))))
        }
    }
}

/// Returns notes on what can interrupt a real-time thread that never sleeps with the kernel's current settings.
pub(super) fn notes(scheduling: Scheduling, fair_server: Option<bool>) -> Vec<String> {
    if !matches!(scheduling.policy(), Policy::Fifo | Policy::Rr) {
        return vec![
            "threads of an ordinary policy share their CPUs: a gap may be the time slice of another thread".into(),
        ];
    }
    let number = |name| read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse::<i64>().ok();
    let limit = number("sched_rt_runtime_us").zip(number("sched_rt_period_us"));
    takers(limit, fair_server, punctual_machine::rt_group_sched(&Live::new()))
}

/// Describes what can interrupt a real-time thread that never sleeps. `limit` is kernel.sched_rt_runtime_us and
/// kernel.sched_rt_period_us. `groups` is CONFIG_RT_GROUP_SCHED, with which RT throttling still exists after Linux 6.12
/// added the fair server (commit 5f6bd380c7bd).
fn takers(limit: Option<(i64, i64)>, fair_server: Option<bool>, groups: Option<bool>) -> Vec<String> {
    let throttles = limit.map(|(runtime, period)| runtime >= 0 && runtime < period);
    let mut notes = Vec::new();
    if fair_server == Some(true) {
        notes.push(
            "if an ordinary thread waits for a measured CPU, the fair server (Linux 6.12, \
             /sys/kernel/debug/sched/fair_server) runs it, by default for up to 50 ms of each second: such gaps are \
             scheduling policy, not latency"
                .to_owned(),
        );
    }
    if let Some((runtime, period)) = limit.filter(|_| throttles == Some(true))
        && (fair_server.is_none() || groups != Some(false))
    {
        let of = |us: i64| Nanos::from_micros(u64::try_from(us).unwrap_or(0));
        let (rest, period) = (of(period - runtime), of(period));
        let surely = match (fair_server, groups) {
            (Some(_), Some(true)) => "",
            _ => {
                ". Kernels before 6.12 do so, later ones only with CONFIG_RT_GROUP_SCHED; without it, their fair server runs ordinary threads that wait"
            }
        };
        notes.push(format!(
            "RT throttling (kernel.sched_rt_runtime_us) takes a CPU from a real-time thread that never sleeps for up to \
             {rest} of each {period}: such gaps are scheduling policy, not latency; --policy other is not \
             throttled{surely}"
        ));
    }
    match (fair_server, throttles) {
        (Some(false), Some(_)) if notes.is_empty() => notes.push(
            "neither RT throttling nor the fair server takes the measured CPUs from a real-time thread that never \
             sleeps: ordinary threads of these CPUs, including the kernel's, did not run at all"
                .into(),
        ),
        (None, Some(false)) => notes.push(
            "RT throttling is off (kernel.sched_rt_runtime_us). With this setting, ordinary threads of the measured CPUs do not run at all before Linux 6.12; since 6.12, the fair server runs those that wait, unless it is off too: its settings \
             cannot be read (/sys/kernel/debug/sched/fair_server)"
                .into(),
        ),
        _ => {}
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_units::Priority;

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    fn fifo() -> Scheduling {
        Scheduling::Fifo { priority: Priority::try_from(90).unwrap() }
    }

    fn machine(allowed: &str) -> Topology {
        Topology { online: list("0-3"), allowed: list(allowed), siblings: Vec::new() }
    }

    #[test]
    fn a_real_time_policy_leaves_a_cpu() {
        let (cpus, note) = cpus(&machine("0-3"), list("0-3"), false, fifo()).unwrap();
        assert_eq!(cpus, list("1-3"));
        assert!(note.unwrap().starts_with("CPU 0 was left"));
    }

    #[test]
    fn all_cpus_by_name_are_refused_with_what_to_write() {
        let error = cpus(&machine("0-3"), list("0-3"), true, fifo()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("--cpus 1-3"), "{error}");
        let error = cpus(&machine("2"), list("2"), false, fifo()).unwrap_err();
        assert!(error.to_string().contains("--policy other"), "{error}");
        // CPUs outside the affinity mask of this process do not count.
        assert!(cpus(&machine("1-2"), list("1-2"), true, fifo()).is_err());
    }

    #[test]
    fn what_leaves_one_free_or_is_ordinary_is_taken_as_it_is() {
        assert_eq!(cpus(&machine("0-3"), list("1-3"), true, fifo()).unwrap(), (list("1-3"), None));
        let other = Scheduling::Other { nice: 0 };
        assert_eq!(cpus(&machine("0-3"), list("0-3"), true, other).unwrap(), (list("0-3"), None));
    }

    #[test]
    fn what_takes_the_cpu_is_named_with_its_figures() {
        let (limit, off) = (Some((950_000, 1_000_000)), Some((-1, 1_000_000)));
        let text = |limit, server, groups| takers(limit, server, groups).join("\n");
        let unknown = text(limit, None, None);
        assert!(unknown.contains("50.0 ms of each 1.00 s") && unknown.contains("Kernels before 6.12"), "{unknown}");
        let new = text(limit, Some(true), Some(false));
        assert!(new.contains("fair server") && !new.contains("RT throttling"), "{new}");
        let both = takers(limit, Some(true), Some(true));
        assert!(both.len() == 2 && both[1].starts_with("RT throttling"), "{both:?}");
        assert!(text(limit, Some(false), Some(false)).starts_with("neither"));
        assert!(text(off, Some(false), None).starts_with("neither"));
        // A runtime of −1 does not disable the fair server.
        let still = text(off, Some(true), None);
        assert!(still.contains("fair server") && !still.contains("did not run at all"), "{still}");
        assert!(text(off, None, None).contains("unless it is off too"));
        assert!(takers(None, None, None).is_empty());
    }
}
