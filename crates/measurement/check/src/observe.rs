//! Observes a program for a limited time.

mod attach;
mod deep;
mod end;
mod ring;

use attach::{mark_of, runnable};
pub use end::outcome;
use end::{end_program, said};
use ring::ring_bytes;

use crate::calls::filters;
use crate::locks::Locks;
use crate::order::Order;
use crate::probes::{MOST_HITS, Probes};
use crate::reaper::Reaped;
use crate::recorder::{Probeable, Recorder};
use crate::sources::{
    ENTER, EXIT, FAULT, MAJOR, MARK, MINOR, RARE_STACK, SMALL_STACK, SWITCHES, TASKS, TIMER, Tags, WAKING,
};
use crate::subject::Subject;
use crate::system::Live;
use punctual_model::{Check, CheckSource};
use punctual_perf::{Buffer, Handle, Observer, Record, Source, Spec, Target, Tracepoint};
use punctual_tracefs::{Tracefs, TracefsError, Uprobe};
use punctual_units::{CpuList, Nanos};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Interval at which the buffers are read.
const TICK: Nanos = Nanos(20_000_000);
/// Interval at which the buffers are read until the program has started and its allocators are probed.
const FIRST_TICK: Nanos = Nanos(2_000_000);
const START: Nanos = Nanos(500_000_000);
/// Interval at which policies and settings are read again.
const LOOK: Nanos = Nanos(100_000_000);
const LAST_SECOND: u32 = (1 << 10) - 1;
/// A program that was busy in at least this many of the checks during the last second may still be starting.
const STARTING: u32 = 5;
/// Number of consecutive checks in which probes must slow a thread before they are withdrawn, or rest.
const BUSY: u32 = 3;
/// Time allowed for the program to end after SIGTERM.
const FOR_END: Nanos = Nanos(2_000_000_000);
/// Time allowed for the work before and after the observation: opening the events, judging the records, and reading
/// debug information.
const AROUND: std::time::Duration = std::time::Duration::from_secs(120);
/// PERF_COUNT_SW_PAGE_FAULTS; the next two are PERF_COUNT_SW_PAGE_FAULTS_MIN and PERF_COUNT_SW_PAGE_FAULTS_MAJ.
const SW_FAULTS: u64 = 2;
const SW_MINOR: u64 = 5;
const SW_MAJOR: u64 = 6;
#[derive(Clone, Debug)]
pub struct CheckOptions {
    pub subject: Subject,
    /// Maximum duration; a program that ends earlier ends the check.
    pub duration: Nanos,
    /// Delay from the start of the program to the start of real-time work.
    pub after: Option<Nanos>,
    /// Function of the program whose first call starts real-time work.
    pub from: Option<String>,
    pub order: Option<Order>,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Incorrect usage, for example an unknown process or program.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Environment(String),
}

impl CheckError {
    pub fn is_usage(&self) -> bool {
        matches!(self, CheckError::Usage(_))
    }
}

