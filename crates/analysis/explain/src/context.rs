//! Finds the counters that cover one wakeup, and the counters with which these are compared.

use crate::usual::Usual;
use punctual_model::{ContextSample, CpuContext, Event, Phase, Reading, Recording, Worst};
use punctual_units::{Arrange, CpuId, Scheduling};
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub sample: &'a ContextSample,
    pub cpu: &'a CpuContext,
}

/// The counters of the intervals that contain a wakeup.
pub struct Window<'a> {
    /// One part for each of these intervals, at least one.
    pub parts: Vec<Part<'a>>,
    pub length_ns: u64,
    /// True if the parts cover the wakeup from release to end.
    pub whole: bool,
}

impl<'a> Window<'a> {
    /// Returns the sum over the intervals; `None` if the value is unknown in any interval.
    pub fn sum<T: Into<u64>>(&self, figure: impl Fn(&Part<'a>) -> Option<T>) -> Option<u64> {
        self.parts.iter().try_fold(0u64, |sum, p| figure(p).map(|f| sum.saturating_add(f.into())))
    }

    pub fn named(&self, list: impl Fn(&Part<'a>) -> &'a [Reading]) -> Vec<(&'a str, u64)> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for reading in self.parts.iter().flat_map(list) {
            let sum = sums.entry(&reading.name).or_default();
            *sum = sum.saturating_add(u64::try_from(reading.value).unwrap_or(0));
        }
        let mut sums: Vec<_> = sums.into_iter().filter(|(_, n)| *n > 0).collect();
        sums.arrange_by_key(|(_, n)| std::cmp::Reverse(*n));
        sums
    }
}

/// The intervals that a CPU's counters are compared with.
pub struct Reference<'a> {
    /// Intervals of the same phase, since the constant activity of a load is not a burst.
    in_phase: Vec<Part<'a>>,
    in_run: Vec<Part<'a>>,
}

impl<'a> Reference<'a> {
    /// Returns the usual rate under this load, per second; `None` if it was read too rarely.
    pub fn usual(&self, figure: impl Fn(&Part<'a>) -> Option<f64>) -> Option<Usual> {
        Reference::rates(&self.in_phase, figure)
    }

    /// Returns the rate as [`Reference::usual`] does, or the rate over the whole run if this phase is too short: for
    /// counters that other loads hardly change.
    pub fn usual_of_run(&self, figure: impl Fn(&Part<'a>) -> Option<f64>) -> Option<Usual> {
        self.usual(&figure).or_else(|| Reference::rates(&self.in_run, figure))
    }

    fn rates(parts: &[Part<'a>], figure: impl Fn(&Part<'a>) -> Option<f64>) -> Option<Usual> {
        let rate = |p: &Part<'a>| {
            // A very short interval, as at the end of a phase, has no meaningful rate.
            let seconds = p.sample.interval_ns as f64 / 1e9;
            figure(p).filter(|_| seconds >= 0.1).map(|f| f / seconds)
        };
        Usual::of(parts.iter().filter_map(rate).collect())
    }
}

pub struct Index<'a> {
    recording: &'a Recording,
    samples: Vec<&'a ContextSample>,
    smi: Vec<(u64, &'a [(CpuId, u64)])>,
    references: BTreeMap<(String, CpuId), Rc<Reference<'a>>>,
}

/// Uncertainty of an interval's end, ns: the sampler reads one counter after another.
const EDGE_NS: u64 = 2_000_000;

/// Maximum number of intervals compared, which suffices for the median of a long run.
const MOST_COMPARED: usize = 1000;

impl<'a> Index<'a> {
    pub fn new(recording: &'a Recording) -> Index<'a> {
        let mut samples = Vec::new();
        let mut smi = Vec::new();
        for event in &recording.events {
            match event {
                Event::Context(sample) => samples.push(sample),
                Event::Smi { mono_ns, counts } => smi.push((*mono_ns, counts.as_slice())),
                _ => {}
            }
        }
        samples.arrange_by_key(|s| s.mono_ns);
        smi.arrange_by_key(|s| s.0);
        Index { recording, samples, smi, references: BTreeMap::new() }
    }

    pub fn window(&self, worst: &Worst) -> Option<Window<'a>> {
        let from = worst.release_mono_ns;
        let to = from.saturating_add(worst.latency_ns);
        let first = self.samples.partition_point(|s| s.mono_ns <= from);
        let near = self.samples[first..].iter().take_while(|s| start(s) <= to.saturating_add(EDGE_NS));
        let parts: Vec<_> = near.filter_map(|s| part(s, worst.cpu)).collect();
        let (earliest, latest) = (start(parts.first()?.sample), parts.last()?.sample.mono_ns);
        let length_ns = parts.iter().fold(0u64, |sum, p| sum.saturating_add(p.sample.interval_ns));
        let whole = earliest <= from && to <= latest && length_ns >= latest - earliest;
        Some(Window { parts, length_ns, whole })
    }

