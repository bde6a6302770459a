//! Fetches the run directory of a job: resumes an interrupted transfer, verifies the whole archive, unpacks it under
//! another name and renames it.

use crate::child::Bounds;
use crate::error::RemoteError;
use crate::link::{Link, Said, TRANSFER_TIME, quoted};
use crate::{Job, TRIES, sum};
use punctual_archive::{Limits, unpack};
use punctual_directory::{Kind, Staging, Whose};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// Fetches the directory `run` of a job to `to`, which must be empty or not exist.
///
/// # Errors
/// The run does not exist, is too large or malformed, the target cannot be reached for too long, or the run cannot be
/// written. Nothing is left in `to`.
pub fn fetch(link: &Link, job: &Job, to: &Path) -> Result<(), RemoteError> {
    let packed = format!("{}/run.tar", job.folder);
    let sum = link.output(&format!("cat {} 2> /dev/null || echo none", quoted(&format!("{}/sum", job.folder))))?;
    let sum = sum.split_whitespace().next().unwrap_or_default().to_owned();
    if sum == "none" {
        return Err(RemoteError::Link(format!("{}: the command produced no run", link.target)));
    }
    let staging = Staging::create(to, Whose::Results)?;
    let mut part = staging.dir().create_new("run.tar")?;
    receive(link, &packed, &sum, &mut part)?;
    let unpacked = staging.dir().make_dir("unpacked")?;
    let refused = |source| RemoteError::Archive { target: link.target.to_string(), source };
    unpack(&mut part, &unpacked, Limits::RUN).map_err(refused)?;
    if unpacked.kind("run")? != Some(Kind::Directory) {
        return Err(RemoteError::Link(format!("{}: the archive has no folder `run`", link.target)));
    }
    Ok(staging.publish("unpacked/run")?)
}

/// Receives the archive into `part` and rewinds that file.
fn receive(link: &Link, packed: &str, wanted: &str, part: &mut File) -> Result<(), RemoteError> {
    let (mut cuts, mut why) = (0, String::new());
    while cuts < TRIES {
        let have = part.seek(SeekFrom::End(0)).map_err(here)?;
        let bounds = Bounds { bytes: Limits::RUN.packed().saturating_sub(have), time: TRANSFER_TIME };
        match link.script(&format!("tail -c +{} {}", have + 1, quoted(packed)), None, part, bounds)? {
            Said::Ended { code: 0, .. } => {
                part.rewind().map_err(here)?;
                let sum = sum::of(&mut *part).map_err(here)?;
                part.rewind().map_err(here)?;
                if sum == wanted {
                    return Ok(());
                }
                why = "wrong checksum".to_owned();
                part.set_len(0).map_err(here)?;
            }
            Said::Ended { complaint, .. } => return Err(RemoteError::Link(format!("{}: {complaint}", link.target))),
            Said::Cut(cut) => why = cut,
        }
        cuts += 1;
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(link.cut(&why))
}

fn here(source: io::Error) -> RemoteError {
    RemoteError::Here { source }
}
