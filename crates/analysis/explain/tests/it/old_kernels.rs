//! Tests traces of kernels 2.6 to 4.x as people paste them, by the first line of the result.

use punctual_explain::{ExplainOptions, Explanation, explain};
use punctual_trace::{Options, open, open_text};

pub fn explained(text: &str) -> Explanation {
    let mut source = open_text(text.as_bytes(), Options::default()).unwrap();
    explain(source.as_mut(), ExplainOptions::default())
}

/// Returns the first line of the result.
pub fn first(text: &str) -> String {
    let found = explained(text);
    let verdict = found.victims.first().map(|victim| victim.verdict.clone());
    verdict.or(found.answer).unwrap_or_else(|| format!("none: {:?}", found.notes))
}

/// A header of /proc/latency_trace.
pub fn header(us: u64, entries: u64, task: &str) -> String {
    format!(
        "preemption latency trace v1.1.5 on 2.6.16-rt9\n\
         --------------------------------------------------------------------\n \
         latency: {us} us, #{entries}/{entries}, CPU#0 | (M:rt VP:0, KP:0, SP:0 HP:0)\n    -----------------\n    \
         | task: {task})\n    -----------------\n\n                 _------=> CPU#\n   cmd     pid ||||| time  |   caller\n"
    )
}

/// Priorities are hexadecimal (0x13 is real-time priority 80); the first column of the woken thread is missing.
#[test]
fn the_thread_that_keeps_the_cpu_from_the_header_s_is_named() {
    let trace = |priority: &str, rest: &str| {
        header(4020, 10, "audio_engine-700 (uid:1000 nice:0 policy:1 rt_prio:80")
            + "  linker-900   0d.h5    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
               linker-900   0d.h5    1us : __trace_start_sched_wakeup <<...>-700> (13 0)\n  \
               linker-900   0dn.2   16us < (2097760)\n  \
               linker-900   0dn.2   17us : free_area (unmap_all)\n  \
               linker-900   0dn.3   18us : put_one_page (free_area)\n  \
               linker-900   0dn.2   20us!: put_one_page (free_area)\n"
            + rest
            + &format!(
                "  linker-900   0dn.. 4008us : schedule (preempt_schedule)\n   \
                 <...>-700   0d..2 4010us : __switch_to (schedule)\n   \
                 <...>-700   0d..2 4012us : schedule <linker-900> ({priority} 13)\n   \
                 <...>-700   0d..2 4014us : trace_stop_sched_switched <<...>-700> (13 0)\n"
            )
    };
    let said = first(&trace("76", ""));
    assert!(said.starts_with("audio_engine (RT 80, pid 700) on CPU 0, 4.01 ms late: "), "{said}");
    assert!(said.contains("linker (OTHER, pid 900) could not be preempted for"), "{said}");
    assert!(said.contains("put_one_page ← free_area"), "{said}");
    // Now the other thread has the higher priority.
    let said = first(&trace("9", ""));
    assert!(said.contains("late: linker (RT 90, pid 900) ran 4.01 ms of it"), "{said}");
    let behind = "  linker-900   0dn.2 3990us : put_one_page (free_area)\n";
    for left_out in ["[ etc ]\n", "(...)\n", "....\n", "\u{2026}\u{2026}\n"] {
        let said = first(&trace("76", &format!("{left_out}{behind}")));
        assert!(
            said.contains("late: suspected: linker (OTHER, pid 900) could not be preempted for"),
            "{left_out}{said}"
        );
        assert!(said.contains(" in free_area ← unmap_all"), "{left_out}{said}");
    }
}

/// Neither `__switch_to` nor the line with both priorities is present.
#[test]
fn the_first_column_alone_names_who_ran() {
    let trace = header(9313, 4, "audio-700 (uid:1000 nice:0 policy:1 rt_prio:80")
        + "  linker-900   0d.h5    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
           linker-900   0.n.1   40us!: unmap_vmas (exit_mmap)\n  \
           linker-900   0Dn.2 9308us : __schedule (preempt_schedule)\n   \
           audio-700   0D..2 9313us : trace_stop_sched_switched (__schedule)\n";
    let said = first(&trace);
    assert!(
        said.starts_with("audio (RT 80, pid 700) on CPU 0, 9.31 ms late: linker (pid 900) could not be preempted for"),
        "{said}"
    );
    assert!(said.contains("in unmap_vmas ← exit_mmap"), "{said}");
}

