//! Systems deployed by rpm-ostree or bootc. The deployment tool sets the command line, and each change creates a
//! deployment.

use crate::bls::{self, Entry};
use crate::current::Configured;
use crate::plan::{Plan, Refusal, Run, Stop};
use crate::read::{BootError, exists, running, unclear};
use crate::words::{is_same, rewrite, words};
use crate::{Change, length};
use punctual_machine::Machine;
use punctual_model::{Argv, Back};

/// Returns the deployment that boots next: the entry with the highest version (ostree's numbering).
fn entry(view: &dyn Machine) -> Result<Entry, BootError> {
    let number = |entry: &Entry| entry.field("version").and_then(|v| v.parse::<u64>().ok());
    let mut all = bls::entries(view)?;
    all.retain(|entry| entry.field("linux").is_some() && entry.words().iter().any(|word| word.starts_with("ostree=")));
    if let Some(entry) = all.iter().find(|entry| all.len() > 1 && number(entry).is_none()) {
        return Err(unclear(&entry.path, "its version is not a number, so the deployment that boots next is unknown"));
    }
    all.into_iter()
        .max_by_key(number)
        .ok_or_else(|| BootError::Missing { path: "/boot/loader/entries/ostree-*.conf".to_owned() })
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let entry = entry(view)?;
    let configured = entry.words();
    Ok(Configured {
        next: Some(configured.clone()),
        configured,
        running: running(view),
        sources: vec![entry.path],
        notes: Vec::new(),
    })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    let entry = entry(view)?;
    let line = entry.options();
    let new = rewrite(&line, change)?;
    let mut plan = Plan::words(words(&line), words(&new));
    if new == line {
        return Ok(plan);
    }
    if change.add.iter().chain(&plan.before).any(|word| word.contains('"') && word.contains(' ')) {
        return Err(Refusal::new("a value has blanks in quotes, which ostree treats as several parameters").into());
    }
    plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
    plan.commands.push(deploy(view, &plan)?);
    let image = "parameters of an image that is built elsewhere belong in its /usr/lib/bootc/kargs.d, which is read when the image \
        is installed or updated, not at boot";
    let trial = "no trial boot: the previous deployment stays in the boot menu, and `rpm-ostree rollback` makes it the default; \
        nothing returns to it automatically unless greenboot is set up";
    Ok(plan.note(image).note(trial))
}

/// Returns the command that creates the deployment, because files below /boot/loader belong to ostree. Undoing the
/// change creates another deployment.
fn deploy(view: &dyn Machine, plan: &Plan) -> Result<Run, Refusal> {
    let missing = |from: &[String], of: &[String]| -> Vec<String> {
        of.iter().filter(|word| !from.iter().any(|other| is_same(other, word))).cloned().collect()
    };
    let (gone, new) = (missing(&plan.after, &plan.before), missing(&plan.before, &plan.after));
    let kargs = |tool: &[&str], add: &[String], remove: &[String]| {
        let remove = remove.iter().map(|word| format!("--delete-if-present={word}"));
        let add = add.iter().map(|word| format!("--append-if-missing={word}"));
        Argv::new(tool.iter().map(|part| (*part).to_owned()).chain(remove).chain(add))
    };
    if !has_rpm_ostree(view) {
        let hand = kargs(&["ostree", "admin", "kargs", "edit-in-place"], &new, &gone).line();
        let image = format!("in the image: /usr/lib/bootc/kargs.d/60-punctual.toml with `kargs = {new:?}`");
        return Err(Refusal::by_hand(
            "rpm-ostree, which creates deployments, is not installed",
            format!("{hand}; or {image}"),
        ));
    }
    let tool = ["rpm-ostree", "kargs"];
    let (forth, back) = (kargs(&tool, &new, &gone), kargs(&tool, &gone, &new));
    Ok(Run::new("creates a deployment with these parameters, which boots next", forth, Back::By(back), &[]))
}

fn has_rpm_ostree(view: &dyn Machine) -> bool {
    exists(view, "/usr/bin/rpm-ostree")
}
