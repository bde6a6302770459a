//! Compares predictions with published values and closed forms.

use proptest::prelude::*;
use punctual_model::RtLimit;
use punctual_sched::body::{Action, Body};
use punctual_sched::predict::{Scheduler, Task, formula, simulate};
use punctual_units::{CpuList, Nanos, Scheduling};

fn fifo() -> Scheduling {
    Scheduling::Fifo { priority: 80.try_into().unwrap() }
}

fn rr() -> Scheduling {
    Scheduling::Rr { priority: 80.try_into().unwrap() }
}

const OTHER: Scheduling = Scheduling::Other { nice: 0 };

fn task(scheduling: Scheduling, seconds: f64, cpus: &str) -> Task {
    let body = Body::run(Nanos((seconds * 1e9) as u64));
    let cpus: CpuList = cpus.parse().unwrap();
    let home = cpus.iter().next().unwrap();
    Task { scheduling, cpus, home, release: Nanos::ZERO, body, charged: 1.0 }
}

fn scheduler(limited: bool) -> Scheduler<'static> {
    let (runtime_ns, period_ns) = (Nanos::from_millis(950), Nanos::from_secs(1));
    let limit = RtLimit { runtime_ns, period_ns, by: "a test".into(), always: false, fair_server: true };
    Scheduler {
        quantum: Nanos::from_millis(100),
        limit: limited.then_some(limit),
        phase: None,
        tick: Nanos::from_millis(1),
        first_tick: Nanos::from_millis(1),
        slice: Nanos::from_micros(700),
        realtime: false,
        grouped: false,
        seed: 0,
        foreign: &[],
        releaser: None,
        horizon: Nanos::from_secs(100),
    }
}

/// RT throttling takes the CPU away even if no other task is runnable, and free ordinary threads may use it during that
/// time. Throttling begins at the first tick after the runtime is used up, and the excess is taken from the next
/// period.
#[test]
fn throttling_holds_a_lone_thread_as_well() {
    let mut scheduler = scheduler(true);
    let ends = |scheduler: &Scheduler<'_>, tasks: &[Task]| -> Vec<f64> {
        simulate(tasks, scheduler).iter().map(|p| p.ends_ns.unwrap().as_secs_f64()).collect()
    };
    let lone = [task(fifo(), 2.0, "1")];
    near(&ends(&scheduler, &lone), &[2.0], 0.0005);
    let free = [task(fifo(), 3.5, "0-1"), task(OTHER, 1.0, "0-1"), task(OTHER, 1.0, "0-1")];
    let last = |ends: &[f64]| ends[1].max(ends[2]);
    let served = ends(&scheduler, &free);
    near(&[served[0], last(&served)], &[3.5, 2.0], 0.002);
    scheduler.limit.as_mut().unwrap().always = true;
    near(&ends(&scheduler, &lone), &[2.099], 0.001);
    let throttled = ends(&scheduler, &free);
    near(&[throttled[0], last(&throttled)], &[3.649, 1.95], 0.002);
}

/// Whether a thread with slightly more work than the runtime is throttled depends on the start of the period.
#[test]
fn a_period_that_began_earlier_spares_a_short_thread() {
    let mut scheduler = scheduler(true);
    scheduler.limit.as_mut().unwrap().always = true;
    let end = |phase: Option<u64>| {
        let scheduler = Scheduler { phase: phase.map(Nanos::from_millis), ..scheduler.clone() };
        simulate(&[task(fifo(), 0.98, "1")], &scheduler)[0].ends_ns.unwrap().as_secs_f64()
    };
    near(&[None, Some(0), Some(500), Some(20), Some(999)].map(end), &[1.0295, 1.0295, 0.98, 1.0095, 1.0295], 0.0006);
}

fn ends(tasks: &[Task], limited: bool) -> Vec<f64> {
    simulate(tasks, &scheduler(limited)).iter().map(|p| p.ends_ns.unwrap().as_secs_f64()).collect()
}

