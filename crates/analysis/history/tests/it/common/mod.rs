//! Builds summaries from a few parameters. Some tests do not use all functions.

#![allow(dead_code)]

use punctual_model::history::{KernelId, MachineId, RunSettings, RunSummary, SummaryCell};
use punctual_stats::SplitMix64;
use punctual_units::CpuId;

pub const DAY: u64 = 86_400_000_000_000;
pub const START: u64 = 1_767_225_600_000_000_000;

/// Returns a run of one day with one load on two CPUs. All values of the second CPU are `ns`, and all values of the
/// first CPU are half of that.
pub fn run(day: u64, load: &str, ns: u64) -> RunSummary {
    let cell = |cpu: u32, ns: u64| SummaryCell {
        phase: format!("1-{load}"),
        load: load.into(),
        cpu: CpuId(cpu),
        samples: 60_000,
        skipped: Some(0),
        p50_ns: Some(ns / 4),
        p99_ns: Some(ns / 2),
        p999_ns: Some(ns),
        p9999_ns: None,
        max_ns: Some(ns.saturating_mul(2)),
        temperature_max_mc: None,
        cause: None,
        doubt: None,
    };
    RunSummary {
        id: format!("{:016x}", (day + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        folder: Some(format!("/runs/{day}")),
        started_ns: Some(START + day * DAY),
        host: Some("bench-3".into()),
        tool: "punctual 0.1.0".into(),
        complete: true,
        machine: MachineId {
            board: Some("Raspberry Pi 4 Model B Rev 1.4".into()),
            cpu_model: Some("Cortex-A72".into()),
            architecture: Some("aarch64".into()),
            cpus: Some("0-3".into()),
        },
        virtual_time: None,
        kernel: KernelId { release: Some("6.12.9-rt".into()), version: None, preemption: Some("rt".into()) },
        settings: RunSettings {
            measured_by: "punctual".into(),
            period_ns: Some(1_000_000),
            scheduling: Some("SCHED_FIFO 90".into()),
            cpus: "0-1".into(),
            loads: vec![load.into()],
            via: None,
            alignment: Some("staggered".into()),
            cpu_dma_latency_us: None,
            traced: false,
            duration_ns: Some(60_000_000_000),
        },
        temperature_max_mc: None,
        outcome: None,
        claims: Vec::new(),
        cells: vec![cell(0, ns / 2), cell(1, ns)],
    }
}

/// Returns a random value with standard normal distribution (Box and Muller 1958).
pub fn normal(random: &mut SplitMix64) -> f64 {
    let (u, v) = (1.0 - random.uniform(), random.uniform());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Returns runs of consecutive days, each around one of the levels, with a spread of 10 %.
pub fn days(random: &mut SplitMix64, levels: impl Iterator<Item = f64>) -> Vec<RunSummary> {
    spread_days(random, levels, 0.1)
}

pub fn spread_days(random: &mut SplitMix64, levels: impl Iterator<Item = f64>, spread: f64) -> Vec<RunSummary> {
    let days = levels.zip(0u64..);
    days.map(|(level, day)| run(day, "idle", (level * (spread * normal(random)).exp()) as u64)).collect()
}
