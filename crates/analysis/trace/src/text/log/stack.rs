//! Reads stacks in the kernel's log.

use super::functions::{ENTRIES, is_data, is_helper, is_idle, is_interrupt, is_of, is_own, is_switch, root};

const FRAMES: usize = 4;

/// Returns the place in the code: `RIP: 0010:foo+0x12/0x34`, `pc : foo+0x12/0x34`, or the first frames of a call trace
/// outside of the scheduler and of the interrupt that printed it.
pub(super) fn place(lines: &[&str]) -> Option<String> {
    placed(lines, false)
}

/// Returns the place in the code of a sleeping thread; if all frames are uncertain, they are what is known of it.
pub(super) fn place_asleep(lines: &[&str]) -> Option<String> {
    placed(lines, true)
}

fn placed(lines: &[&str], with_guesses: bool) -> Option<String> {
    let at = counter(lines);
    let Trace { frames, modules, doubt } = frames(lines, at.as_deref());
    // Registers are reliable, so guessed frames are not needed.
    let frames = if doubt == Some(GUESSES) && (at.is_some() || !with_guesses) { Vec::new() } else { frames };
    let doubt = doubt.filter(|_| !frames.is_empty());
    let mut frames = match interrupted(frames) {
        None => return at.map(|at| format!("in {at}")),
        Some(frames) => frames,
    };
    // PowerPC: the link register has the caller, for which the stack may have no frame.
    let link = lines.iter().find_map(|line| function(line.split_once("LR [")?.1)).filter(|_| at.is_some());
    if let Some(link) = link.filter(|link| at.as_ref() != Some(link) && frames.first() != Some(link)) {
        frames.insert(0, link);
    }
    if doubt == Some(STALE) {
        let last = frames.iter().rposition(|name| is_switch(name));
        frames.drain(..last.map_or(0, |last| last + 1));
    }
    if let Some(own) = at.as_ref().and_then(|at| frames.iter().position(|name| name == at)) {
        frames.drain(..=own);
    }
    // The dump of a running task begins with the interrupt that stopped it.
    let frames = frames.into_iter().skip_while(|name| is_own(name) || at.is_none() && is_interrupt(name));
    let mut frames: Vec<String> = at.clone().into_iter().chain(frames).collect();
    let first = frames.iter().position(|name| is_interrupt(name)).filter(|n| *n > 0 && doubt.is_none());
    let beneath = first.map(|n| frames.split_off(n)).unwrap_or_default();
    // Of several interrupts, each upon the next, the last one has what the thread did.
    let levels = beneath.split(|name| is_interrupt(name)).filter(|level| !level.is_empty());
    let levels = levels.take_while(|level| !level.first().is_some_and(|name| is_idle(name)));
    let beneath: String = levels
        .map(|level| format!(", on top of {}", level.get(..FRAMES.min(level.len())).unwrap_or_default().join(" ← ")))
        .collect();
    let root = root(&frames);
    let own = frames.get(..root.map_or(frames.len(), |(n, _)| n + 1)).unwrap_or_default();
    let named: Vec<&str> = own.iter().take(FRAMES).map(String::as_str).collect();
    let under = match root.zip(own.last()) {
        None => String::new(),
        Some(((n, what), _)) if n < FRAMES => format!(", {what}"),
        Some(((_, what), name)) => format!(", called by {name}, {what}"),
    };
    // The module's function says more than the kernel functions that it calls.
    let module = frames.iter().position(|name| modules.iter().any(|(of, _)| of == name)).filter(|n| *n >= FRAMES);
    let module = module.filter(|_| under.is_empty()).and_then(|n| {
        let name = frames.get(n)?;
        let (_, module) = modules.iter().find(|(of, _)| of == name)?;
        Some(format!(", called by {name} {module}"))
    });
    // Whoever called the allocator or took the lock says more than their functions.
    let caller = frames.iter().position(|name| !is_helper(name)).filter(|n| *n >= FRAMES && under.is_empty());
    let caller = || Some(format!(", called by {}", frames.get(caller?)?));
    let (module, doubt) = (module.or_else(caller).unwrap_or_default(), doubt.unwrap_or_default());
    (!named.is_empty()).then(|| format!("in {}{under}{module}{doubt}{beneath}", named.join(" ← ")))
}

