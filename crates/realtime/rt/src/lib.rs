//! Building blocks for real-time programs on Linux.
//!
//! - [`Rt`] checks the machine, locks memory, starts and stops tasks;
//! - [`PeriodicTask`]: a body that runs at every release, each accounted for: `released == ran + skipped + pending`;
//! - [`InterruptTask`]: a body that runs on every event of a [`Source`]: `events == handled + coalesced + lost`;
//! - [`AlarmSet`]: alarms relative to one epoch; [`Timer`]: a timer that other threads set;
//! - for custom loops: [`Attributes`] that are read back after they are set, [`Periodic`] and other wakeup sources
//!   ([`Relative`], [`Timerfd`], [`Signalled`]) with the same interface ([`Wait`]).
//!
//! Architecture invariant: after its start a task neither allocates, logs, formats nor faults.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod alarms;
mod attributes;
mod clock;
mod expiries;
mod interrupt;
mod ipc;
mod periodic;
mod posix;
mod relative;
mod report;
mod stack;
mod start;
mod sync;
mod task;
mod timerfd;
mod wait;

pub use alarms::{AlarmSet, AlarmsFull, Rung};
pub use attributes::{Applied, Attributes, Refused, granted_nice, try_scheduling};
pub use clock::{clock_read_cost, monotonic, sleep_until};
pub use interrupt::{
    Arrival, Eventfd, Gpio, Interrupt, InterruptHandle, InterruptStats, InterruptTask, IrqThreadError, IrqThreads,
    Source, Timer, TimerHandle, Uio,
};
pub use periodic::{Periodic, Wakeup};
pub use posix::Signalled;
pub use punctual_units::{CpuId, CpuList, Histogram, Nanos, Policy, Priority, Scheduling};
pub use relative::Relative;
pub use start::{
    Admission, Builder, Check, Checked, Outcome, Report, Reservation, Rt, Severity, StartError, block_signals,
};
pub use task::{
    Counted, Cycle, End, Finished, Miss, Next, PeriodicTask, SpawnError, Task, TaskStats, TaskUsage, WorstCycle,
};
pub use timerfd::Timerfd;
pub use wait::{Remarks, Wait};

pub use ipc::{
    Arg, At, Bridge, CapacityError, Fifo, Frame, Full, Level, Line, Log, LogCounts, Mailbox, MailboxCounts, NotOpened,
    NotSent, Overflow, Parsed, PipeCounts, QueueCounts, Received, Receiver, Recorder, Rendezvous, Request, RtReceiver,
    RtSender, SendError, Sender, ServeError, Server, Shared, SharedWriter, Unsteady, Words, pipe, pipe_out, queue,
};
pub use punctual_gpio as gpio;
pub use punctual_uapi::{Block, Condvar, LockError, Mutex, MutexGuard, Pool, PoolCounts, Woke};
pub use sync::{EventFlags, Match, Overflowed, Semaphore, TimedOut};
