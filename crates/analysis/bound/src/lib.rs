//! Composes an upper bound on the scheduling latency from the longest sections and the interrupts of a recording.
//!
//! The method is that of Bristot de Oliveira, Casini, Oliveira, Cucinotta, "Demystifying the Real-Time Linux Scheduling
//! Latency" (ECRTS 2020), theorem 8: the latency L of the thread with the highest priority is at most the least solution
//! of L = max(poid, dst) + paie + psd + interrupts(L). The automaton that tells these parts apart, and what it takes on
//! the safe side without the paper's changes to the kernel, is described in `automaton` and in docs/adr/0048.
//!
//! Architecture invariant: pure. The bound is only given if the recording has everything that it needs.

#![forbid(unsafe_code)]

mod automaton;
mod compose;
mod interrupts;
mod longest;
mod seen;

use automaton::{Cpu, Found};
use interrupts::Source as InterruptSource;
use punctual_model::{CpuBound, LatencyBound, Outcome};
use punctual_trace::{Damage, Event, Kind, Note, Source, TimeBase, TimerlatContext, TraceInfo};
use punctual_units::Nanos;
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};

/// Events that a recording must have, in the order of [`Counts`].
const NEEDED: [&str; 5] = [
    "preemptirq:irq_disable",
    "preemptirq:irq_enable",
    "preemptirq:preempt_disable",
    "preemptirq:preempt_enable",
    "sched:sched_switch",
];

/// Step of a clock up to which times count as exact, ns.
const FINE: u64 = 100;
/// Highest number of CPUs.
const CPUS: usize = 8192;

const RECORD: &str = "trace-cmd record -e preemptirq -e irq_vectors -e irq:irq_handler_entry -e ipi:ipi_entry -e nmi -e sched:sched_switch -e \
                      sched:sched_waking -e sched:sched_wakeup -e sched:sched_migrate_task -e sched:sched_pi_setprio -e power:cpu_idle";

const KERNEL: &str = "the kernel needs CONFIG_PREEMPTIRQ_TRACEPOINTS, CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER, as `punctual kernel build \
                      --diagnostic` sets them";

/// Composes the bound of every CPU of a recording, event by event.
#[derive(Debug, Default)]
pub struct Bounds {
    resolution: u64,
    cpus: BTreeMap<u32, OfCpu>,
    seen: Seen,
    counts: [u64; NEEDED.len()],
    events: u64,
    unflagged: u64,
    idle: u64,
    waits: u64,
    /// CPUs that lost events in the middle of the recording.
    lost: BTreeSet<u32>,
    /// CPUs that must have events.
    wanted: BTreeSet<u32>,
    last: Option<u64>,
    /// Greatest common divisor of the distances between events, ns: the step of the clock, or a multiple of it.
    step: u64,
}

#[derive(Debug)]
struct OfCpu {
    automaton: Cpu,
    found: Found,
    /// Times of the first and the last event without an interruption.
    first: u64,
    last: u64,
    recorded: u64,
    /// Largest latency that the timerlat tracer measured in a thread.
    timerlat: Option<u64>,
}

impl Bounds {
    /// Starts with the resolution of the times, ns (1 for binary recordings).
    pub fn new(resolution_ns: u64) -> Bounds {
        Bounds { resolution: resolution_ns.saturating_sub(1), ..Bounds::default() }
    }

    /// Requires events of these CPUs: a CPU without any has no bound.
    pub fn want(&mut self, cpus: impl IntoIterator<Item = u32>) {
        self.wanted.extend(cpus);
    }

    /// Follows an event. Events are in the order of their time, as from a [`Source`].
    pub fn event(&mut self, event: &Event) {
        match event.kind {
            Kind::Restart => return self.interrupted(),
            Kind::LostEvents { .. } => return self.lose(event.cpu),
            // Not recorded by the kernel at the time of the event.
            Kind::Stack { .. } => return,
            _ => {}
        }
        let t = event.t_ns;
        self.events += 1;
        self.step = self.last.map_or(self.step, |last| gcd(self.step, t.abs_diff(last)));
        self.last = Some(t);
        self.count(event);
        self.seen.event(event);
        let Some(flags) = event.flags.filter(|flags| flags.context.is_some() && flags.preempt_depth.is_some()) else {
            self.unflagged += 1;
            return;
        };
        let resolution = self.resolution;
        if self.cpus.len() >= CPUS && !self.cpus.contains_key(&event.cpu) {
            self.lost.insert(event.cpu);
            return;
        }
        let of_cpu = self.cpus.entry(event.cpu).or_insert_with(|| OfCpu {
            automaton: Cpu::new(resolution),
            found: Found::default(),
            first: t,
            last: t,
            recorded: 0,
            timerlat: None,
        });
        if !of_cpu.automaton.has_begun() {
            (of_cpu.first, of_cpu.last) = (t, t);
        }
        if let Kind::Timerlat { context: TimerlatContext::Thread, latency_ns, .. } = event.kind
            && t.saturating_sub(latency_ns) >= of_cpu.first
        {
            of_cpu.timerlat = of_cpu.timerlat.max(Some(latency_ns));
        }
        of_cpu.recorded += t.saturating_sub(of_cpu.last);
        of_cpu.last = t;
        let sections = of_cpu.found.sections;
        of_cpu.automaton.event(event, flags, &mut of_cpu.found);
        if of_cpu.found.sections != sections {
            self.seen.returned(event.cpu, t + resolution);
        }
    }

