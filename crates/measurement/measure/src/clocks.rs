//! Reads the clocks and the host name, and detects clock jumps.

use crate::sources::read_trimmed;
use punctual_model::{Event, Stamp};
use punctual_rt::monotonic;
use rustix::time::{ClockId, clock_gettime};

pub fn clocks() -> Stamp {
    let read = |id| {
        let t = clock_gettime(id);
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    };
    Stamp { mono_ns: monotonic().0, boot_ns: read(ClockId::Boottime), real_ns: read(ClockId::Realtime) }
}

/// Returns what happened to the clocks between two instants: a step of the wall clock, or a suspend.
pub fn clock_events(before: &Stamp, after: &Stamp) -> Vec<Event> {
    // NTP slews by at most 500 ppm. The clocks are read some microseconds apart, or more if the thread is preempted.
    const TOLERANCE: i64 = 20_000_000;
    let mono = after.mono_ns as i64 - before.mono_ns as i64;
    let step = after.real_ns as i64 - before.real_ns as i64 - mono;
    let asleep = after.boot_ns as i64 - before.boot_ns as i64 - mono;
    let mut events = Vec::new();
    if asleep > TOLERANCE {
        events.push(Event::Suspend { mono_ns: after.mono_ns, asleep_ns: asleep as u64 });
    }
    if (step - asleep.max(0)).abs() > TOLERANCE + mono / 1000 {
        events.push(Event::ClockStep { mono_ns: after.mono_ns, step_ns: step - asleep.max(0) });
    }
    events
}

pub fn host_name() -> Option<String> {
    read_trimmed("/proc/sys/kernel/hostname")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_step_or_sleep_are_told_apart() {
        let before = Stamp { mono_ns: 1_000, boot_ns: 1_000, real_ns: 1_000 };
        let second = 1_000_000_000;
        let plain = Stamp { mono_ns: 1_000 + second, boot_ns: 1_000 + second, real_ns: 1_100 + second };
        assert_eq!(clock_events(&before, &plain), []);
        let stepped = Stamp { real_ns: 1_000 + 3_600 * second, ..plain };
        assert!(matches!(clock_events(&before, &stepped)[..], [Event::ClockStep { .. }]));
        let slept = Stamp { boot_ns: plain.boot_ns + 60 * second, real_ns: plain.real_ns + 60 * second, ..plain };
        assert!(matches!(clock_events(&before, &slept)[..], [Event::Suspend { .. }]));
        let back = Stamp { real_ns: 0, ..plain };
        assert!(matches!(clock_events(&before, &back)[..], [Event::ClockStep { step_ns, .. }] if step_ns < 0));
    }
}
