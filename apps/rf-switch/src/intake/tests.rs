//! Tests an intake that is killed between any two steps. Nothing is sent, so everything that was read must be in the
//! pending file.

use super::*;
use crate::code::{Addresses, Code};
use proptest::prelude::*;
use punctual_rt::{Fifo, Overflow, queue};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{CWD, FileType, Mode};
use std::io::Write;
use std::path::Path;

fn shared() -> Arc<Shared> {
    let wake = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    Arc::new(Shared { ending: AtomicBool::new(false), wake, failure: Mutex::new(None) })
}

/// Creates an intake for this FIFO, as the program does at its start.
fn intake(path: &Path, most: usize) -> Intake {
    let mut decoder = Decoder::new(Addresses::All);
    let pending = Pending::at(path.with_extension("pending"));
    let left = pending.restore(&mut decoder).unwrap();
    Intake {
        tap: Some(Tap::new(Fifo::open(path).unwrap()).unwrap()),
        decoder,
        pending: Some(pending),
        waiting: left.commands.into(),
        most,
        next: 0,
        jobs: queue(4_096, Overflow::DropNewest).unwrap().0,
        raise: Eventfd::new().unwrap(),
        done: queue(8, Overflow::DropNewest).unwrap().1,
        edges: queue(8, Overflow::DropNewest).unwrap().1,
        shared: shared(),
        board: Arc::new(Board::default()),
        sink: None,
        warnings: Warnings::new(std::io::stderr()),
        half: Nanos::ZERO,
        dropped: 0,
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Read,
    /// The intake is killed between two reads, and started again.
    Kill,
    /// The intake is killed between writing the pending file and removing the bytes from the FIFO.
    KillBetween,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1usize..9).prop_map(Step::Write),
        2 => Just(Step::Read),
        1 => Just(Step::Kill),
        1 => Just(Step::KillBetween),
    ];
    proptest::collection::vec(step, 0..60)
}

/// Runs these steps. Returns the intake, and the text that has not been written to the FIFO yet.
fn live<'a>(path: &Path, writer: &mut std::fs::File, text: &'a [u8], steps: Vec<Step>) -> (Intake, &'a [u8]) {
    let (mut now, mut rest) = (intake(path, 100_000), text);
    for step in steps {
        match step {
            Step::Write(count) => {
                let (one, two) = rest.split_at(count.min(rest.len()));
                writer.write_all(one).unwrap();
                rest = two;
                continue;
            }
            Step::Read => {
                now.read().unwrap();
                continue;
            }
            Step::Kill => {}
            Step::KillBetween => drop(now.write_down(&mut [0; MAX]).unwrap()),
        }
        drop(now);
        now = intake(path, 100_000);
    }
    (now, rest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every command is kept, complete, in the order in which it was written; some are kept twice. Invalid words switch
    /// nothing.
    #[test]
    fn whenever_it_is_killed_no_command_is_lost(
        picks in proptest::collection::vec((0usize..512, prop_oneof![Just(""), Just(" "), Just("\n"), Just(" zz ")]), 1..40),
        steps in steps(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rtp1");
        // The FIFO exists before the first start and is held open, as by systemd.
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let mut writer = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let codes: Vec<Code> = Addresses::All.codes().collect();
        let text: String = picks.iter().map(|(n, after)| format!("{}{after}", codes[*n])).collect();
        let (mut now, rest) = live(&path, &mut writer, text.as_bytes(), steps);
        writer.write_all(rest).unwrap();
        while now.read().unwrap() {}
        prop_assert_eq!(now.board.figures().commands.dropped, 0);
        let mut kept = now.waiting.iter().map(|command| command.code);
        for (n, _) in &picks {
            prop_assert!(kept.any(|code| code == codes[*n]), "{} of {text:?} is lost: {:?}", codes[*n], now.waiting);
        }
        let written: std::collections::BTreeSet<Code> = picks.iter().map(|(n, _)| codes[*n]).collect();
        prop_assert!(now.waiting.iter().all(|command| written.contains(&command.code)));
        drop(now);
        let again = intake(&path, 100_000);
        prop_assert!(again.waiting.len() >= picks.len());
    }
}

#[test]
fn a_full_queue_drops_the_newest_and_reads_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rtp1");
    let mut now = intake(&path, 2);
    let mut writer = std::fs::File::options().write(true).open(&path).unwrap();
    writer.write_all(b"d21d20a11a10").unwrap();
    while now.read().unwrap() {}
    let commands = now.board.figures().commands;
    assert_eq!((commands.accepted, commands.dropped), (2, 2));
    let kept: Vec<String> = now.waiting.iter().map(|command| command.code.to_string()).collect();
    assert_eq!(kept, ["d21", "d20"]);
}

#[test]
fn a_file_that_cannot_be_written_is_reported_and_the_command_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rtp1");
    let mut now = intake(&path, 8);
    now.pending = Some(Pending::at(folder.path().join("absent/rtp1.pending")));
    std::fs::File::options().write(true).open(&path).unwrap().write_all(b"d21").unwrap();
    while now.read().unwrap() {}
    let commands = now.board.figures().commands;
    assert_eq!((commands.accepted, commands.not_kept, now.waiting.len()), (1, 1, 1));
}
