//! Checks for every root directory its boot chain, what boots, and the plans of some changes.

use crate::common;

use common::{folder, names};
use punctual_boot::{Change, Configured, Plan, Run, change, current, detect};
use punctual_machine::{Live, Machine};
use punctual_model::{Argv, Edit};
use punctual_testing::golden;
use std::fmt::Write;

const CHANGES: &[(&str, &str)] =
    &[("isolcpus=2-3 nohz_full=2-3", ""), ("threadirqs", "quiet splash"), ("", "console=tty1"), ("memmap=4G$1G", "")];

fn edit(out: &mut String, view: &dyn Machine, edit: &Edit) {
    let path = edit.path.to_str().unwrap();
    let old = view.read(path).bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let Some(new) = edit.new.as_deref().map(String::from_utf8_lossy) else {
        return writeln!(out, "  {path}: removed").unwrap();
    };
    writeln!(out, "  {path}: {}", if old.is_some() { "changed" } else { "new" }).unwrap();
    let old = old.unwrap_or_default();
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.len() - same;
    let most = rest(&old).min(rest(&new));
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    for (sign, lines) in [('-', &old), ('+', &new)] {
        for line in &lines[same..lines.len() - tail] {
            writeln!(out, "    {sign}{}", line.escape_debug()).unwrap();
        }
    }
}

fn run(out: &mut String, run: &Run) {
    writeln!(out, "  run {} ({})", run.command.argv.line(), run.what).unwrap();
    writeln!(out, "    back {:?}, rewrites {:?}", run.command.back, run.command.rewrites).unwrap();
    if let Some(draft) = &run.command.draft {
        let check = draft.check.as_ref().map_or_else(|| "not checked".to_owned(), Argv::line);
        writeln!(out, "    {:?} becomes {:?}; {check}; may leave {:?}", draft.draft, draft.path, draft.leftovers)
            .unwrap();
    }
}

fn show_current(out: &mut String, current: &Configured) {
    writeln!(out, "configured: {}", current.configured.join(" ")).unwrap();
    writeln!(out, "next: {}", current.next.as_ref().map_or("not known".to_owned(), |words| words.join(" "))).unwrap();
    writeln!(out, "drift: {:?}", current.drift()).unwrap();
    writeln!(out, "from: {}", current.sources.join(", ")).unwrap();
    current.notes.iter().for_each(|note| writeln!(out, "note: {note}").unwrap());
}

fn show_plan(out: &mut String, view: &dyn Machine, plan: &Plan) {
    for refusal in &plan.refused {
        writeln!(out, "  refused: {}", refusal.why).unwrap();
        refusal.by_hand.iter().for_each(|hand| writeln!(out, "  by hand: {hand}").unwrap());
    }
    if plan.is_done() {
        writeln!(out, "  nothing to do").unwrap();
    }
    plan.edits.iter().for_each(|e| edit(out, view, e));
    plan.commands.iter().chain(&plan.refresh).for_each(|r| run(out, r));
    plan.notes.iter().for_each(|note| writeln!(out, "  note: {note}").unwrap());
    if let Some(trial) = &plan.trial {
        writeln!(
            out,
            "  trial, {}: {}",
            if trial.unattended { "unattended" } else { "by a person" },
            trial.words.join(" ")
        )
        .unwrap();
        trial.edits.iter().for_each(|e| edit(out, view, e));
        trial.arm.iter().for_each(|r| run(out, r));
        writeln!(out, "  {}; {}; {}", trial.reboot.line(), trial.fallback, trial.visible).unwrap();
    }
    if plan.refused.is_empty() && !plan.is_done() {
        writeln!(out, "  back: add `{}` remove `{}`", plan.back.add.join(" "), plan.back.remove.join(" ")).unwrap();
    }
}

fn shown(name: &str) -> String {
    let view = Live::under(folder().join(name));
    let mut out = String::new();
    let chain = match detect(&view) {
        Ok(chain) => chain,
        Err(error) => return format!("{error}\n"),
    };
    writeln!(out, "{}", chain.kind.name()).unwrap();
    chain.evidence.iter().for_each(|line| writeln!(out, "evidence: {line}").unwrap());
    chain.doubts.iter().for_each(|line| writeln!(out, "doubt: {line}").unwrap());
    match current(&view, &chain) {
        Ok(current) => show_current(&mut out, &current),
        Err(error) => writeln!(out, "{error}").unwrap(),
    }
    for (add, remove) in CHANGES {
        writeln!(out, "\nadd `{add}` remove `{remove}`").unwrap();
        show_plan(&mut out, &view, &change(&view, &chain, &Change::parse(add, remove).unwrap()));
    }
    out
}

#[test]
fn plans_are_as_written_down() {
    for name in names() {
        golden(format!("tests/golden/{name}.txt"), &shown(&name));
    }
}

#[test]
fn every_chain_has_two_roots() {
    let mut kinds: Vec<_> =
        names().iter().filter(|n| *n != "grub-and-systemd-boot").map(|name| common::kind(name)).collect();
    kinds.sort();
    let counts: Vec<usize> = kinds.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    assert_eq!(counts.len(), 8, "{kinds:?}");
    assert!(counts.iter().all(|count| *count >= 2), "{kinds:?}");
}
