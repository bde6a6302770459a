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
fn the_third_look_needs_more_than_the_first() {
    // P < 1e-3 takes 2995 samples at 95 %, 3492 at look 1, 5687 at look 3.
    let outcomes = |n: usize| {
        [0, 1, 3].map(|look| {
            let recording = if look == 0 { one(vec![5_000; n]) } else { looked(look, vec![5_000; n]) };
            outcome(&recording, "P(>100us) < 1e-3")
        })
    };
    use Outcome::{Inconclusive, Pass};
    assert_eq!(outcomes(2_994), [Inconclusive; 3]);
    assert_eq!(outcomes(2_996), [Pass, Inconclusive, Inconclusive]);
    assert_eq!(outcomes(3_600), [Pass, Pass, Inconclusive]);
    assert_eq!(outcomes(5_700), [Pass; 3]);
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
    let [max, missed, rare] = claims(&["max < 100us", "missed = 0", "P(>100us) < 1e-3"])[..] else { panic!() };
    let us = Nanos::from_micros;
    assert!(is_refuted_by(&max, None, us(100), 0) && !is_refuted_by(&max, None, Nanos(99_999), 0));
    assert!(is_refuted_by(&missed, None, us(1), 1) && !is_refuted_by(&missed, None, us(999), 0));
    assert!(is_refuted_by(&missed, Some(us(50)), us(51), 0) && !is_refuted_by(&missed, Some(us(50)), us(50), 0));
    assert!(!is_refuted_by(&rare, None, us(10_000), 9));
}

#[test]
fn the_end_is_foreseen() {
    let recording = looked(1, vec![5_000; 1_000]);
    let verdict = judge(&recording, &claims(&["P(>100us) < 1e-3"]));
    let doubling = |look: u64| Some(2f64.powi(look as i32 - 1));
    // 2000 at look 2, 4000 at look 3 (5687 needed), 8000 at look 4 (6262 needed).
    assert_eq!(expected_look(&verdict, 1, doubling), Some(4));
    assert_eq!(expected_look(&verdict, 1, |look| doubling(look).filter(|_| look < 4)), None);
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

    #[test]
    fn looking_more_often_decides_less(n in 100usize..6_000, late in 0usize..40, look in 1usize..12) {
        let mut latencies = vec![5_000u64; n];
        (0..late.min(n)).for_each(|i| latencies[i * n / late.max(1)] = 150_000 + i as u64);
        let at = |look| outcome(&looked(look, latencies.clone()), "P(>100us) < 2e-3");
        let (sooner, later) = (at(look), at(look + 1));
        prop_assert!(later == sooner || later == Outcome::Inconclusive, "{sooner:?} {later:?}");
    }

    /// The claim is decided at the predicted look, and not at the one before.
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
