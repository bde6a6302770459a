//! Measures the time to wake a thread and switch to it: two threads answer each other through pipes and futexes, on one
//! CPU and on two CPUs.

use crate::axis::{Axis, Ended, Measured, Turn};
use crate::clock::{cpu_time, now};
use crate::error::BenchError;
use punctual_model::{BenchPlan, BenchSettings};
use punctual_uapi as uapi;
use punctual_units::{CpuId, Histogram};
use rustix::thread::futex;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;

/// Number of rounds that are not counted, because caches are cold and the first wakeups of a new thread are slow.
const WARM_UP: u32 = 50;
/// Minimum share of rounds with a context switch. Below it, too many rounds did not need a wakeup, so a note is added.
const MOST_SLEPT: f64 = 0.9;

/// Plans the benchmark on the two given CPUs, or on the first two that the process may use.
///
/// # Errors
/// [`BenchError::Refused`] if a CPU is not available, or the number of rounds is out of range.
pub fn plan(rounds: u32, cpus: Option<(CpuId, CpuId)>, repetitions: u64) -> Result<BenchPlan, BenchError> {
    let allowed = uapi::affinity(0).map_err(|e| BenchError::Refused(e.to_string()))?;
    if !(1..=10_000_000).contains(&rounds) {
        return Err(BenchError::Refused(format!("{rounds} rounds: choose 1 to 10000000")));
    }
    if let Some(bad) = cpus.into_iter().flat_map(|(a, b)| [a, b]).find(|cpu| !allowed.contains(*cpu)) {
        return Err(BenchError::Refused(format!("CPU {bad}: this process may only run on {allowed} (taskset -cp $$)")));
    }
    let mut own = allowed.iter();
    let (cpu, other) = match cpus {
        Some((a, b)) => (a, (a != b).then_some(b)),
        None => (own.next().unwrap_or_default(), own.next()),
    };
    let mut not_measured = vec![
        "switches between address spaces: both threads belong to one process, so the page tables stay the same"
            .to_owned(),
    ];
    if other.is_none() {
        not_measured.push(format!("wakeups between CPUs: only CPU {cpu} is available (taskset -cp $$)"));
    }
    let notes = vec![
        "half a round trip is a wakeup and a switch; a wakeup lasts from just before it is issued until the woken thread \
         reads the clock"
            .into(),
        "the threads inherit the scheduling policy of this program".into(),
    ];
    Ok(BenchPlan { settings: BenchSettings::Switch { rounds, cpu, other }, repetitions, not_measured, notes })
}

pub(crate) struct Switch {
    rounds: u32,
    cpu: CpuId,
    other: Option<CpuId>,
}

/// A channel in one direction between the two threads.
trait Direction: Send + Sync {
    fn wake(&self) -> io::Result<()>;
    /// Waits to be woken. Returns false if the other end is closed.
    fn wait(&self) -> io::Result<bool>;
    fn close(&self);
}

struct Pipe {
    from: PipeReader,
    to: PipeWriter,
    closed: AtomicBool,
}

impl Direction for Pipe {
    fn wake(&self) -> io::Result<()> {
        (&self.to).write_all(&[1])
    }

    fn wait(&self) -> io::Result<bool> {
        let got = (&self.from).read(&mut [0u8; 1])?;
        Ok(got > 0 && !self.closed.load(Acquire))
    }

    fn close(&self) {
        self.closed.store(true, Release);
        // One byte ends the wait. If the pipe is full, no thread is waiting.
        let _ = self.wake();
    }
}

#[derive(Default)]
struct Futex {
    /// 0: idle; 1: woken; 2: the other end is closed.
    state: AtomicU32,
}

impl Direction for Futex {
    fn wake(&self) -> io::Result<()> {
        self.state.store(1, Release);
        futex::wake(&self.state, futex::Flags::PRIVATE, 1).map(drop).map_err(io::Error::from)
    }

    fn wait(&self) -> io::Result<bool> {
        loop {
            match self.state.compare_exchange(1, 0, Acquire, Relaxed) {
                Ok(_) => return Ok(true),
                Err(2) => return Ok(false),
                Err(_) => match futex::wait(&self.state, futex::Flags::PRIVATE, 0, None) {
                    Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                    Err(e) => return Err(e.into()),
                },
            }
        }
    }

    fn close(&self) {
        self.state.store(2, Release);
        // A thread that does not wait yet will see the new state.
        let _ = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
    }
}

struct Times {
    round: Histogram,
    wakeup: Histogram,
    slept: f64,
}

impl Switch {
    pub fn new(rounds: u32, cpu: CpuId, other: Option<CpuId>) -> Switch {
        Switch { rounds, cpu, other }
    }

    /// Makes round trips between two threads; `None` if stopped.
    fn ping_pong(
        &self,
        directions: [&dyn Direction; 2],
        far: CpuId,
        stop: &AtomicBool,
    ) -> Result<Option<Times>, BenchError> {
        let stamp = AtomicU64::new(0);
        let failed = || BenchError::io("exchange", "a pipe or futex", "run the repetition again with --resume DIR");
        thread::scope(|scope| {
            let partner = thread::Builder::new().name("switch/far".into());
            let partner = partner
                .spawn_scoped(scope, || {
                    let times = pin(far).and_then(|()| answer(directions, &stamp).map_err(failed()));
                    directions[1].close();
                    times
                })
                .map_err(BenchError::io("start", "a thread", "raise RLIMIT_NPROC (ulimit -u)"))?;
            let near = thread::Builder::new().name("switch/near".into());
            let near = near.spawn_scoped(scope, || {
                let times = pin(self.cpu).and_then(|()| self.lead(directions, &stamp, stop).map_err(failed()));
                directions[0].close();
                times
            });
            let near = near.map_err(|e| {
                directions[0].close();
                BenchError::io("start", "a thread", "raise RLIMIT_NPROC (ulimit -u)")(e)
            })?;
            let led = near.join().unwrap_or(Err(BenchError::Ended));
            let wakeup = partner.join().unwrap_or(Err(BenchError::Ended))?;
            Ok(led?.map(|(round, slept)| Times { round, wakeup, slept }))
        })
    }

