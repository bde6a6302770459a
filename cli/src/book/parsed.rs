//! Checks that the parser accepts every `punctual …` line in the documentation.

use crate::args::Arguments;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};
use punctual_starter::{Language, Project};
use punctual_testing::book::{self, Line};

/// Result of parsing a line.
#[derive(Debug, PartialEq)]
enum Taken {
    /// A complete command line.
    Parsed,
    /// Only the name of a command, in running text.
    Named,
    /// The parser's error.
    Wrong(String),
}

fn take(line: &Line) -> Taken {
    // An ellipsis stands for the rest of a path. Some options check that their path exists, so `/` replaces it.
    let words: Vec<&str> = line.words.iter().map(|word| if word.contains('…') { "/" } else { word }).collect();
    if line.inline && is_command(&Arguments::command(), &words) {
        return Taken::Named;
    }
    if words.first() == Some(&"cyclictest") {
        return cyclictest(&words[1..]);
    }
    match Arguments::try_parse_from([&["punctual"], words.as_slice()].concat()) {
        Ok(_) => Taken::Parsed,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => Taken::Parsed,
        Err(e) => Taken::Wrong(e.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

/// Parses the arguments of cyclictest, which clap passes on unparsed.
fn cyclictest(words: &[&str]) -> Taken {
    let words: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
    match punctual_cyclictest::parse(&words) {
        Ok(_) => Taken::Parsed,
        Err(e) => Taken::Wrong(e.to_string()),
    }
}

/// Returns true if the words are only the name of a command.
fn is_command(command: &Command, words: &[&str]) -> bool {
    match words.split_first() {
        None => true,
        Some((first, rest)) => command.find_subcommand(first).is_some_and(|below| is_command(below, rest)),
    }
}

#[test]
#[allow(clippy::disallowed_macros)] // A test may print.
fn every_line_of_the_book_is_taken_by_the_parser() {
    let lines = book::all();
    let taken: Vec<(&Line, Taken)> = lines.iter().map(|line| (line, take(line))).collect();
    let count = |what: fn(&Taken) -> bool| taken.iter().filter(|(_, taken)| what(taken)).count();
    println!(
        "{} lines: {} parsed, {} name a command",
        lines.len(),
        count(|t| *t == Taken::Parsed),
        count(|t| *t == Taken::Named)
    );
    let wrong: Vec<String> = taken
        .iter()
        .filter_map(|(line, taken)| match taken {
            Taken::Wrong(why) => Some(format!("{}\n    {why}", line.shown())),
            _ => None,
        })
        .collect();
    assert!(wrong.is_empty(), "{} lines of the book do not parse:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count(|t| *t == Taken::Parsed) > 100, "too few lines were found in the book");
}

/// The command lines in the README and the CI jobs that `punctual new` writes.
#[test]
fn every_line_of_a_new_project_is_taken_by_the_parser() {
    for language in [Language::Rust, Language::C, Language::Cpp] {
        let files = Project { name: "my-loop".to_owned(), language, library: None }.files().unwrap();
        let mut parsed = 0;
        for (page, text) in files {
            for (number, line) in (1..).zip(text.lines()) {
                let typed = line.trim_start().trim_start_matches("- ").trim_start_matches("run: ");
                for words in book::calls(typed) {
                    let line = Line { page: page.clone(), number, inline: false, words };
                    assert_eq!(take(&line), Taken::Parsed, "{}", line.shown());
                    parsed += 1;
                }
            }
        }
        assert!(parsed >= 6, "only {parsed} lines were found");
    }
}

#[test]
fn a_line_that_cannot_be_typed_is_found() {
    let line = |text: &str, inline| Line {
        page: "page.md".to_owned(),
        number: 1,
        inline,
        words: text.split(' ').map(str::to_owned).collect(),
    };
    for wrong in [
        "prove --duratoin 5s",
        "prove --claim max",
        "kernel fecth",
        "report RUN --format nonsense",
        "cyclictest --nonsense",
    ] {
        assert!(matches!(take(&line(wrong, false)), Taken::Wrong(_)), "{wrong}: {:?}", take(&line(wrong, false)));
    }
    assert_eq!(take(&line("bench", true)), Taken::Named);
    assert!(matches!(take(&line("bench", false)), Taken::Wrong(_)), "a line of a code block must be complete");
}
