//! Converts events to threads with waits and occurrences.

mod ends;
mod events;
mod running;
#[cfg(test)]
mod tests;
mod timers;

use crate::file::{File, FileKind};
use crate::locks;
use crate::recording::{Asked, Occurrence, Place, Run, Taker, Thread};
use crate::sources::{ALLOCATORS, DEEP, Tags};
use crate::system::{Facts, Memory, System, is_real_time};
use punctual_cycles::Release;
use punctual_perf::{Format, Record};
use punctual_stacks::{Elf, FileId, Images, Process, Stack};
use punctual_units::Scheduling;
use running::{Open, Running};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use timers::Timers;

/// Number of innermost frames that distinguish places.
const KEY_FRAMES: usize = 8;
const MOST_FRAMES: usize = 96;
/// Maximum number of waits and occurrences that are kept for all threads together, about 300 MB.
const MOST: usize = 1 << 22;

/// A place, identified by the activity and the innermost calls.
type Key = (i32, u32, i64, u64);

struct Seen {
    pid: i32,
    kind: u32,
    place: Place,
    stack: Stack,
    /// True if a larger copy of the stack is needed.
    wants_deep: bool,
}

/// A file with functions to probe.
pub struct Probeable {
    pub elf: Rc<Elf>,
    pub functions: Vec<(String, u64)>,
}

pub struct Recorder<S> {
    system: S,
    tags: Tags,
    threads: HashMap<i32, Running>,
    ended: Vec<Thread>,
    processes: HashMap<i32, Process>,
    images: Images,
    places: Vec<Seen>,
    index: HashMap<Key, u32>,
    files: HashMap<(i32, i32), Option<(File, u32)>>,
    /// Names of files, each with the time at which it was read from /proc; `None` if the descriptor was closed before.
    names: Vec<(u64, Option<String>)>,
    memory: HashMap<i32, Memory>,
    /// Exit codes of processes that called exit_group(2).
    exits: HashMap<i32, i32>,
    /// Processes that ended without such a call, with their names.
    killed: BTreeMap<i32, String>,
    /// Descriptors whose opening was seen.
    opened: HashMap<(i32, i32), FileKind>,
    /// Threads by process and by the ID that it passed to the kernel, which /proc does not show after they have ended.
    named: HashMap<(i32, i32), i32>,
    /// Urgency of wakers that are not observed, cached for a short time.
    strangers: HashMap<i32, (u8, bool)>,
    timers: Timers,
    probeable: Vec<Probeable>,
    /// Mapped C libraries that have not been probed yet, with the function that locks a mutex.
    pub lockable: Vec<Probeable>,
    /// Number of calls of the function that locks a mutex since the last check.
    pub lock_hits: u64,
    locks: HashMap<(i32, u64), Vec<Taker>>,
    probed_places: Vec<(FileId, u64)>,
    probed_pages: HashSet<(i32, u64)>,
    looked_at: HashSet<FileId>,
    /// Time of the last [`Recorder::look`].
    last_look: u64,
    /// Number of waits and occurrences kept.
    kept: usize,
    pub events: u64,
    /// Number of calls that set the policy of a thread that could not be found or had ended.
    pub unread_policies: u64,
    /// Threads that still ran when the kernel ended their observation.
    pub unobserved: Vec<String>,
}

impl<S: System> Recorder<S> {
    pub fn new(system: S, tags: Tags) -> Recorder<S> {
        Recorder {
            system,
            tags,
            threads: HashMap::new(),
            ended: Vec::new(),
            processes: HashMap::new(),
            images: Images::default(),
            places: Vec::new(),
            index: HashMap::new(),
            files: HashMap::new(),
            names: Vec::new(),
            memory: HashMap::new(),
            exits: HashMap::new(),
            killed: BTreeMap::new(),
            opened: HashMap::new(),
            named: HashMap::new(),
            strangers: HashMap::new(),
            timers: Timers::default(),
            probeable: Vec::new(),
            lockable: Vec::new(),
            lock_hits: 0,
            locks: HashMap::new(),
            probed_places: Vec::new(),
            probed_pages: HashSet::new(),
            looked_at: HashSet::new(),
            last_look: 0,
            kept: 0,
            events: 0,
            unread_policies: 0,
            unobserved: Vec::new(),
        }
    }

    /// Adds a thread that already exists.
    pub fn add_thread(&mut self, pid: i32, tid: i32, now: u64) {
        let name = self.system.who(tid).map_or_else(|| "?".to_owned(), |(name, _)| name);
        self.insert(pid, tid, name, Asked::Unknown, None);
        self.sample(tid, now);
        let before = self.system.cpu_time(tid);
        if let Some(running) = self.threads.get_mut(&tid) {
            running.unswitched = before.map(|before| (now, before));
        }
    }

