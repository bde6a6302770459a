/// `(system, name)`.
pub type EventSet = [(&'static str, &'static str)];

/// What following a wakeup's delay requires: who ran, who was woken, by which timer, in which interrupts, from which idle state. Six
/// of them lie between a timer and the thread it wakes on an idle CPU.
pub const MINIMAL: &EventSet = &[
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_pi_setprio"),
    ("sched", "sched_stat_runtime"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_expire_entry"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "local_timer_exit"),
    ("irq_vectors", "reschedule_entry"),
    ("irq_vectors", "reschedule_exit"),
    ("irq_vectors", "call_function_entry"),
    ("irq_vectors", "call_function_exit"),
    ("irq_vectors", "call_function_single_entry"),
    ("irq_vectors", "call_function_single_exit"),
    ("irq_vectors", "irq_work_entry"),
    ("irq_vectors", "irq_work_exit"),
    ("ipi", "ipi_entry"),
    ("ipi", "ipi_exit"),
    ("ipi", "ipi_raise"),
    ("ipi", "ipi_send_cpu"),
    ("ipi", "ipi_send_cpumask"),
    ("nmi", "nmi_handler"),
    ("power", "cpu_idle"),
];

/// [`MINIMAL`], and the ends of threads and timers, and frequencies.
pub const FULL: &EventSet = &[
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup_new"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_pi_setprio"),
    ("sched", "sched_stat_runtime"),
    ("sched", "sched_process_exit"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_cancel"),
    ("timer", "hrtimer_expire_entry"),
    ("timer", "hrtimer_expire_exit"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "local_timer_exit"),
    ("irq_vectors", "reschedule_entry"),
    ("irq_vectors", "reschedule_exit"),
    ("irq_vectors", "call_function_entry"),
    ("irq_vectors", "call_function_exit"),
    ("irq_vectors", "call_function_single_entry"),
    ("irq_vectors", "call_function_single_exit"),
    ("irq_vectors", "irq_work_entry"),
    ("irq_vectors", "irq_work_exit"),
    ("ipi", "ipi_entry"),
    ("ipi", "ipi_exit"),
    ("ipi", "ipi_raise"),
    ("ipi", "ipi_send_cpu"),
    ("ipi", "ipi_send_cpumask"),
    ("nmi", "nmi_handler"),
    ("power", "cpu_idle"),
    ("power", "cpu_frequency"),
];

/// Events of the osnoise and timerlat tracers besides their own lines: the sources of noise.
pub(crate) const NOISE: &EventSet = &[
    ("osnoise", "irq_noise"),
    ("osnoise", "softirq_noise"),
    ("osnoise", "nmi_noise"),
    ("osnoise", "thread_noise"),
    ("osnoise", "sample_threshold"),
];

/// What can take a CPU from a thread that never sleeps: other threads, and interrupts of every kind. No wakeups.
pub const INTERRUPTIONS: &EventSet = &[
    ("sched", "sched_switch"),
    ("sched", "sched_stat_runtime"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "local_timer_exit"),
    ("irq_vectors", "reschedule_entry"),
    ("irq_vectors", "reschedule_exit"),
    ("irq_vectors", "call_function_entry"),
    ("irq_vectors", "call_function_exit"),
    ("irq_vectors", "call_function_single_entry"),
    ("irq_vectors", "call_function_single_exit"),
    ("irq_vectors", "irq_work_entry"),
    ("irq_vectors", "irq_work_exit"),
    ("irq_vectors", "x86_platform_ipi_entry"),
    ("irq_vectors", "x86_platform_ipi_exit"),
    ("irq_vectors", "error_apic_entry"),
    ("irq_vectors", "error_apic_exit"),
    ("irq_vectors", "spurious_apic_entry"),
    ("irq_vectors", "spurious_apic_exit"),
    ("irq_vectors", "thermal_apic_entry"),
    ("irq_vectors", "thermal_apic_exit"),
    ("irq_vectors", "threshold_apic_entry"),
    ("irq_vectors", "threshold_apic_exit"),
    ("irq_vectors", "deferred_error_apic_entry"),
    ("irq_vectors", "deferred_error_apic_exit"),
    ("ipi", "ipi_entry"),
    ("ipi", "ipi_exit"),
    ("nmi", "nmi_handler"),
];

pub const SYSTEM_CALLS: &EventSet = &[("raw_syscalls", "sys_enter")];

/// Nothing can be explained without these.
pub(crate) const NEEDED: [&str; 2] = ["sched_switch", "sched_waking"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_set_holds_the_minimal_one_and_no_event_twice() {
        assert!(MINIMAL.iter().all(|event| FULL.contains(event)));
        for set in [MINIMAL, FULL, INTERRUPTIONS] {
            assert!(set.iter().enumerate().all(|(n, event)| !set[..n].contains(event)));
        }
        for set in [MINIMAL, FULL] {
            assert!(NEEDED.iter().all(|name| set.iter().any(|(_, event)| event == name)));
        }
    }
}
