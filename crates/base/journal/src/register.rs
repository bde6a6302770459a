//! Makes processes that measure on this machine and processes that change it visible to each other.
//!
//! Each of these processes has a file in a directory shared by all users, and by all containers that share /run. The
//! name of the file identifies the process and its CPUs. A lock on it (flock(2)) shows that the process is alive, even
//! if it is in another PID namespace. The directory is watched with inotify(7), so that processes that start and end
//! between two scans of the directory are not missed.

use crate::Journal;
use punctual_units::CpuList;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, Uid, inotify};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The shared directory. On Debian all users may write to /run/lock; on other systems root must create the directory.
const SHARED: &str = "/run/lock/punctual";
/// Maximum length in bytes of the command line in a file name.
const LONGEST: usize = 150;
/// Character that replaces `/` in a file name.
const SLASH: char = '\u{2215}';

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// The process measures on these CPUs.
    Measures(CpuList),
    /// The process changes settings of the machine.
    Changes,
    /// The process will change settings of the machine if no process is measuring.
    WouldChange,
}

/// Another process that runs this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// PID of the process in its own PID namespace.
    pub pid: u32,
    pub is_in_other_namespace: bool,
    pub does: Does,
    /// Command line of the process, truncated.
    pub command: String,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Other { pid, command, .. } = self;
        let container = if self.is_in_other_namespace { " in another container" } else { "" };
        write!(f, "PID {pid}{container} (`{command}`)")
    }
}

/// Registration of this process. It ends when this value is dropped or the process dies.
#[derive(Debug)]
pub struct Register {
    folder: OwnedFd,
    watch: OwnedFd,
    name: String,
    /// Descriptor that holds the lock, which shows that this process is alive.
    _file: OwnedFd,
    limited: Option<String>,
}

impl Register {
    /// Registers this process. If the shared directory cannot be used, uses a directory of this user, and only
    /// processes of the same user see each other (see [`Register::limited`]).
    ///
    /// # Errors
    /// Neither directory can be used.
    pub fn enter(does: &Does) -> io::Result<Register> {
        Register::enter_at(Path::new(SHARED), does).or_else(|e| {
            let mut register = Register::enter_at(&own(), does)?;
            let limited = format!("{SHARED}: {e}: processes of other users and containers are not visible");
            register.limited = Some(limited);
            Ok(register)
        })
    }

    /// Like [`Register::enter`], in the given directory, which is created if it is missing.
    ///
    /// # Errors
    /// One of the system calls failed.
    pub fn enter_at(folder: &Path, does: &Does) -> io::Result<Register> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = open(folder, true)?;
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        // Watches the open directory, because its path may lead elsewhere by now.
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder));
        inotify::add_watch(&watch, path, inotify::WatchFlags::MOVED_TO)?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = name(does, &format!("{}.{}.{number}", now.tv_sec, now.tv_nsec));
        let new = format!(".{}.{}.{number}", std::process::id(), now.tv_nsec);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&folder, &new, flags, Mode::from_raw_mode(0o644))?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // The file appears with its lock held, and watchers notice it.
        rustix::fs::renameat(&folder, &new, &folder, &name)?;
        Ok(Register { folder, watch, name, _file: file, limited: None })
    }

    /// Announces that this process now changes the machine, so that processes that measure notice it.
    ///
    /// # Errors
    /// One of the system calls failed.
    pub fn changes(&mut self) -> io::Result<()> {
        let name = self.name.replacen(" ? ", " - ", 1);
        rustix::fs::renameat(&self.folder, &self.name, &self.folder, &name)?;
        self.name = name;
        Ok(())
    }

    /// Returns the reason why some processes may not be visible; `None` if all processes are visible.
    pub fn limited(&self) -> Option<&str> {
        self.limited.as_deref()
    }

    /// Returns the other registered processes that are alive.
    pub fn others(&self) -> Vec<Other> {
        alive(&self.folder).into_iter().filter(|name| *name != self.name).filter_map(|name| other(&name)).collect()
    }

    /// Returns the processes that have registered since the last call or, at the first call, since this process
    /// registered. Some of them may already have ended.
    ///
    /// # Errors
    /// The kernel's event queue overflowed, or reading it failed.
    pub fn came(&mut self) -> io::Result<Vec<Other>> {
        let mut came = Vec::new();
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.watch, &mut buffer);
        loop {
            match events.next() {
                Ok(event) if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) => {
                    return Err(io::Error::other(
                        "the kernel's event queue overflowed, so some processes may have been missed",
                    ));
                }
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                    came.extend(name.filter(|name| *name != self.name).and_then(|name| other(&name)));
                }
                Err(Errno::AGAIN) => return Ok(came),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        // If the file stays, it has no lock, and the next reader removes it.
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// Returns the visible processes that currently measure or change the machine. Does not register this process.
pub fn at_work() -> Vec<Other> {
    let folders = [PathBuf::from(SHARED), own()];
    let names = folders.iter().filter_map(|folder| open(folder, false).ok()).flat_map(|folder| alive(&folder));
    names.filter_map(|name| other(&name)).collect()
}

fn own() -> PathBuf {
    Journal::of_user().folder.join("at-work")
}

