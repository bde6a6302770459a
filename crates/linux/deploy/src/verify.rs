//! Checks that the intended kernel is running and that it finds every device that the old kernel found.

use crate::check::{Check, worst};
use crate::error::DeployError;
use crate::inventory::{Inventory, default_route, is_up};
use crate::package::{Magic, rt_option, wrong_modules};
use crate::place::modules_folder;
use crate::record::{Event, Record, What};
use crate::site::Site;
use punctual_kernel::Outcome;
use punctual_kernel::config::of_config;
use punctual_machine::is_preempt_rt;
use std::fs;

const RETURN: &str = "do nothing: the guard returns to the old kernel; to return at once: reboot";

/// The function that makes a short measurement. Returns whether the worst latency is good enough (`None` if no limit
/// was given) and a description; `Err` if it could not be made.
pub type Latency<'l> = &'l dyn Fn() -> Result<(Option<bool>, String), String>;

/// Runs every check on the kernel on trial; the outcome is recorded for [`crate::commit()`].
///
/// # Errors
/// Nothing is on trial, or the record cannot be read or written.
pub fn verify(site: &Site, latency: Latency) -> Result<Vec<Check>, DeployError> {
    let store = site.store();
    let Some(record) = store.load()? else {
        return Err(DeployError::Refused("nothing is deployed: run punctual kernel deploy PACKAGE".to_owned()));
    };
    let boot_id = site.sys.boot_id().map_err(crate::error::file("read", "/proc/sys/kernel/random/boot_id".as_ref()))?;
    let mut checks = vec![booted(site, &record, &boot_id), release(site, &record), word(site, &record)];
    checks.extend([configured(site, &record), modules(site, &record), devices(site, &record), network(site, &record)]);
    checks.push(measured(latency()));
    let what = if worst(&checks) == Outcome::Pass { What::Verified } else { What::NotVerified };
    let not: Vec<String> = checks
        .iter()
        .filter(|check| matches!(check.outcome, Outcome::Fail | Outcome::Unknown))
        .map(|check| format!("{}: {}", check.id, check.found))
        .collect();
    let detail = not.join("; ");
    store.append(&Event { id: record.id, boot_id, uptime_s: site.sys.boottime_s(), what, detail })?;
    Ok(checks)
}

fn booted(site: &Site, record: &Record, boot_id: &str) -> Check {
    let fix = "boot the trial: see punctual kernel status";
    if record.boot_id == boot_id {
        return Check::new("boot", Outcome::Fail, "this is the boot in which it was deployed", fix);
    }
    match site.is_trial_of(&record.id) {
        Some(true) => Check::new("boot", Outcome::Pass, "another boot, with the trial's parameter", ""),
        Some(false) if record.stage == crate::record::Stage::Committed => {
            Check::new("boot", Outcome::Pass, "another boot, after it was committed", "")
        }
        Some(false) => Check::new("boot", Outcome::Fail, "this boot is not the trial", fix),
        None => Check::new("boot", Outcome::Unknown, "/proc/cmdline cannot be read", "mount -t proc proc /proc"),
    }
}

fn release(site: &Site, record: &Record) -> Check {
    let id = "release";
    let Some(now) = site.release() else { return Check::new(id, Outcome::Unknown, "uname -r is unknown", RETURN) };
    if now != record.release {
        return Check::new(id, Outcome::Fail, format!("{now} runs, {} was deployed", record.release), RETURN);
    }
    match (&record.version, site.version()) {
        (Some(said), Some(runs)) if *said != runs => {
            Check::new(id, Outcome::Fail, format!("uname -v is `{runs}`, the package's is `{said}`"), RETURN)
        }
        _ => Check::new(id, Outcome::Pass, now, ""),
    }
}

/// Looks for the whole word `PREEMPT_RT` in `uname -v`, because some kernels named `-rt` had no real-time support.
fn word(site: &Site, record: &Record) -> Check {
    let id = "preempt-rt";
    if !record.is_rt {
        return Check::new(id, Outcome::Skip, "not requested", "");
    }
    match site.version() {
        None => Check::new(id, Outcome::Unknown, "uname -v is unknown", RETURN),
        Some(version) => {
            let is_rt = is_preempt_rt(&version);
            Check::holds(id, is_rt, format!("uname -v is `{version}`"), "build it with EXPERT and PREEMPT_RT")
        }
    }
}

