//! Wakeup sources other than a sleep: released by a sender, or by a timer that expires in a softirq's thread.
//! `measure/1` is the victim, on CPU 1; times in µs.

use punctual_explain::{Class, Confidence, ExplainOptions, Facts, Measured, Victim, explain, timelines};
use punctual_trace::{Event, Format, Source, TraceInfo, open};
use std::fmt::Write;
use std::io::Cursor;

type Thread = (&'static str, i32, i32);

const VICTIM: Thread = ("measure/1", 50, 9);
const BESIDE: Thread = ("send/1", 51, 10);
const ELSEWHERE: Thread = ("send/1", 51, 9);
const HOG: Thread = ("hog", 70, 4);
const MIDDLE: Thread = ("middle", 71, 49);
const KTIMERS: Thread = ("ktimers/1", 20, 98);
const YES: Thread = ("yes", 60, 120);
const IDLE: Thread = ("swapper/1", 0, 120);

#[derive(Default)]
struct Trace(String);

impl Trace {
    fn line(mut self, who: Thread, cpu: u32, flags: &str, us: u64, body: &str) -> Self {
        let name = format!("{}-{}", who.0, who.1).replace("swapper/1", "<idle>");
        writeln!(self.0, "{name:>20}     [{cpu:03}] {flags}    0.{us:06}: {body}").unwrap();
        self
    }

    fn switch(self, cpu: u32, us: u64, p: Thread, state: &str, n: Thread) -> Self {
        let body = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> next_comm={} next_pid={} next_prio={}",
            p.0, p.1, p.2, n.0, n.1, n.2
        );
        self.line(p, cpu, "d..2.", us, &body)
    }

    fn wake(self, who: Thread, cpu: u32, us: u64) -> Self {
        self.line(who, cpu, "d..2.", us, "sched_waking: comm=measure/1 pid=50 prio=9 target_cpu=001")
    }

    /// The victim is due at `due`, and is back in user space 10 µs after the trace's last switch to it at `ran`.
    fn worst(&self, sent: bool, due: u64, ran: u64) -> Victim {
        let opened = || open(Cursor::new(self.0.as_bytes()), punctual_trace::Options::default()).unwrap();
        let facts = Facts { sent, ..Facts::default() };
        let measured = vec![Measured { tid: 50, due_ns: due * 1000, woke_ns: (ran + 10) * 1000 }];
        let options = ExplainOptions { measured, facts: facts.clone(), ..ExplainOptions::default() };
        let mut found = explain(opened().as_mut(), options).victims;
        assert_eq!(found.len(), 1, "{}", self.0);
        assert!(timelines(opened().as_mut(), &found, facts)[0].is_some());
        let victim = found.remove(0);
        assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), victim.latency_ns);
        victim
    }
}

fn asleep(cpu_of_sender: u32) -> Trace {
    let next = if cpu_of_sender == 1 { BESIDE } else { IDLE };
    Trace::default().switch(1, 1000, YES, "R", VICTIM).switch(1, 1100, VICTIM, "S", next)
}

fn blames(victim: &Victim, class: Class, tid: Option<i32>, us: u64) {
    let cause = &victim.causes[0];
    assert_eq!((cause.class, cause.tid, cause.ns), (class, tid, us * 1000), "{victim:?}");
}

#[test]
fn a_sender_on_the_same_cpu_is_on_its_way_and_no_late_interrupt() {
    let trace = asleep(1).wake(BESIDE, 1, 1230).switch(1, 1235, BESIDE, "R", VICTIM);
    let victim = trace.worst(true, 1200, 1235);
    blames(&victim, Class::Waker, Some(51), 35);
    assert!(victim.verdict.contains("send/1 (RT 89, pid 51) was on its way to wake it"), "{}", victim.verdict);
    assert_eq!(victim.moments.unwrap().t1_ns, None);
}

/// Without preemption the woken thread runs when the sender's call is over.
#[test]
fn a_sender_that_is_not_preempted_in_its_call_is_still_on_its_way() {
    let trace = asleep(1).wake(BESIDE, 1, 1205).switch(1, 1305, BESIDE, "R", VICTIM);
    blames(&trace.worst(true, 1200, 1305), Class::Waker, Some(51), 105);
}

/// A gap of 6 ms in the middle of the call, of which only 20 µs were charged to the sender.
#[test]
fn a_hypervisor_that_stops_the_sender_is_the_culprit() {
    let charge = |trace: Trace, us, ns| {
        trace.line(BESIDE, 1, "d..2.", us, &format!("sched_stat_runtime: comm=send/1 pid=51 runtime={ns} [ns]"))
    };
    let trace =
        charge(asleep(1), 1195, 90_000).line(BESIDE, 1, "d..1.", 1197, "hrtimer_cancel: hrtimer=00000000000000bb");
    let trace = charge(trace.wake(BESIDE, 1, 7200), 7202, 20_000).switch(1, 7210, BESIDE, "R", VICTIM);
    blames(&trace.worst(true, 1200, 7210), Class::Steal, None, 6000);
}

