//! Finds the command lines of `punctual` in the documentation and parses them like a shell. The unit test that parses
//! their options (src/book) and the test that runs them (tests/it/book.rs) both use this, so that they cover the same
//! lines.

use crate::root;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Line {
    /// Path of the page relative to the root of the repository.
    pub page: String,
    /// Line number in the page, starting at 1.
    pub number: usize,
    /// True if the command is in running text (`punctual …`), false if it is in a code block.
    pub inline: bool,
    pub words: Vec<String>,
}

impl Line {
    pub fn shown(&self) -> String {
        format!("{}:{}: punctual {}", self.page, self.number, self.words.join(" "))
    }
}

/// Returns README.md and every page below docs/, in order. Decision records (docs/adr), which describe the past, are
/// omitted.
pub fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if !path.ends_with("docs/adr") => folders.push(path),
                true => {}
                false if path.extension().is_some_and(|e| e == "md") => pages.push(path),
                false => {}
            }
        }
    }
    pages.sort();
    pages
}

pub fn all() -> Vec<Line> {
    pages().iter().flat_map(|page| of_page(page)).collect()
}

/// Marks text generated from `--help`, which shows usage instead of commands to type.
pub const MADE: &str =
    "<!-- What follows is made from the command line's own definition: UPDATE_GOLDEN=1 cargo test -p punctual book -->";

fn of_page(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap();
    let name = path.strip_prefix(root()).unwrap().display().to_string();
    let mut lines = Vec::new();
    let mut pending = String::new();
    for (number, text, code) in coded(text.split(MADE).next().unwrap_or_default()) {
        let mut add = |words, inline| lines.push(Line { page: name.clone(), number, inline, words });
        match code {
            true => {
                pending.push_str(text);
                if let Some(begun) = pending.strip_suffix('\\') {
                    pending = begun.to_owned();
                    continue;
                }
                calls(&std::mem::take(&mut pending)).into_iter().for_each(|words| add(words, false));
            }
            false => spans(text).into_iter().for_each(|words| add(words, true)),
        }
    }
    lines
}

/// Returns the lines of a page: number, text, and whether it is code. Blocks in languages other than shell are omitted.
fn coded(text: &str) -> Vec<(usize, &str, bool)> {
    let mut fence: Option<bool> = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(matches!(language.trim(), "" | "sh" | "console")),
            };
            continue;
        }
        match fence {
            Some(true) => lines.push((number, line, true)),
            Some(false) => {}
            None => lines.push((number, line, line.starts_with("    "))),
        }
    }
    lines
}

/// Returns code in running text (`code`) that starts with the program's name. Text with placeholders (`[ID…]`, `AXIS`)
/// is not a command to type, and is omitted.
fn spans(text: &str) -> Vec<Vec<String>> {
    let spans = text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("punctual "));
    let typed = spans.filter(|span| !span.contains(['[', '…']));
    typed.flat_map(calls).filter(|words| !words.iter().any(|word| is_form(word))).collect()
}

fn is_form(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '-')
}

/// Words that may come before a command.
const PROMPTS: [&str; 5] = ["$", "#", "sudo", "here:", "there:"];

/// Returns the command lines of `punctual` in one line of shell. There are none if the line starts with anything but a
/// prompt, `sudo`, a place (`here:`) or the program.
pub fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    // Output of a program is not parsed, because its quotes need not be shell quotes.
    let typed =
        PROMPTS.iter().fold(line.trim_start(), |line, prompt| line.strip_prefix(prompt).unwrap_or(line).trim_start());
    if !typed.starts_with("punctual ")
        && !["; ", "&& ", "| "].iter().any(|end| line.contains(&format!("{end}punctual ")))
    {
        return calls;
    }
    for command in split(line) {
        let words = command.iter().skip_while(|word| PROMPTS.contains(&word.as_str()));
        let words: Vec<String> = words.cloned().collect();
        match words.split_first() {
            Some((first, rest)) if first == "punctual" => calls.push(rest.to_vec()),
            _ => {}
        }
    }
    calls
}

/// Splits a line into commands, and each of these into words. Redirections are omitted.
fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut rest = line.trim_start();
    // The root prompt is not a comment.
    if let Some(after) = rest.strip_prefix("# ").filter(|after| after.starts_with("punctual ")) {
        rest = after;
    }
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = word(rest);
        rest = after.trim_start();
        match word {
            Word::Plain(word) => commands.last_mut().unwrap().push(word),
            Word::End => commands.push(Vec::new()),
            Word::To => rest = self::word(rest).1.trim_start(),
        }
    }
    commands
}

enum Word {
    Plain(String),
    End,
    /// `>`, after which a file name follows.
    To,
}

/// Returns the first word of `text`, which must not start with a blank, and the rest.
fn word(text: &str) -> (Word, &str) {
    if let Some(after) = text.strip_prefix([';', '|', '&']) {
        return (Word::End, after.trim_start_matches(['|', '&']));
    }
    if let Some(after) = text.strip_prefix("2>").or_else(|| text.strip_prefix('>')) {
        return (Word::To, after.trim_start());
    }
    let (mut word, mut quote, mut depth) = (String::new(), None, 0);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) if depth == 0 => quote = Some(c),
            ('(', None) => (depth, word) = (depth + 1, word + "("),
            (')', None) => (depth, word) = (depth - 1, word + ")"),
            (c, None) if depth == 0 && (c.is_whitespace() || c == ';' || c == '|') => {
                return (Word::Plain(word), &text[at..]);
            }
            (c, None) => word.push(c),
        }
    }
    assert!(quote.is_none() && depth == 0, "a quote or bracket is open at the end of: {text}");
    (Word::Plain(word), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_as_a_shell_does() {
        let of = |line: &str| calls(line).iter().map(|words| words.join("|")).collect::<Vec<_>>();
        assert_eq!(
            of("punctual prove --claim 'max < 100us'   # a comment; not a command"),
            ["prove|--claim|max < 100us"]
        );
        assert_eq!(of("    punctual audit --dry-run; punctual audit --fix"), ["audit|--dry-run", "audit|--fix"]);
        assert_eq!(of("# punctual undo     # back"), ["undo"]);
        assert_eq!(of("sudo punctual report r --format html > page.html"), ["report|r|--format|html"]);
        assert_eq!(of("punctual history gate R || echo worse"), ["history|gate|R"]);
        assert_eq!(
            of("punctual audit --config <(ssh pi zcat /proc/config.gz)"),
            ["audit|--config|<(ssh pi zcat /proc/config.gz)"]
        );
        assert!(of("# a comment about punctual audit").is_empty());
        assert!(of("make -j4").is_empty());
    }

    #[test]
    fn forms_in_running_text_are_not_lines_to_type() {
        assert_eq!(
            spans("see `punctual undo --list` and `punctual bench AXIS` and `punctual audit [ID…]`"),
            [["undo", "--list"]]
        );
    }
}
