//! Excerpts without a wakeup from waking to running: the first line states the delay in the excerpt, or what is
//! missing.

use punctual_explain::{ExplainOptions, Explanation, Victims, explain};
use punctual_model::Confidence;
use punctual_trace::{Options, open_text};

fn explained(text: &str, victims: Victims) -> Explanation {
    let mut source = open_text(text.as_bytes(), Options::default()).unwrap();
    explain(source.as_mut(), ExplainOptions { victims, ..ExplainOptions::default() })
}

/// Returns the first line of the explanation of this trace.
fn first(text: &str) -> String {
    let found = explained(text, Victims::default());
    let verdict = found.victims.first().map(|victim| victim.verdict.clone());
    verdict.or(found.answer).or(found.notes.first().cloned()).unwrap_or_default()
}

#[test]
fn a_handler_is_named_with_its_length() {
    let text = " kworker/3:1-142 [003] 34.567920: irq_handler_entry: irq=24 name=nic\n kworker/3:1-142 [003] 34.568150: \
                irq_handler_exit: irq=24 ret=handled\n";
    let said = first(text);
    assert!(
        said.starts_with("interrupt irq 24 nic took 230 µs on CPU 3, upon kworker/3:1 (pid 142); no sched_switch"),
        "{said}"
    );
}

#[test]
fn a_softirq_is_late_from_its_raise() {
    let text = "  <...>-2110 [001] dNH1 66.634917: softirq_raise: vec=3 [action=NET_RX]\n  ksoftirqd/1-15 [001] ..s. 66.635826: \
                softirq_entry: vec=3 [action=NET_RX]\n  ksoftirqd/1-15 [001] ..s. 66.635852: softirq_exit: vec=3 [action=NET_RX]\n";
    let said = first(text);
    assert!(
        said.starts_with(
            "softirq NET_RX, raised on CPU 1 while a thread (pid 2110) was current, began 909 µs later, in ksoftirqd/1"
        ),
        "{said}"
    );
}

fn switch(t: u64, prev: (&str, i32, i32, &str), next: (&str, i32, i32)) -> String {
    format!(
        " {}-{} [001] 13.{t:06}: sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} next_pid={} next_prio={}\n",
        prev.0, prev.1, prev.0, prev.1, prev.2, prev.3, next.0, next.1, next.2
    )
}

#[test]
fn a_preemption_is_divided_among_those_that_ran() {
    let text = switch(489, ("slice", 2903, 120, "R+"), ("ksoftirqd/1", 32, 120))
        + &switch(503, ("ksoftirqd/1", 32, 120, "S"), ("other", 2904, 120))
        + &switch(510, ("other", 2904, 120, "S"), ("slice", 2903, 120));
    let said = first(&text);
    let parts = "slice (nice 0, pid 2903) was preempted on CPU 1 for 21.0 µs: ksoftirqd/1 (nice 0, pid 32) ran 14.0 µs, other (nice 0, pid 2904) ran \
                 7.00 µs";
    assert!(said.starts_with(parts), "{said}");
    assert!(said.contains("no sched_waking or sched_wakeup events were read"), "{said}");
    // The thread is selected by its ID.
    let asked = explained(&text, Victims::Tid(2903)).answer.unwrap_or_default();
    assert!(asked.starts_with(parts), "{asked}");
    assert_eq!(explained(&text, Victims::Tid(2904)).answer, None);
    // A thread that sleeps is not preempted.
    assert!(!first(&text.replace("prev_state=R+", "prev_state=S")).contains("preempted"));
}

#[test]
fn a_short_wakeup_does_not_hide_a_long_preemption() {
    let wakeup = " cfs-6580 [001] 13.000470: sched_wakeup: comm=rt pid=66 prio=89 target_cpu=001\n";
    let text = wakeup.to_owned()
        + &switch(488, ("cfs", 6580, 120, "R"), ("rt", 66, 89))
        + &switch(900_000, ("rt", 66, 89, "S"), ("cfs", 6580, 120));
    let said = first(&text);
    assert!(said.contains("; of the wakeups: rt (RT 10, pid 66) on CPU 1, 18.0 µs late"), "{said}");
    assert!(
        said.starts_with("cfs (nice 0, pid 6580) was preempted on CPU 1 for 900 ms by rt (RT 10, pid 66)"),
        "{said}"
    );
}

