//! What is deployed, on disk before it is made: `/var/lib/punctual/deploy/record.json`, replaced whole; and beside it
//! `events.jsonl`, what happened in trial boots, a line each, only appended.

use crate::error::{DeployError, errno, file};
use crate::inventory::Inventory;
use rustix::fs::{OFlags, open};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Below the machine's root.
pub const FOLDER: &str = "var/lib/punctual/deploy";
const SCHEMA: &str = "punctual.deploy/1";

/// How far a deployment got. The record says so before it is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Files are being put into place: some may be there.
    Placing,
    /// All files are there; nothing boots them.
    Placed,
    /// The next boot tries it, or this one does, or it was tried.
    Armed,
    /// It boots by default.
    Committed,
    /// It is being taken away.
    Removing,
}

/// A kernel that was put beside another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `punctual.deploy/1`.
    pub schema: String,
    /// How far it got.
    pub stage: Stage,
    /// Stands on the command line of its trial boot: `punctual.trial=ID`.
    pub id: String,
    /// `uname -r` of it.
    pub release: String,
    /// `uname -v` of it, where the package says.
    pub version: Option<String>,
    /// Has it to be PREEMPT_RT?
    pub is_rt: bool,
    /// The package's sum.
    pub package: String,
    /// The boot in which it was put into place.
    pub boot_id: String,
    /// The kernel that ran then.
    pub old_release: String,
    /// Seconds after the start of the trial boot at which it is returned from, unless it was committed.
    pub limit_s: u64,
    /// Where its boot files are: `/boot/punctual/RELEASE`.
    pub boot_folder: PathBuf,
    /// As the loader names that folder, below the boot folder.
    pub folder: String,
    /// The image's name there; `None`: a record of before, whose image has the name of its loader's kind.
    #[serde(default)]
    pub image: Option<String>,
    /// The initramfs there.
    pub initrd: Option<String>,
    /// The folder of device trees there.
    pub trees: Option<String>,
    /// Words for its command line.
    pub add: Vec<String>,
    /// Folders that are wholly ours; none was there before.
    pub folders: Vec<PathBuf>,
    /// Files beside them that are ours; none was there before: mkinitramfs(8) wants `/boot/config-RELEASE`.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Folders above them that were made, and go when they are empty.
    pub parents: Vec<PathBuf>,
    /// The devices before.
    pub inventory: Inventory,
    /// The interface of the default route before.
    pub route: Option<String>,
    /// What boots the trial.
    pub reboot: Vec<String>,
    /// Does a failed boot return without anybody at the machine?
    pub unattended: bool,
    /// The driver of the watchdog that is armed in the trial.
    pub watchdog: Option<String>,
    /// The one that was committed before and still boots by default.
    pub before: Option<Box<Record>>,
}

/// What happened in a trial boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The deployment.
    pub id: String,
    /// The boot.
    pub boot_id: String,
    /// Seconds since that boot.
    pub uptime_s: u64,
    /// What.
    pub what: What,
    /// In words.
    #[serde(default)]
    pub detail: String,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The guard runs.
    Up,
    /// Every check passed.
    Verified,
    /// A check failed, or could not be made.
    NotVerified,
    /// The guard returns: its time was over.
    Late,
}

/// The folder of a machine's record; the machine's root is `/`, or for tests a folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Of this machine.
    pub fn of(root: &Path) -> Store {
        Store { folder: root.join(FOLDER) }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The record; `None` where nothing is deployed.
    ///
    /// # Errors
    /// It cannot be read, or is another version's.
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
            false => Err(bad(format!("its schema is `{}`, this program knows {SCHEMA}", record.schema))),
        }
    }

    /// Replaces the record, on disk when this returns.
    ///
    /// # Errors
    /// It cannot be written; the old one is whole.
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

    /// Takes record, events and everything beside them away.
    ///
    /// # Errors
    /// Something stays.
    pub fn clear(&self) -> Result<(), DeployError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file("remove", &self.folder)(error)),
            _ => Ok(()),
        }
    }

    /// Appends an event, on disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn tell(&self, event: &Event) -> Result<(), DeployError> {
        let path = self.folder.join("events.jsonl");
        let mut line = serde_json::to_string(event)
            .map_err(|error| DeployError::Record { path: path.clone(), what: error.to_string() })?;
        line.push('\n');
        let mut log = File::options().append(true).create(true).open(&path).map_err(file("open", &path))?;
        log.write_all(line.as_bytes()).and_then(|()| log.sync_all()).map_err(file("write", &path))
    }

    /// The events of a deployment; lines that a cut left half are left out.
    ///
    /// # Errors
    /// They cannot be read.
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

/// For this user alone: what lies there is run as root in the trial.
fn make_private(folder: &Path) -> Result<(), DeployError> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(file("make", folder))
}

/// Makes names in a folder last.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), DeployError> {
    let fd =
        open(folder, OFlags::DIRECTORY | OFlags::RDONLY, rustix::fs::Mode::empty()).map_err(errno("open", folder))?;
    rustix::fs::fsync(&fd).map_err(errno("sync", folder))
}
