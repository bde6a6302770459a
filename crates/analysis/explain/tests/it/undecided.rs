//! A cause that a text does not exclude is not excluded, and a cause that it shows is named: one interrupt, a thread
//! that waited for a lock, a timer that is late on busy CPUs too, threads and timers of traces without switches, a thread that still waits at
//! the end.

use punctual_explain::{ExplainOptions, explain};
use punctual_trace::{Options, open_text};

/// The first line, without a time.
fn first(text: &str) -> String {
    let mut source = open_text(text.as_bytes(), Options::default()).unwrap();
    let found = explain(source.as_mut(), ExplainOptions::default());
    let verdict = found.victims.first().map(|victim| victim.verdict.clone());
    verdict.or(found.answer).unwrap_or_default()
}

#[test]
fn an_interrupt_that_ended_in_between_is_not_excluded() {
    let header = "# wakeup_rt latency trace v1.1.5 on 6.6.9-rt\n# latency: 330 us, #4/4, CPU#2 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n";
    let line = |flags: &str, t: u64, body: &str| format!("  <idle>-0  2{flags}  {t}us : {body}\n");
    let trace = |flags: &str| {
        first(&format!(
            "{header}{}{}{}{}",
            line("dNh4.", 10, "0:120:R   + [002]  70:  9:R ctl"),
            line(flags, 40, "try_to_wake_up <-wake_up_process"),
            line("d..3.", 320, "__schedule <-schedule_idle"),
            line("d..3.", 328, "0:120:R ==> [002]  70:  9:R ctl"),
        ))
    };
    let said = trace("dNh4.");
    assert!(said.contains("an interrupt ended there, most of it last traced in try_to_wake_up"), "{said}");
    assert!(said.contains("no line shows which of them took long"), "{said}");
    let said = trace("d..4.");
    assert!(said.contains("with interrupts off") && said.contains("no interrupt is recorded there"), "{said}");
}

#[test]
fn one_interrupt_has_one_name() {
    let header = "preemption latency trace v1.1.4 on 2.6.12\n latency: 60 us, #9/9, CPU#0 | (M:rt VP:0, KP:1, SP:1 HP:1 #P:1)\n    \
                  -----------------\n    | task: sirq-rx/-6 (uid:0 nice:-10 policy:0 rt_prio:0)\n    -----------------\n";
    let lines = "   <...>-900  0dnh2    0us : __trace_start_sched_wakeup <sirq-rx-6> (69 0)\n   \
                 <...>-900  0dnh1    1us : try_to_wake_up <sirq-rx-6> (69 76)\n   \
                 <...>-900  0dnh.    5us : do_IRQ (c0117743 0 0)\n   \
                 <...>-900  0dnh1    6us : ack_pic (__do_IRQ)\n   \
                 <...>-900  0dnh.   20us : timer_interrupt (handle_IRQ_event)\n   \
                 <...>-900  0dnh1   24us : do_timer (timer_interrupt)\n   \
                 <...>-900  0dnh.   35us : irq_exit (do_IRQ)\n   \
                 <...>-900  0dnh1   36us : trigger_softirqs (do_softirq)\n   \
                 <...>-900  0dnh1   45us : wake_up_process (trigger_softirqs)\n   \
                 <...>-900  0dn..   48us : local_irq_restore (rx)\n   \
                 <...>-900  0Dnh.   49us : __schedule (preempt_schedule)\n   \
                 <...>-900  0Dnh2   51us : dequeue_task (__schedule)\n   \
                 sirq-rx-6   0Dnh2   53us : __switch_to (__schedule)\n   \
                 sirq-rx-6   0Dnh2   54us : __schedule <<...>-900> (76 69)\n";
    let said = first(&format!("{header}{lines}"));
    assert!(said.contains("interrupt timer took 40.0 µs of it"), "{said}");
    assert!(!said.contains("an interrupt took"), "{said}");
}

