//! Determines a verdict from the counts of events and what the source promises. All functions are pure.

use crate::backend::Observed;
use crate::test::{Test, What};
use punctual_model::{EventCounts, Promise, SuiteClass, SuiteRan};

/// A firm system may miss "a few" deadlines (after Laplante and Ovaska, see docs/backends.md). In this crate, that
/// means at most one in this number of events.
pub const FEW: u64 = 1000;

/// Returns hard if no event was late or lost, firm if at most one in [`FEW`] was, otherwise soft; `None` if no event
/// was sent.
///
/// Counts every event that was late or did not arrive, whether or not its source promises delivery.
pub fn classify(counts: &EventCounts) -> Option<SuiteClass> {
    let missed = counts.late + counts.lost + counts.overflowed;
    match counts.sent {
        0 => None,
        _ if missed == 0 => Some(SuiteClass::Hard),
        sent if missed.saturating_mul(FEW) <= sent => Some(SuiteClass::Firm),
        _ => Some(SuiteClass::Soft),
    }
}

/// Returns how a source broke its promise; empty if the source kept it.
pub fn kept(promise: Promise, counts: &EventCounts) -> Vec<String> {
    let EventCounts { coalesced, overflowed, lost, doubled, reordered, strays, .. } = *counts;
    let (each, bounded, counted) = (promise == Promise::Each, promise == Promise::Bounded, promise == Promise::Counted);
    let numbered = each || bounded;
    let rules = [
        (numbered || counted, lost, "lost"),
        (numbered || counted, doubled, "doubled"),
        (numbered || counted, reordered, "out of order"),
        (numbered, coalesced, "coalesced"),
        (each || counted, overflowed, "dropped by the source"),
        (true, strays, "never sent"),
    ];
    let mut broken: Vec<String> = rules
        .iter()
        .filter(|(is_promised, n, _)| *is_promised && *n > 0)
        .map(|(_, n, what)| format!("{n} {what}"))
        .collect();
    if promise == Promise::Merged && counts.sent > 0 && counts.received == 0 {
        broken.push("no event arrived".into());
    }
    broken
}

pub(crate) fn judge(test: &Test, observed: Observed) -> SuiteRan {
    let Observed { ledger, sent, page_faults, mode_switches, mut inconclusive, notes } = observed;
    let (counts, lateness) = ledger.close(sent);
    let mut broken = match test.what {
        // A missed release is a missed deadline, and its number is known, so it affects only the class.
        What::Periodic | What::Faults | What::Alarms => kept(Promise::Counted, &counts),
        _ => kept(test.promise, &counts),
    };
    if let Some(switches) = mode_switches.filter(|n| *n > 0) {
        broken.push(format!("{switches} unwanted mode switches"));
    }
    match (test.what, page_faults) {
        (What::Faults, Some(0)) => {}
        (What::Faults, Some(faults)) => broken.push(format!("{faults} page faults after the first release")),
        (What::Faults, None) => inconclusive.push("this backend cannot count page faults".into()),
        _ => {}
    }
    // Without priority inheritance every wait for the mutex is long. A stall of the machine makes a single wait long,
    // which affects only the class.
    if test.what == What::Inversion && counts.late * 2 > sent {
        broken.push(format!("{} of {sent} waits were as long as without inheritance", counts.late));
    }
    if sent == 0 {
        inconclusive.push("no event was sent: measure longer (--duration)".into());
    }
    let class = if inconclusive.is_empty() { classify(&counts) } else { None };
    SuiteRan { counts, lateness, page_faults, mode_switches, class, broken, inconclusive, notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;
    use punctual_units::Nanos;

    fn counts(change: impl Fn(&mut EventCounts)) -> EventCounts {
        let mut counts = EventCounts { sent: 1000, received: 1000, ..EventCounts::default() };
        change(&mut counts);
        counts
    }

    #[test]
    fn few_are_one_in_a_thousand() {
        assert_eq!(classify(&counts(|_| ())), Some(SuiteClass::Hard));
        assert_eq!(classify(&counts(|c| c.late = 1)), Some(SuiteClass::Firm));
        assert_eq!(classify(&counts(|c| (c.late, c.lost) = (1, 1))), Some(SuiteClass::Soft));
        assert_eq!(classify(&counts(|c| c.overflowed = 2)), Some(SuiteClass::Soft));
        assert_eq!(classify(&EventCounts::default()), None);
    }

    #[test]
    fn a_promise_is_broken_by_what_it_excludes() {
        let all = counts(|c| {
            (c.lost, c.doubled, c.reordered, c.coalesced, c.overflowed) = (1, 2, 3, 4, 5);
        });
        let broken = |promise| kept(promise, &all).join(", ");
        assert_eq!(broken(Promise::Each), "1 lost, 2 doubled, 3 out of order, 4 coalesced, 5 dropped by the source");
        assert_eq!(broken(Promise::Bounded), "1 lost, 2 doubled, 3 out of order, 4 coalesced");
        assert_eq!(broken(Promise::Counted), "1 lost, 2 doubled, 3 out of order, 5 dropped by the source");
        assert_eq!(broken(Promise::Merged), "");
        assert_eq!(kept(Promise::Merged, &counts(|c| c.received = 0)), ["no event arrived"]);
        assert_eq!(broken(Promise::Nothing), "");
        assert_eq!(kept(Promise::Nothing, &counts(|c| c.strays = 6)), ["6 never sent"]);
    }

    fn faults_test(page_faults: Option<u64>, mode_switches: Option<u64>) -> SuiteRan {
        let mut ledger = Ledger::new(1, Nanos(9));
        ledger.arrived(0, Nanos(1));
        let test = crate::find("page-faults").unwrap();
        judge(&test, Observed { page_faults, mode_switches, ..Observed::new(ledger, 1) })
    }

    #[test]
    fn faults_and_mode_switches_are_failures_and_the_unknown_is_no_pass() {
        assert!(faults_test(Some(0), Some(0)).broken.is_empty());
        assert_eq!(faults_test(Some(2), None).broken, ["2 page faults after the first release"]);
        assert_eq!(faults_test(Some(0), Some(1)).broken, ["1 unwanted mode switches"]);
        let unknown = faults_test(None, None);
        assert!(unknown.class.is_none() && unknown.inconclusive.len() == 1);
    }

    fn inversion(waits_ms: [u64; 5]) -> SuiteRan {
        let mut ledger = Ledger::new(5, Nanos::from_millis(120));
        for (number, wait) in (0..).zip(waits_ms) {
            ledger.arrived(number, Nanos::from_millis(wait));
        }
        judge(&crate::find("pi-inversion").unwrap(), Observed::new(ledger, 5))
    }

    #[test]
    fn one_long_wait_is_a_stall_and_most_are_no_inheritance() {
        let stalled = inversion([20, 288, 21, 45, 20]);
        assert_eq!((stalled.broken.len(), stalled.class), (0, Some(SuiteClass::Soft)));
        let plain = inversion([219, 218, 20, 220, 221]);
        assert_eq!(plain.broken, ["4 of 5 waits were as long as without inheritance"]);
    }
}
