//! Checks of the audit that require a trial: whether the target user may set the policy and lock memory, and how long
//! leaving an idle state and a clock read take.

use punctual_audit::Trial;
use punctual_machine::{Machine, Overlay, Read};
use punctual_measure::idle_exit;
use punctual_rt::Refused as NotGranted;
use punctual_units::{CpuList, Scheduling};
use rustix::mm::{MlockAllFlags, mlockall};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::process::Command;

/// First argument of the process that `audit --probe` starts; see [`trial_main`].
pub const TRIAL_ARG: &str = "__trial";

/// Files with the limits and capabilities of a process.
const OWN: [&str; 4] = ["/proc/self/limits", "/proc/self/status", "/proc/self/uid_map", "/proc/self/cgroup"];

#[derive(Serialize, Deserialize)]
struct Tried {
    /// Result of setting the policy: 0, or the errno.
    scheduling: i32,
    locking: i32,
    dma_latency: i32,
    files: BTreeMap<String, Vec<u8>>,
}

/// Tests policy and memory locking in a separate process, as `user` if given, and returns that process's files below
/// `/proc/self`. Idle states and the clock are tested in this process, for a second.
///
/// # Errors
/// The process could not be started, or ended without an answer.
pub fn try_out(user: Option<&str>, wanted: Scheduling, cpus: &CpuList) -> Result<(Trial, Overlay), String> {
    let tried = child(user, wanted)?;
    let errno = |number| if number == 0 { Ok(()) } else { Err(number) };
    let trial = Trial {
        scheduling: errno(tried.scheduling),
        locking: errno(tried.locking),
        dma_latency: errno(tried.dma_latency),
        idle_exit_ns: try_idle(cpus, wanted),
        clock_read_ns: Some(punctual_rt::clock_read_cost() as i64),
    };
    let files = tried.files.into_iter().filter(|(path, _)| OWN.contains(&path.as_str()));
    Ok((trial, Overlay::new(files.map(|(path, bytes)| (path, Read::Known(bytes))).collect())))
}

/// Returns the latency that idle states add on the last of the CPUs, ns.
fn try_idle(cpus: &CpuList, wanted: Scheduling) -> Result<i64, String> {
    let cpu = cpus.iter().last().ok_or("no CPU was given for the trial")?;
    let exit = idle_exit(cpu, wanted).map_err(|e| format!("on CPU {cpu}: {e}"))?;
    i64::try_from(exit.cost().0).map_err(|_| "the clock jumped".into())
}

fn child(user: Option<&str>, wanted: Scheduling) -> Result<Tried, String> {
    let own = File::open("/proc/self/exe").map_err(|e| format!("cannot open this program: {e}"))?;
    let words = [TRIAL_ARG.to_owned(), serde_json::to_string(&wanted).unwrap_or_default()];
    // Executed through a descriptor, because the user may have no access to the program's directory.
    let program = "/proc/self/fd/0";
    let mut command = match user {
        // runuser(1) applies the limits that PAM sets at a login of that user (limits.conf(5)).
        Some(user) => {
            let mut command = Command::new("runuser");
            command.args(["-u", user, "--", program]);
            command
        }
        None => Command::new(program),
    };
    let output =
        punctual_watchdog::output(command.args(words).stdin(own), punctual_watchdog::GRACE).map_err(
            |e| match user {
                Some(_) => format!("the test as another user needs runuser(1) of util-linux: {e}"),
                None => format!("cannot start the trial: {e}"),
            },
        )?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let who = user.map(|user| format!(" as {user}")).unwrap_or_default();
        format!("the trial{who} ended with {}: {}", output.status, said.trim())
    })
}

/// Main function of the trial process. `words` are the arguments after [`TRIAL_ARG`]. What the process is granted ends
/// with it. Returns the exit code.
pub fn trial_main(mut words: impl Iterator<Item = OsString>) -> i32 {
    let wanted = words.next().and_then(|text| serde_json::from_slice::<Scheduling>(text.to_str()?.as_bytes()).ok());
    let Some(wanted) = wanted else { return 2 };
    let live = punctual_machine::Live::new();
    let files = OWN.iter().filter_map(|path| Some(((*path).to_owned(), live.read(path).bytes()?.to_vec())));
    let opened = File::options().write(true).open("/dev/cpu_dma_latency");
    let tried = Tried {
        files: files.collect(),
        scheduling: punctual_rt::try_scheduling(wanted).err().map_or(0, |error| errno(&error)),
        locking: mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).err().map_or(0, |e| e.raw_os_error()),
        dma_latency: opened.err().map_or(0, |e| e.raw_os_error().unwrap_or(1)),
    };
    let text = serde_json::to_vec(&tried).unwrap_or_default();
    i32::from(std::io::stdout().write_all(&text).is_err())
}

fn errno(refused: &NotGranted) -> i32 {
    match refused {
        NotGranted::Cpu { source, .. } | NotGranted::Scheduling { source, .. } | NotGranted::ReadBack(source) => {
            source.errno().unwrap_or(1)
        }
    }
}