#[test]
fn a_thread_that_lends_its_priority_waits_for_a_lock() {
    let switch = |t: u64, prev: &str, state: &str, next: &str| {
        let task = |who: &str, of: &str| {
            let (comm, prio) = who.split_once('/').unwrap();
            format!("{of}_comm={comm} {of}_pid={} {of}_prio={prio}", if comm == "gp" { 11 } else { 54 })
        };
        let (comm, _) = prev.split_once('/').unwrap();
        let pid = if comm == "gp" { 11 } else { 54 };
        let (prev, next) = (task(prev, "prev"), task(next, "next"));
        format!(" {comm}-{pid} [007] d...2 46.000{t}: sched_switch: {prev} prev_state={state} ==> {next}\n")
    };
    let lock = " gp-11 [007] d...3 46.000120: sched_pi_setprio: comm=worker pid=54 oldprio=120 newprio=98\n";
    let woken = " worker-54 [007] d...3 46.000150: sched_waking: comm=gp pid=11 prio=98 target_cpu=007\n";
    let trace = |lock: &str, state: &str, woken: &str| {
        let back = " worker-54 [007] d...3 46.000145: sched_pi_setprio: comm=worker pid=54 oldprio=98 newprio=120\n";
        let back = if lock.is_empty() { "" } else { back };
        let (out, end) = (switch(130, "gp/98", state, "worker/98"), switch(190, "worker/120", "S", "gp/98"));
        first(&format!("{}{lock}{out}{back}{woken}{end}", switch(100, "worker/120", "R", "gp/98")))
    };
    for state in ["R+", "R", "D"] {
        let said = trace(lock, state, woken);
        assert!(said.contains("for a lock that worker (pid 54) held"), "{state}: {said}");
        assert!(!said.contains("gp (RT 1, pid 11) was preempted"), "{state}: {said}");
    }
    // Woken without a lock: the thread was on its way to sleep.
    assert!(!trace("", "R+", woken).contains("was preempted"));
    assert!(trace("", "R+", "").contains("gp (RT 1, pid 11) was preempted on CPU 7 for 60.0 µs"));
}

#[test]
fn a_timer_as_late_on_a_busy_cpu_is_not_late_for_an_idle_state() {
    let line = |who: &str, t: &str, n: u32, body: &str| format!("  {who} [000] d.h1. 95.{t}: #{n} context {body} ns\n");
    let trace = |busy: &str| {
        first(
            &[
                line("job-99", "766649", 1, &format!("irq timer_latency    {busy}")),
                line("timerlat/0-235", "766826", 1, "thread timer_latency    697920"),
                line("<idle>-0", "767682", 2, "irq timer_latency    577984"),
                line("timerlat/0-235", "767839", 2, "thread timer_latency    734656"),
            ]
            .concat(),
        )
    };
    let said = trace("540992");
    assert!(said.contains("up to 578 µs late upon the idle task and up to 541 µs upon other threads"), "{said}");
    assert!(!said.contains("leaving idle"), "{said}");
    assert!(trace("40992").contains("leaving idle took 578 µs"));
}

#[test]
fn a_thread_woken_for_a_cpu_that_stays_idle() {
    let waking = "  sh-81 [003] 46.602248: sched_waking: comm=plug/1 pid=70 prio=120 target_cpu=001\n";
    let sent = "  sh-81 [003] 46.602253: arch_ipi: (c00000) cpu=1\n";
    let idle = "  <idle>-0 [001] 46.602259: arch_idle: (c00001)\n";
    let said = first(&format!("{waking}{sent}{idle}"));
    assert!(
        said.starts_with(
            "plug/1 (pid 70) was woken for CPU 1 by sh (pid 81) on CPU 3, which sent it an interrupt (arch_ipi), and no line shows it running: CPU 1 \
             is in its idle task 11.0 µs later (arch_idle), and no line of that CPU shows an interrupt since then"
        ),
        "{said}"
    );
    let entry = "  <idle>-0 [001] 46.602255: arch_ipi_entry: (c00002)\n";
    let said = first(&format!("{waking}{sent}{entry}{idle}"));
    assert!(said.contains("is in its idle task") && !said.contains("no line of that CPU"), "{said}");
    assert_eq!(first(&format!("{waking}  plug/1-70 [001] 46.602256: arch_work: (c00001)\n{idle}")), "");
}

#[test]
fn a_periodic_timer_is_named() {
    let tick = |ms: u64, late: u64| {
        format!(
            "  <idle>-0 [001] d.h1. 51.{ms}671: hrtimer_expire_entry: hrtimer=ffff9c418 function=tick now={}\n  <idle>-0 [001] d.h2. \
             51.{ms}672: hrtimer_start: hrtimer=ffff9c418 function=tick expires={due} softexpires={due} mode=ABS\n",
            ms * 1_000_000 + late,
            due = (ms + 1) * 1_000_000
        )
    };
    let said = first(&[tick(357, 0), tick(358, 700), tick(359, 900)].concat());
    assert_eq!(
        said,
        "the hrtimer of tick expired 3 times on CPU 1, every 1.00 ms, 900 ns late at most, each time while the idle task was current"
    );
    assert_eq!(first(&[tick(357, 0), tick(358, 700), tick(389, 900)].concat()), "");
}

