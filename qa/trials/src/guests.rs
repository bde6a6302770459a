//! Code shared by trials in guests: kernels, files to add, repeated boots, saved consoles.

use punctual_units::{Priority, Scheduling};
use punctual_vm::{Arch, Cache, DiskBoot, DiskRun, FileIn, Guest, Kernel, KernelSpec, VmError, boot};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Maximum number of boots for one recording. QEMU with several CPUs loses some guests when the kernel patches its own
/// code.
const BOOTS: usize = 3;

/// Number of console lines shown in an error.
const LINES: usize = 25;
const LENGTH: usize = 180;

/// Returns the kernel with a name that `punctual lab` accepts (`rt@6.12`), and the cache that contains it.
pub fn kernel(name: &str, arch: Arch) -> Result<(Kernel, Cache), String> {
    let said = |e: VmError| e.to_string();
    let cache = Cache::usual().map_err(said)?;
    let spec: KernelSpec = name.parse().map_err(said)?;
    let kernel = Kernel::resolve(&spec, arch, &cache).map_err(said)?;
    Ok((kernel, cache))
}

/// Returns the architecture and the kernel of a name such as `arm64:rt@6.12` or `rt@6.12`.
pub fn architecture(name: &str) -> (Arch, &str) {
    match name.strip_prefix("arm64:") {
        Some(kernel) => (Arch::Arm64, kernel),
        None => (Arch::Amd64, name),
    }
}

pub fn program(from: &Path, into: &str) -> Result<FileIn, String> {
    let content = fs::read(from).map_err(|e| format!("{}: {e}", from.display()))?;
    Ok(FileIn { path: into.into(), mode: 0o755, content })
}

/// Returns the libraries with which a program is linked, from ldd(1); `None` if there is no such program.
pub fn libraries(program: &str) -> Option<Vec<String>> {
    let output = Command::new("ldd").arg(program).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect())
}

/// Boots until a boot succeeds, at most a few times. The results are in `place`.
pub fn try_boot(guest: &Guest, cache: &Cache, place: &Path) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..BOOTS {
        let _ = fs::remove_dir_all(place);
        // A log of the boot before is not overwritten.
        guest.log.iter().for_each(|log| drop(fs::remove_file(log)));
        match attended(|| boot(guest, cache, Some(place))) {
            Ok(booted) => {
                print!("{}", booted.console);
                println!("{}: {:.0} s", name_of(place), booted.lasted.as_secs_f64());
                return Ok(());
            }
            Err(e) => {
                last = e.to_string();
                println!("{}: {}", name_of(place), last.lines().next().unwrap_or_default());
            }
        }
    }
    Err(last)
}

/// Runs a boot, and in the meantime gives QEMU's main thread, which expires the guest's timers, priority over its CPU
/// threads: on a busy host the guest's interrupts would otherwise be 10 ms late.
fn attended<T: Send>(boot: impl FnOnce() -> T + Send) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut seen = None;
            while !done.load(Relaxed) {
                if let Some(pid) = emulator().filter(|pid| seen != Some(*pid)) {
                    seen = Some(pid);
                    prefer(pid);
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        let booted = boot();
        done.store(true, Relaxed);
        booted
    })
}

fn prefer(pid: i32) {
    let Ok(priority) = Priority::try_from(1) else { return };
    if let Err(e) = punctual_uapi::set_scheduling(pid, Scheduling::Fifo { priority }, true) {
        println!("QEMU's main thread keeps its priority: {e}");
    }
}

fn emulator() -> Option<i32> {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").ok()?;
    let mut pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.find(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (name, rest) = stat.rsplit_once(')').unwrap_or_default();
        name.contains("(qemu-system-") && rest.split_whitespace().nth(1) == Some(own.as_str())
    })
}

pub fn folders(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    all.sort();
    Ok(all)
}

pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Saves the output of the consoles for people to read. Errors are ignored, so that no trial fails because of it.
pub fn keep_consoles(folder: &Path, name: &str, run: &DiskRun) {
    let text: Vec<String> = run.boots.iter().map(|boot| format!("{}\n----\n", boot.console())).collect();
    let _ = fs::write(folder.join(format!("{name}.console")), text.concat());
}

pub fn tail(run: &DiskRun) -> String {
    tail_of(&run.boots.iter().map(DiskBoot::console).collect::<Vec<_>>().join("\n----\n"))
}

pub fn tail_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    last.iter().map(|line| format!("\n    {}", line.chars().take(LENGTH).collect::<String>())).collect()
}