/// How the thread of a report waits, if it does.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Waits {
    Spinning,
    Asleep,
    Unknown,
}

/// Returns what a function waits for: another CPU, a lock, or what a sleeping thread waits for.
pub(super) fn waits_for(place: &str, how: Waits) -> Option<String> {
    const SLEEPS: [(&str, &str); 14] = [
        ("mutex_lock", "a mutex, whose holder"),
        ("rwsem_down", "a read-write semaphore, whose holder"),
        ("down_read", "a read-write semaphore, whose holder"),
        ("down_write", "a read-write semaphore, whose holder"),
        ("rt_spin_lock", "a sleeping spinlock, whose holder"),
        ("rt_mutex", "a mutex with priority inheritance, whose holder"),
        ("wait_for_completion", "a completion, and who signals it"),
        ("io_schedule", "the end of I/O, whose request"),
        ("bit_wait_io", "the end of I/O, whose request"),
        ("wait_on_page", "a page that another task or I/O holds, which"),
        ("folio_wait", "a page that another task or I/O holds, which"),
        ("synchronize_rcu", "a grace period of RCU, and who delays it"),
        ("flush_work", "a work item, and what delays it"),
        ("lock_page", "a page that another task or I/O holds, which"),
    ];
    let first = place.strip_prefix("in ")?.split(' ').next()?;
    let is_page = first.starts_with("folio_wait") || first.starts_with("wait_on_page");
    if how == Waits::Asleep && is_page && place.contains("writeback") {
        return Some(": it waits there until a page is written to its device; what delays that is unknown".to_owned());
    }
    if how == Waits::Spinning && first.contains("spin_lock") && !first.starts_with("rt_") {
        return Some(": most likely it waits there for a spinlock, whose holder is unknown".to_owned());
    }
    if first.contains("smp_call_function") || first.contains("csd_lock_wait") {
        return Some(": it waits there for another CPU to handle an IPI".to_owned());
    }
    let (_, what) = SLEEPS.iter().find(|(part, _)| how == Waits::Asleep && first.contains(part))?;
    Some(format!(": it waits there for {what} is unknown"))
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
pub(super) fn registers(line: &str) -> Option<String> {
    const KEYS: [&str; 10] =
        ["RIP: ", "EIP is at ", "pc : ", "PC is at ", "Krnl PSW : ", "epc   : ", "TPC: ", "ERA: ", "PC: [<", "RIP  [<"];
    // PowerPC: `NIP [c000000000561f34] copy_page+0x74/0x90`.
    let powerpc = || line.split_once("NIP [").and_then(|(_, rest)| rest.split_once("] "));
    let (_, rest) = KEYS.iter().find_map(|key| line.split_once(key)).or_else(powerpc)?;
    function(rest)
}

/// The functions of a call trace, innermost first.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) frames: Vec<String>,
    /// The functions that are part of a module, and its name in brackets.
    modules: Vec<(String, String)>,
    /// Why a frame may not be a caller.
    doubt: Option<&'static str>,
}

const GUESSES: &str = " (the kernel marks each of these frames as uncertain)";
const STALE: &str = " (uncertain: this stack contains stale addresses)";

