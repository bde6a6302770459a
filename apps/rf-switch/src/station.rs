//! Starts everything that is needed for sending: the line, the real-time task, the intake and the capture, in this
//! order. Stops them in reverse order.

use crate::capture::{Captured, Capturing};
use crate::command::{Command, Decoder};
use crate::error::Error;
use crate::intake::{Board, Intake, Sink};
use crate::ook::OokWriter;
use crate::options::{Capture, Options};
use crate::pending::Pending;
use crate::print::say;
use crate::start::{Started, start};
use crate::tap::Tap;
use crate::transmit::{Done, Emitted, Job, Origin, Shared, Transmitter};
use crate::warnings::Warnings;
use crate::waveform::Waveform;
use punctual_rt::{End, Eventfd, InterruptHandle, Overflow, Receiver, Rt, Sender, queue};
use punctual_units::{Nanos, Scheduling};
use punctual_wires::{Out, wire};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Capacity of the ring that passes edges to the ordinary thread: the edges of 40 messages.
const EDGES: usize = 8192;
const TASK: &str = "transmitter";

pub struct Station {
    rt: Rt,
    task: InterruptHandle,
    intake: JoinHandle<Result<VecDeque<Command>, Error>>,
    capturing: Option<Capturing>,
    shared: Arc<Shared>,
    pub board: Arc<Board>,
    /// Messages about requests that were refused, and the consequences.
    pub narrowed: Vec<String>,
    pub scheduling: Scheduling,
    pub restored: u64,
}

#[derive(Debug)]
pub struct Ended {
    pub waiting: VecDeque<Command>,
    pub captured: Option<Captured>,
}

/// Rings between the real-time and the ordinary thread.
struct Rings {
    jobs: (Sender<Job>, Receiver<Job>),
    done: (Sender<Done>, Receiver<Done>),
    edges: (Sender<Emitted>, Receiver<Emitted>),
}

impl Rings {
    fn new(commands: usize) -> Result<Rings, Error> {
        Ok(Rings {
            jobs: queue(commands, Overflow::DropNewest)?,
            done: queue(commands + 1, Overflow::DropNewest)?,
            edges: queue(EDGES, Overflow::DropNewest)?,
        })
    }
}

/// Opens the line and drives it low. If the line is simulated, also returns the receiver of its edges.
fn line(options: &Options) -> Result<(Out, Option<Receiver<punctual_wires::EdgeAt>>), Error> {
    let real = match &options.line {
        Some(place) => place.output(false).map_err(Error::Line)?,
        None => None,
    };
    match real {
        Some(out) => Ok((out, None)),
        None => {
            let (out, _, edges) = wire(EDGES)?;
            Ok((out, Some(edges)))
        }
    }
}

fn writer(options: &Options) -> Result<Option<OokWriter<File>>, Error> {
    let Some(path) = &options.ook else { return Ok(None) };
    let from = match (&options.capture, options.dry_run) {
        (Some(Capture::Line(place)), _) => format!("{place}, timestamped by the kernel"),
        (Some(Capture::Trace), _) => "the tracepoint gpio:gpio_value".into(),
        (None, true) => "a simulated line".into(),
        (None, false) => "the clock after each call that drives the line".into(),
    };
    let file = File::create(path).map_err(Error::file("create", path))?;
    OokWriter::new(file, &options.timing, &from).map(Some).map_err(Error::file("write", path))
}

fn shared() -> Result<Arc<Shared>, Error> {
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(Error::call("eventfd"))?;
    Ok(Arc::new(Shared { ending: AtomicBool::new(false), wake, failure: Mutex::new(None) }))
}

/// Opens the pending file and reads what an earlier run left in it. There is no pending file if the program has no
/// FIFO.
fn restore(options: &Options, tap: Option<&Tap>) -> Result<(Option<Pending>, Decoder, Vec<Command>), Error> {
    let mut decoder = Decoder::new(options.addresses);
    let Some(tap) = tap else { return Ok((None, decoder, Vec::new())) };
    let pending = Pending::at(pending_path(options, tap));
    let left = pending.restore(&mut decoder)?;
    left.bad.iter().for_each(|bad| say(&format!("from an earlier run: {bad}")));
    Ok((Some(pending), decoder, left.commands))
}

/// Starts the capture, or returns the sink to which the intake writes edges.
fn outputs(
    options: &Options,
    wire: Option<Receiver<punctual_wires::EdgeAt>>,
) -> Result<(Option<Capturing>, Option<Sink>), Error> {
    match (writer(options)?, &options.capture) {
        (None, _) => Ok((None, None)),
        (Some(writer), None) => Ok((None, Some(Sink { writer, wire }))),
        (Some(writer), Some(capture)) => Ok((Capturing::start(capture, transmitter_tid()?, writer)?, None)),
    }
}