    /// Adds an executable mapping that already exists.
    pub fn add_mapping(&mut self, pid: i32, start: u64, length: u64, offset: u64, path: &Path) {
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        if let Some(elf) = process.map(&mut self.images, start, length, offset, path) {
            self.look_for_allocators(path, &elf);
            self.find_probes(pid, elf.id());
        }
    }

    fn look_for_allocators(&mut self, path: &Path, elf: &Rc<Elf>) {
        if self.looked_at.insert(elf.id()) {
            let functions = elf.functions(ALLOCATORS);
            if !functions.is_empty() {
                self.probeable.push(Probeable { elf: elf.clone(), functions });
            }
            if locks::is_known(path) {
                let functions = elf.functions(&[locks::FUNCTION]);
                self.lockable.push(Probeable { elf: elf.clone(), functions });
            }
        }
    }

    /// Returns files with allocators that were mapped since the last call.
    pub fn take_probeable(&mut self) -> Vec<Probeable> {
        std::mem::take(&mut self.probeable)
    }

    /// Records that faults in this page are caused by a probe, wherever the page is mapped.
    pub fn probed(&mut self, file: FileId, offset: u64) {
        self.probed_places.push((file, offset));
        let pids: Vec<i32> = self.processes.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.find_probes(pid, file));
    }

    /// Records which pages of this file contain probes.
    fn find_probes(&mut self, pid: i32, file: FileId) {
        let Some(process) = self.processes.get(&pid) else { return };
        let here = self.probed_places.iter().filter(|(probed, _)| *probed == file);
        let pages = here.filter_map(|(file, offset)| Some((pid, process.address_of(*file, *offset)? & !0xfff)));
        self.probed_pages.extend(pages);
    }

    /// Returns the address at which a position of a file is mapped in a process.
    pub fn address_of(&self, pid: i32, file: FileId, offset: u64) -> Option<u64> {
        self.processes.get(&pid)?.address_of(file, offset)
    }

    fn insert(
        &mut self,
        pid: i32,
        tid: i32,
        name: String,
        asked: Asked,
        parent: Option<&(Option<Scheduling>, Option<u64>)>,
    ) {
        let (scheduling, real_time_since) = parent.copied().unwrap_or_default();
        let thread = Thread {
            tid,
            pid,
            name,
            scheduling,
            real_time_since,
            asked,
            facts: Facts::default(),
            waits: Vec::new(),
            occurrences: Vec::new(),
            migrations: Vec::new(),
            ended: None,
            executed: None,
            long_runs: Vec::new(),
            is_cut: false,
        };
        let running = Running {
            is_urgent: real_time_since.is_some(),
            thread,
            open: None,
            fault_since: None,
            woken: None,
            uring: None,
            on_cpu: None,
            last_cpu: None,
            cpu_time: 0,
            run_since: None,
            unswitched: None,
            probes: 0,
        };
        if let Some(old) = self.threads.insert(tid, running) {
            self.ended.push(old.thread);
        }
    }

    /// Reads the policy of a thread.
    fn sample(&mut self, tid: i32, time: u64) {
        let Some(running) = self.threads.get_mut(&tid) else { return };
        let Some((scheduling, _)) = self.system.scheduling(tid) else { return };
        running.is_urgent = is_real_time(scheduling);
        if running.is_urgent {
            if running.thread.real_time_since.is_none() {
                running.thread.facts = settings(&self.system, &mut self.memory, running.thread.pid, tid);
                running.unswitched = running.unswitched.and_then(|_| Some((time, self.system.cpu_time(tid)?)));
            }
            // Records are read later than they are written, so the settings may have been read in between.
            let since = running.thread.real_time_since.get_or_insert(time);
            *since = (*since).min(time);
            if running.on_cpu.is_some() {
                running.begin_run(time);
            }
        } else {
            running.end_run(time);
        }
        // A thread that drops its real-time policy before it ends counts as real-time.
        if running.is_urgent || running.thread.real_time_since.is_none() {
            running.thread.scheduling = Some(scheduling);
        }
    }

    /// Reads again the names and settings of real-time threads, since records of changes may have been lost, and the
    /// policies of all threads.
    pub fn look(&mut self, now: u64) {
        self.last_look = now;
        let tids: Vec<i32> = self.threads.keys().copied().collect();
        for tid in tids {
            self.sample(tid, now);
            if let Some(running) = self.threads.get_mut(&tid).filter(|running| running.is_real_time()) {
                // A thread that keeps its CPU causes no records.
                if let Some((from, before)) = running.unswitched
                    && let Some(cpu) = self.system.cpu_time(tid)
                {
                    running.ran(Run { from, to: now, cpu: cpu.saturating_sub(before) });
                }
                let facts = settings(&self.system, &mut self.memory, running.thread.pid, tid);
                if facts.cpus.is_some() {
                    running.thread.facts = facts;
                }
                if let Some((name, _)) = self.system.who(tid) {
                    running.thread.name = name;
                }
            }
        }
        self.strangers.clear();
        self.look_at_clocks(now);
    }

    /// Adds a probed function; its tag is PROBES plus the result.
    pub fn add_probe(&mut self, name: String) -> u32 {
        self.tags.probes.push(name);
        self.tags.probes.len() as u32 - 1
    }

    pub fn set_lock_format(&mut self, format: Format) {
        self.tags.lock = Some(format);
    }

    /// Returns the processes with real-time threads in which no probed allocator is mapped.
    pub fn unprobed(&self) -> BTreeSet<i32> {
        let running = self.threads.values().map(|running| &running.thread);
        let urgent = running.chain(&self.ended).filter(|thread| thread.real_time_since.is_some());
        let is_probed = |pid: i32| {
            let places = || self.probed_places.iter();
            self.processes
                .get(&pid)
                .is_some_and(|process| places().any(|(file, at)| process.address_of(*file, *at).is_some()))
        };
        urgent.map(|thread| thread.pid).filter(|pid| !is_probed(*pid)).collect()
    }

    /// Returns true if a process that maps the functions of this file had a real-time thread before `time`.
    pub fn were_urgent(&self, file: &Probeable, time: u64) -> bool {
        let threads = self.threads.values().map(|running| &running.thread).chain(&self.ended);
        let maps = |pid: i32| {
            let process = self.processes.get(&pid);
            let mut offsets = file.functions.iter().map(|(_, offset)| *offset);
            process.is_some_and(|process| offsets.any(|at| process.address_of(file.elf.id(), at).is_some()))
        };
        threads.filter(|one| one.real_time_since.is_some_and(|since| since < time)).any(|one| maps(one.pid))
    }

    /// Returns the number of threads seen so far.
    pub fn threads_seen(&self) -> usize {
        self.threads.len() + self.ended.len()
    }

    /// Returns the observed threads by process.
    pub fn tids(&self) -> impl Iterator<Item = (i32, i32)> {
        self.threads.values().map(|running| (running.thread.pid, running.thread.tid))
    }

    pub fn real_time_tids(&self) -> Vec<i32> {
        self.threads.values().filter(|running| running.is_real_time()).map(|running| running.thread.tid).collect()
    }

    /// Returns the threads without and with real-time policy that hit the most probes since the last call, each with the
    /// number of hits.
    pub fn take_busiest(&mut self) -> [Option<(String, u64)>; 2] {
        let busiest = [false, true].map(|is_urgent| {
            let kind = self.threads.values().filter(|running| running.is_real_time() == is_urgent);
            let busiest = kind.max_by_key(|running| running.probes);
            busiest.map(|running| (running.thread.name.clone(), running.probes))
        });
        self.threads.values_mut().for_each(|running| running.probes = 0);
        busiest
    }

    /// Returns the kinds of events for which a place needs a larger copy of the stack.
    pub fn wants_deep(&self) -> HashSet<u32> {
        self.places.iter().filter(|seen| seen.wants_deep).map(|seen| seen.kind).collect()
    }

    /// Stops waiting for larger copies that were not recorded.
    pub fn give_up_deep(&mut self) {
        self.places.iter_mut().for_each(|seen| seen.wants_deep = false);
    }

    pub fn record(&mut self, record: Record) {
        self.events += 1;
        match record {
            Record::Fork { meta, pid, tid, parent, parent_tid } => self.forked(meta.time, pid, tid, parent, parent_tid),
            Record::Exit { meta, tid, pid } => {
                if let Some(mut running) = self.threads.remove(&tid) {
                    self.named.retain(|_, named| *named != tid);
                    self.left(pid, &running);
                    running.end_run(meta.time);
                    running.thread.ended = Some(meta.time);
                    // An exec that changes the user detaches the events (begin_new_exec() of fs/exec.c).
                    if self.system.is_alive(tid) {
                        self.unobserved.push(format!("{} ({tid})", running.thread.name));
                    }
                    self.ended.push(running.thread);
                }
                if pid == tid {
                    self.forget_files(pid);
                }
            }
            Record::Comm { meta, pid, tid, name, is_exec } => {
                let name = String::from_utf8_lossy(name).into_owned();
                if is_exec {
                    // An exec ends the other threads of its process.
                    self.killed.remove(&pid);
                    self.processes.insert(pid, Process::new(pid));
                    self.forget_files(pid);
                }
                match self.threads.get_mut(&tid) {
                    Some(running) => running.thread.name = name,
                    None => self.insert(pid, tid, name, Asked::Unknown, None),
                }
                if let Some(running) = self.threads.get_mut(&tid).filter(|_| is_exec) {
                    running.thread.executed = Some(meta.time);
                }
            }
            Record::Mmap { pid, start, length, offset, path, .. } => {
                self.add_mapping(pid, start, length, offset, Path::new(OsStr::from_bytes(path)));
            }
            Record::Switch { meta, is_out, is_preempted } => {
                self.switched(meta.tid, meta.time, meta.cpu, is_out, is_preempted)
            }
            Record::Sample(tag, sample) if tag & DEEP != 0 => self.deep(tag & !DEEP, &sample),
            Record::Sample(tag, sample) => self.sampled(tag, &sample),
        }
    }

    fn forget_files(&mut self, pid: i32) {
        self.files.retain(|(owner, _), _| *owner != pid);
        self.opened.retain(|(owner, _), _| *owner != pid);
    }

    /// Returns a thread if one more wait or occurrence of it can be kept.
    fn keeping(&mut self, tid: i32) -> Option<&mut Thread> {
        let thread = &mut self.threads.get_mut(&tid)?.thread;
        if self.kept >= MOST {
            thread.is_cut = true;
            return None;
        }
        self.kept += 1;
        Some(thread)
    }

    fn occurred(&mut self, tid: i32, occurrence: Occurrence) {
        if let Some(thread) = self.keeping(tid) {
            thread.occurrences.push(occurrence);
        }
    }

    fn forked(&mut self, time: u64, pid: i32, tid: i32, parent: i32, parent_tid: i32) {
        if pid != parent && !self.processes.contains_key(&pid) {
            let child = self.processes.get(&parent).map_or_else(|| Process::new(pid), |process| process.forked(pid));
            self.processes.insert(pid, child);
        }
        let (name, state, place) = self.threads.get(&parent_tid).map_or_else(
            || ("?".to_owned(), (None, None), None),
            |running| {
                // The settings may have been read before these records, so it is checked whether the thread was
                // real-time when it forked.
                let was_urgent = |since: u64| running.is_urgent && since <= time;
                let since = running.thread.real_time_since.filter(|since| was_urgent(*since)).map(|_| time);
                let scheduling = running.thread.scheduling.filter(|_| since.is_some() || !running.is_urgent);
                let place = running.open.as_ref().map(|open| open.place).filter(|place| *place != u32::MAX);
                (running.thread.name.clone(), (scheduling, since), place)
            },
        );
        // A thread that becomes real-time later got its policy by its own call, or from outside.
        let asked = state.1.map_or(Asked::Unknown, |_| Asked::Inherited { parent: parent_tid, place });
        self.insert(pid, tid, name, asked, Some(&state));
        if state.1.is_some() {
            // SCHED_RESET_ON_FORK may have reset the policy.
            self.sample(tid, time);
            if let Some(running) = self.threads.get_mut(&tid).filter(|running| !running.is_urgent) {
                running.thread.real_time_since = None;
            }
        }
    }

    fn switched(&mut self, tid: i32, time: u64, cpu: u32, is_out: bool, is_preempted: bool) {
        let Some(running) = self.threads.get_mut(&tid) else { return };
        running.unswitched = None;
        if is_out {
            let is_deadline = matches!(running.thread.scheduling, Some(Scheduling::Deadline { .. }));
            // A SCHED_DEADLINE thread that has finished its job remains runnable.
            let ends_job = |open: &Open| is_deadline && open.meaning.release == Release::Deadline;
            if !is_preempted || running.open.as_ref().is_some_and(ends_job) {
                running.end_run(time);
            }
            if let Some(since) = running.on_cpu.take() {
                running.cpu_time += time.saturating_sub(since);
            }
            if let Some(open) = running.open.as_mut().filter(|_| running.fault_since.is_none()) {
                open.slept |= !is_preempted || ends_job(open);
            }
        } else {
            running.on_cpu = Some(time);
            running.begin_run(time);
            if running.last_cpu.replace(cpu).is_some_and(|last| last != cpu) && running.is_real_time() {
                running.thread.migrations.push(time);
            }
        }
    }
}

/// Reads the settings of a thread and the memory of its process.
fn settings<S: System>(system: &S, known: &mut HashMap<i32, Memory>, pid: i32, tid: i32) -> Facts {
    let memory = system.memory(pid, known.get(&pid).copied());
    memory.iter().for_each(|memory| {
        known.insert(pid, *memory);
    });
    Facts { memory, ..system.facts(pid, tid) }
}
