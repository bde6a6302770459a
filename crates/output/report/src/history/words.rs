use super::{short, when};
use crate::comparison::changed as changed_ratio;
use crate::number::{count, plural};
use crate::words::{and, capital};
use punctual_model::Ratio;
use punctual_model::history::{
    Difference, Figure, History, HistoryBounds, HistoryGroup, HistoryLevel, HistorySeries, HistoryShift, LeftOut,
};
use punctual_stats::LEARNT;
use punctual_units::Nanos;

/// Reports every shift and its machine, or states that no shift was found.
pub fn sentences(history: &History) -> Vec<String> {
    let said = |group: &HistoryGroup| {
        let found = group.series.iter().flat_map(shifts);
        found.map(|sentence| format!("{}: {sentence}", group.machine)).collect::<Vec<String>>()
    };
    let all: Vec<String> = history.groups.iter().flat_map(said).collect();
    if all.is_empty() { vec![nothing(history)] } else { all }
}

fn nothing(history: &History) -> String {
    match history.watched {
        0 => "No group of comparable runs is large enough to detect a shift.".into(),
        n => format!("No shift: {} watched, with {}.", plural(n as u64, "series is", "series are"), alarms(history)),
    }
}

/// Formats the rate of false alarms, for example `one false alarm per year over all series`.
pub fn alarms(history: &History) -> String {
    match history.alarms_per_year {
        one if (one - 1.0).abs() < 1e-9 => "one false alarm per year over all series".into(),
        rate => format!("{} false alarms per year over all series", (rate * 100.0).round() / 100.0),
    }
}

fn shifts(series: &HistorySeries) -> impl Iterator<Item = String> {
    series.shifts.iter().enumerate().map(|(n, s)| shift(&name(series), tail(series.figure), n, s))
}

/// Reports the shifts of a series, the smallest shift that would be detected, and how often the next run was within its
/// bound.
pub fn of_series(series: &HistorySeries) -> Vec<String> {
    let name = name(series);
    let mut all: Vec<String> = shifts(series).collect();
    let runs = plural(series.points.len() as u64, "run", "runs");
    match series.level {
        _ if series.points.len() < series.least_runs => {
            all.push(format!("{name}: {runs}; detecting a shift requires {}.", series.least_runs));
        }
        None => {
            all.push(format!("{name}: the level since the last shift is still unknown: it requires {} runs.", LEARNT))
        }
        Some(level) => {
            if series.shifts.is_empty() {
                all.push(format!("{name}: no shift in {runs}."));
            }
            all.push(would_see(&name, &level));
        }
    }
    all.extend(series.bounds.map(|bounds| fared(&name, &bounds)));
    all.extend(left_out(&series.left_out).map(|what| format!("{name}: left out {what}.")));
    all
}

fn would_see(name: &str, level: &HistoryLevel) -> String {
    let percent = |factor: f64| format!("{:.1} %", 100.0 * (factor - 1.0));
    let spread =
        format!("spread from run to run {}, autocorrelation {:.2}", percent(level.spread), level.autocorrelation);
    match level.least_shift {
        Some(shift) => format!(
            "{name}: a rise of {} (or as large a fall) would be detected within {} runs in three of four cases ({spread}).",
            percent(shift),
            level.within_runs
        ),
        None => format!("{name}: no shift would be detected within {} runs ({spread}).", level.within_runs),
    }
}

fn fared(name: &str, bounds: &HistoryBounds) -> String {
    format!(
        "{name}: the next run was within the 95 % bound computed from the earlier runs in {} of {} cases ({:.0} %).",
        bounds.inside,
        bounds.of,
        100.0 * bounds.inside as f64 / bounds.of as f64
    )
}

/// Formats the name of a series: `p99.99 under idle`.
pub fn name(series: &HistorySeries) -> String {
    match &series.length {
        Some(length) => format!("{} under `{}` ({length})", series.figure, series.load),
        None => format!("{} under `{}`", series.figure, series.load),
    }
}

fn tail(figure: Figure) -> &'static str {
    if figure == Figure::P50 { "median" } else { "tail" }
}

fn shift(name: &str, what: &str, n: usize, shift: &HistoryShift) -> String {
    let first = match n {
        0 => format!("the first run at which the {what} shifted"),
        _ => "and the next".to_owned(),
    };
    let kernel = match (&shift.kernel_before, &shift.kernel) {
        (Some(before), Some(now)) if before == now => format!("the same kernel {now}"),
        (before, now) => {
            let reported = |k: &Option<String>| k.clone().unwrap_or_else(|| "not recorded".into());
            format!("kernel {} → {}", reported(before), reported(now))
        }
    };
    let mut text = format!(
        "{name}: {first}: {}, {}, {kernel}: {}; detected {} later, by {}.",
        short(&shift.run),
        when(Some(shift.started_ns)),
        by(shift),
        plural(shift.runs_to_see.saturating_sub(1) as u64, "run", "runs"),
        short(&shift.seen)
    );
    if !shift.differs.is_empty() {
        let also: Vec<String> = shift.differs.iter().map(changed).collect();
        text += &format!(" Also different from the run before: {}.", and(&also));
    }
    text
}

fn changed(d: &Difference) -> String {
    format!("{} ({} → {})", d.what, d.before, d.now)
}

/// Formats the change: `61 % higher [48 %, 75 % at 95 %] (66.0 µs instead of 41.0 µs)`.
fn by(shift: &HistoryShift) -> String {
    let ratio = Ratio { value: shift.ratio, interval: shift.interval, confidence: 0.95, least_n: 2 };
    let text = changed_ratio(&ratio, "long").text;
    format!("{text} ({} instead of {})", nanos(shift.after_ns), nanos(shift.before_ns))
}

fn left_out(out: &LeftOut) -> Option<String> {
    let reasons = [
        (out.undated, "without a time"),
        (out.incomplete, "not measured to the end"),
        (out.doubtful, "doubtful"),
        (out.unknown, "too short for the figure"),
        (out.older, "older than the most recent 20,000"),
    ];
    let all: Vec<String> = reasons
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, why)| format!("{} {why}", plural(*n as u64, "run", "runs")))
        .collect();
    (!all.is_empty()).then(|| and(&all))
}

pub fn warnings(group: &HistoryGroup) -> Vec<String> {
    let mut all = Vec::new();
    if group.virtual_time.is_some() {
        all.push("In virtual time: the figures describe the emulator's model, not a board.".into());
    }
    if group.hosts.len() > 1 {
        let hosts: Vec<String> = group.hosts.iter().take(6).map(|h| format!("`{h}`")).collect();
        let more = group.hosts.len().saturating_sub(hosts.len());
        let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
        all.push(format!(
            "Runs of several hosts of this kind: {}{more}. Select one with --machine HOST.",
            hosts.join(", ")
        ));
    }
    let unnamed = group.runs.first().is_some_and(|r| r.machine.board.is_none() && r.machine.cpu_model.is_none());
    if unnamed {
        all.push("The runs do not record their machine: they may come from several machines.".into());
    }
    all
}

pub fn settings(group: &HistoryGroup) -> String {
    let all: Vec<String> = group.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    capital(&all.join("; "))
}

/// Formats a p value for display; never as zero.
pub fn p(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }
}

pub fn nanos(ns: f64) -> String {
    Nanos(ns.round().max(0.0) as u64).to_string()
}
