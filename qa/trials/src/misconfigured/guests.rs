//! Boots the guests and copies their audits to this machine.

use super::Wanted;
use super::script;
use super::table::{Ground, Injection, Table};
use crate::{built, guests};
use punctual_vm::{Arch, Cache, FileIn, Guest, Kernel, Machine, boot};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of boots for one recording. QEMU with several CPUs loses some guests.
const BOOTS: usize = 5;

/// Placeholder for a parameter that makes the command line almost as long as the kernel allows (COMMAND_LINE_SIZE, 2048
/// on x86).
const LONG: &str = "@long";

/// State shared by all guests of one kernel.
struct Guests<'a> {
    kernel: Kernel,
    cache: Cache,
    files: Vec<FileIn>,
    folder: PathBuf,
    wanted: &'a Wanted,
    name: &'a str,
}

/// Boots everything that is wanted on one kernel. Returns the names of what could not be booted.
pub fn record(name: &str, wanted: &Wanted, table: &Table) -> Result<Vec<String>, String> {
    let (kernel, cache) = guests::kernel(name, Arch::Amd64)?;
    let files = files(&kernel)?;
    let guests = Guests { kernel, cache, files, folder: wanted.out.join(name), wanted, name };
    let mut failed = Vec::new();
    for ground in &table.grounds {
        failed.extend(guests.ground(ground, table));
    }
    for injection in table.injections.iter().filter(|p| !p.boot.is_empty() && wanted.has(p, name)) {
        failed.extend(guests.boot_injection(table.ground(injection)?, injection, table));
    }
    Ok(failed)
}

impl Guests<'_> {
    /// Boots every part of a setup that has a wanted injection. The first part is also booted if an injection with a
    /// boot of its own is compared with it.
    fn ground(&self, ground: &Ground, table: &Table) -> Vec<String> {
        let is_wanted = |injection: &&&Injection| self.wanted.has(injection, self.name);
        let is_compared = table
            .injections
            .iter()
            .any(|p| p.ground == ground.name && !p.boot.is_empty() && self.wanted.has(p, self.name));
        let mut failed = Vec::new();
        for (number, (name, injections)) in table.parts(ground).into_iter().enumerate() {
            let injections: Vec<&Injection> = injections.iter().filter(is_wanted).copied().collect();
            if !injections.is_empty() || (number == 0 && is_compared) {
                let script = script::of_part(ground, &table.preparation(ground), &injections);
                failed.extend(self.boot(&name, &ground.append, script));
            }
        }
        failed
    }

    fn boot_injection(&self, ground: &Ground, injection: &Injection, table: &Table) -> Option<String> {
        let long = "x".repeat(1_850);
        let own =
            injection.boot.iter().map(|word| if word == LONG { format!("left_over={long}") } else { word.clone() });
        let append: Vec<String> = ground.append.iter().cloned().chain(own).collect();
        self.boot(&injection.name, &append, script::of_boot(ground, &table.preparation(ground), injection))
    }

    /// Boots until a guest has run to its end. Returns the name of the recording if no guest did.
    fn boot(&self, what: &str, append: &[String], script: String) -> Option<String> {
        let mut guest = Guest::new(Machine::usual(Arch::Amd64), self.kernel.clone(), script);
        guest.cpus = 2;
        guest.limit = Duration::from_secs(300);
        guest.fetch = vec![script::OUT.into()];
        guest.files = self.files.clone();
        guest.modules = vec!["brd".into()];
        // Interrupts of the serial port look spurious with several emulated CPUs, and the kernel does not trust the
        // emulated TSC unless CPUID vouches for it.
        guest.append = ["noirqdebug", "tsc=reliable"].map(String::from).to_vec();
        guest.append.extend_from_slice(append);
        let folder = self.folder.join(what);
        for _ in 0..BOOTS {
            let place = folder.with_extension("boot");
            let _ = fs::remove_dir_all(&place);
            match boot(&guest, &self.cache, Some(&place)) {
                Ok(booted) => {
                    println!("{} {what}: {:.0} s", self.name, booted.lasted.as_secs_f64());
                    match keep(&place, &folder) {
                        Ok(()) => return None,
                        Err(e) => println!("{} {what}: {}: {e}", self.name, folder.display()),
                    }
                }
                Err(e) => {
                    let text = e.to_string();
                    println!("{} {what}: {}", self.name, text.lines().next().unwrap_or_default());
                    // Kept for debugging. The next boot may well succeed.
                    let _ = fs::create_dir_all(&self.folder);
                    let _ = fs::write(folder.with_extension("failed"), text);
                }
            }
        }
        Some(format!("{} {what}", self.name))
    }
}

fn keep(place: &Path, folder: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::rename(place.join(script::OUT.trim_start_matches('/')), folder)?;
    fs::remove_dir_all(place)
}

/// Returns the files of each guest: both programs, and the kernel's configuration at the path where distributions put
/// it.
fn files(kernel: &Kernel) -> Result<Vec<FileIn>, String> {
    let mut files = built::for_guests()?;
    if let (Some(config), Some(release)) = (&kernel.config, &kernel.release) {
        let content = fs::read(config).map_err(|e| format!("{}: {e}", config.display()))?;
        files.push(FileIn { path: format!("/boot/config-{release}"), mode: 0o644, content });
    }
    Ok(files)
}
