use crate::book::Entry;
use crate::config::Pull;
use crate::digits::DigitMap;
use crate::error::UsageError;
use crate::play::Dial;
use crate::script::Script;
use lexopt::{Arg, Parser, ValueExt};
use punctual_units::{CpuId, Nanos, Priority};
use punctual_wires::Place;
use std::ffi::OsString;
use std::path::PathBuf;

pub const HELP: &str = "\
rotary-dial: turns numbers dialled on rotary telephones into commands in a pipe

  rotary-dial --line gpiochip0:17            421 writes d21 to /run/punctual/rtp2, 420 writes d20
  rotary-dial --simulate 421                 without hardware: plays a dial on a line in memory
  cat /run/punctual/rtp2 > /run/punctual/rtp1     connects it with rf-switch

lines
  --line [NAME=]PLACE   gpiochip0:17, a line's name (GPIO17) or sim; may be repeated, all lines run in one loop
  --map MAP             usual (10 pulses are 0), sweden (1 pulse is 0), new-zealand (reversed)   [usual]
  --pull PULL           up, down, none, as-is                                                    [up]
  --active-low, --active-high   level of the line while its contact is closed        [low, with --pull down high]
  --number NUMBER=COMMAND   may be repeated; replaces 421=d21 and 420=d20
  --number-timeout TIME time without a digit that ends a number                                  [4s]
  --config FILE         settings for each line: docs/apps/rotary-dial.md
  --to PIPE             a name under /run, or a path                              [/run/punctual/rtp2]
real time
  --priority N          SCHED_FIFO 1 to 99                                                       [60]
  --cpu N               pin the loop to this CPU
  --allow-ordinary      run as an ordinary program if real-time scheduling is refused
without hardware
  --simulate [NAME=]SCRIPT   play a dial on this line (on all sim lines without NAME), then exit: digits, h to hang up and
                        lift again, a comma to wait for a second
  --play-on PLACE       play the dial on this output, or the pull of gpio-sim, that is wired to the line
  --pps N --make PERCENT --bounce TIME   the dial: 5 to 20 pulses/s, closed for 10 to 90 %          [10, 40, 3ms]
  --survey              print a table of decoded digits by dial, in simulated time
results
  -D, --duration TIME   exit after this time; default: on SIGTERM, SIGINT or SIGHUP. SIGUSR1 prints a report
  --json                JSON, one object per line
  --quiet               print only the report
  --out RUN             write a run directory at the end, for punctual report RUN
  --help, --version
";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// Name of the line to play on; `None` for all lines in memory, or for the line driven through `--play-on`.
    pub line: Option<String>,
    pub script: Script,
}

/// Options of the command line, as described in [`HELP`]. `pause` is `--number-timeout`, `pipe` is `--to`, and `dial`
/// comes from `--pps`, `--make` and `--bounce`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub config: Option<PathBuf>,
    pub lines: Vec<(Option<String>, Place)>,
    pub map: DigitMap,
    pub pull: Pull,
    pub active_low: Option<bool>,
    pub numbers: Vec<Entry>,
    pub pause: Option<Nanos>,
    pub pipe: Option<String>,
    pub priority: Option<Priority>,
    pub cpu: Option<CpuId>,
    pub allow_ordinary: bool,
    pub simulations: Vec<Simulation>,
    pub play_on: Option<Place>,
    pub dial: Dial,
    pub duration: Option<Nanos>,
    pub json: bool,
    pub quiet: bool,
    pub out: Option<PathBuf>,
    /// The original command line, which is stored in the run directory.
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Run(Box<Options>),
    Help,
    Version,
    Survey,
}

/// Parses the command line, starting with the program's name.
///
/// # Errors
/// [`UsageError`].
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, UsageError> {
    let words: Vec<OsString> = words.into_iter().collect();
    let text = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut options = Options { words: text, ..Options::default() };
    let mut parser = Parser::from_iter(words);
    while let Some(arg) = parser.next().map_err(said)? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Asked::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Asked::Version),
            Arg::Long("survey") => return Ok(Asked::Survey),
            Arg::Short('D') => options.duration = Some(value(&mut parser)?),
            Arg::Long(name) => {
                let name = name.to_owned();
                option(&mut options, &name, &mut parser)?;
            }
            other => return Err(said(other.unexpected())),
        }
    }
    Ok(Asked::Run(Box::new(options)))
}

