//! Formats fixes and undos for a terminal.

use crate::clean;
use crate::number::plural;
use punctual_fix::{
    BOOT_RULE, BootNotes, Entry, Fixed, Outcome, Plan, RulePlan, Set, StepKind, StepPart, System, TRIAL_RULE, Taken,
    Undone,
};
use punctual_model::State;

/// Formats the plan of `audit --dry-run`, preceded by the text `first`.
pub fn plan(plan: &Plan, sys: &dyn System, machine: &str, first: Option<&str>, boot: &BootNotes) -> String {
    let mut out = format!("what --fix would do on {machine}; nothing is changed\n");
    first.iter().for_each(|first| out.push_str(&format!("\n{first}\n")));
    let (with, without): (Vec<&RulePlan>, Vec<&RulePlan>) = plan.rules.iter().partition(|rule| !rule.steps.is_empty());
    let (mut steps, mut rules, mut impossible) = (0, 0, 0);
    for rule in &with {
        out.push_str(&head(rule));
        let looks: Vec<StepPart> = rule.look(sys).collect();
        let number = |kind| looks.iter().filter(|step| step.kind == kind).count();
        steps += number(StepKind::Change);
        rules += u64::from(number(StepKind::Change) > 0);
        impossible += number(StepKind::Impossible);
        for step in looks {
            out.push_str(&format!("  {}\n", step.change));
            step.diff.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
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
    out.push_str(&notes(boot));
    let steps = plural(steps as u64, "step", "steps");
    let not = match impossible {
        0 => String::new(),
        n => format!("; {n} cannot be done"),
    };
    out.push_str(&format!("\n{steps} for {}{not}\n", plural(rules, "rule", "rules")));
    if rules > 0 {
        out.push_str("`punctual undo` reverts what --fix did\n");
    }
    clean::lines(&out)
}

fn head(rule: &RulePlan) -> String {
    let upper = format!("{:?}", rule.state).to_uppercase();
    let severity = format!("{:?}", rule.severity).to_lowercase();
    format!("\n{} ({upper}, {severity}): {}\n", rule.rule, rule.summary)
}

/// Formats `audit --fix`; the fix is undone after `confirm_s` seconds unless confirmed.
pub fn fixed(fixed: &Fixed, plan: &Plan, confirm_s: Option<u64>, boot: &BootNotes) -> String {
    let mut out = String::new();
    fixed.covered.iter().for_each(|what| out.push_str(&format!("note: {what}\n")));
    for rule in &fixed.rules {
        let upper = |state: State| format!("{state:?}").to_uppercase();
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
    out.push_str(&notes(boot));
    let changes: usize = fixed.rules.iter().map(|rule| rule.changes.len()).sum();
    out.push_str(&match changes {
        0 => "\nnothing was changed\n".to_owned(),
        1 => "\n1 change; `punctual undo` reverts it\n".to_owned(),
        _ => format!("\n{changes} changes; `punctual undo` reverts them\n"),
    });
    out.push_str(&next(fixed, boot));
    if let (Some(seconds), true) = (confirm_s, changes > 0) {
        out.push_str(&format!("reverted automatically in {seconds} s unless confirmed: `punctual undo --confirm`\n"));
    }
    clean::lines(&out)
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Refused { .. } => "LEFT",
        Outcome::Failed(_) => "FAILED",
        other => other.word(),
    }
}

/// Formats the result of `undo`; `all` is true if the changes of every rule were to be undone.
pub fn undone(undone: &Undone, all: bool) -> String {
    let mut out = String::new();
    out.push_str(&damage(&undone.lost, &undone.covered));
    for taken in &undone.changes {
        out.push_str(&format!("{}: {}: {}\n", word(&taken.outcome), taken.rule, taken.outcome.sentence()));
        if let Outcome::Refused { diff, .. } = &taken.outcome {
            diff.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
        }
    }
    let left = undone.changes.iter().filter(|taken| !taken.outcome.is_settled()).count();
    out.push_str(&match (undone.changes.len(), left) {
        (0, _) => "nothing to undo\n".to_owned(),
        (all, 0) => format!("\n{} undone\n", plural(all as u64, "change", "changes")),
        (all, left) => format!("\n{} undone, {left} left\n", plural((all - left) as u64, "change", "changes")),
    });
    out.push_str(&state(undone, all));
    clean::lines(&out)
}

/// Reports whether the machine is as before, and if not, what differs. If only some rules were undone, the journal
/// still contains the other changes.
fn state(undone: &Undone, all: bool) -> String {
    // These are settled, but not as before: others use them now, or the user has to act.
    let is_rest = |taken: &&Taken| {
        let sentence = taken.outcome.sentence();
        let is_gone = matches!(taken.outcome, Outcome::Gone(_));
        !taken.outcome.is_settled() || is_gone && (sentence.contains("stays") || sentence.contains(": by hand: "))
    };
    let rest: Vec<String> = undone.changes.iter().filter(is_rest).map(|taken| taken.outcome.sentence()).collect();
    let mut out = match (rest.len(), all) {
        _ if undone.changes.is_empty() && undone.lost.is_empty() => return String::new(),
        (0, _) if !undone.lost.is_empty() => {
            "it is unknown whether the machine is as before: part of the journal is lost. Check the machine, then \
             `punctual undo --accept-loss`\n"
                .to_owned()
        }
        (0, true) => "the machine is as before\n".to_owned(),
        (0, false) => {
            "as far as these rules are concerned, the machine is as before; `punctual undo --list` shows the others\n"
                .to_owned()
        }
        _ => format!("not as before:\n{}", rest.iter().map(|what| format!("  {what}\n")).collect::<String>()),
    };
    if undone.changes.iter().any(|taken| !taken.outcome.is_settled()) {
        out.push_str(
            "fix these by hand, then run `punctual undo` again: it drops the entries whose values are as before\n",
        );
    }
    after_undo(undone).iter().for_each(|note| out.push_str(&format!("{note}: reboot\n")));
    out
}

/// Formats the notes on the boot chain that accompany the steps.
fn notes(boot: &BootNotes) -> String {
    let mut out = String::new();
    if let Some((name, evidence)) = &boot.chain {
        out.push_str(&format!("\nkernel parameters through {name} ({})\n", evidence.join(", ")));
        boot.notes.iter().for_each(|note| out.push_str(&format!("  note: {note}\n")));
    }
    if let Some(trial) = &boot.trial {
        let who = if trial.unattended { "" } else { " (it must be selected at the console)" };
        out.push_str(&format!("  one boot{who}: {}\n  falls back: {}\n", trial.words.join(" "), trial.fallback));
        out.push_str(&format!("  shows as: {}\n", trial.visible));
    }
    out
}

/// Returns the next steps after a fix that set or prepared parameters.
fn next(fixed: &Fixed, boot: &BootNotes) -> String {
    let has = |name: &str| fixed.rules.iter().any(|rule| rule.rule == name && !rule.changes.is_empty());
    match &boot.trial {
        Some(trial) if has(TRIAL_RULE) => format!(
            "the trial boot is ready: {}\n  in it, `punctual audit --fix --persist` keeps the parameters; otherwise `punctual undo {TRIAL_RULE}` removes its entry\n",
            trial.reboot.line()
        ),
        _ if has(BOOT_RULE) => "kernel parameters take effect after a reboot: systemctl reboot\n".to_owned(),
        _ => String::new(),
    }
}

/// Formats the result of `undo --accept-loss`.
pub fn accepted(lost: &[String]) -> String {
    match lost {
        [] => "nothing is lost from the journal\n".to_owned(),
        lost => clean::lines(&format!("accepted as lost; these cannot be undone any more:\n  {}\n", lost.join("\n  "))),
    }
}

/// Describes the part of an undo that takes effect only at the next reboot.
fn after_undo(undone: &Undone) -> Option<&'static str> {
    let is =
        |taken: &Taken| taken.rule == BOOT_RULE && matches!(taken.outcome, Outcome::Restored(_) | Outcome::Gone(_));
    undone.changes.iter().any(is).then_some("the kernel parameters of this boot are removed by the next reboot")
}

fn damage(lost: &[String], covered: &[String]) -> String {
    let lost = lost.iter().map(|what| format!("LOST from the journal: {what}\n"));
    lost.chain(covered.iter().map(|what| format!("note: {what}\n"))).collect()
}

/// Formats `undo --list`; `lost` and `covered` describe damage to the journal.
pub fn list(entries: &[Entry], sets: &[Set], lost: &[String], covered: &[String]) -> String {
    let mut out = String::new();
    entries
        .iter()
        .filter(|entry| entry.is_open())
        .for_each(|entry| out.push_str(&format!("{:>4} {}: {}\n", entry.id, entry.rule, entry.change)));
    if out.is_empty() {
        out.push_str(if lost.is_empty() { "nothing to undo\n" } else { "no change is known that can be undone\n" });
    }
    out.push_str(&damage(lost, covered));
    if !lost.is_empty() {
        out.push_str("no new fix is applied until `punctual undo --accept-loss`\n");
    }
    let waiting = sets.iter().filter_map(|set| set.confirm_by_s);
    waiting.for_each(|_| out.push_str("waiting for confirmation: `punctual undo --confirm`\n"));
    clean::lines(&out)
}