/// Observes the subject until its end, `options.duration`, or `stop`. A program that was started is terminated.
///
/// # Errors
///
/// Fails if the program or process does not exist, or if its threads cannot be observed at all. Other missing
/// information is in [`Check::sources`].
pub fn check(options: &CheckOptions, stop: &AtomicBool) -> Result<Check, CheckError> {
    let most = std::time::Duration::from_nanos(options.duration.0).saturating_add(AROUND);
    let _limit = punctual_watchdog::limit("the observation of the program", most);
    let pids = options.subject.pids().map_err(CheckError::Usage)?;
    let program = match &options.subject {
        Subject::Command(words) => Some(runnable(words)?),
        Subject::Pid(_) | Subject::Cgroup(_) => None,
    };
    let mark = mark_of(options, program.as_deref(), &pids)?;
    let name = options.subject.name();
    let mut started = match &options.subject {
        Subject::Command(words) => {
            Some(Reaped::start(words).map_err(|e| CheckError::Environment(format!("cannot start {name}: {e}")))?)
        }
        _ => None,
    };
    // One event of each kind is needed per CPU and per running thread. If the limit is too low, opening reports it.
    let limits = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits });
    let mut session = Session::new(options)?;
    let opened = match &started {
        Some(started) => session.open_starting(mark, started.pid, program.as_deref()),
        None => session.attach(mark, &pids),
    };
    session.begun = monotonic();
    let run = opened.and_then(|()| match &started {
        Some(started) => started.run().map_err(|e| CheckError::Environment(format!("cannot start {name}: {e}"))),
        None => Ok(()),
    });
    if let Err(error) = run {
        // The program has not run yet.
        started.into_iter().for_each(Reaped::kill);
        return Err(error);
    }
    let ended = session.observe(options, &mut started, stop);
    // The events are enabled when the program is executed; without any event it was not executed.
    if let (Some(code @ (126 | 127)), 0) = (ended.code, session.recorder.events) {
        let why = match code {
            126 => "permission is missing, or it is not a program for this machine",
            _ => "its interpreter (the dynamic linker, or the one that a script names) was not found",
        };
        return Err(CheckError::Usage(format!("{name} cannot be executed (exit code {code}): {why}")));
    }
    Ok(session.conclude(options, name, ended.said))
}

struct Ended {
    said: String,
    code: Option<i32>,
}

struct Session {
    observer: Observer,
    recorder: Recorder<Live>,
    specs: Vec<Spec>,
    probes: Probes,
    locks: Locks,
    /// Allocators that were probed only after they had been mapped, each with the time at which it was probed.
    late: Vec<(Probeable, u64)>,
    begun: u64,
    /// Time at which the observation ends, CLOCK_MONOTONIC, ns.
    until: u64,
    /// CPU time that this process used during the observation.
    own_cpu: Nanos,
    last_look: u64,
    sources: Vec<CheckSource>,
    notes: Vec<String>,
    cpus: usize,
    /// The sched_switch event of all threads, for checking the order of urgency.
    switches: Option<Tracepoint>,
    preemptions: BTreeMap<(String, String), u64>,
    /// The function of `--from`, and the time of its first call.
    mark: Option<Uprobe>,
    marked: Option<u64>,
    /// Number of consecutive reads in which a thread without real-time policy hit too many probes.
    busy: u32,
    /// Numbers of records read and lost at the last look.
    counted: (u64, u64),
    /// The same as `busy`, for real-time threads.
    busy_urgent: u32,
    /// The first real-time thread that hit too many probes.
    often: Option<String>,
    /// One bit for each check during the last second. It is set if a thread was running or new, and none was real-time.
    starting: u32,
    /// Number of threads at the last check.
    seen: usize,
    deep: Option<(Vec<Handle>, u64)>,
    bursts: u32,
}

