//! Reduces events to series with no more points than the chart can show.

use crate::clean;
use crate::figures::Figures;
use crate::svg::series::{Series, colour_of};
use crate::words;
use punctual_model::{AppValue, ContextSample, Event, WindowMax};
use punctual_units::{Arrange, CpuId};
use std::collections::BTreeMap;

/// Maximum number of sensors drawn, hottest first.
const MOST_SENSORS: usize = 4;

pub struct History {
    pub from: u64,
    pub to: u64,
    /// The quantity of an application's thread whose maxima were recorded; `None` for wakeup latencies.
    pub value: Option<AppValue>,
    /// Worst latency of each CPU that has its own line, ns.
    pub latency: Vec<(CpuId, Series)>,
    /// Worst latency of all other CPUs, ns.
    pub rest: Series,
    /// Sensors by name, °C, hottest first.
    pub temperature: Vec<(String, Series)>,
    /// Index of the picked CPU's colour, and its frequency in GHz.
    pub frequency: Vec<(usize, Series)>,
    /// Steal time of the CPU with the most steal time, percent.
    pub steal: Series,
    pub throttled: Vec<(u64, u64)>,
}

impl History {
    /// Collects the data; `None` without a time axis or data. `picked` CPUs have colours; if there are many CPUs, only
    /// the worst have their own lines.
    pub fn of(figures: &Figures, picked: &[CpuId]) -> Option<History> {
        let phases = &figures.recording.run.phases;
        let events = &figures.recording.events;
        let from = phases.iter().filter_map(|p| p.start_mono_ns).min()?;
        let last_event = events.iter().map(Event::mono_ns).max().unwrap_or(from);
        let last_phase = phases.iter().filter_map(|p| p.end_mono_ns).max().unwrap_or(from);
        let to = if phases.iter().all(|p| p.end_mono_ns.is_some()) { last_phase } else { last_event.max(last_phase) };
        let windows = events.iter().filter(|e| matches!(e, Event::Window(_))).count();
        if windows == 0 || to <= from {
            return None;
        }
        let series = || Series::new(from, to, windows);
        let value = events.iter().find_map(|event| match event {
            Event::Window(window) => phases.iter().find(|phase| phase.id == window.phase)?.value.clone(),
            _ => None,
        });
        let mut lines = with_lines(figures, picked);
        lines.truncate(if value.is_some() { 1 } else { lines.len() });
        let mut history = History {
            from,
            to,
            value,
            latency: lines.into_iter().map(|cpu| (cpu, series())).collect(),
            rest: series(),
            temperature: Vec::new(),
            frequency: Vec::new(),
            steal: series(),
            throttled: Vec::new(),
        };
        history.read(events, picked, series);
        Some(history)
    }

    /// Collects the maxima of blocks instead of seconds, without the state of the machine; `None` if there are too few.
    pub fn of_blocks(figures: &Figures, picked: &[CpuId]) -> Option<History> {
        let recording = figures.recording;
        words::maxima(recording)?;
        let from = recording.maxima.iter().map(|block| block.from_mono_ns).min()?;
        let to = recording.maxima.iter().map(|block| block.to_mono_ns).max().filter(|to| *to > from)?;
        let series = || Series::new(from, to, recording.maxima.len() / recording.run.settings.cpus.len().max(1));
        let mut history = History {
            from,
            to,
            value: None,
            latency: with_lines(figures, picked).into_iter().map(|cpu| (cpu, series())).collect(),
            rest: series(),
            temperature: Vec::new(),
            frequency: Vec::new(),
            steal: series(),
            throttled: Vec::new(),
        };
        for block in &recording.maxima {
            if let Some(max) = block.max_ns {
                history.add(block.cpu, (block.from_mono_ns, block.to_mono_ns), max);
            }
        }
        Some(history)
    }

