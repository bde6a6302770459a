//! Summarises latency tracers, and reports what is missing or doubtful about the whole trace.

mod gaps;
mod graph;
mod hwlat;
mod interrupts;
mod off;

use super::machine::{Machine, Window};
use super::timerlat::Timerlats;
use super::waits::LockedOut;
use super::{Behind, Facts, Soon, Victims, chain, choose, rtla};
use graph::graph;
use hwlat::Gaps;
use punctual_model::{Link, Scheduled, Victim};
use punctual_trace::{
    Comm, Damage, Event, Kind, LatencyHeader, Noises, Note, Place, Symbol, TimeBase, TraceInfo, worst_noise,
};
use punctual_units::{Arrange, Nanos};
use std::collections::BTreeMap;

const CPUS: usize = 1024;

/// Summary of the lines of the timerlat, osnoise and hwlat tracers.
#[derive(Debug, Default)]
pub(super) struct Tracers {
    timerlat: Timerlats,
    hwlat: Gaps,
    /// Flags of the first event of the last trace: interrupts off, preemption off.
    first: Option<(bool, bool)>,
    /// True if lines of another trace, or lines that are out of order, precede the last ones.
    restarted: bool,
    /// The last stack in the trace.
    stack: Box<[Symbol]>,
    /// Number of osnoise's periods; `osnoise` contains what it counted on each CPU.
    periods: u64,
    osnoise: BTreeMap<u32, Noises>,
}

impl Tracers {
    pub fn event(&mut self, event: &Event) {
        if event.kind == Kind::Restart {
            (self.first, self.stack, self.restarted) = (None, Box::default(), true);
        } else if self.first.is_none()
            && let Some((Some(irqs_off), Some(depth))) = event.flags.map(|flags| (flags.irqs_off, flags.preempt_depth))
        {
            self.first = Some((irqs_off, depth > 0));
        }
        if let Kind::Stack { frames } = &event.kind {
            self.stack.clone_from(frames);
        }
        match &event.kind {
            Kind::Timerlat { .. } | Kind::Noise { .. } | Kind::Stack { .. } | Kind::Restart => {
                self.timerlat.event(event)
            }
            Kind::Hwlat { inner_us, outer_us, nmi_count, .. } => {
                self.hwlat.add(event.cpu, (*inner_us).max(*outer_us), nmi_count.unwrap_or(0));
            }
            Kind::Osnoise(sample) => {
                self.periods += 1;
                if self.osnoise.len() < CPUS || self.osnoise.contains_key(&event.cpu) {
                    self.osnoise.entry(event.cpu).or_default().add(sample);
                }
            }
            _ => {}
        }
    }

