//! Properties of a run that are compared.

use punctual_model::history::RunSummary;
use punctual_units::Nanos;

/// Returns the text of the settings that must be equal for latencies to be comparable.
pub(super) fn settings(run: &RunSummary) -> String {
    let s = &run.settings;
    let unknown = || "unknown".to_owned();
    let mut words = vec![
        s.measured_by.clone(),
        s.scheduling.clone().unwrap_or_else(unknown),
        format!("every {}", s.period_ns.map_or_else(unknown, |ns| Nanos(ns).to_string())),
        format!("by {}", s.via.clone().unwrap_or_else(unknown)),
        format!("for {}", s.duration_ns.map_or_else(|| "as long as it took".into(), |ns| Nanos(ns).to_string())),
    ];
    words.extend(s.cpu_dma_latency_us.map(|us| format!("C-states within {us} µs")));
    words.extend(s.traced.then(|| "traced".to_owned()));
    words.extend(run.virtual_time.clone());
    words.join(", ")
}

/// Returns the reason why the figures of a run do not represent its machine; `None` if they do.
pub(super) fn doubt(run: &RunSummary) -> Option<String> {
    if run.cells.is_empty() {
        return Some("it has no results".into());
    }
    let all = run.cells.iter().all(|cell| cell.doubt.is_some());
    run.cells.first().filter(|_| all).and_then(|cell| cell.doubt.clone())
}

/// Returns the path of a run, or another property that identifies it.
pub(super) fn name(run: &RunSummary) -> String {
    run.folder.clone().unwrap_or_else(|| run.id.clone())
}

/// Returns the worst wakeup of a run under each load, from figures that are not doubtful.
pub(super) fn worst_by_load(run: &RunSummary) -> Vec<(&str, u64)> {
    let mut all: Vec<(&str, u64)> = Vec::new();
    for cell in run.cells.iter().filter(|cell| cell.doubt.is_none()) {
        let Some(ns) = cell.max_ns else { continue };
        match all.iter_mut().find(|(load, _)| *load == cell.load) {
            Some((_, before)) => *before = ns.max(*before),
            None => all.push((&cell.load, ns)),
        }
    }
    all
}

/// Returns the name of the board. Boards without a name are treated as different boards.
pub(super) fn board(run: &RunSummary) -> String {
    run.host.clone().unwrap_or_else(|| run.id.clone())
}
