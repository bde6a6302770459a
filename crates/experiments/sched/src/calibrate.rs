//! Measures the duration of a workload that runs without other threads.

use crate::body::{Action, Body};
use crate::error::SchedError;
use crate::job::{Do, charged, compile};
use crate::plan::PlanThread;
use crate::schedstat::Schedstat;
use punctual_directory::Dir;
use punctual_rt::monotonic;
use punctual_uapi as uapi;
use punctual_units::{Arrange, CpuId, CpuList, Nanos};
use punctual_watchdog as watchdog;
use punctual_workloads::{FRAMES_PER_WRITE, Image, Kind, Work};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Time limit of a calibration. Each round takes a quarter of the scale, at most a few seconds of CPU time, on a CPU
/// that other tasks may use.
const CALIBRATED_WITHIN: std::time::Duration = std::time::Duration::from_secs(60);

/// Number of rounds; the median is used.
const ROUNDS: usize = 3;
const ROUND: (Nanos, Nanos) = (Nanos::from_millis(60), Nanos::from_millis(400));

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Number of steps after which the work repeats.
    unit: u64,
    /// CPU time per unit in ns.
    unit_ns: f64,
    /// Mean time that the thread sleeps during a write; `None` if the workload does not write.
    write: Option<Nanos>,
}

