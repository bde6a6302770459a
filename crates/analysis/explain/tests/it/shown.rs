//! Latencies of which the lines show less, or something else, than the header says.

use crate::old_kernels::{explained, first};

fn old(latency: u32, cpu: u32, task: &str, prio: u32, lines: &str) -> String {
    format!(
        "preemption latency trace v1.1.5 on 2.6.18-rt1\n latency: {latency} us, #9/9, CPU#{cpu} | (M:rt VP:0, KP:0, SP:1 HP:1 #P:2)\n    \
         | task: {task} (uid:0 nice:0 policy:1 rt_prio:{prio})\n   cmd     pid ||||| time  |   caller\n{lines}\n"
    )
}

const SOON: &str = "  loader-41  0Dn.1    1us : __trace_start_sched_wakeup <sound-40> (29 0)\n  loader-41  0Dn.1    3us : try_to_wake_up <sound-40> (170 140)\n  \
                    sound-40  1D..2    9us : thread_return <idle-0> (20 170)\n  sound-40  1D..1   11us+: trace_stop_sched_switched <sound-40> (29 1)\n";

#[test]
fn a_header_that_its_lines_contradict_is_said_beside_the_other_trace() {
    let other = "  <idle>-0  1Dnh3    2us+: __trace_start_sched_wakeup <IRQ 9-60> (24 1)\n  <idle>-0  1Dnh3    6us+: try_to_wake_up <IRQ 9-60> (175 20)\n  \
                 <idle>-0  1Dnh1   40us+: do_IRQ (c0100000 9 0)\n  <idle>-0  1.n.1   44us+: go_on (cpu_idle)\n  \
                 IRQ 9-60  1D..2   70us+: thread_return <<idle>-0> (20 175)\n";
    let other = old(75, 1, "IRQ 9-60", 75, other);
    let text = format!("{}\n{other}", old(9100, 0, "sound-40", 70, SOON));
    let said = first(&text);
    let expected = "preemption: longest wakeup 9.10 ms, of sound (FIFO 70, pid 40) on CPU 0: it had the CPU on CPU 1 after 8.00 µs, and the lines end after \
                    10.0 µs: the origin of the header's latency is not in them (the clocks of the two CPUs may differ, or the tracer erred); \
                    of the other traces here: IRQ 9 (RT 75, pid 60) on CPU 1, ";
    assert!(said.starts_with(expected), "{said}");
    // The longer one is the verdict.
    let said = first(&text.replace("latency: 9100 us", "latency: 60 us"));
    assert!(said.starts_with("IRQ 9 (RT 75, pid 60) on CPU 1, 68.0 µs late"), "{said}");
}

#[test]
fn what_precedes_the_first_line_of_an_idle_cpu_is_suspected_at_most() {
    let lines = "  <idle>-0  1Dn.1  904us : smp_reschedule_interrupt (reschedule_interrupt)\n  <idle>-0  1.n.1  905us : leave (cpu_idle)\n  \
                 <idle>-0  1D..2  911us : __switch_to (thread_return)\n  sound-40  1D..2  912us : thread_return <<idle>-0> (20 170)\n";
    let found = explained(&old(915, 1, "sound-40", 70, lines));
    let said = found.answer.unwrap_or_default();
    assert!(
        said.contains(
            "suspected: the interrupt that wakes the CPU came late, leaving idle, or the clocks of two CPUs differ"
        ),
        "{said}"
    );
    assert!(found.tracers.iter().all(|text| !said.starts_with(text.as_str())), "{:?}", found.tracers);
}

#[test]
fn time_inside_the_switch_belongs_to_no_code() {
    let lines = |last: &str| {
        format!(
            "  job-7  0D.h3    0us : __trace_start_sched_wakeup <sound-40> (29 0)\n  job-7  0Dnh2    1us : try_to_wake_up <sound-40> (170 120)\n  \
             job-7  0Dnh1    1us : preempt_schedule (try_to_wake_up)\n  job-7  0Dn..    2us : irq_exit (do_IRQ)\n  \
             job-7  0Dn..    3us : __schedule (preempt_schedule_irq)\n  job-7  0Dn.1    3us : sched_clock (__schedule)\n  \
             sound-40  0D..2    5us : __switch_to (__schedule)\n  sound-40  0D..2    5us!: __schedule <job-7> (120 170)\n  \
             sound-40  0...1 2205us : {last}\n"
        )
    };
    let said = first(&old(2207, 0, "sound-40", 70, &lines("trace_stop_sched_switched (__schedule)")));
    let expected = "the rest of that time passed after the switch: 2.20 ms of it lie between two successive lines in the switch to it \
                    (sched_switch, trace_stop_sched_switched), where no code takes so long; suspected: firmware (SMI)";
    assert!(said.contains(expected), "{said}");
    // The thread may have been in user space until its next call.
    let said = first(&old(2207, 0, "sound-40", 70, &lines("sys_read (system_call)")));
    assert!(said.ends_with("the rest of that time passed after the switch"), "{said}");
}