#[test]
fn a_thread_asleep_in_the_kernel_is_named_with_its_stack() {
    let text = switch(852, ("watchdog", 7304, 120, "D"), ("swapper/1", 0, 120))
        + "kernel_stack:\n=> __schedule\n=> schedule_rtlock   <- a remark\n=> rtlock_slowlock_locked\n=> rt_spin_lock\n=> release_sock\n";
    let said = first(&text);
    let asleep = "watchdog (nice 0, pid 7304) went to sleep uninterruptibly (D) on CPU 1, in rt_spin_lock ← release_sock; no line shows when it was woken";
    assert!(said.starts_with(asleep), "{said}");
    let woken = text
        + " logger-59 [001] 13.700852: sched_waking: comm=watchdog pid=7304 prio=120 target_cpu=001\n"
        + &switch(700_900, ("logger", 59, 120, "S"), ("watchdog", 7304, 120));
    let found = explained(&woken, Victims::Tid(7304));
    assert_eq!(found.victims.len(), 1, "{found:?}");
}

#[test]
fn work_is_late_from_its_queueing() {
    let text = " Binder-215 [002] d..2 98.837669: workqueue_queue_work: work struct=ee5bc404 function=flip_worker workqueue=eb7524c0 req_cpu=4\n \
                kworker/u8:0-6 [001] ...1 98.837712: workqueue_execute_start: work struct ee5bc404: function flip_worker\n \
                kworker/u8:0-6 [001] ...1 98.841390: workqueue_execute_end: work struct ee5bc404\n";
    let said = first(text);
    assert!(said.starts_with("work flip_worker took 3.68 ms in kworker/u8:0 (pid 6) on CPU 1; work flip_worker, queued by Binder (pid 215) on CPU 2, \
                              was started 43.0 µs later by kworker/u8:0 (pid 6) on CPU 1"), "{said}");
    let softirq = first(&text.replace("[002] d..2", "[002] d.s2"));
    assert!(softirq.contains("queued by a softirq upon Binder (pid 215) on CPU 2"), "{softirq}");
    let hard = first(&text.replace("[002] d..2", "[002] d.h2"));
    assert!(hard.contains("queued by an interrupt upon Binder (pid 215) on CPU 2"), "{hard}");
}

#[test]
fn where_nothing_is_late_the_first_line_says_what_is_covered() {
    let text = " ip-690 [000] ..... 36.460435: is_locked <-change_flags\n ip-690 [000] ....1 36.460437: set_rx_mode <-change_flags\n";
    let said = first(text);
    assert!(
        said.starts_with("the lines cover 2.00 µs of ip (pid 690) on CPU 0; no sched_switch events were read"),
        "{said}"
    );
    let said = first(&text.replace("460437", "470437"));
    assert!(
        said.contains("10.0 ms of it passed after is_locked ← change_flags, until set_rx_mode ← change_flags"),
        "{said}"
    );
}

#[test]
fn the_end_of_an_interrupt_is_not_the_thread_below() {
    let text = " jitter-2459 [001] 13.000740: local_timer_entry: vector=236\n jitter-2459 [001] 13.000744: local_timer_exit: vector=236\n \
                jitter-2459 [001] 13.000747: sched_wakeup: ksoftirqd/1:125 [120] success=1 CPU:001\n"
        .to_owned()
        + &switch(760, ("jitter", 2459, 120, "R"), ("ksoftirqd/1", 125, 120))
        + &switch(790, ("ksoftirqd/1", 125, 120, "S"), ("jitter", 2459, 120));
    let found = explained(&text, Victims::default());
    let said = &found.victims[0].verdict;
    assert!(said.contains("jitter (nice 0, pid 2459) was preempted on CPU 1 for 30.0 µs (50.0 µs with interrupt local_timer before it) by ksoftirqd/1"), "{said}");
    assert!(said.contains("between the end of an interrupt and the switch"), "{said}");
    assert!(found.victims[0].causes.iter().all(|cause| cause.confidence != Confidence::High), "{found:?}");
}

