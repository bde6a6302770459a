//! The running machine, or a directory in place of a machine.

use crate::system::{Attributes, Kind, Lock, Ran, System, is_absent};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_model::Argv;
use punctual_units::{CpuList, Scheduling};
use punctual_watchdog::{PROGRAMS, Share, lock};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags, Timespec, Timestamps};
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, Weak};

/// Maximum size of a file that is read, bytes. Original files are kept as a whole.
const LARGEST: u64 = 4 << 20;
const FOLDERS: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";
/// Maximum size of a command's output that is kept, bytes; the rest is dropped.
const MAX_OUTPUT: usize = 4096;
/// Maximum size of extended attributes, bytes.
const MAX_EXTENDED: usize = 64 << 10;

/// The machine that runs this program, or, for tests, a directory used as `/`.
#[derive(Clone, Debug, Default)]
pub struct Real {
    root: Option<PathBuf>,
    /// The lock, while it is held. Commands that run meanwhile inherit it.
    held: Arc<Mutex<Weak<OwnedFd>>>,
}

impl Real {
    pub fn new() -> Real {
        Real::default()
    }

    /// Uses a directory in place of a machine. Operations on threads and commands are then refused.
    pub fn under(root: impl Into<PathBuf>) -> Real {
        Real { root: Some(root.into()), ..Real::default() }
    }

    fn at(&self, path: &Path) -> PathBuf {
        match &self.root {
            None => path.to_owned(),
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
        }
    }

    fn here(&self) -> io::Result<()> {
        match self.root {
            None => Ok(()),
            Some(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "possible only on the running machine")),
        }
    }

    /// Opens a file, which must be a regular file. A link in the last component is not followed.
    fn open(&self, path: &Path, options: &fs::OpenOptions) -> io::Result<File> {
        let at = self.at(path);
        if !fs::symlink_metadata(&at)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.clone().custom_flags(flags.bits() as i32).open(at)
    }
}

