use super::*;
use crate::read;
use crate::tests::run;
use proptest::prelude::*;
use punctual_model::{BenchFigure, BenchParts, BenchRepetition, BenchSettings, Conditions, EndedBy};
use std::fs;

fn plan(repetitions: u64) -> BenchPlan {
    let settings = BenchSettings::Memory { threads: 1, bytes: 1 << 20 };
    BenchPlan { settings, repetitions, not_measured: Vec::new(), notes: Vec::new() }
}

fn bench_run() -> Run {
    Run { kind: Kind::Bench, ..run() }
}

fn repetition(number: u64) -> BenchRecord {
    let figure = BenchFigure { of: "a".into(), name: "b".into(), unit: "s".into(), value: 0.1 + number as f64 };
    BenchRecord::Repetition(Box::new(BenchRepetition {
        number,
        ended_mono_ns: number,
        ended_real_ns: number,
        elapsed_ns: 1,
        cpu_ns: None,
        resumed: 0,
        figures: vec![figure],
        checks: Vec::new(),
        distributions: Vec::new(),
        notes: Vec::new(),
        conditions: Conditions::default(),
    }))
}

fn parts(repetition: u64, part: u64) -> BenchRecord {
    let done = vec![(part, 10 * part)];
    BenchRecord::Parts(BenchParts { repetition, done, elapsed_ns: part, cpu_ns: None, resumed: 0 })
}

#[test]
fn what_was_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let mut writer = BenchWriter::create(&root, bench_run(), &plan(2)).unwrap();
    (1..=2).for_each(|n| writer.append(&repetition(n)).unwrap());
    let run = writer.run_mut();
    (run.complete, run.ended_by) = (true, Some(EndedBy::Duration));
    let bench = writer.finish().unwrap();
    assert!(!bench.interrupted && bench.series[0].points == [1.1, 2.1]);
    let recording = read(&root).unwrap();
    assert_eq!(recording.damage, [""; 0]);
    assert_eq!((recording.bench.as_ref(), recording.run.complete), (Some(&bench), true));
    assert_eq!(recording.events.len(), 2);
    let refused = BenchWriter::resume(&root).err().unwrap().to_string();
    assert!(refused.contains("it is complete"), "{refused}");
    assert_eq!(BenchWriter::whole(&root).unwrap(), Some(bench.clone()));
    // Killed before the last file was written, so only that file is missing.
    std::fs::remove_file(root.join("manifest.json")).unwrap();
    assert_eq!(BenchWriter::whole(&root).unwrap(), None);
    let (mut writer, log) = BenchWriter::resume(&root).unwrap();
    assert_eq!(log.repetitions.len(), 2);
    writer.run_mut().complete = true;
    assert_eq!(writer.finish().unwrap(), bench);
    assert_eq!(BenchWriter::whole(&root).unwrap(), Some(bench));
    std::fs::write(root.join("bench.json"), "{}").unwrap();
    assert_eq!(BenchWriter::whole(&root).unwrap(), None);
}

#[test]
fn a_run_that_was_interrupted_goes_on_with_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let mut writer = BenchWriter::create(&root, bench_run(), &plan(2)).unwrap();
    writer.append(&repetition(1)).unwrap();
    writer.append(&parts(2, 7)).unwrap();
    assert!(matches!(BenchWriter::resume(&root), Err(Error::Busy(_))));
    assert!(writer.finish().unwrap().interrupted);
    let (mut writer, log) = BenchWriter::resume(&root).unwrap();
    assert_eq!((log.repetitions.len(), &log.parts.done[..]), (1, &[(7, 70)][..]));
    assert!(!root.join("manifest.json").exists());
    writer.append(&repetition(2)).unwrap();
    drop(writer);
    let recording = read(&root).unwrap();
    assert_eq!((recording.run.complete, recording.run.ended_by), (false, Some(EndedBy::Killed)));
    assert_eq!(recording.bench.unwrap().series[0].points, [1.1, 2.1]);
}

#[test]
fn a_run_killed_before_its_end_was_written_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let mut writer = BenchWriter::create(&root, bench_run(), &plan(1)).unwrap();
    writer.append(&repetition(1)).unwrap();
    drop(writer);
    let (mut writer, log) = BenchWriter::resume(&root).unwrap();
    assert_eq!(log.repetitions.len(), 1);
    writer.run_mut().complete = true;
    assert!(!writer.finish().unwrap().interrupted);
    assert!(matches!(BenchWriter::resume(&root), Err(Error::NotResumable { .. })));
}

#[test]
fn another_kind_of_run_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    drop(crate::Writer::create(&root, run(), false).unwrap());
    let refused = BenchWriter::resume(&root).err().unwrap().to_string();
    assert!(refused.contains("not a run of `punctual bench`"), "{refused}");
    assert!(matches!(BenchWriter::resume(&folder.path().join("none")), Err(Error::NoRun(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_log_cut_anywhere_goes_on_with_its_whole_records(cut in 0usize..2_000) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        let mut writer = BenchWriter::create(&root, bench_run(), &plan(9)).unwrap();
        let records = [parts(1, 1), parts(1, 2), repetition(1), parts(2, 1), repetition(2)];
        records.iter().for_each(|r| writer.append(r).unwrap());
        drop(writer);
        let path = root.join("bench.jsonl");
        let whole = fs::read(&path).unwrap();
        let cut = cut.min(whole.len());
        fs::write(&path, &whole[..cut]).unwrap();
        let lines = whole[..cut].iter().filter(|&&b| b == b'\n').count();
        match BenchWriter::resume(&root) {
            Err(e) => prop_assert!(lines == 0, "{e}"),
            Ok((mut writer, log)) => {
                prop_assert_eq!(log.repetitions.len(), [0, 0, 0, 0, 1, 1, 2][lines]);
                prop_assert_eq!(log.parts.done.len(), [0, 0, 1, 2, 0, 1, 0][lines]);
                writer.append(&repetition(log.next())).unwrap();
                drop(writer);
                let (_, again) = BenchWriter::resume(&root).unwrap();
                prop_assert_eq!(again.repetitions.len(), log.repetitions.len() + 1);
            }
        }
    }
}
