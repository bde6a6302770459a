//! Tests that a task does not fault after its first release. A unit test in the module of the task's loop checks that
//! the loop does not allocate.

use punctual_rt::{End, Miss, Nanos, Next, Rt, Scheduling};

#[test]
#[ignore = "live: timing"]
fn a_task_does_not_fault() {
    let rt = Rt::builder().lock_memory().start();
    // Without the privilege to lock memory, faults may come from reclaim; the task itself behaves the same.
    let (rt, locked) = match rt {
        Ok(rt) => (rt, true),
        Err(error) => {
            println!("memory is not locked: {error}");
            (Rt::builder().start().unwrap(), false)
        }
    };
    let scheduling = Scheduling::Other { nice: 0 };
    let task = rt.periodic("steady", scheduling, Nanos::from_micros(50)).on_miss(Miss::Skip).cycles(40_000);
    let task = task.spawn(|_| Next::Continue).unwrap();
    assert!(task.not_resident().is_none() || !locked, "{:?}", task.not_resident());
    let finished = task.join();
    assert_eq!(finished.end, End::Cycles);
    assert!(finished.stats.counted.released >= 40_000);
    if locked {
        assert_eq!(finished.stats.usage.page_faults, Some(0));
    }
}
