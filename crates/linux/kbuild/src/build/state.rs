//! The purpose of a build folder and its progress: `punctual-build.json`.

use super::Job;
use crate::KbuildError;
use crate::files::{read_json, write_json};
use punctual_kernel::Arch;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "punctual-build.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Version of this format: 1.
    pub format: u32,
    pub tree: PathBuf,
    pub arch: Arch,
    /// Prefix of the cross compiler, up to but not including `gcc`.
    pub cross: Option<String>,
    /// The make target of the image.
    pub target: String,
    /// Date of the first build in seconds since 1970.
    pub epoch: u64,
    /// Checksum of the configuration with which the kernel is built.
    pub config_sha256: String,
    pub done: bool,
    /// Output of `uname -r`, once finished.
    pub release: Option<String>,
    /// Process group of the running make, and the start time of its leader (proc_pid_stat(5), field 22).
    pub running: Option<(i32, u64)>,
}

impl State {
    pub(super) fn open(job: &Job, config_sha256: &str) -> Result<State, KbuildError> {
        let new = State {
            format: 1,
            tree: job.tree.clone(),
            arch: job.arch,
            cross: job.cross.clone(),
            target: job.target.clone(),
            epoch: job.epoch,
            config_sha256: config_sha256.to_owned(),
            done: false,
            release: None,
            running: None,
        };
        let Some(old) = State::read(&job.out)? else { return Ok(new) };
        if (&old.tree, old.arch) != (&new.tree, new.arch) {
            let shown = |s: &State| format!("a build of {} for {}", s.tree.display(), s.arch.name());
            return Err(KbuildError::Taken { path: job.out.clone(), found: shown(&old), wanted: shown(&new) });
        }
        Ok(State { epoch: old.epoch, ..new })
    }

    /// Reads the state; `None` if nothing was built in this folder.
    pub fn read(out: &Path) -> Result<Option<State>, KbuildError> {
        read_json(&out.join(FILE))
    }

    /// Returns the release of a finished build.
    ///
    /// # Errors
    /// The release is missing; the package's file names contain it.
    pub(crate) fn named(&self, out: &Path) -> Result<&str, KbuildError> {
        // A slash or a leading dot would lead outside the folders of this name.
        let is_plain =
            |name: &&str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0', ' ', '\n']);
        self.release.as_deref().filter(is_plain).ok_or_else(|| KbuildError::Bad {
            path: out.join(FILE),
            why: format!(
                "it marks the build as finished, but {}: punctual kernel build --tree {} --out {} rewrites it",
                self.release.as_ref().map_or("names no release".to_owned(), |r| format!("names the release `{r}`")),
                self.tree.display(),
                out.display()
            ),
        })
    }

    pub(super) fn write(&self, out: &Path) -> Result<(), KbuildError> {
        write_json(&out.join(FILE), self)
    }
}

/// Returns the start time of a process in clock ticks since boot. It distinguishes the process from a later one with
/// the same PID.
pub(super) fn started(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Kills a leftover make that still holds the lock: SIGTERM, then SIGCONT in case it is stopped.
pub(super) fn end_of_before(out: &Path) -> Result<(), KbuildError> {
    let Some((pid, start)) = State::read(out)?.and_then(|state| state.running) else { return Ok(()) };
    let group = Pid::from_raw(pid).filter(|_| started(pid) == Some(start));
    for (group, signal) in
        group.into_iter().flat_map(|group| [Signal::TERM, Signal::CONT].map(|signal| (group, signal)))
    {
        // The process group may have ended in the meantime.
        let _ = rustix::process::kill_process_group(group, signal);
    }
    Ok(())
}
