//! A log for real-time threads, which only store numbers; an ordinary thread formats them.

use super::{Overflow, ordinary, queue};
use crate::clock::monotonic;
use crate::{Receiver, Sender};
use punctual_uapi as uapi;
use punctual_units::Nanos;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Severity of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is unusual, but the program continues.
    Warning,
    /// Normal operation.
    Info,
    /// Details for troubleshooting.
    Debug,
}

/// A number in a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// An unsigned integer.
    U(u64),
    /// A signed integer.
    I(i64),
    /// A floating-point number.
    F(f64),
    /// A time, shown as a duration.
    T(Nanos),
}

macro_rules! arg {
    ($($kind:ty => $variant:ident as $into:ty),*) => {$(
        impl From<$kind> for Arg {
            fn from(value: $kind) -> Arg {
                Arg::$variant(<$into>::from(value))
            }
        }
    )*};
}
arg!(u64 => U as u64, u32 => U as u64, i64 => I as i64, i32 => I as i64, f64 => F as f64, Nanos => T as Nanos);

/// Maximum number of arguments per record. Further arguments are ignored.
const MAX_ARGS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Record {
    at: Nanos,
    level: Level,
    text: &'static str,
    args: [Arg; MAX_ARGS],
    count: u8,
}

/// Counters of a [`Log`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Records written.
    pub written: u64,
    /// Records dropped because a recorder was full.
    pub dropped: u64,
    /// Records that could not be written to the output.
    pub failed: u64,
}

#[derive(Default)]
struct Inside {
    sources: Vec<(String, Receiver<Record>, u64)>,
    counts: LogCounts,
}

struct Common {
    inside: Mutex<Inside>,
    stop: AtomicBool,
}

