//! Counts the solutions of the N-queens problem, with the published search or the fastest available search.

use crate::axis::{Axis, Ended, Measured, Turn};
use crate::clock::{cpu_time, now};
use crate::error::BenchError;
use punctual_model::{Bench, BenchCheck, BenchParts, BenchPlan, BenchSettings, NqueensMode, NqueensSettings};
use punctual_queens::csv::{CentiCelsius, Repetition, write};
use punctual_queens::{Board, Kernel, Published, Runner, Unit, known};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which completed parts are written and synced; it is long enough to cost little, ns.
const SYNC_EVERY_NS: u64 = 1_000_000_000;
/// Interval at which `stop` is checked during a count that cannot be interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const MOST_THREADS: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    pub mode: NqueensMode,
    pub n: u32,
    /// Number of threads; `None` for one thread per CPU.
    pub threads: Option<u32>,
    /// Duration of a repetition, s; counts are repeated for that long. `None` for one count per repetition.
    pub fill_s: Option<f64>,
    pub repetitions: u64,
}

/// Plans the benchmark. With `fill_s`, counts for up to a second to determine the number of counts per repetition.
///
/// # Errors
/// [`BenchError`] if the board is impossible or there are too many threads.
pub fn plan(wanted: &Wanted, stop: &AtomicBool) -> Result<BenchPlan, BenchError> {
    let Wanted { mode, n, threads, fill_s, repetitions } = *wanted;
    let cpus = punctual_uapi::affinity(0).map_or(1, |cpus| cpus.len() as u32);
    let threads = threads.unwrap_or(cpus);
    let kernel = (mode == NqueensMode::Native).then(|| Kernel::detect().name().to_owned());
    let mut settings = NqueensSettings { mode, n, threads, batch: 1, kernel };
    let axis = Nqueens::new(&settings)?;
    let mut notes = Vec::new();
    if let Some(seconds) = fill_s {
        if !(seconds > 0.0 && seconds <= 86_400.0) {
            return Err(BenchError::Refused(format!("--fill {seconds}: must be more than 0 s and at most a day")));
        }
        settings.batch = axis.counts_in(seconds, stop)?;
        notes.push(format!(
            "a repetition counts the solutions of the board {} times, about {seconds} s on this machine; times are per count",
            settings.batch
        ));
    }
    if mode == NqueensMode::Compat {
        notes.push(
            "these are times of native code: do not compare them with the times of the published Python program".into(),
        );
    }
    if threads > cpus {
        notes.push(format!("{threads} threads share {cpus} CPUs"));
    }
    let not_measured = Vec::new();
    Ok(BenchPlan { settings: BenchSettings::Nqueens(settings), repetitions, not_measured, notes })
}

/// Returns the CSV file of the published benchmark for a run in mode `compat`, with a row for each repetition that was
/// not interrupted; `None` for other runs.
pub fn published_csv(bench: &Bench) -> Option<String> {
    let BenchSettings::Nqueens(NqueensSettings { mode: NqueensMode::Compat, n, threads, batch, .. }) =
        &bench.plan.settings
    else {
        return None;
    };
    let centi = |celsius: Option<f64>| celsius.map(|c| CentiCelsius((c * 100.0).round() as i32));
    let rows: Vec<Repetition> = bench
        .repetitions
        .iter()
        .filter(|r| r.resumed == 0)
        .filter_map(|r| {
            Some(Repetition {
                time_s: r.ended_real_ns / 1_000_000_000,
                queens: *n,
                threads: *threads,
                solutions: r.checks.first()?.got,
                elapsed_us: r.elapsed_ns / (*batch).max(1) / 1000,
                cpu: centi(r.conditions.cpu_celsius()),
                gpu: centi(r.conditions.gpu_celsius()),
            })
        })
        .collect();
    Some(write(&rows))
}

pub(crate) struct Nqueens {
    settings: NqueensSettings,
    threads: NonZeroU32,
    /// The parts of the search, and the runner that counts their solutions; `None` unless the fastest search is used.
    native: Option<(Vec<Unit>, Runner)>,
    of: String,
}

