//! Checks that a mock's faults are reported with their exact number for every seed.

use punctual_events::{Backend, Faults, Mock, Plan, Source};
use punctual_model::EventCounts;
use punctual_units::{Nanos, Priority};
use std::sync::atomic::AtomicBool;

/// Returns `None` if the counts are exactly as expected, otherwise the faults and the counts.
fn wrong(seed: u64, events: u64) -> Option<(Faults, EventCounts)> {
    // The counts range from zero to a hundredth of all events, and differ for each fault and seed.
    let k = |salt: u64| (seed * 7919 + salt * 104_729) % (events / 100) * u64::from(!(seed + salt).is_multiple_of(5));
    let faults = Faults { drop: k(1), double: k(2), delay: k(3), coalesce: k(4), refuse: k(5) };
    let stop = AtomicBool::new(false);
    let interval = Nanos::from_millis(1);
    let priority = Priority::try_from(50).unwrap();
    let plan = Plan { test: "eventfd", interval, events, deadline: interval, priority, cpu: None, stop: &stop };
    let observed = Mock::new(seed, faults).source(Source::Eventfd, &plan).unwrap();
    let (counts, lateness) = observed.ledger.close(observed.sent);
    let expected = EventCounts {
        sent: events,
        received: events - faults.drop - faults.coalesce - faults.refuse,
        coalesced: faults.coalesce,
        overflowed: faults.refuse,
        lost: faults.drop,
        doubled: faults.double,
        late: faults.delay,
        reordered: counts.reordered,
        strays: 0,
    };
    // A delayed event arrives after the next event, unless there is none or that one is delayed, dropped or refused as
    // well.
    let overtaken = counts.reordered <= faults.delay && (faults.delay < 20 || counts.reordered > faults.delay / 2);
    let arrived = counts.received + counts.coalesced;
    (counts != expected || !overtaken || lateness.count() != arrived).then_some((faults, counts))
}

fn all_seeds(events: u64) {
    let bad: Vec<_> = (0..100).filter_map(|seed| wrong(seed, events).map(|wrong| (seed, wrong))).collect();
    assert!(bad.is_empty(), "{} of 100 seeds: {:?}", bad.len(), bad.first());
}

#[test]
fn what_goes_wrong_is_counted_exactly() {
    all_seeds(20_000);
}

#[test]
#[ignore = "1e8 events: seconds in release, minutes else: `cargo trials soak exact`"]
fn what_goes_wrong_of_a_million_is_counted_exactly() {
    all_seeds(1_000_000);
}

#[test]
fn one_more_is_not_the_same() {
    let stop = AtomicBool::new(false);
    let interval = Nanos::from_millis(1);
    let priority = Priority::try_from(50).unwrap();
    let plan = Plan { test: "eventfd", interval, events: 1000, deadline: interval, priority, cpu: None, stop: &stop };
    let lost = |drop| {
        let observed = Mock::new(1, Faults { drop, ..Faults::default() }).source(Source::Eventfd, &plan).unwrap();
        observed.ledger.close(observed.sent).0.lost
    };
    assert_eq!([lost(0), lost(1), lost(2)], [0, 1, 2]);
    let refused = Mock::new(1, Faults { drop: 501, ..Faults::default() }).source(Source::Eventfd, &plan);
    assert!(refused.is_err_and(|e| e.to_string().contains("at most half of them")));
}
