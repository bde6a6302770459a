//! Distinguishes hardware, hypervisor and Linux: threads that read the clock, a trace of what Linux did meanwhile,
//! counters.

mod compare;
mod hwlat;
mod schedule;

use crate::error::ProofError;
use crate::stream::Stream;
use compare::Comparison;
use punctual_explain::{Activity, Surroundings};
use punctual_journal::Journal;
use punctual_machine::{Live, virtualisation};
use punctual_measure::{Counters, GapPlan, GapResult, Gaps, Topology, gaps};
use punctual_model::{GapCpu, Hardware};
use punctual_rt::{clock_read_cost, monotonic};
use punctual_tracefs::{Config, Flight, INTERRUPTIONS, Instance, Tracefs, TracefsError};
use punctual_uapi::{self as uapi, Sig, Waited, wait};
use punctual_units::{CpuList, Nanos, Priority};

/// How often the trace is read and compared with the gaps.
const EVERY: Nanos = Nanos::from_millis(200);
/// A thread that has not ended this long after its time gets no CPU.
const GRACE: Nanos = Nanos::from_millis(500);

#[derive(Clone, Debug)]
pub struct HardwareOptions {
    /// `None`: all allowed ones.
    pub cpus: Option<CpuList>,
    /// Maximum.
    pub duration: Nanos,
    /// Readings of the clock this far apart are a gap.
    pub threshold: Nanos,
    /// Priority of the reading threads; `None`: FIFO 90 where permitted, else SCHED_OTHER with a note.
    pub priority: Option<Priority>,
    pub trace: bool,
    /// Per CPU, KiB; `None`: by the machine's memory.
    pub buffer_kb: Option<u64>,
    /// Also run the kernel's detector, for half of the time.
    pub hwlat: bool,
}

#[derive(Debug)]
pub struct Looked {
    pub hardware: Hardware,
    pub signal: Option<Sig>,
}

/// Looks for gaps on this machine. Signals must be blocked as for a run.
///
/// # Errors
/// [`ProofError`]: CPUs that do not exist or are not allowed, a refused priority that was asked for, no
/// threads.
pub fn hardware(options: &HardwareOptions) -> Result<Looked, ProofError> {
    let topology = Topology::read()?;
    let cpus = topology.choose(options.cpus.as_ref())?;
    uapi::install_wakeup()?;
    let mut said = Said::default();
    let scheduling = schedule::scheduling(options.priority, &mut said)?;
    let share = if options.hwlat { options.duration.0 / 2 } else { options.duration.0 };
    let plan = schedule::plan(cpus.clone(), scheduling, Nanos(share), options.threshold, &mut said);
    let trace = trace(options, &mut said);
    let mut look = Look { topology, plan, trace, said };
    let begun = monotonic();
    let mut seen = look.read()?;
    if options.hwlat && seen.signal.is_none() {
        let left = Nanos(options.duration.0 - share);
        (seen.hardware.hwlat, seen.signal) = hwlat::run(&cpus, left, options.threshold, &mut look.said);
    }
    look.judge_conditions(&seen.hardware);
    seen.hardware.took_ns = (monotonic() - begun).0;
    seen.hardware.narrowed = look.said.narrowed;
    seen.hardware.notes = look.said.notes;
    Ok(seen)
}

#[derive(Debug, Default)]
struct Said {
    narrowed: Vec<String>,
    notes: Vec<String>,
}

/// A trace of what interrupts and preempts; if there is none, the reason is noted.
fn trace(options: &HardwareOptions, said: &mut Said) -> Option<(Flight, Stream)> {
    if !options.trace {
        said.narrowed.push("nothing was traced, as asked: Linux cannot be told from the rest".into());
        return None;
    }
    let made = || -> Result<(Flight, Vec<String>), TracefsError> {
        let config = Config { events: INTERRUPTIONS, buffer_kb: options.buffer_kb, tracer: None, stacks: None };
        let instance = Instance::create(&Tracefs::find()?, &Journal::of_user(), &config)?;
        let missing = instance.missing().to_vec();
        Ok((Flight::new(instance)?, missing))
    };
    match made() {
        Ok((flight, missing)) => {
            said.notes.extend(schedule::blind(&missing));
            let stream = Stream::new(&flight);
            Some((flight, stream))
        }
        Err(e) => {
            said.narrowed.push(format!("nothing was traced, so Linux cannot be told from the rest: {e}"));
            None
        }
    }
}

struct Look {
    topology: Topology,
    plan: GapPlan,
    trace: Option<(Flight, Stream)>,
    said: Said,
}

impl Look {
    fn read(&mut self) -> Result<Looked, ProofError> {
        let virtualisation = virtualisation(&Live::new()).name();
        let before = Counters::read(&self.plan.cpus);
        let running = gaps(self.plan.clone())?;
        let comparison = Comparison::new(&self.plan, &self.topology, running.tids(), running.start, &virtualisation);
        let (comparison, signal) = self.follow(&running, comparison);
        let results = running.collect();
        let after = Counters::read(&self.plan.cpus);
        let around = self.surroundings(virtualisation, &before, &after);
        let events = self.end_trace();
        if comparison.dropped > 0 {
            self.said
                .narrowed
                .push(format!("{} gaps came too fast to be compared: raise --threshold", comparison.dropped));
        }
        let (findings, worst) = comparison.finish(&around);
        let hardware = Hardware {
            findings,
            cpus: results.iter().map(|result| self.of_cpu(result, &before, &after)).collect(),
            hwlat: None,
            worst,
            virtualisation: around.virtualisation,
            throttled: after.throttled_since(&before),
            hottest: after.hottest(),
            on: self.plan.cpus.clone(),
            took_ns: 0,
            threshold_ns: self.plan.threshold.0,
            window_ns: self.plan.window.0,
            cycle_ns: self.plan.cycle.0,
            events,
            narrowed: Vec::new(),
            notes: Vec::new(),
        };
        Ok(Looked { hardware, signal })
    }

