//! Replays ordinary threads with immediate balancing, using artificial spans.

use proptest::prelude::*;
use punctual_model::{Doing, GanttSpan};
use punctual_sched::predict::replay::{Available, Idle, Ran, replay};
use punctual_units::{CpuId, CpuList, Nanos, Scheduling};

const MS: u64 = 1_000_000;

fn span(thread: usize, cpu: u32, doing: Doing, from: u64, to: u64) -> GanttSpan {
    GanttSpan { thread, cpu: Some(CpuId(cpu)), doing, from_ns: Nanos(from * MS), to_ns: Nanos(to * MS) }
}

fn ran(thread: usize, cpus: u32, on_cpu: u64) -> Ran {
    Ran {
        thread,
        scheduling: Scheduling::Other { nice: 0 },
        cpus: (0..cpus).map(CpuId).collect::<CpuList>(),
        released: Nanos::ZERO,
        on_cpu: Nanos(on_cpu * MS),
    }
}

fn idle(cpu: u32, from: u64, to: u64) -> Idle {
    Idle { cpu: CpuId(cpu), from: Nanos(from * MS), to: Nanos(to * MS) }
}

fn ends(ordinary: &[Ran], spans: &[GanttSpan], room: Available<'_>) -> Vec<u64> {
    replay(ordinary, spans, room).into_iter().map(|end| (end.unwrap().0 + MS / 2) / MS).collect()
}

/// Thread 0 is a real-time thread on CPU 0 for 100 ms. Threads 1 and 2 have 50 ms of work each.
#[test]
fn two_threads_share_what_a_real_time_one_leaves_however_they_were_placed() {
    let held = span(0, 0, Doing::Runs, 0, 100);
    let fair = [held, span(1, 1, Doing::Runs, 0, 50), span(2, 1, Doing::Runs, 50, 100)];
    assert_eq!(ends(&[ran(1, 2, 50), ran(2, 2, 50)], &fair, Available::Left(&[])), [100, 100]);
    let behind =
        [held, span(1, 1, Doing::Runs, 0, 50), span(2, 0, Doing::Waits, 0, 100), span(2, 0, Doing::Runs, 100, 150)];
    let left = [idle(1, 50, 150)];
    for room in [Available::Left(&left), Available::Ours] {
        assert_eq!(ends(&[ran(1, 2, 50), ran(2, 2, 50)], &behind, room), [100, 100]);
    }
}

#[test]
fn a_thread_that_was_left_behind_ended_later_than_it_had_to() {
    let spans = [span(0, 0, Doing::Runs, 0, 100), span(1, 0, Doing::Waits, 0, 100), span(1, 0, Doing::Runs, 100, 150)];
    assert_eq!(ends(&[ran(1, 2, 50)], &spans, Available::Left(&[idle(1, 0, 150)])), [50], "CPU 1 was idle");
    assert_eq!(ends(&[ran(1, 2, 50)], &spans, Available::Left(&[])), [150], "tasks of others had it");
    assert_eq!(ends(&[ran(1, 1, 50)], &spans, Available::Ours), [150], "it may not go there");
}

#[test]
fn tasks_of_others_take_time_and_sleep_is_no_work() {
    let spans = [span(1, 0, Doing::Runs, 0, 10), span(1, 0, Doing::Waits, 10, 30), span(1, 0, Doing::Runs, 30, 70)];
    let of_both = |spans: &[GanttSpan]| {
        [Available::Left(&[]), Available::Ours].map(|room| ends(&[ran(1, 1, 50)], spans, room)[0])
    };
    assert_eq!(of_both(&spans), [70, 50]);
    let slept = [span(1, 0, Doing::Sleeps, 0, 15), span(1, 0, Doing::Runs, 15, 65)];
    assert_eq!(of_both(&slept), [65, 65]);
}

#[test]
fn a_heavier_thread_has_more_of_a_cpu_and_one_released_later_comes_later() {
    let nice = Ran { scheduling: Scheduling::Other { nice: 5 }, ..ran(2, 1, 50) };
    let [heavy, light] = ends(&[ran(1, 1, 50), nice], &[], Available::Ours)[..] else { panic!() };
    assert_eq!(light, 100);
    // 1.25 to the power of 5 is 3.05, so while one thread has 50 ms, the other has 16.4 ms.
    assert_eq!(heavy, 66);
    let late = Ran { released: Nanos(40 * MS), ..ran(2, 1, 50) };
    assert_eq!(ends(&[ran(1, 1, 50), late], &[], Available::Ours), [60, 100]);
}

#[test]
fn a_thread_that_may_run_nowhere_has_no_end() {
    assert_eq!(replay(&[Ran { cpus: CpuList::default(), ..ran(0, 1, 5) }], &[], Available::Ours), [None]);
}

proptest! {
    /// Work is neither lost nor done twice: on one CPU, the last end is the sum of all work and of the time for which a
    /// real-time thread ran before it.
    #[test]
    fn work_is_conserved_on_one_cpu(work in prop::collection::vec(1u64..200, 1..5), holes in prop::collection::vec((1u64..40, 1u64..40), 0..6)) {
        let ordinary: Vec<Ran> = work.iter().enumerate().map(|(n, ms)| ran(n, 1, *ms)).collect();
        let (mut at, mut spans) = (0, Vec::new());
        let mut last: u64 = work.iter().sum();
        for (gap, length) in holes {
            let from = at + gap;
            if from < last {
                last += length;
            }
            at = from + length;
            spans.push(span(99, 0, Doing::Runs, from, at));
        }
        let all = ends(&ordinary, &spans, Available::Ours);
        prop_assert_eq!(all.iter().max().copied(), Some(last));
        for (end, ms) in all.iter().zip(&work) {
            prop_assert!(end >= ms);
        }
    }
}
