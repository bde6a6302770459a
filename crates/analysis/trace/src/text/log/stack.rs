//! Reads stacks in the kernel's log.

const FRAMES: usize = 4;

/// Returns the place in the code: `RIP: 0010:foo+0x12/0x34`, `pc : foo+0x12/0x34`, or the first frames of a call trace
/// outside of the scheduler and of the interrupt that printed it.
pub(super) fn place(lines: &[&str]) -> Option<String> {
    let at = counter(lines);
    if let Some(at) = at.as_ref().filter(|at| !is_helper(at)) {
        return Some(format!("in {at}"));
    }
    let mut frames = match interrupted(frames(lines)) {
        None => return at.map(|at| format!("in {at}")),
        Some(frames) => frames,
    };
    // PowerPC: the link register has the caller, of which the stack may have no frame.
    let link = lines.iter().find_map(|line| function(line.split_once("LR [")?.1)).filter(|_| at.is_some());
    if let Some(link) = link.filter(|link| at.as_ref() != Some(link) && frames.first() != Some(link)) {
        frames.insert(0, link);
    }
    let is_own = |name: &String| {
        const WAITS: [&str; 5] =
            ["__switch_to", "wait_for_common", "rtlock_slowlock_locked", "__might_resched", "__might_sleep"];
        const REPORTS: [&str; 6] =
            ["dump_stack", "dump_stack_lvl", "dump_backtrace", "show_stack", "spin_dump", "spin_bug"];
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

/// True for functions that do little themselves: their caller says more than the name of a locking or copying function.
fn is_helper(name: &str) -> bool {
    const PARTS: [&str; 14] = [
        "lock",
        "delay",
        "find_next_bit",
        "find_first_bit",
        "find_last_bit",
        "put_user",
        "get_user",
        "copy_user",
        "to_user",
        "from_user",
        "memcpy",
        "memset",
        "memmove",
        "smp_call_function",
    ];
    PARTS.iter().any(|part| name.contains(part))
}

/// Returns what a function waits for: another CPU, or, if its CPU is stuck, a lock.
pub(super) fn waits_for(place: &str, is_stuck: bool) -> Option<&'static str> {
    let first = place.strip_prefix("in ")?.split(' ').next()?;
    if is_stuck && first.contains("spin_lock") && !first.starts_with("rt_") {
        return Some(": most likely it waits there for a spinlock, whose holder is not in its stack");
    }
    let is_ipi = first.contains("smp_call_function") || first.contains("csd_lock_wait");
    is_ipi.then_some(": it waits there for another CPU, which the report does not name, to handle an IPI")
}

/// Returns the function at the program counter. Registers inside of a call trace belong to a fault or system call,
/// unless they follow the frames of an interrupt.
fn counter(lines: &[&str]) -> Option<String> {
    let heading = lines.iter().position(|line| is_heading(line));
    let (n, at) = lines.iter().enumerate().find_map(|(n, line)| Some((n, registers(line)?)))?;
    let above = heading.and_then(|heading| lines.get(heading..n));
    let is_end = |line: &&str| ["</IRQ>", "</NMI>", "<EOI>"].iter().any(|mark| line.trim_end().ends_with(mark));
    let is_own = heading.is_none_or(|heading| n < heading) || above.is_some_and(|above| above.iter().any(is_end));
    is_own.then_some(at)
}

/// Returns the frames below the frames of an interrupt, which show what it interrupted.
pub(super) fn below_interrupt<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let at = lines.iter().position(|line| line.trim_end().ends_with("<EOI>"))?;
    Some(std::iter::once("Call Trace:").chain(lines.get(at + 1..)?.iter().copied()).collect())
}

fn is_heading(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.contains("call trace") || line.contains("stack trace")
}

/// Returns the function at the program counter, as architectures print it: x86, PowerPC, ARM, arm64, RISC-V, s390,
/// MIPS, SPARC, LoongArch, m68k.
fn registers(line: &str) -> Option<String> {
    const KEYS: [&str; 10] =
        ["RIP: ", "EIP is at ", "pc : ", "PC is at ", "Krnl PSW : ", "epc   : ", "TPC: ", "ERA: ", "PC: [<", "RIP  [<"];
    // PowerPC: `NIP [c000000000561f34] copy_page+0x74/0x90`.
    let powerpc = || line.split_once("NIP [").and_then(|(_, rest)| rest.split_once("] "));
    let (_, rest) = KEYS.iter().find_map(|key| line.split_once(key)).or_else(powerpc)?;
    function(rest)
}

/// Returns the functions of a call trace, innermost first.
fn frames(lines: &[&str]) -> Vec<String> {
    // 32-bit ARM: `[<c0997424>] (__schedule) from [<c0997a94>] (schedule+0x50/0xa8)`, below no heading.
    let is_arm = |line: &str| line.contains(") from [<");
    let start = lines.iter().position(|line| is_heading(line) || is_arm(line));
    // The heading may be cut off; a frame alone may be another address in the report.
    let bare = || lines.windows(2).position(|two| two.iter().all(|line| is_frame(line)));
    let Some(start) = start.or_else(bare) else { return Vec::new() };
    let frames = lines.iter().skip(start).skip_while(|line| is_heading(line) && function(line).is_none());
    // A frame with a question mark was only found on the stack; a module's name may stand in the next line.
    let is_module = |line: &str| line.starts_with('[') && line.ends_with(']') && !line.contains("+0x");
    // `+0x20/0x20` is behind the end of a function.
    let is_behind = |line: &str| {
        let offsets = line.split_once("+0x").and_then(|(_, rest)| rest.split(' ').next()?.split_once("/0x"));
        offsets.is_some_and(|(at, size)| at == size)
    };
    let is_guess = |line: &str| {
        line.contains(" ? ")
            || line.starts_with("? ")
            || line.contains("(unreliable)") && !line.contains("+0x")
            || is_behind(line)
    };
    let frames = frames.filter(|line| !is_guess(line) && !is_module(line.trim()));
    let frames = frames.map_while(|line| {
        let is_mark =
            ["<TASK>", "<IRQ>", "</IRQ>", "<EOI>", "<NMI>", "</NMI>"].iter().any(|mark| line.trim().ends_with(mark));
        if is_mark { Some(None) } else { function(line).or_else(|| unresolved(line)).map(Some) }
    });
    frames.flatten().collect()
}

/// True for a line with nothing but a function, its offset and its module, after the time stamp of the log.
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

/// Parses `[<8e83a6dc>] 0x8e83a6dc`, a frame in code without symbols.
fn unresolved(line: &str) -> Option<String> {
    const DIGITS: usize = 8;
    let address = line.split_whitespace().next_back()?;
    let digits = address.strip_prefix("0x")?;
    let is_address = digits.len() >= DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit());
    (is_address && !line.contains(": ")).then(|| format!("{address} (without a symbol)"))
}

/// Parses `foo+0x12/0x34`, or `foo (mm/foo.c:12)` of scripts/decode_stacktrace.sh.
pub(super) fn function(line: &str) -> Option<String> {
    let is_source = |rest: &str| {
        let file = rest.split([' ', ')']).next().unwrap_or_default();
        [".c:", ".h:", ".S:"].iter().any(|mark| file.contains(mark)) && file.ends_with(|c: char| c.is_ascii_digit())
    };
    let decoded = || line.split_once(" (").filter(|(_, rest)| is_source(rest)).map(|(name, _)| name);
    let name = line.find("+0x").and_then(|end| line.get(..end)).or_else(decoded)?;
    let name = name.rsplit([' ', ':', ']', '[', '(', '<']).next()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    is_name.then(|| name.to_owned())
}
