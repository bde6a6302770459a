//! The events that are recorded, and what their records contain.

use crate::calls::Call;
use punctual_perf::Tracepoint;
use std::path::Path;

/// Bytes of stack with every record: usually enough for the function that is to blame.
pub const SMALL_STACK: u32 = 2048;
/// Bytes of stack with the records that are enabled for a while when the small copy was too short.
pub const DEEP_STACK: u32 = 32 << 10;
/// Bit of the tags of the latter.
pub const DEEP: u32 = 1 << 16;

/// Functions that allocate: of the C library, jemalloc, mimalloc, tcmalloc, also with the prefixes of their Rust crates.
pub const ALLOCATORS: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "je_malloc",
    "je_free",
    "je_calloc",
    "je_realloc",
    "_rjem_malloc",
    "_rjem_mallocx",
    "_rjem_free",
    "_rjem_sdallocx",
    "_rjem_calloc",
    "_rjem_realloc",
    "_rjem_rallocx",
    "mi_malloc",
    "mi_malloc_aligned",
    "mi_free",
    "mi_calloc",
    "mi_realloc",
    "mi_realloc_aligned",
    "mi_zalloc_aligned",
    "tc_malloc",
    "tc_free",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Enter,
    Exit,
    /// Begin of a page fault.
    Fault,
    Minor,
    Major,
    Waking,
    Probe,
}

pub const TASKS: u32 = 0;
pub const ENTER: u32 = 1;
pub const EXIT: u32 = 2;
pub const FAULT: u32 = 3;
pub const MINOR: u32 = 4;
pub const MAJOR: u32 = 5;
pub const WAKING: u32 = 6;
/// sched_switch of the whole machine.
pub const SWITCHES: u32 = 7;
/// The function at which real-time work begins.
pub const MARK: u32 = 8;
pub const PROBES: u32 = 16;

/// What the tags of events mean, and the layout of their records.
#[derive(Debug, Default)]
pub struct Tags {
    pub enter: Option<Tracepoint>,
    pub exit: Option<Tracepoint>,
    pub waking: Option<Tracepoint>,
    /// Names of probed functions.
    pub probes: Vec<String>,
}

impl Tags {
    /// The tracepoints of this kernel.
    pub fn find(tracefs: Option<&Path>) -> Tags {
        let find = |system: &str, name: &str| tracefs.and_then(|root| Tracepoint::find(root, system, name));
        Tags {
            enter: find("raw_syscalls", "sys_enter"),
            exit: find("raw_syscalls", "sys_exit"),
            waking: find("sched", "sched_waking"),
            probes: Vec::new(),
        }
    }

    pub fn kind(&self, tag: u32) -> Kind {
        match tag {
            ENTER => Kind::Enter,
            EXIT => Kind::Exit,
            FAULT => Kind::Fault,
            MINOR => Kind::Minor,
            MAJOR => Kind::Major,
            WAKING => Kind::Waking,
            _ => Kind::Probe,
        }
    }

    pub fn call(&self, raw: &[u8]) -> Option<Call> {
        let format = &self.enter.as_ref()?.format;
        let mut arguments = [0; 6];
        for (n, argument) in arguments.iter_mut().enumerate() {
            *argument = format.element("args", n, 6, raw)?;
        }
        Some(Call { number: signed(format.number("id", raw)?), arguments })
    }

    /// What a system call returned.
    pub fn result(&self, raw: &[u8]) -> Option<i64> {
        self.exit.as_ref()?.format.number("ret", raw).map(signed)
    }

    /// The woken thread, its kernel priority, and the flags of where it was woken.
    pub fn waking(&self, raw: &[u8]) -> Option<(i32, i32, u64)> {
        let format = &self.waking.as_ref()?.format;
        let number = |name: &str| format.number(name, raw);
        Some((number("pid")? as u32 as i32, number("prio")? as u32 as i32, number("common_flags")?))
    }

    pub fn probe_name(&self, tag: u32) -> Option<String> {
        self.probes.get(tag.checked_sub(PROBES)? as usize).cloned()
    }
}

/// The value of a `long`.
fn signed(value: u64) -> i64 {
    match size_of::<usize>() {
        8 => value as i64,
        _ => i64::from(value as u32 as i32),
    }
}
