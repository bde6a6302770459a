//! Watches an application: reads its events, and keeps those before each moment at which it is late.

use crate::budget::Pace;
use crate::error::WatchError;
use crate::ledger::{Ledger, real_of};
use crate::options::AppWatch;
use crate::segment::PHASE;
use punctual_measure::clocks;
use punctual_model::{AppLate, Capture, Cycle, LateBy, WatchApp, WatchLate, WatchLates, WatchLine};
use punctual_proof::{App, AppKeeper, Lates};
use punctual_rt::monotonic;
use punctual_units::{CpuList, Nanos};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Interval at which the state is updated, and at which the watch looks for threads that it does not observe yet.
const UPDATE: Nanos = Nanos::from_secs(1);
const LOOK: Nanos = Nanos::from_secs(10);
/// Time allowed for a segment to follow another one, and for the first one to begin.
const SEGMENT: Nanos = Nanos::from_millis(300);
const START: Nanos = Nanos::from_secs(2);
/// Maximum number of moments explained for a window.
const MOST: usize = 8;
const TOO_MANY: &str = "the application is late more often than windows can be kept: further moments are only counted";
const LOST: &str = "kernel events were overwritten before they were read: cycles, and moments at which the application was \
                    late, are missing";

/// An application that runs and whose cycles are recorded. Dropping it ends programs that were started.
pub(crate) struct Prepared {
    app: App,
    keeper: AppKeeper,
    pub state: WatchApp,
}

impl Prepared {
    /// Starts the application, or attaches to it, finds its cycles, and begins to record them.
    ///
    /// # Errors
    /// As for [`App::start`] and [`App::keeper`].
    pub fn start(watch: &AppWatch) -> Result<Prepared, WatchError> {
        let app = App::start(&watch.app)?;
        let is_proposed = watch.claims.is_empty();
        let claims = if is_proposed { app.proposed() } else { watch.claims.clone() };
        let keeper = app.keeper(&claims, watch.window)?;
        let found = app.application();
        let no_marks = (!keeper.sees_marks()).then(|| {
            "this kernel does not show what programs write to trace_marker (this requires Linux 7.0, 6.19.11 or 6.18.21)"
                .to_owned()
        });
        let state = WatchApp {
            program: found.program,
            threads: found.threads,
            claims: claims.iter().map(ToString::to_string).collect(),
            is_proposed,
            window_ns: watch.window,
            cycles: keeper.cycles(),
            late: WatchLates::default(),
            lost_events: 0,
            no_marks,
            ended: None,
        };
        Ok(Prepared { app, keeper, state })
    }
}

pub(crate) struct Recording {
    app: App,
    signals: Sender<Nanos>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<String>>,
}

impl Recording {
    /// Starts the thread that reads the events.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(prepared: Prepared, ledger: Arc<Mutex<Ledger>>) -> std::io::Result<Recording> {
        let Prepared { app, keeper, .. } = prepared;
        let (signals, inbox) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            keeper,
            inbox,
            stop: Arc::clone(&stop),
            ledger,
            pace: Pace::new(1),
            run: String::new(),
            count: 0,
            update: Nanos::ZERO,
            look: Nanos::ZERO,
        };
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || worker.run())?;
        Ok(Recording { app, signals, stop, thread })
    }

    /// Records that a signal reports the application as late now.
    pub fn signalled(&self) {
        let _ = self.signals.send(monotonic());
    }

    /// Ends recording. Returns the application, which ends the programs that were started when it is dropped, and a
    /// message if something could not be removed.
    pub fn end(self) -> (App, Option<String>) {
        self.stop.store(true, Relaxed);
        let left = self.thread.join().unwrap_or_else(|_| vec!["the thread that read the events panicked".into()]);
        let left = (!left.is_empty()).then(|| format!("the trace instance could not be removed: {}", left.join("; ")));
        (self.app, left)
    }
}

struct Worker {
    keeper: AppKeeper,
    inbox: Receiver<Nanos>,
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    pace: Pace,
    /// Run directory of the last window; `count` is the number of its windows.
    run: String,
    count: u32,
    /// Time of the next update of the state; `look` is the time of the next search for other threads.
    update: Nanos,
    look: Nanos,
}

