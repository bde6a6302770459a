//! The command line, as getopt_long(3) reads it for cyclictest.

use lexopt::{Arg, Parser};
use punctual_units::{CpuList, Nanos, Policy};
use std::ffi::OsString;
use std::path::PathBuf;

/// What the user asked for; defaults are cyclictest's.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `-a`: CPUs to take in turn; with none named, all.
    pub affinity: Affinity,
    /// `-A USEC`: all threads start together, each this much after the one before.
    pub aligned: Option<Nanos>,
    /// `--secaligned [USEC]`: they start at a full second and this much.
    pub secaligned: Option<Nanos>,
    /// `-b USEC`: end at the first latency above it.
    pub breaktrace: Option<Nanos>,
    /// `--tracemark`: then mark and stop the kernel's trace.
    pub tracemark: bool,
    /// `-c 1`: CLOCK_REALTIME instead of CLOCK_MONOTONIC.
    pub realtime_clock: bool,
    /// `--deepest-idle-state`: -1 leaves only polling.
    pub deepest_idle_state: Option<i32>,
    /// What to hold in /dev/cpu_dma_latency, µs; `None`: nothing.
    pub dma_latency: Option<i32>,
    /// Why it is not held: `--laptop`, `--default-system`.
    pub not_held: Option<&'static str>,
    /// `-d`: how much longer each thread's interval is than the one before.
    pub distance: Nanos,
    /// `-D`.
    pub duration: Option<Nanos>,
    /// `-F`: a named pipe that statistics are written to.
    pub fifo: Option<PathBuf>,
    /// `-h`: bins of a histogram, one a unit.
    pub histogram: Option<usize>,
    /// `-H`: with a column for all threads together.
    pub hist_of_all: bool,
    /// `--histfile`.
    pub histfile: Option<PathBuf>,
    /// `-i`.
    pub interval: Nanos,
    /// `--json`.
    pub json: Option<PathBuf>,
    /// `-l`: cycles of the first thread to get there.
    pub loops: Option<u64>,
    /// `--mainaffinity`.
    pub main_affinity: Option<CpuList>,
    /// `-m`.
    pub mlockall: bool,
    /// `-M`.
    pub refresh_on_max: bool,
    /// `-N`: nanoseconds everywhere.
    pub nsecs: bool,
    /// `-o`: with `-v` only the largest of so many.
    pub oscope: u64,
    /// `-p`.
    pub priority: Option<u8>,
    /// `--policy`.
    pub policy: Option<Policy>,
    /// `--priospread`: each thread one level below the one before.
    pub priospread: bool,
    /// `-q`.
    pub quiet: bool,
    /// `-r`.
    pub relative: bool,
    /// `-R`.
    pub resolution: bool,
    /// `-s`: nanosleep(2), or setitimer(2) with `-x`.
    pub system: bool,
    /// `-S`.
    pub smp: bool,
    /// `--spike`: log every latency above it.
    pub spike: Option<Nanos>,
    /// `--spike-nodes`: at most so many.
    pub spike_nodes: usize,
    /// `--smi`.
    pub smi: bool,
    /// `-t`: 0 is one a CPU.
    pub threads: Option<u32>,
    /// `-v`.
    pub verbose: bool,
    /// `-x`: POSIX timers.
    pub posix_timers: bool,
    /// `--format-version`: whose text.
    pub format: FormatVersion,
    /// The words, for the JSON file.
    pub words: Vec<String>,
    /// What is to be said beforehand.
    pub warnings: Vec<String>,
}

/// CPUs for the threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Wherever the kernel puts them.
    #[default]
    None,
    /// Thread N on the Nth CPU.
    All,
    /// In turn on these.
    These(CpuList),
}

/// Whose text form: they differ in the histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatVersion {
    /// Up to 2.4: every row, and a line with totals.
    #[default]
    V2_4,
    /// 2.10: rows with samples only, no totals.
    V2_10,
}

