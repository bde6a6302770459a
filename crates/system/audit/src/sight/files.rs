use super::{Notes, Sight};
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::rule::{As, Form, Part};
use punctual_machine::bracketed;
use punctual_units::{CpuId, CpuList};

/// Maximum length of a line read from a file, characters.
const LINE: usize = 120;

/// Maximum number of files per pattern: every interrupt of a large server has a folder.
const MAX_FILES: usize = 1 << 14;

#[derive(Clone, Copy)]
pub(super) struct Pattern<'p> {
    pub pattern: &'p str,
    /// The CPUs that `@` represents, instead of the measured ones.
    pub on: Option<&'p CpuList>,
    /// True if missing files are ignored.
    pub sparse: bool,
}

impl Sight<'_> {
    pub(super) fn file(&self, path: &str, part: &Part, form: &Form, notes: &mut Notes) -> Reading {
        match (part, form.kind) {
            (Part::Lines(texts), _) => Reading::Many(self.lines(path, texts, notes)),
            (Part::All, As::Words) => self.words(path, notes),
            _ => Reading::One(self.value(path, part, form, notes)),
        }
    }

    fn value(&self, path: &str, part: &Part, form: &Form, notes: &mut Notes) -> Known {
        let text = match part {
            Part::All | Part::Lines(_) => self.text(path, notes)?,
            Part::Key(key) => self.part(path, &format!("{path} {key}"), |text| behind(text, key), notes)?,
            Part::Field(n) => {
                let field = |text: &str| text.split_whitespace().nth(n - 1).map(str::to_owned);
                self.part(path, &format!("{path} field {n}"), field, notes)?
            }
        };
        self.formed(path, &text, part, form)
    }

    /// Selects a part of a file; a part that the file does not contain counts as absent.
    fn part(
        &self,
        path: &str,
        label: &str,
        find: impl Fn(&str) -> Option<String>,
        notes: &mut Notes,
    ) -> Result<String, Gap> {
        match self.text(path, &mut Notes::default()) {
            Ok(text) => {
                let found = find(&text);
                notes.add(label, found.as_deref().unwrap_or("absent"));
                found.ok_or_else(|| Gap::new(label, Cause::Absent))
            }
            Err(gap) => {
                notes.add(path, gap.cause.describe());
                Err(gap)
            }
        }
    }

    fn formed(&self, path: &str, text: &str, part: &Part, form: &Form) -> Known {
        let garbled = |expected| Gap::new(path, Cause::Garbled(expected));
        match form.kind {
            As::Integer => {
                let number = if matches!(part, Part::Key(_)) { text.split_whitespace().next() } else { Some(text) };
                number.and_then(|n| n.parse().ok()).map(Value::Number).ok_or_else(|| garbled("number"))
            }
            As::Marked => {
                bracketed(text).map(|word| Value::Text(word.to_owned())).ok_or_else(|| garbled("marked word"))
            }
            As::Cpus => {
                // The kernel prints this for a mask it never allocated (%*pbl of NULL).
                let text = if text == "(null)" { "" } else { text };
                if text.is_empty() && form.without.is_some() {
                    return Err(garbled("CPU"));
                }
                self.cpus(text.parse().map_err(|_| garbled("CPU list"))?, form)
            }
            As::Mask => self.cpus(mask(text).ok_or_else(|| garbled("CPU mask"))?, form),
            As::Word | As::Words if text.is_empty() => Err(garbled("value")),
            As::Word | As::Words => Ok(Value::Text(text.to_owned())),
        }
    }

    fn cpus(&self, mut cpus: CpuList, form: &Form) -> Known {
        let mut unnoted = Notes::default();
        if let Some(set) = form.within {
            cpus = cpus.and(&self.set(set, &mut unnoted)?);
        }
        if let Some(set) = form.without {
            cpus = cpus.minus(&self.set(set, &mut unnoted)?);
        }
        Ok(Value::Text(if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() }))
    }

    fn words(&self, path: &str, notes: &mut Notes) -> Reading {
        let mut many = Many::default();
        match self.text(path, notes) {
            Ok(text) => text.split_whitespace().for_each(|word| many.push("", Ok(Value::Text(word.to_owned())))),
            Err(gap) => many.missing = Some(gap),
        }
        Reading::Many(many)
    }

    fn lines(&self, path: &str, texts: &[String], notes: &mut Notes) -> Many {
        let mut many = Many::default();
        let label = format!("{path}: lines with {}", texts.join(", "));
        match self.text(path, &mut Notes::default()) {
            // Files in which rules search for lines are never empty.
            Ok(text) if text.is_empty() => {
                notes.add(path, "(empty)");
                many.missing = Some(Gap::new(path, Cause::Garbled("line")));
            }
            Ok(text) => {
                let fitting = |line: &&str| !is_comment(line) && texts.iter().any(|part| line.contains(part.as_str()));
                for line in text.lines().filter(fitting) {
                    many.push("", Ok(Value::Text(line.trim().chars().take(LINE).collect())));
                }
                notes.add(label, Reading::Many(many.clone()).show());
            }
            Err(gap) => {
                notes.add(path, gap.cause.describe());
                many.missing = Some(gap);
            }
        }
        many
    }

    pub(super) fn files(&self, files: Pattern, part: &Part, form: &Form, notes: &mut Notes) -> Many {
        let Pattern { pattern, sparse, .. } = files;
        let mut many = Many::default();
        let mut unnoted = Notes::default();
        match self.expand(files) {
            Ok(paths) => {
                for (label, path) in paths {
                    let value = self.value(&path, part, form, &mut unnoted);
                    let is_absent = value.as_ref().is_err_and(|gap| gap.cause == Cause::Absent);
                    if !(is_absent && sparse) {
                        many.push(label, value);
                    }
                }
                if many.items.is_empty() {
                    many.missing = Some(Gap::new(pattern, Cause::Absent));
                }
            }
            Err(gap) => many.missing = Some(gap),
        }
        let found = many.missing.as_ref().map_or_else(|| Reading::Many(many.clone()).show(), Gap::describe);
        notes.add(pattern, found);
        many
    }

    /// Returns the paths that match a pattern, with the text that its stars match. A `*` after letters (`cpu*`) is a
    /// number, alone it is any name; `@` represents the numbers of the measured CPUs. Folders without the rest of the
    /// path are omitted.
    fn expand(&self, Pattern { pattern, on, .. }: Pattern) -> Result<Vec<(String, String)>, Gap> {
        let mut found = vec![(String::new(), String::new())];
        for part in pattern.split('/').skip(1) {
            let star = part.strip_suffix('*');
            if star.is_none() && !part.ends_with('@') {
                found.iter_mut().for_each(|(_, path)| *path = format!("{path}/{part}"));
                continue;
            }
            let is_first = found.len() == 1;
            let mut longer = Vec::new();
            for (label, path) in &found {
                let names = match self.fitting(path, part, on) {
                    Err(gap) if gap.cause == Cause::Absent && !is_first => continue,
                    names => names?,
                };
                let join = |name: &String| format!("{label} {name}").trim().to_owned();
                longer.extend(names.iter().map(|name| (join(name), format!("{path}/{name}"))));
            }
            if longer.len() > MAX_FILES {
                return Err(Gap::new(pattern, Cause::Garbled("readable number of files")));
            }
            found = longer;
        }
        Ok(found)
    }

    fn fitting(&self, folder: &str, part: &str, on: Option<&CpuList>) -> Result<Vec<String>, Gap> {
        if let Some(prefix) = part.strip_suffix('@') {
            let cpus = on.cloned().map_or_else(|| self.measured(), Ok)?;
            return Ok(cpus.iter().map(|cpu| format!("{prefix}{cpu}")).collect());
        }
        match part.strip_suffix('*').unwrap_or_default() {
            "" => self.names(folder),
            prefix => Ok(self.numbered(folder, prefix)?.iter().map(|n| format!("{prefix}{n}")).collect()),
        }
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// Returns the last value given to a name, without quotes.
fn behind(text: &str, key: &str) -> Option<String> {
    let value = |line: &str| {
        let rest = line.trim().strip_prefix(key)?;
        let rest = rest.trim_start_matches([' ', '\t']);
        let is_whole = rest.len() < line.trim().len() - key.len() || rest.is_empty() || rest.starts_with(['=', ':']);
        is_whole.then(|| rest.trim_start_matches(['=', ':']).trim().trim_matches('"').to_owned())
    };
    text.lines().filter(|line| !is_comment(line)).filter_map(value).next_back()
}

/// Maximum number of 32-bit groups in a mask: enough for 8192 CPUs, the limit of Linux.
const MAX_GROUPS: usize = 256;

/// Parses groups of 32 bits, highest first (lib/bitmap, %*pb).
pub(crate) fn mask(text: &str) -> Option<CpuList> {
    let mut cpus = CpuList::new();
    let groups: Vec<&str> = text.split(',').take(MAX_GROUPS + 1).collect();
    if groups.len() > MAX_GROUPS {
        return None;
    }
    for (at, group) in groups.iter().rev().enumerate() {
        let is_hex = !group.is_empty() && group.len() <= 8 && group.bytes().all(|b| b.is_ascii_hexdigit());
        let bits = is_hex.then(|| u32::from_str_radix(group, 16).ok()).flatten()?;
        let base = u32::try_from(at).ok()?.checked_mul(32)?;
        for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
            cpus.insert(CpuId(base + bit));
        }
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read() {
        assert_eq!(mask("f").unwrap().to_string(), "0-3");
        assert_eq!(mask("00000001,80000000").unwrap().to_string(), "31-32");
        assert_eq!(mask("0").unwrap().to_string(), "");
        assert!(mask("").is_none() && mask("xyz").is_none() && mask("123456789").is_none());
    }

    #[test]
    fn values_behind_names_are_found() {
        let text = "# A=1\nA=2\nMemAvailable:   12 kB\nkey word here\nA_B=\"x y\"\n";
        assert_eq!(behind(text, "A").as_deref(), Some("2"));
        assert_eq!(behind(text, "MemAvailable").as_deref(), Some("12 kB"));
        assert_eq!(behind(text, "key").as_deref(), Some("word here"));
        assert_eq!(behind(text, "A_B").as_deref(), Some("x y"));
        assert_eq!(behind(text, "ke"), None);
    }
}
