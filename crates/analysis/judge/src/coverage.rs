use punctual_model::{Coverage, Phase, Run};
use punctual_stats::probability_seen;
use punctual_units::Nanos;

/// Mean times between rare events worth considering: a minute; 14 minutes (memory scrubbing of server firmware by
/// System Management Interrupts); an hour (leases, log rotation); a day (timers of the distribution).
pub const RARE_EVENTS: [Nanos; 4] =
    [Nanos::from_secs(60), Nanos::from_secs(14 * 60), Nanos::from_secs(3_600), Nanos::from_secs(86_400)];

/// Chances to have seen each of [`RARE_EVENTS`]: in the shortest phase, and in all phases together.
///
/// Empty if the recorded time is unknown, as for an imported file without a period.
pub(crate) fn coverage(run: &Run) -> Vec<Coverage> {
    if run.settings.period_ns.is_none() {
        return Vec::new();
    }
    let recorded: Vec<f64> = run.phases.iter().map(|phase| recorded_ns(run, phase)).collect();
    let (shortest, all) = (recorded.iter().copied().reduce(f64::min).unwrap_or(0.0), recorded.iter().sum());
    RARE_EVENTS
        .iter()
        .map(|&every_ns| {
            let seen = |observed| probability_seen(observed, every_ns.0 as f64);
            Coverage { every_ns, p_one_phase: seen(shortest), p_run: seen(all) }
        })
        .collect()
}

/// The shortest recorded time of a CPU: its periods, not the planned time. 0 if there is none.
fn recorded_ns(run: &Run, phase: &Phase) -> f64 {
    let released = phase.cpus.iter().map(|c| c.scored()).min().unwrap_or(0);
    released as f64 * run.settings.period_ns.map_or(0, |p| p.0) as f64
}
