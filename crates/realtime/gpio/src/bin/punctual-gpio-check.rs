//! Checks the GPIO functions against a real kernel: toggles simulated lines a known number of times and compares this
//! with what the reader received. For a guest with gpio-sim (docs/gpio-kernel.md); with a single virtual CPU the counts
//! are exact. Prints one line per check; the exit code is 1 if one failed.

#![forbid(unsafe_code)]

use punctual_gpio::sim::SimChip;
use punctual_gpio::{
    Chip, Edge, Edges, Event, EventClock, GpioError, Line, Output, Tally, USUAL_BUFFER, find_line, settle,
};
use punctual_uapi::set_scheduling;
use punctual_units::{Nanos, Priority, Scheduling};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

type Outcome = Result<String, Box<dyn Error>>;
type Check = fn(&SimChip) -> Outcome;

/// Number of toggles if the sender waits for each event.
const PACED: u32 = 1000;
/// Number of toggles if no thread reads.
const STALLED: u32 = 40;
/// Priority above that of the interrupt threads (50, sched(7)).
const ABOVE: u8 = 90;
/// Time limit for one event, long enough for a guest on a busy machine.
const PATIENCE: Nanos = Nanos(10_000_000_000);

const CHECKS: [(&str, Check); 12] = [
    ("names", names),
    ("busy", busy),
    ("paced", paced),
    ("rising", |sim| one_way(sim, Edges::Rising)),
    ("falling", |sim| one_way(sim, Edges::Falling)),
    ("realtime", realtime),
    ("stalled", |sim| stalled(sim, USUAL_BUFFER, 16)),
    ("rounded", |sim| stalled(sim, 20, 32)),
    ("roomy", |sim| stalled(sim, 64, u64::from(STALLED))),
    ("coalesced", coalesced),
    ("neighbour", neighbour),
    ("output", output),
];

