//! Traces whose cause was once named wrongly, in the words of the users who reported this.

use punctual_explain::{Attribution, ExplainOptions, Explanation};
use punctual_trace::{Options, open_text};
use std::fs;
use std::path::Path;

fn explained(name: &str) -> Explanation {
    let folder = if name.starts_with('r') && name.as_bytes()[1].is_ascii_digit() { "reported" } else { "hostile" };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder).join(name);
    let text = fs::read(path).unwrap();
    let mut source = open_text(text.as_slice(), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions::default());
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    attribution.finish(source.info())
}

/// The verdict on the worst wakeup.
fn verdict(name: &str) -> String {
    explained(name).victims.first().map_or_else(String::new, |victim| victim.verdict.clone())
}

#[test]
fn where_no_real_time_thread_was_woken_another_is_followed() {
    let found = explained("r19_no_rt_thread.txt");
    let verdict = &found.victims[0].verdict;
    assert!(
        verdict.starts_with(
            "no whole wakeup of a real-time thread, apart from migration/N, is in the trace; of others: app (nice 0, pid 730) on CPU "
        ),
        "{verdict}"
    );
    assert!(verdict.contains("20.0 ms late: job (nice 0, pid "), "{verdict}");
    assert_eq!(
        found.chosen,
        "all threads (the trace has no whole wakeup of a real-time thread other than migration/N)"
    );
}

#[test]
fn each_is_told_by_what_it_was() {
    for (name, expected, never) in [
        ("r01_omission_same_task.txt", "suspected: alpha (RT 99, pid 600) ran 331 µs", "no cause"),
        ("r03_waker_prio_unused.txt", "gui (nice 0, pid 300) could not be preempted for 34.2 ms", "throttling"),
        ("r03_waker_prio_unused.txt", "last traced in delay_tsc ← sclhi", "no cause"),
        ("r04_wrapped_tracer_line.txt", "server (nice 0, pid 229) was current for 300 µs", "handle_irq"),
        ("r05_cut_before_switch.txt", "pid 88) kept interrupts off for 55.1 ms", "no cause"),
        ("r05_cut_before_switch.txt", "in isolate_lru_folios ← shrink_inactive_list", "no cause"),
        ("r08_rtla_without_cpu_line.txt", "52.9 µs late, CPU unknown: suspected: leaving idle took 48.2 µs", "CPU0"),
        ("r02_hardirq_on_idle.txt", "interrupt nic_interrupt took 146 µs", "leaving idle"),
        ("r06_remark_after_vector.txt", "interrupt local_timer took 101 µs", "leaving idle"),
        ("r07_irq_entry_cut_off.txt", "interrupt local_timer took 110 µs", "leaving idle"),
        ("r09_idle_for_50ms.txt", "suspected: real-time throttling left the CPU idle", "fair server"),
        ("r10_long_names.txt", "suspected: real-time throttling left the CPU idle", "fair server"),
        ("r11_arch_timer_advice.txt", "irq 11 arch_timer took 420 µs", "smp_affinity"),
        ("r12_timerlat_stack_ignored.txt", "in delay_tsc ← driver_init_with_preemption_off", "lower its priority"),
        ("r13_raw_sched_switch.txt", "job (nice 0, pid 300)", "no cause"),
        ("r14_ts_diff.txt", "job (nice 0, pid 300)", "no cause"),
        ("r16_zero_late.txt", "server (nice 0, pid 229) could not be preempted for 2.00 ms", "no cause"),
        ("r17_normal_switch_called_late.txt", "no longer than an ordinary switch takes", "no cause"),
    ] {
        let verdict = verdict(name);
        assert!(verdict.contains(expected) && !verdict.contains(never), "{name}: {verdict}");
    }
}

#[test]
fn the_second_of_two_wakeups_is_late_and_the_first_is_not() {
    let found = explained("r16_zero_late.txt");
    let late: Vec<u64> = found.victims.iter().map(|victim| victim.latency_ns).collect();
    assert_eq!(late, [2_000_000, 0]);
    assert!(found.victims[1].verdict.contains("within one step of the trace's clock"));
}

/// In a wakeup trace, the thread of the header waited while `linker` had the CPU.
#[test]
fn the_thread_of_an_old_header_is_not_said_to_have_been_current() {
    let found = explained("wakeup-timing-2.6.txt");
    let verdict = &found.victims.first().unwrap().verdict;
    assert!(
        verdict.starts_with("audio (RT 80, pid 700) on CPU 0, 9.31 ms late: linker (pid 900) could not be preempted"),
        "{verdict}"
    );
}

#[test]
fn a_tracer_of_sections_answers_without_a_wakeup() {
    let found = explained("r15_irqsoff_headline.txt");
    assert_eq!(
        found.answer.as_deref(),
        Some(
            "irqsoff: interrupts off for 49.0 ms on CPU 1, while kswapd0 (pid 91) was current, most of it in isolate_lru_folios ← \
             shrink_inactive_list, from _raw_spin_lock_irq to shrink_inactive_list; whom it delayed is not recorded"
        )
    );
    assert_eq!(found.notes, Vec::<String>::new());
}

