//! Injects delays in a guest and copies the recordings to this machine.

use super::{TRACER, Wanted};
use crate::{built, guests, sections};
use punctual_vm::{Arch, Cache, Clock, FileIn, Guest, Kernel, Machine};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Records in a guest with `kernel` (`rt@6.12`, `arm64:rt@6.12`) into `folder`.
pub fn record(kernel: &str, wanted: &Wanted, folder: &Path) -> Result<(), String> {
    let (arch, spec) = guests::architecture(kernel);
    let injection = guests::program(&program(arch)?, "/bin/inject")?;
    let (kernel, cache) = guests::kernel(spec, arch)?;
    let mut files = vec![injection];
    match kernel
        .release
        .as_deref()
        .map(|release| sections::module(release, &wanted.out.with_extension("modules").join(release)))
    {
        Some(Ok(module)) => files.push(guests::program(&module, "/hold.ko")?),
        Some(Err(why)) => println!("without a module: {why}"),
        None => {}
    }
    let named = |injection: &str| wanted.injections.is_empty() || wanted.injections.iter().any(|p| p == injection);
    if wanted.injections.iter().any(|p| p != TRACER) || wanted.injections.is_empty() {
        let guest = guest(&kernel, arch, wanted, &files, false);
        record_one(&guest, &cache, folder)?;
    }
    if named(TRACER) {
        let guest = guest(&kernel, arch, wanted, &files, true);
        record_one(&guest, &cache, folder)?;
    }
    Ok(())
}

fn record_one(guest: &Guest, cache: &Cache, folder: &Path) -> Result<(), String> {
    let place = folder.with_extension("boot");
    guests::try_boot(guest, cache, &place)?;
    keep(&place.join("injected"), folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn guest(kernel: &Kernel, arch: Arch, wanted: &Wanted, files: &[FileIn], tracer: bool) -> Guest {
    let injections = match (tracer, wanted.injections.as_slice()) {
        (true, _) => TRACER.to_owned(),
        (false, []) => format!("$(/bin/inject kinds | cut -d' ' -f1 | grep -v {TRACER})"),
        (false, named) => named.iter().filter(|p| *p != TRACER).cloned().collect::<Vec<_>>().join(" "),
    };
    let script = format!(
        "[ ! -e /hold.ko ] || insmod /hold.ko; mkdir /injected; /bin/inject /injected bursts={} {injections}",
        wanted.count
    );
    let mut guest = Guest::new(Machine::usual(arch), kernel.clone(), script);
    guest.clock = Clock::Real;
    guest.cpus = 2;
    guest.memory_mib = 1024;
    guest.limit = Duration::from_secs(600);
    guest.fetch = vec!["/injected".into()];
    guest.files = files.to_vec();
    // Interrupts of the serial port look spurious with several emulated CPUs. Without random numbers early enough, all
    // timers are printed as (____ptrval____).
    guest.append = vec!["noirqdebug".into(), "no_hash_pointers".into()];
    if tracer {
        guest.append.push("ftrace=function".into());
    }
    guest
}

fn keep(from: &Path, into: &Path) -> std::io::Result<()> {
    fs::create_dir_all(into)?;
    for injection in fs::read_dir(from)?.flatten() {
        let place = into.join(injection.file_name());
        let _ = fs::remove_dir_all(&place);
        fs::rename(injection.path(), place)?;
    }
    fs::remove_dir_all(from.parent().unwrap_or(from))
}

/// Returns the path of `punctual-inject` for this architecture.
pub fn program(arch: Arch) -> Result<PathBuf, String> {
    match arch {
        Arch::Arm64 => built::program(
            "aarch64-unknown-linux-gnu/release/punctual-inject",
            "cargo xtask cross arm64 -- build --release -p punctual-inject",
        ),
        Arch::Amd64 => built::program("release/punctual-inject", "cargo build --release -p punctual-inject"),
    }
}
