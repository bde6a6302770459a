//! Keeps CPUs out of idle states during the run: holds /dev/cpu_dma_latency, or disables individual idle states of the
//! measured CPUs.

use punctual_journal::{Journal, Lease, Undo};
use punctual_units::CpuList;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

/// Requests a maximum exit latency, µs. The request lasts until the file is closed, which the kernel does when the
/// process ends for any reason (Documentation/power/pm_qos_interface.rst).
pub(crate) fn hold(us: i32) -> io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&us.to_ne_bytes())?;
    Ok(file)
}

/// Disables idle states deeper than `deepest` (-1: all) on these CPUs until the lease ends. The changes are journalled;
/// after kill -9 they are undone when the program is started again.
///
/// # Errors
/// The kernel has no cpuidle driver, or a state cannot be written.
pub(crate) fn limit(cpus: &CpuList, deepest: i32) -> io::Result<Lease> {
    let mut undo = Vec::new();
    let mut files = Vec::new();
    for cpu in cpus.iter() {
        let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle"));
        for entry in
            fs::read_dir(&folder).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", folder.display())))?
        {
            let path = entry?.path();
            let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("state")?.parse::<i32>().ok());
            if number.is_some_and(|number| number > deepest) {
                let file = path.join("disable");
                undo.push(Undo::Write { path: file.clone(), text: fs::read_to_string(&file)? });
                files.push(file);
            }
        }
    }
    let lease = Journal::of_user().lease(undo).map_err(|e| io::Error::other(e.to_string()))?;
    for file in files {
        #[expect(clippy::disallowed_methods, reason = "a file of /sys")]
        fs::write(&file, "1").map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", file.display())))?;
    }
    Ok(lease)
}
