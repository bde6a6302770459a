use crate::draw::{Looks, draw};
use crate::gather::{Looker, machine};
use crate::keys::{Key, Keys};
use crate::screen::{self, NoTerminal, Screen};
use crate::snapshot::{CpuView, Snapshot, Stage};
use punctual_measure::{Bell, Cell};
use punctual_model::ContextSample;
use punctual_units::{CpuId, Nanos};
use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(500);
/// Minimum time between two frames, even when keys are pressed.
const APART: Duration = Duration::from_millis(250);
/// Maximum time to wait for the drawing thread at the end of the run. That thread may be blocked by a terminal that
/// accepts no output, for example over a stalled connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// Operations on the running phase, called from the drawing thread.
pub trait Controls: Send + Sync {
    /// Returns the latest context sample, and the measured frequencies in kHz.
    fn counters(&self) -> (Option<ContextSample>, Vec<(CpuId, u64)>);
    /// Marks the current time. Returns the number of the mark.
    fn mark(&self) -> u64;
    fn next(&self);
}

pub struct Phase {
    /// The measured CPUs, each with the cell that contains its results.
    pub cells: Vec<(CpuId, Arc<Cell>)>,
    /// CLOCK_MONOTONIC of the first recorded release.
    pub start: Nanos,
    pub controls: Box<dyn Controls>,
}

#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Name of the command: `measure` or `prove`.
    pub command: String,
    /// True if the machine's context is sampled.
    pub context: bool,
    /// Latency above which a wakeup counts as late.
    pub deadline: Option<Nanos>,
    pub planned: Nanos,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub pictures: u64,
    /// CPU time of the drawing thread, ns.
    pub cpu_ns: u64,
    /// True if the drawing thread shared CPUs with the measuring threads.
    pub shared: bool,
    /// The error that ended the view before the end of the run.
    pub trouble: Option<String>,
}

/// State shared by the thread of the run and the drawing thread. It is locked only briefly, and never while sampling,
/// drawing or writing.
#[derive(Default)]
struct State {
    /// The snapshot without the values of the CPUs and the machine; only the drawing thread reads those.
    snapshot: Snapshot,
    phase: Option<Arc<Phase>>,
    cost: Cost,
    quit: bool,
}

/// The view of a run. Dropping it removes the view and restores the terminal.
pub struct View {
    state: Arc<Mutex<State>>,
    bell: Bell,
    ended: Option<Receiver<()>>,
    looks: Looks,
}

impl View {
    /// Prepares the view; the first phase takes control of the terminal.
    ///
    /// # Errors
    /// [`NoTerminal`], or no file descriptor is available.
    pub fn new(settings: &Settings) -> Result<View, Unfit> {
        screen::check()?;
        let snapshot = Snapshot {
            command: settings.command.clone(),
            context: settings.context,
            deadline: settings.deadline,
            planned: settings.planned,
            ..Snapshot::default()
        };
        let state = Arc::new(Mutex::new(State { snapshot, ..State::default() }));
        Ok(View { state, bell: Bell::new()?, ended: None, looks: Looks::of_environment() })
    }

    /// Must be called before each phase starts. The first call takes control of the terminal and starts the drawing
    /// thread, which inherits the caller's affinity. That affinity should exclude the measured CPUs.
    pub fn phase_starts(&mut self, number: usize, of: usize, load: &str) {
        {
            let mut state = lock(&self.state);
            state.phase = None;
            let old = std::mem::take(&mut state.snapshot);
            state.snapshot = Snapshot { stage: Stage::Starting, load: load.to_owned(), number, of, word: None, ..old };
        }
        if self.ended.is_none() {
            self.start();
        }
    }

    pub fn phase_runs(&self, phase: Phase) {
        let shared = shares(&phase.cells);
        let mut state = lock(&self.state);
        state.snapshot.shared = shared;
        state.cost.shared |= shared;
        state.phase = Some(Arc::new(phase));
    }

    /// Displays `lines` below the table until the next call.
    pub fn status(&self, lines: Vec<String>) {
        lock(&self.state).snapshot.status = lines;
    }

    pub fn phase_ended(&self) {
        let mut state = lock(&self.state);
        state.snapshot.stage = Stage::Between;
        state.phase = None;
    }

    pub fn measured(&self) -> Cost {
        let mut state = lock(&self.state);
        state.snapshot.stage = Stage::Finishing;
        state.snapshot.paused = false;
        state.phase = None;
        state.cost.clone()
    }

