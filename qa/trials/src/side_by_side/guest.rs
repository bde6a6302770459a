//! Side by side in a guest: this machine's cyclictest goes along with the libraries it is linked to.

use super::{ORDER, Wanted, words};
use punctual_vm::{Arch, Cache, Clock, FileIn, Guest, Kernel, KernelSpec, Machine, VmError};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs in the guest `kernel` (`rt@6.12`) and leaves the results in `folder`.
pub fn run(kernel: &str, wanted: &Wanted, folder: &Path) -> Result<(), String> {
    let said = |e: VmError| e.to_string();
    let cache = Cache::usual().map_err(said)?;
    let spec: KernelSpec = kernel.parse().map_err(said)?;
    let kernel = Kernel::resolve(&spec, Arch::Amd64, &cache).map_err(said)?;
    let mut guest = Guest::new(Machine::usual(Arch::Amd64), kernel, script(wanted));
    guest.clock = Clock::Real;
    guest.cpus = 2;
    guest.memory_mib = 512;
    guest.limit = Duration::from_secs(120 + 60 * u64::from(wanted.groups));
    guest.fetch = vec!["/side".into()];
    guest.files = files()?;
    let place = folder.with_extension("boot");
    crate::injected::try_boot(&guest, &cache, &place)?;
    let _ = fs::remove_dir_all(folder);
    fs::rename(place.join("side"), folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    fs::remove_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))
}

fn script(wanted: &Wanted) -> String {
    let mut script = String::from("mkdir /side\n");
    for group in 0..wanted.groups {
        for (turn, which) in ORDER.into_iter().enumerate() {
            let program = if which == "ours" { "/bin/punctual" } else { "/bin/cyclictest" };
            let words = words(which, program, wanted.cpu).join(" ");
            let file = format!("/side/{group:03}-{turn}-{which}.json");
            script += &format!("/bin/plant beside {file} cpu={} -- {words} || exit 1\n", wanted.cpu);
        }
    }
    script
}

/// The programs, and what the dynamic one needs.
fn files() -> Result<Vec<FileIn>, String> {
    let read = |path: &Path, into: &str| -> Result<FileIn, String> {
        let content = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(FileIn { path: into.into(), mode: 0o755, content })
    };
    let mut files = vec![
        read(&crate::injected::program("amd64")?, "/bin/plant")?,
        read(&super::built("punctual")?, "/bin/punctual")?,
    ];
    let theirs = Path::new("/usr/bin/cyclictest");
    files.push(read(theirs, "/bin/cyclictest")?);
    let output = Command::new("ldd").arg(theirs).output().map_err(|e| format!("ldd: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for path in text.split_whitespace().filter(|word| word.starts_with('/')) {
        files.push(read(Path::new(path), path)?);
    }
    Ok(files)
}
