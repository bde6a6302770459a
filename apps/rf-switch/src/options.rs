use crate::code::{Addresses, Code};
use crate::command::{BadCommand, read_all};
use crate::waveform::{BadTiming, Timing};
use lexopt::{Arg, Parser, ValueExt};
use punctual_loads::{LoadError, LoadSpec};
use punctual_units::{CpuId, DurationError, Nanos, Priority, PriorityError};
use punctual_wires::{BadPlace, Place};
use std::ffi::OsString;
use std::path::PathBuf;

pub const USUAL_PIPE: &str = "/run/punctual/rtp1";
/// Maximum number of waiting commands. Sending this many at 192 ms each takes 13 minutes.
const MAX_QUEUED: usize = 4096;

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Send commands from the FIFO.
    Daemon,
    OneShot(Vec<Code>),
    /// Write commands to the daemon's FIFO under each of these loads.
    Trial(Vec<LoadSpec>),
    /// Print the table of decoded frames by lateness.
    LatenessTable,
    /// Print the commands with a time stamp.
    Stamp(Vec<Code>),
    Decode(PathBuf),
    Help,
    Version,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    Line(Place),
    Trace,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub what: What,
    pub line: Option<Place>,
    /// True if the program runs without privileges on a simulated line.
    pub dry_run: bool,
    pub addresses: Addresses,
    pub timing: Timing,
    pub repeats: u32,
    /// Maximum number of frames sent to replace spoiled ones.
    pub replace: u32,
    pub pipe: Option<PathBuf>,
    /// Path of the file for waiting commands; `None` means next to the FIFO.
    pub pending: Option<PathBuf>,
    pub queue: usize,
    /// SCHED_FIFO priority of the transmitter.
    pub priority: Priority,
    pub cpu: Option<CpuId>,
    pub allow_ordinary: bool,
    pub ook: Option<PathBuf>,
    /// Source of the edges in the pulse text; `None` for the times at which this program drives the line.
    pub capture: Option<Capture>,
    /// True if the program advances a virtual time instead of sleeping.
    pub virtual_time: bool,
    pub json: bool,
    pub count: u32,
    pub every: Nanos,
}

