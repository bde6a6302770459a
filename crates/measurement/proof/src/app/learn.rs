//! Determines what releases each thread, from its waits before the measurement.

use super::program::Thread;
use punctual_check::{Call, FileKind, Meaning, What, call_name, descriptor};
use punctual_cycles::{Cycles, Release, Wait, WaitCall};
use punctual_model::AppThread;
use punctual_trace::{Event, Kind};
use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Maximum number of waits kept per thread.
const MOST: usize = 20_000;

/// A thread whose cycles are known.
#[derive(Clone, Debug)]
pub(super) struct Learned {
    pub thread: AppThread,
    pub wait: WaitCall,
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
}

#[derive(Debug, Default)]
struct Seen {
    open: Option<Open>,
    calls: Vec<WaitCall>,
    waits: Vec<Wait>,
    timerfds: BTreeMap<i32, bool>,
}

/// The waits of each thread that were observed so far.
#[derive(Debug, Default)]
pub(super) struct Learning(BTreeMap<i32, (Thread, Seen)>);

impl Learning {
    pub fn new(threads: &[Thread]) -> Learning {
        Learning(threads.iter().map(|thread| (thread.tid, (thread.clone(), Seen::default()))).collect())
    }

    pub fn event(&mut self, event: &Event) {
        let t = event.t_ns;
        match &event.kind {
            Kind::SysEnter { nr: Some(number), args, .. } => {
                let Some((thread, seen)) = event.tid.and_then(|tid| self.0.get_mut(&tid)) else { return };
                let mut arguments = [0; 6];
                arguments.iter_mut().zip(args.iter()).for_each(|(to, from)| *to = *from);
                let call = Call { number: *number, arguments };
                let meaning = Meaning::of(&call, &mut |number| descriptor(thread.pid, number));
                seen.after_poll(&meaning, thread.pid, arguments[0] as u32 as i32);
                let is_wait = meaning.is_wait && meaning.if_slept != What::Allowed;
                let (call, release, timeout) = (call.wait(), meaning.release, meaning.timeout);
                seen.open = Some(Open { begin: t, call, release, timeout, is_wait, slept: false, woken: None });
            }
            Kind::SysExit { ret, .. } => {
                let Some((_, seen)) = event.tid.and_then(|tid| self.0.get_mut(&tid)) else { return };
                let Some(open) = seen.open.take().filter(|open| open.slept || open.is_wait) else { return };
                let ran_out = open.timeout.filter(|(result, _)| result == ret).map(|(_, release)| release);
                seen.waited(&Open { release: ran_out.unwrap_or(open.release), ..open }, t);
            }
            Kind::SchedSwitch { prev, prev_state, .. } => {
                let open = self.0.get_mut(&prev.tid).and_then(|(_, seen)| seen.open.as_mut());
                // A SCHED_DEADLINE thread ends its job by sched_yield(2), and is runnable without a budget.
                let sleeps = |open: &Open| !prev_state.runnable() || open.release == Release::Deadline;
                open.into_iter().for_each(|open| open.slept |= sleeps(open));
            }
            Kind::SchedWaking { task, .. } => {
                let open = self.0.get_mut(&task.tid).and_then(|(_, seen)| seen.open.as_mut());
                open.into_iter().for_each(|open| open.woken = Some(t));
            }
            Kind::LostEvents { .. } => self.0.values_mut().for_each(|(_, seen)| seen.open = None),
            _ => {}
        }
    }

    /// True if every thread has cycles, and enough of them to know its period.
    pub fn is_enough(&self) -> bool {
        const CYCLES: usize = 32;
        self.0.values().all(|(_, seen)| Cycles::find(&seen.waits).is_some_and(|found| found.cycles.len() >= CYCLES))
    }

    /// Threads with cycles, and those without.
    pub fn found(&self) -> (Vec<Learned>, Vec<Thread>) {
        let (mut learned, mut without) = (Vec::new(), Vec::new());
        for (thread, seen) in self.0.values() {
            match seen.found(thread, self.name(thread)) {
                Some(one) => learned.push(one),
                None => without.push(thread.clone()),
            }
        }
        (learned, without)
    }

    /// The thread's name, with its id if another has that name.
    fn name(&self, thread: &Thread) -> String {
        let same = self.0.values().filter(|(other, _)| other.name == thread.name).count();
        if same > 1 { format!("{}-{}", thread.name, thread.tid) } else { thread.name.clone() }
    }
}

impl Seen {
    /// If the thread reads a timerfd after poll(2), records that the poll waited for that timer.
    fn after_poll(&mut self, meaning: &Meaning, pid: i32, number: i32) {
        if meaning.release != Release::Timerfd {
            return;
        }
        let is_timerfd = || descriptor(pid, number).is_some_and(|file| matches!(file.kind, FileKind::Timerfd { .. }));
        if *self.timerfds.entry(number).or_insert_with(is_timerfd)
            && let Some(last) = self.waits.last_mut().filter(|wait| wait.release == Release::Descriptors)
        {
            last.release = Release::Timerfd;
        }
    }

    fn waited(&mut self, open: &Open, end: u64) {
        let known = self.calls.iter().position(|call| *call == open.call);
        let place = known.unwrap_or_else(|| {
            self.calls.push(open.call);
            self.calls.len() - 1
        });
        if self.waits.len() < MOST {
            let woken = open.slept.then_some(Nanos(open.woken.unwrap_or(end)));
            let (begin, end, due) = (Nanos(open.begin), Nanos(end), None);
            self.waits.push(Wait { place: place as u32, release: open.release, begin, due, woken, end });
        }
    }

    fn found(&self, thread: &Thread, name: String) -> Option<Learned> {
        let found = Cycles::find(&self.waits)?;
        let call = |place: u32| self.calls.get(place as usize).copied();
        let wait = call(found.place)?;
        let described = |wait: WaitCall| match wait.masks {
            [0, _] => call_name(wait.number),
            _ => format!("{} of {:#x}", call_name(wait.number), wait.arguments[0]),
        };
        let other = found.ambiguous_with.and_then(call);
        let name_of_call = match other {
            Some(_) => described(wait),
            None => call_name(wait.number),
        };
        // A relative sleep drifts.
        let keeps = found.release != Release::RelativeSleep;
        let grid = found.grid;
        Some(Learned {
            thread: AppThread {
                name,
                tid: thread.tid,
                pid: thread.pid,
                scheduling: thread.scheduling,
                release: found.release.name().to_owned(),
                call: name_of_call,
                period_ns: grid.map(|grid| grid.period),
                phase_ns: grid.map(|grid| grid.phase),
                jitter_ns: grid.map(|grid| grid.jitter),
                ambiguous_with: other.map(described),
            },
            wait,
            grid: grid.map(|grid| grid.period).filter(|_| keeps),
        })
    }
}