    /// Returns victims that rtla and timerlat analysed, and the sentences. `woken` is the thread whose wakeup is in the
    /// trace, and how soon it got the CPU if that was long before the latency in the header had elapsed.
    pub fn finish<'s>(
        self,
        info: &TraceInfo,
        facts: &Facts,
        machine: &Machine,
        woken: impl for<'h> Fn(&'h LatencyHeader) -> Option<Option<&'s Soon>>,
    ) -> (Vec<Victim>, Said) {
        let soon = |header: &LatencyHeader| woken(header)?;
        let woken_at_end = |header: &LatencyHeader| soon(header).filter(|soon| soon.is_after).map(|soon| soon.waited);
        let is_wakeup = |header: &LatencyHeader| {
            header.is_wakeup().or_else(|| woken(header).map(|_| woken_at_end(header).is_none()))
        };
        let (wakeups, sections): (Vec<_>, Vec<_>) =
            info.latency.iter().rev().enumerate().partition(|(_, header)| is_wakeup(header) == Some(true));
        let mut said: Vec<String> = wakeups.iter().rev().filter_map(|(_, header)| wakeup(header)).collect();
        let switched = wakeups.iter().find_map(|(_, header)| soon(header).filter(|soon| !soon.is_after)?.said(header));
        let cut = wakeups.last().and_then(|(_, header)| fact(header));
        let cut = cut.map(|fact| {
            // In these tracers time starts at the wakeup.
            let last = (info.time == TimeBase::Relative && machine.now > 0).then_some(Nanos(machine.now));
            let last = last.map(|last| format!("; the last line is {last} after its start")).unwrap_or_default();
            format!("{fact}: the lines do not show that wakeup from waking to running{last}")
        });
        let mut sections: Vec<(u64, String)> = sections
            .into_iter()
            .filter_map(|(n, header)| {
                // The functions belong to the last trace.
                off::said(header, (n == 0).then_some((machine, &self, off::omitted(info))), woken_at_end(header))
            })
            .collect();
        sections.arrange_by_key(|(latency, _)| std::cmp::Reverse(*latency));
        let answers = said.len();
        said.extend(sections.into_iter().map(|(_, text)| text));
        said.extend(self.hwlat.said());
        if let Some(worst) = worst_noise(&self.osnoise) {
            said.push(format!("osnoise: in {} periods {worst}", self.periods));
        }
        if let Some(call) = &info.longest_call {
            said.push(graph(call));
        }
        let answer = said.get(answers).cloned();
        said.extend(self.timerlat.said());
        said.extend(info.log.iter().map(|log| format!("the kernel's log: {log}")));
        let mut victims: Vec<Victim> = info.rtla.iter().filter_map(|analysis| rtla::victim(analysis, facts)).collect();
        let timerlat = self.timerlat.victim(facts, machine.clock.step());
        let bare = self.timerlat.is_bare();
        let (bare, full) = if bare { (timerlat, None) } else { (None, timerlat) };
        victims.extend(full);
        (victims, Said { said, answer, switched, cut, bare, marks: off::has_marks(machine) })
    }
}

/// The sentences of the tracers, and the first one that can be the answer for a trace without a wakeup.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub said: Vec<String>,
    pub answer: Option<String>,
    /// Sentence about a thread that got the CPU long before its header's latency had elapsed.
    pub switched: Option<String>,
    /// Sentence about the wakeup of a wakeup tracer's header, if the trace contains only part of it.
    pub cut: Option<String>,
    /// timerlat's worst wakeup, if only its own lines report it.
    pub bare: Option<Victim>,
    /// True if the traced span lies between two marks of a program.
    pub marks: bool,
}

/// Formats the task of a header: the late thread, or the thread that executed the section.
fn who(header: &LatencyHeader) -> String {
    if header.tid == Some(0) && header.task.is_none() {
        return "the idle task".to_owned();
    }
    let comm = header.task.map_or_else(|| "a task".to_owned(), |comm| comm.to_string());
    let prio = header.rt_prio.filter(|prio| *prio > 0).map(|prio| match header.policy {
        Some(1) => format!("FIFO {prio}, "),
        Some(2) => format!("RR {prio}, "),
        _ => format!("RT {prio}, "),
    });
    let tid = header.tid.map(|tid| format!(" ({}pid {tid})", prio.unwrap_or_default())).unwrap_or_default();
    format!("{comm}{tid}")
}

/// Returns latency and CPU of a header.
fn figure(header: &LatencyHeader) -> Option<(u64, String)> {
    let cpu = header.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    Some((header.latency_us?.saturating_mul(1000), cpu))
}

pub(super) fn fact(header: &LatencyHeader) -> Option<String> {
    let tracer = header.tracer.as_deref()?;
    let (latency, cpu) = figure(header)?;
    Some(format!("{tracer}: longest wakeup {}, of {}{cpu}", Nanos(latency), who(header)))
}

fn wakeup(header: &LatencyHeader) -> Option<String> {
    let said = fact(header)?;
    if header.is_old() {
        return Some(said);
    }
    Some(format!(
        "{said}. This tracer cannot see a hog that is already running: it ignores wakeups while the current thread has the same or a \
         higher priority. Record sched_switch, sched_waking, hrtimer and irq events instead"
    ))
}

