//! Sections, interrupts of other CPUs, idle states and SCHED_DEADLINE, with the traces of `rules`.

use crate::rules::*;
use punctual_explain::{Class, Confidence, Facts};
use std::fmt::Write;

/// CPU 0 wakes the victim, and the victim's CPU gets the interrupt 2 ms later.
#[test]
fn a_reschedule_interrupt_that_is_late_shows_interrupts_off() {
    let waker = "rsync-80";
    let trace = start()
        .switch(0, 1500, IDLE, "R", ("rsync", 80, 120))
        .switch(1, 2000, CYCLIC, "S", YES)
        .line(waker, 0, "d..1.", 3000, &format!("sched_waking: comm={VICTIM} target_cpu=001"))
        .line(waker, 0, "d..1.", 3002, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0")
        .line("yes-60", 1, "d.h..", 5000, "reschedule_entry: vector=253")
        .line("yes-60", 1, "dNh..", 5002, "reschedule_exit: vector=253");
    let trace = trace.switch(1, 5005, YES, "R+", CYCLIC);
    blames(&trace.cause(), Class::IrqsDisabled, Some(60), Confidence::Medium);
    let guest = trace.explained(Facts { guest: Some(true), ..Facts::default() });
    blames(&guest.victims[0].causes[0], Class::IrqsDisabled, Some(60), Confidence::Suspected);
}

/// Another interrupt to this CPU is still under way, or was never seen to arrive.
#[test]
fn an_earlier_interrupt_does_not_hide_the_late_one() {
    let trace = start()
        .switch(0, 1500, IDLE, "R", ("rsync", 80, 120))
        .switch(1, 2000, CYCLIC, "S", YES)
        .line(
            "yes-60",
            1,
            "d....",
            2500,
            "ipi_send_cpu: cpu=1 callsite=irq_work_queue_on+0x1/0x2 callback=rcu_work+0x0/0x1",
        )
        .line("rsync-80", 0, "d..1.", 3000, &format!("sched_waking: comm={VICTIM} target_cpu=001"))
        .line("rsync-80", 0, "d..1.", 3002, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0")
        .line("yes-60", 1, "d.h..", 5000, "reschedule_entry: vector=253")
        .line("yes-60", 1, "dNh..", 5002, "reschedule_exit: vector=253");
    blames(&trace.switch(1, 5005, YES, "R+", CYCLIC).cause(), Class::IrqsDisabled, Some(60), Confidence::Medium);
}

/// The victim is woken by CPU 0 at 3 ms on a kernel that does not trace the sending of IPIs (before 6.4); the interrupt
/// at 7 ms, and a tick.
fn woken_from_afar(tick: Option<u64>) -> Trace {
    let trace = start().switch(0, 1500, IDLE, "R", ("rsync", 80, 120)).switch(1, 2000, CYCLIC, "S", YES).line(
        "rsync-80",
        0,
        "d..1.",
        3000,
        &format!("sched_waking: comm={VICTIM} target_cpu=001"),
    );
    let trace = tick.into_iter().fold(trace, |trace, us| trace.tick("yes-60", 1, "dNh..", us));
    let trace = trace.line("yes-60", 1, "dNh..", 7000, "reschedule_entry: vector=253");
    trace.line("yes-60", 1, "dNh..", 7002, "reschedule_exit: vector=253").switch(1, 7005, YES, "R+", CYCLIC)
}

#[test]
fn before_6_4_the_wakeup_itself_tells_that_an_interrupt_was_sent() {
    blames(&woken_from_afar(None).cause(), Class::IrqsDisabled, Some(60), Confidence::Medium);
    // A tick in between shows that interrupts were on.
    for us in [3500, 5000, 6900] {
        blames(&woken_from_afar(Some(us)).cause(), Class::PreemptionDisabled, Some(60), Confidence::Medium);
    }
}

#[test]
fn an_interrupt_of_another_cpu_names_who_sent_it() {
    let trace = start()
        .switch(0, 1500, IDLE, "R", ("rsync", 80, 120))
        .sleep(2000, 3000, YES)
        .line(
            "rsync-80",
            0,
            "d..1.",
            2990,
            "ipi_send_cpu: cpu=1 callsite=smp_call_function_many_cond+0x1/0x2 callback=flush_tlb_func+0x0/0x10",
        )
        .line("yes-60", 1, "d.h..", 2995, "call_function_entry: vector=252")
        .line("yes-60", 1, "d.h..", 3995, "call_function_exit: vector=252");
    let victim = trace.expire("yes-60", 4000).switch(1, 4035, YES, "R+", CYCLIC).worst();
    assert!(victim.verdict.contains("interrupt call_function took 995 µs"), "{}", victim.verdict);
    assert!(victim.verdict.contains("sent by rsync (pid 80), CPU 0"), "{}", victim.verdict);
}

/// The interrupt comes late although the CPU has left its idle state: no idle state is to blame.
#[test]
fn after_the_exit_of_an_idle_state_it_is_no_longer_to_blame() {
    let asleep = |woke| {
        start()
            .sleep(2000, 3000, IDLE)
            .line("<idle>-0", 1, "d..1.", 2010, "cpu_idle: state=2 cpu_id=1")
            .line("<idle>-0", 1, "d..1.", woke, "cpu_idle: state=4294967295 cpu_id=1")
            .expire("<idle>-0", 3300)
            .switch(1, 3335, IDLE, "R", CYCLIC)
    };
    blames(&asleep(3295).cause(), Class::IdleExit, None, Confidence::Medium);
    let awake = asleep(3005).cause();
    blames(&awake, Class::Unaccounted, None, Confidence::Medium);
    assert!(awake.evidence.contains("awake"), "{awake:?}");
}

const DEADLINE: (&str, i32, i32) = ("cyclicdeadline", 50, -1);

fn of_deadline(until: Trace) -> Trace {
    until.line("rsync-80", 0, "d..1.", 3000, "sched_waking: comm=cyclicdeadline pid=50 prio=-1 target_cpu=001")
}

#[test]
fn a_deadline_thread_waits_for_its_own_budget() {
    let trace = of_deadline(start().switch(1, 2000, DEADLINE, "S", IDLE))
        .line("<idle>-0", 1, "d.h..", 8000, "local_timer_entry: vector=236")
        .line(
            "<idle>-0",
            1,
            "d.h..",
            8003,
            "hrtimer_expire_entry: hrtimer=00000000000000bb function=dl_task_timer now=8003000",
        )
        .line("<idle>-0", 1, "d.h..", 8010, "local_timer_exit: vector=236");
    let victim = trace.switch(1, 8020, IDLE, "R", DEADLINE).worst();
    blames(&victim.causes[0], Class::DeadlineBudget, None, Confidence::Medium);
    assert!(victim.verdict.contains("its own SCHED_DEADLINE budget was used up"), "{}", victim.verdict);
    assert!(!victim.verdict.contains("cpu_dma_latency"), "{}", victim.verdict);
}

/// The thread started the timer of its budget itself, and ran half a millisecond after the timer expired, as on a slow
/// machine.
#[test]
fn the_timer_of_its_own_budget_needs_no_haste() {
    let timer = "hrtimer=00000000000000bb function=dl_task_timer";
    let trace = |by: &str| {
        let trace = start()
            .line(
                by,
                1,
                "d..1.",
                1990,
                &format!("hrtimer_start: {timer} expires=8000000 softexpires=8000000 mode=ABS|HARD"),
            )
            .switch(1, 2000, DEADLINE, "S", IDLE);
        of_deadline(trace)
            .line("<idle>-0", 1, "d.h..", 8000, "local_timer_entry: vector=236")
            .line("<idle>-0", 1, "d.h..", 8003, &format!("hrtimer_expire_entry: {timer} now=8003000"))
            .line("<idle>-0", 1, "d.h..", 8010, "local_timer_exit: vector=236")
            .switch(1, 8503, IDLE, "R", DEADLINE)
    };
    blames(&trace("cyclicdeadline-50").cause(), Class::DeadlineBudget, None, Confidence::Medium);
    assert_ne!(trace("rsync-80").cause().class, Class::DeadlineBudget);
}

#[test]
fn a_deadline_peer_had_the_earlier_deadline() {
    let peer = ("peer", 70, -1);
    let trace = of_deadline(start().switch(1, 2000, DEADLINE, "S", peer));
    let victim = trace.switch(1, 6000, peer, "S", DEADLINE).worst();
    blames(&victim.causes[0], Class::SamePriority, Some(70), Confidence::Medium);
    assert!(victim.verdict.contains("whose deadline was earlier (EDF)"), "{}", victim.verdict);
    assert!(!victim.verdict.contains("another priority"), "{}", victim.verdict);
}

#[test]
fn a_stopper_works_for_the_one_that_queued_it() {
    let stopper = ("migration/1", 18, 0);
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010);
    let trace = trace
        .line("rsync-80", 0, "d..1.", 3030, "sched_waking: comm=migration/1 pid=18 prio=0 target_cpu=001")
        .switch(1, 3050, YES, "R+", stopper);
    let victim = trace.switch(1, 4000, stopper, "S", CYCLIC).worst();
    assert!(victim.verdict.contains("migration/1 (RT 99, pid 18) ran 950 µs"), "{}", victim.verdict);
    assert!(victim.verdict.contains("queued by rsync (pid 80)"), "{}", victim.verdict);
}

#[test]
fn a_worker_that_another_worker_woke_works_for_somebody_else() {
    let worker = ("kworker/1:2", 19, 10);
    let queued = |by: &str| {
        let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010).line(
            by,
            0,
            "d..1.",
            3030,
            "sched_waking: comm=kworker/1:2 pid=19 prio=10 target_cpu=001",
        );
        trace.switch(1, 3050, YES, "R+", worker).switch(1, 4000, worker, "S", CYCLIC).worst()
    };
    let by_thread = queued("rsync-80");
    assert!(by_thread.verdict.contains("queued by rsync (pid 80)"), "{}", by_thread.verdict);
    let by_worker = queued("kworker/1:0-21");
    assert!(!by_worker.verdict.contains("queued by"), "{}", by_worker.verdict);
}

