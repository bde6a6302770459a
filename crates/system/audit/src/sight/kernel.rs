use super::{Notes, Sight, config_gap};
use crate::cmdline::names;
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use punctual_machine::{Read, Setting, has_variable, parameter, parameters, scrub};

const CMDLINE: &str = "/proc/cmdline";

impl Sight<'_> {
    /// Returns `y`, `m`, `n` or the option's value.
    pub fn option(&self, option: &str, notes: &mut Notes) -> Known {
        let config = self.config().as_ref().map_err(|error| {
            notes.add("kernel configuration", error.to_string());
            config_gap(error)
        })?;
        let source = format!("{} CONFIG_{option}", config.path());
        match config.get(option) {
            Setting::Is(value) => {
                let why = config.why(option).map(|why| format!(" ({why})")).unwrap_or_default();
                notes.add(source, format!("{value}{why}"));
                Ok(Value::Text(value))
            }
            Setting::Off => {
                notes.add(source, config.why(option).unwrap_or("not set"));
                Ok(Value::Text("n".to_owned()))
            }
            Setting::Unknown => {
                let gap = Gap::new(
                    source.clone(),
                    Cause::Garbled("such option: it is truncated, or a defconfig, which omits defaults"),
                );
                notes.add(source, gap.cause.describe());
                Err(gap)
            }
        }
    }

    /// Returns the options that are on, built in or as a module. An unknown one may or may not be on.
    pub fn options(&self, options: &[String], notes: &mut Notes) -> Many {
        let mut many = Many::default();
        for option in options {
            match self.option(option, &mut Notes::default()) {
                Ok(Value::Text(value)) if value == "y" || value == "m" => {
                    many.push("", Ok(Value::Text(option.clone())));
                }
                Ok(_) => {}
                Err(gap) => {
                    many.missing.get_or_insert(gap);
                }
            }
        }
        let source = self.config().as_ref().map_or("kernel configuration", |config| config.path());
        let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
        notes.add(source, format!("on of {}: {}{gap}", options.join(" "), Reading::Many(many.clone()).show()));
        many
    }

    pub(super) fn parameter(&self, name: &str, notes: &mut Notes) -> Known {
        let source = format!("{CMDLINE} {name}");
        let cmdline = self.cmdline().inspect_err(|gap| notes.add(&source, gap.cause.describe()))?;
        match parameter(&cmdline, name) {
            Some(value) => {
                notes.add(source, scrub(&format!("{name}={value}")));
                Ok(Value::Text(value))
            }
            None => {
                notes.add(&source, "not given");
                Err(Gap::new(source, Cause::Absent))
            }
        }
    }

    /// Returns the given parameters, as written. A name that ends in a dot is a prefix.
    pub(super) fn parameters(&self, names: &[String], notes: &mut Notes) -> Many {
        let mut many = Many::default();
        match self.cmdline() {
            Ok(cmdline) => {
                for word in parameters(&cmdline) {
                    let key = word.split_once('=').map_or(word.as_str(), |(key, _)| key).replace('-', "_");
                    let is_one = |name: &String| match name.ends_with('.') {
                        true => key.starts_with(name.as_str()),
                        false => key == name.replace('-', "_"),
                    };
                    if names.iter().any(is_one) {
                        many.push("", Ok(Value::Text(scrub(&word))));
                    }
                }
                notes.add(CMDLINE, format!("of {}: {}", names.join(" "), Reading::Many(many.clone()).show()));
            }
            Err(gap) => {
                notes.add(CMDLINE, gap.cause.describe());
                many.missing = Some(gap);
            }
        }
        many
    }

    fn fixed(&self, line: String) -> Result<String, Gap> {
        let words = parameters(&line);
        match words.iter().find(|word| has_variable(word) && names::is_tuning(word)) {
            Some(word) => Err(Gap::new(format!("what `{}` stands for", scrub(word)), Cause::NotGiven)),
            None if words.iter().any(|word| has_variable(word)) => {
                let kept = line.split(' ').filter(|word| !has_variable(word));
                Ok(kept.collect::<Vec<_>>().join(" "))
            }
            None => Ok(line),
        }
    }

    /// Returns the gap for the first word of the command line that contains a variable of a boot script, among words
    /// without a value and words of this parameter.
    pub fn variable(&self, name: &str) -> Option<Gap> {
        let line = self.machine.read(CMDLINE);
        let words = parameters(line.text().unwrap_or_default());
        let is_one = |word: &&String| has_variable(word) && word.split_once('=').is_none_or(|(key, _)| key == name);
        words.iter().find(is_one).map(|word| Gap::new(format!("what `{}` stands for", scrub(word)), Cause::NotGiven))
    }

    /// Truncates a command line to the length that the kernel takes, if that is known.
    fn taken(&self, line: String) -> String {
        if line.trim_end().len() <= punctual_machine::SHORTEST_CMDLINE {
            return line;
        }
        let longest = punctual_machine::longest_cmdline(self.machine).unwrap_or(usize::MAX);
        line.trim_end().get(..longest).map(str::to_owned).unwrap_or(line)
    }

    /// If there is no command line, its parameters are unknown, not absent. Words of a boot script that contain
    /// variables are omitted; if one of them is a tuning parameter, the line counts as unknown.
    pub fn cmdline(&self) -> Result<String, Gap> {
        match self.machine.read(CMDLINE) {
            Read::Known(bytes) => match String::from_utf8(bytes) {
                Ok(line) if !line.contains('\0') && !line.trim().is_empty() => self.fixed(self.taken(line)),
                _ => Err(Gap::new(CMDLINE, Cause::Garbled("parameter"))),
            },
            other => Err(Gap::new(CMDLINE, Cause::of(&other).unwrap_or(Cause::Absent)).expected()),
        }
    }
}
