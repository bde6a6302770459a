//! Combines lines of the timerlat tracer with the noise events of osnoise: the worst wakeup of timerlat's thread.
//!
//! A noise event is recorded when it ends, with its length net of what interrupted it (kernel/trace/trace_osnoise.c).
//! Noise events state no priorities.

use super::{Facts, rtla, section, sentences};
use punctual_model::{Cause, Class, Confidence, Victim};
use punctual_trace::{Comm, Event, Kind, NoiseSource, Symbol, TimerlatContext};
use punctual_units::{Arrange, Nanos};
use std::collections::{BTreeMap, VecDeque};

const CPUS: usize = 1024;
const NOISES: usize = 1024;

/// A noise event: start, end, net length and source.
type Noise = (u64, u64, u64, NoiseSource);

#[derive(Debug, Default)]
struct Timerlat {
    /// The last interrupt's line, and its number.
    irq: Option<(u64, Late)>,
    noises: VecDeque<Noise>,
}

#[derive(Debug)]
struct Worst {
    cpu: u32,
    count: u64,
    latency_ns: u64,
    irq: Option<Late>,
    t0: u64,
    t3: u64,
    noises: Vec<Noise>,
    /// The stack of the code that timerlat's interrupt interrupted (print_stack).
    stack: Vec<String>,
}

/// timerlat's own interrupt: its latency, the time of its line, and the thread it interrupted.
#[derive(Clone, Copy, Debug)]
struct Late {
    late: u64,
    t: u64,
    tid: Option<i32>,
    comm: Option<Comm>,
}

#[derive(Debug, Default)]
pub(super) struct Timerlats {
    cpus: BTreeMap<u32, Timerlat>,
    worst: Option<Worst>,
    /// The longest latency of a thread, ns, its number and CPU: the trace may show less of it than of `worst`.
    longest: Option<(u64, u64, u32)>,
    /// Maximum lateness of timerlat's interrupt while the idle task was current, and while another thread was, ns.
    late: [Option<u64>; 2],
}