#[test]
fn a_count_below_zero_is_named() {
    let line = |who: &str, t: &str, text: &str| format!("  {who} [000] 51.{t}: bprint: {text}\n");
    let trace = |count: &str| {
        first(
            &[
                line("kworker/1:1-84", "769423", "tx: size=3 fifo_len=3"),
                line("play-763", "769460", "flush: reset"),
                line("irq/21-76", "769479", &format!("tx: size=4096 fifo_len={count}")),
                line("irq/21-76", "781295", "done: size=4096"),
            ]
            .concat(),
        )
    };
    let said = trace("4294967293");
    assert!(said.starts_with("fifo_len of tx became 4294967293, which is -3: a count went below zero"), "{said}");
    assert!(said.contains("after \"flush: reset\" (play (pid 763) on CPU 0)"), "{said}");
    assert!(said.contains("the longest time between two lines of text is 11.8 ms"), "{said}");
    assert_eq!(trace("4096"), "");
}

#[test]
fn osnoise_names_the_cpu_with_most_noise() {
    let row = |cpu: u32, row: &str| format!("  <...>-72{cpu} [00{cpu}] .......  2001.25652{cpu}: 1000000 {row}\n");
    let text = [
        "# tracer: osnoise\n#\n".to_owned(),
        row(0, "986 99.90140 87 9 0 1032 174 6"),
        row(1, "1055 99.89450 1689 9 0 1003 197 8"),
    ];
    let said = first(&(text.concat() + &row(2, "4328 99.56720 1131 11 0 1015 208 83")));
    assert!(said.starts_with("osnoise: in 3 periods the longest single noise is 1689 us on CPU 1"), "{said}");
    assert!(
        said.contains("most noise is on CPU 2: 4328 us of 1000000 us (99.56720 % left), at most 1131 us at once"),
        "{said}"
    );
    assert!(said.contains("11 by hardware or a hypervisor, 0 NMIs, 1015 interrupts, 208 softirqs, 83 threads (of the threads more than on other CPUs: 83 against 8"), "{said}");
}

#[test]
fn a_favoured_thread_that_lost_its_cpu_is_the_headline() {
    let text = "  app 33 [004] 24394.442420: sched:sched_wakeup: kworker/4:4:225 [120] success=1 CPU:004\n  app 33 [004] 24394.442444: \
                sched:sched_switch: app:33 [105] R ==> kworker/4:4:225 [120]\n  kworker/4:4 225 [004] 24394.442465: sched:sched_switch: \
                kworker/4:4:225 [120] W ==> app:33 [105]\n";
    let said = first(text);
    let victim =
        "app (nice -15, pid 33) was preempted on CPU 4 for 21.0 µs by kworker/4:4 (nice 0, pid 225); of the wakeups: ";
    assert!(said.contains(victim), "{said}");
    assert!(!first(&text.replace("105", "120")).contains("of the wakeups"));
}

#[test]
fn a_switch_has_the_ids_of_its_fields() {
    let text = "  app   114 [011] 1802764.628809: sched:sched_wakeup: app:2117 [120] success=1 CPU:075\n  app   112 [009] 1802765.259076: \
                sched:sched_switch: app:2114 [120] T ==> app:2117 [120]\n";
    let said = first(text);
    assert!(said.contains("app (nice 0, pid 2114) had the CPU at the end of it"), "{said}");
    assert!(said.contains("it was woken for CPU 75, and no line shows when it came here"), "{said}");
}

#[test]
fn a_maximum_stated_beside_the_trace_is_not_explained_by_a_short_latency() {
    let trace = "  <idle>-0 [001] d.h4 5.000010: sched_waking: comm=ctl pid=9 prio=9 target_cpu=001\n  <idle>-0 [001] d..2 5.000050: sched_switch: \
                 prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=ctl next_pid=9 next_prio=9\n";
    let said = first(&format!("$ ./probe 0\n max seen 17373 us\n{trace}"));
    assert!(
        said.ends_with("; this does not explain what the text says beside the trace, \"max seen 17373 us\""),
        "{said}"
    );
    assert!(first(&format!("max seen 17373 µs\n{trace}")).contains("\"max seen 17373 "));
    assert!(!first(&format!("$ ./probe 0\n max seen 73 us\n{trace}")).contains("beside the trace"));
}

