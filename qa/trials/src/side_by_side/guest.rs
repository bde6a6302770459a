//! Runs both programs in a guest, with this machine's cyclictest and the libraries with which it is linked.

use super::{ORDER, Wanted, words};
use crate::guests;
use punctual_vm::{Arch, Clock, FileIn, Guest, Machine};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Runs in a guest with `kernel` (`rt@6.12`), and writes the results to `folder`.
pub fn run(kernel: &str, wanted: &Wanted, folder: &Path) -> Result<(), String> {
    let (kernel, cache) = guests::kernel(kernel, Arch::Amd64)?;
    let mut guest = Guest::new(Machine::usual(Arch::Amd64), kernel, script(wanted));
    guest.clock = Clock::Real;
    guest.cpus = 2;
    guest.memory_mib = 512;
    guest.limit = Duration::from_secs(120 + 60 * u64::from(wanted.groups));
    guest.fetch = vec!["/side".into()];
    guest.files = files()?;
    let place = folder.with_extension("boot");
    guests::try_boot(&guest, &cache, &place)?;
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
            script += &format!("/bin/inject beside {file} cpu={} -- {words} || exit 1\n", wanted.cpu);
        }
    }
    script
}

fn files() -> Result<Vec<FileIn>, String> {
    const THEIRS: &str = "/usr/bin/cyclictest";
    let mut files = vec![
        guests::program(&super::inject()?, "/bin/inject")?,
        guests::program(&super::punctual()?, "/bin/punctual")?,
        guests::program(Path::new(THEIRS), "/bin/cyclictest")?,
    ];
    for path in guests::libraries(THEIRS).unwrap_or_default() {
        files.push(guests::program(Path::new(&path), &path)?);
    }
    Ok(files)
}
