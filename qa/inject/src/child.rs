//! A child process of the campaign, and how it communicates with the parent: it prints `ready TID`, works, prints its
//! result as one line of JSON, and ends. The victim works until its standard input is closed.

use crate::config::Config;
use crate::thread::{now, tid};
use crate::{InjectError, victim};
use crate::{chains, kinds};
use std::ffi::OsString;
use std::io::{Read, Write};

/// First argument that makes the program a child process of the campaign. The other arguments are for [`child_main`].
pub const HIDDEN_ARG: &str = "__inject";

/// Exit code if this machine cannot produce an injection, in which case standard output contains the reason.
pub(crate) const IMPOSSIBLE: i32 = 4;

/// Time before the first burst, ns.
const CALM_NS: u64 = 60_000_000;

/// Runs as a child process of the campaign. `args` are the arguments after [`HIDDEN_ARG`]. Returns the exit code.
pub fn child_main(mut args: impl Iterator<Item = OsString>) -> i32 {
    // Ends together with the parent, if that is killed.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let json = args.next().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let config: Config = match serde_json::from_str(&json) {
        Ok(config) => config,
        Err(e) => {
            eprintln!("punctual-inject: `{HIDDEN_ARG}` is only for internal use ({e})");
            return 2;
        }
    };
    match run(&config) {
        Ok(line) => {
            println!("{line}");
            0
        }
        Err(InjectError::Impossible(why)) => {
            println!("{why}");
            IMPOSSIBLE
        }
        Err(error) => {
            eprintln!("punctual-inject: {}: {error}", config.role);
            1
        }
    }
}

fn run(config: &Config) -> Result<String, InjectError> {
    let text = match config.role.as_str() {
        "victim" => serde_json::to_string(&victim::run(config)?),
        role => match (kinds::named(role), chains::named(role)) {
            (Some(kind), _) => serde_json::to_string(&(kind.run)(config)?),
            (None, Some(chain)) => serde_json::to_string(&(chain.run)(config)?),
            (None, None) => return Err(InjectError::Child(format!("unknown injection `{role}`"))),
        },
    };
    text.map_err(|e| InjectError::Child(e.to_string()))
}

pub(crate) fn say_ready(tid: i32) {
    let mut out = std::io::stdout().lock();
    // The parent may have ended.
    let _ = writeln!(out, "ready {tid}").and_then(|()| out.flush());
}

/// Reports that the injection is prepared, waits for the start signal, and returns the time at which the injection
/// should start. That is a little later, so that some wakeups are on time before it.
pub(crate) fn begin() -> u64 {
    say_ready(tid());
    until_told_to_end();
    now() + CALM_NS
}

pub(crate) fn until_told_to_end() {
    let mut rest = Vec::new();
    let _ = std::io::stdin().take(1 << 10).read_to_end(&mut rest);
}
