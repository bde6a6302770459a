use crate::cache::Cache;
use crate::console::{self, Said};
use crate::error::VmError;
use crate::guest::Guest;
use crate::initramfs;
use crate::network::Network;
use crate::qemu::Qemu;
use crate::tools;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub struct Booted {
    /// Exit code of the script.
    pub exit_code: i32,
    pub console: String,
    pub fetched_bytes: usize,
    /// Time from the start of QEMU to its end.
    pub lasted: Duration,
}

pub(crate) const LOOK: Duration = Duration::from_millis(25);
/// Time allowed for a machine to power off after the mark `end`; some boards cannot.
const POWER_OFF: Duration = Duration::from_secs(2);
const DTC: &str = "install it: apt-get install device-tree-compiler";

/// Boots a guest, runs its script, and unpacks the fetched files into `into`.
///
/// # Errors
/// The kernel panics, hangs, or is silent until the limit, the guest stops early, or QEMU is missing or too old. The
/// emulator has ended in every case.
pub fn boot(guest: &Guest, cache: &Cache, into: Option<&Path>) -> Result<Booted, VmError> {
    boot_joined(guest, None, cache, into)
}

pub(crate) fn boot_joined(
    guest: &Guest,
    network: Option<(&Network, u32)>,
    cache: &Cache,
    into: Option<&Path>,
) -> Result<Booted, VmError> {
    guest.check()?;
    if network.is_some() && !guest.machine.facts().pci {
        let machine = guest.machine;
        return Err(VmError::Usage(format!("the machine {machine} has no network card in QEMU: use pc or virt-arm64")));
    }
    let qemu = Qemu::for_guest(guest, cache)?;
    let device_tree = device_tree(guest, cache)?;
    let archive = in_memory("initramfs", &initramfs::build(guest, network, cache)?)?;
    let log = Log::open(guest.log.as_deref())?;
    let complaints = in_memory("complaints", b"")?;
    let initramfs = format!("/proc/self/fd/{}", archive.as_raw_fd());
    let mut command = qemu.command(guest, network, device_tree.as_deref(), &initramfs, &log.path());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(complaints.try_clone().map_err(VmError::file("duplicate", "a descriptor"))?);
    let begun = Instant::now();
    let mut child = Running(command.spawn().map_err(VmError::file("run", command.get_program()))?);
    let said = watch(&mut child, &log, guest.limit, begun, &complaints)?;
    let text = log.text();
    let fetched_bytes = match into {
        Some(folder) => console::unpack_files(&text, folder)?,
        None => 0,
    };
    let lasted = begun.elapsed();
    Ok(Booted { exit_code: said.exit.unwrap_or(-1), console: console::plain(&text), fetched_bytes, lasted })
}

fn watch(child: &mut Running, log: &Log, limit: Duration, begun: Instant, complaints: &File) -> Result<Said, VmError> {
    let mut said = Said::default();
    let mut seen = 0;
    loop {
        let gone = child.has_ended()?;
        let length = log.length();
        if length != seen {
            seen = length;
            said = console::said(&log.text());
        }
        if said.ended {
            child.wait_for(POWER_OFF);
            return Ok(said);
        }
        if let (Some(line), true) = (&said.panic, gone.is_some() || begun.elapsed() > limit) {
            let when = if said.started { "in the script" } else { "before the script started" };
            let (line, tail) = (line.clone(), console::panic(&log.text()));
            return Err(VmError::Panicked { line, tail, when, lasted: begun.elapsed() });
        }
        if let Some(status) = gone {
            let complaint = tools::last_lines(&read_all(complaints), 3);
            let status = if complaint.is_empty() { status.to_string() } else { format!("{status}: {complaint}") };
            let what = match said.exit {
                Some(_) => "its files were sent",
                None => "its script had ended",
            };
            return Err(VmError::Stopped { what, status, tail: console::tail(&log.text()) });
        }
        if begun.elapsed() > limit {
            let what = match (seen, said.started, said.exit) {
                (0, ..) => "nothing came from the console",
                (_, false, _) => "the kernel did not reach its first process",
                (_, true, None) => "the script did not end",
                (_, true, Some(_)) => "the files were not sent",
            };
            return Err(VmError::TimedOut { what, limit, tail: console::tail(&log.text()) });
        }
        sleep(LOOK);
    }
}