    /// The recording is interrupted: what follows is complete in itself, but does not continue what came before.
    pub fn interrupted(&mut self) {
        self.seen.reset();
        self.last = None;
        for of_cpu in self.cpus.values_mut() {
            of_cpu.automaton.finish(&mut of_cpu.found);
            of_cpu.automaton = Cpu::new(self.resolution);
        }
    }

    fn lose(&mut self, cpu: u32) {
        self.seen.reset();
        // What was lost before the first event is not part of the recording.
        if let Some(of_cpu) = self.cpus.get_mut(&cpu).filter(|of_cpu| of_cpu.automaton.has_begun()) {
            self.lost.insert(cpu);
            of_cpu.automaton = Cpu::new(self.resolution);
        }
    }

    fn count(&mut self, event: &Event) {
        let n = match &event.kind {
            Kind::IrqDisable { .. } => 0,
            Kind::IrqEnable { .. } => 1,
            Kind::PreemptDisable { .. } => 2,
            Kind::PreemptEnable { .. } => 3,
            Kind::SchedSwitch { next, .. } => {
                self.idle += u64::from(next.tid == 0);
                4
            }
            Kind::CpuIdle { .. } => {
                self.waits += 1;
                return;
            }
            _ => return,
        };
        if let Some(count) = self.counts.get_mut(n) {
            *count += 1;
        }
    }

    /// Composes the bounds. `info` has what the reader knows about the recording.
    pub fn finish(mut self, info: &TraceInfo, deadline: Option<Nanos>) -> LatencyBound {
        self.interrupted();
        let mut problems = self.problems(info);
        let cpus: Vec<_> = if problems.is_empty() {
            let of = |(cpu, of_cpu): (&u32, &OfCpu)| {
                let cpu = compose::compose(*cpu, &of_cpu.found, self.seen.latest(*cpu), of_cpu.recorded);
                CpuBound { timerlat_ns: of_cpu.timerlat.map(Nanos), ..cpu }
            };
            self.cpus.iter().map(of).collect()
        } else {
            Vec::new()
        };
        for cpu in &cpus {
            let n = cpu.cpu;
            match (cpu.bound_ns, &cpu.seen) {
                (None, _) if cpu.without_interrupts_ns.is_none() => {
                    problems.push(format!("CPU {n}: no context switch to a thread was recorded; record for longer"));
                }
                (None, _) if cpu.without_interrupts_ns.is_some_and(|ns| ns.0 >= compose::LIMIT) => {
                    problems.push(format!("CPU {n}: its sections add up to more than a second"));
                }
                (None, _) => {
                    problems.push(format!(
                        "CPU {n}: interrupts leave too little time, so that no window holds the sections and them"
                    ));
                }
                (Some(bound), Some(seen)) if seen.latency_ns > bound => problems.push(format!(
                    "CPU {n}: a wakeup of {} ns is above the bound of {} ns, at {:.6} s: RT throttling, the fair server, or a fault of this program",
                    seen.latency_ns.0,
                    bound.0,
                    seen.at_ns.as_secs_f64()
                )),
                _ => {}
            }
            if let (Some(bound), Some(timerlat)) = (cpu.bound_ns, cpu.timerlat_ns)
                && timerlat > bound
            {
                problems.push(format!(
                    "CPU {n}: timerlat measured {} ns, above the bound of {} ns: what the kernel does not see (idle states, firmware, a \
                     hypervisor, the timer itself) is not in the bound",
                    timerlat.0, bound.0
                ));
            }
        }
        let worst = cpus.iter().filter(|_| problems.is_empty()).max_by_key(|cpu| cpu.bound_ns);
        let (bound_ns, cpu) = (worst.and_then(|worst| worst.bound_ns), worst.map(|worst| worst.cpu));
        let outcome = match (bound_ns, deadline) {
            (None, _) => Outcome::Inconclusive,
            (Some(bound), Some(deadline)) if bound >= deadline => Outcome::Fail,
            _ => Outcome::Pass,
        };
        let assumptions = assumptions(&self.cpus);
        // The buffers of the CPUs hold events of different lengths of time.
        let recorded_ns = Nanos(self.cpus.values().map(|of_cpu| of_cpu.recorded).min().unwrap_or(0));
        let events = self.events;
        LatencyBound { outcome, bound_ns, cpu, deadline_ns: deadline, recorded_ns, events, cpus, problems, assumptions }
    }

