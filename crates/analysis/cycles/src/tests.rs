use super::*;
use proptest::prelude::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

fn wait(place: u32, release: Release, begin: u64, woken: u64, end: u64) -> Wait {
    Wait { place, release, begin: Nanos(begin), due: None, set: None, woken: Some(Nanos(woken)), end: Nanos(end) }
}

/// Returns the waits of a loop with a period of 1 ms that works for 200 µs.
fn controller(cycles: u64) -> Vec<Wait> {
    (1..=cycles).map(|n| wait(1, Release::AbsoluteSleep, n * MS - 800 * US, n * MS, n * MS + 10 * US)).collect()
}

#[test]
fn a_timer_loop_has_its_period_and_its_cycles() {
    let found = Cycles::find(&controller(100)).unwrap();
    assert_eq!((found.place, found.release, found.ambiguous_with), (1, Release::AbsoluteSleep, None));
    let grid = found.grid.unwrap();
    assert_eq!((grid.period, grid.jitter_max, grid.skipped), (Nanos(MS), Nanos(0), 0));
    assert_eq!(found.cycles.len(), 99);
    let first = found.cycles[0];
    assert_eq!(
        (first.release, first.is_due, first.start, first.end),
        (Nanos(MS), false, Nanos(MS + 10 * US), Nanos(MS + 200 * US))
    );
    assert_eq!(found.at(Nanos(MS + 100 * US)), Some(0));
    assert_eq!(found.at(Nanos(MS + 300 * US)), None);
    assert_eq!(found.at(Nanos(5)), None);
    assert_eq!(found.at(Nanos(101 * MS)), None);
}

#[test]
fn a_release_is_when_the_timer_was_due() {
    let mut waits = controller(100);
    for (n, one) in waits.iter_mut().enumerate() {
        one.due = Some(Nanos((n as u64 + 1) * MS));
        one.woken = one.woken.map(|woken| Nanos(woken.0 + 5 * US));
    }
    // Cycle 30 works until after the next release, so the thread does not sleep before that one.
    waits[30].begin = Nanos(31 * MS + 400 * US);
    (waits[30].woken, waits[30].end) = (None, Nanos(31 * MS + 402 * US));
    waits[31].begin = Nanos(31 * MS + 600 * US);
    let found = Cycles::find(&waits).unwrap();
    let grid = found.grid.unwrap();
    assert_eq!(
        (grid.period, grid.phase, grid.jitter, grid.jitter_max),
        (Nanos(MS), Nanos(0), Nanos(5 * US), Nanos(402 * US))
    );
    assert_eq!(grid.skipped, 0);
    let (late, before) = (found.cycles[30], found.cycles[29]);
    assert_eq!((late.release, late.is_due, late.woken, before.end), (Nanos(31 * MS), true, None, waits[30].begin));
    assert_eq!(found.at(Nanos(31 * MS + 300 * US)), Some(29));
    assert_eq!(found.at(Nanos(31 * MS + 401 * US)), Some(30));
    assert_eq!(found.at(Nanos(40 * MS + 2 * US)), Some(39));
}

#[test]
fn an_event_loop_is_released_by_its_timer() {
    // Each timer is followed by one or two events, for which the thread waits at the same place.
    let mut waits = Vec::new();
    for n in 1..=100 {
        let timer = wait(1, Release::Timerfd, n * MS - 400 * US, n * MS + 5 * US, n * MS + 10 * US);
        waits.push(Wait { due: Some(Nanos(n * MS)), ..timer });
        for k in 1..=1 + n % 2 {
            let woken = n * MS + (150 + n * 7_919 % 13 * 5) * k * US;
            waits.push(wait(1, Release::Descriptors, n * MS + (100 + k) * US, woken, woken + 5 * US));
        }
    }
    let found = Cycles::find(&waits).unwrap();
    assert_eq!((found.release, found.cycles.len(), found.may_drift), (Release::Timerfd, 99, false));
    assert_eq!(found.grid.unwrap().period, Nanos(MS));
    assert_eq!((found.cycles[0].release, found.cycles[0].end), (Nanos(MS), Nanos(2 * MS - 400 * US)));
    // Timers without a period are events like others, of which the more frequent kind counts.
    for (n, one) in waits.iter_mut().filter(|one| one.due.is_some()).enumerate() {
        one.due = Some(Nanos(one.begin.0 - n as u64 * n as u64 % 13 * 70 * US));
    }
    assert_eq!(Cycles::find(&waits).unwrap().release, Release::Descriptors);
}

#[test]
fn times_from_now_drift_where_the_thread_waits_for_locks_but_not_for_events() {
    let drifts = |elsewhere: u64| {
        let (mut end, mut waits) = (0, Vec::new());
        for n in 1..=100 {
            let due = end + 900 * US;
            let other = end + 20 * US;
            waits.push(wait(2, Release::Futex, other, other + elsewhere, other + elsewhere + US));
            let begin = other + elsewhere + (10 + n * 7_919 % 13) * US;
            end = due + (5 + n * n % 11 * 4) * US;
            let timer = wait(1, Release::AbsoluteSleep, begin, due, end);
            waits.push(Wait { due: Some(Nanos(due)), set: Some(Nanos(begin)), ..timer });
        }
        Cycles::find(&waits).unwrap().may_drift
    };
    assert_eq!((drifts(20 * US), drifts(40 * US), drifts(300 * US)), (true, false, false));
}

