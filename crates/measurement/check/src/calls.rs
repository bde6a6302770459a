//! Classifies system calls by their effect on a real-time thread: section 2 of the manual.

#[macro_use]
mod numbers;

use crate::file::{File, FileKind};
pub use numbers::{EXIT_GROUP, filters, name};
use numbers::{Group, group};
use punctual_cycles::{Release, WaitCall};

/// The operation of futex(2), without its flags (FUTEX_CMD_MASK).
const FUTEX_COMMAND: u64 = 0x7f;

/// What may be wrong at a place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    PageFault,
    MajorFault,
    Allocation,
    MemoryMap,
    FileIo,
    SocketIo,
    Output,
    RelativeSleep,
    RealtimeClock,
    Yield,
    NewThread,
    /// A relative timeout that expired: if it releases the thread's cycles, the thread sleeps for relative times.
    Timeout,
    /// A futex without priority inheritance; the functions on the stack show whether it is a lock.
    Futex,
    /// A lock with priority inheritance, in the program or in the kernel. Waiting for it is allowed.
    Allowed,
    /// Any other wait.
    Blocking,
}

/// The information available when a system call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: i64,
    pub arguments: [u64; 6],
}

impl Call {
    /// Identifies the call by what it waits for (descriptor, futex word or clock), so that repeated waits are
    /// recognised.
    pub fn wait(&self) -> WaitCall {
        /// Values below this are descriptors; others are addresses, which may be on the stack.
        const DESCRIPTORS: u64 = 1 << 20;
        let [first, ..] = self.arguments;
        let masks = match group(self.number) {
            Some(Group::ClockNanosleep) => [u64::MAX, u64::MAX],
            // A condition variable has two adjacent words and alternates between them (pthread_cond_wait(3) of glibc).
            // The operation distinguishes a wait from a wake on the same word.
            Some(Group::Futex) => [!7, FUTEX_COMMAND],
            Some(Group::Nanosleep | Group::Yield | Group::Signal) => [0, 0],
            _ if first < DESCRIPTORS => [u64::MAX, 0],
            _ => [0, 0],
        };
        WaitCall::new(self.number, &self.arguments, masks)
    }
}

/// Meaning of a system call for a real-time thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The violation that the call constitutes even if the thread does not sleep; `None` if it constitutes none.
    pub always: Option<What>,
    /// The violation if the thread slept in the call within its cycle.
    pub if_slept: What,
    /// The kind of release that the thread waits for if it sleeps in the call.
    pub release: Release,
    /// The value that the call returns when its timeout expires, and the kind of release that this expiry is.
    pub timeout: Option<(i64, Release)>,
    /// The clock of the call's timeout (clock_gettime(2)), if the caller can choose it.
    pub clock: Option<i32>,
    /// True if the call sets a timerfd, or a timer that sends a signal.
    pub is_arming: bool,
    /// True if the call ends the thread.
    pub is_exit: bool,
    /// ID of the thread whose scheduling policy the call sets (0: the caller).
    pub sets_policy_of: Option<i32>,
    /// The file that the call accesses, as shown to the user.
    pub file: Option<String>,
    /// The descriptor that the call closes, whose number may be reused.
    pub closes: Option<i32>,
    /// Kind of file to which the descriptor that the call returns refers.
    pub opens: Option<FileKind>,
    /// True if a cycle may begin when the call returns, even if the thread did not sleep in the call.
    pub is_wait: bool,
    /// True if the timer slack applies to the call's timeout even in a real-time thread (before Linux 6.10), as with a
    /// futex.
    pub has_slack: bool,
}

impl Meaning {
    const NOTHING: Meaning = Meaning {
        always: None,
        if_slept: What::Blocking,
        release: Release::Descriptors,
        timeout: None,
        clock: None,
        is_arming: false,
        is_exit: false,
        sets_policy_of: None,
        file: None,
        closes: None,
        opens: None,
        is_wait: false,
        has_slack: false,
    };

