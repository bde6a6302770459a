use super::cpu::{Doing, Doubtful};
use super::functions::{self, Whose};
use super::gap::LONGEST_IDLE_EXIT;
use super::label::{Label, Part, Tally, What, Why};
use super::machine::{End, Machine, Window};
use super::section::Traced;
use super::{Facts, choose, inside, pulled, rtla, sentences};
use punctual_model::{Cause, Class, Confidence, Moments, Scheduled, Victim};
use punctual_trace::{Context, Symbol};
use punctual_units::{Arrange, Nanos};

/// A stated maximum that is at least this many times as long as the latency belongs to another event.
const MUCH: u64 = 10;

/// Returns the victim of a wakeup, without its verdict. The wakeup ends at T3 or, if that time is known, when its
/// thread read its clock.
pub(super) fn new(machine: &Machine, window: &Window, facts: &Facts, tally: &Tally, t4_ns: Option<u64>) -> Victim {
    let latency_ns = t4_ns.unwrap_or(window.t3) - window.waking.t0;
    let doubts = doubts(machine, window, tally);
    let mut causes = causes(machine, facts, tally, latency_ns);
    causes.iter_mut().for_each(|cause| cause.place = cause.place.take().or_else(|| functions(machine, window, cause)));
    if window.end == End::Header {
        cut(machine, window, &mut causes);
    }
    if is_unseen(machine, window) {
        unseen(machine, window, &mut causes);
    }
    around(machine, window, &mut causes);
    handled(machine, window, &mut causes);
    stood(machine, window, &mut causes);
    preemptible(machine, window, &mut causes);
    entered(machine, window, &mut causes);
    tracer(machine, window, &mut causes, latency_ns);
    at_end(machine, facts, window, &mut causes);
    pulled::pulled(machine, facts, window, &mut causes);
    causes.iter_mut().for_each(|cause| unnamed(machine, cause));
    if facts.steal_rose == Some(true) {
        // The hypervisor may have taken the CPU at any time.
        let doubtful = causes.iter_mut().filter(|cause| cause.class != Class::Steal);
        doubtful.for_each(|cause| cause.confidence = cause.confidence.min(Confidence::Medium));
    }
    if doubts.iter().any(|(_, spoils)| *spoils) {
        causes.iter_mut().for_each(|cause| cause.confidence = Confidence::Suspected);
    }
    let mut doubts: Vec<String> = doubts.into_iter().map(|(text, _)| text).collect();
    if facts.steal_rose == Some(true) {
        doubts.push(
            "the hypervisor took CPU time meanwhile: part of the time attributed to others may have been taken by it"
                .into(),
        );
    }
    Victim {
        tid: Some(window.tid),
        comm: window.comm.map(|comm| comm.to_string()),
        scheduled: choose::scheduled(facts, window.tid, window.prio),
        cpu: Some(window.cpu),
        latency_ns,
        moments: Some(Moments { t4_ns, ..moments(window) }),
        unaccounted_ns: unaccounted(&causes),
        coverage: 1.0 - share(unaccounted(&causes), latency_ns),
        causes,
        chain: Vec::new(),
        verdict: String::new(),
        doubts,
    }
}

pub(super) fn moments(window: &Window) -> Moments {
    let waking = &window.waking;
    Moments { t0_ns: waking.t0, t1_ns: waking.t1, t2_ns: waking.t2, t3_ns: window.t3, t4_ns: None }
}

pub(super) fn unaccounted(causes: &[Cause]) -> u64 {
    causes.iter().filter(|cause| cause.class == Class::Unaccounted).map(|cause| cause.ns).sum()
}

/// Returns a fraction of the total, 0 to 1.
pub(super) fn share(ns: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { ns as f64 / of as f64 }
}

