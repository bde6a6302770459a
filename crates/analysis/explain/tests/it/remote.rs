//! Wakeups of threads on another CPU, of which the text has few lines or none.

use crate::old_kernels::explained;
use punctual_model::{Class, Confidence};

fn verdict(text: &str) -> String {
    explained(text).victims.first().map_or_else(String::new, |victim| victim.verdict.clone())
}

/// `io` is woken on CPU 2 and runs there; `log` is woken for `target`.
fn two(target: u32, more: &str) -> String {
    format!(
        "  kworker/1:1-31 [001] 20.000100: sched_waking: comm=io pid=400 prio=120 target_cpu=002\n  \
         <idle>-0 [002] 20.000160: sched_switch: swapper/2:0 [120] R ==> io:400 [120]\n  \
         io-400 [002] 20.000300: sched_waking: comm=log pid=500 prio=120 target_cpu={target:03}\n{more}  \
         io-400 [002] 20.030300: sched_switch: io:400 [120] S ==> swapper/2:0 [120]\n"
    )
}

#[test]
fn nothing_is_said_of_a_thread_on_a_cpu_without_lines() {
    let said = verdict(&two(9, ""));
    assert!(!said.contains("log"), "{said}");
    let said = verdict(&two(1, ""));
    assert!(
        said.contains("log (nice 0, pid 500) was woken but had not run when the trace ended, for 30.0 ms"),
        "{said}"
    );
}

#[test]
fn a_thread_that_is_woken_again_has_run_in_between() {
    let again = "  io-400 [002] 20.010300: sched_waking: comm=log pid=500 prio=120 target_cpu=001\n";
    let said = verdict(&two(1, again));
    assert!(!said.contains("log"), "{said}");
    // Once it is seen to run, the next wakeup counts.
    let seen = "  <idle>-0 [001] 20.010310: sched_switch: swapper/1:0 [120] R ==> log:500 [120]\n  \
                log-500 [001] 20.010320: sched_switch: log:500 [120] S ==> swapper/1:0 [120]\n  \
                io-400 [002] 20.010400: sched_waking: comm=log pid=500 prio=120 target_cpu=001\n";
    let said = verdict(&two(1, &format!("{again}{seen}")));
    assert!(
        said.contains("log (nice 0, pid 500) was woken but had not run when the trace ended, for 19.9 ms"),
        "{said}"
    );
}

#[test]
fn a_cpu_whose_first_line_is_the_switch_from_idle_was_most_likely_idle() {
    let found = explained(&two(9, ""));
    let cause = &found.victims[0].causes[0];
    assert_eq!((cause.class, cause.confidence), (Class::IdleExit, Confidence::Suspected));
    let said = &found.victims[0].verdict;
    assert!(
        said.contains("io (nice 0, pid 400) on CPU 2, 60.0 µs late: suspected: leaving idle took 60.0 µs"),
        "{said}"
    );
    assert!(said.contains("record cpu_idle, ipi and irq_vectors events"), "{said}");
    // Nothing leaves idle for so long.
    let said = verdict(&two(9, "").replace("20.000100", "19.900100"));
    assert!(
        said.contains("100 ms late: the idle task had the CPU at the end of it; no line shows since when"),
        "{said}"
    );
    // A thread that had the CPU is named instead.
    let said = verdict(&two(9, "").replace("<idle>-0", "job-7").replace("swapper/2:0 [120] R", "job:7 [120] S"));
    assert!(said.contains("job (nice 0, pid 7) had the CPU at the end of it"), "{said}");
}

fn polled(waking: u64, wakeup: u64, switch: u64, between: &str) -> String {
    format!(
        "  job-70 [003] 5.000010: sched_switch: job:70 [120] S ==> swapper/3:0 [120]\n  \
         peer-80 [001] 5.{waking:06}: sched_waking: comm=job pid=70 prio=120 target_cpu=003\n{between}  \
         peer-80 [001] 5.{wakeup:06}: sched_wakeup: job:70 [120] success=1 CPU:003\n  \
         <idle>-0 [003] 5.{switch:06}: sched_switch: swapper/3:0 [120] R ==> job:70 [120]\n"
    )
}

