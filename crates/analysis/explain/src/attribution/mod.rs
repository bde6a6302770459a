//! Explains from a trace why threads were late: every nanosecond of a wakeup's delay gets a label.
//!
//! A wakeup begins at T0, when the timer that woke the thread was due (without one: at sched_waking, T2), and ends at
//! T3, the sched_switch to it. In between, each CPU it depended on is examined with its current task and its stack of
//! interrupts. The labels add up to T3 − T0 exactly; what the trace does not show is `unaccounted`.

pub(crate) mod activity;
mod bare;
mod carrier;
mod chain;
mod choose;
mod clock;
mod collect;
mod cost;
mod cpu;
mod cycle;
mod expiry;
mod findings;
mod following;
mod functions;
mod gap;
mod holes;
mod ids;
mod inside;
mod label;
mod machine;
mod measured;
mod options;
mod piece;
mod pulled;
mod rtla;
mod section;
mod sentences;
mod server;
mod soon;
mod spans;
mod stall;
mod tasks;
mod timeline;
mod timerlat;
mod tracers;
mod vectors;
mod victim;
mod view;
mod waiting;
mod waits;
mod wakeups;
mod walk;

pub use activity::Activity;
pub use collect::groups;
pub use cycle::{Closed, Culprit, Delay, Given, Released};
pub use options::{ExplainOptions, Facts, Measured, Victims};
pub use timeline::{Timelines, timelines};

use collect::WorstVictims;
use cycle::Cycles;
use findings::{Findings, NOISE};
use label::Tally;
use machine::{End, Machine, Window};
use punctual_model::{Explanation, Link, Victim};
use punctual_trace::{Comm, Event, Kind, LatencyHeader, Source, TraceInfo};
use punctual_units::Arrange;
use soon::Soon;
use tracers::Tracers;
use view::View;
use waiting::Waiting;
use walk::Walk;

/// Maximum number of pieces examined, initially and per event, which limits the time for a crafted trace.
const WORK: u64 = 50_000_000;
const WORK_PER_EVENT: u64 = 64;
/// Latency in ns below which a wakeup is not what a trace was recorded for, if the trace has much longer delays.
const SHORT: u64 = 50_000;
/// A delay that is this many times as long as the worst wakeup comes before it.
const LONG: u64 = 100;
/// Maximum time from an event to its stack, ns.
const STACK: u64 = 200_000;

/// Explains a trace event by event, in bounded memory.
#[derive(Debug)]
pub struct Attribution {
    options: ExplainOptions,
    /// [`Facts::throttled`] as given by the caller. It is restored after each trace, since a log line of one trace does
    /// not apply to the next.
    throttled: Option<bool>,
    machine: Machine,
    /// Victims by rank: threads of a measuring tool, other real-time threads, and all threads.
    ranks: [WorstVictims; 3],
    tracers: Tracers,
    findings: Findings,
    cycles: Cycles,
    pending: measured::Pending,
    work: u64,
    /// Number of wakeups not examined because the work limit was reached.
    unwalked: u64,
    /// The thread of a wakeup tracer's header, and its latency if that may extend beyond the switch to it, ns.
    subject: Option<(i32, Option<u64>)>,
    /// The thread of the header, if it got the CPU long before the latency in the header had elapsed.
    soon: Option<Soon>,
    /// Time of the first event of the trace, ns.
    began: Option<u64>,
    /// True if that event is one of the idle task.
    idle_at_first: bool,
    /// Wakeups whose stack may still follow.
    awaited: Vec<Window>,
    /// A thread that was woken and not seen to run before a trace ended.
    waits: Option<Waiting>,
    /// The thread with the longest wait among those that were not requested: tid, name and wait, ns.
    other: Option<(i32, Option<Comm>, u64)>,
    behind: Option<Behind>,
}

/// The longest wait that led to a wakeup of a chosen thread and is not part of its latency.
#[derive(Debug)]
struct Behind {
    ns: u64,
    tid: i32,
    comm: Option<Comm>,
    links: Vec<Link>,
}

impl Attribution {
    pub fn new(options: ExplainOptions) -> Attribution {
        Attribution {
            throttled: options.facts.throttled,
            options,
            machine: Machine::default(),
            ranks: Default::default(),
            tracers: Tracers::default(),
            findings: Findings::default(),
            cycles: Cycles::default(),
            pending: measured::Pending::default(),
            work: WORK,
            unwalked: 0,
            subject: None,
            soon: None,
            began: None,
            idle_at_first: false,
            awaited: Vec::new(),
            waits: None,
            other: None,
            behind: None,
        }
    }

