//! Determines what releases each thread, from its waits before the measurement.

use super::marks::SeenMarks;
use super::program::{self, Thread};
use super::takes::takes;
use punctual_check::{Call, FileKind, Meaning, What, call_name, descriptor};
use punctual_cycles::{Awaited, Cycles, Release, Wait, WaitCall};
use punctual_model::AppThread;
use punctual_trace::{Context, Event, Kind};
use punctual_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of waits kept per thread.
const MOST: usize = 20_000;
/// Maximum number of releasing calls kept per thread.
const WAKERS: usize = 32;

/// A thread whose cycles are known.
#[derive(Clone, Debug)]
pub(super) struct Learned {
    pub thread: AppThread,
    pub awaited: Awaited,
    /// Period of its releases, if its own timer keeps them on a grid, so that a release without a cycle counts as
    /// skipped.
    pub grid: Option<Nanos>,
}

#[derive(Debug)]
struct Open {
    begin: u64,
    call: WaitCall,
    release: Release,
    /// Return value of the call if its timeout expired, and what released the thread in that case.
    timeout: Option<(i64, Release)>,
    is_wait: bool,
    slept: bool,
    woken: Option<u64>,
    /// The thread that woke this one, and the system call in which it did so.
    by: Option<(i32, WaitCall)>,
}

#[derive(Debug, Default)]
struct Seen {
    open: Option<Open>,
    calls: Vec<WaitCall>,
    waits: Vec<Wait>,
    timerfds: BTreeMap<i32, bool>,
    /// The descriptors, except timerfds, that the thread read after poll(2), each with its kind of release.
    behind: BTreeSet<(Release, i32)>,
    /// Releases by other threads: the place at which this thread waited, the other thread, and its system call.
    wakers: BTreeSet<(u32, i32, WaitCall)>,
}

/// The waits of each thread that have been observed so far.
#[derive(Debug, Default)]
pub(super) struct Learning {
    threads: BTreeMap<i32, (Thread, Seen)>,
    /// The system call that each recorded thread is currently executing.
    calls: BTreeMap<i32, WaitCall>,
    pub marks: SeenMarks,
}

impl Learning {
    pub fn new(threads: &[Thread]) -> Learning {
        let threads = threads.iter().map(|thread| (thread.tid, (thread.clone(), Seen::default()))).collect();
        Learning { threads, calls: BTreeMap::new(), marks: SeenMarks::default() }
    }

    pub fn event(&mut self, event: &Event) {
        let t = event.t_ns;
        match &event.kind {
            Kind::SysEnter { nr: Some(number), args, .. } => {
                let Some(tid) = event.tid else { return };
                let mut arguments = [0; 6];
                arguments.iter_mut().zip(args.iter()).for_each(|(to, from)| *to = *from);
                let call = Call { number: *number, arguments };
                self.calls.insert(tid, call.wait());
                let Some((thread, seen)) = self.threads.get_mut(&tid) else { return };
                let meaning = Meaning::of(&call, &mut |number| descriptor(thread.pid, number));
                seen.after_poll(&meaning, thread.pid, arguments[0] as u32 as i32);
                let is_wait = meaning.is_wait && meaning.if_slept != What::Allowed;
                let (call, release, timeout) = (call.wait(), meaning.release, meaning.timeout);
                let (begin, slept, woken, by) = (t, false, None, None);
                seen.open = Some(Open { begin, call, release, timeout, is_wait, slept, woken, by });
            }
            Kind::SysExit { ret, .. } => {
                let Some(tid) = event.tid else { return };
                self.calls.remove(&tid);
                let Some((_, seen)) = self.threads.get_mut(&tid) else { return };
                let Some(open) = seen.open.take().filter(|open| open.slept || open.is_wait) else { return };
                let ran_out = open.timeout.filter(|(result, _)| result == ret).map(|(_, release)| release);
                seen.waited(&Open { release: ran_out.unwrap_or(open.release), ..open }, t);
            }
            Kind::SchedSwitch { prev, prev_state, .. } => {
                let open = self.threads.get_mut(&prev.tid).and_then(|(_, seen)| seen.open.as_mut());
                // A SCHED_DEADLINE thread ends its job with sched_yield(2), and stays runnable without a budget.
                let sleeps = |open: &Open| !prev_state.runnable() || open.release == Release::Deadline;
                open.into_iter().for_each(|open| open.slept |= sleeps(open));
            }
            Kind::SchedWaking { task, .. } => {
                let is_thread = event.flags.and_then(|flags| flags.context).is_none_or(|at| at == Context::Task);
                let by = event.tid.filter(|_| is_thread).and_then(|by| Some((by, *self.calls.get(&by)?)));
                let open = self.threads.get_mut(&task.tid).and_then(|(_, seen)| seen.open.as_mut());
                open.into_iter().for_each(|open| (open.woken, open.by) = (Some(t), by));
            }
            Kind::Print { .. } => self.marks.event(event),
            Kind::LostEvents { .. } => {
                self.calls.clear();
                self.threads.values_mut().for_each(|(_, seen)| seen.open = None);
            }
            _ => {}
        }
    }

    /// Returns true if enough cycles of every thread have been found to determine its period.
    pub fn is_enough(&self) -> bool {
        const CYCLES: usize = 32;
        self.threads
            .values()
            .all(|(_, seen)| Cycles::find(&seen.waits).is_some_and(|found| found.cycles.len() >= CYCLES))
    }

    /// Returns the threads that have cycles, and those that have none.
    pub fn found(&self) -> (Vec<Learned>, Vec<Thread>) {
        let (mut learned, mut without) = (Vec::new(), Vec::new());
        for (thread, seen) in self.threads.values() {
            match seen.found(thread, |tid| self.name_of(tid)) {
                Some(one) => learned.push(one),
                None => without.push(thread.clone()),
            }
        }
        (learned, without)
    }

