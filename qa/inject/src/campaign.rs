//! Injects one kind of delay at a time: starts the recording and the victim, injects delays, and records what happened.

use crate::InjectError;
use crate::capture::{Recorder, TRACEFS};
use crate::child::{HIDDEN_ARG, IMPOSSIBLE};
use crate::config::{Config, PRIORITY, Wanted};
use crate::kinds::Kind;
use crate::surroundings::Surroundings;
use crate::thread::now;
use crate::truth::Burst;
use crate::undo::unlimited;
use crate::victim::Watched;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    pub bursts: usize,
    /// Number of late wakeups of the victim, whatever caused them.
    pub late: usize,
}

/// Time from the first wakeups to the first burst, and from the last burst to the end of the recording, ns.
const SECOND_NS: u64 = 1_000_000_000;
const CALM: Duration = Duration::from_millis(60);

/// Injects one kind of delay and writes a record of what happened to `folder`, which must exist.
///
/// # Errors
/// [`InjectError::Impossible`] if this machine cannot produce the delay. Changes to the machine are undone.
pub fn campaign(kind: &Kind, wanted: &Wanted, recorder: &Recorder, folder: &Path) -> Result<Injected, InjectError> {
    let mut config = Config { role: "victim".into(), ..Config::new(kind.name, kind.victim, wanted) };
    let _unlimited = if kind.victim.is_deadline() { Some(unlimited()?) } else { None };
    let before = Surroundings::read(TRACEFS);
    let mut victim = Running::start(&config)?;
    config.role = kind.name.into();
    config.victim_tid = victim.tid;
    // Injections calibrate while events are being recorded, because recording takes time too.
    recorder.begin()?;
    let mut injection = Running::start(&config)?;
    recorder.begin()?;
    let begun = now();
    let mut facts = Surroundings::read(TRACEFS);
    injection.go();
    let mut bursts: Vec<Burst> = injection.result()?;
    sleep(CALM);
    let ended = now();
    recorder.end(&folder.join("trace.txt"))?;
    victim.go();
    let mut watched: Watched = victim.result()?;
    watched.late.retain(|late| late.release_ns >= begun && late.woke_ns <= ended);
    bursts.append(&mut watched.bursts);
    let after = Surroundings::read(TRACEFS);
    facts.throttled = after.throttled;
    facts.steal = after.steal.zip(before.steal).map(|(after, before)| after.saturating_sub(before));
    let injected = Injected { bursts: bursts.len(), late: watched.late.len() };
    write(folder, "truth.json", &bursts)?;
    write(folder, "victim.json", &watched)?;
    write(folder, "facts.json", &facts)?;
    Ok(injected)
}

/// Returns true if rtla has started its tracer, which it does some time after timerlat's threads have been created.
fn measures() -> bool {
    let reads = |file: &str, text: &str| {
        let read = fs::read_to_string(format!("{TRACEFS}/instances/timerlat_top/{file}"));
        read.is_ok_and(|read| read.trim() == text)
    };
    reads("current_tracer", "timerlat") && reads("tracing_on", "1")
}