/// An ordinary thread: before 2.6.23 its priority changes as it runs, so it is not called a nice value.
#[test]
fn an_ordinary_thread_that_the_tracer_followed() {
    let trace = header(1178, 8, "ksoftirqd/0-2 (uid:0 nice:-10 policy:0 rt_prio:0")
        + "printer-995   0dnh3    0us : __trace_start_sched_wakeup (try_to_wake_up)\n\
           printer-995   0dnh2    1us : try_to_wake_up <<...>-2> (73 79)\n\
           printer-995   0dn..   10us : draw_char (write_line)\n\
           printer-995   0dn..   11us!: scroll_screen (write_line)\n\
           printer-995   0dnh.  972us : do_IRQ (c02174dc 0 0)\n\
           printer-995   0dn.. 1138us+: __local_irq_save (scroll_screen)\n   \
           <...>-2     0dnh2 1176us : __switch_to (__schedule)\n   \
           <...>-2     0dnh2 1176us : __schedule <printer-995> (79 73)\n";
    let said = first(&trace);
    assert!(said.starts_with("ksoftirqd/0 (nice -10, pid 2) on CPU 0, 1.18 ms late: "), "{said}");
    assert!(said.contains("printer (OTHER, pid 995) could not be preempted"), "{said}");
    assert!(said.contains("scroll_screen ← write_line"), "{said}");
}

/// The lines end in a softirq, long before the thread runs.
#[test]
fn a_softirq_that_the_lines_end_in_is_suspected() {
    let trace = header(7418, 6397, "player-863 (uid:1000 nice:-20 policy:0 rt_prio:0")
        + "    Xorg-215   0d.s2    1us : __trace_start_sched_wakeup <<...>-863> (64 0)\n    \
           Xorg-215   0d.s.    6us : flush_cache (run_timer_softirq)\n";
    let said = first(&trace);
    assert!(
        said.starts_with("player (nice -20, pid 863) on CPU 0, 7.42 ms late: suspected: a softirq took 7.4"),
        "{said}"
    );
    assert!(said.contains("last traced in flush_cache ← run_timer_softirq"), "{said}");
}

/// Nothing is known about the idle task in a part that is left out; about the softirq in that part, only that it ran
/// before and after.
#[test]
fn a_softirq_on_both_sides_of_what_is_left_out_is_suspected() {
    let trace = header(1036, 1001, "player-2221 (uid:0 nice:0 policy:0 rt_prio:0")
        + "  <idle>-0     0d.s4    1us : __trace_start_sched_wakeup <<...>-2221> (73 0)\n  \
           <idle>-0     0d.s1   16us : may_expire (check_expire)\n  \
           <idle>-0     0d.s1   27us : may_expire (check_expire)\n[ etc ]\n  \
           <idle>-0     0d.s1  995us : may_expire (check_expire)\n  \
           <idle>-0     0d.s1  998us : may_expire (check_expire)\n  \
           <idle>-0     0dn..  999us : schedule (cpu_idle)\n   \
           <...>-2221   0d..2 1001us : __switch_to (schedule)\n   \
           <...>-2221   0d..2 1003us : schedule <<idle>-0> (8c 73)\n";
    let said = first(&trace);
    assert!(
        said.starts_with("player (nice 0, pid 2221) on CPU 0, 1.00 ms late: suspected: a softirq took 9"),
        "{said}"
    );
    assert!(said.contains("in may_expire ← check_expire"), "{said}");
    let said = first(&trace.replace("0d.s1  995us", "0d.h1  995us"));
    assert!(said.contains("the trace shows no cause"), "{said}");
}

