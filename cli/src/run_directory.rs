//! Default names of run directories.

use crate::refusal::Refusal;
use punctual_units::Arrange;
use std::path::PathBuf;

/// Default directory of runs, in the current directory.
const RUNS: &str = "punctual-runs";

/// Returns the default path of a run: `./punctual-runs/20261121T110905Z-hostname`, with a number appended if it exists.
pub fn default_out() -> PathBuf {
    numbered(&rustix::system::uname().nodename().to_string_lossy())
}

/// Returns the default path of a run: `./punctual-runs/<time>-<name>`, with a number appended if it exists.
pub fn numbered(name: &str) -> PathBuf {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let time: String =
        punctual_report::utc(now.as_nanos() as u64).chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let host: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let base = PathBuf::from(RUNS).join(format!("{time}-{host}"));
    let taken = |path: &PathBuf| path.symlink_metadata().is_ok();
    let numbered = (2..).map(|n| PathBuf::from(format!("{}-{n}", base.display())));
    std::iter::once(base.clone()).chain(numbered).find(|path| !taken(path)).unwrap_or(base)
}

/// Returns the newest run directory in `./punctual-runs`.
///
/// # Errors
/// There is none, or the directory cannot be read.
pub fn newest() -> Result<PathBuf, Refusal> {
    newest_of(1)?.pop().ok_or_else(|| Refusal::usage("no run is named"))
}

/// Returns the `n` newest run directories of `./punctual-runs`, oldest first. Their names begin with the time.
///
/// # Errors
/// There are fewer than `n`, or the directory cannot be read.
pub fn newest_of(n: usize) -> Result<Vec<PathBuf>, Refusal> {
    let make = "name a RUN or FILE, or make a run: punctual prove";
    let folder = std::fs::read_dir(RUNS)
        .map_err(|why| Refusal::usage(format!("no run is named, and ./{RUNS} cannot be read: {why}; {make}")))?;
    let mut runs: Vec<PathBuf> =
        folder.flatten().map(|entry| entry.path()).filter(|path| path.join("run.json").is_file()).collect();
    if runs.len() < n {
        let found = match runs.len() {
            0 => "no run".to_owned(),
            1 => "only one run".to_owned(),
            found => format!("only {found} runs"),
        };
        return Err(Refusal::usage(format!("no run is named, and ./{RUNS} contains {found}; {make}")));
    }
    runs.arrange_by(Ord::cmp);
    Ok(runs.split_off(runs.len() - n))
}

/// Returns the arguments of this process, which run directories record.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}
