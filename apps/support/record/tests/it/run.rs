use punctual_model::{LoadReport, Problem, ProblemKind};
use punctual_record::{Taken, write};
use punctual_rt::{Miss, Nanos, Next, Rt, Scheduling, granted_nice, monotonic};

#[test]
fn what_tasks_counted_is_read_back() {
    let rt = Rt::builder().start().unwrap();
    let (period, ordinary) = (Nanos::from_micros(200), granted_nice(Scheduling::Other { nice: 0 }));
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
    let refused = taken.ended(&finished).refused("no CAP_SYS_NICE");
    write(&root, &[refused, running.so_far(other.stats())], &["program".into()]).unwrap();
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
    // The worst wakeup of this task only; on a busy machine the other task may have had a later one.
    let worst = recording.worst_of(&phase.id, result.cpu).next().unwrap();
    assert_eq!(worst.latency_ns, counted.worst.unwrap().lateness.0);
    // An ordinary thread in place of a real-time one makes the phase inconclusive; a requested ordinary thread does
    // not.
    let refused = |n: usize| {
        let problems = &recording.run.phases[n].problems;
        problems.iter().any(|problem| problem.kind == ProblemKind::NoRealTime)
    };
    assert!(refused(0) && !refused(1));
    assert!(!recording.run.settings.scheduling_explicit);
    let again = write(&root, &[], &[]).unwrap_err();
    assert!(again.to_string().contains("run"), "{again}");
}

#[test]
fn a_task_under_a_load_is_a_phase_of_that_load() {
    let rt = Rt::builder().start().unwrap();
    let ordinary = granted_nice(Scheduling::Other { nice: 0 });
    let task = rt.periodic("beat", ordinary, Nanos::from_millis(1)).cycles(5).spawn(|_| Next::Continue).unwrap();
    let taken = Taken::of(&task);
    let run = taken.ended(&task.join());
    let report = |ran: bool, workers| LoadReport {
        load: "cpu".into(),
        ran,
        why_not: (!ran).then(|| "it stood still".into()),
        workers,
        beats: 7,
        longest_silence_ns: 3,
        rates: Vec::new(),
        proofs: Vec::new(),
        written_bytes: 0,
        notes: Vec::new(),
    };
    let early = Problem { kind: ProblemKind::Interrupted, text: "ended by SIGTERM".into() };
    let tasks = [
        run.clone().under("idle", report(true, 0)),
        run.clone().under("cpu", report(false, 2)).note("edges: none"),
        run.under("io", report(true, 1)).problem(early.clone()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    write(&root, &tasks, &[]).unwrap();
    let run = punctual_rundir::read(&root).unwrap().run;
    let names: Vec<(&str, &str)> = run.phases.iter().map(|p| (p.id.as_str(), p.load.as_str())).collect();
    assert_eq!(names, [("1-idle", "idle"), ("2-cpu", "cpu"), ("3-io", "io")]);
    assert_eq!(run.settings.loads, ["idle", "cpu", "io"]);
    assert_eq!(run.phases[0].load_report, None);
    assert_eq!(run.phases[1].load_report.as_ref().map(|r| r.beats), Some(7));
    let kinds = |n: usize| run.phases[n].problems.iter().map(|p| p.kind).collect::<Vec<_>>();
    assert!(kinds(1).contains(&ProblemKind::LoadDidNotRun) && !kinds(0).contains(&ProblemKind::LoadDidNotRun));
    assert!(run.phases[2].problems.contains(&early));
    assert_eq!((run.notes, run.complete), (vec!["edges: none".to_owned()], false));
}
