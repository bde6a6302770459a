//! Judges the claims about a recorded run: pass, held, fail or inconclusive, with the evidence as numbers.
//!
//! [`judge`] takes a complete run in memory (live, recorded or imported) and all claims. It returns numbers, from which
//! `report` makes sentences. Rules:
//!
//! - Each claim is judged on each phase and CPU (a *cell*), on the **corrected** distribution, which includes the
//!   lateness of skipped periods. To pass, a claim must hold in every cell; to fail, the mean evidence of all cells must
//!   refute it.
//! - **Missing data is never a pass.** A run without phases, a phase without CPUs, a CPU without samples, inconsistent
//!   counts, a load without evidence, or a damaged file is a [`Problem`](punctual_model::Problem) in the verdict, whether
//!   recorded or detected here. The affected results are inconclusive at best. An observed failure remains a failure,
//!   because the late wakeup did occur.
//! - Data missing from an imported file ([`Blur`](punctual_model::Blur)) is assumed to have its worst value: a rounded
//!   value lies anywhere in its interval, a sample without a value may have any, an uncounted period may be late or not.
//!   A claim that depends on it is inconclusive.
//! - Bounds are conservative: histogram bins count with their worse edge, narrowed by the exact list of worst wakeups.
//!
//! # Episodes
//!
//! One stall that makes many releases late is one event. Shares and rates are judged by late episodes
//! ([`Episodes`](punctual_model::Episodes)) with e-processes (`evalue` of stats), which are valid at any check: see ADR
//! 30 and docs/guide/statistics.md, "The mathematics". Judging a share requires the maximum length of a stall, which
//! the claim declares. Without this declaration a stall of one period is assumed, and the result includes bounds for
//! longer stalls. For runs without recorded episodes, they are computed from the list of worst wakeups if it is
//! complete above the limit. If the order is unknown, stalls of 50 ms are assumed, and no claim passes.
//!
//! Quantiles are judged by the share beyond the limit in blocks of time (`quantile`).
//!
//! The extremal index θ ([`ClusterNote`]) is the smaller of the intervals estimator (Ferro and Segers 2003) and the
//! runs estimator with run length 1, computed from the worst wakeups and the periods skipped because of them. It is
//! used for bounds of quantiles in tables, for tails and for `compare`; no verdict depends on it.
//!
//! # Confidence
//!
//! A claim's confidence applies to each decision: the upper and the lower bound of a probability are each one-sided
//! bounds with this confidence. Bounds of a quantile are two-sided (α/2 for each). A quantile that is checked during
//! the measurement requires more: its n-th check uses 1 − α·6/(π²n²) instead of 1 − α
//! ([`confidence_at_look`](punctual_stats::confidence_at_look)).
//!
//! Architecture invariant: no input or output, no clock, no text except for problems detected here.

#![forbid(unsafe_code)]

mod arrival;
mod cell;
mod cluster;
mod counterfactual;
mod coverage;
mod doubt;
mod episodes;
mod late;
mod margin;
mod needed;
mod quantile;
mod rules;
mod sequential;
mod tail;
mod virtual_cpus;

use cell::Cell;
use doubt::Doubt;
use punctual_model::{
    AppValue, CellId, CellJudgement, Claim, ClusterNote, CpuResult, Judged, Outcome, ProblemKind, Quantity, Recording,
    Verdict,
};
use punctual_stats::{expected_upper, ln_e_needed, ln_mean_e};
use punctual_units::Arrange;

pub use cluster::LEAST_LATE;
pub use coverage::RARE_EVENTS;
pub use needed::shortest;
pub use rules::{block_limits, episode_limits};
pub use sequential::{decides_at, expected_look, is_of_observed, is_open, is_refuted_by, looks};
pub use virtual_cpus::{CONTROLS as VIRTUAL_CONTROLS, virtual_control};

/// Judges every claim on every phase and CPU of a run.
///
/// Without claims the outcome is inconclusive. Callers pass [`Claim::none_missed`] if the user makes no claim.
///
/// - `max < L` fails if the largest latency is L or more, otherwise it is held.
/// - `pQ < L` passes if the share beyond L is shown to be below 1 − Q, fails if it is shown to be above.
/// - `P(>L) < p` passes if the probability's upper bound is below p, fails if its lower bound is above.
/// - `episodes(>L) < k per day` likewise, by their rate.
/// - `missed = 0` fails if a period was skipped, or its job ran later than the run's deadline if it has one; otherwise
///   it is held.
/// - `missed <= k per m` is judged on the same count, as a probability of k/m. If it is neither shown nor refuted, it
///   is held.
pub fn judge(recording: &Recording, claims: &[Claim]) -> Verdict {
    let limits = claims;
    let doubts = doubt::doubts(recording);
    let cells = cell::cells(recording, &doubts);
    let look = sequential::looks(&recording.run);
    let mut claims: Vec<Judged> = claims.iter().map(|claim| judge_claim(claim, look, &cells, &doubts)).collect();
    if doubts.iter().any(|d| d.problem.kind == ProblemKind::VirtualCpus) {
        claims.iter_mut().for_each(invalidate);
    }
    // If a thread did not record its count, the sum is unknown.
    let total = |count: fn(&CpuResult) -> Option<u64>| {
        let mut results = recording.run.phases.iter().filter(|p| p.is_of_releases()).flat_map(|p| &p.cpus);
        results.try_fold(0u64, |sum, result| Some(sum.saturating_add(count(result)?)))
    };
    Verdict {
        outcome: worst_outcome(
            claims.iter().map(|c| c.outcome),
            doubts.iter().any(|d| claims.iter().any(|c| counts_for(&c.claim, d))),
        ),
        claims,
        coverage: coverage::coverage(&recording.run),
        periods: coverage::periods(&recording.run),
        worst: worst_cell(&cells),
        released: total(|c| c.released),
        ran: total(|c| Some(c.ran)).unwrap_or(0),
        skipped: total(|c| c.skipped),
        virtual_control: virtual_cpus::of_virtual_time(recording),
        tails: Vec::new(),
        margins: margin::margins(recording, limits),
        counterfactuals: counterfactual::counterfactuals(recording),
        problems: doubts.into_iter().map(|d| (d.phase, d.problem)).collect(),
    }
}

