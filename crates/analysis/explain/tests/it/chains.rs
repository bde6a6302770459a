//! Tests who waited for whom: wakers of wakers, owners of locks. CPU 1 is the victim's; times in µs.

use crate::rules::{CYCLIC, IDLE, Trace, VICTIM, YES, start};
use punctual_explain::{Class, Confidence, Facts, Victim};
use punctual_explain::{ExplainOptions, Explanation, Victims, explain};
use punctual_trace::{Options, open};
use std::io::Cursor;

type Thread = (&'static str, i32, i32);

const SERVER: Thread = ("server", 80, 39);
const CLIENT: Thread = ("client", 81, 49);
const HOG: Thread = ("hog", 90, 9);
const LOGGER: Thread = ("logger", 70, 120);
const WRITER: Thread = ("writer", 71, 120);
const IDLE0: Thread = ("swapper/0", 0, 120);
const IDLE2: Thread = ("swapper/2", 0, 120);

impl Trace {
    fn wake(self, cpu: u32, us: u64, by: Thread, woken: Thread, target: u32) -> Self {
        let body = format!("sched_waking: comm={} pid={} prio={} target_cpu={target:03}", woken.0, woken.1, woken.2);
        self.line(&format!("{}-{}", by.0, by.1), cpu, "d..2.", us, &body)
    }

    /// A timer on CPU 0 wakes the thread, in time, while `on` runs.
    fn timer0(self, us: u64, on: Thread, woken: Thread) -> Self {
        let who = format!("{}-{}", on.0, on.1);
        let body = format!("sched_waking: comm={} pid={} prio={} target_cpu=000", woken.0, woken.1, woken.2);
        self.line(&who, 0, "d.h..", us, "local_timer_entry: vector=236")
            .line(
                &who,
                0,
                "d.h..",
                us + 1,
                &format!("hrtimer_expire_entry: hrtimer=00000000000000bb function=hrtimer_wakeup now={us}000"),
            )
            .line(&who, 0, "d.h2.", us + 2, &body)
            .line(&who, 0, "dNh..", us + 4, "local_timer_exit: vector=236")
    }

    fn boost(self, cpu: u32, us: u64, by: Thread, owner: Thread, from: i32, to: i32) -> Self {
        let body = format!("sched_pi_setprio: comm={} pid={} oldprio={from} newprio={to}", owner.0, owner.1);
        self.line(&format!("{}-{}", by.0, by.1), cpu, "d..3.", us, &body)
    }

    fn contends(self, cpu: u32, us: u64, who: Thread, flags: &str) -> Self {
        let body = format!("contention_begin: 00000000c0ffee00 (flags={flags})");
        self.line(&format!("{}-{}", who.0, who.1), cpu, "...1.", us, &body)
    }

    fn contended(self, cpu: u32, us: u64, who: Thread) -> Self {
        self.line(&format!("{}-{}", who.0, who.1), cpu, "...1.", us, "contention_end: 00000000c0ffee00 (ret=0)")
    }

    fn of(&self, tid: i32) -> Explanation {
        let mut source = open(Cursor::new(self.0.as_bytes()), Options::default()).unwrap();
        explain(
            source.as_mut(),
            ExplainOptions { victims: Victims::Tid(tid), cycles: true, ..ExplainOptions::default() },
        )
    }
}

fn chain_of(victim: &Victim) -> Vec<String> {
    victim.chain.iter().map(punctual_explain::Link::text).collect()
}

/// The server is woken in time, a hog runs, and the server wakes the victim.
fn late_server(hog_until: u64) -> Trace {
    start()
        .switch(1, 2000, CYCLIC, "S", IDLE)
        .switch(0, 2000, SERVER, "S", HOG)
        .timer0(3000, HOG, SERVER)
        .switch(0, hog_until, HOG, "S", SERVER)
        .wake(0, hog_until + 30, SERVER, ("cyclictest", 50, 19), 1)
        .switch(1, hog_until + 38, IDLE, "R", CYCLIC)
}

#[test]
fn the_waker_was_late_itself() {
    let victim = late_server(6000).worst();
    assert_eq!(victim.latency_ns, 8_000);
    assert_eq!(
        chain_of(&victim),
        [
            "server (RT 60, pid 80), which woke it 30.0 µs later, was itself 3.00 ms late: hog (RT 90, pid 90) ran 3.00 ms of it"
        ]
    );
    assert_eq!((victim.chain[0].from_ns, victim.chain[0].confidence), (3_002_000, Confidence::Medium));
    assert!(victim.verdict.contains("ordinary switch takes; server (RT 60"), "{}", victim.verdict);
}

#[test]
fn a_waker_that_was_in_time_is_no_cause() {
    assert_eq!(chain_of(&late_server(3010).worst()), [""; 0]);
}

/// client ← server ← cyclictest; the client was late.
#[test]
fn the_waker_of_the_waker_was_late() {
    let trace = start()
        .switch(1, 2000, CYCLIC, "S", IDLE)
        .switch(2, 2000, SERVER, "S", IDLE2)
        .switch(0, 2000, CLIENT, "S", HOG)
        .timer0(3000, HOG, CLIENT)
        .switch(0, 5000, HOG, "S", CLIENT)
        .wake(0, 5100, CLIENT, SERVER, 2)
        .switch(2, 5105, IDLE2, "R", SERVER)
        .wake(2, 5155, SERVER, CYCLIC, 1)
        .switch(1, 5160, IDLE, "R", CYCLIC);
    let said = chain_of(&trace.worst());
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with(
            "client (RT 50, pid 81), which woke server (RT 60, pid 80) 100 µs later, was itself 2.00 ms late: hog"
        ),
        "{said:?}"
    );
}

