//! One small trace for each class, and for each reason to lower the confidence. CPU 1 is the victim's; times in µs.

use punctual_explain::{Cause, Class, Confidence, ExplainOptions, Explanation, Facts, Victim, explain};
use punctual_trace::open;
use std::fmt::Write;
use std::io::Cursor;

/// Lines of a trace as the kernel prints them.
#[derive(Default)]
pub struct Trace(pub String);

pub const VICTIM: &str = "cyclictest pid=50 prio=19";

impl Trace {
    pub fn line(mut self, who: &str, cpu: u32, flags: &str, us: u64, body: &str) -> Self {
        let (s, us) = (us / 1_000_000, us % 1_000_000);
        writeln!(self.0, "{who:>20}     [{cpu:03}] {flags}    {s}.{us:06}: {body}").unwrap();
        self
    }

    pub fn switch(self, cpu: u32, us: u64, from: (&str, i32, i32), state: &str, to: (&str, i32, i32)) -> Self {
        let (p, n) = (from, to);
        let body = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> next_comm={} next_pid={} next_prio={}",
            p.0, p.1, p.2, n.0, n.1, n.2
        );
        self.line(&format!("{}-{}", p.0, p.1), cpu, "d..2.", us, &body)
    }

    /// The victim starts its timer and sleeps at `us`; `to` runs.
    pub fn sleep(self, us: u64, due: u64, to: (&str, i32, i32)) -> Self {
        let body = format!(
            "hrtimer_start: hrtimer=00000000000000aa function=hrtimer_wakeup expires={due}000 softexpires={due}000 mode=ABS|HARD was_armed=0"
        );
        self.line("cyclictest-50", 1, "d..1.", us - 10, &body).switch(1, us, CYCLIC, "S", to)
    }

    /// The victim's timer interrupt from `us` on, 30 µs, on top of `who`.
    pub fn expire(self, who: &str, us: u64) -> Self {
        self.line(who, 1, "d.h..", us, "local_timer_entry: vector=236")
            .line(
                who,
                1,
                "d.h..",
                us + 5,
                &format!("hrtimer_expire_entry: hrtimer=00000000000000aa function=hrtimer_wakeup now={us}000"),
            )
            .line(who, 1, "d.h2.", us + 10, &format!("sched_waking: comm={VICTIM} target_cpu=001"))
            .line(who, 1, "dNh3.", us + 15, &format!("sched_wakeup: comm={VICTIM} target_cpu=001"))
            .line(who, 1, "dNh..", us + 20, "hrtimer_expire_exit: hrtimer=00000000000000aa")
            .line(who, 1, "dNh..", us + 30, "local_timer_exit: vector=236")
    }

    /// A tick on top of `who`, 20 µs.
    pub fn tick(self, who: &str, cpu: u32, flags: &str, us: u64) -> Self {
        self.line(who, cpu, flags, us, "local_timer_entry: vector=236").line(
            who,
            cpu,
            flags,
            us + 20,
            "local_timer_exit: vector=236",
        )
    }

    pub fn explained(&self, facts: Facts) -> Explanation {
        let mut source = open(Cursor::new(self.0.as_bytes()), punctual_trace::Options::default()).unwrap();
        explain(source.as_mut(), ExplainOptions { facts, ..ExplainOptions::default() })
    }

    pub fn worst(&self) -> Victim {
        let victim = self.explained(Facts::default()).victims.remove(0);
        assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), victim.latency_ns);
        victim
    }

    pub fn cause(&self) -> Cause {
        self.worst().causes.remove(0)
    }
}

pub const CYCLIC: (&str, i32, i32) = ("cyclictest", 50, 19);
pub const YES: (&str, i32, i32) = ("yes", 60, 120);
pub const IDLE: (&str, i32, i32) = ("swapper/1", 0, 120);

pub fn start() -> Trace {
    Trace::default().switch(1, 1000, YES, "R", CYCLIC)
}

pub fn blames(cause: &Cause, class: Class, tid: Option<i32>, confidence: Confidence) {
    assert_eq!((cause.class, cause.tid, cause.confidence), (class, tid, confidence), "{cause:?}");
}

