//! Runs a program that measures wakeups, and injects delays of known length at the same time: a thread of higher
//! priority occupies the CPU from shortly before a release until a known time after the release. The program's releases
//! are at whole milliseconds of CLOCK_MONOTONIC, as with `cyclictest -i 1000 --secaligned`.

use crate::InjectError;
use crate::thread::{Gaps, ORDINARY, become_thread, fifo, now, sleep_until, spin_until};
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};

#[derive(Clone, Debug)]
pub struct Beside {
    pub cpu: u32,
    /// Priority of the injecting thread, higher than the priority of the measuring one.
    pub priority: u8,
    /// Delays after the release, ns, used in turn.
    pub sizes_ns: Vec<u64>,
    pub times: u32,
    /// Time from the start of the program to the first delay, ns. The program must be measuring by then.
    pub after_ns: u64,
}

/// One injected delay, as measured by the injecting thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The delayed release, CLOCK_MONOTONIC.
    pub release_ns: u64,
    pub size_ns: u64,
    /// When the injecting thread took the CPU, ns on CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// When the injecting thread released the CPU, ns on CLOCK_MONOTONIC.
    pub to_ns: u64,
    /// Intervals in which the injecting thread itself did not run.
    pub gaps: Gaps,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seen {
    pub command: Vec<String>,
    /// Exit code of the program; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    #[serde(alias = "planted")]
    pub injected: Vec<Held>,
}

/// Time from taking the CPU to the release, ns: less than the period, and enough for a wakeup on an emulated machine.
const LEAD: u64 = 400_000;
/// Time from the end of one delay to the next, ns.
const REST: u64 = 80_000_000;
const MS: u64 = 1_000_000;

/// Runs the program until it ends.
///
/// # Errors
/// [`InjectError`]: the program cannot be started, or this process does not get the priority.
pub fn beside(words: &[String], wanted: &Beside) -> Result<Seen, InjectError> {
    let (program, rest) = words.split_first().ok_or_else(|| InjectError::Child("no program to run".into()))?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(InjectError::at(format!("start {program}")))?;
    let begun = now();
    let wanted = wanted.clone();
    let injecting = std::thread::spawn(move || hold(&wanted, begun));
    let output = child.wait_with_output().map_err(InjectError::at(format!("wait for {program}")))?;
    let injected = crate::thread::joined(injecting.join())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ok(Seen { command: words.to_vec(), code: output.status.code(), stdout, stderr, injected })
}

/// Keeps the CPU busy from before a release until `size_ns` after it.
fn over(release_ns: u64, size_ns: u64) -> Held {
    sleep_until(release_ns - LEAD);
    let from_ns = now();
    let gaps = spin_until(release_ns + size_ns);
    Held { release_ns, size_ns, from_ns, to_ns: now(), gaps }
}

/// Keeps a CPU busy from shortly before `release_ns` (CLOCK_MONOTONIC) until `size_ns` after it, in a thread with this
/// name and FIFO priority. The thread has ended when the function returns.
///
/// # Errors
/// [`InjectError`]: the thread cannot be started, or does not get the priority.
pub fn hold_once(name: &str, cpu: u32, priority: u8, release_ns: u64, size_ns: u64) -> Result<Held, InjectError> {
    let (name, scheduling) = (name.to_owned(), fifo(priority)?);
    let holding = std::thread::spawn(move || {
        become_thread(&name, cpu, scheduling)?;
        let held = over(release_ns, size_ns);
        // Ending a thread takes time too, so the thread becomes an ordinary one first.
        sleep_until(now() + 5 * MS);
        become_thread(&name, cpu, ORDINARY)?;
        Ok(held)
    });
    crate::thread::joined(holding.join())
}

fn hold(wanted: &Beside, begun: u64) -> Result<Vec<Held>, InjectError> {
    become_thread("hold", wanted.cpu, fifo(wanted.priority)?)?;
    let count = wanted.sizes_ns.len() * wanted.times as usize;
    let mut injected = Vec::with_capacity(count);
    let mut at = begun + wanted.after_ns;
    for size_ns in wanted.sizes_ns.iter().cycle().take(count) {
        let held = over(at.div_ceil(MS) * MS, *size_ns);
        at = held.to_ns + REST;
        injected.push(held);
    }
    sleep_until(now() + 5 * MS);
    become_thread("hold", wanted.cpu, ORDINARY)?;
    Ok(injected)
}
