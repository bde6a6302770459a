//! Waits until interrupt threads have their real-time priority.

use punctual_uapi::scheduling;
use punctual_units::{Nanos, Scheduling};
use std::time::{Duration, Instant};

/// Waits, for at most `limit`, until the interrupt threads of all lines of this process are SCHED_FIFO. The request of
/// a line returns once such a thread has started, which is before it becomes FIFO 50 (irq_thread, kernel/irq/manage.c,
/// 6.12): until then it competes with ordinary threads, and edges in quick succession are coalesced. Returns `false` if
/// some threads are not ready, or none is found (in a container, or for a chip that polls).
///
/// Reads /proc and allocates.
pub fn settle(limit: Nanos) -> bool {
    let end = Instant::now() + Duration::from_nanos(limit.0);
    loop {
        let threads: Vec<i32> = irq_threads().collect();
        // A thread that has ended need not be waited for.
        let is_ready = |tid: &i32| matches!(scheduling(*tid), Ok((Scheduling::Fifo { .. }, _)) | Err(_));
        if !threads.is_empty() && threads.iter().all(is_ready) {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the thread IDs of the threads named `irq/N-punctual`, after the consumer name of the lines.
fn irq_threads() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let comm = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let is_ours = comm.starts_with("irq/") && comm.trim_end().ends_with("-punctual");
        entry.file_name().to_str()?.parse().ok().filter(|_| is_ours)
    })
}