#[test]
fn same_priority() {
    let peer = ("peer", 70, 19);
    let trace = start().sleep(2000, 3000, peer).expire("peer-70", 3010).tick("peer-70", 1, "d.h..", 6000);
    let cause = trace.switch(1, 8000, peer, "R", CYCLIC).cause();
    blames(&cause, Class::SamePriority, Some(70), Confidence::High);
    assert!((cause.share - 0.99).abs() < 0.01);
}

#[test]
fn threads_of_interrupts_are_interrupts() {
    let softirq = ["ksoftirqd/1", "ktimers/1", "backlog_napi/1", "napi/eth0-8193"].map(|name| (name, Class::Softirq));
    for (name, class) in [("irq/24-eth0", Class::Irq)].into_iter().chain(softirq) {
        let thread = (name, 70, 9);
        let trace = start().sleep(2000, 3000, thread).expire(&format!("{name}-70"), 3010);
        blames(&trace.switch(1, 8000, thread, "S", CYCLIC).cause(), class, Some(70), Confidence::High);
    }
}

/// A delay that was injected with the function tracer on: a softirq in a thread of lower priority than the victim, on a
/// kernel that preempts it.
#[test]
fn a_softirq_thread_below_the_victim_is_what_was_not_preempted() {
    let thread = ("ktimers/1", 70, 98);
    let trace = |due| {
        let trace = start().sleep(2000, due, thread).line(
            "ktimers/1-70",
            1,
            "..s.2",
            2050,
            "softirq_entry: vec=1 [action=TIMER]",
        );
        trace.expire("ktimers/1-70", 3010).switch(1, 8000, thread, "R+", CYCLIC)
    };
    let cause = trace(3000).cause();
    assert_eq!((cause.class, cause.tid), (Class::PreemptionDisabled, Some(70)));
    assert!(cause.confidence < Confidence::High);
    let early = trace(2100).worst();
    assert!(early.causes.iter().all(|cause| cause.class != Class::Softirq), "{:?}", early.causes);
}

#[test]
fn softirqs_on_top_of_somebody_blame_nobody() {
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010).line(
        "yes-60",
        1,
        "dNs..",
        3045,
        "softirq_entry: vec=3 [action=NET_RX]",
    );
    let trace = trace.line("yes-60", 1, "dNs..", 7990, "softirq_exit: vec=3 [action=NET_RX]");
    let cause = trace.switch(1, 8000, YES, "R", CYCLIC).cause();
    blames(&cause, Class::Softirq, None, Confidence::High);
    assert_eq!(cause.what.as_deref(), Some("NET_RX"));
}

#[test]
fn a_long_interrupt() {
    let trace = start().sleep(2000, 3000, YES).line("yes-60", 1, "d.h..", 2990, "irq_handler_entry: irq=24 name=eth0");
    let trace = trace.line("yes-60", 1, "d.h..", 7000, "irq_handler_exit: irq=24 ret=handled");
    let trace = trace.expire("yes-60", 7010).switch(1, 7100, YES, "R", CYCLIC);
    let cause = trace.cause();
    // If this is a guest, the host may have stopped the CPU during the interrupt.
    blames(&cause, Class::Irq, None, Confidence::Medium);
    let on = |guest| Facts { guest: Some(guest), ..Facts::default() };
    blames(&trace.explained(on(false)).victims[0].causes[0], Class::Irq, None, Confidence::High);
    blames(&trace.explained(on(true)).victims[0].causes[0], Class::Irq, None, Confidence::Medium);
    assert_eq!(cause.what.as_deref(), Some("irq 24 eth0"));
}

#[test]
fn need_resched_that_stays_set_is_preemption_off() {
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010).tick("yes-60", 1, "dNh1.", 5000);
    let trace = trace.tick("yes-60", 1, "dNh1.", 9000).switch(1, 9500, YES, "R", CYCLIC);
    blames(&trace.cause(), Class::PreemptionDisabled, Some(60), Confidence::Medium);
}

