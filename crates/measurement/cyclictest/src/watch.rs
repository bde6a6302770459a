//! The main thread during the measurement: displays the progress and ends the run.

use crate::options::Options;
use crate::output::{print, warn};
use crate::plan::Plan;
use crate::sleeper::now;
use crate::stat::Stat;
use crate::text;
use crate::worker::{Shared, Start};
use punctual_directory::Dir;
use punctual_journal::{Journal, Lease, Undo};
use punctual_rt::monotonic;
use punctual_uapi::{Error, Sig, SignalSet, Waited, block, wait};
use punctual_units::{Nanos, Policy};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

const EVERY: Nanos = Nanos::from_millis(10);
/// Interval of checks for a latency above the limit. The thread itself has already stopped the trace.
const LOOK: Nanos = Nanos::from_millis(50);
/// Minimum time to wait before checking whether a thread has reached its last cycle.
const SOON: Nanos = Nanos::from_millis(1);

pub(crate) struct Watch<'a> {
    options: &'a Options,
    plan: &'a Plan,
    signals: SignalSet,
    /// For each thread, the next cycle to print with `-v`.
    read: Vec<u64>,
    shown: u64,
    lines: usize,
    fifo: Option<Fifo>,
    snapshot: Option<Lease>,
}

impl<'a> Watch<'a> {
    /// Blocks the signals. It must be called before any thread starts.
    pub fn new(options: &'a Options, plan: &'a Plan) -> Result<Watch<'a>, Error> {
        let signals = SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term, Sig::Usr1, Sig::Usr2]);
        block(&signals)?;
        // The kernel may deliver the signal of a process-wide timer to any thread that does not block it.
        block(&SignalSet::new(&[Sig::Alrm]))?;
        punctual_uapi::install_wakeup()?;
        let fifo = options.fifo.as_ref().map(|path| Fifo::new(path));
        let read = vec![0; plan.threads.len()];
        Ok(Watch { options, plan, signals, read, shown: 0, lines: 0, fifo, snapshot: None })
    }

    /// Waits until the duration, the loops, a limit or a signal ends the run.
    pub fn until_the_end(&mut self, shared: &Shared) {
        // As in rt-tests, the duration counts from the time at which aligned threads start.
        let settings = &shared.settings;
        let lead = match settings.start {
            Start::AtOnce => 0,
            _ => shared.start.load(Relaxed).saturating_sub(now(settings.clock)),
        };
        let end = self.options.duration.map(|duration| monotonic() + Nanos(lead) + duration);
        let is_silent = self.options.quiet && self.fifo.is_none();
        print(&text::intervals(self.options, &self.plan.threads));
        loop {
            self.show(shared);
            let now = monotonic();
            if self.is_over(shared) || end.is_some_and(|end| now >= end) {
                return;
            }
            let mut pause = if is_silent { self.silence(shared) } else { Some(EVERY) };
            if let Some(end) = end {
                let left = end.saturating_sub(now);
                pause = Some(pause.map_or(left, |pause| pause.min(left)));
            }
            match wait(&self.signals, pause) {
                Waited::Signal(Sig::Usr1) => eprint!("{}", self.status(shared)),
                Waited::Signal(Sig::Usr2) => self.snapshot(shared),
                Waited::Signal(_) => return,
                Waited::TimedOut => {}
            }
        }
    }

    fn is_over(&self, shared: &Shared) -> bool {
        shared.stop.load(Relaxed) || shared.finished.load(Relaxed) > 0
    }

    /// Returns for how long this thread has nothing to do. It should sleep for all of that time, because it may be
    /// running on a measured CPU.
    fn silence(&self, shared: &Shared) -> Option<Nanos> {
        let until_loops = self.options.loops.map(|loops| earliest_end(loops, self.plan, &shared.stats).max(SOON));
        let until_look = self.options.breaktrace.map(|_| LOOK);
        until_loops.into_iter().chain(until_look).min()
    }

    fn show(&mut self, shared: &Shared) {
        if let Some(fifo) = &mut self.fifo {
            fifo.write(&self_lines(self.options, self.plan, shared));
        }
        if self.options.verbose {
            let mut out = String::new();
            for (index, (stat, read)) in shared.stats.iter().zip(&mut self.read).enumerate() {
                *read = text::values(&mut out, index, stat, *read, self.options.oscope);
            }
            print(&out);
        } else if !self.options.quiet {
            self.redraw(shared);
        }
    }

    fn redraw(&mut self, shared: &Shared) {
        let most = shared.stats.iter().map(|stat| stat.max.load(Relaxed)).max().unwrap_or(0);
        let is_new = most > self.shown || self.lines == 0 || self.is_over(shared);
        self.shown = self.shown.max(most);
        if self.options.refresh_on_max && !is_new {
            return;
        }
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let policy = match self.plan.threads.first().map(|thread| thread.scheduling.policy()) {
            Some(Policy::Fifo) => "fifo",
            Some(Policy::Rr) => "rr",
            Some(Policy::Batch) => "batch",
            Some(Policy::Idle) => "idle",
            _ => "other",
        };
        let lines = self_lines(self.options, self.plan, shared);
        print(&format!("{up}policy: {policy}: loadavg: {}          \n\n{lines}", load.trim()));
        self.lines = self.plan.threads.len() + 2;
    }

    fn status(&self, shared: &Shared) -> String {
        let lines = self_lines(self.options, self.plan, shared);
        format!("#---------------------------\n# cyclictest current status:\n{lines}#---------------------------\n")
    }

    /// Writes the current results to the file that get_cyclictest_snapshot(8) reads.
    fn snapshot(&mut self, shared: &Shared) {
        let path = PathBuf::from(format!("/dev/shm/cyclictest{}", std::process::id()));
        if let Err(e) = self.write_snapshot(&path, shared) {
            warn(&format!("{}: {e}", path.display()));
        }
    }

    /// Writes the file. It is journalled first, and removed at the end of the run, or after kill -9 when the program is
    /// started again.
    fn write_snapshot(&mut self, path: &Path, shared: &Shared) -> std::io::Result<()> {
        if self.snapshot.is_none() {
            let undo = vec![Undo::RemoveFile { path: path.to_owned() }];
            let lease = Journal::of_user().lease(undo).map_err(|e| std::io::Error::other(e.to_string()))?;
            self.snapshot = Some(lease);
        }
        let (dir, name) = Dir::of_file(path)?;
        Ok(dir.replace(name, self_lines(self.options, self.plan, shared).as_bytes(), false)?)
    }
}

