use super::*;

fn settings(mode: NqueensMode, n: u32) -> NqueensSettings {
    NqueensSettings { mode, n, threads: 2, batch: 1, kernel: None }
}

fn repeat(settings: &NqueensSettings, earlier: BenchParts, stop: bool) -> (Ended, Vec<BenchParts>) {
    let stop = AtomicBool::new(stop);
    let mut logged = Vec::new();
    let mut log = |parts| {
        logged.push(parts);
        Ok(())
    };
    let mut turn = Turn { number: 1, earlier, stop: &stop, log: &mut log, share: &mut |_| {} };
    let ended = Nqueens::new(settings).unwrap().repetition(&mut turn).unwrap();
    (ended, logged)
}

fn total(ended: &Ended) -> u64 {
    let Ended::Done(measured) = ended else { panic!("stopped") };
    measured.checks[0].got
}

#[test]
fn both_searches_count_what_is_known() {
    for mode in [NqueensMode::Compat, NqueensMode::Native] {
        let (ended, _) = repeat(&settings(mode, 8), BenchParts::default(), false);
        assert_eq!(total(&ended), 92);
    }
}

#[test]
fn parts_that_are_done_are_not_counted_again() {
    let settings = settings(NqueensMode::Native, 10);
    let axis = Nqueens::new(&settings).unwrap();
    let (units, runner) = axis.native.as_ref().unwrap();
    let mut all = Vec::new();
    runner.run(units, &AtomicBool::new(false), |unit, count| all.push((unit.index() as u64, count))).unwrap();
    for known in [0, 1, all.len() / 2, all.len()] {
        let done = all[..known].to_vec();
        let earlier = BenchParts { done, elapsed_ns: 1 << 60, cpu_ns: Some(1 << 59), ..BenchParts::default() };
        let (ended, _) = repeat(&settings, earlier, false);
        assert_eq!(total(&ended), 724);
        let Ended::Done(measured) = ended else { panic!() };
        assert!(measured.elapsed_ns > 1 << 60 && measured.cpu_ns > Some(1 << 59));
    }
    // The log is trusted, so a wrong part leads to a wrong count.
    let wrong = BenchParts { done: vec![(all[0].0, all[0].1 + 8)], ..BenchParts::default() };
    let Ended::Done(measured) = repeat(&settings, wrong, false).0 else { panic!() };
    assert!(measured.checks[0].is_wrong() && measured.checks[0].got == 732);
}

#[test]
fn stopped_it_has_no_result() {
    for mode in [NqueensMode::Compat, NqueensMode::Native] {
        assert_eq!(repeat(&settings(mode, 9), BenchParts::default(), true).0, Ended::Stopped);
    }
}

#[test]
fn a_filled_repetition_counts_again_and_again() {
    let wanted = Wanted { mode: NqueensMode::Compat, n: 6, threads: Some(1), fill_s: Some(60.0), repetitions: 1 };
    let plan = plan(&wanted, &AtomicBool::new(false)).unwrap();
    let BenchSettings::Nqueens(settings) = &plan.settings else { panic!() };
    assert!(settings.batch > 1);
    let (ended, logged) = repeat(&NqueensSettings { batch: 3, ..settings.clone() }, BenchParts::default(), false);
    assert_eq!((total(&ended), logged.len()), (4, 0));
    assert!(plan.notes.iter().any(|n| n.contains("do not compare them")));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let text = |settings: NqueensSettings| Nqueens::new(&settings).err().unwrap().to_string();
    assert!(text(settings(NqueensMode::Native, 28)).contains("1 to 27"));
    assert!(text(NqueensSettings { threads: 0, ..settings(NqueensMode::Compat, 8) }).contains("--threads"));
    let kernel = Some("mmx".into());
    assert!(text(NqueensSettings { kernel, ..settings(NqueensMode::Native, 8) }).contains("avx2"));
}
