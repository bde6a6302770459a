//! The small words events are made of: task names, interned names, symbols.

use std::fmt;
use std::sync::Arc;

/// A task's name, `TASK_COMM_LEN` bytes at most (include/linux/sched.h). Not unique and not an identity: threads of one
/// program share it, and the latency format of the kernel cuts it to 8 characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Comm([u8; 16]);

impl Comm {
    /// The name up to the first NUL, at most 16 bytes; what follows is ignored, so that equal names compare equal.
    pub fn new(name: &[u8]) -> Comm {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(name.iter().take_while(|b| **b != 0)) {
            *to = *from;
        }
        Comm(bytes)
    }

    /// The bytes of the name, without padding.
    pub fn as_bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(16);
        self.0.get(..end).unwrap_or_default()
    }
}

impl fmt::Display for Comm {
    /// Bytes that are no UTF-8, and control characters, are shown as the replacement character.
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

/// A name that many events share (event, function, interrupt): cloning it copies a pointer.
pub type Name = Arc<str>;

/// A kernel function or callback as the trace gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// By name, as in text traces.
    Name(Name),
    /// By address: a binary trace that holds no symbols, or not this one.
    Address(u64),
}

/// A task as an event's body names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Thread id; 0 is the idle task of the CPU.
    pub tid: i32,
    /// Its name at that moment.
    pub comm: Option<Comm>,
    /// Raw kernel priority: real-time priority is 99 − prio, 100 and above are ordinary tasks, below 0 SCHED_DEADLINE
    /// (include/linux/sched/prio.h). It does not tell FIFO from RR.
    pub prio: Option<i32>,
}

/// The state a task was left in by sched_switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// The kernel's letter: `R` runnable, `S` sleeping, `D` blocked, `T` stopped, `t` traced, `X` dead, `Z` zombie, `P`
    /// parked, `I` idle kernel thread, and of kernels before 4.14 `x`, `K`, `W`, `N`; `?` where the trace does not tell.
    pub letter: u8,
    /// `+`: it was preempted (always so for a task that is still runnable and did not yield).
    pub preempted: bool,
}

impl TaskState {
    /// Still wants the CPU: runnable or preempted.
    pub fn runnable(self) -> bool {
        self.letter == b'R' || self.preempted
    }
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
