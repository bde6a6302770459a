//! `completions` and `man`: what a package brings beside the binary, made from the command line's own definition.

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

/// `punctual completions SHELL`: the script on standard output.
pub fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    // Into memory first: clap_complete panics where it cannot write, and a closed pipe is no defect of ours.
    clap_complete::generate(args.shell, &mut Arguments::command(), "punctual", &mut script);
    ended(
        io::stdout().lock().write_all(&script).map_err(|e| format!("cannot write the script to standard output: {e}")),
    )
}

/// `punctual man DIR`: a page for each command.
pub fn man(args: &ManArgs) -> ExitCode {
    ended(pages().and_then(|pages| write(&args.folder, &pages)))
}

fn ended(done: Result<(), String>) -> ExitCode {
    finish("man", OutputArgs::default(), done.map(|()| Answer::default()).map_err(Refusal::environment))
}

/// A page: file name and what is in it.
type Page = (String, Vec<u8>);

/// The pages of all commands, `punctual` first, each with the others of its branch under SEE ALSO.
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

/// man(7) text of one command.
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

/// All of them, or none where one of them is there already: whose it is, is not known.
fn write(folder: &Path, pages: &[Page]) -> Result<(), String> {
    if !folder.is_dir() {
        Dir::create(folder, Whose::Results).map_err(|e| e.to_string())?;
    }
    if let Some((name, _)) = pages.iter().find(|(name, _)| folder.join(name).symlink_metadata().is_ok()) {
        return Err(format!("{} exists; name a folder without manual pages of punctual", folder.join(name).display()));
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
