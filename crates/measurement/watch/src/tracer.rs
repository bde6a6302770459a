//! Saves a window of the trace for every new maximum of a CPU, and explains it.
//!
//! A measuring thread whose latency exceeds all latencies since the start writes to an eventfd ([`Cell::watch`]). This
//! wakes an ordinary thread, which saves the window and starts a separate process that explains it. [`Pace`] limits how
//! often this happens; skipped maxima are counted and reported.

use crate::budget::Pace;
use crate::child;
use crate::ledger::{Ledger, real_of};
use punctual_directory::Dir;
use punctual_measure::{Bell, Cell, clocks, steal_ticks};
use punctual_model::{Capture, Explained, LateWakeup, PhaseTrace, WatchMaximum};
use punctual_proof::{Cutter, Window};
use punctual_rt::monotonic;
use punctual_units::{CpuId, Nanos};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time at the start of a segment during which no traces are saved, because many wakeups are then new maxima.
const SETTLE: Duration = Duration::from_millis(50);
/// Number of complete explanations kept per segment.
const EXPLAINED: usize = 6;
/// Maximum time to wait for an explanation in progress at the end of a segment.
const PATIENCE: Duration = Duration::from_millis(300);
/// Reason reported for a maximum that was not traced.
const TOO_MANY: &str = "not traced: too many new maxima at once";

/// Interval of additional checks, in case a signal was lost, for example because a security filter forbids writing to
/// an eventfd.
const UNRUNG: Nanos = Nanos(2_000_000_000);

pub(crate) struct Tracer {
    bell: Bell,
    orders: Sender<Order>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Option<String>>,
}

enum Order {
    Watch(Watched),
    /// The segment has ended. The tracer answers with the traces saved during it.
    End(SyncSender<Yield>),
}

pub(crate) struct Watched {
    /// Name of the run directory, relative to the watch directory.
    pub name: String,
    pub phase: String,
    pub cells: Vec<(CpuId, i32, Arc<Cell>)>,
}

#[derive(Default)]
pub(crate) struct Yield {
    pub traced: PhaseTrace,
    pub captures: Vec<Capture>,
    pub explained: Vec<Explained>,
}

impl Tracer {
    /// Starts the tracer's thread.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(cutter: Cutter, bell: Bell, ledger: Arc<Mutex<Ledger>>) -> std::io::Result<Tracer> {
        let (orders, inbox) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = ledger.lock().unwrap_or_else(PoisonError::into_inner).watch.settings.cpus.len();
        let worker = Worker {
            cutter,
            bell: bell.clone(),
            inbox,
            stop: Arc::clone(&stop),
            ledger,
            worst: BTreeMap::new(),
            pace: Pace::new(cpus),
            count: 0,
            watched: None,
            result: Yield::default(),
            events_before: 0,
        };
        let thread =
            std::thread::Builder::new().name("tracer".into()).stack_size(512 * 1024).spawn(move || worker.run())?;
        Ok(Tracer { bell, orders, stop, thread })
    }

    pub fn watch(&self, watched: Watched) {
        let _ = self.orders.send(Order::Watch(watched));
        self.bell.ring();
    }

    /// Ends the segment. Returns its saved traces, unless that takes too long.
    pub fn end_segment(&self) -> Yield {
        let (answer, answered) = sync_channel(1);
        let _ = self.orders.send(Order::End(answer));
        self.bell.ring();
        answered.recv_timeout(PATIENCE).unwrap_or_default()
    }

    /// Ends tracing and removes the instance. Returns a message if something could not be removed.
    pub fn end(self) -> Option<String> {
        self.stop.store(true, Relaxed);
        self.bell.ring();
        self.thread.join().unwrap_or_else(|_| Some("the thread that saved the traces panicked".into()))
    }
}