impl Session {
    fn new(options: &CheckOptions) -> Result<Session, CheckError> {
        let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let cpus: CpuList = online.trim().parse().map_err(|e| CheckError::Environment(format!("CPUs: {e}")))?;
        let tracefs = Tracefs::find();
        let root = tracefs.as_ref().ok().map(|tracefs| tracefs.root().to_owned());
        let mut tags = Tags::find(root.as_deref());
        let mut notes = Vec::new();
        if let Err(error @ TracefsError::Namespace) = Tracefs::of_threads() {
            tags.waking = None;
            notes.push(error.to_string());
        }
        let why = tracefs
            .as_ref()
            .err()
            .map_or_else(|| "this kernel does not have the event".to_owned(), ToString::to_string);
        let mut specs = vec![Spec { source: Source::Tasks, stack: 0, tag: TASKS, filter: None }];
        let mut sources = vec![source("threads and context switches", None)];
        let point = |found: &Option<Tracepoint>| found.as_ref().map(|point| Source::Tracepoint(point.id));
        let [rare, others] = filters();
        let rows = [
            (ENTER, point(&tags.enter), SMALL_STACK, Some(others.as_c_str())),
            (ENTER, point(&tags.enter), RARE_STACK, Some(rare.as_c_str())),
            (EXIT, point(&tags.exit), 0, None),
            (WAKING, point(&tags.waking), 0, None),
            (FAULT, Some(Source::Software(SW_FAULTS)), 0, None),
            (MINOR, Some(Source::Software(SW_MINOR)), SMALL_STACK, None),
            (MAJOR, Some(Source::Software(SW_MAJOR)), SMALL_STACK, None),
        ];
        for (tag, event, stack, filter) in rows {
            match event {
                Some(source) => specs.push(Spec { source, stack, tag, filter }),
                None => {
                    let why = notes.first().cloned().unwrap_or_else(|| why.clone());
                    let missed = source(name_of(tag), Some(why));
                    sources.extend(Some(missed).filter(|missed| !sources.contains(missed)));
                }
            }
        }
        let mut notes = Vec::new();
        let unseen = match (&tags.timer, tags.timer_functions.is_empty()) {
            (None, _) => Some(why.as_str()),
            (_, true) => Some("/proc/kallsyms shows no addresses: kernel.kptr_restrict"),
            (Some(timer), false) => {
                specs.push(Spec { source: Source::Tracepoint(timer.id), stack: 0, tag: TIMER, filter: None });
                None
            }
        };
        notes.extend(unseen.map(|why| {
            format!("the times at which timers were due are not known ({why}): cycles begin when their threads wake")
        }));
        let switches = options
            .order
            .as_ref()
            .and(root.as_deref())
            .and_then(|root| Tracepoint::find(root, "sched", "sched_switch"));
        Ok(Session {
            observer: Observer::new(&cpus, ring_bytes(cpus.len())),
            recorder: Recorder::new(Live, tags),
            specs,
            probes: Probes::new(tracefs.ok()),
            locks: Locks::default(),
            late: Vec::new(),
            begun: 0,
            until: 0,
            own_cpu: Nanos(0),
            last_look: 0,
            sources,
            notes,
            cpus: cpus.len(),
            switches,
            preemptions: BTreeMap::new(),
            mark: None,
            marked: None,
            busy: 0,
            counted: (0, 0),
            busy_urgent: 0,
            often: None,
            starting: 0,
            seen: 0,
            deep: None,
            bursts: 0,
        })
    }

    /// Opens every event; the first must succeed.
    fn open(&mut self, target: Target) -> Result<(), CheckError> {
        for spec in self.specs.clone() {
            match self.observer.open(&spec, target, Buffer::Main, true) {
                Err(error) if spec.tag == TASKS => return Err(CheckError::Environment(refused(&error))),
                Err(error) => self.miss(name_of(spec.tag), error.to_string()),
                Ok(_) => self.found(name_of(spec.tag)),
            }
        }
        if let Some(switches) = &self.switches {
            let spec = Spec { source: Source::Tracepoint(switches.id), stack: 0, tag: SWITCHES, filter: None };
            match self.observer.open(&spec, Target::All, Buffer::Main, true) {
                Err(error) => self.miss("preemptions by other programs", error.to_string()),
                Ok(_) => self.found("preemptions by other programs"),
            }
        }
        Ok(())
    }

    fn found(&mut self, name: &str) {
        if !self.sources.iter().any(|known| known.name == name) {
            self.sources.push(source(name, None));
        }
    }

    fn miss(&mut self, name: &str, why: String) {
        self.sources.retain(|known| known.name != name);
        self.sources.push(source(name, Some(why)));
    }

    /// Probes allocators that were mapped since the last call.
    fn probe(&mut self) {
        for file in self.recorder.take_probeable() {
            let threads: Vec<i32> = self.recorder.tids().map(|(_, tid)| tid).collect();
            if !threads.is_empty()
                && self.probes.add(&mut self.observer, &mut self.recorder, &file, Target::Threads(&threads))
            {
                self.late.push((file, monotonic()));
            }
        }
    }