#[test]
fn preemption_is_not_off_in_schedule() {
    let line = |flags: &str, t: u64, body: &str| format!(" browse-1436 [000] {flags} 48.{t:06}: {body}\n");
    let end = "sched_switch: prev_comm=browse prev_pid=1436 prev_prio=120 prev_state=S ==> next_comm=irq/86-mmc1 next_pid=65 next_prio=49";
    let text = line("d.h.", 1, "irq_handler_entry: irq=86 name=mmc1")
        + &line("d.h.", 3, "irq_handler_exit: irq=86 ret=handled")
        + &line("dnh.", 5, "sched_wakeup: comm=irq/86-mmc1 pid=65 prio=49 target_cpu=000")
        + &line("dn..", 10, "schedule+0x10/0xa8 <-do_work_pending+0x38/0xcc")
        + &line("dn..", 16, "<stack trace>")
        + " => schedule\n"
        + &line("d...", 48, end);
    let said = first(&text);
    assert!(said.contains("it entered schedule() 5.00 µs after the wakeup, and the switch came 38.0 µs later, while the tracer recorded a stack"), "{said}");
    let elsewhere = first(&text.replace("schedule+0x10/0xa8", "walk_pages+0x10/0xa8"));
    assert!(elsewhere.contains("browse (nice 0, pid 1436) kept interrupts off for 43.0 µs"), "{elsewhere}");
}

#[test]
fn lines_without_a_cpu_or_a_thread_tell_what_they_can() {
    let text = "[000] 54.892148: sched_waking: comm=gov:4 pid=491 prio=-1 target_cpu=007\n[007] 54.892162: cpu_idle: state=2 cpu_id=7\n[007] \
                54.892213: sched_wakeup: comm=gov:4 pid=491 prio=-1 target_cpu=007\n";
    let said = first(text);
    assert!(said.contains("gov:4 (DEADLINE, pid 491) was woken by CPU 0 (sched_waking) and reached the runqueue of CPU 7, which was in idle state 2, 65.0 µs later"), "{said}");
    let bare = "69.624862:   io:24 [112] S ==> ui:15 [120]\n69.624992:   ui:15 [120] R ==> net:17 [120]\n69.625202:   net:17 [120] S ==> ui:15 [120]\n";
    let said = first(bare);
    assert!(said.starts_with("ui (nice 0, pid 15) was preempted for 210 µs by net (nice 0, pid 17)"), "{said}");
    // With two CPUs, it is unknown which of them ran what.
    let mixed = "a-5 69.000100: sched_wakeup: comm=rt pid=9 prio=10 target_cpu=003\nb-6 69.000200: sched_stat_runtime: comm=b pid=6 runtime=1 [ns] \
                 vruntime=2 [ns]\na-5 69.000300: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=R ==> next_comm=rt next_pid=9 next_prio=10\n";
    let said = first(mixed);
    assert!(said.contains("rt (RT 89, pid 9), 200 µs late: what ran on its CPU meanwhile is unknown"), "{said}");
}

#[test]
fn a_wakeup_pasted_below_its_switch_is_found() {
    let wakeup = " irq/15-mmc0-112 [001] 13.000778: sched_wakeup: comm=rt pid=160 prio=10 target_cpu=001\n";
    let text = switch(802, ("ksoftirqd/1", 21, 120, "R+"), ("rt", 160, 10)) + "and before:\n" + wakeup;
    assert!(first(&text).starts_with("rt (RT 89, pid 160) on CPU 1, 24.0 µs late"), "{}", first(&text));
}

