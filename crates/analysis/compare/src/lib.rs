//! Compares groups of runs, and determines which differences the data support.
//!
//! The unit of a sample is the boot, because the runs of a boot share memory layout, timer phase and background
//! activity. The value of a boot is the median of its runs. With at least four boots of each group ([`LEAST_BOOTS`]),
//! ratios have rank intervals (Hodges–Lehmann on logarithms), in pairs if the groups were booted alternately (A B B A
//! …). With fewer boots, values are displayed without a judgement. Batches of a benchmark within one boot are treated
//! likewise, and the share of the difference that temperature explains is given.
//!
//! The p-values of a comparison are corrected together (Benjamini and Hochberg), so that at most 5 % of comparisons
//! without any difference report one.
//!
//! Architecture invariant: pure functions that return numbers; `report` writes the sentences.

#![forbid(unsafe_code)]

mod boots;
mod causes;
mod drawings;
pub mod experiment;
mod figures;
mod heat;
mod known;
mod latency;
mod names;
mod needed;
mod rows;
mod series;
mod unlike;

pub use boots::LEAST_BOOTS;
pub use drawings::drawings;
pub use names::without_files;

use boots::{Boots, Groups};
use punctual_model::{
    Against, Comparison, ComparisonRow, Conclusion, DoubtfulRun, Group, Outcome, Problem, ProblemKind, Recording,
};
use std::collections::BTreeSet;

/// Confidence of all intervals. The level of all tests is 1 minus this value.
pub const CONFIDENCE: f64 = 0.95;
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Debug, Default)]
pub struct Side<'a> {
    pub name: String,
    pub folder: Option<String>,
    pub runs: Vec<(String, &'a Recording)>,
    /// True if each run counts as a separate boot, regardless of what the files state.
    pub own_boots: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    TooFewGroups,
    /// Emulated and real clocks are mixed, or two emulated machines differ. Contains the names of the two groups.
    Clocks(String, String),
    NothingInCommon,
}

pub fn compare(sides: &[Side]) -> Result<Comparison, Refused> {
    if sides.len() < 2 || sides.iter().any(|s| s.runs.is_empty()) {
        return Err(Refused::TooFewGroups);
    }
    clocks(sides)?;
    let (common, groups) = (figures::common_loads(sides), Groups::of(sides));
    let mut rows = latency::rows(&groups, &common);
    rows.extend(series::rows(&groups));
    rows.extend(figures::rates(&groups, &common));
    let not_known = known::not_known(sides);
    if rows.is_empty() && (common.is_empty() || not_known.is_empty()) {
        return Err(Refused::NothingInCommon);
    }
    rows::correct(&mut rows);
    let first = sides.first().and_then(|s| s.runs.first());
    Ok(Comparison {
        groups: sides.iter().zip(&groups.boots).map(|(side, boots)| group(side, boots)).collect(),
        recipes: needed::recipes(&groups, &rows),
        one_boot: groups.is_one_boot(),
        unknown_boots: groups.unknown(),
        began_alike: groups
            .began_alike
            .iter()
            .zip(&groups.pairs)
            .map(|(alike, pairs)| *alike && pairs.is_some())
            .collect(),
        virtual_time: first.and_then(|(_, r)| r.run.virtual_time.clone()),
        rows,
        unlike: unlike::unlike(sides),
        causes: causes::causes(sides),
        left_out: figures::left_out(sides, &common),
        problems: sides.iter().flat_map(problems).collect(),
        doubtful: sides.iter().flat_map(doubtful).collect(),
        not_known,
    })
}

pub fn differs(comparison: &Comparison) -> bool {
    let differs = |t: Conclusion| matches!(t, Conclusion::More | Conclusion::Less);
    comparison.rows.iter().any(|row| row.against.iter().any(|a| differs(a.conclusion)))
}

/// Returns true if a value of a later group is significantly worse than the first group's. A larger minimum does not
/// count, nor does a difference that is [`excused`].
pub fn is_worse(comparison: &Comparison) -> bool {
    let worse = |row: &ComparisonRow| {
        let bad = if row.more_is_better { Conclusion::Less } else { Conclusion::More };
        let is_bad = |(k, a): (usize, &Against)| a.conclusion == bad && !excused(comparison, k, a);
        row.figure != "min" && row.against.iter().enumerate().any(is_bad)
    };
    comparison.rows.iter().any(worse)
}

