use crate::board::{Board, Slot, now};
use crate::builtin::named;
use crate::message::{self, Hello, Message};
use crate::settings::{ChildConfig, HIDDEN_ARG};
use crate::{LoadError, builtin};
use punctual_watchdog::proc::{Stat, descendants};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Maximum size of a load's output, bytes. A load that writes more is defective.
const MAX_OUTPUT: usize = 64 << 10;

/// Time allowed for a command's process to end everything the command started.
const GRACE: Duration = Duration::from_millis(1_500);
/// Time allowed for a killed process to disappear. A process that waits for a broken disk never does.
const REAP: Duration = Duration::from_secs(2);

/// A process of a load, and what the parent knows about it. Dropping it ends the process.
pub(crate) struct Part {
    pub board: Board,
    pub hello: Hello,
    name: String,
    is_command: bool,
    child: Child,
    /// Pipe to the process, which ends when the pipe is closed.
    lifeline: Option<OwnedFd>,
    heard: Vec<u8>,
    status: Option<ExitStatus>,
    before: Look,
    after: Look,
    /// The reason why the load had failed by the end of the recording.
    failed: Option<String>,
}

/// Values of the published state and the kernel's counters at one instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    pub slots: Vec<Slot>,
    pub counters: Vec<Result<u64, String>>,
    /// State of each worker's thread, as in /proc/PID/stat; `?` if the thread has ended.
    pub states: Vec<char>,
}

pub(crate) struct Ended {
    pub name: String,
    pub pid: i32,
    pub is_command: bool,
    /// True if CPU time is shared fairly between sessions (sched(7), autogroup).
    pub autogroup: bool,
    pub hello: Hello,
    pub epoch: u64,
    pub before: Look,
    pub after: Look,
    pub failed: Option<String>,
    pub left: Option<String>,
}

