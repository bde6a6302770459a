//! Judges recordings as the kernel would produce them.

use crate::calls::What;
use crate::judge::{Begin, Setting, judge};
use crate::recording::{Asked, Occurrence, Place, Recording, Run, Taker, Thread, Waited, Waker};
use crate::system::{Facts, Memory};
use punctual_cycles::{Release, Wait};
use punctual_model::{CheckFinding, CheckFrame, State};
use punctual_units::{CpuList, Nanos, Priority, Scheduling};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const RELEASE: u32 = 0;
const STEP: u32 = 1;
const LOCK: u32 = 2;
const POLICY: u32 = 3;

fn frame(function: &str, line: u32) -> CheckFrame {
    CheckFrame {
        function: Some(function.into()),
        file: Some("/src/app.c".into()),
        line: Some(line),
        module: Some("/opt/app".into()),
        address: None,
    }
}

fn libc(function: &str) -> CheckFrame {
    CheckFrame { function: Some(function.into()), module: Some("/usr/lib/libc.so.6".into()), ..CheckFrame::default() }
}

fn place(call: &str, stack: Vec<CheckFrame>) -> Place {
    Place { call: Some(call.into()), stack, ..Place::default() }
}

fn memory(locked: u64, unlocked: u64) -> Option<Memory> {
    Some(Memory { size: 8192, locked, unlocked: Some(unlocked) })
}

fn fifo(priority: u8) -> Scheduling {
    Scheduling::Fifo { priority: Priority::try_from(priority).unwrap() }
}

/// Returns a thread with a period of 1 ms on one CPU, in locked memory, that works for 300 µs.
fn thread() -> Thread {
    let wait = |n: u64| Waited {
        wait: Wait {
            place: RELEASE,
            release: Release::AbsoluteSleep,
            begin: Nanos(n * MS - 700_000),
            due: None,
            set: None,
            woken: Some(Nanos(n * MS)),
            end: Nanos(n * MS + 5_000),
        },
        waker: Some(Waker::Interrupt),
        has_slack: false,
        cpu_before: n * 300_000,
        cpu_after: n * 300_000,
    };
    let cpus: CpuList = "2".parse().unwrap();
    Thread {
        tid: 8,
        pid: 7,
        name: "control".into(),
        scheduling: Some(fifo(80)),
        real_time_since: Some(0),
        asked: Asked::At(POLICY),
        facts: Facts { cpus: Some(cpus), timer_slack_ns: Some(0), memory: memory(4096, 0) },
        waits: (1..=100).map(wait).collect(),
        occurrences: Vec::new(),
        migrations: Vec::new(),
        ended: None,
        executed: None,
        long_runs: Vec::new(),
        is_cut: false,
    }
}

fn recording(threads: Vec<Thread>) -> Recording {
    let places = vec![
        place("clock_nanosleep(2)", vec![libc("clock_nanosleep"), frame("control", 10)]),
        place("write(2)", vec![libc("write"), frame("step", 20)]),
        place("futex(2)", vec![libc("__lll_lock_wait"), libc("pthread_mutex_lock"), frame("step", 30)]),
        place("sched_setscheduler(2)", vec![libc("sched_setscheduler"), frame("main", 40)]),
    ];
    Recording { threads, places, locks: Vec::new(), files: Vec::new() }
}

fn setting() -> Setting {
    Setting {
        begin: Begin::Found,
        cpus: 4,
        is_virtual: false,
        sees_calls: true,
        is_incomplete: false,
        order: None,
        others: Vec::new(),
        preemptions: BTreeMap::new(),
    }
}

fn found(threads: Vec<Thread>) -> Vec<CheckFinding> {
    judge(&recording(threads), &setting()).1
}

fn at(time: u64, what: What, place: u32) -> Occurrence {
    Occurrence { time, what, place, duration: Some(40_000), file: None }
}

#[test]
fn a_clean_thread_has_no_findings_and_its_cycles() {
    let (threads, findings) = judge(&recording(vec![thread()]), &setting());
    assert_eq!(findings, []);
    let cycles = threads[0].cycles.as_ref().unwrap();
    assert_eq!((cycles.count, cycles.period_ns, cycles.release.as_str()), (99, Some(Nanos(MS)), "absolute sleep"));
    assert_eq!(cycles.place.as_ref().unwrap().function.as_deref(), Some("control"));
}

