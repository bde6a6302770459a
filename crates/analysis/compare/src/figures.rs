use crate::Side;
use crate::boots::Groups;
use crate::rows::{Wanted, row_of_runs};
use punctual_model::{Blur, ComparisonRow, CpuResult, Known, Phase, Recording};
use std::borrow::Cow;

pub(crate) const ALL: &str = "all loads";

/// Returns the name under which a phase is compared: its load, or its label in an imported run.
pub(crate) fn load_of(phase: &Phase) -> String {
    match (phase.load.as_str(), &phase.label) {
        ("unknown", Some(label)) => label.clone(),
        ("unknown", None) => "wakeups".into(),
        (load, _) => load.to_owned(),
    }
}

/// Returns the loads that all runs of all groups have in common, in the order of the first run.
pub(crate) fn common_loads(sides: &[Side]) -> Vec<String> {
    let has = |r: &Recording, load: &str| phases(r, Some(load)).any(|p| !p.cpus.is_empty());
    if sides.iter().any(|s| of_latencies(s).next().is_none()) {
        return Vec::new();
    }
    let in_all = |load: &String| sides.iter().flat_map(of_latencies).all(|r| has(r, load));
    every_load(sides).into_iter().filter(in_all).collect()
}

pub(crate) fn is_of_latencies(recording: &Recording) -> bool {
    recording.run.phases.iter().any(|p| !p.cpus.is_empty())
}

pub(crate) fn of_latencies<'a>(side: &'a Side) -> impl Iterator<Item = &'a Recording> {
    side.runs.iter().map(|(_, r)| *r).filter(|r| is_of_latencies(r))
}

pub(crate) fn left_out(sides: &[Side], common: &[String]) -> Vec<String> {
    every_load(sides).into_iter().filter(|load| !common.contains(load)).collect()
}

fn every_load(sides: &[Side]) -> Vec<String> {
    let mut loads = Vec::new();
    for load in sides.iter().flat_map(|s| &s.runs).flat_map(|(_, r)| &r.run.phases).map(load_of) {
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    loads
}

pub(crate) fn phases<'a>(recording: &'a Recording, load: Option<&'a str>) -> impl Iterator<Item = &'a Phase> {
    recording.run.phases.iter().filter(move |p| load.is_none_or(|l| l == load_of(p)))
}

pub(crate) fn merged(recording: &Recording, loads: &[String]) -> Known<'static> {
    let mut all = Known::default();
    for (phase, result) in results(recording, loads) {
        if let Some(distribution) = recording.distribution(&phase.id, result.cpu) {
            all.add(&Known::new(Cow::Borrowed(&distribution.raw), Blur::of(result)));
            all.add(&Known::new(Cow::Borrowed(&distribution.skipped), Blur::EXACT));
        }
    }
    all
}

fn results<'a>(recording: &'a Recording, loads: &'a [String]) -> impl Iterator<Item = (&'a Phase, &'a CpuResult)> {
    let of_loads = loads.iter().flat_map(|load| phases(recording, Some(load)));
    of_loads.flat_map(|phase| phase.cpus.iter().map(move |result| (phase, result)))
}

/// Returns the mean of all samples, ns, if the file states it for every thread.
pub(crate) fn mean(recording: &Recording, loads: &[String]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u64);
    for (_, result) in results(recording, loads).filter(|(_, result)| result.ran > 0) {
        sum += result.mean_ns? * result.ran as f64;
        count = count.saturating_add(result.ran);
    }
    (count > 0).then(|| sum / count as f64)
}

/// Returns the smallest wakeup latency, ns.
pub(crate) fn least(recording: &Recording, loads: &[String]) -> Option<f64> {
    results(recording, loads).filter_map(|(_, result)| result.min_ns).min().map(|ns| ns as f64)
}

/// Returns true if no latency under these loads can exceed the largest recorded one.
pub(crate) fn is_worst_known(recording: &Recording, loads: &[String]) -> bool {
    results(recording, loads).all(|(_, result)| {
        let blur = Blur::of(result);
        blur.is_counted() && blur.unplaced.is_none_or(|unplaced| unplaced.to_ns.is_some())
    })
}

/// Returns the largest latency under these loads, ns, exact if recorded.
pub(crate) fn worst(recording: &Recording, loads: &[String]) -> Option<f64> {
    let one = |(phase, cpu): (&Phase, &CpuResult)| {
        let skipped = recording.distribution(&phase.id, cpu.cpu).and_then(|d| d.skipped.max());
        cpu.max_ns.max(skipped)
    };
    results(recording, loads).filter_map(one).max().map(|ns| ns as f64)
}

/// Returns the share of released jobs that were skipped; `None` if a CPU did not record it.
pub(crate) fn skipped(recording: &Recording, loads: &[String]) -> Option<f64> {
    let mut cpus = loads.iter().flat_map(|load| phases(recording, Some(load))).flat_map(|p| &p.cpus);
    let (skipped, released) =
        cpus.try_fold((0u64, 0u64), |(s, r), c| Some((s.saturating_add(c.skipped?), r.saturating_add(c.released?))))?;
    (released > 0).then(|| skipped as f64 / released as f64)
}

/// Returns the throughput of the loads, one row for each rate that all groups have.
pub(crate) fn rates(groups: &Groups, common: &[String]) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for load in common {
        let first = groups.sides.first().and_then(|s| s.runs.first()).map(|(_, r)| *r);
        let reports = first.into_iter().flat_map(|r| phases(r, Some(load))).filter_map(|p| p.load_report.as_ref());
        for rate in reports.flat_map(|report| &report.rates) {
            let value = |r: &Recording| {
                let mut all = phases(r, Some(load)).filter_map(|p| p.load_report.as_ref()).flat_map(|l| &l.rates);
                all.find(|other| other.what == rate.what && other.unit == rate.unit)
                    .map(|r| r.value)
                    .filter(|v| *v > 0.0)
            };
            let wanted = Wanted { load, figure: &rate.what, unit: &rate.unit, more_is_better: true };
            rows.extend(row_of_runs(groups, &wanted, value));
        }
    }
    rows
}
