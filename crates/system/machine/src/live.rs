//! The running machine, or the directory tree of another.

use crate::{Listing, Machine, READ_LIMIT, Read, within};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::path::PathBuf;

/// Maximum number of entries in one listing: twice the largest default of kernel.pid_max on small machines.
const MAX_ENTRIES: usize = 1 << 16;

/// Reading this device is harmless: it returns the CPU latency limit in force, µs as s32, and opening it requests "no
/// limit" (kernel/power/qos.c, cpu_latency_qos_open).
const READABLE_DEVICES: &[&str] = &["/dev/cpu_dma_latency"];

/// The kernel's log: each read returns one record and removes none (Documentation/ABI/testing/dev-kmsg).
const KERNEL_LOG: &str = "/dev/kmsg";

/// Maximum length of a record in bytes (kernel/printk/printk.c, PRINTK_MESSAGE_MAX and its prefix).
const LONGEST_RECORD: usize = 8192;

/// File that contains the output of `uname -m` since Linux 6.1 (commit bfca3dd3d068); older kernels are asked with
/// uname(2).
const ARCHITECTURE: &str = "/proc/sys/kernel/arch";

/// Returns true for a process's link to its program; opening it would read the program.
fn is_program(path: &str) -> bool {
    let inner = path.strip_prefix("/proc/").and_then(|rest| rest.strip_suffix("/exe"));
    inner.is_some_and(|pid| pid == "self" || pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The running machine, or a directory tree in place of it. `/proc/PID/exe` reads as the path of the program.
#[derive(Debug)]
pub struct Live {
    /// Folder used as `/`; `None` for the real root.
    root: Option<PathBuf>,
}

impl Default for Live {
    fn default() -> Self {
        Live::new()
    }
}

impl Live {
    pub fn new() -> Live {
        Live { root: None }
    }

    /// Reads a directory tree as if `root` were `/`: links in it never lead outside.
    pub fn under(root: impl Into<PathBuf>) -> Live {
        Live { root: Some(root.into()) }
    }

    fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        if !path.starts_with('/') {
            return Err(Errno::INVAL);
        }
        let flags = flags | OFlags::CLOEXEC;
        match &self.root {
            None => openat(CWD, path, flags, Mode::empty()),
            Some(root) => {
                let root = openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
                within::open(&root, path, flags)
            }
        }
    }

    /// Opens a file if reading it can neither block nor have side effects. Its type is checked through an O_PATH
    /// descriptor first: opening a watchdog or a tape for reading already has effects.
    fn open_harmless(&self, path: &str) -> Result<OwnedFd, Errno> {
        let harmless = |fd: &OwnedFd| match FileType::from_raw_mode(fstat(fd)?.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::CharacterDevice if READABLE_DEVICES.contains(&path) => Ok(()),
            FileType::Directory => Err(Errno::ISDIR),
            _ => Err(Errno::NXIO),
        };
        harmless(&self.open(path, OFlags::PATH)?)?;
        let fd = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        harmless(&fd)?;
        Ok(fd)
    }

    fn whole_file(&self, path: &str) -> Result<Vec<u8>, Errno> {
        let fd = self.open_harmless(path)?;
        let mut content = vec![0; 4096];
        let mut filled = 0;
        loop {
            match again(|| rustix::io::read(&fd, &mut content[filled..]))? {
                0 => break,
                n => filled += n,
            }
            if filled > READ_LIMIT {
                return Err(Errno::FBIG);
            }
            if filled == content.len() {
                content.resize(content.len() * 4, 0);
            }
        }
        content.truncate(filled);
        Ok(content)
    }

    /// Reads every record of the kernel's log. Records that are overwritten during the read are skipped.
    fn kernel_log(&self) -> Result<Vec<u8>, Errno> {
        let fd = self.open(KERNEL_LOG, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        if FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::CharacterDevice {
            return Err(Errno::NXIO);
        }
        let mut record = vec![0; LONGEST_RECORD];
        let mut log = Vec::new();
        while log.len() <= READ_LIMIT {
            match again(|| rustix::io::read(&fd, &mut record)) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(log),
                Ok(n) => log.extend_from_slice(&record[..n]),
                Err(Errno::PIPE) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::FBIG)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, Errno> {
        let fd = self.open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(fd)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
            if names.len() > MAX_ENTRIES {
                return Err(Errno::FBIG);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn part(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let fd = self.open_harmless(path)?;
        let mut content = vec![0; length.min(READ_LIMIT)];
        let mut filled = 0;
        while filled < content.len() {
            match again(|| rustix::io::pread(&fd, &mut content[filled..], offset + filled as u64))? {
                0 => break,
                n => filled += n,
            }
        }
        content.truncate(filled);
        Ok(content)
    }
}

fn read_state(content: Result<Vec<u8>, Errno>) -> Read {
    match content {
        Ok(bytes) => Read::Known(bytes),
        Err(e) if is_absent(e) => Read::Absent,
        Err(e) if is_denied(e) => Read::Denied,
        Err(e) => Read::Failed(e.raw_os_error()),
    }
}

/// Repeats a call that a signal interrupted.
fn again(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn is_absent(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

fn is_denied(errno: Errno) -> bool {
    matches!(errno, Errno::ACCESS | Errno::PERM)
}

impl Machine for Live {
    fn read(&self, path: &str) -> Read {
        if path == KERNEL_LOG && self.root.is_none() {
            return read_state(self.kernel_log());
        }
        if is_program(path) && self.root.is_none() {
            return read_state(rustix::fs::readlinkat(CWD, path, Vec::new()).map(|link| link.into_bytes()));
        }
        match self.whole_file(path) {
            Err(Errno::NOENT) if path == ARCHITECTURE && self.root.is_none() => {
                Read::Known(rustix::system::uname().machine().to_bytes().to_vec())
            }
            content => read_state(content),
        }
    }

    fn list(&self, folder: &str) -> Listing {
        match self.names(folder) {
            Ok(names) => Listing::Known(names),
            Err(e) if is_absent(e) => Listing::Absent,
            Err(e) if is_denied(e) => Listing::Denied,
            Err(e) => Listing::Failed(e.raw_os_error()),
        }
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        read_state(self.part(path, offset, length))
    }
}
