//! What a build folder is for, and its progress: `punctual-build.json`.

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
    /// Prefix up to `gcc`.
    pub cross: Option<String>,
    /// make's target of the image.
    pub target: String,
    /// Of the first build: seconds since 1970.
    pub epoch: u64,
    /// Of the configuration that is built.
    pub config_sha256: String,
    pub done: bool,
    /// `uname -r`, if finished.
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

    /// `None`: nothing was built in this folder.
    pub fn read(out: &Path) -> Result<Option<State>, KbuildError> {
        read_json(&out.join(FILE))
    }

    /// `uname -r` of a finished build.
    ///
    /// # Errors
    /// If it is missing: the package's file names contain it.
    pub(crate) fn named(&self, out: &Path) -> Result<&str, KbuildError> {
        // A slash or a leading dot would lead out of folders with this name.
        let is_plain =
            |name: &&str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0', ' ', '\n']);
        self.release.as_deref().filter(is_plain).ok_or_else(|| KbuildError::Bad {
            path: out.join(FILE),
            why: format!(
                "it says that the build is done and {}: punctual kernel build --tree {} --out {} writes it anew",
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

/// The start of a process, clock ticks since boot; distinguishes it from a later one with the same number.
pub(super) fn started(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// A make that survived, perhaps paused, holds the lock: it is terminated, and continued so that it can end.
pub(super) fn end_of_before(out: &Path) -> Result<(), KbuildError> {
    let Some((pid, start)) = State::read(out)?.and_then(|state| state.running) else { return Ok(()) };
    let group = Pid::from_raw(pid).filter(|_| started(pid) == Some(start));
    for (group, signal) in
        group.into_iter().flat_map(|group| [Signal::TERM, Signal::CONT].map(|signal| (group, signal)))
    {
        // It may have ended in the meantime.
        let _ = rustix::process::kill_process_group(group, signal);
    }
    Ok(())
}