#[track_caller]
fn near(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (f, w) in found.iter().zip(wanted) {
        assert!((f - w).abs() <= tolerance, "{found:?}, wanted {wanted:?}");
    }
}

/// The values of `sched_pred` in stats-vectors.json. The measured values are from a Raspberry Pi 5.
#[test]
fn the_five_published_cases_are_predicted_as_in_the_vectors() {
    let three = |work: [f64; 3], policies: [Scheduling; 3]| {
        work.into_iter().zip(policies).map(|(work, policy)| task(policy, work, "1")).collect::<Vec<Task>>()
    };
    let equal = [2.27; 3];
    let foo = ends(&three(equal, [fifo(), OTHER, OTHER]), true);
    near(&foo, &[2.37, 6.81, 6.81], 0.002);
    near(&foo, &[2.32, 6.81, 6.80], 0.051);
    let ffo = ends(&three(equal, [fifo(), fifo(), OTHER]), true);
    near(&ffo, &[2.37, 4.74, 6.81], 0.002);
    near(&ffo, &[2.37, 4.73, 6.80], 0.0151);
    let rro = ends(&three(equal, [rr(), rr(), OTHER]), true);
    near(&rro, &[4.67, 4.74, 6.81], 0.002);
    near(&rro, &[4.66, 4.73, 6.80], 0.0151);
    near(&ends(&three([7.96, 2.26, 2.26], [fifo(), OTHER, OTHER]), true), &[8.36, 12.48, 12.48], 0.002);
    near(&ends(&three([8.36, 2.06, 2.06], [fifo(), OTHER, OTHER]), false), &[8.36, 12.48, 12.48], 0.002);
}

#[test]
fn free_threads_spread_over_the_cpus() {
    let free = |policies: [Scheduling; 3], cpus: &str| policies.map(|policy| task(policy, 1.0, cpus));
    near(&ends(&free([fifo(), OTHER, OTHER], "0-3"), true), &[1.0, 1.0, 1.0], 0.001);
    // One ordinary thread waits behind the real-time one until balancing moves it to the other CPU, where both share the
    // rest of the first second. Afterwards each has a CPU.
    let found = ends(&free([fifo(), OTHER, OTHER], "0-1"), true);
    near(&[found[0], found[1] + found[2]], &[1.0, 3.0], 0.002);
    assert!(found[1..].iter().all(|end| (1.25..1.75).contains(end)), "{found:?}");
    near(&ends(&free([fifo(), fifo(), OTHER], "0-1"), false), &[1.0, 1.0, 2.0], 0.002);
}

#[test]
fn who_sleeps_under_fifo_loses_its_turn_to_an_equal() {
    let mut first = task(fifo(), 0.0, "1");
    first.body.actions = vec![
        Action::Run(Nanos::from_millis(50)),
        Action::Sleep(Nanos::from_millis(5)),
        Action::Run(Nanos::from_millis(300)),
    ];
    let second = Task { release: Nanos::from_millis(4), ..task(fifo(), 0.2, "1") };
    // The second thread begins when the first one sleeps, and keeps the CPU until it ends.
    near(&ends(&[first, second], false), &[0.55, 0.246], 0.001);
}

#[test]
fn more_weight_is_a_larger_share() {
    let nice = |nice, work| task(Scheduling::Other { nice }, work, "0");
    // The weights are 1024 and 335.5, so the favoured thread gets 0.753 of the CPU.
    near(&ends(&[nice(0, 0.753), nice(5, 0.5)], false), &[1.0, 1.253], 0.003);
}

#[test]
fn a_deadline_thread_has_its_budget_each_period_and_no_more() {
    let ms = Nanos::from_millis;
    let server = Scheduling::Deadline { runtime_ns: ms(10), deadline_ns: ms(100), period_ns: ms(100) };
    let tasks = [task(server, 0.025, "0"), task(OTHER, 0.1, "0")];
    let bound = formula::cbs(ms(25), ms(10), ms(100)).as_secs_f64();
    near(&ends(&tasks, false), &[bound, 0.12], 0.001);
}

