//! The audit as a process of its own: 225 rules and what they read take megabytes and tens of milliseconds, which the
//! measuring process should neither hold nor wait for. It runs while the first phase warms up.

use punctual_audit as audit;
use punctual_machine::{Live, Machine, Overlay};
use punctual_units::{CpuList, Scheduling};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// First argument of the program when it is to audit for [`prove`](crate::prove); see [`audit_main`].
pub const AUDIT_ARG: &str = "__audit";

/// The process that audits.
pub(crate) struct Auditing(Child);

impl Auditing {
    /// Starts it: for threads that should run as `wanted`, whatever they got.
    pub fn start(wanted: Scheduling, cpus: &CpuList) -> Result<Auditing, String> {
        let wanted = serde_json::to_string(&wanted).map_err(|e| e.to_string())?;
        let mut command = Command::new("/proc/self/exe");
        command.args([AUDIT_ARG, &wanted, &cpus.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().map(Auditing).map_err(|e| format!("cannot start it: {e}"))
    }

    /// Waits for its findings: `findings.json` as it is to stand.
    pub fn finish(mut self) -> Result<Vec<u8>, String> {
        let mut findings = Vec::new();
        let read = self.0.stdout.take().map(|mut out| out.read_to_end(&mut findings));
        let status = self.0.wait().map_err(|e| e.to_string())?;
        match read {
            Some(Ok(_)) if status.success() && !findings.is_empty() => Ok(findings),
            Some(Err(e)) => Err(e.to_string()),
            _ => Err(format!("it ended with {status}")),
        }
    }
}

/// The process that measures stands as this one: its threads, real-time by now, are not somebody else's.
fn measuring() -> Overlay {
    let parent = rustix::process::getppid().map(|parent| format!("/proc/{}/stat", parent.as_raw_nonzero()));
    let files = parent.map(|stat| ("/proc/self/stat".to_owned(), Live::new().read(&stat)));
    Overlay::new(files.into_iter().collect())
}

/// Audits this machine and prints the findings; `words` are what follows [`AUDIT_ARG`]. The result is the exit code.
pub fn audit_main(mut words: impl Iterator<Item = OsString>) -> i32 {
    let mut next = || words.next()?.into_string().ok();
    let scheduling = next().and_then(|text| serde_json::from_slice::<Scheduling>(text.as_bytes()).ok());
    let (Some(scheduling), Some(cpus)) = (scheduling, next().and_then(|text| text.parse::<CpuList>().ok())) else {
        return 2;
    };
    let context = audit::Context { scheduling, cpus, profile: audit::Profile::ControlLoop };
    let (live, measuring) = (Live::new(), measuring());
    let findings = audit::audit(&measuring.over(&live), &context);
    let mut text = serde_json::to_vec_pretty(&findings).unwrap_or_default();
    text.push(b'\n');
    i32::from(std::io::stdout().write_all(&text).is_err())
}
