//! Delays caused by SCHED_DEADLINE threads (Documentation/scheduler/sched-deadline.rst), which run before all other
//! policies. Among these threads, the one with the earliest deadline runs, for at most its runtime per period.

use super::hog;
use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::thread::{ORDINARY, become_thread, deadline, now, sleep_until};
use crate::truth::Burst;
use crate::undo::unlimited;

pub(super) fn hog(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let _unlimited = unlimited()?;
    let bursts = hog::spin(config, "higher_priority", "deadline hog", deadline(40, 50, 50))?;
    sleep_until(now() + 5_000_000);
    become_thread("deadline hog", config.cpu, ORDINARY)?;
    Ok(bursts)
}

/// Injects a thread whose deadline is 18 ms after it wakes. The victim's deadline is 20 ms after its release, and
/// therefore later if the release occurs while this thread runs.
pub(super) fn peer(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let config = Config { length_ns: 12_000_000, ..config.clone() };
    hog::spin(&config, "same_priority", "peer", deadline(17, 18, 40))
}

/// Makes the victim itself exceed its budget.
pub(super) fn budget(config: &Config) -> Result<Vec<Burst>, InjectError> {
    sleep_until(begin() + u64::from(config.bursts) * config.every_ns);
    Ok(Vec::new())
}
