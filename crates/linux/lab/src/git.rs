use crate::error::LabError;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Git {
    folder: PathBuf,
}

impl Git {
    pub fn at(folder: &Path) -> Git {
        Git { folder: folder.to_owned() }
    }

    pub fn run(&self, words: &[&str]) -> Result<String, LabError> {
        let (ok, text) = self.ask(words)?;
        match ok {
            true => Ok(text),
            false => Err(LabError::Git { what: words.join(" "), said: text.trim().to_owned() }),
        }
    }

    /// Like [`Git::run`], for commands whose non-zero exit code is a result and not an error.
    pub fn ask(&self, words: &[&str]) -> Result<(bool, String), LabError> {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.folder).args(words).env("LC_ALL", "C").stdin(std::process::Stdio::null());
        let output = punctual_watchdog::output(&mut git, punctual_watchdog::PROGRAMS);
        let output = output.map_err(LabError::file("run", "git"))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok((output.status.success(), text))
    }

    pub fn commit(&self, name: &str) -> Result<String, LabError> {
        let full = self.run(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
        full.map(|text| text.trim().to_owned())
            .map_err(|_| LabError::Usage(format!("{} has no commit `{name}`: see git log", self.folder.display())))
    }

    pub fn subject(&self, commit: &str) -> Result<String, LabError> {
        self.run(&["log", "-1", "--format=%s", commit]).map(|text| text.trim().to_owned())
    }

    pub fn is_bisecting(&self) -> bool {
        self.ask(&["bisect", "log"]).is_ok_and(|(ok, _)| ok)
    }
}
