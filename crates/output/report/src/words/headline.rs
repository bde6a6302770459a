use super::{and, claims, latency, load_name, phase_name, place};
use crate::number::{at_most, count, plural};
use punctual_model::{Judged, Outcome, Problem, ProblemKind, Quantity, Recording, Verdict};
use punctual_units::CpuId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    pub outcome: Outcome,
    /// The outcome: `PASS`, `HELD`, `FAIL` or `INCONCLUSIVE`; `MEASURED` without claims.
    pub word: &'static str,
    /// The sentence without a full stop.
    pub sentence: String,
}

pub fn headline(recording: &Recording, verdict: &Verdict) -> Headline {
    if is_mere_measurement(verdict) {
        return Headline { outcome: verdict.outcome, word: "MEASURED", sentence: passed(recording, verdict) };
    }
    if let Some(sentence) = super::imported::only_series(recording, verdict) {
        return Headline { outcome: verdict.outcome, word: "MEASURED", sentence };
    }
    let sentence = match verdict.outcome {
        Outcome::Pass => passed(recording, verdict),
        Outcome::Held => format!("{}; {}", passed(recording, verdict), not_refuted(verdict)),
        Outcome::Fail => failed(recording, verdict),
        Outcome::Inconclusive => undecided(recording, verdict),
    };
    let sentence = match recording.run.virtual_time {
        Some(_) => format!("in virtual time, {sentence}"),
        None => sentence,
    };
    Headline { outcome: verdict.outcome, word: word(verdict.outcome), sentence }
}

/// Returns true if nothing was claimed and no problem occurred, so that there is no verdict. A run that its user ended
/// early still counts as measured: ending early affects claims only.
pub fn is_mere_measurement(verdict: &Verdict) -> bool {
    let fine = verdict.problems.iter().all(|(_, problem)| problem.kind == ProblemKind::EndedEarly);
    verdict.claims.is_empty() && fine && verdict.scored() > 0
}

pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "PASS",
        Outcome::Held => "HELD",
        Outcome::Fail => "FAIL",
        Outcome::Inconclusive => "INCONCLUSIVE",
    }
}

fn passed(recording: &Recording, verdict: &Verdict) -> String {
    let all = count(verdict.scored());
    let noun = super::noun(recording);
    let worst =
        of_claim(verdict).or(verdict.worst.as_ref().map(|worst| (worst.max_ns, worst.phase.as_str(), worst.cpu)));
    let worst = match worst {
        Some((max, phase, cpu)) => {
            format!("worst {} ({})", latency(recording, Some(max)), place(recording, phase, cpu))
        }
        None => "worst unknown".into(),
    };
    let missed = verdict
        .skipped
        .map_or("missed periods unknown".into(), |n| format!("{} missed", plural(n, "period", "periods")));
    let only_missed = verdict.claims.iter().all(|c| c.claim.quantity == Quantity::NoneMissed);
    if verdict.claims.is_empty() {
        return format!("nothing was claimed; {all} {noun}s, {worst}, {missed}");
    }
    if only_missed {
        return format!("every {noun} in {all} was on time: {worst}, {missed}");
    }
    let claims: Vec<String> = verdict.claims.iter().map(|c| format!("`{}`", c.claim)).collect();
    let hold = match (verdict.outcome, claims.len()) {
        (Outcome::Held, _) => "held",
        (_, 1) => "holds",
        _ => "hold",
    };
    let assumed = match verdict.claims.iter().any(|judged| judged.claim.stall.is_none() && is_share(judged)) {
        true if verdict.outcome == Outcome::Pass => "; if each disturbance delays only one period",
        _ => "",
    };
    format!("{} {hold} for {all} {noun}s: {worst}, {missed}{assumed}", and(&claims))
}

/// Returns the largest value, its phase and CPU if there is one claim, and it is about a value of an application: the
/// others may be larger.
fn of_claim(verdict: &Verdict) -> Option<(u64, &str, CpuId)> {
    let [judged] = verdict.claims.as_slice() else { return None };
    judged.claim.of.as_ref()?;
    judged.cells.iter().filter_map(|cell| Some((cell.max_ns?, cell.phase.as_str(), cell.cpu))).max()
}

fn is_share(judged: &Judged) -> bool {
    matches!(judged.claim.quantity, Quantity::Exceedance { .. } | Quantity::MissedShare(_))
}

/// Explains HELD: the probability that the next wakeup violates the first claim that was held.
fn not_refuted(verdict: &Verdict) -> String {
    let held = verdict.claims.iter().find(|judged| judged.outcome == Outcome::Held);
    let bound = held.and_then(|judged| judged.cells.first()?.bounds.first());
    let bound = bound.map(|one| {
        format!(
            " (the next one violates it with P ≤ {}, if each disturbance delays only one period)",
            at_most(one.upper)
        )
    });
    format!("not refuted, but not proven{}", bound.unwrap_or_default())
}

