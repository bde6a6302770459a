//! Runs whose claims are checked while measuring, and which end when all claims are decided.

use punctual_model::{CellJudgement, Claim, EndedBy, Judged, Kind, Outcome, Quantity, Run, Verdict};
use punctual_stats::{confidence_at_look, expected_upper, ln_e_above, ln_e_below, ln_e_needed};
use punctual_units::Nanos;

/// Returns the number of the check that a verdict on this run represents; 0 if the length of the run was fixed.
///
/// If the run was killed or is still being measured, the verdict is an additional check after the recorded checks.
pub fn looks(run: &Run) -> u64 {
    if run.settings.until_decided.is_none() || run.kind != Kind::Latency {
        return 0;
    }
    let ended = !matches!(run.ended_by, None | Some(EndedBy::Killed | EndedBy::Unknown));
    (run.looks.len() as u64 + u64::from(!ended)).max(1)
}

/// Returns true if a run that continues until its claims are decided may, as far as this claim is concerned, end at
/// this check. A quantile is checked only at the 1st, 2nd, 4th, 8th … check, since each check costs confidence.
pub fn decides_at(claim: &Claim, look: u64) -> bool {
    look.is_power_of_two() || !matches!(claim.quantity, Quantity::Quantile { .. })
}

/// Returns the claim with the confidence required at this check. Evidence about episodes and shares is valid at any
/// time (`evalue` of stats). Evidence about the blocks of a quantile is not: its n-th check, at check 2^(n−1) or at
/// the end of the run, uses its part of the confidence.
pub(crate) fn at_look(claim: &Claim, look: u64) -> Claim {
    let number =
        look.checked_ilog2().map_or(0, |doublings| u64::from(doublings) + if look.is_power_of_two() { 1 } else { 2 });
    match claim.quantity {
        Quantity::Quantile { .. } => {
            Claim { confidence: confidence_at_look(claim.confidence, number), ..claim.clone() }
        }
        _ => claim.clone(),
    }
}

/// Returns true if the claim concerns only the observed samples. It holds until refuted, and measuring longer cannot
/// prove it.
pub fn is_of_observed(claim: &Claim) -> bool {
    !claim.is_of_frequency()
}

/// Returns true if a longer measurement can decide the claim.
pub fn is_open(judged: &Judged) -> bool {
    match judged.outcome {
        Outcome::Inconclusive => true,
        Outcome::Held => judged.claim.is_of_frequency(),
        Outcome::Pass | Outcome::Fail => false,
    }
}

/// Returns true if this wakeup, which caused `skipped` periods to be skipped, refutes the claim regardless of further
/// samples.
pub fn is_refuted_by(claim: &Claim, deadline: Option<Nanos>, latency: Nanos, skipped: u64) -> bool {
    match claim.quantity {
        Quantity::Max(limit) => latency >= limit,
        Quantity::NoneMissed => skipped > 0 || deadline.is_some_and(|deadline| latency > deadline),
        Quantity::Quantile { .. }
        | Quantity::Exceedance { .. }
        | Quantity::Episodes { .. }
        | Quantity::MissedShare(_) => false,
    }
}

/// Returns the check at which every claim will be decided if the machine continues as before: the first later check
/// at which proportionally more samples and late samples decide each cell.
///
/// `verdict` is the verdict at check `look`. `growth` returns the factor by which the number of samples will have grown
/// at a later check, or `None` after the end of the run. Returns `None` if the claims will not be decided before the
/// end.
pub fn expected_look(verdict: &Verdict, look: u64, growth: impl Fn(u64) -> Option<f64>) -> Option<u64> {
    let open = || verdict.claims.iter().filter(|judged| is_open(judged));
    (look + 1..look + 64)
        .map_while(|at| Some((at, growth(at)?)))
        .find_map(|(at, growth)| open().all(|judged| is_decided(judged, at, growth)).then_some(at))
}

/// Returns true if the claim would be decided: it fails with one refuted cell and passes only if all cells pass.
fn is_decided(judged: &Judged, look: u64, growth: f64) -> bool {
    let at: Vec<Outcome> = judged.cells.iter().map(|cell| outcome_at(&judged.claim, cell, look, growth)).collect();
    at.contains(&Outcome::Fail) || (!at.is_empty() && at.iter().all(|outcome| *outcome == Outcome::Pass))
}

/// Returns the outcome of a cell with `growth` times as many samples of the same kind.
fn outcome_at(claim: &Claim, cell: &CellJudgement, look: u64, growth: f64) -> Outcome {
    let sure = at_look(claim, look).confidence;
    let (p, sure) = match claim.quantity {
        Quantity::Max(_) | Quantity::NoneMissed => return cell.outcome,
        // A quantile is below a limit if few enough samples are beyond it, with half of the error probability on each
        // side.
        Quantity::Quantile { q, .. } => (1.0 - q, 1.0 - 0.5 * (1.0 - sure)),
        Quantity::Exceedance { p, .. } => (p, sure),
        Quantity::MissedShare(share) => (share, sure),
        Quantity::Episodes { per_second, .. } => {
            let Some(rate) = cell.estimate else { return Outcome::Inconclusive };
            let count = cell.episodes.map_or(0.0, |e| e.count as f64) * growth;
            // The time for which the recorded count gives this rate. Without an episode, the bound determines it.
            let seconds = match cell.upper {
                _ if rate > 0.0 => count / rate,
                Some(upper) => expected_upper(0.0, sure) / upper * growth,
                None => return Outcome::Inconclusive,
            };
            return decided((count, per_second * seconds), (count, per_second * seconds), sure);
        }
    };
    if cell.samples == 0 {
        return Outcome::Inconclusive;
    }
    // Assumes the same stall as the bound for no late samples, that is, the longest stall that was judged.
    let stall = cell.upper.filter(|_| cell.beyond.1 == 0).map_or(1.0, |upper| {
        (upper / (1.0 - upper) * cell.samples as f64 / expected_upper(0.0, claim.confidence)).max(1.0)
    });
    let released = cell.samples as f64 * growth;
    let (least, most) = (cell.beyond.0 as f64 * growth, cell.beyond.1 as f64 * growth);
    let at = |late: f64| (late / stall, (released - late).max(0.0) * p / (1.0 - p) / stall);
    decided(at(most), at(least), sure)
}

/// Decides from the observed and the expected number of events, once with the numbers for a pass and once with those
/// for a failure.
fn decided(pass: (f64, f64), fail: (f64, f64), confidence: f64) -> Outcome {
    let needed = ln_e_needed(confidence);
    match (ln_e_below(pass.0, pass.1) >= needed, ln_e_above(fail.0, fail.1) >= needed) {
        (_, true) => Outcome::Fail,
        (true, false) => Outcome::Pass,
        (false, false) => Outcome::Inconclusive,
    }
}
