//! The syntax of tuned.conf: sections of `key = value`, as Python's configparser reads them with TuneD's settings
//! (tuned/profiles/loader.py). Only `=` separates; `#` and `;` begin comments, ` #` also after a value; indented lines
//! continue the previous value.

use crate::ProfileFileError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub key: String,
    pub value: String,
    pub whence: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub name: String,
    pub entries: Vec<Entry>,
}

impl Section {
    /// Removes the key `drop` and returns its value: the options of included profiles to ignore
    /// (tuned/profiles/merger.py).
    pub fn dropped(&mut self) -> Vec<String> {
        let (drops, rest): (Vec<Entry>, Vec<Entry>) = self.entries.drain(..).partition(|entry| entry.key == "drop");
        self.entries = rest;
        let names = drops.iter().flat_map(|entry| entry.value.split([',', ';', ' ', '\t']));
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

const MAX: usize = 10_000;

/// Options before the first section go to a section without a name, as in files of variables.
pub(crate) fn parse(file: &str, text: &str, may_lack_sections: bool) -> Result<Vec<Section>, ProfileFileError> {
    let mut sections = if may_lack_sections { vec![Section::default()] } else { Vec::new() };
    // Indentation of the previous option; lines indented further continue its value.
    let mut above: Option<usize> = None;
    let mut count = 0;
    for (at, raw) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = without_comment(raw);
        let begin = raw.len() - raw.trim_start().len();
        let column = raw.get(..begin).unwrap_or_default().chars().count() + 1;
        let error = |message| ProfileFileError { file: file.to_owned(), line: at + 1, column, message };
        let last = sections.last_mut().and_then(|section| section.entries.last_mut());
        match last.filter(|_| above.is_some_and(|above| begin > above)) {
            _ if line.is_empty() => {}
            Some(entry) => entry.value = format!("{} {line}", entry.value).trim().to_owned(),
            None if line.starts_with('[') => {
                sections.push(Section { name: heading(line).map_err(error)?, entries: Vec::new() });
                above = None;
            }
            None => {
                let (key, value) = option(line).map_err(error)?;
                let before = || error(format!("`{}` precedes the first [section]", short(line)));
                let section = sections.last_mut().ok_or_else(before)?;
                section.entries.push(Entry { key, value, whence: format!("{file}, line {}", at + 1) });
                above = Some(begin);
                count += 1;
            }
        }
        if count > MAX {
            return Err(error(format!("has more than {MAX} options")));
        }
    }
    Ok(sections)
}

fn heading(line: &str) -> Result<String, String> {
    let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).map(str::trim);
    let name = name.filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| "a section header has the form [name]".to_owned())
}

fn option(line: &str) -> Result<(String, String), String> {
    let parts = line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    let wrong = || format!("`{}` is neither [section] nor key = value", short(line));
    parts.filter(|(key, _)| !key.is_empty()).ok_or_else(wrong)
}

fn short(line: &str) -> String {
    line.chars().take(60).collect()
}

/// Trims the line and removes a comment: from `#` or `;` at the beginning, or from `#` after white space.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with(['#', ';']) {
        return "";
    }
    let comment = line
        .match_indices('#')
        .find(|(at, _)| line.get(..*at).is_some_and(|before| before.ends_with(char::is_whitespace)));
    line.get(..comment.map_or(line.len(), |(at, _)| at)).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sections_and_options_are_read() {
        let text =
            "# about\n[main]\nsummary = a b # note\ninclude=x\n\n[sysctl]\nvm.swappiness=10\n; off\nlong = a\n   b=1\n";
        let sections = parse("t.conf", text, false).unwrap();
        let shown: Vec<String> = sections
            .iter()
            .flat_map(|s| s.entries.iter().map(|e| format!("{} {}={} {}", s.name, e.key, e.value, e.whence)))
            .collect();
        assert_eq!(
            shown,
            [
                "main summary=a b t.conf, line 3",
                "main include=x t.conf, line 4",
                "sysctl vm.swappiness=10 t.conf, line 7",
                "sysctl long=a b=1 t.conf, line 9",
            ]
        );
    }

    #[test]
    fn mistakes_have_places() {
        for (text, at) in [
            ("a=1\n", "t:1:1: `a=1` precedes"),
            ("[main\n", "t:1:1: a section"),
            ("[main]\n  [\n", "t:2:3"),
            ("[main]\nword\n", "t:2:1: `word` is neither"),
            ("[main]\n=1\n", "t:2:1"),
            ("[]\n", "t:1:1"),
        ] {
            let said = parse("t", text, false).unwrap_err().to_string();
            assert!(said.starts_with(at), "{text}: {said}");
        }
        assert!(parse("t", "a=1\n", true).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s).{0,200}") {
            let _ = parse("t", &text, true);
        }
    }
}