/// CONFIG_RT_GROUP_SCHED keeps throttling after 6.12, and the kernel reports when it throttles.
#[test]
fn throttling_after_6_12_by_the_kernel_s_own_word() {
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010);
    let trace = (1..10).fold(trace, |trace, n| trace.tick("yes-60", 1, "d.h..", 4000 * n));
    let trace = trace.switch(1, 53_000, YES, "R+", CYCLIC);
    let class =
        |facts: Facts| trace.explained(Facts { kernel: Some("6.12.0".into()), ..facts }).victims[0].causes[0].class;
    assert_eq!(
        class(Facts { rt_group_sched: Some(false), throttled: Some(true), ..Facts::default() }),
        Class::FairServer
    );
    assert_eq!(
        class(Facts { rt_group_sched: Some(true), throttled: Some(true), ..Facts::default() }),
        Class::RtThrottling
    );
    assert_eq!(class(Facts { throttled: Some(true), ..Facts::default() }), Class::RtThrottling);
    assert_eq!(class(Facts::default()), Class::FairServer);
}

/// CPU 0 has a timer that is due at 4 ms and expires when that CPU continues, and an event at `since`; the victim's CPU
/// is silent from 2 to 60 ms, and its timer is due at 3 ms.
fn both_silent(since: u64, until: u64) -> Trace {
    let timer = "hrtimer=00000000000000cc function=hrtimer_wakeup";
    let expiry = |us: u64| format!("hrtimer_expire_entry: {timer} now={us}000");
    let trace = start()
        .line("<idle>-0", 0, "d.h..", 1500, "local_timer_entry: vector=236")
        .line("<idle>-0", 0, "d.h..", 1502, &expiry(1502))
        .line("<idle>-0", 0, "d.h..", 1510, "local_timer_exit: vector=236")
        .line(
            "<idle>-0",
            0,
            "d..1.",
            1520,
            &format!("hrtimer_start: {timer} expires=4000000 softexpires=4000000 mode=ABS"),
        )
        .sleep(2000, 3000, YES)
        .line("<idle>-0", 0, "d..1.", since, "cpu_idle: state=1 cpu_id=0")
        .line("<idle>-0", 0, "d.h..", until, "local_timer_entry: vector=236")
        .line("<idle>-0", 0, "d.h..", until + 2, &expiry(until + 2))
        .line("<idle>-0", 0, "d.h..", until + 10, "local_timer_exit: vector=236");
    trace.expire("yes-60", 60_000).switch(1, 60_035, YES, "R+", CYCLIC)
}