    /// Main function of the measuring thread: makes round trips. Returns their times, and the share of round trips with
    /// a context switch.
    fn lead(
        &self,
        directions: [&dyn Direction; 2],
        stamp: &AtomicU64,
        stop: &AtomicBool,
    ) -> io::Result<Option<(Histogram, f64)>> {
        let mut times = Histogram::new();
        // On one CPU the woken thread may preempt this one before it waits, which also counts as a switch.
        let switches = || uapi::thread_usage().map_or(0, |u| u.voluntary_switches + u.involuntary_switches);
        let mut before = switches();
        for round in 0..self.rounds.saturating_add(WARM_UP) {
            if round == WARM_UP {
                before = switches();
            }
            if stop.load(Relaxed) {
                return Ok(None);
            }
            let begin = now();
            stamp.store(begin, Release);
            directions[0].wake()?;
            if !directions[1].wait()? {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if round >= WARM_UP {
                times.record(now() - begin);
            }
        }
        let slept = (switches() - before) as f64 / f64::from(self.rounds);
        Ok(Some((times, slept)))
    }
}

/// Main function of the answering thread: answers until the other end is closed. Returns the times of its wakeups.
fn answer(directions: [&dyn Direction; 2], stamp: &AtomicU64) -> io::Result<Histogram> {
    let mut times = Histogram::new();
    let mut round = 0;
    while directions[0].wait()? {
        let woken = now();
        if round >= WARM_UP {
            times.record(woken.saturating_sub(stamp.load(Acquire)));
        }
        round = round.saturating_add(1);
        directions[1].wake()?;
    }
    Ok(times)
}

fn pin(cpu: CpuId) -> Result<(), BenchError> {
    uapi::set_affinity(0, &[cpu].into_iter().collect()).map_err(|e| BenchError::Refused(format!("{e}; taskset -cp $$")))
}

fn pipe() -> Result<Pipe, BenchError> {
    let made = io::pipe().map_err(BenchError::io("create", "a pipe", "raise RLIMIT_NOFILE (ulimit -n)"));
    made.map(|(from, to)| Pipe { from, to, closed: AtomicBool::new(false) })
}

impl Axis for Switch {
    fn repetition(&mut self, turn: &mut Turn<'_>) -> Result<Ended, BenchError> {
        let (began, cpu) = (now(), cpu_time());
        let mut measured = Measured::default();
        let places = [("same CPU", Some(self.cpu)), ("other CPU", self.other)];
        let wanted: Vec<(&str, CpuId)> = places.iter().filter_map(|(name, cpu)| Some((*name, (*cpu)?))).collect();
        for (n, (place, far)) in wanted.iter().enumerate() {
            let pipes = [pipe()?, pipe()?];
            let futexes = [Futex::default(), Futex::default()];
            let pairs: [(&str, [&dyn Direction; 2]); 2] =
                [("pipe", [&pipes[0], &pipes[1]]), ("futex", [&futexes[0], &futexes[1]])];
            for (kind, directions) in pairs {
                let Some(times) = self.ping_pong(directions, *far, turn.stop)? else { return Ok(Ended::Stopped) };
                let of = format!("{kind}, {place}");
                if let Some(ns) = times.round.quantile(0.5) {
                    measured.figure(&of, "wakeup and switch", "ns", ns as f64 / 2.0);
                }
                measured.times(&of, "wakeup", times.wakeup);
                measured.times(&of, "round trip", times.round);
                if times.slept < MOST_SLEPT {
                    let text =
                        "at least a tenth of the rounds had no context switch, because the answer had already arrived";
                    measured.notes.push(format!("{of}: {text}"));
                }
            }
            turn.share((n + 1) as f64 / wanted.len() as f64);
        }
        (measured.elapsed_ns, measured.cpu_ns) = (now() - began, Some(cpu_time() - cpu));
        Ok(Ended::Done(measured))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_is_counted_at_both_ends() {
        let allowed = uapi::affinity(0).unwrap();
        let cpu = allowed.iter().next().unwrap();
        let switch = Switch::new(20, cpu, None);
        let stop = AtomicBool::new(false);
        let pipes = [pipe().unwrap(), pipe().unwrap()];
        let futexes = [Futex::default(), Futex::default()];
        for directions in [[&pipes[0] as &dyn Direction, &pipes[1]], [&futexes[0], &futexes[1]]] {
            let times = switch.ping_pong(directions, cpu, &stop).unwrap().unwrap();
            assert_eq!((times.round.count(), times.wakeup.count()), (20, 20));
        }
    }

    #[test]
    fn stopping_ends_both_ends() {
        let cpu = uapi::affinity(0).unwrap().iter().next().unwrap();
        let futexes = [Futex::default(), Futex::default()];
        let stopped = Switch::new(20, cpu, None).ping_pong([&futexes[0], &futexes[1]], cpu, &AtomicBool::new(true));
        assert!(stopped.unwrap().is_none());
    }

    #[test]
    fn a_cpu_that_may_not_be_used_is_refused() {
        let refused = plan(10, Some((CpuId(8000), CpuId(0))), 1).unwrap_err().to_string();
        assert!(refused.contains("CPU 8000") && refused.contains("taskset"), "{refused}");
        assert!(plan(0, None, 1).is_err());
    }
}