fn main() -> ExitCode {
    let sim = match SimChip::new("punctual-check", &["punctual-a", "punctual-b", "punctual-out", ""]) {
        Ok(sim) => sim,
        Err(e) => {
            println!("FAILED  chip       {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = 0;
    let mut print = |name: &str, outcome: Outcome| match outcome {
        Ok(figures) => println!("ok      {name:10} {figures}"),
        Err(why) => {
            failed += 1;
            println!("FAILED  {name:10} {why}");
        }
    };
    for (name, check) in CHECKS {
        print(name, check(&sim));
    }
    print("removed", removed(sim));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn expect(holds: bool, what: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if holds { Ok(()) } else { Err(what.into().into()) }
}

fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn line(sim: &SimChip, offset: u32, edges: Edges, buffer: u32) -> Result<Line, GpioError> {
    sim.pull(offset, false)?;
    let line = Line::edges(&sim.open()?, offset, edges, buffer, EventClock::Monotonic)?;
    if !settle(Nanos::from_millis(5000)) {
        return Err(GpioError::Usage("the interrupt's thread is still not FIFO after 5 s".into()));
    }
    Ok(line)
}

/// Toggles `count` times, starting with the rising edge.
fn toggle(sim: &SimChip, offset: u32, count: u32) -> Result<(), GpioError> {
    (1..=count).try_for_each(|number| sim.pull(offset, number % 2 == 1))
}

/// Reads all pending events, and those that arrive within 200 ms of the previous one.
fn drain(line: &mut Line) -> Result<(Vec<Event>, Tally), GpioError> {
    let (mut all, mut tally) = (Vec::new(), Tally::default());
    let mut events = [Event::default(); 64];
    while line.wait(Some(Nanos::from_millis(200)))? {
        let count = line.read(&mut events)?;
        all.extend(events.iter().take(count).copied());
    }
    all.iter().for_each(|event| tally.add(event));
    Ok((all, tally))
}

fn account(sent: u32, tally: &Tally) -> String {
    let Tally { received, dropped, repeated, .. } = tally;
    let coalesced =
        tally.coalesced(sent.into()).map_or("unknown (more events received than sent)".into(), |n| n.to_string());
    format!("sent {sent}, received {received}, dropped {dropped}, coalesced {coalesced}, repeated {repeated}")
}

fn names(sim: &SimChip) -> Outcome {
    let at = find_line("punctual-b")?;
    expect(at.offset == 1 && at.chip.path() == sim.node(), format!("punctual-b was found at {at:?}"))?;
    let label = at.chip.info().label.clone();
    expect(Chip::find(&label)?.path() == sim.node(), format!("the label {label} matches another chip"))?;
    let names: Vec<String> = at.chip.lines()?.into_iter().map(|line| line.name).collect();
    expect(names == ["punctual-a", "punctual-b", "punctual-out", ""], format!("lines {names:?}"))?;
    expect(matches!(find_line("nowhere"), Err(GpioError::NoLine { .. })), "a line `nowhere` was found")?;
    Ok(format!("found {} lines on {} ({label})", names.len(), at.chip.info().name))
}

fn busy(sim: &SimChip) -> Outcome {
    let _held = line(sim, 0, Edges::Both, USUAL_BUFFER)?;
    match line(sim, 0, Edges::Both, USUAL_BUFFER) {
        Err(e @ GpioError::Busy { .. }) => Ok(e.to_string()),
        other => Err(format!("requesting a line that is in use returned {other:?}").into()),
    }
}

/// Waits after each toggle: every edge is received, in order, with a time stamp between the surrounding clock readings.
fn paced(sim: &SimChip) -> Outcome {
    let mut line = line(sim, 0, Edges::Both, USUAL_BUFFER)?;
    let mut tally = Tally::default();
    for number in 1..=PACED {
        let before = now_ns(ClockId::Monotonic);
        sim.pull(0, number % 2 == 1)?;
        expect(line.wait(Some(PATIENCE))?, format!("no event for toggle {number}: {}", account(PACED, &tally)))?;
        let mut events = [Event::default(); 4];
        let count = line.read(&mut events)?;
        let after = now_ns(ClockId::Monotonic);
        let edge = if number % 2 == 1 { Edge::Rising } else { Edge::Falling };
        let event = events[0];
        let seen = (count, event.edge, event.offset, event.seqno, event.line_seqno);
        expect(seen == (1, edge, 0, number, number), format!("toggle {number}: {event:?}, {count} events"))?;
        expect((before..=after).contains(&event.timestamp_ns), format!("{event:?} is not in {before}..={after}"))?;
        tally.add(&event);
    }
    expect(tally.received == u64::from(PACED), account(PACED, &tally))?;
    expect(!line.wait(Some(Nanos::from_millis(200)))?, "received an event that was not sent")?;
    Ok(format!("{}; line_seqno 1 to {PACED}, edges alternate, timestamps within bounds", account(PACED, &tally)))
}

/// Checks that every other toggle is an event if only one edge direction is requested.
fn one_way(sim: &SimChip, edges: Edges) -> Outcome {
    let mut line = line(sim, 0, edges, 64)?;
    toggle(sim, 0, STALLED)?;
    let (events, tally) = drain(&mut line)?;
    let wanted = if edges == Edges::Rising { Edge::Rising } else { Edge::Falling };
    expect(events.iter().all(|e| e.edge == wanted), format!("{events:?}"))?;
    expect(tally.received == u64::from(STALLED / 2) && tally.dropped == 0, account(STALLED / 2, &tally))?;
    Ok(format!("sent {} of {STALLED}, received {}, dropped 0, coalesced 0", STALLED / 2, tally.received))
}

fn realtime(sim: &SimChip) -> Outcome {
    let mut line = Line::edges(&sim.open()?, 0, Edges::Both, USUAL_BUFFER, EventClock::Realtime)?;
    let before = now_ns(ClockId::Realtime);
    sim.pull(0, true)?;
    let event = line.events().next().ok_or("no event")??;
    let around = before..=now_ns(ClockId::Realtime);
    expect(around.contains(&event.timestamp_ns), format!("{event:?} is not in {around:?}"))?;
    Ok("CLOCK_REALTIME timestamps lie between the surrounding clock readings".into())
}

/// Toggles without a reader: the queue keeps the last `kept` events, and the gap is before them.
fn stalled(sim: &SimChip, buffer: u32, kept: u64) -> Outcome {
    let mut line = line(sim, 0, Edges::Both, buffer)?;
    toggle(sim, 0, STALLED)?;
    let (events, tally) = drain(&mut line)?;
    let account = account(STALLED, &tally);
    let dropped = u64::from(STALLED) - kept;
    expect((tally.received, tally.dropped, tally.repeated) == (kept, dropped, 0), account.clone())?;
    let numbers: Vec<u32> = events.iter().map(|e| e.line_seqno).collect();
    let expected: Vec<u32> = (dropped as u32 + 1..=STALLED).collect();
    expect(numbers == expected, format!("line_seqno {numbers:?}"))?;
    Ok(format!("buffer {buffer}: {account}; first line_seqno {}", dropped + 1))
}

/// Makes the sender preempt the interrupt's thread on its CPU: each toggle causes a hard interrupt, but the thread runs
/// once and reports one event without a gap.
fn coalesced(sim: &SimChip) -> Outcome {
    let mut line = line(sim, 0, Edges::Both, 64)?;
    let count = STALLED + 1;
    let priority = Priority::try_from(ABOVE)?;
    set_scheduling(0, Scheduling::Fifo { priority }, false)?;
    let sent = toggle(sim, 0, count);
    let last = now_ns(ClockId::Monotonic);
    set_scheduling(0, Scheduling::Other { nice: 0 }, false)?;
    sent?;
    let (events, tally) = drain(&mut line)?;
    let account = account(count, &tally);
    expect(tally.dropped == 0 && tally.coalesced(count.into()).is_some_and(|n| n > 0), account.clone())?;
    expect(events.iter().all(|e| e.timestamp_ns <= last), format!("{events:?}"))?;
    Ok(format!("sender at FIFO {ABOVE}: {account}: coalesced edges leave no gap"))
}

/// Checks that edges of one line are not events of another.
fn neighbour(sim: &SimChip) -> Outcome {
    let (mut a, mut b) = (line(sim, 0, Edges::Both, 64)?, line(sim, 1, Edges::Both, 64)?);
    toggle(sim, 0, 7)?;
    toggle(sim, 1, 12)?;
    let ((first, of_a), (second, of_b)) = (drain(&mut a)?, drain(&mut b)?);
    expect((of_a.received, of_b.received) == (7, 12), format!("{of_a:?}, {of_b:?}"))?;
    let apart = first.iter().all(|e| e.offset == 0) && second.iter().all(|e| e.offset == 1);
    expect(apart, format!("{first:?} {second:?}"))?;
    Ok("two lines: 7 and 12 edges sent, 7 and 12 received".into())
}

fn output(sim: &SimChip) -> Outcome {
    sim.pull(2, false)?;
    let output = Output::new(&sim.open()?, 2, true)?;
    expect(sim.value(2)? && output.value()?, "the first value did not reach the line")?;
    for number in 0..100 {
        output.set(number % 2 == 0)?;
        let levels = (sim.value(2)?, output.value()?);
        expect(levels == (number % 2 == 0, number % 2 == 0), format!("set {number}: {levels:?}"))?;
    }
    drop(output);
    expect(!sim.value(2)?, "the line is still driven")?;
    Ok("100 values set, 100 read back; the line is no longer driven afterwards".into())
}

/// Removes the chip while a reader waits, and checks that neither a device nor a configfs folder is left.
fn removed(sim: SimChip) -> Outcome {
    let mut line = line(&sim, 0, Edges::Both, USUAL_BUFFER)?;
    let node = sim.node().to_owned();
    drop(sim);
    let error = match line.read(&mut [Event::default()]) {
        Err(e @ GpioError::Removed { .. }) => e.to_string(),
        other => return Err(format!("a line of a removed chip could still be read: {other:?}").into()),
    };
    expect(!node.exists(), format!("{} is still there", node.display()))?;
    let left: Vec<_> = std::fs::read_dir(Path::new("/sys/kernel/config/gpio-sim"))?.flatten().collect();
    expect(left.is_empty(), format!("left in configfs: {left:?}"))?;
    Ok(error)
}
