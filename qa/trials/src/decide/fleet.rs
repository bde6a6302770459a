//! Tests reports on many identical boards, and on boards of which one is slow.

use super::{Bar, Conditions};
use crate::simulate::normal;
use punctual_history::fleet::fleet;
use punctual_model::Outcome;
use punctual_model::history::{KernelId, MachineId, RunSettings, RunSummary, SummaryCell};
use punctual_stats::SplitMix64;
use punctual_units::CpuId;

const LOADS: [&str; 3] = ["idle", "cpu", "io"];

/// Distribution of the worst wakeup of a run.
#[derive(Clone, Copy)]
enum Worst {
    /// Fréchet: wakeups with the tail x^−10. The standard deviation of the logarithm of the worst wakeup is 13 %.
    Frechet,
    /// The worst of a million wakeups of 20 µs plus an exponential part with a mean of 4 µs.
    Exponential,
    LogNormal,
    /// Nine runs in ten are like [`Worst::Frechet`]; in the tenth there is a disturbance of 60 to 120 µs.
    Rare,
}

const WORST: [(&str, Worst); 4] = [
    ("tail x^-10", Worst::Frechet),
    ("exponential tail", Worst::Exponential),
    ("log-normal, 13 %", Worst::LogNormal),
    ("a disturbance in one of ten runs", Worst::Rare),
];

impl Worst {
    fn ns(self, random: &mut SplitMix64) -> f64 {
        let gumbel = -(-random.uniform().ln()).ln();
        match self {
            Worst::Frechet => 50_000.0 * (0.1 * gumbel).exp(),
            Worst::Exponential => 20_000.0 + 4_000.0 * (gumbel + f64::ln(1e6)),
            Worst::LogNormal => 50_000.0 * (0.13 * normal(random)).exp(),
            Worst::Rare if random.below(10) == 0 => 60_000.0 + 60_000.0 * random.uniform(),
            Worst::Rare => Worst::Frechet.ns(random),
        }
    }
}

pub fn conditions(conditions: &Conditions) {
    for boards in [10, 50, 200] {
        for (name, worst) in WORST {
            for runs in [1, 3] {
                let name = format!("fleet: some outlier of {boards} identical boards, {runs} runs each, {name}");
                // A board that experiences the disturbance by chance looks like a slow board, so this is only reported.
                let bar = if matches!(worst, Worst::Rare) { Bar::Shown } else { Bar::AtMost(0.1) };
                conditions.share(&name, bar, |mut random| {
                    !outliers(&simulated((boards, runs), worst, &LOADS, &mut random, |_, _| 1.0)).is_empty()
                });
            }
        }
    }
    for (name, worst) in &WORST[..3] {
        for slow_in in [3, 1] {
            let name = format!("fleet: one of 20 boards 3 times worse under {slow_in} of 3 loads is flagged, {name}");
            // Under one load of three, the Benjamini–Hochberg correction requires more, so this is only reported.
            let bar = if slow_in == 3 { Bar::AtLeast(0.8) } else { Bar::Shown };
            conditions.share(&name, bar, |mut random| {
                let factor = |board, load| if board == 7 && load < slow_in { 3.0 } else { 1.0 };
                let found = outliers(&simulated((20, 1), *worst, &LOADS, &mut random, factor));
                found.iter().any(|host| host == "board-7")
            });
        }
    }
}

fn outliers(runs: &[RunSummary]) -> Vec<String> {
    fleet(runs).outliers.into_iter().filter_map(|outlier| outlier.host).collect()
}

/// Simulates the runs of the boards. `factor` gives the slowdown for a board and a load, by their numbers.
fn simulated(
    (boards, runs): (usize, usize),
    worst: Worst,
    loads: &[&str],
    random: &mut SplitMix64,
    factor: impl Fn(usize, usize) -> f64,
) -> Vec<RunSummary> {
    let mut all = Vec::new();
    for n in 0..boards * runs {
        let board = n % boards;
        let maxima: Vec<u64> = (0..loads.len()).map(|load| (factor(board, load) * worst.ns(random)) as u64).collect();
        all.push(summary(n as u64, &format!("board-{board}"), loads, &maxima));
    }
    all
}

/// Returns a run with these worst wakeups under the loads.
pub fn summary(n: u64, host: &str, loads: &[&str], maxima: &[u64]) -> RunSummary {
    let cell = |(load, max_ns): (&&str, &u64)| SummaryCell {
        phase: (*load).into(),
        load: (*load).into(),
        cpu: CpuId(0),
        samples: 1_000_000,
        skipped: Some(0),
        p50_ns: Some(*max_ns),
        p99_ns: Some(*max_ns),
        p999_ns: Some(*max_ns),
        p9999_ns: Some(*max_ns),
        max_ns: Some(*max_ns),
        temperature_max_mc: None,
        cause: None,
        doubt: None,
    };
    RunSummary {
        id: format!("{n:016x}"),
        folder: None,
        started_ns: Some(n * 86_400_000_000_000),
        host: Some(host.into()),
        tool: "punctual".into(),
        complete: true,
        machine: MachineId { board: Some("a board".into()), ..MachineId::default() },
        virtual_time: None,
        kernel: KernelId { release: Some("6.12".into()), version: None, preemption: Some("rt".into()) },
        settings: RunSettings {
            measured_by: "punctual".into(),
            period_ns: Some(1_000_000),
            scheduling: Some("SCHED_FIFO 90".into()),
            cpus: "0".into(),
            loads: loads.iter().map(|load| (*load).into()).collect(),
            via: Some("nanosleep".into()),
            alignment: None,
            cpu_dma_latency_us: None,
            traced: false,
            duration_ns: Some(60_000_000_000),
        },
        temperature_max_mc: None,
        outcome: Some(Outcome::Pass),
        claims: Vec::new(),
        cells: loads.iter().zip(maxima).map(cell).collect(),
    }
}
