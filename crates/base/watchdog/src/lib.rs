//! Time limits for waits.
//!
//! Code that waits for a child, a thread, a peer or a device holds a [`Limit`] while it waits; [`lock`] waits for file
//! locks. One thread sleeps until the first limit expires. It then examines in /proc why the wait has not ended (a
//! thread may be stopped, get no CPU time, or be blocked in the kernel). It either kills the child, so that the wait
//! returns, or ends the program, because a thread that gets no CPU time can be neither joined nor abandoned.
//!
//! Limits have no effect in a program that has not called [`end_with`], or if this thread cannot be started.
//!
//! Architecture invariant: the thread has the policy SCHED_OTHER. It wakes up only when a limit expires, or when a new
//! limit expires earlier than all others.

#![forbid(unsafe_code)]

mod command;
mod lock;
mod look;
pub mod proc;

pub use command::{command, concluding, ending, measuring, starting, unlimited};
pub use lock::{Share, lock};

use look::Look;
use proc::descendants;
use punctual_units::{CpuId, CpuList};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Extra time for a program beyond the duration that the user gave.
pub const GRACE: Duration = Duration::from_secs(10);
/// Extra time if threads wait for a disk or a driver, which may be slow, and no other cause is found.
const FOR_DISKS: Duration = Duration::from_secs(60);
/// Number of times that the limit is extended by [`GRACE`] for a program that competes with ordinary threads for CPU
/// time and has no stopped or starved thread.
const EXTENSIONS: u32 = 6;
/// Time limit for operations that take hardly any time unless something is wrong.
pub const SHORT: Duration = Duration::from_secs(5);
/// Time limit for system programs that build, pack or install software.
pub const PROGRAMS: Duration = Duration::from_secs(3600);
/// Delay of the watchdog thread's wakeup above which the whole program or the machine must have been stopped.
const OVERSLEPT: Duration = Duration::from_secs(1);
/// Time limit for the end of a killed child.
const FOR_KILLED: Duration = Duration::from_secs(5);

static STATE: State = State { waits: Mutex::new(Waits::new()), changed: Condvar::new() };
/// Function that prints the reason and ends the program.
static END: OnceLock<fn(&str)> = OnceLock::new();
/// Function that prints the reason for a delay.
static SAY: OnceLock<fn(&str)> = OnceLock::new();

struct State {
    waits: Mutex<Waits>,
    changed: Condvar,
}

struct Waits {
    next: u64,
    all: BTreeMap<u64, Wait>,
    /// Time until which the watchdog thread sleeps; `None` if there are no limits.
    asleep_until: Option<Instant>,
}

struct Wait {
    what: String,
    /// Name of the stage that `what` has reached; `None` for the first stage.
    part: Option<String>,
    most: Duration,
    end: Instant,
    action: Action,
    /// Message that states what was found when the limit expired; `None` if the limit has not expired yet.
    over: Option<String>,
    /// Number of times that the limit was extended.
    extended: u32,
}

