//! Saves time windows of a trace buffer that is overwritten continuously, for runs and for `watch`.

use super::choose::{self, Late, Window};
use super::cost;
use super::facts::{self, Log};
use super::stacks;
use crate::options::Trace;
use punctual_directory::Dir;
use punctual_journal::Journal;
use punctual_model::{Capture, Tracing};
use punctual_tracefs::{Config, Cut, FULL, Flight, Instance, MINIMAL, Tracefs, TracefsError};
use punctual_units::{CpuId, Nanos};
use std::path::{Path, PathBuf};

/// A private trace instance, and the windows saved from it. Dropping it removes the instance.
pub struct Cutter {
    flight: Flight,
    before: Nanos,
    saver: Saver,
    tracing: Tracing,
}

/// Saves windows, together with facts that their events do not contain.
pub(crate) struct Saver {
    log: Log,
    machine: facts::OfMachine,
}

impl Saver {
    pub fn new() -> Saver {
        Saver { log: Log::open(), machine: facts::OfMachine::read() }
    }

    /// Describes a window that is to be saved as `file`.
    pub fn capture(&mut self, flight: &Flight, phase: &str, file: String, (from, to): (u64, u64)) -> Capture {
        Capture {
            phase: phase.to_owned(),
            file,
            from_mono_ns: from,
            to_mono_ns: to,
            late: Vec::new(),
            overwritten: Vec::new(),
            policies: Default::default(),
            fair_server: facts::fair_server(),
            tracer: flight.main_tracer(),
            throttled: self.log.throttled(),
            kernel: self.machine.kernel.clone(),
            guest: self.machine.guest,
            rt_group_sched: self.machine.rt_group_sched,
            released: Vec::new(),
            application: None,
        }
    }

    /// Writes each window into `dir`, and facts about it into a `.json` file next to it.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn save(&self, flight: &mut Flight, dir: &Dir, captures: &mut [Capture]) -> std::io::Result<()> {
        dir.make_dir("traces")?;
        let cut = |capture: &Capture| Cut {
            from_ns: capture.from_mono_ns,
            to_ns: capture.to_mono_ns,
            name: (&capture.file).into(),
        };
        let cuts: Vec<Cut> = captures.iter().map(cut).collect();
        let kept = flight.cut(dir, &cuts)?;
        for (capture, kept) in captures.iter_mut().zip(kept) {
            capture.overwritten = kept.overwritten.into_iter().map(CpuId).collect();
            capture.policies = facts::policies(dir, &capture.file);
            // A killed program must not leave an empty file, which a reader would treat as damaged.
            dir.replace(note(&capture.file), &punctual_rundir::capture_text(capture), false)?;
        }
        Ok(())
    }
}

impl Cutter {
    /// Time after a late wakeup that the window must include.
    pub const AFTER: Nanos = Nanos::from_millis(1);

    /// Starts tracing for threads of this period. This takes about a tenth of a second and disturbs all CPUs.
    ///
    /// # Errors
    /// Tracing is not possible. The instance is removed.
    pub fn start(trace: &Trace, period: Nanos) -> Result<Cutter, TracefsError> {
        let events = if trace.full { FULL } else { MINIMAL };
        // Pattern that matches the names of the measuring threads.
        let stacks = trace.stacks.then(|| "next_comm ~ \"measure/*\"".to_owned());
        let config = Config { events, buffer_kb: trace.buffer_kb, tracer: None, stacks };
        let instance = Instance::create(&Tracefs::find()?, &Journal::of_user(), &config)?;
        let tracing = Tracing {
            why_not: None,
            tracefs: Some(instance.place().to_owned()),
            events: instance.events(),
            missing: instance.missing().to_vec(),
            buffer_kb: instance.buffer_kb(),
            event_cost_ns: None,
        };
        // Two periods include the start of the timer; 5 ms show what the CPU did before it.
        let before = Nanos((2 * period.0).clamp(5_000_000, 100_000_000));
        Ok(Cutter { flight: Flight::new(instance)?, before, saver: Saver::new(), tracing })
    }

    pub fn tracing(&self) -> &Tracing {
        &self.tracing
    }

    /// Returns the number of events recorded so far on all CPUs. Most of them are overwritten, as intended.
    pub fn recorded(&self) -> u64 {
        self.flight.statistics().recorded()
    }

    /// Skips the messages that the kernel log already has.
    pub fn begin_log(&mut self) {
        self.saver.log = Log::open();
    }

    /// Returns complete windows around late wakeups, in chronological order, merged where they overlap. Only the worst
    /// wakeups are included. `kept` contains the latencies of the windows that are already saved.
    pub fn windows(&self, late: Vec<Late>, kept: &[u64]) -> Vec<Window> {
        choose::windows(late, self.before, Self::AFTER, kept)
    }

    /// Writes each window into `dir` under its name (`traces/NAME.dat`), and facts about it into a `.json` file next to
    /// it.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn cut(&mut self, dir: &Dir, phase: &str, windows: Vec<(String, Window)>) -> std::io::Result<Vec<Capture>> {
        let mut captures = Vec::new();
        for (file, window) in windows {
            let capture = self.saver.capture(&self.flight, phase, file, (window.from, window.to));
            captures.push(Capture { late: window.late, ..capture });
        }
        self.saver.save(&mut self.flight, dir, &mut captures)?;
        Ok(captures)
    }

    /// Adds the function names of the stacks to the files of these windows. It reads /proc/kallsyms, which would
    /// disturb a measurement, so call it after the phase.
    ///
    /// # Errors
    /// A file could not be read or written, and is unchanged.
    pub fn name(&self, dir: &Dir, captures: &mut [Capture]) -> std::io::Result<()> {
        stacks::name(dir, self.flight.head(), captures)?;
        captures.iter().try_for_each(|capture| {
            dir.replace(note(&capture.file), &punctual_rundir::capture_text(capture), false)
                .map_err(std::io::Error::from)
        })
    }

    /// Removes the files of a window. If that fails, a reader finds one more capture.
    pub fn forget(dir: &Dir, file: &str) {
        let _ = dir.remove_file(note(file));
        let _ = dir.remove_file(file);
    }

    /// Measures the cost of an event, then removes the instance. Returns a message if something could not be removed.
    pub fn end(mut self) -> (Tracing, Option<String>) {
        self.tracing.event_cost_ns = cost::of_event(self.flight.instance());
        (self.tracing, removed(self.flight))
    }

    /// Removes the instance without measuring. Returns a message if something could not be removed.
    pub fn end_now(self) -> Option<String> {
        removed(self.flight)
    }
}

fn note(file: &str) -> PathBuf {
    Path::new(file).with_extension("json")
}

fn removed(flight: Flight) -> Option<String> {
    flight.end().err().map(|left| format!("the trace instance could not be removed: {}", left.join("; ")))
}
