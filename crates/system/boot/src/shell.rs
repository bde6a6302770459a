//! Evaluates the assignments in files such as /etc/default/grub without running the files.
//!
//! Only plain assignments of sh(1) are evaluated. If another statement contains the name of a wanted variable, the
//! evaluation fails.

use crate::read::{BootError, unclear};
use std::collections::BTreeMap;

/// Values of variables after some files were evaluated; `None` for a value that only a shell could compute.
pub(crate) struct Shell<'w> {
    wanted: &'w [&'w str],
    values: BTreeMap<String, Option<String>>,
    /// File and line of the last assignment to each wanted variable.
    places: BTreeMap<String, String>,
}

impl<'w> Shell<'w> {
    /// Creates an evaluation in which the wanted variables are empty.
    pub fn new(wanted: &'w [&'w str]) -> Shell<'w> {
        let values = wanted.iter().map(|name| ((*name).to_owned(), Some(String::new()))).collect();
        Shell { wanted, values, places: BTreeMap::new() }
    }

    pub fn value(&self, name: &str) -> &str {
        self.values.get(name).and_then(Option::as_deref).unwrap_or_default()
    }

    pub fn set(&mut self, name: &str, value: String) {
        self.values.insert(name.to_owned(), Some(value));
    }

    pub fn place(&self, name: &str) -> Option<&str> {
        self.places.get(name).map(String::as_str)
    }

    pub fn source(&mut self, path: &str, text: &str) -> Result<(), BootError> {
        let mut depth = 0_usize;
        for statement in statements(text) {
            let body = statement.text.trim();
            let first = body.split_whitespace().next().unwrap_or_default();
            let place = format!("{path}, line {}", statement.line);
            if depth > 0 || is_compound(first) {
                self.must_not_matter(&place, body)?;
            } else if let Some(assignments) = assignments(body) {
                for (name, value) in assignments {
                    self.assign(&place, name, value)?;
                }
            } else {
                let is_foreign =
                    matches!(first, "." | "source" | "eval" | "unset" | "read" | "set" | "return" | "exit");
                if is_foreign && !matches!(body, "set -e" | "set +e") {
                    return Err(unclear(&place, format!("the effect of `{}` cannot be evaluated", short(body))));
                }
                self.must_not_matter(&place, body)?;
            }
            depth = depth.saturating_add(opens(body)).saturating_sub(closes(first));
        }
        if depth > 0 { Err(unclear(path, "a block is not closed")) } else { Ok(()) }
    }

    fn must_not_matter(&self, place: &str, body: &str) -> Result<(), BootError> {
        match self.wanted.iter().find(|name| body.contains(**name)) {
            Some(name) => {
                let why = if body.contains("+=") { ": sh does not support `+=`" } else { "" };
                Err(unclear(place, format!("the effect of `{}` on {name} cannot be evaluated{why}", short(body))))
            }
            None => Ok(()),
        }
    }

    fn assign(&mut self, place: &str, name: &str, raw: &str) -> Result<(), BootError> {
        let value = self.expand(raw);
        if self.wanted.contains(&name) {
            if value.is_none() {
                return Err(unclear(place, format!("the value of {name} is determined only when the file is run")));
            }
            self.places.insert(name.to_owned(), place.to_owned());
        }
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// Expands one word; `None` if it needs an expansion that is not supported.
    fn expand(&self, raw: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = raw;
        let mut in_double = false;
        while let Some(c) = rest.chars().next() {
            rest = rest.get(c.len_utf8()..)?;
            match c {
                '\'' if !in_double => {
                    let (inner, after) = rest.split_once('\'')?;
                    out.push_str(inner);
                    rest = after;
                }
                '"' => in_double = !in_double,
                '\\' => {
                    let next = rest.chars().next()?;
                    rest = rest.get(next.len_utf8()..)?;
                    if in_double && !matches!(next, '$' | '`' | '"' | '\\' | '\n') {
                        out.push('\\');
                    }
                    if next != '\n' {
                        out.push(next);
                    }
                }
                '`' => return None,
                '$' => {
                    let (name, after) = variable(rest)?;
                    out.push_str(self.values.get(name)?.as_deref()?);
                    rest = after;
                }
                c => out.push(c),
            }
        }
        (!in_double).then_some(out)
    }
}

