use crate::segment::{self, LEAST, SEED};
use crate::series::{self, logarithms};
use punctual_model::history::{
    Difference, Figure, History, HistoryGroup, HistoryPoint, HistorySeries, HistoryShift, HistoryTrend, RunSummary,
};
use punctual_stats::{ChangePoint, TheilSen, benjamini_hochberg, mann_kendall, median, pettitt, ratio, theil_sen};
use punctual_units::Arrange;

/// P(a trend or shift is claimed anywhere) where nothing changed.
pub const ALPHA: f64 = 0.05;
const DAY_NS: f64 = 86_400e9;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Case-insensitive part of the machine's name, or of the host's.
    pub machine: Option<String>,
    /// Prefix of the kernel's release.
    pub kernel: Option<String>,
    pub load: Option<String>,
    /// Begun at this time or later, ns since 1970; leaves out runs without a time.
    pub since_ns: Option<u64>,
}

impl Filter {
    /// Is this run wanted? (Its cells may be missing.)
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

/// Groups comparable runs, and looks for trends and shifts of the figures under each load (or the one named).
///
/// Every series with at least eight runs is tested twice (Mann–Kendall, Pettitt); all p are corrected together
/// (Benjamini–Hochberg), so that where nothing changed the chance of any claim is at most [`ALPHA`]. The order of the
/// runs does not matter.
pub fn analyse(runs: Vec<RunSummary>, load: Option<&str>, figures: &[Figure]) -> History {
    let mut groups: Vec<HistoryGroup> = grouped(runs).into_iter().map(|g| group(g, load, figures)).collect();
    let latest = |g: &HistoryGroup| g.runs.iter().filter_map(|r| r.started_ns).max();
    groups.arrange_by(|a, b| latest(b).cmp(&latest(a)).then_with(|| a.settings.cmp(&b.settings)));
    let mut found: Vec<Option<Tested>> = Vec::new();
    groups.iter().flat_map(|g| &g.series).for_each(|s| found.push(Tested::of(&s.points)));
    let tests = 2 * found.iter().flatten().count();
    correct(&mut found);
    let mut found = found.into_iter();
    for group in &mut groups {
        for series in &mut group.series {
            series.least_runs = least_runs(tests.max(2));
            if let Some(tested) = found.next().flatten() {
                tell(series, &tested, &group.runs);
            }
        }
    }
    History { figures: figures.to_vec(), alpha: ALPHA, tests, groups }
}

/// Runs from which on Pettitt's test (the less sharp of the two) can be significant at [`ALPHA`] after correction for
/// so many tests: 2/C(n, ⌊n/2⌋), which is p where the parts do not overlap.
pub fn least_runs(tests: usize) -> usize {
    let p = |n: usize| (1..=n / 2).fold(2.0, |p, k| p * k as f64 / (n - n / 2 + k) as f64);
    (LEAST..200).find(|n| p(*n) * tests as f64 <= ALPHA).unwrap_or(200)
}

/// Groups of comparable runs, each in the order of time.
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

/// Both tests of a series, its p corrected later.
struct Tested {
    points: Vec<(f64, f64)>,
    logs: Vec<f64>,
    line: Option<TheilSen>,
    trend_p: f64,
    root: ChangePoint,
    shift_p: f64,
}

impl Tested {
    fn of(points: &[HistoryPoint]) -> Option<Tested> {
        if points.len() < LEAST {
            return None;
        }
        let logs = logarithms(points);
        let start = points.first()?.started_ns;
        let days = points.iter().map(|p| p.started_ns.saturating_sub(start) as f64 / DAY_NS);
        let points: Vec<(f64, f64)> = days.zip(logs.iter().copied()).collect();
        let root = pettitt(&logs, 1.0 - ALPHA, SEED)?;
        let trend_p = mann_kendall(&logs)?.p;
        Some(Tested { line: theil_sen(&points, 1.0 - ALPHA), points, logs, trend_p, shift_p: root.p, root })
    }
}

fn correct(found: &mut [Option<Tested>]) {
    let p: Vec<f64> = found.iter().flatten().flat_map(|t| [t.trend_p, t.shift_p]).collect();
    let Some(adjusted) = benjamini_hochberg(&p) else { return };
    for (tested, pair) in found.iter_mut().flatten().zip(adjusted.chunks(2)) {
        if let [trend, shift] = pair {
            (tested.trend_p, tested.shift_p) = (*trend, *shift);
        }
    }
}

fn tell(series: &mut HistorySeries, tested: &Tested, runs: &[RunSummary]) {
    let mut cuts = Vec::new();
    if tested.shift_p <= ALPHA {
        cuts = segment::cuts(&tested.logs, &tested.root, ALPHA);
    }
    let trends = tested.trend_p <= ALPHA;
    let line = tested.line.filter(|_| trends);
    let is_line = line.is_some_and(|line| cuts.is_empty() || segment::is_line(&tested.points, &line, &cuts));
    if is_line {
        cuts.clear();
    }
    series.shift_p = Some(tested.shift_p);
    series.trend = tested.line.map(|line| HistoryTrend {
        per_30_days: (30.0 * line.slope).exp(),
        interval: line.interval.map(|i| ((30.0 * i.low).exp(), (30.0 * i.high).exp())),
        confidence: line.interval.map_or(1.0 - ALPHA, |i| i.confidence),
        p: tested.trend_p,
        claimed: is_line,
    });
    let ends: Vec<usize> = cuts.iter().map(|c| c.at).chain([series.points.len()]).collect();
    let mut from = 0;
    for (cut, to) in cuts.iter().zip(ends.iter().skip(1)) {
        let p = if cut.at == tested.root.at { tested.shift_p } else { cut.p };
        series.shifts.extend(shift(&series.points, (from, cut.at, *to), p, runs));
        from = cut.at;
    }
}

fn shift(
    points: &[HistoryPoint],
    (from, at, to): (usize, usize, usize),
    p: f64,
    runs: &[RunSummary],
) -> Option<HistoryShift> {
    let values = |part: &[HistoryPoint]| part.iter().map(|p| p.ns.max(1) as f64).collect::<Vec<f64>>();
    let (before, after) = (values(points.get(from..at)?), values(points.get(at..to)?));
    let (last, first) = (points.get(at.checked_sub(1)?)?, points.get(at)?);
    let found = ratio(&before, &after, 1.0 - ALPHA)?;
    let run = |id: &str| runs.iter().find(|r| r.id == id);
    Some(HistoryShift {
        at,
        run: first.run.clone(),
        started_ns: first.started_ns,
        kernel_before: last.kernel.clone(),
        kernel: first.kernel.clone(),
        before_ns: median(&before)?,
        after_ns: median(&after)?,
        ratio: found.value,
        interval: found.interval.map(|i| (i.low, i.high)),
        confidence: found.interval.map_or(1.0 - ALPHA, |i| i.confidence),
        p,
        differs: run(&last.run).zip(run(&first.run)).map(|(a, b)| differs(a, b)).unwrap_or_default(),
    })
}

/// What may differ between comparable runs, except for the kernel's release.
fn differs(before: &RunSummary, now: &RunSummary) -> Vec<Difference> {
    let facts = |run: &RunSummary| {
        let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "not told".into());
        let length = run.settings.duration_ns.map(|ns| punctual_units::Nanos(ns).to_string());
        [
            ("kernel build", told(&run.kernel.version)),
            ("preemption", told(&run.kernel.preemption)),
            ("host", told(&run.host)),
            ("measured by", run.tool.clone()),
            ("measuring time", told(&length)),
        ]
    };
    unlike(&facts(before), &facts(now))
}

/// The facts that differ.
pub fn unlike(before: &[(&'static str, String)], now: &[(&'static str, String)]) -> Vec<Difference> {
    let pairs = before.iter().zip(now).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| Difference { what: b.0.into(), before: a.1.clone(), now: b.1.clone() }).collect()
}
