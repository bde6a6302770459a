use crate::common;

use common::{Place, count, packages};
use std::fs::File;

#[test]
fn commands_are_sent_in_the_order_written_and_bad_ones_are_reported_and_left() {
    let place = Place::new();
    let ook = place.path("sent.ook");
    let mut daemon = place.daemon(&["--ook", ook.to_str().unwrap()]);
    place.write("d21d20\n");
    place.write("rubbish a11 e11\nB:3:1");
    let phase = daemon.until(|phase| count(phase, "sent") == 4);
    assert_eq!((count(&phase, "accepted"), count(&phase, "bad"), count(&phase, "frames")), (4, 2, 16));
    let said = daemon.said();
    assert!(said.contains("`r` is not a command") && said.contains("`e11`: the sockets"), "{said}");
    let (status, report) = daemon.end();
    assert_eq!((status.code(), report["waiting"].as_u64()), (Some(0), Some(0)));
    assert!(!place.pipe().exists() && !place.pending().exists());
    let pulses = packages(&ook).concat();
    assert_eq!(pulses.len(), 4 * 4 * 25);
    assert_eq!(report["pulse_text"]["lost"].as_u64(), Some(0));
}

#[test]
fn a_flood_is_dropped_and_counted_and_what_was_taken_is_sent() {
    let place = Place::new();
    let mut daemon = place.daemon(&["--queue", "5"]);
    // More than the FIFO holds: without a reader the writer would wait forever.
    (0..40).for_each(|_| place.write(&"d21d20".repeat(500)));
    let total = 40_000;
    let phase = daemon.until(|phase| {
        count(phase, "accepted") + count(phase, "dropped") == total && count(phase, "sent") == count(phase, "accepted")
    });
    assert!(count(&phase, "accepted") >= 5 && count(&phase, "dropped") > 30_000, "{phase}");
    assert_eq!((count(&phase, "bad"), count(&phase, "unrecorded_edges")), (0, 0));
    place.write("a11");
    daemon.until(|after| count(after, "sent") == count(&phase, "sent") + 1);
    daemon.end();
    let said = std::fs::read_to_string(place.path("stderr")).unwrap();
    assert!(
        said.contains("is dropped: 5 commands are already waiting, see --queue") && said.contains("more lines omitted")
    );
    assert!(said.lines().count() < 1_000, "{} lines", said.lines().count());
}

#[test]
fn an_ordinary_end_finishes_the_frame_and_keeps_what_waits_for_the_next_start() {
    let place = Place::new();
    let ook = place.path("sent.ook");
    // A frame of 266 ms.
    let mut daemon = place.daemon(&["--t", "2ms", "--repeats", "100", "--ook", ook.to_str().unwrap()]);
    place.write("d21d20");
    daemon.until(|phase| count(phase, "accepted") == 2);
    let (status, report) = daemon.end();
    let phase = &report["phases"][0];
    assert_eq!((status.code(), report["waiting"].as_u64(), count(phase, "sent")), (Some(0), Some(2), 0), "{report}");
    // Only complete frames are sent, and the line is low after each.
    let pulses = packages(&ook).concat();
    assert_eq!(pulses.len() as u64, 25 * count(phase, "frames"));
    assert!(count(phase, "frames") < 4);
    assert_eq!(std::fs::read_to_string(place.pending()).unwrap(), "d21\nd20\n");

    let mut daemon = place.daemon(&[]);
    assert!(daemon.said().contains("2 commands of an earlier run"), "{}", daemon.said());
    let phase = daemon.until(|phase| count(phase, "sent") == 2);
    assert_eq!((count(&phase, "restored"), count(&phase, "accepted")), (2, 0));
    daemon.end();
    assert!(!place.pending().exists());
}

#[test]
fn kill_9_and_a_restart_lose_no_command_while_the_fifo_is_held() {
    let place = Place::new();
    let mut daemon = place.daemon(&["--t", "2ms", "--repeats", "100"]);
    // Held open, as by systemd; a FIFO that no process has open loses its bytes (fifo(7)).
    let held = File::options().read(true).write(true).open(place.pipe()).unwrap();
    place.write("d21d20a11d2");
    daemon.until(|phase| count(phase, "accepted") == 3);
    daemon.kill();
    assert_eq!(std::fs::read_to_string(place.pending()).unwrap(), "d21\nd20\na11\n");
    place.write("1b10");
    let mut daemon = place.daemon(&[]);
    let phase = daemon.until(|phase| count(phase, "sent") >= 5);
    // The daemon was killed after it had saved the three commands and before it consumed them from the FIFO, so it
    // finds them in both places.
    assert_eq!((count(&phase, "restored"), count(&phase, "bad")), (3, 0));
    assert!(matches!(count(&phase, "accepted"), 2 | 5), "{phase}");
    let (status, report) = daemon.end();
    assert_eq!((status.code(), report["waiting"].as_u64()), (Some(0), Some(0)));
    drop(held);
    // The FIFO existed when the second daemon started, so it is not removed.
    assert!(place.pipe().exists());
}

/// The daemon is killed at random moments, including between copying bytes from the FIFO and consuming them, and
/// commands are split at arbitrary points.
#[test]
fn kill_9_again_and_again_loses_no_command_and_cuts_none() {
    let place = Place::new();
    // A message of 133 s: none is sent before the end, so all must be in the pending file.
    let words = ["--t", "10ms", "--repeats", "100", "--queue", "1000"];
    let mut daemon = place.daemon(&words);
    let _held = File::options().read(true).write(true).open(place.pipe()).unwrap();
    let mut written = Vec::new();
    for round in 0..15u64 {
        let commands = ["d21", "d20", "a11", "b10", "c:3:1", "a20"];
        written.extend(commands);
        let text = commands.concat();
        let (one, two) = text.split_at(round as usize % text.len());
        place.write(one);
        std::thread::sleep(std::time::Duration::from_micros(round * 37));
        daemon.kill();
        place.write(two);
        daemon = place.daemon(&words);
    }
    place.write("c30");
    written.push("c30");
    let kept = || std::fs::read_to_string(place.pending()).unwrap_or_default();
    let phase = daemon.until(|_| kept().ends_with("c30\n"));
    assert_eq!((count(&phase, "bad"), count(&phase, "dropped"), count(&phase, "sent")), (0, 0, 0));
    // The commands are in the order written, and one may appear twice.
    let kept = kept().replace("c31", "c:3:1");
    let mut lines = kept.lines();
    for command in written {
        assert!(lines.any(|line| line == command), "{command} is missing in {kept}");
    }
}

#[test]
fn a_second_daemon_and_what_is_no_fifo_are_refused() {
    let place = Place::new();
    let _daemon = place.daemon(&[]);
    let pipe = place.pipe();
    let (code, _, said) = common::output(&["--dry-run", "--pipe", pipe.to_str().unwrap()]);
    assert_eq!(code, Some(4));
    assert!(said.contains("belongs to another running program") && said.contains("fuser -v"), "{said}");
    let file = place.path("file");
    std::fs::write(&file, "precious").unwrap();
    let (code, _, said) = common::output(&["--dry-run", "--pipe", file.to_str().unwrap()]);
    assert!(code == Some(4) && said.contains("not a FIFO"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}
