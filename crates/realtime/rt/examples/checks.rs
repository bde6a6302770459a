//! Runs every start-up check on this machine and prints one line for each. `checks hold` instead runs a SCHED_DEADLINE
//! thread for a minute, so that a user can see the check `ForeignRtAbove` of another process detect it.

use punctual_rt::{Check, CpuId, Nanos, Next, Rt};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (runtime, period) = (Nanos::from_millis(1), Nanos::from_millis(10));
    if std::env::args().nth(1).is_some_and(|word| word == "hold") {
        let rt = Rt::builder().start()?;
        rt.deadline("held", runtime, period, period).cycles(6_000).spawn(|_| Next::Continue)?.join();
        return Ok(());
    }
    let last = punctual_rt::Admission::read()?.cpus.iter().last().unwrap_or(CpuId(0));
    let checks = [
        Check::PreemptRt,
        Check::Priority(80),
        Check::Deadline { runtime, deadline: period, period },
        Check::LockedMemory(64 << 20),
        Check::HighResolutionTimers,
        Check::FastClock,
        Check::NoThrottling,
        Check::ForeignRtAbove(80),
        Check::NoRtTimeLimit,
        Check::Isolated(CpuId(0)),
        Check::Isolated(CpuId(1)),
        Check::FixedFrequency(last),
    ];
    let builder = checks.into_iter().fold(Rt::builder().silence_warnings(), |builder, check| builder.warn(check));
    print!("{}", builder.start()?.report());
    println!("{}", punctual_rt::Admission::read()?);
    Ok(())
}
