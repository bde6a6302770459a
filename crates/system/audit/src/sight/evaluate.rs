use super::files::Pattern;
use super::{Notes, Sight};
use crate::glob::{fits, folder_of};
use crate::probes;
use crate::reading::{Cause, Gap, Item, Known, Many, Reading, Value};
use crate::rule::{As, Read, Source};
use crate::truth::Truth;

impl Sight<'_> {
    pub fn reading(&self, read: &Read, notes: &mut Notes) -> Reading {
        let mut reading = match read.change {
            true => self.change(&read.source, notes),
            false => self.evaluate(&read.source, notes),
        };
        if let (Some(only), Reading::Many(many)) = (&read.only, &mut reading) {
            many.items.retain(|item| only.of(&Reading::One(would_be(item))) != Truth::No);
        }
        reading
    }

    fn change(&self, source: &Source, notes: &mut Notes) -> Reading {
        let Some(before) = &self.before else {
            return Reading::gap(Gap::new("a window of time", Cause::Garbled("beginning: --window was not given")));
        };
        let first = before.evaluate(source, &mut Notes::default());
        match (first, self.evaluate(source, notes)) {
            (Reading::One(first), Reading::One(last)) => Reading::One(difference(first, last)),
            (Reading::Many(first), Reading::Many(last)) => {
                let rest = last.items.into_iter().map(|item| {
                    let old = first.items.iter().find(|old| old.label == item.label).map(|old| old.value.clone());
                    let gap = || Err(Gap::new(&item.label, Cause::Garbled("value at the window's beginning")));
                    Item { value: difference(old.unwrap_or_else(gap), item.value.clone()), ..item }
                });
                Reading::Many(Many { items: rest.collect(), missing: first.missing.or(last.missing) })
            }
            _ => Reading::gap(Gap::new("the window's two readings", Cause::Garbled("same form"))),
        }
    }

    pub fn evaluate(&self, source: &Source, notes: &mut Notes) -> Reading {
        match source {
            Source::File { path, part, form } => match self.named(path) {
                Ok(path) => self.file(&path, part, form, notes),
                Err(gap) if form.kind == As::Words => Reading::Many(Many::unknown(gap)),
                Err(gap) => Reading::gap(gap),
            },
            Source::Files { pattern, part, form, sparse, on } => match self.named(pattern) {
                Ok(pattern) => {
                    let files = Pattern { pattern: &pattern, on: on.as_ref(), sparse: *sparse };
                    Reading::Many(self.files(files, part, form, notes))
                }
                Err(gap) => Reading::Many(Many::unknown(gap)),
            },
            Source::List { folder, names } => match self.named(folder) {
                Ok(folder) => Reading::Many(self.list(&folder, names, notes)),
                Err(gap) => Reading::Many(Many::unknown(gap)),
            },
            Source::Exists(path) => Reading::One(self.exists(path, notes)),
            Source::Kconfig(option) => Reading::One(self.option(option, notes)),
            Source::Kconfigs(options) => Reading::Many(self.options(options, notes)),
            Source::Cmdline(name) => Reading::One(self.parameter(name, notes)),
            Source::Supports(name) => {
                Reading::word(probes::cmdline::unsupported(self, name).unwrap_or_else(|| "yes".to_owned()))
            }
            Source::Parameters(names) => Reading::Many(self.parameters(names, notes)),
            Source::Cpus(set) => Reading::One(self.set_text(*set, notes)),
            Source::Units(units) => Reading::Many(self.units(units, notes)),
            Source::Processes(names) => Reading::Many(self.processes(names, notes)),
            Source::Irqs(filter) => Reading::Many(self.irqs(filter, notes)),
            Source::Log(texts) => Reading::Many(self.log_lines(texts, notes)),
            Source::Probe { name, with } => match probes::find(name) {
                Some(probe) => (probe.run)(self, with, notes),
                None => Reading::gap(Gap::new(name, Cause::Absent)),
            },
        }
    }

    fn named(&self, path: &str) -> Result<String, Gap> {
        let mut path = path.to_owned();
        if path.contains("{pid}") {
            let pid = self.offers.pid.ok_or_else(|| Gap::new("the application", Cause::Garbled("process: --pid")))?;
            path = path.replace("{pid}", &pid.to_string());
        }
        if path.contains("{release}") {
            let release = self.text("/proc/sys/kernel/osrelease", &mut Notes::default()).map_err(Gap::expected)?;
            let fine = !release.is_empty() && !release.contains('/') && release != "..";
            let gap = || Gap::new("/proc/sys/kernel/osrelease", Cause::Garbled("release"));
            path = path.replace("{release}", fine.then_some(release.as_str()).ok_or_else(gap)?);
        }
        Ok(path)
    }

    fn list(&self, folder: &str, patterns: &[String], notes: &mut Notes) -> Many {
        match self.names(folder) {
            Ok(mut names) => {
                names.retain(|name| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name)));
                let what =
                    if patterns.is_empty() { folder.to_owned() } else { format!("{folder}/{}", patterns.join(" ")) };
                notes.add(what, if names.is_empty() { "(empty)".to_owned() } else { names.join(" ") });
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

    /// Returns whether a path exists, by listing its parent folder: reading a device or a folder would prove nothing.
    fn exists(&self, path: &str, notes: &mut Notes) -> Known {
        let folder = folder_of(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let found = match self.names(&folder) {
            Ok(names) => names.iter().any(|n| n == name),
            Err(gap) if gap.cause == Cause::Absent && folder != "/" => {
                // A directory that does not exist contains nothing. Its parent shows whether it exists.
                return self.exists(&folder, notes).and_then(|above| match above {
                    Value::Text(word) if word == "no" => Ok(Value::Text(word)),
                    _ => Err(gap.expected()),
                });
            }
            Err(gap) => {
                notes.add(&folder, gap.cause.describe());
                return Err(gap.expected());
            }
        };
        notes.add(path, if found { "exists" } else { "does not exist" });
        Ok(Value::Text(if found { "yes" } else { "no" }.to_owned()))
    }

    /// Finds running programs with these names in proc_pid_stat(5), which truncates names to 15 characters.
    fn processes(&self, names: &[String], notes: &mut Notes) -> Many {
        let tasks = self.tasks();
        let mut many = Many { items: Vec::new(), missing: tasks.missing.clone() };
        let is_one = |name: &str| names.iter().any(|pattern| fits(&cut(pattern), name));
        for (name, pid) in tasks.processes.iter().filter(|(name, _)| is_one(name)) {
            many.push("", Ok(Value::Text(format!("{name} (pid {pid})"))));
        }
        let found = many.missing.as_ref().map(Gap::describe).unwrap_or_default();
        notes.add("processes", format!("{} {found}", Reading::Many(many.clone()).show()));
        many
    }
}

/// Returns an element's value. If it is unknown whether the element exists, returns the value that it would have.
fn would_be(item: &Item) -> Known {
    if item.is_open { Ok(Value::Text(item.label.clone())) } else { item.value.clone() }
}

fn cut(name: &str) -> String {
    name.chars().take(15).collect()
}

fn difference(first: Known, last: Known) -> Known {
    let number = |value: Value| value.number().ok_or_else(|| Gap::new(value.text(), Cause::Garbled("number")));
    let (first, last) = (number(first?)?, number(last?)?);
    Ok(Value::Number(last.saturating_sub(first)))
}