/// If all CPUs stalled, they stopped and continued together. A CPU that is silent while others run is silent for
/// another reason.
#[test]
fn a_cpu_that_is_silent_while_others_run_did_not_stand_still_with_them() {
    blames(&both_silent(2010, 59_900).cause(), Class::MachineStall, None, Confidence::Medium);
    blames(&both_silent(2010, 40_000).cause(), Class::IrqsDisabled, None, Confidence::Suspected);
    blames(&both_silent(20_000, 59_900).cause(), Class::IrqsDisabled, None, Confidence::Suspected);
}

#[test]
fn a_guest_has_one_name_for_its_host() {
    let trace = start().sleep(2000, 3000, IDLE);
    let trace = trace.switch(0, 2500, IDLE, "R", YES).tick("yes-60", 0, "d.h..", 2900);
    let late = trace.tick("yes-60", 0, "d.h..", 60_000).expire("<idle>-0", 60_100).switch(1, 60_135, IDLE, "R", CYCLIC);
    let guest = late.explained(Facts { guest: Some(true), ..Facts::default() });
    assert!(
        guest.victims[0].causes.iter().all(|cause| cause.class != Class::MachineStall),
        "{:?}",
        guest.victims[0].causes
    );
}

/// The victim's timer interrupt from `us` on, late, with the stack that the kernel's trigger takes.
fn stacked(trace: Trace, us: u64, frames: &[&str]) -> Trace {
    let mut trace = trace
        .line("yes-60", 1, "d.h..", us, "local_timer_entry: vector=236")
        .line(
            "yes-60",
            1,
            "d.h..",
            us + 5,
            &format!("hrtimer_expire_entry: hrtimer=00000000000000aa function=hrtimer_wakeup now={us}000"),
        )
        .line("yes-60", 1, "d.h..", us + 6, "<stack trace>");
    for frame in ["__hrtimer_run_queues", "hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt"].iter().chain(frames) {
        writeln!(trace.0, " => {frame}").unwrap();
    }
    trace
        .line("yes-60", 1, "d.h2.", us + 10, &format!("sched_waking: comm={VICTIM} target_cpu=001"))
        .line("yes-60", 1, "dNh..", us + 30, "local_timer_exit: vector=236")
        .switch(1, us + 40, YES, "R+", CYCLIC)
}