/// Returns the functions of a call trace; `at` is the function at the program counter.
pub(super) fn frames(lines: &[&str], at: Option<&str>) -> Trace {
    /// Minimum number of frames that cannot be callers, from which a stack is known to contain stale addresses.
    const FEWEST: usize = 2;
    // 32-bit ARM: `[<c0997424>] (__schedule) from [<c0997a94>] (schedule+0x50/0xa8)`, without a heading.
    let is_arm = |line: &str| line.contains(") from [<");
    let start = lines.iter().position(|line| is_heading(line) || is_arm(line));
    // The heading may be missing. A single frame may be another address in the report.
    let bare = || lines.windows(2).position(|two| two.iter().all(|line| is_frame(line)));
    let Some(start) = start.or_else(bare) else { return Trace::default() };
    let lines = lines.iter().skip(start).skip_while(|line| is_heading(line) && function(line).is_none());
    // A module's name may be on the next line.
    let is_module = |line: &str| line.starts_with('[') && line.ends_with(']') && !line.contains("+0x");
    let mut trace = Trace::default();
    let mut guesses = Vec::new();
    let mut zeroes = Vec::new();
    let mut in_registers = false;
    for line in lines {
        let is_mark =
            ["<TASK>", "<IRQ>", "</IRQ>", "<EOI>", "<NMI>", "</NMI>"].iter().any(|mark| line.trim().ends_with(mark));
        in_registers |= registers(line).is_some();
        if is_mark || is_module(line.trim()) || (in_registers && is_register(line)) || is_exception(line) {
            continue;
        }
        match function(line).or_else(|| unresolved(line)) {
            Some(name) if is_data(&name) => {}
            name if is_guess(line) => guesses.extend(name),
            // A return address follows a call, so it is not the start of a function.
            Some(name) if line.contains("+0x0/") && !(trace.frames.is_empty() && at == Some(&*name)) => {
                zeroes.push((trace.frames.len(), name))
            }
            Some(name) => {
                trace.modules.extend(module(line).map(|module| (name.clone(), module)));
                trace.frames.push(name);
            }
            None => break,
        }
    }
    let has_guesses = !guesses.is_empty();
    if trace.frames.is_empty() {
        (trace.frames, trace.doubt) = (guesses, Some(GUESSES));
    }
    // Without marks, the kernel searched the whole stack for addresses. A single one like this may follow a call that
    // does not return.
    let is_stale = zeroes.len() >= FEWEST && zeroes.len() < trace.frames.len();
    match is_stale && !has_guesses {
        true => trace.doubt = Some(STALE),
        false => zeroes.into_iter().rev().for_each(|(n, name)| trace.frames.insert(n.min(trace.frames.len()), name)),
    }
    trace
}

/// True for a frame that was only found on the stack: with a question mark, or behind the end of a function
/// (`+0x20/0x20`).
pub(super) fn is_guess(line: &str) -> bool {
    let is_behind = || {
        let offsets = line.split_once("+0x").and_then(|(_, rest)| rest.split(' ').next()?.split_once("/0x"));
        offsets.is_some_and(|(at, size)| at == size)
    };
    line.contains(" ? ")
        || line.starts_with("? ")
        // s390: `([<00000000b2a9f3b4>] f+0x14/0x80)`.
        || line.contains("([<")
        || line.contains("(unreliable)") && !line.contains("+0x")
        || is_behind()
}

/// True for a stack that begins where a thread gave up its CPU. Of a thread that runs, this is its last switch, and not
/// where it is.
pub(super) fn is_of_switch(lines: &[&str]) -> bool {
    counter(lines).is_none() && frames(lines, None).frames.first().is_some_and(|name| is_switch(name))
}

/// True for the lines of an interrupt's registers within a call trace (x86).
fn is_register(line: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix('[').and_then(|line| line.split_once("] ")).map_or(line, |(_, line)| line.trim());
    let name = line.split(':').next().unwrap_or_default();
    name == "Code"
        || (!line.contains("+0x") && (2..=8).contains(&name.len()) && {
            name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') && line.len() > name.len()
        })
}

/// True for `Exception stack(0xdda299f8 to 0xdda29a40)` and the words below it, `9a00: 60000013 00000001` (arch/arm/kernel/traps.c).
fn is_exception(line: &str) -> bool {
    let line = line.rsplit_once("] ").map_or(line, |(_, line)| line).trim();
    let is_word = |word: &str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = line.split_once(": ").map(|(_, words)| words).filter(|words| words.split_whitespace().all(is_word));
    line.starts_with("Exception stack(") || words.is_some()
}

