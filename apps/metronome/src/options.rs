use crate::error::UsageError;
use crate::paper::{LONG, SHORT};
use lexopt::{Arg, Parser, ValueExt};
use punctual_loads::LoadSpec;
use punctual_units::{CpuId, CpuList, Nanos, Policy, Priority, Scheduling};
use punctual_wires::Place;
use std::ffi::OsString;
use std::path::PathBuf;

pub const HELP: &str = "\
metronome: toggles a GPIO line at a fixed period and measures how late it is, idle and under load

  metronome --line gpiochip0:20 --listen gpiochip0:21 --compare     lines wired together: compared with Table 2 of the paper
  metronome --line sim -D 5s                                        without hardware

  --line PLACE          the line to toggle: gpiochip0:20, a line's name (GPIO20), sim (in memory), or the pull of
                        gpio-sim (/sys/devices/platform/gpio-sim.0/gpiochip0/sim_gpio3/pull)
  --listen PLACE        a line wired to it, whose edges the kernel timestamps; not needed with --line sim
  --period TIME         50us to 10s; may be repeated                                            [360us and 35ms]
  --policy POLICY       fifo, rr or other (ordinary)                                            [fifo]
  --priority N          1 to 99                                                                 [99]
  --compare             also measure an ordinary thread
  --cpu N               pin the task to this CPU
  --loads LIST          idle, cpu, network, loopback, ...: one measurement each      [idle,cpu,loopback; with --peer network]
  --peer HOST[:PORT]    peer of the network load, where `punctual serve` runs
  --secret-file FILE    with the secret that the peer requires
  --load-cpus LIST      CPUs for the loads                                                      [all]
  --scratch DIR         directory for loads that write                                          [/var/tmp]
  -D, --duration TIME   length of each measurement, at least 100ms                              [30s]
  --settle TIME         how long a load runs before the measurement starts                      [1s]
  --allow-ordinary      measure an ordinary thread if real-time scheduling is refused
  --json                JSON, one object per line
  --out DIR             write run directories (DIR/360us-fifo-99, ...) for punctual report and punctual compare
  --quiet               print only the table
  --help, --version
";

/// Options of the command line, as described in [`HELP`]. `periods` and `loads` are not empty; `scheduling` has one or
/// two entries, from `--policy`, `--priority` and `--compare`.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub line: Place,
    pub listen: Option<Place>,
    pub periods: Vec<Nanos>,
    pub scheduling: Vec<Scheduling>,
    pub cpu: Option<CpuId>,
    pub loads: Vec<LoadSpec>,
    pub peer: Option<String>,
    pub secret_file: Option<PathBuf>,
    pub load_cpus: Option<CpuList>,
    pub scratch: PathBuf,
    pub duration: Nanos,
    pub settle: Nanos,
    pub allow_ordinary: bool,
    pub json: bool,
    pub out: Option<PathBuf>,
    pub quiet: bool,
    /// The original command line, which is stored in the run directories.
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Run(Box<Options>),
    Help,
    Version,
}

struct Reading {
    options: Options,
    line: Option<Place>,
    policy: Policy,
    priority: Option<Priority>,
    compare: bool,
}

/// Parses the command line, starting with the program's name.
///
/// # Errors
/// [`UsageError`].
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, UsageError> {
    let words: Vec<OsString> = words.into_iter().collect();
    let options = defaults(words.iter().map(|word| word.to_string_lossy().into_owned()).collect());
    let mut reading = Reading { options, line: None, policy: Policy::Fifo, priority: None, compare: false };
    let mut parser = Parser::from_iter(words);
    while let Some(arg) = parser.next().map_err(said)? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Asked::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Asked::Version),
            Arg::Short('D') => reading.options.duration = duration(value(&mut parser)?)?,
            Arg::Long(name) => {
                let name = name.to_owned();
                option(&mut reading, &name, &mut parser)?;
            }
            other => return Err(said(other.unexpected())),
        }
    }
    complete(reading).map(|options| Asked::Run(Box::new(options)))
}

fn defaults(words: Vec<String>) -> Options {
    Options {
        line: Place::Simulated,
        listen: None,
        periods: Vec::new(),
        scheduling: Vec::new(),
        cpu: None,
        loads: Vec::new(),
        peer: None,
        secret_file: None,
        load_cpus: None,
        scratch: "/var/tmp".into(),
        duration: Nanos::from_secs(30),
        settle: Nanos::from_secs(1),
        allow_ordinary: false,
        json: false,
        out: None,
        quiet: false,
        words,
    }
}

