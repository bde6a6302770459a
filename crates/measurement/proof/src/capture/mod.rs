//! Tracing during a measurement: the kernel writes events to a private ring buffer, and time windows around the worst
//! wakeups are saved.
//!
//! A late measuring thread writes to an eventfd ([`Cell::watch`]), which wakes an ordinary thread that saves the
//! window. The threshold adapts so that this is rare: it happens immediately for a new worst wakeup, and at most once a
//! second for one of the worst four of a CPU. Nothing is analysed during the measurement.

mod choose;
mod cost;
mod cutter;
mod facts;
mod kernel_text;
mod stacks;
mod state;

use crate::options::Options;
pub(crate) use state::{HIDING, State};

pub(crate) use facts::{OfMachine, fair_server};
pub(crate) use stacks::Namer;

pub use choose::Window;
use choose::{Late, MOST};
pub use cutter::Cutter;
pub(crate) use cutter::Saver;
use punctual_directory::Dir;
use punctual_measure::{Bell, Cell};
use punctual_model::{Capture, LateWakeup, PhaseTrace, Tracing};
use punctual_rt::monotonic;
use punctual_tracefs::TracefsError;
use punctual_units::{Arrange, CpuId, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// Minimum time between the signal for a new worst wakeup and a signal for a less late one.
const SECOND: Nanos = Nanos::from_secs(1);
/// Time at the start of a phase during which no signals are sent, because at first each wakeup is the worst so far.
const SETTLE: Nanos = Nanos::from_millis(50);

pub(crate) struct Tracer {
    cutter: Cutter,
    bell: Bell,
    dir: Dir,
    /// For each phase that continues in another round, the number of windows saved, and each window's worst latency
    /// with its capture.
    kept: BTreeMap<String, (u32, Vec<(u64, Capture)>)>,
}

pub(crate) struct Watch {
    bell: Bell,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Tracer, PhaseTrace)>,
}

/// A watched thread: its CPU, its ID and its cell.
pub(crate) type Watched = (CpuId, i32, Arc<Cell>);

impl Tracer {
    /// Starts tracing. This takes about a tenth of a second and disturbs all CPUs.
    pub fn start(options: &Options, dir: &Dir, bell: &Bell) -> Result<Tracer, TracefsError> {
        let cutter = Cutter::start(&options.trace, options.period)?;
        Ok(Tracer { cutter, bell: bell.clone(), dir: dir.clone(), kept: BTreeMap::new() })
    }

    /// Starts a thread that saves windows during one phase.
    ///
    /// # Errors
    /// The thread could not be started. Tracing has been stopped.
    pub fn watch(mut self, phase: String, watched: Vec<Watched>) -> std::io::Result<Watch> {
        self.cutter.begin_log();
        let (count, kept) = self.kept.remove(&phase).unwrap_or_default();
        let stop = Arc::new(AtomicBool::new(false));
        let (bell, theirs) = (self.bell.clone(), Arc::clone(&stop));
        let watcher = Watcher {
            tracer: self,
            events_before: 0,
            phase,
            watched,
            seen: Vec::new(),
            kept,
            count,
            result: PhaseTrace::default(),
        };
        let builder = std::thread::Builder::new().name("capture".into()).stack_size(256 * 1024);
        builder.spawn(move || watcher.run(&theirs)).map(|thread| Watch { bell, stop, thread })
    }

    /// Returns the saved windows of a phase that has ended.
    pub fn captures(&self, phase: &str) -> Vec<Capture> {
        self.kept.get(phase).map_or_else(Vec::new, |(_, kept)| kept.iter().map(|(_, one)| one.clone()).collect())
    }

    /// Measures the cost of an event, then removes the instance. Returns a message if something could not be removed.
    pub fn end(self) -> (Tracing, Option<String>) {
        self.cutter.end()
    }
}

impl Watch {
    /// Checks for late wakeups once more, then ends the thread. `None` if the thread panicked; the trace is then lost.
    pub fn finish(self) -> Option<(Tracer, PhaseTrace)> {
        self.stop.store(true, Relaxed);
        self.bell.ring();
        self.thread.join().ok()
    }
}

struct Watcher {
    tracer: Tracer,
    events_before: u64,
    phase: String,
    watched: Vec<Watched>,
    /// CPU and release of the late wakeups that have already been examined.
    seen: Vec<(CpuId, u64)>,
    /// The worst latency in each saved window, and its capture.
    kept: Vec<(u64, Capture)>,
    count: u32,
    result: PhaseTrace,
}