#[test]
fn a_function_is_named_only_if_it_had_just_let_interrupts_in() {
    let late = |frames: &[&str]| stacked(start().sleep(2000, 3000, YES), 3500, frames);
    let known = Facts { guest: Some(false), ..Facts::default() };
    let unlock = late(&["_raw_spin_unlock_irqrestore", "foo_write [foo]", "vfs_write"]).explained(known.clone());
    let cause = &unlock.victims[0].causes[0];
    blames(cause, Class::IrqsDisabled, Some(60), Confidence::Medium);
    assert_eq!(cause.place.as_deref(), Some("in _raw_spin_unlock_irqrestore ← foo_write ← vfs_write"));
    // The same with an address: first one whose instruction is known, then one whose instruction is not.
    let inline = late(&["foo_write [foo]", "vfs_write"]);
    let released = Facts { released: vec![3_506_000], ..known.clone() };
    assert_eq!(inline.explained(released).victims[0].causes[0].place.as_deref(), Some("in foo_write ← vfs_write"));
    let unknown = inline.explained(known.clone());
    assert!(unknown.victims[0].causes.iter().all(|cause| cause.place.is_none()), "{:?}", unknown.victims[0].causes);
    let stolen = late(&["_raw_spin_unlock_irqrestore", "foo"]);
    let stolen = stolen.explained(Facts { steal_rose: Some(true), guest: Some(true), ..Facts::default() });
    assert!(stolen.victims[0].causes.iter().all(|cause| cause.place.is_none()), "{:?}", stolen.victims[0].causes);
    let user = late(&[]);
    blames(&user.explained(known).victims[0].causes[0], Class::MachineStall, None, Confidence::Suspected);
    let guest = user.explained(Facts { guest: Some(true), ..Facts::default() });
    blames(&guest.victims[0].causes[0], Class::Steal, None, Confidence::Suspected);
}

