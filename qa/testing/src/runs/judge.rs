//! Handwritten verdicts that agree with the values in the recording.

use punctual_model::{
    CellId, CellJudgement, Claim, ClusterNote, Coverage, CpuResult, Judged, Needed, Outcome, Phase, Quantity,
    Recording, Verdict,
};
use punctual_units::Nanos;

/// −ln 0.05: if none of n samples exceeds a limit, the probability of exceeding it is at most about 3/n (at 95 %
/// confidence).
const THREE: f64 = 2.995_732_273_554;

pub fn verdict(recording: &Recording, claims: &[&str]) -> Verdict {
    let mut claims: Vec<Judged> = claims.iter().map(|c| judge(recording, c.parse().unwrap())).collect();
    let results = || recording.run.phases.iter().flat_map(|p| p.cpus.iter().map(move |c| (p, c)));
    let problems = recording.run.phases.iter().flat_map(|p| p.problems.iter().map(|x| (Some(p.id.clone()), x.clone())));
    let problems: Vec<_> = recording.run.problems.iter().map(|x| (None, x.clone())).chain(problems).collect();
    let floor = if problems.is_empty() { Outcome::Pass } else { Outcome::Inconclusive };
    claims.iter_mut().for_each(|c| c.outcome = c.outcome.max(floor));
    let worst_claim = claims.iter().map(|c| c.outcome).max().unwrap_or(Outcome::Inconclusive);
    let worst = results().filter_map(|(p, c)| Some(CellId { phase: p.id.clone(), cpu: c.cpu, max_ns: c.max_ns? }));
    Verdict {
        outcome: worst_claim.max(floor),
        claims,
        problems,
        coverage: coverage(),
        periods: Vec::new(),
        worst: worst.max_by_key(|w| w.max_ns),
        released: results().map(|(_, c)| c.released).sum(),
        ran: results().map(|(_, c)| c.ran).sum(),
        skipped: results().map(|(_, c)| c.skipped).sum(),
        virtual_control: None,
        tails: Vec::new(),
        margins: Vec::new(),
        counterfactuals: Vec::new(),
    }
}

fn coverage() -> Vec<Coverage> {
    let coverage =
        |minutes: u64, p_one_phase, p_run| Coverage { every_ns: Nanos::from_secs(minutes * 60), p_one_phase, p_run };
    vec![
        coverage(1, 0.393, 0.865),
        coverage(14, 0.035, 0.133),
        coverage(60, 0.008, 0.033),
        coverage(1_440, 0.0003, 0.0014),
    ]
}

fn judge(recording: &Recording, claim: Claim) -> Judged {
    let phases = recording.run.phases.iter();
    let mut cells: Vec<_> =
        phases.flat_map(|p| p.cpus.iter().map(move |c| (p, c))).map(|(p, c)| cell(recording, &claim, p, c)).collect();
    cells.sort_by_key(|c| std::cmp::Reverse((c.outcome, c.max_ns)));
    let outcome = cells.iter().map(|c| c.outcome).max().unwrap_or(Outcome::Inconclusive);
    Judged { claim, outcome, cells }
}

fn cell(recording: &Recording, claim: &Claim, phase: &Phase, result: &CpuResult) -> CellJudgement {
    let samples = result.scored();
    let effective = samples as f64 * 0.4;
    let max = result.max_ns.unwrap_or(0);
    let bound = |n: f64| (n > 0.0).then(|| THREE / n);
    let (outcome, beyond) = match claim.quantity {
        _ if samples == 0 => (Outcome::Inconclusive, 0),
        Quantity::Max(limit) if max < limit.0 => (Outcome::Held, 0),
        Quantity::Max(limit) => {
            let above = recording.distribution(&phase.id, result.cpu).map_or(0, |d| d.corrected().above(limit.0).0);
            (Outcome::Fail, above)
        }
        Quantity::NoneMissed if result.skipped == Some(0) => (Outcome::Held, 0),
        Quantity::NoneMissed => (Outcome::Fail, result.skipped.unwrap_or(0)),
        _ => (Outcome::Inconclusive, 0),
    };
    let quantile = match claim.quantity {
        Quantity::Quantile { q, .. } => {
            recording.distribution(&phase.id, result.cpu).and_then(|d| d.corrected().quantile(q))
        }
        _ => None,
    };
    CellJudgement {
        phase: phase.id.clone(),
        cpu: result.cpu,
        outcome,
        samples,
        effective_samples: effective,
        clustering: ClusterNote::Estimated { theta: 0.4, from: samples / 1_000 },
        max_ns: result.max_ns,
        beyond: (beyond, beyond),
        stall_exceeded: false,
        estimate: quantile.map(|q| q as f64),
        lower: None,
        upper: if matches!(claim.quantity, Quantity::Exceedance { .. }) { bound(effective) } else { None },
        p_beyond_max: bound(samples as f64),
        episodes: None,
        bounds: Vec::new(),
        needed: Some(needed(claim, effective, phase)),
    }
}

fn needed(claim: &Claim, effective: f64, phase: &Phase) -> Needed {
    let p = match claim.quantity {
        Quantity::Exceedance { p, .. } => p,
        _ => 1e-5,
    };
    let samples = THREE / p;
    let times = if effective > 0.0 { samples / effective } else { 0.0 };
    Needed { p, samples, duration_ns: Nanos((phase.planned_ns.map_or(0, |p| p.0) as f64 * times) as u64) }
}
