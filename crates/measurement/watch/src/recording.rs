//! Watches an application: reads its events, and keeps those before each moment at which it is late.

use crate::budget::Pace;
use crate::child::LARGEST_NOTE;
use crate::error::WatchError;
use crate::ledger::{Ledger, real_of};
use crate::options::AppWatch;
use crate::segment::PHASE;
use punctual_measure::clocks;
use punctual_model::{AppLate, AppWindow, Capture, Cycle, WatchApp, WatchLate, WatchLates, WatchLine};
use punctual_proof::{App, AppKeeper, Lates};
use punctual_rt::monotonic;
use punctual_units::{CpuList, Nanos};
use std::collections::HashMap;
use std::path::Path;
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
/// Time within which a signal that ended the application also arrives here if it was sent to both, for example by Ctrl-C.
const TOGETHER: Nanos = Nanos::from_millis(300);
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
    /// What limits the observation of the application.
    pub notes: Vec<String>,
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
        let no_marks = keeper.no_marks().map(str::to_owned);
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
        Ok(Prepared { app, keeper, state, notes: found.notes })
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
            open: HashMap::new(),
            is_saving: true,
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

/// A saved window: run directory and file.
type Place = (String, String);

struct Worker {
    keeper: AppKeeper,
    inbox: Receiver<Nanos>,
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    pace: Pace,
    /// Run directory of the last window; `count` is the number of its windows.
    run: String,
    count: u32,
    /// For each thread with an explained moment whose cycle had not ended, the release of that cycle, and its window if
    /// that was saved: run directory and file.
    open: HashMap<i32, (Option<u64>, Option<Place>)>,
    /// False if the last window could not be saved.
    is_saving: bool,
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
            match self.keeper.take(is_last) {
                Ok(lates) => self.late(lates),
                Err(why) => {
                    if !self.is_stopped_within(TOGETHER) {
                        self.ended(why);
                    }
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

    /// Returns true if the watch ends as well, so that the end of the application is no finding.
    fn is_stopped_within(&self, most: Nanos) -> bool {
        let until = monotonic() + most;
        while !self.stop.load(Relaxed) && monotonic() < until {
            std::thread::sleep(AppKeeper::EVERY);
        }
        self.stop.load(Relaxed)
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
        let looks = now >= self.look;
        let (mut others, mut no_marks) = (Vec::new(), None);
        if looks {
            self.look = now + LOOK;
            (others, no_marks) = (self.keeper.unwatched(), self.keeper.no_marks().map(str::to_owned));
        }
        let mut ledger = self.ledger();
        if lost > 0 && ledger.watch.application.as_ref().is_some_and(|app| app.lost_events == 0) {
            ledger.note(LOST.into());
        }
        ledger.app(|app| (app.cycles, app.lost_events) = (cycles, lost));
        if looks && ledger.watch.application.as_ref().is_some_and(|app| app.no_marks != no_marks) {
            let text = no_marks.as_deref().unwrap_or("what the program writes to trace_marker is seen again");
            ledger.note(text.to_owned());
            ledger.app(|app| app.no_marks = no_marks);
        }
        if !others.is_empty() {
            ledger.note(format!("real-time threads that began later are not watched: {}", others.join(", ")));
        }
    }

    fn late(&mut self, lates: Lates) {
        let Lates { mut late, left_out, completed } = lates;
        completed.into_iter().for_each(|late| self.complete(late));
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
            self.keep(late);
        }
    }

    /// Reports the end of a cycle whose moment was explained before it had ended, and replaces the cycle of its note.
    fn complete(&mut self, late: AppLate) {
        let known =
            late.tid.and_then(|tid| self.open.remove(&tid)).filter(|(release, _)| *release == late.release_mono_ns);
        let Some((_, place)) = known else { return };
        let cycle = self.keeper.explain(&late);
        let mut ledger = self.ledger();
        if let (Some((run, file)), Ok(cycle)) = (&place, &cycle) {
            ledger.complete(run, file, &late, cycle);
        }
        let segment = place.map(|(run, _)| run);
        let verdict = cycle.map(|cycle| cycle.verdict).map_err(str::to_owned);
        ledger.lines.push(&WatchLine::Late(line(late, segment, verdict)));
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

    /// Explains these moments, and saves their window. What is explained does not depend on what can be saved.
    fn keep(&mut self, late: Vec<AppLate>) {
        let run = self.run_directory(SEGMENT);
        let cycles: Vec<Result<Cycle, &str>> = late.iter().map(|late| self.keeper.explain(late)).collect();
        let window = AppWindow { late, cycles: cycles.iter().map(|cycle| cycle.as_ref().ok().cloned()).collect() };
        let saved = match &run {
            Some(name) => self.save(name, window.clone()).map_err(|e| e.to_string()),
            None => Err("no run directory was being written".into()),
        };
        let place = run.clone().zip(saved.as_ref().ok().map(|capture| capture.file.clone()));
        for late in window.late.iter().filter(|late| late.is_open) {
            late.tid.map(|tid| self.open.insert(tid, (late.release_mono_ns, place.clone())));
        }
        let mut ledger = self.ledger();
        let from_mono_ns = saved.as_ref().map_or(0, |capture| capture.from_mono_ns);
        let lacks = match &saved {
            Ok(capture) => lacking(capture),
            Err(why) => format!("; the events could not be saved: {why}"),
        };
        for (late, cycle) in window.late.into_iter().zip(&cycles) {
            ledger.late(line(late, run.clone(), verdict(cycle, from_mono_ns, &lacks)));
        }
        match saved {
            Ok(capture) => {
                // The trace belongs to a segment that may have ended meanwhile.
                if ledger.segment.as_ref().map(|open| &open.name) == run.as_ref() {
                    ledger.windows.push(capture);
                }
                ledger.make_room();
                drop(ledger);
                self.is_saving = true;
            }
            Err(why) => {
                ledger.app(|app| app.late.unsaved += 1);
                if self.is_saving {
                    ledger.note(format!(
                        "the events before a moment at which the application was late could not be saved: {why}"
                    ));
                }
                drop(ledger);
                self.is_saving = false;
            }
        }
    }

    fn save(&mut self, run: &str, window: AppWindow) -> std::io::Result<Capture> {
        if run != self.run {
            (self.run, self.count) = (run.to_owned(), 0);
        }
        self.count += 1;
        let file = format!("traces/{PHASE}-late-{}.dat", self.count);
        let dir = self.ledger().dir.dir(run)?;
        let capture = self.keeper.save(&dir, (PHASE, file), window)?;
        self.ledger().kept.add(run, &dir, &capture);
        Ok(capture)
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

fn lacking(capture: &Capture) -> String {
    match capture.overwritten.iter().copied().collect::<CpuList>() {
        cpus if cpus.is_empty() => String::new(),
        cpus => format!("; the window lacks events of CPUs {cpus}"),
    }
}

/// Returns the sentence of a moment, or why there is none. `from_mono_ns` is the start of its window, and `lacks` says
/// what is missing of it.
fn verdict(cycle: &Result<Cycle, &str>, from_mono_ns: u64, lacks: &str) -> Result<String, String> {
    match cycle {
        Ok(cycle) => {
            let before = match from_mono_ns.saturating_sub(cycle.release_ns) {
                0 => String::new(),
                ns => format!(
                    "; it began {} before the saved events do: --keep with a longer time shows all of it",
                    Nanos(ns)
                ),
            };
            Ok(format!("{}{before}{lacks}", cycle.verdict))
        }
        Err(why) => Err(format!("{why}{lacks}")),
    }
}

impl Ledger {
    /// Changes the state of the application.
    fn app(&mut self, change: impl FnOnce(&mut WatchApp)) {
        if let Some(app) = &mut self.watch.application {
            change(app);
        }
    }

    /// Replaces the cycle of a moment, which had not ended then, in the note beside the window and in the results of the
    /// segment. If that is not possible, the series has its sentence.
    fn complete(&mut self, run: &str, file: &str, late: &AppLate, cycle: &Cycle) {
        let is_it =
            |open: &AppLate| open.is_open && open.tid == late.tid && open.release_mono_ns == late.release_mono_ns;
        let replace = |capture: &mut Capture| {
            let window = capture.application.iter_mut();
            let pairs = window.flat_map(|window| window.late.iter().zip(&mut window.cycles));
            pairs.filter(|(open, _)| is_it(open)).for_each(|(_, known)| *known = Some(cycle.clone()));
        };
        let is_current = self.segment.as_ref().is_some_and(|open| open.name == run);
        self.windows.iter_mut().filter(|capture| is_current && capture.file == file).for_each(replace);
        let Ok(dir) = self.dir.dir(run) else { return };
        let note = Path::new(file).with_extension("json");
        let Ok(text) = dir.read(&note, LARGEST_NOTE) else { return };
        if let Ok(mut capture) = serde_json::from_slice::<Capture>(&text) {
            replace(&mut capture);
            let _ = dir.replace(&note, &punctual_rundir::capture_text(&capture), false);
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
    use crate::watching::begin;
    use punctual_directory::Dir;
    use punctual_model::LateBy;
    use punctual_proof::choose_scheduling;

    fn late(release: u64, is_open: bool) -> AppLate {
        AppLate {
            by: LateBy::Claim,
            at_mono_ns: release + 9,
            thread: Some("control".into()),
            tid: Some(7),
            name: None,
            claim: Some("late(control) = 0".into()),
            value_ns: Some(Nanos(9)),
            release_mono_ns: Some(release),
            is_open,
            completes: !is_open,
        }
    }

    fn cycle(release: u64, verdict: &str) -> Cycle {
        let cycle = serde_json::json!({
            "tid": 7, "comm": null, "cpu": 0, "release_ns": release, "length_ns": 4, "ran_ns": 4, "delays": [],
            "blocked": [], "verdict": verdict, "policy": null, "prio": null
        });
        serde_json::from_value(cycle).unwrap()
    }

    fn capture(late: Vec<AppLate>, cycles: Vec<Option<Cycle>>, overwritten: &[u32]) -> Capture {
        let capture = serde_json::json!({
            "phase": "1-watch", "file": "traces/1-watch-late-1.dat", "from_mono_ns": 0, "to_mono_ns": 9, "late": [],
            "overwritten": overwritten, "policies": {}, "fair_server": null, "throttled": null
        });
        let capture: Capture = serde_json::from_value(capture).unwrap();
        Capture { application: Some(AppWindow { late, cycles }), ..capture }
    }

    #[test]
    fn a_line_has_the_cycle_or_the_reason_and_what_the_window_lacks() {
        let lacks = lacking(&capture(Vec::new(), Vec::new(), &[1]));
        assert_eq!(lacks, "; the window lacks events of CPUs 1");
        let said = cycle(2_000, "ran 4 ns");
        assert_eq!(verdict(&Ok(said.clone()), 2_000, &lacks), Ok(format!("ran 4 ns{lacks}")));
        let before = "ran 4 ns; it began 500 ns before the saved events do: --keep with a longer time shows all of it";
        assert_eq!(verdict(&Ok(said), 2_500, ""), Ok(before.into()));
        assert_eq!(verdict(&Err("no cycle"), 2_500, &lacks), Err(format!("no cycle{lacks}")));
        assert_eq!(lacking(&capture(Vec::new(), Vec::new(), &[])), "");
    }

    fn ledger(out: &Path) -> Ledger {
        let options = crate::tests::options(out);
        let choice = choose_scheduling(None, None, options.period).unwrap();
        let dir = crate::state::take(out).unwrap();
        begin(&options, &choice, dir, CpuList::new(), Arc::new(|_| {})).unwrap()
    }

    #[test]
    fn a_cycle_that_ends_replaces_what_was_known_before_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = ledger(folder.path());
        let run = "runs/20261127T000000Z";
        ledger.dir.make_dir("runs").unwrap();
        let dir = ledger.dir.make_dir(run).unwrap();
        dir.make_dir("traces").unwrap();
        let all = vec![late(1, true), late(50, true)];
        let capture = capture(all, vec![Some(cycle(1, "it has not ended")), Some(cycle(50, "another"))], &[]);
        let note = "traces/1-watch-late-1.json";
        dir.replace(note, &punctual_rundir::capture_text(&capture), false).unwrap();
        ledger.complete(run, &capture.file, &late(1, false), &cycle(1, "blocked until bg woke it"));
        let read: Capture = serde_json::from_slice(&dir.read(note, LARGEST_NOTE).unwrap()).unwrap();
        let verdicts: Vec<String> =
            read.application.unwrap().cycles.into_iter().map(|cycle| cycle.unwrap().verdict).collect();
        assert_eq!(verdicts, ["blocked until bg woke it", "another"]);
        // If the run's files are missing, nothing is replaced.
        ledger.complete("runs/none", &capture.file, &late(1, false), &cycle(1, "x"));
    }

    #[test]
    fn what_could_not_be_written_is_in_the_results_of_a_removed_directory() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("w");
        let mut ledger = ledger(&folder);
        ledger.checkpoint();
        std::fs::remove_dir_all(&folder).unwrap();
        ledger.watch.maxima.seen = 3;
        ledger.late(line(late(1, false), None, Ok("ran 4 ns".into())));
        ledger.checkpoint();
        assert!(ledger.watch.disk.failing.as_ref().is_some_and(|why| why.contains("was removed")));
        let watched = crate::read::ended(&ledger.dir, ledger.watch.clone(), ledger.lines.waiting());
        assert_eq!((watched.watch.maxima.seen, watched.running), (3, false));
        assert!(matches!(&watched.lines[..], [WatchLine::Late(late)] if late.verdict.as_deref() == Some("ran 4 ns")));
        assert_eq!(watched.damage, ["1 lines of series.jsonl could not be written; they are shown here only"]);
        assert!(Dir::open(&folder).is_err());
    }
}