fn option(reading: &mut Reading, name: &str, parser: &mut Parser) -> Result<(), UsageError> {
    let options = &mut reading.options;
    match name {
        "line" => reading.line = Some(value(parser)?),
        "listen" => options.listen = Some(value(parser)?),
        "period" => options.periods.push(period(value(parser)?)?),
        "policy" => reading.policy = policy(&word(parser)?)?,
        "priority" => reading.priority = Some(value(parser)?),
        "compare" => reading.compare = true,
        "cpu" => options.cpu = Some(CpuId(value(parser)?)),
        "loads" => {
            for name in word(parser)?.split(',') {
                let load = punctual_loads::parse(name).map_err(said)?;
                once(&mut options.loads, load, name)?;
            }
        }
        "peer" => options.peer = Some(word(parser)?),
        "secret-file" => options.secret_file = Some(word(parser)?.into()),
        "load-cpus" => options.load_cpus = Some(value(parser)?),
        "scratch" => options.scratch = word(parser)?.into(),
        "duration" => options.duration = duration(value(parser)?)?,
        "settle" => options.settle = value(parser)?,
        "allow-ordinary" => options.allow_ordinary = true,
        "json" => options.json = true,
        "out" => options.out = Some(word(parser)?.into()),
        "quiet" => options.quiet = true,
        _ => return Err(UsageError(format!("unknown option --{name}"))),
    }
    Ok(())
}

fn complete(reading: Reading) -> Result<Options, UsageError> {
    let Reading { mut options, line, policy, priority, compare } = reading;
    options.line =
        line.ok_or_else(|| UsageError("no line is given: use --line gpiochip0:20, or try --line sim".into()))?;
    let ordinary = Scheduling::Other { nice: 0 };
    let real_time = priority.map_or_else(|| Priority::try_from(99).map_err(said), Ok)?;
    options.scheduling = match policy {
        Policy::Fifo => vec![Scheduling::Fifo { priority: real_time }],
        Policy::Rr => vec![Scheduling::Rr { priority: real_time }],
        _ if priority.is_some() => return Err(UsageError("--priority: an ordinary thread has no priority".into())),
        _ => vec![ordinary],
    };
    if compare && !options.scheduling.contains(&ordinary) {
        options.scheduling.push(ordinary);
    }
    let periods = std::mem::take(&mut options.periods);
    for period in if periods.is_empty() { vec![SHORT, LONG] } else { periods } {
        once(&mut options.periods, period, &period.to_string())?;
    }
    if options.loads.is_empty() {
        let network = if options.peer.is_some() { "network" } else { "loopback" };
        for name in ["idle", "cpu", network] {
            options.loads.push(punctual_loads::parse(name).map_err(said)?);
        }
    }
    match (&options.line, &options.listen) {
        (Place::Simulated, Some(_)) => {
            Err(UsageError("--listen: with --line sim, the wire in memory is always listened to".into()))
        }
        (line, Some(listen)) if line == listen => {
            Err(UsageError(format!("--listen {listen}: a driven line cannot be listened to; wire it to another line")))
        }
        _ => Ok(options),
    }
}

fn once<T: PartialEq>(all: &mut Vec<T>, one: T, name: &str) -> Result<(), UsageError> {
    if all.contains(&one) {
        return Err(UsageError(format!("`{name}` is given twice: remove one")));
    }
    all.push(one);
    Ok(())
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

fn policy(text: &str) -> Result<Policy, UsageError> {
    match text {
        "ordinary" => Ok(Policy::Other),
        _ => match text.parse().map_err(said)? {
            policy @ (Policy::Fifo | Policy::Rr | Policy::Other) => Ok(policy),
            other => Err(UsageError(format!("{other} is not supported: choose fifo, rr or other"))),
        },
    }
}

fn period(time: Nanos) -> Result<Nanos, UsageError> {
    match (Nanos::from_micros(50)..=Nanos::from_secs(10)).contains(&time) {
        true => Ok(time),
        false => Err(UsageError(format!("--period {time}: choose 50us to 10s"))),
    }
}

fn duration(time: Nanos) -> Result<Nanos, UsageError> {
    match time >= Nanos::from_millis(100) {
        true => Ok(time),
        false => Err(UsageError(format!("--duration {time}: choose 100ms or more"))),
    }
}

#[cfg(test)]
mod tests;
