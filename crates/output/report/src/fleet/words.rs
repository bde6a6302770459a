//! Formats the rows and sentences shared by text and HTML.

use crate::comparison::{Changed, changed};
use crate::history::words::p as p_value;
use crate::number::{count, nanos, plural};
use crate::svg::Table;
use punctual_model::{Fleet, FleetBoard, FleetContrast, FleetFactor, FleetOutlier, FleetTooFew, Ratio};
use punctual_units::Nanos;

const UNKNOWN: &str = "unnamed";

pub(super) fn headline(fleet: &Fleet) -> String {
    format!(
        "{} of {}; {}, {} without usable figures",
        plural(fleet.runs, "run", "runs"),
        plural(fleet.boards.len() as u64, "board", "boards"),
        plural(fleet.outliers.len() as u64, "outlier", "outliers"),
        plural(fleet.doubtful.len() as u64, "run", "runs")
    )
}

pub(super) fn boards(fleet: &Fleet) -> Table {
    let head =
        ["host", "board", "kernel", "runs", "incomplete", "fail", "open", "typical", "worst", "load", "CPU", "why"];
    Table { head: head.map(String::from).to_vec(), rows: fleet.boards.iter().map(board).collect() }
}

fn board(board: &FleetBoard) -> Vec<String> {
    let worst = board.worst.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    vec![
        board.host.clone().unwrap_or_else(|| UNKNOWN.into()),
        or_dash(board.board.clone()),
        or_dash(Some(board.kernels.join(" and ")).filter(|text| !text.is_empty())),
        count(board.runs),
        count(board.incomplete),
        count(board.failed),
        count(board.inconclusive),
        nanos(board.typical_ns),
        nanos(worst.map(|worst| worst.ns)),
        or_dash(worst.map(|worst| worst.load.clone())),
        or_dash(worst.map(|worst| worst.cpu.to_string())),
        or_dash(worst.and_then(|worst| worst.cause.clone())),
    ]
}

pub(super) fn settings(fleet: &Fleet) -> Vec<String> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for text in fleet.boards.iter().flat_map(|board| &board.settings) {
        match all.iter_mut().find(|(known, _)| known == text) {
            Some((_, n)) => *n += 1,
            None => all.push((text.clone(), 1)),
        }
    }
    all.into_iter().map(|(text, n)| format!("{}: {text}", plural(n, "board", "boards"))).collect()
}

pub(super) fn outlier(one: &FleetOutlier) -> String {
    let host = one.host.as_deref().unwrap_or(UNKNOWN);
    let kernel = one.kernel.as_deref().unwrap_or("an unknown kernel");
    format!(
        "{host} ({kernel}), load {}: {:.1} times as late as the median board ({} instead of {}; {}, p {}); {}",
        one.load,
        one.ns as f64 / one.median_ns.max(1.0),
        Nanos(one.ns),
        Nanos(one.median_ns.round() as u64),
        plural(one.boards, "board", "boards"),
        p_value(one.p),
        one.run
    )
}

/// Reports loads measured on too few boards, by their settings.
pub(super) fn too_few(one: &FleetTooFew) -> String {
    format!(
        "load {} ({}): {}; a verdict on a board requires ten",
        one.load,
        one.settings,
        plural(one.boards, "board", "boards")
    )
}

/// Reports the effect of a kernel or of settings; `None` unless significant.
pub(super) fn contrast(one: &FleetContrast) -> Option<String> {
    let (low, high) = one.interval.filter(|_| one.p <= 0.05)?;
    let what = match one.factor {
        FleetFactor::Kernel => format!("kernel {} (settings: {})", one.level, one.within),
        FleetFactor::Settings => format!("settings {} (kernel {})", one.level, one.within),
    };
    let ratio = Ratio { value: one.ratio, interval: Some((low, high)), confidence: 0.95, least_n: 2 };
    let Changed { text, than } = changed(&ratio, "late");
    Some(format!(
        "{what}, load {}: worst wakeups are {text} {than} those of the others ({} against {}; p {})",
        one.load,
        plural(one.boards, "board", "boards"),
        one.others,
        p_value(one.p)
    ))
}

pub(super) fn method(fleet: &Fleet) -> Vec<String> {
    let compared = fleet.contrasts.len() as u64;
    vec![
        "One board is one sample: the median of the worst wakeups of its runs, on a logarithmic scale.".into(),
        format!(
            "An outlier is later than expected by chance for the worst of so many boards under the same load and settings, if the logarithm of a \
             worst wakeup follows a Gumbel distribution, as the largest of many values does, or has a lighter tail: p is simulated for the \
             number of boards (ten or more) and corrected for {} (Benjamini–Hochberg); with equal boards, an outlier is reported in at most 5 % of cases. With one run per board, a rare event on one board of ten looks the same: \
             measure an outlier again before drawing conclusions.",
            plural(fleet.outlier_tests, "board and load", "boards and loads")
        ),
        format!(
            "{} of kernels and settings with four boards or more on each side, ten in all: Hodges–Lehmann's ratio, Mann–Whitney's p corrected for their \
             number (Benjamini–Hochberg); only those below 0.05 are listed.",
            plural(compared, "comparison", "comparisons")
        ),
    ]
}
