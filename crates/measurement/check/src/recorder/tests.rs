use super::*;
use crate::recording::Run;
use crate::sources::TimerKind;
use crate::system::Facts;
use punctual_cycles::{Cycles, Release};
use punctual_perf::{Format, Meta, Sample, Tracepoint};
use punctual_units::Nanos;
use std::cell::Cell;

const MS: u64 = 1_000_000;
/// Time by which CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, ns.
const AHEAD: i64 = 1_790_000_000_000_000_000;

/// A machine on which thread 8 has this priority of SCHED_FIFO (0: SCHED_DEADLINE), and threads have used a second more of CPU time at each reading.
struct Fake<'a>(&'a Cell<Option<u8>>, Cell<u64>);

impl System for Fake<'_> {
    fn scheduling(&self, tid: i32) -> Option<(Scheduling, bool)> {
        let (runtime_ns, period_ns) = (Nanos(MS), Nanos(10 * MS));
        let of = |priority: u8| match priority.try_into() {
            Ok(priority) => Scheduling::Fifo { priority },
            _ => Scheduling::Deadline { runtime_ns, deadline_ns: period_ns, period_ns },
        };
        Some((self.0.get().filter(|_| tid == 8).map_or(Scheduling::Other { nice: 0 }, of), false))
    }

    fn file(&self, _: i32, descriptor: i32) -> Option<File> {
        Some(File::of(if descriptor == 3 { "/var/log/app" } else { "anon_inode:[timerfd]" }, ""))
    }

    fn facts(&self, _: i32, _: i32) -> Facts {
        Facts::default()
    }

    fn who(&self, _: i32) -> Option<(String, bool)> {
        Some(("app".into(), false))
    }

    fn memory(&self, _: i32, _: Option<crate::system::Memory>) -> Option<crate::system::Memory> {
        None
    }

    fn now(&self) -> u64 {
        1_000
    }

    fn cpu_time(&self, _: i32) -> Option<u64> {
        Some(self.1.replace(self.1.get() + 1_000_000_000))
    }

    /// A namespace in which the threads have IDs that are 5 lower, visible while thread 8 has its priority.
    fn thread_of(&self, _: i32, named: i32, known: &[i32]) -> Option<i32> {
        self.0.get()?;
        known.iter().copied().find(|tid| *tid == named + 5)
    }

    fn is_alive(&self, tid: i32) -> bool {
        tid == 9
    }

    fn ahead(&self, clock: i32) -> i64 {
        if clock == libc::CLOCK_REALTIME { AHEAD } else { 0 }
    }

    fn is_of_probes(&self, _: i32, address: u64) -> bool {
        address >> 12 == 0x7f
    }
}

fn point(fields: &str) -> Option<Tracepoint> {
    Some(Tracepoint { id: 1, format: Format::parse(fields) })
}

fn tags() -> Tags {
    Tags {
        enter: point("field:long id;\toffset:8;\tsize:8;\nfield:unsigned long args[6];\toffset:16;\tsize:48;"),
        exit: point("field:long id;\toffset:8;\tsize:8;\nfield:long ret;\toffset:16;\tsize:8;"),
        waking: point(
            "field:unsigned char common_flags;\toffset:2;\tsize:1;\nfield:pid_t pid;\toffset:24;\tsize:4;\nfield:int prio;\toffset:28;\tsize:4;",
        ),
        timer: point(
            "field:unsigned char common_flags;\toffset:2;\tsize:1;\nfield:void * hrtimer;\toffset:8;\tsize:8;\nfield:void * function;\toffset:16;\tsize:8;\nfield:s64 softexpires;\toffset:24;\tsize:8;\nfield:enum hrtimer_mode mode;\toffset:32;\tsize:4;",
        ),
        lock: Some(Format::parse("field:u64 mutex;\toffset:8;\tsize:8;\nfield:u32 kind;\toffset:16;\tsize:4;")),
        timer_functions: vec![
            (1, TimerKind::Sleep),
            (2, TimerKind::Timerfd),
            (3, TimerKind::Signal),
            (4, TimerKind::Uring),
        ],
        probes: Vec::new(),
    }
}

