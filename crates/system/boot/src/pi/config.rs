//! Evaluates config.txt as the firmware does, with conditional sections and included files.
//!
//! Source: "config.txt" in the Raspberry Pi documentation, conditional filters. A filter replaces earlier filters of
//! the same kind, filters of different kinds must all apply, and `[all]` removes all of them.

use crate::read::{BootError, required, unclear};
use punctual_machine::Machine;
use std::collections::BTreeMap;

const DEEPEST: usize = 8;
const MAX_INCLUDES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    /// Whether the section applies depends on a pin, a display, a serial number, or something that is not known.
    Unsure,
}

pub(super) struct Config {
    /// Key, value, whether the setting certainly applies, and its file and line.
    settings: Vec<(String, String, bool, String)>,
    pub text: String,
    /// True if there are sections that apply only to a trial boot.
    pub has_tryboot: bool,
}

impl Config {
    pub fn read(view: &dyn Machine, folder: &str, model: Option<&str>) -> Result<Config, BootError> {
        Config::read_file(view, folder, "config.txt", false, model)
    }

    /// Reads a file that replaces config.txt. In a trial, sections `[tryboot]` apply.
    pub fn read_file(
        view: &dyn Machine,
        folder: &str,
        name: &str,
        is_trial: bool,
        model: Option<&str>,
    ) -> Result<Config, BootError> {
        let path = format!("{folder}/{name}");
        let text = required(view, &path)?;
        let mut reader = Reader {
            view,
            folder,
            model,
            filters: BTreeMap::new(),
            settings: Vec::new(),
            includes: 0,
            is_trial,
            has_tryboot: false,
        };
        reader.file(&path, &text, 0)?;
        let Reader { settings, has_tryboot, .. } = reader;
        Ok(Config { settings, text, has_tryboot })
    }

    /// Returns the last value that applies; `None` if there is none.
    pub fn value(&self, key: &str) -> Result<Option<&str>, BootError> {
        let mut found = None;
        for (_, value, is_sure, place) in self.settings.iter().filter(|(k, ..)| k == key) {
            match (is_sure, found) {
                (true, _) => found = Some(value.as_str()),
                (false, Some(known)) if known == value => {}
                (false, _) => {
                    let what = format!("`{key}={value}` is in a section whose condition cannot be evaluated");
                    return Err(unclear(place, what));
                }
            }
        }
        Ok(found)
    }

    /// Returns all values, including those in sections that may not apply.
    pub fn may_be(&self, key: &str) -> impl Iterator<Item = &str> {
        self.settings.iter().filter(move |(k, ..)| k == key).map(|(_, value, ..)| value.as_str())
    }
}

struct Reader<'r> {
    view: &'r dyn Machine,
    folder: &'r str,
    model: Option<&'r str>,
    filters: BTreeMap<&'static str, Holds>,
    settings: Vec<(String, String, bool, String)>,
    includes: usize,
    is_trial: bool,
    has_tryboot: bool,
}

impl Reader<'_> {
    fn file(&mut self, path: &str, text: &str, depth: usize) -> Result<(), BootError> {
        for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(filter) = line.strip_prefix('[') {
                self.filter(filter.strip_suffix(']'));
            } else if let Some(name) = line.strip_prefix("include ") {
                self.include(path, name.trim(), depth)?;
            } else if let Some(value) = line.strip_prefix("initramfs ") {
                self.set(path, "initramfs", value.trim());
            } else if let Some((key, value)) = line.split_once('=') {
                self.set(path, key.trim(), value.trim());
            }
        }
        Ok(())
    }

    fn holds(&self) -> Holds {
        let any = |wanted| self.filters.values().any(|holds| *holds == wanted);
        if any(Holds::No) {
            Holds::No
        } else if any(Holds::Unsure) {
            Holds::Unsure
        } else {
            Holds::Yes
        }
    }

    fn set(&mut self, path: &str, key: &str, value: &str) {
        match self.holds() {
            Holds::No => {}
            holds => self.settings.push((key.to_owned(), value.to_owned(), holds == Holds::Yes, path.to_owned())),
        }
    }

    fn include(&mut self, path: &str, name: &str, depth: usize) -> Result<(), BootError> {
        if self.holds() == Holds::No {
            return Ok(());
        }
        self.includes += 1;
        if depth >= DEEPEST || self.includes > MAX_INCLUDES {
            return Err(unclear(path, "files include each other recursively"));
        }
        if !is_plain(name) {
            return Err(unclear(path, format!("`include {name}` points outside the boot folder")));
        }
        let included = format!("{}/{name}", self.folder);
        match crate::read::text(self.view, &included)? {
            Some(text) => self.file(&included, &text, depth + 1),
            // The firmware ignores a missing file.
            None => Ok(()),
        }
    }

    fn filter(&mut self, filter: Option<&str>) {
        let Some(filter) = filter else { return self.put("unknown", Holds::Unsure) };
        // The documentation does not say whether a filter after [none] ends it.
        if filter != "all" && self.filters.get("none") == Some(&Holds::No) {
            self.put("none", Holds::Unsure);
        }
        match filter {
            "all" => self.filters.clear(),
            "none" => self.put("none", Holds::No),
            "tryboot" => {
                self.has_tryboot = true;
                self.put("tryboot", if self.is_trial { Holds::Yes } else { Holds::No });
            }
            name => match model_holds(name, self.model) {
                Some(holds) => self.put("model", holds),
                None => self.put(kind(name), Holds::Unsure),
            },
        }
    }

    fn put(&mut self, kind: &'static str, holds: Holds) {
        self.filters.insert(kind, holds);
    }
}

