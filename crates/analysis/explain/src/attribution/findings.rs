//! Reports what a trace states directly without a complete wakeup, from waking to running: sections according to their
//! own events, samples of osnoise, marks of cyclictest, latencies of synthetic events, monitors, silence with
//! preemption or interrupts off; and the longest of its [`Spans`].

use super::bare::Bare;
use super::options::ExplainOptions;
use super::spans::{Of, On, Spans};
use super::{Facts, choose, section, sentences, vectors};
use punctual_model::Scheduled;
use punctual_trace::{Comm, Context, Event, Flags, Kind, Name, NoiseSource, Symbol, Task, Vector};
use punctual_units::{Arrange, Nanos};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Begins the sentence about the longest noise.
pub(super) const NOISE: &str = "osnoise: the longest noise is";
const CPUS: usize = 1024;
const NOISES: usize = 256;
/// Minimum silence that is reported as a finding, ns.
const LEAST: u64 = 20_000;
/// Minimum number of intervals that make a storm of timers; `STORM_NS` is the longest interval in a storm.
const STORM: u64 = 4;
const STORM_NS: u64 = 100_000;
/// Maximum number of named parts of a sample.
const PARTS: usize = 3;

/// The last event of a CPU, and what was in progress at that time.
#[derive(Debug, Default)]
struct Cpu {
    last: Option<Last>,
    /// For interrupts and for preemption: the time since which each has been off.
    off: [Option<Off>; 2],
    /// The last sched_switch, and the first event after it.
    switch: Option<(u64, Task)>,
    after: Option<(u64, What)>,
    /// Noises of osnoise: start, length excluding interruptions, and source.
    noises: VecDeque<(u64, u64, NoiseSource)>,
    /// The end of the last interrupt, and its name.
    exit: Option<(u64, What)>,
    expiries: Option<Expiries>,
}

/// Successive expiries of one hrtimer, with no other hrtimer's expiry in between.
#[derive(Debug)]
struct Expiries {
    timer: u64,
    first: u64,
    last: u64,
    /// Number of intervals between the expiries.
    count: u64,
}

impl Cpu {
    fn expired(&mut self, timer: u64, t: u64) -> &Expiries {
        let fresh = Expiries { timer, first: t, last: t, count: 0 };
        let expiries = self.expiries.get_or_insert(fresh);
        match expiries.timer == timer && t.saturating_sub(expiries.last) <= STORM_NS && t >= expiries.last {
            true if t > expiries.last => (expiries.last, expiries.count) = (t, expiries.count + 1),
            true => {}
            false => *expiries = Expiries { timer, first: t, last: t, count: 0 },
        }
        expiries
    }
}

