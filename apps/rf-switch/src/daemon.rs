use crate::code::Code;
use crate::command::Command;
use crate::error::Error;
use crate::fifo;
use crate::ook::{EdgeAt, OokWriter};
use crate::options::Options;
use crate::print::{print, say};
use crate::report::{Phase, Report};
use crate::station::Station;
use crate::waveform::Waveform;
use punctual_uapi::{Sig, SignalSet, Waited, block, wait};
use punctual_units::Nanos;
use std::fs::File;
use std::io::Write;

/// Interval at which the daemon checks whether its threads are still running.
const LOOK: Nanos = Nanos::from_millis(500);
/// Interval at which a one-shot run checks whether everything has been sent.
const LOOK_SOON: Nanos = Nanos::from_millis(10);

#[derive(Clone, Copy)]
pub struct Signals(SignalSet);

impl Signals {
    /// Blocks SIGINT, SIGTERM, SIGHUP and SIGUSR1. Call it before the first thread starts.
    ///
    /// # Errors
    /// Cannot fail on Linux.
    pub fn block() -> Result<Signals, Error> {
        let set = SignalSet::new(&[Sig::Int, Sig::Term, Sig::Hup, Sig::Usr1]);
        block(&set)?;
        Ok(Signals(set))
    }

    /// Sleeps until a signal arrives, but no longer than `limit`. Returns `None` if no signal arrived in that time,
    /// `Some(true)` if a report is requested, `Some(false)` if the program should end.
    pub fn wait(&self, limit: Nanos) -> Option<bool> {
        match wait(&self.0, Some(limit)) {
            Waited::Signal(signal) => Some(signal == Sig::Usr1),
            Waited::TimedOut => None,
        }
    }
}

pub fn greet(station: &Station, where_from: &str) {
    let _ = write!(std::io::stderr(), "{}", station.report());
    station.narrowed.iter().for_each(|line| say(&format!("restricted: {line}")));
    say(&format!("transmitter {}; {where_from}", station.scheduling));
    if station.restored > 0 {
        say(&format!("{} commands of an earlier run are still pending, and are sent first", station.restored));
    }
}

/// Stops the station and prints its report.
///
/// # Errors
/// The error that occurred while it ran.
pub fn end(station: Station, phases: Option<Vec<Phase>>, json: bool) -> Result<u64, Error> {
    let (board, narrowed, scheduling) =
        (station.board.clone(), station.narrowed.clone(), station.scheduling.to_string());
    let ended = station.stop();
    let figures = board.figures().clone();
    let phases = phases.unwrap_or_else(|| vec![Phase::of(&figures)]);
    let report = Report::new(scheduling, &narrowed, phases);
    match ended {
        Ok(ended) => {
            let waiting = ended.waiting.len() as u64;
            print(&report.ended(figures.written, ended.captured.as_ref(), waiting).text(json));
            Ok(waiting)
        }
        Err(error) => {
            print(&report.text(json));
            Err(error)
        }
    }
}

/// Sends commands from the FIFO until a signal arrives.
///
/// # Errors
/// Something that is needed is not available, or fails during the run.
pub fn daemon(options: &Options, signals: &Signals) -> Result<(), Error> {
    let tap = fifo::open(options)?;
    let from = format!("reads {}", tap.path().display());
    let station = Station::start(options, Some(tap), Vec::new())?;
    greet(&station, &from);
    while !station.broken() {
        match signals.wait(LOOK) {
            None => {}
            Some(true) => {
                let phase = Phase::of(&station.board.figures());
                print(&Report::new(station.scheduling.to_string(), &station.narrowed, vec![phase]).text(options.json));
            }
            Some(false) => break,
        }
    }
    end(station, None, options.json).map(drop)
}

/// Sends these codes and ends.
///
/// # Errors
/// Something that is needed is not available; [`Error::NotSent`] if a signal arrived first.
pub fn one_shot(options: &Options, codes: &[Code], signals: &Signals) -> Result<(), Error> {
    if options.virtual_time {
        return as_meant(options, codes);
    }
    let commands: Vec<Command> = codes.iter().map(|code| Command { code: *code, stamp: None }).collect();
    let total = commands.len() as u64;
    let station = Station::start(options, None, commands)?;
    greet(&station, &format!("sends {total} commands"));
    while !station.broken() && station.board.figures().commands.sent < total {
        if signals.wait(LOOK_SOON) == Some(false) {
            break;
        }
    }
    match end(station, None, options.json)? {
        0 => Ok(()),
        left => Err(Error::NotSent(format!("{left} of {total} commands were not sent: ended by a signal"))),
    }
}

/// Writes the ideal edges without sleeping: runs the same alarms with a start time in the past.
fn as_meant(options: &Options, codes: &[Code]) -> Result<(), Error> {
    let Some(path) = &options.ook else { return Ok(()) };
    let failed = || Error::file("write", path);
    let file = File::create(path).map_err(failed())?;
    let mut writer = OokWriter::new(file, &options.timing, "the ideal alarm times").map_err(failed())?;
    let waveform = Waveform::new(&options.timing)?;
    let frames = codes.iter().flat_map(|code| (0..options.repeats).map(move |_| *code));
    for (frame, code) in frames.enumerate() {
        let mut wrote = Ok(());
        // The alarms of all frames are at the very start of the clock, which is in the past however short the uptime
        // is.
        let from = Nanos(options.timing.frame().0 * frame as u64);
        waveform.send(code, Nanos(1), |level, rung| {
            wrote = writer.edge(EdgeAt { at: from + rung.due, level });
            wrote.is_ok()
        });
        wrote.map_err(failed())?;
    }
    let written = writer.finish().map_err(failed())?;
    print(&format!("{} commands, {} ideal pulses in {}\n", codes.len(), written.pulses, path.display()));
    Ok(())
}
