//! `cargo trials bounds`: composed bounds against the wakeups that timerlat measures at the same time, in guests in
//! virtual time. One wakeup above the bound refutes it.

use crate::{built, guests, sections};
use punctual_vm::{Arch, Clock, Guest, shift_of_mips};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const SCRIPT: &str = include_str!("guest.sh");
const LOADS: [&str; 8] = ["idle", "fork", "file", "pipe", "mem", "all", "hold", "work"];
/// Time for which the module disables interrupts or preemption, µs.
const HELD: u32 = 80;

/// Compose bounds in guests under loads, and compare them with what timerlat measures (docs/commands/bound.md)
///
/// Requires: cargo build --release; a kernel built with `punctual kernel build --diagnostic` for x86-64, with modules
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Build directory of the kernel
    #[arg(long, value_name = "DIR")]
    kernel: PathBuf,
    /// Number of seeds for each load
    #[arg(long, value_name = "N", default_value_t = 25)]
    seeds: u32,
    /// Directory for the results; guests that have a result are not booted again
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-bounds"))]
    out: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let build = fs::canonicalize(&wanted.kernel).map_err(|e| format!("{}: {e}", wanted.kernel.display()))?;
    let module = sections::module_of(&build, &wanted.out)?;
    let mut failures = 0;
    println!("| load | guests | without a bound | wakeups above it | median bound/worst |\n|---|---|---|---|---|");
    for load in LOADS {
        let (mut unbound, mut above, mut ratios) = (0, 0, Vec::new());
        for seed in 1..=wanted.seeds {
            let result = boot(&build, &module, load, seed, &wanted.out)?;
            let worst = worst(&result);
            // A wakeup above the bound of its CPU leaves no bound for the machine.
            let bounds = result["cpus"].as_array().into_iter().flatten().filter_map(|cpu| cpu["bound_ns"].as_f64());
            match (bounds.max_by(f64::total_cmp), worst) {
                (Some(bound), Some(worst)) => {
                    above += u32::from(worst > bound);
                    ratios.push(bound / worst);
                    let is_short = load == "hold" && bound < f64::from(HELD) * 1000.0;
                    above += u32::from(is_short);
                }
                _ => {
                    unbound += 1;
                    println!("{load}-{seed}: {}", result["problems"]);
                }
            }
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
        println!("| {load} | {} | {unbound} | {above} | {median:.2} |", wanted.seeds);
        failures += unbound + above + u32::from(median > 4.0);
    }
    if failures > 0 { Err(format!("{failures} failures")) } else { Ok(()) }
}

/// Boots a guest and returns the result of `bound`.
fn boot(build: &Path, module: &Path, load: &str, seed: u32, out: &Path) -> Result<Value, String> {
    let place = out.join(format!("{load}-{seed}"));
    let path = place.join("bound.json");
    if !path.is_file() {
        let (kernel, cache) = guests::kernel(&build.display().to_string(), Arch::Amd64)?;
        let script = format!("SEED={seed} LOAD={load} US={HELD}\n{SCRIPT}");
        let mut guest = Guest::new(punctual_vm::Machine::Pc, kernel, script);
        guest.memory_mib = 768;
        guest.clock = Clock::Virtual { shift: shift_of_mips(500.0).map_err(|e| e.to_string())? };
        guest.limit = std::time::Duration::from_secs(900);
        guest.files.push(guests::program(module, "/hold.ko")?);
        guest
            .files
            .push(guests::program(&built::program("release/punctual", "cargo build --release")?, "/bin/punctual")?);
        guest.fetch.push("/bound.json".into());
        guests::try_boot(&guest, &cache, &place)?;
    }
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let document: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(document["result"].clone())
}

/// Returns the longest wakeup that the recording or timerlat has, ns.
fn worst(result: &Value) -> Option<f64> {
    let cpus = result["cpus"].as_array()?;
    let of = |cpu: &Value| [cpu["timerlat_ns"].as_f64(), cpu["seen"]["latency_ns"].as_f64()];
    cpus.iter().flat_map(of).flatten().max_by(f64::total_cmp)
}
