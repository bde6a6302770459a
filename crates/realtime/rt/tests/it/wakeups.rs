//! Tests every wakeup source that needs no partner thread, with this machine's clock.

use punctual_rt::{Periodic, Relative, Signalled, Timerfd, Wait, monotonic};
use punctual_units::Nanos;
use std::sync::atomic::AtomicBool;

const PERIOD: Nanos = Nanos::from_micros(500);

fn run<W: Wait>(mut way: W, at_least: u64) {
    let start = monotonic() + Nanos::from_millis(1);
    way.begin(start, start + Nanos::from_millis(3));
    let stop = AtomicBool::new(false);
    while way.wait(&stop).is_some() {}
    way.go_on(Nanos(PERIOD.0 * 40));
    assert_eq!(way.released(), 0);
    let (mut ran, mut skipped) = (0, 0);
    while let Some(wakeup) = way.wait(&stop) {
        assert!(wakeup.woke >= wakeup.release, "{wakeup:?}");
        ran += 1;
        skipped += wakeup.skipped;
    }
    assert_eq!(ran + skipped, way.released());
    assert!((at_least..=40).contains(&way.released()), "{}", way.released());
    assert_eq!(way.remarks().disagreements, 0);
    assert_eq!(way.wait(&stop), None);
}

#[test]
fn absolute_ways_account_for_every_period() {
    run(Periodic::new(monotonic(), PERIOD, monotonic()), 40);
    run(Timerfd::new(PERIOD).unwrap(), 40);
    std::thread::spawn(|| run(Signalled::new(PERIOD).unwrap(), 40)).join().unwrap();
}

#[test]
fn a_relative_loop_drifts_and_says_how_far() {
    let mut way = Relative::new(PERIOD);
    way.begin(monotonic(), Nanos(u64::MAX));
    let stop = AtomicBool::new(false);
    let wakeups: Vec<_> = (0..10).filter_map(|_| way.wait(&stop)).collect();
    let late: u64 = wakeups[..9].iter().map(|w| w.latency()).sum();
    assert!(way.remarks().drift.unwrap().0 >= late);
}

#[test]
#[ignore = "live: timing"]
fn a_late_thread_has_its_expiries_counted() {
    fn stall<W: Wait>(mut way: W) -> u64 {
        let stop = AtomicBool::new(false);
        way.begin(monotonic() + Nanos::from_millis(1), Nanos(u64::MAX));
        way.wait(&stop).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let wakeup = way.wait(&stop).unwrap();
        assert!(wakeup.latency() > 15_000_000 && way.remarks().disagreements == 0);
        wakeup.skipped
    }
    assert!(stall(Timerfd::new(PERIOD).unwrap()) >= 30);
    std::thread::spawn(|| assert!(stall(Signalled::new(PERIOD).unwrap()) >= 30)).join().unwrap();
}

#[test]
fn a_set_stop_ends_each_at_once() {
    fn ends<W: Wait>(mut way: W) {
        way.begin(monotonic() + Nanos::from_secs(3600), Nanos(u64::MAX));
        assert_eq!(way.wait(&AtomicBool::new(true)), None);
        assert_eq!(way.released(), 0);
    }
    ends(Relative::new(PERIOD));
    ends(Timerfd::new(PERIOD).unwrap());
    std::thread::spawn(|| ends(Signalled::new(PERIOD).unwrap())).join().unwrap();
}
