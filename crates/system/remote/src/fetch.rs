//! Fetches a job's run: resumed if the link is cut, checked as a whole, unpacked under another name and renamed.

use crate::error::{RemoteError, file};
use crate::link::{Link, Said, quoted};
use crate::{Job, TRIES, sum};
use punctual_model::Argv;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FOLDERS: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";

/// Fetches the job's folder `run` as `to`, which must not exist.
///
/// # Errors
/// If there is none, the link stays cut, or it cannot be written here.
pub fn fetch(link: &Link, job: &Job, to: &Path) -> Result<(), RemoteError> {
    let packed = format!("{}/run.tar", job.folder);
    let sum = link.output(&format!("cat {} 2> /dev/null || echo none", quoted(&format!("{}/sum", job.folder))))?;
    let sum = sum.split_whitespace().next().unwrap_or_default().to_owned();
    if sum == "none" {
        return Err(RemoteError::Link(format!("{}: the command left no run", link.target)));
    }
    let above = to.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(above).map_err(file("make", above))?;
    let staging = tempfile::Builder::new()
        .prefix(".punctual-fetch-")
        .tempdir_in(above)
        .map_err(file("make a folder in", above))?;
    let part = staging.path().join("run.tar");
    receive(link, &packed, &sum, &part)?;
    unpack(&part, staging.path())?;
    settle(&staging.path().join("run"), to)
}

fn receive(link: &Link, packed: &str, wanted: &str, part: &Path) -> Result<(), RemoteError> {
    let (mut cuts, mut why) = (0, String::new());
    while cuts < TRIES {
        let have = fs::metadata(part).map_or(0, |meta| meta.len());
        let said = link.script(&format!("tail -c +{} {}", have + 1, quoted(packed)), None)?;
        match said {
            Said::Ended { code: 0, out, .. } => {
                let mut file_here = File::options().append(true).create(true).open(part).map_err(file("open", part))?;
                file_here.write_all(&out).and_then(|()| file_here.sync_all()).map_err(file("write", part))?;
                if sum::of_file(part)? == wanted {
                    return Ok(());
                }
                why = "its sum was wrong".to_owned();
                fs::remove_file(part).map_err(file("remove", part))?;
            }
            Said::Ended { complaint, .. } => return Err(RemoteError::Link(format!("{}: {complaint}", link.target))),
            Said::Cut(cut) => why = cut,
        }
        cuts += 1;
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(link.cut(&why))
}

/// By tar(1), which is looked for where the system has its programs: this may run as root.
fn unpack(packed: &Path, into: &Path) -> Result<(), RemoteError> {
    let (packed, into) = (packed.display().to_string(), into.display().to_string());
    let argv = Argv::new(["tar", "--no-same-owner", "-xf", &packed, "-C", &into]);
    let failed = |what: String| RemoteError::Program { command: argv.line(), what };
    let mut tar = Command::new("tar");
    tar.args(argv.0.iter().skip(1)).env("PATH", FOLDERS).env("LC_ALL", "C").stdin(Stdio::null());
    let done = tar.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed("it is not installed: apt-get install the package of tar".to_owned()),
        _ => failed(error.to_string()),
    })?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let lines: Vec<&str> = said.trim().lines().collect();
            let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default();
            Err(failed(format!("{}: {}", done.status, last.join(" / "))))
        }
    }
}

fn settle(from: &Path, to: &Path) -> Result<(), RemoteError> {
    if to.is_dir() {
        // The user may have made an empty folder.
        fs::remove_dir(to).map_err(file("replace", to))?;
    }
    fs::rename(from, to).map_err(file("rename", from))
}
