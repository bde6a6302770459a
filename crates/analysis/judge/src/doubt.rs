//! Reasons why a run, a phase or a CPU cannot pass: those recorded in the run, and those detected here.

use crate::late::Late;
use crate::virtual_cpus;
use punctual_model::{
    BlockCount, Blocks, CpuResult, Distribution, EndedBy, Episodes, Event, Kind, Phase, Problem, ProblemKind,
    Recording, Run, Worst,
};
use punctual_units::{Bin, CpuId, CpuList, Histogram, Nanos};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Doubt {
    /// Phase that the doubt concerns; `None` for the whole run.
    pub phase: Option<String>,
    /// CPU that the doubt concerns; `None` for every CPU.
    cpu: Option<CpuId>,
    /// True if the doubt affects samples that were taken, not only missing samples.
    about_samples: bool,
    pub problem: Problem,
}

impl Doubt {
    pub fn touches(&self, phase: &str, cpu: CpuId) -> bool {
        self.about_samples && self.phase.as_deref().is_none_or(|p| p == phase) && self.cpu.is_none_or(|c| c == cpu)
    }
}

pub(crate) fn doubts(recording: &Recording) -> Vec<Doubt> {
    let run = &recording.run;
    let mut doubts: Vec<Doubt> = run.problems.iter().map(|p| of_run(p.kind, p.text.clone())).collect();
    doubts.extend(recording.damage.iter().map(|text| of_run(ProblemKind::Storage, text.clone())));
    doubts.extend(incomplete(run).map(|(kind, text)| Doubt { about_samples: false, ..of_run(kind, text) }));
    doubts.extend(virtual_cpus::doubt(recording).map(|p| of_run(p.kind, p.text)));
    for phase in &run.phases {
        doubts.extend(phase.problems.iter().map(|p| of_phase(phase, None, p.kind, p.text.clone())));
        doubts.extend(phase_doubts(run, phase));
        doubts.extend(ended_by_user(recording, phase));
        let cpus = cpus(recording, phase);
        if cpus.is_empty() {
            doubts.push(of_phase(phase, None, ProblemKind::Storage, "no CPU was measured in this phase".into()));
        }
        doubts.extend(cpus.into_iter().flat_map(|cpu| cpu_doubts(recording, phase, cpu)));
        doubts.extend(hidden(phase));
    }
    let orphans = recording.distributions.keys().filter(|(id, _)| !run.phases.iter().any(|p| p.id == *id));
    doubts.extend(orphans.map(|(id, cpu)| {
        let text = format!("there are samples of CPU {cpu} in an unknown phase `{id}`");
        Doubt { about_samples: false, ..of_run(ProblemKind::Storage, text) }
    }));
    doubts
}

/// Returns the CPUs that a phase measured, that it was asked to measure, or for which it has samples.
pub(crate) fn cpus(recording: &Recording, phase: &Phase) -> BTreeSet<CpuId> {
    let recorded = recording.distributions.keys().filter(|(id, _)| *id == phase.id).map(|&(_, cpu)| cpu);
    // A thread of an application runs on any of them.
    let asked = recording.run.settings.cpus.iter().filter(|_| phase.value.is_none());
    phase.cpus.iter().map(|c| c.cpu).chain(asked).chain(recorded).collect()
}

fn of_run(kind: ProblemKind, text: String) -> Doubt {
    Doubt { phase: None, cpu: None, about_samples: true, problem: Problem { kind, text } }
}

fn of_phase(phase: &Phase, cpu: Option<CpuId>, kind: ProblemKind, text: String) -> Doubt {
    Doubt { phase: Some(phase.id.clone()), cpu, ..of_run(kind, text) }
}

fn incomplete(run: &Run) -> impl Iterator<Item = (ProblemKind, String)> {
    let how = match &run.ended_by {
        None if run.kind == Kind::Imported => "the imported file does not contain the whole run".into(),
        Some(EndedBy::Signal { name, .. }) => format!("{name} ended the run early"),
        Some(EndedBy::Error { text }) => format!("an error ended the run early: {text}"),
        Some(EndedBy::Unknown) => "the run ended for a reason unknown to this version".into(),
        Some(EndedBy::Killed) => "the run was killed, or power failed".into(),
        Some(EndedBy::Duration) | None => "the run did not reach its planned end".into(),
    };
    let ended = matches!(run.ended_by, None | Some(EndedBy::Duration)) && run.complete;
    let missing = run.settings.loads.get(run.phases.len()..).filter(|m| !m.is_empty() && run.kind == Kind::Latency);
    // A benchmark table has no phases but is complete.
    let series = run.import.as_ref().is_some_and(|import| !import.series.is_empty());
    let nothing = (run.phases.is_empty() && !series).then(|| (ProblemKind::Interrupted, "nothing was recorded".into()));
    let load = missing.map(|m| {
        (ProblemKind::LoadDidNotRun, format!("nothing was measured under the following loads: {}", m.join(", ")))
    });
    // Everything measured before a signal is complete.
    let kind = match run.ended_by {
        Some(EndedBy::Signal { .. }) => ProblemKind::EndedEarly,
        _ => ProblemKind::Interrupted,
    };
    (!ended).then_some((kind, how)).into_iter().chain(nothing).chain(load)
}