/// The wakeup with the chain is the shorter one: a note names it.
#[test]
fn the_longest_wait_behind_a_wakeup_is_told_though_others_had_more_latency() {
    let trace = late_server(6000)
        .switch(1, 7000, CYCLIC, "S", YES)
        .wake(0, 8000, SERVER, CYCLIC, 1)
        .switch(1, 8100, YES, "R", CYCLIC);
    let mut source = open(Cursor::new(trace.0.as_bytes()), Options::default()).unwrap();
    let found = explain(source.as_mut(), ExplainOptions { most: 1, ..ExplainOptions::default() });
    assert_eq!((found.victims[0].latency_ns, chain_of(&found.victims[0]).len()), (100_000, 0));
    let note = found
        .notes
        .iter()
        .find(|note| note.starts_with("the longest wait that led to a wakeup of cyclictest (pid 50)"));
    assert!(note.is_some_and(|note| note.contains("server (RT 60, pid 80), which woke it")), "{:?}", found.notes);
    assert!(!late_server(6000).explained(Facts::default()).notes.iter().any(|note| note.contains("behind a wakeup")));
}

#[test]
fn a_wait_that_was_long_over_or_before_it_slept_is_no_cause() {
    // The server is 3 ms late, and then works for 100 ms.
    let trace = start()
        .switch(1, 2000, CYCLIC, "S", IDLE)
        .switch(0, 2000, SERVER, "S", HOG)
        .timer0(3000, HOG, SERVER)
        .switch(0, 6000, HOG, "S", SERVER)
        .wake(0, 106_000, SERVER, CYCLIC, 1)
        .switch(1, 106_008, IDLE, "R", CYCLIC);
    assert_eq!(chain_of(&trace.worst()), [""; 0]);
    // The victim went to sleep after the server had got its CPU.
    let trace = start()
        .switch(0, 2000, SERVER, "S", HOG)
        .timer0(3000, HOG, SERVER)
        .switch(0, 6000, HOG, "S", SERVER)
        .switch(1, 6010, CYCLIC, "S", IDLE)
        .wake(0, 6100, SERVER, CYCLIC, 1)
        .switch(1, 6108, IDLE, "R", CYCLIC);
    assert_eq!(chain_of(&trace.worst()), [""; 0]);
}

#[test]
fn an_interrupt_upon_a_late_thread_is_no_waker_of_that_thread() {
    let woken = format!("sched_waking: comm={VICTIM} target_cpu=001");
    for (flags, is_thread) in [("d..2.", true), ("d.h2.", false), ("d.s2.", false)] {
        let trace = start()
            .switch(1, 2000, CYCLIC, "S", IDLE)
            .switch(0, 2000, SERVER, "S", HOG)
            .timer0(3000, HOG, SERVER)
            .switch(0, 6000, HOG, "S", SERVER)
            .line("server-80", 0, flags, 6030, &woken)
            .switch(1, 6038, IDLE, "R", CYCLIC);
        assert_eq!(chain_of(&trace.worst()).len(), usize::from(is_thread), "{flags}");
    }
}

