//! Makes untrusted text safe to show in terminals, browsers and the logs of test harnesses.
//!
//! Control characters (C0, DEL, C1), line separators, and characters that reverse or hide text (Unicode Technical
//! Report 36) are replaced by visible escapes. The same applies to the first character of a command that a CI harness
//! would execute: `<LAVA_`, `##[`, `##vso[` and `##teamcity[` anywhere in a line, and `::name` at the start of a word.

#![forbid(unsafe_code)]

use std::fmt::Write;

/// Maximum length of a line in characters, so that a very long command line does not fill a report.
pub const LONGEST: usize = 2_000;

/// Returns the text as a single line, truncated to [`LONGEST`] characters, without anything that a terminal or test
/// harness would interpret.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, c) in text.chars().enumerate() {
        if n >= LONGEST {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push(' '),
            c if is_obeyed(c) => escape(&mut out, c),
            c => out.push(c),
        }
    }
    without_commands(out)
}

/// Like [`line`], for text with several lines that end in `\n` or `\r\n`. Nothing is truncated.
pub fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            c if is_obeyed(c) => escape(&mut out, c),
            c => out.push(c),
        }
    }
    without_commands(out)
}

/// Beginnings of commands to test harnesses. The dispatcher of LAVA looks for the first anywhere in a console line. The
/// runners of Azure, GitHub and TeamCity look for the others. Some of them ignore case.
const COMMANDS: [&str; 4] = ["<LAVA_", "##[", "##vso[", "##teamcity["];

fn without_commands(text: String) -> String {
    let begins = |at: usize| COMMANDS.iter().any(|command| starts_with(&text[at..], command));
    let found = text.match_indices(['<', '#']).filter(|(at, _)| begins(*at)).map(|(at, _)| at).collect::<Vec<_>>();
    let mut out = String::new();
    let mut rest = 0;
    for at in &found {
        out.push_str(&text[rest..*at]);
        escape(&mut out, char::from(text.as_bytes()[*at]));
        rest = at + 1;
    }
    let text = if found.is_empty() { text } else { out + &text[rest..] };
    if text.contains("::") { without_workflow_commands(&text) } else { text }
}

/// Returns true if `text` starts with `command`, ignoring the case of ASCII letters.
fn starts_with(text: &str, command: &str) -> bool {
    text.as_bytes().get(..command.len()).is_some_and(|first| first.eq_ignore_ascii_case(command.as_bytes()))
}

/// Beginnings of the names that GitHub's runner executes as `::name` at the start of a line.
const WORKFLOW: [&str; 13] = [
    "add-mask",
    "add-matcher",
    "add-path",
    "debug",
    "echo",
    "endgroup",
    "error",
    "group",
    "notice",
    "save-state",
    "set-",
    "stop-commands",
    "warning",
];

/// Escapes any `::name` at the start of a word, because line wrapping may put it at the start of a line. A long word
/// may be broken at any position, so the names in [`WORKFLOW`] are also escaped inside words.
fn without_workflow_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut begins = true;
    for (at, c) in text.char_indices() {
        let name = text.get(at..).and_then(|rest| rest.strip_prefix("::")).unwrap_or_default();
        let is_word = begins && name.starts_with(|c: char| c.is_ascii_alphanumeric());
        match is_word || WORKFLOW.iter().any(|command| name.starts_with(command)) {
            true => escape(&mut out, c),
            false => out.push(c),
        }
        begins = c.is_whitespace();
    }
    out
}

fn escape(out: &mut String, c: char) {
    let _ = match u32::from(c) {
        n @ 0..=0xff => write!(out, "\\x{n:02x}"),
        n => write!(out, "\\u{{{n:x}}}"),
    };
}

/// Returns true for a character that a terminal or browser interprets or hides instead of displaying.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || hides(c)
}

/// Returns true for line separators (U+2028, U+2029), interlinear annotation marks (U+FFF9 to U+FFFB), the blank
/// Braille pattern, and invisible characters (Default_Ignorable_Code_Point of Unicode 16, DerivedCoreProperties.txt:
/// direction marks and overrides, zero-width characters, fillers, variation selectors, the byte order mark, tags).
fn hides(c: char) -> bool {
    matches!(
        u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e
            | 0x2060..=0x206f | 0x2800 | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3
            | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff
    )
}

/// Like [`line`], but also escapes the text for use in an HTML element or a quoted attribute.
pub fn html(text: &str) -> String {
    let clean = line(text);
    let mut out = String::with_capacity(clean.len());
    for c in clean.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Returns the text if it has at most `most` characters, otherwise its first `most` − 1 characters followed by `…`.
pub fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_obeyed() {
        assert_eq!(line("a\x1b[31mb\nc\r\u{9b}2J"), "a\\x1b[31mb\\nc\\x0d\\x9b2J");
        assert_eq!(line("x\u{202e}gnp"), "x\\u{202e}gnp");
        assert_eq!(line("<LAVA_SIGNAL_TESTCASE RESULT=pass>"), "\\x3cLAVA_SIGNAL_TESTCASE RESULT=pass>");
        assert_eq!(html("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }

    #[test]
    fn no_harness_is_commanded() {
        assert_eq!(line("::error::x"), "\\x3a:error::x");
        assert_eq!(lines("a\n  ::set-output name=x::y"), "a\n  \\x3a:set-output name=x::y");
        assert_eq!(
            line("x ##[error]y ##vso[task] ##teamcity[z]"),
            "x \\x23#[error]y \\x23#vso[task] \\x23#teamcity[z]"
        );
        assert_eq!(line("word::set-env name=x::y"), "word\\x3a:set-env name=x::y");
        assert_eq!(line("##VSO[task] <lava_signal"), "\\x23#VSO[task] \\x3clava_signal");
        for kept in ["std::io::Error", "[::1]:80", "fe80::1", ": ::", "## [x]"] {
            assert_eq!(line(kept), kept);
        }
    }

    #[test]
    fn lines_stay_lines_and_nothing_is_cut() {
        assert_eq!(lines("a\tb\n\x1b[0m<LAVA_\u{202e}"), "a b\n\\x1b[0m\\x3cLAVA_\\u{202e}");
        assert_eq!(lines("a\r\nb\r"), "a\nb\\x0d");
        assert_eq!(lines(&"x".repeat(5_000)).len(), 5_000);
    }

    #[test]
    fn cleaning_twice_changes_nothing_more() {
        for text in ["a\x1b[0m", "<LAVA_", "::error::x", "##[##vso[", "µs – 93", "\\x1b"] {
            assert_eq!(line(&line(text)), line(text));
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(line(&"x".repeat(5_000)).chars().count(), LONGEST + 1);
        assert_eq!(clip("µsµsµs", 4), "µsµ…");
    }
}