    fn name_of(&self, tid: i32) -> String {
        match self.threads.get(&tid) {
            Some((thread, _)) => self.name(thread),
            None => program::comm(tid, tid).unwrap_or_else(|| format!("thread {tid}")),
        }
    }

    /// Returns the thread's name: prefixed with the name of its program if threads of other programs have the same
    /// name, and followed by its ID if another thread of its own program has the same name.
    fn name(&self, thread: &Thread) -> String {
        let same = || self.threads.values().map(|(other, _)| other).filter(|other| other.name == thread.name);
        let (all, own) = (same().count(), same().filter(|other| other.program == thread.program).count());
        match (all, own) {
            (_, 2..) => format!("{}-{}", thread.name, thread.tid),
            (2.., _) => format!("{}/{}", thread.program, thread.name),
            _ => thread.name.clone(),
        }
    }
}

impl Seen {
    /// Handles a read(2) of a timerfd or an eventfd after poll(2): the thread had been waiting for that descriptor.
    fn after_poll(&mut self, meaning: &Meaning, pid: i32, number: i32) {
        let Some(last) = self.waits.last_mut().filter(|last| last.release == Release::Descriptors) else { return };
        match meaning.release {
            Release::Timerfd => {
                let kind = || descriptor(pid, number).map(|file| file.kind);
                let is_timerfd = || kind().is_some_and(|kind| matches!(kind, FileKind::Timerfd { .. }));
                if *self.timerfds.entry(number).or_insert_with(is_timerfd) {
                    last.release = Release::Timerfd;
                }
            }
            release if meaning.is_wait => {
                self.behind.insert((release, number));
            }
            _ => {}
        }
    }

    fn waited(&mut self, open: &Open, end: u64) {
        let known = self.calls.iter().position(|call| *call == open.call);
        let place = known.unwrap_or_else(|| {
            self.calls.push(open.call);
            self.calls.len() - 1
        });
        if let Some((tid, call)) = open.by.filter(|_| self.wakers.len() < WAKERS) {
            self.wakers.insert((place as u32, tid, call));
        }
        if self.waits.len() < MOST {
            let woken = open.slept.then_some(Nanos(open.woken.unwrap_or(end)));
            let (begin, end) = (Nanos(open.begin), Nanos(end));
            let (place, release) = (place as u32, open.release);
            self.waits.push(Wait { place, release, begin, due: None, set: None, woken, end });
        }
    }

    fn found(&self, thread: &Thread, name_of: impl Fn(i32) -> String) -> Option<Learned> {
        let found = Cycles::find(&self.waits)?;
        let call = |place: u32| self.calls.get(place as usize).copied();
        let wait = call(found.place)?;
        let wakers = self.wakers.iter().filter(|(place, ..)| *place == found.place);
        let by: Vec<(i32, WaitCall)> = wakers.map(|(_, tid, call)| (*tid, *call)).collect();
        let mut released_by: Vec<String> = by.iter().map(|(tid, _)| name_of(*tid)).collect();
        released_by.dedup();
        let described = |wait: WaitCall| match wait.masks {
            [0, _] => call_name(wait.number),
            _ => format!("{} of {:#x}", call_name(wait.number), wait.arguments[0]),
        };
        let other = found.ambiguous_with.and_then(call);
        let name_of_call = match other {
            Some(_) => described(wait),
            None => call_name(wait.number),
        };
        // After poll(2), it is only known what is read if it is always the same eventfd.
        let only = || self.behind.first().filter(|(release, _)| *release == Release::Eventfd && self.behind.len() == 1);
        let takes = match (found.release, only()) {
            (Release::Descriptors, Some((release, number))) => takes(*release, thread.pid, Some(*number)),
            (release, _) => takes(release, thread.pid, (wait.masks[0] == u64::MAX).then_some(wait.arguments[0] as i32)),
        };
        // A relative sleep drifts, so it keeps no grid.
        let keeps = found.release != Release::RelativeSleep;
        let grid = found.grid;
        Some(Learned {
            thread: AppThread {
                name: name_of(thread.tid),
                program: thread.program.clone(),
                tid: thread.tid,
                pid: thread.pid,
                scheduling: thread.scheduling,
                cpus: punctual_uapi::affinity(thread.tid).ok(),
                release: found.release.name().to_owned(),
                released_by,
                call: name_of_call,
                period_ns: grid.map(|grid| grid.period),
                phase_ns: grid.map(|grid| grid.phase),
                jitter_ns: grid.map(|grid| grid.jitter),
                ambiguous_with: other.map(described),
            },
            awaited: Awaited { call: wait, takes, by },
            grid: grid.map(|grid| grid.period).filter(|_| keeps),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_units::Scheduling;

    #[test]
    fn threads_of_one_name_are_told_apart() {
        let thread = |program: &str, tid: i32, name: &str| Thread {
            program: program.into(),
            pid: tid,
            tid,
            name: name.into(),
            scheduling: Scheduling::Other { nice: 0 },
        };
        let all = [thread("plc", 1, "io"), thread("plc", 2, "io"), thread("ui", 3, "main"), thread("plc", 4, "main")];
        let learning = Learning::new(&[&all[..], &[thread("plc", 5, "control")]].concat());
        let names: Vec<String> = (1..=5).map(|tid| learning.name_of(tid)).collect();
        assert_eq!(names, ["io-1", "io-2", "ui/main", "plc/main", "control"]);
        assert!(all[3].is_called("main") && all[3].is_called("plc/main") && !all[3].is_called("ui/main"));
    }
}
