//! Captures edges with the kernel's time stamps: from an input wired to the transmitter's line, or from the tracepoint
//! gpio:gpio_value.

use crate::error::Error;
use crate::ook::{EdgeAt, OokWriter, Written};
use crate::options::Capture;
use crate::print::say;
use punctual_gpio::{Edge, Edges, Event, EventClock, Line, MAX_BUFFERED, Tally};
use punctual_journal::Journal;
use punctual_rt::monotonic;
use punctual_tracefs::{Config, EventSet, Instance, Tracefs};
use punctual_units::Nanos;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK: Nanos = Nanos::from_millis(50);
const TRACEPOINT: &EventSet = &[("gpio", "gpio_value")];
/// Size of the trace buffer of each CPU: enough for thousands of edges. It is read every 50 ms, the duration of two
/// frames at T = 300 µs or less.
const BUFFER_KB: u64 = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub written: Written,
    pub edges: u64,
    /// Number of edges dropped by the kernel, according to its sequence numbers.
    pub dropped: u64,
    /// Number of repetitions of the same edge: each means that one edge in between was coalesced.
    pub repeated: u64,
}

#[derive(Debug)]
pub struct Capturing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Captured, Error>>,
}

impl Capturing {
    /// Starts a capture. `tid` is the thread ID of the transmitter; the tracepoint records only events of this thread.
    ///
    /// # Errors
    /// The line, tracefs, the tracepoint or a privilege is missing.
    pub fn start(what: &Capture, tid: i32, writer: OokWriter<File>) -> Result<Option<Capturing>, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = stop.clone();
        let spawn = |body: Box<dyn FnOnce() -> Result<Captured, Error> + Send>| {
            let thread = std::thread::Builder::new().name("capture".into()).spawn(body);
            thread.map_err(|source| Error::Call { call: "clone", source })
        };
        let thread = match what {
            Capture::Line(place) => {
                let Some((chip, offset)) = place.open().map_err(Error::Capture)? else { return Ok(None) };
                let line = Line::edges(&chip, offset, Edges::Both, MAX_BUFFERED, EventClock::Monotonic);
                let line = line.map_err(Error::Capture)?;
                spawn(Box::new(move || of_line(line, writer, &theirs)))?
            }
            Capture::Trace => {
                let (instance, pipe) = trace(tid)?;
                spawn(Box::new(move || of_trace(instance, pipe, writer, &theirs)))?
            }
        };
        Ok(Some(Capturing { stop, thread }))
    }

    /// Reads the remaining edges and ends the capture.
    ///
    /// # Errors
    /// The error that ended the capture earlier.
    pub fn stop(self) -> Result<Captured, Error> {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap_or(Err(Error::Thread("capture")))
    }
}

fn of_line(mut line: Line, mut writer: OokWriter<File>, stop: &AtomicBool) -> Result<Captured, Error> {
    let mut events = [Event::default(); 64];
    let mut tally = Tally::default();
    loop {
        // Checked before the last read: everything sent by then is available, except for what the interrupt's thread
        // has not yet handled.
        let last = stop.load(Relaxed);
        let now = monotonic();
        let ready = line.wait(Some(LOOK)).map_err(Error::Capture)?;
        let count = if ready { line.read(&mut events).map_err(Error::Capture)? } else { 0 };
        for event in &events[..count] {
            tally.add(event);
            let edge = EdgeAt { at: Nanos(event.timestamp_ns), level: event.edge == Edge::Rising };
            writer.edge(edge).map_err(write_failed)?;
        }
        writer.lost(tally.dropped);
        if count == 0 {
            writer.quiet_until(now).map_err(write_failed)?;
            if last {
                break;
            }
        }
    }
    let written = writer.finish().map_err(write_failed)?;
    Ok(Captured { written, edges: tally.received, dropped: tally.dropped, repeated: tally.repeated })
}

fn write_failed(source: std::io::Error) -> Error {
    Error::file("write", "the file of --ook")(source)
}

