//! Closed forms for the ends of jobs.

use punctual_units::Nanos;

/// Returns the ends of jobs with the same FIFO priority that are released together. Each job runs after all previous
/// ones.
pub fn fifo(work: &[Nanos]) -> Vec<Nanos> {
    let mut end = 0;
    work.iter()
        .map(|job| {
            end += job.0;
            Nanos(end)
        })
        .collect()
}

/// Returns the ends of two equal round-robin jobs. The second ends after the work of both, the first earlier by the
/// remainder of the last slice.
pub fn rr_pair(work: Nanos, quantum: Nanos) -> (Nanos, Nanos) {
    let whole = work.0.saturating_sub(1) / quantum.0.max(1) * quantum.0.max(1);
    (Nanos(work.0 + whole), Nanos(2 * work.0))
}

/// Returns the end of a real-time job that competes with CPU-bound ordinary threads: after each `runtime` it is
/// throttled for the rest of the period. See Documentation/scheduler/sched-rt-group.rst; since 6.12 the fair server has
/// the same effect (commit 5f6bd380c7bd).
pub fn throttled(work: Nanos, runtime: Nanos, period: Nanos) -> Nanos {
    let aside = period.0.saturating_sub(runtime.0);
    Nanos(work.0 + aside * (work.0 / runtime.0.max(1)))
}

/// Returns the worst-case end of a job that a constant bandwidth server serves alone: ⌈C/Q⌉ − 1 whole periods, then the
/// rest. L. Abeni, G. Buttazzo, Integrating Multimedia Applications in Hard Real-Time Systems, RTSS 1998.
pub fn cbs(work: Nanos, budget: Nanos, period: Nanos) -> Nanos {
    let whole = work.0.div_ceil(budget.0.max(1)).saturating_sub(1);
    Nanos(whole * period.0 + work.0 - whole * budget.0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    pub period: Nanos,
    /// Maximum work per release.
    pub work: Nanos,
    /// Maximum delay of a release after its nominal time.
    pub release_jitter: Nanos,
    pub blocking: Nanos,
}

/// Returns the worst-case response time of each task, highest priority first: the least fixed point of w = C + B + Σ
/// ⌈(w + J_j) / T_j⌉ C_j over the tasks before it, and R = w + J. `None` if a response would exceed the task's period,
/// where the analysis does not apply.
///
/// M. Joseph, P. Pandya, Finding Response Times in a Real-Time System, 1986; N. Audsley et al., 1993.
pub fn response_times(tasks: &[Periodic]) -> Vec<Option<Nanos>> {
    (0..tasks.len()).map(|n| response(&tasks[..n], &tasks[n])).collect()
}

fn response(higher: &[Periodic], task: &Periodic) -> Option<Nanos> {
    let own = task.work.0.checked_add(task.blocking.0)?;
    let mut window = own;
    loop {
        let mut next = own;
        for other in higher.iter().filter(|other| other.period.0 > 0) {
            let releases = window.checked_add(other.release_jitter.0)?.div_ceil(other.period.0);
            next = next.checked_add(releases.checked_mul(other.work.0)?)?;
        }
        if next.checked_add(task.release_jitter.0)? > task.period.0 {
            return None;
        }
        if next == window {
            return Some(Nanos(window + task.release_jitter.0));
        }
        window = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tasks(all: &[(u64, u64)]) -> Vec<Periodic> {
        let task = |&(period, work)| Periodic {
            period: Nanos(period),
            work: Nanos(work),
            release_jitter: Nanos::ZERO,
            blocking: Nanos::ZERO,
        };
        all.iter().map(task).collect()
    }

    #[test]
    fn response_times_are_those_of_the_vector() {
        let found = response_times(&tasks(&[(20, 3), (30, 8), (50, 12), (100, 13)]));
        assert_eq!(found, [3, 11, 26, 50].map(|r| Some(Nanos(r))));
    }

    #[test]
    fn a_task_that_cannot_be_in_time_has_no_bound_and_jitter_and_blocking_count() {
        assert_eq!(response_times(&tasks(&[(10, 6), (20, 9)])), [Some(Nanos(6)), None]);
        let mut two = tasks(&[(10, 2), (20, 3)]);
        (two[0].release_jitter, two[1].blocking) = (Nanos(6), Nanos(1));
        // w = 3 + 1 + ⌈(w + 6) / 10⌉ · 2 = 8.
        assert_eq!(response_times(&two), [Some(Nanos(8)), Some(Nanos(8))]);
    }

    #[test]
    fn closed_forms_of_the_cases() {
        let ms = Nanos::from_millis;
        assert_eq!(fifo(&[ms(3), ms(4)]), [ms(3), ms(7)]);
        assert_eq!(rr_pair(ms(2270), ms(100)), (ms(4470), ms(4540)));
        assert_eq!(rr_pair(ms(200), ms(100)), (ms(300), ms(400)));
        assert_eq!(throttled(ms(2270), ms(950), ms(1000)), ms(2370));
        assert_eq!(throttled(ms(7960), ms(950), ms(1000)), ms(8360));
        assert_eq!(cbs(ms(25), ms(10), ms(100)), ms(205));
        assert_eq!(cbs(ms(20), ms(10), ms(100)), ms(110));
    }

    proptest! {
        #[test]
        fn no_response_is_shorter_than_the_work_before_it(all in proptest::collection::vec((1u64..1000, 1u64..50), 1..6)) {
            let mut before = 0;
            for (task, found) in all.iter().zip(response_times(&tasks(&all))) {
                before += task.1;
                if let Some(found) = found {
                    prop_assert!(found.0 >= before && found.0 <= task.0);
                }
            }
        }
    }
}