#[test]
fn a_thread_that_was_woken_twice_ran_in_between() {
    let wakeup = |t: u64| format!(" Xorg-42 [001] {t}.098252: sched_wakeup: task panel:4569 [98] success=1 [001]\n");
    let text = wakeup(4)
        + &wakeup(9)
        + " perf-5219 [001] 9.100353: sched_switch: task perf:5219 [120] (S) ==> panel:4569 [98]\n";
    let found = explained(&text, Victims::default());
    assert_eq!(found.victims[0].latency_ns, 2_101_000, "{found:?}");
}

#[test]
fn where_a_switch_is_missing_the_thread_at_the_end_is_named_and_not_blamed() {
    let wakeup = " irq/15-mmc0-112 [000] 13.000778: sched_wakeup: comm=rt pid=160 prio=10 target_cpu=001\n".to_owned();
    let text = wakeup.clone() + &switch(802, ("ksoftirqd/1", 21, 120, "R+"), ("rt", 160, 10));
    let at_end =
        "rt (RT 89, pid 160) on CPU 1, 24.0 µs late: ksoftirqd/1 (nice 0, pid 21) had the CPU at the end of it";
    assert!(first(&text).starts_with(at_end), "{}", first(&text));
    let before = switch(100, ("job", 5, 120, "S"), ("swapper/1", 0, 120));
    assert!(first(&(before + &text)).starts_with(at_end), "{}", first(&text));
}

#[test]
fn a_softirq_raised_by_a_thread_without_a_number_is_timed() {
    let text = "ifconfig   [003] d.... 22.830624: softirq_raise: vec=3 [action=NET_RX]\n<idle>-0   [003] ..s.. 22.831357: softirq_entry: vec=3 \
                [action=NET_RX]\n";
    let said = first(text);
    assert!(
        said.starts_with(
            "softirq NET_RX, raised on CPU 3 while ifconfig was current, began 733 µs later, upon the idle task"
        ),
        "{said}"
    );
}

#[test]
fn events_may_lack_the_colon() {
    let text = " kworker/u16:5-192 [002] 4.583377:  sched_wakeup comm=ctl  pid=204  prio=10  success=1  target_cpu=2\n kworker/u16:5-192 [002] \
                4.583411: sched_switch: prev_comm=kworker/u16:5 prev_pid=192 prev_prio=120 prev_state=R ==> next_comm=ctl next_pid=204 next_prio=10\n";
    assert!(first(text).starts_with("ctl (RT 89, pid 204) on CPU 2, 34.0 µs late"), "{}", first(text));
}

#[test]
fn calls_of_trace_cmd_are_those_of_function_graph() {
    let text = " phc-1615 [010] 4.517956: funcgraph_entry:            |    get_time() {\n phc-1615 [010] 4.517957: funcgraph_entry:            |      \
                read_register() {\n phc-1615 [010] 4.518180: funcgraph_exit:   !  222.282 us |      }\n phc-1615 [010] 4.518349: funcgraph_entry:   \
                1.970 us   |      other();\n phc-1615 [010] 4.518494: funcgraph_exit:   !  239.386 us |    }\n";
    let said = first(text);
    assert!(
        said.starts_with(
            "function_graph: get_time() took 239 µs on CPU 10, in phc (pid 1615); of it read_register() 222 µs"
        ),
        "{said}"
    );
    let log = "[  210.338411]  4)               |    _raw_spin_lock() {\n[  210.339466]  4) + 28.614 us   |      slowpath();\n";
    assert!(first(log).starts_with("function_graph: slowpath() took 28.6 µs on CPU 4"), "{}", first(log));
    let wrapped = "> 0.811329 |    2)   eh-72   |               | \n> reset() {\n> 0.920672 |    3)   eh-72   | @ 109343.5 us |  } /* \n> reset */\n";
    assert!(
        first(wrapped).starts_with("function_graph: reset() took 109 ms on CPU 3, in eh (pid 72)"),
        "{}",
        first(wrapped)
    );
}

#[test]
fn the_wait_that_the_kernel_counted_is_said_and_doubted() {
    let text = " <idle>-0 [004] dN.. 27.688544: sched_stat_wait: comm=stress pid=10352 delay=46849882 [ns]\n";
    assert!(
        first(text).starts_with("sched_stat_wait: stress (pid 10352) had waited 46.8 ms for a CPU"),
        "{}",
        first(text)
    );
    let text = text.replace("46849882", "4936139545261");
    assert!(first(&text).contains("that value is wrong"), "{}", first(&text));
}