    /// Observes until the program exits, the duration is over, or `stop` is set.
    fn observe(&mut self, options: &CheckOptions, started: &mut Option<Reaped>, stop: &AtomicBool) -> Ended {
        let (end, cpu) = (self.begun.saturating_add(options.duration.0), cpu_time());
        punctual_watchdog::measuring("the observation", std::time::Duration::from_nanos(options.duration.0));
        let mut status: Option<ExitStatus> = None;
        loop {
            let now = monotonic();
            self.wait(if now < self.begun + START.0 { FIRST_TICK } else { TICK });
            self.drain(false);
            self.probe();
            let now = monotonic();
            if now >= self.last_look + LOOK.0 {
                self.look(now);
            }
            self.deepen(now);
            let is_gone = match started {
                // The reaper writes the program's status before it ends.
                Some(program) => {
                    let has_ended = program.has_ended();
                    status = program.status();
                    has_ended
                }
                None => self.recorder.tids().next().is_none(),
            };
            if is_gone || now >= end || stop.load(Relaxed) {
                break;
            }
        }
        self.until = monotonic();
        self.own_cpu = Nanos(cpu_time().0.saturating_sub(cpu.0));
        punctual_watchdog::concluding("reading what was recorded");
        // Reads the settings of threads that are still running.
        self.recorder.look(monotonic());
        self.drain(false);
        self.drain(true);
        self.short_lived(status);
        let said = match (&*started, status) {
            (_, Some(status)) => said(status),
            (Some(_), None) => "was still running and was ended by the check".to_owned(),
            (None, None) if self.recorder.tids().next().is_none() => "ended".to_owned(),
            (None, None) => "is still running".to_owned(),
        };
        started.take().into_iter().for_each(end_program);
        if status.is_none() && self.starting.count_ones() >= STARTING {
            let why = "there has been none so far, and the program was busy in the last second: if it is still starting, give a longer --duration";
            self.miss("real-time threads", why.into());
        }
        Ended { said, code: status.and_then(|status| status.code()) }
    }

