//! Tests the first line of the result for excerpts of traces as people paste them.

use crate::old_kernels::{explained, first};

const HEADER: &str = "# wakeup_rt latency trace v1.1.5 on 6.14.0\n# latency: 18 us, #4/4, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n";

#[test]
fn what_is_woken_in_an_interrupt_of_its_cpu_does_not_wait_for_the_idle_state() {
    let text = format!(
        "{HEADER}  <idle>-0  0dNh6.  0us+:  0:120:R   + [000]  21:  0:R stopper/0\n  <idle>-0  0dNh6.  13us : <stack trace>\n \
         => try_to_wake_up\n => hrtimer_interrupt\n => do_idle\n  <idle>-0  0dNh6.  13us : 0\n  <idle>-0  0d..3.  16us : __schedule\n  \
         <idle>-0  0d..3.  17us :  0:120:R ==> [000]  21:  0:R stopper/0\n"
    );
    let said = first(&text);
    assert!(
        said.starts_with("stopper/0 (RT 99, pid 21) on CPU 0, 17.0 µs late: interrupt timer took 13.0 µs"),
        "{said}"
    );
}

#[test]
fn an_interrupt_that_may_have_lasted_is_not_put_down_to_the_thread_below() {
    let slow = |end: u64| {
        first(&format!(
            "{HEADER}  netd-224  0dnh4.  14us+:  224:120:R   + [000]  109:  49:R irq/10-nic\n  netd-224  0dnh4.  65us!: 0\n  \
             netd-224  0d..3.  {end}us+:  224:120:R ==> [000]  109:  49:R irq/10-nic\n"
        ))
    };
    let said = slow(418);
    assert!(said.contains("netd (nice 0, pid 224) was current for 353 µs of it, in the interrupt"), "{said}");
    let said = slow(4180);
    assert!(said.contains("netd (nice 0, pid 224) could not be preempted for 4.11 ms"), "{said}");
}

#[test]
fn a_handler_lasts_until_its_interrupt_ends() {
    let line = |flags: &str, t: u64, body: &str| format!("  <idle>-0  0{flags}  {t}us : {body}\n");
    let text = [
        HEADER.to_owned(),
        line("dn.h5..", 0, "0:120:R   + [000]  500:  0:R ctl"),
        line("dn..1..", 4, "irq_enter_rcu <-common_interrupt"),
        line("dn.h1..", 6, "nic_isr <-__handle_irq_event_percpu"),
        line("dn.h1..", 80, "nic_lock <-nic_isr"),
        line("dn.h2..", 150, "_raw_spin_unlock <-nic_config"),
        line("dn.h1..", 151, "note_interrupt <-handle_irq_event_percpu"),
        line("dn.h1..", 152, "irq_exit_rcu <-common_interrupt"),
        line("d...3..", 160, "0:120:R ==> [000]  500:  0:R ctl"),
    ]
    .concat();
    let said = first(&text);
    assert!(said.contains("interrupt nic_isr took 146 µs of it (91 %) — move that interrupt"), "{said}");
}

#[test]
fn the_interrupt_that_the_trace_begins_in_lasts_from_its_first_event_on() {
    let text = " <idle>-0 [002] 23.902238: kfree: ptr=1\n <idle>-0 [002] 23.902239: sched_wakeup: ctl:500 [19] CPU:002\n \
                <idle>-0 [002] 23.902243: sched_waking: comm=ctl2 pid=501 prio=120 target_cpu=002\n \
                <idle>-0 [002] 23.902249: local_timer_exit: vector=236\n <idle>-0 [002] 23.902250: cpu_idle: state=4294967295 cpu_id=2\n \
                <idle>-0 [002] 23.902254: sched_switch: swapper/2:0 [120] R ==> ctl:500 [19]\n";
    let said = first(text);
    assert!(said.contains("interrupt local_timer took 10.0 µs of it (67 %)"), "{said}");
    // A switch in between shows that the interrupt began later.
    let text = text.replace("kfree: ptr=1", "sched_switch: job:7 [120] S ==> swapper/2:0 [120]");
    assert!(!first(&text).contains("local_timer took 10.0"), "{}", first(&text));
}

