use punctual_model::history::{Figure, HistoryPoint, HistorySeries, LeftOut, RunSummary};

/// Maximum number of points of a series; the oldest are dropped.
const MOST_POINTS: usize = 20_000;

/// Returns the series of a group's runs, which are in chronological order: one per load and statistic. For the maximum,
/// which grows with the measurement time, one per length of run.
pub fn series(runs: &[RunSummary], load: Option<&str>, figures: &[Figure]) -> Vec<HistorySeries> {
    let mut all: Vec<HistorySeries> = Vec::new();
    let mut loads: Vec<&str> = Vec::new();
    for run in runs {
        let new: Vec<&str> = run.loads().into_iter().filter(|l| !loads.contains(l)).collect();
        loads.extend(new);
    }
    for load in loads.into_iter().filter(|l| load.is_none_or(|wanted| wanted == *l)) {
        for figure in figures {
            of_load(&mut all, runs, load, *figure);
        }
    }
    for series in &mut all {
        let older = series.points.len().saturating_sub(MOST_POINTS);
        series.points.drain(..older);
        series.left_out.older = older;
    }
    all
}

fn of_load(all: &mut Vec<HistorySeries>, runs: &[RunSummary], load: &str, figure: Figure) {
    for run in runs.iter().filter(|run| run.cells.iter().any(|c| c.load == load)) {
        let length = (figure == Figure::Max).then(|| run.length(load));
        let same = |s: &HistorySeries| s.load == load && s.figure == figure && s.length == length;
        let at = all.iter().position(same).unwrap_or_else(|| {
            all.push(empty(load, figure, length));
            all.len() - 1
        });
        if let Some(series) = all.get_mut(at) {
            take(series, run);
        }
    }
}

fn empty(load: &str, figure: Figure, length: Option<String>) -> HistorySeries {
    HistorySeries {
        load: load.into(),
        figure,
        length,
        points: Vec::new(),
        left_out: LeftOut::default(),
        least_runs: 0,
        shifts: Vec::new(),
        level: None,
        bounds: None,
    }
}

fn take(series: &mut HistorySeries, run: &RunSummary) {
    let figure = run.figure(&series.load, series.figure);
    let out = &mut series.left_out;
    match (figure, run.started_ns) {
        _ if run.doubt(&series.load).is_some() => out.doubtful += 1,
        _ if !run.complete => out.incomplete += 1,
        (None, _) => out.unknown += 1,
        (_, None) => out.undated += 1,
        (Some(ns), Some(started_ns)) => {
            let kernel = run.kernel.release.clone();
            series.points.push(HistoryPoint { run: run.id.clone(), started_ns, kernel, ns });
        }
    }
}

/// Returns the logarithms of the latencies, because they are compared by ratio. Latencies are at least 1 ns.
pub fn logarithms(points: &[HistoryPoint]) -> Vec<f64> {
    points.iter().map(|p| (p.ns.max(1) as f64).ln()).collect()
}
