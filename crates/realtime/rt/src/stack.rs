//! Stacks that are resident before the first release.

use std::hint::black_box;

/// What a thread's stack is larger than the part that is prefaulted: what the thread used before, and its guard.
pub(crate) const MARGIN: usize = 64 << 10;
/// A frame of [`prefault`]: the smallest page.
const STEP: usize = 4 << 10;

/// Writes `bytes` of stack below the caller, page by page, so that the kernel has given them before they are needed. Where all memory is locked
/// (MCL_FUTURE) they are resident from mmap(2) on, and this costs a write a page.
#[inline(never)]
pub(crate) fn prefault(bytes: usize) {
    let mut frame = [1u8; STEP];
    black_box(&mut frame);
    if bytes > STEP {
        prefault(bytes - STEP);
    }
    // After the call, so that it cannot be made a loop that uses one frame.
    black_box(&mut frame);
}

#[cfg(test)]
mod tests {
    #[test]
    fn after_it_the_stack_faults_no_more() {
        let depth = 256 << 10;
        let faults = std::thread::Builder::new().stack_size(depth + super::MARGIN).spawn(move || {
            super::prefault(depth);
            let before = punctual_uapi::thread_usage().unwrap().page_faults;
            super::prefault(depth / 2);
            punctual_uapi::thread_usage().unwrap().page_faults - before
        });
        // The first half was touched by the first call.
        assert_eq!(faults.unwrap().join().unwrap(), 0);
    }
}
