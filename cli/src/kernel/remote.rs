//! Runs `kernel deploy` and the commands that are used after it on another machine.

use super::args::deploying::DeployArgs;
use crate::args::common::{OutputArgs, TargetArgs};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::remote::{PATIENCE, answer, name, own_words, with};
use punctual_directory::{Scratch, Whose};
use punctual_remote::{Link, Remote, RemoteError, Target, upload};
use std::path::{Path, PathBuf};

pub fn deploy(args: &DeployArgs, on: &Target) -> Result<Answer, Refusal> {
    let work = |remote: &Remote, link: &Link| {
        let package = packed(&args.package)?;
        let there = upload(link, &package.path)?;
        let words = ["kernel", "deploy", "--local"].map(str::to_owned).into_iter().chain([format!("{{home}}/{there}")]);
        let words: Vec<String> = words.chain(own_words(&["deploy"], Some(&args.package))).collect();
        remote.run(&name("deploy"), &words, PATIENCE)
    };
    Ok(answer(&with(on, &args.target, work)?, args.output))
}

/// Runs another `kernel` subcommand on the target with the same arguments.
pub fn pass_on(command: &str, on: &Target, args: &TargetArgs, output: OutputArgs) -> Result<Answer, Refusal> {
    let work = |remote: &Remote, _: &Link| {
        let words =
            ["kernel", command].map(str::to_owned).into_iter().chain(own_words(&[command], None)).collect::<Vec<_>>();
        remote.run(&name(command), &words, PATIENCE)
    };
    Ok(answer(&with(on, args, work)?, output))
}

/// A package packed into a single file.
struct Packed {
    path: PathBuf,
    _folder: Option<Scratch>,
}

fn packed(package: &Path) -> Result<Packed, RemoteError> {
    if !package.is_dir() {
        return Ok(Packed { path: package.to_owned(), _folder: None });
    }
    let refused = |what: String| RemoteError::Refused(format!("cannot pack {}: {what}", package.display()));
    let folder = Scratch::create("kernel", Whose::System).map_err(|e| refused(e.to_string()))?;
    let path = folder.path().join("kernel.tar");
    // Reproducible, so that an archive already on the target is recognized.
    let mut tar = std::process::Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "-cf"]).arg(&path).arg("-C").arg(package).arg(".");
    match punctual_watchdog::status(&mut tar, punctual_watchdog::PROGRAMS) {
        Ok(status) if status.success() => Ok(Packed { path, _folder: Some(folder) }),
        Ok(status) => Err(refused(format!("tar ended with {status}"))),
        Err(e) => Err(refused(e.to_string())),
    }
}