fn meta(time: u64) -> Meta {
    Meta { pid: 7, tid: 8, time, cpu: 0, id: 0 }
}

fn sample(raw: &[u8], time: u64) -> Sample<'_> {
    Sample { meta: meta(time), raw, regs: Some(punctual_perf::Regs::default()), ..Sample::default() }
}

/// Passes the records of a system call in which the thread sleeps if `woken` is given.
fn call<S: System>(recorder: &mut Recorder<S>, number: i64, first: u64, from: u64, woken: Option<u64>, to: u64) {
    let words = |all: &[u64]| all.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let raw = words(&[0, number as u64, first, 1, 0, 0, 0, 0]);
    recorder.record(Record::Sample(crate::sources::ENTER, sample(&raw, from)));
    if let Some(woken) = woken {
        recorder.record(Record::Switch { meta: meta(from + 1), is_out: true, is_preempted: false });
        let mut raw = [0u8; 32];
        raw[2] = 0x08;
        raw[24..28].copy_from_slice(&8i32.to_ne_bytes());
        raw[28..32].copy_from_slice(&19i32.to_ne_bytes());
        recorder.record(Record::Sample(crate::sources::WAKING, sample(&raw, woken)));
        recorder.record(Record::Switch { meta: meta(woken + 2), is_out: false, is_preempted: false });
    }
    recorder.record(Record::Sample(crate::sources::EXIT, sample(&words(&[0, number as u64, 0]), to)));
}

const NANOSLEEP: i64 = libc::SYS_clock_nanosleep as _;
const WRITE: i64 = libc::SYS_write as _;
const SETSCHEDULER: i64 = libc::SYS_sched_setscheduler as _;

#[test]
fn a_thread_that_gives_its_policy_up_at_its_end_was_real_time_until_then() {
    let priority = Cell::new(None);
    let mut recorder = Recorder::new(Fake(&priority, Cell::new(0)), tags());
    recorder.add_thread(7, 8, 0);
    call(&mut recorder, WRITE, 3, 10, None, 20);
    priority.set(Some(80));
    call(&mut recorder, SETSCHEDULER, 0, 100, None, 110);
    for n in 1..=10 {
        call(&mut recorder, NANOSLEEP, 1, n * 1000, Some(n * 1000 + 800), n * 1000 + 810);
        call(&mut recorder, WRITE, 3, n * 1000 + 820, None, n * 1000 + 830);
    }
    priority.set(None);
    call(&mut recorder, SETSCHEDULER, 0, 20_000, None, 20_010);
    call(&mut recorder, WRITE, 3, 20_020, None, 20_030);
    recorder.look(30_000);
    let recording = recorder.finish();
    let thread = &recording.threads[0];
    assert_eq!(thread.real_time_since, Some(110));
    assert!(matches!(thread.scheduling, Some(Scheduling::Fifo { .. })) && matches!(thread.asked, Asked::At(_)));
    // Calls before the policy was set, and after it was dropped, do not count.
    let writes: Vec<_> = thread.occurrences.iter().filter(|one| one.what == crate::calls::What::FileIo).collect();
    assert!(writes.len() == 10 && writes.iter().all(|one| one.duration == Some(10)), "{writes:?}");
    let waits: Vec<_> = thread.waits.iter().map(|waited| waited.wait).collect();
    let cycles = Cycles::find(&waits).unwrap();
    assert_eq!((cycles.cycles.len(), cycles.grid.unwrap().period.0), (9, 1000));
}

#[test]
fn a_child_of_a_real_time_thread_inherits_unless_it_was_reset() {
    let priority = Cell::new(Some(80));
    let mut recorder = Recorder::new(Fake(&priority, Cell::new(0)), tags());
    recorder.add_thread(7, 8, 0);
    // Thread 9 has no real-time policy.
    recorder.record(Record::Fork { meta: meta(50), pid: 7, tid: 9, parent: 7, parent_tid: 8 });
    recorder.record(Record::Exit { meta: meta(60), pid: 7, tid: 9 });
    let recording = recorder.finish();
    let child = recording.threads.iter().find(|thread| thread.tid == 9).unwrap();
    assert_eq!((child.real_time_since, child.ended), (None, Some(60)));
    assert!(matches!(child.asked, Asked::Inherited { parent: 8, .. }));
}