const TIMERLAT: &str = "   make-310  [000] d.h..  80.100050: #31 context    irq timer_latency      40000 ns\n   \
                        make-310  [000] dnh..  80.100120: irq_noise: timer:206 start 80.100040000 duration 80000 ns\n   \
                        make-310  [000] d....  80.100150: thread_noise:     make:310 start 80.100045000 duration 25000 ns\n \
                        timerlat/0-299  [000] .....  80.100160: #31 context thread timer_latency     150000 ns\n";

#[test]
fn timerlats_interrupt_is_late_until_it_begins() {
    let said = first(TIMERLAT);
    assert!(said.contains("timerlat's own timer interrupt took 80.0 µs of it (53 %)"), "{said}");
    let victim = &explained(TIMERLAT).victims[0];
    let late = victim.causes.iter().find(|cause| cause.class == punctual_model::Class::IrqsDisabled).unwrap();
    assert_eq!((late.ns, late.place.as_deref()), (30_000, Some("while make (pid 310) was current")));
}

#[test]
fn where_no_cause_is_most_of_it_the_next_one_is_named_too() {
    let text = TIMERLAT.replace("80000 ns", "60000 ns").replace("duration 25000", "duration 40000");
    let said = first(&text);
    assert!(said.contains("own timer interrupt took 60.0 µs of it (40 %); make (pid 310) ran 40.0 µs"), "{said}");
}

#[test]
fn the_stack_names_who_kept_timerlats_interrupt_off() {
    let stack = "    timerlat/0-299  [000] ....1  80.100161: <stack trace>\n => timerlat_irq\n => hrtimer_interrupt\n => \
                 asm_sysvec_apic_timer_interrupt\n => _raw_spin_unlock_irqrestore   <---- here\n => wake_all\n => do_syscall_64\n";
    let text = format!("{}{stack}", TIMERLAT.replace("40000 ns", "90000 ns").replace("80.100050", "80.100100"));
    let cause = explained(&text).victims[0].causes.iter().find(|c| c.tid == Some(310)).cloned().unwrap();
    let place = "in _raw_spin_unlock_irqrestore ← wake_all ← do_syscall_64";
    assert_eq!((cause.class.name(), cause.place.as_deref()), ("irqs_disabled", Some(place)));
}

#[test]
fn timerlats_lines_alone_say_what_they_can() {
    let lines: String =
        TIMERLAT.lines().filter(|line| !line.contains("noise")).map(|line| format!("{line}\n")).collect();
    let said = first(&lines);
    let late = "for 110 µs of it the trace shows no cause; suspected: the timer interrupt came late by 40.0 µs of it (27 %), while make (pid 310)";
    assert!(said.contains(late), "{said}");
}

#[test]
fn a_clock_that_goes_in_steps_measures_nothing() {
    let line = |flags: &str, t: u64, body: &str| format!("  netd-229  0{flags}  {t}us : {body}\n");
    let woken = line("dnh4.", 0, "229:120:R   + [000]  118:  49:R irq/10-nic");
    let stack = line("dnh4.", 0, "<stack trace>");
    let text = [
        HEADER.to_owned(),
        woken.clone(),
        stack.clone(),
        line("dnh4.", 0, "0"),
        line("d..3.", 0, "229:120:R ==> [000]  118:  49:R irq/10-nic"),
        woken,
        stack,
        line("dnh4.", 0, "0"),
        line("d..3.", 2000, "__schedule"),
        line("d..3.", 2000, "229:120:R ==> [000]  118:  49:R irq/10-nic"),
    ]
    .concat();
    let said = first(&text);
    assert!(
        said.contains("2.00 ms late: not measurable, since the trace's clock has a resolution of 2.00 ms"),
        "{said}"
    );
    let coarse: String = (629..633)
        .map(|ms| {
            format!(
                "  bash-232 [000] d.h.. 9.{ms}000: #{ms} context    irq timer_latency    110720 ns\n  bash-232 [000] dnh1. 9.{ms}000: \
                 irq_noise: timer:206 start 9.{}000000 duration 1000000 ns\n  timerlat/0-274 [000] ..... 9.{ms}000: #{ms} context thread \
                 timer_latency    409280 ns\n",
                ms - 1
            )
        })
        .collect();
    let said = first(&coarse);
    assert!(said.contains("the timer interrupt came late by 111 µs"), "{said}");
    assert!(
        said.contains("noise events are not measured, since the trace's clock has a resolution of 1.00 ms"),
        "{said}"
    );
}

