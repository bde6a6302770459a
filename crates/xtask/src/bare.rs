//! The least a periodic thread can do: clock_nanosleep, clock_gettime, nothing else. What the engine is compared with.

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

pub const HIDDEN: &str = "__bare";

/// `__bare PERIOD_NS SECONDS`; policy and CPU come from chrt and taskset.
pub fn run(words: &[String]) -> Result<(), String> {
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<i64>().ok()).ok_or("PERIOD_NS SECONDS".to_owned());
    let (period, seconds) = (number(0)?, number(1)?);
    let mut next = clock_gettime(ClockId::Monotonic);
    let end = next.tv_sec + seconds;
    while next.tv_sec < end {
        next.tv_nsec += period;
        while next.tv_nsec >= 1_000_000_000 {
            next.tv_nsec -= 1_000_000_000;
            next.tv_sec += 1;
        }
        if clock_nanosleep_absolute(ClockId::Monotonic, &next).is_ok() {
            let now: Timespec = clock_gettime(ClockId::Monotonic);
            std::hint::black_box(now);
            // As every such loop: what is missed is skipped.
            if (now.tv_sec, now.tv_nsec) > (next.tv_sec, next.tv_nsec + period) {
                next = now;
            }
        }
    }
    Ok(())
}