#[test]
fn the_time_that_the_waker_needs_is_not_that_of_the_idle_cpu() {
    let without_ipi = "  peer-80 [001] 5.000114: sched_wake_idle_without_ipi: cpu=3\n";
    let found = explained(&polled(100, 116, 118, without_ipi));
    let causes: Vec<_> = found.victims[0].causes.iter().map(|cause| (cause.class, cause.tid, cause.ns)).collect();
    assert_eq!(causes, [(Class::Waker, Some(80), 16_000), (Class::IdleExit, None, 2_000)]);
    let said = &found.victims[0].verdict;
    assert!(said.contains("18.0 µs late: no longer than the wakeup of an idle CPU usually takes; peer (pid 80), which woke it, took 16.0 µs"), "{said}");
    // The idle loop polls, so no idle state has to be left.
    let found = explained(&polled(100, 102, 182, "  peer-80 [001] 5.000101: sched_wake_idle_without_ipi: cpu=3\n"));
    assert_eq!(found.victims[0].causes[0].class, Class::Unaccounted);
    assert!(found.victims[0].verdict.contains("on a CPU that was awake"), "{}", found.victims[0].verdict);
    // Without it, an idle state is suspected.
    let said = verdict(&polled(100, 102, 182, ""));
    assert!(said.contains("suspected: leaving idle took 82.0 µs"), "{said}");
    // A long call is the cause.
    let said = verdict(&polled(100, 190, 195, ""));
    assert!(said.contains("peer (pid 80), which woke it, took 90.0 µs"), "{said}");
}

#[test]
fn what_is_left_out_behind_a_wakeup_does_not_concern_it() {
    let whole = polled(100, 102, 182, "");
    let behind = format!("{whole}  ...\n  job-70 [003] 5.000400: sched_switch: job:70 [120] S ==> swapper/3:0 [120]\n");
    let found = explained(&behind);
    assert!(found.victims[0].doubts.is_empty(), "{:?}", found.victims[0].doubts);
    assert!(found.victims[0].verdict.contains("suspected: leaving idle took 82.0 µs"), "{}", found.victims[0].verdict);
    let inside = polled(100, 102, 182, "  ...\n");
    let found = explained(&inside);
    assert!(
        found.victims[0].doubts.iter().any(|doubt| doubt.starts_with("the text leaves out lines of CPU")),
        "{found:?}"
    );
    assert!(found.victims[0].causes.iter().all(|cause| cause.confidence == Confidence::Suspected));
}

/// `late` waits on CPU 1 while `drv` runs there with interrupts off; CPU 0 takes it over.
fn taken_over(flags: &str, mover: &str) -> String {
    let header = "preemption latency trace v1.1.5 on 2.6.15-rt1\n latency: 5100 us, #6/6, CPU#0 | (M:preempt VP:0, KP:1, SP:1 HP:1 #P:2)\n    \
                  | task: late-900 (uid:0 nice:0 policy:1 rt_prio:50)\n   cmd     pid ||||| time  |   caller\n";
    let line = |thread: &str, flags: &str, us: u64, body: &str| format!("{thread}  {flags}  {us}us : {body}\n");
    [
        header.to_owned(),
        line("     drv-300", flags, 0, "read_port (poll_ports)"),
        line("     drv-300", flags, 3, "read_port (poll_ports)"),
        line("softirq--9", "0Dnh3", 5080, mover),
        line("softirq--9", "0Dnh2", 5081, "preempt_schedule (_raw_spin_unlock)"),
        line("    late-900", "0Dnh2", 5083, "__switch_to (__schedule)"),
        line("    late-900", "0Dnh2", 5084, "__schedule <softirq--9> (60 40)"),
    ]
    .concat()
}

#[test]
fn a_thread_that_another_cpu_took_over_waited_for_whoever_kept_its_own() {
    let said = verdict(&taken_over("1Dnh3", "enqueue_task (move_tasks)"));
    assert!(said.contains("suspected: drv (pid 300) kept interrupts off for 5.08 ms"), "{said}");
    assert!(
        said.contains("last traced in read_port ← poll_ports on CPU 1; then softirq- (pid 9) took it over to CPU 0"),
        "{said}"
    );
    // Nothing shows that it waited there.
    for (flags, mover) in [
        ("1Dnh3", "enqueue_task (activate_task)"),
        ("1D.h3", "enqueue_task (move_tasks)"),
        ("1.n..", "enqueue_task (move_tasks)"),
    ] {
        let said = verdict(&taken_over(flags, mover));
        assert!(!said.contains("drv") && said.contains("softirq- (pid 9) had the CPU at the end of it"), "{said}");
    }
}