#[test]
fn what_happens_in_cycles_counts_and_start_and_end_do_not() {
    let before = at(500_000, What::FileIo, STEP);
    let within = [10, 20, 30].map(|n| at(n * MS + 100_000, What::FileIo, STEP));
    let after = at(100 * MS + 100_000, What::FileIo, STEP);
    let occurrences = [vec![before], within.to_vec(), vec![after]].concat();
    let findings = found(vec![Thread { occurrences, ..thread() }]);
    assert_eq!(findings.len(), 1);
    let one = &findings[0];
    assert_eq!((one.finding.id.as_str(), one.finding.state, one.count), ("file-io", State::Fail, 3));
    assert_eq!((one.worst_ns, one.is_in_cycle), (Some(Nanos(40_000)), true));
    assert!((one.per_cycle.unwrap() - 3.0 / 99.0).abs() < 1e-9);
    assert_eq!(one.finding.summary, "control: a file is used (write(2)), in step() at app.c:20");
    assert_eq!(one.finding.evidence[0].source, "/src/app.c:20");
}

#[test]
fn a_thread_without_cycles_is_reported_and_does_not_fail() {
    let occurrences = vec![at(10 * MS, What::PageFault, STEP)];
    let findings = found(vec![Thread { occurrences, waits: Vec::new(), ..thread() }]);
    assert_eq!((findings[0].finding.state, findings[0].is_in_cycle), (State::Warn, false));
    // Events before it became real-time do not count either.
    let occurrences = vec![at(10 * MS, What::PageFault, STEP)];
    let later = Thread { occurrences, waits: Vec::new(), real_time_since: Some(11 * MS), ..thread() };
    assert_eq!(found(vec![later]), []);
}

#[test]
fn a_lock_is_told_from_other_waits_by_its_functions() {
    let lock = at(10 * MS + 50_000, What::Futex, LOCK);
    let other = at(20 * MS + 50_000, What::Futex, STEP);
    let pi = at(30 * MS + 50_000, What::Allowed, LOCK);
    let findings = found(vec![Thread { occurrences: vec![lock, other, pi], ..thread() }]);
    let ids: Vec<&str> = findings.iter().map(|one| one.finding.id.as_str()).collect();
    assert_eq!(ids, ["lock-without-pi", "blocking-call"]);
}

#[test]
fn settings_of_a_thread_with_cycles_are_judged_at_the_line_that_made_it_real_time() {
    let facts = Facts { cpus: Some("0-3".parse().unwrap()), timer_slack_ns: Some(50_000), memory: memory(0, 9) };
    let findings = found(vec![Thread { facts, ..thread() }]);
    let ids: Vec<&str> = findings.iter().map(|one| one.finding.id.as_str()).collect();
    assert_eq!(ids, ["memory-not-locked", "affinity-missing"]);
    assert!(findings.iter().all(|one| one.place.as_ref().and_then(|place| place.line) == Some(40)));
    // Information that could not be read is not a finding.
    assert_eq!(found(vec![Thread { facts: Facts::default(), ..thread() }]), []);
}

#[test]
fn the_timer_slack_matters_to_futexes_with_a_timeout() {
    let facts = Facts { timer_slack_ns: Some(50_000), ..thread().facts };
    let mut waits = thread().waits;
    waits.iter_mut().for_each(|waited| waited.wait.release = Release::Futex);
    assert_eq!(found(vec![Thread { facts: facts.clone(), waits: waits.clone(), ..thread() }]), []);
    waits.iter_mut().for_each(|waited| waited.has_slack = true);
    let findings = found(vec![Thread { facts, waits, ..thread() }]);
    assert_eq!(findings.iter().map(|one| one.finding.id.as_str()).collect::<Vec<_>>(), ["timer-slack"]);
}

