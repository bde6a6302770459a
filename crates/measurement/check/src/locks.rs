//! Observes the mutexes that threads take without waiting, with a uprobe on pthread_mutex_lock of the GNU C library
//! that reads the kind of each mutex.

use crate::recorder::{Probeable, Recorder};
use crate::sources::{LOCK, SMALL_STACK, Tags};
use crate::system::System;
use punctual_journal::Journal;
use punctual_perf::{Buffer, Handle, Observer, Source, Spec, Target, Tracepoint};
use punctual_tracefs::{Place, Tracefs, UPROBE_GROUP, Uprobe};
use std::path::Path;

/// The function whose first argument is the mutex.
pub const FUNCTION: &str = "pthread_mutex_lock";
/// PTHREAD_MUTEX_PRIO_INHERIT_NP, PTHREAD_MUTEX_PRIO_PROTECT_NP of nptl/pthreadP.h.
const HAS_PROTOCOL: u64 = 0x20 | 0x40;
/// Time in ns for which the function is observed even if it is called more than `OFTEN` times a second. Observing a
/// call takes about 4 µs.
const ALWAYS: u64 = 1_000_000_000;
const OFTEN: u64 = 1_000;
/// Calls per second above which the observation ends at once.
const TOO_OFTEN: u64 = 20_000;

/// Returns the arguments that the probe records: the mutex, and its `__kind` (sysdeps/nptl/bits/struct_mutex.h), read
/// through the function's first argument.
fn arguments() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("mutex=%di:u64 kind=+16(%di):u32"),
        "aarch64" => Some("mutex=%x0:u64 kind=+16(%x0):u32"),
        "arm" => Some("mutex=%r0:u32 kind=+12(%r0):u32"),
        _ => None,
    }
}

/// Returns true for the GNU C library, the only library whose mutex layout is known.
pub fn is_known(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    ["libc.so.6", "libpthread.so.0"].contains(&name.as_ref()) || name.starts_with("libc-2.")
}

/// Returns the address of a mutex that is taken; `None` if the mutex has a priority protocol (inheritance or ceiling).
pub fn taken(tags: &Tags, raw: &[u8]) -> Option<u64> {
    let format = tags.lock.as_ref()?;
    let kind = format.number("kind", raw)?;
    (kind & HAS_PROTOCOL == 0).then(|| format.number("mutex", raw)).flatten()
}

#[derive(Default)]
pub struct Locks {
    uprobes: Vec<Uprobe>,
    handles: Vec<Handle>,
    since: u64,
    hits: u64,
    is_over: bool,
}

impl Locks {
    /// Starts the observation of locks once there are real-time threads, and ends it when it costs too much; in that
    /// case, returns a note for the user. Without this observation, locks for which no thread has to wait are not seen.
    pub fn look<S: System>(
        &mut self,
        tracefs: Option<&Tracefs>,
        observer: &mut Observer,
        recorder: &mut Recorder<S>,
        now: u64,
    ) -> Option<String> {
        self.hits += std::mem::take(&mut recorder.lock_hits);
        let time = now.saturating_sub(self.since).max(1);
        let rate = self.hits.saturating_mul(1_000_000_000) / time;
        if !self.handles.is_empty() && (rate > TOO_OFTEN || time >= ALWAYS && rate > OFTEN) {
            self.handles.drain(..).for_each(|handle| observer.close(handle));
            self.is_over = true;
            let time = time / 1_000_000;
            return Some(format!(
                "which threads take locks was observed for only {time} ms, because there were {rate} calls a second"
            ));
        }
        if self.is_over || recorder.real_time_tids().is_empty() {
            return None;
        }
        if self.handles.is_empty() {
            self.since = now;
        }
        for file in std::mem::take(&mut recorder.lockable) {
            self.open(tracefs?, observer, recorder, &file);
        }
        None
    }

    fn open<S: System>(
        &mut self,
        tracefs: &Tracefs,
        observer: &mut Observer,
        recorder: &mut Recorder<S>,
        file: &Probeable,
    ) -> Option<()> {
        let (_, offset) = file.functions.first()?;
        let place = Place { arguments: arguments()?, ..Place::new(file.elf.path(), *offset) };
        let uprobe = Uprobe::define(tracefs, &Journal::of_user(), &place).ok()?;
        // The arguments of all probes are the same, and so is the layout of their records.
        recorder.set_lock_format(Tracepoint::find(tracefs.root(), UPROBE_GROUP, uprobe.event())?.format);
        recorder.probed(file.elf.id(), *offset);
        let threads: Vec<i32> = recorder.tids().map(|(_, tid)| tid).collect();
        let spec = Spec { source: Source::Tracepoint(uprobe.id()), stack: SMALL_STACK, tag: LOCK, filter: None };
        self.uprobes.push(uprobe);
        self.handles.extend(observer.open(&spec, Target::Threads(&threads), Buffer::Main, true));
        Some(())
    }

    /// Removes the probe definitions. Their events must have been closed before.
    pub fn remove(self) -> Vec<String> {
        self.uprobes.into_iter().filter_map(|uprobe| uprobe.remove().err()).flatten().collect()
    }
}
