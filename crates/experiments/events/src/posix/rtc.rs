//! The machine's real-time clock, with an interrupt every second.

use super::Posix;
use super::deliver::{Came, Taker, Times};
use super::takers::LOOK;
use crate::backend::{Answer, NotRun, Observed, Plan};
use punctual_rt::{Nanos, monotonic};
use punctual_uapi::set_update_interrupts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use std::fs::File;
use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

const CLOCK: &str = "/dev/rtc0";
/// Time limit for the first interrupt, which is due within a second.
const FIRST: Nanos = Nanos::from_millis(3000);

impl Posix {
    /// Receives one update interrupt per second. The first interrupt is not counted, because it determines when the
    /// other interrupts are due.
    pub(super) fn rtc(&self, plan: &Plan<'_>) -> Answer {
        let clock = File::open(CLOCK).map_err(|e| match e.kind() {
            ErrorKind::NotFound => NotRun::Unsupported(format!(
                "{CLOCK} does not exist: the machine has no real-time clock, or the kernel has no driver for it"
            )),
            ErrorKind::ResourceBusy => {
                NotRun::Unsupported(format!("{CLOCK} is in use: run fuser -v {CLOCK} to see by which process"))
            }
            ErrorKind::PermissionDenied => NotRun::Unsupported(format!("{CLOCK}: {e}; run as root")),
            _ => NotRun::Failed(format!("{CLOCK}: {e}")),
        })?;
        set_update_interrupts(&clock, true)
            .map_err(|e| NotRun::Unsupported(format!("{CLOCK} has no update interrupts: {e}")))?;
        let kept = clock.try_clone().map_err(|e| NotRun::Failed(format!("{CLOCK}: {e}")))?;
        let mut seconds = Seconds { clock, left: u64::MAX };
        seconds.begin(FIRST, plan.stop)?;
        let first = monotonic() + plan.interval;
        seconds.left = plan.events;
        let times = Times::Due { first, interval: plan.interval };
        let receiver = self.receive(plan, self.scheduling(plan, 0), &times, seconds)?;
        // Allows for a clock slightly slower than CLOCK_MONOTONIC.
        let margin = Nanos(plan.interval.0 / 10);
        let observed = self.until_due(plan, receiver, first + margin);
        let _ = set_update_interrupts(&kept, false);
        observed.map(|mut observed: Observed| {
            observed.notes.push(
                "the first interrupt determines when the others are due, so lateness is relative to the first interrupt"
                    .into(),
            );
            observed
        })
    }
}

/// The first `left` interrupts of the clock.
struct Seconds {
    clock: File,
    left: u64,
}

impl Seconds {
    /// Waits for the first interrupt, or until the user interrupts the test.
    ///
    /// # Errors
    /// [`NotRun::Unsupported`] if no interrupt arrived within `most`.
    fn begin(&mut self, most: Nanos, stop: &AtomicBool) -> Result<(), NotRun> {
        let end = monotonic() + most;
        let mut seen = 0;
        while seen == 0 && !stop.load(Relaxed) {
            if monotonic() > end {
                return Err(NotRun::Unsupported(format!(
                    "{CLOCK} raised no interrupt within {most}: the clock does not run"
                )));
            }
            let mut there = [PollFd::new(&self.clock, PollFlags::IN)];
            let look = Timespec { tv_sec: 0, tv_nsec: LOOK.0 as _ };
            let taken = match poll(&mut there, Some(&look)) {
                Ok(0) => Ok(()),
                Ok(_) => self.take(&mut |came| seen += came.count),
                Err(errno) => Err(errno),
            };
            match taken {
                Ok(()) | Err(Errno::INTR) => {}
                Err(errno) => return Err(NotRun::Failed(format!("{CLOCK}: {errno}"))),
            }
        }
        Ok(())
    }
}

impl Taker for Seconds {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        // The low byte is the kind of interrupt, the rest is the number of interrupts since the last read (rtc(4)).
        let mut bytes = [0; size_of::<usize>()];
        if read(&self.clock, &mut bytes)? != bytes.len() {
            return Err(Errno::IO);
        }
        let count = (usize::from_ne_bytes(bytes) as u64 >> 8).min(self.left);
        self.left -= count;
        if count > 0 {
            came(Came::counted(count));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::write;

    /// Uses a pipe in place of the clock.
    #[test]
    fn a_clock_that_does_not_tick_ends_the_wait() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut seconds = Seconds { clock: File::from(reader), left: u64::MAX };
        let (goes_on, stops) = (AtomicBool::new(false), AtomicBool::new(true));
        let Err(NotRun::Unsupported(why)) = seconds.begin(Nanos::from_millis(50), &goes_on) else { panic!("it ticks") };
        assert!(why.contains("no interrupt within 50.0 ms"), "{why}");
        seconds.begin(Nanos::from_secs(600), &stops).unwrap();
        write(&writer, &(1_usize << 8).to_ne_bytes()).unwrap();
        seconds.begin(Nanos::from_secs(600), &goes_on).unwrap();
        drop(writer);
        assert!(matches!(seconds.begin(Nanos::from_secs(600), &goes_on), Err(NotRun::Failed(_))), "it is gone");
    }
}
