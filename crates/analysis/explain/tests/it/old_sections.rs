//! Tests sections with interrupts or preemption off in traces of kernels 2.6 to 4.x, by the first line of the result.

use super::old_kernels::{first, header};

#[test]
fn a_section_says_what_was_off_and_which_lock() {
    let trace = |flags: &str| {
        format!(
            "  tracer: preemptirqsoff\n\n  preemptirqsoff latency trace v1.1.5 on 4.9.1\n  latency: 24676 us, #4/4, CPU#1 | (M:preempt VP:0)\n     \
             | task: commit:11-261 (uid:0 nice:0 policy:1 rt_prio:16)\n   => started at: purge_area\n   => ended at:   purge_area\n\
             commit-261     1{flags}    1us*: _raw_spin_lock <-purge_area\n[...]\ncommit-261     1{flags} 24675us : _raw_spin_unlock <-purge_area\n"
        )
    };
    let said = first(&trace("...1"));
    assert!(
        said.starts_with(
            "preemptirqsoff: preemption off for 24.7 ms on CPU 1, while commit:11 (FIFO 16, pid 261) was current"
        ),
        "{said}"
    );
    assert!(said.contains("waiting for or holding the lock that _raw_spin_lock takes in purge_area"), "{said}");
    assert!(first(&trace("d..1")).starts_with("preemptirqsoff: interrupts off for 24.7 ms"));
}

#[test]
fn a_section_at_whose_end_a_thread_is_woken_is_no_wakeup() {
    let text = header(951, 9, "IRQ 7-724 (uid:0 nice:-5 policy:1 rt_prio:46")
        + "    loop-1000  0d...    0us : common_interrupt ((0))\n    \
           loop-1000  0d.h.    0us : do_IRQ (c012d6d5 7 0)\n    \
           loop-1000  0d.h1    2us!: mask_and_ack (__do_IRQ)\n    \
           loop-1000  0d.h1  938us : redirect_hardirq (__do_IRQ)\n    \
           loop-1000  0d.h2  942us : activate_task <<...>-724> (35 1)\n    \
           loop-1000  0dnh2  943us : try_to_wake_up <<...>-724> (35 7d)\n   \
           <...>-724   0d..2  948us : __switch_to (__schedule)\n   \
           <...>-724   0d..2  949us : __schedule <loop-1000> (7d 35)\n   \
           <...>-724   0d...  950us : trace_irqs_on (schedule)\n";
    let said = first(&text);
    assert!(said.contains("interrupts or preemption off for most of 951 µs on CPU 0"), "{said}");
    assert!(said.contains("mask_and_ack") && said.contains("was woken only then"), "{said}");
    assert!(!said.contains("after the switch"), "{said}");
}

#[test]
fn a_long_wait_in_the_idle_loop_is_no_section() {
    let text = header(8964, 6, "IRQ 45-18 (uid:0 nice:-5 policy:1 rt_prio:48")
        + "  <idle>-0     0D...    1us+: preempt_schedule_irq (svc_preempt)\n  \
           <idle>-0     0....    5us!: default_idle (cpu_idle)\n  \
           <idle>-0     0D..1 8700us+: asm_do_IRQ (c021da48 1a 0)\n  \
           <idle>-0     0D.h3 8890us+: activate_task <<...>-18> (33 1)\n  \
           <idle>-0     0Dnh3 8900us+: try_to_wake_up <<...>-18> (33 8c)\n   \
           <...>-18     0D..2 8955us : __switch_to (__schedule)\n   \
           <...>-18     0D..2 8957us : __schedule <<idle>-0> (8c 33)\n";
    let said = first(&text);
    assert!(said.contains("in the idle loop for most of 8.96 ms on CPU 0"), "{said}");
}

