//! One look at a machine: reads with their evidence, and what several rules need read once.

use crate::Context;
use crate::probes;
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::rule::{As, Source, Sources};
use crate::tasks::{self, Tasks};
use punctual_machine::{
    ConfigError, KernelConfig, Listing, Machine, Read, Setting, Virtualisation, bracketed, numbered_name, parameter,
    scrub, virtualisation,
};
use punctual_model::Evidence;
use std::cell::OnceCell;

/// A machine, and what it is looked at for.
pub(crate) struct Sight<'m> {
    pub machine: &'m dyn Machine,
    pub context: &'m Context,
    /// What the rules' source keys stand for.
    pub sources: &'m Sources,
    config: OnceCell<Result<KernelConfig, ConfigError>>,
    virtualisation: OnceCell<Virtualisation>,
    tasks: OnceCell<Tasks>,
}

/// What one rule read, in the order it did.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Evidence>);

/// Longest evidence, characters.
const LONGEST: usize = 200;

impl Notes {
    /// Adds what was found at a source, once.
    pub fn add(&mut self, source: impl Into<String>, value: impl AsRef<str>) {
        let source = source.into();
        if !self.0.iter().any(|evidence| evidence.source == source) {
            self.0.push(Evidence { source, value: shorten(value.as_ref()) });
        }
    }

    pub fn into_evidence(self) -> Vec<Evidence> {
        self.0
    }
}

/// On one line, without control characters, cut where it gets long.
fn shorten(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = words.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if words.chars().count() > LONGEST {
        shown.push('…');
    }
    shown
}

impl<'m> Sight<'m> {
    pub fn new(machine: &'m dyn Machine, context: &'m Context, sources: &'m Sources) -> Sight<'m> {
        let (config, virtualisation, tasks) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Sight { machine, context, sources, config, virtualisation, tasks }
    }

    /// The kernel's configuration, read at the first question.
    pub fn config(&self) -> &Result<KernelConfig, ConfigError> {
        self.config.get_or_init(|| KernelConfig::read(self.machine))
    }

    pub fn virtualisation(&self) -> &Virtualisation {
        self.virtualisation.get_or_init(|| virtualisation(self.machine))
    }

    /// Every real-time task, read at the first question.
    pub fn tasks(&self) -> &Tasks {
        self.tasks.get_or_init(|| tasks::read(self.machine))
    }

    /// The content of a file as text, noted.
    pub fn text(&self, path: &str, notes: &mut Notes) -> Result<String, Gap> {
        let read = self.machine.read(path);
        let known = match Cause::of(&read) {
            Some(cause) => Err(Gap::new(path, cause)),
            None => read.text().map(str::to_owned).ok_or_else(|| Gap::new(path, Cause::Garbled("text"))),
        };
        match &known {
            Ok(text) if text.is_empty() => notes.add(path, "(empty)"),
            Ok(text) => notes.add(path, text),
            Err(gap) => notes.add(path, gap.cause.describe()),
        }
        known
    }

    /// A file that holds one number, noted.
    pub fn number(&self, path: &str, notes: &mut Notes) -> Result<i64, Gap> {
        self.text(path, notes)?.parse().map_err(|_| Gap::new(path, Cause::Garbled("number")))
    }

    /// The names in a folder; not noted.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, Gap> {
        match self.machine.list(folder) {
            Listing::Known(names) => Ok(names),
            Listing::Absent => Err(Gap::new(folder, Cause::Absent)),
            Listing::Denied => Err(Gap::new(folder, Cause::Denied)),
            Listing::Failed(errno) => Err(Gap::new(folder, Cause::Failed(errno))),
        }
    }