#[test]
fn a_monitor_says_what_it_did_not_expect() {
    let text =
        " tail-5572 [001] dN.h512 88.401192: process_event: event sched_waking not expected in the state preemptive\n";
    assert!(first(text).starts_with("a monitor of runtime verification: event sched_waking not expected in the state preemptive, while tail (pid 5572)"), "{}", first(text));
}

#[test]
fn the_idle_task_preempts_nobody() {
    let text = switch(100, ("quota", 15, 120, "R+"), ("swapper/1", 0, 120))
        + &switch(90_100, ("swapper/1", 0, 120, "R"), ("quota", 15, 120));
    let said = first(&text);
    let runnable = "quota (nice 0, pid 15) was runnable and did not run on CPU 1 for 90.0 ms while the idle task ran there: it was throttled";
    assert!(said.starts_with(runnable), "{said}");
}

#[test]
fn a_remark_behind_a_function_is_no_part_of_it() {
    let text = "# irqsoff latency trace v1.1.5 on 6.18.1\n# latency: 90 us, #5/5, CPU#1\n#    | task: port_irq-77\n#  => started at: port_read\n\
                #  => ended at: port_done\n#\n  port_irq-77   1d..1    0us : _raw_spin_lock_irqsave <port_read>\n  port_irq-77   1d..1   20us : copy_words   \
                ← slow\n  port_irq-77   1d..1   55us : copy_words   // again\n  port_irq-77   1d..1   70us : copy_words\t← last\n  port_irq-77   1d..1   90us : _raw_spin_unlock_irqrestore <port_done>\n";
    let said = first(text);
    assert!(said.contains("while port_irq (pid 77) was current") && said.contains("copy_words"), "{said}");
}

#[test]
fn a_program_s_own_section_is_not_called_interrupts_off() {
    let header = "preemption latency trace v1.1.4 on 2.6.10\n latency: 90 us, #4/4, CPU#0 | (M:rt VP:0, KP:1, SP:1 HP:1 #P:2)\n    | task: own-355 (uid:0 \
                  nice:0 policy:1 rt_prio:30)\n => started at: <00000000>\n => ended at:   <00000000>\n\n";
    let line = |us: u32, what: &str| format!("     own-355   0....   {us}us : {what}\n");
    let text = header.to_owned()
        + &line(0, "user_trace_start (sys_gettimeofday)")
        + &line(40, "schedule (work)")
        + &line(90, "user_trace_stop (sys_gettimeofday)");
    let said = first(&text);
    assert!(said.contains("90.0 µs on CPU 0 between two marks that a program set"), "{said}");
    assert!(!said.contains("00000000") && !said.contains("off"), "{said}");
}

#[test]
fn a_switch_away_does_not_end_a_wakeup() {
    let text = " <idle>-0 [001] 13.000100: sched_wakeup: comm=sense pid=52 prio=9 target_cpu=001\n".to_owned()
        + &switch(112, ("sense", 52, 9, "S"), ("swapper/1", 0, 120))
        + " <idle>-0 [001] 13.000300: sched_wakeup: comm=sense pid=52 prio=9 target_cpu=001\n"
        + &switch(330, ("sense", 52, 9, "S"), ("swapper/1", 0, 120));
    let found = explained(&text, Victims::default());
    assert!(found.victims.is_empty(), "{:?}", found.victims);
    let came = text.replacen(
        "prev_comm=sense prev_pid=52 prev_prio=9 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120",
        "prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sense next_pid=52 next_prio=9",
        1,
    );
    assert_eq!(explained(&came, Victims::default()).victims.len(), 1);
}

