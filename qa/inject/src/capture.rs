//! Records injections in a tracefs instance, as text. This file is the only one that depends on how they are recorded.

use crate::InjectError;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const TRACEFS: &str = "/sys/kernel/tracing";
/// Buffer size per CPU, KiB.
const BUFFER_KIB: &str = "24576";

/// The events to record. Events that the kernel does not have are skipped.
const EVENTS: &[&str] = &[
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup",
    "sched/sched_migrate_task",
    "sched/sched_pi_setprio",
    "sched/sched_stat_runtime",
    "timer/hrtimer_start",
    "timer/hrtimer_cancel",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "irq_vectors/reschedule_entry",
    "irq_vectors/reschedule_exit",
    "irq_vectors/call_function_entry",
    "irq_vectors/call_function_exit",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/call_function_single_exit",
    "irq_vectors/irq_work_entry",
    "irq_vectors/irq_work_exit",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
    "ipi/ipi_raise",
    "ipi/ipi_send_cpu",
    "ipi/ipi_send_cpumask",
    "nmi/nmi_handler",
    "lock/contention_begin",
    "lock/contention_end",
    "power/cpu_idle",
    "preemptirq",
];

/// Records one injection after the other. Events are enabled once instead of for every injection, because the kernel
/// patches its own code each time, which emulators with several CPUs do not always survive. The instance is removed on
/// drop.
#[derive(Debug)]
pub struct Recorder {
    instance: PathBuf,
}

impl Recorder {
    /// Creates the instance without starting to record.
    ///
    /// # Errors
    /// tracefs is not mounted or cannot be written.
    pub fn new() -> Result<Recorder, InjectError> {
        let instance = Path::new(TRACEFS).join("instances/punctual-inject");
        // Left by a process that was killed.
        let _ = fs::remove_dir(&instance);
        fs::create_dir(&instance).map_err(InjectError::at(format!("make {}", instance.display())))?;
        let recorder = Recorder { instance };
        recorder.set("tracing_on", "0")?;
        recorder.set("trace_clock", "mono")?;
        recorder.set("buffer_size_kb", BUFFER_KIB)?;
        for event in EVENTS {
            let file = format!("events/{event}/enable");
            if recorder.instance.join(&file).exists() {
                recorder.set(&file, "1")?;
            }
        }
        Ok(recorder)
    }

    /// Starts recording with an empty buffer.
    pub(crate) fn begin(&self) -> Result<(), InjectError> {
        self.set("trace", "")?;
        self.set("tracing_on", "1")
    }

    /// Stops recording and copies the trace to `file`.
    pub(crate) fn end(&self, file: &Path) -> Result<(), InjectError> {
        self.set("tracing_on", "0")?;
        let trace = self.instance.join("trace");
        fs::copy(&trace, file).map_err(InjectError::at(format!("copy {} to {}", trace.display(), file.display())))?;
        Ok(())
    }

    fn set(&self, file: &str, value: &str) -> Result<(), InjectError> {
        let path = self.instance.join(file);
        fs::write(&path, value).map_err(InjectError::at(format!("write {value} to {}", path.display())))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir(&self.instance) {
            eprintln!("punctual-inject: cannot remove {}: {e}", self.instance.display());
        }
    }
}