pub(super) fn causes(machine: &Machine, facts: &Facts, tally: &Tally, whole_ns: u64) -> Vec<Cause> {
    let mut causes: Vec<Cause> = tally.parts.iter().map(|part| cause(machine, facts, part, whole_ns)).collect();
    causes.arrange_by_key(|cause| std::cmp::Reverse(cause.ns));
    causes
}

fn cause(machine: &Machine, facts: &Facts, part: &Part, latency_ns: u64) -> Cause {
    let label = part.label;
    let prio = |tid: i32| machine.tasks.find(tid).and_then(|known| known.prio);
    Cause {
        class: label.class,
        tid: label.task.map(|task| task.tid),
        comm: label.task.and_then(|task| task.comm).map(|comm| comm.to_string()),
        scheduled: label
            .task
            .map(|task| choose::scheduled(facts, task.tid, task.prio.or_else(|| prio(task.tid))))
            .unwrap_or_default(),
        what: label.what.map(|what| sentences::busy(machine, what)),
        place: place(machine, label),
        ns: part.ns,
        share: share(part.ns, latency_ns),
        confidence: part.confidence(),
        evidence: sentences::evidence(label.why).to_owned(),
    }
}

/// Returns where in the kernel a section was, or what caused the responsible thread or interrupt to run.
fn place(machine: &Machine, label: Label) -> Option<String> {
    let thread = |tid: i32| {
        let comm = machine.tasks.find(tid).and_then(|task| task.comm).map(|comm| comm.to_string());
        Scheduled::default().thread(comm.as_deref(), Some(tid))
    };
    let known = label.task.and_then(|task| machine.tasks.find(task.tid));
    match label.class {
        Class::IrqsDisabled | Class::PreemptionDisabled => {
            let (cpu, from) = label.at?;
            let section = machine.cpu(cpu)?.sections.iter().rev().find(|section| section.from == from)?;
            Some(section.place.clone())
        }
        Class::Irq if label.task.is_none() => {
            let Some(What::Interrupt(name)) = label.what else { return None };
            let (cpu, from) = label.at.filter(|_| sentences::is_ipi(machine.name(name)))?;
            let (sent, _) = machine.cpu(cpu)?.ipis.iter().rev().find(|(_, arrived)| *arrived <= from)?;
            let by = sent.by.filter(|by| by.tid != 0).map(|by| format!("{}, ", thread(by.tid))).unwrap_or_default();
            let what = match &sent.what {
                Some(Symbol::Name(name)) => format!(", for {name}"),
                _ => String::new(),
            };
            Some(format!("sent by {by}CPU {}{what}", sent.cpu))
        }
        Class::HigherPriority => {
            let is_worker = |comm: &str| comm.starts_with("kworker/");
            let comm = label.task.and_then(|task| task.comm)?.to_string();
            let by = known.filter(|_| sentences::is_stopper(&comm) || is_worker(&comm))?.woken_by?;
            let by_comm = machine.tasks.find(by).and_then(|by| by.comm).map(|comm| comm.to_string());
            // A worker that goes to sleep wakes the next worker, but others queued the work (kernel/workqueue.c,
            // `wq_worker_sleeping`).
            (!is_worker(&comm) || by_comm.is_some_and(|by| !is_worker(&by)))
                .then(|| format!("queued by {}", thread(by)))
        }
        Class::PriorityInversion => waiters(machine, label.task?.tid, thread),
        _ => None,
    }
}

/// True if the lines end in the first half of the delay.
pub(super) fn is_unseen(machine: &Machine, window: &Window) -> bool {
    let since = window.waking.t0;
    window.end == End::Header && machine.now.saturating_sub(since).saturating_mul(2) < window.t3.saturating_sub(since)
}

