//! NAME: a control step every millisecond, with a log that cannot delay it.
//!
//! `NAME [SECONDS [CPU]]`. It runs until Ctrl-C if SECONDS is 0 or missing, and on any CPU if CPU is missing.

use punctual_rt::{Check, CpuId, Nanos, Next, Overflow, Receiver, Rt, Scheduling, monotonic, queue};
use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

const PERIOD: Nanos = Nanos::from_millis(1);
const PRIORITY: u8 = 80;

struct Sample {
    late: Nanos,
}

/// Runs in an ordinary thread, so it may block without delaying the control loop.
fn log_second(from: &mut Receiver<Sample>, second: u64) {
    let (mut worst, mut count) = (Nanos(0), 0);
    while let Some(sample) = from.receive() {
        worst = worst.max(sample.late);
        count += 1;
    }
    println!("second {second}: {count} steps, at most {worst} late");
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(0), |text| text.parse())?;
    punctual_rt::block_signals()?;
    let rt = Rt::builder().lock_memory().warn(Check::PreemptRt).require(Check::HighResolutionTimers).start()?;
    // A queue for four seconds; samples that do not fit are dropped and counted.
    let (mut to, mut from) = queue::<Sample>(4096, Overflow::DropNewest)?;
    to.lock_memory()?;
    let mut task = rt.periodic("NAME", Scheduling::Fifo { priority: PRIORITY.try_into()? }, PERIOD);
    if seconds > 0 {
        task = task.cycles(seconds * 1_000_000_000 / PERIOD.0);
    }
    if let Some(cpu) = std::env::args().nth(2) {
        task = task.cpu(CpuId(cpu.parse()?));
    }
    // Nothing in the loop allocates, locks or prints.
    let task = task.spawn(move |cycle| {
        let _ = to.send(Sample { late: cycle.lateness() });
        Next::Continue
    })?;
    let begun = monotonic();
    for second in 1..=seconds {
        let until = begun + Nanos::from_millis(second * 1000);
        sleep(Duration::from_nanos(until.0.saturating_sub(monotonic().0)));
        log_second(&mut from, second);
    }
    if seconds == 0 {
        rt.until_signal();
    }
    let finished = task.join();
    let counted = &finished.stats.counted;
    let [median, most] = [counted.lateness.quantile(0.5), counted.lateness.max()].map(|ns| Nanos(ns.unwrap_or(0)));
    println!(
        "{} releases: {} ran, {} skipped; late by {median} at the median, {most} at most",
        counted.released, counted.ran, counted.skipped
    );
    Ok(())
}