/// The host is known to stop the CPU for that long.
#[test]
fn a_guest_whose_cpu_stood_still_for_as_long_before_names_no_section() {
    let section = ["_raw_spin_unlock_irqrestore", "foo_write [foo]"];
    let stood = |until| stacked(start().sleep(2000, 3000, YES), until, &[]).sleep(5000, 6000, YES);
    let place = |until, guest| {
        let victim = stacked(stood(until), 6500, &section).explained(Facts { guest, ..Facts::default() });
        let last = victim.victims.into_iter().find(|v| v.moments.is_some_and(|m| m.t0_ns == 6_000_000)).unwrap();
        last.causes[0].place.clone()
    };
    let named = Some("in _raw_spin_unlock_irqrestore ← foo_write".to_owned());
    assert_eq!(place(3500, Some(true)), None);
    assert_eq!(place(3500, Some(false)), named);
    assert_eq!(place(3100, Some(true)), named);
}

#[test]
fn preemption_that_came_on_again_names_where() {
    let mut trace = start().sleep(2000, 3000, YES).expire("yes-60", 3005).switch(1, 3800, YES, "R+", CYCLIC);
    trace = trace.line("yes-60", 1, "d..2.", 3802, "<stack trace>");
    for frame in ["__schedule", "preempt_schedule_common", "preempt_schedule_thunk", "hold [module]", "ksys_ioctl"] {
        writeln!(trace.0, " => {frame}").unwrap();
    }
    // A stack was seen before; this wakeup waits for its own.
    let mut before = Trace::default().line("yes-60", 1, "d..1.", 900, "<stack trace>");
    writeln!(before.0, " => schedule").unwrap();
    let victim = Trace(before.0 + &trace.0).worst();
    blames(&victim.causes[0], Class::PreemptionDisabled, Some(60), Confidence::Medium);
    assert_eq!(victim.causes[0].place.as_deref(), Some("in hold ← ksys_ioctl"));
}

/// Without full preemption a thread continues after a timely interrupt: so the interrupted code shows where the thread
/// was.
#[test]
fn where_a_thread_was_that_was_not_preempted() {
    let trace = stacked(start().sleep(2000, 3000, YES), 3005, &["hold", "vfs_write"]);
    // The switch comes much later than in `stacked`.
    let (text, _) = trace.0.rsplit_once('\n').and_then(|(rest, _)| rest.rsplit_once('\n')).unwrap();
    let late = Trace(format!("{text}\n")).switch(1, 4200, YES, "R+", CYCLIC);
    let cause = late.cause();
    assert_eq!((cause.class, cause.tid), (Class::PreemptionDisabled, Some(60)), "{cause:?}");
    assert_eq!(cause.place.as_deref(), Some("when it was woken in hold ← vfs_write"));
}

/// Real-time threads that hardly ran in the second before have not used up a budget.
#[test]
fn little_use_is_no_throttling() {
    let begin = |trace: Trace, at| trace.sleep(at, at + 1000, YES).expire("yes-60", at + 1010);
    let late = |trace: Trace, at: u64| {
        let ticks = (1..10).fold(begin(trace, at), |trace, n| trace.tick("yes-60", 1, "d.h..", at + 1100 + 4000 * n));
        ticks.switch(1, at + 53_000, YES, "R+", CYCLIC)
    };
    let class = |trace: &Trace| {
        let facts = Facts { kernel: Some("6.1.0".into()), ..Facts::default() };
        trace.explained(facts).victims[0].causes[0].class
    };
    // The trace begins just before, so the used budget is unknown.
    assert_eq!(class(&late(start(), 2000)), Class::RtThrottling);
    // In two seconds of trace an ordinary thread had the CPU, so the budget was not used up.
    let long = start().switch(1, 2000, CYCLIC, "S", YES);
    let long = (1..100).fold(long, |trace, n| trace.tick("yes-60", 1, "d.h..", 20_000 * n));
    let long = long.switch(1, 2_000_000, YES, "R", CYCLIC);
    assert_ne!(class(&late(long, 2_000_500)), Class::RtThrottling);
}

fn explained(text: &str) -> punctual_explain::Explanation {
    let mut source = punctual_trace::open(std::io::Cursor::new(text.as_bytes()), Default::default()).unwrap();
    punctual_explain::explain(source.as_mut(), Default::default())
}