fn section(tracer: &str, task: &str, ends: (&str, &str), lines: &str) -> String {
    format!(
        "# tracer: {tracer}\n#\n# {tracer} latency trace v1.1.5 on 5.10.0\n# latency: 8000 us, #6/6, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n\
         #    | task: {task} (uid:0 nice:0 policy:0 rt_prio:0)\n#  => started at: {}\n#  => ended at:   {}\n{lines}",
        ends.0, ends.1
    )
}

#[test]
fn time_inside_the_entry_of_an_interrupt_belongs_to_no_code() {
    let lines = |flags: &str| {
        format!(
            " <idle>-0  1{flags} 2100us!: trace_hardirqs_off_thunk <-reschedule_interrupt\n <idle>-0  1{flags} 7990us+: smp_reschedule_interrupt <-reschedule_interrupt\n \
             <idle>-0  1{flags} 7992us+: ack <-smp_reschedule_interrupt\n <idle>-0  1{flags} 7994us+: trace_hardirqs_on_thunk <-restore_all\n \
             <idle>-0  1{flags} 7996us : trace_hardirqs_on_caller <-restore_all\n <idle>-0  1{flags} 7997us : trace_end <-restore_all\n"
        )
    };
    let text = |flags: &str| section("irqsoff", "-0", ("reschedule_interrupt", "restore_all"), &lines(flags));
    let said = first(&text("dN.."));
    let expected = "irqsoff: interrupts off for 8.00 ms on CPU 1, while the idle task was current: 5.89 ms of it lie between two successive lines in the entry \
                    of an interrupt, with interrupts off (trace_hardirqs_off_thunk, smp_reschedule_interrupt), where no code takes so long; suspected: firmware";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.ends_with("the first line is 2.10 ms after the start, too"), "{said}");
    assert!(!first(&text("dN..").replace("trace_hardirqs_off_thunk", "poll_port")).contains("no code"));
}

#[test]
fn the_function_tracer_is_suspected_where_its_lines_fill_the_time() {
    let text = |all: u32| {
        format!(
            "# tracer: wakeup\n#\n# wakeup latency trace v1.1.5 on 3.10.0\n# latency: 900 us, #{all}/{all}, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n\
             #    | task: sdio-55 (uid:0 nice:0 policy:1 rt_prio:1)\n <idle>-0  0dNh4    3us+:   0:120:R   + [000]   55: 98:R sdio\n \
             <idle>-0  0dNh4    9us+: task_woken <-ttwu\n <idle>-0  0dNh4   13us+: unlock <-try_to_wake_up\n <idle>-0  0dNh4   17us+: sub <-unlock\n \
             <idle>-0  0dNh3   21us+: restore <-try_to_wake_up\n ....\n"
        )
    };
    let said = first(&text(225));
    assert!(said.contains("suspected: the function tracer itself, since the trace has 225 lines, and those that are shown are 4.00 µs apart; the last line shown is in an interrupt upon the idle task"), "{said}");
    let said = first(&text(80));
    assert!(!said.contains("function tracer"), "{said}");
}

#[test]
fn a_loop_that_ends_when_a_reschedule_is_requested_delays_nobody() {
    let lines = |function: &str| {
        format!(
            "  ld-9  1...1    0us!: {function} <-{function}\n  ld-9  1.N.1 8000us : {function} <-{function}\n  ld-9  1.N.1 8001us+: tracer_preempt_on <-{function}\n"
        )
    };
    let text = |function: &str| section("preemptoff", "ld-9", (function, function), &lines(function));
    let said = first(&text("mutex_optimistic_spin+0x20/0x90"));
    let expected =
        "preemptoff: preemption off for 8.00 ms on CPU 1, while ld (pid 9) spun for a lock that another thread held";
    assert!(said.starts_with(expected) && said.contains("most likely delayed nobody"), "{said}");
    let said = first(&text("copy_pages+0x20/0x90"));
    assert!(said.contains("whom it delayed is not recorded"), "{said}");
}

