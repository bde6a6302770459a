//! Entries of the Boot Loader Specification, type 1: small files with lines `key value`
//! (https://uapi-group.org/specifications/specs/boot_loader_specification).

use crate::Change;
use crate::plan::Refusal;
use crate::read::{BootError, listed, names, required, unclear};
use crate::words::{Unchangeable, is_cumulative, is_pages, is_same, key, rewrite, words};
use punctual_machine::Machine;

/// Mount points of the EFI system partition and the extended boot partition.
pub(crate) const PARTITIONS: &[&str] = &["/boot", "/efi", "/boot/efi"];

/// Identifier of the trial entry. systemd-boot and GRUB's blscfg sort entries in descending order, in which an
/// upper-case letter comes last, so this entry never becomes the default of a loader that chooses the first.
pub(crate) const TRIAL: &str = "A-punctual-trial";

const MAX: usize = 256;

pub(crate) fn folders(view: &dyn Machine) -> Vec<String> {
    let all = PARTITIONS.iter().map(|partition| format!("{partition}/loader/entries"));
    all.filter(|folder| names(view, folder).iter().any(|name| name.ends_with(".conf"))).collect()
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub folder: String,
    pub path: String,
    /// File name of the entry without `.conf` and boot counter.
    pub id: String,
    pub text: String,
}

pub(crate) fn entries(view: &dyn Machine) -> Result<Vec<Entry>, BootError> {
    let mut found = Vec::new();
    for folder in folders(view) {
        for name in listed(view, &folder)? {
            let Some(stem) = name.strip_suffix(".conf").filter(|stem| *stem != TRIAL) else { continue };
            if found.len() >= MAX {
                return Err(unclear(&folder, format!("has more than {MAX} entries")));
            }
            let path = format!("{folder}/{name}");
            let text = required(view, &path)?;
            found.push(Entry { folder: folder.clone(), path, id: without_counter(stem).to_owned(), text });
        }
    }
    Ok(found)
}

/// Removes the boot counter from a file name: in `name+3-1`, 3 attempts remain and 1 was made.
fn without_counter(stem: &str) -> &str {
    let is_counter = |tail: &str| {
        let (left, done) = tail.split_once('-').unwrap_or((tail, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        is_number(left) && is_number(done)
    };
    stem.rsplit_once('+').filter(|(_, tail)| is_counter(tail)).map_or(stem, |(name, _)| name)
}

fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let rest = line.trim_start_matches('\u{feff}').trim_start().strip_prefix(key)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start_matches([' ', '\t']))
}

impl Entry {
    pub fn field(&self, key: &str) -> Option<&str> {
        self.text.lines().filter_map(|line| value(line, key)).map(str::trim_end).next_back()
    }

    pub fn options(&self) -> String {
        self.text.lines().filter_map(|line| value(line, "options")).map(str::trim).collect::<Vec<_>>().join(" ")
    }

    pub fn words(&self) -> Vec<String> {
        words(&self.options())
    }

    /// Returns true for a fallback entry, which is never changed.
    pub fn is_spare(&self) -> bool {
        ["rescue", "fallback"].iter().any(|part| self.id.contains(part))
    }

    pub fn spared(&self) -> Option<Refusal> {
        let why = format!("{} boots by default, but is a fallback entry, which is never changed", self.path);
        self.is_spare().then(|| Refusal::by_hand(why, "make another entry the default first"))
    }

    /// Returns the entry's text with changed options, or the same text if nothing changes.
    pub fn changed(&self, change: &Change) -> Result<String, Unchangeable> {
        let all = self.options();
        let whole = rewrite(&all, change)?;
        if whole == all {
            return Ok(self.text.clone());
        }
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let own: Vec<usize> =
            (0..lines.len()).filter(|&n| lines.get(n).is_some_and(|l| value(l, "options").is_some())).collect();
        let Some((&last, others)) = own.split_last() else {
            let end = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{}{end}options {}\n", self.text, whole.trim()));
        };
        let mut out = String::new();
        for (n, line) in lines.iter().enumerate() {
            let Some(old) = value(line, "options").filter(|_| n == last || others.contains(&n)) else {
                out.push_str(line);
                continue;
            };
            let head = line.strip_suffix(old).unwrap_or_default();
            let part = if others.is_empty() { change.clone() } else { self.part(change, &all, old, n == last) };
            out.push_str(head);
            out.push_str(&rewrite(old, &part)?);
        }
        Ok(out)
    }

