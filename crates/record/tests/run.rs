//! A program's tasks as a run that is read back.

use punctual_record::{Taken, write};
use punctual_rt::{Miss, Nanos, Next, Rt, Scheduling, monotonic};

#[test]
fn what_tasks_counted_is_read_back() {
    let rt = Rt::builder().start().unwrap();
    let (period, ordinary) = (Nanos::from_micros(200), Scheduling::Other { nice: 0 });
    let late = rt.periodic("late one", ordinary, period).on_miss(Miss::Skip).cycles(400).spawn(|cycle| {
        if cycle.index % 50 == 10 {
            while monotonic() < cycle.woke + Nanos::from_micros(900) {}
        }
        Next::Continue
    });
    let (late, other) = (late.unwrap(), rt.periodic("other", ordinary, period).spawn(|_| Next::Continue).unwrap());
    let (taken, running) = (Taken::of(&late), Taken::of(&other));
    let finished = late.join();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    write(&root, &[taken.ended(&finished), running.so_far(other.stats())], &["program".into()]).unwrap();
    rt.stop();

    let recording = punctual_rundir::read(&root).unwrap();
    assert!(recording.damage.is_empty(), "{:?}", recording.damage);
    assert!(recording.run.complete);
    let ids: Vec<&str> = recording.run.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["1-late-one", "2-other"]);
    let (phase, counted) = (&recording.run.phases[0], &finished.stats.counted);
    let result = &phase.cpus[0];
    assert_eq!(
        (result.released, result.ran, result.skipped),
        (Some(counted.released), counted.ran, Some(counted.skipped))
    );
    assert!(counted.skipped >= 3 * 7);
    let distribution = recording.distribution(&phase.id, result.cpu).unwrap();
    assert_eq!(distribution.corrected().count(), counted.released);
    assert_eq!(recording.worst[0].latency_ns, counted.worst.unwrap().lateness.0);
    // An ordinary thread proves nothing.
    assert!(!phase.problems.is_empty());
    let again = write(&root, &[], &[]).unwrap_err();
    assert!(again.to_string().contains("run"), "{again}");
}
