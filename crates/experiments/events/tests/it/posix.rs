//! Runs the tests on this machine. The results do not depend on its speed.

use punctual_events::{Backend, NotRun, Plan, Posix, Source, TESTS, What, Wires};
use punctual_model::{EventCounts, Promise};
use punctual_units::{Nanos, Priority};
use std::sync::atomic::AtomicBool;

fn priority() -> Priority {
    Priority::try_from(40).unwrap()
}

fn counts(backend: &mut Posix, test: &str, events: u64) -> Option<EventCounts> {
    let test = punctual_events::find(test).unwrap();
    let stop = AtomicBool::new(false);
    let interval = Nanos(test.interval.0.min(1_000_000));
    let plan = Plan {
        test: test.name,
        interval,
        events,
        deadline: Nanos::from_secs(60),
        priority: priority(),
        cpu: None,
        stop: &stop,
    };
    let answer = match test.what {
        What::Periodic | What::Faults => backend.periodic(&plan),
        What::Alarms => backend.alarms(&plan),
        What::Inversion => backend.inversion(&plan),
        What::Order(order) => backend.order(order, &plan),
        What::Channel(channel) => backend.channel(channel, &plan),
        What::Source(source) => backend.source(source, &plan),
    };
    match answer {
        Ok(observed) => Some(observed.ledger.close(observed.sent).0),
        Err(NotRun::Unsupported(why)) => {
            println!("{}: unsupported here: {why}", test.name);
            None
        }
        Err(failed) => panic!("{}: {failed}", test.name),
    }
}

#[test]
#[ignore = "live: timing"]
fn sources_keep_their_promises() {
    let mut backend = Posix::new(priority(), Wires::default()).unwrap();
    let mut ran = 0;
    for test in TESTS.iter().filter(|test| test.is_timed()) {
        let Some(counts) = counts(&mut backend, test.name, 100) else { continue };
        ran += 1;
        let accounted = counts.received + counts.coalesced + counts.overflowed + counts.lost;
        assert_eq!(accounted, counts.sent, "{}: {counts:?}", test.name);
        assert!(counts.sent > 0 && counts.sent <= 100 && counts.strays == 0, "{}: {counts:?}", test.name);
        let promise = if matches!(test.what, What::Source(_)) { test.promise } else { Promise::Counted };
        let promise = if matches!(test.what, What::Channel(_)) { Promise::Bounded } else { promise };
        assert_eq!(punctual_events::kept(promise, &counts), Vec::<String>::new(), "{}: {counts:?}", test.name);
    }
    assert!(ran >= 13, "{ran} tests ran");
}

#[test]
#[ignore = "live: timing"]
fn threads_run_in_order() {
    let mut backend = Posix::new(priority(), Wires::default()).unwrap();
    for test in ["priority-order", "fifo-order"] {
        if let Some(counts) = counts(&mut backend, test, 3) {
            assert_eq!((counts.sent, counts.received, counts.reordered), (24, 24, 0), "{test}: {counts:?}");
        }
    }
}

#[test]
#[ignore = "live: timing"]
fn what_needs_a_wire_says_which() {
    let mut backend = Posix::new(priority(), Wires::default()).unwrap();
    let stop = AtomicBool::new(false);
    let ms = Nanos::from_millis(1);
    let plan = Plan { test: "", interval: ms, events: 1, deadline: ms, priority: priority(), cpu: None, stop: &stop };
    for (source, option) in [(Source::Gpio, "--gpio"), (Source::Serial, "--serial")] {
        let why = backend.source(source, &plan).unwrap_err();
        assert!(matches!(&why, NotRun::Unsupported(text) if text.contains(option)), "{why}");
    }
}
