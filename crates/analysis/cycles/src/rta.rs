//! Response-time analysis of tasks with fixed priorities.

use punctual_units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    pub period: Nanos,
    /// Maximum work per release.
    pub work: Nanos,
    /// Maximum delay of a release after its nominal time.
    pub release_jitter: Nanos,
    pub blocking: Nanos,
}

/// Worst-case response of each task, highest priority first: the least fixed point of w = C + B + Σ ⌈(w + J_j) / T_j⌉
/// C_j over the tasks before it, and R = w + J. `None` if a response would exceed the task's period, where the analysis
/// does not apply.
///
/// M. Joseph, P. Pandya, Finding Response Times in a Real-Time System, 1986; N. Audsley et al., 1993.
pub fn response_times(tasks: &[Periodic]) -> Vec<Option<Nanos>> {
    (0..tasks.len()).map(|n| response_time(&tasks[..n], &tasks[n])).collect()
}

/// Worst-case response of a task that the tasks in `higher` delay, as for [`response_times`].
pub fn response_time(higher: &[Periodic], task: &Periodic) -> Option<Nanos> {
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

        /// Simulates preemptive scheduling by fixed priority, one unit of time after another.
        #[test]
        fn a_simulation_of_the_critical_instant_agrees(all in proptest::collection::vec((2u64..60, 1u64..8, 0u64..3), 1..5)) {
            let tasks: Vec<Periodic> = all
                .iter()
                .map(|&(period, work, blocking)| Periodic {
                    period: Nanos(period),
                    work: Nanos(work),
                    release_jitter: Nanos::ZERO,
                    blocking: Nanos(blocking),
                })
                .collect();
            for (n, found) in response_times(&tasks).into_iter().enumerate() {
                // Blocking comes before the task's own work.
                let mut left: Vec<u64> = vec![0; n + 1];
                let mut ended = None;
                for t in 0..tasks[n].period.0 {
                    for (task, left) in tasks[..n].iter().zip(&mut left) {
                        *left += if t % task.period.0 == 0 { task.work.0 } else { 0 };
                    }
                    left[n] += if t == 0 { tasks[n].work.0 + tasks[n].blocking.0 } else { 0 };
                    if let Some(next) = left.iter().position(|left| *left > 0) {
                        left[next] -= 1;
                        if next == n && left[n] == 0 {
                            ended = Some(Nanos(t + 1));
                            break;
                        }
                    }
                }
                prop_assert_eq!(found, ended);
            }
        }
    }
}