/// Describes the selected threads; `rank` is the rank of the followed threads ([`super::choose::rank`]).
pub(super) fn chosen(victims: &Victims, rank: usize) -> String {
    match victims {
        Victims::Measuring if rank > 1 => {
            "all threads (the trace has no whole wakeup of a real-time thread other than migration/N)".to_owned()
        }
        Victims::Measuring if rank > 0 => "all real-time threads (no known measuring tool in the trace)".to_owned(),
        Victims::Measuring => "threads of a measuring tool with real-time priority".to_owned(),
        Victims::AllRealTime => "all real-time threads".to_owned(),
        Victims::Tid(tid) => format!("thread {tid}"),
        Victims::Comm(comm) => format!("threads named {comm}"),
    }
}

/// Lists what the trace as a whole does not show.
pub(super) fn notes(
    machine: &Machine,
    info: &TraceInfo,
    wakeups: u64,
    answered: bool,
    other: Option<(i32, Option<Comm>, u64)>,
) -> Vec<String> {
    let seen = &machine.seen;
    let mut notes = Vec::new();
    if !answered && info.rtla.is_empty() {
        let missing = match (seen.switches, seen.wakings) {
            (0, 0) if info.untimed > 0 => {
                "the lines of function_graph have no absolute times, so they cannot be related to a wakeup: record with \
                 funcgraph-abstime (echo 1 > /sys/kernel/tracing/options/funcgraph-abstime)"
            }
            (0, _) => "no sched_switch events were read: delays cannot be explained",
            (_, 0) => "no sched_waking or sched_wakeup events were read: the times of wakeups are unknown",
            _ => "no wakeup of the chosen threads is in the trace from waking to running",
        };
        notes.push(missing.to_owned());
        if let Some((tid, comm, waited)) = other {
            let who = Scheduled::default().thread(comm.map(|comm| comm.to_string()).as_deref(), Some(tid));
            let waited = Nanos(waited);
            notes.push(format!("the longest wait of another thread is {waited}, of {who}: --task {tid} explains it"));
        }
    }
    if wakeups > 0 && seen.expiries == 0 {
        notes.push(
            "no hrtimer events: time before sched_waking is not observed (record hrtimer_start, hrtimer_expire_entry)"
                .into(),
        );
    }
    if wakeups > 0 && seen.interrupts == 0 {
        notes.push(
            "no interrupt events: their time is attributed to the interrupted task (record irq_vectors, irq)".into(),
        );
    }
    if let Some((line, ns)) = info.went_back {
        notes.push(format!(
            "time goes back by {} at line {line}: what follows is treated as another trace, and pending wakeups before it are dropped",
            Nanos(ns)
        ));
    }
    if machine.strange_cpus {
        notes.push("events with impossible CPU numbers were omitted".into());
    }
    notes
}

/// Describes a thread that was woken and did not run before the trace ended.
pub(super) fn waits(facts: &Facts, window: &Window, ns: u64, cause: Option<String>) -> String {
    let comm = window.comm.map(|comm| comm.to_string());
    let who = choose::scheduled(facts, window.tid, window.prio).thread(comm.as_deref(), Some(window.tid));
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{who} was woken but had not run when the trace ended, for {} at least{cause}", Nanos(ns))
}

/// Describes a thread that is sleeping, waiting for a lock, when the trace ends.
pub(super) fn locked_out(machine: &Machine, facts: &Facts, asleep: &LockedOut) -> String {
    let comm = asleep.comm.map(|comm| comm.to_string());
    let who = Scheduled::default().thread(comm.as_deref(), Some(asleep.tid));
    let lock = chain::held(machine, facts, asleep.lock, asleep.owner, asleep.owner);
    format!("{who} waits for {lock}, for {} at least, until the trace ends", Nanos(asleep.waited))
}