/// What an event is called in a sentence.
#[derive(Clone, Debug)]
enum What {
    Function(Symbol, Option<Symbol>),
    Other(Name),
    SwitchTo(Task),
    Irq(u32),
    Vector(Vector),
    Named(&'static str),
}

#[derive(Debug)]
struct Last {
    t: u64,
    tid: i32,
    comm: Option<Comm>,
    flags: Option<Flags>,
    what: What,
}

#[derive(Debug)]
struct Off {
    t: u64,
    tid: Option<i32>,
    comm: Option<Comm>,
    at: [Option<Symbol>; 2],
}

/// The longest delay or duration of one kind, ns, and the sentence about it.
#[derive(Debug, Default)]
struct Longest(Option<(u64, String)>);

impl Longest {
    fn offer(&mut self, ns: u64, text: impl FnOnce() -> String) {
        if self.0.as_ref().is_none_or(|(longest, _)| ns > *longest) {
            self.0 = Some((ns, text()));
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Findings {
    cpus: BTreeMap<u32, Cpu>,
    spans: Spans,
    bare: Bare,
    off: Longest,
    mark: Longest,
    sample: Longest,
    noise: Longest,
    synthetic: Longest,
    monitor: Longest,
    silence: Longest,
    /// The longest time between two successive lines of one thread.
    gap: Longest,
    /// The largest number of expiries in a row.
    storm: Longest,
}

impl Findings {
    /// Handles an event. `has_cpu` is true if the lines state on which CPU each event occurred.
    pub fn event(&mut self, event: &Event, options: &ExplainOptions, has_cpu: bool) {
        let facts = &options.facts;
        self.spans.event(event, options, has_cpu);
        self.bare.event(event, On(Some(event.cpu).filter(|_| has_cpu)));
        if matches!(event.kind, Kind::Restart | Kind::LostEvents { .. }) {
            self.cpus.clear();
            return;
        }
        let on = On(Some(event.cpu).filter(|_| has_cpu));
        if self.cpus.len() >= CPUS && !self.cpus.contains_key(&event.cpu) {
            return;
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        if let Some(last) = &cpu.last {
            silent(&mut self.silence, last, event, on);
            if last.tid != 0 && event.tid == Some(last.tid) && matches!(last.what, What::Function(..)) {
                let ns = event.t_ns.saturating_sub(last.t);
                self.gap.offer(ns, || {
                    format!("{} of it passed after {}, until {}", Nanos(ns), last.what, What::of(&event.kind))
                });
            }
        }
        if let Some((at, _)) = &cpu.switch
            && cpu.after.is_none()
        {
            cpu.after = Some((event.t_ns.saturating_sub(*at), What::of(&event.kind)));
        }
        match &event.kind {
            Kind::IrqDisable { caller, parent } => cpu.off[0] = Some(begin(event, caller, parent)),
            Kind::PreemptDisable { caller, parent } => cpu.off[1] = Some(begin(event, caller, parent)),
            Kind::IrqEnable { caller, .. } => end(&mut self.off, cpu.off[0].take(), event, caller, "interrupts"),
            Kind::PreemptEnable { caller, .. } => end(&mut self.off, cpu.off[1].take(), event, caller, "preemption"),
            Kind::Noise { source, start_ns, duration_ns } => {
                if cpu.noises.len() >= NOISES {
                    cpu.noises.pop_front();
                }
                cpu.noises.push_back((*start_ns, *duration_ns, source.clone()));
                if !matches!(source, NoiseSource::Thread { tid: 0, .. }) {
                    self.noise.offer(*duration_ns, || {
                        let (ns, of) = (Nanos(*duration_ns), noise(source));
                        format!("{NOISE} {ns}, of {of} on CPU {}; nothing shows whom it delayed", event.cpu)
                    });
                }
            }
            Kind::SampleThreshold { start_ns, duration_ns, .. } => {
                self.sample.offer(*duration_ns, || sample(cpu, event.cpu, *start_ns, *duration_ns));
            }
            Kind::Print { text } => {
                if let Some((measured, threshold)) = mark(text) {
                    self.mark.offer(measured, || marked(cpu, event, facts, measured, threshold));
                }
            }
            Kind::Other { body: Some(body), .. } if peak(body).is_some() => {
                let peak = peak(body).unwrap_or_default();
                self.mark.offer(peak, || {
                    let who =
                        Scheduled::default().thread(event.comm.map(|comm| comm.to_string()).as_deref(), event.tid);
                    format!(
                        "{who}{on} reported a latency of {}; the lines do not show that wakeup from waking to running",
                        Nanos(peak)
                    )
                });
            }
            Kind::Other { body: Some(body), .. } if body.contains("not expected in the state") => {
                self.monitor.offer(1, || {
                    let who =
                        Scheduled::default().thread(event.comm.map(|comm| comm.to_string()).as_deref(), event.tid);
                    let interrupt = event.flags.and_then(|flags| flags.context).is_some_and(Context::is_hard);
                    let interrupt = if interrupt { ", in an interrupt on top of it" } else { "" };
                    format!(
                        "a monitor of runtime verification: {}, while {who} was current{on}{interrupt}",
                        body.trim()
                    )
                });
            }
            Kind::Other { name, body: Some(body) } => {
                if let Some(latency) = field(body, "lat").or_else(|| field(body, "latency"))
                    && let Ok(figure) = latency.parse()
                {
                    self.synthetic.offer(figure, || synthetic(cpu, event, facts, name, body, figure));
                }
            }
            Kind::HrtimerExpireEntry { timer, function, .. } => {
                let expired = cpu.expired(*timer, event.t_ns);
                self.storm.offer(expired.count, || {
                    let what = match function.as_ref().and_then(section::name) {
                        Some(function) => format!("the hrtimer of {function}"),
                        None => "an hrtimer".to_owned(),
                    };
                    let (all, each) =
                        (expired.last - expired.first, (expired.last - expired.first) / expired.count.max(1));
                    format!(
                        "{what} expired {} times{on} within {}, every {}, and no other hrtimer in between",
                        expired.count + 1,
                        Nanos(all),
                        Nanos(each)
                    )
                });
            }
            Kind::IrqExit { irq, .. } => cpu.exit = Some((event.t_ns, What::Irq(*irq))),
            Kind::VectorExit { vector, .. } => cpu.exit = Some((event.t_ns, What::Vector(vector.clone()))),
            Kind::SchedSwitch { next, .. } => {
                (cpu.switch, cpu.after) = (Some((event.t_ns, *next)), None);
                // Interrupts or preemption that one thread has disabled are not enabled by another.
                cpu.off = [None, None];
            }
            _ => {}
        }
        cpu.last = event.tid.map(|tid| Last {
            t: event.t_ns,
            tid,
            comm: event.comm,
            flags: event.flags,
            what: What::of(&event.kind),
        });
    }

    /// Returns a delay that a short latency of this many ns would hide: the longest preemption of the requested
    /// threads, or else a much longer delay of others; if the latency is that of an ordinary thread, any longer delay
    /// of others. It is returned with its length, ns.
    pub fn beside(&self, latency: u64, ordinary: bool) -> Option<(u64, &str)> {
        const TIMES: u64 = 5;
        const MUCH: u64 = 100_000;
        const HELD: u64 = 100;
        const LONG: u64 = 1_000_000;
        let least = if ordinary { latency.saturating_sub(1) } else { latency.saturating_mul(TIMES).max(MUCH) };
        let others: &[Of] = match ordinary {
            true => &[Of::ByRealTime, Of::Outranked, Of::Preempted, Of::Raised],
            false => &[Of::ByRealTime, Of::Raised],
        };
        let other = || others.iter().filter_map(|of| self.spans.longest(*of, least)).max();
        // An ordinary thread with a better nice value is likely the one of interest.
        let favoured = || self.spans.longest(Of::Outranked, latency / 2).filter(|_| ordinary);
        let held = || self.spans.longest(Of::Held, latency.saturating_mul(HELD).max(LONG)).filter(|_| ordinary);
        self.spans.longest(Of::RealTime, latency).or_else(other).or_else(favoured).or_else(held)
    }

    /// Returns the sentence about the longest time for which a chosen thread was runnable after losing its CPU.
    pub fn of_chosen(&self) -> Option<&str> {
        self.spans.longest(Of::RealTime, 0).map(|(_, text)| text)
    }

    /// True if a finding concerns a real-time thread, or is what the trace was recorded for.
    pub fn is_strong(&self) -> bool {
        let strong = [&self.off, &self.mark, &self.sample, &self.synthetic];
        strong.iter().any(|longest| longest.0.is_some()) || self.spans.longest(Of::RealTime, 0).is_some()
    }

    /// Returns the sentence about what the trace was recorded for.
    pub fn stated(&self) -> Option<&str> {
        let storm = Some(&self.storm).filter(|storm| storm.0.as_ref().is_some_and(|(count, _)| *count >= STORM));
        let all = [&self.off, &self.mark, &self.sample, &self.noise, &self.synthetic, &self.monitor];
        all.into_iter().chain(storm).find_map(|longest| longest.0.as_ref()).map(|(_, text)| text.as_str())
    }

    /// Returns the sentence about the longest noise by an interrupt or thread, which supplements a summary of osnoise.
    pub fn noise(&self) -> Option<&str> {
        self.noise.0.as_ref().map(|(_, text)| text.as_str())
    }

    /// Returns the longest delays and durations in the trace, including `more`, longest first.
    pub fn delays(&self, options: &ExplainOptions, has_cpu: bool, more: Option<(u64, String)>) -> Option<String> {
        const MOST: usize = 2;
        /// A delay shorter than the longest one divided by this is not mentioned.
        const PART: u64 = 200;
        if let Some(waiting) = self.bare.waiting() {
            return Some(waiting);
        }
        let mut all = self.spans.delays(options, has_cpu);
        all.extend(self.silence.0.clone().into_iter().chain(more));
        all.arrange_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        let longest = all.first().map_or(0, |(ns, _)| *ns);
        let texts = all.into_iter().filter(|(ns, _)| *ns >= longest / PART).take(MOST).map(|(_, text)| text);
        // How often works queue each other is no delay: it does not compare with the others.
        let texts: Vec<String> = texts.chain(self.spans.loops(has_cpu)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// Describes periodic timers and negative counts in a trace without switches.
    pub fn bare(&self, has_cpu: bool) -> Option<String> {
        self.bare.said(has_cpu)
    }

    pub fn covered(&self, options: &ExplainOptions, has_cpu: bool) -> Option<String> {
        let gap = self.gap.0.as_ref().filter(|(ns, _)| *ns >= LEAST).map(|(_, text)| text.as_str());
        self.spans.covered(options, has_cpu, gap)
    }
}

/// Parses `** latency peak: 31.204 us **` of EVL's latmus; returns ns.
fn peak(body: &str) -> Option<u64> {
    let us = body.split_once("latency peak: ")?.1.split_once(" us")?.0.parse::<f64>().ok()?;
    Some((us * 1000.0) as u64)
}

fn begin(event: &Event, caller: &Option<Symbol>, parent: &Option<Symbol>) -> Off {
    Off { t: event.t_ns, tid: event.tid, comm: event.comm, at: [caller.clone(), parent.clone()] }
}

fn end(longest: &mut Longest, off: Option<Off>, event: &Event, caller: &Option<Symbol>, what: &str) {
    // The idle task is skipped, because it waits for interrupts with interrupts off.
    let Some(off) = off.filter(|off| off.tid != Some(0) && off.tid == event.tid && off.t < event.t_ns) else { return };
    let ns = event.t_ns - off.t;
    longest.offer(ns, || {
        let who = Scheduled::default().thread(off.comm.map(|comm| comm.to_string()).as_deref(), off.tid);
        let to = caller.as_ref().and_then(section::name).map(|to| format!(" to {to}")).unwrap_or_default();
        let from: Vec<&str> = off.at.iter().flatten().filter_map(section::name).collect();
        let from = if from.is_empty() { String::new() } else { format!(", from {}", from.join(" ← ")) };
        format!(
            "{what} off for {} on CPU {}, by {who}{from}{to}; whom it delayed is not recorded",
            Nanos(ns),
            event.cpu
        )
    });
}

/// Records the time from a function or a switch to the next event, if both belong to one thread and interrupts or
/// preemption are off at both.
fn silent(longest: &mut Longest, last: &Last, event: &Event, on: On) {
    let ns = event.t_ns.saturating_sub(last.t);
    if ns < LEAST
        || last.tid == 0
        || event.tid != Some(last.tid)
        || !matches!(last.what, What::Function(..) | What::SwitchTo(_))
    {
        return;
    }
    let Some((began, ended)) = last.flags.zip(event.flags) else { return };
    let depth = began.preempt_depth.min(ended.preempt_depth).unwrap_or(0);
    let what = match began.context {
        Some(context) if context != Context::Task || ended.context != began.context => return,
        _ if began.irqs_off == Some(true) && ended.irqs_off == Some(true) => "interrupts off".to_owned(),
        _ if depth > 0 => format!("preemption off (depth {depth})"),
        _ if began.bh_off == Some(true) && ended.bh_off == Some(true) => "bottom halves off".to_owned(),
        _ => return,
    };
    longest.offer(ns, || {
        let who = Scheduled::default().thread(last.comm.map(|comm| comm.to_string()).as_deref(), Some(last.tid));
        let wanted = event.flags.is_some_and(|flags| flags.need_resched == Some(true));
        let wanted = if wanted { ", with a reschedule requested at the second end" } else { "" };
        format!(
            "{who}{on}: nothing was recorded for {} after {}, until {}, {what} at both ends{wanted}; whom it delayed is not recorded",
            Nanos(ns),
            last.what,
            What::of(&event.kind)
        )
    });
}

fn noise(source: &NoiseSource) -> String {
    match source {
        NoiseSource::Irq { name: Some(name), .. } => format!("interrupt {name}"),
        NoiseSource::Irq { vector, name: None } => format!("vector {vector}"),
        NoiseSource::Softirq { vec } => format!("softirq {}", sentences::softirq(*vec)),
        NoiseSource::Nmi => "an NMI".to_owned(),
        NoiseSource::Thread { tid, comm } => {
            Scheduled::default().thread(comm.map(|comm| comm.to_string()).as_deref(), Some(*tid))
        }
    }
}

/// Describes a sample of osnoise, and the noise events in it.
fn sample(cpu: &Cpu, number: u32, start: u64, duration: u64) -> String {
    // The starts of a sample and of its noise are read separately, some µs apart.
    const APART: u64 = 2_000;
    let inside =
        |noise: &&(u64, u64, NoiseSource)| noise.0 + APART >= start && noise.0 <= start.saturating_add(duration);
    let mut parts: Vec<(u64, String)> =
        cpu.noises.iter().filter(inside).map(|(_, ns, source)| (*ns, noise(source))).collect();
    parts.arrange_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let known: u64 = parts.iter().map(|(ns, _)| *ns).sum();
    let rest = Nanos(duration.saturating_sub(known));
    let named: Vec<String> = parts.into_iter().take(PARTS).map(|(ns, of)| format!("{of} {}", Nanos(ns))).collect();
    let duration = Nanos(duration);
    match named.is_empty() {
        true => format!(
            "osnoise: CPU {number} was taken from its thread for {duration}; no interrupt, softirq or thread is recorded for it: record the osnoise events; if they were recorded, the hardware or a hypervisor took it"
        ),
        false => format!(
            "osnoise: CPU {number} was taken from its thread for {duration}: {}; {rest} belong to no noise event (switches, interrupt entry and exit)",
            named.join(", ")
        ),
    }
}

/// Parses `hit latency threshold (72 > 30)`, which cyclictest --breaktrace writes: both in µs.
fn mark(text: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.split_once("latency threshold (")?;
    let (measured, rest) = rest.split_once(" > ")?;
    Some((measured.parse().ok()?, rest.split(')').next()?.parse().ok()?))
}

fn marked(cpu: &Cpu, event: &Event, facts: &Facts, measured: u64, threshold: u64) -> String {
    let switch = cpu.switch.as_ref().filter(|(_, next)| Some(next.tid) == event.tid);
    let comm = event.comm.map(|comm| comm.to_string());
    let prio = switch.and_then(|(_, next)| next.prio);
    let who = match (event.tid, prio) {
        (Some(tid), Some(prio)) => choose::scheduled(facts, tid, Some(prio)).thread(comm.as_deref(), Some(tid)),
        _ => Scheduled::default().thread(comm.as_deref(), event.tid),
    };
    let text = format!("{who} on CPU {} measured {measured} µs, more than its threshold of {threshold} µs", event.cpu);
    let after = cpu.after.as_ref().filter(|(ns, _)| switch.is_some() && *ns * 2 >= measured.saturating_mul(1000));
    match after {
        Some((ns, next)) => format!(
            "{text}: {} of it passed inside the switch to it, from sched_switch to {next} (the change of the address space, or the hardware)",
            Nanos(*ns)
        ),
        None => format!(
            "{text}; its wakeup is not in the trace — record sched_waking, sched_switch, hrtimer and irq events"
        ),
    }
}

fn synthetic(cpu: &Cpu, event: &Event, facts: &Facts, name: &str, body: &str, figure: u64) -> String {
    let of = ["next_comm", "comm"].iter().find_map(|key| field(body, key));
    let next = cpu.switch.as_ref().map(|(at, next)| (*at, next)).filter(|(_, next)| next.tid != 0);
    let who = match (&of, next) {
        (_, Some((_, next))) => {
            let comm = next.comm.map(|comm| comm.to_string());
            choose::scheduled(facts, next.tid, next.prio).thread(comm.as_deref(), Some(next.tid))
        }
        (Some(of), None) => (*of).to_owned(),
        (None, None) => "a thread".to_owned(),
    };
    let before = next.and_then(|(at, _)| {
        let (exit, what) = cpu.exit.as_ref()?;
        let ago = at.checked_sub(*exit)?;
        Some(format!("; the last interrupt there, {what}, ended {} before the switch to it", Nanos(ago)))
    });
    format!(
        "{name}: {figure} of {who} on CPU {} (a synthetic event; µs where its trigger says .usecs){}; its waking is not in the trace",
        event.cpu,
        before.unwrap_or_default()
    )
}

fn field<'b>(body: &'b str, key: &str) -> Option<&'b str> {
    body.split([' ', ',']).find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

impl What {
    fn of(kind: &Kind) -> What {
        match kind {
            Kind::Function { function, parent } => What::Function(function.clone(), parent.clone()),
            Kind::Other { name, .. } => What::Other(name.clone()),
            Kind::SchedSwitch { next, .. } => What::SwitchTo(*next),
            Kind::SchedWaking { .. } => What::Named("sched_waking"),
            Kind::SchedWakeup { .. } => What::Named("sched_wakeup"),
            Kind::IrqDisable { .. } => What::Named("irq_disable"),
            Kind::IrqEnable { .. } => What::Named("irq_enable"),
            Kind::IrqEntry { .. } => What::Named("irq_handler_entry"),
            Kind::SysExit { .. } => What::Named("the end of a system call"),
            _ => What::Named("another event"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Function(function, parent) => {
                let names = [Some(function), parent.as_ref()].into_iter().flatten().filter_map(section::name);
                f.write_str(&names.map(section::bare).collect::<Vec<_>>().join(" ← "))
            }
            What::Other(name) => f.write_str(name),
            What::SwitchTo(next) => {
                let comm = next.comm.map(|comm| comm.to_string());
                write!(f, "sched_switch to {}", Scheduled::default().thread(comm.as_deref(), Some(next.tid)))
            }
            What::Irq(irq) => write!(f, "irq {irq}"),
            What::Vector(vector) => f.write_str(&vectors::vector_name(vector)),
            What::Named(name) => f.write_str(name),
        }
    }
}