#[test]
fn faults_of_probes_are_none_of_the_program() {
    let priority = Cell::new(Some(80));
    let mut recorder = Recorder::new(Fake(&priority, Cell::new(0)), tags());
    recorder.add_thread(7, 8, 0);
    for address in [0x7f123u64, 0x90123] {
        let regs = punctual_perf::Regs { ip: address, ..Default::default() };
        let sample = Sample { meta: meta(100), address, regs: Some(regs), ..Sample::default() };
        recorder.record(Record::Sample(crate::sources::MINOR, sample));
    }
    assert_eq!(recorder.finish().threads[0].occurrences.len(), 1);
}

#[test]
fn a_look_that_comes_before_the_records_does_not_move_the_begin() {
    let priority = Cell::new(Some(80));
    let mut recorder = Recorder::new(Fake(&priority, Cell::new(0)), tags());
    recorder.record(Record::Comm { meta: meta(1), pid: 7, tid: 8, name: b"app", is_exec: true });
    recorder.look(1_000);
    call(&mut recorder, WRITE, 3, 10, None, 20);
    call(&mut recorder, SETSCHEDULER, 0, 100, None, 110);
    call(&mut recorder, WRITE, 3, 200, None, 210);
    let recording = recorder.finish();
    assert_eq!((recording.threads[0].real_time_since, recording.threads[0].executed), (Some(110), Some(1)));
}

/// Records that the running thread sets a timer that calls function `function` of [`tags`].
#[test]
fn a_name_whose_record_was_lost_is_read() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    recorder.record(Record::Comm { pid: 7, tid: 8, name: b"old", is_exec: false, meta: meta(20) });
    recorder.look(30);
    assert!(recorder.finish().threads.iter().any(|thread| thread.tid == 8 && thread.name == "app"));
}

#[test]
fn a_name_that_was_read_after_the_descriptor_was_closed_is_unknown() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    call(&mut recorder, WRITE, 3, 10, None, 20);
    call(&mut recorder, libc::SYS_close as _, 3, 30, None, 40);
    call(&mut recorder, WRITE, 3, 2_000, None, 2_010);
    call(&mut recorder, libc::SYS_close as _, 3, 2_020, None, 2_030);
    let recording = recorder.finish();
    let names: Vec<_> =
        recording.threads[0].occurrences.iter().map(|one| one.file.map(|at| &recording.files[at as usize])).collect();
    assert_eq!(names, [Some(&None), Some(&Some("/var/log/app".to_owned()))]);
}

#[test]
fn a_process_that_ends_without_a_call_was_killed() {
    let priority = Cell::new(Some(80));
    for (is_exit, failed) in
        [(false, vec!["app (7) was ended by a signal"]), (true, vec!["app (7) ended with exit code 2"])]
    {
        let mut recorder = urgent(&priority);
        if is_exit {
            enters(&mut recorder, libc::SYS_exit_group as _, 2, 10);
        }
        recorder.record(Record::Exit { meta: meta(50), pid: 7, tid: 8 });
        assert_eq!(recorder.failed(), failed);
    }
}

#[test]
fn a_policy_is_of_the_thread_that_its_namespace_names() {
    let priority = Cell::new(None);
    let mut recorder = Recorder::new(Fake(&priority, Cell::new(0)), tags());
    recorder.add_thread(7, 8, 0);
    priority.set(Some(80));
    call(&mut recorder, SETSCHEDULER, 3, 100, None, 110);
    // This call names a thread that does not exist.
    call(&mut recorder, SETSCHEDULER, 8, 200, None, 210);
    // Its process has ended when this is read.
    priority.set(None);
    call(&mut recorder, SETSCHEDULER, 3, 300, None, 310);
    assert_eq!(recorder.unread_policies, 1);
    assert_eq!(recorder.finish().threads[0].real_time_since, Some(110));
}

#[test]
fn a_thread_that_runs_after_the_record_of_its_end_is_unobserved() {
    let priority = Cell::new(None);
    let mut recorder = urgent(&priority);
    recorder.add_thread(7, 9, 0);
    for tid in [8, 9] {
        recorder.record(Record::Exit { meta: meta(50), pid: 7, tid });
    }
    assert_eq!(recorder.unobserved, ["app (9)"]);
}

