//! Simulates weeks of operation within milliseconds.

use crate::ledger::Ledger;
use crate::lines::SERIES;
use crate::state::{self, STATE};
use crate::watching::begin;
use punctual_directory::Dir;
use punctual_measure::Recorder;
use punctual_model::{Event, WatchBlock, WatchLine};
use punctual_proof::choose_scheduling;
use punctual_units::{CpuId, CpuList};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Returns a ledger without a segment, and a list that receives the messages for the user.
fn ledger(out: &Path) -> (Ledger, Arc<Mutex<Vec<String>>>) {
    let options = crate::tests::options(out);
    let dir = state::take(out).unwrap();
    let choice = choose_scheduling(None, None, options.period).unwrap();
    let reported = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&reported);
    let on_message = Arc::new(move |text: &str| theirs.lock().unwrap().push(text.to_owned()));
    let ledger = begin(&options, &choice, dir, CpuList::from_iter([CpuId(0), CpuId(1)]), on_message).unwrap();
    // The first messages depend on the user's privileges.
    reported.lock().unwrap().clear();
    (ledger, reported)
}

fn lines(out: &Path) -> Vec<WatchLine> {
    let text = fs::read_to_string(out.join(SERIES)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn notes(out: &Path) -> Vec<String> {
    let note = |line| match line {
        WatchLine::Note { text, .. } => Some(text),
        _ => None,
    };
    lines(out).into_iter().filter_map(note).collect()
}

#[test]
fn what_is_repeated_for_weeks_is_two_lines_and_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ledger, reported) = ledger(folder.path());
    for _ in 0..200_000 {
        ledger.note("no segment could begin".into());
    }
    // If a cpuset removes a CPU, its loss is reported with every sample until the segment ends.
    for n in 0..200_000u64 {
        let cpu = CpuId((n % 2) as u32);
        ledger.event(&Event::CpuLost { mono_ns: n, cpu, text: format!("CPU {cpu} went offline") });
    }
    ledger.checkpoint();
    let expected = [
        "no segment could begin",
        "repeated 199999 times: no segment could begin",
        "CPU 0 went offline",
        "CPU 1 went offline",
    ];
    assert_eq!(notes(folder.path()), expected);
    assert_eq!((ledger.watch.upsets.cpus_lost, reported.lock().unwrap().len(), ledger.lines.lost()), (2, 3, 0));
}

#[test]
fn a_clock_that_is_set_and_a_suspend_are_told_and_are_no_gap() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ledger, _) = ledger(folder.path());
    for step_ns in [31_536_000_000_000_000, -31_536_000_000_000_000, -612_000_000] {
        ledger.event(&Event::ClockStep { mono_ns: 1, step_ns });
    }
    ledger.event(&Event::Suspend { mono_ns: 2, asleep_ns: 3_600_000_000_000 });
    ledger.checkpoint();
    let expected = [
        "the wall clock was set forward by 365 days",
        "the wall clock was set back by 365 days",
        "the wall clock was set back by 612 ms",
        "the machine was suspended for 60 min",
    ];
    assert_eq!(notes(folder.path()), expected);
    assert_eq!((ledger.watch.upsets.clock_steps, ledger.watch.upsets.suspends), (3, 1));
}

#[test]
fn time_that_is_not_measured_is_a_gap_of_the_series() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ledger, _) = ledger(folder.path());
    for _ in 0..3 {
        ledger.pause("none of the CPUs is online".into());
    }
    ledger.resume();
    ledger.resume();
    ledger.checkpoint();
    let gaps = lines(folder.path());
    assert!(
        matches!(&gaps[..], [WatchLine::Gap { why, from_real_ns, to_real_ns }]
            if why == "none of the CPUs is online" && from_real_ns <= to_real_ns),
        "{gaps:?}"
    );
}

#[test]
fn two_weeks_of_a_full_disk_lose_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ledger, reported) = ledger(folder.path());
    let full = |name: &str| fs::create_dir(folder.path().join(name)).unwrap();
    let freed = |name: &str| fs::remove_dir(folder.path().join(name)).unwrap();
    // Makes both files impossible to write.
    [SERIES, STATE].into_iter().for_each(full);
    let blocks = 14 * 24 * 12;
    for n in 0..blocks {
        let max_ns = vec![(CpuId(0), Some(n)), (CpuId(1), None)];
        ledger.lines.push(&WatchLine::Block(WatchBlock { from_real_ns: n, lasts_ns: 300_000_000_000, max_ns }));
        ledger.checkpoint();
    }
    assert!(ledger.watch.disk.failing.is_some() && !ledger.has_room());
    assert_eq!((ledger.watch.disk.failures, reported.lock().unwrap().len()), (blocks, 1), "reported once");
    [SERIES, STATE].into_iter().for_each(freed);
    ledger.checkpoint();
    ledger.checkpoint();
    let all = lines(folder.path());
    let is_block = |(n, line): (u64, &WatchLine)| matches!(line, WatchLine::Block(block) if block.from_real_ns == n);
    assert!((0..).zip(&all).take(blocks as usize).all(is_block));
    assert!(notes(folder.path())[0].starts_with("files can be written again; earlier error: "));
    assert_eq!((all.len() as u64, ledger.watch.disk.lines_lost, ledger.has_room()), (blocks + 1, 0, true));
    assert!(state::read(&Dir::open(folder.path()).unwrap()).unwrap().is_some());
}