impl Worker {
    fn run(mut self) -> Vec<String> {
        self.keeper.enter();
        self.run_directory(START);
        loop {
            let is_last = self.stop.load(Relaxed);
            while let Ok(at) = self.inbox.try_recv() {
                self.keeper.signalled(at);
            }
            match self.keeper.take() {
                Ok(lates) => self.late(lates),
                Err(why) => {
                    self.ended(why);
                    break;
                }
            }
            self.update(is_last);
            if is_last {
                break;
            }
            std::thread::sleep(AppKeeper::EVERY);
        }
        self.update(true);
        self.keeper.end()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, why: String) {
        let mut ledger = self.ledger();
        ledger.note(format!("the application is no longer watched: {why}"));
        ledger.app(|app| app.ended = Some(why));
    }

    fn update(&mut self, is_last: bool) {
        let now = monotonic();
        if now < self.update && !is_last {
            return;
        }
        self.update = now + UPDATE;
        let (cycles, lost) = (self.keeper.cycles(), self.keeper.lost());
        let others = if now >= self.look {
            self.look = now + LOOK;
            self.keeper.unwatched()
        } else {
            Vec::new()
        };
        let mut ledger = self.ledger();
        if lost > 0 && ledger.watch.application.as_ref().is_some_and(|app| app.lost_events == 0) {
            ledger.note(LOST.into());
        }
        ledger.app(|app| (app.cycles, app.lost_events) = (cycles, lost));
        if !others.is_empty() {
            ledger.note(format!("real-time threads that began later are not watched: {}", others.join(", ")));
        }
    }

    fn late(&mut self, lates: Lates) {
        let Lates { mut late, left_out } = lates;
        let seen = late.len() as u64 + left_out;
        if seen == 0 {
            return;
        }
        let may = self.pace.may(monotonic());
        late.truncate(if may { MOST } else { 0 });
        let too_many = seen - late.len() as u64;
        {
            let mut ledger = self.ledger();
            ledger.app(|app| {
                app.late.seen += seen;
                app.late.too_many += too_many;
            });
            if !may {
                ledger.note(TOO_MANY.into());
            }
        }
        if may {
            self.keep(self.run_directory(SEGMENT), late);
        }
    }

    /// Waits for a segment for at most `most`; meanwhile, the kernel's buffers hold the events. Returns the segment's
    /// run directory.
    fn run_directory(&self, most: Nanos) -> Option<String> {
        let until = monotonic() + most;
        loop {
            let name = self.ledger().segment.as_ref().map(|open| open.name.clone());
            if name.is_some() || self.stop.load(Relaxed) || monotonic() >= until {
                return name;
            }
            std::thread::sleep(AppKeeper::EVERY);
        }
    }

    fn keep(&mut self, run: Option<String>, late: Vec<AppLate>) {
        let Some(name) = run else {
            return self.failed(None, late, "no run directory was being written");
        };
        if name != self.run {
            (self.run, self.count) = (name.clone(), 0);
        }
        self.count += 1;
        let file = format!("traces/{PHASE}-late-{}.dat", self.count);
        let dir = self.ledger().dir.dir(&name);
        let saved = dir.map_err(std::io::Error::from).and_then(|dir| {
            let capture = self.keeper.save(&dir, (PHASE, file), late.clone())?;
            Ok((dir, capture))
        });
        match saved {
            Err(e) => self.failed(Some(name), late, &format!("the events could not be saved: {e}")),
            Ok((dir, capture)) => {
                let mut ledger = self.ledger();
                ledger.kept.add(&name, &dir, &capture);
                lines(&name, &capture).into_iter().for_each(|line| ledger.late(line));
                // It belongs to a segment that may have ended meanwhile.
                if ledger.segment.as_ref().is_some_and(|open| open.name == name) {
                    ledger.windows.push(capture);
                }
                ledger.make_room();
            }
        }
    }

    fn failed(&self, segment: Option<String>, late: Vec<AppLate>, why: &str) {
        let mut ledger = self.ledger();
        for one in late {
            ledger.late(line(one, segment.clone(), Err(why.into())));
        }
    }
}

