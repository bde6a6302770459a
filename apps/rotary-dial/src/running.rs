use crate::config::Config;
use crate::counts::LineCounts;
use crate::error::Error;
use crate::event::LineEvent;
use crate::options::Options;
use crate::report::{LineReport, Report};
use punctual_record::Taken;
use punctual_rt::{Bridge, End, Finished, Receiver, Task, TaskStats, monotonic};
use punctual_units::Nanos;
use punctual_wires::GpioError;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest wait for commands to reach the pipe when the program stops.
const LAST_COMMANDS: Nanos = Nanos::from_millis(200);

type Failure = Arc<Mutex<Option<(usize, GpioError)>>>;

pub(crate) struct Running {
    /// Name, place and digit map of each line.
    lines: Vec<[String; 3]>,
    narrowed: Vec<String>,
    /// The real-time loop; `None` once it has ended.
    task: Option<Task>,
    bridge: Bridge,
    events: Receiver<LineEvent>,
    counts: Vec<Arc<LineCounts>>,
    failure: Failure,
    scheduling: String,
    taken: Taken,
    json: bool,
    quiet: bool,
    out: Option<PathBuf>,
    words: Vec<String>,
}

impl Running {
    #[allow(clippy::too_many_arguments)] // the arguments are unrelated
    pub(crate) fn new(
        config: &Config,
        options: &Options,
        narrowed: Vec<String>,
        task: Task,
        bridge: Bridge,
        events: Receiver<LineEvent>,
        counts: Vec<Arc<LineCounts>>,
        failure: Failure,
    ) -> Running {
        let line = |line: &crate::LineConfig| [line.name.clone(), line.place.to_string(), line.map.to_string()];
        Running {
            lines: config.lines.iter().map(line).collect(),
            narrowed,
            scheduling: task.applied().scheduling.to_string(),
            taken: Taken::of(&task),
            task: Some(task),
            bridge,
            events,
            counts,
            failure,
            json: options.json,
            quiet: options.quiet,
            out: options.out.clone(),
            words: options.words.clone(),
        }
    }

    pub(crate) fn print_events(&mut self) {
        while let Some(event) = self.events.receive() {
            let name = self.lines.get(event.line).map_or("?", |[name, ..]| name.as_str());
            match (self.quiet, self.json) {
                (true, _) => {}
                (false, true) => say(&format!("{}\n", event.json(name))),
                (false, false) => say(&format!("{name}: {}\n", event.what)),
            }
        }
    }

    pub(crate) fn report(&self) {
        if let Some(task) = &self.task {
            self.print(task.stats());
        }
    }

    fn print(&self, stats: TaskStats) {
        let lines = self.lines.iter().zip(&self.counts).map(|([name, place, map], counts)| LineReport {
            name: name.clone(),
            place: place.clone(),
            map: map.clone(),
            counts: counts.now(),
        });
        let report = Report {
            scheduling: self.scheduling.clone(),
            narrowed: self.narrowed.clone(),
            task: stats,
            pipe: self.bridge.path().display().to_string(),
            piped: self.bridge.counts(),
            unreported: self.events.counts().dropped,
            lines: lines.collect(),
        };
        say(&if self.json { format!("{}\n", report.json()) } else { report.text() });
    }

    /// Checks that the loop is running.
    ///
    /// # Errors
    /// The reason why it is not running, for example a line that cannot be read.
    pub(crate) fn healthy(&self) -> Result<(), Error> {
        if let Some((line, source)) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let name = self.lines.get(line).map_or_else(|| "?".into(), |[name, ..]| name.clone());
            return Err(Error::Line { name, source });
        }
        match &self.task {
            Some(task) if task.is_finished() => Err(Error::Ended("it ended unexpectedly".into())),
            _ => Ok(()),
        }
    }

    /// Stops the loop, writes the last commands to the pipe, prints the report, and writes the run directory.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        let Some(task) = self.task.take() else { return Ok(()) };
        let finished = task.stop();
        self.print_events();
        self.last_commands();
        self.print(finished.stats.clone());
        let written = self.out.take().map(|folder| self.write(&folder, &finished)).transpose();
        match finished.end {
            End::Panicked(message) => Err(Error::Ended(message)),
            _ => written.map(drop),
        }
    }

    /// Waits until the last commands are in the FIFO. The time is limited, because a full FIFO without a reader never
    /// has room.
    fn last_commands(&self) {
        let commands: u64 = self.counts.iter().map(|counts| counts.now().commands).sum();
        let give_up = monotonic() + LAST_COMMANDS;
        let done = || {
            let piped = self.bridge.counts();
            piped.sent + piped.dropped >= commands
        };
        while !done() && monotonic() < give_up {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn write(&self, folder: &std::path::Path, finished: &Finished) -> Result<(), Error> {
        let mut run = self.taken.clone().ended(finished);
        if !self.taken.scheduling().policy().is_real_time() {
            run = run.refused("SCHED_FIFO was refused, and --allow-ordinary was given");
        }
        punctual_record::write(folder, &[run], &self.words).map_err(|error| Error::Run(error.to_string()))
    }
}

/// Prints to standard output. Errors are ignored, since the reader may have exited.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
