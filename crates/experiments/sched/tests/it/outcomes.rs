//! Conditions under which an experiment passes.

use punctual_model::{Experiment, Outcome};
use punctual_sched::outcome;
use punctual_units::Nanos;

/// Case 3, measured on a machine with two CPUs.
fn measured() -> Experiment {
    serde_json::from_str(include_str!("../../../../output/report/tests/fixtures/experiment.json")).unwrap()
}

#[test]
fn a_period_beyond_its_bound_is_inconclusive() {
    let mut experiment = measured();
    assert_eq!(outcome(&experiment), Outcome::Pass);
    experiment.threads[0].bound_ns = Some(Nanos(1_000));
    experiment.repetitions[0].threads[0].worst_response_ns = Some(Nanos(1_000));
    assert_eq!(outcome(&experiment), Outcome::Pass);
    experiment.repetitions[0].threads[0].worst_response_ns = Some(Nanos(1_001));
    assert_eq!(outcome(&experiment), Outcome::Inconclusive);
    // An unexplained end still fails.
    experiment.repetitions[0].threads[0].as_charged.ends_ns = Some(Nanos(1_000));
    assert_eq!(outcome(&experiment), Outcome::Fail);
}
