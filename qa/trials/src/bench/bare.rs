//! A minimal periodic thread, which only calls clock_nanosleep() and clock_gettime(), and with which the engine is
//! compared.

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};
use std::process::Command;
use std::time::Duration;

/// The loop, run by this program itself. chrt and taskset set the policy and the CPU.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    period_ns: i64,
    seconds: i64,
    /// Let the main thread wake every 10 ms on the same CPU under SCHED_OTHER, as the main thread of cyclictest does:
    /// on some kernels this alone makes the periodic thread's wakeups cheaper
    #[arg(long)]
    ticking: bool,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let Wanted { period_ns: period, seconds, ticking } = *wanted;
    if !ticking {
        spin(period, seconds);
        return Ok(());
    }
    let periodic = std::thread::spawn(move || spin(period, seconds));
    let chrt = Command::new("chrt").args(["-o", "-p", "0", &std::process::id().to_string()]).status();
    chrt.map_err(|e| format!("chrt: {e}"))?;
    while !periodic.is_finished() {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn spin(period: i64, seconds: i64) {
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
            // Like every such loop, it skips missed releases.
            if (now.tv_sec, now.tv_nsec) > (next.tv_sec, next.tv_nsec + period) {
                next = now;
            }
        }
    }
}
