//! Formats lines for a terminal: cleaned, wrapped, coloured.

use crate::{clean, number};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    pub color: bool,
    /// Columns of the terminal; at least 40 are used.
    pub width: usize,
}

impl Default for TextStyle {
    fn default() -> TextStyle {
        TextStyle { color: false, width: 80 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    Plain,
    Good,
    Bad,
    Warn,
    Strong,
}

impl Tint {
    /// Returns the SGR parameters (ECMA-48).
    fn sgr(self) -> Option<&'static str> {
        match self {
            Tint::Plain => None,
            Tint::Good => Some("1;32"),
            Tint::Bad => Some("1;31"),
            Tint::Warn => Some("1;33"),
            Tint::Strong => Some("1"),
        }
    }
}

/// Text that grows line by line. Everything added is cleaned here; only the page itself writes colours.
pub struct Page {
    out: String,
    style: TextStyle,
}

impl Page {
    pub fn new(style: TextStyle) -> Page {
        Page { out: String::new(), style: TextStyle { width: style.width.max(40), ..style } }
    }

    pub fn gap(&mut self) {
        self.out.push('\n');
    }

    pub fn heading(&mut self, title: &str) {
        self.gap();
        self.tinted(Tint::Strong, title);
        self.out.push('\n');
    }

    /// Adds a tag and a text wrapped next to it.
    pub fn tagged(&mut self, tag: &str, tint: Tint, text: &str) {
        let indent = tag.chars().count().min(self.style.width / 2);
        let lines = wrap(&clean::line(text), self.style.width - indent);
        for (n, line) in lines.iter().enumerate() {
            match n {
                0 => self.tinted(tint, tag),
                _ => self.out.push_str(&" ".repeat(indent)),
            }
            self.out.push_str(line);
            self.end_line();
        }
    }

    /// Adds lines of [`tagged`].
    pub fn add(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.out.extend([line.as_str(), "\n"]));
    }

    /// Adds a tag and as much of a text as fits next to it.
    pub fn beside(&mut self, tag: &str, tint: Tint, text: &str) {
        self.tinted(tint, tag);
        let room = self.style.width.saturating_sub(tag.chars().count());
        self.out.push_str(&clean::clip(&clean::line(text), room));
        self.end_line();
    }

    pub fn row(&mut self, tint: Tint, text: &str) {
        let text = clean::clip(&clean::line(text), self.style.width);
        self.tinted(tint, text.trim_end());
        self.end_line();
    }

    pub fn width(&self) -> usize {
        self.style.width
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn lines(self) -> Vec<String> {
        self.out.lines().map(str::to_owned).collect()
    }

    /// Returns the first lines; see [`cut`].
    pub fn cut(self, most: usize) -> Vec<String> {
        let width = self.style.width;
        cut(&self.lines(), most, width)
    }

    fn tinted(&mut self, tint: Tint, text: &str) {
        match tint.sgr().filter(|_| self.style.color) {
            Some(sgr) => self.out.push_str(&format!("\x1b[{sgr}m{text}\x1b[0m")),
            None => self.out.push_str(text),
        }
    }

    fn end_line(&mut self) {
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        self.out.push('\n');
    }
}

/// Returns the first lines, with an ellipsis if some are omitted: after the last word that leaves room for it in `width`
/// columns.
pub fn cut(lines: &[String], most: usize, width: usize) -> Vec<String> {
    let mut kept: Vec<String> = lines.iter().take(most).cloned().collect();
    if let Some(last) = kept.last_mut().filter(|_| lines.len() > most) {
        while columns(last) + 2 > width
            && let Some(at) = last.rfind(' ').filter(|at| *at > 0)
        {
            last.truncate(at);
        }
        last.push_str(" …");
    }
    kept
}

/// Returns a tag and the first lines of the text next to it.
pub fn tagged(style: TextStyle, tag: &str, tint: Tint, text: &str, most: usize) -> Vec<String> {
    let mut page = Page::new(style);
    page.tagged(tag, tint, text);
    page.cut(most)
}

/// Counts the characters of a line without its colours (`ESC [ … m`).
fn columns(line: &str) -> usize {
    line.split('\x1b').enumerate().fold(0, |sum, (n, part)| {
        let shown = if n == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) };
        sum + shown.chars().count()
    })
}

/// Breaks lines at spaces, and within words longer than a line. Does not separate numbers from their units.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in number::tie(text).split(' ').filter(|w| !w.is_empty()) {
        let mut word: Vec<char> = word.chars().map(|c| if c == '\u{a0}' { ' ' } else { c }).collect();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(String::new());
            used = 0;
        }
        while word.len() > width {
            let rest = word.split_off(width);
            push(&mut lines, &word);
            lines.push(String::new());
            word = rest;
        }
        if used > 0 {
            push(&mut lines, &[' ']);
            used += 1;
        }
        push(&mut lines, &word);
        used += word.len();
    }
    lines
}

fn push(lines: &mut [String], chars: &[char]) {
    if let Some(last) = lines.last_mut() {
        last.extend(chars);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_the_margin() {
        assert_eq!(wrap("late by 93.0 µs, so", 10), ["late by", "93.0 µs,", "so"]);
        assert_eq!(wrap("abcdefghijkl mn", 5), ["abcde", "fghij", "kl mn"]);
        assert_eq!(wrap("so P(> 9 µs) ≤ 4e-5 at", 18), ["so", "P(> 9 µs) ≤ 4e-5", "at"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn what_is_cut_says_so() {
        let cut = |text: &str, color| {
            let mut page = Page::new(TextStyle { width: 40, color });
            page.tagged("Audit  ", Tint::Strong, text);
            page.cut(1)
        };
        assert_eq!(cut("one two", false), ["Audit  one two"]);
        assert_eq!(
            cut("one two three four five six. Seventh", true),
            ["\x1b[1mAudit  \x1b[0mone two three four five six. …"]
        );
        assert_eq!(cut("one two three four five sixes se Seventh", false), ["Audit  one two three four five sixes …"]);
    }
}