    /// The numbers of the names `prefix0`, `prefix1`, … in a folder, rising; not noted.
    pub fn numbered(&self, folder: &str, prefix: &str) -> Result<Vec<u32>, Gap> {
        let names = self.names(folder)?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| numbered_name(name, prefix)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// What one of a rule's reads comes to.
    pub fn evaluate(&self, source: &Source, notes: &mut Notes) -> Reading {
        match source {
            Source::File { path, form: As::Words } => self.words(path, notes),
            Source::File { path, form } => Reading::One(self.file(path, *form, notes)),
            Source::Files { pattern, form } => Reading::Many(self.files(pattern, *form, notes)),
            Source::List { folder } => Reading::Many(self.list(folder, notes)),
            Source::Kconfig(option) => Reading::One(self.option(option, notes)),
            Source::Cmdline(name) => Reading::One(self.parameter(name, notes)),
            Source::Probe { name, with } => match probes::find(name) {
                Some(probe) => (probe.run)(self, with, notes),
                None => Reading::gap(Gap::new(name, Cause::Absent)),
            },
        }
    }

    fn file(&self, path: &str, form: As, notes: &mut Notes) -> Known {
        let text = self.text(path, notes)?;
        let garbled = |expected| Gap::new(path, Cause::Garbled(expected));
        match form {
            As::Integer => text.parse().map(Value::Number).map_err(|_| garbled("number")),
            As::Marked => {
                bracketed(&text).map(|word| Value::Text(word.to_owned())).ok_or_else(|| garbled("marked word"))
            }
            As::Word | As::Words if text.is_empty() => Err(garbled("value")),
            As::Word | As::Words => Ok(Value::Text(text)),
        }
    }

    fn words(&self, path: &str, notes: &mut Notes) -> Reading {
        let mut many = Many::default();
        match self.text(path, notes) {
            Ok(text) => text.split_whitespace().for_each(|word| many.push("", Ok(Value::Text(word.to_owned())))),
            Err(gap) => many.missing = Some(gap),
        }
        Reading::Many(many)
    }

    fn files(&self, pattern: &str, form: As, notes: &mut Notes) -> Many {
        let mut many = Many::default();
        let mut unnoted = Notes::default();
        match self.expand(pattern) {
            Ok(paths) => {
                for (label, path) in paths {
                    many.push(label, self.file(&path, form, &mut unnoted));
                }
            }
            Err(gap) => many.missing = Some(gap),
        }
        let found = many.missing.as_ref().map_or_else(|| Reading::Many(many.clone()).show(), Gap::describe);
        notes.add(pattern, found);
        many
    }

    /// The paths a pattern names. A `*` behind letters (`cpu*`) stands for a number, alone for any name.
    fn expand(&self, pattern: &str) -> Result<Vec<(String, String)>, Gap> {
        let mut found = vec![(String::new(), String::new())];
        for part in pattern.split('/').skip(1) {
            let Some(prefix) = part.strip_suffix('*') else {
                found.iter_mut().for_each(|(_, path)| *path = format!("{path}/{part}"));
                continue;
            };
            let mut longer = Vec::new();
            for (label, path) in &found {
                let names: Vec<String> = match prefix {
                    "" => self.names(path)?,
                    _ => self.numbered(path, prefix)?.iter().map(|n| format!("{prefix}{n}")).collect(),
                };
                let join = |name: &String| format!("{label} {name}").trim().to_owned();
                longer.extend(names.iter().map(|name| (join(name), format!("{path}/{name}"))));
            }
            found = longer;
        }
        Ok(found)
    }

    fn list(&self, folder: &str, notes: &mut Notes) -> Many {
        match self.names(folder) {
            Ok(names) => {
                notes.add(folder, if names.is_empty() { "(empty)".to_owned() } else { names.join(" ") });
                let mut many = Many::default();
                names.into_iter().for_each(|name| many.push("", Ok(Value::Text(name))));
                many
            }
            Err(gap) => {
                notes.add(folder, gap.cause.describe());
                Many::unknown(gap)
            }
        }
    }

    /// `y`, `m`, `n` or the option's value.
    pub fn option(&self, option: &str, notes: &mut Notes) -> Known {
        let config = self.config().as_ref().map_err(|error| {
            notes.add("kernel configuration", error.to_string());
            config_gap(error)
        })?;
        let source = format!("{} CONFIG_{option}", config.path());
        match config.get(option) {
            Setting::Is(value) => {
                notes.add(source, &value);
                Ok(Value::Text(value))
            }
            Setting::Off => {
                notes.add(source, "not set");
                Ok(Value::Text("n".to_owned()))
            }
            Setting::Unknown => {
                let gap = Gap::new(source.clone(), Cause::Garbled("such option, and is not whole"));
                notes.add(source, gap.cause.describe());
                Err(gap)
            }
        }
    }

    fn parameter(&self, name: &str, notes: &mut Notes) -> Known {
        const PATH: &str = "/proc/cmdline";
        let source = format!("{PATH} {name}");
        let cmdline = match self.machine.read(PATH) {
            Read::Known(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => {
                // An absent command line is not an absent parameter.
                let gap = Gap::new(PATH, Cause::of(&other).unwrap_or(Cause::Absent)).expected();
                notes.add(source, gap.cause.describe());
                return Err(gap);
            }
        };
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
}

/// The gap that an unreadable configuration leaves: refused where any of its places is.
pub(crate) fn config_gap(error: &ConfigError) -> Gap {
    let causes = error.tried.iter().filter_map(|(path, read)| Cause::of(read).map(|cause| (path, cause)));
    let worst = causes.max_by_key(|(_, cause)| match cause {
        Cause::Denied => 2,
        Cause::Absent => 0,
        _ => 1,
    });
    match worst {
        Some((path, cause)) if cause != Cause::Absent => Gap::new(path.clone(), cause),
        _ => Gap::new("kernel configuration", Cause::Absent),
    }
}