fn variable(rest: &str) -> Option<(&str, &str)> {
    if let Some(inner) = rest.strip_prefix('{') {
        let (name, after) = inner.split_once('}')?;
        return is_name(name).then_some((name, after));
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(end)?;
    is_name(name).then_some((name, after))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn short(body: &str) -> String {
    body.chars().take(80).collect()
}

fn is_compound(first: &str) -> bool {
    opens(first) > 0 || closes(first) > 0 || matches!(first, "then" | "else" | "elif" | "do") || first.ends_with("()")
}

fn opens(body: &str) -> usize {
    let opens = |word: &&str| matches!(*word, "if" | "case" | "for" | "while" | "until" | "{" | "(");
    // Keywords may follow keywords, as in `then if` and `do case`.
    let mut words = body.split_whitespace();
    words.by_ref().take_while(|word| is_keyword(word)).filter(opens).count()
        + usize::from(body.ends_with('{') && !body.trim_end_matches('{').trim().is_empty())
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "case" | "for" | "while" | "until" | "{" | "(" | "then" | "else" | "elif" | "do" | "!")
}

fn closes(first: &str) -> usize {
    usize::from(matches!(first, "fi" | "esac" | "done" | "}" | ")"))
}

struct Statement<'t> {
    line: usize,
    text: &'t str,
}

/// Splits a text into statements, which end at line ends and at `;` outside quotes. Comments are removed.
fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let (mut start, mut at, mut line, mut first_line) = (0, 0, 1, 1);
    let mut quote: Option<u8> = None;
    let mut push = |range: std::ops::Range<usize>, line| {
        let part = text.get(range).unwrap_or_default();
        if !part.trim().is_empty() {
            found.push(Statement { line, text: part });
        }
    };
    while let Some(&byte) = bytes.get(at) {
        let is_word_start = at == start || bytes.get(at.wrapping_sub(1)).is_some_and(u8::is_ascii_whitespace);
        match (quote, byte) {
            (Some(b'\''), b'\'') | (Some(b'"'), b'"') | (Some(b'`'), b'`') => quote = None,
            (None | Some(b'"'), b'\\') | (Some(b'`'), b'\\') => {
                line += usize::from(bytes.get(at + 1) == Some(&b'\n'));
                at += 1;
            }
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'#') if is_word_start => {
                push(start..at, first_line);
                at = text.get(at..).and_then(|rest| rest.find('\n')).map_or(bytes.len(), |n| at + n);
                (start, first_line) = (at, line);
                continue;
            }
            (None, b'\n' | b';') => {
                push(start..at, first_line);
                line += usize::from(byte == b'\n');
                (start, first_line) = (at + 1, line);
            }
            (Some(_), b'\n') => line += 1,
            _ => {}
        }
        at += 1;
    }
    push(start..bytes.len(), first_line);
    found
}

/// Returns names and unexpanded values if a statement consists only of assignments; otherwise `None`.
fn assignments(body: &str) -> Option<Vec<(&str, &str)>> {
    let body = body.strip_prefix("export ").map_or(body, str::trim_start);
    let mut found = Vec::new();
    for word in shell_words(body) {
        let (name, value) = word.split_once('=')?;
        found.push((name, value));
        if !is_name(name) {
            return None;
        }
    }
    Some(found)
}

/// Splits a statement into words as sh does. Quotes are kept.
fn shell_words(body: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut quote, mut escaped, mut start): (Option<char>, bool, Option<usize>) = (None, false, None);
    for (at, c) in body.char_indices() {
        if quote.is_none() && !escaped && c.is_ascii_whitespace() {
            found.extend(start.take().and_then(|first| body.get(first..at)));
            continue;
        }
        start = start.or(Some(at));
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') | (Some('`'), '`') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => escaped = true,
            (None, '\'' | '"' | '`') => quote = Some(c),
            _ => {}
        }
    }
    found.extend(start.and_then(|first| body.get(first..)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<String, BootError> {
        let mut shell = Shell::new(&["X", "Y"]);
        shell.source("f", text)?;
        Ok(shell.value("X").to_owned())
    }

    #[test]
    fn plain_assignments_are_followed() {
        for (text, x) in [
            ("X=\"quiet splash\"\n", "quiet splash"),
            ("# X=1\nX='a b' # no\n", "a b"),
            ("X=a\nX=\"$X b\"\nX=\"${X} \\\"c d\\\"\"", "a b \"c d\""),
            ("Z=1; X=$Z", "1"),
            ("export X=a\\ b", "a b"),
            ("D=`lsb_release -i -s 2> /dev/null || echo Debian; echo`\nX=1", "1"),
            ("if [ -f /x ]; then\n Z=1\nfi\nX=1\nfoo bar", "1"),
            ("X=\"a \\\nb\"", "a b"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(x), "{text}");
        }
    }

    #[test]
    fn what_is_not_followed_is_said() {
        for text in [
            "X+=\" a\"",
            "X=$(cat /x)",
            "X=`cat /x`",
            "X=$Z",
            ". /etc/other",
            "if true; then\nX=1\nfi",
            "true && X=1",
            "f() {\nX=1\n}",
            "for Y in a; do echo; done",
            "X=\"open",
            "if true",
            "X=${Y:-a}",
        ] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