impl Timerlats {
    pub fn event(&mut self, event: &Event) {
        match event.kind {
            Kind::Restart => return self.cpus.clear(),
            Kind::Noise { .. } | Kind::Timerlat { .. } | Kind::Stack { .. } => {}
            _ => return,
        }
        if self.cpus.len() >= CPUS && !self.cpus.contains_key(&event.cpu) {
            return;
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        match &event.kind {
            Kind::Noise { source, start_ns, duration_ns } => {
                if cpu.noises.len() >= NOISES {
                    cpu.noises.pop_front();
                }
                cpu.noises.push_back((*start_ns, event.t_ns, *duration_ns, source.clone()));
            }
            Kind::Timerlat { count, context: TimerlatContext::Irq, latency_ns } => {
                let late = Late { late: *latency_ns, t: event.t_ns, tid: event.tid, comm: event.comm };
                if let Some(tid) = event.tid {
                    let most = &mut self.late[usize::from(tid != 0)];
                    *most = (*most).max(Some(*latency_ns));
                }
                cpu.irq = Some((*count, late));
            }
            Kind::Timerlat { count, latency_ns, .. } => self.thread(event, *count, *latency_ns),
            Kind::Stack { frames } => self.stack(event, frames),
            _ => {}
        }
    }

    /// Handles the line of the thread; keeps it if it is the worst so far.
    fn thread(&mut self, event: &Event, count: u64, latency_ns: u64) {
        if self.longest.is_none_or(|(longest, ..)| latency_ns > longest) {
            self.longest = Some((latency_ns, count, event.cpu));
        }
        let Some(cpu) = self.cpus.get(&event.cpu) else { return };
        let irq = cpu.irq.filter(|(n, irq)| *n == count && irq.late <= latency_ns).map(|(_, irq)| irq);
        // Of two lines with similar latency, the one with more information is used.
        let enough = |worst: &Worst| match worst.irq.is_none() && irq.is_some() {
            true => worst.latency_ns / 10 * 9 > latency_ns,
            false => worst.latency_ns >= latency_ns,
        };
        if self.worst.as_ref().is_some_and(enough) {
            return;
        }
        let (t0, t3) = (event.t_ns.saturating_sub(latency_ns), event.t_ns);
        let noises = cpu.noises.iter().filter(|noise| noise.1 > t0).cloned().collect();
        self.worst = Some(Worst { cpu: event.cpu, count, latency_ns, irq, t0, t3, noises, stack: Vec::new() });
    }

    /// Handles the stack, which timerlat prints right after its thread's line (kernel/trace/trace_osnoise.c,
    /// `timerlat_dump_stack`).
    fn stack(&mut self, event: &Event, frames: &[Symbol]) {
        const SOON: u64 = 100_000;
        let here = |worst: &&mut Worst| worst.cpu == event.cpu && event.t_ns.saturating_sub(worst.t3) <= SOON;
        if let Some(worst) = self.worst.as_mut().filter(here) {
            worst.stack = frames.iter().filter_map(section::name).map(str::to_owned).collect();
        }
    }

    pub fn said(&self) -> Option<String> {
        let Worst { cpu, count, latency_ns, irq, .. } = self.worst.as_ref()?;
        let irq =
            irq.map(|irq| format!(", {} of it because its interrupt came late", Nanos(irq.late))).unwrap_or_default();
        let text = format!("timerlat: worst thread latency {} on CPU {cpu} (#{count}){irq}", Nanos(*latency_ns));
        Some(self.longer().map(|longer| format!("{text}; {longer}")).unwrap_or(text))
    }

    /// Describes a wakeup that took longer than the one that is explained, and of which the lines show less.
    fn longer(&self) -> Option<String> {
        let (ns, count, cpu) =
            self.longest.filter(|(ns, ..)| *ns > self.worst.as_ref().map_or(0, |worst| worst.latency_ns))?;
        Some(format!("the longest is {} on CPU {cpu} (#{count}), of which the lines show less", Nanos(ns)))
    }

    /// Returns timerlat's worst wakeup as a victim. `step` is the resolution of the clock of the noise events, ns.
    pub fn victim(&self, facts: &Facts, step: Option<u64>) -> Option<Victim> {
        let worst = self.worst.as_ref()?;
        let mut causes: Vec<Cause> = match step {
            Some(_) => Vec::new(),
            None => worst.noises.iter().map(|noise| of(noise, worst, facts)).collect(),
        };
        // Threads come first, because their durations are net; the remaining time before the interrupt was its delay.
        causes.arrange_by_key(|cause| (cause.tid.is_none(), std::cmp::Reverse(cause.ns)));
        // The interrupt hit the longest one, which it could not preempt.
        if let Some(longest) = causes.first_mut().filter(|cause| cause.class == Class::HigherPriority)
            && !worst.stack.is_empty()
        {
            let blocked = rtla::Blocked::by(facts, longest.tid.unwrap_or(0), worst.stack.iter().map(String::as_str));
            *longest = blocked.applied(longest.clone());
            longest.evidence += "; the stack shows what timerlat's interrupt interrupted";
        }
        if let Some(irq) = worst.irq {
            let began = worst.own(&irq).filter(|_| step.is_none()).map_or(irq.t, |(start, _)| start);
            let upon = rtla::Upon {
                ns: irq.late.saturating_sub(irq.t.saturating_sub(began)),
                who: irq.tid.map(|tid| (irq.comm, tid)),
                idle: irq.tid == Some(0),
                stack: worst.stack.iter().map(String::as_str).collect(),
            };
            let late = upon.cause(facts, "timerlat: its interrupt came late");
            causes.push(self.alike().map_or(late.clone(), |place| Cause {
                class: Class::IrqsDisabled,
                place: Some(place),
                ..late
            }));
        }
        let doubt = match step {
            Some(step) => {
                format!("noise events are not measured, since the trace's clock has a resolution of {}", Nanos(step))
            }
            None => {
                "from timerlat's lines and noise events: the victim's tid and all priorities are unknown".to_owned()
            }
        };
        let mut victim = rtla::assemble(Some(worst.cpu), worst.latency_ns, merged(causes), &doubt);
        victim.doubts.extend(self.longer());
        Some(victim)
    }

    /// Describes an interrupt that comes late by about the same time whether the CPU is idle or not: then neither an
    /// idle state nor the thread that it interrupts is the reason.
    fn alike(&self) -> Option<String> {
        let [idle, busy] = self.late;
        let (idle, busy) = idle.zip(busy)?;
        let (most, least) = (Nanos(idle.max(busy)), Nanos(idle.min(busy)));
        let which = if idle >= busy { "the idle task" } else { "other threads" };
        let other = if idle >= busy { "other threads" } else { "the idle task" };
        (least.0 >= most.0 / 4 * 3)
            .then(|| format!("up to {most} late upon {which} and up to {least} upon {other}, so neither is the reason"))
    }

    /// True if only timerlat's own lines report the worst wakeup.
    pub fn is_bare(&self) -> bool {
        self.worst.as_ref().is_some_and(|worst| worst.noises.is_empty())
    }
}

impl Worst {
    /// Returns start and length of the interrupt that wrote timerlat's line, according to its noise event.
    fn own(&self, irq: &Late) -> Option<(u64, u64)> {
        let own = |(start, end, _, source): &&Noise| {
            matches!(source, NoiseSource::Irq { .. }) && (*start..=*end).contains(&irq.t)
        };
        self.noises.iter().find(own).map(|(start, _, net, _)| (*start, *net))
    }
}

fn of((start, end, net, source): &Noise, worst: &Worst, facts: &Facts) -> Cause {
    use Confidence::{Medium, Suspected};
    let inside = (*end).min(worst.t3).saturating_sub((*start).max(worst.t0));
    let ns = (*net).min(inside);
    let plain =
        |class, what: String| Cause { what: Some(what), ..rtla::cause(class, ns, Medium, "osnoise: noise event") };
    match source {
        NoiseSource::Irq { .. } if worst.irq.is_some_and(|irq| worst.own(&irq) == Some((*start, *net))) => Cause {
            evidence: "osnoise: the interrupt that wrote timerlat's line".to_owned(),
            ..plain(Class::Irq, rtla::OWN.to_owned())
        },
        NoiseSource::Irq { vector, name } => {
            plain(Class::Irq, name.as_deref().map_or_else(|| format!("vector {vector}"), str::to_owned))
        }
        NoiseSource::Softirq { vec } => plain(Class::Softirq, sentences::softirq(*vec)),
        NoiseSource::Nmi => plain(Class::Irq, "NMI".to_owned()),
        NoiseSource::Thread { tid: 0, .. } => rtla::cause(Class::IdleExit, ns, Suspected, "osnoise: the idle task ran"),
        NoiseSource::Thread { tid, comm } => Cause {
            tid: Some(*tid),
            comm: comm.map(|comm| comm.to_string()),
            scheduled: rtla::scheduled(facts, *tid),
            ..rtla::cause(Class::HigherPriority, ns, Suspected, "osnoise: it ran meanwhile; its priority is unknown")
        },
    }
}

fn merged(causes: Vec<Cause>) -> Vec<Cause> {
    let mut all: Vec<Cause> = Vec::new();
    for cause in causes {
        let same = |c: &&mut Cause| (c.class, c.tid, &c.what) == (cause.class, cause.tid, &cause.what);
        match all.iter_mut().find(same) {
            Some(known) => known.ns = known.ns.saturating_add(cause.ns),
            None => all.push(cause),
        }
    }
    all
}