/// The beginning was cut off; times begin with the wakeup.
#[test]
fn what_ran_before_the_first_line_is_not_known() {
    let trace = "(          audio-100  |#0): new 526 us maximum-latency wakeup.\n".to_owned()
        + &header(526, 13, "audio-100 (uid:500 nice:0 policy:1 rt_prio:61")
        + "  <idle>-0     0.n.1  511us+: restart_tick (8137a91b5fb 0)\n   \
           <...>-100   0D..2  522us : thread_return <<idle>-0> (20 161)\n   \
           <...>-100   0D..1  523us+: trace_stop_sched_switched <<...>-100> (38 0)\n";
    let said = first(&trace);
    assert!(
        said.contains("it had the CPU after 522 µs, and the first line, of the idle task, is 511 µs after the wakeup: what kept it from running until then is not in the lines"),
        "{said}"
    );
}

/// The switch was early and the tracer's latency is large: most of it passed after the switch.
#[test]
fn a_latency_after_the_switch_is_not_called_an_ordinary_switch() {
    let trace = header(1594, 5, "IRQ 8-775 (uid:0 nice:0 policy:1 rt_prio:99")
        + "      ls-112   0Dn.1    1us : __trace_start_sched_wakeup <IRQ 8-775> (0 0)\n   \
           IRQ 8-775   0D..2    6us : __switch_to (__schedule)\n   \
           IRQ 8-775   0D..2    7us!: __schedule <ls-112> (75 0)\n   \
           IRQ 8-775   0...1 1594us : trace_stop_sched_switched (__schedule)\n";
    let said = first(&trace);
    let expected =
        "preemption: longest wakeup 1.59 ms, of IRQ 8 (FIFO 99, pid 775) on CPU 0: it had the CPU after 5.00 µs";
    assert!(said.starts_with(expected), "{said}");
    let first_line = "      ls-112   0Dn.1    0us : double_lock_balance (schedule)\n      ls-112   0Dn.1    1us";
    let pulled = first(&trace.replace("CPU#0", "CPU#1").replace("      ls-112   0Dn.1    1us", first_line));
    assert!(pulled.contains("on CPU 1: it had the CPU on CPU 0 after 6.00 µs"), "{pulled}");
}

#[test]
fn lines_of_the_kernel_log_answer() {
    for (text, expected) in [
        (
            "( softirq-timer/1-13   |#1): new 66088 us maximum-latency critical section.\n => started at timestamp 1857957769: \
             <down_it+0x5f/0x295>\n =>   ended at timestamp 1858023857: <_raw_spin_unlock_irq+0x16/0x39>\n",
            "interrupts or preemption off for 66.1 ms on CPU 1, while softirq-timer/1 (pid 13) was current, from down_it to \
             _raw_spin_unlock_irq",
        ),
        (
            "Oct  8 06:48 host kernel: (wget/287): new 561 us maximum-latency critical section.\nOct  8 06:48 host kernel:  => started at: \
             <schedule+0x43/0x620>\nOct  8 06:48 host kernel:  => ended at:   <finish_task_switch+0x4e/0xa0>\n",
            "interrupts or preemption off for 561 µs, while wget (pid 287) was current, from schedule to finish_task_switch",
        ),
        (
            "(japa/CPU-4/96/CPU#0): new 17 us maximum-latency wakeup.\n(          IRQ 18-108 |#1): new 10291 us maximum-latency wakeup.\n",
            "preemption: longest wakeup 10.3 ms, of IRQ 18 (pid 108) on CPU 1",
        ),
        (
            "(      rtd-77   |#3): 812 us wakeup latency violates 500 us threshold.\n",
            "preemption: longest wakeup 812 µs, of rtd (pid 77) on CPU 3",
        ),
        (
            "preemption latency trace v1.0.6 on 2.6.9-rc1-VP-R6\n latency: 605 us, entries: 5 (5)  [VP:1 KP:1 SP:1 HP:1 #CPUS:1]\n    \
             | task: kswapd0/35, uid:0 nice:0 policy:0 rt_prio:0\n => started at: get_page+0x23/0x490\n => ended at: put_page+0x13f/0x490\n",
            "interrupts or preemption off for 605 µs, while kswapd0 (pid 35) was current, from get_page to put_page",
        ),
        (
            "preemption latency trace v1.0\n latency: 506 us, entries: 157 (157)\n process: evolution/346, uid: 1000\n nice: 0, policy: 1, \
             rt_priority: 7\n",
            "evolution (FIFO 7, pid 346) was woken so late, or had interrupts or preemption off so long",
        ),
    ] {
        let said = first(text);
        assert!(said.contains(expected), "{said}\n{expected}");
    }
}