    /// Returns the facts, which may be extended while the trace is recorded.
    pub fn facts(&mut self) -> &mut Facts {
        &mut self.options.facts
    }

    /// Returns the worst wakeup latency of the chosen threads so far, ns.
    pub fn worst_ns(&self) -> Option<u64> {
        self.ranks.iter().take(2).find(|rank| rank.wakeups > 0)?.worst_ns()
    }

    /// Processes an event; `info` is what is known about the trace so far (the kernel release decides between fair
    /// server and throttling).
    pub fn event(&mut self, event: &Event, info: &TraceInfo) {
        self.work = self.work.saturating_add(WORK_PER_EVENT);
        self.tracers.event(event);
        if self.options.measured.is_empty() {
            self.findings.event(event, &self.options, !info.without_cpu);
        }
        if event.t_ns < self.machine.now {
            self.cycles.forget();
        }
        if event.kind == Kind::Restart || event.t_ns < self.machine.now {
            self.conclude(info);
            self.options.facts.throttled = self.throttled;
            self.began = None;
        }
        if event.kind != Kind::Restart && self.began.is_none() {
            (self.began, self.idle_at_first) = (Some(event.t_ns), event.tid == Some(0));
        }
        if let Kind::Print { text } = &event.kind
            && text.contains("RT throttling activated")
        {
            self.options.facts.throttled = Some(true);
        }
        self.machine.line = info.line;
        self.machine.left_out = tracers::left_out(info);
        let header = info.latency.last().filter(|header| header.is_wakeup() != Some(false));
        // The latency tracer of 2.6 measures until the end of the switch.
        let whole = header.filter(|header| header.is_old()).and_then(|header| header.latency_us?.checked_mul(1000));
        self.subject = header.and_then(|header| Some((header.tid?, whole)));
        if self.cycles.is_following() {
            return self.followed(event);
        }
        let window = self.machine.apply(event);
        let window = window.or_else(|| self.machine.began(event, header?));
        if self.options.cycles {
            self.cycle(event, window.is_some());
        }
        if !self.options.measured.is_empty() {
            return self.measured(event, window);
        }
        if !self.awaited.is_empty() {
            self.awaited(event.t_ns);
        }
        let Some(window) = window else { return };
        if self.options.facts.kernel.is_none() {
            self.options.facts.kernel.clone_from(&info.kernel);
        }
        // The stack of the switch follows it, so the window has to wait. Cycles need all events in order.
        match self.machine.seen.stacks > 0 && !self.options.cycles {
            true => self.awaited.push(window),
            false => self.woken_if_chosen(&window),
        }
    }

    /// Ends a trace: wakeups that wait for further events are completed with the available ones.
    fn conclude(&mut self, info: &TraceInfo) {
        if let Some(soon) = &mut self.soon {
            soon.conclude(&self.machine, self.began);
        }
        self.awaited(u64::MAX);
        let window = info.latency.iter().rev().find_map(|header| self.machine.cut(header));
        if let Some(window) = window {
            self.woken_if_chosen(&window);
        }
        let wanted =
            |tid, known: &tasks::Known| choose::rank(&self.options.victims, tid, known.comm, known.prio).is_some();
        let waits = self
            .machine
            .waits(info.format, wanted)
            .and_then(|window| Waiting::of(&self.machine, &self.options.facts, window));
        self.waits = self.waits.take().into_iter().chain(waits).max_by_key(|waits| waits.ns);
    }

    /// Completes wakeups whose switch was some events ago: a stack would have followed by now.
    fn awaited(&mut self, now: u64) {
        let Some(at) = self.awaited.iter().position(|window| now.saturating_sub(window.t3) > STACK) else { return };
        let window = self.awaited.remove(at);
        self.woken_if_chosen(&window);
        self.awaited(now);
    }

