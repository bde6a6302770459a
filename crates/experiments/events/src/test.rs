use crate::backend::{Channel, Order, Source};
use punctual_model::Promise;
use punctual_units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Periodic,
    /// Wakes after every interval, and must have no page fault.
    Faults,
    /// Sets alarms at irregular instants.
    Alarms,
    /// Waits for a mutex that a low-priority thread holds while a medium-priority thread runs.
    Inversion,
    Order(Order),
    /// Sends messages between two threads.
    Channel(Channel),
    Source(Source),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The name given on the command line.
    pub name: &'static str,
    pub about: &'static str,
    pub what: What,
    /// Interval between events; 0 if they are not periodic.
    pub interval: Nanos,
    /// Lateness above which an event is late, unless `--deadline` is given.
    pub deadline: Nanos,
    pub promise: Promise,
}

const fn test(name: &'static str, what: What, interval: Nanos, promise: Promise, about: &'static str) -> Test {
    Test { name, about, what, interval, deadline: interval, promise }
}

const fn source(source: Source, promise: Promise, about: &'static str) -> Test {
    test(source.name(), What::Source(source), MS, promise, about)
}

const MS: Nanos = Nanos::from_millis(1);
/// Time for which the low-priority thread holds the lock in [`What::Inversion`].
pub const CRITICAL: Nanos = Nanos::from_millis(20);
/// Time for which the medium-priority thread runs. Without priority inheritance, the high-priority thread waits at
/// least this long.
pub const BURN: Nanos = Nanos::from_millis(200);

pub const TESTS: [Test; 23] = [
    test("periodic-100us", What::Periodic, Nanos::from_micros(100), Promise::Each, "woken every 100 µs"),
    test("periodic-1ms", What::Periodic, MS, Promise::Each, "woken every 1 ms"),
    test("periodic-10ms", What::Periodic, Nanos::from_millis(10), Promise::Each, "woken every 10 ms"),
    test("periodic-100ms", What::Periodic, Nanos::from_millis(100), Promise::Each, "woken every 100 ms"),
    test("periodic-1s", What::Periodic, Nanos::from_secs(1), Promise::Each, "woken every second"),
    test("alarms", What::Alarms, MS, Promise::Each, "alarms at irregular times, 1 ms apart on average"),
    test("page-faults", What::Faults, MS, Promise::Each, "a periodic task has no page fault after its first release"),
    Test {
        name: "pi-inversion",
        about: "a mutex inherits priority: the high-priority thread waits 20 ms for the holder, not 200 ms for a medium-priority thread",
        what: What::Inversion,
        interval: Nanos::ZERO,
        deadline: Nanos(CRITICAL.0 + BURN.0 / 2),
        promise: Promise::Each,
    },
    order(
        "priority-order",
        Order::Priority,
        "of several threads that become ready at once, the one with the highest priority runs first",
    ),
    order(
        "fifo-order",
        Order::Fifo,
        "threads of equal priority run in the order in which they became ready (SCHED_FIFO)",
    ),
    order("rr-order", Order::RoundRobin, "threads of equal priority take turns (SCHED_RR)"),
    test("queue", What::Channel(Channel::Queue), MS, Promise::Bounded, "messages between two real-time threads"),
    test(
        "rt-pipe",
        What::Channel(Channel::Pipe),
        MS,
        Promise::Bounded,
        "messages from a real-time thread to an ordinary one",
    ),
    source(Source::Timer, Promise::Counted, "expirations of a timer"),
    source(Source::Eventfd, Promise::Counted, "additions to an eventfd"),
    source(Source::Pipe, Promise::Bounded, "numbers through a kernel pipe"),
    source(Source::Pty, Promise::Bounded, "numbers through a pseudo-terminal in raw mode"),
    source(Source::RtSignal, Promise::Bounded, "queued real-time signals, each with a number"),
    source(Source::Signal, Promise::Merged, "a standard signal"),
    source(Source::Udp, Promise::Nothing, "datagrams over the loopback device"),
    source(Source::Gpio, Promise::Merged, "edges on a GPIO line that another line drives"),
    test(
        "rtc",
        What::Source(Source::Rtc),
        Nanos::from_secs(1),
        Promise::Counted,
        "update interrupts of the real-time clock",
    ),
    source(Source::Serial, Promise::Bounded, "bytes from a serial port to itself, through a wire or in loopback mode"),
];

const fn order(name: &'static str, order: Order, about: &'static str) -> Test {
    Test {
        name,
        about,
        what: What::Order(order),
        interval: Nanos::ZERO,
        deadline: Nanos::from_secs(1),
        promise: Promise::Each,
    }
}

pub fn find(name: &str) -> Option<Test> {
    TESTS.into_iter().find(|test| test.name == name)
}

impl Test {
    /// Returns true if the duration of the test can be chosen. Other tests run a fixed number of rounds.
    pub fn is_timed(&self) -> bool {
        self.interval > Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<&str> = TESTS.iter().map(|test| test.name).collect();
        assert_eq!(names.len(), TESTS.len());
        assert!(TESTS.into_iter().all(|test| find(test.name) == Some(test)));
        assert_eq!(find("timer"), None);
    }

    #[test]
    fn the_document_has_every_test() {
        let text = include_str!("../../../../docs/backends.md");
        for test in TESTS {
            assert!(text.contains(&format!("| `{}`", test.name)), "docs/backends.md lacks {}", test.name);
        }
    }
}