#[test]
fn need_resched_that_goes_is_the_schedulers_own_choice() {
    let trace = || {
        let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010).tick("yes-60", 1, "d.h..", 5000);
        trace.tick("yes-60", 1, "d.h..", 9000).switch(1, 9500, YES, "R", CYCLIC)
    };
    blames(&trace().cause(), Class::FairServer, Some(60), Confidence::Suspected);
    let facts = Facts { kernel: Some("6.12.1".into()), fair_server: Some(true), ..Facts::default() };
    blames(&trace().explained(facts).victims[0].causes[0], Class::FairServer, Some(60), Confidence::High);
    // The lazy kind is for ordinary tasks and proves nothing about the victim.
    let lazy = Trace(trace().0.replace("d.h..    0.005", "dlh..    0.005").replace("d.h..    0.009", "dlh..    0.009"));
    assert!(lazy.0.matches("dlh..").count() == 4);
    blames(&lazy.cause(), Class::FairServer, Some(60), Confidence::Suspected);
    let facts = Facts { kernel: Some("4.19.0-rt".into()), ..Facts::default() };
    blames(&trace().explained(facts).victims[0].causes[0], Class::RtThrottling, Some(60), Confidence::Medium);
}

/// A delay that was injected in a guest whose timers came late on both CPUs: `starved` had read the clock all the time.
#[test]
fn silence_does_not_take_from_a_turn_of_the_fair_server() {
    let armed = |trace: Trace, cpu: u32| {
        let timer = format!("hrtimer=00000000000000b{cpu} function=tick_nohz_handler");
        trace.line("<idle>-0", cpu, "d.h1.", 500, &format!("hrtimer_expire_entry: {timer} now=500000")).line(
            "<idle>-0",
            cpu,
            "d.h1.",
            600,
            &format!("hrtimer_start: {timer} expires=5000000 softexpires=5000000"),
        )
    };
    let trace = armed(armed(start(), 0), 1).sleep(2000, 3000, YES).expire("yes-60", 3010);
    let trace = trace.tick("yes-60", 1, "d.h..", 4000).tick("<idle>-0", 0, "d.h1.", 14_000);
    let victim = trace.tick("yes-60", 1, "d.h..", 14_030).switch(1, 15_000, YES, "R", CYCLIC);
    let facts = Facts { kernel: Some("6.12.1".into()), fair_server: Some(true), ..Facts::default() };
    let causes = &victim.explained(facts).victims[0].causes;
    assert_eq!((causes[0].class, causes[0].tid), (Class::FairServer, Some(60)), "{causes:?}");
    assert!(causes[0].share > 0.98 && causes.iter().all(|c| c.class != Class::MachineStall), "{causes:?}");
}

#[test]
fn a_tracer_that_was_left_on_is_named() {
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010).switch(1, 3100, YES, "R", CYCLIC);
    let named = |tracer: &str| {
        let facts = Facts { tracer: Some(tracer.into()), ..Facts::default() };
        trace.explained(facts).notes.iter().any(|note| note.contains("tracer `function`"))
    };
    assert!(named("function") && !named("nop"));
}

#[test]
fn throttled_with_nobody_else_to_run() {
    let hog = ("hog", 70, 9);
    let trace = start().sleep(2000, 3000, hog).expire("hog-70", 3010).switch(1, 4000, hog, "R", IDLE);
    let trace = trace.tick("<idle>-0", 1, "d.h..", 30_000).switch(1, 54_000, IDLE, "R", CYCLIC);
    let facts = Facts { kernel: Some("6.1.0".into()), ..Facts::default() };
    let victim = &trace.explained(facts).victims[0];
    blames(&victim.causes[0], Class::RtThrottling, None, Confidence::Medium);
    assert!(victim.verdict.contains("left the CPU idle"), "{}", victim.verdict);
}

/// Of an unknown kernel: the fair server would not have left the CPU idle, and no real-time thread runs by either.
#[test]
fn what_leaves_the_cpu_idle_is_no_fair_server() {
    let other = ("other", 70, 49);
    let trace = start().sleep(2000, 3000, other).expire("other-70", 3010).switch(1, 3100, other, "R", YES);
    let trace =
        trace.switch(1, 4000, YES, "S", IDLE).tick("<idle>-0", 1, "d.h..", 30_000).switch(1, 54_000, IDLE, "R", CYCLIC);
    let causes = &trace.explained(Facts::default()).victims[0].causes;
    blames(&causes[0], Class::RtThrottling, None, Confidence::Suspected);
    let newer = |rt_group_sched| {
        let facts = Facts { kernel: Some("6.12.1".into()), rt_group_sched, ..Facts::default() };
        let causes = trace.explained(facts).victims[0].causes.clone();
        causes.into_iter().find(|cause| cause.tid == Some(60)).map(|cause| cause.class)
    };
    assert_eq!((newer(Some(true)), newer(None)), (Some(Class::RtThrottling), Some(Class::FairServer)));
    assert!(causes.iter().all(|cause| cause.class != Class::FairServer), "{causes:?}");
    let of = |tid: i32| causes.iter().find(|cause| cause.tid == Some(tid)).map(|cause| cause.class);
    assert_eq!(of(60), Some(Class::RtThrottling), "{causes:?}");
    assert_ne!(of(70), Some(Class::RtThrottling), "{causes:?}");
}

