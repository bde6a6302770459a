//! Events become threads with waits and occurrences.

use crate::calls::{File, FileKind, Meaning, What, name};
use crate::recording::{Asked, Occurrence, Place, Recording, Thread, Waited, Waker};
use crate::sources::{ALLOCATORS, DEEP, Kind, SMALL_STACK, Tags};
use crate::system::{System, is_real_time, urgency};
use punctual_cycles::{Release, Wait};
use punctual_model::CheckFrame;
use punctual_perf::{Record, Sample};
use punctual_stacks::{Elf, Frame, Images, Process, Registers, Stack};
use punctual_units::{Nanos, Scheduling};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Innermost frames by which places differ.
const KEY_FRAMES: usize = 8;
const MOST_FRAMES: usize = 96;
/// Waits and occurrences of one thread that are kept.
const MOST: usize = 1 << 21;
/// TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ, TRACE_FLAG_NMI of include/linux/trace_events.h.
const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;
/// Kernel priorities from here on are ordinary: MAX_RT_PRIO.
const ORDINARY: i32 = 100;

/// A system call that has not returned.
struct Open {
    time: u64,
    place: u32,
    meaning: Meaning,
    slept: bool,
    cpu: u64,
}

/// A thread with what is going on in it.
struct Running {
    thread: Thread,
    open: Option<Open>,
    fault_since: Option<u64>,
    woken: Option<(u64, Waker)>,
    /// Where and since when it runs.
    on_cpu: Option<u64>,
    last_cpu: Option<u32>,
    cpu_time: u64,
    /// Probes hit since the last look.
    probes: u64,
}

impl Running {
    fn cpu_at(&self, time: u64) -> u64 {
        self.cpu_time + self.on_cpu.map_or(0, |since| time.saturating_sub(since))
    }

    fn is_real_time(&self) -> bool {
        self.thread.real_time_since.is_some()
    }

    fn occurred(&mut self, occurrence: Occurrence) {
        match self.thread.occurrences.len() < MOST {
            true => self.thread.occurrences.push(occurrence),
            false => self.thread.is_cut = true,
        }
    }
}

/// A place by what is done there and by the innermost calls.
type Key = (i32, u32, i64, u64);

struct Seen {
    pid: i32,
    kind: u32,
    place: Place,
    stack: Stack,
    /// A larger copy of the stack is wanted.
    wants_deep: bool,
}