/// An interrupt wakes ksoftirqd at its end, where the flags show the interrupted thread.
#[test]
fn a_thread_below_an_interrupt_does_not_wake_ksoftirqd() {
    let softirqd = ("ksoftirqd/0", 21, 120);
    let trace = |woken: Thread| {
        start()
            .switch(0, 1500, softirqd, "S", SERVER)
            .switch(0, 2000, SERVER, "R", HOG)
            .switch(0, 6000, HOG, "S", SERVER)
            .wake(0, 6030, SERVER, woken, 0)
            .switch(0, 6100, SERVER, "S", woken)
            .of(woken.1)
    };
    assert_eq!(chain_of(&trace(softirqd).victims[0]), [""; 0]);
    assert_eq!(chain_of(&trace(("client", 21, 120)).victims[0]).len(), 1);
}

#[test]
fn events_that_were_lost_end_the_chain() {
    let lines = late_server(6000).0;
    let lost_before = |what: &str| {
        let at = lines.find(what).unwrap_or_else(|| panic!("{lines}"));
        let at = lines[..at].rfind('\n').unwrap() + 1;
        chain_of(&Trace(format!("{}CPU:0 [LOST 7 EVENTS]\n{}", &lines[..at], &lines[at..])).worst())
    };
    assert_eq!(lost_before("hog-90").len(), 1, "before all of it");
    assert_eq!(lost_before("server-80     [000] d..2.    0.006030"), [""; 0]);
}

/// The victim waits for a lock that the logger holds; the logger gets its priority.
fn lock(begin: bool, boost: bool, woken_by: Thread) -> Trace {
    let mut trace = start().switch(0, 2000, IDLE0, "R", LOGGER);
    if begin {
        trace = trace.contends(1, 2990, CYCLIC, "RT");
    }
    if boost {
        trace = trace.boost(1, 2995, CYCLIC, LOGGER, 120, 19);
    }
    trace = trace.switch(1, 3000, CYCLIC, "D", IDLE);
    if woken_by.1 != LOGGER.1 {
        trace = trace.switch(0, 3100, LOGGER, "R", woken_by);
    } else if boost {
        trace = trace.boost(0, 3211, LOGGER, LOGGER, 19, 120);
    }
    trace = trace.wake(0, 3212, woken_by, CYCLIC, 1).switch(1, 3220, IDLE, "R", CYCLIC);
    if begin { trace.contended(1, 3222, CYCLIC) } else { trace }
}

#[test]
fn the_owner_of_a_lock_is_told_by_evidence_only() {
    let of = |begin, boost, by| {
        let victim = lock(begin, boost, by).worst();
        assert_eq!(victim.latency_ns, 8_000);
        (chain_of(&victim), victim.chain.first().map(|link| link.confidence))
    };
    let (said, confidence) = of(true, true, LOGGER);
    assert_eq!(said, ["it waited 212 µs for the rtmutex at 0xc0ffee00, held by logger (nice 0, pid 70)"]);
    assert_eq!(confidence, Some(Confidence::High));
    let (said, confidence) = of(false, true, LOGGER);
    assert_eq!(said, ["it waited 212 µs for a lock, held by logger (nice 0, pid 70)"]);
    assert_eq!(confidence, Some(Confidence::Medium));
    let (said, confidence) = of(true, false, LOGGER);
    assert_eq!(
        said,
        [
            "it waited 212 µs for the rtmutex at 0xc0ffee00, whose owner is not recorded, until logger (nice 0, pid 70) woke it"
        ]
    );
    assert_eq!(confidence, Some(Confidence::Medium));
    let (said, confidence) = of(true, true, WRITER);
    assert_eq!(
        said,
        [
            "it waited 212 µs for the rtmutex at 0xc0ffee00, held by logger (nice 0, pid 70) at first until writer (nice 0, pid 71) woke it"
        ]
    );
    assert_eq!(confidence, Some(Confidence::Medium));
    assert_eq!(of(false, false, LOGGER).0, [""; 0], "asleep, but for no lock");
}

