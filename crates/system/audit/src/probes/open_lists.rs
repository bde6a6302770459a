//! CPU lists of a machine whose number of CPUs is unknown.

use super::cpu_lists::{NAMES, possible};
use crate::cmdline::list;
use crate::cmdline::names::key;
use crate::sight::{Notes, Sight};
use punctual_machine::{parameters, scrub};
use punctual_units::CpuList;

/// Returns the lowest number that the last CPU (`N` in lists) of an unknown machine can have: the largest number in the
/// lists. A sentence that is true for this number and for the next one is taken to be true for all larger ones.
pub(super) fn least_last(line: &str) -> u32 {
    let words = parameters(line).into_iter().filter(|word| NAMES.contains(&key(word).as_str()));
    words.map(|word| list::largest(&word)).max().unwrap_or(0)
}

/// Returns true if the list extends to the last CPU, whatever that is.
fn is_open(word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or_default();
    let list = value.split(',').any(|part| part.contains('N') || part.to_ascii_lowercase().starts_with("all"));
    NAMES.contains(&key(name).as_str()) && list
}

/// Lists the CPUs of these parameters. A list that extends to an unknown last CPU is shown as written.
pub(super) fn shown(sight: &Sight, names: &[&str], cpus: &CpuList) -> String {
    let line = sight.cmdline().unwrap_or_default();
    let words = parameters(&line).into_iter().filter(|word| names.contains(&key(word).as_str()));
    let words: Vec<String> = words.map(|word| scrub(&word)).collect();
    if !words.iter().any(|word| is_open(word)) || possible(sight, &mut Notes::default()).is_ok() {
        return cpus.to_string();
    }
    let of_word = |word: &String| {
        let (_, value) = word.split_once('=').unwrap_or_default();
        let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_lowercase()) && !part.starts_with("all");
        value.split(',').skip_while(is_flag).collect::<Vec<_>>().join(",")
    };
    words.iter().map(of_word).collect::<Vec<_>>().join(" and ")
}

/// If the last CPU is unknown, returns only the sentences that are true whatever it is. CPU numbers that depend on it
/// are replaced by `N` and `…`.
pub(super) fn in_any_machine(found: impl Fn(u32) -> Vec<String>, is_open: bool) -> Vec<String> {
    let least = found(0);
    if !is_open {
        return least;
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-');
    let without_numbers = |text: &str| text.replace(is_number, "");
    let (next, far) = (found(1), found(FAR));
    let of = |text: &String, others: &[String]| {
        others.iter().find(|other| without_numbers(other) == without_numbers(text)).cloned()
    };
    least.iter().filter(|text| of(text, &next).is_some()).map(|text| open_numbers(text, of(text, &far))).collect()
}

/// Number of CPUs that the larger machine, used for comparison, has in addition to those that the lists name.
const FAR: u32 = 64;

/// Replaces those numbers in a sentence that differ in the same sentence about a larger machine.
fn open_numbers(text: &str, far: Option<String>) -> String {
    let far = far.unwrap_or_default();
    let words = text.split(' ').zip(far.split(' ')).map(|(word, far)| {
        if word == far || !word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.to_owned();
        }
        let (word, rest) = match word.strip_suffix(',') {
            Some(word) => (word, ","),
            None => (word, ""),
        };
        let far = far.trim_end_matches(',');
        let parts: Vec<&str> = word.split(',').collect();
        let last = far.split(',').next_back().and_then(|last| last.split_once('-'));
        let kept = |count: usize, end: &str| {
            let kept: Vec<&str> = parts.iter().copied().take(count).chain([end]).collect();
            kept.join(",") + rest
        };
        match last {
            Some((first, _)) if far.split(',').count() == parts.len() => kept(parts.len() - 1, &format!("{first}-N")),
            _ => kept(3, "…"),
        }
    });
    let words: Vec<String> = words.collect();
    if far.is_empty() { text.to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_from_the_last_cpu_are_not_shown() {
        let of =
            |least: &str, far: &str| open_numbers(&format!("CPU {least}, which"), Some(format!("CPU {far}, which")));
        assert_eq!(of("4-16", "4-80"), "CPU 4-N, which");
        assert_eq!(of("2", "2-66"), "CPU 2-N, which");
        assert_eq!(of("2,4-16", "2,4-80"), "CPU 2,4-N, which");
        assert_eq!(of("0,4,8,12,16", "0,4,8,12,16,18,20"), "CPU 0,4,8,…, which");
        assert_eq!(of("2-3", "2-3"), "CPU 2-3, which");
        assert_eq!(open_numbers("CPU 3", None), "CPU 3");
    }
}
