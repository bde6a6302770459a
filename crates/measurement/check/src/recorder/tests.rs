use super::*;
use crate::system::Facts;
use punctual_cycles::Cycles;
use punctual_perf::{Format, Meta, Sample, Tracepoint};
use std::cell::Cell;

/// A machine on which thread 8 has this priority.
struct Fake<'a>(&'a Cell<Option<u8>>);

impl System for Fake<'_> {
    fn scheduling(&self, tid: i32) -> Option<(Scheduling, bool)> {
        let fifo = |priority: u8| Scheduling::Fifo { priority: priority.try_into().unwrap() };
        Some((self.0.get().filter(|_| tid == 8).map_or(Scheduling::Other { nice: 0 }, fifo), false))
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
        probes: Vec::new(),
    }
}

fn meta(time: u64) -> Meta {
    Meta { pid: 7, tid: 8, time, cpu: 0, id: 0 }
}

fn sample(raw: &[u8], time: u64) -> Sample<'_> {
    Sample { meta: meta(time), raw, regs: Some(punctual_perf::Regs::default()), ..Sample::default() }
}

/// Passes the records of a system call in which the thread sleeps if `woken`.
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
    let mut recorder = Recorder::new(Fake(&priority), tags());
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
    // Neither before nor after.
    let writes: Vec<_> = thread.occurrences.iter().filter(|one| one.what == crate::calls::What::FileIo).collect();
    assert!(writes.len() == 10 && writes.iter().all(|one| one.duration == Some(10)), "{writes:?}");
    let waits: Vec<_> = thread.waits.iter().map(|waited| waited.wait).collect();
    let cycles = Cycles::find(&waits).unwrap();
    assert_eq!((cycles.cycles.len(), cycles.grid.unwrap().period.0), (9, 1000));
}

#[test]
fn a_child_of_a_real_time_thread_inherits_unless_it_was_reset() {
    let priority = Cell::new(Some(80));
    let mut recorder = Recorder::new(Fake(&priority), tags());
    recorder.add_thread(7, 8, 0);
    // The machine says that 9 is ordinary.
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
    let mut recorder = Recorder::new(Fake(&priority), tags());
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
    let mut recorder = Recorder::new(Fake(&priority), tags());
    recorder.record(Record::Comm { meta: meta(1), pid: 7, tid: 8, name: b"app", is_exec: true });
    recorder.look(1_000);
    call(&mut recorder, WRITE, 3, 10, None, 20);
    call(&mut recorder, SETSCHEDULER, 0, 100, None, 110);
    call(&mut recorder, WRITE, 3, 200, None, 210);
    let recording = recorder.finish();
    assert_eq!(recording.threads[0].real_time_since, Some(110));
}