#[test]
fn an_inherited_policy_and_a_release_from_below_are_found() {
    let mut waits = thread().waits;
    for waited in &mut waits {
        waited.wait.release = Release::Futex;
        waited.waker = Some(Waker::Thread { tid: 9, urgency: 0, is_kernel: false });
    }
    let released = Thread { waits: waits.clone(), ..thread() };
    let inherited =
        Thread { tid: 10, name: "helper".into(), asked: Asked::Inherited { parent: 8, place: Some(STEP) }, ..thread() };
    let findings = found(vec![released, inherited]);
    let ids: Vec<(&str, &str)> = findings.iter().map(|one| (one.finding.id.as_str(), one.thread.as_str())).collect();
    assert_eq!(ids, [("woken-by-less-urgent", "control"), ("policy-inherited", "helper")]);
    // Kernel threads do not count as less urgent wakers.
    for waited in &mut waits {
        waited.waker = Some(Waker::Thread { tid: 9, urgency: 0, is_kernel: true });
    }
    assert_eq!(found(vec![Thread { waits, ..thread() }]), []);
}

#[test]
fn a_cycle_that_computes_beyond_its_period_is_an_overrun() {
    let mut waits = thread().waits;
    for waited in &mut waits[50..] {
        waited.cpu_before += 2 * MS;
        waited.cpu_after += 2 * MS;
    }
    let findings = found(vec![Thread { waits: waits.clone(), ..thread() }]);
    assert_eq!((findings[0].finding.id.as_str(), findings[0].count), ("overrun", 1));
    // A cycle in which a thread was created does not count.
    let occurrences = vec![at(50 * MS + 100_000, What::NewThread, STEP)];
    let findings = found(vec![Thread { waits, occurrences, ..thread() }]);
    assert_eq!(findings.iter().map(|one| one.finding.id.as_str()).collect::<Vec<_>>(), ["new-thread"]);
}

#[test]
fn a_rare_overrun_in_a_virtual_machine_may_be_the_hosts() {
    let mut waits = thread().waits;
    for waited in &mut waits[50..] {
        waited.cpu_before += 2 * MS;
        waited.cpu_after += 2 * MS;
    }
    let setting = Setting {
        begin: Begin::Found,
        cpus: 4,
        is_virtual: true,
        sees_calls: true,
        is_incomplete: false,
        order: None,
        others: Vec::new(),
        preemptions: BTreeMap::new(),
    };
    assert_eq!(judge(&recording(vec![Thread { waits, ..thread() }]), &setting).1, []);
}

#[test]
fn no_real_time_thread_is_a_finding() {
    let ordinary = Thread { scheduling: Some(Scheduling::Other { nice: 0 }), real_time_since: None, ..thread() };
    let findings = found(vec![ordinary.clone(), Thread { tid: 9, ..ordinary }]);
    assert_eq!(findings[0].finding.id, "no-real-time-thread");
    assert!(findings[0].finding.summary.contains("none of its 2 threads is real-time"));
}

#[test]
fn after_a_given_time_everything_counts() {
    let setting = Setting {
        begin: Begin::At(20 * MS),
        cpus: 4,
        is_virtual: false,
        sees_calls: true,
        is_incomplete: false,
        order: None,
        others: Vec::new(),
        preemptions: BTreeMap::new(),
    };
    let occurrences = vec![at(10 * MS, What::Allocation, STEP), at(30 * MS, What::Allocation, STEP)];
    let lone = Thread { occurrences, waits: Vec::new(), ..thread() };
    let (_, findings) = judge(&recording(vec![lone]), &setting);
    assert_eq!((findings[0].count, findings[0].finding.state), (1, State::Fail));
    // The rate is per counted cycle.
    let occurrences = vec![at(10 * MS + 50_000, What::Allocation, STEP), at(30 * MS + 50_000, What::Allocation, STEP)];
    let (_, findings) = judge(&recording(vec![Thread { occurrences, ..thread() }]), &setting);
    assert!((findings[0].per_cycle.unwrap() - 1.0 / 80.0).abs() < 1e-9, "{:?}", findings[0].per_cycle);
}

