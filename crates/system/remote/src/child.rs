//! Runs a child process with limits on its output and run time.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const BLOCK: usize = 64 << 10;
/// Maximum size of standard error, bytes. A process that writes more is killed.
const COMPLAINT: usize = 1 << 20;
/// Interval between checks of whether a process that has closed its output has ended.
const LOOK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Maximum size of standard output, bytes.
    pub bytes: u64,
    /// Maximum run time.
    pub time: Duration,
}

#[derive(Debug)]
pub(crate) struct Done {
    pub status: ExitStatus,
    /// Content of standard error.
    pub complaint: Vec<u8>,
}

/// Why a command failed. Its process was killed.
#[derive(Debug)]
pub(crate) enum Failed {
    Start(io::Error),
    /// The command wrote more than this number of bytes.
    Much(u64),
    /// The process did not end within this time.
    Long(Duration),
    /// Error of a pipe to the process, or of reading its input.
    Pipe(io::Error),
    /// The output could not be written.
    Out(io::Error),
}

/// A process that is killed on drop unless it has ended.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command with `input` until it ends. Its output is written to `out` as it arrives.
pub(crate) fn run(
    mut command: Command,
    input: Option<&mut dyn Read>,
    out: &mut dyn Write,
    bounds: Bounds,
) -> Result<Done, Failed> {
    let end = Instant::now() + bounds.time;
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().map_err(Failed::Start)?);
    let child = &mut running.0;
    let mut feed = Feed::new(child.stdin.take(), input)?;
    let (mut said, mut complained) = (child.stdout.take(), child.stderr.take());
    let (mut block, mut left, mut complaint) = (vec![0; BLOCK], bounds.bytes, Vec::new());
    while said.is_some() || complained.is_some() {
        let (can_write, can_read, can_complain) = {
            let none = PollFlags::empty();
            let fds = [
                feed.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)),
                said.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)),
                complained.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            ];
            let at = fds.each_ref().map(Option::is_some);
            let mut fds: Vec<PollFd<'_>> = fds.into_iter().flatten().collect();
            let left = end.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(|_| Failed::Long(bounds.time))?;
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Err(Failed::Long(bounds.time)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(Failed::Pipe(errno.into())),
            }
            let mut events = fds.iter().map(|fd| fd.revents() != none);
            let [write, read, complain] = at.map(|is_polled| is_polled && events.next() == Some(true));
            (write, read, complain)
        };
        if Instant::now() >= end {
            return Err(Failed::Long(bounds.time));
        }
        if can_write {
            feed.some()?;
        }
        if let Some(pipe) = said.as_mut().filter(|_| can_read) {
            let part = some(pipe, &mut block)?;
            left = left.checked_sub(part.len() as u64).ok_or(Failed::Much(bounds.bytes))?;
            out.write_all(part).map_err(Failed::Out)?;
            if part.is_empty() {
                said = None;
            }
        }
        if let Some(pipe) = complained.as_mut().filter(|_| can_complain) {
            let part = some(pipe, &mut block)?;
            complaint.extend_from_slice(part);
            if complaint.len() > COMPLAINT {
                return Err(Failed::Much(COMPLAINT as u64));
            }
            if part.is_empty() {
                complained = None;
            }
        }
    }
    loop {
        match child.try_wait().map_err(Failed::Pipe)? {
            Some(status) => return Ok(Done { status, complaint }),
            None if Instant::now() >= end => return Err(Failed::Long(bounds.time)),
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Reads what is available. Returns an empty slice if the other end is closed.
fn some<'b>(pipe: &mut dyn Read, block: &'b mut [u8]) -> Result<&'b [u8], Failed> {
    loop {
        match pipe.read(block) {
            Ok(length) => return Ok(block.get(..length).unwrap_or_default()),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Failed::Pipe(e)),
        }
    }
}

/// Input that is still being written to the process.
struct Feed<'i> {
    /// Standard input of the process; `None` once closed.
    pipe: Option<ChildStdin>,
    input: Option<&'i mut dyn Read>,
    block: Vec<u8>,
    written: usize,
}

impl<'i> Feed<'i> {
    fn new(pipe: Option<ChildStdin>, input: Option<&'i mut dyn Read>) -> Result<Feed<'i>, Failed> {
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true).map_err(|errno| Failed::Pipe(errno.into()))?;
        }
        Ok(Feed { pipe, input, block: Vec::new(), written: 0 })
    }

    /// Writes as much as the pipe accepts. Closes the pipe at the end of the input, or if the process has closed its
    /// end; the exit code then shows the reason.
    fn some(&mut self) -> Result<(), Failed> {
        let (Some(pipe), Some(input)) = (self.pipe.as_mut(), self.input.as_mut()) else { return Ok(()) };
        if self.written == self.block.len() {
            self.block.resize(BLOCK, 0);
            let length = input.read(&mut self.block).map_err(Failed::Pipe)?;
            self.block.truncate(length);
            self.written = 0;
        }
        match pipe.write(self.block.get(self.written..).unwrap_or_default()) {
            Ok(0) => self.pipe = None,
            Ok(length) => self.written += length,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.pipe = None,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Bounds = Bounds { bytes: 1 << 20, time: Duration::from_secs(60) };

    fn sh(script: &str, input: Option<&mut dyn Read>, bounds: Bounds) -> Result<(Vec<u8>, Done), Failed> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut out = Vec::new();
        run(command, input, &mut out, bounds).map(|done| (out, done))
    }

    #[test]
    fn input_and_both_outputs_pass_whole() {
        let input: Vec<u8> = (0..700_000_u32).map(|n| n as u8).collect();
        // A process that writes output before its input is complete.
        let (out, done) = sh("cat; echo sorry >&2; exit 3", Some(&mut &input[..]), SOME).unwrap();
        assert_eq!((out == input, done.status.code(), &done.complaint[..]), (true, Some(3), &b"sorry\n"[..]));
        // A process that does not read its input.
        let (out, done) = sh("exec < /dev/null; echo done", Some(&mut io::repeat(0)), SOME).unwrap();
        assert_eq!((out, done.status.code()), (b"done\n".to_vec(), Some(0)));
    }

    #[test]
    fn endless_output_ends_at_its_bound() {
        assert!(matches!(sh("exec yes", None, SOME), Err(Failed::Much(1_048_576))));
        assert!(matches!(sh("exec yes >&2", None, SOME), Err(Failed::Much(1_048_576))));
        // Output of exactly the maximum size.
        let (out, _) = sh("head -c 1048576 /dev/zero", None, SOME).unwrap();
        assert_eq!(out.len(), 1 << 20);
    }

    #[test]
    fn silence_and_a_trickle_end_in_time() {
        let soon = Bounds { time: Duration::from_millis(200), ..SOME };
        for script in ["exec sleep 600", "while :; do echo x; sleep 0.02; done", "exec >&- 2>&-; exec sleep 600"] {
            let began = Instant::now();
            assert!(matches!(sh(script, None, soon), Err(Failed::Long(_))), "{script}");
            assert!(began.elapsed() < Duration::from_secs(30));
        }
    }
}
