//! Splits a kernel command line into words, and changes some of them. All other bytes stay the same.
//!
//! Words end at white space outside double quotes. Quotes are not part of the value. Words after `--` go to init
//! (lib/cmdline.c, next_arg; kernel/params.c, parse_args). In names, `-` and `_` are equal (kernel/params.c,
//! dash2underscore).

use crate::Change;
use std::ops::Range;

/// Parameters whose order matters: a page size applies to the counts that follow it (mm/hugetlb.c).
const PAGES: &[&str] = &["hugepages", "hugepagesz", "default_hugepagesz"];

/// Returns true for white space as defined by the kernel, which unlike Rust includes the vertical tab (lib/ctype.c).
pub(crate) fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// Returns the byte ranges of all words, including those for init.
pub(crate) fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut quoted, mut start) = (false, None);
    for (at, byte) in text.bytes().enumerate() {
        quoted ^= byte == b'"';
        match (is_space(byte.into()) && !quoted, start) {
            (true, Some(first)) => {
                found.push(first..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    found.extend(start.map(|first| first..text.len()));
    found
}

pub(crate) fn words(text: &str) -> Vec<String> {
    let all = ranges(text).into_iter().filter_map(|range| text.get(range));
    all.take_while(|word| *word != "--").map(str::to_owned).collect()
}

pub(crate) fn key(word: &str) -> String {
    let name = word.split('=').next().unwrap_or_default();
    name.chars().filter(|c| *c != '"').map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Returns a word in the form in which the kernel compares it: without quotes, and with `_` for `-` in the name.
fn compared(word: &str) -> impl Iterator<Item = u8> {
    let mut in_name = true;
    word.bytes().filter(|byte| *byte != b'"').map(move |byte| {
        in_name &= byte != b'=';
        if in_name && byte == b'-' { b'_' } else { byte }
    })
}

pub(crate) fn is_same(one: &str, other: &str) -> bool {
    compared(one).eq(compared(other))
}

/// Returns true if a word matches a pattern: `name` for any value, `name=value` for this value.
pub(crate) fn means(pattern: &str, word: &str) -> bool {
    if pattern.contains('=') { is_same(pattern, word) } else { key(pattern) == key(word) }
}

/// Returns true if all values of the parameter take effect. Of other parameters only one value is kept: most handlers
/// use the last one, `isolcpus=` the first (kernel/sched/isolation.c).
pub(crate) fn is_cumulative(word: &str) -> bool {
    punctual_machine::may_repeat(word) && !is_pages(word)
}

pub(crate) fn is_pages(word: &str) -> bool {
    PAGES.contains(&key(word).as_str())
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unchangeable {
    Order(String),
    /// A quote is not closed, so that text after it would become part of this word.
    Quote(String),
}

impl Unchangeable {
    pub fn word(self) -> String {
        match self {
            Unchangeable::Order(word) | Unchangeable::Quote(word) => word,
        }
    }
}

#[derive(Clone, PartialEq)]
enum Fate {
    Stays,
    Goes,
    Becomes(String),
}

/// Applies a change. Changed words are replaced in place, and new words follow the last one before `--`. All other
/// bytes stay the same; if nothing changes, so does the text.
pub(crate) fn rewrite(text: &str, change: &Change) -> Result<String, Unchangeable> {
    let all = ranges(text);
    if text.matches('"').count() % 2 == 1 {
        return Err(Unchangeable::Quote(all.last().and_then(|r| text.get(r.clone())).unwrap_or_default().to_owned()));
    }
    let kernel: Vec<&str> = all.iter().filter_map(|r| text.get(r.clone())).take_while(|word| *word != "--").collect();
    let mut fates: Vec<Fate> = kernel
        .iter()
        .map(|word| if change.remove.iter().any(|p| means(p, word)) { Fate::Goes } else { Fate::Stays })
        .collect();
    let mut new: Vec<String> = Vec::new();
    add_pages(&kernel, &mut fates, change, &mut new)?;
    for word in change.add.iter().filter(|word| !is_pages(word)) {
        add(&kernel, &mut fates, word, &mut new);
    }
    Ok(write(text, all.get(..kernel.len()).unwrap_or_default(), &fates, &new))
}

fn add(kernel: &[&str], fates: &mut [Fate], word: &str, new: &mut Vec<String>) {
    let same: Vec<usize> = (0..kernel.len()).filter(|&n| kernel.get(n).is_some_and(|w| key(w) == key(word))).collect();
    let mut set = |n: usize, fate: Fate| fates.get_mut(n).into_iter().for_each(|f| *f = fate.clone());
    let is_it = |n: &usize| kernel.get(*n).is_some_and(|w| is_same(w, word));
    if is_cumulative(word) {
        match same.iter().copied().find(|n| is_it(n)) {
            Some(n) => set(n, Fate::Stays),
            None => new.push(word.to_owned()),
        }
        return;
    }
    let Some((&last, others)) = same.split_last() else { return new.push(word.to_owned()) };
    others.iter().for_each(|&n| set(n, Fate::Goes));
    set(last, if is_it(&last) { Fate::Stays } else { Fate::Becomes(word.to_owned()) });
}

fn add_pages(kernel: &[&str], fates: &mut [Fate], change: &Change, new: &mut Vec<String>) -> Result<(), Unchangeable> {
    let wanted: Vec<&String> = change.add.iter().filter(|word| is_pages(word)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let there: Vec<&str> = kernel.iter().copied().filter(|word| is_pages(word)).collect();
    if there.len() == wanted.len() && there.iter().zip(&wanted).all(|(one, other)| is_same(one, other)) {
        let both = fates.iter_mut().zip(kernel).filter(|(_, word)| is_pages(word));
        both.for_each(|(fate, _)| *fate = Fate::Stays);
        return Ok(());
    }
    let mut both = fates.iter().zip(kernel);
    match both.find(|(fate, word)| is_pages(word) && **fate == Fate::Stays) {
        Some((_, word)) => Err(Unchangeable::Order((*word).to_owned())),
        None => {
            new.extend(wanted.into_iter().cloned());
            Ok(())
        }
    }
}

/// Writes the changed text. When a word is removed, so is the white space before it or, for the first word, after it.
fn write(text: &str, kernel: &[Range<usize>], fates: &[Fate], new: &[String]) -> String {
    let mut out = String::new();
    let (mut at, mut has_words) = (0, false);
    for (range, fate) in kernel.iter().zip(fates) {
        let gap = text.get(at..range.start).unwrap_or_default();
        let word = text.get(range.clone()).unwrap_or_default();
        match fate {
            // Leading white space is kept in front of the word that becomes the first one.
            Fate::Goes if has_words || at != 0 => {}
            Fate::Goes => out.push_str(gap),
            Fate::Stays | Fate::Becomes(_) => {
                if has_words || at == 0 {
                    out.push_str(gap);
                }
                out.push_str(if let Fate::Becomes(new) = fate { new } else { word });
                has_words = true;
            }
        }
        at = range.end;
    }
    let rest = text.get(at..).unwrap_or_default();
    if !new.is_empty() {
        out.push_str(if has_words { " " } else { "" });
        out.push_str(&new.join(" "));
        let starts_word = !has_words && rest.starts_with(|c: char| !c.is_ascii_whitespace());
        out.push_str(if starts_word { " " } else { "" });
        has_words = true;
    }
    // No word remains before `--`, so no separator is needed.
    let is_parted = has_words || kernel.is_empty() || rest.trim_start().is_empty();
    out.push_str(if is_parted { rest } else { rest.trim_start() });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, add: &[&str], remove: &[&str]) -> String {
        rewrite(text, &Change::new(add.iter().copied(), remove.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn words_are_those_of_the_kernel() {
        assert_eq!(words("  a  b=\"x y\"\tc\r\n -- d"), ["a", "b=\"x y\"", "c"]);
        assert!(is_same("a-b=\"x y\"", "\"a_b=x y\""));
        assert!(!is_same("a=", "a"));
    }

    #[test]
    fn other_bytes_stay() {
        assert_eq!(changed(" a  b   c \r\n", &["d=1"], &["b"]), " a   c d=1 \r\n");
        assert_eq!(changed("a -- single", &["b"], &[]), "a b -- single");
        assert_eq!(changed("a -- single", &[], &["a", "single"]), "-- single");
        assert_eq!(changed("-- single", &["a"], &[]), "a -- single");
        assert_eq!(changed("", &["a", "b"], &[]), "a b");
        assert_eq!(changed("a b", &[], &["a"]), "b");
        assert_eq!(changed(" a b\n", &[], &["a", "b"]), " \n");
    }

    #[test]
    fn values_are_replaced_where_they_stand() {
        assert_eq!(changed("x nohz-full=1 y", &["nohz_full=2-3"], &[]), "x nohz_full=2-3 y");
        assert_eq!(changed("a=1 b a=2", &["a=2"], &[]), "b a=2");
        assert_eq!(changed("console=tty0 q", &["console=ttyS0"], &[]), "console=tty0 q console=ttyS0");
        assert_eq!(changed("console=tty0 q", &["console=tty0"], &[]), "console=tty0 q");
        assert_eq!(changed("console=tty0 console=ttyS0", &[], &["console=ttyS0"]), "console=tty0");
    }

    #[test]
    fn pairs_are_not_torn() {
        let both = ["hugepagesz=1G", "hugepages=4"];
        assert_eq!(changed("a", &both, &[]), "a hugepagesz=1G hugepages=4");
        assert_eq!(changed("hugepagesz=1G a hugepages=4", &both, &[]), "hugepagesz=1G a hugepages=4");
        let change = Change::new(both, [""; 0]).unwrap();
        assert_eq!(rewrite("a b=\"c d", &change), Err(Unchangeable::Quote("b=\"c d".into())));
        assert_eq!(rewrite("hugepages=9", &change), Err(Unchangeable::Order("hugepages=9".into())));
    }
}
