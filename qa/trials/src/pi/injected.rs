//! Injects faults into the package that was just built. Each fault must make its own check fail, and no other check.

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use punctual_kbuild::check::{Outcome, Wanted, package};
use punctual_kbuild::package::Manifest;
use punctual_kernel::config::requested;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

type Injection = fn(&Fault) -> Result<(), String>;

struct Fault {
    root: PathBuf,
    release: String,
}

/// Name, the check that must fail, and the function that injects the fault.
const FAULTS: [(&str, &str, Injection); 4] = [
    ("a non-RT kernel named -rt", "preempt-rt", not_real_time),
    ("a dropped option", "requested", dropped),
    ("a module of another kernel", "vermagic", wrong_vermagic),
    ("no SPI", "board", no_spi),
];

/// Injects each fault into a copy of the package's files below `packaged`.
pub fn all(packaged: &Path, scratch: &Path) -> Result<(), String> {
    let path = packaged.join("manifest.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    for (name, id, inject) in FAULTS {
        if scratch.exists() {
            fs::remove_dir_all(scratch).map_err(|e| format!("cannot remove {}: {e}", scratch.display()))?;
        }
        let copied = Command::new("cp").arg("-a").arg(packaged.join("stage")).arg(scratch).status();
        if !copied.map_err(|e| format!("cp: {e}"))?.success() {
            return Err(format!("cannot copy {}", packaged.display()));
        }
        let fault = Fault { root: scratch.to_owned(), release: manifest.release.clone() };
        inject(&fault)?;
        let failed = failed(&fault, &manifest)?;
        if failed != [id] {
            return Err(format!("injected {name}: the checks {failed:?} failed, expected {id}"));
        }
        println!("injected    {name}: caught by {id}");
    }
    Ok(())
}

fn failed(fault: &Fault, manifest: &Manifest) -> Result<Vec<String>, String> {
    let asked = requested(manifest.requested.as_deref().unwrap_or_default()).map_err(|e| e.to_string())?;
    let board = punctual_kernel::board(manifest.board.as_deref().unwrap_or_default()).map_err(|e| e.to_string())?;
    let wanted = Wanted { release: &fault.release, requested: Some(&asked), board: Some(board) };
    let checks = package(&fault.root, &wanted).map_err(|e| e.to_string())?;
    Ok(checks.into_iter().filter(|check| check.outcome != Outcome::Pass).map(|check| check.id).collect())
}

impl Fault {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name.replace('R', &self.release))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    fn edit(&self, name: &str, from: &str, to: &str) -> Result<(), String> {
        let path = self.path(name);
        let text = String::from_utf8_lossy(&self.read(&path)?).into_owned();
        if !text.contains(from) {
            return Err(format!("{} does not contain {from}", path.display()));
        }
        self.write(&path, text.replace(from, to).as_bytes())
    }
}

/// Replaces a word by another one of the same length, so that offsets do not change.
fn swapped(bytes: &[u8], from: &[u8], to: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from).map(|(at, _)| at).collect();
    if places.is_empty() || from.len() != to.len() {
        return Err("the word to replace was not found".to_owned());
    }
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    Ok(bytes)
}

fn not_real_time(fault: &Fault) -> Result<(), String> {
    let path = fault.path("boot/vmlinuz-R");
    let packed = fault.read(&path)?;
    let mut image = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut image).map_err(|e| format!("{}: {e}", path.display()))?;
    let image = swapped(&image, b"SMP PREEMPT_RT ", b"SMP PREEMPT    ")?;
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&image).map_err(|e| e.to_string())?;
    fault.write(&path, &packed.finish().map_err(|e| e.to_string())?)
}

fn dropped(fault: &Fault) -> Result<(), String> {
    fault.edit("boot/config-R", "CONFIG_TIMERLAT_TRACER=y\n", "# CONFIG_TIMERLAT_TRACER is not set\n")
}

fn wrong_vermagic(fault: &Fault) -> Result<(), String> {
    let path = fault.path("lib/modules/R/kernel/drivers/spi/spi-bcm2835.ko");
    let bytes = swapped(&fault.read(&path)?, b" SMP preempt_rt ", b" SMP preempt    ")?;
    fault.write(&path, &bytes)
}

fn no_spi(fault: &Fault) -> Result<(), String> {
    let path = fault.path("lib/modules/R/kernel/drivers/spi/spi-bcm2835.ko");
    fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))
}
