//! The same on another machine: this program is brought there and does it.

use super::args::deploying::DeployArgs;
use super::deploy::failed;
use crate::args::common::{OutputArgs, TargetArgs};
use crate::{document, exit, terminal};
use punctual_deploy::{DeployError, Ended, Job, Link, Remote, Target, fetch, upload};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// How long nobody need answer: a machine that restarts takes a while.
const PATIENCE: Duration = Duration::from_secs(900);

/// `kernel deploy --target`.
pub fn deploy(args: &DeployArgs, target: &Target) -> ExitCode {
    let work = |remote: &Remote, link: &Link| {
        let package = packed(&args.package)?;
        let there = upload(link, &package.path)?;
        let words = ["kernel", "deploy", "--local"].map(str::to_owned).into_iter().chain([format!("{{home}}/{there}")]);
        let words: Vec<String> = words.chain(own_words(&["deploy"], Some(&args.package))).collect();
        remote.run(&name("deploy"), &words, PATIENCE)
    };
    done("kernel deploy", with(target, &args.target, work), args.output)
}

/// Another subcommand of `kernel`, with the words it was given.
pub fn pass_on(command: &str, on: &TargetArgs, output: OutputArgs) -> ExitCode {
    let Some(target) = &on.target else { return ExitCode::from(exit::USAGE) };
    let work = |remote: &Remote, _: &Link| {
        let words =
            ["kernel", command].map(str::to_owned).into_iter().chain(own_words(&[command], None)).collect::<Vec<_>>();
        remote.run(&name(command), &words, PATIENCE)
    };
    done(&format!("kernel {command}"), with(target, on, work), output)
}

/// `prove --target` and `measure --target`: the exit code as on the target; the run comes to `out`.
pub fn measure(command: &str, on: &TargetArgs, out: &Path, output: OutputArgs) -> ExitCode {
    let Some(target) = &on.target else { return ExitCode::from(exit::USAGE) };
    if out.is_dir() && out.read_dir().is_ok_and(|mut names| names.next().is_some()) || out.is_file() {
        eprintln!("punctual: {} is there already: give another folder (--out)", out.display());
        return ExitCode::from(exit::USAGE);
    }
    let work = |remote: &Remote, link: &Link| {
        let job = Job::new(&name(command));
        let mut words = vec![command.to_owned()];
        words.extend(own_words(&[command], None));
        words.extend(["--out".to_owned(), "{job}/run".to_owned()]);
        remote.start(&job, &words)?;
        let mut ended = job.wait(link, PATIENCE)?;
        ended.out = with_own_path(&ended.out, &format!("{}/run", job.folder), out);
        match fetch(link, &job, out) {
            Ok(()) => job.remove(link)?,
            // What was refused left no run; its own message says why.
            Err(_) if !matches!(ended.code, 0 | 1 | 3) => {}
            Err(error) => return Err(error),
        }
        Ok(ended)
    };
    let result = with(target, on, work);
    if result.is_ok() && out.is_dir() && !output.quiet && !output.json {
        eprintln!("punctual: the run is in {}", out.display());
    }
    done(command, result, output)
}

/// The run's path there, wherever it is named, as the one here.
fn with_own_path(text: &str, there: &str, here: &Path) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(there) {
        let (before, behind) = rest.split_at(at);
        // The home folder in front is known to the other side only.
        let start = before.rfind([' ', '"', '\n', '\'']).map_or(0, |blank| blank + 1);
        out += before.get(..start).unwrap_or_default();
        out += &here.display().to_string();
        rest = behind.get(there.len()..).unwrap_or_default();
    }
    out + rest
}

fn with(
    target: &Target,
    on: &TargetArgs,
    work: impl FnOnce(&Remote, &Link) -> Result<Ended, DeployError>,
) -> Result<Ended, DeployError> {
    let link = Link { target: target.clone(), config: on.ssh_config.clone() };
    let own = || std::env::current_exe().map_err(|e| DeployError::Refused(format!("cannot find this program: {e}")));
    let program = on.binary.clone().map_or_else(own, Ok)?;
    work(&Remote::with_program(&link, &program)?, &link)
}

/// `command` is what was asked for there, whose document is printed here; also where nobody there could answer.
fn done(command: &str, result: Result<Ended, DeployError>, output: OutputArgs) -> ExitCode {
    match result {
        Ok(ended) => {
            if !ended.complaint.trim().is_empty() {
                eprintln!("{}", terminal::harmless(ended.complaint.trim_end()));
            }
            if !output.quiet || output.json {
                terminal::print(&terminal::harmless(&ended.out));
            }
            exit::from_number(ended.code)
        }
        Err(error) => {
            let (code, message) = failed(error);
            eprintln!("punctual: {message}");
            if output.json {
                terminal::print(&(document::document(command, code, &document::error(&message)) + "\n"));
            }
            ExitCode::from(code)
        }
    }
}

/// The words this program was given behind the command, without those that say where.
fn own_words(behind: &[&str], package: Option<&Path>) -> Vec<String> {
    let all: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let from = all.iter().position(|word| behind.contains(&word.as_str())).map_or(0, |at| at + 1);
    let package = package.map(|path| path.display().to_string());
    elsewhere(all.get(from..).unwrap_or_default(), package.as_deref())
}

/// Options with a value that are about this side.
const HERE: [&str; 5] = ["--target", "--binary", "--ssh-config", "--out", "-o"];

fn elsewhere(words: &[String], package: Option<&str>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if HERE.contains(&word.as_str()) {
            words.next();
        } else if HERE.iter().any(|here| word.strip_prefix(here).is_some_and(|rest| rest.starts_with('=')))
            || package == Some(word)
            || word == "--live"
        {
            continue;
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// A package as one file.
struct Packed {
    path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

fn packed(package: &Path) -> Result<Packed, DeployError> {
    if !package.is_dir() {
        return Ok(Packed { path: package.to_owned(), _folder: None });
    }
    let refused = |what: String| DeployError::Refused(format!("cannot pack {}: {what}", package.display()));
    let folder = tempfile::tempdir().map_err(|e| refused(e.to_string()))?;
    let path = folder.path().join("kernel.tar");
    // The same folder makes the same file, so that what is there already is known again.
    let mut tar = std::process::Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "-cf"]).arg(&path).arg("-C").arg(package).arg(".");
    match tar.status() {
        Ok(status) if status.success() => Ok(Packed { path, _folder: Some(folder) }),
        Ok(status) => Err(refused(format!("tar ended with {status}"))),
        Err(e) => Err(refused(e.to_string())),
    }
}

/// Used once.
fn name(command: &str) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_millis());
    format!("{command}-{now}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_is_where_it_was_brought() {
        let text = "Run directory: /home/pi/.cache/x/run\n{\"run\":\"/home/pi/.cache/x/run/a\"} x";
        assert_eq!(
            with_own_path(text, ".cache/x/run", Path::new("here")),
            "Run directory: here\n{\"run\":\"here/a\"} x"
        );
    }

    #[test]
    fn words_about_this_side_stay_here() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given =
            words("--target ssh://pi -D 5s --out x --binary=b a.deb --claim max<1ms --ssh-config f -o y --json");
        assert_eq!(elsewhere(&given, Some("a.deb")), words("-D 5s --claim max<1ms --json"));
    }
}
