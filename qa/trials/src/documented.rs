//! Checks that every `cargo xtask …` and `cargo trials …` in a page, a script, a message or a comment exists.

use clap::Parser;
use clap::error::ErrorKind;
use std::fs;
use std::path::{Path, PathBuf};

/// Text with which a command of each program starts.
const BEGINNINGS: [(&str, Program); 5] = [
    ("cargo xtask", Program::Xtask),
    ("target/debug/xtask", Program::Xtask),
    ("cargo run -p xtask --features reference-checks", Program::Xtask),
    ("cargo trials", Program::Trials),
    ("target/debug/punctual-trials", Program::Trials),
];

#[derive(Clone, Copy)]
enum Program {
    Xtask,
    Trials,
}

impl Program {
    /// Returns why the program does not accept these words; `None` if it does. Text may mention a command without its
    /// arguments.
    fn refuses(self, words: &[String]) -> Option<String> {
        let words = ["cargo".to_owned()].into_iter().chain(words.iter().cloned());
        let error = match self {
            Program::Xtask => xtask::Arguments::try_parse_from(words).err()?,
            Program::Trials => crate::Arguments::try_parse_from(words).err()?,
        };
        let is_help = [ErrorKind::DisplayHelp, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
        let is_taken = error.kind() == ErrorKind::MissingRequiredArgument || is_help.contains(&error.kind());
        (!is_taken).then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
    }
}

/// Collects the text files of the workspace, including decision records and the changelog: their commands must still
/// work.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && ![".git", "target", "dist", "corpus", "regressions"].iter().any(|other| name == *other) {
            files(&path, all);
        } else if kind.is_file() && path.file_name() != Path::new(file!()).file_name() {
            all.push(path);
        }
    }
}

fn commands(line: &str) -> Vec<(Program, Vec<String>)> {
    let of = |(beginning, program): &(&str, Program)| {
        let calls = line.split(beginning).skip(1).filter(|rest| rest.starts_with([' ', '`']) || rest.is_empty());
        calls.map(|rest| (*program, words(rest))).collect::<Vec<_>>()
    };
    BEGINNINGS.iter().flat_map(of).collect()
}

/// Returns the words of a command, which ends where a shell command or a sentence ends. A placeholder (`FILE`,
/// `{arch}`, `…`) is replaced by 1 after an option, and omitted elsewhere.
fn words(rest: &str) -> Vec<String> {
    if rest.is_empty() {
        return vec!["cut off by the end of the line".to_owned()];
    }
    let end = rest.find(['`', '"', '\'', '#', ';', ',', '(', ')', '|', '>', '&']).unwrap_or(rest.len());
    let mut words: Vec<String> = Vec::new();
    for word in rest[..end].split_whitespace() {
        let word = word.trim_start_matches('[').trim_end_matches([']', '.', ':']);
        let stands_for_another = word.starts_with('{')
            || word.ends_with('…')
            || word.chars().all(|c| !c.is_lowercase() && !c.is_numeric() && c != '-');
        match (stands_for_another, words.last().is_some_and(|last| last.starts_with("--"))) {
            (true, true) => words.push("1".to_owned()),
            (true, false) => {}
            (false, _) => words.push(word.to_owned()),
        }
    }
    words
}

#[test]
fn every_command_that_is_named_is_there() {
    let (mut all, mut wrong, mut right) = (Vec::new(), Vec::new(), 0);
    files(xtask::root(), &mut all);
    for path in all {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            for (program, words) in commands(line) {
                match program.refuses(&words) {
                    None => right += 1,
                    Some(why) => wrong.push(format!("{}:{number}: {}: {why}", path.display(), words.join(" "))),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > 100, "only {right} commands were found");
}

#[test]
fn commands_are_taken_out_of_text() {
    let of = |line: &str| commands(line).into_iter().map(|(_, words)| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(
        of("see `cargo xtask deb arm64` and `cargo trials kill N --at-once M`, then"),
        ["deb arm64", "kill --at-once 1"]
    );
    assert_eq!(
        of("    cargo trials deploy --punctual FILE [--runs N] [CASE…]    # a comment"),
        ["deploy --punctual 1 --runs 1"]
    );
    assert_eq!(of("target/debug/xtask live --at-most 180 || echo no"), ["live --at-most 180"]);
    assert_eq!(of("cargo run -p xtask --features reference-checks schemas"), ["schemas"]);
    assert!(Program::Trials.refuses(&["lab".into(), "nothing".into()]).is_some());
    assert!(Program::Trials.refuses(&["planted".into()]).is_some());
    assert!(Program::Xtask.refuses(&["deb".into()]).is_none());
}

#[test]
fn definitions_of_both_programs_are_sound() {
    use clap::CommandFactory;
    crate::Arguments::command().debug_assert();
    xtask::Arguments::command().debug_assert();
}
