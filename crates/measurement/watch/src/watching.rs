//! The steps of a complete watch: preparation, one segment after the other, and the end.

use crate::budget::Kept;
use crate::error::WatchError;
use crate::keep;
use crate::ledger::{Ledger, OnMessage, Textfile};
use crate::lines::Lines;
use crate::notify::Notify;
use crate::options::Options;
use crate::own;
use crate::read;
use crate::recording::{Prepared, Recording};
use crate::segment::{Ending, PHASE, WORST};
use crate::state;
use crate::tracer::{Tracer, Watched, Yield};
use punctual_directory::Dir;
use punctual_measure::{
    Bell, Context, ContextCost, ContextPlan, EngineError, GRID, Pace, Plan, Running, Topology, start,
};
use punctual_model::{EndedBy, OwnCost, Tracing, Watch};
use punctual_proof::{App, AppKeeper, Blocks, Choice, Cutter, When, choose_scheduling, signals};
use punctual_rt::monotonic;
use punctual_uapi::{self as uapi, Sig, SignalSet, Waited, wait};
use punctual_units::{CpuId, CpuList, Nanos};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Interval of samples and checkpoints. If the process is killed, at most the results of one interval are lost.
const TICK: Nanos = Nanos::from_secs(5);
/// Interval at which the main thread checks whether the segment has ended.
const LOOK: Nanos = Nanos::from_secs(2);
/// Time allowed for a thread to end after it was asked to.
const PATIENCE: Nanos = Nanos::from_millis(400);
/// Interval of checks for online CPUs while all are offline.
const RETRY: Nanos = Nanos::from_secs(5);

pub struct Done {
    pub watched: punctual_model::Watched,
    pub signal: Option<Sig>,
    /// Error of writing a file, which also determines the exit code.
    pub error: Option<String>,
}

/// The signals for which a watch waits: those that end it, SIGCHLD, and SIGUSR1, which says that the application is late.
/// They must be blocked in the main thread before it starts another, since SIGUSR1 may come at any time.
pub fn watch_signals() -> SignalSet {
    SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term, Sig::Chld, Sig::Usr1])
}

/// Watches the machine until a signal arrives or `duration` has passed. The signals of [`watch_signals`] must be blocked. `on_start` is called once, when everything is ready and measuring is about to start.
///
/// # Errors
/// The watch did not start. Later it ends with an error only if the threads of all CPUs are lost.
pub fn watch(options: &Options, on_start: &dyn Fn(&Watch), on_message: OnMessage) -> Result<Done, WatchError> {
    check(options)?;
    uapi::install_wakeup()?;
    let topology = Topology::read()?;
    let cpus = topology.choose(options.cpus.as_ref())?;
    let choice = choose_scheduling(options.policy, options.priority, options.period)?;
    let dir = state::take(&options.out)?;
    dir.make_dir(keep::RUNS)?;
    // The application must not inherit settings of this process.
    let prepared = options.app.as_ref().map(Prepared::start).transpose()?;
    let housekeeping = topology.housekeeping(&cpus);
    if !housekeeping.is_empty() {
        uapi::set_affinity(0, &housekeeping)?;
    }
    let wanted = options.cpus.clone().unwrap_or_else(|| topology.allowed.clone());
    let ledger = Arc::new(Mutex::new(begin(options, &choice, dir, wanted, on_message)?));
    let tracer = start_tracer(options, &ledger)?;
    let recording = prepared.map(|prepared| record(prepared, &ledger)).transpose()?;
    on_start(&ledger.lock().unwrap_or_else(PoisonError::into_inner).watch);
    Watching { options, choice, housekeeping, ledger, tracer, recording, recorded: None }.run()
}

fn record(prepared: Prepared, ledger: &Arc<Mutex<Ledger>>) -> Result<Recording, WatchError> {
    {
        let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.watch.application = Some(prepared.state.clone());
        prepared.notes.iter().for_each(|note| ledger.note(note.clone()));
    }
    if is_pending(Sig::Usr1) {
        let text = "SIGUSR1 arrived before the recording began: no events of that moment were kept";
        ledger.lock().unwrap_or_else(PoisonError::into_inner).note(text.into());
    }
    Recording::start(prepared, Arc::clone(ledger))
        .map_err(|e| WatchError::Environment(format!("cannot create a thread: {e}")))
}

/// Removes a pending signal. Returns false if it is not pending.
fn is_pending(signal: Sig) -> bool {
    wait(&SignalSet::new(&[signal]), Some(Nanos::ZERO)) == Waited::Signal(signal)
}

