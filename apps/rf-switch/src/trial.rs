//! A trial: writes time-stamped commands to a daemon's FIFO under each load, and reports the outcome.

use crate::code::Code;
use crate::command::Command;
use crate::daemon::{Signals, end, greet};
use crate::error::Error;
use crate::fifo;
use crate::intake::Board;
use crate::options::Options;
use crate::report::Phase;
use crate::station::Station;
use punctual_loads::{Load, LoadSettings, LoadSpec, not_run};
use punctual_model::LoadReport;
use punctual_rt::monotonic;
use punctual_units::Nanos;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Time limit for sending the last commands after they were written.
const PATIENCE: Nanos = Nanos::from_secs(30);
const LOOK: Nanos = Nanos::from_millis(20);

/// Runs the trial and prints its report.
///
/// # Errors
/// Something that is needed is not available; [`Error::NotSent`] if commands were lost, a load did not run, or a signal
/// arrived.
pub fn trial(options: &Options, loads: &[LoadSpec], signals: &Signals) -> Result<(), Error> {
    let settings = load_settings(options)?;
    loads.iter().try_for_each(|spec| Load::check(spec, &settings))?;
    let tap = fifo::open(options)?;
    let path = tap.path().to_owned();
    let mut fifo = File::options().write(true).open(&path).map_err(Error::file("open", &path))?;
    let station = Station::start(options, Some(tap), Vec::new())?;
    greet(&station, &format!("{} commands every {} under each load", options.count, options.every));
    let mut phases = Vec::new();
    // Commands left over from an earlier run do not belong to any load.
    let clear = settled(&station, signals);
    for spec in loads.iter().filter(|_| clear) {
        match phase(options, spec, &mut fifo, &path, &station, signals)? {
            Some(phase) => phases.push(phase),
            None => break,
        }
    }
    let ended = phases.len() < loads.len();
    let wrong = wrong(&phases);
    end(station, Some(phases), options.json)?;
    match (ended, wrong) {
        (true, _) => Err(Error::NotSent("the trial was ended before its last load".into())),
        (_, Some(what)) => Err(Error::NotSent(what)),
        _ => Ok(()),
    }
}

fn load_settings(options: &Options) -> Result<LoadSettings, Error> {
    let cpus = punctual_uapi::affinity(0)?;
    let phase = Nanos(options.every.0.saturating_mul(u64::from(options.count)).max(1_000_000_000));
    Ok(LoadSettings { phase, ..LoadSettings::new(cpus, "/var/tmp".into()) })
}

/// Waits until the commands of an earlier run are sent. Returns `false` if a signal arrived, or they could not be sent.
fn settled(station: &Station, signals: &Signals) -> bool {
    while station.board.figures().commands.sent < station.restored {
        if station.broken() || signals.wait(LOOK) == Some(false) {
            return false;
        }
    }
    true
}

fn wrong(phases: &[Phase]) -> Option<String> {
    let of = |phase: &Phase| {
        let load = phase.load.clone().unwrap_or_default();
        let lost = phase.written.unwrap_or(0).saturating_sub(phase.sent);
        match phase.load_ran {
            _ if lost > 0 => Some(format!("under {load}, {lost} commands were not sent")),
            Some(true) => None,
            _ => Some(format!("the load {load} did not run properly")),
        }
    };
    phases.iter().find_map(of)
}

/// Runs the trial under one load. Returns `None` if a signal ended it.
fn phase(
    options: &Options,
    spec: &LoadSpec,
    fifo: &mut File,
    path: &Path,
    station: &Station,
    signals: &Signals,
) -> Result<Option<Phase>, Error> {
    *station.board.figures() = Default::default();
    let load = match Load::start(spec, &load_settings(options)?) {
        Ok(load) => load,
        Err(error) => return Ok(Some(Phase::of(&station.board.figures()).under(&not_run(spec, &error), 0))),
    };
    let written = feed(options, fifo, path, station, signals)?;
    let report: LoadReport = load.stop();
    let Some(written) = written else { return Ok(None) };
    Ok(Some(Phase::of(&station.board.figures()).under(&report, written)))
}

/// Writes the commands and waits until each is sent or the time limit has passed. Returns how many it wrote, or `None`
/// if a signal arrived.
fn feed(
    options: &Options,
    fifo: &mut File,
    path: &Path,
    station: &Station,
    signals: &Signals,
) -> Result<Option<u64>, Error> {
    let codes: Vec<Code> = options.addresses.codes().collect();
    for code in codes.iter().cycle().take(options.count as usize) {
        if station.broken() || signals.wait(options.every) == Some(false) {
            return Ok(None);
        }
        // Written with a single write(2), which is atomic because it is shorter than PIPE_BUF.
        let line = format!("{}\n", Command { code: *code, stamp: Some(monotonic()) });
        fifo.write_all(line.as_bytes()).map_err(Error::file("write", path))?;
    }
    let (written, until) = (u64::from(options.count), monotonic() + PATIENCE);
    while arrived(&station.board) < written && monotonic() < until {
        if station.broken() || signals.wait(LOOK) == Some(false) {
            return Ok(None);
        }
    }
    Ok(Some(written))
}

fn arrived(board: &Board) -> u64 {
    let commands = board.figures().commands;
    commands.sent + commands.dropped + commands.bad
}
