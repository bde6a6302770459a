//! Runs whose claims are checked while measuring, to end when all are decided.

use punctual_model::{CellJudgement, Claim, EndedBy, Judged, Kind, Outcome, Quantity, Run, Verdict};
use punctual_stats::{confidence_at_look, exceedance_lower, exceedance_upper, samples_required};
use punctual_units::Nanos;

/// The number of the look that a verdict on this run is; 0 if its length was fixed.
///
/// For a run that was killed or is still measured, the verdict is one more look than recorded.
pub fn looks(run: &Run) -> u64 {
    if run.settings.until_decided.is_none() || run.kind != Kind::Latency {
        return 0;
    }
    let ended = !matches!(run.ended_by, None | Some(EndedBy::Killed));
    (run.looks.len() as u64 + u64::from(!ended)).max(1)
}

/// The claim at the confidence required at this look, so that all looks together keep its own.
pub(crate) fn at_look(claim: &Claim, look: u64) -> Claim {
    Claim { confidence: confidence_at_look(claim.confidence, look), ..*claim }
}

/// The claim is about observations only. It holds until refuted, and measuring longer adds nothing.
pub fn is_of_observed(claim: &Claim) -> bool {
    matches!(claim.quantity, Quantity::Max(_) | Quantity::NoneMissed)
}

/// This wakeup, because of which `skipped` periods were skipped, refutes the claim regardless of further samples.
pub fn is_refuted_by(claim: &Claim, deadline: Option<Nanos>, latency: Nanos, skipped: u64) -> bool {
    match claim.quantity {
        Quantity::Max(limit) => latency >= limit,
        Quantity::NoneMissed => skipped > 0 || deadline.is_some_and(|deadline| latency > deadline),
        Quantity::Quantile { .. } | Quantity::Exceedance { .. } | Quantity::MissedShare(_) => false,
    }
}

/// The look at which every claim will be decided if the machine continues as before: the next one at which
/// proportionally more samples and late samples decide each cell.
///
/// `verdict` is that of look `look`; `growth` gives the factor of samples at a later look, `None` after the end of the
/// run. Returns `None` if that is not before the end.
pub fn expected_look(verdict: &Verdict, look: u64, growth: impl Fn(u64) -> Option<f64>) -> Option<u64> {
    let open = || verdict.claims.iter().filter(|judged| judged.outcome == Outcome::Inconclusive);
    (look + 1..look + 64)
        .map_while(|at| Some((at, growth(at)?)))
        .find_map(|(at, growth)| open().all(|judged| is_decided(judged, at, growth)).then_some(at))
}

/// A claim fails with one refuted cell and passes only if all pass.
fn is_decided(judged: &Judged, look: u64, growth: f64) -> bool {
    let at: Vec<Outcome> = judged.cells.iter().map(|cell| outcome_at(&judged.claim, cell, look, growth)).collect();
    at.contains(&Outcome::Fail) || (!at.is_empty() && at.iter().all(|outcome| *outcome == Outcome::Pass))
}

/// The outcome of a cell with `growth` times as many samples of the same kind.
fn outcome_at(claim: &Claim, cell: &CellJudgement, look: u64, growth: f64) -> Outcome {
    let sure = confidence_at_look(claim.confidence, look);
    let (p, sure) = match claim.quantity {
        Quantity::Max(_) | Quantity::NoneMissed => return cell.outcome,
        // A quantile is below a limit if few enough samples are beyond it, with half of the doubt on either side.
        Quantity::Quantile { q, .. } => (1.0 - q, 1.0 - 0.5 * (1.0 - sure)),
        Quantity::Exceedance { p, .. } => (p, sure),
        Quantity::MissedShare(share) => (share, sure),
    };
    let samples = cell.samples as f64 * growth;
    let events = cell.effective_samples * growth;
    if cell.samples == 0 {
        return Outcome::Inconclusive;
    }
    if cell.beyond.1 == 0 {
        let enough = samples_required(p, sure).is_some_and(|needed| events >= needed);
        return if enough { Outcome::Pass } else { Outcome::Inconclusive };
    }
    let share = events / samples;
    let (least, most) = (cell.beyond.0 as f64 * growth, cell.beyond.1 as f64 * growth);
    let upper = exceedance_upper(most, samples, sure).max(exceedance_upper(most * share, events, sure));
    let lower = exceedance_lower(least, samples, sure).min(exceedance_lower(least * share, events, sure));
    match (upper < p, lower > p) {
        (_, true) => Outcome::Fail,
        (true, false) => Outcome::Pass,
        (false, false) => Outcome::Inconclusive,
    }
}