/// Returns doubts that the phase itself does not record: a missing end, missing evidence of its load.
fn phase_doubts(run: &Run, phase: &Phase) -> Vec<Doubt> {
    let recorded = |kind| phase.problems.iter().any(|p| p.kind == kind);
    let mut doubts = Vec::new();
    let recorded_early = recorded(ProblemKind::Interrupted) || recorded(ProblemKind::EndedEarly);
    if phase.end_mono_ns.is_none() && run.kind == Kind::Latency && !recorded_early {
        doubts.push(of_phase(phase, None, ProblemKind::Interrupted, "this phase did not reach its end".into()));
    }
    let unproven = match &phase.load_report {
        Some(report) if report.ran => None,
        Some(report) => {
            Some(report.why_not.clone().unwrap_or_else(|| format!("the load `{}` did not run", phase.load)))
        }
        None if run.kind == Kind::Latency && phase.load != "idle" => {
            Some(format!("nothing shows that the load `{}` ran", phase.load))
        }
        None => None,
    };
    if let Some(text) = unproven.filter(|_| !recorded(ProblemKind::LoadDidNotRun)) {
        doubts.push(of_phase(phase, None, ProblemKind::LoadDidNotRun, text));
    }
    doubts
}

/// Returns a doubt if the user ended the phase after seeing results, but the phase does not record this, because an
/// earlier version wrote it or the program was killed afterwards.
fn ended_by_user(recording: &Recording, phase: &Phase) -> Option<Doubt> {
    let is_this = |event: &Event| matches!(event, Event::EndedEarly { phase: id, .. } if *id == phase.id);
    let recorded = phase.problems.iter().any(|p| p.kind == ProblemKind::EndedEarly);
    let text = "the end was not fixed in advance, so a claim about a quantile can be refuted but not proven";
    (!recorded && recording.events.iter().any(is_this))
        .then(|| of_phase(phase, None, ProblemKind::EndedEarly, text.into()))
}

fn cpu_doubts(recording: &Recording, phase: &Phase, cpu: CpuId) -> Vec<Doubt> {
    let mut texts = Vec::new();
    let result = phase.cpus.iter().find(|c| c.cpu == cpu);
    match (result, recording.distribution(&phase.id, cpu)) {
        (None, None) => texts.push(format!("CPU {cpu} was requested but not measured")),
        (Some(_), None) => texts.push(format!("the samples of CPU {cpu} are missing")),
        (None, Some(_)) => texts.push(format!("the totals of CPU {cpu} are missing")),
        (Some(result), Some(distribution)) => {
            let in_files = (distribution.raw.count(), distribution.skipped.count(), distribution.raw.max());
            let worst: Vec<&Worst> = recording.worst_of(&phase.id, cpu).collect();
            let listed = worst.iter().map(|w| w.latency_ns).max();
            let unlisted = || torn_list(&recording.run, cpu, &worst, &distribution.raw);
            texts.extend(
                mismatch(result, in_files, listed).or_else(unlisted).or_else(|| contradiction(result, distribution)),
            );
        }
    }
    if result.is_some_and(|r| r.scored() == 0) {
        texts.push(match &phase.value {
            Some(value) => format!("no {value} was recorded"),
            None => format!("CPU {cpu} recorded no samples"),
        });
    }
    let mut doubts: Vec<Doubt> =
        texts.into_iter().map(|text| of_phase(phase, Some(cpu), ProblemKind::Storage, text)).collect();
    doubts.extend(result.and_then(|r| otherwise_than_asked(&recording.run, phase, r)));
    doubts
}

fn mismatch(result: &CpuResult, in_files: (u64, u64, Option<u64>), listed: Option<u64>) -> Option<String> {
    let CpuResult { cpu, released, ran, skipped, max_ns, .. } = result;
    let (raw, late, max) = in_files;
    let (skipped, released) = (&skipped.unwrap_or(0), &released.unwrap_or(ran.saturating_add(skipped.unwrap_or(0))));
    if ran.checked_add(*skipped) != Some(*released) {
        return Some(format!("CPU {cpu}: {released} jobs were released, but {ran} ran and {skipped} were skipped"));
    }
    if (raw, late) != (*ran, *skipped) {
        return Some(format!(
            "CPU {cpu}: {ran} jobs ran and {skipped} were skipped, but the histograms have {raw} and {late}"
        ));
    }
    let other = max_ns.filter(|stated| Some(*stated) != max).or(listed.filter(|&listed| Some(listed) > max))?;
    let in_histogram = max.map_or("no latency at all".to_owned(), |ns| format!("at most {ns} ns"));
    Some(format!("CPU {cpu}: a latency of {other} ns is reported, but the histogram has {in_histogram}"))
}

