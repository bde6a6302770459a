use super::{Notes, Sight, config_gap};
use crate::probes::cmdline::unsupported;
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use punctual_machine::{CUT_OFF, Read, Setting, is_omission, is_placeholder, parameter, parameters, scrub};

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
                let gap = Gap::new(source.clone(), Cause::LeftOut(config.why_incomplete().unwrap_or_default()));
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
        match self.config() {
            Ok(config) => {
                let shown = Reading::Many(many.clone()).show();
                let of = options.join(" ");
                let note = match &many.missing {
                    None => format!("on, of {of}: {shown}"),
                    Some(gap) => format!("known to be on, of {of}: {shown}; {}", gap.describe()),
                };
                notes.add(config.path(), note);
            }
            Err(error) => notes.add("kernel configuration", error.to_string()),
        }
        many
    }

    /// Returns the value of a parameter; `None` if it is not given, or this kernel does not support it.
    ///
    /// # Errors
    /// If the command line is unknown, or a word with a variable may be this parameter.
    pub fn asked(&self, name: &str, notes: &mut Notes) -> Result<Option<String>, Gap> {
        let source = format!("{CMDLINE} {name}");
        let cmdline = match self.cmdline() {
            Ok(cmdline) => cmdline,
            // Whether it is given or not, the parameter would have no effect.
            Err(gap) if gap.is_not_given() && unsupported(self, name).is_some() => return Ok(None),
            Err(gap) => {
                notes.add(&source, gap.cause.describe());
                return Err(gap);
            }
        };
        let Some(value) = parameter(&cmdline, name) else {
            let shown = self.variable(name).map_or_else(|| "not given".to_owned(), |gap| gap.describe());
            notes.add(source, shown);
            return self.variable(name).map_or(Ok(None), Err);
        };
        let word = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
        let why = unsupported(self, &word);
        let suffix = why.as_ref().map(|why| format!(", without effect: {why}")).unwrap_or_default();
        notes.add(source, format!("{}{suffix}", scrub(&word)));
        Ok(why.is_none().then_some(value))
    }

    pub(super) fn parameter(&self, name: &str, notes: &mut Notes) -> Known {
        let value = self.asked(name, notes)?;
        value.map(Value::Text).ok_or_else(|| Gap::new(format!("{CMDLINE} {name}"), Cause::Absent))
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
                    let value = Ok(Value::Text(scrub(&word)));
                    if names.iter().any(is_one) && !many.items.iter().any(|item| item.value == value) {
                        many.push("", Ok(Value::Text(scrub(&word))));
                    }
                }
                many.missing = names.iter().find_map(|name| self.variable(name));
                notes.add(CMDLINE, format!("of {}: {}", names.join(" "), Reading::Many(many.clone()).show()));
            }
            Err(gap) => {
                notes.add(CMDLINE, gap.cause.describe());
                many.missing = Some(gap);
            }
        }
        many
    }

    /// Returns the words of the command line that stand for others: variables of a boot script, marks of an omission or
    /// of a truncated log.
    pub fn variables(&self) -> Vec<String> {
        let line = self.machine.read(CMDLINE);
        let mut words = parameters(line.text().unwrap_or_default());
        words.retain(|word| is_placeholder(word));
        words
    }

    /// Returns the gap for the first word with a variable that may be this parameter: the name in that word is either
    /// the parameter's or unknown.
    pub fn variable(&self, name: &str) -> Option<Gap> {
        let is_one = |word: &&String| word.split_once('=').is_none_or(|(key, _)| key == name);
        self.variables().iter().find(is_one).map(|word| meaning(word))
    }

    /// Returns the gap for the first word that may stand for any parameters.
    pub fn open(&self) -> Option<Gap> {
        self.variables().iter().find(|word| !word.contains('=')).map(|word| meaning(word))
    }

    /// Truncates a command line to the length that the kernel accepts, if it is known.
    fn taken(&self, line: String) -> String {
        if line.trim_end().len() <= punctual_machine::SHORTEST_CMDLINE {
            return line;
        }
        let longest = punctual_machine::longest_cmdline(self.machine).unwrap_or(usize::MAX);
        line.trim_end().get(..longest).map(str::to_owned).unwrap_or(line)
    }

    /// Returns the command line. If it cannot be read, its parameters are unknown, not absent. Placeholders are
    /// omitted: see [`Sight::variable`].
    pub fn cmdline(&self) -> Result<String, Gap> {
        match self.machine.read(CMDLINE) {
            Read::Known(bytes) => match String::from_utf8(bytes) {
                Ok(line) if !line.contains('\0') && !line.trim().is_empty() => {
                    let line = self.taken(line);
                    let kept: Vec<&str> = line.split(' ').filter(|word| !is_placeholder(word)).collect();
                    Ok(kept.join(" "))
                }
                _ => Err(Gap::new(CMDLINE, Cause::Garbled("parameter"))),
            },
            other => Err(Gap::new(CMDLINE, Cause::of(&other).unwrap_or(Cause::Absent)).expected()),
        }
    }
}

/// Returns the gap for a placeholder, whose text is unknown.
pub(crate) fn meaning(word: &str) -> Gap {
    if word.contains(CUT_OFF) {
        return Gap::new("the end of the command line, which the log omits", Cause::NotGiven);
    }
    if word == "${script}" {
        return Gap::new("the words that the boot loader's script adds", Cause::NotGiven);
    }
    if is_omission(word) {
        return Gap::new(format!("the parameters that `{word}` stands for"), Cause::NotGiven);
    }
    Gap::new(format!("what `{}` stands for", scrub(word)), Cause::NotGiven)
}
