//! Summaries of latency tracers, and what is missing or doubtful about the whole trace.

use super::machine::Machine;
use super::timerlat::Timerlats;
use super::waits::LockedOut;
use super::{Behind, Facts, Victims, chain, rtla, section};
use punctual_model::{Link, Scheduled, Victim};
use punctual_trace::{Call, Comm, Damage, Event, Kind, LatencyHeader, Symbol, TimeBase, TraceInfo};
use punctual_units::{Arrange, Nanos};

/// Lines of the timerlat, osnoise and hwlat tracers, summed up.
#[derive(Debug, Default)]
pub(super) struct Tracers {
    timerlat: Timerlats,
    /// Gaps, the longest in µs, its CPU, and NMIs in them.
    hwlat: Option<(u64, u64, u32, u64)>,
    /// Of the first event of the last trace: interrupts and preemption off, by its flags.
    first: Option<(bool, bool)>,
    /// The last stack.
    stack: Box<[Symbol]>,
    /// Periods, the longest single noise in µs, its CPU, noise by hardware.
    osnoise: Option<(u64, u64, u32, u64)>,
}

impl Tracers {
    pub fn event(&mut self, event: &Event) {
        if event.kind == Kind::Restart {
            (self.first, self.stack) = (None, Box::default());
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
                let (gaps, longest, cpu, nmis) = self.hwlat.unwrap_or_default();
                let here = (*inner_us).max(*outer_us);
                let cpu = if here > longest { event.cpu } else { cpu };
                self.hwlat = Some((gaps + 1, longest.max(here), cpu, nmis + u64::from(nmi_count.unwrap_or(0))));
            }
            Kind::Osnoise(sample) => {
                let (periods, longest, cpu, hardware) = self.osnoise.unwrap_or_default();
                let cpu = if sample.max_sample_us > longest { event.cpu } else { cpu };
                let hardware = hardware.saturating_add(sample.hw_count);
                self.osnoise = Some((periods + 1, longest.max(sample.max_sample_us), cpu, hardware));
            }
            _ => {}
        }
    }

    /// Victims that rtla and timerlat analysed, and the sentences.
    pub fn finish(self, info: &TraceInfo, facts: &Facts, machine: &Machine) -> (Vec<Victim>, Said) {
        let mut said: Vec<String> = info.latency.iter().filter_map(wakeup).collect();
        let mut sections: Vec<(u64, String)> = info
            .latency
            .iter()
            .rev()
            .enumerate()
            .filter_map(|(n, header)| {
                // The functions are those of the last trace.
                off(header, (n == 0).then_some((machine, &self)))
            })
            .collect();
        sections.arrange_by_key(|(latency, _)| std::cmp::Reverse(*latency));
        let answers = said.len();
        said.extend(sections.into_iter().map(|(_, text)| text));
        if let Some((gaps, longest, cpu, nmis)) = self.hwlat {
            let nmis = if nmis > 0 { format!(", with {nmis} NMIs in them") } else { String::new() };
            let longest = Nanos(longest.saturating_mul(1000));
            let gaps = if gaps == 1 { "1 gap".to_owned() } else { format!("{gaps} gaps") };
            said.push(format!(
                "hwlat: {gaps} in which the hardware stopped a CPU with interrupts off, no task is to blame: the longest {longest} on CPU \
                 {cpu}{nmis}; what stopped it is not known from here (firmware (SMI), the host of a guest, a bus or memory that stalls)"
            ));
        }
        if let Some((periods, longest, cpu, hardware)) = self.osnoise {
            let longest = Nanos(longest.saturating_mul(1000));
            said.push(format!(
                "osnoise: longest single noise {longest} on CPU {cpu} in {periods} periods; {hardware} noises came from hardware or \
                 a hypervisor"
            ));
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
        (victims, Said { said, answer, bare })
    }
}

