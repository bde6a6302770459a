//! Applies the rules to a recording.

use crate::calls::What;
use crate::findings::{At, Findings};
use crate::order::Order;
use crate::place::{function_names, is_start_or_end, location};
use crate::recording::{Asked, LONG_RUN, Occurrence, Place, Recording, Run, Thread, Waited, Waker};
use crate::system::{is_real_time, urgency};
use punctual_cycles::{Cycles, Lengths, Release, Wait};
use punctual_model::{CheckCycles, CheckFinding, CheckThread};
use punctual_units::{Nanos, Scheduling};
use std::collections::BTreeMap;

/// The time at which real-time work starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Real-time work of each thread starts with its first cycle.
    Found,
    /// Real-time work of all threads starts at this time: CLOCK_MONOTONIC, ns.
    At(u64),
}

/// Information that the judgement needs in addition to the recording.
#[derive(Clone, Debug)]
pub struct Setting {
    pub begin: Begin,
    /// Number of online CPUs.
    pub cpus: usize,
    /// True in a virtual machine, where time taken by the host counts as the thread's.
    pub is_virtual: bool,
    /// True if all system calls are seen, including those that set policies.
    pub sees_calls: bool,
    /// True if records were lost or policies could not be read, so that real-time threads may have been missed.
    pub is_incomplete: bool,
    pub order: Option<Order>,
    /// Other threads of the machine, for checking the order of urgency: name, thread ID, urgency.
    pub others: Vec<(String, i32, u8)>,
    /// Number of times that one thread preempted another.
    pub preemptions: BTreeMap<(String, String), u64>,
}

/// A thread is reported as released by less urgent threads if at least this share of its releases comes from them.
const MOSTLY: f64 = 0.5;

/// Share of the cycles below which overruns in a virtual machine are attributed to the host.
const RARE: f64 = 0.03;

/// A thread with its cycles.
pub(crate) struct Looked<'a> {
    pub thread: &'a Thread,
    pub cycles: Option<Cycles>,
    /// The thread's waits after it became real-time.
    waits: &'a [Waited],
    /// How the lengths of the relative sleeps at each place follow the time of the cycles.
    lengths: BTreeMap<u32, Lengths>,
    /// Runs of at least [`LONG_RUN`] after the start of real-time work.
    runs: Vec<Run>,
}

impl Looked<'_> {
    fn urgency(&self) -> u8 {
        self.thread.scheduling.map_or(0, urgency)
    }

    /// Returns true for SCHED_DEADLINE. Such a thread must be allowed on all CPUs of its root domain (sched(7)).
    fn is_deadline(&self) -> bool {
        matches!(self.thread.scheduling, Some(Scheduling::Deadline { .. }))
    }
}

/// The position of an event in the work of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Before the start or after the end of real-time work.
    Uncounted,
    Outside,
    InCycle,
}

/// Returns the threads, real-time threads first, and the findings, worst findings first.
pub fn judge(recording: &Recording, setting: &Setting) -> (Vec<CheckThread>, Vec<CheckFinding>) {
    let looked: Vec<Looked> = recording.threads.iter().map(|thread| look(thread, setting.begin)).collect();
    let mut findings = Findings::new(recording);
    for one in looked.iter().filter(|one| one.thread.real_time_since.is_some()) {
        let since = one.thread.real_time_since.unwrap_or(u64::MAX);
        for occurrence in one.thread.occurrences.iter().filter(|occurrence| occurrence.time >= since) {
            occurred(&mut findings, one, occurrence, setting);
        }
        releases(&mut findings, one);
        drift(&mut findings, one);
        migrations(&mut findings, one, setting);
        overruns(&mut findings, one, setting);
        long_runs(&mut findings, one);
        settings(&mut findings, one, setting);
    }
    shared_locks(&mut findings, &looked, setting);
    if let Some(order) = &setting.order {
        for (thread, said) in order.broken(&looked, &setting.others, &setting.preemptions) {
            findings.state("order", &thread, &said);
        }
    }
    if !setting.is_incomplete && !looked.iter().any(|one| one.thread.real_time_since.is_some()) {
        let count = looked.len();
        let said = match count {
            1 => "its only thread is not real-time".to_owned(),
            _ => format!("none of its {count} threads is real-time"),
        };
        let main = recording.threads.first().map_or("?", |thread| thread.name.as_str());
        findings.state("no-real-time-thread", main, &said);
    }
    let mut threads: Vec<CheckThread> = looked.iter().map(|one| thread(recording, one)).collect();
    threads.sort_by_key(|thread| (!thread.is_real_time, thread.pid, thread.tid));
    (threads, findings.finish())
}

