//! The guard of a trial boot: feeds the hardware watchdog, and reboots into the old kernel unless the trial is
//! committed in time.

use crate::error::DeployError;
use crate::lock;
use crate::record::{Event, Record, Stage, Store, What};
use crate::site::Site;
use punctual_model::Argv;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Interval at which the guard reads the record and feeds the watchdog. The drivers' default timeouts are 15 s or more
/// (bcm2835_wdt).
const TURN: Duration = Duration::from_secs(5);
const ORDERLY_S: u64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This boot is not a trial, or no longer one: the guard exits.
    Over,
    Wait,
    Return,
}

/// Decides the next action. If the record cannot be read, the elapsed time decides.
pub fn turn(record: Result<Option<&Record>, ()>, is_trial: bool, uptime_s: u64, limit_s: u64) -> Turn {
    let is_late = uptime_s >= limit_s;
    match record {
        _ if !is_trial => Turn::Over,
        Ok(Some(record)) if record.stage == Stage::Committed => Turn::Over,
        // The record was removed, so the loader boots the old kernel again.
        Ok(None) => Turn::Over,
        _ if is_late => Turn::Return,
        _ => Turn::Wait,
    }
}

/// Guards this boot until the trial is decided. Returns if the boot is not a trial, was committed, or already has a
/// guard.
///
/// # Errors
/// The record cannot be read at the start.
pub fn guard(site: &Site) -> Result<(), DeployError> {
    wait_for_proc();
    let store = site.store();
    let Some(record) = store.load()? else { return Ok(()) };
    if site.is_trial_of(&record.id) != Some(true) {
        return Ok(());
    }
    let ours = Path::new("/run/punctual-guard");
    let _ = std::fs::create_dir(ours);
    let _held = match lock::take_if_free(ours) {
        // The unit and the initramfs each start a guard; the other one has the lock.
        Ok(None) => return Ok(()),
        // Without locks two guards may run, which is better than none.
        held => held.ok(),
    };
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    let mut watchdog = File::options().write(true).open("/dev/watchdog").ok();
    let mut said = false;
    loop {
        // The file system may still be read-only.
        said = said || record_event(site, &store, &record, What::Up, String::new()).is_ok();
        let now = store.load();
        let seen = now.as_ref().map(Option::as_ref).map_err(|_| ());
        match turn(seen, true, site.sys.boottime_s(), record.limit_s) {
            Turn::Over => break,
            Turn::Wait => {}
            Turn::Return => back(site, &store, &record),
        }
        if let Some(device) = &mut watchdog {
            // If the watchdog cannot be fed, it resets the machine, which is intended.
            let _ = device.write_all(b"\n");
        }
        std::thread::sleep(TURN);
    }
    if let Some(mut device) = watchdog {
        // The magic close: Documentation/watchdog/watchdog-api.rst.
        let _ = device.write_all(b"V");
    }
    Ok(())
}

/// Waits up to a minute for /proc and /run: in the initramfs, where a guard may start, they do not exist until the
/// first process mounts them.
fn wait_for_proc() {
    for _ in 0..600 {
        if Path::new("/proc/self/stat").exists() && Path::new("/run").is_dir() {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn record_event(site: &Site, store: &Store, record: &Record, what: What, detail: String) -> Result<(), DeployError> {
    let boot_id =
        site.sys.boot_id().map_err(crate::error::file("read", Path::new("/proc/sys/kernel/random/boot_id")))?;
    store.append(&Event { id: record.id.clone(), boot_id, uptime_s: site.sys.boottime_s(), what, detail })
}

/// Reboots: cleanly if possible, otherwise immediately, and if that fails as well, through the watchdog.
fn back(site: &Site, store: &Store, record: &Record) {
    let detail = format!("it was not committed within {} s", record.limit_s);
    let _ = record_event(site, store, record, What::Late, detail);
    if Path::new("/run/systemd/system").is_dir() {
        let _ = crate::programs::run(&Argv::new(["systemctl", "reboot"]));
        std::thread::sleep(Duration::from_secs(ORDERLY_S));
    }
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::Restart);
    // The watchdog is open and no longer fed.
    std::thread::sleep(Duration::from_secs(3600));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stage: &str) -> Record {
        let text = format!(
            r#"{{"schema":"x","stage":"{stage}","id":"a","release":"r","version":null,"is_rt":true,"package":"p","boot_id":"b",
            "old_release":"o","limit_s":600,"boot_folder":"/boot/punctual/r","folder":"punctual/r","initrd":null,"trees":null,
            "add":[],"folders":[],"parents":[],"inventory":{{}},"route":null,"reboot":[],"unattended":true,"watchdog":null,
            "before":null}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn it_returns_only_from_a_trial_that_nobody_committed() {
        let (armed, kept) = (record("armed"), record("committed"));
        assert_eq!(turn(Ok(Some(&armed)), true, 599, 600), Turn::Wait);
        assert_eq!(turn(Ok(Some(&armed)), true, 600, 600), Turn::Return);
        assert_eq!(turn(Ok(Some(&kept)), true, 9999, 600), Turn::Over);
        assert_eq!(turn(Ok(Some(&armed)), false, 9999, 600), Turn::Over);
        assert_eq!(turn(Ok(None), true, 9999, 600), Turn::Over);
    }

    #[test]
    fn a_record_that_cannot_be_read_is_no_commit() {
        assert_eq!((turn(Err(()), true, 1, 600), turn(Err(()), true, 600, 600)), (Turn::Wait, Turn::Return));
    }
}
