//! Runs a program that measures wakeups, with known delays beside it: a thread of higher priority takes the CPU shortly
//! before a release and gives it up a known time after it. The releases are on full milliseconds of CLOCK_MONOTONIC,
//! where `cyclictest -i 1000 --secaligned` puts them.

use crate::PlantError;
use crate::thread::{Gaps, ORDINARY, become_thread, fifo, now, sleep_until, spin_until};
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};

#[derive(Clone, Debug)]
pub struct Beside {
    pub cpu: u32,
    /// Priority of the thread that takes it; above the measuring one's.
    pub priority: u8,
    /// Delays after the release, ns, in turn.
    pub sizes_ns: Vec<u64>,
    pub times: u32,
    /// From the start of the program to the first delay, ns: it has to be measuring by then.
    pub after_ns: u64,
}

/// One delay, as it really was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The release that it delays, CLOCK_MONOTONIC.
    pub release_ns: u64,
    /// The requested delay.
    pub size_ns: u64,
    /// When the CPU was taken.
    pub from_ns: u64,
    /// When it was given up.
    pub to_ns: u64,
    /// Times in which the taking thread itself did not run.
    pub gaps: Gaps,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seen {
    pub command: Vec<String>,
    /// None if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub planted: Vec<Held>,
}

/// Before the release; below the period, and enough for a wakeup of an emulated machine.
const LEAD: u64 = 400_000;
/// From the end of one to the next.
const REST: u64 = 80_000_000;
const MS: u64 = 1_000_000;

/// Runs it until it ends.
///
/// # Errors
/// [`PlantError`]: it cannot be started, or this process gets no such priority.
pub fn beside(words: &[String], wanted: &Beside) -> Result<Seen, PlantError> {
    let (program, rest) = words.split_first().ok_or_else(|| PlantError::Child("no program to run".into()))?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(PlantError::at(format!("start {program}")))?;
    let begun = now();
    let wanted = wanted.clone();
    let planting = std::thread::spawn(move || hold(&wanted, begun));
    let output = child.wait_with_output().map_err(PlantError::at(format!("wait for {program}")))?;
    let planted = crate::thread::joined(planting.join())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ok(Seen { command: words.to_vec(), code: output.status.code(), stdout, stderr, planted })
}

/// Takes the CPU over one release.
fn over(release_ns: u64, size_ns: u64) -> Held {
    sleep_until(release_ns - LEAD);
    let from_ns = now();
    let gaps = spin_until(release_ns + size_ns);
    Held { release_ns, size_ns, from_ns, to_ns: now(), gaps }
}

/// Takes a CPU from shortly before `release_ns` (CLOCK_MONOTONIC) until `size_ns` after it, in a thread of this name
/// and FIFO priority that has ended when this returns.
///
/// # Errors
/// [`PlantError`]: no thread, or it gets no such priority.
pub fn hold_once(name: &str, cpu: u32, priority: u8, release_ns: u64, size_ns: u64) -> Result<Held, PlantError> {
    let (name, scheduling) = (name.to_owned(), fifo(priority)?);
    let holding = std::thread::spawn(move || {
        become_thread(&name, cpu, scheduling)?;
        let held = over(release_ns, size_ns);
        // Ending a thread takes time, too: as an ordinary one.
        sleep_until(now() + 5 * MS);
        become_thread(&name, cpu, ORDINARY)?;
        Ok(held)
    });
    crate::thread::joined(holding.join())
}

fn hold(wanted: &Beside, begun: u64) -> Result<Vec<Held>, PlantError> {
    become_thread("hold", wanted.cpu, fifo(wanted.priority)?)?;
    let count = wanted.sizes_ns.len() * wanted.times as usize;
    let mut planted = Vec::with_capacity(count);
    let mut at = begun + wanted.after_ns;
    for size_ns in wanted.sizes_ns.iter().cycle().take(count) {
        let held = over(at.div_ceil(MS) * MS, *size_ns);
        at = held.to_ns + REST;
        planted.push(held);
    }
    sleep_until(now() + 5 * MS);
    become_thread("hold", wanted.cpu, ORDINARY)?;
    Ok(planted)
}