/// Returns the earliest time at which a thread can complete its last cycle.
fn earliest_end(loops: u64, plan: &Plan, stats: &[Stat]) -> Nanos {
    let left = plan.threads.iter().zip(stats).map(|(thread, stat)| {
        let cycles = loops.saturating_sub(stat.cycles.load(Relaxed));
        thread.interval.0.saturating_mul(cycles)
    });
    Nanos(left.min().unwrap_or(0))
}

fn self_lines(options: &Options, plan: &Plan, shared: &Shared) -> String {
    let lines = plan.threads.iter().zip(&shared.stats).enumerate();
    lines.map(|(index, (thread, stat))| text::line(options, index, thread, stat, None)).collect()
}

/// A named pipe for status lines. It need not have a reader.
struct Fifo {
    /// Where the pipe was created; `None` if it already existed.
    made: Option<(Dir, PathBuf)>,
    open: Option<File>,
}

impl Fifo {
    fn new(path: &Path) -> Fifo {
        let made = Dir::of_file(path).and_then(|(dir, name)| dir.make_fifo(&name).map(|()| (dir, name)));
        let made = made.map_err(|e| warn(&format!("-F {}: {}", path.display(), e.cause()))).ok();
        Fifo { made, open: None }
    }

    fn write(&mut self, text: &str) {
        let Some((dir, name)) = &self.made else { return };
        if self.open.is_none() {
            // Opening fails with ENXIO if the pipe has no reader.
            self.open = dir.special(name, false).ok();
        }
        // The reader has closed the pipe, or the pipe is full.
        if self.open.as_mut().is_some_and(|file| file.write_all(text.as_bytes()).is_err()) {
            self.open = None;
        }
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        if let Some((dir, name)) = &self.made {
            let _ = dir.remove_file(name);
        }
    }
}