/// Runs each workload on `cpu` as an ordinary thread, and measures the CPU time charged to it, not the elapsed time. After
/// `stop` is set, each workload runs only once, and the rates are inexact.
pub(crate) fn calibrate(
    kinds: &[Kind],
    image: &Image,
    cpu: CpuId,
    scale: Nanos,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Vec<(Kind, Rate)>, SchedError> {
    let round = Nanos(scale.0 / 4).clamp(ROUND.0, ROUND.1);
    let one = |kind: Kind| {
        let work = new_work(kind, image, folder)?;
        let failed = |why: String| SchedError::thread(&format!("calibrating {kind}"), why);
        watchdog::measuring(format!("calibrating {kind} on CPU {cpu}"), CALIBRATED_WITHIN);
        let measured = watchdog::in_thread("calibration", || measure(work, cpu, round, stop));
        let rate = measured.map_err(|e| failed(e.to_string()))?.map_err(failed)?;
        Ok((kind, rate))
    };
    kinds.iter().map(|kind| one(*kind)).collect()
}

/// Creates a workload that writes to an unnamed file in `folder`.
pub(crate) fn new_work(kind: Kind, image: &Image, folder: &Path) -> Result<Work, SchedError> {
    let file = match kind {
        Kind::CannyIo => Some(scratch(folder)?),
        _ => None,
    };
    Ok(Work::new(kind, image, file)?)
}

/// Creates a file that disappears when its last user closes it.
fn scratch(folder: &Path) -> Result<File, SchedError> {
    let path = folder.join(format!(".edges-{}", std::process::id()));
    let failed = |source| SchedError::System {
        call: "create",
        path: path.clone(),
        source,
        help: "canny+io writes to this directory; choose another one with --out",
    };
    let made = Dir::of_file(&path).and_then(|(dir, name)| {
        let file = dir.create_new(&name)?;
        dir.remove_file(name).map(|()| file)
    });
    made.map_err(|e| failed(e.cause()))
}

fn measure(mut work: Work, cpu: CpuId, round: Nanos, stop: &AtomicBool) -> Result<Rate, String> {
    uapi::set_affinity(0, &CpuList::from_iter([cpu])).map_err(|e| e.to_string())?;
    let said = |e: std::io::Error| e.to_string();
    let unit = work.unit();
    let mut rounds = rounds(&mut work, round, stop).map_err(said)?;
    rounds.arrange_by(f64::total_cmp);
    let write = match &mut work {
        Work::CannyIo(_) => Some(sleep_a_write(&mut work, unit, stop).map_err(said)?),
        _ => None,
    };
    Ok(Rate { unit, unit_ns: rounds[rounds.len() / 2].max(1.0), write })
}

/// Returns the CPU time per unit in each round, in ns. Ends with the unit in which `stop` is set.
fn rounds(work: &mut Work, round: Nanos, stop: &AtomicBool) -> std::io::Result<Vec<f64>> {
    let unit = work.unit();
    let mut rounds = Vec::new();
    // The first round warms up memory and caches with one unit.
    for round in [Nanos(1)].into_iter().chain([round; ROUNDS]) {
        let (start, mut units) = (charged(), 0u64);
        while units == 0 || (charged().saturating_sub(start) < round && !matches!(work, Work::Sleep)) {
            for _ in 0..unit {
                work.step()?;
            }
            units += 1;
            if stop.load(Relaxed) {
                break;
            }
        }
        rounds.push(charged().saturating_sub(start).0 as f64 / units as f64);
        if stop.load(Relaxed) {
            return Ok(rounds);
        }
    }
    rounds.remove(0);
    Ok(rounds)
}

/// Measures the mean sleep per write, which is neither charged CPU time nor waiting for the CPU. Ends with the write after
/// which `stop` is set.
fn sleep_a_write(work: &mut Work, unit: u64, stop: &AtomicBool) -> std::io::Result<Nanos> {
    const WRITES: u64 = 4;
    let stat = Schedstat::open().ok();
    let wait = || stat.as_ref().and_then(Schedstat::wait).unwrap_or_default();
    let (start, cpu, waited) = (monotonic(), charged(), wait());
    let mut writes = 0;
    while writes < WRITES && (writes == 0 || !stop.load(Relaxed)) {
        for _ in 0..FRAMES_PER_WRITE * unit {
            work.step()?;
        }
        writes += 1;
    }
    let elapsed = monotonic().saturating_sub(start);
    let busy = charged().saturating_sub(cpu) + wait().saturating_sub(waited);
    Ok(Nanos(elapsed.saturating_sub(busy).0 / writes))
}

impl Rate {
    /// Returns the number of whole units whose CPU time is nearest to `work`, at least one.
    pub fn units(&self, work: Nanos) -> u64 {
        ((work.0 as f64 / self.unit_ns).round() as u64).max(1)
    }

    pub fn steps(&self, work: Nanos) -> u64 {
        self.units(work) * self.unit
    }

    fn alone(&self, units: u64) -> Nanos {
        Nanos((units as f64 * self.unit_ns) as u64)
    }

    /// Returns the thread's work as steps, and as calibrated CPU time with the sleeps of its writes.
    pub fn fit(&self, thread: &PlanThread) -> (Vec<Do>, Body) {
        let doing = compile(&thread.body.actions, |work| self.steps(work));
        let mut actions = Vec::new();
        for action in &thread.body.actions {
            match (*action, self.write) {
                (Action::Run(work), None) => actions.push(Action::Run(self.alone(self.units(work)))),
                (Action::Run(work), Some(write)) => {
                    // A write follows the first frame, and then every FRAMES_PER_WRITE frames.
                    let (mut left, mut next) = (self.units(work), 1);
                    while left >= next {
                        actions.extend([Action::Run(self.alone(next)), Action::Sleep(write)]);
                        (left, next) = (left - next, FRAMES_PER_WRITE);
                    }
                    actions.push(Action::Run(self.alone(left)));
                }
                (other, _) => actions.push(other),
            }
        }
        (doing, Body { actions, loops: thread.body.loops })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    #[test]
    fn work_is_whole_units_and_writes_are_sleeps() {
        let rate = Rate { unit: 600, unit_ns: 5e6, write: Some(Nanos::from_millis(3)) };
        let mut thread = plan("case-3-io", "0", None).threads.remove(0);
        thread.body = Body::run(Nanos::from_millis(101));
        let (doing, body) = rate.fit(&thread);
        assert_eq!(doing, [Do::Steps(20 * 600)]);
        let ms = Nanos::from_millis;
        let (sleep, run) = (Action::Sleep(ms(3)), |n| Action::Run(ms(n)));
        assert_eq!(body.actions, [run(5), sleep, run(80), sleep, run(15)]);
    }

    #[test]
    fn no_work_is_ever_less_than_a_unit() {
        let rate = Rate { unit: 1, unit_ns: 5e6, write: None };
        assert_eq!(rate.steps(Nanos(1)), 1);
    }

    #[test]
    fn a_calibration_that_is_stopped_ends_with_the_unit() {
        for (stopped, rounds_done) in [(false, ROUNDS), (true, 1)] {
            let mut work = Work::Busy(punctual_workloads::Busy::new());
            let rounds = rounds(&mut work, Nanos(1), &AtomicBool::new(stopped)).unwrap();
            assert_eq!(rounds.len(), rounds_done);
        }
    }

    #[test]
    fn every_workload_can_be_calibrated() {
        let image = Image::scene(64, 48, 42).unwrap();
        let cpu = uapi::affinity(0).unwrap().iter().next().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let rates =
            calibrate(&Kind::ALL, &image, cpu, Nanos::from_millis(1), folder.path(), &AtomicBool::new(false)).unwrap();
        assert!(rates.iter().all(|(_, rate)| rate.unit_ns >= 1.0 && rate.unit >= 1));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "scratch files have no name");
    }
}
