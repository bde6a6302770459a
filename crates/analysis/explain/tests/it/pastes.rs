//! Excerpts as people paste them: what the first line says.

use punctual_explain::{Attribution, ExplainOptions, Explanation};
use punctual_trace::{Options, open_text};

fn explained(text: &str) -> Explanation {
    let mut source = open_text(text.as_bytes(), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions::default());
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    attribution.finish(source.info())
}

/// The first line, without a time.
fn first(text: &str) -> String {
    let found = explained(text);
    let verdict = found.victims.first().map(|victim| victim.verdict.clone());
    verdict.or(found.answer).unwrap_or_default()
}

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
    assert!(said.contains("interrupt nic_isr took 145 µs of it (91 %) — move that interrupt"), "{said}");
}

#[test]
fn the_interrupt_that_the_trace_begins_in_lasts_from_its_first_event_on() {
    let text = " <idle>-0 [002] 23.902238: kfree: ptr=1\n <idle>-0 [002] 23.902239: sched_wakeup: ctl:500 [19] CPU:002\n \
                <idle>-0 [002] 23.902243: sched_waking: comm=ctl2 pid=501 prio=120 target_cpu=002\n \
                <idle>-0 [002] 23.902249: local_timer_exit: vector=236\n <idle>-0 [002] 23.902250: cpu_idle: state=4294967295 cpu_id=2\n \
                <idle>-0 [002] 23.902254: sched_switch: swapper/2:0 [120] R ==> ctl:500 [19]\n";
    let said = first(text);
    assert!(said.contains("interrupt local_timer took 10.0 µs of it (67 %)"), "{said}");
    // A switch in between shows that it began later.
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
    assert!(said.contains("2.00 ms late: no measurement, for the trace's clock goes in steps of 2.00 ms"), "{said}");
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
    assert!(said.contains("noise events measure nothing, for the trace's clock goes in steps of 1.00 ms"), "{said}");
}
