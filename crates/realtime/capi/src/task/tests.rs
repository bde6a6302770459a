//! A task that failed inside the library, as seen by a C program; C functions cannot cause this.

use super::*;
use crate::stats::{prt_stats, prt_task_stats};
use std::mem::MaybeUninit;

#[test]
fn a_body_that_panicked_has_failed() {
    assert_eq!(number(&End::Panicked("an index".into())), prt_end::Failed as c_int);
    assert_eq!(number(&End::Failed), prt_end::Failed as c_int);
    assert_eq!(number(&End::Returned), prt_end::Returned as c_int);
}

#[test]
fn a_task_lost_in_a_panic_is_joined_and_has_no_statistics() {
    let task = Box::new(prt_task { state: Mutex::new(State::Between), not_resident: CString::default() });
    let (task, mut end, mut stats) = (Box::into_raw(task), -1, MaybeUninit::<prt_stats>::uninit());
    // SAFETY: a live handle and places for the answers; freed once, at the end.
    unsafe {
        assert_eq!((prt_task_join(task, &mut end), end), (prt_status::Ok as c_int, prt_end::Failed as c_int));
        assert_eq!(prt_task_stats(task, stats.as_mut_ptr()), prt_status::Panic as c_int);
        assert_eq!(prt_task_free(task), prt_status::Ok as c_int);
    }
}
