//! Prometheus text exposition format, for the textfile collector of the node exporter.
//!
//! Latencies are in seconds, because Prometheus recommends base units. The figures of a run do not change, so all of
//! them except the histogram are gauges.

use crate::cases::{About, Case, CaseOutcome, Cases, Group};
use punctual_clean as clean;
use punctual_model::{Blur, CpuResult, Known, Recording, Verdict};
use punctual_report::{Cell, Figures};
use std::fmt::Write;

/// Upper bounds of the buckets in seconds and in nanoseconds. With `+Inf` there are 20 per CPU: enough for a heat map,
/// and few enough for a server that stores hundreds of boards. They are the same for every run, so that runs can be
/// added.
pub const BUCKETS_S: [(&str, u64); 19] = [
    ("1e-06", 1_000),
    ("2e-06", 2_000),
    ("5e-06", 5_000),
    ("1e-05", 10_000),
    ("2e-05", 20_000),
    ("5e-05", 50_000),
    ("0.0001", 100_000),
    ("0.0002", 200_000),
    ("0.0005", 500_000),
    ("0.001", 1_000_000),
    ("0.002", 2_000_000),
    ("0.005", 5_000_000),
    ("0.01", 10_000_000),
    ("0.02", 20_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.2", 200_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
];

/// Writes distributions (corrected: every released period counts), extremes, means, skipped periods, problems and the
/// verdict of a run. Values that an imported file does not state are omitted and listed in comments.
///
/// A bucket counts the samples that certainly do not exceed its bound. Bins of the recording (at most 0.78 % wide) that
/// contain the bound count in the next bucket. Unknown values have no sample.
pub fn prometheus(recording: &Recording, verdict: &Verdict) -> String {
    let figures = Figures::new(recording, verdict);
    let mut out = String::new();
    about(&mut out, recording);
    problems(&mut out, recording, verdict);
    let cases = Cases::of_run(recording, verdict);
    let places = places(recording, &figures, &cases);
    latencies(&mut out, &places);
    summaries(&mut out, &places);
    periods(&mut out, &places);
    outcomes(&mut out, &cases, verdict);
    for sentence in &cases.not_known {
        let _ = writeln!(out, "# not known: {}", clean::line(sentence));
    }
    out
}

struct Place<'a> {
    cell: &'a Cell<'a>,
    labels: String,
}

/// Returns the labels of each combination of phase and CPU. They are unique even if several phases have the same name.
fn places<'a>(recording: &Recording, figures: &'a Figures<'a>, cases: &Cases) -> Vec<Place<'a>> {
    let clock = clock(recording);
    let of_phases = cases.groups.iter().skip(1).flat_map(|group| group.places.iter().map(move |place| (group, place)));
    let labels = |(group, place): (&Group, &String)| {
        let (cpu, load) = (place.trim_start_matches("cpu"), label(&clean::clip(&group.title, 48)));
        format!("clock=\"{clock}\",cpu=\"{cpu}\",load=\"{load}\",phase=\"{}\"", group.name)
    };
    figures.cells.iter().zip(of_phases).map(|(cell, place)| Place { cell, labels: labels(place) }).collect()
}

fn clock(recording: &Recording) -> &'static str {
    if recording.run.virtual_time.is_some() { "virtual" } else { "real" }
}