/// `_raw_spin_lock` to `_raw_spin_unlock` of one caller, interrupts on.
/// Times of a clock of jiffies, in Markdown.
#[test]
fn a_clock_of_jiffies_measures_nothing() {
    let trace = "> # tracer: irqsoff\n> # irqsoff latency trace v1.1.5 on 4.4.19\n> # latency: 10000 us, #441/441, CPU#0 | (M:server VP:0)\n\
        > # | task: swapper-0 (uid:0 nice:0 policy:0 rt\\_prio:0)\n> # => started at: \\_\\_irq\\_svc\n> # => ended at: \\_\\_do\\_softirq\n\
        > -59 0d... 0us : do\\_work\\_pending\n> -59 0d... 0us : do\\_work\\_pending\n> -59 0d... 0us : trace\\_on <-do\\_work\\_pending\n\
        > \u{2026}\u{2026}\n> -0 0d.h. 0us : tick\\_periodic <-timer\\_irq\n> -0 0d.h. 0us : tick\\_step <-tick\\_periodic\n\
        > **-0 0d.h. 0us#: do\\_timer <-tick\\_step\n> -0 0d.h. 0us#: do\\_timer <-tick\\_step\n> -0 0d.h. 10000us : load <-do\\_timer**\n";
    let said = first(trace);
    assert!(said.contains("from __irq_svc to __do_softirq"), "{said}");
    assert!(said.contains("for an unknown time") && said.contains("steps by 10.0 ms"), "{said}");
    assert!(first(&trace.replace("10000us", "10013us")).contains("interrupts off for 10.0 ms"));
}

#[test]
fn idle_states_and_gaps_of_several_cpus() {
    let idle = "# tracer: irqsoff\n# irqsoff latency trace v1.1.5 on 4.4.21\n# latency: 1703 us, #184/184, CPU#3 | (M:preempt VP:0)\n\
        #    | task: swapper/3-0 (uid:0 nice:0 policy:0 rt_prio:0)\n#  => started at: lpm_idle_enter\n#  => ended at:   idle_enter_state\n";
    let said = first(idle);
    assert!(said.starts_with("irqsoff: interrupts off for 1.70 ms on CPU 3 in the idle loop"), "{said}");
    let hwlat = "# tracer: hwlat\n   <...>-36  [001] d... 19452.055471: #1     inner/outer(us):   12/14    ts:1499801089.066141940\n   \
        <...>-36  [003] d... 19454.071354: #2     inner/outer(us):   11/9     ts:1499801091.082164365\n";
    assert!(
        first(hwlat).contains("(of CPUs 1, 3), no task is responsible: the longest 14.0 µs on CPU 1"),
        "{}",
        first(hwlat)
    );
}

/// The sched_switch tracer before 2.6.28, without the CPU; perf of 2.6.31; no real-time thread in either.
#[test]
fn events_of_2_6_2x_and_2_6_31() {
    let tracer = "# tracer: sched_switch\n   fon-6263  [000] 4154504638.932214:  6263:120:R +   2717:120:S\n   \
        fon-6263  [000] 4154504638.932914:  6263:120:? ==> 2717:120:R\n   bash-2717 [000] 4154504638.932915:  2717:120:S +   2714:120:S\n";
    let said = first(tracer);
    assert!(said.contains("; of others: bash (nice 0, pid 2717) on CPU 0, 700 µs late: fon"), "{said}");
    let perf = " pipe-13520 [001]  1254.354513808: sched_wakeup:\ntask pong:13521 [120] success=1 [001]\n \
        pipe-13520 [001]  1254.354814876: sched_switch:\ntask pipe:13520 [120] (S) ==> pong:13521 [120]\n";
    let said = first(perf);
    assert!(said.contains("pong (nice 0, pid 13521) on CPU 1, 301 µs late: pipe (nice 0, pid 13520)"), "{said}");
}

