use crate::series::{self, logarithms};
use punctual_model::history::{
    Difference, Figure, History, HistoryBounds, HistoryGroup, HistoryLevel, HistoryPoint, HistorySeries, HistoryShift,
    RunSummary,
};
use punctual_stats::{LEARNT, LevelShift, least_shift, median, watch};
use punctual_units::Arrange;

const DAY_NS: f64 = 86_400e9;
const DAYS_PER_YEAR: f64 = 365.25;
/// Number of runs within which the reported smallest shift is detected.
const WITHIN: usize = 10;
/// Seed of simulated residuals, so that the same runs yield the same results.
const SEED: u64 = 0x7075_6e63;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Part of the name of the machine or host, ignoring case.
    pub machine: Option<String>,
    /// Prefix of the kernel release.
    pub kernel: Option<String>,
    pub load: Option<String>,
    /// Earliest start, ns since 1970. If set, runs without a time are excluded.
    pub since_ns: Option<u64>,
}

impl Filter {
    /// Returns true if this run matches. Its cells need not be loaded.
    pub fn wants(&self, run: &RunSummary) -> bool {
        let has = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        let names =
            || [Some(run.machine.name()), run.machine.cpu_model.clone(), run.host.clone()].into_iter().flatten();
        let release = run.kernel.release.as_deref().unwrap_or_default();
        self.machine.as_ref().is_none_or(|part| names().any(|name| has(&name, part)))
            && self.kernel.as_ref().is_none_or(|start| release.starts_with(start.as_str()))
            && self.load.as_ref().is_none_or(|load| run.settings.loads.contains(load))
            && self.since_ns.is_none_or(|since| run.started_ns.is_some_and(|at| at >= since))
    }
}

/// Groups comparable runs, and looks for shifts of the figures under each load, or under the given one.
///
/// Every series with more than [`punctual_stats::LEARNT`] runs is evaluated as if it had been checked after each run
/// ([`punctual_stats::watch`]). The accepted false alarms are divided among the series, so that at their rate of runs
/// all series together raise `alarms_per_year` if nothing shifts. The result does not depend on the order of the runs.
pub fn analyse(runs: Vec<RunSummary>, load: Option<&str>, figures: &[Figure], alarms_per_year: f64) -> History {
    let mut groups: Vec<HistoryGroup> = grouped(runs).into_iter().map(|g| group(g, load, figures)).collect();
    let newest = |g: &HistoryGroup| g.runs.iter().filter_map(|r| r.started_ns).max();
    groups.arrange_by(|a, b| newest(b).cmp(&newest(a)).then_with(|| a.settings.cmp(&b.settings)));
    let watched = groups.iter().flat_map(|g| &g.series).filter(|s| s.points.len() >= least_runs()).count();
    for HistoryGroup { series, runs, .. } in &mut groups {
        for series in series {
            series.least_runs = least_runs();
            let runs_per_alarm = runs_per_year(&series.points) * watched as f64 / alarms_per_year;
            detect(series, runs_per_alarm, runs);
        }
    }
    History { figures: figures.to_vec(), alarms_per_year, watched, groups }
}

/// Returns the minimum number of runs for detecting a shift.
pub fn least_runs() -> usize {
    LEARNT + 1
}

/// Returns the average number of runs per year. A time span shorter than a day counts as a day.
fn runs_per_year(points: &[HistoryPoint]) -> f64 {
    let ends = points.first().zip(points.last());
    let days = ends.map_or(0.0, |(first, last)| last.started_ns.saturating_sub(first.started_ns) as f64 / DAY_NS);
    (points.len().saturating_sub(1)) as f64 / days.max(1.0) * DAYS_PER_YEAR
}

/// Returns groups of comparable runs, each in chronological order.
fn grouped(mut runs: Vec<RunSummary>) -> Vec<Vec<RunSummary>> {
    runs.sort_by_cached_key(|r| (r.comparable(), r.started_ns.is_none(), r.started_ns, r.id.clone()));
    let mut groups: Vec<Vec<RunSummary>> = Vec::new();
    for run in runs {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|first| first.comparable() == run.comparable()) => group.push(run),
            _ => groups.push(vec![run]),
        }
    }
    groups
}

fn group(runs: Vec<RunSummary>, load: Option<&str>, figures: &[Figure]) -> HistoryGroup {
    let first = runs.first();
    let mut hosts: Vec<String> = runs.iter().filter_map(|r| r.host.clone()).collect();
    hosts.sort();
    hosts.dedup();
    HistoryGroup {
        machine: first.map(|r| r.machine.name()).unwrap_or_default(),
        virtual_time: first.and_then(|r| r.virtual_time.clone()),
        settings: first.map(|r| r.settings.named()).unwrap_or_default(),
        hosts,
        series: series::series(&runs, load, figures),
        runs,
    }
}