#[test]
fn who_preempts_the_sender_in_its_call_is_the_culprit() {
    let trace = asleep(1).switch(1, 1205, BESIDE, "R", HOG).switch(1, 4205, HOG, "S", BESIDE);
    let trace = trace.wake(BESIDE, 1, 4220).switch(1, 4225, BESIDE, "R", VICTIM);
    blames(&trace.worst(true, 1200, 4225), Class::HigherPriority, Some(70), 3000);
}

#[test]
fn who_keeps_a_sender_on_another_cpu_ran_before_the_waker() {
    let trace = asleep(0).switch(0, 1150, YES, "R", ELSEWHERE).switch(0, 1205, ELSEWHERE, "R", HOG);
    let trace = trace.switch(0, 4205, HOG, "S", ELSEWHERE).wake(ELSEWHERE, 0, 4220).switch(1, 4225, IDLE, "R", VICTIM);
    let victim = trace.worst(true, 1200, 4225);
    blames(&victim, Class::BeforeWaker, Some(70), 3000);
    assert!(victim.verdict.contains("before the thread that had to wake it"), "{}", victim.verdict);
    assert!(victim.causes.iter().all(|cause| cause.class != Class::IrqsDisabled), "{:?}", victim.causes);
}

#[test]
fn who_keeps_the_woken_thread_is_the_culprit_wherever_the_sender_runs() {
    let trace = asleep(0).switch(0, 1150, YES, "R", ELSEWHERE).switch(1, 1160, IDLE, "R", HOG);
    let trace = trace.wake(ELSEWHERE, 0, 1210).switch(0, 1220, ELSEWHERE, "S", YES).switch(1, 6210, HOG, "S", VICTIM);
    blames(&trace.worst(true, 1200, 6210), Class::HigherPriority, Some(70), 5000);
}

#[test]
fn a_softirq_in_the_senders_call_is_the_senders_way() {
    let trace = asleep(1).line(BESIDE, 1, "..s1.", 1205, "softirq_entry: vec=3 [action=NET_RX]").wake(BESIDE, 1, 1240);
    let trace = trace.line(BESIDE, 1, "..s1.", 1242, "softirq_exit: vec=3 [action=NET_RX]");
    blames(&trace.switch(1, 1250, BESIDE, "R", VICTIM).worst(true, 1200, 1250), Class::Waker, Some(51), 48);
}

/// A byte on the line, the port's interrupt, then an ordinary kworker that has to wait for another ordinary thread.
#[test]
fn a_message_that_a_kworker_hands_on() {
    let kworker = ("kworker/u4:1", 30, 120);
    let trace = asleep(1).switch(1, 1210, BESIDE, "S", IDLE).line(
        IDLE,
        1,
        "d.h..",
        1300,
        "irq_handler_entry: irq=3 name=ttyS1",
    );
    let trace =
        trace.line(IDLE, 1, "d.h..", 1310, "irq_handler_exit: irq=3 ret=handled").switch(1, 1312, IDLE, "R", YES);
    let trace = trace.switch(1, 5312, YES, "R", kworker).wake(kworker, 1, 5330).switch(1, 5335, kworker, "R", VICTIM);
    let victim = trace.worst(true, 1200, 5335);
    blames(&victim, Class::BeforeWaker, Some(60), 4000);
    let of = |class, tid| victim.causes.iter().find(|c| (c.class, c.tid) == (class, tid)).map_or(0, |c| c.ns / 1000);
    assert_eq!((of(Class::Waker, None), of(Class::Waker, Some(51)), of(Class::Waker, Some(30))), (92, 10, 18));
    assert!(victim.causes.iter().all(|c| c.class != Class::IdleExit && c.class != Class::IrqsDisabled));
}

/// timerfd on PREEMPT_RT: the interrupt comes in time, but the thread of timer softirqs waits for a thread of lower
/// priority than the victim.
#[test]
fn a_timer_that_expires_in_a_thread_waits_for_who_runs_before_that() {
    let due = "hrtimer=00000000000000aa function=timerfd_tmrproc expires=3000000 softexpires=3000000 mode=ABS|SOFT";
    let trace = Trace::default().switch(1, 1000, YES, "R", VICTIM).line(
        VICTIM,
        1,
        "d..1.",
        1090,
        &format!("hrtimer_start: {due}"),
    );
    let trace =
        trace.switch(1, 1100, VICTIM, "S", MIDDLE).line(MIDDLE, 1, "d.h..", 3001, "local_timer_entry: vector=236");
    let trace =
        trace.line(MIDDLE, 1, "d.h..", 3009, "local_timer_exit: vector=236").switch(1, 8009, MIDDLE, "S", KTIMERS);
    let trace = trace.line(KTIMERS, 1, "..s1.", 8012, "softirq_entry: vec=8 [action=HRTIMER]");
    let expires = "hrtimer_expire_entry: hrtimer=00000000000000aa function=timerfd_tmrproc now=8011000";
    let trace = trace.line(KTIMERS, 1, "..s1.", 8015, expires).wake(KTIMERS, 1, 8018);
    let victim = trace.switch(1, 8020, KTIMERS, "R", VICTIM).worst(false, 3000, 8020);
    blames(&victim, Class::BeforeWaker, Some(71), 5000);
    assert_eq!(victim.causes[0].confidence, Confidence::Medium);
    assert_eq!(victim.causes[1].class, Class::ReturnToUser, "{:?}", victim.causes);
    assert!(victim.causes.iter().any(|c| c.class == Class::Softirq && c.tid == Some(20)), "{:?}", victim.causes);
}

