//! A cause that a text does not exclude is not excluded, and a cause that it shows is named: one interrupt, a thread
//! that waited for a lock, a timer that is late on busy CPUs too, threads and timers of traces without switches.

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
