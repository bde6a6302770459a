//! Runs commands on another machine (`--target`): copies this program to it and starts it there.

use crate::args::common::{OutputArgs, TargetArgs};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{exit, terminal};
use punctual_remote::{Ended, Job, Link, Remote, RemoteError, Target, fetch};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Maximum time without an answer from the target, long enough for a reboot.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// Runs `prove --target` and `measure --target`. Exits with the exit code of the target; the run is copied to `out`.
pub fn measure(
    command: &str,
    on: &Target,
    args: &TargetArgs,
    out: &Path,
    output: OutputArgs,
) -> Result<Answer, Refusal> {
    if out.is_dir() && out.read_dir().is_ok_and(|mut names| names.next().is_some()) || out.is_file() {
        return Err(Refusal::usage(format!("{} already exists: name another directory (--out)", out.display())));
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
            // A refused command left no run; its message has been printed.
            Err(_) if !matches!(ended.code, 0 | 1 | 3) => {}
            Err(error) => return Err(error),
        }
        Ok(ended)
    };
    let ended = with(on, args, work)?;
    if out.is_dir() && !output.quiet && !output.json {
        message!("the run is in {}", out.display());
    }
    Ok(answer(&ended, output))
}

/// Replaces the run's path on the target by its local path wherever it occurs in the text.
fn with_own_path(text: &str, there: &str, here: &Path) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(there) {
        let (before, behind) = rest.split_at(at);
        // The path is preceded by the remote home directory, which only the target knows.
        let start = before.rfind([' ', '"', '\n', '\'']).map_or(0, |blank| blank + 1);
        out += before.get(..start).unwrap_or_default();
        out += &here.display().to_string();
        rest = behind.get(there.len()..).unwrap_or_default();
    }
    out + rest
}

/// Copies this program to the target and calls `work` with it.
pub fn with(
    on: &Target,
    args: &TargetArgs,
    work: impl FnOnce(&Remote, &Link) -> Result<Ended, RemoteError>,
) -> Result<Ended, RemoteError> {
    let link = Link { target: on.clone(), config: args.ssh_config.clone() };
    let own = || std::env::current_exe().map_err(|e| RemoteError::Refused(format!("cannot find this program: {e}")));
    let program = args.binary.clone().map_or_else(own, Ok)?;
    work(&Remote::with_program(&link, &program)?, &link)
}

/// Prints the target's output. Its document becomes the document of this command.
pub fn answer(ended: &Ended, output: OutputArgs) -> Answer {
    if !ended.complaint.trim().is_empty() {
        // Indented, so that no line of another machine looks like one of this program.
        ended.complaint.trim_end().lines().for_each(|line| progress!("  {line}\n"));
    }
    let is_shown = !output.quiet || output.json;
    let text = if is_shown { terminal::harmless(&ended.out) } else { String::new() };
    Answer::text(exit::of_number(ended.code), text)
}

impl From<RemoteError> for Refusal {
    fn from(error: RemoteError) -> Refusal {
        let code = if matches!(error, RemoteError::Refused(_)) { exit::FAILED } else { exit::ENVIRONMENT };
        Refusal::new(code, error)
    }
}

/// Returns the arguments of this process after the command, without those that select the target.
pub fn own_words(behind: &[&str], package: Option<&Path>) -> Vec<String> {
    let all: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let from = all.iter().position(|word| behind.contains(&word.as_str())).map_or(0, |at| at + 1);
    let package = package.map(|path| path.display().to_string());
    elsewhere(all.get(from..).unwrap_or_default(), package.as_deref())
}

/// Options with a value that apply only to this machine, not to the target.
const HERE: [&str; 6] = ["--target", "--binary", "--ssh-config", "--owner", "--out", "-o"];

fn elsewhere(words: &[String], package: Option<&str>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if HERE.contains(&word.as_str()) {
            words.next();
        } else if HERE.iter().any(|here| word.strip_prefix(here).is_some_and(|rest| rest.starts_with('=')))
            || package == Some(word)
            || word == "--live"
            || word == "--tui"
        {
            continue;
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// Returns a unique name for a job on the target.
pub fn name(command: &str) -> String {
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
        let given = words(
            "--target ssh://pi -D 5s --out x --binary=b a.deb --claim max<1ms --ssh-config f --owner u -o y --json",
        );
        assert_eq!(elsewhere(&given, Some("a.deb")), words("-D 5s --claim max<1ms --json"));
    }
}
