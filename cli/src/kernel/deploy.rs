//! Implements `kernel deploy`, `verify`, `commit`, `rollback` and `status` on this machine.

use super::args::deploying::{CommitArgs, DeployArgs, OnArgs, VerifyArgs};
use super::remote;
use crate::args::common::OutputArgs;
use crate::at_work::changing;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::harmless;
use crate::{exit, terminal};
use punctual_deploy::{
    self as deploying, Back, Check, CommitResult, DeployError, DeployResult, Request, Site, Status, VerifyResult, worst,
};
use punctual_directory::{Scratch, Whose};
use punctual_fix::Real;
use punctual_kernel::Outcome;
use punctual_machine::Live;
use punctual_units::Nanos;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub fn deploy(args: &DeployArgs) -> Result<Answer, Refusal> {
    if let Some(on) = &args.target.target {
        return remote::deploy(args, on);
    }
    let guard = std::env::current_exe().map_err(|e| Refusal::environment(format!("cannot find this program: {e}")))?;
    here(|site| deployed(site, args, &guard))
}

pub fn verify(args: &VerifyArgs) -> Result<Answer, Refusal> {
    match &args.target.target {
        Some(on) => remote::pass_on("verify", on, &args.target, args.output),
        None => here(|site| verified(site, args, &|| measured(args.duration, args.deadline))),
    }
}

pub fn commit(args: &CommitArgs) -> Result<Answer, Refusal> {
    match &args.target.target {
        Some(on) => remote::pass_on("commit", on, &args.target, args.output),
        None => {
            // The guard returns to the old kernel meanwhile.
            let _changing = changing(true)?;
            here(|site| committed(site, args))
        }
    }
}

pub fn rollback(args: &OnArgs) -> Result<Answer, Refusal> {
    match &args.target.target {
        Some(on) => remote::pass_on("rollback", on, &args.target, args.output),
        None => {
            let _changing = changing(true)?;
            here(|site| rolled_back(site, args.output))
        }
    }
}

pub fn status(args: &OnArgs) -> Result<Answer, Refusal> {
    match &args.target.target {
        Some(on) => remote::pass_on("status", on, &args.target, args.output),
        None => here(|site| state(site, args.output)),
    }
}

/// Runs `kernel guard`, which the initramfs or a systemd unit starts in the trial boot.
pub fn guard() -> Result<Answer, Refusal> {
    here(|site| Ok(deploying::guard(site).map(|()| Answer::default())?))
}

fn here(work: impl FnOnce(&Site) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
    let (sys, view) = (Real::new(), Live::new());
    work(&Site { root: PathBuf::from("/"), sys: &sys, view: &view })
}

impl From<DeployError> for Refusal {
    fn from(error: DeployError) -> Refusal {
        let code = match &error {
            DeployError::Package { .. } => exit::USAGE,
            DeployError::Refused(_) => exit::FAILED,
            _ => exit::ENVIRONMENT,
        };
        Refusal::new(code, error)
    }
}

/// Returns the exit code for the checks: a failed check takes precedence over an unknown one.
fn code(checks: &[Check]) -> u8 {
    match worst(checks) {
        Outcome::Fail => exit::FAILED,
        Outcome::Unknown => exit::INCONCLUSIVE,
        _ => 0,
    }
}

fn lines(checks: &[Check]) -> String {
    let mut out = String::new();
    for check in checks {
        let word = match check.outcome {
            Outcome::Pass => "ok",
            Outcome::Fail => "FAIL",
            Outcome::Warn => "warn",
            Outcome::Unknown => "unknown",
            Outcome::Skip => "skip",
        };
        let _ = writeln!(out, "{word:<8}{:<15} {}", check.id, check.found);
        if !check.fix.is_empty() {
            let _ = writeln!(out, "        fix: {}", check.fix);
        }
    }
    out
}

/// Minimum of `--limit`, seconds: with a shorter limit, a slow board could run out of time before it finds its disk.
const SHORTEST_S: u64 = 30;

