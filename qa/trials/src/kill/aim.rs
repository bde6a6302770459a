//! Chooses when a run is killed: at any time, or a random time after an event, because a phase of a millisecond is
//! hardly ever hit by chance.

use crate::random::random;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Duration and loads of a long run: longer than the 10 s that may be lost, with checkpoints every 5 s. [`SHORT`] has
/// the duration and the two loads of a short run, for kills before, between and after the loads.
const LONG: [&str; 2] = ["14s", "cpu"];
const SHORT: [&str; 2] = ["2s", "cpu,scheduler"];
/// Latest time of a random kill. With several runs at the same time, a run takes longer than its measurement.
const LONGEST: Duration = Duration::from_secs(18);
const SHORTEST: Duration = Duration::from_secs(6);
/// Maximum wait for an event.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_micros(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The run directory exists: the run is auditing, then enabling the trace.
    Folder,
    Trace,
    /// The first window of the trace exists.
    Window,
    /// The histograms of the last load exist: the measurement ends.
    Measured,
    /// The checkpoints have been removed: the run is being explained, judged and reported.
    Closed,
    Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    Long,
    Short,
    /// In a short run, at most this many ms after this event, at a random time.
    After(Mark, u64),
}

/// Times of the kill, used in turn; 6 of 20 are in long runs.
const AIMS: [Aim; 20] = [
    Aim::Long,
    Aim::Short,
    Aim::After(Mark::Folder, 2_000),
    Aim::Long,
    Aim::After(Mark::Trace, 300),
    Aim::Short,
    Aim::After(Mark::Window, 200),
    Aim::Long,
    Aim::After(Mark::Measured, 800),
    Aim::After(Mark::Closed, 600),
    Aim::Long,
    Aim::Short,
    Aim::After(Mark::Trace, 300),
    Aim::After(Mark::Report, 20),
    Aim::Long,
    Aim::After(Mark::Window, 200),
    Aim::Short,
    Aim::Long,
    Aim::After(Mark::Measured, 800),
    Aim::After(Mark::Closed, 600),
];

impl Aim {
    pub fn of(number: u32) -> Aim {
        AIMS[number as usize % AIMS.len()]
    }

    pub fn run(self) -> [&'static str; 2] {
        if self == Aim::Long { LONG } else { SHORT }
    }

    pub fn wait(self, child: &mut Child, out: &Path) {
        let (mark, delay) = match self {
            Aim::Long => (None, LONGEST.mul_f64(random())),
            Aim::Short => (None, SHORTEST.mul_f64(random())),
            // Log-uniform over two decades: the first milliseconds count as much as the rest.
            Aim::After(mark, most) => (Some(mark), Duration::from_millis(most).mul_f64(100f64.powf(-random()))),
        };
        let (begun, pid) = (Instant::now(), child.id());
        let ended = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
        while mark.is_some_and(|mark| !mark.is_seen(pid, out)) && begun.elapsed() < PATIENCE && !ended(child) {
            sleep(LOOK);
        }
        let until = Instant::now() + delay;
        while Instant::now() < until && !ended(child) {
            sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(100)));
        }
    }
}

impl Mark {
    fn is_seen(self, pid: u32, out: &Path) -> bool {
        match self {
            Mark::Folder => out.exists(),
            Mark::Trace => !super::point::instances(pid).is_empty(),
            Mark::Window => out.join("traces").exists(),
            Mark::Measured => out.join("hist/2-scheduler").exists(),
            Mark::Closed => out.join("manifest.json").exists() && !out.join("segments").exists(),
            Mark::Report => out.join("report.html").exists(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_points_lie_in_runs_that_can_lose_ten_seconds() {
        let long = AIMS.iter().filter(|aim| **aim == Aim::Long).count();
        assert!(long * 10 >= AIMS.len() * 3, "{long} of {}", AIMS.len());
    }
}