/// Handles lines that end in the first half of the delay: the thread that was current there need not have kept the CPU.
fn unseen(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    let Some(cause) = causes.first_mut().filter(|cause| cause.tid.is_some()) else { return };
    (cause.class, cause.confidence) = (Class::Unaccounted, Confidence::Suspected);
    let last = machine.cpu(window.cpu).and_then(|cpu| cpu.traced.back()).filter(|last| last.tid == cause.tid);
    // The rest of the wakeup itself tells nothing.
    let last = last.and_then(functions::last).filter(|last| !last.contains("wake"));
    let last = last.map(|last| format!(", {last}")).unwrap_or_default();
    cause.place = Some(format!("{} after the wakeup{last}", Nanos(machine.now.saturating_sub(window.waking.t0))));
    sentences::evidence(Why::Unseen).clone_into(&mut cause.evidence);
}

/// Handles lines that end in a softirq, before the thread ran: the remaining time is most likely the rest of the
/// softirq.
fn cut(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    let last = machine.cpu(window.cpu).and_then(|cpu| cpu.traced.back());
    let Some(last) = last.filter(|last| last.t == machine.now && last.context() == Some(Context::Softirq)) else {
        return;
    };
    let Some(cause) = causes.first_mut().filter(|cause| cause.tid.is_some() && cause.tid == last.tid) else { return };
    is_softirq(machine, cause, Why::Cut);
    cause.place = functions::last(last);
}

/// Handles omitted lines with a softirq on both sides of them: the softirq most likely ran in between, too.
fn around(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    let Some(cause) = causes.first_mut().filter(|cause| cause.class == Class::Unaccounted) else { return };
    let Some(cpu) = machine.cpu(window.cpu) else { return };
    let in_softirq = |line: &Traced| line.context() == Some(Context::Softirq);
    let inside = |line: &Traced| (window.waking.t0..=window.t3).contains(&line.t);
    let left_out = cpu.traced.iter().zip(cpu.traced.iter().skip(1)).any(|(before, behind)| {
        let softirq = in_softirq(before) && in_softirq(behind) && before.tid == behind.tid;
        before.last && softirq && inside(before) && inside(behind) && (behind.t - before.t) * 2 > cause.ns
    });
    if left_out {
        is_softirq(machine, cause, Why::LeftOut);
        cause.place = functions(machine, window, cause);
    }
}

/// Adds the handler to an unnamed softirq, if the lines show a single one.
fn handled(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    let unnamed = sentences::busy(machine, What::Softirq(inside::SOFTIRQ));
    let Some(cause) = causes.first_mut().filter(|cause| cause.tid.is_none() && cause.what.as_ref() == Some(&unnamed))
    else {
        return;
    };
    let Some(cpu) = machine.cpu(window.cpu) else { return };
    if let [handler] = functions::softirqs(cpu, window.waking.t0, window.t3).as_slice()
        && let Some(place) = cause.place.as_mut().filter(|place| !place.contains(handler))
    {
        *place += &format!(" (softirq handler: {handler})");
    }
}

/// Handles a delay in which the idle task was current, if the traced functions show where most of the delay passed.
fn stood(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    let idle = [Why::IdleAwake, Why::IdleWoken].map(sentences::evidence);
    let Some(cause) = causes.first_mut().filter(|cause| idle.contains(&cause.evidence.as_str())) else { return };
    let Some(cpu) = machine.cpu(window.cpu) else { return };
    let Some(pair) = functions::longest(cpu, cause.ns).filter(|(line, _)| line.t >= window.waking.t0) else { return };
    let idle = functions::idle_call(cpu, window.waking.t0, window.t3);
    let idle = idle.map(|call| format!(" (the idle loop calls {call})")).unwrap_or_default();
    cause.place = functions::last(pair.0).map(|last| last + &idle);
    let why = match () {
        () if functions::both_off(pair) => Why::StoodOff,
        () if functions::left_interrupt(pair) => Why::LeftInterrupt,
        () => return,
    };
    sentences::evidence(why).clone_into(&mut cause.evidence);
    let stacks = cpu.stacks.iter().any(|(from, to)| *to >= window.waking.t0 && *from <= window.t3);
    if let Some(place) = cause.place.as_mut().filter(|_| why == Why::LeftInterrupt && stacks) {
        *place += " (the tracer recorded stacks meanwhile, which takes time of its own)";
    }
}