#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    #[error("{0}; see rf-switch --help")]
    Form(#[from] lexopt::Error),
    #[error(transparent)]
    Place(#[from] BadPlace),
    #[error(transparent)]
    Command(#[from] BadCommand),
    #[error(transparent)]
    Timing(#[from] BadTiming),
    #[error(transparent)]
    Duration(#[from] DurationError),
    #[error(transparent)]
    Priority(#[from] PriorityError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{option} {given}: choose {least} to {most}")]
    Range { option: &'static str, given: u64, least: u64, most: u64 },
    #[error("{0}; see rf-switch --help")]
    Together(&'static str),
}

/// Arguments that can be stored in [`Options`] only after all of them are parsed.
#[derive(Default)]
struct Words {
    commands: String,
    trial: Option<Vec<LoadSpec>>,
    table: bool,
    stamp: bool,
    decode: Option<PathBuf>,
    shown: Option<What>,
    t: Option<Nanos>,
    stop_gap: Option<u32>,
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// [`UsageError`].
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Options, UsageError> {
    let mut parser = Parser::from_args(words);
    let mut options = usual()?;
    let mut said = Words::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(word) => said.commands.push_str(&format!("{} ", word.string()?)),
            Arg::Short('h') | Arg::Long("help") => said.shown = Some(What::Help),
            Arg::Short('V') | Arg::Long("version") => said.shown = Some(What::Version),
            Arg::Long("lateness-table") => said.table = true,
            Arg::Long("decode") => said.decode = Some(parser.value()?.into()),
            Arg::Long("stamp") => said.stamp = true,
            Arg::Long("trial") => said.trial = Some(loads(&parser.value()?.string()?)?),
            Arg::Long("t") => said.t = Some(parser.value()?.string()?.parse()?),
            Arg::Long("stop-gap") => said.stop_gap = Some(parser.value()?.parse()?),
            Arg::Long(name) => {
                let name = name.to_owned();
                named(&name, &mut parser, &mut options)?;
            }
            other @ Arg::Short(_) => return Err(other.unexpected().into()),
        }
    }
    let usual = Timing::default();
    options.timing = Timing::new(said.t.unwrap_or(usual.t), said.stop_gap.unwrap_or(usual.stop_gap))?;
    options.what = what(said, &options)?;
    checked(options)
}

fn usual() -> Result<Options, UsageError> {
    Ok(Options {
        what: What::Daemon,
        line: None,
        dry_run: false,
        addresses: Addresses::Usual,
        timing: Timing::default(),
        repeats: 4,
        replace: 4,
        pipe: None,
        pending: None,
        queue: 64,
        priority: Priority::try_from(80)?,
        cpu: None,
        allow_ordinary: false,
        ook: None,
        capture: None,
        virtual_time: false,
        json: false,
        count: 60,
        every: Nanos::from_millis(250),
    })
}

fn named(name: &str, parser: &mut Parser, options: &mut Options) -> Result<(), UsageError> {
    let mut text = || -> Result<String, lexopt::Error> { parser.value()?.string() };
    match name {
        "line" => options.line = Some(text()?.parse()?),
        "dry-run" => options.dry_run = true,
        "all-addresses" => options.addresses = Addresses::All,
        "repeats" => options.repeats = ranged("--repeats", parser, 1, 100)? as u32,
        "replace" => options.replace = ranged("--replace", parser, 0, 100)? as u32,
        "pipe" => options.pipe = Some(parser.value()?.into()),
        "pending" => options.pending = Some(parser.value()?.into()),
        "queue" => options.queue = ranged("--queue", parser, 1, MAX_QUEUED as u64)? as usize,
        "priority" => options.priority = text()?.parse()?,
        "cpu" => options.cpu = Some(CpuId(ranged("--cpu", parser, 0, 65_535)? as u32)),
        "allow-ordinary" => options.allow_ordinary = true,
        "ook" => options.ook = Some(parser.value()?.into()),
        "capture" => {
            let text = text()?;
            let line = || text.parse().map(Capture::Line);
            options.capture = Some(if text == "trace" { Capture::Trace } else { line()? });
        }
        "virtual-time" => options.virtual_time = true,
        "json" => options.json = true,
        "count" => options.count = ranged("--count", parser, 1, 100_000)? as u32,
        "every" => options.every = text()?.parse()?,
        other => return Err(lexopt::Error::UnexpectedOption(format!("--{other}")).into()),
    }
    Ok(())
}

fn ranged(option: &'static str, parser: &mut Parser, least: u64, most: u64) -> Result<u64, UsageError> {
    let given: u64 = parser.value()?.parse()?;
    let range = UsageError::Range { option, given, least, most };
    if (least..=most).contains(&given) { Ok(given) } else { Err(range) }
}

fn loads(text: &str) -> Result<Vec<LoadSpec>, UsageError> {
    Ok(text.split(',').map(str::parse).collect::<Result<_, LoadError>>()?)
}

fn what(said: Words, options: &Options) -> Result<What, UsageError> {
    let commands: Result<Vec<Code>, BadCommand> =
        read_all(&said.commands, options.addresses).into_iter().map(|one| one.map(|command| command.code)).collect();
    let commands = commands?;
    if let Some(shown) = said.shown {
        return Ok(shown);
    }
    match (said.table, said.stamp, said.trial, said.decode, commands.is_empty()) {
        (false, false, None, None, true) => Ok(What::Daemon),
        (false, false, None, None, false) => Ok(What::OneShot(commands)),
        (true, false, None, None, true) => Ok(What::LatenessTable),
        (false, true, None, None, false) => Ok(What::Stamp(commands)),
        (false, false, Some(loads), None, true) => Ok(What::Trial(loads)),
        (false, false, None, Some(path), true) => Ok(What::Decode(path)),
        (false, true, None, None, true) => Err(UsageError::Together("--stamp needs commands")),
        _ => Err(UsageError::Together(
            "choose one of COMMAND..., --trial, --lateness-table, --decode FILE and --stamp COMMAND...",
        )),
    }
}

fn checked(mut options: Options) -> Result<Options, UsageError> {
    let together = |text| Err(UsageError::Together(text));
    let sends = matches!(options.what, What::Daemon | What::OneShot(_) | What::Trial(_));
    let one_shot = matches!(options.what, What::OneShot(_));
    match (&options.line, options.dry_run) {
        (None, true) => options.line = Some(Place::Simulated),
        (Some(Place::Simulated) | None, _) | (Some(_), false) => {}
        (Some(_), true) => return together("--dry-run drives no line: remove --line or --dry-run"),
    }
    options.dry_run |= options.line == Some(Place::Simulated);
    if sends && options.line.is_none() {
        return together("give the line of the transmitter with --line gpiochip0:17, or try --dry-run");
    }
    if options.virtual_time && !(one_shot && options.dry_run && options.ook.is_some()) {
        return together("--virtual-time needs COMMAND..., --dry-run and --ook FILE");
    }
    match &options.capture {
        Some(_) if options.ook.is_none() => together("--capture needs --ook FILE"),
        Some(_) if options.dry_run => {
            together("--capture needs a real line; for the simulated line, --ook records the edges anyway")
        }
        Some(Capture::Line(Place::Simulated)) => together("--capture sim: give an input, or trace"),
        _ => Ok(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, UsageError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_paper_s_settings_where_nothing_is_said() {
        let options = read("--line gpiochip0:17").unwrap();
        assert_eq!((options.what, options.repeats, options.priority.get()), (What::Daemon, 4, 80));
        assert_eq!((options.timing.t, options.timing.stop_gap), (Nanos::from_micros(360), 36));
        assert_eq!(options.addresses, Addresses::Usual);
        assert!(!options.allow_ordinary && !options.dry_run);
    }

    #[test]
    fn settings_are_read() {
        let options =
            read("--dry-run --t 350us --stop-gap=32 --repeats 6 --priority 60 --cpu 1 --all-addresses p:16:1d21 d20")
                .unwrap();
        let What::OneShot(codes) = &options.what else { panic!("{options:?}") };
        assert_eq!(codes.iter().map(Code::to_string).collect::<Vec<_>>(), ["p:16:1", "d21", "d20"]);
        assert_eq!((options.timing, options.repeats), (Timing { t: Nanos::from_micros(350), stop_gap: 32 }, 6));
        assert_eq!((options.priority.get(), options.cpu, options.line), (60, Some(CpuId(1)), Some(Place::Simulated)));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_write() {
        for (line, part) in [
            ("", "--dry-run"),
            ("d2", "d21 (D, 2, on)"),
            ("--dry-run e11", "--all-addresses"),
            ("--dry-run --t 360", "no unit"),
            ("--dry-run --t 1us", "300us"),
            ("--dry-run --repeats 0", "choose 1 to 100"),
            ("--dry-run --priority 100", "100"),
            ("--dry-run --line gpiochip0:1", "remove --line"),
            ("--dry-run --capture trace --ook x.ook", "real line"),
            ("--line gpiochip0:1 --capture trace", "--ook"),
            ("--line gpiochip0", "--x"),
            ("--dry-run --virtual-time", "--ook"),
            ("--dry-run --trial idle,nothing", "nothing"),
            ("--stamp", "needs commands"),
            ("--lateness-table d21", "choose one"),
            ("--line :1", "gpiochip0:17"),
            ("--dry-run --queue -3", "-3"),
            ("--dry-run --color", "--color"),
        ] {
            match read(line) {
                Err(error) => assert!(error.to_string().contains(part), "{line}: {error}"),
                Ok(options) => assert_eq!(part, "--x", "{line}: {options:?}"),
            }
        }
    }
}