fn check(options: &Options) -> Result<(), WatchError> {
    if let Some(app) = &options.app {
        AppKeeper::check(&app.claims, app.window)?;
    }
    let usage = |text: String| Err(WatchError::Usage(text));
    if options.period < Nanos::from_micros(100) || options.period > Nanos::from_secs(60) {
        return usage(format!(
            "a period of {} is not supported by watch: choose 100us to 1min with --interval",
            options.period
        ));
    }
    if options.block < Nanos::from_secs(1) || options.segment < options.block {
        return usage(format!("--segment {} is shorter than a block of maxima, {}", options.segment, options.block));
    }
    if options.segment > Nanos::from_secs(7 * 86_400) {
        return usage("--segment: a run directory must not exceed a week".into());
    }
    if options.textfile_every < TICK {
        return usage(format!("--textfile-every: results are saved every {TICK}; use that or more"));
    }
    Ok(())
}

pub(crate) fn begin(
    options: &Options,
    choice: &Choice,
    dir: Dir,
    wanted: CpuList,
    on_message: OnMessage,
) -> Result<Ledger, WatchError> {
    let mut watch = state::begin(options, choice.scheduling, &wanted);
    let mut lines = Lines::new(dir.clone());
    let kept = Kept::found(&dir);
    let said = state::resume(&dir, &mut watch, &mut lines)?;
    said.iter().for_each(|text| on_message(text));
    if let Some(problem) = &choice.problem {
        on_message(&problem.text);
    }
    Ok(Ledger {
        bytes_at_start: dir.bytes(),
        traces_at_start: kept.bytes(),
        kept,
        windows: Vec::new(),
        dir,
        sync: options.sync,
        on_message,
        watch,
        lines,
        notify: Notify::new(options.notify_socket.as_ref()),
        segment: None,
        wanted,
        renew: false,
        steal: None,
        blocks: Blocks::new(options.block),
        textfile: Textfile { path: options.textfile.clone(), every: options.textfile_every, next: Nanos::ZERO },
        earlier: BTreeMap::new(),
        thermal: Default::default(),
        remarked: Default::default(),
        paused: None,
        away: Default::default(),
    })
}

/// Starts tracing for the whole watch. If that is not possible, the state contains the reason.
fn start_tracer(options: &Options, ledger: &Arc<Mutex<Ledger>>) -> Result<Option<(Tracer, Tracing, Bell)>, WatchError> {
    let why = if options.trace.when == When::Never {
        "switched off (--trace never)".to_owned()
    } else {
        let started = Bell::new().map_err(|e| format!("no eventfd: {e}")).and_then(|bell| {
            let cutter = Cutter::start(&options.trace, options.period).map_err(|e| e.to_string())?;
            let tracing = cutter.tracing().clone();
            let tracer = Tracer::start(cutter, bell.clone(), Arc::clone(ledger))
                .map_err(|e| format!("cannot create a thread: {e}"))?;
            Ok((tracer, tracing, bell))
        });
        match started {
            Ok(all) => return Ok(Some(all)),
            Err(why) if options.trace.when == When::Always => {
                return Err(WatchError::Environment(format!("new maxima cannot be traced: {why}")));
            }
            Err(why) => why,
        }
    };
    let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
    if options.trace.when != When::Never {
        (ledger.on_message)(&format!("new maxima are not traced: {why}"));
    }
    ledger.watch.untraced = Some(why);
    Ok(None)
}

struct Watching<'a> {
    options: &'a Options,
    choice: Choice,
    housekeeping: CpuList,
    ledger: Arc<Mutex<Ledger>>,
    tracer: Option<(Tracer, Tracing, Bell)>,
    recording: Option<Recording>,
    /// The application after its recording has ended, and a message if something could not be removed.
    recorded: Option<(App, Option<String>)>,
}

