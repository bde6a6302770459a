//! Parses the menu in a generated grub.cfg: finds the default entry, and copies it with changed words.

use crate::Change;
use crate::trial::as_trial;
use crate::words::{rewrite, words};

pub(crate) const TRIAL: &str = "punctual-trial";
const BEGIN: &str = "### BEGIN punctual: one trial boot; may be deleted ###\n";
const END: &str = "### END punctual ###\n";

struct Entry {
    title: String,
    id: Option<String>,
    /// Submenus that contain the entry, outermost first, as indices into the list of all entries.
    inside: Vec<usize>,
    is_submenu: bool,
    body: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Default {
    title: String,
    body: Vec<String>,
    linux: usize,
}

fn entries(text: &str) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    // For each open brace, the index of its entry.
    let mut open: Vec<Option<usize>> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed == "}" {
            open.pop();
            continue;
        }
        for entry in open.iter().flatten() {
            all.get_mut(*entry).into_iter().filter(|e| !e.is_submenu).for_each(|e| e.body.push(line.to_owned()));
        }
        if !trimmed.ends_with('{') || trimmed.starts_with('#') {
            continue;
        }
        let head = quoted_words(trimmed);
        let kind = head.first().map(String::as_str);
        if open.len() > 64 || !matches!(kind, Some("menuentry" | "submenu")) {
            open.push(None);
            continue;
        }
        let option = |word: &String| word == "--id" || word == "$menuentry_id_option";
        let id = head.iter().position(option).and_then(|at| head.get(at + 1)).cloned();
        let inside = open.iter().copied().flatten().collect();
        let title = head.get(1).cloned().unwrap_or_default();
        all.push(Entry { title, id, inside, is_submenu: kind == Some("submenu"), body: Vec::new() });
        open.push(Some(all.len() - 1));
    }
    all
}

