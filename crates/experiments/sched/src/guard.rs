//! Refuses experiments whose real-time threads would block the whole machine.

use crate::plan::Plan;
use crate::system::is_throttled;
use punctual_units::Nanos;

/// Maximum duration of an experiment that may occupy every CPU.
const BOUNDED: Nanos = Nanos::from_secs(10);

/// Refuses a plan whose real-time threads could occupy every CPU at once without limit.
///
/// # Errors
/// The reason for the refusal, with advice.
pub fn check(plan: &Plan, at_most: Option<Nanos>) -> Result<(), String> {
    let taken = taken(plan);
    let all = plan.system.online.len();
    if taken < all || is_throttled(&plan.system) || at_most.is_some_and(|at_most| at_most <= BOUNDED) {
        return Ok(());
    }
    Err(format!(
        "its real-time threads can occupy all {all} CPUs at once and RT throttling is off, so no other task would run, not even a shell to stop it; run \
         `sysctl kernel.sched_rt_runtime_us=950000`, or pin its threads to fewer CPUs, or set at_most_s (10 or less) in the experiment"
    ))
}

/// Returns the number of CPUs that FIFO, RR and DEADLINE threads can occupy at the same time, which is the size of a
/// maximum matching of threads to CPUs.
fn taken(plan: &Plan) -> usize {
    let threads: Vec<Vec<usize>> = plan
        .threads
        .iter()
        .filter(|thread| thread.scheduling.policy().is_real_time())
        .map(|thread| thread.cpus.iter().map(|cpu| cpu.0 as usize).collect())
        .collect();
    let most = threads.iter().flatten().max().map_or(0, |cpu| cpu + 1);
    let mut owner: Vec<Option<usize>> = vec![None; most];
    (0..threads.len()).filter(|n| matched(*n, &threads, &mut owner, &mut vec![false; most])).count()
}

/// Finds a CPU for thread `n`, moving others if necessary (Kuhn's algorithm).
fn matched(n: usize, threads: &[Vec<usize>], owner: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for &cpu in &threads[n] {
        if std::mem::replace(&mut seen[cpu], true) {
            continue;
        }
        if owner[cpu].is_none_or(|other| matched(other, threads, owner, seen)) {
            owner[cpu] = Some(n);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    #[test]
    fn taking_every_cpu_unprotected_is_refused_with_the_reason() {
        let free = plan("case-5", "0-1", None);
        let why = check(&free, None).unwrap_err();
        assert!(why.contains("all 2 CPUs") && why.contains("sched_rt_runtime_us"), "{why}");
        assert!(check(&free, Some(Nanos::from_secs(11))).is_err());
    }

    #[test]
    fn throttling_a_spare_cpu_or_a_short_bound_protects() {
        let limit = Some((Nanos::from_millis(950), Nanos::from_secs(1)));
        assert!(check(&plan("case-5", "0-1", limit), None).is_ok());
        assert!(check(&plan("case-5", "0-2", None), None).is_ok());
        assert!(check(&plan("case-3", "0-1", None), None).is_ok(), "both pinned to one of two");
        assert!(check(&plan("case-3", "0", None), None).is_err());
        assert!(check(&plan("case-5", "0-1", None), Some(Nanos::from_secs(10))).is_ok());
        let all = Some((Nanos::from_secs(1), Nanos::from_secs(1)));
        assert!(check(&plan("case-5", "0-1", all), None).is_err(), "a bound that leaves nothing is none");
    }
}
