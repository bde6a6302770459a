//! A Raspberry Pi's config.txt as the firmware reads it (raspberrypi/documentation, asciidoc/computers/config_txt:
//! what_is_config_txt.adoc, conditional.adoc).

use crate::truth::Truth;
use punctual_machine::Given;
use std::collections::BTreeMap;

/// Maximum length of a line, characters. The firmware ignores the rest of a longer line.
const LONGEST: usize = 98;

/// A line that applies or may apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub text: String,
    /// The filters that are not known to match; empty if the line applies.
    pub unless: String,
}

impl Line {
    pub fn key(&self) -> &str {
        key(&self.text)
    }

    pub fn value(&self) -> &str {
        self.text.split_once('=').map_or("", |(_, value)| value)
    }
}

/// Returns the key of a line. A blank beside `=` belongs to the key or the value (Ubuntu's documentation of boards,
/// "Edit the Raspberry Pi boot configuration").
fn key(text: &str) -> &str {
    text.split_once('=').or_else(|| text.split_once(' ')).map_or(text, |(key, _)| key)
}

/// The settings of a file in order; of lines with the same key, only the one that takes effect.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub lines: Vec<Line>,
    filters: Filters,
}

impl Settings {
    /// Adds the settings in `text`. `model` is `None` if the board is unknown. `include` returns the text of another
    /// file.
    pub fn read(&mut self, text: &str, model: Option<&str>, include: &mut dyn FnMut(&str) -> Option<String>) {
        self.add(text, model, include, 0);
    }

    fn add(&mut self, text: &str, model: Option<&str>, include: &mut dyn FnMut(&str) -> Option<String>, depth: u32) {
        const DEEPEST: u32 = 8;
        for line in text.lines().map(|line| line.trim().chars().take(LONGEST).collect::<String>()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(filter) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                self.filters.set(filter, model);
            } else if let Some(name) = line.strip_prefix("include ") {
                if self.filters.hold() != Truth::No && depth < DEEPEST {
                    let text = include(name.trim()).unwrap_or_default();
                    self.add(&text, model, include, depth + 1);
                }
            } else if let Some(list) = line.strip_prefix("dtparam=") {
                list.split(',').for_each(|one| self.set(&format!("dtparam={one}")));
            } else {
                self.set(&line);
            }
        }
    }

    fn set(&mut self, text: &str) {
        let unless = match self.filters.hold() {
            Truth::No => return,
            Truth::Yes => String::new(),
            Truth::Open(_) => self.filters.open(),
        };
        let of = setting(text);
        // A line that may apply changes nothing if the same line applies anyway.
        if of.is_none()
            && !unless.is_empty()
            && self.lines.iter().any(|line| line.text == text && line.unless.is_empty())
        {
            return;
        }
        if of.is_none() && unless.is_empty() {
            self.lines.retain(|line| line.text != text || line.unless.is_empty());
        }
        let is_same = |line: &Line| of.is_some() && setting(&line.text) == of;
        if unless.is_empty() {
            self.lines.retain(|line| !is_same(line));
        } else {
            // Then it is also unknown whether the earlier value remains.
            let earlier = self.lines.iter_mut().filter(|line| is_same(line) && line.unless.is_empty());
            earlier.for_each(|line| line.unless.clone_from(&unless));
        }
        self.lines.push(Line { text: text.to_owned(), unless });
    }
}

/// Returns the key of a setting that a later line replaces; `None` for lines that accumulate.
fn setting(text: &str) -> Option<&str> {
    match key(text) {
        "dtoverlay" | "gpio" | "initramfs" | "device_tree_param" => None,
        "dtparam" => Some(text.rsplit_once('=').map_or(text, |(before, _)| before)),
        key => Some(key),
    }
}