/// A thread name longer than the kernel allows.
#[test]
fn a_long_name_does_not_hide_a_line() {
    let trace = "worker  4507 [001] 8251.635763: sched:sched_switch: prev_comm=worker prev_pid=4507 prev_prio=24 prev_state=S ==> \
        next_comm=engine_thread_<..> next_pid=4505 next_prio=49\nengine_thread_<..>  4505 [001] 8251.635769: sched:sched_waking: comm=worker \
        pid=4507 prio=24 target_cpu=001\nengine_thread_<..>  4505 [001] 8251.639783: sched:sched_switch: prev_comm=engine_thread_<..> \
        prev_pid=4505 prev_prio=49 prev_state=R ==> next_comm=worker next_pid=4507 next_prio=24\n";
    let said = first(trace);
    assert!(said.starts_with("worker (RT 75, pid 4507) on CPU 1, 4.01 ms late: "), "{said}");
    assert!(said.contains("engine_thread_<. (RT 50, pid 4505)"), "{said}");
}

/// sched_wakeup on the CPU of the woken thread: the interrupt of a remote wakeup has arrived by then.
#[test]
fn the_way_of_a_remote_wakeup_is_no_thread_s() {
    let trace = "  job-318  [010] 50419.299935: sched_stat_runtime: comm=job pid=318 runtime=977554 [ns] vruntime=1 [ns]\n  \
        <idle>-0     [000] 50419.300014: sched_waking: comm=stop pid=70 prio=0 target_cpu=010\n  \
        job-318  [010] 50419.300044: sched_wakeup: stop:70 [0] success=1 CPU:010\n  \
        job-318  [010] 50419.300047: sched_switch: job:318 [120] S ==> stop:70 [0]\n";
    let said = first(trace);
    assert!(said.contains("33.0 µs late: the interrupt by which another CPU woke it took 30.0 µs"), "{said}");
}

#[test]
fn what_is_missing_stands_first() {
    let trace = "    job-23 [003] 11.560884: sched_switch: prev_comm=job prev_pid=23 prev_prio=120 prev_state=S ==> next_comm=swapper/3 next_pid=0 \
        next_prio=120\n  <idle>-0 [003] 11.650884: sched_switch: prev_comm=swapper/3 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=job \
        next_pid=23 next_prio=120\n";
    let found = explained(trace);
    assert!(found.notes[0].starts_with("no sched_waking or sched_wakeup events were read"), "{:?}", found.notes);
    let untimed = "  34533 [017]: sched_migrate_task: pid=34512 prio=120 orig_cpu=14 dest_cpu=17\n";
    let error = open(std::io::Cursor::new(untimed), Options::default()).err().unwrap();
    assert!(error.to_string().starts_with("events without times"), "{error}");
}

#[test]
fn functions_of_the_nmi_handler_are_its_time() {
    let text = header(700, 7, "ksoft-4 (uid:0 nice:-10 policy:0 rt_prio:0")
        + "  <idle>-0     0D..4    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
           <idle>-0     0D..4    1us : __trace_start_sched_wakeup <<...>-4> (69 0)\n  \
           <idle>-0     0D.h1    2us!: do_nmi (default_idle)\n  \
           <idle>-0     0D.h1  400us!: do_nmi (mcount)\n  \
           <idle>-0     0D.h1  840us : preempt_schedule (nmi_watchdog_tick)\n   \
           <...>-4      0D..2  845us : __switch_to (__schedule)\n   \
           <...>-4      0D..2  846us : __schedule <<idle>-0> (8c 69)\n";
    let said = first(&text);
    assert!(said.contains("interrupt NMI took 838 µs"), "{said}");
}

