//! The user-space part of timerlat: a process with a thread per CPU that sleeps in osnoise/per_cpu/cpuN/timerlat_fd, so
//! that the tracer records its return to user space (Linux 6.5, kernel/trace/trace_osnoise.c, timerlat_fd_read()).
//!
//! It is a separate process because the kernel kills the processes that hold the file open when the tracer is disabled.

use crate::error::ProofError;
use punctual_rt::Attributes;
use punctual_units::{CpuId, CpuList, Scheduling};
use punctual_watchdog as watchdog;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// First argument of the user-space process; see [`timerlat_main`].
pub const TIMERLAT_ARG: &str = "__timerlat";

#[derive(Serialize, Deserialize)]
struct Wanted {
    folder: PathBuf,
    cpus: CpuList,
    scheduling: Scheduling,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Thread {
    pub cpu: CpuId,
    pub tid: i32,
    pub got: Scheduling,
}

/// The user-space process; dropping it kills it.
#[derive(Debug)]
pub(super) struct User {
    child: Child,
    pub threads: Vec<Thread>,
}

pub(super) fn file(osnoise: &Path, cpu: CpuId) -> PathBuf {
    osnoise.join(format!("per_cpu/cpu{cpu}/timerlat_fd"))
}

impl User {
    /// Starts the process and waits until all its threads are about to read.
    ///
    /// # Errors
    /// A thread could not be created, or its policy was refused.
    pub fn start(osnoise: &Path, cpus: &CpuList, scheduling: Scheduling) -> Result<User, ProofError> {
        let failed = |why: String| ProofError::Environment(format!("timerlat's user-space threads: {why}"));
        let wanted = Wanted { folder: osnoise.to_owned(), cpus: cpus.clone(), scheduling };
        let json = serde_json::to_string(&wanted).map_err(|e| failed(e.to_string()))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(TIMERLAT_ARG).arg(json).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let out = child.stdout.take();
        let limit = watchdog::limit_child(&child, "the start of timerlat's threads", watchdog::GRACE);
        let mut user = User { child, threads: Vec::new() };
        for line in out.into_iter().flat_map(|out| BufReader::new(out.take(1 << 20)).lines()).take(cpus.len()) {
            let line = line.map_err(|e| failed(e.to_string()))?;
            match serde_json::from_slice(line.as_bytes()) {
                Ok(thread) => user.threads.push(thread),
                Err(_) => return Err(failed(line)),
            }
        }
        limit.ended().map_err(|e| failed(e.to_string()))?;
        if user.threads.len() < cpus.len() {
            return Err(failed("they ended before reading".into()));
        }
        Ok(user)
    }

    /// Returns true if the process ended without being asked to.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the process, so that it does not have the files open when the tracer is disabled.
    pub fn end(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = watchdog::wait(&mut self.child, "the end of timerlat's process", watchdog::GRACE);
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.end();
    }
}

/// Main function of the user-space process. `words` are the arguments after [`TIMERLAT_ARG`]. Returns the exit code.
pub fn timerlat_main(mut words: impl Iterator<Item = OsString>) -> i32 {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let wanted = words.next().and_then(|text| serde_json::from_slice::<Wanted>(text.to_str()?.as_bytes()).ok());
    let Some(wanted) = wanted else { return 2 };
    let mut threads = Vec::new();
    for cpu in wanted.cpus.iter() {
        let (path, scheduling) = (file(&wanted.folder, cpu), wanted.scheduling);
        let builder = std::thread::Builder::new().name(format!("timerlatu/{cpu}")).stack_size(160 * 1024);
        match builder.spawn(move || read(&path, cpu, scheduling)) {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                say(&format!("cannot create a thread for CPU {cpu}: {e}"));
                return 4;
            }
        }
    }
    // Blocks until the parent closes the other end, which it does when it ends.
    let _ = std::io::stdin().read(&mut [0]);
    0
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may already have ended.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Main function of a thread, which must be bound to its CPU before it opens the file.
fn read(path: &Path, cpu: CpuId, scheduling: Scheduling) {
    let attributes = Attributes { scheduling, cpu: Some(cpu), lock_stack: true };
    let applied = match attributes.apply() {
        Ok(applied) => applied,
        Err(e) => return say(&e.to_string()),
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) => return say(&format!("{}: {e}", path.display())),
    };
    let thread = Thread { cpu, tid: rustix::thread::gettid().as_raw_nonzero().get(), got: applied.scheduling };
    say(&serde_json::to_string(&thread).unwrap_or_default());
    let mut nothing = [0; 64];
    loop {
        match file.read(&mut nothing) {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