#[test]
fn a_timer_that_an_event_starts_does_not_drift() {
    // Starts a timer of 3.8 ms after each event, or after each timer; one event is between two timers in both cases.
    let drifts = |after_event: bool| {
        let (mut end, mut waits) = (MS, Vec::new());
        for n in 1..=100 {
            let event = end + (200 + n * 7_919 % 13 * 20) * US;
            let started = if after_event { event + 5 * US } else { end } + 20 * US;
            let due = started + 3_800 * US;
            waits.push(wait(1, Release::Descriptors, end + 30 * US, event, event + 5 * US));
            end = due + (5 + n * n % 11 * 4) * US;
            let timer = wait(1, Release::Timerfd, event + 40 * US, due, end);
            waits.push(Wait { due: Some(Nanos(due)), set: Some(Nanos(started)), ..timer });
        }
        Cycles::find(&waits).unwrap().may_drift
    };
    assert_eq!((drifts(true), drifts(false)), (false, true));
}

#[test]
fn a_timeout_now_and_then_is_no_release() {
    let mut waits: Vec<Wait> =
        (1..=40).map(|n| wait(1, Release::Futex, n * MS, n * MS + 400 * US, n * MS + 410 * US)).collect();
    waits.iter_mut().step_by(4).for_each(|one| one.release = Release::AbsoluteSleep);
    assert_eq!(Cycles::find(&waits).unwrap().release, Release::Futex);
}

#[test]
fn a_wait_within_the_cycle_is_not_its_release() {
    let mut waits = Vec::new();
    for (n, outer) in controller(50).into_iter().enumerate() {
        let at = outer.end.0;
        waits.push(outer);
        waits.push(wait(2, Release::Futex, at, at + 40 * US, at + 50 * US));
        if n % 2 == 0 {
            waits.push(wait(3, Release::RelativeSleep, at + 60 * US, at + 120 * US, at + 130 * US));
        }
    }
    let found = Cycles::find(&waits).unwrap();
    assert_eq!((found.place, found.ambiguous_with), (1, None));
}

#[test]
fn a_timer_wins_over_an_event_of_the_same_length_and_two_events_are_ambiguous() {
    let two = |first, second| {
        let mut waits = Vec::new();
        for n in 1..30 {
            waits.push(wait(1, first, n * MS, n * MS + 450 * US, n * MS + 460 * US));
            waits.push(wait(2, second, n * MS + 500 * US, n * MS + 940 * US, n * MS + 950 * US));
        }
        Cycles::find(&waits).unwrap()
    };
    let found = two(Release::Socket, Release::Timerfd);
    assert_eq!((found.place, found.ambiguous_with), (2, None));
    let found = two(Release::Socket, Release::Futex);
    assert_eq!((found.place, found.ambiguous_with), (1, Some(2)));
    let found = two(Release::RelativeSleep, Release::RelativeSleep);
    assert_eq!((found.place, found.ambiguous_with), (1, Some(2)));
}

#[test]
fn events_at_random_have_no_period() {
    let times = [0u64, 3, 4, 11, 12, 25, 26, 31, 50, 52].map(|n| (n * MS, n * MS));
    assert_eq!(Grid::fit(&times), None);
    // Bursts have equal short intervals, and no common instants.
    let bursts: Vec<(u64, u64)> = (0..200u64)
        .flat_map(|n| (0..8).map(move |k| n * 10_370 * US + n * n % 61 * 13 * US + k * 82 * US))
        .map(|t| (t, t))
        .collect();
    assert_eq!(Grid::fit(&bursts), None);
    let waits: Vec<Wait> = times.iter().map(|(t, _)| wait(7, Release::Socket, *t, *t + MS / 2, *t + MS / 2)).collect();
    let found = Cycles::find(&waits).unwrap();
    assert!(found.grid.is_none() && found.cycles.len() == 9);
}

#[test]
fn few_or_no_waits_make_no_cycles() {
    assert_eq!(Cycles::find(&[]), None);
    assert_eq!(Cycles::find(&controller(3)), None);
    let never_slept: Vec<Wait> = controller(50).into_iter().map(|w| Wait { woken: None, ..w }).collect();
    assert_eq!(Cycles::find(&never_slept), None);
    assert_eq!(Grid::fit(&[(5, 5); 20]), None);
}

proptest! {
    /// Releases are late by up to 10 % of the period, and some are skipped.
    #[test]
    fn a_period_is_found_within_two_percent(
        period in 100_000u64..100_000_000,
        phase in 0u64..100_000_000,
        late in prop::collection::vec(0.0f64..0.1, 40..400),
        skip in 7usize..50,
    ) {
        let releases: Vec<(u64, u64)> = late
            .iter()
            .enumerate()
            .filter(|(n, _)| n % skip != skip - 1)
            .map(|(n, share)| phase + n as u64 * period + (share * period as f64) as u64)
            .map(|time| (time, time))
            .collect();
        let grid = Grid::fit(&releases).unwrap();
        let error = (grid.period.0 as f64 - period as f64).abs();
        prop_assert!(error <= period as f64 * 0.02, "{grid:?}, {period}");
        let skipped = (0..late.len()).filter(|n| n % skip == skip - 1 && *n + 1 != late.len()).count() as u64;
        prop_assert_eq!(grid.skipped, skipped);
        prop_assert!(grid.jitter_max.0 <= period / 5);
    }

    #[test]
    fn any_waits_are_answered(raw in prop::collection::vec((0u32..4, any::<u64>(), any::<u64>(), any::<bool>()), 0..60)) {
        let waits: Vec<Wait> = raw
            .iter()
            .map(|(place, begin, end, slept)| Wait {
                place: *place,
                release: Release::Socket,
                begin: Nanos(*begin),
                due: slept.then_some(Nanos(*end / 2)),
                set: slept.then_some(Nanos(*end / 2)),
                woken: slept.then_some(Nanos(*end)),
                end: Nanos(*end),
            })
            .collect();
        if let Some(found) = Cycles::find(&waits) {
            let _ = (found.at(Nanos(5)), found.span());
        }
    }
}