#[test]
fn sections_are_told_by_their_own_events() {
    let text = "  <...>-6462 [006] d..1 72.732649: irq_disable: caller=flush_log+0xc0/0x510 parent=log_emit+0x134/0x1d0\n  <...>-6462 \
                [006] d..1 72.743615: irq_enable: caller=flush_log+0x39c/0x510 parent=log_emit+0x134/0x1d0\n";
    let said = first(text);
    assert!(
        said.starts_with(
            "interrupts off for 11.0 ms on CPU 6, by a thread (pid 6462), from flush_log ← log_emit to flush_log"
        ),
        "{said}"
    );
    let idle = first(&text.replace("-6462", "-0"));
    assert!(idle.contains("the lines cover 11.0 ms of the idle task on CPU 6"), "{idle}");
}

#[test]
fn a_mark_of_cyclictest_says_how_late_it_was() {
    let switch = "sched_switch: prev_comm=job prev_pid=9 prev_prio=120 prev_state=R ==> next_comm=cyclictest next_pid=10 next_prio=19";
    let text = |at: u32| {
        format!(
            " job-9 [012] d... 17.430048: {switch}\n job-9 [012] d... 17.430{at}: tlb_flush: pages:-1 reason:flush on task switch (0)\n \
             cyclictest-10 [012] .... 17.430129: tracing_mark_write: hit latency threshold (72 > 30)\n"
        )
    };
    let said = first(&text(111));
    assert!(
        said.starts_with(
            "cyclictest (RT 80, pid 10) on CPU 12 measured 72 µs, more than its threshold of 30 µs: 63.0 µs"
        ),
        "{said}"
    );
    assert!(said.contains("from sched_switch to tlb_flush"), "{said}");
    assert!(first(&text(112).replace("430112", "430055")).contains("its wakeup is not in the trace"));
}

#[test]
fn a_sample_of_osnoise_names_what_is_in_it() {
    let text = " osnoise/8-961 [008] dNh. 89.858408: irq_noise: local_timer:236 start 89.858404871 duration 2848 ns\n migration/8-54 [008] \
                d... 89.858413: thread_noise: migration/8:54 start 89.858409300 duration 3068 ns\n osnoise/8-961 [008] .... 89.858413: \
                sample_threshold: start 89.858404555 duration 8723 ns interferences 2\n";
    let said = first(text);
    let parts =
        "for 8.72 µs: migration/8 (pid 54) 3.07 µs, interrupt local_timer 2.85 µs; 2.81 µs belong to no noise event";
    assert!(said.contains(parts), "{said}");
    let without: String =
        text.lines().filter(|line| !line.contains("sample")).map(|line| format!("{line}\n")).collect();
    assert!(first(&without).starts_with("osnoise: the longest noise is 3.07 µs, of migration/8 (pid 54) on CPU 8"));
}

#[test]
fn silence_after_a_function_is_told_where_preemption_was_off_at_both_ends() {
    let text = " ip-493 [001] b...3 7.149995: nic_update_list <-nic_set_mode\n ip-493 [001] Dn..3 7.150795: irq_disable: caller=entry parent=0x0\n";
    let said = first(text);
    let silence = "ip (pid 493) on CPU 1: nothing was recorded for 800 µs after nic_update_list ← nic_set_mode, until irq_disable, bottom halves off at both ends";
    assert!(said.starts_with(silence), "{said}");
    assert!(said.contains("a reschedule requested at the second"), "{said}");
    let free = text.replace("b...3", "....3");
    let woken = text.replace("nic_update_list <-nic_set_mode", "sched_waking: comm=a pid=1 prio=120 target_cpu=001");
    for other in [free, woken] {
        assert!(!first(&other).contains("nothing was recorded"), "{}", first(&other));
    }
}