/// Opens a directory in which all users may create files but nobody can remove the files of another user (sticky bit).
/// Creates it if `makes` is set.
fn open(path: &Path, makes: bool) -> io::Result<OwnedFd> {
    if makes {
        let above = path.parent().unwrap_or(path);
        let is_shared = path == Path::new(SHARED);
        if !is_shared {
            crate::make_private(above)?;
        }
        match rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o1777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(Errno::NOENT) if is_shared => {
                // Some systems have no /run/lock.
                rustix::fs::mkdirat(CWD, above, Mode::from_raw_mode(0o755))?;
                rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o1777))?;
            }
            Err(e) => return Err(e.into()),
        }
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let meta = rustix::fs::fstat(&folder)?;
    let me = rustix::process::geteuid();
    if makes && me.is_root() && meta.st_uid != 0 {
        // Another user created it first and could remove our files.
        rustix::fs::fchown(&folder, Some(Uid::ROOT), Some(Gid::ROOT))?;
    }
    if makes && (me.is_root() || meta.st_uid == me.as_raw()) && meta.st_mode & 0o7777 != 0o1777 {
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o1777))?;
    }
    Ok(folder)
}

/// Returns the file names of living processes. Removes the files of dead processes if this user may do so.
fn alive(folder: &OwnedFd) -> Vec<String> {
    let Ok(entries) = rustix::fs::Dir::read_from(folder) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let lives = |name: &String| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { return false };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            return true;
        }
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        false
    };
    names.filter(|name| !name.starts_with('.') && lives(name)).collect()
}

/// Returns the file name of this process, `PID NAMESPACE TIME CPUS COMMAND`. CPUS is `-` for [`Does::Changes`] and `?`
/// for [`Does::WouldChange`].
fn name(does: &Does, time: &str) -> String {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let command = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
    let shown = command.chars().map(|c| match c {
        '/' => SLASH,
        c if c.is_control() => '?',
        c => c,
    });
    let mut command = String::new();
    for c in shown {
        if command.len() + c.len_utf8() > LONGEST {
            break;
        }
        command.push(c);
    }
    let cpus = match does {
        Does::Changes => "-".to_owned(),
        Does::WouldChange => "?".to_owned(),
        Does::Measures(cpus) => {
            let list = cpus.to_string();
            // A name is limited to 255 bytes: a longer list is widened to the range from its first to its last CPU.
            let ends = || Some(format!("{}-{}", cpus.iter().next()?, cpus.iter().last()?));
            if list.len() > 40 { ends().unwrap_or(list) } else { list }
        }
    };
    format!("{} {} {time} {cpus} {command}", std::process::id(), namespace())
}

fn namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect::<String>() + "n"
}

/// Parses a file name; `None` for this process and for names in another format.
fn other(name: &str) -> Option<Other> {
    let mut parts = name.splitn(5, ' ');
    let pid = parts.next()?.parse().ok()?;
    let is_in_other_namespace = parts.next()? != namespace();
    let does = match (parts.next()?, parts.next()?) {
        (_, "-") => Does::Changes,
        (_, "?") => Does::WouldChange,
        (_, cpus) => Does::Measures(cpus.parse().ok()?),
    };
    let command = parts.next()?.replace(SLASH, "/");
    let is_own = pid == std::process::id() && !is_in_other_namespace;
    (!is_own).then_some(Other { pid, is_in_other_namespace, does, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(cpus: &str) -> Does {
        Does::Measures(cpus.parse().unwrap())
    }

    /// Renames the file of a registration as if a process with another PID had registered.
    fn as_other(register: &mut Register, folder: &Path, pid: u32) {
        let (_, rest) = register.name.split_once(' ').unwrap();
        let name = format!("{pid} {rest}");
        std::fs::rename(folder.join(&register.name), folder.join(&name)).unwrap();
        register.name = name;
    }

    #[test]
    fn those_that_live_see_each_other_and_who_came_and_went() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("private/at-work");
        let mut one = Register::enter_at(&folder, &measures("0-1")).unwrap();
        assert!(one.others().is_empty() && one.came().unwrap().is_empty(), "not itself");
        let mut two = Register::enter_at(&folder, &Does::WouldChange).unwrap();
        as_other(&mut two, &folder, 4_000_001);
        assert_eq!(one.others()[0].does, Does::WouldChange);
        two.changes().unwrap();
        let others = one.others();
        assert_eq!((others.len(), others[0].pid, &others[0].does), (1, 4_000_001, &Does::Changes));
        drop(two);
        assert!(one.others().is_empty());
        let came = one.came().unwrap();
        assert!(came.iter().any(|other| other.pid == 4_000_001 && other.does == Does::Changes), "{came:?}");
        assert!(one.came().unwrap().is_empty(), "once");
        drop(one);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn the_dead_are_no_others() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("private/at-work");
        let one = Register::enter_at(&folder, &measures("0")).unwrap();
        std::fs::write(folder.join(name(&measures("0"), "0").replacen(|c: char| c.is_ascii_digit(), "9", 1)), "")
            .unwrap();
        std::fs::write(folder.join("garbage"), "").unwrap();
        assert!(one.others().is_empty());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("private");
        crate::make_private(&folder).unwrap();
        std::os::unix::fs::symlink(home.path(), folder.join("at-work")).unwrap();
        assert!(Register::enter_at(&folder.join("at-work"), &Does::Changes).is_err());
    }

    #[test]
    fn names_fit_and_are_read_back() {
        let many: CpuList = (0..2000).step_by(2).map(punctual_units::CpuId).collect();
        let name = name(&Does::Measures(many), "99999999.999999999.99");
        assert!(name.len() < 255 && !name.contains('/'), "{name}");
        let (pid, rest) = name.split_once(' ').unwrap();
        assert_eq!(other(&name), None, "{pid} is this process");
        assert_eq!(other(&format!("1 {rest}")).unwrap().does, measures("0-1998"));
        for wrong in ["", "x", "1 2", "1 2 3 4", "x 2 3 - c", "1 2 3 9-1 c"] {
            assert_eq!(other(wrong), None, "{wrong}");
        }
    }
}
