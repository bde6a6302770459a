//! Explains a trace in a separate process, so that its memory is freed afterwards and a crash does not affect the
//! watch.

use punctual_analyse::{Known, explain_capture};
use punctual_directory::Dir;
use punctual_model::{Capture, Explained};
use punctual_proof::die_with;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// First argument with which the program starts itself to explain a trace for `watch`; see [`explain_main`].
pub const EXPLAIN_ARG: &str = "__watch-explain";
/// Time limit for explaining a trace on a slow board, at nice 10.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(300);
/// Maximum size of the file with facts about a trace, bytes.
pub(crate) const LARGEST_NOTE: u64 = 4 << 20;

/// Explains a window in `run`, in a child process whose standard input is the directory.
///
/// # Errors
/// The process could not be started, or it failed; the message states how it ended.
pub(crate) fn explain(run: &Dir, capture: &Capture, steal_rose: Option<bool>) -> Result<Vec<Explained>, String> {
    let mut command = Command::new("/proc/self/exe");
    let failed = |what: &str, e| format!("the trace could not be explained: cannot {what}: {e}");
    let input = run.as_fd().try_clone_to_owned().map_err(|e| failed("duplicate a descriptor", e))?;
    let note = Path::new(&capture.file).with_extension("json");
    let steal = match steal_rose {
        Some(true) => "rose",
        Some(false) => "still",
        None => "unknown",
    };
    command.arg(EXPLAIN_ARG).arg(run.path()).arg(note).arg(steal).arg(std::process::id().to_string());
    command.stdin(input);
    let output =
        punctual_watchdog::output(&mut command, EXPLAINED_WITHIN).map_err(|e| failed("start /proc/self/exe", e))?;
    match serde_json::from_slice(&output.stdout) {
        Ok(Answer::Explained(explained)) => Ok(explained),
        Ok(Answer::Failed(why)) => Err(format!("the trace could not be explained: {why}")),
        Err(_) => Err(format!("the trace could not be explained: the process for it ended with {}", output.status)),
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Explained(Vec<Explained>),
    Failed(String),
}

/// Main function of the child process. Explains a trace in the directory on standard input, and prints the causes.
/// `words` are the arguments after [`EXPLAIN_ARG`]. Returns the exit code.
pub fn explain_main(mut words: impl Iterator<Item = OsString>) -> i32 {
    // At low priority the process delays neither the measurement nor the application.
    let _ = rustix::process::nice(10);
    let _ = punctual_uapi::unblock_all();
    let (Some(root), Some(note), Some(steal)) = (words.next(), words.next(), words.next()) else { return 2 };
    match words.next().and_then(|pid| pid.to_str()?.parse().ok()) {
        None => return 2,
        Some(parent) if !die_with(parent) => return 1,
        Some(_) => {}
    }
    let steal_rose = match steal.to_str() {
        Some("rose") => Some(true),
        Some("still") => Some(false),
        _ => None,
    };
    let answer = match explained(Path::new(&root), Path::new(&note), steal_rose) {
        Ok(explained) => Answer::Explained(explained),
        Err(why) => Answer::Failed(why),
    };
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    i32::from(std::io::stdout().write_all(&text).is_err())
}

fn explained(root: &Path, note: &Path, steal_rose: Option<bool>) -> Result<Vec<Explained>, String> {
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(|e| format!("standard input: {e}"))?;
    let dir = Dir::inherited(input, root).map_err(|e| e.to_string())?;
    let text = dir.read(note, LARGEST_NOTE).map_err(|e| e.to_string())?;
    let capture: Capture = serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", note.display()))?;
    explain_capture(&dir, &capture, &|_| Known { steal_rose, ..Known::default() })
}
