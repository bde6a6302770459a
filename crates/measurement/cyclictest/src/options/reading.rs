use super::values::{bins, cpus, duration, format_version, micros, number, policy, priority};
use super::{Affinity, Asked, Options, UsageError, defaults, gone};
use lexopt::{Arg, Parser};
use punctual_units::Nanos;
use std::ffi::OsString;

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

const OPTIONAL: [char; 3] = ['a', 'A', 't'];

/// Parses the arguments.
///
/// # Errors
/// [`UsageError`], whose message shows the correct form.
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

/// Finds a long option by its name or an unambiguous prefix of it.
fn long(name: &str) -> Result<Named, UsageError> {
    let all = SHORT.iter().map(|(name, _)| *name).chain(LONG.iter().copied());
    let fitting: Vec<&'static str> = all.clone().filter(|known| known.starts_with(name)).collect();
    let known = match fitting.as_slice() {
        _ if fitting.contains(&name) => fitting.iter().find(|known| **known == name).copied(),
        [one] => Some(*one),
        [] if "nanosleep".starts_with(name) && name.len() > 2 => return Ok(Named::Letter('n')),
        [] => return Err(unknown(&format!("--{name}"), gone::name(name))),
        several => return Err(UsageError(format!("--{name} is ambiguous: --{}", several.join(", --")))),
    };
    let known = known.unwrap_or_default();
    let letter = SHORT.iter().find(|(name, _)| *name == known).map(|(_, letter)| *letter);
    Ok(letter.map_or(Named::Long(known), Named::Letter))
}

fn unknown(option: &str, instead: Option<&str>) -> UsageError {
    UsageError(match instead {
        Some(advice) => format!("option {option} was removed in cyclictest 2.0: {advice}"),
        None => format!("unknown option {option}: see punctual cyclictest --help"),
    })
}

/// Returns an error for an unexpected word. cyclictest ignores it, and then measures something other than intended.
fn stray(word: &str, options: &Options) -> UsageError {
    let advice = match options.words.iter().find(|w| w.starts_with("-s") && w.contains('p') && !w.starts_with("--")) {
        Some(bundle) => format!("{bundle} is parsed as single letters: did you mean --smp (-S), with -m -p N?"),
        None => "options start with - or --".to_owned(),
    };
    UsageError(format!("unexpected argument `{word}`: {advice}"))
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
            return Err(unknown(&format!("-{letter}"), gone::letter(letter)));
        }
        let value = if OPTIONAL.contains(&letter) { self.optional(letter == 'a')? } else { Some(self.value(letter)?) };
        let bundle = self.options.bundle();
        let options = &mut self.options;
        match (letter, value) {
            ('a', None) => options.affinity = Affinity::All,
            ('a', Some(list)) => options.affinity = cpus("-a", &list)?,
            ('t', None) => options.threads = Some(0),
            ('t', Some(n)) => options.threads = Some(number("-t", &n, 1, 10_000)?),
            ('A', offset) => options.aligned = Some(offset.map_or(Ok(Nanos::ZERO), |n| micros("-A", &n))?),
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

    /// Sets an option that has no value. Returns false for other letters.
    fn flag(&mut self, letter: char) -> bool {
        let options = &mut self.options;
        match letter {
            'm' => options.mlockall = true,
            'M' => options.refresh_on_max = true,
            'n' => options
                .warnings
                .push("-n has had no effect since cyclictest 2.0: clock_nanosleep is the default".into()),
            'N' => options.nsecs = true,
            'q' => options.quiet = true,
            'r' => options.relative = true,
            'R' => options.resolution = true,
            's' => options.system = true,
            'S' => options.smp = true,
            // Standard output is always flushed after every report.
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
            "default-system" => self.do_not_hold("not setting cpu_dma_latency from cyclictest"),
            "laptop" => self.do_not_hold("not setting cpu_dma_latency to save battery power"),
            "priospread" => self.options.priospread = true,
            "smi" => self.options.smi = true,
            "tracemark" => self.options.tracemark = true,
            "secaligned" => {
                let offset = self.optional(false)?.map(|n| micros(&shown, &n)).transpose()?;
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
            _ => return Err(UsageError(format!("unknown option {shown}: see punctual cyclictest --help"))),
        }
        Ok(())
    }

    fn do_not_hold(&mut self, why: &'static str) {
        (self.options.dma_latency, self.options.not_held) = (None, Some(why));
    }

    fn value(&mut self, letter: char) -> Result<String, UsageError> {
        let missing = |e: lexopt::Error| UsageError(format!("{e}{}", self.options.bundle()));
        let value = self.parser.value().map_err(missing)?.to_string_lossy().into_owned();
        if value.starts_with('-') && value.parse::<i64>().is_err() {
            return Err(UsageError(format!(
                "-{letter} needs a value, but `{value}` is not one{}",
                self.options.bundle()
            )));
        }
        Ok(value)
    }

    /// Returns an optional value, which is attached to the option, or is the next word if that does not look like an
    /// option.
    fn optional(&mut self, is_of_cpus: bool) -> Result<Option<String>, UsageError> {
        if let Some(value) = self.parser.optional_value() {
            return Ok(Some(value.to_string_lossy().into_owned()));
        }
        let Some(mut rest) = self.parser.try_raw_args() else { return Ok(None) };
        let next = rest.peek().map(|word| word.to_string_lossy().into_owned());
        let is_value = next.as_ref().is_some_and(|word| {
            let is_expression = word.starts_with(['!', '+']) || word == "all";
            word.starts_with(|c: char| c.is_ascii_digit()) || (is_of_cpus && is_expression)
        });
        if is_value {
            rest.next();
        }
        Ok(next.filter(|_| is_value))
    }
}

#[cfg(test)]
pub(crate) fn is_known(name: &str) -> bool {
    long(name).is_ok()
}
