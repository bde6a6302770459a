//! Claims on imported files are inconclusive exactly if the missing data could change the result.

use crate::common;

use punctual_model::{Blur, Kind, Outcome, Outcome::*, Recording, Unplaced};
use punctual_units::{CpuId, Histogram};

/// Returns a run of one thread with these samples, as (µs, count).
fn reported(samples: &[(u64, u64)], blur: Blur) -> Recording {
    let mut run = common::one(vec![1; 10]);
    let (id, cpu) = (run.run.phases[0].id.clone(), run.run.phases[0].cpus[0].cpu);
    run.worst.clear();
    let mut raw = Histogram::new();
    samples.iter().for_each(|&(us, n)| raw.record_n(us * 1_000, n));
    let result = &mut run.run.phases[0].cpus[0];
    (result.ran, result.released, result.skipped) = (raw.count(), None, None);
    (result.min_ns, result.max_ns, result.blur) = (raw.min(), raw.max(), Some(blur));
    let distribution = run.distributions.get_mut(&(id, CpuId(cpu.0))).unwrap();
    (distribution.raw, distribution.skipped) = (raw, Histogram::new());
    (run.run.kind, run.run.settings.cpus, run.run.settings.worst_kept) = (Kind::Imported, Default::default(), 0);
    run.run.settings.loads.clear();
    run
}

fn on(run: &Recording, claim: &str) -> Outcome {
    common::outcome(run, claim)
}

const MICROS: Blur =
    Blur { below_ns: 0, above_ns: 999, unplaced: None, hidden_from_ns: None, skipped_at_most: Some(0) };

#[test]
fn a_value_is_an_interval() {
    let run = reported(&[(11, 50_000), (93, 1)], MICROS);
    assert_eq!((on(&run, "max < 93us"), on(&run, "max < 93500ns"), on(&run, "max < 94us")), (Fail, Inconclusive, Held));
    assert_eq!((on(&run, "p50 < 12us"), on(&run, "p50 < 11500ns"), on(&run, "p50 < 10us")), (Held, Inconclusive, Fail));
    // Bins are named by their upper edge, so samples may have been smaller.
    let upper = Blur { below_ns: 1_000, above_ns: 0, ..MICROS };
    let run = reported(&[(11, 50_000), (93, 1)], upper);
    assert_eq!((on(&run, "max < 92us"), on(&run, "max < 92500ns"), on(&run, "max < 94us")), (Fail, Inconclusive, Held));
}

#[test]
fn samples_without_a_value_can_be_anything_between() {
    let unplaced = Unplaced { count: 999, from_ns: 60_000, to_ns: Some(5_000_000) };
    let run = reported(&[(20, 50_000), (60, 999), (5_000, 1)], Blur { unplaced: Some(unplaced), ..MICROS });
    assert_eq!((on(&run, "max < 5ms"), on(&run, "max < 6ms")), (Fail, Held));
    // Two percent of the samples exceed 60 µs, by an unknown amount.
    assert_eq!((on(&run, "p90 < 30us"), on(&run, "p99.9 < 1ms"), on(&run, "p99.9 < 50us")), (Held, Inconclusive, Fail));
    assert_eq!(
        (on(&run, "P(>50us) < 0.1"), on(&run, "P(>1ms) < 0.01"), on(&run, "P(>50us) < 0.005")),
        (Held, Inconclusive, Fail)
    );
    let open = Unplaced { to_ns: None, ..unplaced };
    let run = reported(&[(20, 50_000), (60, 1_000)], Blur { unplaced: Some(open), ..MICROS });
    assert_eq!((on(&run, "max < 6ms"), on(&run, "max < 50us")), (Inconclusive, Fail));
}

#[test]
fn samples_that_are_not_even_counted_forbid_a_pass_only() {
    let run = reported(&[(20, 50_000)], Blur { hidden_from_ns: Some(400_000), ..MICROS });
    assert_eq!((on(&run, "max < 100us"), on(&run, "max < 10us"), on(&run, "p50 < 10us")), (Inconclusive, Fail, Fail));
}

#[test]
fn periods_that_may_have_been_skipped() {
    let samples = [(20, 50_000), (5_000, 1)];
    let unknown = reported(&samples, Blur { skipped_at_most: None, ..MICROS });
    // A skipped period is less late than the wakeup that skipped it.
    assert_eq!((on(&unknown, "max < 6ms"), on(&unknown, "p99 < 6ms"), on(&unknown, "max < 1ms")), (Held, Held, Fail));
    assert_eq!((on(&unknown, "p99 < 1ms"), on(&unknown, "missed = 0")), (Inconclusive, Inconclusive));
    assert_eq!(on(&unknown, "p99 < 10us"), Inconclusive);
    // At most 25 samples are late: too few to affect p99, enough to affect p99.99.
    let some = reported(&samples, Blur { skipped_at_most: Some(25), ..MICROS });
    assert_eq!(
        (on(&some, "p99 < 1ms"), on(&some, "p99.99 < 1ms"), on(&some, "missed = 0")),
        (Held, Inconclusive, Inconclusive)
    );
    assert_eq!((on(&some, "p99 < 10us"), on(&some, "missed <= 1 per 1000")), (Fail, Held));
    let none = reported(&samples, MICROS);
    assert_eq!(on(&none, "missed = 0"), Held);
}
