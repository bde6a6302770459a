//! Determines what the descriptors of a program refer to, from /proc/PID/fd.

use punctual_cycles::Release;

/// What a file descriptor refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A file on a disk, or on a file system that is not known to be in memory.
    Disk,
    /// A file in memory, a file of the kernel (/proc, /sys), or a device such as /dev/null.
    Memory,
    Terminal,
    Pipe,
    Socket,
    Eventfd,
    Timerfd {
        is_realtime: bool,
    },
    Epoll,
    Device,
    Unknown,
}

/// A descriptor as /proc shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub kind: FileKind,
    /// Target of /proc/PID/fd/N.
    pub name: String,
    pub is_nonblocking: bool,
}

impl File {
    /// Creates the description of a descriptor. `name` is the target of the link in /proc/PID/fd, `info` the content of
    /// /proc/PID/fdinfo/N.
    pub fn of(name: &str, info: &str) -> File {
        const O_NONBLOCK: u32 = 0o4000;
        let field = |key: &str| info.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let flags = field("flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok()).unwrap_or(0);
        let kind = match name {
            _ if name.starts_with("socket:") => FileKind::Socket,
            _ if name.starts_with("pipe:") => FileKind::Pipe,
            _ if name.starts_with("anon_inode:") => {
                match name.trim_start_matches("anon_inode:").trim_matches(['[', ']']) {
                    "eventfd" => FileKind::Eventfd,
                    // CLOCK_REALTIME is 0, CLOCK_REALTIME_ALARM 8.
                    "timerfd" => FileKind::Timerfd { is_realtime: matches!(field("clockid:"), Some("0" | "8")) },
                    "eventpoll" => FileKind::Epoll,
                    _ => FileKind::Device,
                }
            }
            "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/urandom" | "/dev/random" => FileKind::Memory,
            "/dev/console" | "/dev/tty" | "/dev/kmsg" => FileKind::Terminal,
            _ if name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") => FileKind::Terminal,
            _ if ["/dev/shm/", "/memfd:", "/proc/", "/sys/", "/dev/hugepages/"]
                .iter()
                .any(|at| name.starts_with(at)) =>
            {
                FileKind::Memory
            }
            _ if name.starts_with("/dev/") => FileKind::Device,
            _ if name.starts_with('/') => FileKind::Disk,
            _ => FileKind::Unknown,
        };
        File { kind, name: name.to_owned(), is_nonblocking: flags & O_NONBLOCK != 0 }
    }

    /// Returns the description of a descriptor that was opened, and closed again before /proc could be read.
    pub fn opened(kind: FileKind) -> File {
        File { kind, name: String::new(), is_nonblocking: false }
    }

    /// Returns true if this may be what was opened as `kind`. The kind of file that a path leads to is not known when
    /// it is opened.
    pub fn may_be(&self, kind: FileKind) -> bool {
        self.kind == kind || kind == FileKind::Disk && self.name.starts_with('/')
    }

    /// Returns what a read from the file waits for.
    pub fn release(&self) -> Release {
        match self.kind {
            FileKind::Pipe | FileKind::Terminal => Release::Pipe,
            FileKind::Socket => Release::Socket,
            FileKind::Eventfd => Release::Eventfd,
            FileKind::Timerfd { .. } => Release::Timerfd,
            FileKind::Device | FileKind::Disk | FileKind::Memory => Release::Device,
            FileKind::Epoll | FileKind::Unknown => Release::Descriptors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_what_proc_shows() {
        let kind = |name: &str| File::of(name, "pos:\t0\nflags:\t02\n").kind;
        assert_eq!(kind("/var/log/app.log"), FileKind::Disk);
        assert_eq!(kind("/dev/shm/state"), FileKind::Memory);
        assert_eq!(kind("/dev/gpiochip0"), FileKind::Device);
        assert_eq!(kind("/dev/pts/3"), FileKind::Terminal);
        assert_eq!(kind("socket:[123]"), FileKind::Socket);
        assert_eq!(kind("anon_inode:[eventfd]"), FileKind::Eventfd);
        assert_eq!(kind("anon_inode:[timerfd]"), FileKind::Timerfd { is_realtime: false });
        assert_eq!(File::of("anon_inode:[timerfd]", "clockid: 0\n").kind, FileKind::Timerfd { is_realtime: true });
        assert!(File::of("socket:[1]", "flags:\t02004002\n").is_nonblocking);
    }
}