fn deadline(runtime: u64, deadline: u64, period: u64) -> Scheduling {
    let ms = Nanos::from_millis;
    Scheduling::Deadline { runtime_ns: ms(runtime), deadline_ns: ms(deadline), period_ns: ms(period) }
}

#[test]
fn the_earliest_deadline_runs_first_whatever_its_period() {
    let tasks =
        [task(deadline(20, 100, 100), 0.02, "0"), task(deadline(20, 30, 400), 0.02, "0"), task(fifo(), 0.01, "0")];
    near(&ends(&tasks, false), &[0.04, 0.02, 0.05], 0.001);
}

/// dl_check_constrained_dl(): a thread that is late once, by 2 ms, is late in every later period.
#[test]
fn a_late_activation_puts_the_next_one_off_if_the_deadline_is_before_the_period() {
    let ms = Nanos::from_millis;
    let (run, sleep) = (Action::Run(ms(1)), |n| Action::Sleep(ms(n)));
    let actions = vec![run, sleep(11), run, sleep(7), run, sleep(7), run];
    let end = |scheduling| {
        let body = Body { actions: actions.clone(), loops: Some(1) };
        ends(&[Task { body, ..task(scheduling, 0.0, "0") }], false)
    };
    // The thread is activated at 12, so it runs not before 22, and then not before 32.
    near(&end(deadline(2, 3, 10)), &[0.033], 0.0005);
    near(&end(deadline(2, 10, 10)), &[0.029], 0.0005);
}

#[test]
fn the_fair_server_does_not_stop_deadline_threads() {
    let tasks = [task(deadline(960, 1000, 1000), 0.96, "0"), task(OTHER, 0.1, "0")];
    near(&ends(&tasks, true)[..1], &[0.96], 0.001);
}

#[test]
fn periodic_threads_keep_their_grid_and_endless_ones_end_with_the_experiment() {
    let periodic = |loops| Body {
        actions: vec![Action::Run(Nanos::from_millis(10)), Action::Timer(Nanos::from_millis(100))],
        loops,
    };
    let task = |loops| Task { body: periodic(loops), ..task(fifo(), 0.0, "0") };
    near(&ends(&[task(Some(3))], false), &[0.3], 0.001);
    near(&ends(&[task(None)], false), &[100.0], 0.001);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_cpu_is_never_idle_and_never_used_twice(work in proptest::collection::vec(1u64..400, 1..6), policies in proptest::collection::vec(0u8..4, 6)) {
        let policy = |n: usize| match policies[n] { 0 => fifo(), 1 => rr(), 2 => Scheduling::Fifo { priority: 10.try_into().unwrap() }, _ => OTHER };
        let tasks: Vec<Task> = work.iter().enumerate().map(|(n, ms)| task(policy(n), *ms as f64 / 1e3, "0")).collect();
        let ends = ends(&tasks, true);
        let last = ends.iter().fold(0.0, |a: f64, b| a.max(*b));
        let sum = work.iter().sum::<u64>() as f64 / 1e3;
        prop_assert!((last - sum).abs() < 0.002, "{} {}", last, sum);
        for (end, ms) in ends.iter().zip(&work) {
            prop_assert!(end + 0.0002 >= *ms as f64 / 1e3);
        }
    }

    #[test]
    fn fifo_and_rr_are_as_their_formulas_say(work in 1u64..900) {
        let pair = |policy| [task(policy, work as f64 / 1e3, "0"), task(policy, work as f64 / 1e3, "0")];
        let seconds = |n: Nanos| n.as_secs_f64();
        let ms = Nanos::from_millis(work);
        near(&ends(&pair(fifo()), false), &formula::fifo(&[ms, ms]).into_iter().map(seconds).collect::<Vec<_>>(), 0.001);
        let (first, second) = formula::rr_pair(ms, Nanos::from_millis(100));
        near(&ends(&pair(rr()), false), &[seconds(first), seconds(second)], 0.001);
    }
}
