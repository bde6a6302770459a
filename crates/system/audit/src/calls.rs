//! System calls of an application during a window, from the tracepoint `raw_syscalls:sys_enter`.

use punctual_units::Arrange;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct Calls {
    /// Column of [`NUMBERS`] for the machine's architecture; `None` if it is not listed.
    arch: Option<usize>,
    seconds: f64,
    /// Number of events lost because the buffer overflowed.
    lost: u64,
    counts: BTreeMap<(u32, i64), u64>,
    sleeps: BTreeSet<(u32, String)>,
    locks: BTreeMap<u64, Lock>,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    inherits: bool,
    waits: BTreeMap<u32, u64>,
    wakes: BTreeSet<u32>,
}

/// Architectures, named as by `uname -m`; the second represents all architectures with the generic table
/// (include/uapi/asm-generic/unistd.h).
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// Names and numbers of system calls, from arch/x86/entry/syscalls/syscall_64.tbl and
/// include/uapi/asm-generic/unistd.h; -1 if the architecture lacks the call.
const NUMBERS: &[(&str, [i64; 2])] = &[
    ("read", [0, 63]),
    ("write", [1, 64]),
    ("close", [3, 57]),
    ("poll", [7, -1]),
    ("lseek", [8, 62]),
    ("mmap", [9, 222]),
    ("mprotect", [10, 226]),
    ("munmap", [11, 215]),
    ("brk", [12, 214]),
    ("rt_sigreturn", [15, 139]),
    ("ioctl", [16, 29]),
    ("pread64", [17, 67]),
    ("pwrite64", [18, 68]),
    ("readv", [19, 65]),
    ("writev", [20, 66]),
    ("select", [23, -1]),
    ("sched_yield", [24, 124]),
    ("mremap", [25, 216]),
    ("madvise", [28, 233]),
    ("nanosleep", [35, 101]),
    ("getpid", [39, 172]),
    ("sendto", [44, 206]),
    ("recvfrom", [45, 207]),
    ("sendmsg", [46, 211]),
    ("recvmsg", [47, 212]),
    ("clone", [56, 220]),
    ("fsync", [74, 82]),
    ("fdatasync", [75, 83]),
    ("gettimeofday", [96, 169]),
    ("futex", [202, 98]),
    ("epoll_wait", [232, -1]),
    ("clock_gettime", [228, 113]),
    ("clock_nanosleep", [230, 115]),
    ("openat", [257, 56]),
    ("newfstatat", [262, 79]),
    ("pselect6", [270, 72]),
    ("ppoll", [271, 73]),
    ("epoll_pwait", [281, 22]),
    ("timerfd_settime", [286, 86]),
    ("rt_sigtimedwait", [128, 137]),
    ("recvmmsg", [299, 243]),
    ("sendmmsg", [307, 269]),
    ("getrandom", [318, 278]),
    ("io_uring_enter", [426, 426]),
    ("clone3", [435, 435]),
];

/// Operation of futex(2), from include/uapi/linux/futex.h.
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
const FUTEX_LOCK_PI: u64 = 6;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_LOCK_PI2: u64 = 13;
/// Mask that removes FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
const OPERATION: u64 = 0x7f;
/// The lock word of a contended mutex of glibc (lowlevellock), musl or Rust. Condition variables and semaphores wait on
/// other values.
const CONTENDED: u64 = 2;

impl Calls {
    pub fn new(arch: &str) -> Calls {
        let arch = if matches!(arch, "riscv64" | "loongarch64") { ARCHITECTURES[1] } else { arch };
        Calls {
            arch: ARCHITECTURES.iter().position(|known| *known == arch),
            seconds: 0.0,
            lost: 0,
            counts: BTreeMap::new(),
            sleeps: BTreeSet::new(),
            locks: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, tid: u32, number: i64, arguments: &[u64]) {
        *self.counts.entry((tid, number)).or_default() += 1;
        let argument = |at: usize| arguments.get(at).copied();
        match (self.name(number), argument(0), argument(1)) {
            (Some("futex"), Some(address), Some(operation)) => {
                self.add_futex(tid, address, operation & OPERATION, argument(2));
            }
            (Some("nanosleep"), ..) => drop(self.sleeps.insert((tid, "CLOCK_MONOTONIC relative".to_owned()))),
            (Some("clock_nanosleep"), Some(clock), Some(flags)) => {
                self.sleeps.insert((tid, sleep(clock, flags)));
            }
            _ => {}
        }
    }

    fn add_futex(&mut self, tid: u32, address: u64, operation: u64, value: Option<u64>) {
        let value = value.map(|value| value & u64::from(u32::MAX));
        match operation {
            FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => {
                let lock = self.locks.entry(address).or_default();
                lock.inherits = true;
                *lock.waits.entry(tid).or_default() += 1;
            }
            FUTEX_WAIT | FUTEX_WAIT_BITSET if value == Some(CONTENDED) => {
                *self.locks.entry(address).or_default().waits.entry(tid).or_default() += 1;
            }
            FUTEX_WAKE => drop(self.locks.entry(address).or_default().wakes.insert(tid)),
            _ => {}
        }
    }

    pub fn end(&mut self, seconds: f64, lost: u64) {
        (self.seconds, self.lost) = (seconds, lost);
    }

    fn name(&self, number: i64) -> Option<&'static str> {
        let column = self.arch?;
        NUMBERS.iter().find(|(_, numbers)| numbers.get(column) == Some(&number)).map(|(name, _)| *name)
    }

