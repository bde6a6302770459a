//! One small trace for each class, and for each reason to lower the confidence. CPU 1 is the victim's; times in µs.

use punctual_explain::{Cause, Class, Confidence, ExplainOptions, Explanation, Facts, Victim, explain};
use punctual_trace::open;
use std::fmt::Write;
use std::io::Cursor;

/// Lines of a trace as the kernel prints them.
#[derive(Default)]
struct Trace(String);

const VICTIM: &str = "cyclictest pid=50 prio=19";

impl Trace {
    fn line(mut self, who: &str, cpu: u32, flags: &str, us: u64, body: &str) -> Self {
        let (s, us) = (us / 1_000_000, us % 1_000_000);
        writeln!(self.0, "{who:>20}     [{cpu:03}] {flags}    {s}.{us:06}: {body}").unwrap();
        self
    }

    fn switch(self, cpu: u32, us: u64, from: (&str, i32, i32), state: &str, to: (&str, i32, i32)) -> Self {
        let (p, n) = (from, to);
        let body = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> next_comm={} next_pid={} next_prio={}",
            p.0, p.1, p.2, n.0, n.1, n.2
        );
        self.line(&format!("{}-{}", p.0, p.1), cpu, "d..2.", us, &body)
    }

    /// The victim starts its timer and sleeps at `us`; `to` runs.
    fn sleep(self, us: u64, due: u64, to: (&str, i32, i32)) -> Self {
        let body = format!(
            "hrtimer_start: hrtimer=00000000000000aa function=hrtimer_wakeup expires={due}000 softexpires={due}000 mode=ABS|HARD was_armed=0"
        );
        self.line("cyclictest-50", 1, "d..1.", us - 10, &body).switch(1, us, CYCLIC, "S", to)
    }

    /// The victim's timer interrupt from `us` on, 30 µs, on top of `who`.
    fn expire(self, who: &str, us: u64) -> Self {
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
    fn tick(self, who: &str, cpu: u32, flags: &str, us: u64) -> Self {
        self.line(who, cpu, flags, us, "local_timer_entry: vector=236").line(
            who,
            cpu,
            flags,
            us + 20,
            "local_timer_exit: vector=236",
        )
    }

    fn explained(&self, facts: Facts) -> Explanation {
        let mut source = open(Cursor::new(self.0.as_bytes()), punctual_trace::Options::default()).unwrap();
        explain(source.as_mut(), ExplainOptions { facts, ..ExplainOptions::default() })
    }

    fn worst(&self) -> Victim {
        let victim = self.explained(Facts::default()).victims.remove(0);
        assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), victim.latency_ns);
        victim
    }

    fn cause(&self) -> Cause {
        self.worst().causes.remove(0)
    }
}

const CYCLIC: (&str, i32, i32) = ("cyclictest", 50, 19);
const YES: (&str, i32, i32) = ("yes", 60, 120);
const IDLE: (&str, i32, i32) = ("swapper/1", 0, 120);

fn start() -> Trace {
    Trace::default().switch(1, 1000, YES, "R", CYCLIC)
}

fn blames(cause: &Cause, class: Class, tid: Option<i32>, confidence: Confidence) {
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

/// Injected with the function tracer on: a softirq in a thread of lower priority than the victim, on a kernel that
/// preempts it.
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
    let cause = trace.expire("yes-60", 7010).switch(1, 7100, YES, "R", CYCLIC).cause();
    blames(&cause, Class::Irq, None, Confidence::High);
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

/// Injected in a guest whose timers came late on both CPUs: `starved` had looked at the clock all the time.
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
    // Interrupts are not charged either (CONFIG_IRQ_TIME_ACCOUNTING): it depends on whether there is a hypervisor.
    blames(&late_interrupt(900).cause(), Class::Steal, None, Confidence::Suspected);
    let on = |guest| Facts { guest: Some(guest), ..Facts::default() };
    blames(&late_interrupt(900).explained(on(true)).victims[0].causes[0], Class::Steal, None, Confidence::Medium);
    let alone = &late_interrupt(900).explained(on(false)).victims[0].causes[0];
    blames(alone, Class::IrqsDisabled, None, Confidence::Suspected);
    let facts = Facts { steal_rose: Some(true), ..Facts::default() };
    blames(&late_interrupt(900).explained(facts).victims[0].causes[0], Class::Steal, None, Confidence::High);
}

