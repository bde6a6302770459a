use super::*;
use punctual_stats::SplitMix64;
use std::collections::BTreeSet;

/// A simulated machine. Its latency is the largest delay of the faults that are not fixed, plus the effects of harmless
/// changes, plus noise.
struct Simulated {
    /// Name of each fault, and the delay it adds until it is fixed, ns (negative: fixing it increases the latency).
    faults: Vec<(&'static str, f64)>,
    on: BTreeSet<String>,
    noise: SplitMix64,
    blocks: usize,
    most: usize,
    refuses: Option<&'static str>,
    holds_below: Option<f64>,
    /// If true, only the largest delay counts; otherwise delays add up.
    hides: bool,
}

impl Simulated {
    fn new(faults: &[(&'static str, f64)], seed: u64) -> Simulated {
        Simulated {
            faults: faults.to_vec(),
            on: BTreeSet::new(),
            noise: SplitMix64::new(seed),
            blocks: 0,
            most: usize::MAX,
            refuses: None,
            holds_below: None,
            hides: false,
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        self.faults.iter().map(|(name, _)| Candidate { rule: (*name).into(), what: "a knob".into() }).collect()
    }

    fn level(&self) -> f64 {
        let open = self.faults.iter().filter(|(name, _)| !self.on.contains(*name)).map(|f| f.1.max(0.0));
        let harm: f64 = self.faults.iter().filter(|(n, _)| self.on.contains(*n)).map(|f| (-f.1).max(0.0)).sum();
        20_000.0 + harm + if self.hides { open.fold(0.0, f64::max) } else { open.sum() }
    }

    fn search(&mut self) -> Found {
        let seed = self.noise.next_u64();
        let found = search(self.candidates(), self, &Rules::new(seed), &mut |_| ());
        assert_eq!(self.on, found.kept.iter().cloned().collect(), "what is applied is what was kept");
        found
    }
}

impl Bench for Simulated {
    fn block(&mut self) -> Result<Block, Stop> {
        self.blocks += 1;
        if self.blocks > self.most {
            return Err(Stop::TimeUp);
        }
        // The noise has a heavy tail: in some blocks it is several times as large.
        let noise = 4_000.0 / (1.0 - self.noise.uniform()).powf(0.5);
        // Each change costs 10 % more power and 1 % of the throughput.
        let watts = Some(10.0 * 1.1f64.powi(self.on.len() as i32) + 0.1 * self.noise.uniform());
        Ok(Block { ns: self.level() + noise, watts })
    }

    fn work(&mut self) -> Result<Option<f64>, Stop> {
        Ok(Some(1_000.0 * 0.99f64.powi(self.on.len() as i32) + self.noise.uniform()))
    }

    fn apply(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop> {
        if self.refuses == Some(candidate.rule.as_str()) {
            return Ok(Err("read-only".into()));
        }
        assert!(self.on.insert(candidate.rule.clone()), "applied twice");
        Ok(Ok(()))
    }

    fn keep(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop> {
        self.apply(candidate)
    }

    fn revert(&mut self, candidate: &Candidate) -> Result<(), Stop> {
        assert!(self.on.remove(&candidate.rule), "undone without being applied");
        Ok(())
    }

    fn claims_hold(&mut self) -> Result<Option<bool>, Stop> {
        Ok(self.holds_below.map(|limit| self.level() < limit))
    }
}

const FIVE: [(&str, f64); 9] = [
    ("harmless-1", 0.0),
    ("tracer", 60_000.0),
    ("hog", 3_000_000.0),
    ("harmful", -50_000.0),
    ("throttling", 800_000.0),
    ("governor", 30_000.0),
    ("harmless-2", 0.0),
    ("irq", 200_000.0),
    ("harmless-3", 0.0),
];

#[test]
fn five_faults_are_found_in_order_of_effect() {
    let mut small = 0;
    for (seed, hides) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut machine = Simulated { hides, ..Simulated::new(&FIVE, seed) };
        let found = machine.search();
        let kept: Vec<&str> = found.kept.iter().map(String::as_str).collect();
        assert_eq!(kept[..4], ["hog", "throttling", "irq", "tracer"], "seed {seed}");
        assert_eq!(found.ended, Ended::NothingHelps);
        small += usize::from(kept.get(4) == Some(&"governor"));
    }
    // The effect is only slightly larger than the noise, so three pairs do not always show it.
    assert!(small >= 34, "{small} of 40");
}

#[test]
fn the_gain_is_told_with_an_interval_that_holds_it() {
    let mut held = 0;
    for seed in 0..100 {
        let found = Simulated::new(&[("irq", 200_000.0)], seed).search();
        let trial = found.trials.iter().find(|t| t.kind != TrialKind::Screening).unwrap();
        let (low, high) = trial.interval_ns.unwrap();
        held += usize::from((low..=high).contains(&-200_000.0));
    }
    assert!(held >= 93, "{held} of 100");
}

#[test]
fn what_a_change_costs_stands_beside_its_gain() {
    let found = Simulated::new(&[("irq", 200_000.0)], 4).search();
    let trial = found.trials.iter().find(|t| t.kind != TrialKind::Screening).unwrap();
    let [power, throughput] = trial.costs.as_slice() else { panic!("{:?}", trial.costs) };
    assert!((power.ratio - 1.1).abs() < 0.01 && power.pairs.len() == trial.pairs.len(), "{power:?}");
    let (low, high) = throughput.interval.unwrap();
    assert!(low < 0.992 && high < 0.995 && low > 0.985, "{throughput:?}");
    assert!(found.trials.iter().filter(|t| t.kind == TrialKind::Screening).all(|t| t.costs.is_empty()));
}

/// With twelve changes that have no effect, a change may be kept in at most 5 % of the runs.
#[test]
fn a_machine_without_faults_is_left_alone() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let none: Vec<_> = names.iter().map(|n| (*n, 0.0)).collect();
    let changed = (0..400).filter(|seed| !Simulated::new(&none, 7_000 + seed).search().kept.is_empty()).count();
    assert!(changed <= 30, "{changed} of 400 kept something");
}

#[test]
fn it_ends_when_the_claims_hold() {
    let mut machine = Simulated { holds_below: Some(500_000.0), ..Simulated::new(&FIVE, 1) };
    let found = machine.search();
    assert_eq!((found.ended, found.kept), (Ended::ClaimsHold, vec!["hog".to_owned(), "throttling".to_owned()]));
    let mut fine = Simulated { holds_below: Some(1e9), ..Simulated::new(&FIVE, 1) };
    let found = fine.search();
    assert_eq!((found.ended, fine.blocks), (Ended::ClaimsHold, 0));
}

#[test]
fn what_cannot_be_applied_is_said_and_left() {
    let mut machine = Simulated { refuses: Some("hog"), ..Simulated::new(&FIVE, 3) };
    let found = machine.search();
    assert_eq!(found.not_tried, [("hog".to_owned(), "read-only".to_owned())]);
    assert!(!found.kept.contains(&"hog".to_owned()));
}

/// Wherever the search is stopped, only kept changes are applied (asserted in `search`).
#[test]
fn stopped_anywhere_nothing_is_left_on_trial() {
    for most in (0..120).step_by(7) {
        let mut machine = Simulated { most, ..Simulated::new(&FIVE, 5) };
        assert_eq!(machine.search().ended, Ended::TimeUp);
    }
}

#[test]
fn nothing_to_try_is_said() {
    assert_eq!(Simulated::new(&[], 1).search().ended, Ended::NothingToTry);
}

#[test]
fn the_least_time_is_that_of_blocks_made() {
    for candidates in [1usize, 4, 9] {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let none: Vec<_> = names[..candidates].iter().map(|n| (*n, -50_000_000.0)).collect();
        let mut machine = Simulated::new(&none, 11);
        machine.search();
        assert_eq!(machine.blocks, blocks(candidates, 0, &Rules::new(0)));
    }
}