/// According to the flags of its lines, the section was spent in an interrupt: the thread that was current is only
/// reported as current.
#[test]
fn a_section_of_interrupts_says_so() {
    let trace = |flags: &str, inside: u64| {
        let mut text = "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.12.1\n\
            # latency: 253 us, #5/5, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n\
            #    | task: task-7 (uid:0 nice:0 policy:0 rt_prio:0)\n#  => started at: asm_common_interrupt\n\
            #  => ended at:   irqentry_exit\n#\n"
            .to_owned();
        let mut line = |flags: &str, us: u64, body: &str| {
            writeln!(text, "    task-7       0{flags} {us:>4}us : {body}").unwrap();
        };
        line("d....", 0, "irqentry_enter <-common_interrupt");
        line(flags, 3, "handle_edge_irq <-common_interrupt");
        line(flags, 3 + inside, "irq_exit_rcu <-common_interrupt");
        line("d....", 252, "irqentry_exit <-asm_common_interrupt");
        text
    };
    let said = |flags: &str, inside| explained(&trace(flags, inside)).answer.unwrap();
    let all = said("d.h..", 240);
    assert!(
        all.starts_with(
            "irqsoff: interrupts off for 253 µs on CPU 0, 249 µs of it in interrupts, while task (pid 7) was current"
        ),
        "{all}"
    );
    let softirqs = said("d.s..", 240);
    assert!(softirqs.contains("249 µs of it in softirqs, while task (pid 7) was current"), "{softirqs}");
    let none = said("d....", 240);
    assert!(none.contains("on CPU 0, while task (pid 7) was current"), "{none}");
}

/// For a trace that contradicts itself, the place is reported, and the cause is at most suspected.
#[test]
fn the_line_that_does_not_fit_is_named() {
    let woken =
        |trace: Trace| trace.line("yes-60", 1, "d.h2.", 3000, &format!("sched_waking: comm={VICTIM} target_cpu=001"));
    let slept = || woken(start().switch(1, 2000, CYCLIC, "S", YES));
    let end = |trace: Trace| trace.switch(1, 5000, YES, "R", CYCLIC).worst();
    let entered = |trace: Trace| {
        trace.line("yes-60", 1, "d.h..", 3100, "irq_handler_entry: irq=45 name=eth1").line(
            "yes-60",
            1,
            "d.h..",
            3200,
            "irq_handler_exit: irq=45 ret=handled",
        )
    };
    let calm = end(slept().line("yes-60", 1, ".....", 4000, "sys_exit: NR 1 = 3"));
    let exit = end(entered(slept()).line("yes-60", 1, "d.h..", 3300, "irq_handler_exit: irq=44 ret=handled"));
    let entry = end(slept().line("yes-60", 1, "d.h..", 3100, "irq_handler_entry: irq=45 name=eth1").line(
        "yes-60",
        1,
        ".N...",
        3300,
        "sys_exit: NR 1 = 3",
    ));
    let other = end(slept().line("other-99", 1, "dN...", 4000, "sys_exit: NR 1 = 3"));
    let switch = slept().line("yes-60", 1, "dNh2.", 5000, &switched(YES, CYCLIC)).worst();
    let cases = [
        (calm, "line 4, CPU 1", "no reschedule was requested"),
        (exit, "line 6, CPU 1", "ends although none had begun"),
        (entry, "line 5, CPU 1", "has not ended"),
        (other, "line 4, CPU 1", "another thread was current"),
        (switch, "line 4, CPU 1", "switched in an interrupt"),
    ];
    for (victim, place, what) in cases {
        let doubt =
            victim.doubts.iter().find(|doubt| doubt.contains(what)).unwrap_or_else(|| panic!("{what}: {victim:?}"));
        assert!(doubt.contains(place), "{doubt}");
        assert!(victim.causes.iter().all(|cause| cause.confidence == Confidence::Suspected), "{victim:?}");
    }
    let fits = end(slept().line("yes-60", 1, ".N.1.", 4000, "sys_exit: NR 1 = 3"));
    assert!(!fits.doubts.iter().any(|doubt| doubt.contains("fit together")), "{fits:?}");
}

fn switched(from: (&str, i32, i32), to: (&str, i32, i32)) -> String {
    format!(
        "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state=R ==> next_comm={} next_pid={} next_prio={}",
        from.0, from.1, from.2, to.0, to.1, to.2
    )
}
