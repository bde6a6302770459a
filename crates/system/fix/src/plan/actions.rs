use super::places::Places;
use super::{Request, RulePlan, commands};
use crate::carry::Doing;
use crate::glob;
use punctual_audit::Action;
use std::path::PathBuf;

/// Write-only control files. Their old state cannot be read, so a change could not be undone.
const ORDERS: &[&str] = &["/proc/dynamic_debug/control", "/sys/kernel/debug/kmemleak"];

pub(super) fn add(request: &Request, places: &Places, action: &Action, plan: &mut RulePlan) {
    let done = match action {
        Action::Write { file, value } => write(request, places, file, value),
        Action::Sysctl { key, value } => write(request, places, &sysctl_path(key), value),
        Action::Run(line) => commands::steps(request, places, &plan.rule, line),
        Action::Manual(text) => Err(text.clone()),
        // This kind of fix occurs only in `persist`.
        Action::Boot { .. } | Action::File { .. } => Ok(Vec::new()),
    };
    match done {
        Ok(steps) => plan.steps.extend(steps),
        Err(why) if matches!(action, Action::Manual(_)) => plan.manual.push(why),
        Err(why) => plan.manual.push(format!("{} ({why})", action.line())),
    }
}

/// Returns the path in /proc/sys for a sysctl: dots become slashes and slashes dots, unless the first separator is a
/// slash (sysctl(8)).
pub(super) fn sysctl_path(key: &str) -> String {
    if key.find(['.', '/']).is_some_and(|at| key[at..].starts_with('/')) {
        return format!("/proc/sys/{key}");
    }
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    let swapped: String = key.chars().map(swap).collect();
    format!("/proc/sys/{swapped}")
}

pub(super) fn write(request: &Request, places: &Places, file: &str, value: &str) -> Result<Vec<Doing>, String> {
    if ORDERS.contains(&file) {
        return Err("cannot be undone: its old value cannot be read".to_owned());
    }
    // `N` in this file means no.
    let value = if file.starts_with("/sys/module/") { value.to_owned() } else { places.fill(value)? };
    let paths: Vec<PathBuf> = match file.contains("/IF/") {
        // Only interfaces with a device: neither lo nor bridges or tunnels.
        true => glob::expand(request.sys, &file.replace("/IF/", "/*/"))
            .into_iter()
            .filter(|path| path.parent().is_some_and(|folder| request.sys.look(&folder.join("device")).is_ok()))
            .collect(),
        false if file.contains('@') => {
            let of_cpu = |cpu: punctual_units::CpuId| glob::expand(request.sys, &file.replace('@', &cpu.to_string()));
            places.measured()?.iter().flat_map(of_cpu).collect()
        }
        false => glob::expand(request.sys, &places.fill(file)?),
    };
    if paths.is_empty() {
        return Err("no such file here".to_owned());
    }
    Ok(paths.into_iter().map(|path| Doing::Value { path, new: value.clone() }).collect())
}