/// Returns real-time threads released by a timer whose period was not found, so that overruns are not judged.
pub fn without_period(threads: &[CheckThread]) -> Vec<String> {
    let is_timer = |cycles: &CheckCycles| {
        [Release::AbsoluteSleep, Release::Timerfd].iter().any(|release| release.name() == cycles.release)
    };
    let of = |thread: &&CheckThread| {
        let cycles = thread.cycles.as_ref().filter(|_| thread.is_real_time);
        cycles.is_some_and(|cycles| is_timer(cycles) && cycles.period_ns.is_none())
    };
    threads.iter().filter(of).map(|thread| format!("{} ({})", thread.name, thread.tid)).collect()
}

fn look(thread: &Thread, begin: Begin) -> Looked<'_> {
    let since = thread.real_time_since.unwrap_or(u64::MAX);
    let from = thread.waits.partition_point(|waited| waited.wait.end.0 < since);
    let waits = &thread.waits[from..];
    let plain: Vec<Wait> = waits.iter().map(|waited| waited.wait).collect();
    let cycles = Cycles::find(&plain);
    let mut sleeps: BTreeMap<u32, Vec<Wait>> = BTreeMap::new();
    for wait in plain.iter().filter(|wait| wait.release == Release::RelativeSleep) {
        sleeps.entry(wait.place).or_default().push(*wait);
    }
    let lengths = sleeps.into_iter().map(|(place, sleeps)| (place, Lengths::of(&sleeps))).collect();
    // A thread that computes before its first cycle is starting.
    let start = match begin {
        Begin::At(from) => from,
        Begin::Found => cycles.as_ref().and_then(Cycles::span).map_or(0, |(first, _)| first.0),
    };
    let counted = |run: &Run| {
        let from = run.from.max(start);
        let cpu = run.cpu.min(run.to.saturating_sub(from));
        (cpu >= LONG_RUN).then_some(Run { from, cpu, ..*run })
    };
    let runs = thread.long_runs.iter().filter_map(counted).collect();
    Looked { thread, cycles, waits, lengths, runs }
}

/// Returns the position of an event at this time, which determines whether it counts.
fn moment(one: &Looked, time: u64, begin: Begin) -> Moment {
    if let Begin::At(from) = begin
        && time < from
    {
        return Moment::Uncounted;
    }
    // The work of a thread that does not wait is all of its run.
    if one.runs.iter().any(|run| run.from <= time && time <= run.to) {
        return Moment::InCycle;
    }
    let Some(cycles) = &one.cycles else {
        return if matches!(begin, Begin::At(_)) { Moment::InCycle } else { Moment::Outside };
    };
    match (cycles.at(Nanos(time)), cycles.span()) {
        (Some(_), _) => Moment::InCycle,
        (None, Some((from, to))) if from.0 <= time && time <= to.0 => Moment::Outside,
        _ => Moment::Uncounted,
    }
}