fn failed(recording: &Recording, verdict: &Verdict) -> String {
    let failing: Vec<&Judged> = verdict.claims.iter().filter(|c| c.outcome == Outcome::Fail).collect();
    let Some(first) = failing.first() else { return "a claim does not hold".into() };
    let why = first.cells.first().map(|cell| format!(": {}", claims::refuted(recording, &first.claim, cell)));
    let more = match failing.len() - 1 {
        0 => String::new(),
        n => format!("; {} too", plural(n as u64, "other claim fails", "other claims fail")),
    };
    format!("`{}` does not hold{}{more}", first.claim, why.unwrap_or_default())
}

fn undecided(recording: &Recording, verdict: &Verdict) -> String {
    if let Some((phase, problem)) = gravest(verdict) {
        let more = match distinct(recording, verdict).len() - 1 {
            0 => String::new(),
            n => format!(" (and {})", plural(n as u64, "other problem", "other problems")),
        };
        return format!("{}{more}", problem_sentence(recording, phase.as_deref(), problem));
    }
    if verdict.scored() == 0 {
        return "nothing was measured".into();
    }
    match verdict.claims.iter().find(|c| c.outcome == Outcome::Inconclusive) {
        Some(judged) => {
            let why =
                judged.cells.first().map(|cell| format!(": {}", claims::undecided(recording, &judged.claim, cell)));
            format!("`{}` is neither proven nor refuted{}", judged.claim, why.unwrap_or_default())
        }
        None => "no claim could be judged".into(),
    }
}

/// Returns the problem that a reader must know first. Problems that mean that the wrong thing was measured precede any
/// result.
pub(super) fn gravest(verdict: &Verdict) -> Option<&(Option<String>, Problem)> {
    let rank = |kind: ProblemKind| match kind {
        ProblemKind::NoRealTime => 0,
        ProblemKind::NotAsAsked => 1,
        ProblemKind::CpuLost => 2,
        ProblemKind::MachineChanged | ProblemKind::ApplicationChanged => 3,
        ProblemKind::LoadDidNotRun => 3,
        ProblemKind::VirtualCpus => 4,
        ProblemKind::Storage => 4,
        ProblemKind::Unreported => 5,
        ProblemKind::Suspended => 5,
        ProblemKind::Unknown => 5,
        ProblemKind::Throttled => 6,
        ProblemKind::PageFaults => 7,
        ProblemKind::Interrupted => 8,
        ProblemKind::EndedEarly => 9,
    };
    verdict.problems.iter().min_by_key(|(_, p)| rank(p.kind))
}

/// Returns the name of the phase that has a problem or, for an application, the load under which its values are
/// measured together.
pub(crate) fn place_of(recording: &Recording, id: &str) -> String {
    match recording.run.phases.iter().find(|phase| phase.id == id && phase.value.is_some()) {
        Some(phase) => load_name(&phase.load),
        None => phase_name(recording, id),
    }
}

/// Returns the problems. A problem that several values of an application share under the same load is returned only
/// once.
pub(super) fn distinct<'a>(recording: &Recording, verdict: &'a Verdict) -> Vec<&'a (Option<String>, Problem)> {
    let load = |phase: &Option<String>| phase.as_deref().map(|id| place_of(recording, id));
    let mut all: Vec<&(Option<String>, Problem)> = Vec::new();
    for one in &verdict.problems {
        if !all.iter().any(|other| other.1 == one.1 && load(&other.0) == load(&one.0)) {
            all.push(one);
        }
    }
    all
}

pub(crate) fn problem_sentence(recording: &Recording, phase: Option<&str>, problem: &Problem) -> String {
    self::problem(phase.map(|id| place_of(recording, id)), problem)
}

/// Formats a problem; `name` is the phase that has it.
pub(crate) fn problem(name: Option<String>, problem: &Problem) -> String {
    let text = problem.text.trim_end_matches(['.', ' ']);
    let what = match (problem.kind, name) {
        (ProblemKind::LoadDidNotRun, Some(name)) => format!("the `{name}` load did not run"),
        (kind, Some(name)) => format!("{} in phase `{name}`", problem_words(kind)),
        (kind, None) => problem_words(kind).to_owned(),
    };
    if text.is_empty() { what } else { format!("{what}: {text}") }
}

fn problem_words(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::LoadDidNotRun => "a load did not run",
        ProblemKind::NotAsAsked => "the kernel did not grant the requested scheduling",
        ProblemKind::NoRealTime => "real-time scheduling was refused",
        ProblemKind::CpuLost => "a measured CPU was lost",
        ProblemKind::Throttled => "the machine was throttled",
        ProblemKind::Suspended => "the machine was suspended",
        ProblemKind::Interrupted => "the measurement was interrupted",
        ProblemKind::EndedEarly => "the measurement was ended early",
        ProblemKind::PageFaults => "the measuring thread took page faults",
        ProblemKind::VirtualCpus => "the emulator's CPUs disturb each other",
        ProblemKind::Unreported => "the imported file does not record enough",
        ProblemKind::Unknown => "a problem of a kind unknown to this version",
        ProblemKind::MachineChanged => "the machine was changed during the measurement",
        ProblemKind::ApplicationChanged => "the application changed",
        ProblemKind::Storage => "the record is incomplete or damaged",
    }
}
