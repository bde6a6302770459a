//! Chains of waits that end in a wakeup, each with a log of who waited for whom: wakers that were late themselves, owners of locks that
//! waited for other owners, and who sent an interrupt or queued a stopper's work.

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

/// A wakeup, and what was waited for on the way to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The woken thread.
    pub tid: i32,
    /// It was woken after this, CLOCK_MONOTONIC, ns; so are the other times.
    pub after_ns: u64,
    /// It ran by then.
    pub until_ns: u64,
    /// The latest first.
    pub waits: Vec<Waited>,
}

/// A wait of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    pub tid: i32,
    pub what: Awaited,
    pub from_ns: u64,
    pub to_ns: u64,
    /// The thread that ran meanwhile, owned the lock, sent the interrupt or queued the work.
    pub by: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaited {
    /// It was woken, and had no CPU yet.
    Cpu,
    /// Its CPU was taken from it.
    CpuAgain,
    Lock,
    /// An interrupt of another CPU kept its CPU.
    Ipi,
    /// The stopper of its CPU ran.
    Stopper,
}

#[derive(Clone, Copy, Debug)]
pub struct ChainKind {
    pub name: &'static str,
    pub about: &'static str,
    pub(crate) run: fn(&Config) -> Result<Vec<Chain>, InjectError>,
}

pub const CHAINS: &[ChainKind] = &[
    ChainKind { name: "waker-of-waker", about: "two threads on the way to a wakeup are late", run: kinds::wakers },
    ChainKind { name: "preempted-waker", about: "the waker's CPU is taken from it", run: kinds::preempted },
    ChainKind { name: "lock-owners", about: "the owner of a PI futex waits for another one", run: kinds::owners },
    ChainKind {
        name: "sleeping-spinlock",
        about: "a module holds a spinlock that sleeps (PREEMPT_RT)",
        run: kinds::spinlock,
    },
    ChainKind { name: "ipi-sender", about: "the handler of an IPI spins, by a module", run: kinds::ipi },
    ChainKind { name: "stopper-queuer", about: "stop_machine() spins, by a module", run: kinds::stopper },
];

pub(crate) fn named(name: &str) -> Option<&'static ChainKind> {
    CHAINS.iter().find(|kind| kind.name == name)
}

/// Before and after the chains.
const CALM: Duration = Duration::from_millis(60);

/// Makes the chains of one kind and leaves in `folder`, which must exist, `trace.txt`, `chains.json` ([`Chain`]) and `facts.json`
/// ([`Surroundings`]). Returns how many.
///
/// # Errors
/// [`InjectError::Impossible`] if this machine cannot produce it.
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
