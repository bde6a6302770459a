//! Plant after plant: record, let the victim run, inject, and write down what happened.

use crate::PlantError;
use crate::capture::{Recorder, TRACEFS};
use crate::child::{HIDDEN_ARG, IMPOSSIBLE};
use crate::config::Config;
use crate::kinds::Kind;
use crate::surroundings::Surroundings;
use crate::truth::Burst;
use crate::victim::Watched;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Wanted {
    pub cpus: (u32, u32),
    pub bursts: u32,
    /// Length of a burst, ns.
    pub length_ns: u64,
    /// Wakeups at least this late are late, ns.
    pub late_ns: u64,
    /// Of the pseudo-random lengths and phases.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted {
    pub bursts: usize,
    /// Wakeups of the victim that were late, by whatever cause.
    pub late: usize,
}

/// The victim's; so is the period.
const PRIORITY: u8 = 80;
const PERIOD_NS: u64 = 5_000_000;
/// From the first wakeups to the first burst, and from the last to the end of the recording.
const CALM: Duration = Duration::from_millis(60);

/// Injects one kind and leaves what happened in `folder`, which must exist.
///
/// # Errors
/// [`PlantError::Impossible`] if this machine cannot produce it. Changes to the machine are undone.
pub fn campaign(kind: &Kind, wanted: &Wanted, recorder: &Recorder, folder: &Path) -> Result<Planted, PlantError> {
    let mut config = Config {
        role: "victim".into(),
        cpu: wanted.cpus.0,
        other_cpu: wanted.cpus.1,
        priority: PRIORITY,
        period_ns: PERIOD_NS,
        late_ns: wanted.late_ns,
        victim_tid: 0,
        bursts: wanted.bursts,
        length_ns: wanted.length_ns,
        every_ns: wanted.length_ns * 3 / 2 + 50_000_000,
        seed: wanted.seed,
    };
    let before = Surroundings::read(TRACEFS);
    let mut victim = Running::start(&config)?;
    config.role = kind.name.into();
    config.victim_tid = victim.tid;
    // Plants calibrate while events are recorded, which takes time too.
    recorder.begin()?;
    let mut plant = Running::start(&config)?;
    recorder.begin()?;
    let mut facts = Surroundings::read(TRACEFS);
    plant.go();
    let bursts: Vec<Burst> = plant.result()?;
    sleep(CALM);
    recorder.end(&folder.join("trace.txt"))?;
    victim.go();
    let watched: Watched = victim.result()?;
    let after = Surroundings::read(TRACEFS);
    facts.throttled = after.throttled;
    facts.steal = after.steal.zip(before.steal).map(|(after, before)| after.saturating_sub(before));
    let planted = Planted { bursts: bursts.len(), late: watched.late.len() };
    write(folder, "truth.json", &bursts)?;
    write(folder, "victim.json", &watched)?;
    write(folder, "facts.json", &facts)?;
    Ok(planted)
}

fn write(folder: &Path, name: &str, value: &impl Serialize) -> Result<(), PlantError> {
    let text = serde_json::to_string(value).map_err(|e| PlantError::Child(e.to_string()))?;
    let path = folder.join(name);
    fs::write(&path, text).map_err(PlantError::at(format!("write {}", path.display())))
}

struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
    role: String,
    tid: i32,
}

impl Running {
    fn start(config: &Config) -> Result<Running, PlantError> {
        let own = std::env::current_exe().map_err(PlantError::at("find this program"))?;
        let json = serde_json::to_string(config).map_err(|e| PlantError::Child(e.to_string()))?;
        let mut command = Command::new(own);
        command.args([HIDDEN_ARG, &json]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(PlantError::at("start this program again"))?;
        let stdout = child.stdout.take().ok_or_else(|| PlantError::Child("no pipe to the child".into()))?;
        let mut running = Running { child, said: BufReader::new(stdout), role: config.role.clone(), tid: 0 };
        let mut line = String::new();
        running.said.read_line(&mut line).map_err(PlantError::at("read from the child"))?;
        match line.trim().strip_prefix("ready ").and_then(|tid| tid.parse().ok()) {
            Some(tid) => running.tid = tid,
            None => return Err(running.failed(line.trim())),
        }
        Ok(running)
    }

    /// Closes its standard input: the plant begins, the victim ends.
    fn go(&mut self) {
        drop(self.child.stdin.take());
    }

    fn result<T: DeserializeOwned>(&mut self) -> Result<T, PlantError> {
        let mut text = String::new();
        self.said.read_to_string(&mut text).map_err(PlantError::at("read from the child"))?;
        serde_json::from_str(text.trim()).map_err(|_| self.failed(text.trim()))
    }

    fn failed(&mut self, said: &str) -> PlantError {
        let code = self.child.wait().ok().and_then(|status| status.code());
        match code {
            Some(IMPOSSIBLE) => PlantError::Impossible(said.to_owned()),
            code => PlantError::Child(format!("`{}` ended with {code:?} and said `{said}`", self.role)),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It undoes its changes, so it is killed only if it hangs.
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