/// Injects one burst while `rtla timerlat` measures the victim's CPU. Records in `folder`, which must exist, what both
/// found: `trace.txt`, `truth.json`, `facts.json`, and `rtla.txt`, which contains rtla's auto-analysis if the burst
/// made it stop.
///
/// # Errors
/// [`InjectError`]: as for [`campaign`]; or `rtla` cannot be started.
pub fn beside_rtla(
    kind: &Kind,
    wanted: &Wanted,
    recorder: &Recorder,
    folder: &Path,
    rtla: &Path,
) -> Result<(), InjectError> {
    let config = Config::new(kind.name, kind.victim, &Wanted { bursts: 1, ..wanted.clone() });
    // Injections calibrate before they are ready.
    let mut injection = Running::start(&config)?;
    let (late_us, cpu) = ((wanted.late_ns / 1000).to_string(), wanted.cpus.0.to_string());
    let priority = format!("f:{PRIORITY}");
    let said = File::create(folder.join("rtla.txt")).map_err(InjectError::at("make rtla.txt"))?;
    let mut command = Command::new(rtla);
    // Uses a kernel thread, like versions of rtla that support no other, and stops at a latency of this many µs.
    command.args(["timerlat", "top", "-q", "-k", "-p", "1000", "-d", "60s", "-P", &priority]);
    command.args(["-c", &cpu, "-a", &late_us]).current_dir(folder).stdin(Stdio::null());
    let said_too = said.try_clone().map_err(InjectError::at("write rtla.txt"))?;
    let rtla = command.stdout(said).stderr(said_too).spawn().map_err(InjectError::at("start rtla"))?;
    let mut rtla = Stopped(rtla);
    let begun = now();
    while !measures() && now() < begun + 30 * SECOND_NS {
        sleep(CALM);
    }
    sleep(Duration::from_secs(2));
    recorder.begin()?;
    let facts = Surroundings::read(TRACEFS);
    injection.go();
    let bursts: Vec<Burst> = injection.result()?;
    sleep(CALM);
    recorder.end(&folder.join("trace.txt"))?;
    // rtla analyses what made it stop.
    let end = now() + 20 * SECOND_NS;
    while now() < end && matches!(rtla.0.try_wait(), Ok(None)) {
        sleep(CALM);
    }
    // Removes rtla's own trace of the same burst.
    let _ = fs::remove_file(folder.join("timerlat_trace.txt"));
    write(folder, "truth.json", &bursts)?;
    write(folder, "facts.json", &facts)
}

/// A process that is interrupted on drop, so that rtla restores the tracer.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        if let (Ok(None), Ok(pid)) = (self.0.try_wait(), i32::try_from(self.0.id())) {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::INT));
        }
        let _ = self.0.wait();
    }
}

pub(crate) fn write(folder: &Path, name: &str, value: &impl Serialize) -> Result<(), InjectError> {
    let text = serde_json::to_string(value).map_err(|e| InjectError::Child(e.to_string()))?;
    let path = folder.join(name);
    fs::write(&path, text).map_err(InjectError::at(format!("write {}", path.display())))
}

pub(crate) struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
    role: String,
    tid: i32,
}

impl Running {
    pub(crate) fn start(config: &Config) -> Result<Running, InjectError> {
        let own = std::env::current_exe().map_err(InjectError::at("find this program"))?;
        let json = serde_json::to_string(config).map_err(|e| InjectError::Child(e.to_string()))?;
        let mut command = Command::new(own);
        command.args([HIDDEN_ARG, &json]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(InjectError::at("start this program again"))?;
        let stdout = child.stdout.take().ok_or_else(|| InjectError::Child("no pipe to the child".into()))?;
        let mut running = Running { child, said: BufReader::new(stdout), role: config.role.clone(), tid: 0 };
        let mut line = String::new();
        running.said.read_line(&mut line).map_err(InjectError::at("read from the child"))?;
        match line.trim().strip_prefix("ready ").and_then(|tid| tid.parse().ok()) {
            Some(tid) => running.tid = tid,
            None => return Err(running.failed(line.trim())),
        }
        Ok(running)
    }

    /// Closes the process's standard input, which starts an injection or ends the victim.
    pub(crate) fn go(&mut self) {
        drop(self.child.stdin.take());
    }

    pub(crate) fn result<T: DeserializeOwned>(&mut self) -> Result<T, InjectError> {
        let mut text = String::new();
        self.said.read_to_string(&mut text).map_err(InjectError::at("read from the child"))?;
        serde_json::from_str(text.trim()).map_err(|_| self.failed(text.trim()))
    }

    fn failed(&mut self, said: &str) -> InjectError {
        let code = self.child.wait().ok().and_then(|status| status.code());
        match code {
            Some(IMPOSSIBLE) => InjectError::Impossible(said.to_owned()),
            code => InjectError::Child(format!("`{}` ended with {code:?}: `{said}`", self.role)),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // rtla undoes its changes at the end, so it is killed only if it hangs.
        for _ in 0..300 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