/// The sentences of the tracers, and the first one that answers without a wakeup.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub said: Vec<String>,
    pub answer: Option<String>,
    /// timerlat's worst, of which only its own lines tell.
    pub bare: Option<Victim>,
}

/// The task of a header: who was late, or had the section.
fn who(header: &LatencyHeader) -> String {
    let comm = header.task.map_or_else(|| "a task".to_owned(), |comm| comm.to_string());
    let prio = header.rt_prio.filter(|prio| *prio > 0).map(|prio| match header.policy {
        Some(1) => format!("FIFO {prio}, "),
        Some(2) => format!("RR {prio}, "),
        _ => format!("RT {prio}, "),
    });
    let tid = header.tid.map(|tid| format!(" ({}pid {tid})", prio.unwrap_or_default())).unwrap_or_default();
    format!("{comm}{tid}")
}

/// Latency and CPU of a header.
fn figure(header: &LatencyHeader) -> Option<(u64, String)> {
    let cpu = header.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    Some((header.latency_us?.saturating_mul(1000), cpu))
}

fn wakeup(header: &LatencyHeader) -> Option<String> {
    let tracer = header.tracer.as_deref().filter(|tracer| tracer.starts_with("wakeup"))?;
    let (latency, cpu) = figure(header)?;
    Some(format!(
        "{tracer}: longest wakeup {}, of {}{cpu}. This tracer cannot see a hog that is already running: it ignores wakeups while the \
         current thread has the same or a higher priority. Record sched_switch, sched_waking, hrtimer and irq events instead",
        Nanos(latency),
        who(header)
    ))
}

/// irqsoff, preemptoff and preemptirqsoff: the section, by its ends and by the functions in it.
fn off(header: &LatencyHeader, seen: Option<(&Machine, &Tracers)>) -> Option<(u64, String)> {
    let tracer = header.tracer.as_deref()?;
    let (machine, seen) = seen.unzip();
    let what = match tracer {
        "irqsoff" => "interrupts off for",
        "preemptoff" => "preemption off for",
        "preemptirqsoff" => match seen.and_then(|seen| seen.first) {
            Some((true, false)) => "interrupts off for",
            Some((false, true)) => "preemption off for",
            _ => "interrupts or preemption off for",
        },
        // Up to 2.6.22 of the -rt patches and in v1.0.3 all tracers have this name.
        "preemption" if header.started_at.is_some() => "interrupts or preemption off for",
        "preemption" => "a latency of",
        _ => return None,
    };
    let (latency, cpu) = figure(header)?;
    let cpus = machine.into_iter().flat_map(Machine::cpus).filter(|(n, _)| header.cpu.is_none_or(|cpu| cpu == *n));
    let inside = cpus.clone().fold((0, 0), |(hard, soft), (_, cpu)| (hard + cpu.in_hard, soft + cpu.in_soft));
    let inside = match inside {
        (hard, _) if hard > latency / 2 => format!(", {} of it in interrupts", Nanos(hard.min(latency))),
        (_, soft) if soft > latency / 2 => format!(", {} of it in softirqs", Nanos(soft.min(latency))),
        _ => String::new(),
    };
    let sections = cpus.flat_map(|(_, cpu)| &cpu.sections);
    let longest = sections.max_by_key(|section| section.to - section.from);
    let place = longest.filter(|section| (section.to - section.from) * 2 > latency);
    let place = place.map(|section| format!(", most of it {}", section.place)).unwrap_or_default();
    let ends = header.started_at.as_deref().zip(header.ended_at.as_deref());
    let ends = ends.map(|(from, to)| format!(", from {from} to {to}")).unwrap_or_default();
    let idle = |at: &Option<String>| at.as_deref().is_some_and(|at| at.contains("idle"));
    let stack = seen.map(|seen| called(&seen.stack, header)).unwrap_or_default();
    let (latency_ns, who) = (Nanos(latency), who(header));
    if header.tid == Some(0) && idle(&header.started_at) && idle(&header.ended_at) {
        let text = format!(
            "{tracer}: {what} {latency_ns}{cpu} in the idle loop{ends}: the CPU waits there for an interrupt, which wakes it, so this is idle \
             time most likely and delayed nobody"
        );
        return Some((latency, text));
    }
    // A wakeup's latency has the same header, with the thread that was woken (kernel/latency_trace.c of the -rt patches,
    // check_wakeup_timing).
    let text = match tracer == "preemption" && header.started_at.is_none() {
        true => format!(
            "{tracer}: {what} {latency_ns}{cpu}{inside}{place}; {who} was woken so late, or had interrupts or preemption off so long: the header \
             does not tell which, and the first column names who ran"
        ),
        false => format!(
            "{tracer}: {what} {latency_ns}{cpu}{inside}, while {who} was current{place}{ends}{stack}; whom it delayed is not recorded"
        ),
    };
    Some((latency, text))
}

