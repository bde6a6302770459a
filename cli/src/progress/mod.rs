//! Shows the progress of a run on standard error: a line for each phase, and on a terminal a status line that is
//! overwritten.

mod clock;

use clock::Clock;
use punctual_clean::line;
use punctual_live::Line;
use punctual_model::{Look, Phase, Worst};
use punctual_proof::{Observer, Options, Quiet, Step, Tick};
use punctual_rt::monotonic;
use punctual_units::Nanos;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Runs a job and shows its progress: on a terminal with a status line that is updated, in a log with a line per phase.
pub fn shown<T>(options: &Options, quiet: bool, job: impl FnOnce(&mut dyn Observer) -> T) -> T {
    if quiet {
        return job(&mut Quiet);
    }
    match Moving::new(options) {
        Some(mut moving) => job(&mut moving),
        None => job(&mut Progress),
    }
}

/// Prints one line per phase.
struct Progress;

impl Observer for Progress {
    fn not_alone(&mut self, what: &str) {
        message!("the result will be inconclusive: {what}");
    }

    fn phase_starts(&mut self, number: usize, of: usize, load: &str, lasts: Nanos) {
        progress!("{}", starts(number, of, load, lasts));
    }

    fn phase_ended(&mut self, phase: &Phase, worst: Option<&Worst>) {
        if !phase.is_of_releases() {
            return;
        }
        if let Some(value) = &phase.value {
            progress!("{value}: ");
        }
        let skipped: u64 = phase.cpus.iter().map(|c| c.skipped.unwrap_or(0)).sum();
        match worst {
            Some(w) => progress!("worst {} on CPU {}, missed {skipped}\n", Nanos(w.latency_ns), w.cpu),
            None => progress!("no wakeup\n"),
        }
        for problem in &phase.problems {
            progress!("      {}\n", line(&problem.text));
        }
    }

    fn looked(&mut self, number: usize, look: &Look, of: usize, left: Option<Nanos>) {
        let open: Vec<String> = look.open.iter().map(ToString::to_string).collect();
        progress!("check {number} after {}: {} of {of} claims decided", look.measured_ns, of - open.len().min(of));
        match (open.is_empty(), left) {
            (true, _) => progress!("\n"),
            (false, Some(left)) => progress!(", open: {}; about {left} to go\n", open.join(", ")),
            (false, None) => progress!(", open: {}; at this rate not decided within --time-limit\n", open.join(", ")),
        }
    }
}

/// Returns the first part of a phase's line; the rest is printed when the phase ends.
fn starts(number: usize, of: usize, load: &str, lasts: Nanos) -> String {
    format!("[{number}/{of}] {} for {lasts} … ", line(load))
}

/// Prints each phase's line when the phase has ended, and below it a status line, which is erased on drop.
struct Moving {
    shared: Arc<Mutex<Shared>>,
    /// First part of the line of the running phase.
    starts: String,
    after: Option<After>,
}

/// State shared by the thread of the run and the thread that redraws the status line. Its lock is held while the line
/// is written, which does not block.
struct Shared {
    clock: Clock,
    line: Line,
    /// False while something other than the status line is printed.
    wanted: bool,
}

impl Shared {
    fn show(&mut self) {
        if self.wanted {
            self.line.show(&self.clock.status(monotonic()));
        }
    }
}

impl Moving {
    /// Creates the status line. Returns `None` if standard error cannot show one.
    fn new(options: &Options) -> Option<Moving> {
        let line = Line::new()?;
        let mut shared = Shared { clock: Clock::new(options.until, monotonic()), line, wanted: true };
        shared.show();
        Some(Moving { shared: Arc::new(Mutex::new(shared)), starts: String::new(), after: None })
    }

    /// Changes the state and redraws the status line.
    fn update(&self, change: impl FnOnce(&mut Clock, Nanos)) {
        let mut shared = lock(&self.shared);
        change(&mut shared.clock, monotonic());
        shared.wanted = true;
        shared.show();
    }

    /// Erases the status line until the next change.
    fn clear(&self) {
        let mut shared = lock(&self.shared);
        shared.wanted = false;
        shared.line.clear();
    }
}

impl Observer for Moving {
    fn not_alone(&mut self, what: &str) {
        self.clear();
        Progress.not_alone(what);
    }

    fn phase_starts(&mut self, number: usize, of: usize, load: &str, lasts: Nanos) {
        self.starts = starts(number, of, load, lasts);
        self.update(|clock, now| clock.phase_starts((number, of, line(load)), lasts, now));
    }

    fn step(&mut self, step: Step) {
        self.update(|clock, now| clock.step(step, now));
    }

    fn tick(&self) -> Option<Tick> {
        let shared = Arc::clone(&self.shared);
        Some(Arc::new(move || lock(&shared).show()))
    }

    fn phase_ended(&mut self, phase: &Phase, worst: Option<&Worst>) {
        self.clear();
        lock(&self.shared).clock.phase_ended(monotonic());
        // Several results of one phase have a line each.
        crate::terminal::progress_lines(&std::mem::take(&mut self.starts));
        Progress.phase_ended(phase, worst);
        self.step(Step::Writing);
    }

    fn looked(&mut self, number: usize, look: &Look, of: usize, left: Option<Nanos>) {
        self.clear();
        lock(&self.shared).clock.looked(left, monotonic());
        Progress.looked(number, look, of, left);
        self.step(Step::Writing);
    }

    fn measured(&mut self) -> Vec<String> {
        lock(&self.shared).clock.measured();
        self.after = self.tick().and_then(After::start);
        let times = lock(&self.shared).line.written();
        vec![format!("the progress line was written to the terminal {times} times during the measurement")]
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        drop(self.after.take());
        self.clear();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Redraws the status line once a second after the measurement. Not used during the measurement, because it would cause
/// additional wakeups.
struct After {
    /// Dropping the sender ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl After {
    /// Starts the thread. Returns `None` if no thread can be started, in which case the line is not updated.
    fn start(tick: Tick) -> Option<After> {
        let (stop, stopped) = channel::<()>();
        let builder = std::thread::Builder::new().name("progress".into()).stack_size(256 * 1024);
        let thread = builder.spawn(move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        });
        Some(After { stop: Some(stop), thread: Some(thread.ok()?) })
    }
}

impl Drop for After {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A failure to draw the line has no consequence.
        self.thread.take().map(JoinHandle::join);
    }
}