/// `measure --via futex --trace always` on a guest of two CPUs (Linux 6.18), sender at FIFO 89 on the measured CPU: in
/// the original run, its call was taken for a late timer interrupt.
#[test]
fn a_recorded_futex_wakeup_blames_no_interrupt() {
    let opened = || {
        let trace = include_bytes!("../fixtures/f618.futex.dat");
        open(Cursor::new(&trace[..]), punctual_trace::Options::default()).unwrap()
    };
    let (due_ns, latency_ns) = (51_796_959_882_664, 217_899);
    let measured = vec![Measured { tid: 14637, due_ns, woke_ns: due_ns + latency_ns }];
    let explained = |sent| {
        let options = ExplainOptions {
            measured: measured.clone(),
            facts: Facts { sent, ..Facts::default() },
            ..ExplainOptions::default()
        };
        explain(opened().as_mut(), options).victims.remove(0)
    };
    let victim = explained(true);
    assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), latency_ns);
    assert_eq!((victim.causes[0].class, victim.causes[0].comm.as_deref()), (Class::Waker, Some("send/0")));
    assert!(victim.causes.iter().all(|c| c.class != Class::IrqsDisabled), "{:?}", victim.causes);
    assert!((100_000..latency_ns).contains(&victim.causes[0].ns), "{:?}", victim.causes);
    // The rules for timers must not apply to a sender's wakeup, nor those for senders to a timer's.
    assert!(explained(false).causes.iter().all(|c| c.class != Class::Waker || c.tid.is_some()));
}

/// Linux 6.18 in a guest leaves out switches: the victim's next event is its own sleep, after it read its clock.
#[test]
fn a_wakeup_whose_switch_is_not_in_the_trace_is_found_by_its_waking() {
    let trace = asleep(1).switch(1, 1150, IDLE, "R", HOG).wake(HOG, 1, 1230);
    let trace = trace.line(VICTIM, 1, "d..1.", 1300, "hrtimer_cancel: hrtimer=00000000000000bb");
    // The thread is back in user space at 1290 µs.
    let victim = trace.worst(false, 1200, 1280);
    assert_eq!(victim.latency_ns, 90_000);
    assert_eq!(victim.moments.unwrap().t3_ns, 1_290_000);
    assert!(victim.causes.iter().all(|cause| cause.confidence == Confidence::Suspected), "{:?}", victim.causes);
}

/// A trace read as if it came from a file of this format.
struct As {
    events: std::vec::IntoIter<Event>,
    info: TraceInfo,
}

impl Iterator for As {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.next()
    }
}

impl Source for As {
    fn info(&self) -> &TraceInfo {
        &self.info
    }
}

/// In a trace.dat file, the events of CPU 1 may end before those of CPU 0, and the thread may have run after that.
#[test]
fn a_thread_that_has_not_run_yet_waited_no_longer_than_its_cpu_was_recorded() {
    let other = "irq_handler_entry: irq=33 name=eth0";
    let trace = Trace::default().switch(1, 10, IDLE, "R", HOG).wake(YES, 0, 100);
    let trace = trace.line(HOG, 1, "d.h1.", 107, other).line(YES, 0, "d.h1.", 5000, other);
    let said = |format| {
        let mut source = open(Cursor::new(trace.0.clone().into_bytes()), punctual_trace::Options::default()).unwrap();
        let mut events: Vec<Event> = source.by_ref().collect();
        events.sort_by_key(|event| event.t_ns);
        let info = TraceInfo { format, ..source.info().clone() };
        explain(&mut As { events: events.into_iter(), info }, ExplainOptions::default()).answer.unwrap_or_default()
    };
    let waited = |said: String| {
        said.split_once(", for ").map(|(_, rest)| rest.split(" at least").next().unwrap_or("").to_owned())
    };
    assert_eq!(waited(said(Format::KernelText)).as_deref(), Some("4.90 ms"));
    assert_eq!(waited(said(Format::TraceDat7)).as_deref(), Some("7.00 µs"));
}