/// The filters in effect: a filter replaces an earlier one of the same kind, filters of different kinds must all match,
/// and `[all]` removes them.
#[derive(Debug, Default)]
struct Filters(BTreeMap<&'static str, (String, Option<bool>)>);

impl Filters {
    fn set(&mut self, filter: &str, model: Option<&str>) {
        if filter == "all" {
            return self.0.clear();
        }
        let kind = match filter {
            "none" => "none",
            "tryboot" => "tryboot",
            _ if filter.starts_with("0x") => "serial",
            _ if filter.starts_with("gpio") => "gpio",
            _ if filter.starts_with("EDID=") => "edid",
            // Selects the port of a setting and always matches.
            _ if filter.starts_with("HDMI:") => return,
            _ => "model",
        };
        let holds = match (kind, model) {
            ("none", _) => Some(false),
            ("model", Some(model)) => is_model(filter, model),
            _ => None,
        };
        self.0.insert(kind, (format!("[{filter}]"), holds));
    }

    fn hold(&self) -> Truth {
        if self.0.values().any(|(_, holds)| *holds == Some(false)) {
            return Truth::No;
        }
        if self.0.values().all(|(_, holds)| *holds == Some(true)) { Truth::Yes } else { Truth::Open(Vec::new()) }
    }

    fn open(&self) -> String {
        let open = self.0.values().filter(|(_, holds)| holds.is_none()).map(|(filter, _)| filter.as_str());
        open.collect::<Vec<_>>().join(" ")
    }
}

/// Returns true if the filter matches /proc/device-tree/model; `None` for unknown filters, and if only the processor of
/// the board is known.
fn is_model(filter: &str, model: &str) -> Option<bool> {
    let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
    Some(match filter {
        "pi400" | "cm4" | "cm4s" if model == Given::PI_4 => return None,
        "pi500" | "cm5" if model == Given::PI_5 => return None,
        "pi5" => is(&["Raspberry Pi 5", "Compute Module 5"]),
        "pi500" => is(&["Raspberry Pi 500"]),
        "pi4" => is(&["Raspberry Pi 4", "Compute Module 4"]),
        "pi400" => is(&["Raspberry Pi 400"]),
        "pi3" => is(&["Raspberry Pi 3", "Compute Module 3"]),
        "pi3+" => is(&["Raspberry Pi 3 Model A Plus", "Raspberry Pi 3 Model B Plus"]),
        "pi2" => is(&["Raspberry Pi 2"]),
        "pi1" => is(&["Raspberry Pi Model", "Raspberry Pi Compute Module Rev"]),
        "pi0" => is(&["Raspberry Pi Zero"]),
        "pi0w" => is(&["Raspberry Pi Zero W"]),
        "pi02" => is(&["Raspberry Pi Zero 2"]),
        "cm1" => is(&["Raspberry Pi Compute Module Rev"]),
        "cm3" => is(&["Compute Module 3"]),
        "cm3+" => is(&["Compute Module 3 Plus"]),
        "cm4" => is(&["Compute Module 4"]) && !is(&["Compute Module 4S"]),
        "cm4s" => is(&["Compute Module 4S"]),
        "cm5" => is(&["Compute Module 5"]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PI_4: &str = "Raspberry Pi 4 Model B Rev 1.4";
    const ZERO_2: &str = "Raspberry Pi Zero 2 W Rev 1.0";

    fn read(text: &str, model: Option<&str>) -> (Vec<String>, Vec<String>) {
        let mut settings = Settings::default();
        settings.read(text, model, &mut |name| (name == "usercfg.txt").then(|| "arm_freq=2000\n".to_owned()));
        let of = |open: bool| {
            let lines = settings.lines.iter().filter(|line| line.unless.is_empty() != open);
            lines.map(|line| line.text.clone()).collect()
        };
        (of(false), of(true))
    }

    fn applying(text: &str, model: &str) -> Vec<String> {
        read(text, Some(model)).0
    }

    #[test]
    fn sections_hold_for_their_board() {
        let text = "a=1\n[pi4]\nb=1\n[pi5]\nc=1\n[all]\nd=1\n[none]\ne=1\n[pi4]\nf=1\n";
        assert_eq!(applying(text, PI_4), ["a=1", "b=1", "d=1"]);
        assert_eq!(applying(text, "Raspberry Pi 5 Model B Rev 1.0"), ["a=1", "c=1", "d=1"]);
        let (hold, may) = read(text, None);
        assert_eq!((hold, may), (vec!["a=1".into(), "d=1".into()], vec!["b=1".into(), "c=1".into()]));
    }

    #[test]
    fn models_are_those_of_the_documentation() {
        assert!(applying("[pi3]\na=1\n", ZERO_2).is_empty());
        for filter in ["pi0", "pi02"] {
            assert_eq!(applying(&format!("[{filter}]\na=1\n"), ZERO_2), ["a=1"]);
        }
        assert!(applying("[pi0w]\na=1\n", ZERO_2).is_empty());
        assert!(applying("[cm4]\na=1\n", "Raspberry Pi Compute Module 4S Rev 1.0").is_empty());
        assert_eq!(applying("[pi4]\na=1\n", "Raspberry Pi 400 Rev 1.0"), ["a=1"]);
    }

    #[test]
    fn filters_of_several_kinds_combine() {
        assert_eq!(read("[gpio4=1]\n[pi4]\na=1\n[all]\nb=1\n", Some(PI_4)), (vec!["b=1".into()], vec!["a=1".into()]));
        assert_eq!(read("[gpio4=1]\n[pi3]\na=1\n", Some(PI_4)), (vec![], vec![]));
    }

    #[test]
    fn the_last_value_counts() {
        assert_eq!(applying("force_turbo=1\nforce_turbo=0\n", PI_4), ["force_turbo=0"]);
        assert_eq!(
            applying("dtparam=spi=on,i2c_arm=on\ndtparam=spi=off\n", PI_4),
            ["dtparam=i2c_arm=on", "dtparam=spi=off"]
        );
        assert_eq!(applying("dtoverlay=a\ndtoverlay=b\n", PI_4), ["dtoverlay=a", "dtoverlay=b"]);
        let (hold, may) = read("a=1\n[EDID=x]\na=0\n", Some(PI_4));
        assert!(hold.is_empty() && may == ["a=1", "a=0"]);
    }

    #[test]
    fn a_blank_makes_another_setting() {
        assert_eq!(applying("force_turbo=1\nforce_turbo = 0\n", PI_4), ["force_turbo=1", "force_turbo = 0"]);
    }

    #[test]
    fn other_files_are_included() {
        assert_eq!(applying("include usercfg.txt\nb=1\n", PI_4), ["arm_freq=2000", "b=1"]);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s)[a-z0-9=\\[\\]\n ,]{0,200}") {
            let _ = read(&text, Some(PI_4));
            let mut settings = Settings::default();
            settings.read(&text, None, &mut |_| Some(text.clone()));
        }
    }
}
