//! flock(2) with a time limit.

use crate::proc::{Stat, everyone};
use crate::{GRACE, seconds};
use rustix::fd::AsFd;
use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use std::fmt::{Display, Formatter};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts to lock.
const TRY: Duration = Duration::from_millis(20);
/// Time between two searches for the processes that hold the lock.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum length in characters of the command lines in messages.
const SHOWN: usize = 100;

/// Type of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Shared,
    Exclusive,
}

/// Locks a file or a directory until its last descriptor is closed. Waits at most `most` for the processes that hold
/// the lock, and at most [`GRACE`] while all of them are stopped. After 1 s, `waits` is called once with a description
/// of these processes.
///
/// # Errors
/// `TimedOut` with a description of the processes that hold the lock; otherwise see flock(2).
pub fn lock(file: impl AsFd, share: Share, most: Duration, waits: &mut dyn FnMut(&str)) -> io::Result<()> {
    lock_within(file, share, (most, GRACE), waits)
}

/// Like [`lock`], with two time limits: one for the whole wait, and one for the time during which all processes that
/// hold the lock are stopped.
fn lock_within(
    file: impl AsFd,
    share: Share,
    (most, stopped): (Duration, Duration),
    waits: &mut dyn FnMut(&str),
) -> io::Result<()> {
    let how = match share {
        Share::Shared => FlockOperation::NonBlockingLockShared,
        Share::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let began = Instant::now();
    let (mut looked, mut went_on, mut is_said) = (began, began, false);
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let (now, is_over) = (Instant::now(), began.elapsed() >= most);
        if is_over || now - looked >= LOOK {
            looked = now;
            let holders = Holders::of(&file)?;
            if !holders.are_stopped() {
                went_on = now;
            }
            if is_over || now - went_on >= stopped {
                let why = format!("locked for {} by {holders}", seconds(now - began));
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            if !std::mem::replace(&mut is_said, true) {
                waits(&holders.to_string());
            }
        }
        thread::sleep(TRY.min(most));
    }
}

struct Holder {
    pid: i32,
    /// Command line of the process, possibly shortened.
    command: String,
    is_stopped: bool,
}

/// The processes that are known to have a descriptor of the locked file. They may have inherited it.
struct Holders(Vec<Holder>);

impl Holders {
    fn of(file: impl AsFd) -> io::Result<Holders> {
        let stat = fstat(&file)?;
        let wanted = (stat.st_dev, stat.st_ino);
        Ok(Holders(everyone().into_iter().filter(|pid| holds(*pid, wanted)).map(Holder::of).collect()))
    }

    fn are_stopped(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|holder| holder.is_stopped)
    }
}

impl Holder {
    fn of(pid: i32) -> Holder {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let mut command: String = line.trim().chars().take(SHOWN).collect();
        if line.trim().chars().nth(SHOWN).is_some() {
            command.push('…');
        }
        let is_stopped = Stat::of(pid).is_some_and(|stat| matches!(stat.state, 'T' | 't'));
        Holder { pid, command, is_stopped }
    }
}

/// Returns true if the process holds a lock on the file with this device and inode. Reads /proc/PID/fdinfo (Linux 4.1),
/// which contains the inode of each lock, and calls stat(2) only for files with this inode.
fn holds(pid: i32, wanted: (u64, u64)) -> bool {
    let inode = format!(":{}", wanted.1);
    let of_lock = |line: &str| {
        line.starts_with("lock:")
            && line.contains(" FLOCK ")
            && line.split_whitespace().any(|word| word.ends_with(&inode))
    };
    let entries = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|number| {
        let number = number.to_string_lossy();
        let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
        text.lines().any(of_lock)
            && fs::metadata(format!("/proc/{pid}/fd/{number}")).is_ok_and(|file| (file.dev(), file.ino()) == wanted)
    })
}

impl Display for Holders {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("a process that is not visible (it belongs to another user or another container)");
        }
        for (n, Holder { pid, command, is_stopped }) in self.0.iter().enumerate() {
            let between = if n > 0 { "; " } else { "" };
            write!(f, "{between}PID {pid} (`{command}`)")?;
            if *is_stopped {
                write!(f, ", which is stopped: `kill -CONT {pid}` lets it continue")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::fs::File;
    use std::process::{Command, Stdio};

    #[test]
    fn who_holds_a_lock_is_named_also_where_it_was_inherited() {
        let (nobody, short) = (&mut |_: &str| {}, Duration::from_millis(50));
        let file = tempfile::tempfile().unwrap();
        let again = || File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file))).unwrap();
        lock(&file, Share::Shared, short, nobody).unwrap();
        lock(again(), Share::Shared, short, nobody).unwrap();
        let refused = lock(again(), Share::Exclusive, short, nobody).unwrap_err();
        let own = format!("by PID {} (`", std::process::id());
        assert!(refused.kind() == io::ErrorKind::TimedOut && refused.to_string().contains(&own), "{refused}");
        let unlocked = tempfile::tempfile().unwrap();
        assert!(Holders::of(&unlocked).unwrap().0.is_empty());

        let other = again();
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::from(file)).spawn().unwrap();
        let pid = child.id().cast_signed();
        let mut said = Vec::new();
        let waited = Duration::from_millis(1200);
        let refused = lock(&other, Share::Exclusive, waited, &mut |who| said.push(who.to_owned())).unwrap_err();
        assert_eq!(said, [format!("PID {pid} (`sleep 600`)")]);
        assert!(refused.to_string().contains(&said[0]), "{refused}");

        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        while !Holders::of(&other).unwrap().are_stopped() {
            thread::sleep(TRY);
        }
        let stopped = format!("PID {pid} (`sleep 600`), which is stopped: `kill -CONT {pid}` lets it continue");
        assert_eq!(Holders::of(&other).unwrap().to_string(), stopped);
        let limits = (Duration::from_secs(600), Duration::from_millis(500));
        let refused = lock_within(&other, Share::Exclusive, limits, nobody).unwrap_err();
        assert!(refused.to_string().ends_with(&stopped), "{refused}");
        child.kill().unwrap();
        child.wait().unwrap();
        lock(&other, Share::Exclusive, short, nobody).unwrap();
    }
}