fn set<S: System>(recorder: &mut Recorder<S>, timer: u64, function: u64, expiry: u64, at: u64) {
    let words = [0, timer, function, expiry, 0];
    let raw: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    recorder.record(Record::Sample(crate::sources::TIMER, sample(&raw, at)));
}

/// Records that a system call begins; [`returns`] ends it.
fn enters<S: System>(recorder: &mut Recorder<S>, number: i64, first: u64, at: u64) {
    let raw: Vec<u8> = [0, number as u64, first, 1, 0, 0, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    recorder.record(Record::Sample(crate::sources::ENTER, sample(&raw, at)));
}

fn returns<S: System>(recorder: &mut Recorder<S>, result: i64, at: u64) {
    let raw: Vec<u8> = [0, 0, result as u64].iter().flat_map(|word| word.to_ne_bytes()).collect();
    recorder.record(Record::Sample(crate::sources::EXIT, sample(&raw, at)));
}

fn sleeps<S: System>(recorder: &mut Recorder<S>, from: u64, to: u64) {
    recorder.record(Record::Switch { meta: meta(from), is_out: true, is_preempted: false });
    recorder.record(Record::Switch { meta: meta(to), is_out: false, is_preempted: false });
}

fn urgent(priority: &Cell<Option<u8>>) -> Recorder<Fake<'_>> {
    let mut recorder = Recorder::new(Fake(priority, Cell::new(0)), tags());
    recorder.add_thread(7, 8, 0);
    recorder
}

fn waits<S: System>(recorder: Recorder<S>) -> Vec<(Release, Option<u64>)> {
    let recording = recorder.finish();
    recording.threads[0].waits.iter().map(|waited| (waited.wait.release, waited.wait.due.map(|due| due.0))).collect()
}

#[test]
fn an_absolute_sleep_is_due_when_its_timer_was_set_for() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    // By CLOCK_MONOTONIC, by CLOCK_REALTIME, and a sleep that a signal interrupts before it is due.
    for (clock, ahead, due, end) in [(1, 0, 900, 1_000), (0, AHEAD as u64, 2_900, 3_000), (1, 0, 9_000, 5_000)] {
        let begin = end - 500;
        enters(&mut recorder, NANOSLEEP, clock, begin);
        set(&mut recorder, 0x10, 1, due + ahead, begin + 1);
        // An unrelated timer of the kernel.
        set(&mut recorder, 0x20, 77, due + 50, begin + 2);
        sleeps(&mut recorder, begin + 3, end - 10);
        returns(&mut recorder, 0, end);
    }
    let sleep = Release::AbsoluteSleep;
    assert_eq!(waits(recorder), [(sleep, Some(900)), (sleep, Some(2_900)), (sleep, None)]);
}

#[test]
fn a_timeout_that_ran_out_released_the_thread_and_one_that_did_not_did_not() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    for (begin, result) in [(100, 0), (2_000, 1)] {
        enters(&mut recorder, libc::SYS_ppoll as _, 0, begin);
        set(&mut recorder, 0x10, 1, begin + 400, begin + 1);
        sleeps(&mut recorder, begin + 3, begin + 410);
        returns(&mut recorder, result, begin + 420);
    }
    let recording = recorder.finish();
    let thread = &recording.threads[0];
    let kinds: Vec<_> = thread.waits.iter().map(|one| (one.wait.release, one.wait.due)).collect();
    assert_eq!(kinds, [(Release::RelativeSleep, Some(Nanos(500))), (Release::Descriptors, None)]);
    let whats: Vec<_> = thread.occurrences.iter().map(|one| one.what).collect();
    assert_eq!(whats, [crate::calls::What::Timeout, crate::calls::What::Blocking]);
}

