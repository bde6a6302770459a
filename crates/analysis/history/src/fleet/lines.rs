use super::run::settings;
use punctual_model::history::RunSummary;
use punctual_model::{FleetLine, Outcome};

/// Returns one line for each phase and CPU of each run.
pub fn lines(runs: &[RunSummary]) -> Vec<FleetLine> {
    let of_run = |run: &RunSummary| {
        let settings = settings(run);
        let line = |cell: &punctual_model::history::SummaryCell| FleetLine {
            run: run.id.clone(),
            folder: run.folder.clone(),
            started_ns: run.started_ns,
            host: run.host.clone(),
            board: run.machine.board.clone(),
            kernel: run.kernel.release.clone(),
            kernel_version: run.kernel.version.clone(),
            preemption: run.kernel.preemption.clone(),
            settings: settings.clone(),
            duration_ns: run.settings.duration_ns,
            period_ns: run.settings.period_ns,
            load: cell.load.clone(),
            cpu: cell.cpu,
            samples: cell.samples,
            skipped: cell.skipped,
            p50_ns: cell.p50_ns,
            p99_ns: cell.p99_ns,
            p999_ns: cell.p999_ns,
            p9999_ns: cell.p9999_ns,
            max_ns: cell.max_ns,
            temperature_max_mc: cell.temperature_max_mc,
            cause: cell.cause.clone(),
            doubt: cell.doubt.clone(),
            complete: run.complete,
            outcome: run.outcome.map(|outcome| word(outcome).to_owned()),
        };
        run.cells.iter().map(line).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of_run).collect()
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Held => "held",
        Outcome::Fail => "fail",
        Outcome::Inconclusive => "inconclusive",
    }
}
