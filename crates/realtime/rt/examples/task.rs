//! A complete periodic program: checks, locked memory, one task, orderly stop, statistics.
//!
//! `cargo run --release -p punctual-rt --example task [PERIOD_US [SECONDS [PRIORITY]]]`. Without the privilege for
//! SCHED_FIFO it runs under SCHED_OTHER and reports this.

use punctual_rt::{Check, Nanos, Next, Rt, Scheduling};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |n: usize, default: u64| std::env::args().nth(n).map_or(Ok(default), |word| word.parse());
    let (period, seconds, priority) = (Nanos::from_micros(number(1, 1_000)?), number(2, 5)?, number(3, 80)? as u8);
    let cycles = Nanos::from_secs(seconds).0 / period.0.max(1);
    let rt = Rt::builder().warn(Check::PreemptRt).warn(Check::Priority(priority)).start()?;
    let scheduling = match punctual_rt::try_scheduling(Scheduling::Fifo { priority: priority.try_into()? }) {
        Ok(()) => Scheduling::Fifo { priority: priority.try_into()? },
        Err(_) => Scheduling::Other { nice: 0 },
    };
    let task = rt.periodic("example", scheduling, period).cycles(cycles).spawn(|_cycle| Next::Continue)?;
    let stats = task.join().stats;
    println!("{stats}\nas {scheduling}");
    Ok(())
}
