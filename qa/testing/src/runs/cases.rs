use super::build::{Plan, RunPlan, START, Shape, recording};
use super::{facts, judge, tails};
use punctual_model::{EndedBy, Event, Problem, ProblemKind, Recording, Verdict};
use punctual_units::Scheduling;

fn fifo90() -> Scheduling {
    Scheduling::Fifo { priority: 90.try_into().unwrap() }
}

fn plan(load: &'static str, base: u64, body: u64, tail: u64) -> Plan {
    let report = (load != "idle").then(|| facts::load(load));
    Plan { load, shape: Shape { base, body, tail }, report, stall: None }
}

fn four_loads() -> Vec<Plan> {
    vec![
        plan("idle", 4_000, 2_600, 900),
        plan("cpu", 5_000, 5_000, 2_300),
        plan("io", 5_500, 7_000, 4_100),
        plan("all", 6_000, 9_000, 4_900),
    ]
}

/// Returns a run with four loads on four CPUs, in which all wakeups are on time.
pub fn good() -> (Recording, Verdict) {
    let recording =
        recording(RunPlan { cpus: 4, period_ns: 1_000_000, seconds: 30, phases: four_loads(), got: fifo90() });
    let verdict = judge::verdict(&recording, &["max < 100us", "missed = 0"]);
    (recording, verdict)
}

/// Returns a run in which a task of priority 99 held CPU 1 for 15 ms.
pub fn failing() -> (Recording, Verdict) {
    let mut cpu = plan("cpu", 3_400, 4_000, 6_000);
    cpu.stall = Some((1, 7, 15_100_000));
    let phases = vec![plan("idle", 2_100, 1_500, 700), cpu];
    let recording = recording(RunPlan { cpus: 2, period_ns: 200_000, seconds: 15, phases, got: fifo90() });
    let mut verdict = judge::verdict(&recording, &["missed = 0", "max < 50us"]);
    tails::add(&recording, &mut verdict);
    (recording, verdict)
}

/// Returns a run in which the io load did not run, and whose claim requires a longer run.
pub fn inconclusive() -> (Recording, Verdict) {
    let phases = vec![plan("idle", 4_000, 2_600, 900), plan("io", 5_500, 7_000, 4_100)];
    let mut recording = recording(RunPlan { cpus: 2, period_ns: 1_000_000, seconds: 5, phases, got: fifo90() });
    let text = "no space for its scratch file in /var/tmp (12 MiB free, 64 MiB needed): choose another directory with \
                --scratch.";
    let phase = &mut recording.run.phases[1];
    phase.problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text: text.into() });
    if let Some(report) = &mut phase.load_report {
        (report.ran, report.why_not, report.beats) = (false, Some(text.into()), 0);
        report.proofs[0].after = report.proofs[0].before;
        report.rates.clear();
        report.written_bytes = 0;
    }
    recording.run.machine.virtualisation = Some("kvm".into());
    let verdict = judge::verdict(&recording, &["P(>1s) < 1e-12", "p99.99 < 40us"]);
    (recording, verdict)
}

pub fn empty() -> (Recording, Verdict) {
    let mut recording = recording(RunPlan { cpus: 1, period_ns: 1_000_000, seconds: 1, phases: vec![], got: fifo90() });
    recording.findings.clear();
    recording.run.cost = None;
    recording.run.machine = Default::default();
    recording.run.notes.clear();
    recording.run.complete = false;
    recording.run.ended = None;
    recording.run.ended_by = Some(EndedBy::Error { text: "no CPU is left to measure: 2-3 are offline".into() });
    let verdict = judge::verdict(&recording, &["missed = 0"]);
    (recording, verdict)
}

/// Returns a run that was killed while measuring: no recorded end, a truncated file, one missing histogram, an
/// ordinary thread.
pub fn damaged() -> (Recording, Verdict) {
    let phases = vec![plan("idle", 14_000, 62_000, 90_000), plan("cpu", 15_000, 900_000, 700_000)];
    let got = Scheduling::Other { nice: 0 };
    let mut recording = recording(RunPlan { cpus: 2, period_ns: 1_000_000, seconds: 6, phases, got });
    let run = &mut recording.run;
    (run.complete, run.ended, run.ended_by, run.cost) = (false, None, Some(EndedBy::Killed), None);
    run.settings.scheduling = Some(fifo90());
    let text = "SCHED_FIFO was refused (EPERM): run as root, or give the user rtprio in /etc/security/limits.d";
    run.problems.push(Problem { kind: ProblemKind::NoRealTime, text: text.into() });
    run.phases[1].end_mono_ns = None;
    run.phases[1].load = "cmd:make -j4".into();
    recording.damage.push("worst.jsonl: the last line is torn and was dropped".into());
    let lost = recording.distributions.keys().last().unwrap().clone();
    recording.distributions.remove(&lost);
    recording.events.retain(|e| !matches!(e, Event::PhaseEnd { .. }));
    recording.events.push(Event::ClockStep { mono_ns: START + 3_000_000_000, step_ns: -3_600_000_000_000 });
    recording.events.push(Event::Suspend { mono_ns: START + 9_000_000_000, asleep_ns: 60_000_000_000 });
    recording.events.sort_by_key(Event::mono_ns);
    let verdict = judge::verdict(&recording, &["missed = 0"]);
    (recording, verdict)
}