/// The victim waits for the logger's lock, the logger for the writer's: the writer runs with the victim's priority.
#[test]
fn the_owner_of_the_owners_lock() {
    let boosted = ("logger", 70, 19);
    let trace = start()
        .switch(0, 1500, IDLE0, "R", LOGGER)
        .switch(2, 1500, IDLE2, "R", WRITER)
        .line("logger-70", 0, "...1.", 2000, "contention_begin: 00000000beef0000 (flags=RT)")
        .switch(0, 2010, LOGGER, "D", IDLE0)
        .contends(1, 2990, CYCLIC, "RT")
        .boost(1, 2994, CYCLIC, LOGGER, 120, 19)
        .boost(1, 2996, CYCLIC, WRITER, 120, 19)
        .switch(1, 3000, CYCLIC, "D", IDLE)
        .boost(2, 3199, WRITER, WRITER, 19, 120)
        .wake(2, 3200, WRITER, boosted, 0)
        .switch(0, 3205, IDLE0, "R", boosted)
        .line("logger-70", 0, "...1.", 3206, "contention_end: 00000000beef0000 (ret=0)")
        .boost(0, 3250, LOGGER, LOGGER, 19, 120)
        .wake(0, 3251, LOGGER, CYCLIC, 1)
        .switch(1, 3260, IDLE, "R", CYCLIC);
    assert_eq!(
        chain_of(&trace.worst()),
        [
            "it waited 251 µs for the rtmutex at 0xc0ffee00, held by logger (nice 0, pid 70)",
            "logger (nice 0, pid 70), which woke it 51.0 µs later, waited 1.19 ms for the rtmutex at 0xbeef0000, held by writer (nice 0, pid 71)",
        ]
    );
}

/// While a thread runs with an inherited priority, others wait for it: the waiter and its lock are reported.
#[test]
fn who_waits_for_the_lock_of_a_boosted_thread_and_who_for_that_one() {
    let boosted = ("writer", 71, 9);
    let trace = start()
        .switch(0, 1500, IDLE0, "R", LOGGER)
        .line("logger-70", 0, "...1.", 2000, "contention_begin: 00000000beef0000 (flags=RT)")
        .switch(0, 2010, LOGGER, "D", HOG)
        .sleep(2100, 3500, WRITER)
        .contends(0, 2990, HOG, "RT")
        .boost(0, 2994, HOG, LOGGER, 120, 9)
        .boost(0, 2996, HOG, WRITER, 120, 9)
        .switch(0, 3000, HOG, "D", IDLE0)
        .expire("writer-71", 3500)
        .switch(1, 4000, boosted, "R", CYCLIC);
    let cause = trace.cause();
    assert_eq!((cause.class, cause.tid), (Class::PriorityInversion, Some(71)));
    assert_eq!(
        cause.place.as_deref(),
        Some("logger (pid 70) waits for the rtmutex at 0xbeef0000, and hog (pid 90) for a lock that it holds")
    );
}

#[test]
fn a_cycle_tells_the_lock_it_waited_for() {
    let logger = ("logger", 70, 19);
    let trace = start()
        .sleep(2000, 3000, YES)
        .expire("yes-60", 3000)
        .switch(1, 3040, YES, "R", CYCLIC)
        .contends(1, 3100, CYCLIC, "RT")
        .boost(1, 3104, CYCLIC, LOGGER, 120, 19)
        .switch(1, 3110, CYCLIC, "D", logger)
        .boost(1, 3600, LOGGER, LOGGER, 19, 120)
        .wake(1, 3601, LOGGER, CYCLIC, 1)
        .switch(1, 3604, LOGGER, "R", CYCLIC)
        .sleep(4000, 5000, YES)
        .expire("yes-60", 5000)
        .switch(1, 5040, YES, "R", CYCLIC);
    let found = trace.of(50);
    let cycle = &found.cycles[0].verdict;
    let wanted = "; waited 491 µs for the rtmutex at 0xc0ffee00, held by logger (nice 0, pid 70), a thread of lower priority: a priority inversion";
    assert!(cycle.contains(wanted), "{cycle}");
}

#[test]
fn a_trace_that_ends_in_a_wait_for_a_lock_says_so() {
    let trace = start().contends(1, 1990, CYCLIC, "RT").boost(1, 1995, CYCLIC, LOGGER, 120, 19);
    let trace = trace.switch(1, 2000, CYCLIC, "D", IDLE).line("logger-70", 0, ".....", 9000, "sys_exit: NR 1 = 3");
    let notes = trace.explained(Facts::default()).notes;
    let wanted = "cyclictest (pid 50) waits for the rtmutex at 0xc0ffee00, held by logger (nice 0, pid 70), for 7.00 ms at least, until the trace ends";
    assert!(notes.iter().any(|note| note == wanted), "{notes:?}");
}

