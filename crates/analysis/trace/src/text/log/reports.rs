//! The reports of lateness that the kernel's log may contain, and what each means.

/// What follows the first line of a report in the kernel's log.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Below {
    Nothing,
    /// The stack of the CPU that does not handle an IPI (kernel/smp.c).
    Ipi,
    /// The stack of the thread or CPU that the report names.
    Stack,
    /// The owner of the lock and the stack of the CPU that waits for it (kernel/locking/spinlock_debug.c).
    Spinlock,
    /// The stacks of RCU's own kthread and of the stalled CPUs (kernel/rcu/tree_stall.h).
    Rcu,
    /// The busy workers of all pools (kernel/workqueue.c, show_all_workqueues).
    Pools,
    /// Nothing; the line itself contains the pending softirqs as a hexadecimal number.
    Softirqs,
    /// Nothing; there may be several such lines, each with its own culprit.
    Each,
    /// The handlers of the interrupt (kernel/irq/spurious.c).
    Handlers,
    /// The lock that was to be taken, and the locks that were held (kernel/locking/lockdep.c).
    Locks,
    /// The threads of each CPU (kernel/sched/ext.c, scx_dump_state).
    Queues,
    /// The readings of both clocks (kernel/time/clocksource.c).
    Clocks,
}

pub(super) struct Report {
    pub mark: &'static str,
    /// The text before the report's value; of several reports of this type, the one with the largest value counts.
    pub figure: Option<&'static str>,
    pub means: &'static str,
    pub below: Below,
}

impl Report {
    /// True for an error in the kernel's code that keeps threads waiting from then on.
    pub fn is_error(&self) -> bool {
        ["rtmutex deadlock detected", "scheduling while atomic"].contains(&self.mark)
    }
}

const fn report(mark: &'static str, figure: Option<&'static str>, below: Below, means: &'static str) -> Report {
    Report { mark, figure, means, below }
}

/// The report of a hung task (kernel/hung_task.c).
pub(super) const BLOCKED: &str = "blocked for more than";