    /// Returns the part of the change that applies to one of several lines: new words are added to the last line, and
    /// their earlier values are removed from every line.
    fn part(&self, change: &Change, all: &str, line: &str, is_last: bool) -> Change {
        let (whole, own) = (words(all), words(line));
        let is_all = |word: &String| is_cumulative(word) || is_pages(word);
        let is_kept = |word: &String| {
            let same = whole.iter().filter(|other| key(other) == key(word)).count();
            whole.iter().any(|other| is_same(other, word)) && (same == 1 || is_all(word))
        };
        let (kept, new): (Vec<String>, Vec<String>) = change.add.iter().cloned().partition(is_kept);
        let replaced = new.iter().filter(|word| !is_all(word));
        let named = replaced.map(|word| word.split('=').next().unwrap_or(word).to_owned());
        let mut part = Change { add: Vec::new(), remove: change.remove.iter().cloned().chain(named).collect() };
        part.add.extend(kept.into_iter().filter(|word| own.iter().any(|other| is_same(other, word))));
        part.add.extend(if is_last { new } else { Vec::new() });
        part
    }

    /// Returns true if a line other than the last contains `--`. Words after it go to init.
    pub fn is_parted(&self) -> bool {
        let mut lines: Vec<&str> = self.text.lines().filter_map(|line| value(line, "options")).collect();
        lines.pop();
        lines.iter().any(|line| line.split_whitespace().any(|word| word == "--"))
    }

    /// Returns a copy of the entry with the trial's identifier and these options, without the keys by which loaders
    /// sort entries.
    pub fn trial(&self, options: &str) -> String {
        let mut out = format!("title punctual: one trial boot\noptions {options}\n");
        for line in self.text.lines().map(|line| line.trim_start_matches('\u{feff}')) {
            let is_ours = ["title", "options", "id", "sort-key"].iter().any(|key| value(line, key).is_some());
            if !is_ours {
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }

    pub fn trial_path(&self) -> String {
        format!("{}/{TRIAL}.conf", self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, add: &[&str], remove: &[&str]) -> String {
        let entry = Entry { folder: String::new(), path: String::new(), id: String::new(), text: text.to_owned() };
        entry.changed(&Change::new(add.iter().copied(), remove.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn other_lines_stay() {
        let text = "# c\r\ntitle  X\r\noptions \troot=a quiet\r\nlinux /v";
        assert_eq!(changed(text, &["b=1"], &["quiet"]), "# c\r\ntitle  X\r\noptions \troot=a b=1\r\nlinux /v");
        assert_eq!(changed(text, &["quiet"], &["x"]), text);
        assert_eq!(changed("linux /v", &["a"], &[]), "linux /v\noptions a\n");
    }

    #[test]
    fn several_lines_are_one() {
        let text = "options a=1 b\noptions c\n";
        assert_eq!(changed(text, &["a=2", "b"], &[]), "options b\noptions c a=2\n");
        assert_eq!(changed(text, &["c", "b"], &["a", "b", "c"]), "options b\noptions c\n");
        assert_eq!(changed(text, &["c"], &["b"]), "options a=1\noptions c\n");
    }

    #[test]
    fn counters_are_no_part_of_the_name() {
        assert_eq!(without_counter("a-1.2+3-1"), "a-1.2");
        assert_eq!(without_counter("a+3"), "a");
        assert_eq!(without_counter("6.1+deb12"), "6.1+deb12");
    }
}