/// A log with one [`Recorder`] per real-time thread. An ordinary thread polls the recorders every 20 ms, sorts the
/// records by time, formats and writes them, and reports how many were dropped. Dropping the log writes the remaining
/// records.
///
/// ```
/// use punctual_rt::{Level, Log};
/// let log = Log::start(std::io::stderr())?;
/// let mut recorder = log.recorder("dial", 64)?;
/// recorder.record(Level::Warning, "digit {} after {}", &[7u64.into(), punctual_units::Nanos::from_millis(812).into()]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Log {
    common: Arc<Common>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// Starts the thread that writes to `output`.
    ///
    /// # Errors
    /// The thread cannot be created (`EAGAIN`).
    pub fn start(output: impl Write + Send + 'static) -> io::Result<Log> {
        let common = Arc::new(Common { inside: Mutex::default(), stop: AtomicBool::new(false) });
        let theirs = common.clone();
        let thread = ordinary::spawn("log", move || write_all(&theirs, output))?;
        Ok(Log { common, thread: Some(thread) })
    }

    /// Creates a recorder with space for `capacity` records, at least 1; `name` appears in its lines. Allocates, so
    /// call it before the real-time part.
    ///
    /// # Errors
    /// `EINVAL`: a capacity of 0.
    pub fn recorder(&self, name: &str, capacity: usize) -> io::Result<Recorder> {
        let ends = queue(capacity, Overflow::DropNewest);
        let (sender, receiver) = ends.map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        self.lock().sources.push((name.into(), receiver, 0));
        Ok(Recorder(sender))
    }

    /// Returns the current counters. For ordinary threads only: takes a lock that the writing thread holds while it
    /// formats.
    pub fn counts(&self) -> LogCounts {
        let inside = self.lock();
        LogCounts { dropped: inside.sources.iter().map(|s| s.1.counts().dropped).sum(), ..inside.counts }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.common.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.common.stop.store(true, Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

/// The end of a [`Log`] that a real-time thread writes to.
#[derive(Debug)]
pub struct Recorder(Sender<Record>);

impl Recorder {
    /// Records the time, `text`, and up to four numbers, which replace each `{}` in `text` in order. Wait-free: one
    /// clock read, no system call, no allocation. If there is no space, the record is dropped and counted.
    pub fn record(&mut self, level: Level, text: &'static str, args: &[Arg]) {
        let mut kept = [Arg::U(0); MAX_ARGS];
        for (to, from) in kept.iter_mut().zip(args) {
            *to = *from;
        }
        // DropNewest refuses nothing.
        let _ = self.0.send(Record { at: monotonic(), level, text, args: kept, count: args.len().min(MAX_ARGS) as u8 });
    }

    /// Returns the number of records dropped so far because the recorder was full.
    pub fn dropped(&self) -> u64 {
        self.0.counts().dropped
    }

    /// Locks the recorder's buffer in memory: mlock(2). Returns the number of bytes locked. Call it before the first
    /// use.
    ///
    /// # Errors
    /// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK.
    pub fn lock_memory(&mut self) -> Result<usize, uapi::Error> {
        self.0.lock_memory()
    }
}

fn write_all(common: &Common, mut output: impl Write) {
    loop {
        // Checked first, so that records before the stop are still written.
        let is_last = common.stop.load(Acquire);
        write_waiting(&mut common.inside.lock().unwrap_or_else(PoisonError::into_inner), &mut output);
        if is_last {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Writes the waiting records ordered by time, then one line for each recorder that has dropped records since the last
/// call.
fn write_waiting(inside: &mut Inside, output: &mut impl Write) {
    let mut lines: Vec<(Nanos, String)> = Vec::new();
    for (name, receiver, reported) in &mut inside.sources {
        // Only what is waiting now: a thread that records continuously must not keep others from being written.
        for record in (0..receiver.waiting()).map_while(|_| receiver.receive()) {
            lines.push((record.at, line(name, &record)));
        }
        let dropped = receiver.counts().dropped;
        if dropped > *reported {
            lines.push((Nanos(u64::MAX), format!("{name} dropped {} records\n", dropped - *reported)));
            *reported = dropped;
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    for (at, line) in lines {
        match output.write_all(line.as_bytes()) {
            Ok(()) => inside.counts.written += u64::from(at != Nanos(u64::MAX)),
            Err(_) => inside.counts.failed += 1,
        }
    }
    let _ = output.flush();
}

fn line(name: &str, record: &Record) -> String {
    let level = match record.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
    };
    let mut line = format!("{:.6} {level} {name}: ", record.at.as_secs_f64());
    let mut args = record.args.iter().take(record.count.into());
    let mut rest = record.text;
    while let Some((before, after)) = rest.split_once("{}") {
        line.push_str(before);
        // Writing to a String cannot fail.
        let _ = match args.next() {
            Some(Arg::U(n)) => write!(line, "{n}"),
            Some(Arg::I(n)) => write!(line, "{n}"),
            Some(Arg::F(n)) => write!(line, "{n}"),
            Some(Arg::T(time)) => write!(line, "{time}"),
            None => write!(line, "{{}}"),
        };
        rest = after;
    }
    line + rest + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: u64, text: &'static str, args: [Arg; MAX_ARGS]) -> Record {
        Record { at: Nanos(at), level: Level::Info, text, args, count: MAX_ARGS as u8 }
    }

    #[test]
    fn numbers_stand_in_their_places() {
        let args = [Arg::U(7), Arg::I(-3), Arg::F(0.5), Arg::T(Nanos::from_micros(850))];
        let text = line("dial", &record(1_500_000_000, "{} then {}, {} in {}; {}", args));
        assert_eq!(text, "1.500000 info dial: 7 then -3, 0.5 in 850 µs; {}\n");
    }

    #[test]
    fn sources_are_merged_by_time_and_drops_are_reported_once() {
        let mut inside = Inside::default();
        let (mut a, from_a) = queue(2, Overflow::DropNewest).unwrap();
        let (mut b, from_b) = queue(9, Overflow::DropNewest).unwrap();
        inside.sources = vec![("a".into(), from_a, 0), ("b".into(), from_b, 0)];
        for at in [10, 30, 50] {
            a.send(record(at, "from {}", [Arg::U(at); MAX_ARGS])).unwrap();
        }
        b.send(record(20, "from {}", [Arg::U(20); MAX_ARGS])).unwrap();
        let mut output = Vec::new();
        write_waiting(&mut inside, &mut output);
        write_waiting(&mut inside, &mut output);
        let text = String::from_utf8(output).unwrap();
        let ends: Vec<&str> = text.lines().map(|l| l.rsplit_once("info ").map_or(l, |(_, end)| end)).collect();
        assert_eq!(ends, ["a: from 10", "b: from 20", "a: from 30", "a dropped 1 records"]);
        assert_eq!(inside.counts.written, 3);
    }
}