/// The command line cannot be meant so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The program's version and nothing else, or its help.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Measure.
    Run(Box<Options>),
    /// `--help`.
    Help,
}

/// The largest histogram, as in rt-tests (HIST_MAX).
const HIST_MAX: usize = 1_000_000;

const SHORT: &[(&str, char)] = &[
    ("affinity", 'a'),
    ("aligned", 'A'),
    ("breaktrace", 'b'),
    ("clock", 'c'),
    ("distance", 'd'),
    ("duration", 'D'),
    ("fifo", 'F'),
    ("histogram", 'h'),
    ("histofall", 'H'),
    ("interval", 'i'),
    ("loops", 'l'),
    ("mlockall", 'm'),
    ("refresh_on_max", 'M'),
    ("nsecs", 'N'),
    ("oscope", 'o'),
    ("priority", 'p'),
    ("quiet", 'q'),
    ("relative", 'r'),
    ("resolution", 'R'),
    ("system", 's'),
    ("smp", 'S'),
    ("threads", 't'),
    ("unbuffered", 'u'),
    ("verbose", 'v'),
    ("posix_timers", 'x'),
];

/// Those without a letter.
const LONG: &[&str] = &[
    "dbg_cyclictest",
    "deepest-idle-state",
    "default-system",
    "format-version",
    "help",
    "histfile",
    "json",
    "laptop",
    "latency",
    "mainaffinity",
    "policy",
    "priospread",
    "secaligned",
    "smi",
    "spike",
    "spike-nodes",
    "tracemark",
];

/// Letters whose value may be left out.
const OPTIONAL: [char; 2] = ['a', 't'];