fn kind(filter: &str) -> &'static str {
    let kinds = [
        ("EDID=", "edid"),
        ("gpio", "gpio"),
        ("HDMI:", "hdmi"),
        ("boot_partition=", "partition"),
        ("board-type=", "board"),
        ("partition=", "partition"),
        ("0x", "serial"),
    ];
    kinds.iter().find(|(start, _)| filter.starts_with(start)).map_or("unknown", |(_, kind)| kind)
}

/// Returns whether a filter on the board's model holds; `None` if the filter does not test the model.
fn model_holds(filter: &str, model: Option<&str>) -> Option<Holds> {
    let names: &[&str] = match filter {
        "pi5" => &["Raspberry Pi 5", "Compute Module 5"],
        "pi4" => &["Raspberry Pi 4", "Compute Module 4"],
        "pi3" => &["Raspberry Pi 3", "Compute Module 3"],
        "pi2" => &["Raspberry Pi 2"],
        "pi1" => &["Raspberry Pi Model", "Raspberry Pi Compute Module Rev"],
        "pi0" => &["Zero"],
        "pi0w" => &["Zero W"],
        "pi02" => &["Zero 2"],
        "pi3+" => &["Raspberry Pi 3 Model A Plus", "Raspberry Pi 3 Model B Plus"],
        "pi400" => &["Raspberry Pi 400"],
        "pi500" => &["Raspberry Pi 500"],
        "cm1" => &["Raspberry Pi Compute Module Rev"],
        "cm3" => &["Compute Module 3"],
        "cm3+" => &["Compute Module 3 Plus", "Compute Module 3+"],
        "cm4" => &["Compute Module 4 "],
        "cm4s" => &["Compute Module 4S"],
        "cm5" => &["Compute Module 5"],
        _ => return None,
    };
    let Some(model) = model else { return Some(Holds::Unsure) };
    // The filters that apply to a Zero 2 W, a 400 or a 500 differ between firmware versions.
    let is_between = (model.contains("Zero 2") && matches!(filter, "pi3" | "pi0"))
        || (model.contains("Pi 400") && filter == "pi4")
        || (model.contains("Pi 500") && filter == "pi5");
    let holds = names.iter().any(|name| model.contains(name) || format!("{model} ").contains(name));
    Some(if is_between {
        Holds::Unsure
    } else if holds {
        Holds::Yes
    } else {
        Holds::No
    })
}

pub(super) fn is_plain(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.+/~".contains(c);
    !name.is_empty() && name.chars().all(is_good) && !name.starts_with('/') && !name.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_machine::{Read, Recorded};

    fn read(files: &[(&str, &str)], model: &str) -> Config {
        let mut machine = Recorded::default();
        for (name, text) in files {
            machine.set(&format!("/boot/firmware/{name}"), Read::Known(text.as_bytes().to_vec()));
        }
        Config::read(&machine, "/boot/firmware", Some(model)).unwrap()
    }

    const PI4: &str = "Raspberry Pi 4 Model B Rev 1.4";

    #[test]
    fn kinds_of_filters_add_up() {
        let config = read(&[("config.txt", "[pi4]\na=1\n[pi5]\na=2\n[all]\nb=1\n[pi5]\n[gpio4=1]\nb=2\n")], PI4);
        assert_eq!(config.value("a"), Ok(Some("1")));
        assert_eq!(config.value("b"), Ok(Some("1")));
        let config = read(&[("config.txt", "b=1\n[pi4]\n[gpio4=1]\nb=2\n")], PI4);
        assert!(config.value("b").is_err());
        assert_eq!(read(&[("config.txt", "[none]\na=1\n[all]\n[tryboot]\na=2\n")], PI4).value("a"), Ok(None));
    }

    #[test]
    fn files_are_included_and_not_for_ever() {
        let config = read(&[("config.txt", "a=1\ninclude more.txt\n"), ("more.txt", "a=2\r\n[pi5]\na=3\n")], PI4);
        assert_eq!(config.value("a"), Ok(Some("2")));
        let mut machine = Recorded::default();
        machine.set("/b/config.txt", Read::Known(b"include config.txt\ninclude config.txt\n".to_vec()));
        assert!(Config::read(&machine, "/b", None).is_err());
    }
}
