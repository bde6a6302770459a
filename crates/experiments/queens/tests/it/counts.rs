//! Compares counts with the known counts, for every kernel that this CPU supports.

use std::io::{self, Write};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use punctual_queens::{Board, Error, Kernel, Published, Runner, Worker, known};

fn count(n: u32, kernel: Kernel) -> u64 {
    let mut worker = Worker::new(kernel).unwrap();
    Board::new(n).unwrap().units().iter().map(|unit| worker.count(unit)).sum()
}

fn kernels() -> Vec<Kernel> {
    let (here, missing): (Vec<_>, Vec<_>) = Kernel::ALL.into_iter().partition(|kernel| kernel.is_available());
    for kernel in missing {
        // Written directly to standard error, because the test harness hides the output of eprintln for passed tests.
        let _ = writeln!(io::stderr(), "not tested: kernel {kernel}: this CPU lacks its instructions");
    }
    here
}

/// Returns the number of solutions, counted by the simplest possible search, which uses no code of the crate.
fn plain(n: u32, columns: u32, left: u32, right: u32) -> u64 {
    let all = (1 << n) - 1;
    let mut free = all & !(columns | left | right);
    let mut total = u64::from(columns == all);
    while free != 0 {
        let queen = free & free.wrapping_neg();
        total += plain(n, columns | queen, (left | queen) << 1, (right | queen) >> 1);
        free ^= queen;
    }
    total
}

#[test]
fn every_kernel_counts_boards_of_1_to_16_as_oeis_a000170() {
    for kernel in kernels() {
        for n in 1..=16 {
            assert_eq!(Some(count(n, kernel)), known::solutions(n), "{n} queens, {kernel}");
        }
    }
}

#[test]
#[ignore = "takes minutes: run with --ignored after a change to kernels or symmetries"]
fn every_kernel_counts_boards_of_17_to_19_as_oeis_a000170() {
    for kernel in kernels() {
        for n in 17..=19 {
            assert_eq!(Some(count(n, kernel)), known::solutions(n), "{n} queens, {kernel}");
        }
    }
}

#[test]
fn the_known_counts_agree_with_a_plain_search() {
    for n in 1..=11 {
        assert_eq!(known::solutions(n), Some(plain(n, 0, 0, 0)), "{n} queens");
    }
    assert_eq!(known::solutions(0), None);
    assert_eq!(known::solutions(28), None);
}

#[test]
fn the_published_search_finds_the_known_counts_whatever_the_number_of_threads() {
    for n in 1..=9 {
        for threads in [1, 2, 3, 4, 7, 12] {
            let published = Published::new(n, NonZeroU32::new(threads).unwrap()).unwrap();
            assert_eq!(Some(published.count().unwrap()), known::solutions(n), "{n} queens, {threads} threads");
            let parts: u64 = (0..threads).map(|index| published.count_part(index)).sum();
            assert_eq!(Some(parts), known::solutions(n));
        }
    }
}

#[test]
fn the_published_split_of_12_queens_over_4_threads_is_three_rows_each() {
    let published = Published::new(12, NonZeroU32::new(4).unwrap()).unwrap();
    assert_eq!((0..4).map(|index| published.rows(index)).collect::<Vec<_>>(), [0..3, 3..6, 6..9, 9..12]);
    assert_eq!(published.count().unwrap(), 14_200);
}

#[test]
fn threads_count_what_one_thread_counts_and_report_every_unit_once() {
    let board = Board::new(13).unwrap();
    let units = board.units();
    let mut worker = Worker::new(Kernel::detect()).unwrap();
    let alone: Vec<u64> = units.iter().map(|unit| worker.count(unit)).collect();
    for threads in [1, 2, 5] {
        let mut counts = vec![None; units.len()];
        let runner = Runner::new(NonZeroUsize::new(threads).unwrap(), Kernel::detect()).unwrap();
        let report = |unit: &punctual_queens::Unit, count| {
            assert_eq!(counts[unit.index()].replace(count), None, "unit {} twice", unit.index());
        };
        let outcome = runner.run(&units, &AtomicBool::new(false), report).unwrap();
        assert!(outcome.complete);
        assert_eq!(outcome.finished, units.len());
        assert_eq!(Some(outcome.total), known::solutions(13));
        assert_eq!(counts.into_iter().map(Option::unwrap).collect::<Vec<_>>(), alone);
    }
}

