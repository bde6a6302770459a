//! Classifies the functions in the stacks of the kernel's log.

/// True for functions that allocate memory or wait for a lock on behalf of their callers.
pub(super) fn is_helper(name: &str) -> bool {
    const PARTS: [&str; 12] = [
        "alloc",
        "kmem_",
        "slab",
        "vm_area",
        "get_free_page",
        "mutex_lock",
        "spin_lock",
        "down_read",
        "down_write",
        "rt_mutex",
        "rtlock",
        "might_",
    ];
    PARTS.iter().any(|part| name.contains(part))
}

/// True for the functions with which the frames of an interrupt end.
pub(super) fn is_interrupt(name: &str) -> bool {
    // RISC-V uses this one for faults and system calls, too.
    name.starts_with("asm_sysvec_") || (name != "handle_exception" && is_of(name, &ENTRIES))
}

/// True for the idle loop.
pub(super) fn is_idle(name: &str) -> bool {
    name.contains("idle") || name == "cpu_startup_entry"
}

/// True for the functions by which a thread gives up its CPU, or by which a report is printed.
pub(super) fn is_own(name: &str) -> bool {
    const WAITS: [&str; 5] =
        ["wait_for_common", "rtlock_slowlock_locked", "__might_resched", "__might_sleep", "__cond_resched_lock"];
    const REPORTS: [&str; 19] = [
        "dump_stack",
        "dump_stack_lvl",
        "dump_stack_print_info",
        "dump_backtrace",
        "unwind_backtrace",
        "unwind_frame",
        "walk_stackframe",
        "show_stack",
        "show_trace",
        "show_trace_log_lvl",
        "show_regs",
        "spin_dump",
        "spin_bug",
        "__warn",
        "warn_slowpath_common",
        "warn_slowpath_fmt",
        "warn_slowpath_null",
        "report_bug",
        "handle_bug",
    ];
    let plain = name.split('.').next().unwrap_or(name);
    is_switch(name) || WAITS.iter().chain(&REPORTS).any(|own| plain.ends_with(own))
}

/// True for functions of the scheduler; the first one of its section also has the name of the section.
pub(super) fn is_switch(name: &str) -> bool {
    const SWITCHES: [&str; 4] = ["__switch_to", "__sched_text_start", "thread_return", "cond_resched"];
    name.contains("schedule") || SWITCHES.iter().any(|own| name.ends_with(own))
}

/// True for symbols of data, whose addresses on a stack are no return addresses.
pub(super) fn is_data(name: &str) -> bool {
    const DATA: [&str; 8] = [
        "cpu_number",
        "runqueues",
        "init_task",
        "init_thread_union",
        "init_stack",
        "irq_stack",
        "current_task",
        "jiffies",
    ];
    DATA.contains(&name) || name.starts_with("__per_cpu")
}

/// Returns the position of the function that the kernel called as a handler or callback, and what it is.
pub(super) fn root(frames: &[String]) -> Option<(usize, &'static str)> {
    const CALLERS: [(&str, &str); 14] = [
        ("__handle_irq_event_percpu", "an interrupt handler"),
        ("handle_irq_event_percpu", "an interrupt handler"),
        ("handle_IRQ_event", "an interrupt handler"),
        ("__hrtimer_run_queues", "a timer callback"),
        ("__run_hrtimer", "a timer callback"),
        ("call_timer_fn", "a timer callback"),
        ("irq_work_single", "an irq_work callback"),
        ("irq_work_run_list", "an irq_work callback"),
        ("__flush_smp_call_function_queue", "an IPI's callback"),
        ("flush_smp_call_function_queue", "an IPI's callback"),
        ("__do_softirq", "a softirq handler"),
        ("handle_softirqs", "a softirq handler"),
        ("irq_thread_fn", "a threaded interrupt handler"),
        ("irq_forced_thread_fn", "a threaded interrupt handler"),
    ];
    let mut named = frames.iter().enumerate().skip(1);
    named.find_map(|(n, name)| {
        let (_, what) = CALLERS.iter().find(|(caller, _)| name.split('.').next() == Some(caller))?;
        Some((n - 1, *what))
    })
}

/// Functions through which interrupts enter the kernel.
pub(super) const ENTRIES: [&str; 14] = [
    "el1_irq",
    "el1h_64_irq",
    "__irq_svc",
    "apic_timer_interrupt",
    "do_IRQ",
    "common_interrupt",
    "retint_kernel",
    "restore_check_irq_replay",
    "decrementer_common",
    "decrementer_common_virt",
    "handle_int",
    "handle_exception",
    "ext_int_handler",
    "tl0_irq14",
];

pub(super) fn is_of(name: &str, list: &[&str]) -> bool {
    list.iter().any(|of| name.ends_with(of))
}