impl Wait {
    fn new(what: String, most: Duration, action: Action) -> Wait {
        Wait { what, part: None, most, end: end_of(most), action, over: None, extended: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    EndProgram,
    /// Ends the program unless it uses CPU time or competes for it.
    EndIdle,
    KillChild(i32),
}

impl Waits {
    /// Adds a limit. Returns false if the thread could not be started.
    fn insert(&mut self, id: u64, wait: Wait) -> bool {
        match self.asleep_until {
            None => {
                // The watchdog may start before the program blocks the signals that it waits for.
                let builder = thread::Builder::new().name("watchdog".into()).stack_size(256 << 10);
                let started = punctual_uapi::with_all_blocked(|| builder.spawn(watch));
                if started.is_err() {
                    return false;
                }
                self.asleep_until = Some(wait.end);
            }
            Some(until) if wait.end < until => STATE.changed.notify_all(),
            Some(_) => {}
        }
        self.all.insert(id, wait);
        true
    }

    const fn new() -> Waits {
        Waits { next: 0, all: BTreeMap::new(), asleep_until: None }
    }
}

/// Sets the functions that are called when a limit expires. `end` is called with the reason if the program must be
/// ended, and must not return. Before `end` is called, all children of this process are killed, and its threads are
/// allowed to run on any CPU. `say` is called with the reason for a delay that nothing can end: threads that are
/// blocked in the kernel.
pub fn end_with(end: fn(&str), say: fn(&str)) {
    let _ = (END.set(end), SAY.set(say));
}

/// A time limit on a wait. Drop it when the wait has ended.
#[must_use = "if unused, the time limit ends immediately"]
#[derive(Debug)]
pub struct Limit(Option<u64>);

/// Limits a wait for `what` (a noun with its article, for messages) to `most`. If the returned limit still exists after
/// this time, the program is ended.
pub fn limit(what: impl Display, most: Duration) -> Limit {
    begin(&what, most, Action::EndProgram)
}

/// Limits the run time of a child to `most`. If the returned limit still exists after this time, the child is killed.
pub fn limit_child(child: &Child, what: impl Display, most: Duration) -> Limit {
    begin(&what, most, Action::KillChild(child.id().cast_signed()))
}

impl Limit {
    /// Starts the time limit anew. Call this function when the operation has made progress.
    pub fn renew(&self) {
        let mut waits = state();
        if let Some(wait) = self.0.and_then(|id| waits.all.get_mut(&id)) {
            wait.end = end_of(wait.most);
        }
    }

    /// Ends the time limit after the child has ended.
    ///
    /// # Errors
    /// `TimedOut`: the child was killed. The error text says what the child was doing.
    pub fn ended(mut self) -> io::Result<()> {
        let over = self.0.take().and_then(|id| state().all.remove(&id)).and_then(|wait| wait.over);
        over.map_or(Ok(()), |why| Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            state().all.remove(&id);
        }
    }
}

/// Like [`Child::wait_with_output`], with a time limit.
///
/// # Errors
/// See [`Child::wait_with_output`]; `TimedOut` if the child was killed. The error text says what the child was doing.
pub fn output_of(child: Child, what: impl Display, most: Duration) -> io::Result<Output> {
    let limit = limit_child(&child, what, most);
    let output = child.wait_with_output();
    limit.ended()?;
    output
}

/// Like [`Command::output`], with a time limit. The caller chooses the standard input. Messages contain the name of the
/// program.
///
/// # Errors
/// See [`Command::spawn`] and [`output_of`].
pub fn output(command: &mut Command, most: Duration) -> io::Result<Output> {
    use std::process::Stdio;
    let name = command.get_program().to_string_lossy().into_owned();
    output_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?, name, most)
}

/// Like [`Command::status`], with a time limit.
///
/// # Errors
/// See [`output`].
pub fn status(command: &mut Command, most: Duration) -> io::Result<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    wait(&mut command.spawn()?, name, most)
}

/// Like [`Child::wait`], with a time limit.
///
/// # Errors
/// See [`output_of`].
pub fn wait(child: &mut Child, what: impl Display, most: Duration) -> io::Result<ExitStatus> {
    let limit = limit_child(child, what, most);
    let status = child.wait();
    limit.ended()?;
    status
}

/// Runs `work` in a separate thread and returns its result. Changes to that thread (policy, CPUs, memory) end with it.
///
/// # Errors
/// The thread could not be started, or it panicked.
pub fn in_thread<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let started = thread::Builder::new().name(name.into()).spawn_scoped(scope, work)?;
        started.join().map_err(|_| io::Error::other(format!("the thread {name} panicked")))
    })
}

fn begin(what: &dyn Display, most: Duration, action: Action) -> Limit {
    if END.get().is_none() {
        return Limit(None);
    }
    let mut waits = state();
    waits.next += 1;
    let id = waits.next;
    Limit(waits.insert(id, Wait::new(what.to_string(), most, action)).then_some(id))
}

fn end_of(most: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(most).unwrap_or(now + Duration::from_secs(u64::from(u32::MAX)))
}

fn state() -> MutexGuard<'static, Waits> {
    STATE.waits.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Main loop of the watchdog thread: waits for limits to expire, then kills the child or ends the program.