/// The callers of a section, by the stack at its end.
fn called(stack: &[Symbol], header: &LatencyHeader) -> String {
    const MOST: usize = 4;
    let end = header.ended_at.as_deref().map(section::bare).unwrap_or_default();
    let names = stack.iter().filter_map(section::name).map(section::bare);
    let callers: Vec<String> = names.skip_while(|name| name.contains("trace") || *name == end).take(MOST).collect();
    if callers.is_empty() { String::new() } else { format!(", called by {}", callers.join(" ← ")) }
}

/// The longest call of function_graph, and where in it the time went.
fn graph(call: &Call) -> String {
    let who =
        call.tid.map(|tid| Scheduled::default().thread(call.comm.map(|comm| comm.to_string()).as_deref(), Some(tid)));
    let who = who.map(|who| format!(", in {who}")).unwrap_or_default();
    let wanted = if call.need_resched == Some(true) { ", at whose end a reschedule was wanted" } else { "" };
    let mut text =
        format!("function_graph: {}() took {} on CPU {}{who}{wanted}", call.function, Nanos(call.ns), call.cpu);
    let mut at = call;
    let mut inside: Vec<&Call> = Vec::new();
    // Down to where no function that it calls has half of it.
    while let Some(next) = at.longest.as_deref().filter(|next| next.ns * 2 >= at.ns) {
        inside.push(next);
        at = next;
    }
    let (first, last) = (inside.first(), inside.last());
    if let Some(first) = first {
        text += &format!("; of it {}() {}", first.function, Nanos(first.ns));
    }
    if let Some(last) = last.filter(|_| inside.len() > 1) {
        text += &format!(", down to {}() {}", last.function, Nanos(last.ns));
    }
    if at.own_ns * 2 >= at.ns && at.own_ns > 0 {
        text += &format!(", {} of which in itself", Nanos(at.own_ns));
    }
    text + "; a duration holds what interrupted it"
}

/// `rank`: of those that are followed ([`super::choose::rank`]).
pub(super) fn chosen(victims: &Victims, rank: usize) -> String {
    match victims {
        Victims::Measuring if rank > 1 => "all threads (no real-time thread was woken in the trace)".to_owned(),
        Victims::Measuring if rank > 0 => "all real-time threads (no known measuring tool in the trace)".to_owned(),
        Victims::Measuring => "threads of a measuring tool with real-time priority".to_owned(),
        Victims::AllRealTime => "all real-time threads".to_owned(),
        Victims::Tid(tid) => format!("thread {tid}"),
        Victims::Comm(comm) => format!("threads named {comm}"),
    }
}