const OLD: &str = "preemption latency trace v1.1.5 on 2.6.17-rt1\n latency: 415 us, #9/9, CPU#1 | (M:rt VP:0, KP:0, SP:1 HP:1 #P:2)\n    \
                   -----------------\n    | task: job-43 (uid:0 nice:-5 policy:0 rt_prio:0)\n    -----------------\n";

#[test]
fn lines_that_begin_late_show_no_cause() {
    let lines = "  <idle>-0     1Dn.1  404us : smp_reschedule_interrupt (reschedule_interrupt)\n  <idle>-0     1.n.1  405us : __exit_idle (cpu_idle)\n  \
                 <idle>-0     1Dn.2  410us : effective_prio <<...>-43> (-10 -10)\n  <idle>-0     1D..2  412us : __switch_to (thread_return)\n   \
                 <...>-43  1D..2  413us : thread_return <<idle>-0> (20 -10)\n   <...>-43  1D..2  415us : thread_return (thread_return)\n";
    let said = first(&format!("{OLD}{lines}"));
    assert!(
        said.contains(
            "it had the CPU after 413 µs, and the first line, of the idle task, is 404 µs after the wakeup: what kept"
        ),
        "{said}"
    );
    let busy = first(&format!("{OLD}{}", lines.replace("<idle>-0 ", "hog-7    ").replace("<<idle>-0>", "<hog-7>")));
    assert!(busy.contains("and the first line is 404 µs after the wakeup"), "{busy}");
}

#[test]
fn the_thread_at_the_last_line_need_not_have_kept_the_cpu() {
    let lines = " netstat-29  0D.h2    0us : __trace_start_sched_wakeup (try_to_wake_up)\n netstat-29  0D.h2    1us : __trace_start_sched_wakeup <<...>-43> (62 0)\n \
                 netstat-29  0D.h.    2us : wake_up_process (wakeup_softirqd)\n";
    let text = format!("{OLD}{lines}");
    let mut source = open_text(text.as_bytes(), Options::default()).unwrap();
    let found = explain(source.as_mut(), ExplainOptions::default());
    let said = &found.victims[0].verdict;
    assert!(said.contains("netstat (pid 29) was current at the last line, 2.00 µs after the wakeup; what ran in the rest of that time is not in these lines"), "{said}");
    assert!(found.groups.iter().all(|group| group.tid.is_none()), "{:?}", found.groups);
}

#[test]
fn flags_tell_interrupts_and_softirqs_in_a_section() {
    let header = "# tracer: preemptoff\n#\n# preemptoff latency trace v1.1.5 on 3.8.0\n# latency: 83 us, #40/40, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n\
                  #    -----------------\n#    | task: job-94 (uid:0 nice:0 policy:0 rt_prio:0)\n#    -----------------\n#  => started at: wake_up_new\n#  => ended at:   unlock\n#\n";
    let line = |flags: &str, t: u64, body: &str| format!("     job-94    1{flags} {t:4}us : {body}\n");
    let text = [
        line("d..1", 0, "lock <-wake_up_new"),
        line("d.h1", 13, "exit_idle <-apic_interrupt"),
        line("d.h2", 14, "get_offsets <-hrtimer_interrupt"),
        "[...]\n".to_owned(),
        line("d.h1", 35, "next_event <-program_event"),
        line("d..2", 36, "do_softirq <-irq_exit"),
        line("d.s2", 37, "call_timer_fn <-run_timer_softirq"),
        "[...]\n".to_owned(),
        line("dNs2", 81, "needs_gp <-rcu_process_callbacks"),
        line("dN.2", 82, "idle_cpu <-irq_exit"),
        line("..N.1", 84, "unlock <-unlock_it").replace("..N.1", ".N.1"),
    ];
    let said = first(&format!("{header}{}", text.concat()));
    let shares = "of it 23.0 µs in interrupts and 45.0 µs in softirqs (shown: run_timer_softirq, rcu_process_callbacks), judging by the lines on both sides of those left out, while job";
    assert!(said.contains(shares), "{said}");
    let task =
        first(&format!("{header}{}", text.concat().replace("d.h1   35us", "d..1   35us").replace("dNs2", "dN.2")));
    assert!(!task.contains("in softirqs"), "{task}");
}

