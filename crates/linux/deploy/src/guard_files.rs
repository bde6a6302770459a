//! Files that start the guard in the trial boot: a systemd unit, and scripts in the trial's own initramfs.
//!
//! Both do nothing in a boot without `punctual.trial=`; if both start a guard, the second one finds the lock of the
//! first and ends.

use crate::error::{DeployError, file};
use crate::site::Site;
use punctual_boot::TRIAL_PARAMETER;
use punctual_model::Edit;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) const PROGRAM: &str = "/var/lib/punctual/deploy/punctual";
const UNIT: &str = "/etc/systemd/system/punctual-trial.service";
const WANTS: &str = "/etc/systemd/system/sysinit.target.d/60-punctual-trial.conf";
/// Watchdog timeout in seconds that the driver uses from the initramfs until the guard starts.
const HEARTBEAT_S: u32 = 120;

/// Returns the systemd unit of the guard, and the drop-in file that starts it; empty if the machine has no systemd. The
/// unit has no dependencies, because it has to run even if half of the other units fail.
pub(crate) fn units(site: &Site) -> Vec<Edit> {
    let has_systemd = ["/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
    if !has_systemd.iter().any(|path| site.at(path).is_dir()) {
        return Vec::new();
    }
    let unit = format!(
        "# punctual: returns from a trial kernel that nobody commits; may be deleted\n[Unit]\nDescription=Return from a trial \
         kernel\nDefaultDependencies=no\nConditionKernelCommandLine={TRIAL_PARAMETER}\n\n[Service]\nExecStart={PROGRAM} kernel \
         guard\nRestart=on-failure\nOOMScoreAdjust=-1000\n"
    );
    let wants = "# punctual: see punctual-trial.service\n[Unit]\nWants=punctual-trial.service\n".to_owned();
    vec![Edit::write(UNIT, unit), Edit::write(WANTS, wants)]
}

/// Writes to `folder` a copy of the machine's initramfs configuration, with the guard's scripts and the watchdog's
/// driver added.
pub(crate) fn initramfs_configuration(site: &Site, folder: &Path, driver: Option<&str>) -> Result<(), DeployError> {
    copy_folder(&site.at("/etc/initramfs-tools"), folder)?;
    let load = driver.map(|driver| format!("modprobe {driver} heartbeat={HEARTBEAT_S}\n")).unwrap_or_default();
    // klibc's initramfs has no grep.
    let trial = format!("case \"$(cat /proc/cmdline)\" in *{TRIAL_PARAMETER}=*) ;; *) exit 0 ;; esac");
    let open = format!(
        "#!/bin/sh\n[ \"$1\" = prereqs ] && exit 0\n{trial}\n{load}\
         [ -c /dev/watchdog ] || exit 0\n# Armed from here on; the guard takes it over.\nsleep 86400 > /dev/watchdog &\n\
         echo $! > /run/punctual-watchdog\n"
    );
    let start = format!(
        "#!/bin/sh\n[ \"$1\" = prereqs ] && exit 0\n{trial}\n\
         [ -x \"${{rootmnt}}{PROGRAM}\" ] || exit 0\n\
         [ -r /run/punctual-watchdog ] && kill \"$(cat /run/punctual-watchdog)\"\n\
         chroot \"${{rootmnt}}\" {PROGRAM} kernel guard < /dev/null > /dev/null 2>&1 &\n"
    );
    for (path, text) in [("scripts/init-top/00punctual", open), ("scripts/init-bottom/punctual", start)] {
        let path = folder.join(path);
        write(&path, &text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(file("set the mode of", &path))?;
    }
    let Some(driver) = driver else { return Ok(()) };
    let path = folder.join("modules");
    let old = match fs::read_to_string(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(file("read", &path))?,
    };
    let end = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    write(&path, &format!("{old}{end}{driver} heartbeat={HEARTBEAT_S}\n"))
}

fn write(path: &Path, text: &str) -> Result<(), DeployError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(file("make", folder))?;
    fs::write(path, text).map_err(file("write", path))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), DeployError> {
    fs::create_dir_all(to).map_err(file("make", to))?;
    for entry in fs::read_dir(from).map_err(file("list", from))? {
        let entry = entry.map_err(file("list", from))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => copy_folder(&path, &to)?,
            Ok(meta) if meta.is_file() => fs::copy(&path, &to).map(drop).map_err(file("copy", &path))?,
            // A dangling link, a device.
            _ => {}
        }
    }
    Ok(())
}
