use crate::edges::EdgeSource;
use crate::error::Error;
use crate::listener::Heard;
use crate::measure::{Bench, Instruments, measure};
use crate::options::{Asked, HELP, Options, parse};
use crate::plan::{Measured, Plan};
use crate::start::{self, Started};
use crate::toggler::Toggler;
use crate::{report, runs, table};
pub use punctual_loads::HIDDEN_ARG;
use punctual_loads::{Load, LoadSettings};
use punctual_rt::{Overflow, block_signals, queue};
use punctual_units::{Nanos, Scheduling};
use punctual_wires::wire;
use std::ffi::OsString;
use std::io::{self, Write};

/// Capacity of the queues for beats and for edges of the simulated line: 5.9 s at 360 µs.
const WAITING: usize = 1 << 14;

/// Exit code if a load did not run, so that a measurement is inconclusive.
const INCONCLUSIVE: u8 = 3;
/// Exit code if releases or beats do not add up.
const FAILED: u8 = 1;

/// Runs the program and returns its exit code: 0, 1 if releases are not accounted for, 2 if the command line must be
/// changed, 3 if a load did not run, 4 if the machine must be changed, 128 plus the signal number after SIGINT, SIGTERM
/// or SIGHUP. Prints results to standard output, and errors to standard error. Before this, `main` must let the loads
/// handle a command line that begins with [`HIDDEN_ARG`].
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let result = parse(words).map_err(Error::from).and_then(|asked| match asked {
        Asked::Help => Ok(say(HELP)),
        Asked::Version => Ok(say(&format!("metronome {}\n", env!("CARGO_PKG_VERSION")))),
        Asked::Run(options) => all(&options),
    });
    result.unwrap_or_else(|error| {
        complain(&error);
        error.exit_code()
    })
}

/// Prints to standard output. Errors are ignored, since the reader may have exited.
fn say(text: &str) -> u8 {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    0
}

/// Runs every measurement. Measurements that have finished are reported and written even if a later measurement fails.
fn all(options: &Options) -> Result<u8, Error> {
    block_signals()?;
    let mut instruments = open(options)?;
    let Started { rt, scheduling, narrowed } = start::start(&options.scheduling, options.allow_ordinary)?;
    if !options.quiet {
        eprint!("{}", rt.report());
    }
    narrowed.iter().for_each(|narrowed| complain(narrowed));
    let (loads, duration, settle) = (load_settings(options)?, options.duration, options.settle);
    options.loads.iter().try_for_each(|load| Load::check(load, &loads))?;
    let bench = Bench { rt: &rt, cpu: options.cpu, loads, duration, settle };
    let (mut measured, mut failed) = (Vec::new(), None);
    let plans = plans(options, &scheduling);
    options.out.as_deref().map_or(Ok(()), |folder| runs::free(folder, &plans))?;
    let lacks = |wanted: &punctual_rt::Scheduling| wanted.policy().is_real_time() && !scheduling.contains(wanted);
    let refused = options.scheduling.iter().any(lacks);
    let mut plans = plans.into_iter().peekable();
    while let Some(plan) = plans.next() {
        match measure(&bench, &plan, instruments) {
            Ok((mut one, back)) => {
                if refused && !plan.scheduling.policy().is_real_time() {
                    one.run = one.run.refused("real-time scheduling was refused, and --allow-ordinary was given");
                }
                print_result(options, &one);
                let early = one.ended_by.is_some();
                measured.push(one);
                // Do not end between two measurements, because the edge would belong to no beat.
                match plans.peek().filter(|_| !early) {
                    Some(_) => instruments = back,
                    None => {
                        failed = rest(back).err();
                        break;
                    }
                }
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    finish(options, &measured)?;
    failed.map_or_else(|| Ok(code(&measured)), Err)
}

fn rest(mut instruments: Instruments) -> Result<(), Error> {
    instruments.toggler.rest().map_err(|source| Error::Line { what: "--line", source })
}

fn open(options: &Options) -> Result<Instruments, Error> {
    let (beats, heard) = queue(WAITING, Overflow::DropNewest)?;
    let driven = options.line.output(false).map_err(|source| Error::Line { what: "--line", source })?;
    let (out, source) = match driven {
        Some(out) => {
            let listen = options.listen.as_ref().map(EdgeSource::open).transpose();
            (out, listen.map_err(|source| Error::Line { what: "--listen", source })?)
        }
        None => {
            let (out, _, edges) = wire(WAITING)?;
            (out, Some(EdgeSource::Wire(edges)))
        }
    };
    Ok(Instruments { toggler: Toggler::new(out, beats), heard: Heard { source, beats: heard } })
}

fn load_settings(options: &Options) -> Result<LoadSettings, Error> {
    let cpus = match &options.load_cpus {
        Some(cpus) => cpus.clone(),
        None => punctual_uapi::affinity(0)?,
    };
    let mut settings = LoadSettings::new(cpus, options.scratch.clone());
    settings.peer.clone_from(&options.peer);
    settings.secret_file.clone_from(&options.secret_file);
    settings.phase = Nanos(options.duration.0.saturating_add(options.settle.0));
    Ok(settings)
}

/// Lists the measurements, with the loads of a policy next to each other, so that the phases of a run directory are
/// adjacent.
fn plans(options: &Options, scheduling: &[Scheduling]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for scheduling in scheduling {
        for period in &options.periods {
            let plan = |load| Plan { scheduling: *scheduling, period: *period, load };
            plans.extend(options.loads.iter().cloned().map(plan));
        }
    }
    plans
}

fn print_result(options: &Options, measured: &Measured) {
    match (options.json, options.quiet) {
        (true, _) => drop(say(&format!("{}\n", report::json(measured)))),
        (false, false) => drop(say(&report::text(measured))),
        (false, true) => {}
    }
}

fn finish(options: &Options, measured: &[Measured]) -> Result<(), Error> {
    if !options.json {
        say(&format!("\n{}", table::table(measured)));
    }
    let Some(folder) = options.out.as_ref().filter(|_| !measured.is_empty()) else { return Ok(()) };
    let written = runs::write(folder, measured, &options.words)?;
    if !options.json && !options.quiet {
        for name in written {
            say(&format!("run: {}\n", folder.join(name).display()));
        }
    }
    Ok(())
}

fn code(measured: &[Measured]) -> u8 {
    let signal = measured.iter().find_map(|one| one.ended_by);
    if !measured.iter().all(Measured::accounted_for) {
        FAILED
    } else if let Some(signal) = signal {
        128 + u8::try_from(signal.number()).unwrap_or_default()
    } else if measured.iter().any(|one| !one.load.ran) {
        INCONCLUSIVE
    } else {
        0
    }
}

/// Writes to standard error. Errors are ignored: a long measurement must not end because its terminal was closed.
fn complain(what: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "metronome: {what}");
}
