//! Probes allocators with uprobes, or with per-thread breakpoints if uprobes would slow the other threads.

use crate::entry::emulated;
use crate::recorder::{Probeable, Recorder};
use crate::sources::{PROBES, SMALL_STACK};
use crate::system::System;
use punctual_journal::Journal;
use punctual_perf::{Buffer, Handle, Observer, Source, Spec, Target};
use punctual_stacks::FileId;
use punctual_tracefs::{Place, Tracefs, Uprobe};
use std::collections::HashSet;

/// Number of probe hits per second by one thread without real-time policy above which the probes are removed. Each hit
/// takes up to 4 µs, so this is 8 % of the thread's time.
pub const MOST_HITS: u64 = 20_000;
/// Time for which the probes rest if a real-time thread hits them more often than [`MOST_HITS`], ns. In between they are in
/// place for one look.
const REST: u64 = 900_000_000;
/// Functions with a breakpoint, each in a debug register.
const BREAKPOINTS: [&str; 4] = ["malloc", "free", "realloc", "calloc"];

struct Probe {
    file: FileId,
    name: String,
    offset: u64,
    tag: u32,
    uprobe: Uprobe,
    handle: Option<Handle>,
}

#[derive(Default)]
pub struct Probes {
    pub tracefs: Option<Tracefs>,
    all: Vec<Probe>,
    files: HashSet<FileId>,
    /// Threads with breakpoints.
    broken: HashSet<i32>,
    pub is_withdrawn: bool,
    /// Time until which the probes rest; `None` while they are in place.
    resting: Option<u64>,
    /// Time for which the probes rested, ns.
    pub rested: u64,
    /// Reasons why some allocations are not observed.
    pub missing: Vec<String>,
}

impl Probes {
    pub fn new(tracefs: Option<Tracefs>) -> Probes {
        Probes { tracefs, ..Probes::default() }
    }

    pub fn spec(&self, tag: u32) -> Option<Spec> {
        let probe = self.all.iter().find(|probe| probe.tag == tag)?;
        Some(Spec { source: Source::Tracepoint(probe.uprobe.id()), stack: SMALL_STACK, tag, filter: None })
    }

    /// Returns true if at least one allocator is probed.
    pub fn is_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Probes the functions of a file once; returns false if the file is already probed.
    pub fn add<S: System>(
        &mut self,
        observer: &mut Observer,
        recorder: &mut Recorder<S>,
        file: &Probeable,
        target: Target,
    ) -> bool {
        if !self.files.insert(file.elf.id()) {
            return false;
        }
        let (id, path) = (file.elf.id(), file.elf.path());
        let Some(tracefs) = self.tracefs.clone() else {
            self.miss("tracefs cannot be reached, so allocations that need no system call are not seen");
            return true;
        };
        for (name, start) in &file.functions {
            let offset = start + file.elf.code_x86_64(*start).map_or(0, |code| emulated(code) as u64);
            let uprobe = match Uprobe::define(&tracefs, &Journal::of_user(), &Place::new(path, offset)) {
                Ok(uprobe) => uprobe,
                Err(error) => {
                    self.miss(&format!("{name} of {} cannot be probed: {error}", path.display()));
                    continue;
                }
            };
            let tag = PROBES + recorder.add_probe(name.clone());
            let spec = Spec { source: Source::Tracepoint(uprobe.id()), stack: SMALL_STACK, tag, filter: None };
            let mut probe = Probe { file: id, name: name.clone(), offset, tag, uprobe, handle: None };
            if !self.is_withdrawn {
                match observer.open(&spec, target, Buffer::Main, true) {
                    Ok(handle) => probe.handle = Some(handle),
                    Err(error) => self.miss(&format!("{name} of {} cannot be probed: {error}", path.display())),
                }
                recorder.probed(id, offset);
            }
            self.all.push(probe);
        }
        true
    }

    /// Removes the definitions of the probes; their events must have been closed before.
    pub fn remove(self) -> Vec<String> {
        self.all.into_iter().filter_map(|probe| probe.uprobe.remove().err()).flatten().collect()
    }

    fn miss(&mut self, why: &str) {
        if !self.missing.iter().any(|known| known == why) {
            self.missing.push(why.to_owned());
        }
    }

    /// Removes the probes because they slow a thread; real-time threads get breakpoints instead.
    pub fn withdraw(&mut self, observer: &mut Observer) {
        self.is_withdrawn = true;
        self.all.iter_mut().filter_map(|probe| probe.handle.take()).for_each(|handle| observer.close(handle));
    }

    /// Lets the probes rest for a time, in which no allocation is observed, since a real-time thread hits them too often.
    pub fn rest(&mut self, observer: &mut Observer, now: u64) {
        self.resting = Some(now + REST);
        self.all.iter().filter_map(|probe| probe.handle).for_each(|handle| observer.enable(handle, false));
    }

    /// Ends the rest if it is over. Returns true while the probes are in place.
    pub fn resume(&mut self, observer: &mut Observer, now: u64, is_end: bool) -> bool {
        let Some(until) = self.resting else { return true };
        if now < until && !is_end {
            return false;
        }
        self.resting = None;
        self.rested += REST.saturating_sub(until.saturating_sub(now));
        if !self.is_withdrawn {
            self.all.iter().filter_map(|probe| probe.handle).for_each(|handle| observer.enable(handle, true));
        }
        // The hits since the last look are those before the rest.
        false
    }

    /// Sets breakpoints in the real-time threads that have none, if the probes were removed.
    pub fn break_in<S: System>(&mut self, observer: &mut Observer, recorder: &Recorder<S>, threads: &[(i32, i32)]) {
        if !self.is_withdrawn {
            return;
        }
        let mut failed = Vec::new();
        for (pid, tid) in threads {
            if !self.broken.insert(*tid) {
                continue;
            }
            let mut count = 0;
            for name in BREAKPOINTS {
                let named = self.all.iter().filter(|probe| probe.name == name);
                let at = named
                    .filter_map(|probe| Some((probe.tag, recorder.address_of(*pid, probe.file, probe.offset)?)))
                    .next();
                let Some((tag, address)) = at else { continue };
                let spec = Spec { source: Source::Breakpoint { address }, stack: SMALL_STACK, tag, filter: None };
                match observer.open(&spec, Target::Only(&[*tid]), Buffer::Main, true) {
                    Ok(_) => count += 1,
                    Err(error) => failed.push(format!("no breakpoint at {name} in thread {tid}: {error}")),
                }
            }
            if count == 0 && failed.is_empty() {
                failed.push(format!("no breakpoint in thread {tid}: its allocator is not where it was expected"));
            }
        }
        failed.iter().for_each(|why| self.miss(why));
    }
}
