//! `cargo trials attack`: tests whether another user can redirect root's writes.

mod injected;
mod picture;
mod swaps;

use picture::Picture;
use punctual_uapi::Identity;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Let another user try to redirect what root writes below that user's folder; nothing outside it may change
/// (docs/security.md)
///
/// Needs root and tracefs. Symbolic and hard links are put at the names of results before, while and after these are
/// created, and folders above them are replaced by links as fast as possible.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// Minimum number of times that each directory is swapped with a link
    #[arg(long, value_name = "N", default_value_t = 1000)]
    swaps: u64,
    /// Minimum number of runs that are attacked in each way
    #[arg(long, value_name = "N", default_value_t = 4)]
    runs: u64,
}

/// User ID of the attacker, which no user of the machine should have.
pub(crate) const ATTACKER: u32 = 61_234;

/// A folder that belongs to the attacker, and next to it files that must not change.
pub(crate) struct Field {
    place: tempfile::TempDir,
    punctual: PathBuf,
    before: Picture,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("it acts as root and as another user: run it as root".into());
    }
    let field = Field::new(&wanted.punctual)?;
    println!("{}", injected::run(&field)?);
    println!("{}", swaps::runs(&field, wanted.swaps, wanted.runs)?);
    println!("{}", swaps::files(&field, wanted.swaps)?);
    Ok(())
}

impl Field {
    fn new(punctual: &Path) -> Result<Field, String> {
        let place = tempfile::Builder::new().prefix("punctual-attack-").tempdir().map_err(|e| e.to_string())?;
        let at = |name: &str| place.path().join(name);
        for folder in ["", "home", "victim", "victim/hist/1-idle", "victim/traces", "victim/segments", "victim/machine"]
        {
            fs::create_dir_all(at(folder)).map_err(|e| format!("{folder}: {e}"))?;
        }
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(place.path(), mode).map_err(|e| e.to_string())?;
        std::os::unix::fs::chown(at("home"), Some(ATTACKER), Some(ATTACKER)).map_err(|e| e.to_string())?;
        for name in TARGETS {
            fs::write(at("victim").join(name), "kept\n").map_err(|e| format!("{name}: {e}"))?;
        }
        let before = Picture::of(&at("victim"))?;
        Ok(Field { place, punctual: punctual.to_owned(), before })
    }

    pub fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    pub fn victim(&self) -> PathBuf {
        self.place.path().join("victim")
    }

    /// Runs `punctual` as root, called through sudo by the attacker.
    pub fn sudo(&self, words: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(&self.punctual);
        command.args(words).env("SUDO_UID", ATTACKER.to_string()).current_dir("/").stdin(Stdio::null());
        command.output().map_err(|e| crate::built::missing(&self.punctual, &e))
    }

    /// Runs `punctual` as root without sudo.
    pub fn root(&self, words: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(&self.punctual);
        command.args(words).env_remove("SUDO_UID").current_dir("/").stdin(Stdio::null());
        command.output().map_err(|e| crate::built::missing(&self.punctual, &e))
    }

    /// Checks that everything outside the attacker's folder is unchanged.
    ///
    /// # Errors
    /// A description of the changes, after `what`.
    pub fn is_untouched(&self, what: &str) -> Result<(), String> {
        let after = Picture::of(&self.victim())?;
        let changed = self.before.changed(&after);
        let beside = fs::read_dir(self.place.path()).map_err(|e| e.to_string())?.count();
        match changed.is_empty() && beside == 2 {
            true => Ok(()),
            false => Err(format!("{what}: changed outside: {changed:?}; {beside} entries, 2 expected")),
        }
    }
}

/// Names of results, which are also names of the victim's files.
pub(crate) const TARGETS: [&str; 13] = [
    "run.json",
    "manifest.json",
    "report.html",
    "worst.jsonl",
    "events.jsonl",
    "maxima.jsonl",
    "causes.jsonl",
    "reserve",
    "secret",
    "hist/1-idle/0.json",
    "segments/000001.log",
    "machine/before.json",
    "traces/1-idle-1.dat",
];

/// Makes the calling thread access files as the attacker until the result is dropped.
pub(crate) fn attacker() -> Result<punctual_uapi::Assumed, String> {
    Identity { uid: ATTACKER, gid: ATTACKER, groups: Vec::new() }.assume().map_err(|e| e.to_string())
}