/// A name that an attacker can choose, or that occurs by chance.
pub const HOSTILE: &str = crate::hostile::NAMES[0];

/// Returns a recording and a verdict in which every untrusted string is `text`.
pub fn hostile(text: &str) -> (Recording, Verdict) {
    let (mut recording, _) = damaged();
    let s = || text.to_owned();
    let run = &mut recording.run;
    (run.host, run.command, run.notes) = (Some(s()), vec![s(), s()], vec![s()]);
    (run.tool.name, run.tool.version) = (s(), Some(s()));
    (run.settings.clock, run.settings.loads) = (Some(s()), vec![s()]);
    run.ended_by = Some(EndedBy::Error { text: s() });
    run.problems[0].text = s();
    if let Some(cost) = &mut run.cost {
        cost.context_cpus = s();
    }
    let facts = &mut run.machine;
    for fact in [
        &mut facts.kernel_release,
        &mut facts.kernel_version,
        &mut facts.architecture,
        &mut facts.preemption,
        &mut facts.board,
        &mut facts.cpu_model,
        &mut facts.clocksource,
        &mut facts.virtualisation,
        &mut facts.cmdline,
        &mut facts.rt_throttling,
        &mut facts.os,
    ] {
        *fact = Some(s());
    }
    facts.governors = Some(vec![s()]);
    rename_phases(&mut recording, text);
    recording.damage = vec![s()];
    for finding in &mut recording.findings {
        (finding.id, finding.group, finding.summary, finding.why) = (s(), s(), s(), s());
        finding.fix = Some(s());
        finding.evidence[0].source = s();
        finding.evidence[0].value = s();
    }
    let verdict = judge::verdict(&recording, &["missed = 0", "max < 50us"]);
    (recording, verdict)
}

fn rename_phases(recording: &mut Recording, text: &str) {
    let old = recording.run.phases[0].id.clone();
    let s = || text.to_owned();
    for phase in &mut recording.run.phases {
        phase.load = s();
        phase.problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text: s() });
        if let Some(report) = &mut phase.load_report {
            (report.load, report.why_not, report.notes) = (s(), Some(s()), vec![s()]);
            (report.rates[0].what, report.rates[0].unit, report.proofs[0].what) = (s(), s(), s());
        }
    }
    recording.run.phases[0].id = s();
    let moved = std::mem::take(&mut recording.distributions);
    let rename = |id: String| if id == old { s() } else { id };
    recording.distributions = moved.into_iter().map(|((p, c), d)| ((rename(p), c), d)).collect();
    for worst in &mut recording.worst {
        worst.phase = rename(std::mem::take(&mut worst.phase));
        worst.suspicions.iter_mut().for_each(|x| x.text = s());
    }
    for event in &mut recording.events {
        match event {
            Event::Window(w) => w.phase = rename(std::mem::take(&mut w.phase)),
            Event::Context(c) => {
                c.temperatures[0].name = s();
                c.throttling = vec![punctual_model::Reading { name: s(), value: 1 }];
                c.cpus[0].rt_tasks = vec![punctual_model::Reading { name: s(), value: 5_000_000 }];
            }
            _ => {}
        }
    }
}

pub fn crowd() -> (Recording, Verdict) {
    let mut phases = four_loads();
    phases.extend([
        plan("memory", 5_000, 6_000, 3_500),
        plan("loopback", 5_200, 6_500, 3_900),
        plan("scheduler", 5_300, 9_500, 5_900),
        plan("timers", 4_800, 5_500, 2_900),
    ]);
    let recording = recording(RunPlan { cpus: 64, period_ns: 1_000_000, seconds: 3, phases, got: fifo90() });
    let verdict = judge::verdict(&recording, &["max < 150us", "missed = 0"]);
    (recording, verdict)
}