    /// Classifies a call; `file` looks up a descriptor of the caller.
    pub fn of(call: &Call, file: &mut dyn FnMut(i32) -> Option<File>) -> Meaning {
        const MSG_DONTWAIT: u64 = 0x40;
        const AT_EMPTY_PATH: u64 = 0x1000;
        let [first, second, _, fourth, ..] = call.arguments;
        let nothing = Meaning::NOTHING;
        if [number!(SYS_exit), number!(SYS_exit_group)].contains(&call.number) {
            return Meaning { is_exit: true, ..nothing };
        }
        let Some(group) = group(call.number) else { return nothing };
        // A negative descriptor is refused.
        let descriptor = first as u32 as i32;
        let allowed = Meaning { if_slept: What::Allowed, ..Meaning::NOTHING };
        let always = |what: What| Meaning { always: Some(what), if_slept: what, ..Meaning::NOTHING };
        let meaning = match group {
            Group::Read => match file(descriptor) {
                Some(file) => {
                    let always = match file.kind {
                        FileKind::Disk => Some(What::FileIo),
                        FileKind::Socket if !file.is_nonblocking => Some(What::SocketIo),
                        FileKind::Timerfd { is_realtime: true } => Some(What::RealtimeClock),
                        _ => None,
                    };
                    // On PREEMPT_RT every call may sleep on a spinlock, whose owner inherits the priority.
                    let may_wait = if file.is_nonblocking { What::Allowed } else { What::Blocking };
                    let if_slept = always.unwrap_or(may_wait);
                    Meaning {
                        always,
                        if_slept,
                        release: file.release(),
                        file: Some(file.name).filter(|name| !name.is_empty()),
                        ..nothing
                    }
                }
                None => nothing,
            },
            Group::Write => match file(descriptor) {
                Some(file) => {
                    let always = match file.kind {
                        FileKind::Disk => Some(What::FileIo),
                        FileKind::Terminal => Some(What::Output),
                        FileKind::Pipe if !file.is_nonblocking => Some(What::Output),
                        FileKind::Socket if !file.is_nonblocking => Some(What::SocketIo),
                        _ => None,
                    };
                    let may_wait = match file.kind {
                        FileKind::Eventfd | FileKind::Memory => What::Allowed,
                        _ if file.is_nonblocking => What::Allowed,
                        _ => What::Blocking,
                    };
                    let if_slept = always.unwrap_or(may_wait);
                    Meaning {
                        always,
                        if_slept,
                        release: file.release(),
                        file: Some(file.name).filter(|name| !name.is_empty()),
                        ..nothing
                    }
                }
                None => nothing,
            },
            Group::File | Group::Disk => always(What::FileIo),
            Group::Open => Meaning { opens: Some(FileKind::Disk), ..always(What::FileIo) },
            Group::Stat(flags) if call.arguments[flags] & AT_EMPTY_PATH != 0 => allowed,
            Group::Stat(_) => always(What::FileIo),
            Group::Copy(other) => {
                let ends: Vec<File> =
                    [0, other].iter().filter_map(|n| file(call.arguments[*n] as u32 as i32)).collect();
                let of = |kind: FileKind| ends.iter().find(|end| end.kind == kind && !end.is_nonblocking);
                let kinds = [
                    (FileKind::Disk, What::FileIo),
                    (FileKind::Socket, What::SocketIo),
                    (FileKind::Pipe, What::Output),
                ];
                let found = kinds.into_iter().find_map(|(kind, what)| Some((of(kind)?.name.clone(), what)));
                found.map_or(nothing, |(name, what)| Meaning { file: Some(name), ..always(what) })
            }
            Group::New(kind) => Meaning { opens: Some(kind), ..allowed },
            Group::NewTimerfd => {
                Meaning { opens: Some(FileKind::Timerfd { is_realtime: matches!(first, 0 | 8) }), ..allowed }
            }
            Group::Sync => Meaning { file: file(descriptor).map(|file| file.name), ..always(What::FileIo) },
            Group::Socket(flags) => {
                let is_nonblocking =
                    call.arguments[flags] & MSG_DONTWAIT != 0 || file(descriptor).is_some_and(|f| f.is_nonblocking);
                Meaning { release: Release::Socket, ..if is_nonblocking { allowed } else { always(What::SocketIo) } }
            }
            Group::Connect => {
                let calls = [number!(SYS_socket), number!(SYS_accept), number!(SYS_accept4)];
                let opens = calls.contains(&call.number).then_some(FileKind::Socket);
                Meaning { release: Release::Socket, opens, ..always(What::SocketIo) }
            }
            Group::Memory => always(What::MemoryMap),
            Group::Thread => always(What::NewThread),
            Group::Poll => Meaning { timeout: Some((0, Release::RelativeSleep)), ..nothing },
            Group::Uring => Meaning { release: Release::Uring, ..nothing },
            Group::Arm => Meaning { is_arming: true, ..allowed },
            Group::Futex => futex(second, fourth),
            Group::Nanosleep => Meaning { release: Release::RelativeSleep, ..always(What::RelativeSleep) },
            Group::ClockNanosleep => {
                const TIMER_ABSTIME: u64 = 1;
                let is_real =
                    matches!(first as i32, libc::CLOCK_REALTIME | libc::CLOCK_TAI | libc::CLOCK_REALTIME_ALARM);
                let meaning = match (second & TIMER_ABSTIME != 0, is_real) {
                    (false, _) => Meaning { release: Release::RelativeSleep, ..always(What::RelativeSleep) },
                    (true, true) => Meaning { release: Release::AbsoluteSleep, ..always(What::RealtimeClock) },
                    (true, false) => Meaning { release: Release::AbsoluteSleep, ..nothing },
                };
                Meaning { clock: Some(first as i32), ..meaning }
            }
            Group::Yield => Meaning { release: Release::Deadline, ..always(What::Yield) },
            Group::Signal => {
                let timeout = Some((-i64::from(libc::EAGAIN), Release::RelativeSleep));
                Meaning { release: Release::Signal, timeout, ..nothing }
            }
            Group::Queue => {
                let timeout = Some((-i64::from(libc::ETIMEDOUT), Release::AbsoluteSleep));
                Meaning { release: Release::MessageQueue, timeout, ..nothing }
            }
            Group::Policy => Meaning { sets_policy_of: Some(descriptor), ..allowed },
            Group::Close => Meaning { closes: Some(descriptor), ..allowed },
            Group::Dup => Meaning { closes: Some(second as u32 as i32), ..allowed },
        };
        let is_wait = match group {
            Group::Read
            | Group::Poll
            | Group::Uring
            | Group::Nanosleep
            | Group::ClockNanosleep
            | Group::Yield
            | Group::Signal
            | Group::Queue => true,
            Group::Futex => meaning.if_slept == What::Futex,
            _ => false,
        };
        Meaning { is_wait, ..meaning }
    }
}

