//! `cargo trials chains`: makes chains of waits in guests, with a log of which thread waited for which, and scores the
//! links that `explain` reports.

mod score;

use crate::injected;
use crate::{guests, sections};
use punctual_vm::{Arch, Clock, Guest, Machine, shift_of_mips};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Make chains of waits in guests in virtual time, and score the links that `explain` reports (docs/injected.md)
///
/// Requires: cargo build --release -p punctual-inject; gcc, make, and the headers of each kernel below /usr/src
/// (linux-headers-…)
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of a guest [default: rt@6.12 and stock@6.12]
    #[arg(long = "kernel", value_name = "K", default_values_t = ["rt@6.12".to_owned(), "stock@6.12".to_owned()])]
    kernels: Vec<String>,
    /// Number of chains of each kind
    #[arg(long, value_name = "N", default_value_t = 12)]
    count: u32,
    /// Folder for recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-chains"))]
    out: PathBuf,
    /// Record nothing; score the recordings in this folder again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if let Some(folder) = &wanted.score {
        return score::folder(folder);
    }
    for kernel in &wanted.kernels {
        record(kernel, wanted.count, &wanted.out)?;
    }
    score::folder(&wanted.out)
}

fn record(name: &str, count: u32, out: &Path) -> Result<(), String> {
    let (kernel, cache) = guests::kernel(name, Arch::Amd64)?;
    let release = kernel.release.clone().ok_or_else(|| format!("{name}: its release is unknown"))?;
    let module = sections::module(&release, &out.with_extension("modules").join(&release))?;
    let script = format!("insmod /hold.ko || exit 9; mkdir /chains; /bin/injection chains /chains bursts={count}");
    let mut guest = Guest::new(Machine::Pc, kernel, script);
    (guest.cpus, guest.memory_mib) = (2, 1024);
    guest.clock = Clock::Virtual { shift: shift_of_mips(500.0).map_err(|e| e.to_string())? };
    guest.limit = Duration::from_secs(900);
    guest.files.push(guests::program(&module, "/hold.ko")?);
    guest.files.push(guests::program(&injected::program(Arch::Amd64)?, "/bin/injection")?);
    guest.fetch.push("/chains".into());
    guest.append = vec!["no_hash_pointers".into()];
    let place = out.join(name.replace([':', '/'], "-"));
    let boot = place.with_extension("boot");
    guests::try_boot(&guest, &cache, &boot)?;
    let _ = fs::remove_dir_all(&place);
    fs::rename(boot.join("chains"), &place).map_err(|e| format!("{}: {e}", place.display()))?;
    fs::remove_dir_all(&boot).map_err(|e| format!("{}: {e}", boot.display()))
}