#[test]
fn a_point_that_may_reschedule_is_no_place() {
    let header = "preemption latency trace v1.1.5 on 2.6.16-rt9\n latency: 900 us, #900/900, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0)\n    | task: \
                  audio-3 (uid:0 nice:0 policy:1 rt_prio:1)\n\n";
    let line = |us: u32, what: &str| format!("  lister-616   0.ns.  {us}us : {what}\n");
    let mut text = header.to_owned() + "  lister-616   0dnh2    0us : __trace_start_sched_wakeup (try_to_wake_up)\n";
    for us in [10, 20, 30] {
        text += &(line(us, "preempt_schedule (walk_first)") + &line(us + 5, "cond_resched_softirq (walk_first)"));
    }
    text += "\n[...]\n\n";
    for us in [850, 860, 870] {
        text += &(line(us, "preempt_schedule (walk_next)") + &line(us + 5, "cond_resched_softirq (walk_next)"));
    }
    text += "  audio-3   0d..2  899us : __switch_to (__schedule)\n  audio-3   0d..2  900us : __schedule <lister-616> (79 62)\n";
    let said = first(&text);
    assert!(said.contains("lister (pid 616) could not be preempted") && !said.contains("cond_resched"), "{said}");
}

#[test]
fn an_ordinary_thread_that_keeps_the_cpu_from_the_wakeup_on_is_not_preemptible() {
    let text = "preemption latency trace v1.1.4 on 2.6.11\n latency: 284 us, #4/4, CPU#0 | (M:preempt VP:0, KP:1, SP:1 HP:1 #P:1)\n    | task: \
                ksoftirqd/0-2 (uid:0 nice:-10 policy:0 rt_prio:0)\n\n  copier-995   0d..5    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  copier-995   0dn.4    0us : try_to_wake_up <<...>-2> (69 74)\n  \
                copier-995   0.n.1  276us : preempt_schedule (copy_table)\n  <...>-2   0d..2  281us : __switch_to (__schedule)\n  \
                <...>-2   0d..2  281us : __schedule <copier-995> (74 69)\n";
    let said = first(text);
    assert!(said.contains("copier (OTHER, pid 995) could not be preempted for 281 µs"), "{said}");
}

#[test]
fn a_timer_that_expires_again_and_again_is_named() {
    let line = |us: u64| {
        format!(
            "\tswapper/-1         1dn.h111 {us}us : hrtimer_expire_entry: hrtimer=00000000e0ef0f6b function=tick_sched_timer now={}000\n",
            us - 403_096
        )
    };
    let text: String = [60_818_582, 60_818_592, 60_818_601, 60_818_611, 60_818_620].map(line).concat();
    let said = first(&text);
    assert!(
        said.contains("the hrtimer of tick_sched_timer expired 5 times on CPU 1 within 38.0 µs, every 9.50 µs"),
        "{said}"
    );
    let calm: String = [60_818_582, 60_819_582, 60_820_582, 60_821_582, 60_822_582].map(line).concat();
    assert!(first(&calm).contains("expired 5 times on CPU 1, every 1.00 ms"), "{}", first(&calm));
}

/// The lines cover only the end of a section that lasted a second.
#[test]
fn lines_of_a_small_part_of_a_section_do_not_name_most_of_it() {
    let line = |us: u32, function: &str| format!("ksoftirq-27        3dNs2 {us}us : {function} <-test_pages\n");
    let lines: String = (0..40).map(|n| line(1_056_000 + n, ["clear_bits", "add_batch"][n as usize % 2])).collect();
    let trace = "# tracer: preemptoff\n#\n# preemptoff latency trace v1.1.5 on 5.11.0\n# --------\n\
                 # latency: 1130504 us, #40/49333, CPU#3 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n#    -----------------\n\
                 #    | task: ksoftirqd/3-27 (uid:0 nice:0 policy:0 rt_prio:0)\n#    -----------------\n\
                 #  => started at: __do_softirq\n#  => ended at:   __do_softirq\n#\n#  cmd     pid     ||||| time  |   caller\n"
        .to_owned()
        + &lines;
    let said = first(&trace);
    assert!(said.contains("preemption off for 1.13 s on CPU 3"), "{said}");
    assert!(said.contains(", of which the lines cover only 39.0 µs, mostly in "), "{said}");
    assert!(!said.contains("most of it"), "{said}");
    // Lines that go back in time belong to another listing.
    let again = first(&(trace.clone() + &lines.replace(" 1056", " 56")));
    assert!(again.contains(", of which the last lines cover only 39.0 µs"), "{again}");
}