/// Deploys a kernel. `program` is the path of this executable, which becomes the guard of the trial boot.
pub fn deployed(site: &Site, args: &DeployArgs, program: &Path) -> Result<Answer, Refusal> {
    if args.limit < Nanos::from_secs(SHORTEST_S) {
        return Err(Refusal::usage(format!(
            "--limit {}: the minimum is {SHORTEST_S}s, since the kernel must boot within it",
            args.limit
        )));
    }
    // Nothing measures on a directory that is given in place of a machine.
    let _changing = if site.root == Path::new("/") { changing(args.while_measuring)? } else { None };
    let request = Request {
        is_rt: !args.not_rt,
        limit_s: args.limit.0 / 1_000_000_000,
        manual_recovery: args.manual_recovery,
        add: args.append.clone(),
        skip: args.skip.clone(),
    };
    let done = deploying::deploy(site, &args.package, &request, program)?;
    let mut text: String = done.notes.iter().map(|note| format!("note: {note}\n")).collect();
    text += &lines(&done.checks);
    let result = || DeployResult::new(&done);
    let answer = |code: u8, text: String| Ok(Answer::new(args.output, code, result, || harmless(&text)));
    let Some(record) = &done.record else {
        text += "nothing was changed\n";
        return answer(code(&done.checks).max(exit::FAILED), text);
    };
    let reboot = punctual_model::Argv(record.reboot.clone());
    let _ = writeln!(text, "{} is installed and armed for one boot: {}", record.release, reboot.line());
    let _ = writeln!(
        text,
        "after the reboot: punctual kernel verify && punctual kernel commit, within {} s of its start",
        record.limit_s
    );
    if args.reboot {
        terminal::print(&text);
        text = restarted(&reboot)?;
    }
    answer(0, text)
}

/// Reboots after a delay, from a process in a session of its own, so that the answer is sent first.
fn restarted(reboot: &punctual_model::Argv) -> Result<String, Refusal> {
    let line = format!("sleep 2; {}", reboot.line());
    let mut command = std::process::Command::new("setsid");
    command.args(["sh", "-c", &line]).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    match command.spawn() {
        Ok(_) => Ok("rebooting now\n".to_owned()),
        Err(e) => Err(Refusal::environment(format!("cannot reboot ({e}); type: {}", reboot.line()))),
    }
}

/// Verifies the kernel in its trial boot; `latency` measures the wakeup latency.
pub fn verified(site: &Site, args: &VerifyArgs, latency: deploying::Latency) -> Result<Answer, Refusal> {
    let checks = deploying::verify(site, latency)?;
    let mut text = lines(&checks);
    text += match worst(&checks) {
        Outcome::Pass if args.deadline.is_none() => {
            "every check passed, but latency was not judged (--deadline TIME): punctual kernel commit\n"
        }
        Outcome::Pass => "every check passed: punctual kernel commit\n",
        _ => "not verified: the guard returns to the old kernel when its time expires; to return now: reboot\n",
    };
    Ok(Answer::new(args.output, code(&checks), || VerifyResult { checks: &checks }, || harmless(&text)))
}

/// Measures the latency in a child process, into a temporary directory.
fn measured(duration: Nanos, deadline: Option<Nanos>) -> Result<(Option<bool>, String), String> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let folder =
        Scratch::create("verify", Whose::System).map_err(|e| format!("cannot create a directory for the run: {e}"))?;
    let run = folder.path().join("run");
    let mut command = std::process::Command::new(program);
    command.args(["measure", "--json", "--no-sync", "-D"]).arg(format!("{}ns", duration.0)).arg("--out").arg(&run);
    command.args(deadline.iter().flat_map(|limit| ["--claim".to_owned(), format!("max < {}ns", limit.0)]));
    command.stdin(std::process::Stdio::null());
    let most = std::time::Duration::from_nanos(duration.0) + 3 * punctual_watchdog::GRACE;
    let done = punctual_watchdog::output(&mut command, most).map_err(|e| format!("cannot measure: {e}"))?;
    let worst = longest(&done.stdout).ok_or_else(|| {
        let said = String::from_utf8_lossy(&done.stderr);
        format!("the measurement ended with {}: {}", done.status, said.lines().last().unwrap_or_default())
    })?;
    let found = format!("longest wakeup latency {worst} in {duration}");
    match done.status.code() {
        Some(0) => Ok((deadline.map(|_| true), found)),
        Some(1) => Ok((Some(false), found)),
        _ => Err(format!("{found}; the measurement ended with {}", done.status)),
    }
}

