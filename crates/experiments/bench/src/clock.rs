use rustix::time::{ClockId, clock_gettime};

/// Current time of CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// CPU time of all threads of the process (CLOCK_PROCESS_CPUTIME_ID) in nanoseconds.
pub(crate) fn cpu_time() -> u64 {
    read(ClockId::ProcessCPUTime)
}

fn read(id: ClockId) -> u64 {
    let t = clock_gettime(id);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