impl Watching<'_> {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(mut self) -> Result<Done, WatchError> {
        let end = self.options.duration.map(|duration| monotonic() + duration);
        let (mut signal, mut error) = (None, None);
        while signal.is_none() && end.is_none_or(|end| monotonic() < end) {
            let cpus =
                own::online().map_or_else(|| self.ledger().wanted.clone(), |online| self.ledger().wanted.and(&online));
            if cpus.is_empty() {
                signal = self.pause(RETRY, "all CPUs are offline".into());
                continue;
            }
            match self.segment(cpus, end) {
                Ok((ended, failed)) => {
                    signal = ended;
                    error = failed.or(error);
                }
                Err(e) if self.ledger().earlier.is_empty() => {
                    // Otherwise the recording's thread, and with it the trace instance, would remain.
                    drop(self.recording.take().map(Recording::end));
                    return Err(e);
                }
                // A CPU went offline after the check.
                Err(e) => signal = self.pause(RETRY, format!("no segment could start: {e}")),
            }
        }
        self.finish(signal, error)
    }

    /// Waits while nothing can be measured, and notifies systemd's watchdog, as the context thread does at other times.
    fn pause(&self, time: Nanos, why: String) -> Option<Sig> {
        {
            let mut ledger = self.ledger();
            ledger.notify.send(&format!("WATCHDOG=1\nSTATUS=nothing is measured: {why}; retrying"));
            ledger.note(format!("nothing is measured: {why}; retrying"));
            ledger.pause(why);
            ledger.checkpoint();
        }
        let until = monotonic() + time;
        while monotonic() < until {
            if let Some(signal) = self.signal(until.saturating_sub(monotonic())) {
                return Some(signal);
            }
        }
        None
    }

    /// Waits for a signal that ends the watch. SIGUSR1 means that the application is late.
    fn signal(&self, most: Nanos) -> Option<Sig> {
        match wait(&watch_signals(), Some(most)) {
            Waited::Signal(Sig::Usr1) => {
                self.recording.iter().for_each(Recording::signalled);
                None
            }
            Waited::Signal(Sig::Chld) | Waited::TimedOut => None,
            Waited::Signal(other) => Some(other),
        }
    }

    fn plan(&self, cpus: CpuList) -> Plan {
        Plan {
            phase: PHASE.into(),
            cpus,
            scheduling: self.choice.scheduling,
            via: Default::default(),
            senders: CpuList::new(),
            groups: BTreeMap::new(),
            period: self.options.period,
            alignment: self.options.alignment,
            warmup: Nanos::ZERO,
            // The actual end is later if the segment cannot be written at that time.
            duration: Nanos(366 * 86_400_000_000_000),
            keep: WORST,
            limits: GRID.to_vec(),
            bell: self.tracer.as_ref().map(|(.., bell)| bell.clone()),
        }
    }

    /// Measures one segment. Returns the signal that ended it, and a description of the write errors, if any.
    fn segment(&mut self, cpus: CpuList, end: Option<Nanos>) -> Result<(Option<Sig>, Option<String>), WatchError> {
        let plan = self.plan(cpus);
        match end {
            Some(end) => {
                let left = std::time::Duration::from_nanos(end.saturating_sub(monotonic()).0);
                punctual_watchdog::measuring("the watch", left);
            }
            None => punctual_watchdog::unlimited(),
        }
        let starting = punctual_watchdog::limit("the start of the measuring threads", punctual_watchdog::GRACE);
        let running = start(plan.clone()).map_err(|e: EngineError| WatchError::from(e))?;
        drop(starting);
        {
            let mut ledger = self.ledger();
            ledger.begin_segment(self.options, &plan, &running, self.choice.explicit);
            ledger.checkpoint();
            ledger.notify.send("READY=1");
        }
        let context = self.context(&running)?;
        self.begin_trace(&running);
        let signal = self.wait_for_end(&running, end);
        // Explanations of the last late moments are stored in the run directory, which this segment completes.
        if signal.is_some() || end.is_some_and(|end| monotonic() >= end) {
            self.end_recording();
        }
        Self::stop(&running);
        let yielded = self.tracer.as_ref().map(|(tracer, ..)| tracer.end_segment());
        let cost = context.finish();
        let failed = self.end_segment(running, signal, cost, yielded);
        Ok((signal, failed))
    }

    fn context(&self, running: &Running) -> Result<Context, WatchError> {
        let plan = ContextPlan {
            phase: PHASE.into(),
            cells: running.cells(),
            tids: running.tids(),
            housekeeping: self.housekeeping.clone(),
            load: None,
            pace: Pace { interval: TICK.min(self.options.block), progress_every: 1 },
            tick: None,
        };
        Context::start(plan, self.ledger.clone()).map_err(|e| {
            running.stop();
            WatchError::Environment(format!(
                "cannot start the context thread: {e}; see `ulimit -u` and pids.max of the cgroup"
            ))
        })
    }

    fn begin_trace(&self, running: &Running) {
        let Some((tracer, ..)) = &self.tracer else { return };
        let ledger = self.ledger();
        let Some(open) = &ledger.segment else { return };
        let tids: BTreeMap<CpuId, i32> = running.tids().into_iter().collect();
        let cells = running.cells().into_iter().map(|(cpu, cell)| (cpu, tids.get(&cpu).copied().unwrap_or(0), cell));
        tracer.watch(Watched { name: open.name.clone(), phase: PHASE.into(), cells: cells.collect() });
    }

    /// Sleeps until the segment has ended and can be written, the duration has passed, or a signal arrives.
    fn wait_for_end(&self, running: &Running, end: Option<Nanos>) -> Option<Sig> {
        loop {
            let left = end.map_or(LOOK, |end| end.saturating_sub(monotonic()).min(LOOK));
            if let Some(signal) = self.signal(left) {
                return Some(signal);
            }
            let ledger = self.ledger();
            let is_over = ledger.renew && ledger.has_room();
            if is_over || end.is_some_and(|end| monotonic() >= end) || running.finished() {
                return None;
            }
        }
    }

    fn stop(running: &Running) {
        let give_up = monotonic() + PATIENCE;
        while !running.finished() && monotonic() < give_up {
            // The series ends as the user requested, so no results count as missing.
            running.stop_with_enough();
            let _ = wait(&signals(), Some(Nanos::from_micros(500)));
        }
    }

    fn end_segment(
        &mut self,
        running: Running,
        signal: Option<Sig>,
        context: ContextCost,
        yielded: Option<Yield>,
    ) -> Option<String> {
        let mut outcome = running.collect();
        outcome.notes.extend(context.notes);
        let ended_by = match signal {
            Some(s) => EndedBy::Signal { number: s.number(), name: s.name().into() },
            None => EndedBy::Duration,
        };
        let cost = OwnCost {
            context_cpus: if self.housekeeping.is_empty() {
                "shared with the measured CPUs".into()
            } else {
                format!("housekeeping CPU {}", self.housekeeping)
            },
            context_cpu_ns: Some(context.cpu_ns),
            context_wakeups: context.wakeups,
            measuring_cpu_ns: Some(outcome.cpu_ns),
            ..OwnCost::default()
        };
        let tracing = self.tracer.as_ref().map(|(_, tracing, _)| tracing.clone());
        let Yield { traced, captures, explained } = yielded.unwrap_or_default();
        let traced = tracing.is_some().then_some(traced);
        let ending = Ending { outcome, ended_by, cost, tracing, traced, captures, explained };
        let mut ledger = self.ledger();
        let failed = ledger.end_segment(ending);
        if let Some(why) = &failed {
            (ledger.on_message)(why);
            ledger.watch.disk.failures += 1;
        }
        match keep::tidy(&ledger.dir, self.options.keep) {
            Ok(deleted) => ledger.watch.disk.segments_deleted += deleted,
            Err(e) => ledger.note(format!("an old run directory could not be deleted: {e}")),
        }
        failed
    }

    /// Ends the recording, and keeps and explains what was late until now.
    fn end_recording(&mut self) {
        let Some(recording) = self.recording.take() else { return };
        if is_pending(Sig::Usr1) {
            recording.signalled();
        }
        self.recorded = Some(recording.end());
    }

    fn finish(mut self, signal: Option<Sig>, error: Option<String>) -> Result<Done, WatchError> {
        self.end_recording();
        // The application is ended last, because its CPU time would count as that of a child of this process.
        let (_app, left) = self.recorded.take().unzip();
        if let Some(left) = left.flatten() {
            (self.ledger().on_message)(&left);
        }
        {
            let mut ledger = self.ledger();
            ledger.notify.send("STOPPING=1");
            ledger.resume();
            ledger.watch.ended_by = Some(match signal {
                Some(s) => EndedBy::Signal { number: s.number(), name: s.name().into() },
                None => EndedBy::Duration,
            });
            ledger.textfile.next = Nanos::ZERO;
            ledger.checkpoint();
        }
        if let Some((tracer, ..)) = self.tracer.take()
            && let Some(left) = tracer.end()
        {
            (self.ledger().on_message)(&left);
        }
        let ledger = self.ledger();
        let written = ledger.watch.disk.failing.clone();
        let earlier = (ledger.watch.disk.failures > 0).then(|| {
            format!(
                "{} checkpoints could not be written; see the notes in {}",
                ledger.watch.disk.failures,
                ledger.dir.path().join(crate::lines::SERIES).display()
            )
        });
        let watched = read::ended(&ledger.dir, ledger.watch.clone(), ledger.lines.waiting());
        Ok(Done { watched, signal, error: written.or(error).or(earlier) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn the_watchdog_is_fed_while_no_cpu_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let heard = UnixDatagram::bind(&path).unwrap();
        let options = Options {
            notify_socket: Some(path.into_os_string()),
            ..crate::tests::options(&folder.path().join("series"))
        };
        let dir = state::take(&options.out).unwrap();
        let choice = choose_scheduling(None, None, options.period).unwrap();
        let ledger = begin(&options, &choice, dir, CpuList::new(), Arc::new(|_| {})).unwrap();
        let ledger = Arc::new(Mutex::new(ledger));
        let watching = Watching {
            options: &options,
            choice,
            housekeeping: CpuList::new(),
            ledger,
            tracer: None,
            recording: None,
            recorded: None,
        };
        assert!(watching.pause(Nanos::from_millis(1), "none of the CPUs is online".into()).is_none());
        let mut message = [0; 128];
        let n = heard.recv(&mut message).unwrap();
        let message = String::from_utf8_lossy(&message[..n]).into_owned();
        assert!(message.starts_with("WATCHDOG=1\nSTATUS=nothing is measured: none of"), "{message}");
    }
}