/// Reports of lateness, the most decisive first.
pub(super) const REPORTS: &[Report] = &[
    report("hard LOCKUP", None, Below::Stack, "no timer interrupt ran on that CPU for seconds"),
    report("Hard LOCKUP", None, Below::Stack, "no timer interrupt ran on that CPU for seconds"),
    // Up to Linux 2.6.37.
    report("Watchdog detected LOCKUP on CPU", None, Below::Stack, "no timer interrupt ran on that CPU for seconds"),
    report(
        "soft lockup - CPU#",
        Some("stuck for "),
        Below::Stack,
        "that CPU switched to no other thread for that long: the kernel did not allow a switch, or the CPU itself was stopped",
    ),
    // Up to Linux 2.6.24.
    report(
        "soft lockup detected on CPU#",
        None,
        Below::Stack,
        "that CPU switched to no other thread for seconds: the kernel did not allow a switch, or the CPU itself was stopped",
    ),
    report(
        "spinlock lockup suspected on CPU#",
        None,
        Below::Spinlock,
        "that CPU waited for a spinlock for about a second",
    ),
    report(BLOCKED, None, Below::Stack, "that thread slept uninterruptibly for that long: it did not wait for a CPU"),
    report(
        "RT throttling activated",
        None,
        Below::Nothing,
        "real-time threads had used up their share and had to wait; the line names neither thread nor CPU (rule sched-rt-throttle)",
    ),
    report("self-detected stall on CPU", None, Below::Rcu, "that CPU passed through no quiescent state"),
    report(
        "detected stalls on CPUs/tasks",
        None,
        Below::Rcu,
        "a CPU or a preempted reader passed through no quiescent state",
    ),
    report(
        "detected expedited stalls on CPUs",
        None,
        Below::Rcu,
        "a CPU or a preempted reader passed through no quiescent state",
    ),
    report(
        "detected stalls on tasks",
        None,
        Below::Rcu,
        "those tasks made no voluntary context switch, for which Tasks RCU waits",
    ),
    report(
        "workqueue lockup - pool",
        Some("stuck for "),
        Below::Pools,
        "work that was pending for that CPU or pool did not start for that long",
    ),
    // kernel/smp.c, csd_lock_wait_toolong.
    report(
        "non-responsive CSD lock",
        None,
        Below::Ipi,
        "that CPU waits for the other CPU in the line to handle an IPI",
    ),
    report(
        "CSD lock (#",
        Some("waiting "),
        Below::Nothing,
        "a CPU waits for another CPU to handle an IPI: the line does not show what the other CPU ran",
    ),
    // kernel/sched/ext.c, scx_watchdog_workfn and scx_tick.
    report(
        "watchdog failed to check in",
        None,
        Below::Queues,
        "the watchdog of sched_ext itself did not run for that long, so the kernel ended the BPF scheduler",
    ),
    // drivers/pci/pci.c, pci_dev_wait.
    report(
        "ms after FLR; giving up",
        None,
        Below::Nothing,
        "that device did not come back from its reset: accesses to it may stall a CPU",
    ),
    // net/sched/sch_generic.c, dev_watchdog.
    report(
        "NETDEV WATCHDOG",
        None,
        Below::Nothing,
        "a transmit queue of that device completed nothing for seconds: the line does not show whether the device, its interrupt or the CPU that handles it was late",
    ),
    // arch/x86/kernel/irq.c.
    report(
        "No irq handler for vector",
        None,
        Below::Nothing,
        "an interrupt arrived on a vector that no handler uses, and was dropped: whether a device waits for it is not in the line",
    ),
    // arch/x86/kernel/cpu/mce/therm_throt.c.
    report(
        "cpu clock throttled",
        None,
        Below::Nothing,
        "the processor lowered its clock because of its temperature: everything on that CPU takes longer",
    ),
    // The longest run so far of a handler (arch/x86/kernel/nmi.c, max_duration).
    report(
        "took too long to run:",
        Some("took too long to run:"),
        Below::Nothing,
        "that long passed from the start of that NMI handler to its end, including anything that stopped the CPU meanwhile",
    ),
    report(
        "hrtimer: interrupt took",
        Some("interrupt took "),
        Below::Nothing,
        "that time passed in the timer interrupt: in its own timers, in an NMI, or while the CPU was stopped",
    ),
    report(
        "hrtimer: interrupt too slow",
        None,
        Below::Nothing,
        "the timer interrupt repeatedly found further timers due: its timers or the CPU took too long",
    ),
    report(
        "DL replenish lagged too much",
        None,
        Below::Nothing,
        "a SCHED_DEADLINE thread, or the fair server since Linux 6.8, was late by more than its period; the line does not say which",
    ),
    // kernel/time/tick-sched.c, report_idle_softirq.
    report(
        "tick-stop error: ",
        None,
        Below::Softirqs,
        "an idle CPU was about to stop its tick while softirqs were pending; the line does not show which CPU it was or who raised them",
    ),
    report(
        "local_softirq_pending ",
        None,
        Below::Softirqs,
        "an idle CPU was about to stop its tick while softirqs were pending; the line does not show which CPU it was or who raised them",
    ),
    // kernel/sched/ext.c, check_rq_for_timeouts.
    report(
        "runnable task stall (",
        None,
        Below::Queues,
        "that thread of the BPF scheduler (sched_ext) was runnable and got no CPU for that long, so the kernel ended the BPF scheduler",
    ),
    report(
        "failed to run for ",
        Some("failed to run for "),
        Below::Queues,
        "that thread of the BPF scheduler (sched_ext) was runnable and got no CPU for that long",
    ),
    // arch/x86/kernel/tsc_sync.c.
    report(
        "TSC warp between CPUs",
        None,
        Below::Nothing,
        "the TSCs of two CPUs differ, so the kernel no longer uses the TSC as its clock: times of different CPUs measured with it do not compare",
    ),
    report(
        "hogged CPU for >",
        Some("us "),
        Below::Each,
        "that work item of a workqueue kept the CPU for longer than that, each time",
    ),
    report(
        "runaway thread",
        None,
        Below::Nothing,
        "Xenomai's watchdog stopped a real-time thread that left no time for Linux",
    ),
    // kernel/locking/rtmutex.c, rt_mutex_handle_deadlock.
    report(
        "rtmutex deadlock detected",
        None,
        Below::Stack,
        "a thread tried to take a lock that it already holds, or that would close a cycle of waiting threads, and never continues: an error in the calling code",
    ),
    report(
        "scheduling while atomic",
        None,
        Below::Stack,
        "code tried to sleep where it must not: an error in the calling code, whose duration was not measured",
    ),
    report(
        "sleeping function called from invalid context",
        None,
        Below::Stack,
        "code might have slept where it must not: an error in the calling code, whose duration was not measured",
    ),
    // Up to Linux 6.x, kernel/sched/core.c and idle.c.
    report(
        "scheduling from the idle thread",
        None,
        Below::Stack,
        "code of the idle task tried to sleep, which it must not: an error in that code, whose duration was not measured",
    ),
    // lib/smp_processor_id.c.
    report(
        "using smp_processor_id() in preemptible",
        None,
        Below::Stack,
        "code used the number of its CPU while it could be moved to another: an error in that code, not a delay",
    ),
    report(
        "scheduling with irqs disabled",
        None,
        Below::Stack,
        "a thread tried to sleep with interrupts disabled: an error in that code, whose duration was not measured",
    ),
    // kernel/irq/spurious.c, note_interrupt.
    report(
        ": nobody cared",
        None,
        Below::Handlers,
        "of 100,000 interrupts on that line, more than 99,900 were handled by none of its handlers, so the kernel disables the line",
    ),
    // kernel/locking/lockdep.c.
    report(
        "Invalid wait context ]",
        None,
        Below::Locks,
        "lockdep: code tried to take a lock that may sleep on PREEMPT_RT where sleeping is not allowed: an error in that code, whose duration was not measured",
    ),
    report(
        "possible circular locking dependency",
        None,
        Below::Locks,
        "lockdep: locks were taken in an order that can deadlock: no deadlock and no delay was observed",
    ),
    report(
        "-unsafe lock order detected",
        None,
        Below::Locks,
        "lockdep: a lock that interrupts take and one that is taken with interrupts enabled are nested, which can deadlock: no deadlock and no delay was observed",
    ),
    report(
        "irq lock inversion dependency",
        None,
        Below::Locks,
        "lockdep: an interrupt took a lock in which one is nested that is taken with interrupts enabled, which can deadlock: no deadlock and no delay was observed",
    ),
    report(
        "bad unlock balance",
        None,
        Below::Locks,
        "lockdep: a lock was released that was not held: an error in the calling code; no delay was observed",
    ),
    report(
        "lock held when returning to user space",
        None,
        Below::Nothing,
        "lockdep: a system call ended with a lock held, for which others may wait: an error in that code; no delay was observed",
    ),
    report(
        "suspicious RCU usage",
        None,
        Below::Stack,
        "lockdep: data protected by RCU was read outside of a read-side section: an error in that code; no delay was observed",
    ),
    report(
        "inconsistent lock state",
        None,
        Below::Locks,
        "lockdep: a lock was taken in an interrupt and elsewhere with interrupts enabled, which can deadlock: no deadlock and no delay was observed",
    ),
    report(
        "possible recursive locking",
        None,
        Below::Locks,
        "lockdep: locks of one class were nested, which can deadlock: no delay was observed",
    ),
    // kernel/time/clocksource.c, cs_watchdog_read.
    report(
        "read-back delay of",
        Some("read-back delay of "),
        Below::Nothing,
        "reading the clocks took that long; the line does not show what delayed it, and says nothing about the clock's rate",
    ),
    report("timekeeping watchdog", None, Below::Clocks, "a clock deviated from another, or the check came late"),
    report("Long readout interval", None, Below::Clocks, "the check of the clocks came late"),
    // Up to Linux 4.1.
    report(
        "Clocksource tsc unstable",
        None,
        Below::Nothing,
        "according to the delta in the line, a clock deviated from another, or the check came late",
    ),
    // kernel/events/core.c, perf_sample_event_took: an average over 128 samples, in ns.
    report(
        "perf: interrupt took too long",
        Some("too long ("),
        Below::Nothing,
        "the running average, in ns, of the time spent in perf's interrupt, and its limit; the line does not show how long one interrupt ran",
    ),
];

/// Lines by which a report is recognised if its first line is missing.
pub(super) const REMAINS: &[Report] = &[
    report("kthread starved for", None, Below::Rcu, "from the report of an RCU stall, whose first line is missing"),
    report("ticks this GP)", None, Below::Rcu, "that CPU passed through no quiescent state in RCU's grace period"),
    report(
        "timer wakeup didn't happen for",
        None,
        Below::Nothing,
        "the timer that wakes RCU's grace-period kthread did not expire for that long: what kept its CPU from handling it is not in this line",
    ),
    report(
        "] WARNING: CPU: ",
        None,
        Below::Stack,
        "the kernel's code found an unexpected state there, which shows no delay by itself",
    ),
    report(
        "printk messages dropped",
        None,
        Below::Nothing,
        "the log lost messages at that point, which shows no delay by itself",
    ),
    report(
        "callbacks suppressed",
        None,
        Below::Nothing,
        "messages were left out because there were too many, which shows no delay by itself",
    ),
    report(
        "watchdog_timer_fn+0x",
        None,
        Below::Stack,
        "from the stack in a report of the soft lockup detector, whose first line is missing: the duration is not known",
    ),
];
