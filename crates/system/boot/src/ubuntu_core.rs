//! Ubuntu Core: snapd writes the command line from the gadget snap and two system options.
//!
//! Source: https://ubuntu.com/core/docs/modify-kernel-options (snapd 2.50 and later).

use crate::current::Configured;
use crate::plan::{Plan, Refusal, Run, Stop};
use crate::read::{BootError, hint, names, needed, required, running, unclear};
use crate::words::{is_cumulative, is_same, key, means, rewrite, words};
use crate::{Change, length};
use punctual_machine::Machine;
use punctual_model::{Argv, Back};

const STATE: &str = "/var/lib/snapd/state.json";
const MODEL: &str = "/run/mnt/ubuntu-boot/device/model";
/// Options of snapd. The first accepts parameters that the gadget allows, the second any parameter, but only on models
/// of grade `dangerous`.
const OPTIONS: [&str; 2] = ["cmdline-append", "dangerous-cmdline-append"];

fn read(view: &dyn Machine) -> Result<[Option<String>; 2], BootError> {
    let state = required(view, STATE)?;
    let state: serde_json::Value =
        serde_json::from_slice(state.as_bytes()).map_err(|_| unclear(STATE, "is not JSON"))?;
    let value = |option: &str| -> Result<Option<String>, BootError> {
        match state.pointer(&format!("/data/config/core/system/kernel/{option}")) {
            None | Some(serde_json::Value::Null) => Ok(None),
            Some(serde_json::Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(unclear(STATE, format!("system.kernel.{option} is not a string"))),
        }
    };
    Ok([value(OPTIONS[0])?, value(OPTIONS[1])?])
}

fn line(values: &[Option<String>; 2]) -> String {
    values.iter().flatten().map(|value| value.trim()).filter(|value| !value.is_empty()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let note = "the gadget and snapd put other parameters before these";
    Ok(Configured {
        configured: words(&line(&read(view)?)),
        next: None,
        running: running(view),
        sources: vec![STATE.to_owned()],
        notes: vec![note.to_owned()],
    })
}

/// Returns the parameters that the gadget allows, as listed in gadget.yaml: `kernel-cmdline:` / `allow:` / `-
/// name=value`, where `*` means any value.
fn allowed(view: &dyn Machine) -> Vec<String> {
    let mut found = Vec::new();
    for snap in names(view, "/snap") {
        let Some(text) = hint(view, &format!("/snap/{snap}/current/meta/gadget.yaml")) else { continue };
        let (mut in_block, mut in_allow) = (false, false);
        for line in text.lines() {
            let trimmed = line.trim();
            if !line.starts_with([' ', '\t', '-', '#']) && !trimmed.is_empty() {
                in_block = trimmed == "kernel-cmdline:";
                in_allow = false;
            } else if in_block && trimmed.ends_with(':') {
                in_allow = trimmed == "allow:";
            } else if let Some(item) = trimmed.strip_prefix("- ").filter(|_| in_allow) {
                found.push(item.trim_matches(['"', '\'', ' ']).to_owned());
            }
        }
    }
    found
}

fn is_allowed(list: &[String], word: &str) -> bool {
    list.iter().any(|item| match item.strip_suffix("=*") {
        Some(name) => word.contains('=') && key(name) == key(word),
        None => is_same(item, word),
    })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    if let Some(word) = change.add.iter().find(|word| word.contains(['"', '\'', '{', '[', '\\'])) {
        return Err(Refusal::new(format!("`{word}` contains a character that is special to `snap set`")).into());
    }
    let old = read(view)?;
    let all = line(&old);
    gadgets(view, &words(&all), change)?;
    let mut plan = Plan::words(words(&all), words(&rewrite(&all, change)?));
    let allowed = allowed(view);
    let new = split(&old, change, &allowed)?;
    for ((option, old), new) in OPTIONS.iter().zip(&old).zip(&new) {
        let (old, new) = (old.as_deref().unwrap_or_default(), new.as_str());
        if old != new {
            plan.commands.push(Run::new(
                "has snapd write the command line of the next boot",
                set(option, new),
                Back::By(set(option, old)),
                &[],
            ));
        }
    }
    if plan.commands.is_empty() {
        return Ok(plan);
    }
    plan.after = words(&new.iter().filter(|v| !v.is_empty()).cloned().collect::<Vec<_>>().join(" "));
    plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
    if let Some(word) =
        new.get(1).filter(|new| old.get(1).is_none_or(|old| old.as_ref() != Some(*new))).filter(|new| !new.is_empty())
    {
        plan = dangerous(view, word, plan)?;
    }
    let note = "no trial boot: snapd cannot boot an entry once; the recovery system boots without these parameters";
    Ok(plan.note("reboot afterwards: snapd does not do it automatically").note(note))
}

fn set(option: &str, value: &str) -> Argv {
    match value {
        "" => {
            Argv::new(["snap".to_owned(), "unset".to_owned(), "system".to_owned(), format!("system.kernel.{option}")])
        }
        value => Argv::new([
            "snap".to_owned(),
            "set".to_owned(),
            "system".to_owned(),
            format!("system.kernel.{option}={value}"),
        ]),
    }
}

fn dangerous(view: &dyn Machine, word: &str, plan: Plan) -> Result<Plan, Stop> {
    let grade = hint(view, MODEL)
        .and_then(|model| model.lines().find_map(|line| line.strip_prefix("grade: ").map(str::to_owned)));
    match grade.as_deref() {
        Some("dangerous") => Ok(plan),
        Some(grade) => {
            let why = format!("the gadget does not allow `{word}`, and the model's grade is {}", grade.trim());
            Err(Refusal::by_hand(why, "gadget.yaml of the gadget snap: kernel-cmdline: allow").into())
        }
        None => {
            Ok(plan.note(format!("{MODEL} cannot be read: models of a grade other than dangerous refuse `{word}`")))
        }
    }
}

/// Returns the new values of the two options. A word goes into the first if the gadget allows it.
fn split(old: &[Option<String>; 2], change: &Change, allowed: &[String]) -> Result<Vec<String>, Stop> {
    let there = words(&line(old));
    let is_there = |word: &&String| {
        there.iter().any(|other| is_same(other, word)) && !change.remove.iter().any(|p| means(p, word))
    };
    let new: Vec<&String> = change.add.iter().filter(|word| !is_there(word)).collect();
    let mut found = Vec::new();
    for (n, value) in old.iter().enumerate() {
        let own = |word: &&&String| is_allowed(allowed, word) == (n == 0);
        let elsewhere = new.iter().filter(|word| !own(word) && !is_cumulative(word));
        let names = elsewhere.map(|word| word.split('=').next().unwrap_or(word).to_owned());
        let part = Change {
            add: new.iter().filter(own).map(|word| (*word).clone()).collect(),
            remove: change.remove.iter().cloned().chain(names).collect(),
        };
        found.push(rewrite(value.as_deref().unwrap_or_default(), &part)?);
    }
    Ok(found)
}

fn gadgets(view: &dyn Machine, own: &[String], change: &Change) -> Result<(), Refusal> {
    let is_replaced = |pattern: &String| change.add.iter().any(|add| key(add) == key(pattern));
    // After a word is removed from the options, the gadget's own value takes effect again.
    let is_foreign = |pattern: &&String| !is_replaced(pattern) && !own.iter().any(|word| means(pattern, word));
    let patterns: Vec<&String> = change.remove.iter().filter(is_foreign).collect();
    let Some(first) = patterns.first() else { return Ok(()) };
    let all = needed(view, &format!("if the gadget or snapd adds `{first}`"))?;
    let mut foreign = all.iter().filter(|word| !own.iter().any(|other| is_same(other, word)));
    match foreign.find(|word| patterns.iter().any(|p| means(p, word))) {
        Some(word) => {
            let hand = "cmdline.extra or cmdline.full of the gadget snap, or gadget.yaml: kernel-cmdline: remove";
            Err(Refusal::by_hand(format!("`{word}` comes from the gadget or from snapd"), hand))
        }
        None => Ok(()),
    }
}
