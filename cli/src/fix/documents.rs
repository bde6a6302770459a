//! Plans, fixes and undos as documents.

use super::boot;
use punctual_fix::{BootNotes, Entry, Fixed, Outcome, Plan, RulePlan, System, Undone, look};
use punctual_report::fix::{step, word};
use serde_json::{Value, json};

/// `--dry-run`.
pub fn plan_json(plan: &Plan, sys: &dyn System, machine: &str, told: &BootNotes) -> Value {
    let rule = |rule: &RulePlan| {
        let steps: Vec<Value> = rule
            .steps
            .iter()
            .map(|doing| {
                let (line, lines) = step(rule, doing, look(sys, doing));
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
pub fn fixed_json(fixed: &Fixed, plan: &Plan, told: &BootNotes) -> Value {
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

/// `undo`.
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
pub fn list_json(entries: &[Entry]) -> Value {
    let open = entries.iter().filter(|entry| entry.is_open());
    let entries: Vec<Value> = open
        .map(|entry| json!({ "entry": entry.id, "id": entry.rule, "change": entry.change.to_string(), "state": entry.state }))
        .collect();
    json!({ "changes": entries })
}
