//! Tests the body of the task with a simulated line.

use metronome::{Beat, Edge, Matcher, Toggler};
use punctual_rt::{Cycle, Next, Overflow, monotonic, queue};
use punctual_wires::wire;

fn cycle(index: u64) -> Cycle {
    let now = monotonic();
    Cycle { index, scheduled: now, woke: now, skipped: 0, pending: 0, overruns: 0 }
}

#[test]
fn a_beat_allocates_nothing_and_every_beat_has_its_edge() {
    const BEATS: u64 = 10_000;
    let (out, input, mut edges) = wire(BEATS as usize).unwrap();
    let (send, mut beats) = queue(BEATS as usize, Overflow::DropNewest).unwrap();
    let mut toggler = Toggler::new(out, send);
    // The first clock reading of a process may allocate; a task makes it before its body runs.
    monotonic();
    let allocated = allocation_counter::measure(|| {
        for index in 0..BEATS {
            assert_eq!(toggler.beat(&cycle(index)), Next::Continue);
        }
    });
    assert_eq!((allocated.count_total, toggler.beats(), toggler.unreported()), (0, BEATS, 0));
    let mut matcher = Matcher::default();
    while let Some(beat) = beats.receive() {
        let edge = edges.receive().unwrap();
        assert!(beat.scheduled <= beat.before && beat.before <= edge.at && beat.level == edge.level);
        matcher.beat(beat);
        matcher.edge(Edge { at: edge.at, level: edge.level });
    }
    let counts = matcher.end();
    assert_eq!((counts.seen, counts.unseen, counts.strays), (BEATS, 0, 0));
    assert!(!input.value().unwrap());
}

#[test]
fn beats_without_room_are_counted_and_the_line_goes_on() {
    let (out, input, _edges) = wire(1).unwrap();
    let (send, mut beats) = queue::<Beat>(2, Overflow::DropNewest).unwrap();
    let mut toggler = Toggler::new(out, send);
    for index in 0..5 {
        assert_eq!(toggler.beat(&cycle(index)), Next::Continue);
    }
    assert_eq!((toggler.beats(), toggler.unreported()), (5, 3));
    assert_eq!(beats.receive().map(|beat| (beat.number, beat.level)), Some((0, true)));
    assert!(input.value().unwrap());
    toggler.rest().unwrap();
    assert!(!input.value().unwrap());
}
