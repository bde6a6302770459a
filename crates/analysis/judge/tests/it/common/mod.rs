//! Synthetic recordings, built wakeup by wakeup as the measuring engine would record them.
#![allow(dead_code, reason = "each test file uses its part")]

use punctual_judge::judge;
use punctual_model::*;
use punctual_units::{CpuId, Histogram, Nanos, Scheduling};

pub const PERIOD: u64 = 1_000_000;
pub const KEEP: usize = 64;

pub fn fifo() -> Scheduling {
    Scheduling::Fifo { priority: 90.try_into().unwrap() }
}

/// Returns `n` latencies of 2 µs plus an exponential tail of 0.5 µs, deterministic for a seed.
pub fn quiet(n: usize, seed: u64) -> Vec<u64> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let u = (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / 2f64.powi(53);
            2_000 + (-u.ln() * 500.0) as u64
        })
        .collect()
}

pub fn quiet_but(n: usize, late: &[(usize, u64)]) -> Vec<u64> {
    let mut latencies = quiet(n, 1);
    for &(at, latency) in late {
        latencies[at] = latency;
    }
    latencies
}

/// Returns a complete run without problems: one phase per load, one CPU per list of latencies.
pub fn recording(phases: &[(&str, &[Vec<u64>])]) -> Recording {
    let mut recording = empty();
    for (load, cpus) in phases {
        add_phase(&mut recording, load, cpus);
    }
    recording
}

pub fn one(latencies: Vec<u64>) -> Recording {
    recording(&[("idle", &[latencies])])
}

pub fn add_phase(recording: &mut Recording, load: &str, cpus: &[Vec<u64>]) {
    let id = format!("{}-{load}", recording.run.phases.len() + 1);
    let mut phase = Phase {
        id: id.clone(),
        load: load.into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(0),
        end_mono_ns: Some(1),
        planned_ns: Some(Nanos(1)),
        cpus: vec![],
        busy_with_others: None,
        load_report: (load != "idle").then(|| load_report(load)),
        traced: None,
        rounds: Vec::new(),
        problems: vec![],
    };
    for (cpu, latencies) in (0..).map(CpuId).zip(cpus) {
        recording.run.settings.cpus.insert(cpu);
        phase.cpus.push(add_cell(recording, &id, cpu, latencies));
    }
    recording.run.settings.loads.push(load.into());
    recording.run.phases.push(phase);
}

fn add_cell(recording: &mut Recording, phase: &str, cpu: CpuId, latencies: &[u64]) -> CpuResult {
    let (mut distribution, mut kept, mut cycle) = (Distribution::default(), vec![], 0);
    for &latency in latencies {
        let skipped = latency / PERIOD;
        distribution.raw.record(latency);
        (1..=skipped).for_each(|j| distribution.skipped.record(latency - j * PERIOD));
        kept.push(Worst {
            phase: phase.into(),
            cpu,
            release_mono_ns: cycle * PERIOD,
            latency_ns: latency,
            cycle,
            skipped,
            trace_offset: None,
            suspicions: vec![],
        });
        cycle += 1 + skipped;
    }
    kept.sort_by_key(|w| std::cmp::Reverse(w.latency_ns));
    kept.truncate(KEEP);
    recording.worst.extend(kept);
    recording.worst.sort_by_key(|w| std::cmp::Reverse(w.latency_ns));
    let result = result(cpu, &distribution);
    recording.distributions.insert((phase.into(), cpu), distribution);
    result
}

fn result(cpu: CpuId, d: &Distribution) -> CpuResult {
    CpuResult {
        cpu,
        tid: Some(1),
        got: Some(fifo()),
        released: Some(d.raw.count() + d.skipped.count()),
        ran: d.raw.count(),
        skipped: Some(d.skipped.count()),
        min_ns: d.raw.min(),
        max_ns: d.raw.max(),
        mean_ns: d.raw.mean(),
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    }
}

/// Replaces the samples of a cell, without a list of worst wakeups, as in an imported run.
pub fn replace_in_bulk(recording: &mut Recording, samples: &[(u64, u64)]) {
    let mut raw = Histogram::new();
    samples.iter().for_each(|&(latency, n)| raw.record_n(latency, n));
    let distribution = Distribution { raw, skipped: Histogram::new() };
    recording.run.phases[0].cpus[0] = result(CpuId(0), &distribution);
    recording.distributions.insert((recording.run.phases[0].id.clone(), CpuId(0)), distribution);
    recording.worst.clear();
    recording.run.kind = Kind::Imported;
}

pub fn load_report(load: &str) -> LoadReport {
    LoadReport {
        load: load.into(),
        ran: true,
        why_not: None,
        workers: 1,
        beats: 1,
        longest_silence_ns: 0,
        rates: vec![],
        proofs: vec![],
        written_bytes: 0,
        notes: vec![],
    }
}

pub fn empty() -> Recording {
    let stamp = Stamp { mono_ns: 0, boot_ns: 0, real_ns: 0 };
    let run = Run {
        complete: true,
        ended_by: Some(EndedBy::Duration),
        started: Some(stamp),
        ended: Some(stamp),
        host: Some("test".into()),
        settings: settings(),
        ..Run::new(Tool { name: "punctual".into(), version: Some("0".into()) }, Kind::Latency)
    };
    Recording::new(run)
}

fn settings() -> Settings {
    Settings {
        clock: Some("CLOCK_MONOTONIC".into()),
        scheduling: Some(fifo()),
        period_ns: Some(Nanos(PERIOD)),
        alignment: Some(Alignment::Aligned),
        duration_ns: Some(Nanos::from_secs(1)),
        warmup_ns: Some(Nanos::ZERO),
        worst_kept: KEEP,
        ..Settings::default()
    }
}

pub fn problem(kind: ProblemKind) -> Problem {
    Problem { kind, text: "injected".into() }
}

pub fn claims(texts: &[&str]) -> Vec<Claim> {
    texts.iter().map(|t| t.parse().unwrap()).collect()
}

pub fn judged(recording: &Recording, claim: &str) -> Judged {
    let verdict = judge(recording, &claims(&[claim]));
    assert_eq!(verdict.claims.len(), 1);
    assert_eq!(verdict.outcome, verdict.claims[0].outcome);
    verdict.claims.into_iter().next().unwrap()
}

pub fn outcome(recording: &Recording, claim: &str) -> Outcome {
    judged(recording, claim).outcome
}