impl Nqueens {
    pub fn new(settings: &NqueensSettings) -> Result<Nqueens, BenchError> {
        let n = settings.n;
        let board = Board::new(n)?;
        let threads = NonZeroU32::new(settings.threads).filter(|t| t.get() <= MOST_THREADS);
        let refused = || BenchError::Refused(format!("--threads {}: must be 1 to {MOST_THREADS}", settings.threads));
        let threads = threads.ok_or_else(refused)?;
        let (native, mode) = match settings.mode {
            NqueensMode::Compat => (None, "compat"),
            NqueensMode::Native => {
                let kernel = settings.kernel.as_deref().map_or_else(|| Ok(Kernel::detect()), str::parse)?;
                let many = NonZeroUsize::try_from(threads).map_err(|_| refused())?;
                (Some((board.units(), Runner::new(many, kernel)?)), "native")
            }
        };
        let plural = if threads.get() == 1 { "thread" } else { "threads" };
        let of = format!("N-queens, N = {n}, {threads} {plural}, {mode}");
        Ok(Nqueens { settings: settings.clone(), threads, native, of })
    }

    /// Counts the solutions; `None` if stopped.
    pub fn count(&self, stop: &AtomicBool) -> Result<Option<u64>, BenchError> {
        match &self.native {
            None => published(Published::new(self.settings.n, self.threads)?, self.threads.get(), stop),
            Some((units, runner)) => {
                let outcome = runner.run(units, stop, |_, _| {})?;
                Ok(outcome.complete.then_some(outcome.total))
            }
        }
    }

    /// Returns the number of counts that fit into `seconds`.
    fn counts_in(&self, seconds: f64, stop: &AtomicBool) -> Result<u64, BenchError> {
        // The first count warms up caches and clocks.
        self.count(stop)?;
        let began = now();
        let mut counts = 0u64;
        while counts == 0 || (now() - began < SYNC_EVERY_NS / 2 && !stop.load(Relaxed)) {
            self.count(stop)?;
            counts += 1;
        }
        let each = ((now() - began) as f64 / 1e9 / counts as f64).max(1e-9);
        Ok((seconds / each).round().clamp(1.0, 1e9) as u64)
    }

    /// Runs all counts of a repetition; `None` if stopped.
    fn batch(&self, turn: &mut Turn<'_>) -> Result<Option<BenchCheck>, BenchError> {
        let mut check = None;
        for n in 0..self.settings.batch {
            let Some(total) = self.count(turn.stop)? else { return Ok(None) };
            let this = self.check(total);
            // A single wrong count makes the whole repetition wrong.
            if check.is_none() || this.is_wrong() {
                check = Some(this);
            }
            turn.share((n + 1) as f64 / self.settings.batch as f64);
        }
        Ok(check)
    }

    fn check(&self, got: u64) -> BenchCheck {
        check(self.settings.n, got)
    }
}

impl Axis for Nqueens {
    /// Returns no limit, because counting a large board can take days.
    fn longest(&self) -> Option<Duration> {
        None
    }

    fn repetition(&mut self, turn: &mut Turn<'_>) -> Result<Ended, BenchError> {
        let (began, cpu) = (now(), cpu_time());
        let (earlier_ns, earlier_cpu) = (turn.earlier.elapsed_ns, turn.earlier.cpu_ns);
        let check = match (&self.native, self.settings.batch) {
            (Some((units, runner)), 1) => {
                let mut parts = Parts::new(turn, units, (began, cpu));
                parts.count(runner)?.map(|total| self.check(total))
            }
            _ => self.batch(turn)?,
        };
        let (elapsed_ns, cpu_ns) = (now() - began + earlier_ns, cpu_time() - cpu + earlier_cpu.unwrap_or(0));
        let Some(check) = check else { return Ok(Ended::Stopped) };
        let mut measured = Measured { elapsed_ns, cpu_ns: Some(cpu_ns), checks: vec![check], ..Measured::default() };
        let each = |ns: u64| ns as f64 / self.settings.batch as f64;
        measured.figure(&self.of, "time of a count", "ns", each(elapsed_ns));
        measured.figure(&self.of, "CPU time of a count", "ns", each(cpu_ns));
        Ok(Ended::Done(measured))
    }
}

