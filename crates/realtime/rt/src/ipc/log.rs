//! A log for real-time threads, which only store numbers; an ordinary thread formats them.

use super::{CapacityError, Overflow, ordinary, queue};
use crate::clock::monotonic;
use crate::{Receiver, Sender};
use punctual_uapi as uapi;
use punctual_units::Nanos;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    /// Number of records written.
    pub written: u64,
    /// Number of records dropped because a recorder was full.
    pub dropped: u64,
    /// Number of records that could not be written to the output.
    pub failed: u64,
}

/// How long dropping a log waits for an output that accepts nothing.
const STALLED: Duration = Duration::from_secs(2);

/// A recorder's name, the receiver of its records, and the number of its dropped records that have been reported so
/// far.
type Source = (String, Receiver<Record>, u64);

#[derive(Default)]
struct Sources {
    all: Vec<Source>,
    /// Number of records dropped by recorders that no longer exist.
    dropped: u64,
}

/// State shared by the log and its writing thread. The lock is never held while anything is written, because the output
/// may stop accepting text indefinitely.
#[derive(Default)]
struct Common {
    sources: Mutex<Sources>,
    written: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
}

/// A log with one [`Recorder`] per real-time thread. An ordinary thread polls every 20 ms, sorts by time, formats and
/// writes, and reports how many records were dropped. Dropping the log writes the remaining records; if the output accepts
/// nothing for 2 s, the rest is lost.
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
        let common = Arc::new(Common::default());
        let theirs = common.clone();
        let thread = ordinary::spawn("log", move || write_all(&theirs, output))?;
        Ok(Log { common, thread: Some(thread) })
    }

    /// Creates a recorder with space for `capacity` records, at least 1; `name` appears in its lines. Allocates, so
    /// call it before the real-time part.
    ///
    /// # Errors
    /// `InvalidInput`: a capacity of 0. `OutOfMemory`.
    pub fn recorder(&self, name: &str, capacity: usize) -> io::Result<Recorder> {
        let ends = queue(capacity, Overflow::DropNewest);
        let (sender, receiver) = ends.map_err(|error| {
            let kind = match error {
                CapacityError::Memory(_) => io::ErrorKind::OutOfMemory,
                _ => io::ErrorKind::InvalidInput,
            };
            io::Error::new(kind, error)
        })?;
        self.common.sources().all.push((name.into(), receiver, 0));
        Ok(Recorder(sender))
    }

    /// Returns the current counters. For ordinary threads only: takes a lock that the writing thread holds while it
    /// formats.
    pub fn counts(&self) -> LogCounts {
        let sources = self.common.sources();
        let dropped = sources.dropped + sources.all.iter().map(|source| source.1.counts().dropped).sum::<u64>();
        LogCounts { written: self.common.written.load(Relaxed), dropped, failed: self.common.failed.load(Relaxed) }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.common.stop.store(true, Release);
        let Some(thread) = self.thread.take() else { return };
        thread.thread().unpark();
        let done = || self.common.written.load(Relaxed) + self.common.failed.load(Relaxed);
        let (mut before, mut since) = (done(), Instant::now());
        while !thread.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
            let now = done();
            if now != before {
                (before, since) = (now, Instant::now());
            } else if since.elapsed() > STALLED {
                // From now on, nothing that a record refers to is read.
                return self.common.sources().all.clear();
            }
        }
        let _ = thread.join();
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