#[test]
fn a_mutex_without_protocol_is_a_hazard_if_a_less_urgent_thread_takes_it_too() {
    let other = Thread {
        tid: 9,
        name: "logger".into(),
        scheduling: None,
        real_time_since: None,
        waits: Vec::new(),
        ..thread()
    };
    let take =
        |tid: i32, urgency: u8, place: Option<u32>| Taker { tid, urgency, place, times: vec![10 * MS + 100_000; 3] };
    let found = |takers: Vec<Taker>, waited: bool| {
        let mut own = thread();
        if waited {
            own.occurrences.push(Occurrence {
                time: 10 * MS + 90_000,
                what: What::Futex,
                place: LOCK,
                duration: Some(5),
                file: None,
            });
        }
        let mut recording = recording(vec![own, other.clone()]);
        recording.locks = vec![takers];
        judge(&recording, &setting()).1.iter().map(|one| one.finding.id.clone()).collect::<Vec<_>>()
    };
    let (own, less) = (take(8, 80, Some(LOCK)), take(9, 0, None));
    assert_eq!(found(vec![own.clone(), less.clone()], false), ["lock-shared"]);
    assert_eq!(found(vec![own.clone(), less.clone()], true), ["lock-without-pi"]);
    assert!(found(vec![own.clone()], false).is_empty());
    assert!(found(vec![own, take(9, 90, Some(LOCK))], false).is_empty());
    assert!(found(vec![less], false).is_empty());
}

#[test]
fn memory_of_which_a_part_is_locked_is_found_also_without_cycles() {
    let facts = Facts { memory: memory(4, 2_000), ..thread().facts };
    let findings = found(vec![Thread { facts, waits: Vec::new(), ..thread() }]);
    assert_eq!((findings.len(), findings[0].finding.state), (1, State::Fail));
    assert!(findings[0].finding.summary.contains("2000 KiB"), "{}", findings[0].finding.summary);
}

#[test]
fn each_file_of_a_place_is_named_in_the_finding_of_its_thread() {
    let one = Occurrence { file: Some(0), ..at(10 * MS + 100_000, What::FileIo, STEP) };
    let two = Occurrence { file: Some(1), ..one };
    let other = Thread { tid: 9, name: "other".into(), occurrences: vec![two], ..thread() };
    let mut recording = recording(vec![Thread { occurrences: vec![one], ..thread() }, other]);
    recording.files = vec![Some("/a.log".into()), Some("/b.log".into())];
    let findings = judge(&recording, &setting()).1;
    let is_of =
        |name: &str, file: &str| findings.iter().any(|one| one.thread == name && one.finding.summary.contains(file));
    assert!(is_of("control", "on /a.log,") && is_of("other", "on /b.log,"), "{findings:?}");
}

#[test]
fn counts_of_several_threads_are_not_those_of_the_first() {
    let facts = Facts { cpus: Some("0-1".parse().unwrap()), ..thread().facts };
    let one = Thread { facts, migrations: vec![10 * MS + 50_000], ..thread() };
    let two = Thread { tid: 9, migrations: (20..40).map(|n| n * MS + 50_000).collect(), ..one.clone() };
    let findings = found(vec![one, two]);
    let found = findings.iter().find(|one| one.finding.id == "migration").unwrap();
    assert!(found.count == 21 && !found.finding.summary.contains(" times"), "{found:?}");
}

#[test]
fn a_deadline_thread_has_to_be_allowed_on_all_cpus() {
    let facts = Facts { cpus: Some("0-3".parse().unwrap()), ..thread().facts };
    let of = |scheduling| Thread { scheduling, facts: facts.clone(), migrations: vec![10 * MS + 50_000], ..thread() };
    let time = Nanos(10 * MS);
    let deadline = Scheduling::Deadline { runtime_ns: time, deadline_ns: time, period_ns: time };
    assert!(found(vec![of(Some(deadline))]).is_empty());
    assert!(found(vec![of(Some(fifo(80)))]).iter().any(|one| one.finding.id == "migration"));
}

#[test]
fn a_thread_that_never_waits_is_found_and_all_of_its_run_is_its_work() {
    let run = Run { from: 5 * MS, to: 5_005 * MS, cpu: 4_750 * MS };
    let occurrences = vec![at(10 * MS, What::PageFault, STEP)];
    let busy = Thread { occurrences, waits: Vec::new(), long_runs: vec![run], ..thread() };
    let findings = found(vec![busy]);
    let ids: Vec<(&str, State)> = findings.iter().map(|one| (one.finding.id.as_str(), one.finding.state)).collect();
    assert_eq!(ids, [("never-waits", State::Fail), ("page-fault", State::Fail)]);
    let said = "control: it runs on without a wait: it used 4.75 s of CPU time in 5.00 s, made real-time in main() at app.c:40";
    assert_eq!(findings[0].finding.summary, said);
}

