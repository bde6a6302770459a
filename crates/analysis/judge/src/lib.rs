//! Judges claims on a recorded run: pass, fail or inconclusive, with the evidence as figures.
//!
//! [`judge`] takes a whole run directory in memory, live, recorded or imported, and every claim; it returns figures
//! only, sentences are made elsewhere. What it holds to:
//!
//! - Each claim is judged on each phase and CPU (a *cell*), on the **corrected** distribution, in which periods that
//!   were skipped are scored as late as they were. The worst cell decides: fail over inconclusive over pass.
//! - **Missing data is never a pass.** No phase, a phase without CPU, a CPU without samples, counts that do not add
//!   up, a load without proof, a damaged file: each is a [`Problem`](punctual_model::Problem) in the verdict, recorded
//!   or found here, and what it touches is inconclusive at best. An observed failure stays one: a problem may make a
//!   run worth less, but a wakeup that was seen late was late.
//! - What an imported file does not tell ([`Blur`](punctual_model::Blur)) counts for whatever is worse: a value as its
//!   interval, a sample without a value as anything it can be, a period that may have been skipped as late or not. A
//!   claim that this could change is inconclusive.
//! - Bounds are conservative: histogram bins count with their worse edge, what the exact worst list knows narrows
//!   them, and samples that come in clusters count for less.
//!
//! # How clustered samples count
//!
//! One stall makes many releases late; they are one event. With the extremal index θ (see [`ClusterNote`]) n samples
//! say as much as n·θ independent ones, and k late ones among them are k·θ events. The bounds of a probability are
//! Clopper–Pearson's for ⌈k·θ⌉ (upper) and ⌊k·θ⌋, at least one (lower), in n·θ, but never narrower than those for k in
//! n. Dividing n alone would count the samples of one stall as events and shift the estimate by 1/θ. The ranks that
//! bound a quantile are found for ⌊n·θ⌋ samples and carried over by the share of samples above.
//!
//! θ is the least of the intervals estimator (Ferro and Segers 2003) and the runs estimator with run length 1, on the
//! worst wakeups kept and the periods skipped because of them: the former compares gaps with each other and calls a
//! single long stall independent, the latter knows that releases late one after the other are one event. It is taken
//! at the lowest threshold above which the worst list is complete (at most the latest tenth of all wakeups), needs 10
//! late samples there (with fewer its standard error exceeds a third), and taken again above the claim's own limit;
//! the smaller value counts.
//!
//! # Confidence
//!
//! A claim's confidence is that of each decision: a probability's upper and lower bound are each one-sided at it. A
//! quantile's bounds are the two-sided ones at it (docs: l and u with α/2), so each of its decisions is surer still.
//!
//! A run that was looked at while it was measured, to end when its claims are decided, is judged with more: at look k with
//! 1 − α·6/(π²k²) instead of 1 − α, so that all looks together err with at most α
//! ([`confidence_at_look`](punctual_stats::confidence_at_look)). Its bounds hold at the claim's confidence whenever it ended.
//!
//! Architecture invariant: no input or output, no clock, no text for people except in problems found here.

#![forbid(unsafe_code)]

mod arrival;
mod cell;
mod cluster;
mod coverage;
mod doubt;
mod late;
mod needed;
mod rules;
mod sequential;
mod tail;
mod virtual_cpus;

use cell::Cell;
use doubt::Doubt;
use punctual_model::{
    CellId, CellJudgement, Claim, ClusterNote, CpuResult, Judged, Outcome, ProblemKind, Quantity, Recording, Verdict,
};
use punctual_stats::exceedance_upper;
use punctual_units::Arrange;

pub use cluster::LEAST_LATE;
pub use coverage::RARE_EVENTS;
pub use sequential::{expected_look, is_of_observed, is_refuted_by, looks};
pub use virtual_cpus::{CONTROLS as VIRTUAL_CONTROLS, virtual_control};

/// Judges every claim on every phase and CPU of a run.
///
/// Without a claim nothing is claimed, and the outcome is inconclusive: callers judge [`Claim::none_missed`] where the
/// user says nothing.
///
/// - `max < L` fails if the largest latency is L or more, else passes; its evidence is the bound that none beyond in n
///   supports.
/// - `pQ < L` passes if the quantile's upper bound is below L, fails if its lower bound is above.
/// - `P(>L) < p` passes if the probability's upper bound is below p, fails if its lower bound is above.
/// - `missed = 0` fails if a period was skipped, or ran later than the run's deadline where it has one.
/// - `missed <= k per m` is judged on the same count as a probability of k/m.
pub fn judge(recording: &Recording, claims: &[Claim]) -> Verdict {
    let doubts = doubt::doubts(recording);
    let cells = cell::cells(recording, &doubts);
    let look = sequential::looks(&recording.run);
    let mut claims: Vec<Judged> = claims.iter().map(|claim| judge_claim(claim, look, &cells, &doubts)).collect();
    if doubts.iter().any(|d| d.problem.kind == ProblemKind::VirtualCpus) {
        claims.iter_mut().for_each(invalidate);
    }
    // One thread of which it is not known makes the sum unknown.
    let total = |count: fn(&CpuResult) -> Option<u64>| {
        let mut results = recording.run.phases.iter().flat_map(|p| &p.cpus);
        results.try_fold(0u64, |sum, result| Some(sum.saturating_add(count(result)?)))
    };
    Verdict {
        outcome: worst_outcome(claims.iter().map(|c| c.outcome), &doubts),
        claims,
        coverage: coverage::coverage(&recording.run),
        worst: worst_cell(&cells),
        released: total(|c| c.released),
        ran: total(|c| Some(c.ran)).unwrap_or(0),
        skipped: total(|c| c.skipped),
        virtual_control: virtual_cpus::of_virtual_time(recording),
        tails: Vec::new(),
        problems: doubts.into_iter().map(|d| (d.phase, d.problem)).collect(),
    }
}

