mod ini;
mod plugins;
mod variables;

use super::request::Request;
use super::{Imported, Lookup, Reference, boot};
use crate::{Profile, ProfileFileError};
use ini::{Entry, Section};
use punctual_machine::parameters;
use variables::{Variables, is_open};

/// Sections that identify a TuneD file.
const SECTIONS: &[&str] = &[
    "main",
    "variables",
    "sysctl",
    "sysfs",
    "bootloader",
    "cpu",
    "vm",
    "script",
    "scheduler",
    "irqbalance",
    "systemd",
    "disk",
    "net",
    "audio",
    "video",
    "modules",
    "selinux",
    "service",
    "usb",
    "scsi_host",
    "rtentsk",
    "irq",
    "acpi",
    "uncore",
    "mounts",
    "eeepc_she",
];

pub(super) fn is_section(line: &str) -> bool {
    line.trim()
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|name| SECTIONS.contains(&name.trim()))
}

const MAX_FILES: usize = 16;

/// A section after merging. TuneD calls it a unit, and the code that reads it a plugin.
struct Unit {
    name: String,
    plugin: String,
    entries: Vec<Entry>,
}

#[derive(Default)]
struct Found {
    units: Vec<Section>,
    variables: Variables,
    requests: Vec<Request>,
    notes: Vec<String>,
    seen: Vec<String>,
}

pub(super) fn import(file: &str, text: &str, lookup: &Lookup) -> Result<Imported, ProfileFileError> {
    let online = lookup(Reference::OnlineCpus).and_then(|list| list.text.trim().parse().ok());
    let mut found = Found { variables: Variables::on(online), ..Found::default() };
    found.load(file, text, lookup)?;
    found.fill_variables(lookup)?;
    let units: Vec<Unit> = std::mem::take(&mut found.units).into_iter().filter_map(unit).collect();
    for unit in &units {
        match unit.plugin.as_str() {
            "bootloader" => found.boot(unit),
            _ => plugins::requests(unit, &mut found),
        }
    }
    let base = found.base(file);
    Ok(Imported { base, description: format!("TuneD's {file}"), requests: found.requests, notes: found.notes })
}

/// Converts a section to a unit; `None` for disabled units and sections that are not units.
fn unit(section: Section) -> Option<Unit> {
    let Section { name, entries } = section;
    let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone());
    let is_off = value("enabled")
        .is_some_and(|value| matches!(value.to_lowercase().as_str(), "0" | "no" | "false" | "off" | "n" | "f"));
    let plugin = value("type").unwrap_or_else(|| name.clone());
    (!is_off && !matches!(name.as_str(), "main" | "variables")).then_some(Unit { plugin, name, entries })
}

impl Found {
    /// Includes are loaded first, so that the profile overrides them (tuned/profiles/merger.py).
    fn load(&mut self, file: &str, text: &str, lookup: &Lookup) -> Result<(), ProfileFileError> {
        let sections = ini::parse(file, text, false)?;
        let main = sections.iter().filter(|section| section.name == "main").flat_map(|section| &section.entries);
        for entry in main.filter(|entry| entry.key == "include") {
            for name in entry.value.split([',', ';', ' ', '\t']).filter(|name| !name.is_empty()) {
                self.include(name, entry, lookup)?;
            }
        }
        sections.into_iter().for_each(|section| self.merge(section));
        Ok(())
    }

    fn include(&mut self, name: &str, entry: &Entry, lookup: &Lookup) -> Result<(), ProfileFileError> {
        if self.seen.iter().any(|seen| seen == name) {
            return Ok(());
        }
        let found = (self.seen.len() < MAX_FILES).then(|| lookup(Reference::Profile(name))).flatten();
        self.seen.push(name.to_owned());
        match found {
            Some(referred) => self.load(&referred.name, &referred.text, lookup),
            None => {
                let what = format!(
                    "include = {name} ({}): that profile is missing, so its settings are unknown",
                    entry.whence
                );
                self.notes.push(what);
                Ok(())
            }
        }
    }

