//! The system call in which a thread waits.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_differ_by_the_arguments_that_count() {
        let futex = WaitCall::new(202, &[0x7f00_1004, 9, 5], [!7, 0]);
        assert!(
            futex.is(202, &[0x7f00_1000, 128]) && !futex.is(202, &[0x7f00_1008, 9]) && !futex.is(35, &[0x7f00_1000])
        );
        assert!(WaitCall::new(24, &[], [0, 0]).is(24, &[]));
    }
}
