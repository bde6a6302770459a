//! The kernel's interrupt threads, `irq/NN-name`, whose priority determines the order in which devices are served.

use punctual_uapi as uapi;
use punctual_units::{Priority, Scheduling};
use std::fs;

/// Why the priority of an interrupt's threads could not be set.
#[derive(thiserror::Error)]
pub enum IrqThreadError {
    /// The interrupt has no thread.
    #[error(
        "interrupt {0} has no thread: it is not requested (see /proc/interrupts), or interrupts are not threaded (boot with \
         threadirqs, or a PREEMPT_RT kernel)"
    )]
    None(u32),
    /// The threads cannot be listed from /proc.
    #[error("cannot list the threads of interrupt {irq}: {source}")]
    List {
        /// Interrupt number.
        irq: u32,
        /// Error of reading /proc.
        source: std::io::Error,
    },
    /// The kernel refuses the priority.
    #[error("interrupt {irq}: cannot set the priority of thread {pid}: {source}; run as root")]
    Refused {
        /// Interrupt number.
        irq: u32,
        /// Thread id.
        pid: i32,
        /// Error of the system call.
        source: uapi::Error,
    },
}

/// Interrupt threads whose priority was changed. Dropping the value restores the old priorities.
#[derive(Debug)]
#[must_use = "the priority is restored when this is dropped"]
pub struct IrqThreads(Vec<(i32, Scheduling, bool)>);

impl IrqThreads {
    /// Gives every thread of interrupt `irq` this SCHED_FIFO priority. It should be lower than that of tasks that the
    /// interrupt must not delay, and at least that of tasks that wait for the interrupt. Needs CAP_SYS_NICE. A program
    /// that is killed does not restore the priority; `punctual audit --fix irq-thread-priority` makes a journalled
    /// change.
    ///
    /// # Errors
    /// [`IrqThreadError`]; threads changed before the error are restored.
    pub fn set(irq: u32, priority: Priority) -> Result<IrqThreads, IrqThreadError> {
        let mut changed = IrqThreads(Vec::new());
        for pid in threads(irq).map_err(|source| IrqThreadError::List { irq, source })? {
            let refused = |source| IrqThreadError::Refused { irq, pid, source };
            let (before, reset) = uapi::scheduling(pid).map_err(refused)?;
            uapi::set_scheduling(pid, Scheduling::Fifo { priority }, reset).map_err(refused)?;
            changed.0.push((pid, before, reset));
        }
        if changed.0.is_empty() { Err(IrqThreadError::None(irq)) } else { Ok(changed) }
    }

    /// Returns the IDs of the threads whose priority was changed.
    pub fn pids(&self) -> Vec<i32> {
        self.0.iter().map(|(pid, ..)| *pid).collect()
    }
}

impl Drop for IrqThreads {
    fn drop(&mut self) {
        for (pid, before, reset) in &self.0 {
            // The thread may have ended; then there is nothing to restore.
            let _ = uapi::set_scheduling(*pid, *before, *reset);
        }
    }
}

/// Returns the IDs of the kernel threads named `irq/NN-…`, including secondary threads (`irq/NN-s-…`).
fn threads(irq: u32) -> std::io::Result<Vec<i32>> {
    let of = |name: &str| {
        name.strip_prefix("irq/").and_then(|rest| rest.split_once('-')).is_some_and(|(n, _)| n == irq.to_string())
    };
    let pids = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    Ok(pids.filter(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| of(name.trim()))).collect())
}

punctual_units::debug_as_display!(IrqThreadError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_without_thread_is_reported() {
        let error = IrqThreads::set(4_000_000, Priority::try_from(50).unwrap()).unwrap_err();
        assert!(error.to_string().contains("has no thread"), "{error}");
    }
}
