//! The machine's real-time clock: an interrupt every second.

use super::Posix;
use super::deliver::{Came, Taker, Times};
use crate::backend::{Answer, NotRun, Observed, Plan};
use punctual_rt::{Nanos, monotonic};
use punctual_uapi::set_update_interrupts;
use rustix::io::{Errno, read};
use std::fs::File;
use std::io::ErrorKind;

const CLOCK: &str = "/dev/rtc0";

impl Posix {
    /// Update interrupts, one a second. The first is not counted: the others are due relative to it.
    pub(super) fn rtc(&self, plan: &Plan<'_>) -> Answer {
        let clock = File::open(CLOCK).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                NotRun::Unsupported(format!("{CLOCK} is not there: no real-time clock, or no driver for it"))
            }
            ErrorKind::ResourceBusy => NotRun::Unsupported(format!("{CLOCK} is in use: see fuser -v {CLOCK}")),
            ErrorKind::PermissionDenied => NotRun::Unsupported(format!("{CLOCK}: {e}; run as root")),
            _ => NotRun::Failed(format!("{CLOCK}: {e}")),
        })?;
        set_update_interrupts(&clock, true)
            .map_err(|e| NotRun::Unsupported(format!("{CLOCK} has no update interrupts: {e}")))?;
        let kept = clock.try_clone().map_err(|e| NotRun::Failed(format!("{CLOCK}: {e}")))?;
        let mut seconds = Seconds { clock, left: u64::MAX };
        let mut seen = 0;
        while seen == 0 {
            match seconds.take(&mut |came| seen += came.count) {
                Ok(()) | Err(Errno::INTR) => {}
                Err(errno) => return Err(NotRun::Failed(format!("{CLOCK}: {errno}"))),
            }
        }
        let first = monotonic() + plan.interval;
        seconds.left = plan.events;
        let times = Times::Due { first, interval: plan.interval };
        let receiver = self.receive(plan, self.scheduling(plan, 0), &times, seconds)?;
        // Allows for a clock that is a little slower than CLOCK_MONOTONIC.
        let margin = Nanos(plan.interval.0 / 10);
        let observed = self.until_due(plan, receiver, first + margin);
        let _ = set_update_interrupts(&kept, false);
        observed.map(|mut observed: Observed| {
            observed
                .notes
                .push("the first interrupt tells when the others are due: lateness is relative to its own".into());
            observed
        })
    }
}

/// Interrupts of the clock, of which the first `left` are taken.
struct Seconds {
    clock: File,
    left: u64,
}

impl Taker for Seconds {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        // The low byte is the kind of interrupt, the rest the number since the last read: rtc(4).
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
