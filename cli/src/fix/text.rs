//! Plans, fixes and undos for a terminal and as documents.

use super::boot;
use crate::terminal;
use punctual_fix::{
    Change, Doing, Fixed, Journal, Kept, Outcome, Plan, RulePlan, System, Taken, Told, Undone, diff, look,
};
use serde_json::{Value, json};
use std::path::Path;

/// What one step would do: a line, and a file's changed lines.
fn step(sys: &dyn System, rule: &RulePlan, doing: &Doing) -> (String, String) {
    match look(sys, doing) {
        Ok(None) => (format!("already so: {}", doing.line()), String::new()),
        Ok(Some(change)) => {
            let lines = match &change {
                Change::File { old, new, .. } => {
                    let bytes = |kept: &Option<Kept>| kept.as_ref().and_then(Kept::bytes).unwrap_or_default();
                    diff(&bytes(old), &bytes(new))
                }
                _ => String::new(),
            };
            let prefix = if matches!(change, Change::Command { .. }) { "run " } else { "" };
            (format!("{prefix}{change}"), lines)
        }
        Err(_) if is_below_new_folder(rule, doing) => (doing.line(), String::new()),
        Err(why) => (format!("cannot: {why}"), String::new()),
    }
}

/// Nothing can be read yet of what an earlier step makes.
fn is_below_new_folder(rule: &RulePlan, doing: &Doing) -> bool {
    let Doing::Value { path, .. } = doing else { return false };
    let is_above = |folder: &Path| path.starts_with(folder);
    rule.steps.iter().any(|step| matches!(step, Doing::Folder(folder) if is_above(folder)))
}

fn head(rule: &RulePlan) -> String {
    let upper = format!("{:?}", rule.state).to_uppercase();
    let severity = format!("{:?}", rule.severity).to_lowercase();
    format!("\n{} ({upper}, {severity}): {}\n", rule.rule, rule.summary)
}

/// `--dry-run`.
pub fn plan(plan: &Plan, sys: &dyn System, machine: &str, (first, told): &(Option<&str>, &Told)) -> String {
    let mut out = format!("what --fix would do on {machine}; nothing is changed now\n");
    first.iter().for_each(|first| out.push_str(&format!("\n{first}\n")));
    let (with, without): (Vec<&RulePlan>, Vec<&RulePlan>) = plan.rules.iter().partition(|rule| !rule.steps.is_empty());
    for rule in &with {
        out.push_str(&head(rule));
        for doing in &rule.steps {
            let (line, lines) = step(sys, rule, doing);
            out.push_str(&format!("  {line}\n"));
            lines.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
        }
        if let Some(what) = &rule.interrupts {
            out.push_str(&format!("  DISRUPTIVE: {what}\n"));
        }
        if let Some(risk) = &rule.risk {
            out.push_str(&format!("  risk: {risk}\n"));
        }
        rule.manual.iter().for_each(|what| out.push_str(&format!("  by hand: {what}\n")));
    }
    if !without.is_empty() {
        out.push_str("\nleft to you:\n");
    }
    for rule in without {
        rule.manual.iter().for_each(|what| out.push_str(&format!("  {}: {what}\n", rule.rule)));
    }
    out.push_str(&boot::notes(told));
    let steps: usize = with.iter().map(|rule| rule.steps.len()).sum();
    out.push_str(&format!("\n{steps} steps for {} rules\n", with.len()));
    terminal::harmless(&out)
}

/// The same as a document.
pub fn plan_json(plan: &Plan, sys: &dyn System, machine: &str, told: &Told) -> Value {
    let rule = |rule: &RulePlan| {
        let steps: Vec<Value> = rule
            .steps
            .iter()
            .map(|doing| {
                let (line, lines) = step(sys, rule, doing);
                json!({ "does": doing.line(), "change": line, "diff": lines })
            })
            .collect();
        json!({
            "id": rule.rule, "state": rule.state, "severity": rule.severity, "summary": rule.summary, "steps": steps,
            "manual": rule.manual, "disruptive": rule.interrupts, "risk": rule.risk,
        })
    };
    json!({ "machine": machine, "dry_run": true, "rules": plan.rules.iter().map(rule).collect::<Vec<_>>(),
            "boot": boot::json(told) })
}

/// `--fix`.
pub fn fixed(fixed: &Fixed, plan: &Plan, confirm_s: Option<u64>, told: &Told) -> String {
    let mut out = String::new();
    fixed.dropped.iter().for_each(|what| out.push_str(&format!("note: {what}\n")));
    for rule in &fixed.rules {
        let upper = |state: punctual_model::State| format!("{state:?}").to_uppercase();
        let after = rule.after.map_or_else(|| "not changed".to_owned(), upper);
        out.push_str(&format!("{}: {} -> {after}: {}\n", rule.rule, upper(rule.before), rule.summary));
        rule.changes.iter().for_each(|what| out.push_str(&format!("  done: {what}\n")));
        rule.refused.iter().for_each(|what| out.push_str(&format!("  not done: {what}\n")));
        rule.rolled_back.iter().for_each(|what| out.push_str(&format!("  rolled back: {what}\n")));
    }
    fixed.reverted.iter().for_each(|what| out.push_str(&format!("changed back by another program: {what}\n")));
    fixed.failed.iter().for_each(|what| out.push_str(&format!("STOPPED: {what}\n")));
    let left = plan.rules.iter().flat_map(|rule| rule.manual.iter().map(move |what| (&rule.rule, what)));
    left.for_each(|(rule, what)| out.push_str(&format!("left to you: {rule}: {what}\n")));
    out.push_str(&boot::notes(told));
    let changes: usize = fixed.rules.iter().map(|rule| rule.changes.len()).sum();
    out.push_str(&match changes {
        0 => "\nnothing was changed\n".to_owned(),
        _ => format!("\n{changes} changes; `punctual undo` takes them back\n"),
    });
    out.push_str(&boot::next(fixed, told));
    if let (Some(seconds), true) = (confirm_s, changes > 0) {
        out.push_str(&format!("undone by itself in {seconds} s unless confirmed: `punctual undo --keep`\n"));
    }
    terminal::harmless(&out)
}

