use rustix::time::{ClockId, clock_gettime};

/// Returns the time on CLOCK_MONOTONIC, ns.
pub(crate) fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// Returns the CPU time of all threads of this process (CLOCK_PROCESS_CPUTIME_ID), ns.
pub(crate) fn cpu_time() -> u64 {
    read(ClockId::ProcessCPUTime)
}

fn read(id: ClockId) -> u64 {
    let t = clock_gettime(id);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
