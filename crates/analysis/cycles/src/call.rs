//! The system call in which a thread waits, and those that release it.

/// A system call, distinguished from others with the same number by its first two arguments if these identify what is
/// waited for.
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

/// Which of the releases that were there already a wait takes when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All of them: read(2) resets the counter of an eventfd(2).
    All,
    /// The oldest: a message.
    One,
    /// As many bytes as the call returns, of a pipe or a stream.
    Bytes,
    /// All up to the call, since the thread looks at a word before it waits for its change: futex(2).
    Seen,
    /// The program decides: poll(2).
    Unknown,
}

/// What a thread waits for at the end of its cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    pub call: WaitCall,
    pub takes: Takes,
    /// Calls of threads that release it, also while it does not wait.
    pub by: Vec<(i32, WaitCall)>,
}

impl Awaited {
    /// Nothing is known of what releases it when it does not sleep.
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
