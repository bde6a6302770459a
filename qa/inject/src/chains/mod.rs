//! Injects chains of waits that end in a wakeup, and logs which thread waited for which: wakers that were late
//! themselves, owners of locks that waited for other owners, senders of interrupts, and threads that queued stopper
//! work.

mod kinds;

use crate::InjectError;
use crate::campaign::{Running, write};
use crate::capture::{Recorder, TRACEFS};
use crate::config::{Config, Wanted};
use crate::surroundings::Surroundings;
use crate::victim::Manner;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// A wakeup, and the waits that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The woken thread.
    pub tid: i32,
    /// Earliest time of the wakeup, ns on CLOCK_MONOTONIC, like the other times.
    pub after_ns: u64,
    /// Latest time of the wakeup, ns: the thread was running by then.
    pub until_ns: u64,
    /// The waits that led to the wakeup, the last one first.
    pub waits: Vec<Waited>,
}

/// The wait of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    pub tid: i32,
    pub what: Awaited,
    pub from_ns: u64,
    pub to_ns: u64,
    /// ID of the thread that ran in place of the waiting one, owned the lock, sent the interrupt or queued the work.
    pub by: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaited {
    /// The thread had been woken and waited for a CPU.
    Cpu,
    /// The thread had been preempted and waited for a CPU.
    CpuAgain,
    Lock,
    /// An interrupt sent by another CPU occupied the thread's CPU.
    Ipi,
    /// The stopper thread of the thread's CPU ran.
    Stopper,
}

#[derive(Clone, Copy, Debug)]
pub struct ChainKind {
    pub name: &'static str,
    pub about: &'static str,
    pub(crate) run: fn(&Config) -> Result<Vec<Chain>, InjectError>,
}

pub const CHAINS: &[ChainKind] = &[
    ChainKind { name: "waker-of-waker", about: "two threads that lead to a wakeup are late", run: kinds::wakers },
    ChainKind { name: "preempted-waker", about: "the waker is preempted", run: kinds::preempted },
    ChainKind { name: "lock-owners", about: "the owner of a PI futex waits for another one", run: kinds::owners },
    ChainKind {
        name: "sleeping-spinlock",
        about: "a module holds a sleeping spinlock (PREEMPT_RT)",
        run: kinds::spinlock,
    },
    ChainKind { name: "ipi-sender", about: "a module's IPI handler spins", run: kinds::ipi },
    ChainKind { name: "stopper-queuer", about: "a module spins in stop_machine()", run: kinds::stopper },
];

pub(crate) fn named(name: &str) -> Option<&'static ChainKind> {
    CHAINS.iter().find(|kind| kind.name == name)
}

/// Time without injections before and after the chains.
const CALM: Duration = Duration::from_millis(60);

/// Injects the chains of one kind and writes `trace.txt`, `chains.json` ([`Chain`]) and `facts.json` ([`Surroundings`])
/// to `folder`, which must exist. Returns the number of chains.
///
/// # Errors
/// [`InjectError::Impossible`] if this machine cannot produce the chain.
pub fn chains(kind: &ChainKind, wanted: &Wanted, recorder: &Recorder, folder: &Path) -> Result<usize, InjectError> {
    let mut injection = Running::start(&Config::new(kind.name, Manner::Timed, wanted))?;
    recorder.begin()?;
    let facts = Surroundings::read(TRACEFS);
    injection.go();
    let chains: Vec<Chain> = injection.result()?;
    sleep(CALM);
    recorder.end(&folder.join("trace.txt"))?;
    write(folder, "chains.json", &chains)?;
    write(folder, "facts.json", &facts)?;
    Ok(chains.len())
}