/// A file with functions to probe.
pub struct Probeable {
    pub pid: i32,
    pub path: PathBuf,
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
    files: HashMap<(i32, i32), Option<File>>,
    /// Urgency of wakers that are not observed, for a while.
    strangers: HashMap<i32, (u8, bool)>,
    probeable: Vec<Probeable>,
    probed_places: Vec<(PathBuf, u64)>,
    probed_pages: HashSet<(i32, u64)>,
    looked_at: HashSet<PathBuf>,
    pub events: u64,
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
            strangers: HashMap::new(),
            probeable: Vec::new(),
            probed_places: Vec::new(),
            probed_pages: HashSet::new(),
            looked_at: HashSet::new(),
            events: 0,
        }
    }

    /// Adds a thread that exists already.
    pub fn add_thread(&mut self, pid: i32, tid: i32, now: u64) {
        let name = self.system.who(tid).map_or_else(|| "?".to_owned(), |(name, _)| name);
        self.insert(pid, tid, name, Asked::Unknown, None);
        self.sample(tid, now);
    }

    /// Adds an executable mapping that exists already.
    pub fn add_mapping(&mut self, pid: i32, start: u64, length: u64, offset: u64, path: &Path) {
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        if let Some(elf) = process.map(&mut self.images, start, length, offset, path) {
            self.look_for_allocators(pid, path, &elf);
        }
        self.find_probes(pid, path);
    }

    fn look_for_allocators(&mut self, pid: i32, path: &Path, elf: &Rc<Elf>) {
        if self.looked_at.insert(path.to_owned()) {
            let functions = elf.functions(ALLOCATORS);
            if !functions.is_empty() {
                self.probeable.push(Probeable { pid, path: path.to_owned(), functions });
            }
        }
    }

    /// Files with allocators that were mapped since the last call.
    pub fn take_probeable(&mut self) -> Vec<Probeable> {
        std::mem::take(&mut self.probeable)
    }

    /// Faults of this page are those of a probe in it, wherever it is mapped.
    pub fn probed(&mut self, path: &Path, offset: u64) {
        self.probed_places.push((path.to_owned(), offset));
        let pids: Vec<i32> = self.processes.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.find_probes(pid, path));
    }

    /// Notes the pages of this file with probes.
    fn find_probes(&mut self, pid: i32, path: &Path) {
        let Some(process) = self.processes.get(&pid) else { return };
        let here = self.probed_places.iter().filter(|(file, _)| file == path);
        let pages = here.filter_map(|(file, offset)| Some((pid, process.address_of(file, *offset)? & !0xfff)));
        self.probed_pages.extend(pages);
    }

    /// Where a position of a file is mapped in a process.
    pub fn address_of(&self, pid: i32, path: &Path, offset: u64) -> Option<u64> {
        self.processes.get(&pid)?.address_of(path, offset)
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
            facts: crate::system::Facts::default(),
            waits: Vec::new(),
            occurrences: Vec::new(),
            migrations: Vec::new(),
            ended: None,
            is_cut: false,
        };
        let running = Running {
            thread,
            open: None,
            fault_since: None,
            woken: None,
            on_cpu: None,
            last_cpu: None,
            cpu_time: 0,
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
        running.thread.scheduling = Some(scheduling);
        match (is_real_time(scheduling), running.thread.real_time_since) {
            (true, None) => {
                running.thread.real_time_since = Some(time);
                running.thread.facts = self.system.facts(running.thread.pid, tid);
            }
            (false, Some(_)) => running.thread.real_time_since = None,
            _ => {}
        }
    }

    /// Reads the settings of real-time threads again, and the policy of all.
    pub fn look(&mut self, now: u64) {
        let tids: Vec<i32> = self.threads.keys().copied().collect();
        for tid in tids {
            self.sample(tid, now);
            if let Some(running) = self.threads.get_mut(&tid).filter(|running| running.is_real_time()) {
                let facts = self.system.facts(running.thread.pid, tid);
                if facts.cpus.is_some() {
                    running.thread.facts = facts;
                }
            }
        }
        self.strangers.clear();
    }

    /// Adds a probed function; its tag is PROBES plus the result.
    pub fn add_probe(&mut self, name: String) -> u32 {
        self.tags.probes.push(name);
        self.tags.probes.len() as u32 - 1
    }

    /// How many threads there were.
    pub fn threads_seen(&self) -> usize {
        self.threads.len() + self.ended.len()
    }

    /// Threads that are observed, by process.
    pub fn tids(&self) -> impl Iterator<Item = (i32, i32)> {
        self.threads.values().map(|running| (running.thread.pid, running.thread.tid))
    }

    pub fn real_time_tids(&self) -> Vec<i32> {
        self.threads.values().filter(|running| running.is_real_time()).map(|running| running.thread.tid).collect()
    }

    /// The ordinary thread that hit most probes since the last call, and how often.
    pub fn take_busiest(&mut self) -> Option<(String, u64)> {
        let busiest =
            self.threads.values().filter(|running| !running.is_real_time()).max_by_key(|running| running.probes);
        let busiest = busiest.map(|running| (running.thread.name.clone(), running.probes));
        self.threads.values_mut().for_each(|running| running.probes = 0);
        busiest
    }

    /// Kinds of which a place wants a larger copy of the stack.
    pub fn wants_deep(&self) -> HashSet<u32> {
        self.places.iter().filter(|seen| seen.wants_deep).map(|seen| seen.kind).collect()
    }

    /// Stops asking for larger copies that did not come.
    pub fn give_up_deep(&mut self) {
        self.places.iter_mut().for_each(|seen| seen.wants_deep = false);
    }

    pub fn record(&mut self, record: Record) {
        self.events += 1;
        match record {
            Record::Fork { meta, pid, tid, parent, parent_tid } => self.forked(meta.time, pid, tid, parent, parent_tid),
            Record::Exit { meta, tid, pid } => {
                if let Some(mut running) = self.threads.remove(&tid) {
                    running.thread.ended = Some(meta.time);
                    self.ended.push(running.thread);
                }
                if pid == tid {
                    self.files.retain(|(owner, _), _| *owner != pid);
                }
            }
            Record::Comm { pid, tid, name, is_exec, .. } => {
                let name = String::from_utf8_lossy(name).into_owned();
                if is_exec {
                    self.processes.insert(pid, Process::new(pid));
                    self.files.retain(|(owner, _), _| *owner != pid);
                }
                match self.threads.get_mut(&tid) {
                    Some(running) => running.thread.name = name,
                    None => self.insert(pid, tid, name, Asked::Unknown, None),
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

    fn forked(&mut self, time: u64, pid: i32, tid: i32, parent: i32, parent_tid: i32) {
        if pid != parent && !self.processes.contains_key(&pid) {
            let child = self.processes.get(&parent).map_or_else(|| Process::new(pid), |process| process.forked(pid));
            self.processes.insert(pid, child);
        }
        let (name, state, place) = self.threads.get(&parent_tid).map_or_else(
            || ("?".to_owned(), (None, None), None),
            |running| {
                let since = running.thread.real_time_since.map(|_| time);
                let place = running.open.as_ref().map(|open| open.place).filter(|place| *place != u32::MAX);
                (running.thread.name.clone(), (running.thread.scheduling, since), place)
            },
        );
        self.insert(pid, tid, name, Asked::Inherited { parent: parent_tid, place }, Some(&state));
        if state.1.is_some() {
            // It may have been reset (SCHED_RESET_ON_FORK).
            self.sample(tid, time);
            if self.threads.get(&tid).is_some_and(Running::is_real_time) {}
        }
    }

    fn switched(&mut self, tid: i32, time: u64, cpu: u32, is_out: bool, is_preempted: bool) {
        let Some(running) = self.threads.get_mut(&tid) else { return };
        if is_out {
            if let Some(since) = running.on_cpu.take() {
                running.cpu_time += time.saturating_sub(since);
            }
            let is_deadline = matches!(running.thread.scheduling, Some(Scheduling::Deadline { .. }));
            if let Some(open) = running.open.as_mut().filter(|_| running.fault_since.is_none()) {
                // A thread that ended its job stays runnable.
                open.slept |= !is_preempted || is_deadline && open.meaning.release == Release::Deadline;
            }
        } else {
            running.on_cpu = Some(time);
            if running.last_cpu.replace(cpu).is_some_and(|last| last != cpu) && running.is_real_time() {
                running.thread.migrations.push(time);
            }
        }
    }

    fn sampled(&mut self, tag: u32, sample: &Sample) {
        match self.tags.kind(tag) {
            Kind::Enter => self.entered(tag, sample),
            Kind::Exit => self.returned(sample),
            Kind::Fault => {
                if let Some(running) = self.threads.get_mut(&sample.meta.tid) {
                    running.fault_since = Some(sample.meta.time);
                }
            }
            Kind::Minor => self.faulted(tag, What::PageFault, sample),
            Kind::Major => self.faulted(tag, What::MajorFault, sample),
            Kind::Waking => self.woken(sample),
            Kind::Probe => self.probe_hit(tag, sample),
        }
    }

    fn entered(&mut self, tag: u32, sample: &Sample) {
        let Some(call) = self.tags.call(sample.raw) else { return };
        let (tid, pid, time) = (sample.meta.tid, sample.meta.pid, sample.meta.time);
        let Some(running) = self.threads.get(&tid) else { return };
        let is_real_time = running.is_real_time();
        let (system, files) = (&self.system, &mut self.files);
        // What an ordinary thread does is of no interest.
        let mut file = |descriptor: i32| match is_real_time {
            true => files.entry((pid, descriptor)).or_insert_with(|| system.file(pid, descriptor)).clone(),
            false => None,
        };
        let meaning = Meaning::of(&call, &mut file);
        if let Some(closed) = meaning.closes {
            self.files.remove(&(pid, closed));
        }
        let timerfd = is_real_time
            && meaning.release == Release::Timerfd
            && self.files.values().flatten().any(|file| matches!(file.kind, FileKind::Timerfd { .. }));
        let place = match is_real_time || meaning.sets_policy_of.is_some() {
            true => self.place(tag, call.number, sample, || (Some(name(call.number)), meaning.file.clone())),
            false => u32::MAX,
        };
        let Some(running) = self.threads.get_mut(&tid) else { return };
        // poll(2), then read(2) of a timerfd: that was what it waited for.
        if timerfd
            && let Some(last) = running.thread.waits.last_mut().filter(|w| w.wait.release == Release::Descriptors)
        {
            last.wait.release = Release::Timerfd;
        }
        let cpu = running.cpu_at(time);
        running.woken = None;
        running.open = Some(Open { time, place, meaning, slept: false, cpu });
    }

    fn returned(&mut self, sample: &Sample) {
        let (tid, time) = (sample.meta.tid, sample.meta.time);
        let result = self.tags.result(sample.raw);
        let Some(running) = self.threads.get_mut(&tid) else { return };
        let Some(open) = running.open.take() else { return };
        if let Some(target) = open.meaning.sets_policy_of {
            if result == Some(0) {
                self.policy_set(if target == 0 { tid } else { target }, time, open.place);
            }
            return;
        }
        if !running.is_real_time() || open.place == u32::MAX {
            return;
        }
        let is_deadline = matches!(running.thread.scheduling, Some(Scheduling::Deadline { .. }));
        let always = open.meaning.always.filter(|what| !(is_deadline && *what == What::Yield));
        let what = always
            .or(open.slept.then_some(open.meaning.if_slept))
            .filter(|what| !(is_deadline && *what == What::Yield));
        if let Some(what) = what {
            let duration = Some(time.saturating_sub(open.time));
            running.occurred(Occurrence { time: open.time, what, place: open.place, duration });
        }
        let woken = running.woken.take().filter(|_| open.slept);
        let cpu_after = running.cpu_at(time);
        let waited = Waited {
            wait: Wait {
                place: open.place,
                release: open.meaning.release,
                begin: Nanos(open.time),
                woken: woken.map(|(at, _)| Nanos(at)).or(open.slept.then_some(Nanos(time))),
                end: Nanos(time),
            },
            waker: woken.map(|(_, waker)| waker),
            cpu_before: open.cpu,
            cpu_after,
        };
        if open.slept || open.meaning.is_wait {
            match running.thread.waits.len() < MOST {
                true => running.thread.waits.push(waited),
                false => running.thread.is_cut = true,
            }
        }
    }

    fn policy_set(&mut self, target: i32, time: u64, place: u32) {
        if let Some(running) = self.threads.get_mut(&target) {
            running.thread.asked = Asked::At(place);
        }
        self.sample(target, time);
    }

    fn faulted(&mut self, tag: u32, what: What, sample: &Sample) {
        let (tid, pid, time) = (sample.meta.tid, sample.meta.pid, sample.meta.time);
        let Some(running) = self.threads.get_mut(&tid) else { return };
        let since = running.fault_since.take();
        if !running.is_real_time() || self.probed_pages.contains(&(pid, sample.address & !0xfff)) {
            return;
        }
        if sample.regs.is_some_and(|regs| regs.ip & !0xfff == sample.address & !0xfff)
            && self.system.is_of_probes(pid, sample.address)
        {
            self.probed_pages.insert((pid, sample.address & !0xfff));
            return;
        }
        let place = self.place(tag, 0, sample, || (None, None));
        let duration = since.map(|since| time.saturating_sub(since));
        if let Some(running) = self.threads.get_mut(&tid) {
            running.occurred(Occurrence { time: since.unwrap_or(time), what, place, duration });
        }
    }

    fn probe_hit(&mut self, tag: u32, sample: &Sample) {
        let tid = sample.meta.tid;
        let Some(running) = self.threads.get_mut(&tid) else { return };
        running.probes += 1;
        if !running.is_real_time() {
            return;
        }
        let name = self.tags.probe_name(tag);
        let place = self.place(tag, 0, sample, || (name, None));
        if let Some(running) = self.threads.get_mut(&tid) {
            running.occurred(Occurrence { time: sample.meta.time, what: What::Allocation, place, duration: None });
        }
    }

    fn woken(&mut self, sample: &Sample) {
        let Some((tid, priority, flags)) = self.tags.waking(sample.raw) else { return };
        let Some(running) = self.threads.get(&tid) else { return };
        if priority < ORDINARY && !running.is_real_time() {
            // Or it runs with the priority of another thread for a while.
            self.sample(tid, sample.meta.time);
        }
        let waker = match flags & IN_INTERRUPT {
            0 => {
                let by = sample.meta.tid;
                let (urgency, is_kernel) = self.urgency_of(by);
                Waker::Thread { tid: by, urgency, is_kernel }
            }
            _ => Waker::Interrupt,
        };
        if let Some(running) = self.threads.get_mut(&tid) {
            running.woken = Some((sample.meta.time, waker));
        }
    }

    fn urgency_of(&mut self, tid: i32) -> (u8, bool) {
        if let Some(running) = self.threads.get(&tid)
            && let Some(scheduling) = running.thread.scheduling
        {
            return (urgency(scheduling), false);
        }
        let system = &self.system;
        *self.strangers.entry(tid).or_insert_with(|| {
            let urgent = system.scheduling(tid).map_or(0, |(scheduling, _)| urgency(scheduling));
            (urgent, system.who(tid).is_none_or(|(_, is_kernel)| is_kernel))
        })
    }

    /// The place of a sample; `about` describes a new one.
    fn place(
        &mut self,
        tag: u32,
        number: i64,
        sample: &Sample,
        about: impl FnOnce() -> (Option<String>, Option<String>),
    ) -> u32 {
        let (key, registers) = self.key(tag, number, sample, sample.stack);
        if let Some(place) = self.index.get(&key) {
            return *place;
        }
        let pid = sample.meta.pid;
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        let stack = process.unwind(registers, sample.stack, MOST_FRAMES);
        let (call, file) = about();
        let wants_deep = stack.is_cut && sample.stack.len() >= SMALL_STACK as usize;
        let place = Place { call, file, stack: Vec::new(), is_cut: stack.is_cut };
        let number = self.places.len() as u32;
        self.places.push(Seen { pid, kind: tag, place, stack, wants_deep });
        self.index.insert(key, number);
        number
    }

    fn key(&mut self, tag: u32, number: i64, sample: &Sample, copy: &[u8]) -> (Key, Registers) {
        let regs = sample.regs.unwrap_or_default();
        let registers = Registers { ip: regs.ip, sp: regs.sp, fp: regs.fp, lr: regs.lr };
        let pid = sample.meta.pid;
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        let mut hasher = DefaultHasher::new();
        process.unwind(registers, copy, KEY_FRAMES).addresses.hash(&mut hasher);
        ((pid, tag, number, hasher.finish()), registers)
    }

    /// A larger copy of a stack that is known already.
    fn deep(&mut self, tag: u32, sample: &Sample) {
        let number = match self.tags.kind(tag) {
            Kind::Enter => self.tags.call(sample.raw).map_or(0, |call| call.number),
            _ => 0,
        };
        let small = &sample.stack[..sample.stack.len().min(SMALL_STACK as usize)];
        let (key, registers) = self.key(tag, number, sample, small);
        let Some(seen) = self.index.get(&key).and_then(|place| self.places.get_mut(*place as usize)) else { return };
        if !seen.wants_deep {
            return;
        }
        if let Some(process) = self.processes.get_mut(&sample.meta.pid) {
            let stack = process.unwind(registers, sample.stack, MOST_FRAMES);
            if stack.addresses.len() >= seen.stack.addresses.len() {
                seen.place.is_cut = stack.is_cut;
                seen.stack = stack;
            }
            seen.wants_deep = false;
        }
    }

    /// Ends the recording and names the places that threads came to.
    pub fn finish(mut self) -> Recording {
        let mut threads = self.ended;
        threads.extend(self.threads.into_values().map(|running| running.thread));
        threads.sort_by_key(|thread| (thread.pid, thread.tid));
        let mut used = HashSet::new();
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
        Recording { threads, places }
    }
}

fn frame(frame: Frame) -> CheckFrame {
    CheckFrame { function: frame.function, file: frame.file, line: frame.line, module: frame.module }
}
