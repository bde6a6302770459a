//! Runs the audit in a separate process, so that the measuring process does not spend the memory (megabytes) and the
//! time (tens of milliseconds) of more than 200 rules and the files they read. The audit runs while the first phase
//! warms up.

use punctual_audit as audit;
use punctual_machine::{Live, Machine, Overlay, Read};
use punctual_units::{CpuList, Scheduling};
use std::ffi::OsString;
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// First argument with which the program starts itself to audit for [`prove`](crate::prove); see [`audit_main`].
pub const AUDIT_ARG: &str = "__audit";

pub(crate) struct Auditing(Child);

impl Auditing {
    /// Starts an audit for threads that should run as `wanted`, whatever policy they have. The real-time threads of the
    /// processes `own` are the measured ones.
    pub fn start(wanted: Scheduling, cpus: &CpuList, own: &[i32]) -> Result<Auditing, String> {
        let wanted = serde_json::to_string(&wanted).map_err(|e| e.to_string())?;
        let mut command = Command::new("/proc/self/exe");
        let parent = std::process::id().to_string();
        let own = own.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        command
            .args([AUDIT_ARG, &wanted, &cpus.to_string(), &parent, &own])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command.spawn().map(Auditing).map_err(|e| format!("cannot start the audit's process: {e}"))
    }

    /// Waits for the findings. Returns the content of `findings.json`.
    pub fn finish(self) -> Result<Vec<u8>, String> {
        let ended =
            punctual_watchdog::output_of(self.0, "the audit", punctual_watchdog::GRACE).map_err(|e| e.to_string())?;
        match ended.status.success() && !ended.stdout.is_empty() {
            true => Ok(ended.stdout),
            false => Err(format!("the audit's process ended with {}", ended.status)),
        }
    }
}

/// Requests SIGKILL for this process when the thread of `parent` that started it ends (prctl(2), PR_SET_PDEATHSIG),
/// because a child process that outlives a killed program would load the machine. Returns false if the parent has
/// already ended.
pub fn die_with(parent: u32) -> bool {
    // If the kernel refuses, the child process ends when its work is done.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // The parent may have died before the call.
    rustix::process::getppid().is_some_and(|now| u32::try_from(now.as_raw_nonzero().get()) == Ok(parent))
}

/// Makes the measuring process appear as this one, so that its real-time threads do not count as threads of another
/// program. Real-time threads of the processes `own` are omitted.
fn measuring(own: &[i32]) -> Overlay {
    let parent = rustix::process::getppid().map(|parent| format!("/proc/{}/stat", parent.as_raw_nonzero()));
    let files = parent.map(|stat| ("/proc/self/stat".to_owned(), Live::new().read(&stat)));
    let threads =
        own.iter().flat_map(|pid| punctual_watchdog::proc::threads(*pid).into_iter().map(move |tid| (*pid, tid)));
    let left_out = threads.map(|(pid, tid)| (format!("/proc/{pid}/task/{tid}/stat"), Read::Absent));
    Overlay::new(files.into_iter().chain(left_out).collect())
}

/// Audits this machine and prints the findings. `words` are the arguments after [`AUDIT_ARG`]. Returns the exit code.
pub fn audit_main(mut words: impl Iterator<Item = OsString>) -> i32 {
    let mut next = || words.next()?.into_string().ok();
    let scheduling = next().and_then(|text| serde_json::from_slice::<Scheduling>(text.as_bytes()).ok());
    let (Some(scheduling), Some(cpus)) = (scheduling, next().and_then(|text| text.parse::<CpuList>().ok())) else {
        return 2;
    };
    match next().and_then(|text| text.parse().ok()) {
        None => return 2,
        Some(parent) if !die_with(parent) => return 1,
        Some(_) => {}
    }
    let context = audit::Context { scheduling, cpus, profile: audit::Profile::ControlLoop };
    let own: Vec<i32> = next().unwrap_or_default().split(',').filter_map(|pid| pid.parse().ok()).collect();
    let (live, measuring) = (Live::new(), measuring(&own));
    let findings = audit::audit(&measuring.over(&live), &context);
    let mut text = serde_json::to_vec_pretty(&findings).unwrap_or_default();
    text.push(b'\n');
    i32::from(std::io::stdout().write_all(&text).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str) -> Auditing {
        Auditing(Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap())
    }

    #[test]
    fn findings_are_read_to_their_end() {
        assert_eq!(of("printf a; sleep 0.2; head -c 100000 /dev/zero").finish().unwrap().len(), 100_001);
    }

    #[test]
    fn an_audit_that_fails_or_says_nothing_is_reported() {
        assert!(of("printf a; exit 3").finish().unwrap_err().contains('3'));
        assert!(of(":").finish().is_err());
    }

    #[test]
    fn a_parent_that_is_another_has_ended() {
        assert!(!die_with(std::process::id()));
    }
}