    fn woken_if_chosen(&mut self, window: &Window) {
        let named = matches!(self.options.victims, Victims::Tid(_) | Victims::Comm(_));
        let subject = self.subject.filter(|(tid, _)| *tid == window.tid);
        let waited = window.t3 - window.waking.t0;
        if let Some(whole) = subject.and_then(|(_, whole)| whole)
            && let Some(soon) = Soon::new(window, whole, self.began, self.idle_at_first)
        {
            if self.soon.as_ref().is_none_or(|known| soon.whole > known.whole) {
                self.soon = Some(soon);
            }
            return;
        }
        let chosen = choose::rank(&self.options.victims, window.tid, window.comm, window.prio);
        let chosen = chosen.or((subject.is_some() && !named).then_some(1));
        // Wakeups of other threads are ignored if a real-time thread is woken too. The idle task is never woken.
        let any = (self.options.victims == Victims::Measuring && window.tid != 0 && !self.options.cycles).then_some(2);
        let better = |rank: usize| self.ranks.iter().take(rank).all(|rank| rank.wakeups == 0);
        let Some(rank) = chosen.or(any).filter(|rank| better(*rank)) else {
            if window.tid != 0 && self.other.as_ref().is_none_or(|(_, _, longest)| waited > *longest) {
                self.other = Some((window.tid, window.comm, waited));
            }
            return;
        };
        self.woken(window, rank);
    }

    fn woken(&mut self, window: &Window, rank: usize) {
        let latency = window.t3 - window.waking.t0;
        let tally = self.walk(window);
        self.behind(window, rank);
        let Some(worst) = self.ranks.get_mut(rank) else { return };
        worst.wakeups += 1;
        let unseen = victim::is_unseen(&self.machine, window).then(collect::Key::unseen);
        if let Some(key) = unseen.or_else(|| collect::key(&tally)) {
            worst.count(latency, window.waking.t0, key);
        }
        if worst.wants(latency, self.options.most) {
            let mut victim = victim::new(&self.machine, window, &self.options.facts, &tally, None);
            victim.chain = chain::within(&self.machine, &self.options.facts, window, &mut self.work);
            let header = self.subject.filter(|(tid, _)| *tid == window.tid).and_then(|(_, whole)| whole);
            victim.doubts.extend(header.and_then(|header| sentences::longer(header, latency)));
            worst.keep(victim, self.options.most);
        }
        if self.options.cycles {
            self.cycles.woken(&self.machine, &self.options.facts, self.options.most, window, tally);
        }
    }

    fn behind(&mut self, window: &Window, rank: usize) {
        let waits = chain::steps(window).map(|step| step.wait.to - step.wait.from);
        // Among all real-time threads, most such waits are those of kernel threads for each other.
        let asked = rank == 0 && self.options.victims != Victims::AllRealTime;
        let Some(ns) = waits.max().filter(|_| asked && window.waking.t0 == window.waking.t2) else { return };
        if self.behind.as_ref().is_none_or(|known| ns > known.ns) {
            let links = chain::within(&self.machine, &self.options.facts, window, &mut self.work);
            self.behind = Some(Behind { ns, tid: window.tid, comm: window.comm, links });
        }
    }

    fn measured(&mut self, event: &Event, window: Option<Window>) {
        if event.kind == Kind::Restart {
            self.pending.forget();
        }
        if let Some(window) = window {
            self.pending.woken(&self.options, window);
        }
        self.measured_until(event.t_ns);
    }

    fn measured_until(&mut self, now: u64) {
        for (measured, window) in self.pending.ended(now) {
            let facts = &self.options.facts;
            let (tally, steps) = measured::walk(&self.machine, &window, facts, measured.woke_ns);
            self.work = self.work.saturating_sub(steps);
            let mut victim = victim::new(&self.machine, &window, facts, &tally, Some(measured.woke_ns));
            victim.chain = chain::within(&self.machine, facts, &window, &mut self.work);
            let worst = &mut self.ranks[0];
            worst.wakeups += 1;
            if let Some(key) = collect::key(&tally) {
                worst.count(victim.latency_ns, window.waking.t0, key);
            }
            if worst.wants(victim.latency_ns, self.options.most) {
                worst.keep(victim, self.options.most);
            }
        }
    }

    fn cycle(&mut self, event: &Event, woken: bool) {
        match &event.kind {
            Kind::Restart | Kind::LostEvents { .. } => self.cycles.forget(),
            Kind::SchedSwitch { prev, prev_state, next } => {
                self.cycles.out(&self.machine, prev.tid, event.t_ns, event.cpu, *prev_state);
                if !woken {
                    let facts = &self.options.facts;
                    let steps = self.cycles.back(&self.machine, facts, next.tid, event.t_ns, event.cpu, End::Switch);
                    self.work = self.work.saturating_sub(steps);
                }
            }
            _ => {}
        }
    }