#[test]
fn a_preemption_is_told_where_no_wakeup_is() {
    let switch = |t: u32, prev: (&str, u32, u32, &str), next: (&str, u32, u32)| {
        format!(
            "{}-{} [007] d... 43.{t}: sched_switch:\nprev_comm={} prev_pid={} prev_prio={} prev_state={} ==>\nnext_comm={} next_pid={} next_prio={}\n",
            prev.0, prev.1, prev.0, prev.1, prev.2, prev.3, next.0, next.1, next.2
        )
    };
    let text = switch(544506, ("sense", 888, 98, "R"), ("migration/7", 47, 0))
        + &switch(544509, ("migration/7", 47, 0, "S"), ("sense", 888, 98));
    let said = first(&text);
    let preempted = "sense (RT 1, pid 888) was preempted on CPU 7 for 3.00 µs by migration/7 (RT 99, pid 47), the stopper of its CPU";
    assert!(said.starts_with(preempted), "{said}");
    assert!(!first(&text.replace("prev_state=R", "prev_state=S")).contains("preempted"));
}

#[test]
fn a_synthetic_event_tells_its_latency() {
    let text = " <idle>-0 [002] dNh1 54.902249: local_timer_exit: vector=236\n <idle>-0 [002] d..2 54.902254: sched_switch: \
                prev_comm=swapper/2 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cyclictest next_pid=75 next_prio=19\n <idle>-0 \
                [002] d..4 54.902256: wakeup_lat: next_comm=cyclictest lat=17\n";
    let said = first(text);
    assert!(said.starts_with("wakeup_lat: 17 of cyclictest (RT 80, pid 75) on CPU 2"), "{said}");
    assert!(said.contains("the last interrupt there, local_timer, ended 5.00 µs before the switch to it"), "{said}");
}

#[test]
fn function_graph_tells_where_a_call_spent_its_time() {
    let text = "1)               |  smp_apic_timer_interrupt() {\n1)               |    irq_enter() {\n1)   8.986 us    |    }\n1)               \
                |    hrtimer_interrupt() {\n1)               |      enqueue_task_rt() {\n1)   0.423 us    |        cpupri_set();\n1) + \
                38.024 us   |      }\n1) + 46.372 us   |    }\n1) + 63.996 us   |  }\n";
    let said = first(text);
    let call = "function_graph: smp_apic_timer_interrupt() took 64.0 µs on CPU 1; of it hrtimer_interrupt() 46.4 µs, down to enqueue_task_rt() \
                38.0 µs, 37.6 µs of which in the function itself";
    assert!(said.starts_with(call), "{said}");
    let latency = "  1171 us |   0)  stress--204   |  .n..... |               |    drain() {\n  1175 us |   0)  stress--204   |  .n..1.. |               \
                   |      move_pages() {\n...\n  1772 us |   0)  stress--204   |  .n..1.. | ! 588.000 us  |      }\n  1785 us |   0)  stress--204   \
                   |  .n..... | ! 614.000 us  |    }\n";
    let said = first(latency);
    let call = "function_graph: drain() took 614 µs on CPU 0, in stress- (pid 204), at whose end a reschedule was requested; of it move_pages() 588 µs; a duration";
    assert!(said.starts_with(call), "{said}");
}

#[test]
fn hwlat_says_that_the_hardware_stopped_and_no_more() {
    let text = "# tracer: hwlat\n <...>-8795 [001] dn... 613.749741: #1 inner/outer(us): 41/40    ts:1702045267.016266287 count:9976\n";
    let said = first(text);
    assert!(said.starts_with("hwlat: 1 gap in which the hardware stopped a CPU"), "{said}");
    assert!(said.contains("41.0 µs on CPU 1; the cause is not in the trace"), "{said}");
}

fn section(tracer: &str, at: &str, task: &str, lines: &str) -> String {
    format!(
        "# tracer: {tracer}\n#\n# {tracer} latency trace v1.1.5 on 5.4.1\n# latency: 214 us, #4/4, CPU#2 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:8)\n\
         #    | task: {task} (uid:0 nice:0 policy:0 rt_prio:0)\n#  => started at: {at}\n#  => ended at:   {at}\n{lines}"
    )
}

