use super::{short, when};
use crate::number::{count, plural};
use crate::words::{and, capital};
use punctual_model::history::{
    Difference, Figure, History, HistoryGroup, HistorySeries, HistoryShift, HistoryTrend, LeftOut,
};
use punctual_units::Nanos;

/// Every shift and trend with its machine, or that there is none.
pub fn sentences(history: &History) -> Vec<String> {
    let said = |group: &HistoryGroup| {
        let found = group.series.iter().filter(|s| is_told(s)).flat_map(of_series);
        found.map(|sentence| format!("{}: {sentence}", group.machine)).collect::<Vec<String>>()
    };
    let all: Vec<String> = history.groups.iter().flat_map(said).collect();
    if all.is_empty() { vec![nothing(history)] } else { all }
}

fn nothing(history: &History) -> String {
    match history.tests {
        0 => "No machine and settings have runs enough to tell a shift or a trend.".into(),
        _ => format!(
            "No shift and no trend can be told: {} of {} made, none clear at {:.0} % after correction for their number.",
            plural(history.tests as u64, "test", "tests"),
            plural(history.groups.len() as u64, "group of runs", "groups of runs"),
            100.0 * history.alpha
        ),
    }
}

pub fn is_told(series: &HistorySeries) -> bool {
    !series.shifts.is_empty() || series.trend.is_some_and(|t| t.claimed)
}

/// Shifts and trend of a series, or why neither can be determined.
pub fn of_series(series: &HistorySeries) -> Vec<String> {
    let name = name(series);
    let mut all: Vec<String> =
        series.shifts.iter().enumerate().map(|(n, s)| shift(&name, tail(series.figure), n, s)).collect();
    match series.trend {
        Some(found) if found.claimed => all.push(trend(&name, &found)),
        _ if !all.is_empty() => {}
        _ if series.points.len() < series.least_runs => all.push(format!(
            "{name}: {}; a shift or a trend can be told from {} on.",
            plural(series.points.len() as u64, "run", "runs"),
            series.least_runs
        )),
        found => all.push(format!(
            "{name}: no shift (p = {}) and no trend (p = {}) in {} runs.",
            series.shift_p.map_or("not known".into(), p),
            found.map_or("not known".into(), |t| p(t.p)),
            series.points.len()
        )),
    }
    all.extend(left_out(&series.left_out).map(|what| format!("{name}: left out {what}.")));
    all
}

/// `p99.99 under idle`
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
            let told = |k: &Option<String>| k.clone().unwrap_or_else(|| "not told".into());
            format!("kernel {} → {}", told(before), told(now))
        }
    };
    let ratio = interval(shift.ratio, shift.interval, shift.confidence, (|r: f64| format!("{r:.2}"), " times"));
    let mut text = format!(
        "{name}: {first}: {}, {}, {kernel}: median {} → {}, {ratio}, p = {}.",
        short(&shift.run),
        when(Some(shift.started_ns)),
        nanos(shift.before_ns),
        nanos(shift.after_ns),
        p(shift.p)
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

fn trend(name: &str, trend: &HistoryTrend) -> String {
    let percent = |factor: f64| format!("{:+.1}", 100.0 * (factor - 1.0));
    let way = if trend.per_30_days >= 1.0 { "rises" } else { "falls" };
    let by = interval(trend.per_30_days, trend.interval, trend.confidence, (percent, " %"));
    format!("{name} {way}: {by} in 30 days, p = {}.", p(trend.p))
}

/// The unit appears at the value only.
fn interval(
    value: f64,
    interval: Option<(f64, f64)>,
    confidence: f64,
    (shown, unit): (impl Fn(f64) -> String, &str),
) -> String {
    match interval {
        Some((low, high)) => {
            let sure = (100.0 * confidence).floor();
            format!("{}{unit} [{}, {} at {sure:.0} %]", shown(value), shown(low), shown(high))
        }
        None => format!("{}{unit} (too few runs for an interval)", shown(value)),
    }
}

fn left_out(out: &LeftOut) -> Option<String> {
    let reasons = [
        (out.undated, "without a time"),
        (out.incomplete, "not measured to the end"),
        (out.doubtful, "in doubt"),
        (out.unknown, "too short for the figure"),
        (out.older, "older than the latest 2,000"),
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
        all.push("In virtual time: every figure is one of the emulator's model, none of a board.".into());
    }
    if group.hosts.len() > 1 {
        let hosts: Vec<String> = group.hosts.iter().take(6).map(|h| format!("`{h}`")).collect();
        let more = group.hosts.len().saturating_sub(hosts.len());
        let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
        all.push(format!(
            "Runs of several hosts of this kind: {}{more}. --machine takes a host's name.",
            hosts.join(", ")
        ));
    }
    let unnamed = group.runs.first().is_some_and(|r| r.machine.board.is_none() && r.machine.cpu_model.is_none());
    if unnamed {
        all.push("The runs do not tell the machine: they may be of several.".into());
    }
    all
}

pub fn settings(group: &HistoryGroup) -> String {
    let all: Vec<String> = group.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    capital(&all.join("; "))
}

/// A p value for people; never zero.
pub fn p(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }
}

pub fn nanos(ns: f64) -> String {
    Nanos(ns.round().max(0.0) as u64).to_string()
}