/// The same for a report: also the tail of every load, which takes fits and resampling, up to some tenths of a second each.
///
/// A tail decides nothing. Its level carries the distribution of this run on by at most two decades and is refused where a
/// gate is closed, and wherever a claim on the same samples could not pass.
pub fn judge_with_tails(recording: &Recording, claims: &[Claim]) -> Verdict {
    let cells = cell::cells(recording, &doubt::doubts(recording));
    Verdict { tails: tail::tails(recording, &cells), ..judge(recording, claims) }
}

/// What the emulator did is no failure of the kernel either.
fn invalidate(judged: &mut Judged) {
    judged.outcome = Outcome::Inconclusive;
    judged.cells.iter_mut().for_each(|cell| cell.outcome = Outcome::Inconclusive);
}

/// The worst of them; nothing judged, or anything in doubt, is at best inconclusive.
fn worst_outcome(outcomes: impl Iterator<Item = Outcome>, doubts: &[Doubt]) -> Outcome {
    let worst = outcomes.max().unwrap_or(Outcome::Inconclusive);
    if doubts.is_empty() { worst } else { worst.max(Outcome::Inconclusive) }
}

fn judge_claim(claim: &Claim, look: u64, cells: &[Cell], doubts: &[Doubt]) -> Judged {
    let asked = sequential::at_look(claim, look);
    let mut judged: Vec<CellJudgement> = cells.iter().map(|cell| judge_cell(&asked, cell)).collect();
    // The one that decides first. A stable sort: equally bad cells stay in the order of phases and CPUs.
    judged.arrange_by(|a, b| {
        let max = a.max_ns.unwrap_or(u64::MAX).cmp(&b.max_ns.unwrap_or(u64::MAX));
        let bound = a.upper.unwrap_or(f64::INFINITY).total_cmp(&b.upper.unwrap_or(f64::INFINITY));
        let badness = match claim.quantity {
            Quantity::Max(_) => max.then(bound),
            Quantity::NoneMissed => a.beyond.cmp(&b.beyond).then(max),
            _ => bound.then(max),
        };
        a.outcome.cmp(&b.outcome).then(badness).reverse()
    });
    let outcome = worst_outcome(judged.iter().map(|c| c.outcome), doubts);
    Judged { claim: *claim, outcome, cells: judged }
}

fn judge_cell(claim: &Claim, cell: &Cell) -> CellJudgement {
    let Some(samples) = &cell.samples else { return unjudged(cell) };
    let (clustering, theta) = cluster::clustering(&samples.late, rules::limit(claim.quantity, samples));
    let finding = rules::find(claim, samples, theta);
    let n = samples.corrected.count() as f64;
    CellJudgement {
        outcome: if cell.doubtful { finding.outcome.max(Outcome::Inconclusive) } else { finding.outcome },
        samples: samples.corrected.count(),
        effective_samples: n * theta,
        clustering,
        max_ns: Some(samples.max),
        beyond: finding.beyond,
        estimate: finding.estimate,
        lower: finding.lower,
        upper: finding.upper,
        p_beyond_max: Some(exceedance_upper(0.0, n, claim.confidence)),
        p_beyond_max_clustered: Some(exceedance_upper(0.0, n * theta, claim.confidence)),
        needed: needed::needed(claim, samples, &finding, theta, cell.doubtful),
        ..unjudged(cell)
    }
}

/// A cell without samples.
fn unjudged(cell: &Cell) -> CellJudgement {
    CellJudgement {
        phase: cell.phase.to_owned(),
        cpu: cell.cpu,
        outcome: Outcome::Inconclusive,
        samples: 0,
        effective_samples: 0.0,
        clustering: ClusterNote::TooFew { from: 0 },
        max_ns: None,
        beyond: (0, 0),
        estimate: None,
        lower: None,
        upper: None,
        p_beyond_max: None,
        p_beyond_max_clustered: None,
        needed: None,
    }
}

/// The largest corrected latency of all; the first cell that has it.
fn worst_cell(cells: &[Cell]) -> Option<CellId> {
    let largest = cells.iter().filter_map(|c| c.samples.as_ref()).map(|s| s.max).max()?;
    let cell = cells.iter().find(|c| c.samples.as_ref().is_some_and(|s| s.max == largest))?;
    Some(CellId { phase: cell.phase.to_owned(), cpu: cell.cpu, max_ns: largest })
}