/// The writing end of a [`Log`], used by one real-time thread.
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
        // DropNewest never fails.
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
        let lines = common.sources().waiting();
        common.write(lines, &mut output);
        if is_last {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

impl Sources {
    /// Returns the lines of the waiting records, ordered by time, then one line per recorder with newly dropped
    /// records. Forgets the recorders that no longer exist.
    fn waiting(&mut self) -> Vec<(Nanos, String)> {
        let mut lines: Vec<(Nanos, String)> = Vec::new();
        self.all.retain_mut(|(name, receiver, reported)| {
            let is_last = receiver.is_abandoned();
            // Its last records are read after this.
            fence(Acquire);
            // Only what is waiting now: a thread that records continuously must not keep others from being written.
            for record in (0..receiver.waiting()).map_while(|_| receiver.receive()) {
                lines.push((record.at, line(name, &record)));
            }
            let dropped = receiver.counts().dropped;
            if dropped > *reported {
                lines.push((Nanos(u64::MAX), format!("{name} dropped {} records\n", dropped - *reported)));
                *reported = dropped;
            }
            self.dropped += if is_last { dropped } else { 0 };
            !is_last
        });
        lines.sort_by_key(|(at, _)| *at);
        lines
    }
}

impl Common {
    fn sources(&self) -> std::sync::MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, lines: Vec<(Nanos, String)>, output: &mut impl Write) {
        for (at, line) in lines {
            match output.write_all(line.as_bytes()) {
                Ok(()) => self.written.fetch_add(u64::from(at != Nanos(u64::MAX)), Relaxed),
                Err(_) => self.failed.fetch_add(1, Relaxed),
            };
        }
        let _ = output.flush();
    }
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
        let common = Common::default();
        let (mut a, from_a) = queue(2, Overflow::DropNewest).unwrap();
        let (mut b, from_b) = queue(9, Overflow::DropNewest).unwrap();
        common.sources().all = vec![("a".into(), from_a, 0), ("b".into(), from_b, 0)];
        for at in [10, 30, 50] {
            a.send(record(at, "from {}", [Arg::U(at); MAX_ARGS])).unwrap();
        }
        b.send(record(20, "from {}", [Arg::U(20); MAX_ARGS])).unwrap();
        let mut output = Vec::new();
        for _ in 0..2 {
            let lines = common.sources().waiting();
            common.write(lines, &mut output);
        }
        let text = String::from_utf8(output).unwrap();
        let ends: Vec<&str> = text.lines().map(|l| l.rsplit_once("info ").map_or(l, |(_, end)| end)).collect();
        assert_eq!(ends, ["a: from 10", "b: from 20", "a: from 30", "a dropped 1 records"]);
        assert_eq!(common.written.load(Relaxed), 3);
    }

    #[test]
    fn a_recorder_that_is_gone_is_forgotten_with_its_last_records_written() {
        let mut sources = Sources::default();
        let (mut sender, receiver) = queue(1, Overflow::DropNewest).unwrap();
        sources.all = vec![("a".into(), receiver, 0)];
        assert_eq!((sources.waiting().len(), sources.all.len()), (0, 1));
        for at in [10, 20] {
            sender.send(record(at, "plain", [Arg::U(0); MAX_ARGS])).unwrap();
        }
        drop(sender);
        let lines = sources.waiting();
        assert_eq!(
            lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>(),
            ["0.000000 info a: plain\n", "a dropped 1 records\n"]
        );
        assert_eq!((sources.all.len(), sources.dropped), (0, 1));
    }

    /// An output that accepts nothing until the test ends.
    struct Stalled(std::sync::mpsc::Receiver<()>);

    impl Write for Stalled {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_output_that_accepts_nothing_blocks_only_its_thread() {
        let (release, stalled) = std::sync::mpsc::channel();
        let log = Log::start(Stalled(stalled)).unwrap();
        let mut recorder = log.recorder("a", 1).unwrap();
        recorder.record(Level::Info, "plain", &[]);
        // Once the record has been taken out, the thread is in write().
        while log.common.sources().all[0].1.waiting() > 0 {
            std::thread::yield_now();
        }
        recorder.record(Level::Info, "lost", &[]);
        drop(log.recorder("b", 1).unwrap());
        assert_eq!(log.counts(), LogCounts::default());
        let common = log.common.clone();
        drop(log);
        assert!(common.sources().all.is_empty());
        drop(release);
        while Arc::strong_count(&common) > 1 {
            std::thread::yield_now();
        }
        assert_eq!((common.failed.load(Relaxed), common.written.load(Relaxed)), (1, 0));
    }
}
