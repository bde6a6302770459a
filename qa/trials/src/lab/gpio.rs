//! Tests GPIO edges and a UIO interrupt in the kernel of `cargo trials gpio-kernel`.

use crate::{built, gpio_kernel, guests};
use punctual_vm::{Arch, Cache, Guest, Kernel, KernelSpec, Machine, boot};
use std::path::Path;
use std::time::Duration;

const SCRIPT: &str = include_str!("gpio.sh");
/// Number of checks that the script must print: 13 of punctual-gpio-check, one for UIO.
const CHECKS: usize = 14;

/// Runs the checks. The guest has one virtual CPU, which the sender and the interrupt's thread share, so that counts
/// are exact.
pub fn gpio(place: &Path) -> Result<String, String> {
    let build = "cargo build --release -p punctual-gpio --features sim";
    let program = built::program("release/punctual-gpio-check", build)?;
    let built = gpio_kernel::build(&gpio_kernel::Wanted::default())?;
    let cache = Cache::usual().map_err(|e| e.to_string())?;
    let spec = KernelSpec::BuildFolder(built.folder);
    let kernel = Kernel::resolve(&spec, Arch::Amd64, &cache).map_err(|e| e.to_string())?;
    let mut guest = Guest::new(Machine::Pc, kernel, SCRIPT);
    guest.files = vec![guests::program(&program, "/bin/gpio-check")?];
    guest.devices = vec!["edu".into()];
    guest.limit = Duration::from_secs(300);
    guest.log = Some(place.join("console.log"));
    let booted = boot(&guest, &cache, None).map_err(|e| e.to_string())?;
    let passed = booted.console.lines().filter(|line| line.starts_with("ok ")).count();
    match (booted.exit_code, passed) {
        (0, CHECKS) => Ok(format!(":\n{}", indented(&booted.console))),
        (code, _) => Err(format!("exit code {code}, {passed} of {CHECKS} checks passed:\n{}", booted.console)),
    }
}

fn indented(console: &str) -> String {
    let lines: Vec<String> = console.lines().map(|line| format!("        {line}")).collect();
    lines.join("\n")
}