    fn wait(&self, time: Nanos) {
        let descriptors: Vec<_> = self.observer.descriptors().collect();
        let mut polled: Vec<PollFd> = descriptors.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: time.0 as _ };
        // The time is over, a buffer is filling, or a signal arrived: the loop handles all of them.
        let _ = poll(&mut polled, Some(&timeout));
    }

    fn drain(&mut self, is_last: bool) {
        let (recorder, marked) = (&mut self.recorder, &mut self.marked);
        let (switches, preemptions) = (&self.switches, &mut self.preemptions);
        self.observer.drain(monotonic(), is_last, |record| match record {
            Record::Sample(SWITCHES, sample) => {
                if let Some((from, by)) = switches.as_ref().and_then(|point| preempted(point, sample.raw)) {
                    *preemptions.entry((by, from)).or_default() += 1;
                }
            }
            Record::Sample(MARK, sample) => {
                marked.get_or_insert(sample.meta.time);
            }
            record => recorder.record(record),
        });
    }

    fn look(&mut self, now: u64) {
        let since = Nanos(now.saturating_sub(self.last_look));
        self.last_look = now;
        self.recorder.look(now);
        let seen = self.recorder.threads_seen();
        let is_new = std::mem::replace(&mut self.seen, seen) != seen;
        let is_starting = is_new || self.recorder.tids().any(|(_, tid)| Live.is_running(tid));
        let is_starting = is_starting && self.recorder.real_time_tids().is_empty();
        self.starting = (self.starting << 1 | u32::from(is_starting)) & LAST_SECOND;
        let tracefs = self.probes.tracefs.as_ref();
        self.notes.extend(self.locks.look(tracefs, &mut self.observer, &mut self.recorder, now));
        // Lost records are assumed to contain the same share of hits as those read.
        let now_counted = (self.recorder.events, self.observer.lost_so_far());
        let (read, lost) = (now_counted.0 - self.counted.0, now_counted.1 - self.counted.1);
        self.counted = now_counted;
        let all = |hits: u64| hits.saturating_mul(read.saturating_add(lost)) / read.max(1);
        let rate = |hits: u64| all(hits).saturating_mul(1_000_000_000) / since.0.max(1);
        let [ordinary, urgent] =
            self.recorder.take_busiest().map(|busiest| busiest.map(|(name, hits)| (name, rate(hits))));
        if self.probes.resume(&mut self.observer, now, false) && !self.probes.is_withdrawn {
            if let Some((name, rate)) = ordinary {
                // A program that starts may allocate much for a moment.
                self.busy = if rate > MOST_HITS { self.busy + 1 } else { 0 };
                if self.busy >= BUSY || rate > 4 * MOST_HITS {
                    self.withdraw(&name, rate, now);
                }
            }
            let urgent = urgent.filter(|(_, rate)| *rate > MOST_HITS);
            self.busy_urgent = if urgent.is_some() { self.busy_urgent + 1 } else { 0 };
            if let Some((often, _)) = urgent.filter(|_| self.busy_urgent >= BUSY || self.often.is_some()) {
                self.often.get_or_insert(often);
                self.probes.rest(&mut self.observer, now);
            }
        }
        if self.probes.is_withdrawn {
            let urgent: HashSet<i32> = self.recorder.real_time_tids().into_iter().collect();
            let threads: Vec<(i32, i32)> = self.recorder.tids().filter(|(_, tid)| urgent.contains(tid)).collect();
            self.probes.break_in(&mut self.observer, &self.recorder, &threads);
        }
    }

    fn withdraw(&mut self, name: &str, rate: u64, now: u64) {
        self.probes.withdraw(&mut self.observer);
        let time = Nanos(now.saturating_sub(self.begun) / 1_000_000 * 1_000_000);
        self.notes.push(format!(
            "the probes on the allocator were removed after {time}: {name}, which has no real-time policy, allocates {rate} times per second and would \
             be slowed; allocations are observed by breakpoints in the real-time threads only"
        ));
    }
}

fn source(name: &str, missing: Option<String>) -> CheckSource {
    CheckSource { name: name.to_owned(), missing }
}

fn name_of(tag: u32) -> &'static str {
    match tag {
        TASKS => "threads and context switches",
        ENTER => "system calls",
        EXIT => "ends of system calls",
        WAKING => "wakeups",
        MINOR => "minor page faults",
        MAJOR => "major page faults",
        TIMER => "due times of timers",
        _ => "page faults",
    }
}

fn refused(error: &punctual_uapi::Error) -> String {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    format!(
        "its threads cannot be observed: {error}; kernel.perf_event_paranoid is {}. Run as root, or give CAP_PERFMON, CAP_SYS_PTRACE \
         and CAP_DAC_READ_SEARCH",
        paranoid.trim()
    )
}

fn threads_of(pids: &[i32]) -> Vec<(i32, i32)> {
    pids.iter().flat_map(|pid| punctual_watchdog::proc::threads(*pid).into_iter().map(|tid| (*pid, tid))).collect()
}

fn tids(threads: &[(i32, i32)]) -> Vec<i32> {
    threads.iter().map(|(_, tid)| *tid).collect()
}

/// Returns the preempted thread and the thread that preempted it.
fn preempted(point: &Tracepoint, raw: &[u8]) -> Option<(String, String)> {
    // prev_state of a preempted thread is TASK_REPORT_MAX (include/linux/sched.h), above these bits.
    let state = point.format.number("prev_state", raw)?;
    if state & 0xff != 0 {
        return None;
    }
    let text = |field: &str| {
        let bytes: Vec<u8> = (0..16).map_while(|n| point.format.element(field, n, 16, raw)).map(|n| n as u8).collect();
        String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    };
    Some((text("prev_comm"), text("next_comm")))
}

fn monotonic() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Returns the CPU time of this process.
fn cpu_time() -> Nanos {
    Nanos(nanos(ClockId::ProcessCPUTime))
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