/// Handles a thread labelled as having kept the CPU with preemption off, if most of its lines contradict that.
fn preemptible(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    const FEWEST: usize = 5;
    let Some(cause) = causes.first_mut().filter(|cause| cause.class == Class::PreemptionDisabled) else { return };
    let Some(cpu) = machine.cpu(window.cpu) else { return };
    let inside = |line: &&Traced| line.t >= window.waking.t2 && line.t <= window.t3 && line.tid == cause.tid;
    let lines = cpu.traced.iter().filter(inside).filter_map(|line| line.flags);
    let all: Vec<bool> = lines
        .map(|flags| {
            let on = flags.context == Some(Context::Task) && flags.preempt_depth == Some(0);
            on && flags.irqs_off != Some(true) && flags.wants_resched() == Some(false)
        })
        .collect();
    let on = all.iter().filter(|on| **on).count();
    if on >= FEWEST && on * 2 > all.len() {
        cause.class = Class::Unaccounted;
        cause.confidence = cause.confidence.min(Confidence::Medium);
        sentences::evidence(Why::Preemptible).clone_into(&mut cause.evidence);
    }
}

/// Handles a thread that is said to have kept the CPU with preemption or interrupts off, but had entered the scheduler
/// in the first half of that time.
fn entered(machine: &Machine, window: &Window, causes: &mut [Cause]) {
    let off = [Class::PreemptionDisabled, Class::IrqsDisabled];
    const SCHEDULERS: [&str; 2] = ["schedule", "__schedule"];
    let Some(cause) = causes.first_mut().filter(|cause| off.contains(&cause.class)) else { return };
    let Some(cpu) = machine.cpu(window.cpu) else { return };
    let since = window.waking.t2;
    let of_scheduler = |symbol: &Symbol| super::section::name(symbol).is_some_and(|name| SCHEDULERS.contains(&name));
    let own = cpu.traced.iter().rev().filter(|line| line.t >= since && line.t <= window.t3 && line.tid == cause.tid);
    // The lines since the thread entered the scheduler for the last time.
    let inside = own.take_while(|line| of_scheduler(&line.function) || line.parent.as_ref().is_some_and(of_scheduler));
    let entered = inside.last().filter(|line| of_scheduler(&line.function));
    let Some(line) = entered.filter(|line| (window.t3 - line.t) * 2 > cause.ns) else { return };
    let stack = cpu.stacks.iter().any(|(from, to)| *from < window.t3 && *to > line.t);
    let stack = if stack { ", while the tracer recorded a stack" } else { "" };
    cause.class = Class::Unaccounted;
    cause.confidence = cause.confidence.min(Confidence::Medium);
    sentences::evidence(Why::Entered).clone_into(&mut cause.evidence);
    let (after, then) = (Nanos(line.t - since), Nanos(window.t3 - line.t));
    cause.place =
        Some(format!("it entered schedule() {after} after the wakeup, and the switch came {then} later{stack}"));
}