#[test]
fn a_section_of_the_idle_loop_is_idle_time() {
    let lines =
        "  <idle>-0  2d..1    0us!: arch_cpu_idle <-do_idle\n  <idle>-0  2dN.1  213us : arch_cpu_idle <-do_idle\n";
    let said = first(&section("irqsoff", "arch_cpu_idle", "swapper/2-0", lines));
    assert!(said.starts_with("irqsoff: interrupts off for 214 µs on CPU 2 in the idle loop"), "{said}");
    // The entry and the exit of the interrupt (arch/arm64/kernel/entry.S, el1_irq).
    let taken = lines.replace("arch_cpu_idle <-do_idle", "el1_irq <-arch_cpu_idle");
    let said = first(&section("irqsoff", "arch_cpu_idle", "swapper/2-0", &taken));
    assert!(said.contains("in an interrupt that came in the idle loop") && !said.contains("idle time"), "{said}");
    // The functions traced in between are work on the way out of the idle state.
    let work = "  <idle>-0  2d..1    0us : enter_sleep <-arch_cpu_idle\n  <idle>-0  2d..1    1us : notify_all <-enter_sleep\n  <idle>-0  2d..1    2us!: \
                restore_state <-notify_all\n  <idle>-0  2d..1  190us : done <-notify_all\n  <idle>-0  2d..1  213us : arch_cpu_idle <-do_idle\n";
    let said = first(&section("irqsoff", "arch_cpu_idle", "swapper/2-0", work));
    assert!(said.contains("restore_state") && !said.contains("idle time"), "{said}");
    let said = first(&section("irqsoff", "copy_page", "swapper/2-0", lines));
    assert!(said.contains("while swapper/2 (pid 0) was current"), "{said}");
}

#[test]
fn the_flags_tell_what_was_off_and_the_stack_who_called() {
    let lines = "  fio-270  2...1.    0us$: put_folio <-put_folio\n  fio-270  2.N.1.  214us : put_folio <-put_folio\n  fio-270  2.N.1.  220us : \
                 <stack trace>\n => put_folio\n => invalidate_pages\n => close_device\n";
    let said = first(&section("preemptirqsoff", "put_folio", "fio-270", lines));
    assert!(said.starts_with("preemptirqsoff: preemption off for 214 µs on CPU 2, while fio (pid 270)"), "{said}");
    assert!(said.contains(", called by invalidate_pages ← close_device;"), "{said}");
    let said = first(&section("preemptirqsoff", "put_folio", "fio-270", &lines.replace("2...1.", "2d....")));
    assert!(said.starts_with("preemptirqsoff: interrupts off for"), "{said}");
}

#[test]
fn the_stack_of_a_waking_says_where_the_thread_was() {
    let text = format!(
        "{HEADER}  X-2193  6dNh4.    0us+:  2193:120:R   + [006]    4301:  0:R ctl\n  X-2193  6dNh4.   23us : <stack trace>\n => \
         hrtimer_interrupt\n => asm_sysvec_apic_timer_interrupt\n => ioread32\n => drive_bus\n  X-2193  6dNh4.   23us : 0\n  X-2193  6d..2. \
         34243us :  2193:120:R ==> [006]    4301:  0:R ctl\n"
    );
    let said = first(&text);
    assert!(
        said.contains("could not be preempted for 34.2 ms of it (100 %), when it was woken in ioread32 ← drive_bus"),
        "{said}"
    );
    assert!(!said.contains("preempt=full"), "{said}");
    let said = first(&text.replace("M:preempt", "M:desktop"));
    assert!(said.contains("this kernel preempts none of its own code: boot with preempt=full"), "{said}");
}

#[test]
fn a_blocking_thread_without_its_name_is_not_said_to_be_unmeasured() {
    let said = first(
        "## CPU 12 hit stop tracing, analyzing it ##\n  IRQ handler delay:\t\t 18.06 us (0.00 %)\n  IRQ latency:\t\t 18.52 us\n  \
         Timerlat IRQ duration:\t\t 4.41 us (0.00 %)\n  Blocking thread:\t\t 216.93 us (0.03 %)\n",
    );
    assert!(said.contains("a thread ran for 217 µs of it") && !said.contains("no cause"), "{said}");
}

#[test]
fn an_analysis_of_rtla_that_was_pasted_as_a_list_is_read() {
    let said = first(
        "## CPU 8 hit stop tracing, analyzing it ##\n - IRQ handler delay: 0.00 us (0.00 %)\n - IRQ latency: 0.90 us\n \
         - Timerlat IRQ duration: 6.33 us (8.93 %)\n - Blocking thread: 33.96 us (47.89 %)\n - swapper/8:0 33.96 us\n \
         - Blocking thread stack trace\n - -> timerlat_irq\n - -> mwait_idle\n - ------------\n - Thread latency: 70.91 us (100%)\n",
    );
    assert!(said.starts_with("CPU8 70.9 µs late: suspected: leaving idle took 34.0 µs"), "{said}");
}