    fn start(&mut self) {
        let (send, receive) = channel();
        let drawer = Drawer { state: Arc::clone(&self.state), bell: self.bell.clone(), looks: self.looks };
        self.ended = Some(receive);
        let thread = std::thread::Builder::new().name("live".into()).stack_size(512 << 10).spawn(move || {
            let state = Arc::clone(&drawer.state);
            // The run continues without the view, because its results are more important.
            if let Err(e) = drawer.run() {
                lock(&state).cost.trouble = Some(e.to_string());
            }
            drop(send);
        });
        if let Err(e) = thread {
            lock(&self.state).cost.trouble = Some(e.to_string());
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error(transparent)]
    Terminal(#[from] NoTerminal),
    #[error("cannot set up the live view: {0}")]
    Io(#[from] io::Error),
}

impl Drop for View {
    fn drop(&mut self) {
        lock(&self.state).quit = true;
        self.bell.ring();
        if let Some(ended) = self.ended.take() {
            // No message is sent: the channel closes when the thread ends.
            let _ = ended.recv_timeout(PATIENCE);
        }
        screen::restore();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if the caller, and thus the drawing thread, may run on a measured CPU.
fn shares(cells: &[(CpuId, Arc<Cell>)]) -> bool {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return true };
    cells.iter().any(|(cpu, _)| allowed.is_set(cpu.0 as usize))
}

struct Drawer {
    state: Arc<Mutex<State>>,
    bell: Bell,
    looks: Looks,
}

impl Drawer {
    fn run(self) -> io::Result<()> {
        screen::take()?;
        let mut terminal = Terminal::new(Screen::new())?;
        let (mut keys, mut looking) = (Some(Keys::default()), Looking::default());
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if now >= due {
                looking.look(&self.state);
                terminal.draw(|frame| draw(&looking.picture, self.looks, frame.buffer_mut()))?;
                book(&mut lock(&self.state).cost);
                due = now + EVERY;
            }
            let typed = self.wait(due, keys.is_some());
            if lock(&self.state).quit {
                return Ok(());
            }
            if typed && let Some(reader) = &mut keys {
                match self.read(reader)? {
                    Read::Nothing => {}
                    Read::Key => due = due.min(now + APART),
                    Read::Redraw => {
                        terminal.clear()?;
                        due = due.min(now + APART);
                    }
                    // No more keys can arrive; signals still end the run.
                    Read::Closed => keys = None,
                }
            }
        }
    }

    /// Sleeps until `due`, a key or the end of the run. Returns true if input is available.
    fn wait(&self, due: Instant, keys: bool) -> bool {
        let left = due.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos() as _ };
        let input = io::stdin();
        let mut both = [PollFd::new(&self.bell, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        let watched = if keys { 2 } else { 1 };
        // A signal ends the wait early.
        let ready = poll(&mut both[..watched], Some(&left)).unwrap_or(0);
        ready > 0 && keys && !both[1].revents().is_empty()
    }

    fn read(&self, keys: &mut Keys) -> io::Result<Read> {
        let mut bytes = [0u8; 64];
        let n = match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(0) => return Ok(Read::Closed),
            Ok(n) => n,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return Ok(Read::Nothing),
            Err(_) => return Ok(Read::Closed),
        };
        let mut read = Read::Nothing;
        for key in bytes.iter().take(n).filter_map(|&byte| keys.take(byte)) {
            if read != Read::Redraw {
                read = if key == Key::Redraw { Read::Redraw } else { Read::Key };
            }
            act(&self.state, key);
        }
        Ok(read)
    }
}

#[derive(PartialEq, Eq)]
enum Read {
    Nothing,
    Key,
    Redraw,
    Closed,
}

/// The drawing thread's own copy of the latest snapshot; its memory is reused.
#[derive(Default)]
struct Looking {
    picture: Snapshot,
    phase: Option<Arc<Phase>>,
    looker: Looker,
}

impl Looking {
    /// Updates the snapshot, unless the display is paused.
    fn look(&mut self, state: &Mutex<State>) {
        let phase = {
            let state = lock(state);
            if state.snapshot.paused && self.picture.paused {
                self.picture.help = state.snapshot.help;
                self.picture.word.clone_from(&state.snapshot.word);
                return;
            }
            let old = std::mem::replace(&mut self.picture, state.snapshot.clone());
            self.picture.cpus = old.cpus;
            self.picture.machine = old.machine;
            self.picture.elapsed = old.elapsed;
            state.phase.clone()
        };
        if let Some(phase) = phase {
            self.fill(&phase);
            self.phase = Some(phase);
        } else if self.picture.stage == Stage::Starting {
            (self.picture.cpus, self.picture.machine, self.picture.elapsed) = (Vec::new(), None, Nanos::ZERO);
        }
    }

    fn fill(&mut self, phase: &Arc<Phase>) {
        let Looking { picture, looker, phase: before } = self;
        if !before.as_ref().is_some_and(|before| Arc::ptr_eq(before, phase)) || picture.cpus.is_empty() {
            let empty = |(cpu, _): &(CpuId, Arc<Cell>)| CpuView { cpu: *cpu, ..CpuView::default() };
            picture.cpus = phase.cells.iter().map(empty).collect();
        }
        let now = clock_gettime(ClockId::Monotonic);
        let now = Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
        picture.elapsed = now.saturating_sub(phase.start).min(picture.planned);
        picture.stage = if now < phase.start { Stage::WarmingUp } else { Stage::Measuring };
        for ((_, cell), view) in phase.cells.iter().zip(&mut picture.cpus) {
            looker.look(cell, view);
        }
        let (sample, khz) = phase.controls.counters();
        picture.machine = sample.map(|sample| machine(&sample, &khz, &mut picture.cpus));
    }
}

fn act(state: &Mutex<State>, key: Key) {
    let phase = lock(state).phase.clone();
    let word = match (key, phase) {
        (Key::Mark, Some(phase)) => format!("mark {} set", phase.controls.mark()),
        (Key::Next, Some(phase)) => {
            phase.controls.next();
            "ending this load".into()
        }
        (Key::Mark | Key::Next, None) => "not possible between loads".into(),
        // Ends the run as Ctrl-C does: the signal stays pending until a thread waits for it.
        (Key::End, _) => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
            "ending the run".into()
        }
        (Key::Help, _) => return toggle(&mut lock(state).snapshot.help),
        (Key::Pause, _) => return toggle(&mut lock(state).snapshot.paused),
        (Key::Redraw, _) => return,
    };
    lock(state).snapshot.word = Some(word);
}

fn toggle(flag: &mut bool) {
    *flag = !*flag;
}

fn book(cost: &mut Cost) {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    cost.pictures += 1;
    cost.cpu_ns = used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64;
}