impl Part {
    pub fn spawn(config: &ChildConfig, exe: &Path) -> Result<Part, LoadError> {
        let load = named(&config.load)
            .ok_or_else(|| LoadError::Unknown { given: config.load.clone(), known: "a name of the table".into() })?;
        let json = serde_json::to_string(config)
            .map_err(|e| LoadError::Refused(format!("{} is not UTF-8: {e}", config.scratch_folder.display())))?;
        let (board, words) = Board::create(config.slots)?;
        let (lifeline, theirs) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(LoadError::on("pipe2", "a load"))?;
        rustix::io::ioctl_fionbio(&lifeline, true).map_err(LoadError::on("ioctl", "FIONBIO"))?;
        let errors = theirs.try_clone().map_err(LoadError::on("dup", "a pipe"))?;
        let child = Command::new(exe)
            .arg0(format!("punctual-{}", load.comm))
            .args([HIDDEN_ARG, &json])
            .stdin(Stdio::from(words))
            .stdout(Stdio::from(theirs))
            .stderr(Stdio::from(errors))
            // The load has no session of its own. In its own autogroup (sched(7)) it would compete as a group with each
            // kernel thread, and parts of `all` would be silent ten times as long (observed on Linux 6.18).
            .process_group(0)
            .spawn()
            .map_err(LoadError::on("execve", exe.display().to_string()))?;
        Ok(Part {
            board,
            hello: Hello::default(),
            name: config.load.clone(),
            is_command: load.is_command(),
            child,
            lifeline: Some(lifeline),
            heard: Vec::new(),
            status: None,
            before: Look::default(),
            after: Look::default(),
            failed: None,
        })
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn wait_until_ready(&mut self, give_up: u64) -> Result<(), LoadError> {
        loop {
            // Read before checking the load: even if this process was starved of CPU time, the load may be ready.
            let late = now() > give_up;
            if self.is_ready() {
                return Ok(());
            }
            if let Some(why) = self.failure() {
                return Err(LoadError::Refused(why));
            }
            if late {
                return Err(LoadError::Refused(self.not_ready()));
            }
            self.listen(Duration::from_millis(1));
        }
    }

    fn is_ready(&mut self) -> bool {
        if self.hello.workers == 0 {
            let (messages, _) = message::read(&String::from_utf8_lossy(&self.heard));
            let hello =
                messages.into_iter().find_map(|m| if let Message::Hello(hello) = m { Some(hello) } else { None });
            self.hello = hello.unwrap_or_default();
        }
        // Limits the number, so that a defective load cannot make the parent read beyond the slots.
        self.hello.workers = self.hello.workers.min(self.board.slots());
        self.hello.workers > 0 && (0..self.hello.workers).all(|slot| self.board.read(slot).beats > 0)
    }

    fn not_ready(&self) -> String {
        let silent = (0..self.hello.workers).filter(|slot| self.board.read(*slot).beats == 0).count();
        match self.hello.workers {
            0 => {
                "it did not answer in time: the machine is too busy, or a real-time task occupies the CPUs: check with \
                  `ps -eLo pid,cls,rtprio,psr,comm --sort=-rtprio | head`"
                    .into()
            }
            workers => format!(
                "{silent} of {workers} workers made no progress in time: the CPU, disk or network that they need is not responding: see `top` and `dmesg | tail`"
            ),
        }
    }

    /// Reads the load's messages. Waits at most `wait` for them.
    fn listen(&mut self, wait: Duration) {
        let Some(lifeline) = &self.lifeline else { return };
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos() as _ };
        let mut fds = [PollFd::new(lifeline, PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(n) if n > 0) {
            return;
        }
        let mut buffer = [0u8; 4096];
        // Limited, because a defective program may write endlessly.
        for _ in 0..MAX_OUTPUT / buffer.len() {
            match rustix::io::read(lifeline, &mut buffer) {
                Ok(n) if n > 0 && self.heard.len() < MAX_OUTPUT => self.heard.extend(&buffer[..n]),
                Ok(n) if n > 0 => {}
                // No process has the pipe open; the load is about to end.
                Ok(_) => {
                    std::thread::sleep(wait);
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Returns why the load ended early or is about to end; `None` if neither is known.
    fn failure(&mut self) -> Option<String> {
        let ended = self.has_ended();
        self.listen(Duration::ZERO);
        let (messages, rest) = message::read(&String::from_utf8_lossy(&self.heard));
        let said = messages.into_iter().find_map(|m| if let Message::Failed(why) = m { Some(why) } else { None });
        match (said, ended) {
            (Some(why), _) => Some(why),
            (None, Some(status)) => Some(format!("its process {}{}", how_ended(status), last_words(&rest))),
            (None, None) => None,
        }
    }

    fn has_ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    pub fn start_recording(&mut self, since: u64) {
        self.board.start_recording(since);
        self.before = self.look();
    }

    pub fn stop_recording(&mut self) {
        self.after = self.look();
        self.failed = self.failure();
    }

    fn look(&self) -> Look {
        let slots: Vec<Slot> = (0..self.hello.workers).map(|slot| self.board.read(slot)).collect();
        let counters = self.hello.counters.iter().map(|c| c.read().map_err(|e| e.to_string())).collect();
        let pid = self.pid();
        let state = |slot: &Slot| Stat::of_thread(pid, slot.tid).map_or('?', |s| s.state);
        Look { states: slots.iter().map(state).collect(), slots, counters }
    }

    pub fn ask_to_end(&mut self) {
        self.listen(Duration::ZERO);
        if self.has_ended().is_some() {
            return;
        }
        let Some(pid) = Pid::from_raw(self.pid()) else { return };
        if self.is_command {
            // The command's process ends everything the command started, even if the load was stopped by SIGSTOP.
            self.lifeline = None;
            let _ = kill_process(pid, Signal::CONT);
        } else {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    pub fn end(mut self) -> Ended {
        let left = self.finish();
        let (epoch, _) = self.board.recording();
        Ended {
            name: self.name.clone(),
            pid: self.pid(),
            is_command: self.is_command,
            autogroup: std::fs::read("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|t| t.starts_with(b"1")),
            hello: self.with_later_notes(),
            epoch,
            before: std::mem::take(&mut self.before),
            after: std::mem::take(&mut self.after),
            failed: self.failed.take(),
            left,
        }
    }

    fn with_later_notes(&self) -> Hello {
        let (messages, _) = message::read(&String::from_utf8_lossy(&self.heard));
        let mut hello = self.hello.clone();
        hello.notes.extend(messages.into_iter().filter_map(|m| if let Message::Note(n) = m { Some(n) } else { None }));
        hello
    }

    /// Kills and reaps the remaining processes. Returns a message about processes that do not end.
    fn finish(&mut self) -> Option<String> {
        self.ask_to_end();
        let pid = Pid::from_raw(self.pid())?;
        if self.is_command {
            let in_order = self.reaped_within(GRACE).is_some_and(|status| status.success());
            if !in_order {
                self.end_commands(pid);
            }
        }
        if self.has_ended().is_none() {
            let _ = kill_process_group(pid, Signal::KILL);
            if self.reaped_within(REAP).is_none() {
                return Some(format!(
                    "process {pid} does not end: it waits in the kernel; see `cat /proc/{pid}/stack`"
                ));
            }
        }
        None
    }

    /// Ends the command's processes that the parent can identify, if the process that should do it cannot.
    fn end_commands(&mut self, host: Pid) {
        if self.has_ended().is_none() {
            for pid in descendants(self.pid()).into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let own = punctual_uapi::process_group();
        if let Some(group) = self.board.group().filter(|g| Some(*g) != own && *g != host && !g.is_init()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn reaped_within(&mut self, most: Duration) -> Option<ExitStatus> {
        let give_up = now() + most.as_nanos() as u64;
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = self.has_ended() {
                return Some(status);
            }
            if now() > give_up {
                return None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.finish();
    }
}

fn how_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(9)) => "was killed (signal 9), by a user or because memory ran out: see `dmesg | tail`".into(),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        (Some(code), None) => format!("ended with exit code {code}"),
        (None, None) => "ended".into(),
    }
}

fn last_words(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        words => format!(": {}", builtin::printable(words)),
    }
}
