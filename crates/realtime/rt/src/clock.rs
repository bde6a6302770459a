use punctual_units::Nanos;
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND: u64 = 1_000_000_000;

/// Returns the current time on CLOCK_MONOTONIC: nanoseconds since boot, not counting the time during which the machine
/// was suspended. Reads the vDSO without a system call, except for the first call in a process, which looks up the
/// vDSO, and before Linux 6.4 (PR_GET_AUXV) reads /proc/self/auxv and allocates. [`crate::Rt`] makes this first call
/// when it starts.
#[inline(always)]
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    Nanos(now.tv_sec as u64 * SECOND + now.tv_nsec as u64)
}

/// Sleeps until `at` on CLOCK_MONOTONIC: clock_nanosleep(2), TIMER_ABSTIME. On PREEMPT_RT this is a hard timer if the
/// thread is SCHED_FIFO, SCHED_RR or SCHED_DEADLINE; the timer of any other thread expires in softirq context.
///
/// # Errors
/// `INTR`: a signal interrupted the sleep. Other errors cannot happen with this clock.
pub fn sleep_until(at: Nanos) -> Result<(), Errno> {
    clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at))
}

pub(crate) fn timespec(at: Nanos) -> Timespec {
    Timespec { tv_sec: (at.0 / SECOND) as i64, tv_nsec: (at.0 % SECOND) as _ }
}

/// Returns the cost of one clock read, ns: the smallest mean of several short series, which excludes interruptions.
pub fn clock_read_cost() -> f64 {
    const READS: u32 = 64;
    (0..8)
        .map(|_| {
            let start = monotonic();
            for _ in 1..READS {
                std::hint::black_box(monotonic());
            }
            (monotonic() - start).0 as f64 / f64::from(READS)
        })
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_never_wakes_before_the_time() {
        let at = monotonic() + Nanos::from_micros(300);
        sleep_until(at).unwrap();
        assert!(monotonic() >= at);
    }
}