#[test]
fn a_brief_wakeup_in_an_interrupt_blames_nothing() {
    let text = "            bash-970   [000] ....  6052.694849: sched_process_fork: comm=bash pid=970 child_comm=bash child_pid=981\n            \
                bash-970   [000] dnh.  6052.694939: sched_wakeup: comm=irq/86-mmc1 pid=78 prio=49 target_cpu=000\n            \
                bash-970   [000] d...  6052.694961: sched_switch: prev_comm=bash prev_pid=970 prev_prio=120 prev_state=R ==> next_comm=irq/86-mmc1 next_pid=78 next_prio=49\n";
    let said = first(text);
    assert!(said.contains("in the interrupt that was running or after it"), "{said}");
}

#[test]
fn headers_that_are_quoted_cut_or_doubtful() {
    let quoted = "> preemption latency trace v1.0.5 on 2.6.9-rc1-VP-R1\n> ---------------\n>  latency: 550 us, entries: 3 (3)\n>     -----------------\n>     \
                  | task: cat/677, uid:0 nice:0 policy:0 rt_prio:0\n>     -----------------\n>  => started at: kmap_atomic+0x23/0xe0\n>  => ended at:   \
                  kunmap_atomic+0x7b/0xa0\n> =======>\n> 00000001 0.000ms (+0.000ms): page_address (file_read)\n> 00000001 0.000ms (+0.549ms): copy_to_user_ll \
                  (file_read)\n> 00000001 0.550ms (+0.000ms): kunmap_atomic (file_read)\n";
    let said = first(quoted);
    assert!(
        said.contains("while cat (pid 677) was current") && said.contains("last traced in copy_to_user_ll"),
        "{said}"
    );
    let cut = "IRQ 5/431/CPU#0): 612 us critical section violates 100 us threshold.\n => started at timestamp 416: <call_console+0x76/0x140>\n =>   ended \
               at timestamp 417: <finish_task_switch+0x43/0xb0>\n";
    assert!(
        first(cut).contains("612 µs on CPU 0, while IRQ 5 (pid 431) was current, from call_console"),
        "{}",
        first(cut)
    );
    let bogus = "preemption latency trace v1.0\n-----------------\n latency: 1883455195 us, entries: 1 (1)\n process: ksoft/1/5, uid: 0\n nice: -10, policy: 0, \
                 rt_priority: 0\n=======>\n 0.000ms (+0.000ms): cond_resched_softirq (do_softirq)\n";
    assert!(first(bogus).contains("the value is doubtful"), "{}", first(bogus));
}

/// `PRIO()` prints real-time priorities from 100 on: 172 is RT 72.
#[test]
fn activations_are_wakeups_and_one_that_never_runs_is_named() {
    let text = header(491, 12, "IRQ 17-308 (uid:0 nice:-5 policy:1 rt_prio:80")
        + "editor-2668  0D..1    5us : __activate_task <mixer-2675> (172 1)\n\
           editor-2668  0D...    6us < (1)\n\
           editor-2668  0...1   12us : __schedule (c032a995 0 0)\n \
           mixer-2675  0D..2   14us+: __schedule <editor-2668> (161 172)\n \
           mixer-2675  0D.h2  577us!: __activate_task <IRQ_18-1674> (170 2)\n \
           mixer-2675  0D.h2  887us+: try_to_wake_up <IRQ_17-308> (180 172)\n \
           mixer-2675  0Dn.1  894us : __schedule (c010330e 0 0)\n\
           IRQ_17-308   0D..2  895us+: __schedule <mixer-2675> (172 180)\n\
           IRQ_17-308   0....  905us+: complete_urb (8 0 dc3de)\n\
           IRQ_17-308   0D..2  926us : deactivate_task <IRQ_17-308> (180 4)\n \
           mixer-2675  0D..2  928us!: __schedule <IRQ_17-308> (180 172)\n \
           mixer-2675  0.... 1060us > sys_gettimeofday (b01fe324 00000000 0000007b)\n \
           mixer-2675  0.... 1081us : done (c010330e 0 0)\n";
    let said = first(&text);
    assert!(said.contains("mixer (RT 72, pid 2675)"), "{said}");
    assert!(
        said.starts_with("IRQ_18 (RT 70, pid 1674) was woken but had not run when the trace ended, for 504 µs at least: mixer (RT 72, pid 2675) ran"),
        "{said}"
    );
}