/// Creates a private trace instance that records this event for this thread only. It is not filtered by line number,
/// which the kernel assigns anew at each boot. The thread ID must be the one in the initial PID namespace.
fn trace(tid: i32) -> Result<(Instance, File), Error> {
    punctual_tracefs::recover().iter().for_each(|line| say(line));
    let config = Config { events: TRACEPOINT, buffer_kb: Some(BUFFER_KB), tracer: None, stacks: None };
    let instance = Instance::create(&Tracefs::find()?, &Journal::of_user(), &config)?;
    if !instance.missing().is_empty() {
        return Err(Error::NoTracepoint);
    }
    instance.filter("gpio", "gpio_value", &format!("common_pid == {tid} && get == 0"))?;
    let path = instance.folder().join("trace_pipe");
    let flags = OFlags::NONBLOCK.bits() as i32;
    let pipe = File::options().read(true).custom_flags(flags).open(&path).map_err(Error::file("open", &path))?;
    Ok((instance, pipe))
}

fn of_trace(
    instance: Instance,
    mut pipe: File,
    mut writer: OokWriter<File>,
    stop: &AtomicBool,
) -> Result<Captured, Error> {
    let (mut captured, mut lines, mut bytes) = (Captured::default(), Lines::default(), [0; 8192]);
    loop {
        let last = stop.load(Relaxed);
        let now = monotonic();
        let count = match pipe.read(&mut bytes) {
            Ok(count) => count,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(e) => return Err(Error::file("read", instance.folder().join("trace_pipe"))(e)),
        };
        for line in lines.feed(&bytes[..count]) {
            match parse(&line) {
                Some(TraceLine::Edge(edge)) => {
                    captured.edges += 1;
                    writer.edge(edge).map_err(write_failed)?;
                }
                Some(TraceLine::Lost(events)) => captured.dropped += events,
                None => {}
            }
        }
        writer.lost(captured.dropped);
        if count == 0 {
            writer.quiet_until(now).map_err(write_failed)?;
            if last {
                break;
            }
            std::thread::sleep(Duration::from(LOOK));
        }
    }
    captured.written = writer.finish().map_err(write_failed)?;
    drop(pipe);
    instance.remove().unwrap_or_else(|left| left.iter().for_each(|line| say(line)));
    Ok(captured)
}

#[derive(Debug, Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let Some(end) = self.0.iter().rposition(|b| *b == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.0.drain(..=end).collect();
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TraceLine {
    Edge(EdgeAt),
    /// Number of events that were overwritten before they were read.
    Lost(u64),
}

/// Parses `rf-switch-123 [000] d..2. 123.456789: gpio_value: 528 set 1`, and `CPU:0 [LOST 12 EVENTS]`
/// (kernel/trace/trace_output.c, trace.c; include/trace/events/gpio.h). The kernel records the event just before it
/// calls the driver.
fn parse(line: &str) -> Option<TraceLine> {
    if let Some((_, rest)) = line.split_once("[LOST ") {
        return rest.split(' ').next()?.parse().ok().map(TraceLine::Lost);
    }
    let (before, event) = line.split_once(": gpio_value: ")?;
    let (seconds, micros) = before.rsplit(' ').next()?.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let micros: u64 = (micros.len() == 6).then(|| micros.parse().ok())??;
    let at = Nanos(seconds.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1_000)?);
    let level = match event.trim_end().rsplit_once(" set ")?.1 {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    Some(TraceLine::Edge(EdgeAt { at, level }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tracepoint_are_edges() {
        let at = |us, level| Some(TraceLine::Edge(EdgeAt { at: Nanos::from_micros(us), level }));
        let line = "       rf-switch-123     [000] .....    77.000360: gpio_value: 528 set 1";
        assert_eq!(parse(line), at(77_000_360, true));
        assert_eq!(parse(&line.replace("set 1", "set 0")), at(77_000_360, false));
        assert_eq!(parse("CPU:0 [LOST 12 EVENTS]"), Some(TraceLine::Lost(12)));
        for other in [
            "",
            "# tracer: nop",
            "x-1 [000] ..... 77.1: gpio_value: 528 set 1",
            "x-1 [000] ..... 77.000001: gpio_value: 528 get 1",
            "99999999999999999999.000001: gpio_value: 1 set 1",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let mut lines = Lines::default();
        assert!(lines.feed(b"one").is_empty());
        assert_eq!(lines.feed(b"\ntwo\nthr"), ["one", "two"]);
        assert_eq!(lines.feed(b"ee\n"), ["three"]);
    }
}
