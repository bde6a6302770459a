//! One reading of a machine, with evidence; values that several rules need are read once.

mod commons;
mod evaluate;
mod files;
mod irqs;
mod kernel;
mod log;
mod sets;
mod systemd;

pub(crate) use files::mask;
pub(crate) use kernel::meaning;
pub(crate) use log::Log;

use crate::Context;
use crate::Offers;
use crate::owner::package;
use crate::reading::{Cause, Gap};
use crate::rule::{Commons, Need, Sources};
use crate::tasks::{self, Tasks};
use crate::truth::Truth;
use punctual_machine::{ConfigError, KernelConfig, Listing, Machine, Virtualisation, numbered_name, virtualisation};
use punctual_model::Evidence;
use punctual_units::CpuList;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

pub(crate) struct Sight<'m> {
    pub machine: &'m dyn Machine,
    pub context: &'m Context,
    pub sources: &'m Sources,
    pub offers: Offers<'m>,
    commons: &'m Commons,
    /// The machine's state at the beginning of the window.
    before: Option<Box<Sight<'m>>>,
    config: OnceCell<Result<KernelConfig, ConfigError>>,
    virtualisation: OnceCell<Virtualisation>,
    tasks: OnceCell<Tasks>,
    log: OnceCell<Log>,
    isolated: OnceCell<Result<CpuList, Gap>>,
    /// Packages of programs that have been looked up; they are stored because each search reads every package's list.
    packages: RefCell<BTreeMap<String, Option<String>>>,
    judged: RefCell<BTreeMap<String, (Truth, Vec<Evidence>)>>,
}

#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Evidence>);

const LONGEST: usize = 200;

impl Notes {
    pub fn add(&mut self, source: impl Into<String>, value: impl AsRef<str>) {
        let source = source.into();
        if !self.0.iter().any(|evidence| evidence.source == source) {
            self.0.push(Evidence { source, value: shorten(value.as_ref()) });
        }
    }

    pub fn extend(&mut self, more: &[Evidence]) {
        more.iter().for_each(|evidence| self.add(&evidence.source, &evidence.value));
    }

    pub fn into_evidence(self) -> Vec<Evidence> {
        self.0
    }
}

/// Shortens a text to one line without control characters.
fn shorten(text: &str) -> String {
    // A file may be megabytes long, a single word, and evidence for a hundred rules: only the shown part is processed.
    let mut before = ' ';
    let spaced = text.trim().chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let once = spaced.filter(|c| std::mem::replace(&mut before, *c) != ' ' || *c != ' ');
    let mut words = once.filter(|c| !c.is_control());
    let mut shown: String = words.by_ref().take(LONGEST).collect();
    if words.next().is_some() {
        shown.push('…');
    }
    shown
}

impl<'m> Sight<'m> {
    pub fn new(
        machine: &'m dyn Machine,
        context: &'m Context,
        (sources, commons): (&'m Sources, &'m Commons),
        offers: Offers<'m>,
    ) -> Sight<'m> {
        let before = offers.before.map(|before| {
            let offers = Offers { before: None, ..offers };
            Box::new(Sight::new(before, context, (sources, commons), offers))
        });
        Sight {
            machine,
            context,
            sources,
            offers,
            commons,
            before,
            config: OnceCell::new(),
            virtualisation: OnceCell::new(),
            tasks: OnceCell::new(),
            log: OnceCell::new(),
            isolated: OnceCell::new(),
            packages: RefCell::default(),
            judged: RefCell::default(),
        }
    }

    pub fn offers(&self, need: Need) -> bool {
        match need {
            Need::Window => self.before.is_some(),
            Need::Pid => self.offers.pid.is_some(),
            Need::Trial => self.offers.trial.is_some(),
        }
    }

    pub fn before(&self) -> Option<&Sight<'m>> {
        self.before.as_deref()
    }

    pub fn config(&self) -> &Result<KernelConfig, ConfigError> {
        self.config.get_or_init(|| KernelConfig::read(self.machine))
    }

    pub fn virtualisation(&self) -> &Virtualisation {
        self.virtualisation.get_or_init(|| virtualisation(self.machine))
    }

    pub fn package(&self, program: &str) -> Option<String> {
        let known = self.packages.borrow().get(program).cloned();
        known.unwrap_or_else(|| {
            let found = package(self.machine, program);
            self.packages.borrow_mut().insert(program.to_owned(), found.clone());
            found
        })
    }

    pub fn tasks(&self) -> &Tasks {
        self.tasks.get_or_init(|| tasks::read(self.machine))
    }

    /// Reads a file, and notes its content as evidence.
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

    /// Reads a file that contains one number, and notes its content as evidence.
    pub fn number(&self, path: &str, notes: &mut Notes) -> Result<i64, Gap> {
        self.text(path, notes)?.parse().map_err(|_| Gap::new(path, Cause::Garbled("number")))
    }

    pub fn names(&self, folder: &str) -> Result<Vec<String>, Gap> {
        match self.machine.list(folder) {
            Listing::Known(names) => Ok(names),
            Listing::Absent => Err(Gap::new(folder, Cause::Absent)),
            Listing::Denied => Err(Gap::new(folder, Cause::Denied)),
            Listing::Failed(errno) => Err(Gap::new(folder, Cause::Failed(errno))),
            Listing::NotGiven => Err(Gap::new(folder, Cause::NotGiven)),
        }
    }

    /// Returns the numbers of names `prefix0`, `prefix1`, … in a folder, ascending; they are not noted as evidence.
    pub fn numbered(&self, folder: &str, prefix: &str) -> Result<Vec<u32>, Gap> {
        let names = self.names(folder)?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| numbered_name(name, prefix)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Returns the gap for an unreadable configuration; its cause is a lack of permission if access to any of the locations
/// was denied.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_one_short_line() {
        assert_eq!(shorten(" \n a\t b\u{1}\u{1b}[2J \r\n"), "a b[2J");
        let (fits, longer) = ("x".repeat(LONGEST), "x".repeat(LONGEST + 1));
        assert_eq!(shorten(&format!("{fits} \n")), fits);
        assert_eq!(shorten(&longer), format!("{fits}…"));
        assert_eq!(shorten(" \n"), "");
    }
}