fn occurred(findings: &mut Findings, one: &Looked, occurrence: &Occurrence, setting: &Setting) {
    let place = &findings.recording.places[occurrence.place as usize];
    // What libraries do before the program's own functions, or after them, is its start or end, and so is what was executed
    // before it, as by chrt(1).
    let is_beside = one.thread.executed.is_some_and(|time| occurrence.time <= time) || is_start_or_end(place);
    if setting.begin == Begin::Found && is_beside {
        return;
    }
    let is_at = |other: Option<u32>| other == Some(occurrence.place);
    let cycles = one.cycles.as_ref();
    let is_release = is_at(cycles.map(|cycles| cycles.place)) || is_at(cycles.and_then(|cycles| cycles.ambiguous_with));
    // A timeout that expires now and then does not release the thread.
    let is_period = is_at(cycles.map(|cycles| cycles.place))
        && cycles.is_some_and(|cycles| cycles.release == Release::RelativeSleep);
    let what = match occurrence.what {
        What::Timeout if is_period => What::RelativeSleep,
        What::Timeout => What::Blocking,
        what => what,
    };
    let is_sleep = matches!(what, What::RelativeSleep | What::RealtimeClock);
    if is_release && !is_sleep {
        return;
    }
    let mut moment = moment(one, occurrence.time, setting.begin);
    // The wait that ends a cycle is part of it.
    if is_release && moment == Moment::Outside {
        moment = Moment::InCycle;
    }
    if moment == Moment::Uncounted {
        return;
    }
    // If a thread waits too seldom to have cycles, each wait may be its release.
    let is_plain = matches!(what, What::Blocking | What::Futex) && !is_lock(place);
    if is_plain && cycles.is_none() && setting.begin == Begin::Found {
        return;
    }
    // A thread that only yields never waits, so nothing it does is outside a cycle.
    if what == What::Yield && cycles.is_none() {
        moment = Moment::InCycle;
    }
    let waker = || {
        let at = one.waits.partition_point(|waited| waited.wait.begin.0 < occurrence.time);
        one.waits.get(at).filter(|waited| waited.wait.begin.0 == occurrence.time).and_then(|waited| waited.waker)
    };
    let lengths = one.lengths.get(&occurrence.place).copied().unwrap_or(Lengths::Unknown);
    let is_until = function_names(place, 12).iter().any(|name| name.contains("sleep_until"));
    let (id, said) = match (what, lengths) {
        (What::RelativeSleep, Lengths::Drift) if is_until => ("period-drifts", None),
        (What::RelativeSleep, _) if is_until => ("sleep-until", None),
        (What::RelativeSleep, Lengths::HoldGrid) => {
            let grid = cycles.filter(|cycles| cycles.place == occurrence.place).and_then(|cycles| cycles.grid);
            let period = grid.map(|grid| format!(", and its releases keep a period of {}", grid.period));
            ("sleep-until", Some(format!("its lengths follow a clock{}", period.unwrap_or_default())))
        }
        (What::RelativeSleep, Lengths::Drift) => {
            ("relative-sleep", Some("a late wakeup delays all later ones".to_owned()))
        }
        (What::RelativeSleep, Lengths::Unknown) => {
            ("relative-sleep", Some("whether its lengths follow a clock is unknown".to_owned()))
        }
        _ => match rule_of(what, place, waker(), one.urgency()) {
            Some(id) => (id, None),
            None => return,
        },
    };
    findings.occurred(id, one, occurrence, moment == Moment::InCycle, setting.begin, said.as_deref());
}

/// Returns the ID of the rule that is violated; `None` if nothing is.
fn rule_of(what: What, place: &Place, waker: Option<Waker>, own: u8) -> Option<&'static str> {
    let is_by_less = matches!(waker, Some(Waker::Thread { urgency, is_kernel: false, .. }) if urgency < own);
    Some(match what {
        What::PageFault => "page-fault",
        What::MajorFault => "major-fault",
        What::Allocation => "allocation",
        What::MemoryMap => "memory-map",
        What::FileIo => "file-io",
        What::SocketIo => "socket-io",
        What::Output => "output",
        What::RelativeSleep => "relative-sleep",
        What::RealtimeClock => "realtime-clock",
        What::Yield => "sched-yield",
        What::NewThread => "new-thread",
        What::Allowed => return None,
        What::Futex if is_lock(place) => "lock-without-pi",
        What::Futex | What::Blocking | What::Timeout if is_by_less => "waits-for-less-urgent",
        What::Futex | What::Blocking | What::Timeout => "blocking-call",
    })
}

/// Returns true if the functions on the stack take a lock.
fn is_lock(place: &Place) -> bool {
    const LOCKS: [&str; 8] = [
        "lll_lock_wait",
        "pthread_mutex_",
        "pthread_rwlock_",
        "lock_contended",
        "Mutex",
        "RwLock",
        "lll_mutex_lock",
        "_IO_lock_lock",
    ];
    const OTHERS: [&str; 5] = ["pthread_cond_", "sem_", "Condvar", "pthread_join", "barrier"];
    let names = function_names(place, 8);
    let first = |words: &[&str]| names.iter().position(|name| words.iter().any(|word| name.contains(word)));
    match (first(&LOCKS), first(&OTHERS)) {
        (Some(lock), Some(other)) => lock < other,
        (lock, _) => lock.is_some(),
    }
}

/// Reports mutexes without a priority protocol that a less urgent thread also takes, if no wait for them was seen.
fn shared_locks(findings: &mut Findings, looked: &[Looked], setting: &Setting) {
    let recording = findings.recording;
    for (takers, taker) in recording.locks.iter().flat_map(|takers| takers.iter().map(move |taker| (takers, taker))) {
        let other = takers.iter().filter(|other| other.urgency < taker.urgency).min_by_key(|other| other.urgency);
        let one = looked.iter().find(|one| one.thread.tid == taker.tid && one.cycles.is_some());
        let (Some(other), Some(one), Some(place)) = (other, one, taker.place) else { continue };
        let count = taker.times.iter().filter(|time| moment(one, **time, setting.begin) == Moment::InCycle).count();
        let at = recording.places.get(place as usize).and_then(location);
        if count == 0 || findings.has("lock-without-pi", &one.thread.name, at) {
            continue;
        }
        let name = recording.threads.iter().find(|thread| thread.tid == other.tid).map_or("?", |thread| &thread.name);
        let how =
            if other.urgency == 0 { "an ordinary thread".to_owned() } else { format!("priority {}", other.urgency) };
        let said = format!("so does {name} ({}), {how}; no wait for it was seen", other.tid);
        findings.state_at("lock-shared", &one.thread.name, one.thread.tid, &said, At::function(place), count as u64);
    }
}

