//! Implements `completions` and `man`, which packages use: both are generated from the command line's definition.

pub mod args;

use crate::args::Arguments;
use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::new_file;
use crate::refusal::Refusal;
use args::{CompletionsArgs, ManArgs};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use punctual_directory::{Dir, Whose};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

pub fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    // Generated in memory first: clap_complete panics if it cannot write, for example to a closed pipe.
    clap_complete::generate(args.shell, &mut Arguments::command(), "punctual", &mut script);
    ended(
        io::stdout().lock().write_all(&script).map_err(|e| format!("cannot write the script to standard output: {e}")),
    )
}

pub fn man(args: &ManArgs) -> ExitCode {
    ended(pages().and_then(|pages| write(&args.folder, &pages)))
}

fn ended(done: Result<(), String>) -> ExitCode {
    finish("man", OutputArgs::default(), done.map(|()| Answer::default()).map_err(Refusal::environment))
}

/// File name and content of a page.
type Page = (String, Vec<u8>);

/// Returns the pages of all commands, `punctual` first. Each lists its parent, siblings and subcommands under SEE ALSO.
fn pages() -> Result<Vec<Page>, String> {
    let mut root = Arguments::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    let mut open = vec![&root];
    while let Some(command) = open.pop() {
        pages.push(page(command)?);
        open.extend(command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help"));
    }
    Ok(pages)
}

/// Returns one command's page in the format of man(7).
fn page(command: &Command) -> Result<Page, String> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = Vec::new();
    Man::new(command.clone())
        .source(concat!("punctual ", env!("CARGO_PKG_VERSION")))
        .manual("punctual")
        .render(&mut text)
        .map_err(|e| format!("cannot make {name}.1: {e}"))?;
    if name != "punctual" {
        let parent = name.rsplit_once('-').map_or("punctual", |(parent, _)| parent);
        text.extend_from_slice(format!(".SH \"SEE ALSO\"\n\\fB{}\\fR(1)\n", parent.replace('-', "\\-")).as_bytes());
    }
    Ok((format!("{name}.1"), text))
}

/// Writes all pages, or none if one of them already exists.
fn write(folder: &Path, pages: &[Page]) -> Result<(), String> {
    if !folder.is_dir() {
        Dir::create(folder, Whose::Results).map_err(|e| e.to_string())?;
    }
    if let Some((name, _)) = pages.iter().find(|(name, _)| folder.join(name).symlink_metadata().is_ok()) {
        return Err(format!(
            "{} exists; name a directory without manual pages of punctual",
            folder.join(name).display()
        ));
    }
    let one = |(name, text): &Page| new_file::write(&folder.join(name), |out| out.write_all(text));
    pages.iter().try_for_each(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_command_has_a_page_that_names_its_parent() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for wanted in ["punctual.1", "punctual-prove.1", "punctual-bench-nqueens.1", "punctual-serve.1"] {
            assert_eq!(names.iter().filter(|name| **name == wanted).count(), 1, "{wanted} in {names:?}");
        }
        let (_, nested) = pages.iter().find(|(name, _)| name == "punctual-bench-nqueens.1").unwrap();
        assert!(String::from_utf8_lossy(nested).contains("punctual\\-bench\\fR(1)"));
    }

    #[test]
    fn pages_that_are_there_are_kept_and_nothing_is_added_to_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("punctual-undo.1"), "mine").unwrap();
        let refused = write(folder.path(), &pages().unwrap()).unwrap_err();
        assert!(refused.contains("punctual-undo.1 exists"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read(folder.path().join("punctual-undo.1")).unwrap(), b"mine");
    }
}
