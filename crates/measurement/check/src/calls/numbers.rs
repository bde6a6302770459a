//! The numbers of system calls, in groups of equal effect.

use crate::file::FileKind;
use std::ffi::CString;
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The call reads from the descriptor in argument 0, or waits for it.
    Read,
    /// The call writes to the descriptor in argument 0.
    Write,
    /// Accesses a path or file, usually on a disk.
    File,
    /// Like `File`; returns a descriptor.
    Open,
    /// Like `File`, unless this argument has the flag AT_EMPTY_PATH: then the call refers to an open file.
    Stat(usize),
    /// Copies between the descriptors in argument 0 and this one.
    Copy(usize),
    /// Writes to a disk and may wait for it, depending on flags: msync(2).
    Disk,
    /// Returns a descriptor of this kind.
    New(FileKind),
    NewTimerfd,
    /// Syncs or resizes the file in argument 0, or does something similar.
    Sync,
    /// Sends or receives; the flags are in argument 3 (argument 2 for sendmsg and recvmsg).
    Socket(usize),
    Connect,
    Memory,
    Thread,
    Poll,
    Futex,
    Uring,
    Arm,
    Nanosleep,
    ClockNanosleep,
    Yield,
    Signal,
    Queue,
    Policy,
    Close,
    Dup,
}

/// `c_long` has 32 bits on 32-bit architectures.
macro_rules! number {
    ($call:ident) => {
        libc::$call as i64
    };
}

/// Number of exit_group(2).
pub const EXIT_GROUP: i64 = number!(SYS_exit_group);

macro_rules! table {
    ($($group:expr => $($call:ident)+;)+) => {
        &[$($((number!($call), $group),)+)+]
    };
}

/// System calls that every architecture has.
const COMMON: &[(i64, Group)] = table! {
    Group::Read => SYS_read SYS_readv SYS_pread64 SYS_preadv SYS_preadv2;
    Group::Write => SYS_write SYS_writev SYS_pwrite64 SYS_pwritev SYS_pwritev2;
    Group::Open => SYS_openat SYS_openat2;
    Group::File => SYS_readlinkat SYS_unlinkat SYS_mkdirat SYS_renameat2 SYS_faccessat SYS_linkat SYS_symlinkat SYS_fchmodat
        SYS_fchownat SYS_utimensat SYS_truncate SYS_statfs SYS_chdir SYS_getdents64 SYS_sync;
    Group::Stat(2) => SYS_statx;
    Group::Sync => SYS_fsync SYS_fdatasync SYS_ftruncate SYS_fallocate SYS_syncfs SYS_readahead;
    Group::Copy(1) => SYS_sendfile;
    Group::Copy(2) => SYS_splice SYS_copy_file_range;
    Group::Socket(3) => SYS_sendto SYS_recvfrom SYS_sendmmsg SYS_recvmmsg;
    Group::Socket(2) => SYS_sendmsg SYS_recvmsg;
    Group::Connect => SYS_socket SYS_connect SYS_bind SYS_accept4 SYS_accept;
    Group::New(FileKind::Eventfd) => SYS_eventfd2;
    Group::New(FileKind::Epoll) => SYS_epoll_create1;
    Group::New(FileKind::Memory) => SYS_memfd_create;
    Group::NewTimerfd => SYS_timerfd_create;
    Group::Memory => SYS_munmap SYS_mremap SYS_mprotect SYS_brk SYS_madvise SYS_mlock SYS_mlockall SYS_munlock SYS_munlockall
        SYS_mlock2 SYS_pkey_mprotect SYS_shmat SYS_shmdt;
    Group::Disk => SYS_msync;
    Group::Thread => SYS_clone SYS_clone3 SYS_execve SYS_execveat;
    Group::Poll => SYS_ppoll SYS_pselect6 SYS_epoll_pwait SYS_epoll_pwait2;
    Group::Uring => SYS_io_uring_enter;
    Group::Arm => SYS_timerfd_settime SYS_timer_settime SYS_setitimer;
    Group::Futex => SYS_futex;
    Group::Nanosleep => SYS_nanosleep;
    Group::ClockNanosleep => SYS_clock_nanosleep;
    Group::Yield => SYS_sched_yield;
    Group::Signal => SYS_rt_sigtimedwait SYS_rt_sigsuspend;
    Group::Queue => SYS_mq_timedreceive SYS_mq_timedsend;
    Group::Policy => SYS_sched_setscheduler SYS_sched_setparam SYS_sched_setattr;
    Group::Close => SYS_close;
    Group::Dup => SYS_dup3;
};

