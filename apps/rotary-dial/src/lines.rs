use crate::config::{Config, LineConfig};
use crate::error::{Error, UsageError};
use crate::options::{Options, Simulation};
use crate::play::{Dial, Play};
use crate::random::Random;
use punctual_rt::{Attributes, Nanos, Receiver, Scheduling, monotonic, sleep_until};
use punctual_wires::{EdgeAt, In, Out, Place, wire};
use std::thread::JoinHandle;

/// Capacity of the queue for the edges of a line in memory; no thread reads these edges.
const EDGES: usize = 1;

#[derive(Debug)]
pub struct Contact {
    out: Out,
    /// True if the line is low while the contact is closed.
    active_low: bool,
    /// Keeps the receiving end of the line's edges open.
    _edges: Option<Receiver<EdgeAt>>,
}

impl Contact {
    fn set(&mut self, closed: bool) -> Result<(), punctual_wires::GpioError> {
        self.out.set(closed != self.active_low)
    }
}

/// The input of a line, and its contact if the line is in memory.
pub(crate) struct Opened {
    pub(crate) input: In,
    pub(crate) contact: Option<Contact>,
}

pub(crate) fn open(line: &LineConfig) -> Result<Opened, Error> {
    let failed = |source| Error::Line { name: line.name.clone(), source };
    match line.place.input(line.pull.bias(), line.active_low).map_err(failed)? {
        Some(input) => Ok(Opened { input, contact: None }),
        None => {
            let (out, input, edges) = wire(EDGES)?;
            Ok(Opened { input, contact: Some(Contact { out, active_low: false, _edges: Some(edges) }) })
        }
    }
}

/// A thread that plays a dial. It has the loop's policy, so that the measured lateness is caused by the loop and not by
/// this thread.
pub(crate) struct Player {
    pub(crate) name: String,
    pub(crate) thread: JoinHandle<Result<(), punctual_wires::GpioError>>,
}

/// Starts a thread for each requested dial, with the policy of the loop; all begin to play 50 ms later. `contacts` are
/// the contacts of the lines, in the same order.
pub(crate) fn play(
    config: &Config,
    options: &Options,
    scheduling: Scheduling,
    mut contacts: Vec<Option<Contact>>,
) -> Result<Vec<Player>, Error> {
    let attributes = Attributes { scheduling, cpu: None, lock_stack: false };
    let (start, mut players) = (monotonic() + Nanos::from_millis(50), Vec::new());
    for (number, simulation) in options.simulations.iter().enumerate() {
        let mut random = Random::new(number as u64);
        for (line, contact) in contacts_of(simulation, config, options, &mut contacts)? {
            let play = Play::call(&simulation.script, line.map, &options.dial, &mut random);
            let thread = std::thread::Builder::new().name("dial player".into());
            let thread = thread.spawn(move || {
                // The loop got the same attributes. If the player does not get them, it may be late, and its edges are
                // decoded as they come.
                let _ = attributes.apply();
                perform(&play, start, contact)
            });
            let thread = thread.map_err(Error::Thread)?;
            players.push(Player { name: line.name.clone(), thread });
        }
    }
    Ok(players)
}

/// Checks that there are lines to play on. Called before anything is opened.
pub(crate) fn check(config: &Config, options: &Options) -> Result<(), UsageError> {
    let Options { simulations, play_on, .. } = options;
    let played = |line: &LineConfig| simulations.iter().filter(|s| plays_on(s, line, options)).count();
    for simulation in simulations {
        if !config.lines.iter().any(|line| plays_on(simulation, line, options)) {
            return Err(UsageError(match &simulation.line {
                None => "--simulate: the configuration has no sim line; use --play-on PLACE".into(),
                Some(name) if config.lines.iter().any(|line| line.name == *name) => {
                    format!("--simulate: line {name} is not a sim line; drive it with --play-on PLACE")
                }
                Some(name) => format!("--simulate: the configuration has no line {name}"),
            }));
        }
    }
    if let Some(line) = config.lines.iter().find(|line| played(line) > 1) {
        return Err(UsageError(format!("two dials on line {}: give one --simulate per line", line.name)));
    }
    let real = config.lines.iter().filter(|line| line.place != Place::Simulated && played(line) > 0).count();
    match play_on {
        Some(Place::Simulated) => Err(UsageError("--play-on sim: a sim line needs no --play-on".into())),
        Some(_) if real != 1 => {
            Err(UsageError(format!("--play-on drives one line, but {real} lines match: name one, --simulate NAME=421")))
        }
        _ => Ok(()),
    }
}

fn plays_on(simulation: &Simulation, line: &LineConfig, options: &Options) -> bool {
    let possible = line.place == Place::Simulated || options.play_on.is_some();
    possible && simulation.line.as_ref().is_none_or(|name| *name == line.name)
}

/// Takes the contacts of the lines on which a simulation plays.
fn contacts_of<'a>(
    simulation: &Simulation,
    config: &'a Config,
    options: &Options,
    contacts: &mut [Option<Contact>],
) -> Result<Vec<(&'a LineConfig, Contact)>, Error> {
    let mut found = Vec::new();
    for (line, contact) in config.lines.iter().zip(contacts).filter(|(line, _)| plays_on(simulation, line, options)) {
        match (contact.take(), &options.play_on) {
            (Some(contact), _) => found.push((line, contact)),
            (None, Some(place)) => {
                let out = place.output(line.active_low);
                let out = out.map_err(|source| Error::Line { name: format!("{} (--play-on)", line.name), source })?;
                found.extend(out.map(|out| (line, Contact { out, active_low: line.active_low, _edges: None })));
            }
            (None, None) => {}
        }
    }
    Ok(found)
}

/// Plays until the end. A late change of the contact does not delay the next ones.
fn perform(play: &Play, start: Nanos, mut contact: Contact) -> Result<(), punctual_wires::GpioError> {
    for change in &play.changes {
        wait_until(start + change.at);
        contact.set(change.closed)?;
    }
    wait_until(start + play.end);
    Ok(())
}

fn wait_until(at: Nanos) {
    while sleep_until(at).is_err() {}
}

pub(crate) fn describe(dial: &Dial) -> String {
    format!("{} pulses/s, {:.0} % make, {} bounce", dial.pulses_per_second, dial.make * 100.0, dial.bounce)
}
