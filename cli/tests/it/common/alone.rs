//! Serializes tests that change kernel settings of this machine.

use serde_json::Value;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock held by each test, since all tests change the same settings. Dropping the lock restores the settings.
pub struct Alone {
    _turn: MutexGuard<'static, ()>,
    files: &'static [&'static str],
    before: Vec<String>,
    /// Directory for what the test writes. The journal of changes is the entry `changes` of this directory.
    pub place: tempfile::TempDir,
}

impl Alone {
    /// Takes the lock and stores the contents of the files that the tests change; the first two are
    /// `dirty_background_ratio` and `dirty_ratio`. Returns `None`, after printing a message, if they may not be changed
    /// or something else is missing; the test then passes.
    pub fn holding(files: &'static [&'static str], may: fn() -> bool) -> Option<Alone> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read(files);
        if !rustix::process::geteuid().is_root() || std::fs::write(files[0], &before[0]).is_err() || !may() {
            eprintln!("not tested: values of the kernel may not be changed here, or there is no real-time policy");
            return None;
        }
        // The rule's value must differ from the current one.
        std::fs::write(files[1], "20\n").unwrap();
        std::fs::write(files[0], "10\n").unwrap();
        Some(Alone { _turn: turn, files, before, place: tempfile::tempdir().unwrap() })
    }

    /// Returns the contents of the files that the tests change.
    pub fn values(&self) -> Vec<String> {
        read(self.files)
    }

    /// Returns the command for the binary with a journal of its own.
    pub fn punctual(&self, words: &[&str]) -> Command {
        let mut command = super::punctual();
        command.env("PUNCTUAL_CHANGES", self.place.path().join("changes")).args(words);
        command
    }

    pub fn json(&self, words: &[&str]) -> (i32, Value) {
        let output = self.punctual(words).arg("--json").output().unwrap();
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
        punctual_testing::schema::holds(&document);
        (output.status.code().unwrap(), document)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        for (path, value) in self.files.iter().zip(&self.before) {
            let _ = std::fs::write(path, value);
        }
    }
}

fn read(files: &[&str]) -> Vec<String> {
    files.iter().map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}
