//! Mutexes that threads take without waiting: a uprobe on pthread_mutex_lock of the GNU C library, which reads the kind
//! of the mutex.

use crate::recorder::{Probeable, Recorder};
use crate::sources::{LOCK, SMALL_STACK, Tags};
use crate::system::System;
use punctual_journal::Journal;
use punctual_perf::{Buffer, Handle, Observer, Source, Spec, Target, Tracepoint};
use punctual_tracefs::{Tracefs, UPROBE_GROUP, Uprobe};
use std::path::Path;

/// The function whose first argument is the mutex.
pub const FUNCTION: &str = "pthread_mutex_lock";
/// PTHREAD_MUTEX_PRIO_INHERIT_NP, PTHREAD_MUTEX_PRIO_PROTECT_NP of nptl/pthreadP.h.
const HAS_PROTOCOL: u64 = 0x20 | 0x40;
/// For how long it is observed in any case, and how often it may be called in a second to be observed longer: each call
/// takes some 4 µs.
const ALWAYS: u64 = 1_000_000_000;
const OFTEN: u64 = 1_000;
/// And how often in a second to be observed at all.
const TOO_OFTEN: u64 = 20_000;

/// The mutex, and its `__kind` (sysdeps/nptl/bits/struct_mutex.h), of the function's first argument.
fn arguments() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("mutex=%di:u64 kind=+16(%di):u32"),
        "aarch64" => Some("mutex=%x0:u64 kind=+16(%x0):u32"),
        "arm" => Some("mutex=%r0:u32 kind=+12(%r0):u32"),
        _ => None,
    }
}

/// Only of the GNU C library the layout of a mutex is known.
pub fn is_known(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    ["libc.so.6", "libpthread.so.0"].contains(&name.as_ref()) || name.starts_with("libc-2.")
}

/// Address of a mutex that is taken; `None` if its owner inherits or has a priority.
pub fn taken(tags: &Tags, raw: &[u8]) -> Option<u64> {
    let format = tags.lock.as_ref()?;
    let kind = format.number("kind", raw)?;
    (kind & HAS_PROTOCOL == 0).then(|| format.number("mutex", raw)).flatten()
}

#[derive(Default)]
pub struct Locks {
    uprobe: Option<Uprobe>,
    handle: Option<Handle>,
    since: u64,
    hits: u64,
    has_begun: bool,
}

impl Locks {
    /// Begins to observe once there are real-time threads, and ends when that costs too much. Returns what is to be
    /// noted. Where it is not possible, locks that are free each time remain unseen.
    pub fn look<S: System>(
        &mut self,
        tracefs: Option<&Tracefs>,
        observer: &mut Observer,
        recorder: &mut Recorder<S>,
        now: u64,
    ) -> Option<String> {
        let hits = std::mem::take(&mut recorder.lock_hits);
        self.hits += hits;
        if let Some(handle) = self.handle {
            let (time, calls) = (now.saturating_sub(self.since).max(1), self.hits);
            let rate = calls.saturating_mul(1_000_000_000) / time;
            if rate > TOO_OFTEN || time >= ALWAYS && rate > OFTEN {
                observer.close(handle);
                self.handle = None;
                let time = time / 1_000_000;
                return Some(format!("which threads take a lock was observed for {time} ms: {rate} calls a second"));
            }
        } else if !self.has_begun && !recorder.real_time_tids().is_empty() {
            let file = recorder.lockable.take()?;
            self.has_begun = true;
            self.open(tracefs?, observer, recorder, &file, now);
        }
        None
    }

    fn open<S: System>(
        &mut self,
        tracefs: &Tracefs,
        observer: &mut Observer,
        recorder: &mut Recorder<S>,
        file: &Probeable,
        now: u64,
    ) -> Option<()> {
        let (_, offset) = file.functions.first()?;
        let uprobe = Uprobe::define(tracefs, &Journal::of_user(), file.elf.path(), *offset, arguments()?).ok()?;
        recorder.set_lock_format(Tracepoint::find(tracefs.root(), UPROBE_GROUP, uprobe.event())?.format);
        recorder.probed(file.elf.id(), *offset);
        let threads: Vec<i32> = recorder.tids().map(|(_, tid)| tid).collect();
        let spec = Spec { source: Source::Tracepoint(uprobe.id()), stack: SMALL_STACK, tag: LOCK };
        self.uprobe = Some(uprobe);
        self.handle = observer.open(&spec, Target::Threads(&threads), Buffer::Main, true).ok();
        self.since = now;
        Some(())
    }

    /// Removes the definition; its events must be closed.
    pub fn remove(self) -> Vec<String> {
        self.uprobe.and_then(|uprobe| uprobe.remove().err()).into_iter().flatten().collect()
    }
}