pub(crate) fn check(n: u32, got: u64) -> BenchCheck {
    BenchCheck { what: format!("solutions, N = {n}"), got, expected: known::solutions(n) }
}

struct Parts<'t, 'a, 'u> {
    turn: &'t mut Turn<'a>,
    units: &'u [Unit],
    known: BTreeMap<u64, u64>,
    pending: Vec<(u64, u64)>,
    /// Start time, and the CPU time used by then, ns.
    began: (u64, u64),
    synced: u64,
    size: f64,
    done: f64,
    failed: Option<BenchError>,
}

impl<'t, 'a, 'u> Parts<'t, 'a, 'u> {
    fn new(turn: &'t mut Turn<'a>, units: &'u [Unit], began: (u64, u64)) -> Parts<'t, 'a, 'u> {
        let known: BTreeMap<u64, u64> =
            turn.earlier.done.iter().copied().filter(|(at, _)| *at < units.len() as u64).collect();
        let size = units.iter().map(Unit::size).sum();
        let done = units.iter().filter(|u| known.contains_key(&(u.index() as u64))).map(Unit::size).sum();
        Parts { turn, units, known, pending: Vec::new(), began, synced: began.0, size, done, failed: None }
    }

    /// Counts all parts and returns the total number of solutions; `None` if stopped.
    fn count(&mut self, runner: &Runner) -> Result<Option<u64>, BenchError> {
        let left: Vec<Unit> =
            self.units.iter().filter(|u| !self.known.contains_key(&(u.index() as u64))).copied().collect();
        let stop = self.turn.stop;
        let outcome = runner.run(&left, stop, |unit, count| self.finished(unit, count))?;
        if outcome.complete && self.failed.is_none() {
            return Ok(Some(self.known.values().sum::<u64>() + outcome.total));
        }
        // Also writes the last parts, so that a resumed run does not count them again.
        self.flush();
        match self.failed.take() {
            Some(e) => Err(e),
            None => Ok(outcome.complete.then(|| self.known.values().sum::<u64>() + outcome.total)),
        }
    }

    fn finished(&mut self, unit: &Unit, count: u64) {
        self.pending.push((unit.index() as u64, count));
        self.done += unit.size();
        let share = self.done / self.size.max(f64::MIN_POSITIVE);
        self.turn.share(share);
        if now() - self.synced >= SYNC_EVERY_NS {
            self.flush();
        }
    }

    /// Writes pending parts to the log. If writing fails, it is tried again with the next part, and the error is
    /// reported at the end.
    fn flush(&mut self) {
        self.synced = now();
        if self.pending.is_empty() {
            return;
        }
        let earlier = &self.turn.earlier;
        let parts = BenchParts {
            done: self.pending.clone(),
            elapsed_ns: self.synced - self.began.0 + earlier.elapsed_ns,
            cpu_ns: Some(cpu_time() - self.began.1 + earlier.cpu_ns.unwrap_or(0)),
            ..BenchParts::default()
        };
        self.failed = self.turn.log(parts).err();
        if self.failed.is_none() {
            self.pending.clear();
        }
    }
}

/// Runs each part of the published search in its own thread. The search is kept as published and cannot be interrupted,
/// so its threads are abandoned if it is stopped.
fn published(search: Published, threads: u32, stop: &AtomicBool) -> Result<Option<u64>, BenchError> {
    let (sender, counts) = channel();
    for index in 0..threads {
        let sender = sender.clone();
        // After a stop, nobody receives the result.
        let work = move || {
            let _ = sender.send(search.count_part(index));
        };
        let spawned = thread::Builder::new().name(format!("queens-{index}")).spawn(work);
        spawned.map_err(BenchError::io(
            "start",
            "a thread",
            "use fewer --threads, or raise RLIMIT_NPROC (ulimit -u)",
        ))?;
    }
    drop(sender);
    let (mut total, mut left) = (0u64, threads);
    while left > 0 {
        match counts.recv_timeout(LOOK_EVERY) {
            Ok(count) => (total, left) = (total + count, left - 1),
            Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(BenchError::Ended),
        }
    }
    Ok(if stop.load(Relaxed) { None } else { Some(total) })
}

#[cfg(test)]
mod tests;