#[test]
fn an_interrupt_that_comes_again_and_again_is_named() {
    let one = |t: u64| {
        format!(
            " irq/50-usb-11 [000] .... 70.{t:06}: irq_handler_entry: irq=50 name=usb\n irq/50-usb-11 [000] .... 70.{:06}: irq_handler_exit: irq=50 ret=handled\n",
            t + 3
        )
    };
    let text: String = (0..8).map(|n| one(100 + n * 9)).collect();
    let said = first(&(text.clone() + "....\n"));
    assert!(
        said.starts_with("interrupt 50 (usb) came 8 times in 63.0 µs on CPU 0, every 9.00 µs, its handler 3.00 µs each time on average"),
        "{said}"
    );
    let rare: String = (0..8).map(|n| one(100 + n * 9_000)).collect();
    assert!(!first(&rare).contains("came 8 times"), "{}", first(&rare));
}

#[test]
fn lines_that_show_only_the_end_of_a_latency_agree_with_its_header() {
    let text = "preemption latency trace v1.1.5 on 2.6.18-rt\n latency: 4283 us, #6/8, CPU#0 | (M:rt VP:0, KP:0, SP:1 HP:1 #P:2)\n    | task: IRQ 18-819 \
                (uid:0 nice:-5 policy:1 rt_prio:70)\n  <idle>-0     1Dn.3 4270us+: trace_change_sched_cpu (0 1 0)\n  <idle>-0     1Dn.3 4275us : \
                __activate_task <<...>-819> (170 1)\n   <...>-819   1D..2 4278us : thread_return <<idle>-0> (20 170)\n   <...>-819   1...1 4283us : \
                thread_return (thread_return)\n";
    let said = first(text);
    assert!(
        said.contains(
            "it had the CPU on CPU 1 after 4.28 ms, and the first line, of the idle task, is 4.27 ms after the wakeup"
        ),
        "{said}"
    );
}

#[test]
fn an_idle_cpu_whose_lines_soon_end_is_not_blamed() {
    let text = "# tracer: wakeup_rt\n# latency: 158 us, #335/335, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n# task: job-964 (uid:0 nice:0 policy:1 \
                rt_prio:99)\n  <idle>-0    1dNh3.    0us+: 0:120:R + [001] 964:0:R job\n  <idle>-0    1dNh3.   14us : <stack trace>\n => ttwu_do_activate\n";
    let said = first(text);
    assert!(
        said.contains("longest wakeup 158 µs, of job (FIFO 99, pid 964) on CPU 1: the lines do not show"),
        "{said}"
    );
}

#[test]
fn function_graph_of_trace_cmd_that_a_mail_client_wrapped() {
    let text = "cpus=2\n      irq/68-usb-725   [000]   514.575337: funcgraph_entry:      # \n2079.480 us |  link_down();\n      irq/68-usb-946   [000]   \
                524.263731: funcgraph_entry:      + \n11.640 us  |  link_down();\n";
    let said = first(text);
    assert!(said.starts_with("function_graph: link_down() took 2.08 ms on CPU 0, in irq/68-usb (pid 725)"), "{said}");
}

#[test]
fn noises_without_a_workload_are_run_times() {
    let noise = "  sh-1210 [020] d..3. 71.794534: thread_noise: sh:1210 start 71.781610976 duration 8943683 ns\n";
    let with = first(noise);
    assert!(with.starts_with("osnoise: the longest noise is 8.94 ms, of sh (pid 1210) on CPU 20"), "{with}");
    let without = first(&format!("# cat osnoise/options\nNO_DEFAULTS NO_OSNOISE_WORKLOAD\n{noise}"));
    assert!(
        without.starts_with("osnoise without its workload, so these are run times: the longest is 8.94 ms"),
        "{without}"
    );
}
