use crate::tracefs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time for retries. A trace instance is busy while a process reads one of its files, for example during an
/// audit (`__remove_instance` in kernel/trace/trace.c). Such a read takes less time than this.
const BUSY: Duration = Duration::from_secs(2);

/// One undo step. It may be carried out more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "undo", rename_all = "snake_case")]
pub enum Undo {
    /// Removes an empty directory, or a trace instance with its files. It is not an error if it does not exist.
    RemoveFolder { path: PathBuf },
    /// Removes a file or symbolic link. It is not an error if it does not exist.
    RemoveFile { path: PathBuf },
    /// Writes the old content back to an existing file.
    Write { path: PathBuf, text: String },
    /// Like [`Undo::RemoveFolder`], for a path in tracefs, which is located when the step is carried out.
    RemoveInTracefs {
        /// Path relative to the root of tracefs.
        path: PathBuf,
    },
    /// Like [`Undo::Write`], for a path in tracefs, which is located when the step is carried out.
    WriteInTracefs {
        /// Path relative to the root of tracefs.
        path: PathBuf,
        text: String,
    },
    /// Removes the definition of the uprobe `GROUP/EVENT` from tracefs. It is not an error if it does not exist.
    RemoveUprobe { name: String },
}

impl Undo {
    /// Carries out the step.
    ///
    /// # Errors
    /// The error of the system call. If a trace instance is busy, the call is retried for up to 2 s.
    pub fn carry_out(&self) -> io::Result<()> {
        match self {
            Undo::RemoveFolder { path } => gone(remove_folder(path)),
            Undo::RemoveInTracefs { path } => gone(remove_folder(&tracefs::root()?.join(path))),
            Undo::RemoveFile { path } => gone(fs::remove_file(path)),
            Undo::Write { path, text } => write(path, text),
            Undo::WriteInTracefs { path, text } => write(&tracefs::root()?.join(path), text),
            Undo::RemoveUprobe { name } => remove_uprobe(&tracefs::root()?, name),
        }
    }

    /// Makes the step usable by other processes: paths beneath `own`, the root of this process's private tracefs mount,
    /// become relative to tracefs.
    pub(crate) fn for_all(self, own: Option<&Path>) -> Undo {
        let inside = |path: &Path| Some(path.strip_prefix(own?).ok()?.to_owned());
        match self {
            Undo::RemoveFolder { path } => match inside(&path) {
                Some(path) => Undo::RemoveInTracefs { path },
                None => Undo::RemoveFolder { path },
            },
            Undo::Write { path, text } => match inside(&path) {
                Some(path) => Undo::WriteInTracefs { path, text },
                None => Undo::Write { path, text },
            },
            other => other,
        }
    }
}

/// Turns the error that a file does not exist into success.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Writes `text` to an existing file. It is an error if the file is missing; it is not created.
fn write(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// Removes one uprobe by appending the line `-:GROUP/EVENT` to uprobe_events (Documentation/trace/uprobetracer.rst);
/// truncating the file would remove all uprobes. A uprobe is busy while its event is open.
fn remove_uprobe(root: &Path, name: &str) -> io::Result<()> {
    if !root.join("events").join(name).exists() {
        return Ok(());
    }
    let begun = Instant::now();
    loop {
        let mut file = File::options().append(true).open(root.join("uprobe_events"))?;
        match file.write_all(format!("-:{name}\n").as_bytes()) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && begun.elapsed() < BUSY => {
                sleep(Duration::from_millis(20));
            }
            result => return gone(result),
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
            Undo::RemoveInTracefs { path } => write!(f, "remove {} in tracefs", path.display()),
            Undo::RemoveUprobe { name } => write!(f, "remove the uprobe {name} in tracefs"),
            Undo::WriteInTracefs { path, text } => {
                write!(f, "write {:?} back to {} in tracefs", text.trim_end(), path.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_the_own_mount_is_written_down_by_its_name_in_tracefs() {
        let own = Some(Path::new("/proc/7/fd/5"));
        let remove = |path: &str| Undo::RemoveFolder { path: path.into() }.for_all(own);
        assert_eq!(
            remove("/proc/7/fd/5/instances/punctual-7"),
            Undo::RemoveInTracefs { path: "instances/punctual-7".into() }
        );
        let elsewhere = "/proc/7/fd/51/instances/punctual-7";
        assert_eq!(remove(elsewhere), Undo::RemoveFolder { path: elsewhere.into() });
        let write = Undo::Write { path: "/proc/7/fd/5/osnoise/cpus".into(), text: "0-3".into() };
        assert_eq!(write.clone().for_all(None), write);
        let named = write.for_all(own);
        assert_eq!(named, Undo::WriteInTracefs { path: "osnoise/cpus".into(), text: "0-3".into() });
        let json = serde_json::to_string(&named).unwrap();
        assert_eq!(json, r#"{"undo":"write_in_tracefs","path":"osnoise/cpus","text":"0-3"}"#);
        assert_eq!(named.to_string(), "write \"0-3\" back to osnoise/cpus in tracefs");
    }
}
