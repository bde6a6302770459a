//! Tests searches by `tune` on machines where no change has an effect, with and without a recurring disturbance; and on
//! machines with the five faults that `cargo trials tune` injects.

use super::{Bar, Conditions};
use punctual_stats::SplitMix64;
use punctual_tune::search::{Bench, Block, Candidate, Found, Rules, Stop, search};
use std::collections::BTreeSet;

const KNOBS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

/// Settings, each with the delay that it adds until it is fixed, ns: the five faults of docs/tune.md (on 6.1), and four
/// harmless settings.
const FAULTS: [(&str, f64); 9] = [
    ("timer-migration", 0.0),
    ("trace-events-on", 10_400.0),
    ("rogue-rt-task", 1_520_000.0),
    ("mem-compaction", 0.0),
    ("trace-stack-tracer", 7_100.0),
    ("sched-rt-throttle", 79_900_000.0),
    ("watchdog-hung-task", 0.0),
    ("trace-current-tracer", 61_500.0),
    ("mem-dirty-limits", 0.0),
];
const ORDER: [&str; 5] =
    ["sched-rt-throttle", "rogue-rt-task", "trace-current-tracer", "trace-events-on", "trace-stack-tracer"];

pub fn conditions(conditions: &Conditions) {
    let none: Vec<(&str, f64)> = KNOBS.map(|knob| (knob, 0.0)).to_vec();
    for period in [0usize, 2, 3, 4, 5, 6] {
        let every = if period == 0 { "no disturbance".into() } else { format!("a disturbance every {period} blocks") };
        conditions.share(&format!("tune: of 12 null knobs something is kept, {every}"), Bar::AtMost(0.06), |random| {
            !Simulated::search(&none, period, 4_000.0, random).kept.is_empty()
        });
    }
    conditions.share("tune: 12 null knobs, a disturbance of 30 of every 200 blocks", Bar::AtMost(0.06), |random| {
        !Simulated::search(&none, 200, 4_000.0, random).kept.is_empty()
    });
    conditions.share(
        "tune: the five faults are kept in their order, nothing else, spread 5 %",
        Bar::AtLeast(0.9),
        |random| Simulated::search(&FAULTS, 0, 500.0, random).kept == ORDER,
    );
    conditions.share("tune: the five faults are kept in their order, a heavy tail", Bar::Shown, |random| {
        Simulated::search(&FAULTS, 0, 2_000.0, random).kept == ORDER
    });
}

/// A machine whose latency is the sum of the delays of all faults that are not fixed, of noise with a heavy tail, and
/// of a disturbance.
struct Simulated<'a> {
    faults: &'a [(&'a str, f64)],
    on: BTreeSet<String>,
    random: SplitMix64,
    blocks: usize,
    /// Number of blocks between disturbances; 0 if there are none. `phase` is the position of the first.
    period: usize,
    phase: usize,
    scale: f64,
}

impl Simulated<'_> {
    fn search(faults: &[(&str, f64)], period: usize, scale: f64, mut random: SplitMix64) -> Found {
        let (phase, seed) = (random.below(period.max(1)), random.next_u64());
        let candidates =
            faults.iter().map(|(name, _)| Candidate { rule: (*name).into(), what: "a knob".into() }).collect();
        let mut machine = Simulated { faults, on: BTreeSet::new(), random, blocks: 0, period, phase, scale };
        search(candidates, &mut machine, &Rules::new(seed), &mut |_| ())
    }

    fn is_disturbed(&self) -> bool {
        // If the period is long, the disturbance lasts for several blocks.
        self.period > 0 && (self.blocks + self.phase) % self.period < self.period.div_ceil(7)
    }
}

impl Bench for Simulated<'_> {
    fn block(&mut self) -> Result<Block, Stop> {
        self.blocks += 1;
        let open = self.faults.iter().filter(|(name, _)| !self.on.contains(*name));
        let late: f64 = open.map(|(_, ns)| ns * (1.0 + 0.02 * self.random.uniform())).sum();
        let noise = self.scale / (1.0 - self.random.uniform()).sqrt();
        let disturbed = if self.is_disturbed() { 100_000.0 } else { 0.0 };
        Ok(Block { ns: 9_300.0 + late + noise + disturbed, watts: None })
    }

    fn work(&mut self) -> Result<Option<f64>, Stop> {
        Ok(None)
    }

    fn apply(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop> {
        self.on.insert(candidate.rule.clone());
        Ok(Ok(()))
    }

    fn keep(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop> {
        self.apply(candidate)
    }

    fn revert(&mut self, candidate: &Candidate) -> Result<(), Stop> {
        self.on.remove(&candidate.rule);
        Ok(())
    }

    fn claims_hold(&mut self) -> Result<Option<bool>, Stop> {
        Ok(None)
    }
}
