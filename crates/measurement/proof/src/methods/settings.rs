//! Records, changes and restores the tracer settings that all instances share.

use crate::error::ProofError;
use punctual_journal::{Journal, Lease, Undo};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Changed settings. They are restored by [`Settings::restore`] or on drop, or after kill -9 when the program is
/// started again.
#[derive(Debug)]
pub(super) struct Settings(Option<Lease>);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    path: PathBuf,
    old: String,
    new: String,
}

impl Change {
    /// Plans to change `path` to `new`. `None` if it already has that value.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(path: PathBuf, new: String) -> Result<Option<Change>, ProofError> {
        let old = read(&path).map_err(|e| failed("read", &path, &e))?;
        let old = old.trim().to_owned();
        Ok((old != new).then_some(Change { path, old, new }))
    }

    /// Plans to change an option in a file that lists all options and marks disabled ones with the prefix `NO_`
    /// (osnoise/options). `None` if the option already has the wanted state, or the kernel does not have it.
    ///
    /// # Errors
    /// The file exists but cannot be read.
    pub fn option(path: PathBuf, name: &str, on: bool) -> Result<Option<Change>, ProofError> {
        let list = match read(&path) {
            Ok(list) => list,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed("read", &path, &e)),
        };
        let spelled = |on: bool| if on { name.to_owned() } else { format!("NO_{name}") };
        let has = |word: &str| list.split_whitespace().any(|w| w == word);
        Ok(has(&spelled(!on)).then(|| Change { path, old: spelled(!on), new: spelled(on) }))
    }
}

impl Settings {
    /// Makes the changes in order. Each is journalled before it is made.
    ///
    /// # Errors
    /// The journal cannot be written, or a change is refused. All changes were undone.
    pub fn change(journal: &Journal, changes: Vec<Change>) -> Result<Settings, ProofError> {
        if changes.is_empty() {
            return Ok(Settings(None));
        }
        let undo = |change: &Change| Undo::Write { path: change.path.clone(), text: change.old.clone() };
        let lease = journal
            .lease(changes.iter().map(undo).collect())
            .map_err(|e| ProofError::Environment(format!("{e}; nothing was changed")))?;
        // If a later step fails, dropping the lease restores the settings.
        for Change { path, new, .. } in &changes {
            write(path, new).map_err(|e| failed(&format!("write `{new}` to"), path, &e))?;
        }
        Ok(Settings(Some(lease)))
    }

    /// Restores the settings.
    ///
    /// # Errors
    /// Descriptions of what could not be restored.
    pub fn restore(&mut self) -> Result<(), Vec<String>> {
        self.0.take().map_or(Ok(()), Lease::give_back)
    }
}

/// Reads a file in one read(2). osnoise/cpus fails with EINVAL if the buffer is too small for the whole content, even
/// at the end of the file (osnoise_cpus_read()).
fn read(path: &Path) -> io::Result<String> {
    let mut room = vec![0; 32 << 10];
    let n = File::open(path)?.read(&mut room)?;
    room.truncate(n);
    Ok(String::from_utf8_lossy(&room).into_owned())
}

/// Writes to an existing file in one write(2).
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

pub(super) fn failed(what: &str, path: &Path, e: &io::Error) -> ProofError {
    let advice = if e.kind() == io::ErrorKind::PermissionDenied { "; run as root" } else { "" };
    ProofError::Environment(format!("cannot {what} {}: {e}{advice}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_changed_is_restored() {
        let home = tempfile::tempdir().unwrap();
        let (period, options) = (home.path().join("period"), home.path().join("options"));
        fs::write(&period, "1000\n").unwrap();
        fs::write(&options, "OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_IRQ_DISABLE\n").unwrap();
        assert_eq!(Change::of(period.clone(), "1000".into()).unwrap(), None);
        let one = Change::of(period.clone(), "200".into()).unwrap().unwrap();
        let two = Change::option(options.clone(), "OSNOISE_WORKLOAD", false).unwrap().unwrap();
        let mut held = Settings::change(&Journal::at(home.path().join("j")), vec![one, two]).unwrap();
        let text = |path| fs::read_to_string(path).unwrap();
        assert_eq!((text(&period).as_str(), text(&options).get(..19)), ("200", Some("NO_OSNOISE_WORKLOAD")));
        held.restore().unwrap();
        assert_eq!((text(&period).as_str(), text(&options).as_str()), ("1000", "OSNOISE_WORKLOAD"));
        assert_eq!(fs::read_dir(home.path().join("j")).unwrap().count(), 0);
    }

    #[test]
    fn an_option_that_is_not_there_or_right_is_no_change() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("options");
        assert_eq!(Change::option(path.clone(), "OSNOISE_WORKLOAD", true).unwrap(), None);
        fs::write(&path, "NO_PANIC_ON_STOP OSNOISE_WORKLOAD").unwrap();
        assert_eq!(Change::option(path.clone(), "OSNOISE_WORKLOAD", true).unwrap(), None);
        assert_eq!(Change::option(path.clone(), "TIMERLAT_ALIGN", true).unwrap(), None);
        assert!(Change::option(path, "PANIC_ON_STOP", true).unwrap().is_some());
    }

    #[test]
    fn a_refusal_puts_back_what_was_done() {
        let home = tempfile::tempdir().unwrap();
        let good = home.path().join("good");
        fs::write(&good, "1").unwrap();
        let bad = Change { path: home.path().join("no/such"), old: "1".into(), new: "2".into() };
        let one = Change::of(good.clone(), "2".into()).unwrap().unwrap();
        let error = Settings::change(&Journal::at(home.path().join("j")), vec![one, bad]).unwrap_err();
        assert!(error.to_string().contains("no/such"), "{error}");
        assert_eq!(fs::read_to_string(good).unwrap(), "1");
    }
}
