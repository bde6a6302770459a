//! Tests `compare --fail-if-worse` on boots of one kernel, and of a slower kernel.

use super::{Bar, Conditions};
use crate::simulate::normal;
use punctual_compare::{Side, compare, is_inconclusive, is_worse};
use punctual_model::{
    Comparison, Conclusion, CpuResult, Distribution, EndedBy, Kind, LoadReport, Phase, Recording, Run, Settings, Stamp,
    Tool,
};
use punctual_stats::SplitMix64;
use punctual_units::{CpuId, Nanos};

const LOADS: [&str; 4] = ["idle", "cpu", "memory", "io"];
/// Number of wakeups per load in one boot.
const WAKEUPS: usize = 1_500;
const HOUR_NS: u64 = 3_600_000_000_000;
const EFFECTS: [f64; 3] = [0.0, 0.03, 0.1];

/// The order of the boots of both kernels.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// All boots of the first kernel, then all boots of the second.
    Blocks,
    /// Alternating: A B B A …
    Turns,
    /// Alternating, and each boot is 2 % slower than the previous one.
    Drifting,
}

pub fn conditions(conditions: &Conditions) {
    for boots in [4, 8] {
        for (how, order) in [("one after the other", Order::Blocks), ("in turns", Order::Turns)] {
            for effect in EFFECTS {
                let name =
                    format!("compare: exit 1 of one kernel, {boots} boots each {how}, boot effect {}", percent(effect));
                conditions.share(&name, Bar::AtMost(0.05), |mut random| {
                    fails(&compared(boots, order, effect, 1.0, &mut random))
                });
            }
        }
    }
    conditions.share(
        "compare: exit 1 of one kernel, 8 boots each in turns, drifting, boot effect 3 %",
        Bar::AtMost(0.05),
        |mut random| fails(&compared(8, Order::Drifting, 0.03, 1.0, &mut random)),
    );
    for effect in EFFECTS {
        let name = format!("compare: exit 1 or 0 with 3 boots each, boot effect {}", percent(effect));
        conditions.share(&name, Bar::AtMost(0.0), |mut random| {
            !is_inconclusive(&compared(3, Order::Turns, effect, 1.5, &mut random))
        });
    }
    for (how, order) in
        [("one after the other", Order::Blocks), ("in turns", Order::Turns), ("in turns, drifting", Order::Drifting)]
    {
        for (effect, bar) in [(0.0, Bar::AtLeast(0.8)), (0.03, Bar::AtLeast(0.8)), (0.1, Bar::Shown)] {
            let name = format!("compare: +20 % found, 8 boots each {how}, boot effect {}", percent(effect));
            conditions.share(&name, bar, |mut random| fails(&compared(8, order, effect, 1.2, &mut random)));
        }
    }
    for difference in [0.1, 0.2] {
        let name =
            format!("compare: +{} in p99.9 found with the boots that 8 of one kernel ask for", percent(difference));
        conditions.share(&name, Bar::AtLeast(0.75), |mut random| {
            let first = compared(8, Order::Blocks, 0.03, 1.0, &mut random);
            let recipe = first.recipes.iter().find(|recipe| recipe.figure == "p99.9");
            let needed = recipe.and_then(|r| r.needed.iter().find(|n| n.difference == difference));
            let boots = needed.map_or(0, |needed| needed.boots as usize);
            let found = compared(boots.min(200), Order::Blocks, 0.03, 1.0 + difference, &mut random);
            let row = found.rows.iter().find(|row| row.figure == "p99.9");
            row.is_some_and(|row| row.against.iter().all(|against| against.conclusion == Conclusion::More))
        });
    }
}

/// Returns true if `--fail-if-worse` exits with 1.
fn fails(comparison: &Comparison) -> bool {
    is_worse(comparison) && !is_inconclusive(comparison)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn compared(boots: usize, order: Order, effect: f64, factor: f64, random: &mut SplitMix64) -> Comparison {
    let place = |kernel: usize, n: usize| match order {
        Order::Blocks => kernel * boots + n,
        _ => 2 * n + (kernel + n) % 2,
    };
    let [a, b] = [(0, 1.0), (1, factor)].map(|(kernel, late)| {
        let mut one = |n: usize| {
            let drift = if order == Order::Drifting { (0.02 * place(kernel, n) as f64).exp() } else { 1.0 };
            boot(late * drift * (effect * normal(random)).exp(), place(kernel, n) as u64, random)
        };
        (0..boots).map(&mut one).collect::<Vec<Recording>>()
    });
    let sides = [("a", &a), ("b", &b)].map(|(name, runs)| Side {
        name: name.into(),
        runs: runs.iter().enumerate().map(|(n, run)| (format!("{name} {n}"), run)).collect(),
        ..Side::default()
    });
    compare(&sides).unwrap_or_default()
}

/// Returns a boot whose wakeups take `late` times as long as usual: log-normal, with a tail of one in a hundred.
fn boot(late: f64, nth: u64, random: &mut SplitMix64) -> Recording {
    let stamp = |real_ns| Stamp { mono_ns: 1, boot_ns: 60_000_000_000, real_ns };
    let mut run = Run {
        complete: true,
        ended_by: Some(EndedBy::Duration),
        started: Some(stamp(1_767_225_600_000_000_000 + nth * HOUR_NS)),
        ended: Some(stamp(1_767_225_600_000_000_000 + nth * HOUR_NS + 60_000_000_000)),
        settings: Settings {
            period_ns: Some(Nanos::from_millis(1)),
            loads: LOADS.map(String::from).to_vec(),
            ..Settings::default()
        },
        ..Run::new(Tool::punctual(), Kind::Latency)
    };
    let mut distributions = Vec::new();
    for (n, load) in LOADS.into_iter().enumerate() {
        let mut distribution = Distribution::default();
        for _ in 0..WAKEUPS {
            let tail = if random.below(100) == 0 { 1.0 + 0.3 / random.uniform().sqrt() } else { 1.0 };
            let ns = 10_000.0 * (n + 1) as f64 * late * (0.2 * normal(random)).exp() * tail;
            distribution.raw.record(ns as u64);
        }
        let id = format!("{}-{load}", n + 1);
        run.phases.push(phase(&id, load, &distribution));
        distributions.push(((id, CpuId(0)), distribution));
    }
    run.settings.cpus.insert(CpuId(0));
    Recording { distributions: distributions.into_iter().collect(), ..Recording::new(run) }
}

fn phase(id: &str, load: &str, distribution: &Distribution) -> Phase {
    let result = CpuResult {
        cpu: CpuId(0),
        tid: None,
        got: None,
        released: Some(WAKEUPS as u64),
        ran: WAKEUPS as u64,
        skipped: Some(0),
        min_ns: distribution.raw.min(),
        max_ns: distribution.raw.max(),
        mean_ns: distribution.raw.mean(),
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    };
    Phase {
        id: id.into(),
        load: load.into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(0),
        end_mono_ns: Some(1),
        planned_ns: None,
        cpus: vec![result],
        busy_with_others: None,
        load_report: Some(LoadReport {
            load: load.into(),
            ran: true,
            why_not: None,
            workers: 1,
            beats: 1,
            longest_silence_ns: 0,
            rates: Vec::new(),
            proofs: Vec::new(),
            written_bytes: 0,
            notes: Vec::new(),
        }),
        traced: None,
        rounds: Vec::new(),
        problems: Vec::new(),
    }
}
