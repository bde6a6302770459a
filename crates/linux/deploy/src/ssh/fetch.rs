//! Fetches a job's run: resumed if the link is cut, checked as a whole, unpacked under another name and renamed.

use super::link::{Link, Said, quoted};
use super::{Job, TRIES};
use crate::error::{DeployError, file};
use crate::{hash, programs};
use punctual_model::Argv;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Fetches the job's folder `run` as `to`, which must not exist.
///
/// # Errors
/// If there is none, the link stays cut, or it cannot be written here.
pub fn fetch(link: &Link, job: &Job, to: &Path) -> Result<(), DeployError> {
    let packed = format!("{}/run.tar", job.folder);
    let sum = link.output(&format!("cat {} 2> /dev/null || echo none", quoted(&format!("{}/sum", job.folder))))?;
    let sum = sum.split_whitespace().next().unwrap_or_default().to_owned();
    if sum == "none" {
        return Err(DeployError::Link(format!("{}: the command left no run", link.target)));
    }
    let above = to.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(above).map_err(file("make", above))?;
    let staging = tempfile::Builder::new()
        .prefix(".punctual-fetch-")
        .tempdir_in(above)
        .map_err(file("make a folder in", above))?;
    let part = staging.path().join("run.tar");
    receive(link, &packed, &sum, &part)?;
    let (from, folder) = (part.display().to_string(), staging.path().display().to_string());
    programs::run(&Argv::new(["tar", "--no-same-owner", "-xf", &from, "-C", &folder]))?;
    settle(&staging.path().join("run"), to)
}

fn receive(link: &Link, packed: &str, sum: &str, part: &PathBuf) -> Result<(), DeployError> {
    let (mut cuts, mut why) = (0, String::new());
    while cuts < TRIES {
        let have = fs::metadata(part).map_or(0, |meta| meta.len());
        let said = link.script(&format!("tail -c +{} {}", have + 1, quoted(packed)), None)?;
        match said {
            Said::Ended { code: 0, out, .. } => {
                let mut file_here = File::options().append(true).create(true).open(part).map_err(file("open", part))?;
                file_here.write_all(&out).and_then(|()| file_here.sync_all()).map_err(file("write", part))?;
                if hash::of_file(part)? == sum {
                    return Ok(());
                }
                why = "its sum was wrong".to_owned();
                fs::remove_file(part).map_err(file("remove", part))?;
            }
            Said::Ended { complaint, .. } => return Err(DeployError::Link(format!("{}: {complaint}", link.target))),
            Said::Cut(cut) => why = cut,
        }
        cuts += 1;
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(link.cut(&why))
}

fn settle(from: &Path, to: &Path) -> Result<(), DeployError> {
    if to.is_dir() {
        // The user may have made an empty folder.
        fs::remove_dir(to).map_err(file("replace", to))?;
    }
    fs::rename(from, to).map_err(file("rename", from))
}
