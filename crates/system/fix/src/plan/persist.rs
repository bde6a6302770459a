//! Plans the `persist` part of a rule: one drop-in file per rule, named after it.

use super::actions::sysctl_path;
use super::init::Init;
use super::places::Places;
use super::{BootWish, Request, RulePlan, boot_words, commands};
use crate::carry::Doing;
use crate::system::{System, is_absent};
use punctual_audit::{Action, Fix};
use punctual_model::Edit;
use std::path::{Path, PathBuf};

pub(super) fn add(request: &Request, places: &Places, fix: &Fix, plan: &mut RulePlan, boot: &mut BootWish) {
    let mut settings = String::new();
    let mut is_done = false;
    for action in &fix.persist {
        let done = match action {
            Action::Sysctl { key, value } => places.fill(value).map(|value| {
                settings.push_str(&format!("{key} = {value}\n"));
                doubt(request, plan, key);
            }),
            Action::File { path, content } => places
                .fill(content)
                .and_then(|content| read_by_nobody(request, path, content))
                .map(|content| file(request, plan, &ours(path, &plan.rule), &content)),
            Action::Boot { add, remove } => {
                boot_words::wanted(request, places, plan, (add, remove)).map(|words| boot.merge(&words))
            }
            Action::Run(line) => commands::steps(request, places, &plan.rule, line).map(|steps| {
                plan.steps.extend(steps.into_iter().filter(|step| !plan.steps.contains(step)).collect::<Vec<_>>());
            }),
            Action::Write { .. } | Action::Manual(_) => continue,
        };
        match done {
            Ok(()) => is_done = true,
            Err(why) => {
                let line = action.line();
                let line = places.fill(&line).unwrap_or(line);
                plan.manual.push(format!("permanently: {line} ({why})"));
            }
        }
    }
    if !settings.is_empty() {
        file(request, plan, &PathBuf::from(format!("/etc/sysctl.d/60-punctual-{}.conf", plan.rule)), &settings);
    }
    if !is_done {
        values(request, fix, plan);
    }
}

/// Refuses files for systemd on a machine without systemd, where they would have no effect.
fn read_by_nobody(request: &Request, path: &str, content: String) -> Result<String, String> {
    let other = Init::of(request.sys).without_systemd().filter(|_| path.starts_with("/etc/systemd/"));
    other.map_or(Ok(content), Err)
}

fn ours(path: &str, rule: &str) -> PathBuf {
    let path = Path::new(path);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("60-punctual-{rule}.{extension}"))
}

/// Plans a drop-in file whose first line names its origin, and missing directories above it.
pub(super) fn file(request: &Request, plan: &mut RulePlan, path: &Path, content: &str) {
    plan.steps.extend(missing_folders(request.sys, path));
    let head = format!("# Written by punctual for its rule {0}; `punctual undo {0}` undoes it.\n", plan.rule);
    plan.steps.push(Doing::Edit(Edit::write(path, head + content)));
}

/// Returns steps that create the missing directories above a path, highest first.
pub(super) fn missing_folders(sys: &dyn System, path: &Path) -> impl Iterator<Item = Doing> {
    let missing = path.ancestors().skip(1).take_while(|folder| sys.look(folder).is_err_and(|e| is_absent(&e)));
    let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.into_iter().rev().map(Doing::Folder)
}

/// Plans a tmpfiles.d(5) file that writes the values of a rule at boot. Numbers of interrupts and threads change from
/// boot to boot, and control groups belong to systemd, so these are not included.
fn values(request: &Request, fix: &Fix, plan: &mut RulePlan) {
    let lasting = |path: &Path| {
        let text = path.to_string_lossy();
        let is_numbered = text.starts_with("/proc/irq/") && !text.ends_with("/default_smp_affinity");
        !is_numbered && !text.starts_with("/sys/fs/cgroup/") && !text.contains("/tracing/")
    };
    let line = |step: &Doing| match step {
        Doing::Value { path, new } if lasting(path) => {
            Some(format!("w {} - - - - {}\n", path.display(), new.replace('%', "%%")))
        }
        _ => None,
    };
    let lines: String = plan.steps.iter().filter_map(line).collect();
    if !lines.is_empty() {
        if let Some(why) = Init::of(request.sys).without_tmpfiles(request.sys) {
            return plan
                .manual
                .push(format!("permanently: {why}: write these values in the machine's start-up scripts"));
        }
        let path = PathBuf::from(format!("/etc/tmpfiles.d/60-punctual-{}.conf", plan.rule));
        return file(request, plan, &path, &lines);
    }
    let advice = fix.persist.iter().filter(|action| matches!(action, Action::Manual(_)));
    plan.manual.extend(advice.map(|action| format!("permanently: {}", action.line())));
}

/// Adds advice if another file takes precedence: systemd-sysctl(8) reads the files of all directories in the order of
/// their names.
fn doubt(request: &Request, plan: &mut RulePlan, key: &str) {
    let mine = format!("60-punctual-{}.conf", plan.rule);
    for folder in ["/etc/sysctl.d", "/run/sysctl.d", "/usr/lib/sysctl.d"] {
        for name in request.sys.list(Path::new(folder)).unwrap_or_default() {
            let path = Path::new(folder).join(&name);
            let text = request.sys.read(&path).unwrap_or_default();
            let sets = |line: &str| {
                let name = line.trim_start_matches('-').split('=').next().unwrap_or_default().trim();
                sysctl_path(name) == sysctl_path(key) || name.replace('/', ".") == key
            };
            if name.ends_with(".conf") && name > mine && String::from_utf8_lossy(&text).lines().any(sets) {
                plan.manual
                    .push(format!("{} also sets {key} and is read later: it takes precedence at boot", path.display()));
            }
        }
    }
}