#[test]
fn without_a_switch_nobody_did_not_run() {
    let text = "     ctl-179   [000] d.h5  1495.305919: sched_waking: comm=job pid=52 prio=20 target_cpu=004\n     \
                ctl-179   [000] d.h5  1495.309336: sched_waking: comm=ui pid=58 prio=120 target_cpu=006\n";
    let found = explained(text);
    assert_eq!((found.victims.len(), found.answer), (0, None));
    let missing = "the lines cover 3.42 ms of ctl (pid 179) on CPU 0; no sched_switch events were read";
    assert!(found.notes[0].starts_with(missing), "{:?}", found.notes);
}

#[test]
fn a_header_without_its_first_line_and_commented_lines_are_read() {
    let text = " latency: 621 us, entries: 3 (3)\n    -----------------\n    | task: player/114, uid:0 nice:0 policy:1 rt_prio:99\n    -----------------\n => started \
                at: prepare+0x74/0x180\n => ended at:   prepare+0x11d/0x180\n=======>\n00000001 0.000ms (+0.000ms): prepare (do_prepare)\n00000001 0.014ms \
                (+0.548ms): wait_ready (set_rate)\n00000001 0.562ms (+0.000ms): read_rate (set_rate)\n";
    let said = first(text);
    assert!(
        said.contains("621 µs, while player (FIFO 99, pid 114) was current, most of it last traced in wait_ready"),
        "{said}"
    );
    let commented = "//      ui-623   [000] d..3   112.263620: sched_switch:\n//      prev_comm=ui prev_pid=623 prev_prio=97 prev_state=S ==>\n//      \
                     next_comm=swapper/0 next_pid=0 next_prio=120\n";
    let found = explained(commented);
    assert!(found.notes[0].starts_with("no sched_waking or sched_wakeup events"), "{:?}", found.notes);
}

#[test]
fn lines_without_what_stands_before_an_event_are_refused_with_one_of_them() {
    for text in [
        "sched_stat_wait: comm=rcu_preempt pid=14 delay=4936139545261 [ns]\n",
        "  <idle>-0     [000] ... sched_wakeup:         ctl:1171 [4] success=1 CPU:002\n",
    ] {
        let error = open(std::io::Cursor::new(text), Options::default()).err().unwrap().to_string();
        assert!(error.starts_with("events without "), "{error}");
    }
}

#[test]
fn a_figure_that_the_lines_do_not_show_is_not_explained_away() {
    let text = header(1898, 6, "IRQ 233-2446 (uid:0 nice:-5 policy:1 rt_prio:40")
        + "  <idle>-0     0D.h3    0us : __trace_start_sched_wakeup <<...>-2446> (3b 0)\n  \
           <idle>-0     0Dnh2    1us : try_to_wake_up <<...>-2446> (3b 8c)\n   \
           <...>-2446   0D..2    2us : __switch_to (__schedule)\n   \
           <...>-2446   0D..2    2us : __schedule <<idle>-0> (8c 3b)\n   \
           <...>-2446   0D..1   12us : trace_stop_sched_switched (__schedule)\n";
    let said = first(&text);
    assert!(said.contains("the lines end after 12.0 µs: the origin of the header's latency is not in them"), "{said}");
}

/// A trace that begins within the interrupt of the wakeup, and has the entry of another handler later.
#[test]
fn the_time_before_a_handler_s_entry_is_not_the_handler_s() {
    let trace = header(70, 10, "IRQ 18-746 (uid:0 nice:-5 policy:1 rt_prio:70")
        + "  <idle>-0     0Dnh3    1us+: __trace_start_sched_wakeup <<...>-746> (29 1)\n  \
           <idle>-0     0Dnh3    8us+: try_to_wake_up <<...>-746> (170 20)\n  \
           <idle>-0     0Dnh2   29us+: hrtimer_interrupt (803de15eb1e ffff81007dfc2160)\n  \
           <idle>-0     0Dnh1   34us : trace_special_sym (ffffffff8028e5f5 0 0)\n  \
           <idle>-0     0.n.1   41us : hrtimer_restart_sched_tick (803de16a56b 0)\n   \
           <...>-746   0D..2   50us+: thread_return <<idle>-0> (20 170)\n   \
           <...>-746   0D..1   65us+: trace_stop_sched_switched <<...>-746> (29 1)\n";
    let found = explained(&trace);
    let timer =
        found.victims.iter().flat_map(|victim| &victim.causes).filter(|cause| cause.what.as_deref() == Some("timer"));
    let ns: u64 = timer.map(|cause| cause.ns).sum();
    assert!((1..=12_000).contains(&ns), "{ns}: {}", first(&trace));
}

