//! The trait through which the suite uses a real-time environment, and what such an environment may offer.

use crate::Ledger;
use punctual_units::{CpuId, Nanos, Priority};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Priority,
    /// Threads of equal priority run in the order in which they became ready, each until it finishes.
    Fifo,
    RoundRobin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A queue between two real-time threads.
    Queue,
    Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// timerfd(2), or a timer of the environment.
    Timer,
    /// eventfd(2), or a counting object of the environment.
    Eventfd,
    /// A pipe: pipe(7).
    Pipe,
    /// A pseudo-terminal: pty(7).
    Pty,
    /// A queued real-time signal, signal(7).
    RtSignal,
    /// A standard signal, signal(7).
    Signal,
    /// A UDP socket over loopback: udp(7).
    Udp,
    /// Two GPIO lines connected by a wire, or simulated by gpio-sim.
    Gpio,
    /// A real-time clock: rtc(4).
    Rtc,
    /// A serial port in loopback mode.
    Serial,
}

impl Source {
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

#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub test: &'static str,
    /// Interval between events; 0 if they are not periodic.
    pub interval: Nanos,
    pub events: u64,
    /// Lateness above which an event counts as late.
    pub deadline: Nanos,
    /// Priority of the receiver. The priority of the sender is higher by one.
    pub priority: Priority,
    /// CPU of the receiver; `None` for any CPU.
    pub cpu: Option<CpuId>,
    pub stop: &'a AtomicBool,
}

impl Plan<'_> {
    /// Returns a ledger with room for all events and for some unexpected events.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.events + 1024, self.deadline)
    }
}

#[derive(Clone, Debug)]
pub struct Observed {
    pub ledger: Ledger,
    /// Number of events sent, including those that the source refused with an error.
    pub sent: u64,
    /// Page faults of the receiver after its first event; `None` if unknown.
    pub page_faults: Option<u64>,
    /// Unintended switches from the co-kernel to Linux; `None` if there is no co-kernel.
    pub mode_switches: Option<u64>,
    /// Reasons why the result is inconclusive although the test ran.
    pub inconclusive: Vec<String>,
    pub notes: Vec<String>,
}

impl Observed {
    pub fn new(ledger: Ledger, sent: u64) -> Observed {
        Observed { ledger, sent, page_faults: None, mode_switches: None, inconclusive: Vec::new(), notes: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    #[error("not available here: {0}")]
    Unsupported(String),
    #[error("{0}")]
    Failed(String),
}

/// Converts the error of a thread that could not be started; passed to `map_err`.
pub(crate) fn no_thread(error: std::io::Error) -> NotRun {
    NotRun::Failed(format!("cannot start a thread: {error}; see `ulimit -u` and pids.max of the cgroup"))
}

pub type Answer = Result<Observed, NotRun>;

fn without(what: &str) -> Answer {
    Err(NotRun::Unsupported(format!("this backend has no {what}")))
}

/// A real-time environment; each backend is a module. It sends, receives and reports events, but neither counts nor
/// judges them.
///
/// The default methods return `Unsupported`, which never counts as passed.
pub trait Backend {
    /// Returns the name used on the command line, for example `posix`.
    fn name(&self) -> &str;

    /// Returns facts that affect the timing: kernel, policy, libraries.
    fn facts(&self) -> BTreeMap<String, String>;

    /// Runs a task that waits for `plan.events` releases, `plan.interval` apart. An event has the number of its
    /// release.
    fn periodic(&mut self, _plan: &Plan<'_>) -> Answer {
        without("periodic task")
    }

    /// Sets alarms at [`alarm_at`] after a common start. An event has the number of its alarm.
    fn alarms(&mut self, _plan: &Plan<'_>) -> Answer {
        without("alarm")
    }

    /// Runs rounds with three threads on one CPU. A low-priority thread holds a mutex with priority inheritance for
    /// [`CRITICAL`](crate::CRITICAL), a medium-priority thread runs for [`BURN`](crate::BURN), and a high-priority
    /// thread waits for the mutex. An event has the number of its round, and its lateness is the waiting time.
    fn inversion(&mut self, _plan: &Plan<'_>) -> Answer {
        without("mutex with priority inheritance")
    }

    /// Makes threads on one CPU ready at the same time. The number of an event is the thread's place in the expected
    /// order.
    fn order(&mut self, _order: Order, _plan: &Plan<'_>) -> Answer {
        without("priorities")
    }

    fn channel(&mut self, _channel: Channel, _plan: &Plan<'_>) -> Answer {
        without("such channel")
    }

    /// Sends numbered or counted events to a real-time thread through a source.
    fn source(&mut self, _source: Source, _plan: &Plan<'_>) -> Answer {
        without("such source")
    }
}

/// Returns the time of alarm `number` after the common start. Alarms are one interval apart on average; two successive
/// alarms are between one quarter and seven quarters of an interval apart.
pub fn alarm_at(number: u64, interval: Nanos) -> Nanos {
    // A fixed sequence of 0, 1, 2 and 3 quarters of an interval.
    let quarters = [1, 3, 0, 2, 3, 0, 2, 1][(number % 8) as usize];
    Nanos((number + 1) * interval.0 + quarters * interval.0 / 4)
}
