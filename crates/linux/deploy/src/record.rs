//! The deployment, saved before it is carried out: `/var/lib/punctual/deploy/record.json`, replaced atomically. Next to
//! it, `events.jsonl` has one line per event of trial boots.

use crate::error::{DeployError, errno, file};
use crate::inventory::Inventory;
use rustix::fs::{OFlags, open};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder of the record, relative to the machine's root.
pub const FOLDER: &str = "var/lib/punctual/deploy";
const SCHEMA: &str = "punctual.deploy/1";

/// The progress of a deployment, recorded before each stage begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The kernel's files are being copied; some of them may exist.
    Placing,
    /// All files exist, but no boot entry refers to them.
    Placed,
    /// The kernel will be tried in the next boot, is being tried in the current boot, or was tried.
    Armed,
    /// The deployed kernel is the default.
    Committed,
    Removing,
}

/// A kernel deployed beside another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub schema: String,
    pub stage: Stage,
    /// Identifies the trial boot on its command line: `punctual.trial=ID`.
    pub id: String,
    /// Output of `uname -r`.
    pub release: String,
    /// Output of `uname -v`, if the package states it.
    pub version: Option<String>,
    pub is_rt: bool,
    pub package: String,
    /// Boot ID at the time when the kernel was copied.
    pub boot_id: String,
    /// The kernel that was running when this one was copied.
    pub old_release: String,
    /// Time in seconds from the start of the trial boot after which the guard returns to the old kernel, unless the
    /// trial has been committed.
    pub limit_s: u64,
    /// The folder of the kernel's boot files: `/boot/punctual/RELEASE`.
    pub boot_folder: PathBuf,
    /// The folder of the boot files as the loader names it, relative to the boot folder.
    pub folder: String,
    /// Name of the kernel image in `boot_folder`; `None` in an old record, whose image has the loader's default name.
    #[serde(default)]
    pub image: Option<String>,
    /// Name of the initramfs in `boot_folder`.
    pub initrd: Option<String>,
    /// Name of the folder of device trees in `boot_folder`.
    pub trees: Option<String>,
    pub add: Vec<String>,
    /// Folders created by the deployment; none existed before.
    pub folders: Vec<PathBuf>,
    /// Files created outside those folders; none existed before: mkinitramfs(8) reads `/boot/config-RELEASE`.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Parent folders that were created; removed when empty.
    pub parents: Vec<PathBuf>,
    /// The devices found before the deployment.
    pub inventory: Inventory,
    /// The interface of the default route before the deployment.
    pub route: Option<String>,
    /// The command that boots the trial.
    pub reboot: Vec<String>,
    /// True if a failed boot returns to the old kernel without anyone at the machine.
    pub unattended: bool,
    /// The watchdog driver armed in the trial.
    pub watchdog: Option<String>,
    /// The kernel that was committed before and is still the default.
    pub before: Option<Box<Record>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub id: String,
    pub boot_id: String,
    /// Time since boot in seconds.
    pub uptime_s: u64,
    pub what: What,
    #[serde(default)]
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    Up,
    Verified,
    NotVerified,
    /// The guard returns to the old kernel because the time limit has passed.
    Late,
}

/// The folder of a machine's record; tests use a temporary folder as the machine's root.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    pub fn of(root: &Path) -> Store {
        Store { folder: root.join(FOLDER) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the record; `None` if nothing is deployed.
    ///
    /// # Errors
    /// The record cannot be read or was written by another version.
    pub fn load(&self) -> Result<Option<Record>, DeployError> {
        let path = self.folder.join("record.json");
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(file("read", &path))?,
        };
        let bad = |what: String| DeployError::Record { path: path.clone(), what };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        match record.schema == SCHEMA {
            true => Ok(Some(record)),
            false => Err(bad(format!("its schema is `{}`, this program supports {SCHEMA}", record.schema))),
        }
    }

    /// Replaces the record. When this returns, the new record is on disk.
    ///
    /// # Errors
    /// The record cannot be written; the old one stays intact.
    pub fn save(&self, record: &Record) -> Result<(), DeployError> {
        make_private(&self.folder)?;
        let record = Record { schema: SCHEMA.to_owned(), ..record.clone() };
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|error| DeployError::Record { path: self.folder.clone(), what: error.to_string() })?;
        let (path, aside) = (self.folder.join("record.json"), self.folder.join("record.json.new"));
        let mut new = File::create(&aside).map_err(file("make", &aside))?;
        new.write_all(&text).and_then(|()| new.sync_all()).map_err(file("write", &aside))?;
        fs::rename(&aside, &path).map_err(file("rename", &aside))?;
        sync_folder(&self.folder)
    }

    pub fn clear(&self) -> Result<(), DeployError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file("remove", &self.folder)(error)),
            _ => Ok(()),
        }
    }

    /// Appends an event. When this returns, the event is on disk.
    pub fn append(&self, event: &Event) -> Result<(), DeployError> {
        let path = self.folder.join("events.jsonl");
        let mut line = serde_json::to_string(event)
            .map_err(|error| DeployError::Record { path: path.clone(), what: error.to_string() })?;
        line.push('\n');
        let mut log = File::options().append(true).create(true).open(&path).map_err(file("open", &path))?;
        log.write_all(line.as_bytes()).and_then(|()| log.sync_all()).map_err(file("write", &path))
    }

    /// Returns the events of a deployment; truncated lines are skipped.
    pub fn events(&self, id: &str) -> Result<Vec<Event>, DeployError> {
        let path = self.folder.join("events.jsonl");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(file("read", &path))?,
        };
        let whole = text.lines().filter_map(|line| serde_json::from_str::<Event>(line).ok());
        Ok(whole.filter(|event| event.id == id).collect())
    }
}

/// Makes the folder accessible to this user only, because the trial runs files from it as root.
fn make_private(folder: &Path) -> Result<(), DeployError> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(file("make", folder))
}

/// Syncs a folder, so that the names in it survive a power failure.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), DeployError> {
    let fd =
        open(folder, OFlags::DIRECTORY | OFlags::RDONLY, rustix::fs::Mode::empty()).map_err(errno("open", folder))?;
    rustix::fs::fsync(&fd).map_err(errno("sync", folder))
}