/// Reads the words behind the program's name.
///
/// # Errors
/// [`UsageError`], with what to write instead.
pub fn parse(words: &[OsString]) -> Result<Asked, UsageError> {
    let mut reading = Reading { options: defaults(words), parser: Parser::from_args(words.iter().cloned()) };
    loop {
        let option = match reading.parser.next().map_err(|e| UsageError(e.to_string()))? {
            None => break,
            Some(Arg::Short(letter)) => Named::Letter(letter),
            Some(Arg::Long(name)) => long(name)?,
            Some(Arg::Value(word)) => return Err(stray(&word.to_string_lossy(), &reading.options)),
        };
        if option == Named::Long("help") || option == Named::Letter('?') {
            return Ok(Asked::Help);
        }
        reading.option(option)?;
    }
    reading.options.check()?;
    Ok(Asked::Run(Box::new(reading.options)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Letter(char),
    Long(&'static str),
}

/// A long name, or what it begins with where that is unmistakable.
fn long(name: &str) -> Result<Named, UsageError> {
    let all = SHORT.iter().map(|(name, _)| *name).chain(LONG.iter().copied());
    let fitting: Vec<&'static str> = all.clone().filter(|known| known.starts_with(name)).collect();
    let known = match fitting.as_slice() {
        _ if fitting.contains(&name) => fitting.iter().find(|known| **known == name).copied(),
        [one] => Some(*one),
        [] => return Err(UsageError(format!("there is no option --{name}: see punctual cyclictest --help"))),
        several => return Err(UsageError(format!("--{name} may be --{}", several.join(", --")))),
    };
    let known = known.unwrap_or_default();
    let letter = SHORT.iter().find(|(name, _)| *name == known).map(|(_, letter)| *letter);
    Ok(letter.map_or(Named::Long(known), Named::Letter))
}

/// cyclictest passes over words it does not know; then what was meant is not what is measured.
fn stray(word: &str, options: &Options) -> UsageError {
    let advice = match options.words.iter().find(|w| w.starts_with("-s") && w.contains('p') && !w.starts_with("--")) {
        Some(bundle) => format!("{bundle} is read as single letters: did you mean --smp (-S), with -m -p N?"),
        None => "options begin with - or --".to_owned(),
    };
    UsageError(format!("what is `{word}`? {advice}"))
}

struct Reading {
    options: Options,
    parser: Parser,
}

impl Reading {
    fn option(&mut self, option: Named) -> Result<(), UsageError> {
        match option {
            Named::Letter(letter) => self.letter(letter),
            Named::Long(name) => self.long(name),
        }
    }

    fn letter(&mut self, letter: char) -> Result<(), UsageError> {
        if self.flag(letter) {
            return Ok(());
        }
        if !SHORT.iter().any(|(_, known)| *known == letter) {
            return Err(UsageError(format!("there is no option -{letter}: see punctual cyclictest --help")));
        }
        let value = if OPTIONAL.contains(&letter) { self.optional()? } else { Some(self.value(letter)?) };
        let bundle = self.options.bundle();
        let options = &mut self.options;
        match (letter, value) {
            ('a', None) => options.affinity = Affinity::All,
            ('a', Some(list)) => options.affinity = Affinity::These(cpus("-a", &list)?),
            ('t', None) => options.threads = Some(0),
            ('t', Some(n)) => options.threads = Some(number("-t", &n, 1, 10_000)?),
            ('A', Some(n)) => options.aligned = Some(micros("-A", &n)?),
            ('b', Some(n)) => options.breaktrace = Some(micros("-b", &n)?),
            ('c', Some(n)) => options.realtime_clock = number::<u8>("-c", &n, 0, 1)? == 1,
            ('d', Some(n)) => options.distance = micros("-d", &n)?,
            ('D', Some(text)) => options.duration = Some(duration(&text)?),
            ('F', Some(path)) => options.fifo = Some(path.into()),
            ('h', Some(n)) => options.histogram = Some(bins("-h", &n)?),
            ('H', Some(n)) => (options.histogram, options.hist_of_all) = (Some(bins("-H", &n)?), true),
            ('i', Some(n)) => options.interval = micros("-i", &n)?,
            ('l', Some(n)) => options.loops = Some(number("-l", &n, 0, u64::MAX)?).filter(|n| *n > 0),
            ('o', Some(n)) => options.oscope = number("-o", &n, 1, u64::MAX)?,
            ('p', Some(n)) => options.priority = Some(priority(&n, bundle)?),
            _ => {}
        }
        Ok(())
    }

    /// Letters without a value; false where it has one.
    fn flag(&mut self, letter: char) -> bool {
        let options = &mut self.options;
        match letter {
            'm' => options.mlockall = true,
            'M' => options.refresh_on_max = true,
            'n' => options.warnings.push("-n does nothing since cyclictest 2.0: clock_nanosleep is the default".into()),
            'N' => options.nsecs = true,
            'q' => options.quiet = true,
            'r' => options.relative = true,
            'R' => options.resolution = true,
            's' => options.system = true,
            'S' => options.smp = true,
            // Standard output is flushed after every report anyway.
            'u' => {}
            'v' => options.verbose = true,
            'x' => options.posix_timers = true,
            _ => return false,
        }
        true
    }

    fn long(&mut self, name: &'static str) -> Result<(), UsageError> {
        let shown = format!("--{name}");
        match name {
            "dbg_cyclictest" => {}
            "default-system" => self.leave("not setting cpu_dma_latency from cyclictest"),
            "laptop" => self.leave("not setting cpu_dma_latency to save battery power"),
            "priospread" => self.options.priospread = true,
            "smi" => self.options.smi = true,
            "tracemark" => self.options.tracemark = true,
            "secaligned" => {
                let offset = self.optional()?.map(|n| micros(&shown, &n)).transpose()?;
                self.options.secaligned = Some(offset.unwrap_or_default());
            }
            _ => {
                let value = self.parser.value().map_err(|e| UsageError(e.to_string()))?;
                self.valued(name, &shown, &value.to_string_lossy())?;
            }
        }
        Ok(())
    }

    fn valued(&mut self, name: &str, shown: &str, value: &str) -> Result<(), UsageError> {
        let options = &mut self.options;
        match name {
            "deepest-idle-state" => options.deepest_idle_state = Some(number(shown, value, -1, 1000)?),
            "format-version" => options.format = format_version(value)?,
            "histfile" => options.histfile = Some(value.into()),
            "json" => options.json = Some(value.into()),
            "latency" => options.dma_latency = Some(number(shown, value, 0, i32::MAX)?),
            "mainaffinity" => options.main_affinity = Some(cpus(shown, value)?),
            "policy" => options.policy = Some(policy(value)?),
            "spike" => options.spike = Some(micros(shown, value)?),
            "spike-nodes" => options.spike_nodes = number::<u32>(shown, value, 1, 1 << 24)? as usize,
            _ => return Err(UsageError(format!("there is no option {shown}: see punctual cyclictest --help"))),
        }
        Ok(())
    }

    fn leave(&mut self, why: &'static str) {
        (self.options.dma_latency, self.options.not_held) = (None, Some(why));
    }

    fn value(&mut self, letter: char) -> Result<String, UsageError> {
        let missing = |e: lexopt::Error| UsageError(format!("{e}{}", self.options.bundle()));
        let value = self.parser.value().map_err(missing)?.to_string_lossy().into_owned();
        if value.starts_with('-') && value.parse::<i64>().is_err() {
            return Err(UsageError(format!("-{letter} needs a value, and `{value}` is none{}", self.options.bundle())));
        }
        Ok(value)
    }

    /// A value glued to the option, or a next word that does not look like an option.
    fn optional(&mut self) -> Result<Option<String>, UsageError> {
        if let Some(value) = self.parser.optional_value() {
            return Ok(Some(value.to_string_lossy().into_owned()));
        }
        let Some(mut rest) = self.parser.try_raw_args() else { return Ok(None) };
        let next = rest.peek().map(|word| word.to_string_lossy().into_owned());
        let is_value = next.as_ref().is_some_and(|word| {
            !word.starts_with('-') && word.starts_with(|c: char| c.is_ascii_digit() || c == '!' || c == '+')
        });
        if is_value {
            rest.next();
        }
        Ok(next.filter(|_| is_value))
    }
}

fn defaults(words: &[OsString]) -> Options {
    Options {
        affinity: Affinity::None,
        aligned: None,
        secaligned: None,
        breaktrace: None,
        tracemark: false,
        realtime_clock: false,
        deepest_idle_state: None,
        dma_latency: Some(0),
        not_held: None,
        distance: Nanos::from_micros(500),
        duration: None,
        fifo: None,
        histogram: None,
        hist_of_all: false,
        histfile: None,
        interval: Nanos::from_micros(1000),
        json: None,
        loops: None,
        main_affinity: None,
        mlockall: false,
        refresh_on_max: false,
        nsecs: false,
        oscope: 1,
        priority: None,
        policy: None,
        priospread: false,
        quiet: false,
        relative: false,
        resolution: false,
        system: false,
        smp: false,
        spike: None,
        spike_nodes: 1024,
        smi: false,
        threads: None,
        verbose: false,
        posix_timers: false,
        format: FormatVersion::default(),
        words: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        warnings: Vec::new(),
    }
}

fn number<T>(option: &str, text: &str, low: T, high: T) -> Result<T, UsageError>
where
    i128: From<T>,
    T: TryFrom<i128> + std::fmt::Display + Copy,
{
    let value = text.trim().parse::<i128>().ok().filter(|n| (i128::from(low)..=i128::from(high)).contains(n));
    value
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| UsageError(format!("{option} wants a number from {low} to {high}, not `{text}`")))
}

fn priority(text: &str, bundle: &str) -> Result<u8, UsageError> {
    number("-p", text, 0, 99).map_err(|UsageError(what)| UsageError(format!("{what}{bundle}")))
}

fn micros(option: &str, text: &str) -> Result<Nanos, UsageError> {
    number(option, text, 0_u64, u64::MAX / 1_000_000).map(Nanos::from_micros)
}

fn bins(option: &str, text: &str) -> Result<usize, UsageError> {
    let wanted: u64 = number(option, text, 1, u64::MAX)?;
    Ok(usize::try_from(wanted).unwrap_or(HIST_MAX).min(HIST_MAX))
}

fn cpus(option: &str, text: &str) -> Result<CpuList, UsageError> {
    let list = text.parse::<CpuList>().ok().filter(|list| !list.is_empty());
    list.ok_or_else(|| UsageError(format!("{option} wants a list of CPUs such as 3-5,0, not `{text}`")))
}

/// `90`, `10m`, `2h`, `1d`: cyclictest takes any other letter for seconds.
fn duration(text: &str) -> Result<Nanos, UsageError> {
    let wrong = || UsageError(format!("-D wants seconds, or a number with s, m, h or d behind it, not `{text}`"));
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| *n < 1 << 32);
    seconds.map(Nanos::from_secs).ok_or_else(wrong)
}

fn policy(text: &str) -> Result<Policy, UsageError> {
    match text.to_ascii_lowercase().as_str() {
        "other" | "normal" => Ok(Policy::Other),
        "batch" => Ok(Policy::Batch),
        "idle" => Ok(Policy::Idle),
        "fifo" => Ok(Policy::Fifo),
        "rr" => Ok(Policy::Rr),
        _ => Err(UsageError(format!("--policy wants other, normal, batch, idle, fifo or rr, not `{text}`"))),
    }
}

fn format_version(text: &str) -> Result<FormatVersion, UsageError> {
    match text {
        "2.4" | "2.40" => Ok(FormatVersion::V2_4),
        "2.10" => Ok(FormatVersion::V2_10),
        _ => Err(UsageError(format!("--format-version wants 2.4 or 2.10, not `{text}`"))),
    }
}

impl Options {
    /// `-smp -p 80` is `-s -m -p -p`: the priority would be 0 and the 80 nothing.
    fn bundle(&self) -> &'static str {
        let is_trap = self.words.iter().any(|word| word == "-smp");
        if is_trap { ": -smp is read as -s -m -p; write --smp or -S, then -m -p N" } else { "" }
    }

    fn check(&mut self) -> Result<(), UsageError> {
        let refuse = |what: &str| Err(UsageError(what.to_owned()));
        if self.interval == Nanos::ZERO {
            return refuse("-i 0 is no interval: cyclictest would never sleep");
        }
        if self.oscope > 1 && !self.verbose {
            return refuse("-o chooses from what -v prints: give both");
        }
        if self.aligned.is_some() && self.secaligned.is_some() {
            return refuse("-A and --secaligned exclude each other");
        }
        if self.histfile.is_some() && self.histogram.is_none() {
            return refuse("--histfile needs -h N: how many bins");
        }
        if self.tracemark && self.breaktrace.is_none() {
            return refuse("--tracemark needs -b USEC: when to mark");
        }
        if self.deepest_idle_state.is_some() && self.not_held.is_some() {
            return refuse("--deepest-idle-state and --laptop or --default-system exclude each other");
        }
        let is_rt = |policy: Policy| matches!(policy, Policy::Fifo | Policy::Rr);
        match (self.policy, self.priority.filter(|priority| *priority > 0)) {
            (None, None) => self.warnings.push(
                "no priority (-p 1 to 99): what is measured is how late an ordinary thread wakes, which says nothing about \
                 real-time ones"
                    .into(),
            ),
            (Some(policy), Some(_)) if !is_rt(policy) => {
                return refuse("--policy other, batch and idle have no priority: leave -p out, or say --policy fifo");
            }
            (Some(policy), None) if is_rt(policy) => return refuse("--policy fifo and rr need a priority: -p 1 to 99"),
            _ => {}
        }
        if self.histogram.is_some() && self.words.iter().any(|word| word.starts_with("-d")) {
            self.warnings.push("-d is ignored with a histogram: all threads have the same interval".into());
            self.distance = Nanos::ZERO;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
