//! Building blocks for real-time programs on Linux: an ordinary process, preferably on a PREEMPT_RT kernel.
//!
//! # Concepts
//!
//! A **release** is an instant at which a task should run: `first + index × period` on CLOCK_MONOTONIC, whatever
//! happened before. Its **lateness** is the time from the release to the wakeup of the thread. A release whose body can
//! no longer run is **skipped** and counted, so that `released == ran + skipped + pending` always holds. The **policy**
//! decides which thread gets the CPU: SCHED_FIFO 80 runs before all threads of lower priority, and before all ordinary
//! threads.
//!
//! Latency comes from the machine (kernel, settings, devices) and from the program (page faults, allocation, output,
//! locks that ordinary threads hold). The first is measured by `punctual prove` and judged by `punctual audit`; the
//! second is avoided by four rules:
//!
//! 1. Lock memory and touch it before the first release: [`Builder::lock_memory`] and the start of each task do that.
//! 2. Do not allocate, print or open files in a body; leave these to an ordinary thread behind a [`queue`] or [`Log`].
//! 3. Lock only what has priority inheritance: [`Mutex`], not [`std::sync::Mutex`].
//! 4. Sleep until an absolute time, not for a duration, as a task and [`sleep_until`] do.
//!
//! # Periodic tasks
//!
//! [`Rt`] checks the machine and locks memory; [`Rt::periodic`] describes a task, whose body runs at every release.
//!
//! ```
//! use punctual_rt::{Check, Miss, Nanos, Next, Rt, Scheduling};
//! let rt = Rt::builder().warn(Check::PreemptRt).silence_warnings().start()?; // add .lock_memory() and .require(Check::Priority(80))
//! let scheduling = Scheduling::Other { nice: 0 }; // Scheduling::Fifo { priority: 80.try_into()? }
//! let mut steps = 0;
//! let task = rt.periodic("control", scheduling, Nanos::from_millis(1)).on_miss(Miss::Skip).cycles(20).spawn(move |cycle| {
//!     steps += 1 + cycle.skipped;
//!     Next::Continue
//! })?;
//! println!("{}", task.join().stats); // three lines: releases, lateness, execution times
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Miss`] selects what happens after a late wakeup, [`Task::stats`] reads the statistics while the task runs,
//! [`Rt::until_signal`] ends the program in an orderly way. An [`AlarmSet`] is a set of instants relative to one epoch.
//! Programs with their own loop can use [`Attributes`], which are read back after they are set, and [`Periodic`].
//!
//! # Sharing data
//!
//! | from | to | by |
//! |---|---|---|
//! | one thread | one thread | [`queue`]: wait-free, bounded; [`Overflow`] selects what happens when it is full |
//! | many threads | one thread, which sleeps until a value arrives | [`Mailbox`] |
//! | a thread that waits for the answer | a server, which inherits the priority of that thread | [`Rendezvous`] |
//! | one writer | readers of the newest value | [`Shared`], also between processes |
//! | any | any | [`Mutex`] and [`Condvar`] with priority inheritance; [`Semaphore`], [`EventFlags`] |
//! | a task | a file, the shell | [`Log`], [`pipe_out`], [`pipe`] |
//! | a task | the kernel's trace, next to the scheduler's events | [`Marks`] |
//!
//! ```
//! use punctual_rt::{Nanos, Next, Overflow, Rt, Scheduling, queue};
//! let rt = Rt::builder().start()?;
//! let (mut samples, mut receiver) = queue::<u64>(64, Overflow::DropNewest)?;
//! let task = rt.periodic("sampler", Scheduling::Other { nice: 0 }, Nanos::from_millis(1)).cycles(5).spawn(move |cycle| {
//!     let _full = samples.send(cycle.index); // counted by the queue
//!     Next::Continue
//! })?;
//! task.join();
//! assert_eq!(receiver.receive(), Some(0)); // an ordinary thread prints and writes
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Interrupts
//!
//! [`Rt::interrupt`] runs a body on every event of a [`Source`]: an edge of a GPIO line ([`Gpio`]), an interrupt of a
//! UIO device ([`Uio`]), an [`Eventfd`], a [`Timer`] that other threads set; `events == handled + coalesced + lost`.
//! The kernel handles most interrupts in threads: [`IrqThreads`] sets their priority, which must be above the priority
//! of the threads that they wake. On PREEMPT_RT a timer is *hard* if it expires in interrupt context, and *soft* if it
//! expires in the thread ktimers/N. Sleeps and timeouts of real-time threads are hard, [`Timerfd`] and [`Signalled`]
//! are soft; docs/api-map.md has a table.
//!
//! # Deadlines
//!
//! [`Rt::deadline`] reserves CPU time instead of setting a priority: `runtime` in each `period`, by `deadline`. The
//! kernel refuses what does not fit; [`Admission`] reports how much is reserved, by which threads, and what would fit.
//! The kernel stops a task that has used up its runtime until its next period: [`Cycle::overruns`].
//!
//! ```no_run
//! use punctual_rt::{Admission, Nanos, Next, Rt};
//! let rt = Rt::builder().lock_memory().start()?;
//! let (deadline, period) = (Nanos::from_millis(3), Nanos::from_millis(10));
//! println!("{}", Admission::read()?);
//! let task = rt.deadline("control", Nanos::from_micros(500), deadline, period).spawn(|cycle| {
//!     if cycle.overruns > 0 { /* the last job took too long */ }
//!     Next::Continue
//! })?;
//! rt.until_signal();
//! println!("{}", task.stats());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If the deadline is before the end of the period, one late activation makes the kernel delay every later activation
//! by the same time. A task then skips one release, so that later ones are on time again:
//! [`PeriodicTask::late_activation`].
//!
//! # Testing
//!
//! A body is a closure over plain data, so its logic is tested without a thread: construct a [`Cycle`] and call it.
//! Under SCHED_OTHER everything works without privileges, but wakeups are later; [`try_scheduling`] shows whether a
//! policy is granted. For timing, measure the machine with `punctual prove`, then the program: [`TaskStats`] has
//! histograms over all releases. It also has the page faults of the thread, which should be 0, and its context
//! switches, which should be one per release.
//!
//! ```
//! use punctual_rt::{Cycle, Nanos};
//! let step = |position: f64, cycle: &Cycle| position + 0.001 * (1 + cycle.skipped) as f64;
//! let late = Cycle { index: 7, scheduled: Nanos(0), woke: Nanos(2_100_000), skipped: 2, pending: 0, overruns: 0 };
//! assert_eq!(step(1.0, &late), 1.003);
//! ```
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
mod marks;
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
    MOST_EVENTS, Source, Timer, TimerHandle, Uio,
};
pub use marks::{MarkCounts, Marks};
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
