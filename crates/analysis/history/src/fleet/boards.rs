use super::run::{board, doubt, name, settings, worst_by_load};
use punctual_model::history::RunSummary;
use punctual_model::{FleetBoard, FleetWorst, Outcome};
use punctual_stats::median;
use punctual_units::Arrange;
use std::collections::{BTreeMap, BTreeSet};

/// Summarises all boards. The one with the worst wakeup comes first.
pub(super) fn boards(runs: &[RunSummary]) -> Vec<FleetBoard> {
    let mut by_board: BTreeMap<String, Vec<&RunSummary>> = BTreeMap::new();
    runs.iter().for_each(|run| by_board.entry(board(run)).or_default().push(run));
    let mut boards: Vec<FleetBoard> = by_board.values().map(|runs| one(runs)).collect();
    boards.arrange_by_key(|board| std::cmp::Reverse(board.worst.as_ref().map(|worst| worst.ns)));
    boards
}

fn one(runs: &[&RunSummary]) -> FleetBoard {
    let each = |of: &dyn Fn(&RunSummary) -> Option<String>| {
        runs.iter().filter_map(|run| of(run)).collect::<BTreeSet<String>>().into_iter().collect::<Vec<String>>()
    };
    let outcomes = |wanted| runs.iter().filter(|run| run.outcome == Some(wanted)).count() as u64;
    let of_run = |run: &&RunSummary| worst_by_load(run).iter().map(|(_, ns)| *ns as f64).reduce(f64::max);
    let typical = median(&runs.iter().filter_map(of_run).collect::<Vec<f64>>());
    FleetBoard {
        host: runs.first().and_then(|run| run.host.clone()),
        board: runs.iter().find_map(|run| run.machine.board.clone()),
        kernels: each(&|run| run.kernel.release.clone()),
        settings: each(&|run| Some(settings(run))),
        runs: runs.len() as u64,
        incomplete: runs.iter().filter(|run| !run.complete).count() as u64,
        failed: outcomes(Outcome::Fail),
        inconclusive: outcomes(Outcome::Inconclusive),
        typical_ns: typical.map(|ns| ns.round() as u64),
        worst: worst(runs),
    }
}

fn worst(runs: &[&RunSummary]) -> Option<FleetWorst> {
    let usable = runs.iter().filter(|run| doubt(run).is_none());
    let cells = usable.flat_map(|run| run.cells.iter().map(move |cell| (*run, cell)));
    let known =
        cells.filter(|(_, cell)| cell.doubt.is_none()).filter_map(|(run, cell)| Some((run, cell, cell.max_ns?)));
    let (run, cell, ns) = known.max_by_key(|(.., ns)| *ns)?;
    Some(FleetWorst { ns, load: cell.load.clone(), cpu: cell.cpu, run: name(run), cause: cell.cause.clone() })
}
