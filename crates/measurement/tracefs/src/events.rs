/// A set of trace events, each as system and name.
pub type EventSet = [(&'static str, &'static str)];

/// Context switches, wakeups, the timers that cause them, and events that show what threads wait for.
const WAKEUPS: &EventSet = &[
    ("sched", "sched_switch"),
    ("sched", "sched_stat_runtime"),
    ("sched", "sched_waking"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_pi_setprio"),
    // Available since Linux 5.19; recorded for contended locks only.
    ("lock", "contention_begin"),
    ("lock", "contention_end"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_expire_entry"),
    ("ipi", "ipi_raise"),
    ("ipi", "ipi_send_cpu"),
    ("ipi", "ipi_send_cpumask"),
    ("power", "cpu_idle"),
];

const INTERRUPTS: &EventSet = &[
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
    ("nmi", "nmi_handler"),
];

/// Events needed to follow a wakeup from its cause: context switches, wakeups, timers, interrupts and idle states. A
/// timer that wakes a thread on an idle CPU produces six events.
pub const MINIMAL: &EventSet = &joined::<{ WAKEUPS.len() + INTERRUPTS.len() }>(WAKEUPS, INTERRUPTS);

const ENDS: &EventSet = &[
    ("sched", "sched_wakeup_new"),
    ("sched", "sched_process_exit"),
    ("timer", "hrtimer_cancel"),
    ("timer", "hrtimer_expire_exit"),
    ("power", "cpu_frequency"),
];

/// [`MINIMAL`], plus first wakeups and exits of threads, ends of timers, and frequency changes.
pub const FULL: &EventSet = &joined::<{ MINIMAL.len() + ENDS.len() }>(MINIMAL, ENDS);

/// Events that delimit and explain the cycles of a thread: system calls, and [`MINIMAL`] without the CPU time of every
/// thread, which would double the number of events.
pub const CYCLES: &EventSet = &joined::<{ CALLS.len() + INTERRUPTS.len() }>(CALLS, INTERRUPTS);

const CALLS: &EventSet = &[
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_pi_setprio"),
    ("lock", "contention_begin"),
    ("lock", "contention_end"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_expire_entry"),
    ("timer", "hrtimer_expire_exit"),
    ("ipi", "ipi_raise"),
    ("ipi", "ipi_send_cpu"),
    ("ipi", "ipi_send_cpumask"),
    ("power", "cpu_idle"),
];

const fn joined<const N: usize>(first: &EventSet, second: &EventSet) -> [(&'static str, &'static str); N] {
    let mut all = [("", ""); N];
    let mut n = 0;
    while n < N {
        all[n] = if n < first.len() { first[n] } else { second[n - first.len()] };
        n += 1;
    }
    all
}

/// Events of the osnoise and timerlat tracers that identify sources of operating system noise.
pub(crate) const NOISE: &EventSet = &[
    ("osnoise", "irq_noise"),
    ("osnoise", "softirq_noise"),
    ("osnoise", "nmi_noise"),
    ("osnoise", "thread_noise"),
    ("osnoise", "sample_threshold"),
];

/// Context switches, and interrupt vectors that normally do not affect a wakeup.
const STRAYS: &EventSet = &[
    ("sched", "sched_switch"),
    ("sched", "sched_stat_runtime"),
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
];

/// Events that show what can take a CPU from a thread that never sleeps: other threads and all kinds of interrupts.
/// They do not include wakeups.
pub const INTERRUPTIONS: &EventSet = &joined::<{ INTERRUPTS.len() + STRAYS.len() }>(INTERRUPTS, STRAYS);

/// Events that show when preemption or interrupts are disabled, what interrupts do, and what wakes (ADR 48). The first
/// five are indispensable. Only kernels with CONFIG_PREEMPTIRQ_TRACEPOINTS have the system preemptirq.
pub const SECTIONS: &EventSet = &[
    ("preemptirq", "irq_disable"),
    ("preemptirq", "irq_enable"),
    ("preemptirq", "preempt_disable"),
    ("preemptirq", "preempt_enable"),
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_pi_setprio"),
    ("power", "cpu_idle"),
    ("irq", "irq_handler_entry"),
    ("ipi", "ipi_entry"),
    ("nmi", "nmi_handler"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "reschedule_entry"),
    ("irq_vectors", "call_function_entry"),
    ("irq_vectors", "call_function_single_entry"),
    ("irq_vectors", "irq_work_entry"),
    ("irq_vectors", "x86_platform_ipi_entry"),
    ("irq_vectors", "error_apic_entry"),
    ("irq_vectors", "spurious_apic_entry"),
    ("irq_vectors", "thermal_apic_entry"),
    ("irq_vectors", "threshold_apic_entry"),
    ("irq_vectors", "deferred_error_apic_entry"),
];

pub const SYSTEM_CALLS: &EventSet = &[("raw_syscalls", "sys_enter")];

/// Events without which no wakeup can be explained.
pub(crate) const NEEDED: [&str; 2] = ["sched_switch", "sched_waking"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_set_holds_an_event_twice_and_each_has_what_is_needed() {
        for set in [MINIMAL, FULL, CYCLES, INTERRUPTIONS, SECTIONS] {
            assert!(set.iter().enumerate().all(|(n, event)| !set[..n].contains(event)));
        }
        for set in [MINIMAL, FULL] {
            assert!(NEEDED.iter().all(|name| set.iter().any(|(_, event)| event == name)));
        }
    }
}
