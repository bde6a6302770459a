//! Runs whose claims are looked at while they are measured, to end when all are decided.

use punctual_model::{CellJudgement, Claim, EndedBy, Judged, Kind, Outcome, Quantity, Run, Verdict};
use punctual_stats::{confidence_at_look, exceedance_lower, exceedance_upper, samples_required};
use punctual_units::Nanos;

/// The number of the look at a run that a verdict on it is: 0 where its length was fixed.
///
/// A run that was killed, or is still measured, is looked at once more than it says.
pub fn looks(run: &Run) -> u64 {
    if run.settings.until_decided.is_none() || run.kind != Kind::Latency {
        return 0;
    }
    let ended = !matches!(run.ended_by, None | Some(EndedBy::Killed));
    (run.looks.len() as u64 + u64::from(!ended)).max(1)
}

/// The claim with the confidence that it must be decided with at this look, so that all looks together keep its own.
pub(crate) fn at_look(claim: &Claim, look: u64) -> Claim {
    Claim { confidence: confidence_at_look(claim.confidence, look), ..*claim }
}

/// Does the claim speak of what was observed only? Then it holds until it is refuted, and measuring longer shows no more of
/// it.
pub fn is_of_observed(claim: &Claim) -> bool {
    matches!(claim.quantity, Quantity::Max(_) | Quantity::NoneMissed)
}

/// Does this one wakeup refute the claim, whatever else is measured? `skipped` periods passed because of it.
pub fn is_refuted_by(claim: &Claim, deadline: Option<Nanos>, latency: Nanos, skipped: u64) -> bool {
    match claim.quantity {
        Quantity::Max(limit) => latency >= limit,
        Quantity::NoneMissed => skipped > 0 || deadline.is_some_and(|deadline| latency > deadline),
        Quantity::Quantile { .. } | Quantity::Exceedance { .. } | Quantity::MissedShare(_) => false,
    }
}

/// At which later look every claim will be decided if the machine goes on as it did: the next one at which as many samples,
/// and as many late ones in proportion, decide each cell.
///
/// `verdict` is that of look `look`; `growth` says how many times more samples there will be at another one, `None` from
/// where the run ends. `None`: not while it lasts.
pub fn expected_look(verdict: &Verdict, look: u64, growth: impl Fn(u64) -> Option<f64>) -> Option<u64> {
    let open = || verdict.claims.iter().filter(|judged| judged.outcome == Outcome::Inconclusive);
    (look + 1..look + 64)
        .map_while(|at| Some((at, growth(at)?)))
        .find_map(|(at, growth)| open().all(|judged| is_decided(judged, at, growth)).then_some(at))
}

/// One refuted cell decides a claim; to hold it has to hold in all.
fn is_decided(judged: &Judged, look: u64, growth: f64) -> bool {
    let at: Vec<Outcome> = judged.cells.iter().map(|cell| outcome_at(&judged.claim, cell, look, growth)).collect();
    at.contains(&Outcome::Fail) || (!at.is_empty() && at.iter().all(|outcome| *outcome == Outcome::Pass))
}

/// What a cell comes to with `growth` times as many samples of the same kind.
fn outcome_at(claim: &Claim, cell: &CellJudgement, look: u64, growth: f64) -> Outcome {
    let sure = confidence_at_look(claim.confidence, look);
    let (p, sure) = match claim.quantity {
        Quantity::Max(_) | Quantity::NoneMissed => return cell.outcome,
        // That a quantile is below a limit is that so many samples are not beyond it, with half of the doubt on either side.
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
