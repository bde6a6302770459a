//! How a change is undone.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A trace instance is busy while anybody reads one of its files, as an audit does (`__remove_instance` in
/// kernel/trace/trace.c); nobody does so for longer.
const BUSY: Duration = Duration::from_secs(2);

/// One step of undoing. Doing it twice does no harm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "undo", rename_all = "snake_case")]
pub enum Undo {
    /// Removes an empty folder, or a trace instance, whose files go with it. That it is gone already is fine.
    RemoveFolder {
        /// Which.
        path: PathBuf,
    },
    /// Removes a file, or the link of that name. That it is gone already is fine.
    RemoveFile {
        /// Which.
        path: PathBuf,
    },
    /// Writes the old content back to a file that is still there.
    Write {
        /// Which.
        path: PathBuf,
        /// What stood in it.
        text: String,
    },
}

impl Undo {
    /// Does it.
    ///
    /// # Errors
    /// The system's.
    pub fn carry_out(&self) -> io::Result<()> {
        match self {
            Undo::RemoveFolder { path } => match remove_folder(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            },
            Undo::RemoveFile { path } => match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            },
            // Not created: a file that is gone had its meaning with it.
            Undo::Write { path, text } => {
                File::options().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
            }
        }
    }
}

fn remove_folder(path: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match fs::remove_dir(path) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && begun.elapsed() < BUSY => {
                sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undo::RemoveFolder { path } | Undo::RemoveFile { path } => write!(f, "remove {}", path.display()),
            Undo::Write { path, text } => write!(f, "write {:?} back to {}", text.trim_end(), path.display()),
        }
    }
}