/// Classifies futex(2) by operation and timeout.
fn futex(operation: u64, timeout: u64) -> Meaning {
    const FUTEX_CLOCK_REALTIME: u64 = 256;
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    let is_real = operation & FUTEX_CLOCK_REALTIME != 0 && timeout != 0;
    let nothing = Meaning { release: Release::Futex, ..Meaning::NOTHING };
    match operation & FUTEX_COMMAND {
        WAIT | WAIT_BITSET => {
            let (always, has_slack) = (is_real.then_some(What::RealtimeClock), timeout != 0);
            // The timeout of FUTEX_WAIT is relative.
            let kind = if operation & FUTEX_COMMAND == WAIT { Release::RelativeSleep } else { Release::AbsoluteSleep };
            let timeout = Some((-i64::from(libc::ETIMEDOUT), kind));
            Meaning { always, if_slept: What::Futex, has_slack, timeout, ..nothing }
        }
        // This covers FUTEX_LOCK_PI and similar, whose owner inherits the priority, and operations that do not wait.
        _ => Meaning { if_slept: What::Allowed, ..nothing },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn meaning(number: i64, arguments: [u64; 6], file: Option<(&str, &str)>) -> Meaning {
        let call = Call { number, arguments };
        Meaning::of(&call, &mut |_| file.map(|(name, info)| File::of(name, info)))
    }

    #[test]
    fn calls_that_may_sleep_are_found_by_what_they_work_on() {
        let disk = Some(("/var/log/app.log", ""));
        assert_eq!(meaning(number!(SYS_write), [3, 0, 0, 0, 0, 0], disk).always, Some(What::FileIo));
        assert_eq!(meaning(number!(SYS_write), [3, 0, 0, 0, 0, 0], Some(("anon_inode:[eventfd]", ""))).always, None);
        assert_eq!(meaning(number!(SYS_sendto), [3, 0, 0, 0x40, 0, 0], Some(("socket:[1]", ""))).always, None);
        assert_eq!(
            meaning(number!(SYS_sendto), [3, 0, 0, 0, 0, 0], Some(("socket:[1]", ""))).always,
            Some(What::SocketIo)
        );
        assert_eq!(meaning(number!(SYS_clock_nanosleep), [1, 1, 0, 0, 0, 0], None).always, None);
        assert_eq!(meaning(number!(SYS_clock_nanosleep), [1, 0, 0, 0, 0, 0], None).always, Some(What::RelativeSleep));
        assert_eq!(meaning(number!(SYS_clock_nanosleep), [0, 1, 0, 0, 0, 0], None).always, Some(What::RealtimeClock));
        assert_eq!(meaning(number!(SYS_futex), [0, 0x80, 2, 0, 0, 0], None).if_slept, What::Futex);
        assert_eq!(meaning(number!(SYS_futex), [0, 0x86, 2, 0, 0, 0], None).if_slept, What::Allowed);
        assert_eq!(meaning(number!(SYS_futex), [0, 0x81, 1, 0, 0, 0], None).if_slept, What::Allowed);
        assert_eq!(meaning(number!(SYS_futex), [0, 0x189, 2, 99, 0, 0], None).always, Some(What::RealtimeClock));
        assert_eq!(meaning(number!(SYS_futex), [0, 0x189, 2, 0, 0, 0], None).always, None);
        assert_eq!(meaning(number!(SYS_sched_setscheduler), [42, 0, 0, 0, 0, 0], None).sets_policy_of, Some(42));
        assert_eq!(name(number!(SYS_write)), "write(2)");
        assert_eq!(name(number!(SYS_wait4)), "wait4(2)");
        assert_eq!(name(99_999), "system call 99999");
    }

    proptest! {
        #[test]
        fn any_call_is_answered(number in -5i64..500, arguments: [u64; 6], name in "(/dev/|anon_inode:|socket:)?\\PC{0,20}", info in "(flags:|clockid:)?\\PC{0,20}") {
            let _ = Meaning::of(&Call { number, arguments }, &mut |_| Some(File::of(&name, &info)));
        }
    }
}