/// Returns a sanitised label value, with `\`, `"` and newline escaped.
pub(crate) fn label(text: &str) -> String {
    clean::line(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(crate) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn about(out: &mut String, recording: &Recording) {
    let run = &recording.run;
    let about = About::of(run);
    head(out, "punctual_run_info", "gauge", "The run to which the other samples belong; always 1.");
    let labels = [
        ("architecture", about.architecture.as_deref()),
        ("board", about.board.as_deref()),
        ("clock", Some(clock(recording))),
        ("host", about.host.as_deref()),
        ("kernel", about.kernel_release.as_deref()),
        ("tool", Some(about.tool.as_str())),
    ];
    let labels: Vec<String> =
        labels.into_iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", label(value?)))).collect();
    let _ = writeln!(out, "punctual_run_info{{{}}} 1", labels.join(","));
    head(out, "punctual_run_complete", "gauge", "1 if every phase ran to its planned end.");
    let _ = writeln!(out, "punctual_run_complete {}", u8::from(run.complete));
    let times = [
        ("punctual_run_start_time_seconds", "Start of the run, seconds since 1970.", about.started_real_ns),
        ("punctual_run_end_time_seconds", "End of the run, seconds since 1970.", run.ended.map(|s| s.real_ns)),
    ];
    for (name, help, real_ns) in times {
        if let Some(real_ns) = real_ns {
            head(out, name, "gauge", help);
            let _ = writeln!(out, "{name} {}", seconds(real_ns));
        }
    }
}

pub(crate) fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes the number of problems, which prevent claims from passing. A damaged file has at least one.
fn problems(out: &mut String, recording: &Recording, verdict: &Verdict) {
    head(out, "punctual_run_problems", "gauge", "Number of problems that make figures of the run doubtful.");
    let found = verdict.problems.len().max(recording.damaged().len());
    let _ = writeln!(out, "punctual_run_problems {found}");
}

/// Writes the histograms of CPUs whose number of samples is known, up to their last bin.
fn latencies(out: &mut String, places: &[Place]) {
    const NAME: &str = "punctual_wakeup_latency_seconds";
    let is_known = |known: &&Known| known.count().is_some() && !known.is_summary();
    let known: Vec<_> = places.iter().filter_map(|p| Some((p, p.cell.known.as_ref().filter(is_known)?))).collect();
    if known.is_empty() {
        return;
    }
    head(out, NAME, "histogram", "Wakeup latency of every released period.");
    for (Place { labels, cell }, known) in known {
        buckets(out, NAME, labels, known, cell.mean());
    }
}

/// Writes the buckets. Each counts the samples that certainly do not exceed its bound. Beyond the last bin of a file
/// only `+Inf` is written.
pub(crate) fn buckets(out: &mut String, name: &str, labels: &str, known: &Known, mean_ns: Option<f64>) {
    let (histogram, blur) = (known.values(), known.blur());
    let mut bins = histogram.bins().peekable();
    let mut below = 0u64;
    let end = blur.unplaced.map_or(u64::MAX, |unplaced| unplaced.from_ns);
    for (bound, ns) in BUCKETS_S.into_iter().filter(|(_, ns)| *ns <= end) {
        // The maximum is exact, so the last bin does not extend beyond it.
        while let Some(bin) = bins.next_if(|bin| blur.most_of(bin, histogram.max()) <= ns) {
            below = below.saturating_add(bin.count);
        }
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
    }
    let count = known.all().count();
    let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
    let sum_ns =
        if *blur == Blur::EXACT { Some(known.all().sum() as f64) } else { mean_ns.map(|mean| mean * count as f64) };
    if let Some(sum_ns) = sum_ns {
        let _ = writeln!(out, "{name}_sum{{{labels}}} {}", sum_ns / 1e9);
    }
    let _ = writeln!(out, "{name}_count{{{labels}}} {count}");
}

/// Writes values that are known even without the histogram.
fn summaries(out: &mut String, places: &[Place]) {
    type Value = fn(&Cell) -> Option<String>;
    let all: [(&str, &str, Value); 4] = [
        ("punctual_wakeup_latency_max_seconds", "Largest wakeup latency.", |cell| cell.known_max().map(seconds)),
        ("punctual_wakeup_latency_min_seconds", "Smallest wakeup latency.", |cell| {
            cell.known.as_ref()?.min().map(seconds)
        }),
        ("punctual_wakeup_latency_mean_seconds", "Mean wakeup latency.", |cell| {
            cell.mean().filter(|ns| ns.is_finite()).map(|ns| (ns / 1e9).to_string())
        }),
        ("punctual_wakeup_latency_samples", "Number of latencies.", |cell| {
            cell.known.as_ref()?.count().filter(|n| *n > 0).map(|n| n.to_string())
        }),
    ];
    for (name, help, value) in all {
        let known: Vec<_> = places.iter().filter_map(|p| Some((&p.labels, value(p.cell)?))).collect();
        if !known.is_empty() {
            head(out, name, "gauge", help);
        }
        for (labels, value) in known {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    }
}

fn periods(out: &mut String, places: &[Place]) {
    type Count = fn(&CpuResult) -> Option<u64>;
    let both: [(&str, &str, Count); 2] = [
        ("punctual_periods_released", "Periods released.", |r| r.released),
        ("punctual_periods_skipped", "Periods that passed while the thread was late for an earlier one.", |r| {
            r.skipped
        }),
    ];
    for (name, help, of) in both {
        let known: Vec<_> = places.iter().filter_map(|p| Some((&p.labels, of(p.cell.result)?))).collect();
        if !known.is_empty() {
            head(out, name, "gauge", help);
        }
        for (labels, count) in known {
            let _ = writeln!(out, "{name}{{{labels}}} {count}");
        }
    }
}

/// Writes the verdict and each claim as state sets: 1 for the outcome, 0 for the others.
fn outcomes(out: &mut String, cases: &Cases, verdict: &Verdict) {
    if verdict.claims.is_empty() {
        return;
    }
    const STATES: [CaseOutcome; 4] =
        [CaseOutcome::Pass, CaseOutcome::Held, CaseOutcome::Inconclusive, CaseOutcome::Fail];
    head(out, "punctual_verdict", "gauge", "1 for the outcome of the run.");
    for state in STATES {
        let is = u8::from(CaseOutcome::from(verdict.outcome) == state);
        let _ = writeln!(out, "punctual_verdict{{outcome=\"{}\"}} {is}", state.word());
    }
    head(out, "punctual_claim", "gauge", "1 for the outcome of a claim on a CPU under a load.");
    for group in cases.groups.iter().skip(1) {
        for case in group.cases.iter().filter(|case| case.path.len() == 3) {
            states(out, group, case, &STATES);
        }
    }
}

fn states(out: &mut String, group: &Group, case: &Case, all: &[CaseOutcome]) {
    let load = label(&clean::clip(&group.title, 48));
    let [_, place, claim] = case.path.as_slice() else { return };
    let cpu = place.trim_start_matches("cpu");
    for state in all {
        let (is, word, phase) = (u8::from(case.outcome == *state), state.word(), &group.name);
        let _ = writeln!(
            out,
            "punctual_claim{{claim=\"{claim}\",cpu=\"{cpu}\",load=\"{load}\",outcome=\"{word}\",phase=\"{phase}\"}} {is}"
        );
    }
}