fn transmitter(
    options: &Options,
    started: &Started,
    raise: &Eventfd,
    transmitter: Transmitter,
) -> Result<InterruptHandle, Error> {
    let mut transmitter = transmitter;
    let mut task = started.rt.interrupt(TASK, started.scheduling, raise.clone());
    if let Some(cpu) = options.cpu {
        task = task.cpu(cpu);
    }
    Ok(task.spawn(move |_| transmitter.work())?)
}

impl Station {
    /// Starts everything. `tap` is the FIFO; `commands` are sent first.
    ///
    /// # Errors
    /// Something that is needed is not available; everything that was started is stopped.
    pub fn start(options: &Options, tap: Option<Tap>, commands: Vec<Command>) -> Result<Station, Error> {
        let started = start(options)?;
        let (out, wire) = line(options)?;
        let (pending, decoder, left) = restore(options, tap.as_ref())?;
        let restored = left.len() as u64;
        let waiting: VecDeque<Command> = left.into_iter().chain(commands).collect();
        let Rings { jobs, done, edges } = Rings::new(options.queue.max(waiting.len()))?;
        let shared = shared()?;
        let raise = Eventfd::new().map_err(Error::call("eventfd"))?;
        let (jobs_in, done_out, edges_out) = (jobs.1, done.0, edges.0);
        let task = Transmitter {
            out,
            waveform: Waveform::new(&options.timing)?,
            repeats: options.repeats,
            replace: options.replace,
            half: Nanos(options.timing.t.0 / 2),
            jobs: jobs_in,
            done: done_out,
            edges: edges_out,
            shared: shared.clone(),
        };
        let task = transmitter(options, &started, &raise, task)?;
        // From here on a failure ends the process, and the line is low.
        let (capturing, sink) = outputs(options, wire)?;
        let board = Arc::new(Board::default());
        let intake = Intake {
            tap,
            decoder,
            pending,
            waiting,
            most: options.queue,
            next: 0,
            jobs: jobs.0,
            raise,
            done: done.1,
            edges: edges.1,
            shared: shared.clone(),
            board: board.clone(),
            sink,
            warnings: Warnings::new(std::io::stderr()),
            half: Nanos(options.timing.t.0 / 2),
            dropped: 0,
        };
        let intake = feed(intake, restored)?;
        let Started { rt, scheduling, narrowed } = started;
        Ok(Station { rt, task, intake, capturing, shared, board, narrowed, scheduling, restored })
    }

    pub fn report(&self) -> String {
        self.rt.report().to_string()
    }

    /// Returns true if a thread has ended unexpectedly; [`Station::stop`] then returns the reason.
    pub fn broken(&self) -> bool {
        self.task.task().is_finished() || self.intake.is_finished()
    }

    /// Stops the station: finishes the current frame, drives the line low, and leaves waiting commands in the pending
    /// file.
    ///
    /// # Errors
    /// An error that occurred while it ran.
    pub fn stop(self) -> Result<Ended, Error> {
        self.shared.ending.store(true, Relaxed);
        let (end, _) = self.task.stop();
        self.board.stop.store(true, Relaxed);
        self.shared.wake();
        let waiting = self.intake.join().unwrap_or(Err(Error::Thread("intake")));
        let captured = self.capturing.map(Capturing::stop).transpose();
        if let Some(failure) = self.shared.failed() {
            return Err(Error::Line(failure));
        }
        if let End::Panicked(_) = end {
            return Err(Error::Thread(TASK));
        }
        Ok(Ended { waiting: waiting?, captured: captured? })
    }
}

/// Passes the first commands to the transmitter and starts the intake.
fn feed(mut intake: Intake, restored: u64) -> Result<JoinHandle<Result<VecDeque<Command>, Error>>, Error> {
    // These commands waited for the start, so their latency is not measured.
    let job = |(n, command): (usize, &Command)| Job { number: n as u64, code: command.code, origin: Origin::Waited };
    let jobs: Vec<Job> = intake.waiting.iter().enumerate().map(job).collect();
    intake.next = jobs.len() as u64;
    {
        let mut figures = intake.board.figures();
        figures.commands.restored = restored;
        figures.commands.accepted = intake.next - restored;
    }
    intake.hand_over(jobs);
    let thread = std::thread::Builder::new().name("intake".into()).spawn(move || intake.run());
    thread.map_err(|source| Error::Call { call: "clone", source })
}

fn pending_path(options: &Options, tap: &Tap) -> std::path::PathBuf {
    options.pending.clone().unwrap_or_else(|| {
        let mut path = tap.path().as_os_str().to_owned();
        path.push(".pending");
        path.into()
    })
}

fn transmitter_tid() -> Result<i32, Error> {
    let tasks = "/proc/self/task";
    let entries = fs::read_dir(tasks).map_err(Error::file("list", tasks))?;
    let named = |path: &std::path::Path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == TASK);
    let tid = entries
        .flatten()
        .filter(|entry| named(&entry.path()))
        .find_map(|entry| entry.file_name().to_str()?.parse().ok());
    tid.ok_or(Error::Thread(TASK))
}