/// Like [`judge`], and also computes the tail of every load, for a report. Fits and resampling take up to some tenths
/// of a second per load.
///
/// A tail has no effect on the verdict. Its level extrapolates the distribution of this run by at most two decades. It
/// is refused if a check fails or a claim on the same samples could not pass.
pub fn judge_with_tails(recording: &Recording, claims: &[Claim]) -> Verdict {
    let cells = cell::cells(recording, &doubt::doubts(recording));
    Verdict { tails: tail::tails(recording, &cells), ..judge(recording, claims) }
}

/// Makes the judgement inconclusive: an unreliable result from an emulator does not show a failure of the kernel,
/// either.
fn invalidate(judged: &mut Judged) {
    judged.outcome = Outcome::Inconclusive;
    judged.cells.iter_mut().for_each(|cell| cell.outcome = Outcome::Inconclusive);
}

/// Returns the worst outcome; at best inconclusive if nothing was judged or there are doubts.
fn worst_outcome(outcomes: impl Iterator<Item = Outcome>, doubtful: bool) -> Outcome {
    let worst = outcomes.max().unwrap_or(Outcome::Inconclusive);
    if doubtful { worst.max(Outcome::Inconclusive) } else { worst }
}

/// Returns true if the doubt affects this claim. The choice of the end of a phase affects only a quantile
/// ([`sequential`]).
fn counts_for(claim: &Claim, doubt: &Doubt) -> bool {
    doubt.problem.kind != ProblemKind::EndedEarly || matches!(claim.quantity, Quantity::Quantile { .. })
}

fn judge_claim(claim: &Claim, look: u64, cells: &[Cell], doubts: &[Doubt]) -> Judged {
    let asked = sequential::at_look(claim, look);
    let doubts: Vec<&Doubt> = doubts.iter().filter(|doubt| counts_for(claim, doubt)).collect();
    let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.value == claim.of.as_ref()).collect();
    let refute = 1.0 - (1.0 - asked.confidence) / cells.len().max(1) as f64;
    let found: Vec<(CellJudgement, f64)> = cells.iter().map(|cell| judge_cell(&asked, cell, refute, &doubts)).collect();
    // A claim on many cells is refuted by their mean evidence, because among many true cells some show evidence that
    // would refute a single one.
    let evidence: Vec<f64> = found.iter().map(|(_, ln_e)| *ln_e).collect();
    let refuted = ln_mean_e(&evidence) >= ln_e_needed(asked.confidence);
    let most = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut judged: Vec<CellJudgement> = found
        .into_iter()
        .map(|(mut cell, ln_e)| {
            let is_refuted = refuted && (cell.outcome == Outcome::Fail || ln_e >= most);
            cell.outcome = match cell.outcome {
                _ if is_refuted => Outcome::Fail,
                Outcome::Fail => Outcome::Inconclusive,
                other => other,
            };
            cell
        })
        .collect();
    // The deciding cell comes first. The sort is stable, so equally bad cells stay in the order of phases and CPUs.
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
    let outcome = worst_outcome(judged.iter().map(|c| c.outcome), !doubts.is_empty());
    Judged { claim: claim.clone(), outcome, cells: judged }
}

/// Judges one cell. Also returns the logarithm of the e-value against the claim.
fn judge_cell(claim: &Claim, cell: &Cell, refute: f64, doubts: &[&Doubt]) -> (CellJudgement, f64) {
    let Some(samples) = &cell.samples else { return (unjudged(cell), f64::NEG_INFINITY) };
    let doubtful = doubts.iter().any(|doubt| doubt.touches(cell.phase, cell.cpu));
    let (clustering, theta) = cluster::clustering(&samples.late, rules::limit(claim.quantity, samples));
    let finding = rules::find(claim, samples, theta, refute);
    let n = samples.corrected.count() as f64;
    let judged = CellJudgement {
        outcome: if doubtful { finding.outcome.max(Outcome::Inconclusive) } else { finding.outcome },
        samples: samples.corrected.count(),
        effective_samples: n * theta,
        clustering,
        max_ns: Some(samples.max),
        beyond: finding.beyond,
        stall_exceeded: finding.exceeded,
        episodes: finding.episodes,
        bounds: finding.bounds.clone(),
        estimate: finding.estimate,
        lower: finding.lower,
        upper: finding.upper,
        p_beyond_max: Some((expected_upper(0.0, claim.confidence) / n).min(1.0)),
        needed: needed::needed(claim, samples, &finding, doubtful),
        ..unjudged(cell)
    };
    (judged, finding.ln_e)
}

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
        stall_exceeded: false,
        episodes: None,
        bounds: Vec::new(),
        needed: None,
    }
}

fn worst_cell(cells: &[Cell]) -> Option<CellId> {
    let cells = || cells.iter().filter(|cell| cell.value.is_none_or(AppValue::is_of_releases));
    let largest = cells().filter_map(|c| c.samples.as_ref()).map(|s| s.max).max()?;
    let cell = cells().find(|c| c.samples.as_ref().is_some_and(|s| s.max == largest))?;
    Some(CellId { phase: cell.phase.to_owned(), cpu: cell.cpu, max_ns: largest })
}