/// Describes episodes or blocks that contradict the samples.
fn contradiction(result: &CpuResult, distribution: &Distribution) -> Option<String> {
    let (cpu, corrected) = (result.cpu, distribution.corrected());
    let edges = |limit: u64| {
        let above =
            |edge: fn(&Bin) -> u64| corrected.bins().rev().take_while(|b| edge(b) > limit).map(|b| b.count).sum();
        let (least, most): (u64, u64) = (above(|bin| bin.low), above(|bin| bin.high));
        least..=most
    };
    let is_wrong = |e: &&Episodes| {
        let inside = e.count <= e.late && e.most_late <= e.late && e.open <= e.most_late && e.longest <= e.length;
        let sizes = e.most_late <= e.longest && e.late <= e.length && (e.count == 0) == (e.late == 0);
        !(inside && sizes && e.length <= corrected.count() && edges(e.limit_ns.0).contains(&e.late))
    };
    if let Some(wrong) = result.episodes.iter().find(is_wrong) {
        return Some(format!("CPU {cpu}: its late episodes above {} contradict its samples", wrong.limit_ns));
    }
    let is_wrong = |blocks: &&Blocks| {
        let sum = |of: fn(&BlockCount) -> u64| blocks.counts.iter().map(of).fold(0, u64::saturating_add);
        let (released, least, most) = (sum(|b| b.0), sum(|b| b.1), sum(|b| b.2));
        let each = blocks.counts.iter().all(|(released, least, most)| least <= most && most <= released);
        !each || released > corrected.count() || least > *edges(blocks.limit_ns.0).end() || most > corrected.count()
    };
    let wrong = result.blocks.iter().find(is_wrong)?;
    Some(format!("CPU {cpu}: its counts per block above {} contradict its samples", wrong.limit_ns))
}

/// Reports an incomplete list of worst wakeups, without which clustering is unknown. In a run of this program the list
/// was lost. Imported files have no list, which is reported where it matters.
fn torn_list(run: &Run, cpu: CpuId, worst: &[&Worst], raw: &Histogram) -> Option<String> {
    let keep = run.settings.worst_kept;
    let expected = run.kind == Kind::Latency && keep > 0 && raw.max().is_some_and(|max| max > 0);
    let complete = Late::new(worst, keep, raw, run.settings.period_ns.map_or(0, |p| p.0)).cluster_threshold().is_some();
    (expected && !complete).then(|| format!("CPU {cpu}: the list of its worst wakeups is incomplete"))
}

fn otherwise_than_asked(run: &Run, phase: &Phase, result: &CpuResult) -> Option<Doubt> {
    let (asked, got) = (run.settings.scheduling?, result.got?);
    let same = asked.policy() == got.policy() && asked.priority() == got.priority();
    let known = |p: &Problem| matches!(p.kind, ProblemKind::NotAsAsked | ProblemKind::NoRealTime);
    let recorded = run.problems.iter().chain(&phase.problems).any(known);
    (run.kind == Kind::Latency && !same && !recorded).then(|| {
        let text = format!("CPU {} was measured with {got} instead of {asked}", result.cpu);
        of_phase(phase, Some(result.cpu), ProblemKind::NotAsAsked, text)
    })
}

/// Returns one doubt for all CPUs with the same last bin, if samples beyond it are not counted: they may have any
/// value.
fn hidden(phase: &Phase) -> Vec<Doubt> {
    let mut by_bin: BTreeMap<u64, CpuList> = BTreeMap::new();
    for result in &phase.cpus {
        if let Some(from) = result.blur.and_then(|b| b.hidden_from_ns) {
            by_bin.entry(from).or_default().insert(result.cpu);
        }
    }
    let doubt = |(from, cpus): (u64, CpuList)| {
        let who = if cpus.len() == phase.cpus.len() { "any occurred".into() } else { format!("CPU {cpus} had any") };
        let text = match from {
            0 => format!("samples are missing from the file and could have any value (CPU {cpus})"),
            ns => format!("the file does not count latencies of {} and more: it is unknown whether {who}", Nanos(ns)),
        };
        let one = cpus.iter().next().filter(|_| cpus.len() == 1);
        of_phase(phase, one, ProblemKind::Unreported, text)
    };
    by_bin.into_iter().map(doubt).collect()
}