/// The same as a document.
pub fn fixed_json(fixed: &Fixed, plan: &Plan, told: &Told) -> Value {
    let rules: Vec<Value> = fixed
        .rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.rule, "before": rule.before, "after": rule.after, "summary": rule.summary,
                "changes": rule.changes, "refused": rule.refused, "rolled_back": rule.rolled_back,
            })
        })
        .collect();
    let manual: Vec<Value> = plan
        .rules
        .iter()
        .flat_map(|rule| rule.manual.iter().map(move |what| json!({ "id": rule.rule, "what": what })))
        .collect();
    json!({ "dry_run": false, "set": fixed.set, "rules": rules, "reverted": fixed.reverted, "failed": fixed.failed,
            "manual": manual, "dropped": fixed.dropped, "boot": boot::json(told) })
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::PutBack(_) => "put back",
        Outcome::AlreadyBack(_) => "as before already",
        Outcome::Gone(_) => "gone",
        Outcome::Refused { .. } => "LEFT",
        Outcome::Failed(_) => "FAILED",
    }
}

/// `undo`.
pub fn undone(undone: &Undone, all: bool) -> String {
    let mut out = String::new();
    undone.dropped.iter().for_each(|what| out.push_str(&format!("note: {what}\n")));
    for taken in &undone.changes {
        out.push_str(&format!("{}: {}: {}\n", word(&taken.outcome), taken.rule, taken.outcome.sentence()));
        if let Outcome::Refused { diff, .. } = &taken.outcome {
            diff.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
        }
    }
    let left = undone.changes.iter().filter(|taken| !taken.outcome.is_settled()).count();
    out.push_str(&match (undone.changes.len(), left) {
        (0, _) => "nothing to undo\n".to_owned(),
        (all, 0) => format!("\n{all} changes undone\n"),
        (all, left) => format!("\n{} changes undone, {left} left\n", all - left),
    });
    out.push_str(&state(undone, all));
    terminal::harmless(&out)
}

/// Is the machine as before, and if not, what is not? The journal is asked for the rest where only some rules were undone.
fn state(undone: &Undone, all: bool) -> String {
    // Settled, but not the same: in use by others by now, or left to a person.
    let is_rest = |taken: &&Taken| {
        let sentence = taken.outcome.sentence();
        let is_gone = matches!(taken.outcome, Outcome::Gone(_));
        !taken.outcome.is_settled() || is_gone && (sentence.contains("stays") || sentence.contains(": by hand: "))
    };
    let rest: Vec<String> = undone.changes.iter().filter(is_rest).map(|taken| taken.outcome.sentence()).collect();
    let mut out = match (rest.len(), all) {
        _ if undone.changes.is_empty() && undone.dropped.is_empty() => return String::new(),
        (0, _) if !undone.dropped.is_empty() => {
            "whether the machine is as before cannot be told: part of the journal is lost\n".to_owned()
        }
        (0, true) => "the machine is as before\n".to_owned(),
        (0, false) => "of these rules, the machine is as before; `punctual undo --list` shows the others\n".to_owned(),
        _ => format!("not as before:\n{}", rest.iter().map(|what| format!("  {what}\n")).collect::<String>()),
    };
    if undone.changes.iter().any(|taken| !taken.outcome.is_settled()) {
        out.push_str("look at these, then `punctual undo` again: what is as before by then is done\n");
    }
    boot::after_undo(undone).iter().for_each(|note| out.push_str(&format!("{note}: reboot\n")));
    out
}

/// The same as a document.
pub fn undone_json(undone: &Undone) -> Value {
    let changes: Vec<Value> = undone
        .changes
        .iter()
        .map(|taken| {
            let diff = match &taken.outcome {
                Outcome::Refused { diff, .. } => Some(diff),
                _ => None,
            };
            json!({ "id": taken.rule, "entry": taken.entry, "outcome": word(&taken.outcome).to_lowercase(),
                    "what": taken.outcome.sentence(), "diff": diff })
        })
        .collect();
    json!({ "complete": undone.is_complete(), "changes": changes, "dropped": undone.dropped })
}

/// `undo --list`.
pub fn list(journal: Option<&Journal>) -> String {
    let mut out = String::new();
    let open = journal.iter().flat_map(|journal| journal.entries()).filter(|entry| entry.is_open());
    open.for_each(|entry| out.push_str(&format!("{:>4} {}: {}\n", entry.id, entry.rule, entry.change)));
    if out.is_empty() {
        out.push_str("nothing to undo\n");
    }
    let waiting = journal.iter().flat_map(|journal| journal.sets()).filter_map(|set| set.confirm_by_s);
    waiting.for_each(|_| out.push_str("waits to be confirmed: `punctual undo --keep`\n"));
    terminal::harmless(&out)
}

/// The same as a document.
pub fn list_json(journal: Option<&Journal>) -> Value {
    let open = journal.iter().flat_map(|journal| journal.entries()).filter(|entry| entry.is_open());
    let entries: Vec<Value> = open
        .map(|entry| json!({ "entry": entry.id, "id": entry.rule, "change": entry.change.to_string(), "state": entry.state }))
        .collect();
    json!({ "changes": entries })
}
