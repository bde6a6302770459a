//! Generates the command pages (docs/commands): a short handwritten text, followed by the help of the command and its
//! subcommands.

use crate::args::Arguments;
use clap::{Command, CommandFactory};
use punctual_testing::book::MADE;
use punctual_testing::golden;
use punctual_testing::root;
use std::fs;

/// Returns all commands except clap's own `help`.
fn commands() -> Command {
    let mut root = Arguments::command().disable_help_subcommand(true);
    root.build();
    root
}

/// Returns the generated part of a page.
fn made(command: &Command) -> String {
    let mut text = format!("{MADE}\n");
    add(&mut text, command, 2);
    text
}

fn add(text: &mut String, command: &Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let help = match command.get_name() {
        "cyclictest" => punctual_cyclictest::HELP.to_owned(),
        _ => command.clone().term_width(100).render_help().to_string(),
    };
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    *text += &format!("\n{} `{name}`\n\n```text\n{}\n```\n", "#".repeat(depth), lines.join("\n").trim());
    for below in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        add(text, below, (depth + 1).min(4));
    }
}

#[test]
fn every_command_has_its_page_and_the_page_has_its_help() {
    for command in commands().get_subcommands() {
        let path = root().join(format!("docs/commands/{}.md", command.get_name()));
        let there = fs::read_to_string(&path).unwrap_or_default();
        let by_hand = there.split(MADE).next().unwrap_or_default().trim_end();
        let title = format!("# punctual {}", command.get_name());
        let by_hand = if by_hand.is_empty() { title.as_str() } else { by_hand };
        golden(&path, &format!("{by_hand}\n\n{}", made(command)));
        assert!(by_hand.lines().count() > 2, "{}: describe its purpose above the help", path.display());
    }
}

#[test]
fn no_page_is_of_a_command_that_is_gone() {
    let commands = commands();
    let known: Vec<&str> = commands.get_subcommands().map(Command::get_name).collect();
    for entry in fs::read_dir(root().join("docs/commands")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let of = name.strip_suffix(".md").unwrap_or(&name);
        assert!(of == "README" || known.contains(&of), "docs/commands/{name}: no such command");
    }
}
