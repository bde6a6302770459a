//! Determines whether hardware, a hypervisor or Linux causes gaps. Threads that read the clock find the gaps; a trace
//! of what Linux does and counters show the cause.

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

/// Interval at which the trace is read and compared with the gaps.
const EVERY: Nanos = Nanos::from_millis(200);
/// A thread that has not ended this long after its planned end is getting no CPU time.
const GRACE: Nanos = Nanos::from_millis(500);

#[derive(Clone, Debug)]
pub struct HardwareOptions {
    /// CPUs to examine; `None` means all CPUs that this process may use.
    pub cpus: Option<CpuList>,
    /// Maximum duration.
    pub duration: Nanos,
    /// Minimum time between two clock readings that counts as a gap.
    pub threshold: Nanos,
    /// Priority of the reading threads; `None` means FIFO 90 if permitted, otherwise SCHED_OTHER with a note.
    pub priority: Option<Priority>,
    pub trace: bool,
    /// Buffer size per CPU, KiB; `None` derives it from the machine's memory.
    pub buffer_kb: Option<u64>,
    /// Also runs the kernel's hwlat detector, for half of the duration.
    pub hwlat: bool,
}

#[derive(Debug)]
pub struct Looked {
    pub hardware: Hardware,
    pub signal: Option<Sig>,
}

/// Looks for gaps between clock readings on this machine. Signals must be blocked as for a run.
///
/// # Errors
/// A CPU does not exist or is not allowed, a requested priority is refused, or threads cannot be created.
pub fn hardware(options: &HardwareOptions) -> Result<Looked, ProofError> {
    let topology = Topology::read()?;
    let cpus = topology.choose(options.cpus.as_ref())?;
    uapi::install_wakeup()?;
    let mut remarks = Remarks::default();
    let scheduling = schedule::scheduling(options.priority, &mut remarks)?;
    let share = if options.hwlat { options.duration.0 / 2 } else { options.duration.0 };
    let plan = schedule::plan(cpus.clone(), scheduling, Nanos(share), options.threshold, &mut remarks);
    let trace = trace(options, &mut remarks);
    let mut look = Look { topology, plan, trace, remarks };
    let begun = monotonic();
    let mut seen = look.read()?;
    if options.hwlat && seen.signal.is_none() {
        let left = Nanos(options.duration.0 - share);
        (seen.hardware.hwlat, seen.signal) = hwlat::run(&cpus, left, options.threshold, &mut look.remarks);
    }
    look.judge_conditions(&seen.hardware);
    seen.hardware.took_ns = (monotonic() - begun).0;
    seen.hardware.narrowed = look.remarks.narrowed;
    seen.hardware.notes = look.remarks.notes;
    Ok(seen)
}

#[derive(Debug, Default)]
struct Remarks {
    narrowed: Vec<String>,
    notes: Vec<String>,
}

/// Traces interrupts and context switches. If that is not possible, notes the reason and returns `None`.
fn trace(options: &HardwareOptions, remarks: &mut Remarks) -> Option<(Flight, Stream)> {
    if !options.trace {
        remarks.narrowed.push("tracing is switched off: Linux cannot be distinguished from other causes".into());
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
            remarks.notes.extend(schedule::blind(&missing));
            let stream = Stream::new(&flight);
            Some((flight, stream))
        }
        Err(e) => {
            remarks
                .narrowed
                .push(format!("nothing was traced, so Linux cannot be distinguished from other causes: {e}"));
            None
        }
    }
}

struct Look {
    topology: Topology,
    plan: GapPlan,
    trace: Option<(Flight, Stream)>,
    remarks: Remarks,
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
            self.remarks.narrowed.push(format!(
                "{} gaps followed each other too fast to be compared: raise --threshold",
                comparison.dropped
            ));
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

    /// Removes the trace instance. Returns the number of events read; `None` if nothing was traced.
    fn end_trace(&mut self) -> Option<u64> {
        let (flight, stream) = self.trace.take()?;
        let statistics = flight.statistics();
        let lost = statistics.overrun + statistics.commit_overrun + statistics.dropped;
        if lost > 0 {
            let text = "events of the trace were overwritten before they were read: increase --trace-buffer";
            self.remarks.notes.push(format!("{lost} {text}"));
        }
        self.remarks.notes.extend(flight.end().err().into_iter().flatten());
        Some(stream.events)
    }

    /// Compares gaps with the trace until the duration has passed or a signal arrives.
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
        // Gaps are read before the buffer, which then already contains their events.
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
                    self.remarks.narrowed.push(format!("the trace could not be read to the end: {e}"));
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
            let text = format!("the thread on CPU {cpu} did not end: a thread of higher priority occupies that CPU");
            self.remarks.narrowed.push(text);
        }
        if result.untaken > 0 {
            let text = format!(
                "{} gaps of CPU {cpu} followed each other too fast to be compared: raise --threshold",
                result.untaken
            );
            self.remarks.narrowed.push(text);
        }
        let not_locked = result.not_locked.iter();
        self.remarks.notes.extend(not_locked.map(|why| format!("CPU {cpu}: memory is not locked: {why}")));
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

    /// Notes conditions that make the result less certain.
    fn judge_conditions(&mut self, hardware: &Hardware) {
        for cpu in &hardware.cpus {
            let asked = self.plan.scheduling;
            if cpu.scheduling != asked {
                let text = format!("the thread on CPU {} ran as {}, not {asked}", cpu.cpu, cpu.scheduling);
                self.remarks.narrowed.push(text);
            }
            if cpu.looked_ns < cpu.due_ns / 2 || cpu.looked_ns == 0 {
                let (looked, due) = (Nanos(cpu.looked_ns), Nanos(cpu.due_ns));
                let text = format!("CPU {} was observed for only {looked} of {due}", cpu.cpu);
                self.remarks.narrowed.push(text);
            }
        }
        if hardware.virtualisation.is_none() {
            self.remarks.notes.push("it is unknown whether this is a virtual machine".into());
        }
        let cost = clock_read_cost();
        if cost >= self.plan.threshold.0 as f64 / 4.0 {
            let text = format!("one reading of the clock takes {cost:.0} ns: raise --threshold");
            self.remarks.narrowed.push(text);
        }
        if self.plan.cpus.len() == 1 {
            self.remarks.notes.push(
                "with only one CPU, a stall of the whole machine cannot be distinguished from a stall of that CPU"
                    .into(),
            );
        }
    }
}
