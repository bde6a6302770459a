use super::*;
use crate::clock::timespec;
use crate::{Attributes, Miss, Scheduling};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const PERIOD: Nanos = Nanos(10 * MS);
const TOLERANCE: Nanos = Nanos(MS / 4);

/// The server of a task with deadline < period, as in dl_check_constrained_dl() and update_dl_entity().
struct Server {
    deadline: u64,
    activation: u64,
}

impl Server {
    /// Returns the time at which a wakeup at `at` gets the CPU.
    fn activate(&mut self, at: u64) -> u64 {
        let next = self.activation + PERIOD.0;
        let begins = if self.deadline < at && at < next { next } else { at };
        if begins >= self.deadline {
            (self.activation, self.deadline) = (begins, begins + 3 * MS);
        }
        begins
    }
}

fn activations() -> Activations {
    Activations { tolerance: TOLERANCE, delay: None, before: None, watching: false }
}

/// Returns the lateness of each job that ran, and the number of skipped releases, if the activations are late by
/// `delays`.
fn served(delays: &[u64], mut activations: Option<Activations>) -> (Vec<u64>, u64) {
    let mut releases = Releases::new(Nanos(100 * MS), PERIOD, Miss::Skip);
    let mut server = Server { deadline: 0, activation: 0 };
    let (mut ended, mut late, mut skipped) = (Nanos::ZERO, Vec::new(), 0);
    for delay in delays {
        let woke = Nanos(server.activate(releases.next().0.max(ended.0) + delay));
        let judged = activations.as_mut().and_then(|one| one.late(releases.next(), ended, woke));
        let cycle = match judged {
            Some(activated) => releases.give_up(woke, activated + PERIOD.saturating_sub(TOLERANCE + Nanos(1))),
            None => match releases.on_time(woke) {
                Some(cycle) => Late::Run(cycle),
                None => releases.late(woke),
            },
        };
        let Late::Run(cycle) = cycle else { panic!("releases are skipped") };
        late.push(cycle.lateness().0);
        skipped += cycle.skipped;
        ended = woke + Nanos(MS / 10);
    }
    (late, skipped)
}

#[test]
fn one_late_activation_costs_one_release() {
    let mut delays = [20_000; 30];
    delays[5] = 2 * MS;
    let (late, skipped) = served(&delays, None);
    assert!(late[6..].iter().all(|late| *late >= 2 * MS) && skipped == 0, "{late:?}");
    let (late, skipped) = served(&delays, Some(activations()));
    assert_eq!((late[5], skipped), (2 * MS, 1));
    assert!(late[6..].iter().all(|late| *late < TOLERANCE.0), "{late:?}");
}

proptest! {
    /// Whatever the delays, a job is never later than its own delay plus the tolerance.
    #[test]
    fn delays_do_not_add_up(delays in proptest::collection::vec(prop_oneof![8 => 0..TOLERANCE.0, 1 => 0..35 * MS], 1..200)) {
        let (late, _) = served(&delays, Some(activations()));
        for (delay, late) in delays.iter().zip(late) {
            prop_assert!(late <= delay + TOLERANCE.0, "{late} {delay}");
        }
    }
}

#[test]
fn a_job_that_ran_into_the_next_release_was_not_activated_late() {
    let mut one = activations();
    assert_eq!(one.late(Nanos(10 * MS), Nanos(11 * MS), Nanos(12 * MS)), None);
    assert_eq!(one.late(Nanos(10 * MS), Nanos(9 * MS), Nanos(10 * MS) + TOLERANCE), None);
    assert_eq!(one.late(Nanos(10 * MS), Nanos(9 * MS), Nanos(12 * MS)), Some(Nanos(12 * MS)));
}

#[test]
fn the_run_delay_of_this_thread_is_read_without_allocation() {
    // CONFIG_SCHED_INFO is set wherever schedstats or delay accounting is.
    let Some(mut delay) = RunDelay::open() else { return };
    let mut last = 0;
    let allocated = allocation_counter::measure(|| last = delay.read().unwrap());
    assert_eq!(allocated.count_total, 0);
    assert!(delay.read().unwrap() >= last);
}

/// The cycles include a late wakeup, after which the run delay is read.
#[test]
fn the_loop_allocates_nothing() {
    let period = Nanos::from_micros(200);
    let shared = Shared::new("counted", period);
    let mut prepared = Prepared::new(Jobs::Sleep(Some(TOLERANCE)));
    let mut releases = Releases::new(monotonic(), period, Miss::Skip);
    let job = Job { shared: &shared, cycles: 300, deadline: period.0, period };
    let late = Activations { tolerance: Nanos(1_000), delay: prepared.delay.take(), before: None, watching: false };
    let sleep = |target: &Timespec| clock_nanosleep_absolute(ClockId::Monotonic, target).is_ok();
    let mut ended = End::Stopped;
    let allocated = allocation_counter::measure(|| {
        ended = sleeping(&job, &mut releases, Some(late), sleep, |_| Next::Continue);
    });
    assert_eq!((allocated.count_total, ended), (0, End::Cycles));
    let counted = shared.record.counted();
    assert!(counted.skipped > 0 && counted.released == counted.ran + counted.skipped, "{counted}");
}

fn deadline(runtime: u64, deadline: u64) -> Scheduling {
    Scheduling::Deadline { runtime_ns: Nanos(runtime), deadline_ns: Nanos(deadline), period_ns: PERIOD }
}

/// Runs 40 cycles; cycle 10 sleeps 2 ms too long. Returns the lateness and index of each cycle that ran.
fn slept_too_long(tolerance: Option<Nanos>) -> (Vec<(u64, u64)>, u64) {
    std::thread::spawn(move || {
        let shared = Shared::new("late", PERIOD);
        let mut prepared = Prepared::new(Jobs::Sleep(tolerance));
        Attributes { scheduling: deadline(MS / 2, 3 * MS), cpu: None, lock_stack: false }.apply().unwrap();
        let mut releases = Releases::new(monotonic() + PERIOD + PERIOD, PERIOD, Miss::Skip);
        let (mut sleeps, mut ran) = (0, Vec::with_capacity(64));
        let late = |target: &Timespec| {
            sleeps += 1;
            let at = Nanos(target.tv_sec as u64 * 1_000 * MS + target.tv_nsec as u64);
            let at = if sleeps == 10 { at + Nanos(2 * MS) } else { at };
            clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at)).is_ok()
        };
        let job = Job { shared: &shared, cycles: 40, deadline: 3 * MS, period: PERIOD };
        let watched = tolerance.map(|tolerance| Activations {
            tolerance,
            delay: prepared.delay.take(),
            before: None,
            watching: false,
        });
        sleeping(&job, &mut releases, watched, late, |cycle| {
            ran.push((cycle.index, cycle.lateness().0));
            Next::Continue
        });
        (ran, shared.record.counted().skipped)
    })
    .join()
    .unwrap()
}

#[test]
#[ignore = "live: root, timing"]
fn the_kernel_makes_a_late_activation_permanent_and_a_skipped_release_ends_that() {
    let (ran, skipped) = slept_too_long(None);
    let late = |ran: &[(u64, u64)]| ran.iter().filter(|(index, late)| *index > 9 && *late > MS).count();
    println!("slept through: {ran:?}");
    assert!(late(&ran) > 25 && skipped == 0, "{ran:?}");
    let (ran, skipped) = slept_too_long(Some(Nanos(MS / 4)));
    println!("one given up: {ran:?}");
    assert_eq!(skipped, 1, "{ran:?}");
    assert_eq!(late(&ran), 0, "{ran:?}");
}
