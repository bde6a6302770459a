//! Reads stacks in the kernel's log.

const FRAMES: usize = 4;

/// Returns the place in the code: `RIP: 0010:foo+0x12/0x34`, `pc : foo+0x12/0x34`, or the first frames of a call trace
/// outside of the scheduler and of the interrupt that printed it.
pub(super) fn place(lines: &[&str]) -> Option<String> {
    let at = lines.iter().find_map(|line| registers(line));
    // Who called says more than the name of a lock.
    let is_lock = |name: &String| name.contains("lock") || name.ends_with("delay");
    if let Some(at) = at.as_ref().filter(|at| !is_lock(at)) {
        return Some(format!("in {at}"));
    }
    let frames = match interrupted(frames(lines)) {
        None => return at.map(|at| format!("in {at}")),
        Some(frames) => frames,
    };
    let is_own = |name: &String| {
        const WAITS: [&str; 5] =
            ["__switch_to", "wait_for_common", "rtlock_slowlock_locked", "__might_resched", "__might_sleep"];
        const REPORTS: [&str; 4] = ["dump_stack", "dump_stack_lvl", "dump_backtrace", "show_stack"];
        name.contains("schedule") || WAITS.iter().chain(&REPORTS).any(|own| name.ends_with(own))
    };
    let frames = frames.into_iter().skip_while(is_own).skip_while(|name| at.as_ref() == Some(name));
    let frames: Vec<String> = at.clone().into_iter().chain(frames).collect();
    let root = root(&frames);
    let own = frames.get(..root.map_or(frames.len(), |(n, _)| n + 1)).unwrap_or_default();
    let named: Vec<&str> = own.iter().take(FRAMES).map(String::as_str).collect();
    let under = match root.zip(own.last()) {
        None => String::new(),
        Some(((n, what), _)) if n < FRAMES => format!(", {what}"),
        Some(((_, what), name)) => format!(", called by {name}, {what}"),
    };
    (!named.is_empty()).then(|| format!("in {}{under}", named.join(" ← ")))
}

/// The function at the program counter, as architectures print it: x86, PowerPC, ARM, arm64, RISC-V, s390, MIPS, SPARC,
/// LoongArch, m68k.
fn registers(line: &str) -> Option<String> {
    const KEYS: [&str; 10] =
        ["RIP: ", "EIP is at ", "pc : ", "PC is at ", "Krnl PSW : ", "epc   : ", "TPC: ", "ERA: ", "PC: [<", "RIP  [<"];
    // PowerPC: `NIP [c000000000561f34] copy_page+0x74/0x90`.
    let powerpc = || line.split_once("NIP [").and_then(|(_, rest)| rest.split_once("] "));
    let (_, rest) = KEYS.iter().find_map(|key| line.split_once(key)).or_else(powerpc)?;
    function(rest)
}

/// The functions of a call trace, innermost first.
fn frames(lines: &[&str]) -> Vec<String> {
    // 32-bit ARM: `[<c0997424>] (__schedule) from [<c0997a94>] (schedule+0x50/0xa8)`, below no heading.
    let is_arm = |line: &str| line.contains(") from [<");
    let is_heading = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.contains("call trace") || line.contains("stack trace")
    };
    let start = lines.iter().position(|line| is_heading(line) || is_arm(line));
    // The heading may be cut off; a frame alone may be another address in the report.
    let bare = || lines.windows(2).position(|two| two.iter().all(|line| is_frame(line)));
    let Some(start) = start.or_else(bare) else { return Vec::new() };
    let frames = lines.iter().skip(start).skip_while(|line| is_heading(line) && function(line).is_none());
    // A frame with a question mark was only found on the stack; a module's name may stand in the next line.
    let is_module = |line: &str| line.starts_with('[') && line.ends_with(']') && !line.contains("+0x");
    let is_guess = |line: &str| line.contains(" ? ") || line.contains("(unreliable)") && !line.contains("+0x");
    let frames = frames.filter(|line| !is_guess(line) && !is_module(line.trim()));
    let frames = frames.map_while(|line| {
        let is_mark = ["<TASK>", "<IRQ>", "</IRQ>", "<NMI>", "</NMI>"].iter().any(|mark| line.trim().ends_with(mark));
        if is_mark { Some(None) } else { function(line).map(Some) }
    });
    frames.flatten().collect()
}

/// True for a line with nothing but a function, its offset and its module, behind the stamp of the log.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix('[').and_then(|line| line.split_once("] ")).map_or(line, |(_, line)| line.trim());
    let line = line.strip_prefix("[<").and_then(|line| line.split_once(">] ")).map_or(line, |(_, line)| line);
    let mut words = line.split_whitespace();
    let is_function = words.next().is_some_and(|word| function(word).is_some_and(|name| word.starts_with(&name)));
    is_function && words.all(|word| word.starts_with('['))
}

/// Returns the position of the function that the kernel called as a handler or callback, and what it is.
fn root(frames: &[String]) -> Option<(usize, &'static str)> {
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

/// If an interrupt printed the stack, returns the frames below the entry of the interrupt; `None` if the stack was cut
/// before that entry.
fn interrupted(mut frames: Vec<String>) -> Option<Vec<String>> {
    const ENTRIES: [&str; 14] = [
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
    const IN_INTERRUPT: [&str; 12] = [
        "softlockup_tick",
        "watchdog_overflow_callback",
        "ipi_cpu_backtrace",
        "rcu_dump_cpu_stacks",
        "rcu_check_callbacks",
        "rcu_sched_clock_irq",
        "print_cpu_stall",
        "update_process_times",
        "watchdog_timer_fn",
        "nmi_cpu_backtrace",
        "nmi_trigger_cpumask_backtrace",
        "arch_trigger_cpumask_backtrace",
    ];
    let is_of = |name: &String, list: &[&str]| list.iter().any(|of| name.ends_with(of));
    if let Some(own) = frames.iter().rposition(|name| is_of(name, &IN_INTERRUPT)) {
        let entry = frames.iter().skip(own).position(|name| is_of(name, &ENTRIES))?;
        frames.drain(..=own + entry);
    }
    Some(frames)
}

pub(super) fn function(line: &str) -> Option<String> {
    let name = line.get(..line.find("+0x")?)?.rsplit([' ', ':', ']', '[', '(', '<']).next()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    is_name.then(|| name.to_owned())
}
