//! Tests the driver with a real run directory: resuming, wrong counts, another machine.

use punctual_bench::{Around, Update, WantedQueens, outcome, plan_nqueens, resume, run};
use punctual_model::{Bench, BenchParts, BenchPlan, BenchRecord, NqueensMode, Outcome};
use punctual_rundir::BenchWriter;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

fn plan(repetitions: u64) -> BenchPlan {
    let wanted = WantedQueens { mode: NqueensMode::Native, n: 8, threads: Some(1), fill_s: None, repetitions };
    plan_nqueens(&wanted, &AtomicBool::new(false)).unwrap()
}

fn around<T>(stop: bool, work: impl FnOnce(&Around<'_>) -> T) -> T {
    let (stop, signal) = (AtomicBool::new(stop), OnceLock::new());
    work(&Around { command: vec!["test".into()], stop: &stop, signal: &signal })
}

fn begun(root: &Path, repetitions: u64) -> Bench {
    around(true, |around| run(&plan(repetitions), root, around, &mut |_| {})).unwrap()
}

#[test]
fn progress_rises_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (mut shares, mut ended) = (Vec::new(), Vec::new());
    let mut report = |update: Update<'_>| match update {
        Update::Share { done, .. } => shares.push(done),
        Update::Repetition(one) => ended.push(one.number),
    };
    let bench = around(false, |around| run(&plan(3), &folder.path().join("run"), around, &mut report)).unwrap();
    assert_eq!((outcome(&bench), ended), (Outcome::Pass, vec![1, 2, 3]));
    assert!(shares.is_sorted() && shares.first() == Some(&0.0) && (shares.last().unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn what_was_stopped_is_inconclusive_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    assert_eq!(outcome(&begun(&root, 2)), Outcome::Inconclusive);
    let bench = around(false, |around| resume(&root, around, &mut |_| {})).unwrap();
    assert_eq!((outcome(&bench), bench.repetitions.len()), (Outcome::Pass, 2));
    // Resuming a finished run measures and writes nothing.
    let written = || std::fs::metadata(root.join("run.json")).unwrap().modified().unwrap();
    let before = written();
    assert_eq!(around(false, |a| resume(&root, a, &mut |update| panic!("{update:?}"))).unwrap(), bench);
    assert_eq!(written(), before);
}

#[test]
fn a_wrong_count_fails() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    begun(&root, 1);
    let (mut writer, _) = BenchWriter::resume(&root).unwrap();
    let wrong = BenchParts { repetition: 1, done: vec![(0, 1_000)], ..BenchParts::default() };
    writer.append(&BenchRecord::Parts(wrong)).unwrap();
    drop(writer);
    let bench = around(false, |around| resume(&root, around, &mut |_| {})).unwrap();
    assert_eq!(outcome(&bench), Outcome::Fail);
    let (repetition, check) = bench.wrong().next().unwrap();
    assert!(repetition == 1 && check.got > 1_000 && check.expected == Some(92));
    assert_eq!(bench.repetitions[0].resumed, 1);
    assert!(bench.series.is_empty(), "a repetition that was broken off is no point");
}

#[test]
fn another_kernel_does_not_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    begun(&root, 1);
    let (mut writer, _) = BenchWriter::resume(&root).unwrap();
    writer.run_mut().machine.kernel_release = Some("2.6.0-elsewhere".into());
    writer.finish().unwrap();
    let error = around(false, |around| resume(&root, around, &mut |_| {})).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("2.6.0-elsewhere"), "{error}");
}