impl Watcher {
    fn run(mut self, stop: &AtomicBool) -> (Tracer, PhaseTrace) {
        self.events_before = self.tracer.cutter.recorded();
        let bell = self.tracer.bell.clone();
        self.pause(SETTLE, stop);
        self.arm(true);
        let mut high = true;
        loop {
            let rung = bell.wait(high.then_some(SECOND));
            self.result.wakeups += 1;
            if stop.load(Relaxed) {
                break;
            }
            if rung {
                self.pause(Cutter::AFTER, stop);
            }
            self.look();
            self.arm(rung);
            high = rung;
        }
        self.watched.iter().for_each(|(.., cell)| cell.watch(u64::MAX));
        self.look();
        self.result.events = self.tracer.cutter.recorded().saturating_sub(self.events_before);
        self.result.captures = self.kept.len() as u64;
        let mut kept: Vec<Capture> = self.kept.iter().map(|(_, capture)| capture.clone()).collect();
        match self.tracer.cutter.name(&self.tracer.dir, &mut kept) {
            Ok(()) => self.kept.iter_mut().zip(kept).for_each(|((_, capture), named)| *capture = named),
            Err(e) => self.problem(format!("the functions of a window's stacks could not be named: {e}")),
        }
        self.tracer.kept.insert(self.phase, (self.count, self.kept));
        (self.tracer, self.result)
    }

    /// Sleeps, but at most until the end of the phase. A signal that arrives meanwhile is handled afterwards.
    fn pause(&self, time: Nanos, stop: &AtomicBool) {
        if !stop.load(Relaxed) {
            std::thread::sleep(time.into());
        }
    }

    /// Sets the threshold for signals: if `high`, only a wakeup that is the worst on all CPUs signals; otherwise any
    /// wakeup that is among the worst of its CPU.
    fn arm(&self, high: bool) {
        let full = self.kept.len() >= MOST;
        let least = self.kept.iter().map(|(latency, _)| *latency).min().filter(|_| full).unwrap_or(0);
        for (.., cell) in &self.watched {
            let worst = cell.worst();
            let rank = if high { 0 } else { choose::RANKS - 1 };
            cell.watch(worst.get(rank).map_or(0, |kept| kept.latency).max(least));
        }
    }

    /// Saves windows around wakeups that are among the worst and have not been examined yet.
    fn look(&mut self) {
        let now = monotonic();
        let mut late: Vec<Late> = Vec::new();
        for (cpu, tid, cell) in &self.watched {
            for kept in cell.worst().into_iter().take(choose::RANKS) {
                let wakeup =
                    LateWakeup { cpu: *cpu, tid: *tid, release_mono_ns: kept.release, latency_ns: kept.latency };
                let known = self.seen.contains(&(*cpu, kept.release));
                if !known && kept.release + kept.latency <= now.0 {
                    self.seen.push((*cpu, kept.release));
                    late.push(wakeup);
                }
            }
        }
        let kept: Vec<u64> = self.kept.iter().map(|(latency, _)| *latency).collect();
        let windows = self.tracer.cutter.windows(late, &kept);
        if !windows.is_empty()
            && let Err(e) = self.keep(windows)
        {
            self.problem(format!("a window of the trace could not be saved: {e}"));
        }
    }

    fn keep(&mut self, windows: Vec<Window>) -> std::io::Result<()> {
        let mut named = Vec::new();
        for window in windows {
            self.count += 1;
            named.push((format!("traces/{}-{}.dat", self.phase, self.count), window));
        }
        for capture in self.tracer.cutter.cut(&self.tracer.dir, &self.phase, named)? {
            let worst = capture.late.iter().map(|late| late.latency_ns).max().unwrap_or(0);
            self.kept.push((worst, capture));
        }
        self.forget_least();
        Ok(())
    }

    fn forget_least(&mut self) {
        self.kept.arrange_by_key(|(latency, _)| std::cmp::Reverse(*latency));
        for (_, capture) in self.kept.drain(MOST.min(self.kept.len())..) {
            Cutter::forget(&self.tracer.dir, &capture.file);
        }
    }

    fn problem(&mut self, text: String) {
        if self.result.problems.len() < 8 && !self.result.problems.contains(&text) {
            self.result.problems.push(text);
        }
    }
}