fn option(options: &mut Options, name: &str, parser: &mut Parser) -> Result<(), UsageError> {
    match name {
        "active-low" => options.active_low = Some(true),
        "active-high" => options.active_low = Some(false),
        "allow-ordinary" => options.allow_ordinary = true,
        "json" => options.json = true,
        "quiet" => options.quiet = true,
        "config" => options.config = Some(word(parser)?.into()),
        "out" => options.out = Some(word(parser)?.into()),
        "line" => {
            let (name, place) = named(word(parser)?);
            options.lines.push((name, place.parse().map_err(said)?));
        }
        "map" => options.map = value(parser)?,
        "pull" => options.pull = Pull::parse(&word(parser)?)?,
        "number" => options.numbers.push(value(parser)?),
        "number-timeout" => options.pause = Some(value(parser)?),
        "to" => options.pipe = Some(word(parser)?),
        "priority" => options.priority = Some(value(parser)?),
        "cpu" => options.cpu = Some(CpuId(value(parser)?)),
        "simulate" => {
            let (line, script) = named(word(parser)?);
            options.simulations.push(Simulation { line, script: script.parse().map_err(said)? });
        }
        "play-on" => options.play_on = Some(value(parser)?),
        "pps" => options.dial.pulses_per_second = within(name, value(parser)?, 5.0, 20.0)?,
        "make" => options.dial.make = within(name, value(parser)?, 10.0, 90.0)? / 100.0,
        "bounce" => options.dial.bounce = bounce(value(parser)?)?,
        "duration" => options.duration = Some(value(parser)?),
        _ => return Err(UsageError(format!("unknown option --{name}"))),
    }
    Ok(())
}

/// Splits `NAME=REST`. A name contains no slash and no colon, so that a place is not mistaken for a name.
fn named(text: String) -> (Option<String>, String) {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !name.contains(['/', ':']) => (Some(name.into()), rest.into()),
        _ => (None, text),
    }
}

fn said(error: impl std::error::Error) -> UsageError {
    UsageError(error.to_string())
}

fn word(parser: &mut Parser) -> Result<String, UsageError> {
    parser.value().and_then(|value| value.string()).map_err(said)
}

fn value<T: std::str::FromStr<Err: std::error::Error>>(parser: &mut Parser) -> Result<T, UsageError> {
    word(parser)?.parse().map_err(said)
}

fn within(name: &str, value: f64, least: f64, most: f64) -> Result<f64, UsageError> {
    match (least..=most).contains(&value) {
        true => Ok(value),
        false => Err(UsageError(format!("--{name} {value}: choose {least} to {most}"))),
    }
}

fn bounce(time: Nanos) -> Result<Nanos, UsageError> {
    match time <= Nanos::from_millis(20) {
        true => Ok(time),
        false => Err(UsageError(format!("--bounce {time}: choose 0 to 20ms"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(words: &[&str]) -> Result<Asked, UsageError> {
        parse(std::iter::once(&"rotary-dial").chain(words).map(OsString::from))
    }

    fn options(words: &[&str]) -> Options {
        match parsed(words) {
            Ok(Asked::Run(options)) => *options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_read() {
        let read = options(&[
            "--line",
            "hall=gpiochip0:17",
            "--line=sim",
            "--map",
            "sweden",
            "--make=33",
            "-D2s",
            "--cpu",
            "1",
        ]);
        let hall = Place::Offset { chip: "gpiochip0".into(), line: 17 };
        assert_eq!(read.lines, [(Some("hall".into()), hall), (None, Place::Simulated)]);
        assert_eq!((read.map, read.dial.make, read.cpu), (DigitMap::Sweden, 0.33, Some(CpuId(1))));
        assert_eq!(read.duration, Some(Nanos::from_secs(2)));
        let read = options(&["--simulate", "hall=42h1", "--simulate", "421", "--active-high", "--number", "9=a=b"]);
        assert_eq!(read.simulations[0].line.as_deref(), Some("hall"));
        assert_eq!((read.simulations[1].line.as_deref(), read.active_low), (None, Some(false)));
        assert_eq!(read.numbers[0].to_string(), "9=a=b");
        assert_eq!(parsed(&["--line", "sim", "--help"]), Ok(Asked::Help));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_help() {
        for bad in [
            &["--line"][..],
            &["--line", ":"],
            &["--priority", "0"],
            &["--pps", "nan"],
            &["--make", "95"],
            &["--bounce", "1s"],
            &["--bounce", "3"],
            &["--pull", "left"],
            &["--cpu", "-1"],
            &["--no-such"],
            &["stray"],
            &["-x"],
            &["--json=yes"],
            &["--number-timeout", "0.5.1s"],
        ] {
            let error = parsed(bad).unwrap_err().to_string();
            assert!(error.contains("rotary-dial --help"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_answered(words in proptest::collection::vec("--[a-z]{2,9}|[ -~]{0,12}", 0..6)) {
            let _ = parse(words.into_iter().map(OsString::from));
        }
    }
}
