//! Configuration of the lines and their commands, from a TOML file, options, or both.

use crate::book::{Book, Entry};
use crate::digits::DigitMap;
use crate::error::{Error, UsageError};
use crate::options::Options;
use punctual_units::{CpuId, Nanos, Priority};
use punctual_wires::{Bias, Place};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Default path of the FIFO to which commands are written.
pub const PIPE: &str = "/run/punctual/rtp2";
/// Default SCHED_FIFO priority of the loop, as in the paper: lower than 80, the priority of the transmitter.
const PRIORITY: u8 = 60;
/// Default time without a digit after which a new number starts.
const PAUSE: Nanos = Nanos::from_secs(4);
/// Maximum number of lines, more than any board has. Each line costs a system call per cycle.
const MAX_LINES: usize = 64;

/// Bias of the line while its contact is open, with the names used in the file and in options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pull {
    /// Pull-up: the contact is between line and ground.
    #[default]
    Up,
    /// Pull-down: the contact is between line and supply.
    Down,
    /// The bias resistors of the chip are disabled.
    None,
    /// The bias is not changed.
    AsIs,
}

impl Pull {
    pub fn bias(self) -> Bias {
        match self {
            Pull::Up => Bias::PullUp,
            Pull::Down => Bias::PullDown,
            Pull::None => Bias::Disabled,
            Pull::AsIs => Bias::Unchanged,
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Pull, UsageError> {
        match text {
            "up" => Ok(Pull::Up),
            "down" => Ok(Pull::Down),
            "none" => Ok(Pull::None),
            "as-is" => Ok(Pull::AsIs),
            _ => Err(UsageError(format!("`{text}` is not a pull: write up, down, none or as-is"))),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct LineConfig {
    /// Name used in reports.
    pub name: String,
    pub place: Place,
    /// Digit map of the country that the telephone comes from.
    pub map: DigitMap,
    /// Bias of the line while its contact is open.
    pub pull: Pull,
    /// True if the line is low while its contact is closed.
    pub active_low: bool,
    pub book: Book,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Path of the FIFO to which commands are written.
    pub pipe: String,
    pub priority: Priority,
    /// CPU to which the loop is pinned; `None` for any.
    pub cpu: Option<CpuId>,
    /// Time without a digit after which a number ends.
    pub pause: Nanos,
    /// The lines; at least one.
    pub lines: Vec<LineConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    pipe: Option<String>,
    priority: Option<Priority>,
    cpu: Option<u32>,
    number_timeout: Option<String>,
    numbers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    line: Vec<FileLine>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLine {
    name: Option<String>,
    at: String,
    #[serde(default)]
    map: DigitMap,
    #[serde(default)]
    pull: Pull,
    active_low: Option<bool>,
    numbers: Option<BTreeMap<String, String>>,
}

impl Config {
    /// Combines the options with the configuration file that they name, which is read here. Options take precedence;
    /// the lines of both are used.
    ///
    /// # Errors
    /// The file cannot be read or parsed; there is no line, two lines have the same name, or a value is out of range.
    pub fn of(options: &Options) -> Result<Config, Error> {
        let Some(path) = &options.config else { return Ok(complete(options, File::default())?) };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| Error::NotRead { path: path.clone(), source })?;
        let file = parse(path, &text)?;
        complete(options, file).map_err(|UsageError(why)| Error::Config { path: path.clone(), why })
    }
}

fn parse(path: &Path, text: &str) -> Result<File, Error> {
    toml::from_str(text).map_err(|error| Error::Config { path: path.into(), why: error.to_string().trim_end().into() })
}

fn complete(options: &Options, file: File) -> Result<Config, UsageError> {
    let usual = match &file.numbers {
        _ if !options.numbers.is_empty() => Some(book(options.numbers.clone())?),
        Some(numbers) => Some(book(entries(numbers)?)?),
        None => None,
    };
    let usual = usual.unwrap_or_default();
    let mut lines = Vec::new();
    for (number, line) in file.line.into_iter().enumerate() {
        lines.push(of_file(number, line, &usual)?);
    }
    for (name, place) in &options.lines {
        let name = name.clone().unwrap_or_else(|| place.to_string());
        lines.push(of_options(name, place.clone(), options, &usual));
    }
    if lines.is_empty() && !options.simulations.is_empty() {
        lines.push(of_options("sim".into(), Place::Simulated, options, &usual));
    }
    check(&lines)?;
    let pause = file.number_timeout.as_deref().map(|text| text.parse().map_err(said)).transpose()?;
    let fixed = Priority::try_from(PRIORITY).map_err(said)?;
    Ok(Config {
        pipe: options.pipe.clone().or(file.pipe).unwrap_or_else(|| PIPE.into()),
        priority: options.priority.or(file.priority).unwrap_or(fixed),
        cpu: options.cpu.or(file.cpu.map(CpuId)),
        pause: within_seconds(options.pause.or(pause).unwrap_or(PAUSE))?,
        lines,
    })
}

fn said(error: impl std::error::Error) -> UsageError {
    UsageError(error.to_string())
}

fn within_seconds(pause: Nanos) -> Result<Nanos, UsageError> {
    match (Nanos::from_secs(1)..=Nanos::from_secs(60)).contains(&pause) {
        true => Ok(pause),
        false => Err(UsageError(format!("a pause of {pause} after a number: choose 1s to 60s"))),
    }
}

fn entries(numbers: &BTreeMap<String, String>) -> Result<Vec<Entry>, UsageError> {
    numbers.iter().map(|(number, command)| Entry::new(number, command).map_err(said)).collect()
}

fn book(entries: Vec<Entry>) -> Result<Book, UsageError> {
    Book::new(entries).map_err(said)
}

fn of_file(number: usize, line: FileLine, usual: &Book) -> Result<LineConfig, UsageError> {
    let place: Place = line.at.parse().map_err(said)?;
    let book = line.numbers.map(|numbers| book(entries(&numbers)?)).transpose()?;
    Ok(LineConfig {
        name: line.name.unwrap_or_else(|| format!("line{}", number + 1)),
        place,
        map: line.map,
        pull: line.pull,
        active_low: line.active_low.unwrap_or(line.pull != Pull::Down),
        book: book.unwrap_or_else(|| usual.clone()),
    })
}

fn of_options(name: String, place: Place, options: &Options, usual: &Book) -> LineConfig {
    let active_low = options.active_low.unwrap_or(options.pull != Pull::Down);
    LineConfig { name, place, map: options.map, pull: options.pull, active_low, book: usual.clone() }
}

fn check(lines: &[LineConfig]) -> Result<(), UsageError> {
    if lines.is_empty() {
        return Err(UsageError("no line is given: use --line gpiochip0:17, or try --simulate 421".into()));
    }
    if lines.len() > MAX_LINES {
        return Err(UsageError(format!("{} lines: {MAX_LINES} at most", lines.len())));
    }
    for (at, line) in lines.iter().enumerate() {
        if lines.iter().take(at).any(|other| other.name == line.name) {
            return Err(UsageError(format!(
                "two lines are named `{}`: give them different names, as in --line hall=gpiochip0:17",
                line.name
            )));
        }
        if matches!(line.place, Place::Pull(_)) {
            return Err(UsageError(format!(
                "{} can only be driven: use it with --play-on, and give a line to read as chip and offset",
                line.place
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
