use crate::common;

use common::*;
use proptest::prelude::*;
use punctual_judge::judge;
use punctual_model::Outcome::{Held, Pass};
use punctual_model::{CellJudgement, ClusterNote, ProblemKind, Recording};
use punctual_units::Nanos;

const CLAIMS: [&str; 8] = [
    "max < 3us",
    "max < 2ms",
    "missed = 0",
    "soft",
    "p50 < 3us",
    "p99 < 1ms",
    "P(>10us) < 1e-2",
    "P(>1ms) < 5e-3 @80%",
];

/// Returns latencies from wakeups in time to stalls of several periods.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![50 => 1_000u64..4_000, 3 => 4_000u64..900_000, 1 => 900_000u64..20_000_000];
    (1usize..40, proptest::collection::vec(one, 0..200)).prop_map(|(times, v)| v.repeat(times))
}

fn runs() -> impl Strategy<Value = Recording> {
    let cpus = || proptest::collection::vec(latencies(), 0..3);
    (cpus(), cpus(), proptest::option::of(1_000u64..5_000_000)).prop_map(|(idle, cpu, deadline)| {
        let mut run = recording(&[("idle", &idle), ("cpu", &cpu)]);
        run.run.settings.deadline_ns = deadline.map(Nanos);
        run
    })
}

fn harm(run: &mut Recording, which: u8) {
    let cell = run.distributions.keys().next().cloned();
    match which {
        0 => run.run.problems.push(problem(ProblemKind::Throttled)),
        1 => run.run.phases[0].problems.push(problem(ProblemKind::PageFaults)),
        2 => run.damage.push("torn".into()),
        3 => run.run.complete = false,
        4 => run.run.phases[1].end_mono_ns = None,
        5 => run.run.phases[1].load_report = None,
        6 => run.worst.clear(),
        7 => run.worst.truncate(run.worst.len() / 2),
        8 => drop(cell.and_then(|key| run.distributions.remove(&key))),
        9 => run.run.phases[0].cpus.clear(),
        10 => run.run.phases.truncate(1),
        _ => run.run.phases.iter_mut().flat_map(|p| &mut p.cpus).for_each(|c| c.skipped = c.skipped.map(|n| n + 1)),
    }
}

fn sound(cell: &CellJudgement) -> Result<(), TestCaseError> {
    let theta = match cell.clustering {
        ClusterNote::Estimated { theta, from } => {
            prop_assert!(from >= 10);
            theta
        }
        ClusterNote::TooFew { .. } => 1.0,
    };
    prop_assert!(theta > 0.0 && theta <= 1.0);
    prop_assert!((cell.effective_samples - cell.samples as f64 * theta).abs() <= 1e-6 * cell.samples as f64);
    prop_assert!(cell.beyond.0 <= cell.beyond.1 && cell.beyond.1 <= cell.samples);
    if let Some(estimate) = cell.estimate {
        prop_assert!(cell.lower.is_none_or(|lower| lower <= estimate), "{cell:?}");
        prop_assert!(cell.upper.is_none_or(|upper| upper >= estimate), "{cell:?}");
    }
    prop_assert!(cell.bounds.is_sorted_by(|a, b| a.stall_ns < b.stall_ns && a.upper <= b.upper));
    prop_assert!(cell.samples > 0 || cell.outcome != Pass);
    prop_assert!(cell.needed.is_none_or(|n| n.samples > 0.0 && n.p > 0.0 && n.p < 1.0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn figures_are_sound(run in runs()) {
        let verdict = judge(&run, &claims(&CLAIMS));
        prop_assert_eq!(verdict.claims.iter().map(|c| c.outcome).max(), Some(verdict.outcome));
        for judged in &verdict.claims {
            prop_assert!(judged.cells.iter().all(|c| c.outcome <= judged.outcome));
            prop_assert!(judged.cells.is_sorted_by(|a, b| a.outcome >= b.outcome));
            judged.cells.iter().try_for_each(sound)?;
        }
    }

    #[test]
    fn harm_never_helps(run in runs(), which in 0u8..12) {
        let mut harmed = run.clone();
        harm(&mut harmed, which);
        let (before, after) = (judge(&run, &claims(&CLAIMS)), judge(&harmed, &claims(&CLAIMS)));
        for (before, after) in before.claims.iter().zip(&after.claims) {
            prop_assert!(before.outcome <= Held || after.outcome > Held, "{} {which}", before.claim);
        }
        // These changes may remove an observed failure by removing the samples that showed it.
        if !(8..=10).contains(&which) {
            prop_assert!(after.outcome >= before.outcome, "{:?} {:?} {which}", before.outcome, after.outcome);
        }
    }

    #[test]
    fn a_slower_sample_never_helps(run in proptest::collection::vec(latencies(), 1..3), slower in 1_000u64..50_000_000, at in 0usize..10_000) {
        let mut slow = run.clone();
        let latency = slower.max(run[0].iter().copied().max().unwrap_or(0));
        slow[0].insert(at % (run[0].len() + 1), latency);
        let claims = claims(&["max < 3us", "max < 1ms", "max < 30ms", "missed = 0"]);
        let (before, after) = (judge(&recording(&[("idle", &run)]), &claims), judge(&recording(&[("idle", &slow)]), &claims));
        for (before, after) in before.claims.iter().zip(&after.claims) {
            // The first sample of an empty cell allows a judgement.
            prop_assert!(after.outcome >= before.outcome || run[0].is_empty(), "{}", before.claim);
        }
    }

    #[test]
    fn looser_limits_are_easier(run in runs(), limit in 2_000u64..10_000_000, looser in 1u64..1_000_000) {
        for form in ["max < {}ns", "p99 < {}ns", "P(>{}ns) < 1e-2"] {
            let claim = |limit: u64| form.replace("{}", &limit.to_string());
            let (tight, loose) = (outcome(&run, &claim(limit)), outcome(&run, &claim(limit + looser)));
            if form.starts_with("max") || form.starts_with("p99") && tight == Pass {
                prop_assert!(loose <= tight, "{form} {limit} {looser}: {tight:?} {loose:?}");
            }
        }
    }
}
