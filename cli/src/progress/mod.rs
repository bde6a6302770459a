//! How a run goes, on standard error: a line a phase, and between them, on a terminal, one that is written over.

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

/// Does a job and shows how it goes: on a terminal by a moving line, in a log by a line a phase.
pub fn shown<T>(options: &Options, quiet: bool, job: impl FnOnce(&mut dyn Observer) -> T) -> T {
    if quiet {
        return job(&mut Quiet);
    }
    match Moving::new(options) {
        Some(mut moving) => job(&mut moving),
        None => job(&mut Progress),
    }
}

/// One line a phase on standard error.
struct Progress;

impl Observer for Progress {
    fn not_alone(&mut self, what: &str) {
        say!("will be inconclusive: {what}");
    }

    fn phase_starts(&mut self, number: usize, of: usize, load: &str, lasts: Nanos) {
        tell!("{}", starts(number, of, load, lasts));
    }

    fn phase_ended(&mut self, phase: &Phase, worst: Option<&Worst>) {
        let skipped: u64 = phase.cpus.iter().map(|c| c.skipped.unwrap_or(0)).sum();
        match worst {
            Some(w) => tell!("worst {} on CPU {}, missed {skipped}\n", Nanos(w.latency_ns), w.cpu),
            None => tell!("no wakeup\n"),
        }
        for problem in &phase.problems {
            tell!("      {}\n", line(&problem.text));
        }
    }

    fn looked(&mut self, number: usize, look: &Look, of: usize, left: Option<Nanos>) {
        let open: Vec<String> = look.open.iter().map(ToString::to_string).collect();
        tell!("look {number} after {}: {} of {of} claims decided", look.measured_ns, of - open.len().min(of));
        match (open.is_empty(), left) {
            (true, _) => tell!("\n"),
            (false, Some(left)) => tell!(", open: {}; about {left} to go\n", open.join(", ")),
            (false, None) => tell!(", open: {}; at this rate not within --max\n", open.join(", ")),
        }
    }
}

/// The beginning of a phase's line; its end follows when it is measured.
fn starts(number: usize, of: usize, load: &str, lasts: Nanos) -> String {
    format!("[{number}/{of}] {} for {lasts} … ", line(load))
}

/// The same lines on a terminal, each when its phase has ended, and below them what is done now. The line is taken away when this
/// is dropped.
struct Moving {
    shared: Arc<Mutex<Shared>>,
    /// The beginning of the running phase's line.
    starts: String,
    after: Option<After>,
}

/// What the thread of the run and the one that ticks share. Held while the line is written, which does not block.
struct Shared {
    clock: Clock,
    line: Line,
    /// Not while something else is printed.
    wanted: bool,
}

impl Shared {
    fn show(&mut self) {
        if self.wanted {
            self.line.show(&self.clock.told(monotonic()));
        }
    }
}

impl Moving {
    /// Shows that the run is prepared; `None` where standard error cannot show a line that moves.
    fn new(options: &Options) -> Option<Moving> {
        let line = Line::new()?;
        let mut shared = Shared { clock: Clock::new(options.until, monotonic()), line, wanted: true };
        shared.show();
        Some(Moving { shared: Arc::new(Mutex::new(shared)), starts: String::new(), after: None })
    }

    /// Changes the state and redraws it.
    fn tell(&self, change: impl FnOnce(&mut Clock, Nanos)) {
        let mut shared = lock(&self.shared);
        change(&mut shared.clock, monotonic());
        shared.wanted = true;
        shared.show();
    }

    /// Clears the line until the next change.
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
        self.tell(|clock, now| clock.phase_starts((number, of, line(load)), lasts, now));
    }

    fn step(&mut self, step: Step) {
        self.tell(|clock, now| clock.step(step, now));
    }

    fn tick(&self) -> Option<Tick> {
        let shared = Arc::clone(&self.shared);
        Some(Arc::new(move || lock(&shared).show()))
    }

    fn phase_ended(&mut self, phase: &Phase, worst: Option<&Worst>) {
        self.clear();
        lock(&self.shared).clock.phase_ended(monotonic());
        // Several results of one phase have lines of their own.
        crate::terminal::tell_lines(&std::mem::take(&mut self.starts));
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
        vec![format!("a line that shows progress was written on the terminal {times} times while the run was measured")]
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

/// A thread that ticks once a second when all is measured: until then it would be one more that wakes.
struct After {
    /// Dropped: it ends.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl After {
    /// `None` where no thread can be started: the line stands still then.
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
        // Nothing is lost with a line that could not be written.
        self.thread.take().map(JoinHandle::join);
    }
}