#[test]
fn a_late_interrupt_that_nothing_explains_names_nobody() {
    let trace = start().sleep(2000, 3000, YES).expire("yes-60", 9000).switch(1, 9050, YES, "R", CYCLIC);
    blames(&trace.cause(), Class::IrqsDisabled, None, Confidence::Suspected);
}

#[test]
fn leaving_idle() {
    let trace = start().sleep(2000, 3000, IDLE).expire("<idle>-0", 3400).switch(1, 3450, IDLE, "R", CYCLIC);
    blames(&trace.cause(), Class::IdleExit, None, Confidence::Medium);
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
    blames(&victim.causes[0], Class::Migration, None, Confidence::High);
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
    let trace = start().sleep(2000, 3_600_000_000, hog);
    // The timers' clock is an hour ahead.
    let mut text = trace.expire("hog-70", 3010).switch(1, 8000, hog, "S", CYCLIC).0;
    text = text.replace("now=3010000", "now=3600000012000");
    let victim = Trace(text).worst();
    assert_eq!(victim.latency_ns, 8_000_000 - (3_010_000 - 12_000));
    blames(&victim.causes[0], Class::HigherPriority, Some(70), Confidence::Suspected);
    assert!(victim.doubts.iter().any(|d| d.contains("clock")), "{:?}", victim.doubts);
}

/// Woken in time, then it waits for a lock whose owner is delayed, and is preempted once.
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

/// Woken by CPU 0, the victim's CPU gets its interrupt 2 ms later.
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

/// CONFIG_RT_GROUP_SCHED keeps throttling after 6.12, and the kernel says when it strikes.
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
    // The same with an address whose instruction is known, and not known.
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

#[test]
fn preemption_that_came_on_again_names_where() {
    let mut trace = start().sleep(2000, 3000, YES).expire("yes-60", 3005).switch(1, 3800, YES, "R+", CYCLIC);
    trace = trace.line("yes-60", 1, "d..2.", 3802, "<stack trace>");
    for frame in ["__schedule", "preempt_schedule_common", "preempt_schedule_thunk", "hold [module]", "ksys_ioctl"] {
        writeln!(trace.0, " => {frame}").unwrap();
    }
    // Another stack was seen before: this wakeup waits for its own.
    let mut before = Trace::default().line("yes-60", 1, "d..1.", 900, "<stack trace>");
    writeln!(before.0, " => schedule").unwrap();
    let victim = Trace(before.0 + &trace.0).worst();
    blames(&victim.causes[0], Class::PreemptionDisabled, Some(60), Confidence::Medium);
    assert_eq!(victim.causes[0].place.as_deref(), Some("in hold ← ksys_ioctl"));
}

/// Without full preemption a thread goes on through a timely interrupt: what that came upon is where it was.
#[test]
fn where_a_thread_was_that_was_not_preempted() {
    let trace = stacked(start().sleep(2000, 3000, YES), 3005, &["hold", "vfs_write"]);
    // The switch comes much later than `stacked` has it.
    let (text, _) = trace.0.rsplit_once('\n').and_then(|(rest, _)| rest.rsplit_once('\n')).unwrap();
    let late = Trace(format!("{text}\n")).switch(1, 4200, YES, "R+", CYCLIC);
    let cause = late.cause();
    assert_eq!((cause.class, cause.tid), (Class::PreemptionDisabled, Some(60)), "{cause:?}");
    assert_eq!(cause.place.as_deref(), Some("when it was woken in hold ← vfs_write"));
}
