//! Tests several lines in one loop, in simulated time: what is written to the pipe, and that the loop does not
//! allocate.

use punctual_rt::{Line, Next, Overflow, Receiver, pipe_out, queue};
use punctual_units::Nanos;
use punctual_wires::{Out, wire};
use rotary_dial::{
    Book, Counts, Dial, DigitMap, Exchange, ExchangeLine, LineCounts, LineEvent, PERIOD, Play, Random, Script, Timing,
    What,
};
use std::io::Read;
use std::sync::Arc;

struct Played {
    counts: Vec<Counts>,
    events: Vec<LineEvent>,
    text: String,
    cycles: u64,
    allocations: u64,
}

fn book(entries: &[&str]) -> Book {
    Book::new(entries.iter().map(|entry| entry.parse().unwrap()).collect()).unwrap()
}

/// Plays a script on each line at the same time.
fn exchange(scripts: &[(&str, DigitMap, Book)]) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rtp2");
    let (commands, bridge) = pipe_out::<Line, 64>(&*path, Overflow::DropNewest).unwrap();
    let mut reader = std::fs::File::open(&path).unwrap();
    let (sender, mut events) = queue(1024, Overflow::DropNewest).unwrap();
    let mut random = Random::new(7);
    let (mut lines, mut plays, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (script, map, book) in scripts {
        let (out, input, edges) = wire(1).unwrap();
        let line = ExchangeLine::new(input, *map, book.clone(), Timing::default(), Nanos::from_secs(4));
        counts.push(line.counts());
        lines.push(line);
        let script: Script = script.parse().unwrap();
        plays.push((out, edges, Play::call(&script, *map, &Dial::default(), &mut random)));
    }
    let mut exchange = Exchange::new(lines, commands, sender);
    let mut cycles = 0;
    let allocated = allocation_counter::measure(|| cycles = run(&mut exchange, &mut plays));
    drop(exchange);
    let commands: u64 = counts.iter().map(|counts: &Arc<LineCounts>| counts.now().commands).sum();
    while bridge.counts().sent < commands {
        std::thread::yield_now();
    }
    drop(bridge);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    let events = std::iter::from_fn(|| events.receive()).collect();
    let counts = counts.iter().map(|counts| counts.now()).collect();
    Played { counts, events, text, cycles, allocations: allocated.count_total }
}

fn run<E>(exchange: &mut Exchange, plays: &mut [(Out, Receiver<E>, Play)]) -> u64 {
    let end = plays.iter().map(|(_, _, play)| play.end).max().unwrap();
    let mut next = vec![0; plays.len()];
    let (mut at, mut cycles) = (Nanos::ZERO, 0);
    while at < end {
        for ((out, _, play), next) in plays.iter_mut().zip(&mut next) {
            while let Some(change) = play.changes.get(*next).filter(|change| change.at <= at) {
                out.set(change.closed).unwrap();
                *next += 1;
            }
        }
        assert_eq!(exchange.cycle_by(|| at), Next::Continue);
        at = at + PERIOD;
        cycles += 1;
    }
    cycles
}

#[test]
fn several_lines_of_several_countries_are_decoded_in_one_loop() {
    let swedish = book(&["112=a11"]);
    let played = exchange(&[
        ("421420", DigitMap::Usual, Book::default()),
        ("112", DigitMap::Sweden, swedish),
        ("9421", DigitMap::NewZealand, Book::default()),
        ("42h1", DigitMap::Usual, Book::default()),
    ]);
    let mut commands: Vec<&str> = played.text.lines().collect();
    commands.sort_unstable();
    assert_eq!(commands, ["a11", "d20", "d21"]);
    let [usual, swedish, wrong, hung_up] = &played.counts[..] else { panic!() };
    assert_eq!((usual.commands, usual.digits, usual.lifted, usual.hung_up), (2, 6, 1, 1));
    assert_eq!((swedish.commands, swedish.digits), (1, 3));
    assert_eq!((wrong.commands, wrong.unknown, wrong.digits), (0, 1, 4));
    assert_eq!((hung_up.commands, hung_up.dropped, hung_up.unknown, hung_up.lifted), (0, 1, 1, 2));
    for counts in &played.counts {
        assert_eq!((counts.samples, counts.unread, counts.rejected, counts.blind), (played.cycles, 0, [0; 7], 0));
    }
    let commands = played.events.iter().filter(|event| matches!(event.what, What::Command(..))).count();
    assert_eq!(commands, 3);
}

#[test]
fn the_loop_allocates_nothing() {
    let before = exchange(&[("1", DigitMap::Usual, Book::default())]);
    let played = exchange(&[("421999h421,,,,,4", DigitMap::Usual, Book::default())]);
    assert!(played.counts[0].commands == 2 && played.counts[0].unknown == 1);
    // In both cases the test's own vector is the only allocation, however long the exchange runs.
    assert_eq!((before.allocations, played.allocations), (1, 1));
    assert!(played.cycles > 2 * before.cycles);
}

#[test]
fn what_nobody_reads_is_counted_and_the_loop_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (commands, _bridge) = pipe_out::<Line, 1>(&*folder.path().join("rtp2"), Overflow::DropNewest).unwrap();
    let (sender, mut events) = queue(1, Overflow::DropNewest).unwrap();
    let (mut out, input, _edges) = wire(1).unwrap();
    let book = book(&["1=d11"]);
    let line = ExchangeLine::new(input, DigitMap::Usual, book, Timing::default(), Nanos::from_secs(4));
    let counts = line.counts();
    let mut exchange = Exchange::new(vec![line], commands, sender);
    for ms in (0..20_000).step_by(10) {
        out.set(ms % 1000 >= 60).unwrap();
        assert_eq!(exchange.cycle_by(|| Nanos::from_millis(ms)), Next::Continue);
    }
    assert!(counts.now().commands >= 18, "{:?}", counts.now());
    assert!(events.receive().is_some() && events.receive().is_none());
    assert!(events.counts().dropped >= 36);
}

#[test]
fn a_reading_that_was_preempted_is_no_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (commands, _bridge) = pipe_out::<Line, 1>(&*folder.path().join("rtp2"), Overflow::DropNewest).unwrap();
    let (sender, _events) = queue(1, Overflow::DropNewest).unwrap();
    let (_out, input, _edges) = wire(1).unwrap();
    let line = ExchangeLine::new(input, DigitMap::Usual, Book::default(), Timing::default(), Nanos::from_secs(4));
    let counts = line.counts();
    let mut exchange = Exchange::new(vec![line], commands, sender);
    let now = std::cell::Cell::new(Nanos::ZERO);
    for step in [Nanos::from_millis(1), Nanos::from_millis(3), Nanos::from_millis(1)] {
        exchange.cycle_by(|| now.replace(now.get() + step));
    }
    assert_eq!((counts.now().samples, counts.now().unread), (2, 1));
}