/// Returns the device tree to boot with; nodes that QEMU lacks are disabled.
fn device_tree(guest: &Guest, cache: &Cache) -> Result<Option<PathBuf>, VmError> {
    let facts = guest.machine.facts();
    let Some(file) = facts.dtb else { return Ok(None) };
    let folder = guest.kernel.device_trees.as_ref().ok_or_else(|| {
        let (name, machine) = (&guest.kernel.name, guest.machine);
        VmError::Usage(format!(
            "the kernel {name} has no device trees, but {machine} needs {file}: give a package or a build folder"
        ))
    })?;
    let source = folder.join(file);
    if !source.is_file() {
        return Err(VmError::NoKernel(format!("the kernel {} has no {file}", guest.kernel.name)));
    }
    if facts.disabled_nodes.is_empty() {
        return Ok(Some(source));
    }
    let bytes = std::fs::read(&source).map_err(VmError::file("read", &source))?;
    let mut sum = flate2::Crc::new();
    sum.update(&bytes);
    let made =
        cache.folder(&format!("dtb-{}-{:08x}-{}", guest.machine, sum.sum(), facts.disabled_nodes.len()), |folder| {
            let path = folder.join("board.dtb");
            std::fs::write(&path, &bytes).map_err(VmError::file("write", &path))?;
            for node in facts.disabled_nodes {
                let mut fdtput = Command::new("fdtput");
                fdtput.args(["-t", "s"]).arg(&path).args([node, "status", "disabled"]);
                tools::output(&mut fdtput, DTC)?;
            }
            Ok(())
        })?;
    Ok(Some(made.join("board.dtb")))
}

/// A running emulator; killed and reaped on drop.
#[derive(Debug)]
pub(crate) struct Running(pub Child);

impl Running {
    pub fn has_ended(&mut self) -> Result<Option<ExitStatus>, VmError> {
        self.0.try_wait().map_err(VmError::file("wait for", "QEMU"))
    }

    pub fn wait_for(&mut self, limit: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < limit && matches!(self.0.try_wait(), Ok(None)) {
            sleep(LOOK);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The emulator may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The console's text, in a file of the caller's or in memory. It is not a pipe, because a full pipe would make the
/// guest wait.
#[derive(Debug)]
pub(crate) struct Log(File);

impl Log {
    pub fn open(path: Option<&Path>) -> Result<Log, VmError> {
        match path {
            None => in_memory("console", b"").map(Log),
            Some(path) => {
                let opened = File::options().read(true).append(true).create_new(true).open(path);
                let file = opened.map_err(VmError::file("make", path))?;
                inheritable(file, path).map(Log)
            }
        }
    }

    /// Returns a path that QEMU can open, because it inherits the descriptor.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    pub fn length(&self) -> u64 {
        self.0.metadata().map_or(0, |m| m.len())
    }

    pub fn text(&self) -> String {
        read_all(&self.0)
    }
}

pub(crate) fn read_all(file: &File) -> String {
    let mut bytes = vec![0; usize::try_from(file.metadata().map_or(0, |m| m.len())).unwrap_or(0)];
    let read = file.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns an anonymous file in memory, which children inherit.
pub(crate) fn in_memory(name: &str, content: &[u8]) -> Result<File, VmError> {
    let fd: OwnedFd = memfd_create(name, MemfdFlags::empty()).map_err(|e| VmError::file("make", name)(e.into()))?;
    let mut file = File::from(fd);
    file.write_all(content).map_err(VmError::file("write", name))?;
    Ok(file)
}

fn inheritable(file: File, path: &Path) -> Result<File, VmError> {
    let flags = rustix::io::fcntl_getfd(&file).map_err(|e| VmError::file("open", path)(e.into()))?;
    let without = flags - rustix::io::FdFlags::CLOEXEC;
    rustix::io::fcntl_setfd(&file, without).map_err(|e| VmError::file("open", path)(e.into()))?;
    Ok(file)
}
