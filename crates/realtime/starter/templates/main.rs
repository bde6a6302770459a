//! NAME: a control step every millisecond, with a log that cannot delay it.
//!
//! `NAME [SECONDS [CPU]]`. It runs until Ctrl-C if SECONDS is 0 or missing, and on any CPU if CPU is missing.

use punctual_rt::{Check, CpuId, Nanos, Next, Overflow, Receiver, Rt, Scheduling, monotonic, queue};
use std::error::Error;
use std::process::ExitCode;

const PERIOD: Nanos = Nanos::from_millis(1);
const SECOND: Nanos = Nanos::from_millis(1000);
const PRIORITY: u8 = 80;

struct Sample {
    late: Nanos,
}

/// Returns SECONDS and CPU; `None` if the arguments are invalid.
fn arguments() -> Option<(u64, Option<CpuId>)> {
    let given: Vec<String> = std::env::args_os().skip(1).map(|word| word.into_string().ok()).collect::<Option<_>>()?;
    let number = |text: &String| text.parse::<u32>().ok();
    match &given[..] {
        [] => Some((0, None)),
        [seconds] => Some((number(seconds)?.into(), None)),
        [seconds, cpu] => Some((number(seconds)?.into(), Some(CpuId(number(cpu)?)))),
        _ => None,
    }
}

/// Runs in an ordinary thread: whatever it waits for does not delay the loop.
fn log_second(from: &mut Receiver<Sample>, second: u64) {
    let (mut worst, mut count) = (Nanos(0), 0);
    while let Some(sample) = from.receive() {
        worst = worst.max(sample.late);
        count += 1;
    }
    let dropped = from.counts().dropped;
    println!("second {second}: {count} steps, at most {worst} late; {dropped} samples dropped so far");
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some((seconds, cpu)) = arguments() else {
        eprintln!("usage: NAME [SECONDS [CPU]]");
        return Ok(ExitCode::from(2));
    };
    punctual_rt::block_signals()?;
    let rt = Rt::builder().lock_memory().warn(Check::PreemptRt).require(Check::HighResolutionTimers).start()?;
    // A queue that lasts for four seconds; samples that do not fit are dropped and counted.
    let (mut to, mut from) = queue::<Sample>(4096, Overflow::DropNewest)?;
    to.lock_memory()?;
    let mut task = rt.periodic("NAME", Scheduling::Fifo { priority: PRIORITY.try_into()? }, PERIOD);
    if seconds > 0 {
        task = task.cycles(seconds * (SECOND.0 / PERIOD.0));
    }
    if let Some(cpu) = cpu {
        task = task.cpu(cpu);
    }
    // Nothing in the loop allocates, locks or prints.
    let task = task.spawn(move |cycle| {
        let _ = to.send(Sample { late: cycle.lateness() });
        Next::Continue
    })?;
    // Until the last second is over, or a signal stops the task.
    let (mut second, mut next) = (1, monotonic() + SECOND);
    while !rt.until_signal_or(next) && second != seconds {
        log_second(&mut from, second);
        (second, next) = (second + 1, next + SECOND);
    }
    let finished = task.join();
    log_second(&mut from, second);
    let counted = &finished.stats.counted;
    let [median, most] = [counted.lateness.quantile(0.5), counted.lateness.max()].map(|ns| Nanos(ns.unwrap_or(0)));
    println!(
        "{} releases: {} ran, {} skipped; late by {median} at the median, {most} at most",
        counted.released, counted.ran, counted.skipped
    );
    Ok(ExitCode::SUCCESS)
}
