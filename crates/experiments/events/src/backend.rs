//! What a real-time environment offers, and how the suite asks it.

use crate::Ledger;
use punctual_units::{CpuId, Nanos, Priority};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// In which order threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By priority.
    Priority,
    /// First ready, first run, to its end.
    Fifo,
    /// In turns.
    RoundRobin,
}

/// A way between two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Between two real-time threads.
    Queue,
    /// From a real-time thread to an ordinary one.
    Pipe,
}

/// What makes events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// timerfd(2), or the environment's own timer.
    Timer,
    /// eventfd(2), or the environment's own counting object.
    Eventfd,
    /// pipe(7).
    Pipe,
    /// pty(7).
    Pty,
    /// A real-time signal, signal(7).
    RtSignal,
    /// An ordinary signal, signal(7).
    Signal,
    /// udp(7) over the loopback device.
    Udp,
    /// Two GPIO lines with a wire between them, or gpio-sim.
    Gpio,
    /// /dev/rtc, rtc(4).
    Rtc,
    /// A serial port whose output is its input.
    Serial,
}

impl Source {
    /// The test's name.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Timer => "timerfd",
            Source::Eventfd => "eventfd",
            Source::Pipe => "pipe",
            Source::Pty => "pty",
            Source::RtSignal => "rt-signal",
            Source::Signal => "signal",
            Source::Udp => "udp",
            Source::Gpio => "gpio",
            Source::Rtc => "rtc",
            Source::Serial => "serial",
        }
    }
}

/// One test, as a backend is asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The test's name: an adapter is asked by it.
    pub test: &'static str,
    /// Distance of two events; zero: they have no grid.
    pub interval: Nanos,
    /// Events to send, or rounds to do.
    pub events: u64,
    /// An event taken later than this is late.
    pub deadline: Nanos,
    /// Priority of the receiver; the sender has one more.
    pub priority: Priority,
    /// The CPU of the receiver; `None`: any.
    pub cpu: Option<CpuId>,
    /// Set when the user wants no more.
    pub stop: &'a AtomicBool,
}

impl Plan<'_> {
    /// A ledger for it: room for every event and a few that should not be.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.events + 1024, self.deadline)
    }
}

/// What a backend saw.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Every arrival.
    pub ledger: Ledger,
    /// Events that were sent, or refused with a word to the sender.
    pub sent: u64,
    /// Page faults of the receiver after its first event; `None`: not known.
    pub page_faults: Option<u64>,
    /// Unwanted changes from a co-kernel to Linux; `None`: there is none.
    pub mode_switches: Option<u64>,
    /// Why nothing can be concluded, although it ran.
    pub inconclusive: Vec<String>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Observed {
    /// Arrivals and how many were sent, nothing else known.
    pub fn new(ledger: Ledger, sent: u64) -> Observed {
        Observed { ledger, sent, page_faults: None, mode_switches: None, inconclusive: Vec::new(), notes: Vec::new() }
    }
}

/// Why a test did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// The environment does not have it.
    #[error("not available here: {0}")]
    Unsupported(String),
    /// It has, but something failed.
    #[error("{0}")]
    Failed(String),
}

/// What a backend answers.
pub type Answer = Result<Observed, NotRun>;

fn without(what: &str) -> Answer {
    Err(NotRun::Unsupported(format!("this backend has no {what}")))
}

/// A real-time environment: one file a backend. It makes and takes events, and says what it saw; it does not count or judge.
///
/// What a backend does not have it leaves to these defaults, which say so: unsupported is never a pass.
pub trait Backend {
    /// Its name: `posix`.
    fn name(&self) -> &str;

    /// What decides about its timing: kernel, policy, libraries.
    fn facts(&self) -> BTreeMap<String, String>;

    /// A task that waits for each of `plan.events` releases, `plan.interval` apart: a number is a release.
    fn periodic(&mut self, _plan: &Plan<'_>) -> Answer {
        without("periodic task")
    }

    /// Alarms at [`alarm_at`] after one epoch: a number is an alarm.
    fn alarms(&mut self, _plan: &Plan<'_>) -> Answer {
        without("alarm")
    }

    /// Rounds in which a low thread holds a mutex with priority inheritance for [`CRITICAL`](crate::CRITICAL), a medium one runs for
    /// [`BURN`](crate::BURN), and a high one waits for the mutex, all on one CPU: a number is a round, its lateness the wait.
    fn inversion(&mut self, _plan: &Plan<'_>) -> Answer {
        without("mutex with priority inheritance")
    }

    /// Threads made ready together on one CPU: a number is a place in the order that should come out.
    fn order(&mut self, _order: Order, _plan: &Plan<'_>) -> Answer {
        without("priorities")
    }

    /// Numbered messages from one thread to another.
    fn channel(&mut self, _channel: Channel, _plan: &Plan<'_>) -> Answer {
        without("such channel")
    }

    /// Numbered (or only counted) events of a source, taken by a real-time thread.
    fn source(&mut self, _source: Source, _plan: &Plan<'_>) -> Answer {
        without("such source")
    }
}

/// When alarm `number` of the alarm test is due after its epoch: an interval apart on average, from a quarter of it to seven quarters.
pub fn alarm_at(number: u64, interval: Nanos) -> Nanos {
    // A fixed jumble of 0, 1, 2, 3 quarters of an interval.
    let quarters = [1, 3, 0, 2, 3, 0, 2, 1][(number % 8) as usize];
    Nanos((number + 1) * interval.0 + quarters * interval.0 / 4)
}
