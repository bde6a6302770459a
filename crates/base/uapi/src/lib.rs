//! Typed system calls that no safe library offers. Besides this crate, only `capi` and `queens` contain `unsafe`.
//!
//! Safe functions of rustix (clocks, sleeping, files) are used directly.

mod error;
mod firmware;
mod fork;
pub mod gpio;
mod group;
mod identity;
mod memory;
mod overrun;
mod perf;
mod queued;
mod rtc;
mod sched;
mod serial;
mod shared;
mod signal;
mod timer;
mod usage;

mod pi;
mod pool;

pub use error::Error;
pub use firmware::{gpu_temperature, parse_temperature, temperature_request};
pub use fork::copy_process;
pub use group::process_group;
pub use identity::{Assumed, Identity};
pub use memory::{
    keep_heap, lock, lock_addresses, lock_all, lock_program_data, lock_stack, one_heap, page_size, touch_stack, unlock,
};
pub use overrun::{Overruns, leave_overruns, overruns, watch_overruns};
pub use perf::{PerfAttr, PerfEvent, PerfRing};
pub use queued::{Origin, Taken, queue, take};
pub use rtc::set_update_interrupts;
pub use sched::{SchedFlags, affinity, scheduling, set_affinity, set_scheduling, set_scheduling_flags};
pub use serial::{Guard, Hardware, Port};
pub use shared::SharedWords;
pub use signal::{
    Sig, SignalSet, Waited, block, install_wakeup, is_ignored, unblock_all, wait, wake, with_all_blocked,
};
pub use timer::{PosixTimer, set_interval_timer};
pub use usage::{Usage, thread_usage};

pub use pi::{Acquired, Condvar, LockError, Mutex, MutexGuard, PiFutex, ThreadId, Woke};
pub use pool::{Block, Pool, PoolCounts};
