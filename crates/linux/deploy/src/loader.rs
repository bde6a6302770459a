//! Changes the boot loader's files through the journal, so that `punctual undo` can undo the changes as well.

use crate::error::DeployError;
use crate::guard_files;
use crate::record::Record;
use crate::site::Site;
use punctual_boot::{PiBoot, Trial, firmware_start};
use punctual_fix::{Asked, Doing, FOLDER, FixOptions, Plan, RulePlan, Undone, fix, open, undo};
use punctual_model::{Edit, Severity, State};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn rules(id: &str) -> [String; 2] {
    [format!("kernel-kept {id}"), format!("kernel-trial {id}")]
}

pub(crate) fn arm(site: &Site, record: &Record, trial: &Trial) -> Result<(), DeployError> {
    let [_, rule] = rules(&record.id);
    let edits: Vec<Edit> = guard_files::units(site).into_iter().chain(trial.edits.iter().cloned()).collect();
    let mut steps: Vec<Doing> = missing_folders(site, &edits).into_iter().map(Doing::Folder).collect();
    steps.extend(edits.into_iter().map(Doing::Edit));
    steps.extend(trial.arm.iter().map(|run| Doing::Run { command: run.command.clone(), lasting: true }));
    carry(site, rule, steps)
}

fn missing_folders(site: &Site, edits: &[Edit]) -> Vec<PathBuf> {
    let above = edits.iter().flat_map(|edit| edit.path.ancestors().skip(1));
    let missing: BTreeSet<PathBuf> = above.filter(|path| !site.at(path).exists()).map(Path::to_owned).collect();
    missing.into_iter().collect()
}

/// Makes the entry the default, and removes the guard's unit.
pub(crate) fn keep(site: &Site, record: &Record, edits: Vec<Edit>) -> Result<(), DeployError> {
    let [rule, _] = rules(&record.id);
    let units = guard_files::units(site).into_iter().filter(|unit| site.at(&unit.path).exists());
    let removed = units.map(|unit| Doing::Edit(Edit::remove(unit.path)));
    // The loader's file that selects the default comes last.
    carry(site, rule, removed.chain(edits.into_iter().map(Doing::Edit)).collect())
}

pub(crate) fn back(site: &Site, id: &str) -> Result<Undone, DeployError> {
    Ok(undo(site.sys, Path::new(FOLDER), &rules(id))?)
}

fn carry(site: &Site, rule: String, steps: Vec<Doing>) -> Result<(), DeployError> {
    let (mut journal, _) = open(site.sys, Path::new(FOLDER))?;
    let plan = Plan {
        rules: vec![RulePlan {
            rule,
            severity: Severity::Info,
            state: State::Info,
            summary: "a kernel installed beside the others".to_owned(),
            steps,
            manual: Vec::new(),
            interrupts: None,
            risk: None,
            is_judged: false,
        }],
    };
    let asked = Asked { judge: &|_| None, guard: &|_| Ok(()) };
    let done = fix(&mut journal, &plan, &FixOptions::default(), &asked)?;
    let refused: Vec<String> = done.rules.iter().flat_map(|rule| rule.refused.clone()).chain(done.failed).collect();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(DeployError::Refused(format!("the boot loader's files are as before: {}", refused.join("; ")))),
    }
}

/// Checks with a model of the Raspberry Pi firmware's rules that the trial boot and the ordinary boot start the
/// intended kernels.
pub(crate) fn firmware_agrees(site: &Site, record: &Record) -> Result<(), DeployError> {
    let folder = record.boot_folder.parent().unwrap_or(Path::new("/boot")).display().to_string();
    let usual = crate::pi::usual(site, &folder);
    let start =
        |boot| firmware_start(site.view, &folder, boot, &usual).map_err(|e| DeployError::Refused(e.to_string()));
    let (trial, ordinary) = (start(PiBoot::Trial)?, start(PiBoot::Ordinary)?);
    let ours = format!("{}/", record.folder);
    let wrong = if !trial.has_kernel || trial.prefix_ignored || !trial.kernel.starts_with(&ours) {
        Some(format!("the trial would start {}", trial.kernel))
    } else if ordinary.kernel.starts_with(&ours) || !ordinary.has_kernel {
        Some(format!("the ordinary boot would start {}", ordinary.kernel))
    } else {
        None
    };
    let Some(wrong) = wrong else { return Ok(()) };
    back(site, &record.id)?;
    Err(DeployError::Refused(format!("according to the firmware's rules, {wrong}; the boot folder is unchanged")))
}
