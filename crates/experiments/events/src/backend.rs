//! The trait through which the suite uses a real-time environment, and the facilities that it may offer.

use crate::Ledger;
use punctual_units::{CpuId, Nanos, Priority};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Priority,
    /// Threads run in the order in which they became ready, each to completion.
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
    /// timerfd(2), or the environment's native timer.
    Timer,
    /// eventfd(2), or the environment's native counting object.
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
    /// Two GPIO lines joined by a wire, or gpio-sim.
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
    /// Interval between events; 0 means that they are not periodic.
    pub interval: Nanos,
    pub events: u64,
    /// Lateness above which an event counts as late.
    pub deadline: Nanos,
    /// Priority of the receiver. The sender's priority is one higher.
    pub priority: Priority,
    /// CPU of the receiver. `None` means any CPU.
    pub cpu: Option<CpuId>,
    pub stop: &'a AtomicBool,
}

impl Plan<'_> {
    /// Creates a ledger with room for every event and some unexpected ones.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.events + 1024, self.deadline)
    }
}

#[derive(Clone, Debug)]
pub struct Observed {
    pub ledger: Ledger,
    /// Number of events sent, including those refused with an error to the sender.
    pub sent: u64,
    /// Page faults of the receiver after its first event. `None` means unknown.
    pub page_faults: Option<u64>,
    /// Unintended switches from the co-kernel to Linux. `None` means not applicable.
    pub mode_switches: Option<u64>,
    /// Reasons why the test is inconclusive although it ran.
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

/// Error of starting a thread, for use with `map_err`.
pub(crate) fn no_thread(error: std::io::Error) -> NotRun {
    NotRun::Failed(format!("cannot start a thread: {error}; see `ulimit -u` and pids.max of the cgroup"))
}

pub type Answer = Result<Observed, NotRun>;

fn without(what: &str) -> Answer {
    Err(NotRun::Unsupported(format!("this backend has no {what}")))
}

/// A real-time environment, with one module per backend. It generates, receives and reports events, but does not count
/// or judge them.
///
/// The default methods return `Unsupported`, which never counts as a pass.
pub trait Backend {
    /// Name used on the command line, such as `posix`.
    fn name(&self) -> &str;

    /// Facts that affect the timing: kernel, policy, libraries.
    fn facts(&self) -> BTreeMap<String, String>;

    /// Runs a task that waits for each of `plan.events` releases, `plan.interval` apart. Events are numbered by
    /// release.
    fn periodic(&mut self, _plan: &Plan<'_>) -> Answer {
        without("periodic task")
    }

    /// Sets alarms at [`alarm_at`] after a common epoch. Events are numbered by alarm.
    fn alarms(&mut self, _plan: &Plan<'_>) -> Answer {
        without("alarm")
    }

    /// Runs rounds on one CPU in which a low-priority thread holds a mutex with priority inheritance for
    /// [`CRITICAL`](crate::CRITICAL), a medium-priority one runs for [`BURN`](crate::BURN), and a high-priority one
    /// waits for the mutex. Events are numbered by round, and the lateness is the wait.
    fn inversion(&mut self, _plan: &Plan<'_>) -> Answer {
        without("mutex with priority inheritance")
    }

    /// Makes threads on one CPU ready at the same time. Events are numbered by their place in the expected order.
    fn order(&mut self, _order: Order, _plan: &Plan<'_>) -> Answer {
        without("priorities")
    }

    fn channel(&mut self, _channel: Channel, _plan: &Plan<'_>) -> Answer {
        without("such channel")
    }

    /// Sends numbered or counted events through a source to a real-time thread.
    fn source(&mut self, _source: Source, _plan: &Plan<'_>) -> Answer {
        without("such source")
    }
}

/// Due time of alarm `number` after the epoch. Alarms are one interval apart on average; the gaps range from a quarter
/// of an interval to seven quarters.
pub fn alarm_at(number: u64, interval: Nanos) -> Nanos {
    // A fixed permutation of 0, 1, 2 and 3 quarters of an interval.
    let quarters = [1, 3, 0, 2, 3, 0, 2, 1][(number % 8) as usize];
    Nanos((number + 1) * interval.0 + quarters * interval.0 / 4)
}