/// Reports releases by less urgent threads.
fn releases(findings: &mut Findings, one: &Looked) {
    let Some(cycles) = &one.cycles else { return };
    if cycles.release.is_timer() {
        return;
    }
    let own = one.urgency();
    let at: Vec<&Waited> =
        one.waits.iter().filter(|waited| waited.wait.place == cycles.place && waited.waker.is_some()).collect();
    let less = |waited: &&&Waited| matches!(waited.waker, Some(Waker::Thread { urgency, is_kernel: false, .. }) if urgency < own);
    let by_less: Vec<&&Waited> = at.iter().filter(less).collect();
    if by_less.len() < 2 || (by_less.len() as f64) < at.len() as f64 * MOSTLY {
        return;
    }
    let Some(Waker::Thread { tid, urgency, .. }) = by_less[0].waker else { return };
    let name = findings.recording.threads.iter().find(|thread| thread.tid == tid).map(|thread| thread.name.clone());
    let who = name.map_or_else(|| format!("thread {tid}"), |name| format!("{name} ({tid})"));
    let how = if urgency == 0 { "an ordinary thread".to_owned() } else { format!("priority {urgency}") };
    let said = format!("most of its releases come from {who}, {how}");
    findings.state_at(
        "woken-by-less-urgent",
        &one.thread.name,
        one.thread.tid,
        &said,
        At::function(cycles.place),
        by_less.len() as u64,
    );
}

/// Reports times that are computed from the present time.
fn drift(findings: &mut Findings, one: &Looked) {
    let Some(cycles) = one.cycles.as_ref().filter(|cycles| cycles.may_drift) else { return };
    if cycles.release != Release::RelativeSleep {
        let (thread, count) = (one.thread, cycles.cycles.len() as u64);
        let said = "each of its times is set from the present time";
        findings.state_at("period-drifts", &thread.name, thread.tid, said, At::function(cycles.place), count);
    }
}

fn migrations(findings: &mut Findings, one: &Looked, setting: &Setting) {
    let in_cycle = |time: &&u64| moment(one, **time, setting.begin) == Moment::InCycle && one.cycles.is_some();
    let count = one.thread.migrations.iter().filter(in_cycle).count() as u64;
    let is_bound = one.thread.facts.cpus.as_ref().is_some_and(|cpus| cpus.len() == 1);
    if count > 0 && !is_bound && !one.is_deadline() {
        let said = "it may run on several CPUs";
        findings.state_at("migration", &one.thread.name, one.thread.tid, said, asked_at(one), count);
    }
}

fn overruns(findings: &mut Findings, one: &Looked, setting: &Setting) {
    let Some(cycles) = &one.cycles else { return };
    let limit = match (one.thread.scheduling, cycles.grid) {
        (Some(Scheduling::Deadline { runtime_ns, .. }), _) => runtime_ns,
        (_, Some(grid)) if cycles.release.is_timer() && !cycles.may_drift => grid.period,
        _ => return,
    };
    // The waits between which the cycles are; an event loop also waits within them.
    let is_bound = |waited: &&Waited| {
        let Wait { place, begin, end, .. } = waited.wait;
        let is_last = cycles.cycles.last().is_some_and(|cycle| cycle.end == begin);
        place == cycles.place && (is_last || cycles.cycles.binary_search_by_key(&end, |cycle| cycle.start).is_ok())
    };
    let at: Vec<&Waited> = one.waits.iter().filter(is_bound).collect();
    // Creating a thread takes much longer while the creator is observed.
    let creations: Vec<u64> =
        one.thread.occurrences.iter().filter(|one| one.what == What::NewThread).map(|one| one.time).collect();
    let spent = |pair: &[&Waited]| {
        let (from, to) = (pair[0].wait.end.0, pair[1].wait.begin.0);
        let first = creations.partition_point(|time| *time < from);
        let is_disturbed = creations.get(first).is_some_and(|time| *time <= to);
        (!is_disturbed).then(|| pair[1].cpu_before.saturating_sub(pair[0].cpu_after))
    };
    let over: Vec<u64> = at.windows(2).filter_map(spent).filter(|spent| *spent >= limit.0).collect();
    let is_rare = over.len() < 5 || (over.len() as f64) < cycles.cycles.len() as f64 * RARE;
    if setting.is_virtual && is_rare {
        return;
    }
    if let Some(worst) = over.iter().max() {
        let what = if one.is_deadline() { "runtime" } else { "period" };
        let said = format!(
            "({}) {} of {} cycles used more CPU time than their {what} of {limit}; most: {}",
            one.thread.tid,
            over.len(),
            cycles.cycles.len(),
            Nanos(*worst)
        );
        findings.state_at(
            "overrun",
            &one.thread.name,
            one.thread.tid,
            &said,
            At::function(cycles.place),
            over.len() as u64,
        );
    }
}