fn watch() {
    // The thread inherits the affinity of its creator, which may be a busy CPU.
    anywhere(0);
    let mut waits = state();
    loop {
        let now = Instant::now();
        let first = waits.all.iter().filter(|(_, wait)| wait.over.is_none()).min_by_key(|(_, wait)| wait.end);
        let over = first.filter(|(_, wait)| wait.end <= now).map(|(id, wait)| (*id, wait.action, wait.part.clone()));
        // The watchdog overslept because of job control, a debugger or a paused guest: nothing else could make progress
        // either.
        if waits.asleep_until.is_some_and(|until| now > until + OVERSLEPT) {
            waits.asleep_until = Some(now);
            waits.all.values_mut().for_each(|wait| wait.end = wait.end.max(now + GRACE));
            continue;
        }
        let Some((id, action, part)) = over else {
            let until = first.map_or_else(|| end_of(Duration::MAX), |(_, wait)| wait.end);
            waits.asleep_until = Some(until);
            waits = STATE.changed.wait_timeout(waits, until - now).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        drop(waits);
        let look = match action {
            Action::EndProgram | Action::EndIdle => Look::at_all(),
            Action::KillChild(pid) => Look::at_child(pid),
        };
        waits = state();
        waits.asleep_until = Some(Instant::now());
        // The wait may have ended, or made progress, meanwhile.
        let Some(wait) = waits.all.get_mut(&id).filter(|wait| wait.end <= Instant::now() && wait.part == part) else {
            continue;
        };
        let more = match action {
            _ if look.is_disk() => (wait.extended == 0).then_some(FOR_DISKS),
            Action::EndIdle => look.computes().then_some(SHORT),
            Action::EndProgram => (look.computes() && wait.extended < EXTENSIONS).then_some(GRACE),
            Action::KillChild(_) => None,
        };
        let part = part.map_or_else(String::new, |part| format!(", by now in {part}"));
        let why = format!("{} takes longer than {}{part}{look}", wait.what, seconds(wait.most));
        if let Some(more) = more {
            (wait.extended, wait.end) = (wait.extended + 1, end_of(more));
            if let (true, Some(say)) = (look.is_disk(), SAY.get()) {
                drop(waits);
                say(&why);
                waits = state();
            }
            continue;
        }
        match action {
            Action::KillChild(pid) => {
                wait.over = Some(why);
                // Kills descendants too, because they hold the other end of the child's pipes.
                descendants(pid).into_iter().chain([pid]).for_each(kill);
                // A child that does not die still blocks its waiter.
                let what = format!("{}, killed,", wait.what);
                waits.all.insert(id | KILLED, Wait::new(what, FOR_KILLED, Action::EndProgram));
            }
            Action::EndProgram | Action::EndIdle => {
                if id & KILLED != 0 && !waits.all.contains_key(&(id & !KILLED)) {
                    waits.all.remove(&id);
                    continue;
                }
                drop(waits);
                end(&why);
                waits = state();
                waits.all.remove(&id);
            }
        }
    }
}

/// Bit in the ID of a wait that marks a wait for the end of a killed child.
const KILLED: u64 = 1 << 63;

fn end(why: &str) {
    let own = std::process::id().cast_signed();
    descendants(own).into_iter().for_each(kill);
    // Threads bound to a CPU that another thread keeps busy could not even die.
    proc::threads(own).into_iter().for_each(anywhere);
    if let Some(end) = END.get() {
        end(why);
    }
}

/// Kills a process if permitted, and lets its threads run on any CPU, so that they can end.
fn kill(pid: i32) {
    if let Some(process) = Pid::from_raw(pid) {
        let _ = kill_process(process, Signal::KILL);
    }
    proc::threads(pid).into_iter().for_each(anywhere);
}

/// Lets a thread run on any CPU of its cpuset.
fn anywhere(tid: i32) {
    let _ = punctual_uapi::set_affinity(tid, &(0..1024).map(CpuId).collect::<CpuList>());
}

fn seconds(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (0, ms) => format!("{ms} ms"),
        (s @ 120.., _) => format!("{} min", s.div_ceil(60)),
        (s, 0) => format!("{s} s"),
        (s, ms) => format!("{s}.{} s", ms / 100),
    }
}

#[cfg(test)]
mod tests;
