//! A drop-in file that the shell of a generator sources. It removes words from variables and appends others.
//!
//! The text depends only on the removed and added words, so a file is parsed by comparing it with newly generated text.

use crate::Change;
use crate::words::{is_cumulative, is_pages, is_same, key, means, ranges};

pub(crate) struct Spec {
    pub path: &'static str,
    /// Variables from which words are removed. New words go to the last one.
    pub variables: &'static [&'static str],
    /// Value that the generator uses if the last variable is empty.
    pub default: &'static str,
    pub refresh: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DropIn {
    pub add: Vec<String>,
    /// Words to remove: names, or names with a value.
    pub remove: Vec<String>,
}

impl DropIn {
    /// Parses text that [`DropIn::text`] returned; `None` for any other text.
    pub fn parse(text: &str, spec: &Spec) -> Option<DropIn> {
        let list = |start: &str| -> Option<Vec<String>> {
            let line = text.lines().find_map(|line| line.strip_prefix(start))?;
            Some(ranges(line).into_iter().filter_map(|range| line.get(range).map(str::to_owned)).collect())
        };
        let read = DropIn { add: list("# add:")?, remove: list("# remove:")? };
        (read.text(spec) == text).then_some(read)
    }

    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    pub fn text(&self, spec: &Spec) -> String {
        let mut out = format!(
            "# Kernel parameters set by punctual, undone by: punctual undo.\n\
             # By hand: delete this file, then run {}. A file that was edited is left alone.\n",
            spec.refresh
        );
        let list = |words: &[String]| words.iter().map(|word| format!(" {word}")).collect::<String>();
        out += &format!("# add:{}\n# remove:{}\n", list(&self.add), list(&self.remove));
        let last = spec.variables.last().copied().unwrap_or_default();
        if !spec.default.is_empty() {
            out += &format!("{last}=\"${{{last}:-{}}}\"\n", spec.default);
        }
        if !self.remove.is_empty() {
            out += &self.filter(spec);
        }
        if !self.add.is_empty() {
            let words = double_quoted(list(&self.add).trim_start());
            out += &format!("{last}=\"${last}${{{last}:+ }}{words}\"\n");
        }
        out
    }

    fn filter(&self, spec: &Spec) -> String {
        let patterns: Vec<String> = self.remove.iter().map(|pattern| case(pattern)).collect();
        let mut out = format!(
            "punctual_filter() {{\n    punctual_kept=\n    for punctual_word in $1; do\n        \
             case \"$punctual_word\" in\n        {}) ;;\n        \
             *) punctual_kept=\"$punctual_kept${{punctual_kept:+ }}$punctual_word\" ;;\n        \
             esac\n    done\n}}\nset -f\n",
            patterns.join(" | ")
        );
        for name in spec.variables {
            out += &format!("punctual_filter \"${name}\"\n{name}=\"$punctual_kept\"\n");
        }
        out + "set +f\n"
    }

    /// Applies the file to the value of a variable as the shell does. Words end at white space, even inside quotes.
    pub fn filtered(&self, value: &str) -> String {
        if self.remove.is_empty() {
            return value.to_owned();
        }
        let kept = value.split_ascii_whitespace().filter(|word| !self.remove.iter().any(|p| matches_case(p, word)));
        kept.collect::<Vec<_>>().join(" ")
    }

    pub fn extended(&self, value: &str, spec: &Spec) -> String {
        let value = if value.is_empty() { spec.default } else { value };
        let mut words = vec![self.filtered(value)];
        words.extend(self.add.iter().cloned());
        words.retain(|word| !word.is_empty());
        if self.add.is_empty() && self.remove.is_empty() { value.to_owned() } else { words.join(" ") }
    }

    /// Returns the drop-in after a change whose result is `target`. `base` are the words from the other files.
    pub fn changed(&self, base: &[String], target: &[String], change: &Change) -> DropIn {
        let mut new = self.clone();
        for pattern in &change.remove {
            new.add.retain(|word| !means(pattern, word));
            if new.kept(base).any(|word| means(pattern, word)) {
                new.remove.push(pattern.clone());
            }
        }
        for word in &change.add {
            new = new.with(word, base, target);
        }
        new
    }

    fn kept<'b>(&self, base: &'b [String]) -> impl Iterator<Item = &'b String> {
        base.iter().filter(|word| !self.remove.iter().any(|p| means(p, word)))
    }

    fn with(self, word: &str, base: &[String], target: &[String]) -> DropIn {
        let is_all = is_cumulative(word) || is_pages(word);
        let wanted: Vec<&String> = target.iter().filter(|w| key(w) == key(word)).collect();
        let fits = |tried: &DropIn| {
            let have: Vec<&String> = tried.kept(base).chain(&tried.add).filter(|w| key(w) == key(word)).collect();
            have.len() == wanted.len() && wanted.iter().all(|w| have.iter().any(|h| is_same(w, h)))
        };
        let mut bare = self.clone();
        bare.add.retain(|w| if is_all { !is_same(w, word) } else { key(w) != key(word) });
        bare.remove.retain(|p| !means(p, word));
        if fits(&bare) {
            return bare;
        }
        if fits(&self) {
            return self;
        }
        let mut new = self;
        if !is_all {
            new.add.retain(|w| key(w) != key(word));
            if new.kept(base).any(|w| key(w) == key(word)) {
                let name = word.split('=').next().unwrap_or(word).to_owned();
                new.remove.retain(|p| key(p) != key(word));
                new.remove.push(name);
            }
        }
        if !new.add.iter().any(|w| is_same(w, word)) {
            new.add.push(word.to_owned());
        }
        new
    }
}

/// Returns true if a word matches a pattern made by [`case`]. Quotes have no special meaning.
fn matches_case(pattern: &str, word: &str) -> bool {
    let fold = |name: &str| name.replace('-', "_");
    match (pattern.split_once('='), word.split_once('=')) {
        (Some((name, value)), Some((other, its))) => fold(name) == fold(other) && value == its,
        (Some(_), None) => false,
        (None, Some((other, _))) => fold(pattern) == fold(other),
        (None, None) => fold(pattern) == fold(word),
    }
}

fn case(pattern: &str) -> String {
    let name = |name: &str| name.split(['-', '_']).map(literal).collect::<Vec<_>>().join("[-_]");
    match pattern.split_once('=') {
        Some((key, value)) => format!("{}={}", name(key), literal(value)),
        None => format!("{0} | {0}=*", name(pattern)),
    }
}

fn literal(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._,:/@%+-=".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("\"{}\"", double_quoted(text)) }
}

fn double_quoted(text: &str) -> String {
    let escaped = |c: char| if "\\\"$`".contains(c) { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: Spec = Spec { path: "/x", variables: &["A", "B"], default: "", refresh: "update-x" };

    #[test]
    fn what_is_written_is_read_again() {
        let one =
            DropIn { add: vec!["a=1".into(), "x=\"b c\"".into()], remove: vec!["nohz_full".into(), "q=$1".into()] };
        assert_eq!(DropIn::parse(&one.text(&SPEC), &SPEC), Some(one.clone()));
        assert_eq!(DropIn::parse(&format!("{}# mine\n", one.text(&SPEC)), &SPEC), None);
        assert!(one.text(&SPEC).contains("nohz[-_]full | nohz[-_]full=* | q=\"\\$1\") ;;"));
        assert!(one.text(&SPEC).contains("B=\"$B${B:+ }a=1 x=\\\"b c\\\"\"\n"));
    }
}
