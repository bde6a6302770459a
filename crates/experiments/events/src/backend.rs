//! What a real-time environment offers, and how the suite uses it.

use crate::Ledger;
use punctual_units::{CpuId, Nanos, Priority};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Priority,
    /// By readiness, each to its end.
    Fifo,
    RoundRobin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Between two real-time threads.
    Queue,
    Pipe,
}

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
    /// udp(7) over loopback.
    Udp,
    /// Two GPIO lines with a wire between them, or gpio-sim.
    Gpio,
    /// rtc(4).
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
    /// Time between events; zero: not periodic.
    pub interval: Nanos,
    pub events: u64,
    /// An event taken later than this is late.
    pub deadline: Nanos,
    /// Of the receiver; the sender has one more.
    pub priority: Priority,
    /// Of the receiver; `None`: any.
    pub cpu: Option<CpuId>,
    pub stop: &'a AtomicBool,
}

impl Plan<'_> {
    /// A ledger with room for every event and some unexpected ones.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.events + 1024, self.deadline)
    }
}

#[derive(Clone, Debug)]
pub struct Observed {
    pub ledger: Ledger,
    /// Events that were sent, including those whose refusal the sender saw.
    pub sent: u64,
    /// Of the receiver after its first event; `None`: unknown.
    pub page_faults: Option<u64>,
    /// Unwanted switches from a co-kernel to Linux; `None`: not applicable.
    pub mode_switches: Option<u64>,
    /// Why nothing can be concluded, although it ran.
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

/// For `map_err` where a thread is started.
pub(crate) fn no_thread(error: std::io::Error) -> NotRun {
    NotRun::Failed(format!("clone: {error}; see `ulimit -u` and pids.max of the cgroup"))
}

pub type Answer = Result<Observed, NotRun>;

fn without(what: &str) -> Answer {
    Err(NotRun::Unsupported(format!("this backend has no {what}")))
}

/// A real-time environment, one file per backend. It generates and takes events and reports them; it does not count or
/// judge.
///
/// The defaults report `Unsupported`, which is never a pass.
pub trait Backend {
    /// `posix`.
    fn name(&self) -> &str;

    /// What determines its timing: kernel, policy, libraries.
    fn facts(&self) -> BTreeMap<String, String>;

    /// A task that waits for each of `plan.events` releases, `plan.interval` apart: a number is a release.
    fn periodic(&mut self, _plan: &Plan<'_>) -> Answer {
        without("periodic task")
    }

    /// Alarms at [`alarm_at`] after a common epoch: a number is an alarm.
    fn alarms(&mut self, _plan: &Plan<'_>) -> Answer {
        without("alarm")
    }

    /// Rounds in which a low thread holds a mutex with priority inheritance for [`CRITICAL`](crate::CRITICAL), a medium
    /// one runs for [`BURN`](crate::BURN), and a high one waits for the mutex, all on one CPU: a number is a round, its
    /// lateness the wait.
    fn inversion(&mut self, _plan: &Plan<'_>) -> Answer {
        without("mutex with priority inheritance")
    }

    /// Threads made ready together on one CPU: a number is a place in the expected order.
    fn order(&mut self, _order: Order, _plan: &Plan<'_>) -> Answer {
        without("priorities")
    }

    fn channel(&mut self, _channel: Channel, _plan: &Plan<'_>) -> Answer {
        without("such channel")
    }

    /// Numbered or counted events of a source, taken by a real-time thread.
    fn source(&mut self, _source: Source, _plan: &Plan<'_>) -> Answer {
        without("such source")
    }
}

/// When alarm `number` is due after the epoch: an interval apart on average, from a quarter of it to seven quarters.
pub fn alarm_at(number: u64, interval: Nanos) -> Nanos {
    // A fixed permutation of 0, 1, 2, 3 quarters of an interval.
    let quarters = [1, 3, 0, 2, 3, 0, 2, 1][(number % 8) as usize];
    Nanos((number + 1) * interval.0 + quarters * interval.0 / 4)
}