fn quoted_words(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut quote, mut inside, mut escaped) = (None, false, false);
    for c in line.chars() {
        if quote.is_none() && !escaped && c.is_whitespace() {
            inside = false;
            continue;
        }
        if !inside {
            found.push(String::new());
            inside = true;
        }
        match (quote, c) {
            _ if escaped => {
                escaped = false;
                found.last_mut().into_iter().for_each(|word| word.push(c));
            }
            (Some(q), c) if q == c => quote = None,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            _ => found.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    found
}

/// Finds the default entry. `spec` is the value of GRUB_DEFAULT or saved_entry: an index, a title, an identifier, or
/// several of these separated by `>`.
pub(crate) fn default(text: &str, spec: &str) -> Result<Default, String> {
    let all = entries(text);
    let spec = if spec.is_empty() { "0" } else { spec };
    let mut inside: Vec<usize> = Vec::new();
    for part in spec.split('>') {
        let level: Vec<usize> = (0..all.len()).filter(|&n| all.get(n).is_some_and(|e| e.inside == inside)).collect();
        let is_it = |n: &&usize| all.get(**n).is_some_and(|e| e.title == part || e.id.as_deref() == Some(part));
        let by_index = || part.parse::<usize>().ok().and_then(|at| level.get(at));
        match level.iter().find(is_it).or_else(by_index) {
            Some(n) => inside.push(*n),
            None => return Err(format!("its default entry `{spec}` was not found")),
        }
    }
    let entry = inside.last().and_then(|n| all.get(*n)).filter(|entry| !entry.is_submenu);
    let Some(entry) = entry else { return Err(format!("its default `{spec}` is a submenu")) };
    let is_linux = |line: &String| {
        let first = line.split_whitespace().next();
        matches!(first, Some("linux" | "linux16" | "linuxefi"))
    };
    let lines: Vec<usize> = (0..entry.body.len()).filter(|&n| entry.body.get(n).is_some_and(is_linux)).collect();
    match lines.as_slice() {
        [linux] => Ok(Default { title: entry.title.clone(), body: entry.body.clone(), linux: *linux }),
        lines => Err(format!("its default entry has {} `linux` lines", lines.len())),
    }
}

impl Default {
    fn line(&self) -> &str {
        self.body.get(self.linux).map(String::as_str).unwrap_or_default()
    }

    fn split(&self) -> (&str, &str) {
        let line = self.line();
        let second = crate::words::ranges(line).get(1).map_or(line.len(), |range| range.end);
        line.split_at_checked(second).unwrap_or((line, ""))
    }

    /// Returns the entry's lines without the first line and the closing brace.
    pub fn body(&self) -> &[String] {
        &self.body
    }

    pub fn linux(&self) -> usize {
        self.linux
    }

    pub fn image(&self) -> &str {
        let line = self.line();
        crate::words::ranges(line).get(1).and_then(|range| line.get(range.clone())).unwrap_or_default()
    }

    /// Returns the `linux` line with another image and changed words, and those words.
    pub fn line_for(&self, image: &str, change: &Change) -> Result<(String, Vec<String>), String> {
        let (_, tail) = self.split();
        if tail.contains(['$', '\\', '\'', '`', ';', '{']) {
            return Err(format!("the command line of `{}` contains quotes or variables of GRUB", self.title));
        }
        let tail = rewrite(tail, change).map_err(|why| why.word())?;
        Ok((format!("\tlinux\t{image}{tail}"), words(&tail)))
    }

    pub fn words(&self) -> Vec<String> {
        words(self.split().1)
    }

    /// Returns text with a copy of the entry that has the trial's identifier, and the copy's command line.
    pub fn trial(&self, change: &Change) -> Result<(String, Vec<String>), String> {
        let (head, tail) = self.split();
        if tail.contains(['$', '\\', '\'', '`', ';', '{']) {
            return Err(format!("the command line of `{}` contains quotes or variables of GRUB", self.title));
        }
        let tail = rewrite(tail, &as_trial(change)).map_err(|why| why.word())?;
        let new = format!("{head}{tail}");
        let body: Vec<&str> = self
            .body
            .iter()
            .enumerate()
            .map(|(n, line)| if n == self.linux { new.as_str() } else { line.as_str() })
            .collect();
        let text = format!(
            "{BEGIN}menuentry 'punctual: one trial boot' --class os --id {TRIAL} {{\n{}\n}}\n{END}",
            body.join("\n")
        );
        Ok((text, words(&tail)))
    }
}

/// Returns custom.cfg with `block` in place of an older one, or appended.
pub(crate) fn with_block(custom: &str, block: &str) -> String {
    let old = custom.find(BEGIN).and_then(|from| {
        let to = custom.get(from..)?.find(END)? + from + END.len();
        Some((custom.get(..from)?, custom.get(to..)?))
    });
    match old {
        Some((before, after)) => format!("{before}{block}{after}"),
        None if custom.is_empty() || custom.ends_with('\n') => format!("{custom}{block}"),
        None => format!("{custom}\n{block}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENU: &str = "function f {\n  set x=1\n}\nmenuentry 'Debian' --class debian $menuentry_id_option 'simple' {\n\
        \tload_video\n\tif [ x = y ]; then\n\t\tinsmod ext2\n\tfi\n\tlinux\t/vmlinuz-2 root=/dev/sda1 ro  quiet\n}\n\
        submenu 'More' $menuentry_id_option 'more' {\n\tmenuentry 'Old' --id old {\n\t\tlinux /vmlinuz-1 ro\n\t}\n}\n";

    #[test]
    fn the_default_is_found() {
        let words = |spec| default(MENU, spec).map(|entry| entry.words());
        let first = vec!["root=/dev/sda1".to_owned(), "ro".to_owned(), "quiet".to_owned()];
        assert_eq!(words("0"), Ok(first.clone()));
        assert_eq!(words(""), Ok(first.clone()));
        assert_eq!(words("simple"), Ok(first));
        assert_eq!(words("more>old"), Ok(vec!["ro".to_owned()]));
        assert_eq!(words("1>0"), Ok(vec!["ro".to_owned()]));
        assert!(words("2").is_err() && words("1").is_err());
    }

    #[test]
    fn the_copy_has_the_new_words() {
        let change = Change::new(["isolcpus=2"], ["quiet"]).unwrap();
        let (block, words) = default(MENU, "0").unwrap().trial(&change).unwrap();
        let word = crate::trial_word(&change);
        assert_eq!(words, ["root=/dev/sda1", "ro", "isolcpus=2", "panic=10", word.as_str()]);
        let line = format!("\n\tlinux\t/vmlinuz-2 root=/dev/sda1 ro isolcpus=2 panic=10 {word}\n}}\n");
        assert!(block.contains(&line), "{block}");
        assert!(block.contains("insmod ext2"));
        let twice = with_block(&with_block("a=1", &block), &block);
        assert_eq!(twice, format!("a=1\n{block}"));
    }
}
