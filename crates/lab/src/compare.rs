//! Two kernels, each booted several times with the same seeds.
//!
//! One boot is one sample: wakeups of one boot share its memory layout, its order of loads, its phase.

use crate::boots::{LabObserver, Proven, prove_boots};
use crate::error::LabError;
use crate::options::LabOptions;
use crate::prove::LabRun;
use punctual_model::{Comparison, ComparisonRow, Group, Outcome, ProblemKind, Ratio};
use punctual_stats as stats;
use punctual_vm::Cache;
use std::fs;
use std::path::Path;

/// The confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// Two kernels compared.
#[derive(Debug)]
pub struct Compared {
    /// The figures.
    pub comparison: Comparison,
    /// The first kernel's boots.
    pub a: Proven,
    /// The second's.
    pub b: Proven,
}

/// Boots each kernel `boots` times with the seeds from `seed` on, into `out/a` and `out/b`.
///
/// # Errors
/// A boot of either that comes to no verdict; machines or settings that differ in more than the kernel.
pub fn compare(
    [a, b]: [&LabOptions; 2],
    seed: u64,
    boots: usize,
    jobs: usize,
    out: &Path,
    cache: &Cache,
    observer: &dyn LabObserver,
) -> Result<Compared, LabError> {
    comparable(a, b)?;
    fs::create_dir_all(out).map_err(LabError::file("make", out))?;
    let group = |options: &LabOptions, name: &str| {
        // Several boots, also where it is one: the same folders whatever the number.
        let folder = out.join(name);
        let folder = if boots == 1 { folder.join("boot-1") } else { folder };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(LabError::file("make", parent))?;
        }
        prove_boots(options, seed, boots, jobs, &folder, cache, observer)
    };
    let (a_runs, b_runs) = (group(a, "a")?, group(b, "b")?);
    let name = |options: &LabOptions| options.kernel.release.clone().unwrap_or_else(|| options.kernel.name.clone());
    let (mut first, mut second) = (name(a), name(b));
    if first == second {
        // The same release built or started in two ways.
        (first, second) = (with_append(first, a), with_append(second, b));
    }
    let names = (first, second);
    Ok(Compared { comparison: comparison(&a_runs, &b_runs, names), a: a_runs, b: b_runs })
}

fn with_append(name: String, options: &LabOptions) -> String {
    match options.append.is_empty() {
        true => format!("{name} ({})", options.kernel.name),
        false => format!("{name} {}", options.append.join(" ")),
    }
}

fn comparable(a: &LabOptions, b: &LabOptions) -> Result<(), LabError> {
    match a.machine == b.machine {
        true => Ok(()),
        false => Err(LabError::Usage(format!(
            "{} boots on {}, {} on {}: two machines have two clocks; compare on one",
            a.kernel.name, a.machine, b.kernel.name, b.machine
        ))),
    }
}

fn comparison(a: &Proven, b: &Proven, names: (String, String)) -> Comparison {
    let mut loads: Vec<String> = Vec::new();
    for phase in a.runs.iter().chain(&b.runs).flat_map(|r| &r.recording.run.phases) {
        if !loads.contains(&phase.load) {
            loads.push(phase.load.clone());
        }
    }
    let mut rows = vec![row(a, b, "all loads", "max", |run| worst(run, None))];
    rows.push(row(a, b, "all loads", "p50", median));
    rows.extend(loads.iter().map(|load| row(a, b, load, "max", |run| worst(run, Some(load)))));
    let model = a.runs.first().and_then(|r| r.recording.run.virtual_time.clone());
    let group = |proven: &Proven, name: String| Group {
        name,
        runs: proven.runs.iter().map(|r| format!("seed {}", r.seed)).collect(),
        folder: proven.runs.first().and_then(|r| r.root.parent()).map_or(String::new(), |p| p.display().to_string()),
    };
    let problems = problems(a).into_iter().chain(problems(b)).collect();
    let (a, b) = (group(a, names.0), group(b, names.1));
    Comparison { a, b, sample: "boot".into(), virtual_time: model, rows, problems }
}

/// Invalid CPUs make every figure meaningless; a load that did not run makes its own so.
fn problems(proven: &Proven) -> Vec<String> {
    let grave = |kind| matches!(kind, ProblemKind::VirtualCpus | ProblemKind::LoadDidNotRun | ProblemKind::NoRealTime);
    let mut texts: Vec<String> = Vec::new();
    for run in proven.runs.iter().filter(|r| r.verdict.outcome == Outcome::Inconclusive) {
        for (_, problem) in run.verdict.problems.iter().filter(|(_, p)| grave(p.kind)) {
            let text = format!("{}: {}", run.root.display(), problem.text);
            if texts.len() < 8 {
                texts.push(text);
            }
        }
    }
    texts
}

fn row(a: &Proven, b: &Proven, load: &str, figure: &str, of: impl Fn(&LabRun) -> Option<f64>) -> ComparisonRow {
    let (a, b): (Vec<f64>, Vec<f64>) =
        (a.runs.iter().filter_map(&of).collect(), b.runs.iter().filter_map(&of).collect());
    let ratio = stats::ratio(&a, &b, CONFIDENCE).map(|estimate| Ratio {
        value: estimate.value,
        interval: estimate.interval.map(|i| (i.low, i.high)),
        confidence: estimate.interval.map_or(CONFIDENCE, |i| i.confidence),
        least_n: estimate.least_n,
    });
    ComparisonRow {
        load: load.into(),
        figure: figure.into(),
        median_a_ns: stats::median(&a),
        median_b_ns: stats::median(&b),
        ratio,
        p: stats::mann_whitney(&a, &b).map(|test| test.p),
        a_ns: a,
        b_ns: b,
    }
}

/// The latest wakeup of a boot, ns.
fn worst(run: &LabRun, load: Option<&str>) -> Option<f64> {
    let phases = run.recording.run.phases.iter().filter(|p| load.is_none_or(|l| l == p.load));
    let distributions = phases.flat_map(|p| run.recording.distributions.iter().filter(|((id, _), _)| *id == p.id));
    distributions.filter_map(|(_, d)| d.corrected().max()).max().map(|ns| ns as f64)
}

/// The median wakeup of a boot over all loads, ns.
fn median(run: &LabRun) -> Option<f64> {
    let mut all = punctual_units::Histogram::new();
    run.recording.distributions.values().for_each(|d| all.merge(&d.corrected()));
    all.quantile(0.5).map(|ns| ns as f64)
}
