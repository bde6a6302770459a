//! A small real-time application, either correct or with a common mistake, for tests of the audit:
//!
//! ```text
//! punctual-application [policy=fifo:80] [cpus=0] [name=app] [sleep=absolute] [lock=yes] [slack=1] [faults=no] [period=20] [busy=0]
//! ```
//!
//! `policy` is `fifo:N`, `rr:N`, `deadline:RUNTIME_US/PERIOD_US` or `other`; `sleep` is `absolute`, `relative`,
//! `realtime` (clock_nanosleep(2) on CLOCK_REALTIME) or `never`. The application uses `busy` ms of CPU time in each
//! period of `period` ms, and skips missed periods. With `faults=yes` it allocates memory in every period; `lock=no`
//! leaves memory unlocked, and `slack=0` leaves the timer slack (/proc/self/timerslack_ns) unchanged. It runs until it
//! is killed.

use punctual_units::{CpuList, Nanos, Scheduling};
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{ClockId, clock_nanosleep_absolute, clock_nanosleep_relative};
use rustix::time::{Timespec, clock_gettime};
use std::fs;
use std::hint::black_box;
use std::process::exit;

type Anything = Result<(), Box<dyn std::error::Error>>;

const MILLISECOND_NS: i64 = 1_000_000;
/// Maximum of each time in the arguments: one day, in ms. It keeps sums of times from overflowing.
const LONGEST_MS: i64 = 86_400_000;
/// Number of bytes allocated per period: four pages.
const PIECE: usize = 1 << 14;

struct Wanted {
    policy: Option<Scheduling>,
    cpus: Option<CpuList>,
    name: String,
    sleep: String,
    lock: bool,
    slack: u64,
    faults: bool,
    period_ns: i64,
    busy_ns: i64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = parse(&words).and_then(|wanted| run(&wanted)) {
        eprintln!("punctual-application: {error}");
        exit(1);
    }
}

fn parse(words: &[String]) -> Result<Wanted, Box<dyn std::error::Error>> {
    let mut wanted = Wanted {
        policy: policy("fifo:80")?,
        cpus: None,
        name: "app".into(),
        sleep: "absolute".into(),
        lock: true,
        slack: 1,
        faults: false,
        period_ns: 20 * MILLISECOND_NS,
        busy_ns: 0,
    };
    for word in words {
        match word.split_once('=') {
            Some(("policy", value)) => wanted.policy = policy(value)?,
            Some(("cpus", value)) => wanted.cpus = Some(value.parse()?),
            Some(("name", value)) => wanted.name = value.into(),
            Some(("sleep", value)) => wanted.sleep = value.into(),
            Some(("lock", value)) => wanted.lock = value == "yes",
            Some(("slack", value)) => wanted.slack = value.parse()?,
            Some(("period", value)) => wanted.period_ns = milliseconds(value, 1)?,
            Some(("busy", value)) => wanted.busy_ns = milliseconds(value, 0)?,
            Some(("faults", value)) => wanted.faults = value == "yes",
            _ => return Err(format!("unknown setting {word}").into()),
        }
    }
    Ok(wanted)
}

fn milliseconds(text: &str, least: i64) -> Result<i64, Box<dyn std::error::Error>> {
    match text.parse::<i64>()? {
        ms if (least..=LONGEST_MS).contains(&ms) => Ok(ms * MILLISECOND_NS),
        ms => Err(format!("{ms} ms: choose {least} to {LONGEST_MS}").into()),
    }
}

fn policy(text: &str) -> Result<Option<Scheduling>, Box<dyn std::error::Error>> {
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    Ok(match kind {
        "other" => None,
        "fifo" => Some(Scheduling::Fifo { priority: value.parse()? }),
        "rr" => Some(Scheduling::Rr { priority: value.parse()? }),
        "deadline" => {
            let (runtime, period) = value.split_once('/').ok_or("deadline:RUNTIME_US/PERIOD_US")?;
            let period_ns = Nanos(period.parse::<u64>()? * 1_000);
            let runtime_ns = Nanos(runtime.parse::<u64>()? * 1_000);
            Some(Scheduling::Deadline { runtime_ns, deadline_ns: period_ns, period_ns })
        }
        _ => return Err(format!("unknown policy {text}").into()),
    })
}

fn run(wanted: &Wanted) -> Anything {
    fs::write("/proc/self/comm", &wanted.name)?;
    if wanted.slack > 0 {
        // Set before the policy, because since 6.12 the slack of a real-time thread cannot be set.
        fs::write("/proc/self/timerslack_ns", wanted.slack.to_string())?;
    }
    if wanted.lock {
        mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    }
    if let Some(cpus) = &wanted.cpus {
        punctual_uapi::set_affinity(0, cpus)?;
    }
    if let Some(policy) = wanted.policy {
        punctual_uapi::set_scheduling(0, policy, false)?;
    }
    let clock = if wanted.sleep == "realtime" { ClockId::Realtime } else { ClockId::Monotonic };
    let now = || nanoseconds(clock_gettime(clock));
    let mut next = now();
    loop {
        if wanted.faults {
            // Never freed: malloc(3) would reuse it without a fault.
            Box::leak(black_box(vec![1_u8; PIECE].into_boxed_slice()));
        }
        if wanted.busy_ns > 0 {
            use_cpu(wanted.busy_ns);
        }
        if wanted.sleep == "never" {
            continue;
        }
        if wanted.sleep == "relative" {
            let _ = clock_nanosleep_relative(clock, &timespec(wanted.period_ns));
            continue;
        }
        // Missed periods are not made up for: a thread that did so after the kernel stopped it would be a runaway.
        let missed = (now() - next) / wanted.period_ns;
        next += wanted.period_ns * (1 + missed.max(0));
        // Only a signal ends the sleep early, which is harmless here.
        let _ = clock_nanosleep_absolute(clock, &timespec(next));
    }
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn timespec(ns: i64) -> Timespec {
    Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

/// Uses this much CPU time, which takes more real time if other threads use the CPU.
fn use_cpu(ns: i64) {
    let used = || nanoseconds(clock_gettime(ClockId::ThreadCPUTime));
    let end = used() + ns;
    while used() < end {}
}