#[test]
fn a_thread_that_computes_before_its_first_cycle_starts_and_after_its_last_runs_on() {
    let mut waits = thread().waits;
    for waited in &mut waits {
        let later = |time: Nanos| Nanos(time.0 + 2_000 * MS);
        let wait = &mut waited.wait;
        (wait.begin, wait.woken, wait.end) = (later(wait.begin), wait.woken.map(later), later(wait.end));
    }
    let ids = |from: u64, to: u64| {
        let run = Run { from: from * MS, to: to * MS, cpu: (to - from) * MS };
        let findings = found(vec![Thread { waits: waits.clone(), long_runs: vec![run], ..thread() }]);
        findings.iter().map(|one| one.finding.id.clone()).collect::<Vec<_>>()
    };
    assert!(ids(0, 1_999).is_empty());
    assert_eq!(ids(2_101, 4_000), ["never-waits"]);
}

#[test]
fn what_was_before_the_program_is_its_start() {
    let occurrences = vec![at(10 * MS, What::PageFault, STEP), at(20 * MS, What::PageFault, STEP)];
    let started = Thread { occurrences, waits: Vec::new(), executed: Some(15 * MS), ..thread() };
    assert_eq!(found(vec![started]).iter().map(|one| one.count).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_relative_sleep_is_judged_by_what_its_lengths_do() {
    let sleeps = |is_held: bool| {
        let (mut end, mut waits) = (0, Vec::new());
        for (n, waited) in (1u64..).zip(thread().waits) {
            let begin = end + 200_000 + n * 7_919 % 13 * 20_000;
            let due = if is_held { n * MS } else { begin + 600_000 };
            end = due + 5_000 + n * 104_729 % 11 * 4_000;
            let (due, release) = (Some(Nanos(due)), Release::RelativeSleep);
            let wait = Wait { begin: Nanos(begin), due, woken: due, end: Nanos(end), release, ..waited.wait };
            waits.push(Waited { wait, ..waited });
        }
        let occurrences = waits.iter().map(|one| at(one.wait.begin.0, What::RelativeSleep, RELEASE)).collect();
        let recording = recording(vec![Thread { waits, occurrences, ..thread() }]);
        let (threads, findings) = judge(&recording, &setting());
        let one = findings[0].finding.clone();
        (one.id, one.state, one.summary, threads[0].cycles.as_ref().unwrap().period_ns)
    };
    let (id, state, summary, period) = sleeps(true);
    assert_eq!((id.as_str(), state, period), ("sleep-until", State::Info, Some(Nanos(MS))));
    assert!(summary.contains("its releases keep a period of 1.00 ms, in control()"), "{summary}");
    let (id, state, summary, period) = sleeps(false);
    assert_eq!((id.as_str(), state, period), ("relative-sleep", State::Fail, None));
    assert!(summary.contains("a late wakeup delays all later ones"), "{summary}");
}

#[test]
fn times_from_the_present_time_drift_and_those_of_a_grid_do_not() {
    let judged = |is_held: bool| {
        let (mut end, mut waits) = (0, Vec::new());
        for (n, waited) in (1u64..).zip(thread().waits) {
            let begin = end + 200_000 + n * 7_919 % 13 * 20_000;
            let due = if is_held { n * MS } else { end + 900_000 };
            end = due + 5_000 + n * 104_729 % 11 * 4_000;
            let (begin, due) = (Nanos(begin), Some(Nanos(due)));
            let wait = Wait { begin, due, set: Some(begin), end: Nanos(end), ..waited.wait };
            waits.push(Waited { wait: Wait { woken: wait.due, ..wait }, ..waited });
        }
        let recording = recording(vec![Thread { waits, ..thread() }]);
        let (threads, findings) = judge(&recording, &setting());
        let said: Vec<String> = findings.into_iter().map(|one| one.finding.summary).collect();
        (said, threads[0].cycles.as_ref().unwrap().period_ns)
    };
    assert_eq!(judged(true), (Vec::new(), Some(Nanos(MS))));
    let (said, period) = judged(false);
    assert!(
        said[0].contains("its period drifts: each of its times is set from the present time, in control()"),
        "{said:?}"
    );
    assert_eq!((said.len(), period), (1, None));
}
