use crate::identity::identity;
use punctual_model::history::{ClaimOutcome, KernelId, MachineId, RunSettings, RunSummary, SummaryCell};
use punctual_model::{
    Alignment, Blur, CpuResult, Distribution, Event, Known, Phase, ProblemKind, Recording, Run, Verdict, VirtualTime,
};
use punctual_units::CpuList;
use std::borrow::Cow;
use std::path::Path;

/// Plausible temperatures, m°C. Other values are from missing sensors.
const POSSIBLE_MC: std::ops::RangeInclusive<i64> = -55_000..=200_000;

/// Summarises a recording. `verdict` is the verdict on the run's own claims; `folder` is the path of the run.
pub fn summary(recording: &Recording, verdict: &Verdict, folder: Option<&Path>) -> RunSummary {
    let run = &recording.run;
    let claims = verdict.claims.iter().map(|c| ClaimOutcome { claim: c.claim.to_string(), outcome: c.outcome });
    let claims: Vec<ClaimOutcome> = claims.collect();
    let cells = run.phases.iter().flat_map(|phase| phase.cpus.iter().map(|cpu| cell(recording, verdict, phase, cpu)));
    RunSummary {
        id: identity(run),
        folder: folder.map(|path| path.display().to_string()),
        started_ns: run.started.map(|s| s.real_ns).or(run.import.as_ref().and_then(|i| i.started_real_ns)),
        host: run.host.clone(),
        tool: [Some(run.tool.name.as_str()), run.tool.version.as_deref()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        complete: run.complete,
        machine: MachineId {
            board: run.machine.board.clone(),
            cpu_model: run.machine.cpu_model.clone(),
            architecture: run.machine.architecture.clone(),
            cpus: run.machine.cpus_online.as_ref().map(CpuList::to_string),
        },
        virtual_time: run.virtual_time.as_ref().map(clock_model),
        kernel: KernelId {
            release: run.machine.kernel_release.clone(),
            version: run.machine.kernel_version.clone(),
            preemption: run.machine.preemption.clone(),
        },
        settings: settings(run),
        temperature_max_mc: hottest(&recording.events, |_| true),
        outcome: (!claims.is_empty()).then_some(verdict.outcome),
        claims,
        cells: cells.collect(),
    }
}

/// Returns the properties that must be equal for two virtual clocks to be comparable. The kernel, which is the object
/// of study, and the seed are excluded.
fn clock_model(model: &VirtualTime) -> String {
    let VirtualTime { emulator, machine, instruction_ns, cpus, .. } = model;
    format!("virtual ({emulator}, {machine}, {cpus} CPUs, {instruction_ns} ns an instruction)")
}

fn settings(run: &Run) -> RunSettings {
    let asked = &run.settings;
    let measured = || run.phases.iter().flat_map(|p| &p.cpus);
    let cpus: CpuList = match asked.cpus.is_empty() {
        true => measured().map(|c| c.cpu).collect(),
        false => asked.cpus.clone(),
    };
    let mut got: Vec<String> = measured().filter_map(|c| Some(c.got?.to_string())).collect();
    got.sort();
    got.dedup();
    let got = if got.is_empty() { asked.scheduling.map(|s| s.to_string()) } else { Some(got.join(" and ")) };
    RunSettings {
        measured_by: run.tool.name.clone(),
        period_ns: asked.period_ns.map(|p| p.0),
        scheduling: got,
        cpus: cpus.to_string(),
        loads: run.phases.iter().map(load).collect(),
        via: asked.via.as_ref().map(ToString::to_string).or(asked.clock.clone()),
        alignment: asked.alignment.map(|a| match a {
            Alignment::Aligned => "aligned".into(),
            Alignment::Staggered => "staggered".into(),
        }),
        cpu_dma_latency_us: asked.cpu_dma_latency_us,
        traced: run.phases.iter().any(|p| p.traced.is_some()),
        // A run measured until its claims are decided has no fixed length.
        duration_ns: asked.duration_ns.filter(|_| asked.until_decided.is_none()).map(|d| d.0),
    }
}

fn load(phase: &Phase) -> String {
    phase.label.clone().unwrap_or_else(|| phase.load.clone())
}

fn cell(recording: &Recording, verdict: &Verdict, phase: &Phase, result: &CpuResult) -> SummaryCell {
    let kept = recording.distribution(&phase.id, result.cpu);
    // Counts whose sum overflows are invalid.
    let kept = kept.filter(|d| d.raw.count().checked_add(d.skipped.count()).is_some());
    let corrected = kept.map(Distribution::corrected).filter(|h| !h.is_empty());
    let known = corrected.map(|all| Known::new(Cow::Owned(all), Blur::of(result)));
    let quantile = |q: f64| known.as_ref().and_then(|known| quantile(known, q));
    SummaryCell {
        phase: phase.id.clone(),
        load: load(phase),
        cpu: result.cpu,
        samples: result.scored(),
        skipped: result.skipped,
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
        p9999_ns: quantile(0.9999),
        // Samples that a file does not count, or counts without a value, may be larger.
        max_ns: known.as_ref().map_or(result.max_ns, Known::max),
        temperature_max_mc: of_phase(recording, phase),
        cause: cause(recording, phase, result),
        doubt: doubt(recording, verdict, phase),
    }
}

/// Returns the quantile; `None` also if an imported file only counts the samples around it.
fn quantile(known: &Known, q: f64) -> Option<u64> {
    let ns = known.quantile(q)?;
    known.blur().hidden_from_ns.is_none_or(|from| ns < from).then_some(ns)
}

/// Returns the main cause of the worst wakeup: class and name.
fn cause(recording: &Recording, phase: &Phase, result: &CpuResult) -> Option<String> {
    let worst = recording.worst_of(&phase.id, result.cpu).next()?;
    let cause = recording.explained_of(worst)?.victim.causes.first()?;
    let who = cause.comm.as_deref().or(cause.what.as_deref());
    Some([Some(cause.class.name()), who].into_iter().flatten().collect::<Vec<_>>().join(": "))
}

/// Returns the reason why the figures of a phase do not represent the machine. Reasons that only prevent a pass do not
/// count: latencies of an ordinary thread are compared with those of other ordinary threads, and results that could not
/// be stored are missing. A damaged file of another tool is unreliable.
fn doubt(recording: &Recording, verdict: &Verdict, phase: &Phase) -> Option<String> {
    let is_imported = recording.run.import.is_some();
    let spoils = |kind: ProblemKind| {
        use ProblemKind::{CpuLost, EndedEarly, Interrupted, LoadDidNotRun, NotAsAsked, Suspended, VirtualCpus};
        let spoiling = [LoadDidNotRun, NotAsAsked, CpuLost, Suspended, Interrupted, EndedEarly, VirtualCpus];
        spoiling.contains(&kind) || (is_imported && kind == ProblemKind::Storage)
    };
    let of_it = verdict.problems.iter().filter(|(id, _)| id.as_ref().is_none_or(|id| *id == phase.id));
    let mut of_it = of_it.map(|(_, problem)| problem);
    of_it.find(|problem| spoils(problem.kind)).map(|problem| problem.text.clone())
}

fn of_phase(recording: &Recording, phase: &Phase) -> Option<i64> {
    let stretches = phase.stretches();
    let within = |at: u64| stretches.iter().any(|(from, to)| at >= *from && to.is_none_or(|to| at <= to));
    hottest(&recording.events, within)
}

fn hottest(events: &[Event], within: impl Fn(u64) -> bool) -> Option<i64> {
    let contexts = events.iter().filter_map(|event| match event {
        Event::Context(sample) if within(sample.mono_ns) => Some(sample),
        _ => None,
    });
    contexts.flat_map(|c| &c.temperatures).map(|r| r.value).filter(|mc| POSSIBLE_MC.contains(mc)).max()
}