#[test]
fn lines_that_cover_little_say_whose_calls_they_are() {
    let calls = [
        ("end_page", "end_bio"),
        ("clear_page", "end_page"),
        ("map", "clear_page"),
        ("lock", "map"),
        ("add", "lock"),
        ("wake", "end_page"),
        ("scan", "wake"),
        ("pick", "scan"),
        ("test", "pick"),
        ("look", "pick"),
        ("sum", "look"),
    ];
    let lines: String = calls
        .iter()
        .enumerate()
        .map(|(n, (f, by))| format!("ksoftirq-27  1.Ns1 {}us : {f} <-{by}\n", 7000 + n))
        .collect();
    let text =
        section("preemptoff", "ksoftirqd/1-27", ("__do_softirq", "__do_softirq"), &lines).replace("#6/6", "#6/90000");
    let said = first(&text);
    assert!(
        said.contains(
            "the lines cover only 10.0 µs, in calls of end_bio → end_page in a softirq, with a reschedule requested"
        ),
        "{said}"
    );
}

#[test]
fn a_section_that_begins_with_interrupts_off_says_so() {
    let lines = "  ls-7  1d..1    1us#: take <-uart_write\n  ls-7  1...1 7990us+: drop <-uart_write\n  ls-7  1...1 7999us+: tracer_preempt_on <-uart_write\n";
    let said = first(&section("preemptoff", "ls-7", ("uart_write", "uart_write"), lines));
    assert!(
        said.starts_with("preemptoff: preemption off (and interrupts, at its start) for 8.00 ms on CPU 1"),
        "{said}"
    );
    let said = first(&section("preemptoff", "ls-7", ("uart_write", "uart_write"), &lines.replace("1d", "1.")));
    assert!(said.starts_with("preemptoff: preemption off for 8.00 ms on CPU 1"), "{said}");
}

#[test]
fn events_that_a_thread_records_again_and_again_say_what_it_does() {
    let again = |t: u32, name: &str| format!("  rcuop/1-15 [000] .N..  1.{t:06}: {name}: rhp=1\n");
    let text = |name: &str| {
        format!(
            "  rcuop/1-15 [000] d.h5  1.000100: sched_waking: comm=irq/9-x pid=90 prio=49 target_cpu=000\n  \
             rcuop/1-15 [000] dNh2  1.000103: irq_handler_exit: irq=9 ret=handled\n{}{}{}  \
             rcuop/1-15 [000] d..2  1.002001: sched_switch: rcuop/1:15 [120] R ==> irq/9-x:90 [49]\n",
            again(110, "rcu_invoke_callback"),
            again(900, name),
            again(1900, "rcu_invoke_callback")
        )
    };
    let said = first(&text("rcu_invoke_callback"));
    assert!(said.contains("where it recorded rcu_invoke_callback again and again"), "{said}");
    let said = first(&text("kfree"));
    assert!(said.contains("rcuop/1 (nice 0, pid 15) could not be preempted") && !said.contains("again"), "{said}");
}

#[test]
fn the_longest_wakeup_of_timerlat_is_named_though_another_is_explained() {
    let line = |us: u32, n: u32, context: &str, ns: u32| {
        format!("  <idle>-0 [000] d.h1. 5.{us:06}: #{n:<5} context {context} timer_latency {ns:>9} ns\n")
    };
    let text = |first: u32| {
        line(100, 40, "thread", first) + &line(900, 41, "   irq", 90_000) + &line(1200, 41, "thread", 390_000)
    };
    let said = explained(&text(400_000));
    assert!(said.victims[0].verdict.starts_with("CPU0 390 µs late"), "{said:?}");
    let longest = "the longest is 400 µs on CPU 0 (#40), of which the lines show less";
    assert!(said.victims[0].doubts.iter().any(|doubt| doubt == longest), "{said:?}");
    let said = explained(&text(380_000));
    assert!(said.victims[0].doubts.iter().all(|doubt| !doubt.contains("longest")), "{said:?}");
}