fn line(late: AppLate, segment: Option<String>, verdict: Result<String, String>) -> WatchLate {
    let real_ns = real_of(&clocks(), late.at_mono_ns);
    let (verdict, why_not) = match verdict {
        Ok(verdict) => (Some(verdict), None),
        Err(why) => (None, Some(why)),
    };
    // The file with facts identifies the moment for as long as the trace exists.
    WatchLate { real_ns, late, segment, verdict, why_not, trace: None }
}

/// Returns a line for each moment of a window.
fn lines(segment: &str, capture: &Capture) -> Vec<WatchLate> {
    let Some(window) = &capture.application else { return Vec::new() };
    let lacks = match capture.overwritten.iter().copied().collect::<CpuList>() {
        cpus if cpus.is_empty() => String::new(),
        cpus => format!("; the window lacks events of CPUs {cpus}"),
    };
    let verdict = |late: &AppLate, cycle: &Option<Cycle>| match cycle {
        Some(cycle) => Ok(cycle.verdict.clone() + &lacks),
        None if late.by == LateBy::Claim && late.value_ns.is_none() => {
            Err(format!("the cycle before the releases without a cycle had ended in time{lacks}"))
        }
        None => Err(format!("no cycle at that moment was recorded completely{lacks}")),
    };
    let all = window.late.iter().zip(&window.cycles);
    all.map(|(late, cycle)| line(late.clone(), Some(segment.to_owned()), verdict(late, cycle))).collect()
}

impl Ledger {
    /// Changes the state of the application.
    fn app(&mut self, change: impl FnOnce(&mut WatchApp)) {
        if let Some(app) = &mut self.watch.application {
            change(app);
        }
    }

    fn late(&mut self, late: WatchLate) {
        self.app(|app| match late.verdict {
            Some(_) => app.late.explained += 1,
            None => app.late.failed += 1,
        });
        self.lines.push(&WatchLine::Late(late));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::AppWindow;

    fn late(by: LateBy, value: Option<u64>) -> AppLate {
        AppLate {
            by,
            at_mono_ns: 5,
            thread: Some("control".into()),
            tid: Some(7),
            name: None,
            claim: (by == LateBy::Claim).then(|| "late(control) = 0".into()),
            value_ns: value.map(Nanos),
            release_mono_ns: None,
            is_open: false,
        }
    }

    fn window(late: Vec<AppLate>, verdicts: &[Option<&str>], overwritten: &[u32]) -> Capture {
        let cycle = |verdict: &str| {
            let cycle = serde_json::json!({
                "tid": 7, "comm": null, "cpu": 0, "release_ns": 1, "length_ns": 4, "ran_ns": 4, "delays": [], "blocked": [],
                "verdict": verdict, "policy": null, "prio": null
            });
            serde_json::from_value::<Cycle>(cycle).unwrap()
        };
        let cycles = verdicts.iter().map(|verdict| verdict.map(cycle)).collect();
        let capture = serde_json::json!({
            "phase": "1-watch", "file": "traces/1-watch-late-1.dat", "from_mono_ns": 0, "to_mono_ns": 9, "late": [],
            "overwritten": overwritten, "policies": {}, "fair_server": null, "throttled": null
        });
        let capture: Capture = serde_json::from_value(capture).unwrap();
        Capture { application: Some(AppWindow { late, cycles }), ..capture }
    }

    #[test]
    fn a_line_has_the_cycle_or_the_reason_and_what_the_window_lacks() {
        let all = vec![late(LateBy::Program, None), late(LateBy::Claim, None), late(LateBy::Signal, None)];
        let lines = lines("runs/a", &window(all, &[Some("ran 4 ns"), None, None], &[1]));
        let said: Vec<&str> =
            lines.iter().map(|line| line.verdict.as_deref().or(line.why_not.as_deref()).unwrap()).collect();
        let lacks = "; the window lacks events of CPUs 1";
        assert_eq!(said[0], format!("ran 4 ns{lacks}"));
        assert_eq!(said[1], format!("the cycle before the releases without a cycle had ended in time{lacks}"));
        assert_eq!(said[2], format!("no cycle at that moment was recorded completely{lacks}"));
        assert!(lines.iter().all(|line| line.segment.as_deref() == Some("runs/a")));
        assert_eq!((lines[0].why_not.as_ref(), lines[1].verdict.as_ref()), (None, None));
    }
}