#[test]
fn works_that_queue_each_other_are_a_loop() {
    let line = |t: u64, body: &str| format!("     kworker/1:1-45     [001] d..1.  65.{t:06}: workqueue_{body}\n");
    let round = |t: u64| {
        [
            line(t, "execute_start: work struct 00000000a1: function scan [hub]"),
            line(t + 7, "queue_work: work struct=00000000b2 function=suspend workqueue=pm req_cpu=256 cpu=1"),
            line(t + 8, "execute_end: work struct 00000000a1: function scan [hub]"),
            line(t + 8, "execute_start: work struct 00000000b2: function suspend"),
            line(t + 43, "queue_work: work struct=00000000a1 function=scan [hub] workqueue=hub req_cpu=256 cpu=1"),
            line(t + 44, "execute_end: work struct 00000000b2: function suspend"),
        ]
        .concat()
    };
    let said = first(&[round(100), round(144), round(188)].concat());
    let both = "work scan and work suspend queue each other while they run in kworker/1:1 (pid 45) on CPU 1: scan started 3 times, every 44.0 µs, without a pause in between; they take 8.00 µs and 36.0 µs at most; why they go on";
    assert!(said.contains(both), "{said}");
    assert!(!first(&round(100)).contains("queue each"), "{}", first(&round(100)));
    let own = |t: u64| round(t).replace("00000000b2 function=suspend", "00000000a1 function=scan");
    let own = first(&[own(100), own(144), own(188)].concat());
    assert!(own.contains("work scan queues itself while it runs in kworker/1:1"), "{own}");
    let late = "     kworker/0:2-46     [000] d..1.  65.000400: workqueue_queue_work: work struct=00000000c3 function=slow workqueue=pm req_cpu=256 cpu=0\n     \
                kworker/0:2-46     [000] d..1.  73.000400: workqueue_execute_start: work struct 00000000c3: function slow\n";
    let both = first(&[round(100), round(144), round(188), late.into()].concat());
    let (delay, other) = (both.find("was started 8.00 s later"), both.find("queue each other"));
    assert!(delay.is_some() && delay < other, "{both}");
    let irq = round(100).replace("d..1.", "d.h1.");
    assert!(!first(&[irq.clone(), irq.replace("65.0001", "65.0002")].concat()).contains("queue each"), "{irq}");
}

#[test]
fn wrapped_works_are_joined_and_one_that_lets_another_run_slept() {
    let text = "              cat-30  [002] d... 33153.791829: workqueue_queue_work: \nwork struct=00000000e4 function=reset_func \n[gpu] workqueue=0000000080 req_cpu=8192 cpu=2\n    \
                kworker/2:1-55   [002] .... 33153.791834: \nworkqueue_execute_start: work struct 00000000e4: function \nreset_func [gpu]\n    \
                kworker/2:0-17   [002] .... 33153.792087: \nworkqueue_execute_start: work struct 00000000e6: function \nreset_func [gpu]\n    \
                kworker/2:1-55   [002] .... 33154.310948: workqueue_execute_end: \nwork struct 00000000e4\n    \
                kworker/2:0-17   [002] .... 33154.311043: workqueue_execute_end: \nwork struct 00000000e6\n";
    let said = first(text);
    let slept = "work reset_func took 519 ms in kworker/2:1 (pid 55) on CPU 2; 253 µs after its start kworker/2:0 (pid 17) began work reset_func on that CPU, so it had given up the CPU";
    assert!(said.starts_with(slept), "{said}");
}

#[test]
fn an_idle_cpu_without_a_tick_is_not_late() {
    let text = "          job-2     [000] d.h.   167.088270: hrtimer_expire_entry: hrtimer=(ptrval) function=tick_sched_timer now=166436355700\n         \
                <idle>-0     [000] d..1   167.097876: tick_stop: success=1 dependency=NONE\n         \
                <idle>-0     [000] d.h1   168.818206: hrtimer_expire_entry: hrtimer=(ptrval) function=tick_sched_timer now=168166280900\n";
    let said = first(text);
    assert!(said.starts_with("CPU 0 was idle with its tick stopped for 1.72 s, from 167.097876 s to the line at 168.818206 s (hrtimer_expire_entry): an idle CPU"), "{said}");
    assert!(!first(&text.replace("success=1", "success=0")).contains("idle with"));
    let entered = text.replace(
        "dependency=NONE\n",
        "dependency=NONE\n          <idle>-0     [000] d..1   167.097879: cpu_idle: state=2 cpu_id=0\n",
    );
    assert!(first(&entered).contains("for 1.72 s, from 167.097876 s"), "{}", first(&entered));
}