/// Reports what the chains of the worst wakeups do not show.
pub(super) fn behind(behind: &Behind, victims: &[Victim]) -> Option<String> {
    let is_known = |link: &Link| victims.iter().any(|victim| victim.chain.contains(link));
    if behind.links.is_empty() || behind.links.iter().any(is_known) {
        return None;
    }
    let who = Scheduled::default().thread(behind.comm.map(|comm| comm.to_string()).as_deref(), Some(behind.tid));
    let links: Vec<String> = behind.links.iter().map(Link::text).collect();
    Some(format!("the longest wait that led to a wakeup of {who}, not part of its latency: {}", links.join("; ")))
}

/// Reports a tracer that was on while this trace was recorded.
pub(super) fn left_on(facts: &Facts) -> Option<String> {
    let tracer = facts.tracer.as_deref().filter(|tracer| *tracer != "nop")?;
    Some(format!(
        "the tracer `{tracer}` was on: everything the kernel does took longer, interrupts and leaving idle above all \
         (echo nop > /sys/kernel/tracing/current_tracer)"
    ))
}

pub(super) const INCOMPLETE: &str = "the trace is not complete";

/// True if the last events that are missing were left out of the text, not lost by the kernel.
pub(super) fn left_out(info: &TraceInfo) -> bool {
    let missing = |note: &&Note| matches!(note.what, Damage::Omitted { .. } | Damage::Lost { .. });
    info.notes.iter().rev().find(missing).is_some_and(|note| matches!(note.what, Damage::Omitted { .. }))
}

/// Returns the reason why every cause in this trace is at most suspected. `timed`: lines that are left out count only
/// where they are, as for a wakeup whose lines have times.
pub(super) fn doubt(machine: &Machine, info: &TraceInfo, timed: bool) -> Option<String> {
    let elsewhere = |note: &Note| timed && matches!((&note.what, note.place), (Damage::Omitted { .. }, Place::Line(_)));
    if let Some(note) = info.notes.iter().find(|note| spoils(&note.what) && !elsewhere(note)) {
        return Some(format!("{INCOMPLETE} ({})", damage(&note.what)));
    }
    if info.notes_dropped > 0 {
        return Some("the trace is damaged in many places".to_owned());
    }
    if info.without_cpu {
        return Some("the lines do not say on which CPU events were".to_owned());
    }
    let clock = info.clock.as_deref();
    if info.time == TimeBase::Ticks {
        return Some("the trace's clock counts ticks of unknown length".to_owned());
    }
    if let Some(clock) = clock.filter(|clock| !matches!(*clock, "mono" | "boot")) {
        return Some(format!(
            "the trace's clock is {clock}, not mono: times of CPUs and timers cannot be compared exactly"
        ));
    }
    let seen = &machine.seen;
    if let Some(step) = machine.clock.step() {
        return Some(format!("the trace's clock has a resolution of {}: shorter times are not measured", Nanos(step)));
    }
    (seen.expiries > 0 && seen.same_clock == 0)
        .then(|| "the trace's clock is not the clock of the timers (record with trace_clock=mono)".to_owned())
}

fn spoils(damage: &Damage) -> bool {
    // A truncated last line comes after everything else, lost events have their place in time, and repaired lines were
    // read.
    !matches!(
        damage,
        Damage::Truncated { inside: "the last line" }
            | Damage::Repaired { .. }
            | Damage::Unsupported { .. }
            | Damage::TimeWentBack
            | Damage::Lost { .. }
    )
}

fn damage(damage: &Damage) -> String {
    match damage {
        Damage::Truncated { inside } => format!("it ends inside {inside}"),
        Damage::Corrupt { what } => format!("damaged: {what}"),
        Damage::LimitReached { what } => format!("a limit was reached: {what}"),
        Damage::Incomplete { event } => format!("an incomplete {event}"),
        Damage::MissingFormat { id } => format!("the format of event {id} is missing"),
        Damage::Omitted { text } => text.clone(),
        other => format!("{other:?}"),
    }
}