    fn problems(&self, info: &TraceInfo) -> Vec<String> {
        let mut problems: Vec<String> = (self.wanted.iter().filter(|cpu| !self.cpus.contains_key(cpu)))
            .map(|cpu| format!("CPU {cpu}: no event was recorded, so it has no bound"))
            .collect();
        let missing: Vec<&str> =
            NEEDED.into_iter().zip(self.counts).filter(|(_, count)| *count == 0).map(|(name, _)| name).collect();
        if !missing.is_empty() {
            let mut why = format!("the recording has no {}: record with {RECORD}", missing.join(", "));
            if missing.iter().any(|name| name.starts_with("preemptirq")) {
                why = format!("{why}; {KERNEL}");
            }
            problems.push(why);
            return problems;
        }
        if self.idle > 0 && self.waits == 0 {
            problems.push(format!(
                "the recording has no power:cpu_idle, so waiting cannot be told from a section: record with {RECORD}"
            ));
        }
        if self.unflagged > 0 {
            problems.push(format!(
                "{} events have no flags (interrupts, context, preemption): supply trace.dat, or text with the columns of irq-info",
                self.unflagged
            ));
        }
        if self.step > (self.resolution + 1).max(FINE) {
            problems.push(format!(
                "the times step by {}, so that short sections have no length: record with a finer clock (mono, and a clock source such as tsc)",
                Nanos(self.step)
            ));
        }
        if info.notes_dropped > 0 {
            problems.push(format!("{} notes about damage of the recording were dropped", info.notes_dropped));
        }
        if info.time == TimeBase::Ticks {
            problems.push("the times are ticks of an unknown length: record with the clock mono".to_owned());
        }
        problems.extend(
            self.lost.iter().map(|cpu| format!("CPU {cpu} lost events: a section may be missing; use a larger buffer")),
        );
        problems.extend(info.notes.iter().filter_map(damage));
        let of_all = |source: &InterruptSource| -> u64 {
            self.cpus.values().map(|of_cpu| of_cpu.found.interrupts.count_of(source)).sum()
        };
        let unnamed = of_all(&InterruptSource::Unnamed);
        let all: u64 = self.cpus.values().flat_map(|c| c.found.interrupts.kinds()).map(|kind| kind.count()).sum();
        if unnamed > 0 && unnamed == all {
            problems.push(format!(
                "no interrupt has an event that names it, so those within sections cannot be told: record with {RECORD}"
            ));
        }
        if self.cpus.values().any(|of_cpu| of_cpu.found.interrupts.is_full) {
            problems.push("too many interrupts: supply a shorter recording".to_owned());
        }
        problems
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// Returns what a note says about damage that permits no bound; `None` for other notes.
pub fn damage(note: &Note) -> Option<String> {
    let why = match &note.what {
        Damage::Lost { .. } | Damage::Repaired { .. } | Damage::Unsupported { .. } => return None,
        Damage::Truncated { inside } => format!("the recording ends within {inside}"),
        Damage::Corrupt { what } => format!("the recording is damaged: {what}"),
        Damage::LimitReached { what } => format!("a part of the recording was not read: {what}"),
        Damage::Incomplete { event } => format!("an event {event} lacks bytes or fields"),
        Damage::MissingFormat { id } => format!("the recording lacks the format of event {id}"),
        Damage::Omitted { .. } => "lines are left out of the recording".to_owned(),
        Damage::TimeWentBack => "times decrease in the recording".to_owned(),
    };
    Some(why)
}

fn assumptions(cpus: &BTreeMap<u32, OfCpu>) -> Vec<String> {
    let mut all = vec![
        "it holds for the sections that ran: a longer one that did not run is not in it".to_owned(),
        "no window has more time in interrupts than the worst recorded one of its length".to_owned(),
        "firmware, a hypervisor, and the time until the kernel's first event of an interrupt are not in it".to_owned(),
        "an interrupt that comes more than 2 µs after a section was not pending in it".to_owned(),
        "a wakeup by another CPU counts from the interrupt that it causes on the bound's CPU".to_owned(),
        "the cost of tracing is in it; a section with a context switch counts as scheduling as a whole".to_owned(),
    ];
    let count = |source: InterruptSource| -> u64 {
        cpus.values().map(|of_cpu| of_cpu.found.interrupts.count_of(&source)).sum()
    };
    for (source, what) in [
        (InterruptSource::Unnamed, "interrupts have no event that names them; they count as one kind"),
        (InterruptSource::Untold, "entries within sections may be interrupts; they count as both"),
    ] {
        let n = count(source);
        if n > 0 {
            all.push(format!("{n} {what}"));
        }
    }
    all
}

/// Composes the bounds of a recording. `deadline`: the bound must be below it.
pub fn bound(source: &mut dyn Source, deadline: Option<Nanos>) -> LatencyBound {
    let mut bounds: Option<Bounds> = None;
    while let Some(event) = source.next() {
        bounds.get_or_insert_with(|| Bounds::new(source.info().resolution_ns.unwrap_or(1))).event(&event);
    }
    bounds.unwrap_or_default().finish(source.info(), deadline)
}