/// Reports that the thread runs on without a wait.
fn long_runs(findings: &mut Findings, one: &Looked) {
    if let Some(longest) = one.runs.iter().max_by_key(|run| run.cpu) {
        let said = format!("it used {} of CPU time in {}", Nanos(longest.cpu), Nanos(longest.to - longest.from));
        let thread = one.thread;
        findings.state_at("never-waits", &thread.name, thread.tid, &said, asked_at(one), one.runs.len() as u64);
    }
}

/// Checks policy, CPUs, timer slack and locked memory.
fn settings(findings: &mut Findings, one: &Looked, setting: &Setting) {
    let thread = one.thread;
    let scheduling = thread.scheduling.filter(|scheduling| setting.sees_calls && is_real_time(*scheduling));
    if let (Asked::Inherited { parent, place }, Some(scheduling)) = (thread.asked, scheduling) {
        let by = findings
            .recording
            .threads
            .iter()
            .find(|other| other.tid == parent)
            .map_or("?", |other| other.name.as_str());
        let said = format!("it runs as {scheduling} because its creator {by} ({parent}) does");
        findings.state_at("policy-inherited", &thread.name, thread.tid, &said, At::created(place), 1);
    }
    let place = asked_at(one);
    let facts = &thread.facts;
    if setting.cpus > 1 && !one.is_deadline() && facts.cpus.as_ref().is_some_and(|cpus| cpus.len() >= setting.cpus) {
        let said = format!("it may run on all {} CPUs", setting.cpus);
        findings.state_at("affinity-missing", &thread.name, thread.tid, &said, place, 1);
    }
    let is_release = |waited: &&Waited| one.cycles.as_ref().is_some_and(|cycles| waited.wait.place == cycles.place);
    let is_late = one.waits.iter().filter(is_release).any(|waited| waited.has_slack);
    if let Some(slack) = facts.timer_slack_ns.filter(|slack| *slack > 1 && is_late) {
        let said = format!("its timer slack is {}", Nanos(slack));
        findings.state_at("timer-slack", &thread.name, thread.tid, &said, place, 1);
    }
    let said = facts.memory.and_then(|memory| match (memory.locked, memory.unlocked) {
        (0, _) => Some("no page of its process is locked".to_owned()),
        (_, Some(unlocked)) if unlocked > 0 => Some(format!("{unlocked} KiB in memory of its process are not locked")),
        _ => None,
    });
    if let Some(said) = said {
        findings.state_at("memory-not-locked", &thread.name, thread.tid, &said, place, 1);
    }
}

fn asked_at(one: &Looked) -> Option<At> {
    match one.thread.asked {
        Asked::At(place) => Some(At { place, how: ", made real-time in " }),
        Asked::Inherited { place, .. } => At::created(place),
        Asked::Unknown => None,
    }
}

fn thread(recording: &Recording, one: &Looked) -> CheckThread {
    let at = |place: u32| recording.places.get(place as usize).and_then(location);
    // The mean interval of sleeps that drift is no period.
    let grid = |cycles: &Cycles| cycles.grid.filter(|_| !cycles.may_drift);
    let cycles = one.cycles.as_ref().map(|cycles| CheckCycles {
        release: cycles.release.name().to_owned(),
        place: at(cycles.place),
        count: cycles.cycles.len() as u64,
        period_ns: grid(cycles).map(|grid| grid.period),
        phase_ns: grid(cycles).map(|grid| grid.phase),
        jitter_ns: grid(cycles).map(|grid| grid.jitter),
        jitter_max_ns: grid(cycles).map(|grid| grid.jitter_max),
        skipped: grid(cycles).map(|grid| grid.skipped),
        ambiguous_with: cycles.ambiguous_with.and_then(at),
    });
    CheckThread {
        name: one.thread.name.clone(),
        tid: one.thread.tid,
        pid: one.thread.pid,
        scheduling: one.thread.scheduling,
        is_real_time: one.thread.real_time_since.is_some(),
        cycles,
    }
}
