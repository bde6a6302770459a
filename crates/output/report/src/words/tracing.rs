//! Reports how a run was traced, and the effect on its figures.

use crate::figures::recorded_ns;
use crate::number::{count, percent};
use punctual_model::{Recording, Tracing};
use punctual_units::Nanos;

/// Minimum number of events between a timer and the thread it wakes: timer interrupt, hrtimer_expire_entry,
/// sched_waking, end of the interrupt, sched_switch.
const ON_THE_WAY: f64 = 5.0;

/// Returns the run's own notes, what was traced, and what could not be traced.
pub fn notes(recording: &Recording) -> Vec<String> {
    let mut notes = recording.run.notes.clone();
    if let Some(tracing) = &recording.run.tracing {
        notes.push(traced(recording, tracing));
    }
    for phase in &recording.run.phases {
        let problems = phase.traced.iter().flat_map(|traced| &traced.problems);
        notes.extend(problems.map(|problem| format!("Trace {}: {problem}", super::under(recording, &phase.id))));
    }
    notes
}

fn traced(recording: &Recording, tracing: &Tracing) -> String {
    if let Some(why_not) = &tracing.why_not {
        return format!("late wakeups could not be traced, so causes are based on counters only: {why_not}");
    }
    let phases = recording.run.phases.iter();
    let (events, length) = phases
        .filter_map(|p| Some((p.traced.as_ref()?.events, recorded_ns(recording, p))))
        .fold((0u64, 0u64), |(events, length), (more, longer)| {
            (events.saturating_add(more), length.saturating_add(longer))
        });
    let cpus = recording.run.settings.cpus.len().max(1) as f64;
    let rate = events as f64 * 1e9 / length.max(1) as f64 / cpus;
    let through = tracing.tracefs.as_ref().map(|tracefs| format!(" (tracefs: {tracefs})")).unwrap_or_default();
    let recorded = format!(
        "late wakeups were traced{through}: {} kinds of events, {} per second and CPU",
        tracing.events.len(),
        count(rate.round() as u64)
    );
    match tracing.event_cost_ns {
        Some(cost) => format!(
            "{recorded}, {} each on this machine ({} of a CPU); at least {} of it is included in every latency, and `--trace never` measures \
             without it",
            Nanos(cost.round() as u64),
            percent(rate * cost / 1e9),
            Nanos((cost * ON_THE_WAY).round() as u64)
        ),
        None => format!("{recorded}; the cost of an event could not be measured"),
    }
}
