//! Downloads one file with curl(1) or wget(1), resuming partial files.

use crate::KbuildError;
use crate::files::make_folder;
use punctual_kernel::programs::{last_lines, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exit codes of curl(1) that mean it cannot resume: 22 an HTTP error with --fail (416 if the part is complete), 33
/// ranges are not served, 36 the part cannot be resumed.
const CANNOT_GO_ON: [i32; 3] = [22, 33, 36];
const REMEDY: &str = "apt-get install curl";

/// Downloads a file into `folder`; a local path is returned unchanged.
pub fn file(url: &str, folder: &Path, report: &mut dyn FnMut(&str)) -> Result<PathBuf, KbuildError> {
    if !url.contains("://") {
        return match Path::new(url).is_file() {
            true => Ok(url.into()),
            false => Err(KbuildError::Usage(format!(
                "file {url} does not exist: give an existing file, or an https:// address"
            ))),
        };
    }
    let is_plain = |name: &&str| !name.is_empty() && !name.starts_with('.') && !name.contains(['?', '#', '%']);
    let name = url.rsplit('/').next().filter(is_plain);
    let name = name.ok_or_else(|| KbuildError::Usage(format!("{url} does not end in a file name")))?;
    let whole = folder.join(name);
    if whole.is_file() {
        return Ok(whole);
    }
    make_folder(folder)?;
    let part = folder.join(format!("{name}.part"));
    let had = part.metadata().map_or(0, |m| m.len());
    report(&match had {
        0 => format!("fetching {url}"),
        had => format!("fetching {url}, resuming after {had} bytes"),
    });
    transfer(url, &part, had)?;
    fs::rename(&part, &whole).map_err(KbuildError::file("rename", &part))?;
    Ok(whole)
}

/// Like [`file`] for a small file that may have changed: an earlier download is neither resumed nor reused.
pub fn anew(url: &str, folder: &Path, report: &mut dyn FnMut(&str)) -> Result<PathBuf, KbuildError> {
    if let (true, Some(name)) = (url.contains("://"), url.rsplit('/').next()) {
        for old in [folder.join(name), folder.join(format!("{name}.part"))] {
            if old.is_file() {
                fs::remove_file(&old).map_err(KbuildError::file("remove", &old))?;
            }
        }
    }
    file(url, folder, report)
}

/// Downloads a page whose address has no file name.
pub fn page(url: &str, to: &Path, report: &mut dyn FnMut(&str)) -> Result<(), KbuildError> {
    to.parent().map_or(Ok(()), make_folder)?;
    if to.is_file() {
        fs::remove_file(to).map_err(KbuildError::file("remove", to))?;
    }
    report(&format!("fetching {url}"));
    transfer(url, to, 0)
}

fn transfer(url: &str, part: &Path, had: u64) -> Result<(), KbuildError> {
    let ran = run(&mut command(url, part), b"", REMEDY)?;
    if ran.status.success() {
        return Ok(());
    }
    if had > 0 && ran.status.code().is_some_and(|code| CANNOT_GO_ON.contains(&code)) {
        fs::remove_file(part).map_err(KbuildError::file("remove", part))?;
        return transfer(url, part, 0);
    }
    Err(KbuildError::Failed {
        what: format!("fetching {url}"),
        status: ran.status.to_string(),
        said: last_lines(&ran.said(), 2),
        next: "run the same command again: it resumes the download".to_owned(),
    })
}

fn command(url: &str, part: &Path) -> Command {
    let is_there = |program: &str| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
    };
    if !is_there("curl") && is_there("wget") {
        let mut wget = Command::new("wget");
        wget.args(["--quiet", "--continue", "--tries=3", "-O"]).arg(part).arg("--").arg(url);
        return wget;
    }
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--silent", "--show-error", "--retry", "3"]);
    curl.args(["--proto", "=https,http,file", "--proto-redir", "=https", "--continue-at", "-", "--output"]);
    curl.arg(part).arg("--").arg(url);
    curl
}