    pub fn reference(&mut self, phase: &str, cpu: CpuId) -> Rc<Reference<'a>> {
        let key = (phase.to_owned(), cpu);
        if let Some(known) = self.references.get(&key) {
            return Rc::clone(known);
        }
        let stretches = self.phase(phase).map(Phase::stretches).unwrap_or_default();
        let ranges: Vec<_> = stretches.into_iter().map(|(from, to)| from..to.unwrap_or(u64::MAX)).collect();
        let in_phase = self.parts_within(&ranges, cpu);
        let made =
            Rc::new(Reference { in_phase, in_run: self.parts_within(std::slice::from_ref(&(0..u64::MAX)), cpu) });
        self.references.insert(key, Rc::clone(&made));
        made
    }

    fn parts_within(&self, ranges: &[std::ops::Range<u64>], cpu: CpuId) -> Vec<Part<'a>> {
        // An interval belongs to the phase that contains its middle.
        let middle = |s: &ContextSample| s.mono_ns - (s.interval_ns / 2).min(s.mono_ns);
        let within = |s: &&&ContextSample| ranges.iter().any(|range| range.contains(&middle(s)));
        let samples: Vec<_> = self.samples.iter().filter(within).collect();
        let step = samples.len().div_ceil(MOST_COMPARED).max(1);
        samples.into_iter().step_by(step).filter_map(|s| part(s, cpu)).collect()
    }

    pub fn phase(&self, id: &str) -> Option<&'a Phase> {
        self.recording.run.phases.iter().find(|p| p.id == id)
    }

    pub fn scheduling(&self, worst: &Worst) -> Option<Scheduling> {
        self.phase(&worst.phase)?.cpus.iter().find(|c| c.cpu == worst.cpu).and_then(|c| c.got)
    }

    /// Returns the SMI counts of the late CPU: the last before the phase, the first after it.
    pub fn smi_around(&self, worst: &Worst) -> Option<(u64, u64)> {
        let phase = self.phase(&worst.phase)?;
        // If there are several rounds, that of the wakeup is used.
        let holds = |(from, _): &(u64, Option<u64>)| *from <= worst.release_mono_ns;
        let (begin, end) = match phase.stretches().into_iter().rfind(holds) {
            Some(stretch) => stretch,
            None => (phase.start_mono_ns?, phase.end_mono_ns),
        };
        let end = end?;
        let count = |counts: &[(CpuId, u64)]| counts.iter().find(|(c, _)| *c == worst.cpu).map(|(_, n)| *n);
        let before = self.smi.iter().rev().find(|(t, _)| *t <= begin).and_then(|(_, c)| count(c))?;
        let after = self.smi.iter().find(|(t, _)| *t >= end).and_then(|(_, c)| count(c))?;
        Some((before, after))
    }

    /// Returns the other CPUs on which one of the recorded worst wakeups occurred at the same instant and was at least
    /// half as late.
    pub fn also_late(&self, worst: &Worst) -> punctual_units::CpuList {
        let end = |w: &Worst| w.release_mono_ns.saturating_add(w.latency_ns);
        let overlaps = |w: &&Worst| w.release_mono_ns < end(worst) && worst.release_mono_ns < end(w);
        let comparable = |w: &&Worst| w.cpu != worst.cpu && w.latency_ns >= worst.latency_ns / 2;
        self.recording.worst.iter().filter(comparable).filter(overlaps).map(|w| w.cpu).collect()
    }
}

fn start(sample: &ContextSample) -> u64 {
    sample.mono_ns.saturating_sub(sample.interval_ns)
}

fn part(sample: &ContextSample, cpu: CpuId) -> Option<Part<'_>> {
    sample.cpus.iter().find(|c| c.cpu == cpu).map(|cpu| Part { sample, cpu })
}