    fn read(&mut self, events: &[Event], picked: &[CpuId], series: impl Fn() -> Series) {
        let mut sensors: BTreeMap<&str, Series> = BTreeMap::new();
        let mut frequency: BTreeMap<usize, Series> = BTreeMap::new();
        for event in events {
            match event {
                Event::Window(window) => self.window(window),
                Event::Context(sample) if sample.mono_ns >= self.from => {
                    for reading in &sample.temperatures {
                        let celsius = reading.value as f64 / 1000.0;
                        sensors.entry(&reading.name).or_insert_with(&series).add(
                            start(sample),
                            sample.mono_ns,
                            celsius,
                        );
                    }
                    self.context(sample);
                }
                Event::Frequency { mono_ns, khz } => {
                    for (cpu, khz) in khz {
                        let Some(n) = colour_of(picked, *cpu) else { continue };
                        frequency.entry(n).or_insert_with(&series).add(*mono_ns, *mono_ns, *khz as f64 / 1e6);
                    }
                }
                _ => {}
            }
        }
        let mut sensors: Vec<_> = sensors.into_iter().filter(|(_, s)| s.max().is_some()).collect();
        sensors.arrange_by(|a, b| b.1.max().unwrap_or(0.0).total_cmp(&a.1.max().unwrap_or(0.0)));
        sensors.truncate(MOST_SENSORS);
        self.temperature = sensors.into_iter().map(|(name, s)| (clean::clip(name, 40), s)).collect();
        self.frequency = frequency.into_iter().filter(|(_, s)| s.max().is_some()).collect();
    }

    fn window(&mut self, window: &WindowMax) {
        let start = window.mono_ns.saturating_sub(window.interval_ns);
        for (cpu, max) in window.max_ns.iter().filter(|(_, max)| *max > 0) {
            self.add(*cpu, (start, window.mono_ns), *max);
        }
    }

    fn add(&mut self, cpu: CpuId, (start, end): (u64, u64), max: u64) {
        // An application's maxima belong to a thread, not to a CPU.
        let own = self.latency.iter_mut().find(|(c, _)| *c == cpu || self.value.is_some());
        let series = own.map_or(&mut self.rest, |(_, series)| series);
        series.add(start, end, max as f64);
    }

    fn context(&mut self, sample: &ContextSample) {
        let steal = sample.cpus.iter().filter_map(|c| c.steal_ns).max();
        if let Some(steal) = steal.filter(|_| sample.interval_ns > 0) {
            self.steal.add(start(sample), sample.mono_ns, 100.0 * steal as f64 / sample.interval_ns as f64);
        }
        let own = sample.cpus.iter().any(|c| c.throttle_events.is_some_and(|n| n > 0));
        if own || sample.throttling.iter().any(|r| r.value > 0) {
            self.throttled.push((start(sample), sample.mono_ns));
        }
    }

    /// Returns the name of the drawn maxima.
    pub fn name(&self) -> String {
        self.value.as_ref().map_or_else(|| "worst wakeup".to_owned(), AppValue::to_string)
    }

    /// Returns class, name and series of each line.
    pub fn latency_lines(&self, picked: &[CpuId]) -> Vec<(String, String, &Series)> {
        let class = |cpu: &CpuId| crate::svg::colour(colour_of(picked, *cpu).unwrap_or(0));
        let mine = self.latency.iter().map(|(cpu, s)| (format!("{} line", class(cpu)), format!("CPU {cpu}"), s));
        let rest = self.rest.max().map(|_| ("rest-line".to_owned(), "others".to_owned(), &self.rest));
        rest.into_iter().chain(mine).collect()
    }
}

fn start(sample: &ContextSample) -> u64 {
    sample.mono_ns.saturating_sub(sample.interval_ns)
}

/// Returns the CPUs with their own line: all picked CPUs, or the worst few if there are many CPUs.
fn with_lines(figures: &Figures, picked: &[CpuId]) -> Vec<CpuId> {
    const MOST_LINES: usize = 4;
    if !figures.is_crowded() {
        return picked.to_vec();
    }
    let max = |cpu: CpuId| figures.cells.iter().filter(|c| c.cpu() == cpu).filter_map(|c| c.max()).max();
    let mut worst = picked.to_vec();
    worst.arrange_by_key(|cpu| (std::cmp::Reverse(max(*cpu)), *cpu));
    worst.truncate(MOST_LINES);
    worst.sort_unstable();
    worst
}