/// The timer's interrupt comes 6 ms late while `yes` is current and CPU 0 goes on; the task is charged `runtime` µs.
fn late_interrupt(runtime: u64) -> Trace {
    let mut trace = start().sleep(2000, 3000, YES);
    for us in (2500..9000).step_by(300) {
        trace = trace.tick("busy-80", 0, "d.h..", us);
    }
    trace
        .line("yes-60", 1, "d.h..", 9005, "local_timer_entry: vector=236")
        .line("yes-60", 1, "d.h..", 9006, &format!("sched_stat_runtime: comm=yes pid=60 runtime={runtime}000 [ns]"))
        .line(
            "yes-60",
            1,
            "d.h..",
            9010,
            "hrtimer_expire_entry: hrtimer=00000000000000aa function=hrtimer_wakeup now=9006000",
        )
        .line("yes-60", 1, "d.h..", 9015, &format!("sched_waking: comm={VICTIM} target_cpu=001"))
        .line("yes-60", 1, "dNh..", 9020, "local_timer_exit: vector=236")
        .switch(1, 9050, YES, "R", CYCLIC)
}

#[test]
fn interrupts_off_or_the_hypervisor_by_the_time_charged() {
    blames(&late_interrupt(7000).cause(), Class::IrqsDisabled, Some(60), Confidence::Medium);
    // Interrupt time may not be charged either (CONFIG_IRQ_TIME_ACCOUNTING), so it matters whether there is a
    // hypervisor.
    blames(&late_interrupt(900).cause(), Class::Steal, None, Confidence::Suspected);
    let on = |guest| Facts { guest: Some(guest), ..Facts::default() };
    blames(&late_interrupt(900).explained(on(true)).victims[0].causes[0], Class::Steal, None, Confidence::Medium);
    let alone = &late_interrupt(900).explained(on(false)).victims[0].causes[0];
    blames(alone, Class::IrqsDisabled, None, Confidence::Suspected);
    let facts = Facts { steal_rose: Some(true), ..Facts::default() };
    blames(&late_interrupt(900).explained(facts).victims[0].causes[0], Class::Steal, None, Confidence::Medium);
}

#[test]
fn a_late_interrupt_that_nothing_explains_names_nobody() {
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 9000).switch(1, 9050, YES, "R", CYCLIC);
    blames(&trace.cause(), Class::IrqsDisabled, None, Confidence::Suspected);
}

#[test]
fn leaving_idle() {
    let trace = |idle: &str| {
        let trace = start().sleep(2000, 3000, IDLE).line("<idle>-0", 1, "d..1.", 2001, idle);
        trace.expire("<idle>-0", 3400).switch(1, 3450, IDLE, "R", CYCLIC)
    };
    // Only cpu_idle events show that it is in an idle state.
    blames(&trace("tick_stop: success=1").cause(), Class::IdleExit, None, Confidence::Suspected);
    blames(&trace("cpu_idle: state=2 cpu_id=1").cause(), Class::IdleExit, None, Confidence::Medium);
}

#[test]
fn a_boosted_thread_is_an_inversion() {
    let owner = ("owner", 70, 120);
    let trace = start().sleep(2000, 3000, owner);
    let trace = trace.line("waiter-71", 0, "d..2.", 2500, "sched_pi_setprio: comm=owner pid=70 oldprio=120 newprio=9");
    let trace = trace.expire("owner-70", 3010).switch(1, 8000, ("owner", 70, 9), "R", CYCLIC);
    let cause = trace.cause();
    blames(&cause, Class::PriorityInversion, Some(70), Confidence::High);
}

