use crate::common;

use common::*;
use punctual_model::Outcome::{Fail, Inconclusive, Pass};
use punctual_model::{CellJudgement, ClusterNote, EpisodeCounts, Recording};

fn cell(run: &Recording, claim: &str) -> CellJudgement {
    judged(run, claim).cells.remove(0)
}

fn theta(cell: &CellJudgement) -> f64 {
    match cell.clustering {
        ClusterNote::Estimated { theta, .. } => theta,
        ClusterNote::TooFew { .. } => panic!("{:?}", cell.clustering),
    }
}

#[test]
fn independent_latencies_hardly_cluster() {
    for seed in 1..20 {
        let cell = cell(&one(quiet(50_000, seed)), "max < 1ms");
        assert!(theta(&cell) > 0.7, "seed {seed}: {}", theta(&cell));
        assert!((cell.effective_samples - 50_000.0 * theta(&cell)).abs() < 1e-6);
    }
}

#[test]
fn pairs_count_half() {
    let mut latencies = quiet(50_000, 1);
    for i in 0..30 {
        // A quadratic residue varies the distances.
        let at = (i * i * 613 + i * 997) % 49_000;
        latencies[at] = 50_000 + i as u64;
        latencies[at + 1] = 60_000 + i as u64;
    }
    let cell = cell(&one(latencies), "P(>40us) < 1e-9");
    assert!((0.35..=0.55).contains(&theta(&cell)), "{}", theta(&cell));
}

/// A stall of 75 periods is one event, so the bound is that for one event of 75 releases, not for 75 events.
#[test]
fn a_stall_is_one_event() {
    let run = one(quiet_but(100_000, &[(5_000, 75_500_000)]));
    let stalled = cell(&run, "P(>999us) < 1e-9");
    assert_eq!(stalled.beyond, (75, 75));
    assert!((theta(&stalled) - 1.0 / 75.0).abs() < 1e-9, "{}", theta(&stalled));
    assert_eq!(stalled.clustering, ClusterNote::Estimated { theta: theta(&stalled), from: 75 });
    assert_eq!(stalled.episodes, Some(EpisodeCounts { count: 1, late: 75, most_late: 75, longest: 75, length: 75 }));
}

#[test]
fn a_stall_refutes_less_than_its_samples_seem_to() {
    // The share is 75 of 100,075 = 7.5e-4. Independent samples would refute 6e-4, but a single event does not.
    let run = one(quiet_but(100_000, &[(5_000, 75_500_000)]));
    for claim in ["P(>999us) < 6e-4", "P(>999us) < 1e-3", "P(>999us) < 1e-5", "P(>999us) < 4e-3"] {
        // The stall exceeds one period, and the claim does not declare it, so the bound does not apply.
        assert_eq!(cell(&run, claim).outcome, Inconclusive, "{claim}");
    }
    assert_eq!(cell(&run, "P(>999us) < 4e-3 @stall 50ms").outcome, Inconclusive, "longer than declared");
    // With one event observed, seven events of 76 releases are excluded.
    assert_eq!(cell(&run, "P(>999us) < 3e-3 @stall 75ms").outcome, Inconclusive);
    assert_eq!(cell(&run, "P(>999us) < 6e-3 @stall 75ms").outcome, Pass);
    assert_eq!(cell(&run, "max < 10ms").outcome, Fail);
    assert_eq!(cell(&run, "missed = 0").outcome, Fail);
}

/// Consecutive late wakeups without a skip form one cluster, but the intervals estimator alone gives 1.
#[test]
fn a_burst_is_one_event() {
    let late: Vec<(usize, u64)> = (0..64).map(|i| (7_000 + i, 300_000 + i as u64)).collect();
    let cell = cell(&one(quiet_but(100_000, &late)), "P(>200us) < 1e-9");
    assert!(theta(&cell) < 0.02, "{}", theta(&cell));
}

#[test]
fn without_a_list_independence_is_assumed_and_said() {
    let mut run = one(vec![1]);
    replace_in_bulk(&mut run, &[(3_000, 100_000), (90_000, 50)]);
    let cell = cell(&run, "max < 1ms");
    assert_eq!((cell.clustering, cell.effective_samples), (ClusterNote::TooFew { from: 0 }, 100_050.0));
}

#[test]
fn a_stall_longer_than_memory_is_judged_at_once() {
    // A damaged file can state 1e18 skipped periods.
    let mut run = one(quiet(20_000, 1));
    run.worst[0].skipped = 1_000_000_000_000_000_000;
    run.worst[0].latency_ns = u64::MAX;
    run.worst[0].cycle = u64::MAX - 3;
    for claim in ["max < 1s", "missed = 0", "P(>1ms) < 1e-3", "p99 < 1ms", "firm"] {
        assert!(judged(&run, claim).outcome != Pass, "{claim}");
    }
}