#[test]
fn a_timerfd_behind_poll_is_due_at_its_expiry_also_when_it_is_read_too_late() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    let read: i64 = libc::SYS_read as _;
    // The timer is set by timerfd_settime(2), then again by each read(2).
    enters(&mut recorder, libc::SYS_timerfd_settime as _, 5, 10);
    set(&mut recorder, 0x30, 2, 1_000, 11);
    returns(&mut recorder, 0, 12);
    for n in 1..=3u64 {
        // The third release is late, so poll(2) does not sleep.
        let at = if n == 3 { 3_600 } else { n * 1_000 };
        enters(&mut recorder, libc::SYS_ppoll as _, 0, at - 300);
        if n != 3 {
            sleeps(&mut recorder, at - 290, at + 5);
        }
        returns(&mut recorder, 1, at + 10);
        enters(&mut recorder, read, 5, at + 20);
        set(&mut recorder, 0x30, 2, (n + 1) * 1_000, at + 21);
        returns(&mut recorder, 8, at + 25);
    }
    let timers: Vec<_> = waits(recorder).into_iter().filter(|(_, due)| due.is_some()).collect();
    assert_eq!(timers, [1_000, 2_000, 3_000].map(|due| (Release::Timerfd, Some(due))));
}

#[test]
fn a_posix_timer_is_told_from_other_signals() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    set(&mut recorder, 0x40, 3, 1_000, 11);
    for at in [1_000, 2_000] {
        enters(&mut recorder, libc::SYS_rt_sigtimedwait as _, 0, at - 300);
        sleeps(&mut recorder, at - 290, at + 5);
        set(&mut recorder, 0x40, 3, at + 1_000, at + 6);
        returns(&mut recorder, 14, at + 10);
    }
    // Another signal, with a handler: the timer is set after pause(2) has returned.
    for at in [2_500, 3_000] {
        enters(&mut recorder, libc::SYS_rt_sigsuspend as _, 0, at - 300);
        sleeps(&mut recorder, at - 290, at + 5);
        returns(&mut recorder, -4, at + 10);
    }
    set(&mut recorder, 0x40, 3, 4_000, 3_011);
    let timer = |due| (Release::PosixTimer, Some(due));
    assert_eq!(waits(recorder), [timer(1_000), timer(2_000), (Release::Signal, None), timer(3_000)]);
}

#[test]
fn who_takes_a_mutex_without_a_protocol_is_kept() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    recorder.add_thread(7, 9, 0);
    // Both threads lock one mutex without a protocol, and one thread locks a mutex with priority inheritance.
    for (tid, mutex, kind) in [(8, 0x100u64, 0u64), (9, 0x100, 0), (8, 0x100, 2), (8, 0x200, 0x20)] {
        let raw: Vec<u8> = [0, mutex, kind].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let taken = Sample { meta: Meta { tid, ..meta(50) }, raw: &raw, ..Sample::default() };
        recorder.record(Record::Sample(crate::sources::LOCK, taken));
    }
    assert_eq!(recorder.lock_hits, 4);
    let takers = recorder.finish().locks;
    assert_eq!(takers.len(), 1);
    let seen: Vec<_> = takers[0].iter().map(|one| (one.tid, one.urgency, one.times.len())).collect();
    assert_eq!(seen, [(8, 80, 2), (9, 0, 0)]);
}

#[test]
fn a_child_of_a_thread_that_became_real_time_later_is_ordinary() {
    let priority = Cell::new(None);
    let mut recorder = Recorder::new(Fake(&priority, Cell::new(0)), tags());
    recorder.add_thread(7, 8, 0);
    // The settings are read before the record of the earlier fork.
    priority.set(Some(80));
    recorder.look(1_000);
    recorder.record(Record::Fork { meta: meta(50), pid: 6, tid: 6, parent: 7, parent_tid: 8 });
    recorder.record(Record::Exit { meta: Meta { pid: 6, tid: 6, ..meta(60) }, pid: 6, tid: 6 });
    recorder.record(Record::Fork { meta: meta(2_000), pid: 7, tid: 9, parent: 7, parent_tid: 8 });
    let recording = recorder.finish();
    let since = |tid: i32| recording.threads.iter().find(|thread| thread.tid == tid).unwrap().real_time_since;
    assert_eq!((since(6), since(8)), (None, Some(1_000)));
    let asked = |tid: i32| recording.threads.iter().find(|thread| thread.tid == tid).unwrap().asked;
    assert_eq!(asked(6), Asked::Unknown);
}