#[test]
fn a_stopped_run_is_resumed_with_the_units_that_were_not_finished() {
    let units = Board::new(14).unwrap().units();
    let runner = Runner::new(NonZeroUsize::new(2).unwrap(), Kernel::detect()).unwrap();
    let mut counts = vec![None; units.len()];
    while counts.contains(&None) {
        let left: Vec<_> = units.iter().filter(|unit| counts[unit.index()].is_none()).copied().collect();
        let (stop, mut seen) = (AtomicBool::new(false), 0);
        let outcome = runner
            .run(&left, &stop, |unit, count| {
                assert_eq!(counts[unit.index()].replace(count), None);
                seen += 1;
                stop.store(seen >= 7, Ordering::Relaxed);
            })
            .unwrap();
        assert_eq!(outcome.finished, seen);
        assert_eq!(outcome.complete, seen == left.len());
    }
    assert_eq!(Some(counts.into_iter().flatten().sum()), known::solutions(14));
}

#[test]
fn a_run_that_is_stopped_before_it_begins_counts_nothing_and_is_not_complete() {
    let units = Board::new(12).unwrap().units();
    let runner = Runner::new(NonZeroUsize::MIN, Kernel::Portable).unwrap();
    let outcome = runner.run(&units, &AtomicBool::new(true), |_, _| panic!("no unit is finished")).unwrap();
    assert_eq!((outcome.finished, outcome.total, outcome.complete), (0, 0, false));
    let mut worker = Worker::new(Kernel::Portable).unwrap();
    assert_eq!(worker.count_until(&units[0], &AtomicBool::new(true)), None);
    assert_eq!(units.iter().map(|unit| worker.count(unit)).sum::<u64>(), 14_200, "usable after being stopped");
}

#[test]
fn units_are_the_same_list_each_time_numbered_and_the_larger_first() {
    for n in [1, 2, 7, 12, 17, 24] {
        let units = Board::new(n).unwrap().units();
        assert_eq!(units, Board::new(n).unwrap().units());
        assert!(units.iter().enumerate().all(|(index, unit)| unit.index() == index && unit.size() > 0.0));
        assert!(units.is_sorted_by(|a, b| a.size() >= b.size()));
    }
}

#[test]
fn sizes_and_kernels_that_do_not_exist_are_refused_with_what_does() {
    assert_eq!(Board::new(0), Err(Error::Size { n: 0 }));
    let error = Board::new(28).unwrap_err().to_string();
    assert!(error.contains("28") && error.contains("1 to 27"), "{error}");
    let error = "sse".parse::<Kernel>().unwrap_err().to_string();
    assert!(error.contains("portable"), "{error}");
    for kernel in Kernel::ALL {
        assert_eq!(kernel.to_string().parse::<Kernel>(), Ok(kernel));
        assert_eq!(Worker::new(kernel).is_ok(), kernel.is_available());
    }
    assert!(Kernel::detect().is_available());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_unit_has_the_same_count_on_every_kernel_and_after_any_other(n in 8u32..18, picks in proptest::collection::vec(0usize..9999, 6)) {
        let units = Board::new(n).unwrap().units();
        let mut portable = Worker::new(Kernel::Portable).unwrap();
        for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let mut worker = Worker::new(kernel).unwrap();
            for pick in &picks {
                let unit = &units[pick % units.len()];
                prop_assert_eq!(worker.count(unit), portable.count(unit), "{} queens, unit {}, {}", n, unit.index(), kernel);
            }
        }
    }
}
