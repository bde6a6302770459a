use crate::common;
use common::{claims, judged, one, outcome};
use proptest::prelude::*;
use punctual_judge::{expected_look, is_refuted_by, judge, looks};
use punctual_model::{EndedBy, Look, Outcome, Recording, UntilDecided};
use punctual_units::Nanos;

fn looked(n: usize, latencies: Vec<u64>) -> Recording {
    let mut recording = one(latencies);
    recording.run.settings.until_decided = Some(UntilDecided { max_ns: Nanos::from_secs(3_600) });
    recording.run.looks = vec![Look { mono_ns: 0, measured_ns: Nanos(1), open: vec![] }; n];
    recording
}

#[test]
fn a_share_is_valid_at_any_look() {
    let at = |look: usize, n: usize, claim: &str| outcome(&looked(look, vec![5_000; n]), claim);
    use Outcome::{Inconclusive, Pass};
    // 3.38 events are excluded if none was observed, at any check.
    for look in [1, 3, 30] {
        assert_eq!((at(look, 3_360, "P(>100us) < 1e-3"), at(look, 3_390, "P(>100us) < 1e-3")), (Inconclusive, Pass));
    }
}

#[test]
fn the_claim_is_shown_as_it_was_made() {
    assert_eq!(judged(&looked(4, vec![5_000; 9_000]), "P(>100us) < 1e-3 @99%").claim.confidence, 0.99);
}

#[test]
fn an_open_run_is_looked_at_once_more() {
    let mut recording = looked(3, vec![5_000; 100]);
    assert_eq!(looks(&recording.run), 3);
    recording.run.ended_by = Some(EndedBy::Killed);
    assert_eq!(looks(&recording.run), 4);
    recording.run.settings.until_decided = None;
    assert_eq!(looks(&recording.run), 0);
    assert_eq!(looks(&looked(0, vec![1]).run), 1);
}

#[test]
fn one_wakeup_refutes_what_speaks_of_all() {
    let all = claims(&["max < 100us", "missed = 0", "P(>100us) < 1e-3"]);
    let [max, missed, rare] = &all[..] else { panic!() };
    let us = Nanos::from_micros;
    assert!(is_refuted_by(max, None, us(100), 0) && !is_refuted_by(max, None, Nanos(99_999), 0));
    assert!(is_refuted_by(missed, None, us(1), 1) && !is_refuted_by(missed, None, us(999), 0));
    assert!(is_refuted_by(missed, Some(us(50)), us(51), 0) && !is_refuted_by(missed, Some(us(50)), us(50), 0));
    assert!(!is_refuted_by(rare, None, us(10_000), 9));
}

#[test]
fn the_end_is_foreseen() {
    let recording = looked(1, vec![5_000; 1_000]);
    let verdict = judge(&recording, &claims(&["P(>100us) < 1e-3"]));
    let doubling = |look: u64| Some(2f64.powi(look as i32 - 1));
    // Check 2 has 2000 releases and check 3 has 4000; 3380 are needed.
    assert_eq!(expected_look(&verdict, 1, doubling), Some(3));
    assert_eq!(expected_look(&verdict, 1, |look| doubling(look).filter(|_| look < 3)), None);
}

#[test]
fn no_end_is_foreseen_at_the_very_limit() {
    let mut latencies = vec![5_000; 10_000];
    (0..10).for_each(|n| latencies[n * 997] = 200_000);
    let verdict = judge(&looked(1, latencies), &claims(&["P(>100us) < 1e-3"]));
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert_eq!(expected_look(&verdict, 1, |look| Some(look as f64).filter(|_| look < 20)), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The claim is decided at the predicted check, and not at the one before.
    #[test]
    fn what_is_foreseen_comes(n in 200usize..4_000, look in 1u64..6) {
        let verdict = judge(&looked(look as usize, vec![5_000; n]), &claims(&["P(>100us) < 1e-3"]));
        let foreseen = expected_look(&verdict, look, |at| Some(2f64.powi((at - look) as i32)));
        prop_assert!(verdict.outcome == Outcome::Pass || foreseen.is_some());
        if let Some(at) = foreseen.filter(|at| *at < look + 5 && verdict.outcome != Outcome::Pass) {
            let then = |at: u64| outcome(&looked(at as usize, vec![5_000; n << (at - look)]), "P(>100us) < 1e-3");
            prop_assert_eq!(then(at), Outcome::Pass);
            prop_assert!(at == look + 1 || then(at - 1) == Outcome::Inconclusive);
        }
    }
}