/// Without flags an interrupt on top of a thread looks like that thread.
#[test]
fn a_waker_is_told_without_flags_only_where_interrupts_are_recorded() {
    let text = |irq: bool, event: &str| {
        let mut text = String::new();
        let mut line = |who: (&str, i32), cpu: u32, us: u64, body: &str| {
            text += &format!("{:>16} {:5} [{cpu:03}] 0.{us:06}: {body}\n", who.0, who.1);
        };
        let (server, hog, victim) = (("server", 80), ("hog", 90), ("cyclictest", 50));
        line(
            victim,
            1,
            1000,
            "sched:sched_switch: prev_comm=cyclictest prev_pid=50 prev_prio=19 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120",
        );
        line(
            server,
            0,
            1000,
            "sched:sched_switch: prev_comm=server prev_pid=80 prev_prio=39 prev_state=S ==> next_comm=hog next_pid=90 next_prio=9",
        );
        if irq {
            line(hog, 0, 1990, "irq_vectors:local_timer_entry: vector=236");
        }
        line(hog, 0, 2000, "sched:sched_waking: comm=server pid=80 prio=39 target_cpu=000");
        if irq {
            line(hog, 0, 2010, "irq_vectors:local_timer_exit: vector=236");
        }
        line(
            hog,
            0,
            4000,
            "sched:sched_switch: prev_comm=hog prev_pid=90 prev_prio=9 prev_state=S ==> next_comm=server next_pid=80 next_prio=39",
        );
        line(server, 0, 4010, &format!("sched:{event}: comm=cyclictest pid=50 prio=19 target_cpu=001"));
        line(
            ("swapper", 0),
            1,
            4040,
            "sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cyclictest next_pid=50 next_prio=19",
        );
        text
    };
    let of = |irq, event| chain_of(&Trace(text(irq, event)).worst());
    let said = of(true, "sched_waking");
    assert!(
        said.len() == 1 && said[0].starts_with("suspected: server (RT 60, pid 80), which woke it 10.0 µs later"),
        "{said:?}"
    );
    assert_eq!(of(false, "sched_waking"), [""; 0]);
    assert_eq!(of(true, "sched_wakeup"), [""; 0]);
}

#[test]
fn who_spins_for_a_lock_is_told_and_a_sleeper_does_not_spin() {
    let spun = |flags: &str, yes: Thread| {
        start()
            .sleep(2000, 3000, yes)
            .contends(1, 2900, yes, flags)
            .expire("yes-60", 3010)
            .contended(1, 3400, yes)
            .switch(1, 3420, yes, "R", CYCLIC)
            .worst()
    };
    let said = chain_of(&spun("SPIN", YES));
    assert_eq!(said, ["yes (nice 0, pid 60) spun 500 µs for the spinlock at 0xc0ffee00, whose owner is not recorded"]);
    let victim = start()
        .sleep(2000, 3000, YES)
        .contends(1, 2900, YES, "MUTEX")
        .switch(1, 2910, YES, "D", IDLE)
        .expire("<idle>-0", 3010)
        .switch(1, 3420, IDLE, "R", CYCLIC)
        .worst();
    assert_eq!(chain_of(&victim), [""; 0]);
}

#[test]
fn an_end_without_a_beginning_is_nothing_and_neither_is_a_beginning_in_another_thread() {
    let trace = start()
        .contended(1, 1500, CYCLIC)
        .contends(1, 1600, CYCLIC, "RT")
        .contended(1, 1610, CYCLIC)
        .switch(1, 3000, CYCLIC, "S", IDLE)
        .switch(0, 3000, IDLE0, "R", LOGGER)
        .contends(0, 3010, LOGGER, "MUTEX")
        .contended(0, 3100, LOGGER)
        .wake(0, 3212, LOGGER, CYCLIC, 1)
        .switch(1, 3220, IDLE, "R", CYCLIC);
    assert_eq!(chain_of(&trace.worst()), [""; 0]);
}

#[test]
fn two_threads_that_wake_each_other_for_ever_are_followed_once() {
    let mut trace = start().switch(1, 2000, CYCLIC, "S", IDLE).switch(0, 2000, SERVER, "S", HOG);
    let mut t = 3000;
    trace = trace.wake(2, t, CLIENT, SERVER, 0);
    for _ in 0..50 {
        // Each thread waits for 0.5 ms.
        trace = trace
            .switch(0, t + 500, HOG, "S", SERVER)
            .wake(0, t + 520, SERVER, CYCLIC, 1)
            .switch(0, t + 530, SERVER, "S", HOG)
            .switch(1, t + 1020, IDLE, "R", CYCLIC)
            .wake(1, t + 1040, CYCLIC, SERVER, 0)
            .switch(1, t + 1050, CYCLIC, "S", IDLE);
        t += 1040;
    }
    let victim = trace.worst();
    let said = chain_of(&victim);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("server (RT 60, pid 80), which woke it 20.0 µs later, was itself 500 µs late: hog"),
        "{said:?}"
    );
    assert_eq!(victim.causes[0].confidence, trace.explained(Facts::default()).victims[0].causes[0].confidence);
}