#[test]
fn the_function_of_the_idle_state_is_named() {
    let trace = |driver: &str| {
        header(2690, 7, "softirq-3 (uid:0 nice:-10 policy:0 rt_prio:0")
            + &format!(
                "  <idle>-0     0dnh3    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
                   <idle>-0     0dnh3    0us : __trace_start_sched_wakeup <softirq-3> (69 0)\n  \
                   <idle>-0     0dn..    4us : write_port (enter_state)\n  \
                   <idle>-0     0dn..    7us!: write_port (enter_state)\n  \
                   <idle>-0     0dn.. 2645us : local_irq_enable ({driver})\n \
                   softirq-3     0Dnh2 2690us : __switch_to (__schedule)\n \
                   softirq-3     0Dnh2 2691us : __schedule <<idle>-0> (8c 69)\n"
            )
    };
    let said = first(&trace("acpi_processor_idle"));
    assert!(said.contains("write_port ← enter_state (the idle loop calls acpi_processor_idle)"), "{said}");
    assert!(!first(&trace("leave")).contains("the idle loop calls"));
}

#[test]
fn what_ran_before_preemption_came_on_again_is_named() {
    let walk: String = (0..8)
        .map(|n| format!("  lister-61     0.ns. {:4}us : cond_resched_softirq (walk_table)\n", 9000 + 2 * n))
        .collect();
    let text = header(9100, 16, "timer-3 (uid:0 nice:0 policy:1 rt_prio:1")
        + "  lister-61     0D.h2    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
           lister-61     0D.h2    1us : __trace_start_sched_wakeup <<...>-3> (62 0)\n  \
           lister-61     0Dns1   11us < (608)\n  \
           lister-61     0.ns.   12us : find_next_bit (walk_first)\n[...]\n"
        + &walk
        + "  lister-61     0.ns. 9020us : stop_walk (read_table)\n  \
           lister-61     0.ns. 9021us : local_bh_enable (stop_walk)\n  \
           lister-61     0.n.. 9060us : preempt_schedule (local_bh_enable)\n  \
           lister-61     0Dn.1 9061us : __schedule (preempt_schedule)\n   \
           <...>-3      0D..2 9090us : __switch_to (__schedule)\n   \
           <...>-3      0D..2 9091us : __schedule <lister-61> (76 62)\n";
    let said = first(&text);
    assert!(
        said.contains(
            "until it was enabled again in local_bh_enable ← stop_walk; the lines before that are of walk_table"
        ),
        "{said}"
    );
    let mixed = first(&text.replace("(walk_table)\n  lister-61     0.ns. 9002us", "(a)\n  lister-61     0.ns. 9002us"));
    assert!(mixed.contains("local_bh_enable ← stop_walk"), "{mixed}");
}

#[test]
fn the_last_function_of_a_trace_that_ends_early_is_named() {
    let text = header(3178, 4, "ksoftirqd/0-2 (uid:0 nice:-10 policy:0 rt_prio:0")
        + "  builder-321   0dnh2    0us : __trace_start_sched_wakeup (try_to_wake_up)\n  \
           builder-321   0dnh2    0us : __trace_start_sched_wakeup <<...>-2> (69 0)\n  \
           builder-321   0.n.1    1us : lookup_gang (wait_for_pages)\n  \
           builder-321   0.n.1    2us : lookup (lookup_gang)\n";
    let said = first(&text);
    assert!(
        said.contains("was current at the last line, 2.00 µs after the wakeup, last traced in lookup ← lookup_gang"),
        "{said}"
    );
}