#[test]
fn the_stopper_thread_is_not_what_a_user_waits_for() {
    let said = first(
        " vhost-29 2941 [014] 576.161471: sched_waking: comm=kworker/14:0 pid=6525 prio=120 target_cpu=014\n \
         vhost-29 2941 [014] 576.201176: sched_waking: comm=migration/14 pid=85 prio=0 target_cpu=014\n \
         vhost-29 2941 [014] 576.201190: sched_switch: prev_comm=vhost-29 prev_pid=2941 prev_prio=120 prev_state=R+ ==> next_comm=migration/14 \
         next_pid=85 next_prio=0\n migration/14 85 [014] 576.201198: sched_switch: prev_comm=migration/14 prev_pid=85 prev_prio=0 \
         prev_state=S ==> next_comm=kworker/14:0 next_pid=6525 next_prio=120\n",
    );
    assert!(said.contains("of others: kworker/14:0") && said.contains("39.7 ms late: vhost-29 (nice 0"), "{said}");
}

#[test]
fn a_noise_of_a_thread_is_named_beside_the_sample() {
    let said = first(
        "# tracer: osnoise\n     kworker/7:1-410     [007] d..3  1820.717790: thread_noise: kworker/7:1:410 start 1820.717786519 duration 3626 ns\n       \
         osnoise/7-1000    [007] ....  1821.582340: 1000000         90  99.99100      15      1      0     12      6      1\n",
    );
    assert!(
        said.contains("single noise is 15 us") && said.contains("noise is 3.63 µs, of kworker/7:1 (pid 410)"),
        "{said}"
    );
}

#[test]
fn a_thread_without_its_name_is_known_by_the_function_that_it_runs() {
    let text = format!(
        "{HEADER}  <...>-88  4dNh..  0us :  88:120:R   + [004]  21:  0:R ctl\n  <...>-88  4dNh..  8us : <stack trace>\n \
         => try_to_wake_up+0x1/0x2\n => asm_sysvec_apic_timer_interrupt+0x1/0x2\n => free_pages+0x0/0x2\n => reclaimd+0x1/0x2\n => kthread+0x1/0x2\n \
         <...>-88  4.N...  11us : _raw_spin_lock_irq+0x0/0x2 <-free_pages+0x1/0x2\n  <...>-88  4dN...  11us*: isolate_all <-free_pages\n  \
         <...>-88  4dN...  5498us : count_all <-free_pages\n  <...>-88  4d.....  5500us : __schedule\n  \
         <...>-88  4d.....  5501us :  88:120:R ==> [004]  21:  0:R ctl\n"
    );
    let said = first(&text);
    assert!(said.contains("isolate_all") && said.contains("a thread of the kernel that runs reclaimd()"), "{said}");
}

#[test]
fn what_the_idle_loop_calls_is_named_where_it_stayed_current() {
    let text = format!(
        "{HEADER}  <idle>-0  0dNh2.  0us :  0:120:R   + [000]  21:  0:R ctl\n  <idle>-0  0dN.1.  2us!: irq_exit <-do_IRQ\n  \
         <idle>-0  0dN.1.  130us : do_IRQ <-common_interrupt\n  <idle>-0  0dN.1.  131us : bios_busy <-cpu_idle\n  <idle>-0  0dN.1.  131us : bios_call <-bios_busy\n  \
         <idle>-0  0d..1.  132us : __schedule\n  <idle>-0  0d..1.  133us :  0:120:R ==> [000]  21:  0:R ctl\n"
    );
    let said = first(&text);
    assert!(said.contains("last traced in irq_exit ← do_IRQ (the idle loop calls bios_call ← bios_busy)"), "{said}");
}

