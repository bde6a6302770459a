//! Tests that change values of this machine's kernel, one at a time.

use serde_json::Value;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by each test: they change the same values. Puts them back whatever the test does.
pub struct Alone {
    _turn: MutexGuard<'static, ()>,
    files: &'static [&'static str],
    before: Vec<String>,
    /// For what the test writes; the journal of changes is `changes` in it.
    pub place: tempfile::TempDir,
}

impl Alone {
    /// The files these tests change; the first two are `dirty_background_ratio` and `dirty_ratio`. `None` where nothing may be
    /// changed, or what else is needed is not there: the test then says so and passes.
    pub fn holding(files: &'static [&'static str], may: fn() -> bool) -> Option<Alone> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read(files);
        if !rustix::process::geteuid().is_root() || std::fs::write(files[0], &before[0]).is_err() || !may() {
            eprintln!("not tested: values of the kernel may not be changed here, or there is no real-time policy");
            return None;
        }
        // What a rule wants must differ from what is there.
        std::fs::write(files[1], "20\n").unwrap();
        std::fs::write(files[0], "10\n").unwrap();
        Some(Alone { _turn: turn, files, before, place: tempfile::tempdir().unwrap() })
    }

    /// What the files hold.
    pub fn values(&self) -> Vec<String> {
        read(self.files)
    }

    /// The binary with a journal of its own.
    pub fn punctual(&self, words: &[&str]) -> Command {
        let mut command = super::punctual();
        command.env("PUNCTUAL_CHANGES", self.place.path().join("changes")).args(words);
        command
    }

    /// Exit code and document.
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
