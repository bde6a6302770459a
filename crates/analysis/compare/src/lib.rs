//! Groups of runs beside each other: what the data carry, and what they do not.
//!
//! The unit of a sample is what is independent. Runs of different boots are: four of each and more get rank intervals. What
//! happened within one run is not, and says nothing of the next boot:
//!
//! - *runs* ([`SampleUnit::Run`]): one value each; Hodges–Lehmann's ratio on logarithms with the rank interval, Mann–Whitney's p.
//! - *seconds* of one run against seconds of another ([`SampleUnit::Second`]), where there is one run of each: the median of the
//!   worst wakeups of a second, by resampling blocks of neighbours, as long as their autocorrelation asks for.
//! - *batches* of a benchmark ([`SampleUnit::Batch`]): the same, and beside it whether the temperature explains the difference.
//!
//! Every p of a comparison is corrected for all of them (Benjamini and Hochberg): of comparisons in which nothing differs, at most
//! 5 % say that anything does.
//!
//! Architecture invariant: pure. Figures only; sentences are made by the report.

#![forbid(unsafe_code)]

mod causes;
mod drawings;
pub mod experiment;
mod figures;
mod heat;
mod latency;
mod rows;
mod seconds;
mod series;
mod unlike;

pub use drawings::drawings;

use punctual_model::{Comparison, Group, Outcome, ProblemKind, Recording, SampleUnit, Told};
use std::collections::BTreeSet;

/// The confidence of all intervals, and one less the level of all tests.
pub const CONFIDENCE: f64 = 0.95;
/// Decides all draws: the same runs give the same figures.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// One group of runs.
#[derive(Clone, Debug, Default)]
pub struct Side<'a> {
    /// Its name, for example the kernel's release.
    pub name: String,
    /// Where it is, if in one folder.
    pub folder: Option<String>,
    /// Its runs with their names.
    pub runs: Vec<(String, &'a Recording)>,
}

/// Why groups are not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Fewer than two groups, or one without runs.
    TooFewGroups,
    /// Some runs are of an emulator's clock and some are not, or two emulated machines differ: a first and a second group.
    Clocks(String, String),
    /// Nothing that all groups have: neither a latency nor a series.
    NothingInCommon,
}

/// Compares each group with the first.
///
/// # Errors
/// Groups that cannot stand beside each other: see [`Refused`].
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
    if rows.is_empty() {
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
    })
}

/// Does any row of it say that groups differ?
pub fn differs(comparison: &Comparison) -> bool {
    let told = |t: Told| matches!(t, Told::More | Told::Less);
    comparison.rows.iter().any(|row| row.against.iter().any(|a| told(a.told)))
}

/// Runs beside which one more of each would do: `None` where there are enough, or more would not help.
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

/// One clock only: real time, or one machine's model.
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

/// Is each run of a boot of its own? Told by CLOCK_REALTIME less CLOCK_BOOTTIME, the instant of booting, a minute apart; an
/// emulated guest is booted for each.
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

/// Problems that make figures meaningless: of CPUs, of loads that did not run, of priorities that were not given.
fn problems(side: &Side) -> Vec<String> {
    const MOST: usize = 8;
    let grave = |kind| matches!(kind, ProblemKind::VirtualCpus | ProblemKind::LoadDidNotRun | ProblemKind::NoRealTime);
    let mut texts = Vec::new();
    for (name, recording) in &side.runs {
        let verdict = punctual_judge::judge(recording, &[]);
        if verdict.outcome != Outcome::Inconclusive {
            continue;
        }
        for (_, problem) in verdict.problems.iter().filter(|(_, p)| grave(p.kind)) {
            texts.push(format!("{}, {name}: {}", side.name, problem.text));
        }
    }
    texts.truncate(MOST);
    texts
}