/// Returns the largest `max_ns` of all CPUs in the document of `measure`.
fn longest(document: &[u8]) -> Option<Nanos> {
    fn walk(value: &Value, most: &mut Option<u64>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match (name.as_str(), value.as_u64()) {
                ("max_ns", Some(ns)) => *most = Some(most.map_or(ns, |old| old.max(ns))),
                _ => walk(value, most),
            }),
            Value::Array(all) => all.iter().for_each(|value| walk(value, most)),
            _ => {}
        }
    }
    let mut most = None;
    walk(&serde_json::from_slice(document).ok()?, &mut most);
    most.map(Nanos)
}

/// Makes the kernel on trial the default.
pub fn committed(site: &Site, args: &CommitArgs) -> Result<Answer, Refusal> {
    let record = deploying::commit(site, args.unverified)?;
    let text = format!("{} boots by default from now on; the old kernel stays in the loader's menu\n", record.release);
    Ok(Answer::new(args.output, 0, || CommitResult { release: &record.release }, || harmless(&text)))
}

/// Removes everything that was deployed, except the files of the running kernel.
pub fn rolled_back(site: &Site, output: OutputArgs) -> Result<Answer, Refusal> {
    let back = deploying::rollback(site)?;
    let (code, text) = match &back {
        Back::Nothing => (0, "nothing is deployed\n".to_owned()),
        Back::Gone { release } => (0, format!("{release} is removed: every file is restored\n")),
        Back::Running { release } => (
            exit::FAILED,
            format!(
                "{release} is running, so its files stay until another kernel runs; its boot entry is removed: reboot, then punctual kernel rollback\n"
            ),
        ),
    };
    Ok(Answer::new(output, code, || &back, || harmless(&text)))
}

/// Returns the state of the deployment.
pub fn state(site: &Site, output: OutputArgs) -> Result<Answer, Refusal> {
    let status = deploying::status(site)?;
    Ok(Answer::new(output, 0, || &status, || harmless(&sentence(&status))))
}

fn sentence(status: &Status) -> String {
    let text = match status {
        Status::Nothing => "nothing is deployed: run punctual kernel deploy PACKAGE".to_owned(),
        Status::CutOff { release } => {
            format!(
                "the deployment of {release} was interrupted; no boot entry starts it: deploy it again, or punctual kernel rollback"
            )
        }
        Status::Deployed { release, reboot } => {
            format!("{release} is deployed; its trial boot: {}", punctual_model::Argv(reboot.clone()).line())
        }
        Status::OnTrial { release, left_s, is_verified } => {
            let verified = match is_verified {
                Some(true) => "verified: punctual kernel commit",
                Some(false) => "its verification did not pass",
                None => "not verified yet: punctual kernel verify",
            };
            format!("{release} is on trial, {left_s} s left; {verified}")
        }
        Status::Returned { release, why } => {
            format!("returned from {release}: {why}; punctual kernel rollback removes its files")
        }
        Status::Committed { release, is_running: true } => format!("{release} is committed and running"),
        Status::Committed { release, is_running: false } => {
            format!("{release} is committed; another kernel is running")
        }
        Status::Removing { release } => {
            format!("{release} is partly removed: punctual kernel rollback removes the rest")
        }
        Status::Unknown { why } => format!("not known: {why}"),
    };
    text + "\n"
}