#[test]
fn a_descriptor_is_what_it_was_opened_as() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    let words = |all: &[u64]| all.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    // /proc shows a timerfd under every number but 3, but 6 was opened as a file.
    let calls: [(i64, u64, u64); 4] = [
        (libc::SYS_openat as _, 0, 6),
        (libc::SYS_read as _, 6, 64),
        (libc::SYS_close as _, 6, 0),
        (libc::SYS_read as _, 6, 8),
    ];
    for (number, first, result) in calls {
        recorder.record(Record::Sample(
            crate::sources::ENTER,
            sample(&words(&[0, number as u64, first, 0, 0, 0, 0, 0]), 100),
        ));
        recorder.record(Record::Sample(crate::sources::EXIT, sample(&words(&[0, number as u64, result]), 110)));
    }
    let whats: Vec<_> = recorder.finish().threads[0].occurrences.iter().map(|one| one.what).collect();
    assert_eq!(whats, [crate::calls::What::FileIo, crate::calls::What::FileIo]);
}

#[test]
fn a_run_lasts_from_wait_to_wait_and_preemption_does_not_end_it() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    let switch = |recorder: &mut Recorder<_>, at: u64, is_out: bool, is_preempted: bool| {
        recorder.record(Record::Switch { meta: meta(at), is_out, is_preempted });
    };
    switch(&mut recorder, 100 * MS, false, false);
    switch(&mut recorder, 600 * MS, true, false);
    switch(&mut recorder, 700 * MS, false, false);
    switch(&mut recorder, 1_600 * MS, true, true);
    switch(&mut recorder, 1_700 * MS, false, false);
    recorder.look(1_800 * MS);
    let runs = &recorder.finish().threads[0].long_runs;
    assert_eq!(runs, &[Run { from: 700 * MS, to: 1_800 * MS, cpu: 1_000 * MS }]);
}

#[test]
fn a_job_of_a_deadline_thread_ends_its_run() {
    let priority = Cell::new(Some(0));
    let mut recorder = urgent(&priority);
    let words = |all: &[u64]| all.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let number = libc::SYS_sched_yield as u64;
    for job in 0..3 {
        let at = job * 1_000 * MS;
        recorder.record(Record::Switch { meta: meta(at), is_out: false, is_preempted: false });
        let enter = words(&[0, number, 0, 0, 0, 0, 0, 0]);
        recorder.record(Record::Sample(crate::sources::ENTER, sample(&enter, at + 400 * MS)));
        // It remains runnable until its next period, as if it were preempted.
        recorder.record(Record::Switch { meta: meta(at + 401 * MS), is_out: true, is_preempted: true });
    }
    recorder.look(3_000 * MS);
    assert_eq!(recorder.finish().threads[0].long_runs, []);
}

#[test]
fn a_thread_that_keeps_its_cpu_while_it_is_observed_runs() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    recorder.look(900);
    recorder.look(1_900);
    assert_eq!(recorder.finish().threads[0].long_runs, [Run { from: 0, to: 1_900, cpu: 2_000 * MS }]);
}

#[test]
fn a_run_ends_with_the_policy() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    recorder.record(Record::Switch { meta: meta(100), is_out: false, is_preempted: false });
    priority.set(None);
    call(&mut recorder, SETSCHEDULER, 0, 1_099 * MS, None, 1_100 * MS);
    recorder.look(5_000 * MS);
    assert_eq!(recorder.finish().threads[0].long_runs, [Run { from: 100, to: 1_100 * MS, cpu: 1_100 * MS - 100 }]);
}

#[test]
fn hits_of_probes_are_counted_by_kind_of_thread_since_the_last_call() {
    let priority = Cell::new(Some(80));
    let mut recorder = urgent(&priority);
    recorder.add_thread(7, 9, 0);
    for tid in [8, 9, 8, 8, 9] {
        let hit = Sample { meta: Meta { tid, ..meta(50) }, ..Sample::default() };
        recorder.record(Record::Sample(crate::sources::PROBES, hit));
    }
    let busiest = |hits: u64| Some(("app".to_owned(), hits));
    assert_eq!(recorder.take_busiest(), [busiest(2), busiest(3)]);
    assert_eq!(recorder.take_busiest(), [busiest(0), busiest(0)]);
}