/// Returns true if temperature accounts for a difference of the `k`-th group after the first: most of it is thermal,
/// and both groups were booted alternately and started their runs at about the same temperature. Otherwise the kernel
/// itself, or the ambient temperature, may have caused the higher temperature.
pub fn excused(comparison: &Comparison, k: usize, against: &Against) -> bool {
    comparison.began_alike.get(k) == Some(&true) && against.covariate.is_some_and(|c| c.is_most)
}

/// Returns true if the comparison supports no conclusion: no value of any group is judged, or problems make the values
/// doubtful.
pub fn is_inconclusive(comparison: &Comparison) -> bool {
    let is_judged = |row: &ComparisonRow| {
        row.against.iter().any(|a| !matches!(a.conclusion, Conclusion::Missing | Conclusion::TooFew))
    };
    !comparison.problems.is_empty() || !comparison.rows.iter().any(is_judged)
}

fn group(side: &Side, boots: &Boots) -> Group {
    let scored = |r: &Recording| r.run.phases.iter().flat_map(|p| &p.cpus).map(|c| c.scored()).sum::<u64>();
    Group {
        name: side.name.clone(),
        boots: boots.all.iter().map(|boot| boot.name.clone()).collect(),
        runs: side.runs.len() as u64,
        folder: side.folder.clone(),
        scored: side.runs.iter().map(|(_, r)| scored(r)).sum(),
    }
}

/// Checks that all runs use real time, or the same model of virtual time.
fn clocks(sides: &[Side]) -> Result<(), Refused> {
    let clock = |r: &Recording| {
        r.run.virtual_time.as_ref().map(|v| (v.machine.clone(), v.instruction_ns, v.cpus, v.emulator.clone()))
    };
    let mut all = sides.iter().flat_map(|s| s.runs.iter().map(move |(_, r)| (s, clock(r))));
    let Some((first, of_first)) = all.next() else { return Ok(()) };
    match all.find(|(_, clock)| *clock != of_first) {
        Some((other, _)) => Err(Refused::Clocks(first.name.clone(), other.name.clone())),
        None => Ok(()),
    }
}

/// Returns problems that invalidate values: virtual CPUs, loads that did not run, refused priorities, damaged data, the
/// same file given as several runs.
fn problems(side: &Side) -> Vec<String> {
    const MOST: usize = 8;
    let mut texts = known::copies(side);
    for (name, recording) in &side.runs {
        texts.extend(recording.damaged().into_iter().map(|text| format!("{}: {text}", known::place(side, name))));
        let verdict = punctual_judge::judge(recording, &[]);
        if verdict.outcome != Outcome::Inconclusive {
            continue;
        }
        for (_, problem) in verdict.problems.iter().filter(|(_, p)| is_grave(p.kind)) {
            texts.push(format!("{}: {}", known::place(side, name), problem.text));
        }
    }
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts.truncate(MOST);
    texts
}

fn is_grave(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::VirtualCpus | ProblemKind::LoadDidNotRun | ProblemKind::NoRealTime)
}

/// Returns the runs with problems that do not invalidate the comparison. That a file of another tool lacks facts is in
/// [`Comparison::not_known`], and the end of a phase that its user ended is no problem of its values.
fn doubtful(side: &Side) -> Vec<DoubtfulRun> {
    let counts = |kind| !is_grave(kind) && !matches!(kind, ProblemKind::Unreported | ProblemKind::EndedEarly);
    let of_run = |(name, recording): &(String, &Recording)| {
        let verdict = punctual_judge::judge(recording, &recording.run.settings.claims);
        let mut problems: Vec<Problem> = Vec::new();
        for (_, problem) in verdict.problems {
            let is_new = !problems.contains(&problem) && !recording.damaged().contains(&problem.text.as_str());
            if counts(problem.kind) && is_new {
                problems.push(problem);
            }
        }
        let doubtful = DoubtfulRun { run: known::place(side, name), outcome: verdict.outcome, problems };
        (!doubtful.problems.is_empty()).then_some(doubtful)
    };
    side.runs.iter().filter_map(of_run).collect()
}