    /// Removes the trace instance; returns the number of events read.
    fn end_trace(&mut self) -> Option<u64> {
        let (flight, stream) = self.trace.take()?;
        let statistics = flight.statistics();
        let lost = statistics.overrun + statistics.commit_overrun + statistics.dropped;
        if lost > 0 {
            let text = "events of the trace were overwritten before they were read: give it more with --trace-buffer";
            self.said.notes.push(format!("{lost} {text}"));
        }
        self.said.notes.extend(flight.end().err().into_iter().flatten());
        Some(stream.events)
    }

    /// Compares gaps with the trace until the time is over, or a signal comes.
    fn follow(&mut self, running: &Gaps, mut comparison: Comparison) -> (Comparison, Option<Sig>) {
        let over = running.start + self.plan.duration;
        let signals = crate::signals();
        let mut signal = None;
        while signal.is_none() && !running.finished() && monotonic() < over + GRACE {
            if let Waited::Signal(other) = wait(&signals, Some(EVERY)) {
                signal = Some(other).filter(|s| *s != Sig::Chld);
            }
            self.step(running, &mut comparison, false);
        }
        let give_up = monotonic() + GRACE;
        while !running.finished() && monotonic() < give_up {
            running.stop();
            wait(&signals, Some(Nanos::from_millis(2)));
        }
        self.step(running, &mut comparison, true);
        (comparison, signal)
    }

    fn step(&mut self, running: &Gaps, comparison: &mut Comparison, last: bool) {
        // Gaps first: what the trace shows of them is in its buffer by then.
        running.take(|gap| comparison.gap(gap));
        let mut known_until = u64::MAX;
        if let Some((flight, stream)) = &mut self.trace {
            match stream.take(flight) {
                Ok(mut events) => {
                    known_until = stream.until_ns;
                    if last {
                        events.extend(stream.rest());
                    }
                    let policies: Vec<_> = events.iter().flat_map(|event| stream.policies(event)).collect();
                    let activity: &mut Activity = comparison.activity();
                    activity.facts().policies.extend(policies);
                    events.iter().for_each(|event| activity.event(event));
                }
                Err(e) => {
                    self.said.narrowed.push(format!("the trace could not be read to the end: {e}"));
                    self.trace = None;
                }
            }
        }
        comparison.compare(if last { u64::MAX } else { known_until }, self.trace.is_some());
    }

    fn surroundings(&self, virtualisation: Option<String>, before: &Counters, after: &Counters) -> Surroundings {
        let cpus = || self.plan.cpus.iter();
        Surroundings {
            virtualisation,
            smi: cpus().filter_map(|cpu| Some((cpu, after.smi_since(before, cpu)?))).collect(),
            steal_ns: cpus().filter_map(|cpu| Some((cpu, after.steal_since(before, cpu)?))).collect(),
            throttled: !after.throttled_since(before).is_empty(),
        }
    }

    fn of_cpu(&mut self, result: &GapResult, before: &Counters, after: &Counters) -> GapCpu {
        let cpu = result.cpu;
        if result.stuck {
            let text = format!("the thread on CPU {cpu} did not end: something more urgent keeps that CPU");
            self.said.narrowed.push(text);
        }
        if result.untaken > 0 {
            let text = format!("{} gaps of CPU {cpu} came too fast to be compared: raise --threshold", result.untaken);
            self.said.narrowed.push(text);
        }
        let not_locked = result.not_locked.iter();
        self.said.notes.extend(not_locked.map(|why| format!("CPU {cpu}: memory is not locked: {why}")));
        GapCpu {
            cpu,
            scheduling: result.scheduling,
            due_ns: result.due_ns,
            looked_ns: result.looked_ns,
            readings: result.readings,
            gaps: result.gaps.count(),
            worst_ns: result.gaps.max(),
            histogram: result.gaps.bins().map(|bin| (bin.low, bin.high, bin.count)).collect(),
            steal_ns: after.steal_since(before, cpu),
            smi: after.smi_since(before, cpu),
            run_delay_ns: result.run_delay_ns,
            preempted: result.preempted,
            interrupts: after.interrupts_since(before, cpu),
        }
    }

    /// Notes conditions that weaken the result.
    fn judge_conditions(&mut self, hardware: &Hardware) {
        for cpu in &hardware.cpus {
            let asked = self.plan.scheduling;
            if cpu.scheduling != asked {
                let text = format!("the thread on CPU {} ran as {}, not {asked}", cpu.cpu, cpu.scheduling);
                self.said.narrowed.push(text);
            }
            if cpu.looked_ns < cpu.due_ns / 2 || cpu.looked_ns == 0 {
                let (looked, due) = (Nanos(cpu.looked_ns), Nanos(cpu.due_ns));
                let text = format!("CPU {} could be read for {looked} of {due} only", cpu.cpu);
                self.said.narrowed.push(text);
            }
        }
        if hardware.virtualisation.is_none() {
            self.said.notes.push("whether this is a guest could not be found out".into());
        }
        let cost = clock_read_cost();
        if cost >= self.plan.threshold.0 as f64 / 4.0 {
            let text = format!("one reading of the clock takes {cost:.0} ns: raise --threshold");
            self.said.narrowed.push(text);
        }
        if self.plan.cpus.len() == 1 {
            self.said.notes.push("on one CPU, a stall of the whole machine cannot be told from one of this CPU".into());
        }
    }
}
