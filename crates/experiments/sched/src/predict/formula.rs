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

#[cfg(test)]
mod tests {
    use super::*;

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
}
