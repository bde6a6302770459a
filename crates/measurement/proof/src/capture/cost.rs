use punctual_rt::monotonic;
use punctual_tracefs::Instance;
use punctual_units::Arrange;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Number of timers started per round, which takes about a millisecond.
const CALLS: u32 = 2000;
/// Number of alternating rounds with and without the event.
const PAIRS: usize = 7;

/// Measures the cost of a trace event, ns of CPU time: the median difference between the durations of hrtimer_start
/// with and without the event in alternating rounds. `None` if the event is not recorded or a file cannot be written.
pub(super) fn of_event(instance: &Instance) -> Option<f64> {
    let events = instance.events();
    if !events.iter().any(|event| event == "timer:hrtimer_start") {
        return None;
    }
    let switch = |on: bool| instance.switch_event("timer", "hrtimer_start", on).ok();
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).ok()?;
    let mut costs = Vec::new();
    round(&timer)?;
    for _ in 0..PAIRS {
        let with = round(&timer)?;
        switch(false)?;
        let without = round(&timer)?;
        switch(true)?;
        costs.push((with - without) / f64::from(CALLS));
    }
    costs.arrange_by(f64::total_cmp);
    costs.get(PAIRS / 2).copied().filter(|ns| *ns > 0.0)
}

fn round(timer: &impl rustix::fd::AsFd) -> Option<f64> {
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let far = Itimerspec { it_interval: zero, it_value: Timespec { tv_sec: 3600, tv_nsec: 0 } };
    let begun = monotonic();
    for _ in 0..CALLS {
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &far).ok()?;
    }
    Some((monotonic() - begun).0 as f64)
}
