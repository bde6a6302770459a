//! Plants in a guest and brings back what happened.

use super::{TRACER, Wanted};
use punctual_units::{Priority, Scheduling};
use punctual_vm::{Arch, Cache, Clock, FileIn, Guest, Kernel, KernelSpec, Machine, VmError, boot};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Boots for one recording; QEMU with several CPUs loses some guests when the kernel patches its own code.
const BOOTS: usize = 3;

/// Records in the guest `kernel` (`rt@6.12`, `arm64:rt@6.12`) into `folder`.
pub fn record(kernel: &str, wanted: &Wanted, folder: &Path) -> Result<(), String> {
    let (arch, spec) = match kernel.split_once(':') {
        Some((arch, spec)) => (arch, spec),
        None => ("amd64", kernel),
    };
    let content = fs::read(program(arch)?).map_err(|e| format!("the program for {arch} guests: {e}"))?;
    let arch = if arch == "arm64" { Arch::Arm64 } else { Arch::Amd64 };
    let said = |e: VmError| e.to_string();
    let cache = Cache::usual().map_err(said)?;
    let spec: KernelSpec = spec.parse().map_err(said)?;
    let kernel = Kernel::resolve(&spec, arch, &cache).map_err(said)?;
    let named = |plant: &str| wanted.plants.is_empty() || wanted.plants.iter().any(|p| p == plant);
    if wanted.plants.iter().any(|p| p != TRACER) || wanted.plants.is_empty() {
        let guest = guest(&kernel, arch, wanted, &content, false);
        record_one(&guest, &cache, folder)?;
    }
    if named(TRACER) {
        let guest = guest(&kernel, arch, wanted, &content, true);
        record_one(&guest, &cache, folder)?;
    }
    Ok(())
}

fn record_one(guest: &Guest, cache: &Cache, folder: &Path) -> Result<(), String> {
    let place = folder.with_extension("boot");
    try_boot(guest, cache, &place)?;
    keep(&place.join("planted"), folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn guest(kernel: &Kernel, arch: Arch, wanted: &Wanted, content: &[u8], tracer: bool) -> Guest {
    let plants = match (tracer, wanted.plants.as_slice()) {
        (true, _) => TRACER.to_owned(),
        (false, []) => format!("$(/bin/plant kinds | cut -d' ' -f1 | grep -v {TRACER})"),
        (false, named) => named.iter().filter(|p| *p != TRACER).cloned().collect::<Vec<_>>().join(" "),
    };
    let script = format!("mkdir /planted; /bin/plant /planted bursts={} {plants}", wanted.count);
    let mut guest = Guest::new(Machine::usual(arch), kernel.clone(), script);
    guest.clock = Clock::Real;
    guest.cpus = 2;
    guest.memory_mib = 1024;
    guest.limit = Duration::from_secs(420);
    guest.fetch = vec!["/planted".into()];
    guest.files = vec![FileIn { path: "/bin/plant".into(), mode: 0o755, content: content.to_vec() }];
    // Interrupts of the serial port look spurious on several emulated CPUs. Without random numbers early enough all
    // timers are printed as (____ptrval____).
    guest.append = vec!["noirqdebug".into(), "no_hash_pointers".into()];
    if tracer {
        guest.append.push("ftrace=function".into());
    }
    guest
}

/// Boots until it succeeds, a few times; what came back is in `place`.
pub fn try_boot(guest: &Guest, cache: &Cache, place: &Path) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..BOOTS {
        let _ = fs::remove_dir_all(place);
        match attended(|| boot(guest, cache, Some(place))) {
            Ok(booted) => {
                print!("{}", booted.console);
                println!("{}: {:.0} s", super::name_of(place), booted.lasted.as_secs_f64());
                return Ok(());
            }
            Err(e) => {
                last = e.to_string();
                println!("{}: {}", super::name_of(place), last.lines().next().unwrap_or_default());
            }
        }
    }
    Err(last)
}

/// Runs a boot, and meanwhile lets QEMU's main thread, which makes the guest's timers expire, go before its CPUs: on a busy
/// host the guest's interrupts come 10 ms late otherwise.
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
        println!("QEMU's main thread stays as it is: {e}");
    }
}

/// Our child that is QEMU.
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

/// Puts what came back in its place.
fn keep(from: &Path, into: &Path) -> std::io::Result<()> {
    fs::create_dir_all(into)?;
    for plant in fs::read_dir(from)?.flatten() {
        let place = into.join(plant.file_name());
        let _ = fs::remove_dir_all(&place);
        fs::rename(plant.path(), place)?;
    }
    fs::remove_dir_all(from.parent().unwrap_or(from))
}

/// The program that plants, for this architecture.
pub fn program(arch: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let (folder, build) = match arch {
        "arm64" => ("aarch64-unknown-linux-gnu/release", "cargo xtask cross arm64 -- build"),
        _ => ("release", "cargo build"),
    };
    let path = target.join(folder).join("punctual-plant");
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("{} is missing: {build} --release -p punctual-plant", path.display())),
    }
}