    fn merge(&mut self, section: Section) {
        let replaces = section
            .entries
            .iter()
            .any(|entry| entry.key == "replace" && matches!(entry.value.as_str(), "1" | "true" | "True"));
        let mut section = section;
        let dropped = section.dropped();
        match self.units.iter_mut().find(|unit| unit.name == section.name) {
            Some(unit) if replaces => *unit = section,
            Some(unit) => {
                unit.entries.retain(|entry| !dropped.contains(&entry.key));
                for entry in section.entries {
                    match unit.entries.iter_mut().find(|other| other.key == entry.key && entry.key != "include") {
                        Some(other) => *other = entry,
                        None => unit.entries.push(entry),
                    }
                }
            }
            None => self.units.push(section),
        }
    }

    /// Sets the variables in the order of the file; the variables of included profiles come first.
    fn fill_variables(&mut self, lookup: &Lookup) -> Result<(), ProfileFileError> {
        let section = self.units.iter().find(|section| section.name == "variables").cloned().unwrap_or_default();
        for Entry { key, value, whence } in section.entries {
            if key != "include" {
                self.variables.set(&key, &value);
                continue;
            }
            let path = self.variables.expand(&value);
            match lookup(Reference::File(&path)) {
                Some(file) => {
                    let sections = ini::parse(&file.name, &file.text, true)?;
                    let entries = sections.iter().flat_map(|section| &section.entries);
                    entries.for_each(|entry| self.variables.set(&entry.key, &entry.value));
                }
                None => self.notes.push(format!("[variables] include = {path} ({whence}): the file does not exist")),
            }
        }
        Ok(())
    }

    /// Adds a unit's kernel parameters: `cmdline…` options append to the command line, with or without `+`; with `-`
    /// they remove what others appended.
    fn boot(&mut self, unit: &Unit) {
        let mut words: Vec<(String, String)> = Vec::new();
        for Entry { key, value, whence } in &unit.entries {
            if !key.starts_with("cmdline") {
                if !matches!(key.as_str(), "type" | "priority" | "enabled" | "replace") {
                    self.notes.push(format!("[{}] {key} = {value} ({whence}): boot files are not checked", unit.name));
                }
                continue;
            }
            let value = self.variables.expand(value);
            let value = value.trim_matches('"').trim_start_matches('\\');
            let (removes, value) = match value.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, value.strip_prefix('+').unwrap_or(value)),
            };
            for word in parameters(value) {
                if is_open(&word) {
                    self.notes
                        .push(format!("[{}] {word} ({whence}): only TuneD on that machine can evaluate it", unit.name));
                } else if removes {
                    words.retain(|(other, _)| *other != word);
                } else {
                    words.push((word, whence.clone()));
                }
            }
        }
        self.requests.extend(boot::requests(&words));
    }

    /// Chooses the built-in profile by the names of this profile and its includes or, if these do not decide, by
    /// whether the profile isolates CPUs.
    fn base(&self, file: &str) -> Profile {
        let own = file.rsplit('/').nth(1).unwrap_or_default();
        let names: Vec<&str> = std::iter::once(own).chain(self.seen.iter().map(String::as_str)).collect();
        let has = |part: &str| names.iter().any(|name| name.contains(part));
        let isolates =
            self.requests.iter().any(|request| matches!(request.id.as_str(), "cmdline-isolcpus" | "cmdline-nohz_full"));
        let polls = self.requests.iter().any(|request| request.what == "kernel parameter idle=poll");
        if has("virtual-host") || has("virt-host") {
            Profile::KvmHost
        } else if has("virtual-guest") {
            Profile::KvmGuest
        } else if isolates && polls {
            Profile::BusyPoll
        } else if isolates || self.variables.get("isolated_cores").is_some_and(|cores| !is_open(cores)) {
            Profile::DedicatedCore
        } else {
            Profile::ControlLoop
        }
    }
}
