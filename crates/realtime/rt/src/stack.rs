//! Prefaulting of stacks.

use std::hint::black_box;

/// Stack size in addition to the prefaulted part, bytes: for the part that the thread has already used, and for the
/// guard page.
pub(crate) const MARGIN: usize = 64 << 10;
/// Size of one stack frame of [`prefault`], bytes: the smallest page size.
const STEP: usize = 4 << 10;

/// Writes `bytes` of stack below the caller, page by page, so that they are resident before they are needed. If all
/// memory is locked (MCL_FUTURE), they have been resident since mmap(2), and the function only costs a write per page.
#[inline(never)]
pub(crate) fn prefault(bytes: usize) {
    let mut frame = [1u8; STEP];
    black_box(&mut frame);
    if bytes > STEP {
        prefault(bytes - STEP);
    }
    // Used after the call, to prevent tail call optimisation into a loop with a single frame.
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
        // The second call only touches what the first one has touched.
        assert_eq!(faults.unwrap().join().unwrap(), 0);
    }
}
