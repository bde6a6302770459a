//! The system call in which a thread waits, and the system calls that release it.

/// A system call, identified by its number and, if they determine what the thread waits for, by its first two
/// arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitCall {
    pub number: i64,
    /// Bits of the first two arguments that are compared.
    pub masks: [u64; 2],
    pub arguments: [u64; 2],
}

impl WaitCall {
    pub fn new(number: i64, arguments: &[u64], masks: [u64; 2]) -> WaitCall {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(0) & masks[at];
        WaitCall { number, masks, arguments: [argument(0), argument(1)] }
    }

    pub fn is(&self, number: i64, arguments: &[u64]) -> bool {
        number == self.number && WaitCall::new(number, arguments, self.masks) == *self
    }
}

/// Which of the pending releases a wait consumes when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All: read(2) resets the counter of an eventfd(2).
    All,
    /// The oldest, as in a message queue.
    One,
    /// As many bytes as the call returns, from a pipe or a stream.
    Bytes,
    /// All releases before the call: futex(2), because the thread checks the futex word before it waits for a change.
    Seen,
    /// Unknown, because the program decides after the call: poll(2).
    Unknown,
}

/// What a thread waits for at the end of its cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    pub call: WaitCall,
    pub takes: Takes,
    /// Threads, by their IDs, and their system calls that release the waiting thread, even while it is not waiting.
    pub by: Vec<(i32, WaitCall)>,
}

impl Awaited {
    /// Creates the value for a wait whose releasing calls are unknown.
    pub fn only(call: WaitCall) -> Awaited {
        Awaited { call, takes: Takes::Unknown, by: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_differ_by_the_arguments_that_count() {
        let futex = WaitCall::new(202, &[0x7f00_1004, 9, 5], [!7, 0x7f]);
        assert!(futex.is(202, &[0x7f00_1000, 0x189]) && !futex.is(202, &[0x7f00_1000, 1]));
        assert!(!futex.is(202, &[0x7f00_1008, 9]) && !futex.is(35, &[0x7f00_1000, 9]));
        assert!(WaitCall::new(24, &[], [0, 0]).is(24, &[]));
    }
}