fn detect(series: &mut HistorySeries, runs_per_alarm: f64, runs: &[RunSummary]) {
    let logs = logarithms(&series.points);
    let found = watch(&logs, runs_per_alarm);
    let (inside, of) = found.inside;
    series.bounds = (of > 0).then_some(HistoryBounds { inside, of });
    let level = found.phi.zip(found.spread);
    let known = logs.len() - found.shifts.last().map_or(0, |shift| shift.at);
    series.level = level.map(|(phi, spread)| HistoryLevel {
        autocorrelation: phi,
        spread: spread.exp(),
        least_shift: least_shift(runs_per_alarm, (phi, spread), known, WITHIN, SEED).map(f64::exp),
        within_runs: WITHIN,
        next_ns: found.next.map(f64::exp),
    });
    let ends = found.shifts.iter().map(|s| s.at).chain([logs.len()]);
    let mut from = 0;
    for (shift, to) in found.shifts.iter().zip(ends.skip(1)) {
        series.shifts.extend(described(&series.points, &logs, (from, to), shift, runs));
        from = shift.at;
    }
}

fn described(
    points: &[HistoryPoint],
    logs: &[f64],
    (from, to): (usize, usize),
    shift: &LevelShift,
    runs: &[RunSummary],
) -> Option<HistoryShift> {
    let (before, after) = (logs.get(from..shift.at)?, logs.get(shift.at..to)?);
    let (last, first) = (points.get(shift.at.checked_sub(1)?)?, points.get(shift.at)?);
    let (low, high) = (median(before)?, median(after)?);
    let run = |id: &str| runs.iter().find(|r| r.id == id);
    Some(HistoryShift {
        at: shift.at,
        run: first.run.clone(),
        started_ns: first.started_ns,
        kernel_before: last.kernel.clone(),
        kernel: first.kernel.clone(),
        before_ns: low.exp(),
        after_ns: high.exp(),
        ratio: (high - low).exp(),
        interval: error(before, after).map(|e| ((high - low - 1.96 * e).exp(), (high - low + 1.96 * e).exp())),
        seen: points.get(shift.seen)?.run.clone(),
        runs_to_see: shift.seen - shift.at + 1,
        differs: run(&last.run).zip(run(&first.run)).map(|(a, b)| differs(a, b)).unwrap_or_default(),
    })
}

/// Returns the standard error of the difference of two medians (√(π/2) times the standard error for means) of AR(1)
/// processes. Both parts have a common standard deviation and autocorrelation around their own medians. `None` if a
/// part has only one run.
fn error(before: &[f64], after: &[f64]) -> Option<f64> {
    let (mut squares, mut products, mut n) = (0.0, 0.0, 0.0);
    for part in [before, after] {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        squares += part.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        products += part.windows(2).map(|w| w.iter().map(|x| x - mean).product::<f64>()).sum::<f64>();
        n += 1.0 / part.len() as f64;
    }
    let phi = if squares > 0.0 { (products / squares).clamp(0.0, 0.9) } else { 0.0 };
    let degrees = (before.len() + after.len()).saturating_sub(2) as f64;
    let is_enough = before.len() > 1 && after.len() > 1;
    is_enough.then(|| (std::f64::consts::FRAC_PI_2 * squares / degrees * n * (1.0 + phi) / (1.0 - phi)).sqrt())
}

/// Returns facts in which comparable runs differ, except for the kernel release.
fn differs(before: &RunSummary, now: &RunSummary) -> Vec<Difference> {
    let facts = |run: &RunSummary| {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
        let length = run.settings.duration_ns.map(|ns| punctual_units::Nanos(ns).to_string());
        [
            ("kernel build", known(&run.kernel.version)),
            ("preemption", known(&run.kernel.preemption)),
            ("host", known(&run.host)),
            ("tool", run.tool.clone()),
            ("measuring time", known(&length)),
        ]
    };
    unlike(&facts(before), &facts(now))
}

/// Returns facts with different values.
pub fn unlike(before: &[(&'static str, String)], now: &[(&'static str, String)]) -> Vec<Difference> {
    let pairs = before.iter().zip(now).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| Difference { what: b.0.into(), before: a.1.clone(), now: b.1.clone() }).collect()
}