    fn walk(&mut self, window: &Window) -> Tally {
        let mut walk = Walk::new(View { machine: &self.machine, window, facts: &self.options.facts });
        if self.work == 0 {
            walk.give_up();
            self.unwalked += 1;
        } else {
            walk.run();
        }
        self.work = self.work.saturating_sub(walk.steps);
        walk.tally
    }

    /// Returns the result; `info` describes the trace after its last event.
    pub fn finish(mut self, info: &TraceInfo) -> Explanation {
        self.measured_until(u64::MAX);
        self.conclude(info);
        let fallback = self.ranks.iter().position(|rank| rank.wakeups > 0).unwrap_or(1);
        let [first, second, third] = self.ranks;
        let worst = [first, second, third].into_iter().nth(fallback).unwrap_or_default();
        let wakeups = worst.wakeups;
        let machine = &self.machine;
        let (mut victims, mut groups) = worst.finish(self.options.threshold_ns, |what| sentences::busy(machine, what));
        let soon = self.soon.filter(|soon| victims.first().is_none_or(|victim| victim.latency_ns < soon.whole));
        let woken = |header: &LatencyHeader| {
            let soon = soon.as_ref().filter(|soon| soon.is_of(header)).map(Some);
            soon.or(victims.iter().any(|victim| victim.tid == header.tid).then_some(None))
        };
        let (mut analysed, mut tracers) = self.tracers.finish(info, &self.options.facts, machine, woken);
        // The verdict on another trace of the same text follows it.
        let switched = tracers.switched.take_if(|_| !victims.is_empty());
        tracers.answer = tracers.answer.or(tracers.switched.take());
        let better =
            !analysed.is_empty() || tracers.answer.is_some() || tracers.bare.is_some() || self.findings.is_strong();
        if fallback == 2 && better {
            (victims, groups) = (Vec::new(), Vec::new());
        }
        analysed.extend(tracers.bare.filter(|_| victims.is_empty() && analysed.is_empty()));
        let followed = wakeups > 0 || tracers.answer.is_some() || !analysed.is_empty();
        let mut notes = tracers::notes(machine, info, wakeups, followed, self.other);
        let worst = victims.first().map_or(0, |victim| victim.latency_ns);
        let facts = &self.options.facts;
        let ordinary = || (fallback == 2).then(|| Waiting::ordinary(machine, facts, info.format)).flatten();
        let waits = self.waits.or_else(ordinary).filter(|waits| waits.ns > worst.max(sentences::SWITCH));
        notes.extend(waits.iter().map(|waits| waits.text.clone()));
        notes.extend(tracers::left_on(&self.options.facts));
        let chosen_rank = |tid, known: &tasks::Known| choose::rank(&self.options.victims, tid, known.comm, known.prio);
        let locked_out = machine.locked_out(|tid, known| chosen_rank(tid, known).is_some());
        notes.extend(locked_out.map(|asleep| tracers::locked_out(machine, &self.options.facts, &asleep)));
        notes.extend(self.behind.and_then(|behind| tracers::behind(&behind, &victims)));
        let mut chosen = tracers::chosen(&self.options.victims, fallback);
        if self.unwalked > 0 {
            notes.push(format!(
                "{} wakeups were not followed: the work limit, which guards against crafted traces, was reached",
                self.unwalked
            ));
        }
        if self.options.victims == Victims::Measuring && !analysed.is_empty() {
            if wakeups == 0 {
                "timerlat's threads, from its own lines and rtla's".clone_into(&mut chosen);
            }
            victims.extend(analysed);
        }
        victims.arrange_by_key(|v| std::cmp::Reverse(v.latency_ns));
        victims.truncate(self.options.most);
        if info.without_cpu {
            let one = machine.cpus().all(|(_, cpu)| cpu.doubtful.iter().all(|odd| odd.what != cpu::Odd::Current));
            victims.iter_mut().for_each(|victim| victim::without_cpu(victim, one));
        }
        let doubt = |victim: &Victim| tracers::doubt(machine, info, victim.moments.is_some());
        let model = info.latency.iter().rev().find_map(|header| header.preemption.as_deref());
        for victim in &mut victims {
            victim::unpreempted(victim, model.unwrap_or_default());
            victim::learned(victim, machine, &self.options.facts);
            cost::function_tracer(victim, machine, info);
            let doubt = doubt(victim);
            victim::conclude(victim, doubt.as_deref(), machine.clock.step(), info.claimed.as_ref());
        }
        let cycles = self.cycles.finish();
        // Even the worst one is no longer than an ordinary wakeup.
        if let Some(first) = victims.first_mut().filter(|first| first.latency_ns <= SHORT) {
            let ordinary = fallback == 2;
            if let Some((ns, text)) = self.findings.beside(worst, ordinary) {
                match ordinary || ns / LONG > worst {
                    true => first.verdict.insert_str(0, &format!("{text}; of the wakeups: ")),
                    false => first.verdict += &format!("; {text}"),
                }
            }
        }
        if let (Some(first), Some(waits)) = (victims.first_mut(), waits.as_ref().filter(|waits| waits.ns > 2 * worst)) {
            first.verdict = format!("{}; of those that ran: {}", waits.text, first.verdict);
        }
        let ordinary = self.options.victims == Victims::Measuring && fallback == 2;
        if let Some(first) = victims.first_mut().filter(|first| ordinary && wakeups > 0 && first.moments.is_some()) {
            first.verdict.insert_str(
                0,
                "no whole wakeup of a real-time thread, apart from migration/N, is in the trace; of others: ",
            );
        }
        if let (Some(first), Some(switched)) = (victims.first_mut(), switched) {
            first.verdict = format!("{switched}; of the other traces here: {}", first.verdict);
        }
        let none = victims.is_empty();
        let asked = self.options.victims != Victims::Measuring;
        let missing = notes.first().filter(|_| none && !followed).cloned();
        let with_missing = |text: String| match missing.filter(|_| !text.ends_with("is not recorded")) {
            Some(missing) => format!("{text}; {missing}"),
            None => text,
        };
        let others = || {
            if asked {
                let own = || self.findings.of_chosen().map(str::to_owned);
                return waits.map(|waits| waits.text).or_else(own);
            }
            let any = || Waiting::of(machine, &self.options.facts, machine.waits(info.format, |_, _| true)?);
            let waits = waits.or_else(any).filter(|waits| waits.ns > 0).map(|waits| (waits.ns, waits.text));
            let log = || info.log.first().map(|log| format!("the kernel's log: {log}"));
            let stated = self.findings.stated().map(|stated| match info.without_workload {
                true => {
                    stated.replacen(NOISE, "osnoise without its workload, so these are run times: the longest is", 1)
                }
                false => stated.to_owned(),
            });
            let delays = || self.findings.delays(&self.options, !info.without_cpu, waits).map(with_missing);
            let bare = || self.findings.bare(!info.without_cpu);
            stated.or_else(delays).or_else(log).or(tracers.cut).or_else(bare)
        };
        let lost = self.findings.beside(0, false).filter(|_| tracers.marks).map(|(_, lost)| format!("; {lost}"));
        let noise = |answer: &String| answer.starts_with("osnoise: ").then(|| self.findings.noise()).flatten();
        let marked = tracers.answer.filter(|_| none).map(|answer| {
            let noise = noise(&answer).map(|noise| format!("; {noise}"));
            answer + &noise.or(lost).unwrap_or_default()
        });
        let answer = marked.or_else(|| if none { others() } else { None });
        if let Some(covered) =
            self.findings.covered(&self.options, !info.without_cpu).filter(|_| none && answer.is_none() && !asked)
            && let Some(first) = notes.first_mut().filter(|_| !followed)
        {
            first.insert_str(0, &format!("{covered}; "));
        }
        if answer.is_some() {
            notes.retain(|note| answer.as_ref().is_some_and(|answer| !answer.contains(note.as_str())));
        }
        if let Some(answer) = &answer {
            // The answer repeats it, with more.
            tracers.said.retain(|said| said == answer || !answer.starts_with(said.as_str()));
        }
        let moments = Vec::new();
        Explanation { victims, groups, moments, cycles, wakeups, chosen, notes, answer, tracers: tracers.said }
    }
}

pub fn explain(source: &mut dyn Source, options: ExplainOptions) -> Explanation {
    let mut attribution = Attribution::new(options);
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    attribution.finish(source.info())
}