/// Handles a latency that is mostly unexplained, if the tracer was recording stacks during much of it.
fn tracer(machine: &Machine, window: &Window, causes: &mut [Cause], latency_ns: u64) {
    let unknown = |cause: &&mut Cause| cause.class == Class::Unaccounted && cause.tid.is_none();
    let Some(cause) = causes.first_mut().filter(unknown) else { return };
    let waking = &window.waking;
    let mut cpus: Vec<u32> = waking.path.iter().map(|(_, cpu)| *cpu).chain([waking.from_cpu, window.cpu]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let inside = |(from, to): &(u64, u64)| (*to).min(window.t3).saturating_sub((*from).max(waking.t0));
    let spent = |cpu: &u32| Some((machine.cpu(*cpu)?.stacks.iter().map(inside).sum::<u64>(), *cpu));
    let Some((ns, cpu)) = cpus.iter().filter_map(spent).max() else { return };
    if ns * 2 > latency_ns {
        sentences::evidence(Why::Tracer).clone_into(&mut cause.evidence);
        cause.place = Some(format!("CPU {cpu} was recording a stack, {} at most", Nanos(ns)));
    } else if let Some(place) = cause.place.as_mut().filter(|_| ns * 5 > latency_ns) {
        *place += &format!(" (at most {} of the latency was spent recording stacks on CPU {cpu})", Nanos(ns));
    }
}

/// Handles a thread whose name is not in the trace (`<...>`): for a thread of the kernel, a stack shows its function.
fn unnamed(machine: &Machine, cause: &mut Cause) {
    let runs = cause.tid.filter(|_| cause.comm.is_none()).and_then(|tid| machine.tasks.find(tid)?.runs.clone());
    if let Some((runs, place)) = runs.zip(cause.place.as_mut()) {
        *place += &format!(", a thread of the kernel that runs {runs}()");
    }
}

/// Handles a wakeup for which no event shows what ran, if the switch shows which thread was running at the end.
fn at_end(machine: &Machine, facts: &Facts, window: &Window, causes: &mut [Cause]) {
    let unknown = sentences::evidence(Why::NotTraced);
    let Some(cause) = causes.first_mut().filter(|cause| cause.evidence == unknown && window.end == End::Switch) else {
        return;
    };
    let Some(cpu) = machine.cpu(window.cpu) else { return };
    let before = cpu.history.iter().rev().find(|segment| segment.t <= window.t3 && !segment.switched);
    let from = window.waking.path.last().map(|(_, cpu)| *cpu).filter(|cpu| *cpu != window.cpu);
    let from = from.map(|from| format!("it was woken for CPU {from}, and no line shows when it came here"));
    let task = match before.filter(|segment| segment.t == window.t3).map(|segment| segment.doing) {
        Some(Doing::Task(task)) => task,
        Some(Doing::Idle) => {
            // For longer than that, the CPU was not leaving idle: other threads ran, or the thread was kept back.
            if cause.ns <= LONGEST_IDLE_EXIT && from.is_none() {
                (cause.class, cause.confidence) = (Class::IdleExit, Confidence::Suspected);
            }
            cause.place = from;
            return sentences::evidence(Why::IdleAtEnd).clone_into(&mut cause.evidence);
        }
        _ => return,
    };
    let known = machine.tasks.find(task.tid);
    let comm = task.comm.or(known.and_then(|known| known.comm));
    (cause.tid, cause.comm) = (Some(task.tid), comm.map(|comm| comm.to_string()));
    cause.scheduled = choose::scheduled(facts, task.tid, task.prio.or(known.and_then(|known| known.prio)));
    cause.confidence = cause.confidence.min(Confidence::Medium);
    cause.place = from;
    sentences::evidence(Why::AtEnd).clone_into(&mut cause.evidence);
}

/// Handles lines that name no CPU. `one` is true if all these lines can belong to one CPU.
pub(super) fn without_cpu(victim: &mut Victim, one: bool) {
    victim.cpu = None;
    if !one {
        let evidence = sentences::evidence(Why::WithoutCpu);
        victim.causes = vec![rtla::cause(Class::Unaccounted, victim.latency_ns, Confidence::Medium, evidence)];
        (victim.chain, victim.coverage, victim.unaccounted_ns) = (Vec::new(), 0.0, victim.latency_ns);
    }
}

fn is_softirq(machine: &Machine, cause: &mut Cause, why: Why) {
    let softirq = Label::new(Class::Softirq, Confidence::Suspected, why);
    (cause.class, cause.confidence, cause.tid, cause.comm) = (softirq.class, softirq.confidence, None, None);
    cause.what = Some(sentences::busy(machine, What::Softirq(super::inside::SOFTIRQ)));
    sentences::evidence(softirq.why).clone_into(&mut cause.evidence);
}

/// Returns the functions in which a thread that could not be preempted, or a softirq, spent its time.
fn functions(machine: &Machine, window: &Window, cause: &Cause) -> Option<String> {
    if cause.class == Class::Irq && cause.what.as_deref() == Some(inside::UNNAMED) {
        let (line, _) = functions::within(machine.cpu(window.cpu)?, window.waking.t2, window.t3, cause.ns)?;
        return functions::last(line).map(|last| format!("most of it {last}"));
    }
    let whose = match (cause.class, cause.tid) {
        (Class::PreemptionDisabled | Class::IrqsDisabled, Some(tid)) => Whose::Thread(tid),
        (Class::Softirq, None) => Whose::Softirq,
        _ => return None,
    };
    let cpu = machine.cpu(window.cpu)?;
    let most = functions::most(cpu, whose, window.waking.t2, window.t3).map(|most| most.place);
    let off = |place: &String| cause.class == Class::PreemptionDisabled && !place.is_empty();
    let preempted = || functions::preempted(cpu, cause.tid?, window.waking.t2).filter(off);
    most.or_else(preempted).or_else(|| functions::repeated(cpu, cause.tid?, window.waking.t2, window.t3).filter(off))
}

/// Describes which thread waits for a lock that `owner` holds, and which thread waits for a lock that the first one
/// holds.
fn waiters(machine: &Machine, owner: i32, thread: impl Fn(i32) -> String) -> Option<String> {
    const MOST: usize = 4;
    let waiter = |owner: i32| machine.tasks.find(owner)?.boosted_by;
    let lock = |waiter: i32, owner: i32| {
        let (lock, of) = machine.tasks.find(waiter)?.locks.as_ref()?.asleep()?;
        lock.filter(|_| of == Some(owner))
    };
    let mut met = vec![owner];
    let mut text = String::new();
    while let Some(next) = waiter(*met.last()?).filter(|next| met.len() <= MOST && !met.contains(next)) {
        let owner = *met.last()?;
        let lock = lock(next, owner).map_or_else(|| "the lock".to_owned(), |lock| lock.said());
        match met.len() {
            1 => text = format!("{} waits for {lock}", thread(next)),
            _ => text += &format!(", and {} for a lock that it holds", thread(next)),
        }
        met.push(next);
    }
    (!text.is_empty()).then_some(text)
}

/// Returns doubts about this wakeup's labels, each with true if it affects all labels.
fn doubts(machine: &Machine, window: &Window, tally: &Tally) -> Vec<(String, bool)> {
    let waking = &window.waking;
    let cpus = waking.path.iter().map(|(_, cpu)| *cpu).chain([waking.from_cpu, window.cpu]);
    // What is missing behind the switch does not concern the wakeup.
    let concerns = |odd: &&Doubtful| odd.at >= waking.t0 && (odd.at < window.t3 || !odd.what.is_missing());
    let mut odd: Vec<(u32, Doubtful)> = cpus
        .filter_map(|cpu| Some((cpu, *machine.cpu(cpu)?.doubtful.iter().find(concerns)?)))
        .chain(calm(machine, window, tally))
        .collect();
    odd.dedup();
    let mut doubts: Vec<(String, bool)> = odd.into_iter().map(|(cpu, odd)| (sentences::odd(cpu, odd), true)).collect();
    if window.end == End::Header {
        doubts.push((
            "the trace ends before it ran: the end of the wakeup is taken from the tracer's header".into(),
            false,
        ));
    }
    if waking.due_unknown {
        doubts.push((
            "the start of the timer that woke it is not in the trace: time before sched_waking is not included".into(),
            false,
        ));
    }
    if waking.path.last().is_some_and(|(_, cpu)| *cpu != window.cpu) {
        doubts.push((
            "it ran on a CPU other than the one it was woken for, and the trace does not show the move".into(),
            true,
        ));
    }
    doubts
}

/// Returns an event that contradicts a label of preemption off: preemption was on, and no reschedule was requested.
fn calm(machine: &Machine, window: &Window, tally: &Tally) -> Option<(u32, Doubtful)> {
    /// Maximum time for a wakeup to reach the CPU, ns.
    const SOON: u64 = 50_000;
    let off = tally.parts.iter().any(|part| part.label.class == Class::PreemptionDisabled);
    let calm = machine.cpu(window.cpu)?.calm.filter(|_| off)?;
    let waking = &window.waking;
    let since = waking.path.last().map_or(waking.t2, |(since, _)| *since).max(waking.queued.unwrap_or(0));
    (calm.at > since.saturating_add(SOON) && calm.at < window.t3).then_some((window.cpu, calm))
}

/// Handles threads whose priority appears only in later events: it applied earlier, too, unless something changed it in
/// between.
pub(super) fn learned(victim: &mut Victim, machine: &Machine, facts: &Facts) {
    let comm = victim.tid.and_then(|tid| machine.tasks.find(tid)?.comm);
    victim.comm = victim.comm.take().or(comm.map(|comm| comm.to_string()));
    let prio = |tid: i32| machine.tasks.find(tid).and_then(|known| known.prio);
    let Some(own) = victim.tid.and_then(prio) else { return };
    let unknown = sentences::evidence(Why::NoPrio);
    for cause in victim.causes.iter_mut().filter(|cause| cause.evidence == unknown) {
        let Some((tid, prio)) = cause.tid.and_then(|tid| Some((tid, prio(tid)?))) else { continue };
        cause.scheduled = choose::scheduled(facts, tid, Some(prio));
        let class = match prio {
            _ if prio == own || (prio >= 100 && own >= 100) => Class::SamePriority,
            _ if prio < own => Class::HigherPriority,
            // It is unknown whether that thread could be preempted.
            _ => continue,
        };
        sentences::evidence(Why::Learned).clone_into(&mut cause.evidence);
        (cause.class, cause.confidence) = (class, cause.confidence.min(Confidence::Medium));
    }
    victim.unaccounted_ns = unaccounted(&victim.causes);
    victim.coverage = 1.0 - share(victim.unaccounted_ns, victim.latency_ns);
}

/// Handles kernels with this preemption model (`M:desktop` of a latency tracer's header; "VOLUNTARY" from Linux 6.14
/// on), in which a thread may keep the CPU although preemption is not off.
pub(super) fn unpreempted(victim: &mut Victim, model: &str) {
    if ["server", "desktop", "none", "voluntary"].iter().any(|plain| model.eq_ignore_ascii_case(plain)) {
        let held = victim.causes.iter_mut().filter(|cause| cause.class == Class::PreemptionDisabled);
        held.for_each(|cause| cause.evidence += &format!("; {}{model})", sentences::UNPREEMPTED));
    }
}

/// Applies the doubts about the whole trace and writes the verdict. `claimed`: a maximum stated beside the trace, ns.
pub(super) fn conclude(victim: &mut Victim, doubt: Option<&str>, step: Option<u64>, claimed: Option<&(u64, String)>) {
    if let Some(doubt) = doubt {
        victim.doubts.push(doubt.to_owned());
        victim.causes.iter_mut().for_each(|cause| cause.confidence = Confidence::Suspected);
        victim.chain.iter_mut().for_each(|link| link.confidence = Confidence::Suspected);
    }
    victim.verdict = match step.filter(|step| victim.moments.is_some() && victim.latency_ns / 10 < *step) {
        Some(step) => sentences::unmeasured(victim, step),
        None => sentences::verdict(victim),
    };
    if let Some((_, line)) = claimed.filter(|(ns, _)| *ns / MUCH > victim.latency_ns) {
        victim.verdict += &format!("; this does not explain what the text says beside the trace, \"{line}\"");
    }
}