/// Returns the module of the first function of `foo+0x12/0x34 [bar]`, in brackets.
fn module(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("+0x")?;
    let rest = rest.split(" from ").next()?;
    let name = rest.split_once(" [")?.1.split([']', ' ']).next()?;
    (!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')).then(|| format!("[{name}]"))
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

/// If an interrupt printed the stack, returns the frames below the entry of the interrupt; `None` if the stack was cut
/// before that entry.
fn interrupted(mut frames: Vec<String>) -> Option<Vec<String>> {
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
    if let Some(own) = frames.iter().rposition(|name| is_of(name, &IN_INTERRUPT)) {
        let entry = frames.iter().skip(own).position(|name| is_of(name, &ENTRIES))?;
        let entries = frames.iter().skip(own + entry).take_while(|name| is_interrupt(name)).count();
        frames.drain(..own + entry + entries.max(1));
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

/// Parses `foo+0x12/0x34`, or `foo (mm/foo.c:12)` and `foo (??:?)` of scripts/decode_stacktrace.sh.
pub(super) fn function(line: &str) -> Option<String> {
    let is_source = |rest: &str| {
        let file = rest.split([' ', ')']).next().unwrap_or_default();
        let is_file = file == "??:?" || [".c:", ".h:", ".S:"].iter().any(|mark| file.contains(mark));
        is_file && file.ends_with(|c: char| c.is_ascii_digit() || c == '?')
    };
    let decoded = || line.split_once(" (").filter(|(_, rest)| is_source(rest)).map(|(name, _)| name);
    let name = line.find("+0x").and_then(|end| line.get(..end)).or_else(decoded)?;
    let name = name.rsplit([' ', ':', ']', '[', '(', '<']).next()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    #[test]
    fn uncertain_frames_are_said_to_be_so() {
        let guesses = "INFO: task job:77 blocked for more than 120 seconds.\nCall Trace:\n [<ffffffff8135067c>] ? mutex_lock+0xff/0x164\n \
                       [<ffffffff8135056a>] ? walk+0x1a/0x2d\n";
        assert!(
            of(guesses).contains("in mutex_lock ← walk (the kernel marks each of these frames as uncertain)"),
            "{}",
            of(guesses)
        );
        let stale = "BUG: scheduling while atomic: job/0x10000000/29\nCall Trace:\n [<1>] schedule+0x5d/0x7a6\n [<2>] submit+0x84/0x8b\n [<3>] \
                     get_block+0x0/0xe4\n [<4>] poll+0x0/0xa4\n [<5>] cond_resched+0x29/0x30\n [<6>] write_pages+0x1/0x2d\n [<7>] sync+0x1/0x2\n";
        assert!(
            of(stale).contains("in write_pages ← sync (uncertain: this stack contains stale addresses)"),
            "{}",
            of(stale)
        );
    }

    #[test]
    fn callers_and_the_module_are_named() {
        let log = "BUG: soft lockup - CPU#1 stuck for 22s! [job:7]\nCPU: 1 PID: 7 Comm: job\nRIP: 0010:clear+0x7/0x10\nCode: 00 11\nCall Trace:\n \
                   prep+0x1/0x2\n alloc+0x1/0x2\n fault+0x1/0x2\n walk+0x1/0x2\n get_range+0x1/0x2 [gpu]\n";
        assert!(of(log).contains("in clear ← prep ← alloc ← fault, called by get_range [gpu]"), "{}", of(log));
        let ipi = "smp: csd: Detected non-responsive CSD lock (#1) on CPU#2, waiting 5000000032 ns for CPU#03 f+0x0/0x30(0x0).\nCPU: 3 PID: 77 Comm: \
                   hog\nRIP: 0010:busy+0x12/0x40\n";
        assert!(of(ipi).contains("; CPU 3 was then shown in busy"), "{}", of(ipi));
        let atomic = "BUG: sleeping function called from invalid context at mm.h:2\nCall Trace:\n __might_sleep+0x1/0x2\n kmem_cache_alloc_node+0x1/0x2\n \
                      __get_vm_area+0x1/0x2\n __vmalloc_range+0x1/0x2\n ? open_it+0x2/0x3\n vzalloc+0x1/0x2\n open_it+0x1/0x2\n do_open+0x1/0x2\n";
        assert!(of(atomic).contains("← vzalloc, called by open_it"), "{}", of(atomic));
        let decoded = "BUG: sleeping function called from invalid context at a.c:2\nCall trace:\n show_stack (??:?)\n __might_resched (??:?)\n walk (??:?)\n test_walk (a.c:?)\n";
        assert!(of(decoded).contains("in walk ← test_walk"), "{}", of(decoded));
    }

    #[test]
    fn an_interrupt_has_what_it_interrupted() {
        let arm = "INFO: rcu_preempt self-detected stall on CPU { 0} (t=2100 jiffies)\nCPU: 0 PID: 7 Comm: job\n[<c0>] (show_stack) from [<c1>] (rcu_check_callbacks+0x1/0x2)\n\
                   [<c1>] (rcu_check_callbacks) from [<c2>] (__irq_svc+0x44/0x78)\nException stack(0xdda299f8 to 0xdda29a40)\n99e0: 00000000 00000001\n\
                   [<c2>] (__irq_svc) from [<c3>] (__do_softirq+0xd0/0x370)\n[<c3>] (__do_softirq) from [<c4>] (irq_exit+0x1/0x2)\n[<c4>] (irq_exit) from [<c2>] (__irq_svc+0x44/0x78)\n\
                   [<c2>] (__irq_svc) from [<c5>] (clk_unlock+0x1/0x2)\n[<c5>] (clk_unlock) from [<c6>] (set_power+0x1/0x2 [cam])\n";
        assert!(
            of(arm).ends_with("shown running: job, in __do_softirq ← irq_exit, on top of clk_unlock ← set_power"),
            "{}",
            of(arm)
        );
        let pc = "smp: csd: Detected non-responsive CSD lock (#1) on CPU#1, waiting 5000000176 ns for CPU#00 hang+0x0/0x8(0x0).\nCPU: 0 PID: 0 Comm: swapper/0\n\
                  pc : hang+0x0/0x8\nCall trace:\n hang+0x0/0x8\n ipi_handler+0xb8/0x178\n el1h_64_irq+0x78/0x7c\n do_idle+0x23c/0x2d0\n kernel_init+0x0/0x1d8\n start_kernel+0x51c/0x608\n";
        assert!(of(pc).ends_with("CPU 0 was then shown in hang ← ipi_handler"), "{}", of(pc));
    }

    #[test]
    fn the_frames_that_print_a_report_or_sleep_are_no_place() {
        let arm = "BUG: scheduling while atomic: job/8/0x00000002\n[<c1>] (unwind_backtrace+0x0/0xf8) from [<c2>] (dump_stack+0x1c/0x20)\n\
                   [<c2>] (dump_stack+0x1c/0x20) from [<c3>] (__schedule_bug+0x6c/0x78)\n[<c3>] (__schedule_bug+0x6c/0x78) from [<c4>] (schedule+0x50/0x68)\n\
                   [<c4>] (schedule+0x50/0x68) from [<c5>] (schedule_timeout+0x34/0x8c)\n[<c5>] (schedule_timeout+0x34/0x8c) from [<c6>] (wait_for_common+0x1/0x2)\n\
                   [<c6>] (wait_for_common+0x1/0x2) from [<c7>] (wait_for_completion_timeout+0x1/0x2)\n[<c7>] (wait_for_completion_timeout+0x1/0x2) from [<c8>] (start_urb+0x1/0x2)\n\
                   [<c8>] (start_urb+0x1/0x2) from [<c9>] (control+0x1/0x2)\n[<c9>] (control+0x1/0x2) from [<d1>] (send+0x1/0x2)\n[<d1>] (send+0x1/0x2) from [<b1>] (tty_go+0x1/0x2 [tty_dev])\n\
                   [<b1>] (tty_go+0x1/0x2 [tty_dev]) from [<b2>] (activate+0x1/0x2 [tty_core])\n";
        let text = of(arm);
        assert!(
            text.contains("in wait_for_completion_timeout ← start_urb ← control ← send, called by tty_go [tty_dev]"),
            "{text}"
        );
        assert!(!text.contains("tty_core"), "{text}");
        let warning = "[ 1.0] WARNING: CPU: 1 PID: 7 Comm: job\nCall trace:\n show_stack+0x1/0x2\n __warn+0x1/0x2\n report_bug+0x1/0x2\n \
                       handle_bug+0x1/0x2\n check_it+0x1/0x2\n start_it+0x1/0x2\n";
        assert!(of(warning).contains("in check_it ← start_it"), "{}", of(warning));
    }
}
