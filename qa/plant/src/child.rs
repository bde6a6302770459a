//! A process of the campaign, and its protocol with its parent: it prints `ready TID`, works, prints its result as one
//! line of JSON, and ends; the victim works until its standard input is closed.

use crate::config::Config;
use crate::kinds;
use crate::thread::{now, tid};
use crate::{PlantError, victim};
use std::ffi::OsString;
use std::io::{Read, Write};

/// The first argument that makes the program a process of the campaign: pass the rest to [`child_main`].
pub const HIDDEN_ARG: &str = "__plant";

/// Exit code if this machine cannot produce a plant; the reason is on standard output.
pub(crate) const IMPOSSIBLE: i32 = 4;

/// Before the first burst.
const CALM_NS: u64 = 60_000_000;

/// Runs as a process of the campaign. `args` are those after [`HIDDEN_ARG`]; returns the exit code.
pub fn child_main(mut args: impl Iterator<Item = OsString>) -> i32 {
    // Ends with the parent, if that is killed.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let json = args.next().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let config: Config = match serde_json::from_str(&json) {
        Ok(config) => config,
        Err(e) => {
            eprintln!("punctual-plant: `{HIDDEN_ARG}` is used by the program itself, not by people ({e})");
            return 2;
        }
    };
    match run(&config) {
        Ok(line) => {
            println!("{line}");
            0
        }
        Err(PlantError::Impossible(why)) => {
            println!("{why}");
            IMPOSSIBLE
        }
        Err(error) => {
            eprintln!("punctual-plant: {}: {error}", config.role);
            1
        }
    }
}

fn run(config: &Config) -> Result<String, PlantError> {
    let text = match config.role.as_str() {
        "victim" => serde_json::to_string(&victim::run(config)?),
        role => {
            let kind = kinds::named(role).ok_or_else(|| PlantError::Child(format!("no plant is called `{role}`")))?;
            serde_json::to_string(&(kind.run)(config)?)
        }
    };
    text.map_err(|e| PlantError::Child(e.to_string()))
}

pub(crate) fn say_ready(tid: i32) {
    let mut out = std::io::stdout().lock();
    // The parent may be gone.
    let _ = writeln!(out, "ready {tid}").and_then(|()| out.flush());
}

/// Reports that the plant is prepared, waits for the word to begin, and returns the time from which on to inject: a
/// little later, so that some wakeups are in time before.
pub(crate) fn begin() -> u64 {
    say_ready(tid());
    until_told_to_end();
    now() + CALM_NS
}

pub(crate) fn until_told_to_end() {
    let mut rest = Vec::new();
    let _ = std::io::stdin().take(1 << 10).read_to_end(&mut rest);
}