impl System for Real {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        let file = self.open(path, File::options().read(true))?;
        file.take(LARGEST + 1).read_to_end(&mut content)?;
        if content.len() as u64 > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(content)
    }

    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)> {
        let at = self.at(path);
        let meta = fs::symlink_metadata(&at)?;
        let kind = match meta.file_type() {
            t if t.is_file() => Kind::File(meta.nlink()),
            t if t.is_dir() => Kind::Folder,
            t if t.is_symlink() => Kind::Link(fs::read_link(&at)?.to_string_lossy().into_owned()),
            _ => Kind::Other,
        };
        let extended = if matches!(kind, Kind::File(_)) { extended(&at) } else { Vec::new() };
        let modified = Some((meta.mtime(), u32::try_from(meta.mtime_nsec()).unwrap_or(0)));
        Ok((kind, Attributes { mode: meta.mode() & 0o7777, uid: meta.uid(), gid: meta.gid(), modified, extended }))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.at(folder))?;
        let mut names: Vec<String> =
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<_>>()?;
        names.sort_unstable();
        Ok(names)
    }

    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()> {
        let file = self.open(path, File::options().write(true).truncate(true))?;
        let written = (&file).write(value)?;
        if written < value.len() {
            return Err(io::Error::new(io::ErrorKind::WriteZero, "the file accepted only part of the value"));
        }
        Ok(())
    }

    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let mut file = options.open(self.at(path))?;
        file.write_all(content)?;
        file.sync_all()
    }

    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()> {
        let at = self.at(path);
        let now = fs::symlink_metadata(&at)?;
        // Failures are ignored: a file system may not support an attribute (vfat: owners, most modes).
        if (now.uid(), now.gid()) != (attributes.uid, attributes.gid) {
            optional(std::os::unix::fs::lchown(&at, Some(attributes.uid), Some(attributes.gid)))?;
        }
        optional(fs::set_permissions(&at, fs::Permissions::from_mode(attributes.mode)))?;
        for (name, value) in &attributes.extended {
            let value = STANDARD.decode(value).unwrap_or_default();
            optional(
                rustix::fs::lsetxattr(&at, name.as_str(), &value, rustix::fs::XattrFlags::empty()).map_err(Into::into),
            )?;
        }
        if let Some((tv_sec, nanoseconds)) = attributes.modified {
            let time = Timespec { tv_sec, tv_nsec: nanoseconds.into() };
            let times = Timestamps { last_access: time, last_modification: time };
            optional(rustix::fs::utimensat(CWD, &at, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(Into::into))?;
        }
        File::open(&at)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(self.at(path))
    }

    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::DirBuilder::new().mode(mode).create(self.at(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(self.at(path))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match File::open(self.at(path))?.sync_all() {
            // Pseudo file systems (cgroup) have nothing to sync.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut options = File::options();
        options.append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let mut file = options.open(self.at(path))?;
        file.write_all(content)?;
        file.sync_data()
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        let file = self.open(path, File::options().write(true))?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)> {
        self.here()?;
        punctual_uapi::scheduling(number(tid)?).map_err(|e| e.source)
    }

    fn set_scheduling(&self, tid: u32, wanted: Scheduling, reset_on_fork: bool) -> io::Result<()> {
        self.here()?;
        punctual_uapi::set_scheduling(number(tid)?, wanted, reset_on_fork).map_err(|e| e.source)
    }

    fn affinity(&self, tid: u32) -> io::Result<CpuList> {
        self.here()?;
        punctual_uapi::affinity(number(tid)?).map_err(|e| e.source)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()> {
        self.here()?;
        punctual_uapi::set_affinity(number(tid)?, cpus).map_err(|e| e.source)
    }

    fn run(&self, argv: &Argv) -> io::Result<Ran> {
        self.here()?;
        let (program, arguments) = argv.0.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = std::process::Command::new(program);
        // The path is fixed, so that the caller's PATH does not determine what runs as root.
        command.args(arguments).env("PATH", FOLDERS);
        command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = {
            let _shared = self.held.lock().ok().and_then(|held| held.upgrade()).map(Shared::new).transpose()?;
            command.spawn()?
        };
        let done = punctual_watchdog::output_of(child, program, PROGRAMS)?;
        let text = |bytes: &[u8]| {
            let cut = bytes.get(..bytes.len().min(MAX_OUTPUT)).unwrap_or_default();
            String::from_utf8_lossy(cut).trim().to_owned()
        };
        Ok(Ran { code: done.status.code(), output: text(&done.stdout), complaint: text(&done.stderr) })
    }

    fn lacks(&self, program: &str) -> bool {
        // A directory that is given in place of a machine need not contain the machine's programs.
        self.root.is_none() && FOLDERS.split(':').all(|folder| is_missing(&Path::new(folder).join(program)))
    }

    fn boot_id(&self) -> io::Result<String> {
        Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
    }

    fn boottime_s(&self) -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        u64::try_from(now.tv_sec).unwrap_or(0)
    }

    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock> {
        let folder = File::open(self.at(folder))?;
        match wait {
            // A process that holds the lock may be running other programs.
            true => lock(&folder, Share::Exclusive, PROGRAMS, &mut |_| {})?,
            false => rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?,
        }
        let lock = Arc::new(OwnedFd::from(folder));
        if let Ok(mut held) = self.held.lock() {
            *held = Arc::downgrade(&lock);
        }
        Ok(Lock(Some(lock)))
    }

    fn user(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn wait(&self, seconds: u64) {
        std::thread::sleep(std::time::Duration::from_secs(seconds));
    }
}

/// Returns true if the path does not exist, or is a link to a path that does not exist.
fn is_missing(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|e| is_absent(&e))
}

/// A lock that started processes inherit: flock(2) releases it when the last descriptor is closed. The descriptor is
/// inheritable only while such a process is started.
struct Shared(Arc<OwnedFd>);

impl Shared {
    fn new(lock: Arc<OwnedFd>) -> io::Result<Shared> {
        fcntl_setfd(&*lock, FdFlags::empty())?;
        Ok(Shared(lock))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The same flag was set before, so this cannot fail. If it did, later processes would only hold the lock
        // longer.
        let _ = fcntl_setfd(&*self.0, FdFlags::CLOEXEC);
    }
}

fn number(tid: u32) -> io::Result<i32> {
    i32::try_from(tid).ok().filter(|tid| *tid > 0).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Treats an operation that the file system does not support as done. Errors of a full or broken disk remain errors.
fn optional(done: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match done {
        Err(e) if matches!(e.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        other => other,
    }
}

fn extended(at: &Path) -> Vec<(String, String)> {
    let mut names = vec![0_u8; MAX_EXTENDED];
    let Ok(length) = rustix::fs::llistxattr(at, &mut names[..]) else { return Vec::new() };
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    let value = |name: &str| {
        let mut value = vec![0_u8; MAX_EXTENDED];
        let length = rustix::fs::lgetxattr(at, name, &mut value[..]).ok()?;
        Some((name.to_owned(), STANDARD.encode(value.get(..length)?)))
    };
    names.filter_map(|name| std::str::from_utf8(name).ok()).filter(|name| !name.is_empty()).filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_outlives_us_keeps_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Real::new(), Real::new());
        let lock = one.lock(folder.path(), true).unwrap();
        let fifo = folder.path().join("fifo");
        let line = format!("mkfifo {0}; cat {0} > /dev/null 2>&1 &", fifo.display());
        assert_eq!(one.run(&Argv::new(["sh", "-c", line.as_str()])).unwrap().code, Some(0));
        drop(lock);
        let refused = other.lock(folder.path(), false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        while fs::metadata(&fifo).is_err() {
            std::thread::yield_now();
        }
        // cat ends when its input is closed.
        drop(File::options().write(true).open(&fifo).unwrap());
        drop(other.lock(folder.path(), true).unwrap());
        // A command that is started without a lock inherits none.
        assert_eq!(one.run(&Argv::new(["true"])).unwrap().code, Some(0));
    }
}