#[test]
fn moved_to_a_cpu_that_does_not_know_yet() {
    let hog = ("hog", 70, 9);
    let trace =
        Trace::default().switch(0, 900, IDLE, "R", YES).switch(1, 1000, YES, "R", CYCLIC).sleep(2000, 3000, hog);
    let trace = trace.expire("hog-70", 3010).line(
        "hog-70",
        1,
        "d..2.",
        3100,
        &format!("sched_migrate_task: comm={VICTIM} orig_cpu=1 dest_cpu=0"),
    );
    let victim = trace.switch(0, 8000, YES, "R", CYCLIC).worst();
    assert_eq!(victim.cpu, Some(0));
    // The move itself is short; afterwards the thread waited for its new CPU.
    blames(&victim.causes[0], Class::PreemptionDisabled, Some(60), Confidence::Suspected);
    assert!(victim.causes.iter().any(|c| c.class == Class::HigherPriority && c.tid == Some(70)));
}

/// A hog of higher priority, with something wrong in the middle.
fn hog(middle: impl FnOnce(Trace) -> Trace) -> Victim {
    let hog = ("hog", 70, 9);
    let trace = middle(start().sleep(2000, 3000, hog).expire("hog-70", 3010));
    trace.tick("hog-70", 1, "d.h..", 7000).switch(1, 8000, hog, "S", CYCLIC).worst()
}

/// sched_setscheduler(2) and prctl(PR_SET_NAME) have no event: only the switch away shows what became of a thread.
#[test]
fn a_thread_that_changed_its_priority_and_name_while_it_ran() {
    let (came, left) = (("sh", 70, 120), ("rogue99", 70, 0));
    let trace = start().sleep(2000, 3000, came).expire("sh-70", 3010).tick("sh-70", 1, "d.h..", 6000);
    let cause = trace.switch(1, 8000, left, "S", CYCLIC).cause();
    blames(&cause, Class::HigherPriority, Some(70), Confidence::Medium);
    assert_eq!((cause.comm.as_deref(), cause.scheduled.prio), (Some("rogue99"), Some(99)));
}

/// The thread kept the CPU with the more urgent of its two priorities: with the other one the victim would have
/// preempted it.
#[test]
fn a_thread_that_lowered_its_priority_before_it_left() {
    let (came, left) = (("hog", 70, -1), ("hog", 70, 120));
    let trace = start().sleep(2000, 3000, came).expire("hog-70", 3010).tick("hog-70", 1, "d.h..", 6000);
    let trace = trace.tick("hog-70", 1, "d.h..", 7500).switch(1, 8000, left, "R", CYCLIC);
    blames(&trace.cause(), Class::HigherPriority, Some(70), Confidence::Medium);
    let facts = Facts { kernel: Some("6.12.1".into()), fair_server: Some(true), ..Facts::default() };
    blames(&trace.explained(facts).victims[0].causes[0], Class::HigherPriority, Some(70), Confidence::Medium);
}

/// Some kernels leave out switches from the idle task: the thread's own first event shows that it runs.
#[test]
fn a_switch_that_the_kernel_did_not_record() {
    let next = "hrtimer_start: hrtimer=00000000bb function=hrtimer_wakeup expires=9000000 softexpires=9000000 mode=ABS";
    let trace = start().sleep(2000, 3000, IDLE).expire("<idle>-0", 3010).line("cyclictest-50", 1, "d..1.", 3100, next);
    let victim = trace.worst();
    assert_eq!((victim.tid, victim.latency_ns), (Some(50), 100_000));
    assert!(victim.causes.iter().all(|cause| cause.confidence == Confidence::Suspected), "{:?}", victim.causes);
}