struct Worker {
    cutter: Cutter,
    bell: Bell,
    inbox: Receiver<Order>,
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    /// For each CPU, the largest latency examined since the start, ns.
    worst: BTreeMap<CpuId, u64>,
    pace: Pace,
    count: u32,
    watched: Option<Watched>,
    result: Yield,
    events_before: u64,
}

impl Worker {
    fn run(mut self) -> Option<String> {
        while !self.stop.load(Relaxed) {
            let rung = self.bell.wait(Some(UNRUNG));
            if self.stop.load(Relaxed) {
                break;
            }
            if rung {
                std::thread::sleep(Cutter::AFTER.into());
            }
            self.look();
            while let Ok(order) = self.inbox.try_recv() {
                self.obey(order);
            }
            self.arm();
        }
        self.cutter.end_now()
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Watch(watched) => {
                std::thread::sleep(SETTLE);
                self.cutter.begin_log();
                self.events_before = self.cutter.recorded();
                (self.watched, self.result, self.count) = (Some(watched), Yield::default(), 0);
                // The previous segment has been written, so it is known how much space it needs.
                self.make_room();
                self.look();
            }
            Order::End(answer) => {
                self.watched = None;
                let mut result = std::mem::take(&mut self.result);
                result.traced.events = self.cutter.recorded().saturating_sub(self.events_before);
                result.traced.captures = result.captures.len() as u64;
                // If nobody waits for the answer any more, the traces are read later from the directory.
                let _ = answer.try_send(result);
            }
        }
    }

    /// Makes the next wakeup of each CPU that is later than all previous ones signal this thread.
    fn arm(&self) {
        let floor = self.ledger().watch.settings.trace_above_ns.0;
        for (cpu, _, cell) in self.watched.iter().flat_map(|watched| &watched.cells) {
            let worst = self.worst.get(cpu).copied().unwrap_or(0).max(floor);
            cell.watch(worst);
            // Examines wakeups that occurred between the check and the arming.
            if cell.worst().first().is_some_and(|kept| kept.latency > worst) {
                self.bell.ring();
            }
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns new maxima above `floor` that are complete, each larger than the previous one.
    fn new_maxima(&mut self, floor: u64) -> Vec<LateWakeup> {
        let now = monotonic().0;
        let mut new = Vec::new();
        for (cpu, tid, cell) in self.watched.iter().flat_map(|watched| &watched.cells) {
            let mut kept = cell.worst();
            kept.sort_by_key(|one| one.release);
            let worst = self.worst.entry(*cpu).or_insert(floor);
            for one in kept.into_iter().filter(|one| one.release + one.latency <= now) {
                if one.latency > *worst {
                    *worst = one.latency;
                    new.push(LateWakeup {
                        cpu: *cpu,
                        tid: *tid,
                        release_mono_ns: one.release,
                        latency_ns: one.latency,
                    });
                }
            }
        }
        new
    }

    fn look(&mut self) {
        let floor = self.ledger().watch.settings.trace_above_ns.0;
        let new = self.new_maxima(floor);
        if new.is_empty() {
            return;
        }
        self.result.traced.wakeups += 1;
        let all: Vec<LateWakeup> = new.clone();
        let windows = match self.pace.may(monotonic()) {
            true => self.cutter.windows(new, &[]),
            false => Vec::new(),
        };
        let taken: Vec<(CpuId, u64)> =
            windows.iter().flat_map(|window| &window.late).map(|late| (late.cpu, late.release_mono_ns)).collect();
        let left_out = all.into_iter().filter(|late| !taken.contains(&(late.cpu, late.release_mono_ns)));
        for late in left_out {
            self.book(&late, Err(TOO_MANY.into()));
        }
        if !windows.is_empty() {
            self.keep(windows);
        }
    }

    fn keep(&mut self, windows: Vec<Window>) {
        let Some((name, phase)) = self.watched.as_ref().map(|w| (w.name.clone(), w.phase.clone())) else { return };
        let late: Vec<LateWakeup> = windows.iter().flat_map(|window| window.late.clone()).collect();
        let before = self.ledger().steal.clone();
        let mut named = Vec::new();
        for window in windows {
            self.count += 1;
            named.push((format!("traces/{phase}-{}.dat", self.count), window));
        }
        let run = self.ledger().dir.dir(&name);
        let cut = run.map_err(std::io::Error::from).and_then(|run| Ok((self.cutter.cut(&run, &phase, named)?, run)));
        match cut {
            Ok((captures, run)) => {
                captures.into_iter().for_each(|capture| self.explain(&name, &run, capture, before.as_deref()));
            }
            Err(e) => late
                .iter()
                .for_each(|one| self.book(one, Err(format!("the window of the trace could not be saved: {e}")))),
        }
    }

    fn explain(&mut self, name: &str, run: &Dir, capture: Capture, before: Option<&[(CpuId, u64)]>) {
        let explained = child::explain(run, &capture, steal_rose(before, &capture));
        for late in &capture.late {
            let mine = |one: &&Explained| (one.cpu, one.release_mono_ns) == (late.cpu, late.release_mono_ns);
            let verdict = match &explained {
                Ok(all) => all.iter().find(mine).map(|one| one.victim.verdict.clone()).ok_or_else(|| {
                    let lost = if capture.overwritten.is_empty() {
                        ""
                    } else {
                        "; the buffer was overwritten: see --trace-buffer"
                    };
                    format!("its wakeup is not in the trace{lost}")
                }),
                Err(why) => Err(why.clone()),
            };
            self.book(late, verdict);
        }
        // Timelines are omitted: they need most of the space, and the saved trace contains them.
        let slim = explained.unwrap_or_default().into_iter().map(|one| Explained { timeline: None, ..one });
        self.result.explained.extend(slim);
        // Other explanations are superseded. The series contains their sentences.
        self.result.explained.sort_by_key(|one| std::cmp::Reverse(one.latency_ns));
        self.result.explained.truncate(EXPLAINED);
        self.ledger().kept.add(name, run, &capture);
        self.result.captures.push(capture);
        self.make_room();
    }

    fn make_room(&mut self) {
        let gone = self.ledger().make_room();
        for gone in gone {
            let here = self.watched.as_ref().is_some_and(|watched| watched.name == gone.run);
            self.result.captures.retain(|one| !here || one.file != gone.file);
        }
    }

    fn book(&self, late: &LateWakeup, verdict: Result<String, String>) {
        let mut ledger = self.ledger();
        let maxima = &mut ledger.watch.maxima;
        maxima.seen += 1;
        match &verdict {
            Ok(_) => maxima.explained += 1,
            Err(why) if why == TOO_MANY => maxima.too_many += 1,
            Err(_) => maxima.failed += 1,
        }
        let (verdict, why_not) = match verdict {
            Ok(verdict) => (Some(verdict), None),
            Err(why) => (None, Some(why)),
        };
        let maximum = WatchMaximum {
            cpu: late.cpu,
            real_ns: real_of(&clocks(), late.release_mono_ns),
            mono_ns: late.release_mono_ns,
            latency_ns: late.latency_ns,
            segment: self.watched.as_ref().map(|watched| watched.name.clone()),
            verdict,
            why_not,
            // The file with facts identifies the wakeup for as long as the trace exists.
            trace: None,
        };
        ledger.maximum(maximum);
    }
}

/// Returns true if the CPU of one of these wakeups lost time to a hypervisor since the last checkpoint; `None` if
/// unknown.
fn steal_rose(before: Option<&[(CpuId, u64)]>, capture: &Capture) -> Option<bool> {
    let now = steal_ticks()?;
    let of = |all: &[(CpuId, u64)], cpu| all.iter().find(|(c, _)| *c == cpu).map(|(_, ticks)| *ticks);
    let mut rose = None;
    for late in &capture.late {
        let risen = of(&now, late.cpu)? > of(before?, late.cpu)?;
        rose = Some(rose.unwrap_or(false) | risen);
    }
    rose
}