/// What the trace as a whole cannot say.
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
                "the lines of function_graph have no absolute times, so nothing in it can be put in order with a wakeup: record with \
                 funcgraph-abstime (echo 1 > /sys/kernel/tracing/options/funcgraph-abstime)"
            }
            (0, _) => "no sched_switch events were read: nobody's delay can be followed",
            (_, 0) => "no sched_waking or sched_wakeup events were read: when threads were woken is not known",
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
            "no hrtimer events: time before sched_waking is not seen (record hrtimer_start, hrtimer_expire_entry)"
                .into(),
        );
    }
    if wakeups > 0 && seen.interrupts == 0 {
        notes.push("no interrupt events: their time counts for the task below (record irq_vectors, irq)".into());
    }
    if machine.strange_cpus {
        notes.push("events of CPUs with impossible numbers were left out".into());
    }
    notes
}

/// A thread that was woken and did not run before the trace ended.
pub(super) fn waits((tid, comm, waited): (i32, Option<Comm>, u64)) -> String {
    let who = Scheduled::default().thread(comm.map(|comm| comm.to_string()).as_deref(), Some(tid));
    format!("{who} was woken and did not run before the trace ends, for {} at least", Nanos(waited))
}

/// A thread that is asleep for a lock when the trace ends.
pub(super) fn locked_out(machine: &Machine, facts: &Facts, asleep: &LockedOut) -> String {
    let comm = asleep.comm.map(|comm| comm.to_string());
    let who = Scheduled::default().thread(comm.as_deref(), Some(asleep.tid));
    let lock = chain::held(machine, facts, asleep.lock, asleep.owner, asleep.owner);
    format!("{who} waits for {lock}, for {} at least, and the trace ends", Nanos(asleep.waited))
}

/// What the chains of the worst wakeups do not tell.
pub(super) fn behind(behind: &Behind, told: &[Victim]) -> Option<String> {
    let is_told = |link: &Link| told.iter().any(|victim| victim.chain.contains(link));
    if behind.links.is_empty() || behind.links.iter().any(is_told) {
        return None;
    }
    let who = Scheduled::default().thread(behind.comm.map(|comm| comm.to_string()).as_deref(), Some(behind.tid));
    let links: Vec<String> = behind.links.iter().map(Link::text).collect();
    Some(format!("the longest wait behind a wakeup of {who}, no part of its latency: {}", links.join("; ")))
}

/// A tracer that was on besides this trace.
pub(super) fn left_on(facts: &Facts) -> Option<String> {
    let tracer = facts.tracer.as_deref().filter(|tracer| *tracer != "nop")?;
    Some(format!(
        "the tracer `{tracer}` was on: everything the kernel does took longer, interrupts and leaving idle above all \
         (echo nop > /sys/kernel/tracing/current_tracer)"
    ))
}

/// Why nothing in this trace is more than suspected.
pub(super) fn doubt(machine: &Machine, info: &TraceInfo) -> Option<String> {
    if let Some(note) = info.notes.iter().find(|note| spoils(&note.what)) {
        return Some(format!("the trace is not complete ({})", damage(&note.what)));
    }
    if info.notes_dropped > 0 {
        return Some("the trace is damaged in many places".to_owned());
    }
    let clock = info.clock.as_deref();
    if info.time == TimeBase::Ticks {
        return Some("the trace's clock counts ticks of unknown length".to_owned());
    }
    if let Some(clock) = clock.filter(|clock| !matches!(*clock, "mono" | "boot")) {
        return Some(format!("the trace's clock is {clock}, not mono: CPUs and timers do not compare exactly"));
    }
    let seen = &machine.seen;
    if let Some(step) = machine.clock.step() {
        return Some(format!("the trace's clock goes in steps of {}: shorter times are no measurement", Nanos(step)));
    }
    (seen.expiries > 0 && seen.same_clock == 0)
        .then(|| "the trace's clock is not that of the timers (record with trace_clock=mono)".to_owned())
}

fn spoils(damage: &Damage) -> bool {
    // A cut last line comes after everything, lost events have their place in time, repaired lines were read.
    !matches!(
        damage,
        Damage::Truncated { inside: "the last line" }
            | Damage::Mended { .. }
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
