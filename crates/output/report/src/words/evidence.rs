use super::{at_place, under};
use crate::figures::{Figures, QUANTILES};
use crate::number::{at_most, confidence, count, count_f, percent, plural, round_probability};
use punctual_model::{CellJudgement, ClusterNote, Coverage, Needed, Recording, Verdict};
use punctual_units::Nanos;

/// Returns what this run's samples support: the bound on exceeding the worst wakeup, clustering, the requirements of a
/// stronger claim, and rare events that the run may have observed.
pub fn evidence(recording: &Recording, verdict: &Verdict) -> Vec<String> {
    from_figures(&Figures::new(recording, verdict))
}

pub(crate) fn from_figures(figures: &Figures) -> Vec<String> {
    let Figures { recording, verdict, .. } = *figures;
    let mut sentences = Vec::new();
    if let Some((sure, cell)) = worst_cell(verdict) {
        sentences.extend(bound(recording, sure, cell));
        sentences.extend(clustering(cell));
        sentences.extend(cell.needed.as_ref().map(further));
    }
    sentences.extend(corrected(figures));
    if verdict.scored() == 0 {
        return sentences;
    }
    sentences.extend(tellable(&verdict.coverage).map(|c| {
        format!(
            "An event that occurs every {} is observed with probability {} by a run of this length ({} on one CPU under one load).",
            c.every_ns,
            percent(c.p_run),
            percent(c.p_one_phase)
        )
    }));
    sentences.extend(verdict.periods.iter().min_by_key(|seen| seen.period_ns).map(|seen| {
        format!(
            "A periodic event is observed with probability 95 % under every load if its period is at most {}.",
            seen.period_ns
        )
    }));
    sentences
}

/// Returns the judgement of the CPU and phase with the worst wakeup, with the confidence of its claim.
pub(crate) fn worst_cell(verdict: &Verdict) -> Option<(f64, &CellJudgement)> {
    let all = || verdict.claims.iter().flat_map(|j| j.cells.iter().map(move |c| (j.claim.confidence, c)));
    let of_worst = verdict.worst.as_ref().and_then(|w| all().find(|(_, c)| c.phase == w.phase && c.cpu == w.cpu));
    of_worst.or_else(|| all().next())
}

fn bound(recording: &Recording, sure: f64, cell: &CellJudgement) -> Option<String> {
    let (max, p) = (Nanos(cell.max_ns?), cell.p_beyond_max?);
    let noun = if recording.application.is_some() { "cycle" } else { "wakeup" };
    Some(format!(
        "The worst of {} {noun}s {} was {max}: P(> {max}) ≤ {} at {}, in a run of this length, if each disturbance delays only one period.",
        count(cell.samples),
        at_place(recording, &cell.phase, cell.cpu),
        at_most(p),
        confidence(sure)
    ))
}

fn clustering(cell: &CellJudgement) -> Option<String> {
    match cell.clustering {
        // An index of 1 means independent wakeups.
        ClusterNote::Estimated { theta, from } if theta >= 0.995 => {
            Some(format!("The worst {} do not cluster (θ̂ 1.00).", count(from)))
        }
        ClusterNote::Estimated { theta, from } => Some(format!(
            "The worst {} cluster (extremal index θ̂ {theta:.2}; 1 if they were independent).",
            count(from)
        )),
        ClusterNote::TooFew { from: 0 } => None,
        ClusterNote::TooFew { from } => {
            Some(format!("Too few late wakeups ({}) to determine whether they cluster.", count(from)))
        }
    }
}

fn further(needed: &Needed) -> String {
    format!(
        "To claim P < {} measure {} on each CPU under each load ({} wakeups, none beyond).",
        round_probability(needed.p),
        needed.duration_ns,
        count_f(needed.samples)
    )
}

/// Reports the figure that changes most if skipped periods are included; `None` if no period was skipped.
fn corrected(figures: &Figures) -> Option<String> {
    let cell = figures.cells.iter().filter(|c| c.was_corrected()).max_by_key(|c| c.result.skipped)?;
    let skipped = cell.result.skipped?;
    let raw = cell.raw_quantiles.as_ref()?;
    let moved = |i: &usize| cell.quantiles[*i].ns.unwrap_or(0) as f64 / raw[*i].ns.unwrap_or(0).max(1) as f64;
    let most = (0..QUANTILES.len()).max_by(|a, b| moved(a).total_cmp(&moved(b)))?;
    let effect = match (raw[most].ns.map(Nanos), cell.quantiles[most].ns.map(Nanos)) {
        (Some(from), Some(to)) if moved(&most) > 1.05 => {
            format!("counted as late too, they change {} from {from} (wakeups only) to {to}", QUANTILES[most].1)
        }
        _ => "counting them as late too changes no displayed quantile by more than 5 %".into(),
    };
    Some(format!(
        "CPU {} skipped {} {} because it woke too late for {}; {effect}.",
        cell.cpu(),
        plural(skipped, "period", "periods"),
        under(figures.recording, &cell.phase.id),
        if skipped == 1 { "it" } else { "them" },
    ))
}

/// Returns the rarest event that this run had an even chance to observe, otherwise the most frequent one listed.
fn tellable(coverage: &[Coverage]) -> Option<&Coverage> {
    let seen = coverage.iter().filter(|c| c.p_run >= 0.5).max_by_key(|c| c.every_ns);
    seen.or_else(|| coverage.iter().min_by_key(|c| c.every_ns))
}