#[test]
fn time_in_the_idle_task_with_interrupts_off_is_no_interrupt_s() {
    let text = header(224, 9, "fortune-314 (uid:500 nice:0 policy:0 rt_prio:0")
        + "  <idle>-0     0Dnh.    0us : smp_reschedule_interrupt (c0100c8a 0 0)\n  \
           <idle>-0     0Dnh1    1us : sched_clock (__schedule)\n  \
           <idle>-0     0Dnh3    3us : pick_task (pull_tasks)\n  \
           <idle>-0     0Dnh3    4us!: find_bit (pick_task)\n  \
           <idle>-0     0Dnh3  211us : _raw_spin_unlock (pull_tasks)\n  \
           <idle>-0     0Dnh2  218us : trace_array (__schedule)\n   \
           <...>-314    0Dnh2  220us : __switch_to (__schedule)\n   \
           <...>-314    0Dnh2  221us : __schedule <<idle>-0> (8c 31)\n";
    let said = first(&text);
    assert!(said.contains("with interrupts off, most of it last traced in find_bit ← pick_task"), "{said}");
    assert!(said.contains("no interrupt is recorded there"), "{said}");
}

#[test]
fn lines_that_show_preemption_on_are_believed() {
    let lines: String =
        (0..40).map(|n| format!("  editor-600   0....  {:>3}us : copy_part (read_all)\n", 2 + n * 6)).collect();
    let text = header(270, 44, "server-578 (uid:0 nice:0 policy:1 rt_prio:80")
        + "  editor-600   0Dnh2    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
           editor-600   0Dnh2    1us : __trace_start_sched_wakeup <<...>-578> (13 0)\n"
        + &lines
        + "  editor-600   0Dn.2  262us : __schedule (schedule)\n   \
           <...>-578    0D..2  265us : __switch_to (__schedule)\n   \
           <...>-578    0D..2  266us : __schedule <editor-600> (7d 13)\n";
    let said = first(&text);
    assert!(
        said.contains("editor (OTHER, pid 600) kept the CPU for") && said.contains("although it could be preempted"),
        "{said}"
    );
    assert!(!said.contains("could not be preempted"), "{said}");
}

#[test]
fn a_section_from_the_idle_loop_blames_no_thread() {
    let text = "( softirq-timer/0-3    |#0): new 998 us maximum-latency critical section.\n \
                => started at timestamp 403325647: <acpi_processor_idle+0x20/0x379>\n \
                =>   ended at timestamp 403326645: <thread_return+0xb5/0x11a>\n";
    let said = first(text);
    assert!(said.contains("it began in the idle loop") && said.contains("is not responsible"), "{said}");
}

#[test]
fn a_thread_that_is_current_in_all_lines_was_not_woken() {
    let text = header(833, 5, "IRQ 7-724 (uid:0 nice:-5 policy:1 rt_prio:46")
        + "   IRQ 7-724  0d...    0us : handle (irqd)\n   \
           IRQ 7-724  0d..1    1us!: enable_line (handle)\n   \
           IRQ 7-724  0d...  832us : handle (irqd)\n   \
           IRQ 7-724  0d...  833us : trace_irqs_on (handle)\n";
    let said = first(&text);
    assert!(said.contains("interrupts or preemption off for 833 µs on CPU 0"), "{said}");
    assert!(said.contains("enable_line ← handle") && said.contains("was current in all lines"), "{said}");
    assert!(!said.contains("was woken so late"), "{said}");
    let other = text.replace("   IRQ 7-724  0d...    0us", "    else-77   0d...    0us");
    assert!(first(&other).contains("was woken so late"), "{}", first(&other));
}

#[test]
fn lines_that_end_in_the_switch_to_the_woken_thread_are_of_a_wakeup() {
    let text = header(40968, 5, "late-4735 (uid:0 nice:0 policy:1 rt_prio:62")
        + "   busy-4871  0Dn..    1us : smp_reschedule_interrupt (c03b5540 0 0)\n   \
           busy-4871  0Dn..    2us : __schedule (preempt_schedule_irq)\n  \
           <...>-4735  0D..2    6us : __switch_to (__schedule)\n  \
           <...>-4735  0D..2    6us : __schedule <busy-4871> (73 25)\n  \
           <...>-4735  0D..2    7us : trace_stop_sched_switched (__schedule)\n";
    let said = first(&text);
    assert!(said.contains("late (FIFO 62, pid 4735) was switched to 41.0 ms after it was woken on CPU 0"), "{said}");
    assert!(said.contains("the lines cover only 6.00 µs up to that switch"), "{said}");
    let other = text.replace("trace_stop_sched_switched", "finish_switch");
    assert!(!first(&other).contains("up to that switch"), "{}", first(&other));
}