#[test]
fn events_without_times_are_not_called_missing() {
    let found = explained("r18_function_graph.txt");
    assert!(found.notes.iter().any(|note| note.contains("funcgraph-abstime")), "{:?}", found.notes);
    assert!(found.notes.iter().all(|note| !note.contains("no sched_switch")), "{:?}", found.notes);
}

#[test]
fn what_a_hostile_reader_found() {
    for (name, expected, never) in [
        ("nmi_by_flags.txt", "interrupt NMI took 585 µs", "could not be preempted"),
        ("softirq_by_flags.txt", "a softirq took 586 µs", "could not be preempted"),
        ("lost_between.txt", "suspected: hog (nice 0, pid 410) could not be preempted for 9.01 ms", "fair server"),
        ("throttled_by_console.txt", "real-time throttling let make (nice 0, pid 950) run 50.0 ms", "fair server"),
        ("woken_where_it_runs.txt", "no longer than an ordinary switch takes", "cpu_dma_latency"),
        ("resched_in_between.txt", "late: hog (nice 0, pid 410) could not be preempted for 9.01 ms", "suspected"),
        ("two_traces_with_stacks.txt", "hog (nice 0, pid 700) could not be preempted for 1.80 ms", "no cause"),
        ("two_traces_with_stacks.txt", "in migrate_enable ← rt_spin_unlock ← walk_pages", "no cause"),
        ("cut_and_then_events.txt", "ctl (RT 99, pid 500) on CPU 4, 52.0 ms late", "irqsoff"),
        ("cut_and_then_events.txt", "in scan_pages ← shrink_pages", "no cause"),
        (
            "rtla_stopped_in_the_interrupt.txt",
            "while ip (pid 3567) was in nic_update_list ← do_syscall_64: interrupts off, or the CPU stalled there",
            "kept",
        ),
        ("rtla_stopped_in_the_interrupt.txt", "in nic_update_list ← do_syscall_64", "no cause"),
    ] {
        let verdict = verdict(name);
        assert!(verdict.contains(expected) && !verdict.contains(never), "{name}: {verdict}");
    }
    let answer = explained("never_ran.txt").answer.unwrap_or_default();
    assert!(
        answer.contains(", pid 77) was woken but had not run when the trace ended, for 54.9 ms at least"),
        "{answer}"
    );
}

/// "RT throttling activated" in one trace says nothing about the next trace.
#[test]
fn throttling_is_told_for_its_own_trace_only() {
    let read = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile").join(name)).unwrap()
    };
    let throttled = read("throttled_by_console.txt");
    let silent: String =
        throttled.lines().filter(|line| !line.contains("console")).map(|line| format!("{line}\n")).collect();
    let both = format!("# tracer: nop\n#\n{throttled}# tracer: nop\n#\n{silent}");
    let mut source = open_text(both.as_bytes(), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions::default());
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    let found = attribution.finish(source.info());
    let expected = found.victims.iter().filter(|victim| victim.verdict.contains("late: real-time throttling let"));
    assert_eq!((found.victims.len(), expected.count()), (2, 1), "{:?}", found.victims);
}

/// `__run_hrtimer` reports hrtimer_cancel for a timer that expires.
#[test]
fn a_timer_that_expires_is_not_cancelled() {
    let found = explained("cancelled_at_expiry.txt");
    let victim = &found.victims[0];
    // 300 µs by the timer's own clock, plus the time since its interrupt by the trace's clock.
    assert_eq!(victim.latency_ns, 307_000);
    assert!(!victim.doubts.iter().any(|doubt| doubt.contains("start of the timer")), "{:?}", victim.doubts);
}

#[test]
fn a_priority_that_only_a_later_event_tells_counts_for_less() {
    let victim = &explained("priority_learned.txt").victims[0];
    assert!(victim.verdict.contains("burner (RT 94, pid 900) ran 4.00 ms"), "{}", victim.verdict);
    assert_eq!(victim.causes[0].confidence, punctual_model::Confidence::Medium);
}

#[test]
fn rtla_of_before_6_4_has_two_figures_in_a_line() {
    let victim = &explained("rtla_without_new_line.txt").victims[0];
    assert_eq!(victim.latency_ns, 268_000);
    assert!(victim.verdict.contains("cruncher"), "{}", victim.verdict);
    assert!(victim.doubts[0].contains("ends before its thread latency"), "{:?}", victim.doubts);
}

#[test]
fn the_interrupt_that_wrote_timerlats_line_is_its_own() {
    let victim = &explained("timerlat_own_interrupt.txt").victims[0];
    let own = victim.causes.iter().find(|cause| cause.what.as_deref() == Some("timerlat's own timer")).unwrap();
    assert_eq!(own.ns, 80_000);
    assert!(!victim.causes.iter().any(|cause| cause.what.as_deref() == Some("timer")), "{:?}", victim.causes);
}