#[test]
fn the_timers_clock_is_read_after_a_hole_in_the_interrupt() {
    let text = |first: u64| {
        format!(
            "ctl-21  [001] d..1.  5.000000: hrtimer_start: hrtimer=00ab function=hrtimer_wakeup expires=9000500000 softexpires=9000500000 mode=ABS\n\
             ctl-21  [001] d..2.  5.000001: sched_switch: prev_comm=ctl prev_pid=21 prev_prio=19 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
             <idle>-0  [001] d.h1.  5.000510: local_timer_entry: vector=236\n\
             <idle>-0  [001] d.h1.  5.000{first}: hrtimer_expire_entry: hrtimer=00ab function=hrtimer_wakeup now=9000509000\n\
             <idle>-0  [001] d.h1.  5.000{first}: sched_waking: comm=ctl pid=21 prio=19 target_cpu=001\n\
             <idle>-0  [001] d.h1.  5.000530: local_timer_exit: vector=236\n\
             <idle>-0  [001] d..2.  5.000535: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=ctl next_pid=21 next_prio=19\n"
        )
    };
    // The timer is 9 µs late when the clock is read: shortly after the interrupt began, or just before the first
    // expiry.
    assert!(first(&text(512)).contains("34.0 µs late"), "{}", first(&text(512)));
    assert!(first(&text(518)).contains("26.0 µs late"), "{}", first(&text(518)));
}

#[test]
fn rtlas_last_line_names_the_cpu_that_left_idle() {
    let said = first(
        "rtla timerlat hit stop tracing\n  IRQ handler delay:  (exit from idle)  48.21 us (91.09 %)\n  IRQ latency:  49.11 us\n  \
         Timerlat IRQ duration:  2.17 us (4.09 %)\n  Thread latency:  52.93 us (100%)\n\n  Max timerlat IRQ latency from idle: 49.11 us in cpu 2\n",
    );
    assert!(said.starts_with("CPU2 52.9 µs late"), "{said}");
}

#[test]
fn events_of_lttng_are_read() {
    let line = |t: u64, tid: u32, event: &str, fields: &str| {
        format!(
            "[00:00:01.{t:09}] (+0.000000370) host {event}: {{ cpu_id = 1 }}, {{ pid = {tid}, tid = {tid}, procname = \"x\" }}, {{ {fields} }}\n"
        )
    };
    let switch = |prev: &str, state: u32, next: &str| {
        let task = |which: &str, of: &str| {
            let words: Vec<&str> = of.split(' ').collect();
            format!("{which}_comm = \"{}\", {which}_tid = {}, {which}_prio = {}", words[0], words[1], words[2])
        };
        format!("{}, prev_state = {state}, {}", task("prev", prev), task("next", next))
    };
    let text = [
        line(1_000, 7, "sched_switch", &switch("ctl 7 -81", 1, "log 8 -91")),
        line(500_000, 8, "sched_waking", "comm = \"ctl\", tid = 7, prio = -71, target_cpu = 1"),
        line(900_000, 8, "sched_switch", &switch("log 8 -91", 1, "ctl 7 -71")),
    ]
    .concat();
    let said = first(&text);
    assert!(said.contains("ctl (RT 70, pid 7) on CPU 1, 400 µs late: log (RT 90, pid 8) ran 400 µs of it"), "{said}");
}

#[test]
fn a_gap_in_a_trace_with_missing_entries_belongs_to_no_function() {
    let text = |entries: u32| {
        format!(
            "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.6.7-rt18\n# latency: 1500 us, #{entries}/{entries}, CPU#1 | (M:preempt \
             VP:0, KP:0, SP:0 HP:0 #P:2)\n#    | task: cat-65 (uid:0 nice:0 policy:0 rt_prio:0)\n#  => started at: spin_lock\n#  => ended at:   \
             uart_send\n#\n     cat-65        1d....    1us : trace_hardirqs_off <-spin_lock\n     cat-65        1d..1.    3us : find_port \
             <-uart_send\n     cat-65        1d..1. 1108us+: put_char <-send_all\n     cat-65        1d..1. 1500us : tracer_hardirqs_on <-uart_send\n"
        )
    };
    let said = first(&text(4));
    assert!(said.contains("most of it last traced in find_port ← uart_send"), "{said}");
    let said = first(&text(90));
    assert!(
        said.contains("of which 1.10 ms has no lines, where entries may be missing (4 of 90 entries are present)"),
        "{said}"
    );
}