fn configured(site: &Site, record: &Record) -> Check {
    let id = "config";
    if !record.is_rt {
        return Check::new(id, Outcome::Skip, "not requested", "");
    }
    let path = site.at(record.boot_folder.join("config"));
    match fs::read_to_string(&path) {
        Err(error) => Check::new(
            id,
            Outcome::Unknown,
            format!("{}: {error}", path.display()),
            "deploy a package with its configuration",
        ),
        Ok(text) => {
            let option = rt_option(&record.release);
            let is_rt = of_config(&text).get(option).is_some_and(|value| value.text() == "y");
            Check::holds(id, is_rt, format!("CONFIG_{option} is {}", if is_rt { "y" } else { "not y" }), RETURN)
        }
    }
}

fn modules(site: &Site, record: &Record) -> Check {
    let folder = site.at(modules_folder(&record.release));
    match wrong_modules(&folder, &record.release, record.is_rt.then_some(true)) {
        Ok(magic) => magic_check("vermagic", &magic, RETURN),
        Err(error) => Check::new("vermagic", Outcome::Unknown, error.to_string(), RETURN),
    }
}

/// Checks the vermagic: modules for another kernel do not load, whatever their name.
pub(crate) fn magic_check(id: &'static str, magic: &Magic, fix: &'static str) -> Check {
    match (magic.wrong.as_slice(), magic.unknown.as_slice()) {
        ([(name, found), rest @ ..], _) => {
            let found = format!(
                "{name} is for `{found}`, and {} more of {} modules are for other kernels",
                rest.len(),
                magic.looked_at
            );
            Check::new(id, Outcome::Fail, found, fix)
        }
        ([], [name, rest @ ..]) => {
            let found = format!("{name} and {} more could not be read: install modinfo (package kmod)", rest.len());
            Check::new(id, Outcome::Unknown, found, "apt-get install kmod")
        }
        ([], []) => Check::new(id, Outcome::Pass, format!("{} modules are for this kernel", magic.looked_at), ""),
    }
}

fn devices(site: &Site, record: &Record) -> Check {
    let id = "devices";
    let lost = record.inventory.lost(&Inventory::of(site.view));
    match (lost.devices.as_slice(), lost.unknown.as_slice()) {
        ([], []) => Check::new(id, Outcome::Pass, format!("{} as before", record.inventory.count()), ""),
        ([], unknown) => Check::new(id, Outcome::Unknown, format!("not known: {}", unknown.join(", ")), RETURN),
        (lost, _) => Check::new(id, Outcome::Fail, format!("gone: {}", lost.join("; ")), RETURN),
    }
}

fn network(site: &Site, record: &Record) -> Check {
    let id = "network";
    let Some(before) = &record.route else {
        return Check::new(id, Outcome::Skip, "there was no default route before", "");
    };
    match (is_up(site.view, before), default_route(site.view)) {
        (Some(false), _) => {
            Check::new(id, Outcome::Fail, format!("{before}, which had the default route, is missing or down"), RETURN)
        }
        (_, None) => Check::new(
            id,
            Outcome::Fail,
            format!("there is no default route; before the deployment it was on {before}"),
            RETURN,
        ),
        (None, _) => Check::new(id, Outcome::Unknown, format!("it is unknown whether {before} is up"), RETURN),
        (Some(true), Some(now)) if now == *before => {
            Check::new(id, Outcome::Pass, format!("{before} has the default route"), "")
        }
        (Some(true), Some(now)) => Check::new(
            id,
            Outcome::Warn,
            format!("the default route is on {now}; before the deployment it was on {before}"),
            RETURN,
        ),
    }
}

fn measured(latency: Result<(Option<bool>, String), String>) -> Check {
    match latency {
        // The limit depends on the application, so there is no default.
        Ok((None, found)) => {
            let found = format!("{found}: not judged, because no limit was given");
            Check::new("latency", Outcome::Warn, found, "punctual kernel verify --deadline TIME")
        }
        Ok((Some(is_good), found)) => {
            Check::holds("latency", is_good, found, "punctual prove, which explains the latency")
        }
        Err(why) => Check::new("latency", Outcome::Unknown, why, "punctual measure, which reports what it needs"),
    }
}
