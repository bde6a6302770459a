//! Ends of processes, and of the recording.

use super::{Recorder, Running, Seen};
use crate::recording::{Asked, Recording, Taker};
use crate::system::System;
use punctual_model::CheckFrame;
use punctual_stacks::Frame;
use std::collections::HashSet;

impl<S: System> Recorder<S> {
    /// Handles the end of a thread: of a process that ended without a call, the end is that of a signal.
    pub(super) fn left(&mut self, pid: i32, running: &Running) {
        let has_left = running.open.as_ref().is_some_and(|open| open.meaning.is_exit);
        if !has_left
            && self.tags.enter.is_some()
            && !self.exits.contains_key(&pid)
            && !self.system.is_alive(running.thread.tid)
        {
            self.killed.insert(pid, running.thread.name.clone());
        }
    }

    /// Returns the processes that ended by a signal or, if they had real-time threads, with an error.
    pub fn failed(&self) -> Vec<String> {
        let killed = self.killed.iter().map(|(pid, name)| format!("{name} ({pid}) was ended by a signal"));
        let of = |pid: i32| self.ended.iter().find(|one| one.pid == pid && one.real_time_since.is_some());
        let exits = self.exits.iter().filter(|(_, code)| **code != 0);
        let failed =
            exits.filter_map(|(pid, code)| Some(format!("{} ({pid}) ended with exit code {code}", of(*pid)?.name)));
        killed.chain(failed).collect()
    }

    /// Forgets what the descriptor refers to, which was closed at `time`. A name that was read later may be another
    /// file's.
    pub(super) fn closed(&mut self, pid: i32, descriptor: i32, time: u64) {
        if let Some(Some((_, name))) = self.files.remove(&(pid, descriptor))
            && let Some((read, name)) = self.names.get_mut(name as usize)
            && time < *read
        {
            *name = None;
        }
        self.opened.remove(&(pid, descriptor));
    }

    /// Ends the recording and names the places.
    pub fn finish(mut self) -> Recording {
        let mut threads = self.ended;
        threads.extend(self.threads.into_values().map(|mut running| {
            running.end_run(self.last_look);
            running.thread
        }));
        threads.sort_by_key(|thread| (thread.pid, thread.tid));
        let locks: Vec<Vec<Taker>> = self.locks.into_values().collect();
        let mut used: HashSet<u32> = locks.iter().flatten().filter_map(|taker| taker.place).collect();
        for thread in &threads {
            used.extend(thread.occurrences.iter().map(|one| one.place));
            used.extend(thread.waits.iter().map(|one| one.wait.place));
            match thread.asked {
                Asked::At(place) | Asked::Inherited { place: Some(place), .. } => used.extend([place]),
                Asked::Inherited { place: None, .. } | Asked::Unknown => {}
            }
        }
        let processes = &mut self.processes;
        let named = |(number, seen): (usize, Seen)| {
            let mut place = seen.place;
            if used.contains(&(number as u32))
                && let Some(process) = processes.get_mut(&seen.pid)
            {
                place.stack = process.name(&seen.stack).into_iter().map(frame).collect();
            }
            place
        };
        let places = self.places.into_iter().enumerate().map(named).collect();
        let files = self.names.into_iter().map(|(_, name)| name).collect();
        Recording { threads, places, locks, files }
    }
}

fn frame(frame: Frame) -> CheckFrame {
    let Frame { function, file, line, module, address } = frame;
    CheckFrame { function, file, line, module, address }
}
