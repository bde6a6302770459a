use std::fmt;
use std::sync::Arc;

/// A task name of at most `TASK_COMM_LEN` bytes (include/linux/sched.h). It is not unique and not an identity: threads
/// of a program share it, and the kernel's latency format truncates it to 8 characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Comm([u8; 16]);

impl Comm {
    /// Uses the bytes up to the first NUL, at most 16. The rest is ignored so that equal names compare equal.
    pub fn new(name: &[u8]) -> Comm {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(name.iter().take_while(|b| **b != 0)) {
            *to = *from;
        }
        Comm(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(16);
        self.0.get(..end).unwrap_or_default()
    }
}

impl fmt::Display for Comm {
    /// Shows control characters and invalid UTF-8 as the replacement character.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in String::from_utf8_lossy(self.as_bytes()).chars() {
            fmt::Write::write_char(f, if c.is_control() { '\u{fffd}' } else { c })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A name shared by many events (event, function, interrupt); cheap to clone.
pub type Name = Arc<str>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    Name(Name),
    /// The address, from a binary trace that lacks this symbol.
    Address(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The thread ID; 0 is the idle task of the CPU.
    pub tid: i32,
    pub comm: Option<Comm>,
    /// Raw kernel priority: real-time priority is 99 − prio; 100 and above are ordinary tasks; below 0 is
    /// SCHED_DEADLINE (include/linux/sched/prio.h). FIFO and RR look the same.
    pub prio: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// The kernel's letter: `R` runnable, `S` sleeping, `D` blocked, `T` stopped, `t` traced, `X` dead, `Z` zombie, `P`
    /// parked, `I` idle kernel thread; before 4.14 also `x`, `K`, `W`, `N`; `?` if not recorded.
    pub letter: u8,
    /// True for a state with `+`: the task was preempted, as is any task that is still runnable and did not yield.
    pub preempted: bool,
}

impl TaskState {
    pub fn runnable(self) -> bool {
        self.letter == b'R' || self.preempted
    }
}

/// Returns the index of what the innermost interrupt interrupted, in a stack of function names, innermost first. An
/// interrupt at the end of another one counts as interrupting what that one had interrupted. `None` without an
/// interrupt, or if it interrupted user code.
pub fn interrupted(frames: &[Option<&str>]) -> Option<usize> {
    let is_entry = |frame: &Option<&str>| frame.is_some_and(is_interrupt_entry);
    let mut from = 0;
    loop {
        from += frames.get(from..)?.iter().position(is_entry)?;
        from += frames.get(from..)?.iter().take_while(|frame| is_entry(frame)).count();
        match frames.get(from)? {
            Some(name) if is_way_out(name) => {}
            _ => return Some(from),
        }
    }
}

/// True for functions that enable interrupts after an interrupt, or run softirqs (kernel/entry/common.c,
/// kernel/softirq.c, `preempt_schedule_irq`).
fn is_way_out(function: &str) -> bool {
    const EXACT: [&str; 8] = [
        "preempt_schedule_irq",
        "raw_irqentry_exit_cond_resched",
        "irqentry_exit",
        "irq_exit_rcu",
        "__irq_exit_rcu",
        "irq_exit",
        "handle_softirqs",
        "__do_softirq",
    ];
    EXACT.contains(&function) || function.starts_with("sysvec_") || function.starts_with("__sysvec_")
}

/// True for entries of interrupts, by architecture: arch/x86/entry, arch/arm64/kernel/entry.S,
/// arch/arm/kernel/entry-armv.S, arch/riscv/kernel/entry.S, arch/powerpc/kernel.
pub fn is_interrupt_entry(function: &str) -> bool {
    const EXACT: [&str; 14] = [
        "apic_timer_interrupt",
        "ret_from_intr",
        "common_interrupt",
        "reschedule_interrupt",
        "__irq_svc",
        "__irq_usr",
        "el1_irq",
        "el0_irq",
        "handle_exception",
        "ret_from_exception",
        "decrementer_common",
        "hardware_interrupt_common",
        "smp_apic_timer_interrupt",
        "el1_interrupt",
    ];
    let entry = |prefix| function.starts_with(prefix);
    EXACT.contains(&function)
        || entry("asm_sysvec_")
        || entry("asm_common_interrupt")
        || entry("el1h_64_irq")
        || entry("el0t_64_irq")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comms_compare_by_their_name_and_print_without_control_characters() {
        assert_eq!(Comm::new(b"yes\0garbage"), Comm::new(b"yes"));
        assert_eq!(Comm::new(b"a very long name indeed").as_bytes().len(), 16);
        assert_eq!(Comm::new(b"a\x1b[1m").to_string(), "a\u{fffd}[1m");
    }
}