#[test]
fn lost_events_and_broken_pairs_leave_suspicion_only() {
    blames(&hog(|t| t).causes[0], Class::HigherPriority, Some(70), Confidence::High);
    let lost = hog(|mut t| {
        t.0.push_str("CPU:1 [LOST 17 EVENTS]\n");
        t
    });
    assert!(lost.causes.iter().all(|c| c.confidence == Confidence::Suspected), "{:?}", lost.causes);
    assert!(lost.verdict.contains("suspected") || lost.verdict.contains("no cause"), "{}", lost.verdict);
    let unpaired = hog(|t| {
        t.line("hog-70", 1, "d.h..", 5000, "irq_handler_entry: irq=24 name=eth0").line(
            "hog-70",
            1,
            ".....",
            5100,
            "sched_stat_runtime: comm=hog pid=70 runtime=1000 [ns]",
        )
    });
    blames(&unpaired.causes[0], Class::HigherPriority, Some(70), Confidence::Suspected);
    assert!(unpaired.verdict.contains("suspected"), "{}", unpaired.verdict);
    let other = hog(|t| t.line("else-90", 1, ".....", 5000, "sched_stat_runtime: comm=else pid=90 runtime=1000 [ns]"));
    assert!(other.causes.iter().all(|c| c.confidence == Confidence::Suspected), "{:?}", other.causes);
}

#[test]
fn another_clock_leaves_suspicion_only_but_the_right_delay() {
    let hog = ("hog", 70, 9);
    // How far the timers' clock is ahead, in µs. trace_clock=local differs from it by some milliseconds.
    for ahead in [3_600_000_000i64, 32_000, 500, -500, -32_000] {
        let at = |us: u64| us.checked_add_signed(ahead).unwrap();
        let trace = Trace::default().switch(1, 41_000, YES, "R", CYCLIC).sleep(42_000, at(43_000), hog);
        let mut text = trace.expire("hog-70", 43_010).switch(1, 48_000, hog, "S", CYCLIC).0;
        text = text.replace("now=43010000", &format!("now={}000", at(43_012)));
        let victim = Trace(text).worst();
        assert_eq!(victim.latency_ns, 48_000_000 - (43_010_000 - 12_000), "{ahead}");
        blames(&victim.causes[0], Class::HigherPriority, Some(70), Confidence::Suspected);
        assert!(victim.doubts.iter().any(|d| d.contains("clock")), "{:?}", victim.doubts);
    }
}

/// The thread is woken in time, then waits for a lock whose owner is delayed, and is preempted once.
#[test]
fn a_cycle_adds_up_and_names_the_owner_of_a_lock() {
    let owner = ("owner", 70, 120);
    let rogue = ("rogue", 71, 9);
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 3010).switch(1, 3050, YES, "R", CYCLIC);
    let trace = trace.switch(1, 4000, CYCLIC, "S", owner).tick("owner-70", 1, "d.h..", 7000);
    let trace = trace.line("owner-70", 1, "d..2.", 9000, &format!("sched_waking: comm={VICTIM} target_cpu=001"));
    let trace = trace.switch(1, 9010, owner, "R", CYCLIC).switch(1, 10_000, CYCLIC, "R", rogue);
    let trace = trace
        .switch(1, 12_000, rogue, "S", CYCLIC)
        .tick("cyclictest-50", 1, "d.h..", 12_100)
        .sleep(13_000, 14_000, YES);
    let trace = trace.expire("yes-60", 14_010).switch(1, 14_050, YES, "R", CYCLIC);
    let mut source = open(Cursor::new(trace.0.as_bytes()), punctual_trace::Options::default()).unwrap();
    let found = explain(source.as_mut(), ExplainOptions { cycles: true, ..ExplainOptions::default() });
    assert_eq!(found.cycles.len(), 1);
    let cycle = &found.cycles[0];
    assert_eq!((cycle.tid, cycle.release_ns, cycle.length_ns), (50, 3_000_000, 10_000_000));
    assert_eq!(cycle.ran_ns, 950_000 + 990_000 + 1_000_000 - 20_000);
    let delays: u64 = cycle.delays.iter().map(|c| c.ns).sum();
    let blocked = &cycle.blocked[0];
    assert_eq!(cycle.ran_ns + delays + blocked.ns, cycle.length_ns);
    assert_eq!((blocked.ns, blocked.woken_by, blocked.inverted), (5_000_000, Some(70), Some(true)));
    blames(&cycle.delays[0], Class::HigherPriority, Some(71), Confidence::High);
    assert_eq!(cycle.delays[0].ns, 2_000_000);
    assert!(cycle.verdict.contains("blocked 5.00 ms until owner (pid 70) woke it"), "{}", cycle.verdict);
}
