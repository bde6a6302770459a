//! Compares groups of runs: which differences the data support, and which not.
//!
//! The unit of a sample is what is independent. Runs of different boots are: with four or more per group they get rank
//! intervals. Events within one run are not, and say nothing about the next boot:
//!
//! - *runs* ([`SampleUnit::Run`]): one value each; Hodges–Lehmann's ratio on logarithms with the rank interval,
//!   Mann–Whitney's p.
//! - *seconds* ([`SampleUnit::Second`]), with one run per group: the median of the worst wakeup per second, by
//!   resampling blocks of neighbours whose length follows from their autocorrelation.
//! - *batches* of a benchmark ([`SampleUnit::Batch`]): the same, and whether temperature explains the difference.
//!
//! The p values of a comparison are corrected together (Benjamini and Hochberg): of comparisons without any difference,
//! at most 5 % report one.
//!
//! Architecture invariant: pure. Figures only; `report` makes the sentences.

#![forbid(unsafe_code)]

mod causes;
mod drawings;
pub mod experiment;
mod figures;
mod heat;
mod known;
mod latency;
mod names;
mod rows;
mod seconds;
mod series;
mod unlike;

pub use drawings::drawings;
pub use names::without_files;

use punctual_model::{Comparison, ComparisonRow, Conclusion, Group, Outcome, ProblemKind, Recording, SampleUnit};
use std::collections::BTreeSet;

/// Confidence of all intervals; 1 − this is the level of all tests.
pub const CONFIDENCE: f64 = 0.95;
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Debug, Default)]
pub struct Side<'a> {
    pub name: String,
    pub folder: Option<String>,
    pub runs: Vec<(String, &'a Recording)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    TooFewGroups,
    /// Emulated and real clocks are mixed, or two emulated machines differ: names of the two groups.
    Clocks(String, String),
    NothingInCommon,
}

pub fn compare(sides: &[Side]) -> Result<Comparison, Refused> {
    if sides.len() < 2 || sides.iter().any(|s| s.runs.is_empty()) {
        return Err(Refused::TooFewGroups);
    }
    clocks(sides)?;
    let common = figures::common_loads(sides);
    let mut rows = latency::rows(sides, &common);
    rows.extend(seconds::rows(sides, &common));
    rows.extend(series::rows(sides));
    rows.extend(figures::rates(sides, &common));
    let not_known = known::not_known(sides);
    if rows.is_empty() && (common.is_empty() || not_known.is_empty()) {
        return Err(Refused::NothingInCommon);
    }
    rows::correct(&mut rows);
    let first = sides.first().and_then(|s| s.runs.first());
    Ok(Comparison {
        groups: sides.iter().map(group).collect(),
        sample: if sides.iter().all(is_booted_each) { "boot" } else { "run" }.into(),
        virtual_time: first.and_then(|(_, r)| r.run.virtual_time.clone()),
        rows,
        unlike: unlike::unlike(sides),
        causes: causes::causes(sides),
        left_out: figures::left_out(sides, &common),
        problems: sides.iter().flat_map(problems).collect(),
        not_known,
    })
}

pub fn differs(comparison: &Comparison) -> bool {
    let told = |t: Conclusion| matches!(t, Conclusion::More | Conclusion::Less);
    comparison.rows.iter().any(|row| row.against.iter().any(|a| told(a.told)))
}

/// Whether a figure of a later group is significantly worse than that of the first. A smallest wakeup that is later is no
/// fault, and a benchmark that was only warmer is not worse.
pub fn is_worse(comparison: &Comparison) -> bool {
    let worse = |row: &ComparisonRow| {
        let bad = if row.more_is_better { Conclusion::Less } else { Conclusion::More };
        row.figure != "min" && row.against.iter().any(|a| a.told == bad && !a.covariate.is_some_and(|c| c.is_most))
    };
    comparison.rows.iter().any(worse)
}

/// Nothing follows from the comparison: no figure is known of both sides, or problems put the figures in doubt.
pub fn is_inconclusive(comparison: &Comparison) -> bool {
    let is_compared = |row: &ComparisonRow| row.against.iter().any(|a| a.told != Conclusion::Missing);
    !comparison.problems.is_empty() || !comparison.rows.iter().any(is_compared)
}

/// The number of runs per group that would suffice; `None` if there are enough, or more would not help.
pub fn runs_needed(comparison: &Comparison) -> Option<u64> {
    let least = punctual_stats::samples_for_interval(CONFIDENCE)?;
    let runs = comparison.rows.iter().filter(|r| r.sample == SampleUnit::Run).flat_map(|r| &r.groups);
    runs.map(|g| g.n).min().filter(|n| *n < least).map(|_| least)
}

fn group(side: &Side) -> Group {
    let scored = |r: &Recording| r.run.phases.iter().flat_map(|p| &p.cpus).map(|c| c.scored()).sum::<u64>();
    Group {
        name: side.name.clone(),
        runs: side.runs.iter().map(|(name, _)| name.clone()).collect(),
        folder: side.folder.clone(),
        scored: side.runs.iter().map(|(_, r)| scored(r)).sum(),
    }
}

/// All runs use real time, or the same model of virtual time.
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

/// Each run has a boot of its own: the boot instants (CLOCK_REALTIME − CLOCK_BOOTTIME) are at least a minute apart.
/// Emulated guests are booted for each run.
fn is_booted_each(side: &Side) -> bool {
    if side.runs.iter().all(|(_, r)| r.run.virtual_time.is_some()) {
        return true;
    }
    const MINUTE: u64 = 60_000_000_000;
    let booted = |r: &Recording| r.run.started.map(|s| s.real_ns.saturating_sub(s.boot_ns) / MINUTE);
    let instants: BTreeSet<Option<u64>> = side.runs.iter().map(|(_, r)| booted(r)).collect();
    let apart = instants.iter().flatten().zip(instants.iter().flatten().skip(1)).all(|(a, b)| b - a > 1);
    side.runs.len() > 1 && !instants.contains(&None) && instants.len() == side.runs.len() && apart
}

/// Problems that invalidate figures: virtual CPUs, loads that did not run, priorities not granted, damaged data, a file
/// given as several runs.
fn problems(side: &Side) -> Vec<String> {
    const MOST: usize = 8;
    let grave = |kind| matches!(kind, ProblemKind::VirtualCpus | ProblemKind::LoadDidNotRun | ProblemKind::NoRealTime);
    let mut texts = known::copies(side);
    for (name, recording) in &side.runs {
        texts.extend(recording.damaged().into_iter().map(|text| format!("{}: {text}", known::place(side, name))));
        let verdict = punctual_judge::judge(recording, &[]);
        if verdict.outcome != Outcome::Inconclusive {
            continue;
        }
        for (_, problem) in verdict.problems.iter().filter(|(_, p)| grave(p.kind)) {
            texts.push(format!("{}: {}", known::place(side, name), problem.text));
        }
    }
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts.truncate(MOST);
    texts
}