/// Calls that arm64 does not have.
#[cfg(not(target_arch = "aarch64"))]
const OLD: &[(i64, Group)] = table! {
    Group::Open => SYS_open SYS_creat;
    Group::File => SYS_stat SYS_lstat SYS_access SYS_readlink SYS_unlink SYS_mkdir SYS_rmdir SYS_rename SYS_renameat SYS_link
        SYS_symlink SYS_chmod SYS_chown SYS_lchown SYS_utimes SYS_getdents;
    Group::Poll => SYS_poll SYS_epoll_wait;
    Group::Thread => SYS_fork SYS_vfork;
    Group::Signal => SYS_pause;
    Group::Dup => SYS_dup2;
};
#[cfg(target_arch = "aarch64")]
const OLD: &[(i64, Group)] = &[];

#[cfg(target_pointer_width = "64")]
const WIDE: &[(i64, Group)] = table! {
    Group::Memory => SYS_mmap;
    Group::Stat(3) => SYS_newfstatat;
};
/// Additional calls with 64-bit times, which have the same numbers on every 32-bit architecture
/// (include/uapi/asm-generic/unistd.h) and no constant in libc.
#[cfg(target_pointer_width = "32")]
const WIDE: &[(i64, Group)] = &[
    (number!(SYS_mmap2), Group::Memory),
    (number!(SYS_fstatat64), Group::Stat(3)),
    (407, Group::ClockNanosleep),
    (409, Group::Arm),
    (411, Group::Arm),
    (413, Group::Poll),
    (414, Group::Poll),
    (418, Group::Queue),
    (419, Group::Queue),
    (421, Group::Signal),
    (422, Group::Futex),
];

#[cfg(target_arch = "x86_64")]
const OLD_64: &[(i64, Group)] = table! {
    Group::Poll => SYS_select;
};
#[cfg(not(target_arch = "x86_64"))]
const OLD_64: &[(i64, Group)] = &[];

pub(super) fn group(number: i64) -> Option<Group> {
    let tables = [COMMON, OLD, WIDE, OLD_64];
    tables.into_iter().flatten().find(|(n, _)| *n == number).map(|(_, group)| *group)
}

/// Returns filters of raw_syscalls:sys_enter for the calls that map memory, open files or start threads and programs,
/// and for all others. They are rarer than the others, and often made far below the program's own functions.
pub fn filters() -> &'static [CString; 2] {
    static FILTERS: OnceLock<[CString; 2]> = OnceLock::new();
    FILTERS.get_or_init(|| {
        let is_rare = |group: Group| matches!(group, Group::Memory | Group::Open | Group::Thread);
        let all = [COMMON, OLD, WIDE, OLD_64].into_iter().flatten();
        let mut numbers: Vec<i64> = all.filter(|(_, group)| is_rare(*group)).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let ranges =
            numbers.chunk_by(|one, next| one + 1 == *next).filter_map(|range| Some((range.first()?, range.last()?)));
        let (within, beyond): (Vec<String>, Vec<String>) = ranges
            .map(|(first, last)| (format!("(id >= {first} && id <= {last})"), format!("(id < {first} || id > {last})")))
            .unzip();
        // Texts of numbers contain no NUL.
        [within.join(" || "), beyond.join(" && ")].map(|text| CString::new(text).unwrap_or_default())
    })
}

/// Name of a call, for example `write(2)`.
pub fn name(number: i64) -> String {
    let known = syscall_numbers::native::sys_call_name(number as _);
    known.map_or_else(|| format!("system call {number}"), |name| format!("{name}(2)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_calls_and_the_others_have_filters() {
        let [rare, others] = filters().each_ref().map(|filter| filter.to_str().unwrap());
        let holds = |filter: &str, number: i64| {
            // Of the terms, each is a range in parentheses.
            let terms = |between: &str| filter.split(between).map(str::to_owned).collect::<Vec<_>>();
            let numbers =
                |term: &str| -> Vec<i64> { term.split([' ', '(', ')']).filter_map(|word| word.parse().ok()).collect() };
            let is_rare = terms(if filter.contains(">=") { ") || (" } else { ") && (" })
                .iter()
                .any(|term| (numbers(term)[0]..=numbers(term)[1]).contains(&number));
            is_rare == filter.contains(">=")
        };
        for (number, is_rare) in [
            (number!(SYS_munmap), true),
            (number!(SYS_openat), true),
            (number!(SYS_clone), true),
            (number!(SYS_write), false),
            (number!(SYS_futex), false),
        ] {
            assert_eq!((holds(rare, number), holds(others, number)), (is_rare, !is_rare), "{number}: {rare}; {others}");
        }
        assert!(rare.len() < 4_000 && others.len() < 4_000);
    }

    #[test]
    fn no_number_is_listed_twice() {
        let all: Vec<i64> = [COMMON, OLD, WIDE, OLD_64].into_iter().flatten().map(|(n, _)| *n).collect();
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
    }
}
