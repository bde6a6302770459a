//! Tests pipes through real FIFOs in a temporary folder.

use punctual_rt::{
    Bridge, CapacityError, Fifo, Frame, Line, NotOpened, Overflow, Parsed, PipeCounts, TimedOut, monotonic, pipe,
    pipe_out,
};
use punctual_units::Nanos;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Switch(u8, u8, u8);

impl Frame for Switch {
    fn parse(input: &[u8]) -> Parsed<Switch> {
        let blanks = input.iter().take_while(|b| b.is_ascii_whitespace()).count();
        match &input[blanks..] {
            [a @ b'a'..=b'p', b @ b'0'..=b'9', c @ b'0'..=b'1', ..] => Parsed::Frame(Switch(*a, *b, *c), blanks + 3),
            [b'a'..=b'p'] | [b'a'..=b'p', b'0'..=b'9'] | [] => Parsed::More,
            _ => Parsed::Malformed(blanks + 1),
        }
    }
    fn write(&self, output: &mut Vec<u8>) {
        output.extend([self.0, self.1, self.2, b'\n']);
    }
}

fn far() -> Nanos {
    monotonic() + Nanos::from_secs(60)
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rtp1");
    (folder, path)
}

fn write_to(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

/// Waits until the bridge's counters satisfy the condition, without a time limit.
fn until(bridge: &Bridge, enough: impl Fn(PipeCounts) -> bool) -> PipeCounts {
    while !enough(bridge.counts()) {
        std::thread::yield_now();
    }
    bridge.counts()
}

#[test]
fn commands_come_in_also_run_together_and_after_their_writer_left() {
    let (_folder, path) = place();
    let (mut end, bridge) = pipe::<Switch, 8>(&*path, Overflow::DropNewest).unwrap();
    write_to(&path).write_all(b"d21d2").unwrap();
    assert_eq!(end.receive_until(far()), Ok(Switch(b'd', b'2', b'1')));
    write_to(&path).write_all(b"0?\na11").unwrap();
    assert_eq!(end.receive_until(far()), Ok(Switch(b'd', b'2', b'0')));
    assert_eq!(end.receive_until(far()), Ok(Switch(b'a', b'1', b'1')));
    assert_eq!(end.receive_until(monotonic() + Nanos::from_millis(3)), Err(TimedOut));
    let expected = PipeCounts { received: 3, malformed: 1, ..PipeCounts::default() };
    until(&bridge, |c| c.received == 3 && c.malformed == 1);
    assert_eq!((end.counts(), bridge.counts()), (expected, expected));
}

#[test]
fn what_finds_no_room_is_dropped_and_counted() {
    let (_folder, path) = place();
    let (mut end, bridge) = pipe::<Switch, 2>(&*path, Overflow::DropNewest).unwrap();
    write_to(&path).write_all(b"a01b01c01d01e01").unwrap();
    let counts = until(&bridge, |c| c.received + c.dropped == 5);
    assert_eq!((counts.received, counts.dropped), (2, 3));
    assert_eq!(
        [end.receive(), end.receive(), end.receive()],
        [Some(Switch(b'a', b'0', b'1')), Some(Switch(b'b', b'0', b'1')), None]
    );
}

#[test]
fn with_refuse_the_bridge_waits_for_room_and_nothing_is_lost() {
    let (_folder, path) = place();
    let (mut end, bridge) = pipe::<Line, 4>(&*path, Overflow::Refuse).unwrap();
    let writer = std::thread::spawn(move || {
        let mut fifo = write_to(&path);
        (0..2_000).for_each(|n| writeln!(fifo, "{n}").unwrap());
    });
    for n in 0..2_000 {
        let line = end.receive_until(far()).unwrap();
        assert_eq!(line.as_bytes(), n.to_string().as_bytes());
    }
    writer.join().unwrap();
    assert_eq!(bridge.counts().dropped, 0);
}

#[test]
fn text_goes_out_in_order() {
    let (_folder, path) = place();
    let (mut end, bridge) = pipe_out::<Line, 16>(&*path, Overflow::Refuse).unwrap();
    let reader = BufReader::new(File::open(&path).unwrap());
    let sender = std::thread::spawn(move || {
        for n in 0..20_000 {
            while end.send(Line::new(n.to_string()).unwrap()).is_err() {
                std::thread::yield_now();
            }
        }
    });
    for (n, line) in reader.lines().take(20_000).enumerate() {
        assert_eq!(line.unwrap(), n.to_string());
    }
    sender.join().unwrap();
    assert_eq!(until(&bridge, |c| c.sent == 20_000).dropped, 0);
}

/// Each line is sent after the previous one has arrived: the bridge falls asleep, and must be woken, every time.
#[test]
fn no_line_stays_in_the_ring() {
    let (_folder, path) = place();
    let (mut end, _bridge) = pipe_out::<Line, 4>(&*path, Overflow::Refuse).unwrap();
    let mut lines = BufReader::new(File::open(&path).unwrap()).lines();
    for n in 0..5_000 {
        end.send(Line::new(n.to_string()).unwrap()).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), n.to_string());
    }
}