#[test]
fn the_only_handler_in_the_lines_of_a_softirq_is_named() {
    let line = |t: u64, body: &str| format!("  <idle>-0     0d.s1 {t:4}us : {body}\n");
    let trace = [
        line(1, "__trace_start_sched_wakeup <<...>-43> (73 0)"),
        line(5, "expire_it (run_timer_softirq)"),
        line(16, "may_expire (check_expire)"),
        line(27, "may_expire (check_expire)"),
        "[ etc ]\n".to_owned(),
        line(390, "may_expire (check_expire)"),
        line(395, "may_expire (check_expire)"),
        line(398, "schedule (cpu_idle)").replace("d.s1", "dn.."),
        "   <...>-43     0d..2  400us : __switch_to (schedule)\n   <...>-43     0d..2  403us : schedule <<idle>-0> (8c 73)\n"
            .to_owned(),
    ];
    let said = first(&format!("{OLD}{}", trace.concat()));
    assert!(said.contains("in check_expire (softirq handler: run_timer_softirq)"), "{said}");
    let two = trace.concat().replace("16us : may_expire (check_expire)", "16us : rx (net_rx_action)");
    assert!(!first(&format!("{OLD}{two}")).contains("softirq handler:"), "{two}");
}

#[test]
fn what_is_woken_and_never_runs_is_named_last() {
    let text = " migration/9    67 [009] 5373.359903: sched:sched_waking: comm=perf pid=418 prio=120 target_cpu=009\n migration/9    67 \
                [009] 5373.359907: sched:sched_stat_runtime: comm=migration/9 pid=67 runtime=4050 [ns]\n";
    let said = first(text);
    let waits = "perf (nice 0, pid 418) was woken but had not run when the trace ended, for 4.00 µs at least";
    assert!(said.starts_with(waits), "{said}");
}

#[test]
fn an_ordinary_thread_that_still_waits_is_named_where_no_wakeup_of_a_real_time_thread_is_whole() {
    let text = "   <idle>-0   [000] dnh..   61.377531: sched_wakeup: comm=journal pid=136 prio=120 target_cpu=000\n   <idle>-0   [000] d....   \
                61.377548: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=irq/51-mmc0 next_pid=94 \
                next_prio=49\n   irq/51-mmc0-94   [000] d....   61.377618: sched_wakeup: comm=kworker/0:4 pid=452 prio=120 \
                target_cpu=000\n   irq/51-mmc0-94   [000] d....   61.377634: sched_switch: prev_comm=irq/51-mmc0 prev_pid=94 prev_prio=49 \
                prev_state=S ==> next_comm=kworker/0:4 next_pid=452 next_prio=120\n   kworker/0:4-452   [000] d....   61.377680: \
                sched_stat_runtime: comm=kworker/0:4 pid=452 runtime=54703 [ns]\n";
    let said = first(text);
    let expected = "no whole wakeup of a real-time thread, apart from migration/N, is in the trace; of others: journal (nice 0, pid 136) was woken but had not run";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("for 149 µs at least: irq/51-mmc0 (RT 50, pid 94)"), "{said}");
}

#[test]
fn a_real_time_thread_that_still_waits_comes_before_an_ordinary_one() {
    let text = "   <idle>-0   [000] d..2.  100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
                next_comm=irq/51-mmc0 next_pid=94 next_prio=40\n   irq/51-mmc0-94  [000] d..2.  100.000100: sched_wakeup: comm=journal pid=136 \
                prio=120 target_cpu=000\n   irq/51-mmc0-94  [000] d.h2.  100.020000: sched_wakeup: comm=ctl pid=200 prio=45 \
                target_cpu=000\n   irq/51-mmc0-94  [000] d..2.  100.025000: sched_stat_runtime: comm=irq/51-mmc0 pid=94 runtime=54703 [ns]\n";
    let said = first(text);
    assert!(
        said.contains("ctl (RT 54, pid 200) was woken but had not run") && said.contains("for 5.00 ms at least"),
        "{said}"
    );
    assert!(!said.contains("journal"), "{said}");
}