    pub(crate) fn is_known(&self) -> bool {
        self.arch.is_some()
    }

    pub(crate) fn sleeps(&self, tid: u32) -> impl Iterator<Item = &str> {
        self.sleeps.iter().filter(move |(of, _)| *of == tid).map(|(_, sleep)| sleep.as_str())
    }

    /// Returns call rates, most frequent first: `clock_nanosleep 1000/s`.
    pub(crate) fn rates(&self, tid: u32) -> Vec<String> {
        let mut counted: Vec<(&i64, &u64)> =
            self.counts.iter().filter(|((of, _), _)| *of == tid).map(|((_, number), count)| (number, count)).collect();
        counted.arrange_by_key(|(number, count)| (std::cmp::Reverse(**count), **number));
        let rate = |count: u64| if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 };
        let shown = |number: &i64| self.name(*number).map_or_else(|| format!("call {number}"), str::to_owned);
        counted.into_iter().map(|(number, count)| format!("{} {:.1}/s", shown(number), rate(*count))).collect()
    }

    /// Returns the locks that a thread waited for. Each entry is true if the lock has priority inheritance, followed by
    /// the number of waits and the threads that released the lock.
    pub(crate) fn waited(&self, tid: u32) -> impl Iterator<Item = (bool, u64, &BTreeSet<u32>)> {
        self.locks.values().filter_map(move |lock| Some((lock.inherits, *lock.waits.get(&tid)?, &lock.wakes)))
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}

pub(crate) fn sleep(clock: u64, flags: u64) -> String {
    let clock = match clock {
        0 => "CLOCK_REALTIME".to_owned(),
        1 => "CLOCK_MONOTONIC".to_owned(),
        11 => "CLOCK_TAI".to_owned(),
        other => format!("clock {other}"),
    };
    format!("{clock} {}", if flags & 1 == 1 { "absolute" } else { "relative" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_number_stands_for_two_calls() {
        for column in 0..ARCHITECTURES.len() {
            let mut numbers: Vec<i64> =
                NUMBERS.iter().map(|(_, of)| of[column]).filter(|number| *number >= 0).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all);
        }
    }

    #[test]
    fn locks_are_told_from_condition_variables() {
        let mut calls = Calls::new("x86_64");
        calls.add(7, 202, &[0x10, 128, 2]);
        calls.add(7, 202, &[0x20, 128 | 9, 0]);
        calls.add(8, 202, &[0x10, 129, 1]);
        calls.add(7, 202, &[0x30, 128 | 6, 0]);
        calls.end(2.0, 0);
        let waited: Vec<_> = calls.waited(7).map(|(inherits, count, wakes)| (inherits, count, wakes.len())).collect();
        assert_eq!(waited, [(false, 1, 1), (true, 1, 0)]);
        assert_eq!((calls.waited(8).count(), calls.rates(7)), (0, vec!["futex 1.5/s".to_owned()]));
    }

    #[test]
    fn sleeps_are_named() {
        let mut calls = Calls::new("aarch64");
        calls.add(7, 115, &[1, 1]);
        calls.add(7, 101, &[]);
        assert_eq!(calls.sleeps(7).collect::<Vec<_>>(), ["CLOCK_MONOTONIC absolute", "CLOCK_MONOTONIC relative"]);
        assert!(!Calls::new("s390x").is_known());
    }

    proptest! {
        #[test]
        fn any_calls_are_answered(calls in proptest::collection::vec((0_u32..4, 0_i64..450, any::<[u64; 3]>()), 0..60)) {
            let mut all = Calls::new("x86_64");
            calls.iter().for_each(|(tid, number, arguments)| all.add(*tid, *number, arguments));
            prop_assert!((0..4).map(|tid| all.rates(tid).len()).sum::<usize>() <= calls.len());
        }
    }
}
