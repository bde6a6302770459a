use crate::error::DeployError;
use crate::record::{Event, Record, Stage, What};
use crate::site::Site;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Status {
    Nothing,
    /// The deployment was interrupted; no boot entry refers to its files.
    CutOff {
        release: String,
    },
    Deployed {
        release: String,
        /// The command that boots the trial.
        reboot: Vec<String>,
    },
    OnTrial {
        release: String,
        /// Seconds until the return to the old kernel; 0 if it is overdue, which means that the guard is not running.
        left_s: u64,
        /// Result of the last verification; `None` if there was none.
        is_verified: Option<bool>,
    },
    /// The kernel was tried, and the old kernel is running again.
    Returned {
        release: String,
        why: String,
    },
    /// The deployed kernel is the default.
    Committed {
        release: String,
        is_running: bool,
    },
    Removing {
        release: String,
    },
    Unknown {
        why: String,
    },
}

pub fn status(site: &Site) -> Result<Status, DeployError> {
    let Some(record) = site.store().load()? else { return Ok(Status::Nothing) };
    let release = record.release.clone();
    Ok(match record.stage {
        Stage::Placing | Stage::Placed => Status::CutOff { release },
        Stage::Removing => Status::Removing { release },
        Stage::Committed => Status::Committed { is_running: site.release().as_ref() == Some(&release), release },
        Stage::Armed => armed(site, &record)?,
    })
}

fn armed(site: &Site, record: &Record) -> Result<Status, DeployError> {
    let release = record.release.clone();
    let unknown = |why: &str| Ok(Status::Unknown { why: why.to_owned() });
    let Ok(boot_id) = site.sys.boot_id() else { return unknown("/proc/sys/kernel/random/boot_id cannot be read") };
    let events = site.store().events(&record.id)?;
    match site.is_trial_of(&record.id) {
        None => unknown("/proc/cmdline cannot be read"),
        Some(true) => {
            let left_s = record.limit_s.saturating_sub(site.sys.boottime_s());
            let here = |event: &&Event| event.boot_id == boot_id;
            let is_verified = events.iter().rev().filter(here).find_map(|event| match event.what {
                What::Verified => Some(true),
                What::NotVerified => Some(false),
                _ => None,
            });
            Ok(Status::OnTrial { release, left_s, is_verified })
        }
        Some(false) if boot_id == record.boot_id => Ok(Status::Deployed { release, reboot: record.reboot.clone() }),
        Some(false) => Ok(Status::Returned { why: why(&events), release }),
    }
}

/// Explains the result from the events of the trial boot.
fn why(events: &[Event]) -> String {
    let last = |what| events.iter().rev().find(|event| event.what == what);
    match (last(What::Late), last(What::NotVerified), last(What::Up)) {
        (Some(late), Some(failed), _) => format!("{}; its verification had not passed: {}", late.detail, failed.detail),
        (Some(late), None, _) => late.detail.clone(),
        (None, Some(failed), _) => {
            format!("its verification did not pass ({}), and the trial was ended", failed.detail)
        }
        (None, None, Some(up)) => {
            format!(
                "it came up (the guard was running {} s after the start), and was rebooted or reset before it was committed",
                up.uptime_s
            )
        }
        (None, None, None) => {
            "the guard (punctual kernel guard) never ran: the kernel panicked, the watchdog reset it, or it was not booted"
                .to_owned()
        }
    }
}