#[test]
fn without_a_reader_text_fills_fifo_and_ring_and_is_then_dropped() {
    let (_folder, path) = place();
    let (mut end, bridge) = pipe_out::<Line, 16>(&*path, Overflow::DropNewest).unwrap();
    let line = Line::new("x".repeat(62)).unwrap();
    let mut sent = 0;
    while end.counts().dropped == 0 {
        end.send(line).unwrap();
        sent += 1;
        std::thread::yield_now();
    }
    // A new reader gets everything that was not dropped, and the bridge continues.
    let reader = BufReader::new(File::open(&path).unwrap());
    let kept = sent - end.counts().dropped;
    assert_eq!(reader.lines().take(kept as usize).filter(|l| l.as_ref().unwrap().len() == 62).count() as u64, kept);
    until(&bridge, |c| c.sent == kept);
}

#[test]
fn a_fifo_we_made_is_removed_and_one_that_was_there_is_taken_over_and_left() {
    let (_folder, path) = place();
    let (_end, bridge) = pipe::<Line, 2>(&*path, Overflow::DropNewest).unwrap();
    assert!(bridge.made() && bridge.path() == path);
    let error = pipe::<Line, 2>(&*path, Overflow::DropNewest).unwrap_err();
    assert!(matches!(error, NotOpened::InUse { .. }), "{error}");
    drop(bridge);
    assert!(!path.exists());
    // A FIFO as left by a killed run.
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let (mut end, bridge) = pipe::<Line, 2>(&*path, Overflow::DropNewest).unwrap();
    assert!(!bridge.made());
    write_to(&path).write_all(b"hello\n").unwrap();
    assert_eq!(end.receive_until(far()).unwrap().as_bytes(), b"hello");
    drop(bridge);
    assert!(path.exists());
}

#[test]
fn what_is_no_fifo_is_refused_and_left_alone() {
    let (folder, path) = place();
    fs::write(&path, "precious").unwrap();
    let error = pipe::<Line, 2>(&*path, Overflow::DropNewest).unwrap_err().to_string();
    assert!(error.contains("is a file, not a FIFO") && error.contains("ls -l"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let error = pipe::<Line, 2>(&*folder.path().join("none/rtp1"), Overflow::DropNewest).unwrap_err().to_string();
    assert!(error.starts_with("mknod(") && error.contains("ls -ld"), "{error}");
    let error = pipe::<Line, 2>(&*path, Overflow::DropOldest).unwrap_err();
    assert!(matches!(error, NotOpened::Capacity(CapacityError::DropOldest)));
}

#[test]
fn a_fifo_for_a_bridge_of_one_s_own_is_ours_alone_and_outlives_its_writers() {
    let (_folder, path) = place();
    let fifo = Fifo::open(&*path).unwrap();
    assert!(fifo.made() && fifo.path() == path);
    assert!(matches!(Fifo::open(&*path).unwrap_err(), NotOpened::InUse { .. }));
    write_to(&path).write_all(b"d21").unwrap();
    let mut bytes = [0; 8];
    assert_eq!(rustix::io::read(&fifo, &mut bytes), Ok(3));
    // The writer has closed the FIFO, which is not an end of file here.
    assert_eq!(rustix::io::read(&fifo, &mut bytes), Err(rustix::io::Errno::AGAIN));
    drop(fifo);
    assert!(!path.exists());
}
