//! `cargo trials corpus`: applies `check` to the programs of qa/check in guests.

use crate::{built, guests};
use punctual_testing::corpus;
use punctual_vm::{Arch, Clock, FileIn, Guest, Machine, Qemu, Version, shift_of_mips};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SCRIPT: &str = include_str!("guest.sh");
/// Libraries of the programs.
const LIBRARIES: [&str; 5] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libresolv.so.2"];
/// First version of QEMU that divides the time until the next timer among the CPUs.
const FAIR: Version = Version { major: 8, minor: 1, micro: 0 };
/// Number of programs that a guest runs.
const GROUP: usize = 12;

/// Apply `check` to programs with known faults, and to some without any, in guests in virtual time (docs/check.md)
///
/// Before: cargo build --release; gcc, g++ and rustc, for arm64 gcc-aarch64-linux-gnu and g++-aarch64-linux-gnu, and
/// cargo xtask cross arm64 -- build --release -p punctual. Programs in Python are left out, because the guests have no
/// interpreter; those in Rust run in guests of this machine's architecture only. A guest runs some of the programs, so
/// that one that does not end delays no others
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of a guest, such as rt@6.12 or arm64:rt@6.12
    #[arg(long = "kernel", value_name = "K", default_values_t = ["rt@6.12".to_owned(), "rt@6.1".to_owned(), "arm64:rt@6.12".to_owned()])]
    kernels: Vec<String>,
    /// Only programs whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Number of CPUs of the guests
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpus: u32,
    /// Folder for the programs and the results
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-corpus"))]
    out: PathBuf,
    /// Run nothing; compare the results in the folder again
    #[arg(long)]
    score: bool,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let mut wrong = 0;
    for name in &wanted.kernels {
        wrong += tried(name, wanted)?;
    }
    if wrong > 0 { Err(format!("{wrong} programs have other findings than their sources declare")) } else { Ok(()) }
}

/// A program to run, and its source.
struct Program {
    kind: &'static str,
    source: PathBuf,
    path: PathBuf,
}

impl Program {
    fn name(&self) -> String {
        format!("{}-{}", self.kind, guests::name_of(&self.path))
    }
}

/// Runs the programs in a guest, and prints how each result differs from its source. Returns the number of such
/// programs.
fn tried(name: &str, wanted: &Wanted) -> Result<usize, String> {
    let (arch, spec) = guests::architecture(name);
    let (kernel, cache) = guests::kernel(spec, arch)?;
    let place = wanted.out.join(format!("{}-{}", name.replace([':', '/'], "-"), wanted.cpus));
    let prefix = match arch {
        _ if Arch::host() == Some(arch) => "",
        Arch::Amd64 => "x86_64-linux-gnu-",
        Arch::Arm64 => "aarch64-linux-gnu-",
    };
    let (programs, left_out) = compiled(prefix, wanted, &place)?;
    let mut guest = Guest::new(Machine::usual(arch), kernel, SCRIPT);
    (guest.cpus, guest.memory_mib) = (wanted.cpus, 1024);
    guest.clock = Clock::Virtual { shift: shift_of_mips(500.0).map_err(|e| e.to_string())? };
    let qemu = Qemu::for_guest(&guest, &cache).map_err(|e| e.to_string())?;
    if arch == Arch::Amd64 && qemu.version >= FAIR {
        // The TSCs of several emulated CPUs are the same virtual clock. Linux finds that they are not while these take
        // turns, and then reads the ACPI timer, so that each clock_gettime(2) is a system call. In older versions these
        // calls are what ends the turns of CPUs.
        guest.append = vec!["tsc=reliable".into()];
    }
    guest.limit = Duration::from_secs(900);
    let mut common = libraries(prefix, arch)?;
    common.push(guests::program(&punctual(arch)?, "/bin/punctual")?);
    guest.fetch.push("/results".into());
    let mut differing = 0;
    for (number, group) in programs.chunks(GROUP).enumerate() {
        let boot = place.join(format!("boot-{number}"));
        if !wanted.score {
            guest.files.clone_from(&common);
            for one in group {
                let into = format!("/corpus/{}/{}", one.kind, guests::name_of(&one.path));
                guest.files.push(guests::program(&one.path, &into)?);
            }
            // The programs of a guest that did not end have no result.
            if let Err(e) = guests::try_boot(&guest, &cache, &boot) {
                println!("{name}: {e}");
            }
        }
        let differ = group.iter().filter_map(|one| differs(one, &boot.join("results")));
        differing += differ.inspect(|line| println!("{line}\n")).count();
    }
    let (all, cpus) = (programs.len(), wanted.cpus);
    println!("{name}, {cpus} CPUs: {} of {all} as declared; not run here: {left_out}", all - differing);
    Ok(differing)
}

fn differs(program: &Program, results: &Path) -> Option<String> {
    let read = |kind: &str| fs::read(results.join(format!("{}.{kind}", program.name()))).unwrap_or_default();
    match serde_json::from_slice::<Value>(&read("json")) {
        Ok(document) => corpus::differs(&program.source, &document["result"]),
        Err(_) => Some(format!("{}: no result: {}", program.name(), String::from_utf8_lossy(&read("err")))),
    }
}

/// Compiles the programs; also returns the names of those that cannot be, or that need more CPUs.
fn compiled(prefix: &str, wanted: &Wanted, place: &Path) -> Result<(Vec<Program>, String), String> {
    let (mut programs, mut left_out) = (Vec::new(), Vec::new());
    for kind in ["clean", "faulty"] {
        let folder = place.join(kind);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for source in corpus::programs(kind) {
            let name = guests::name_of(&source);
            if !name.contains(&wanted.only) {
                continue;
            }
            let built = (corpus::cpus(&source) <= wanted.cpus).then(|| corpus::build(&source, prefix, &folder));
            match built.flatten() {
                Some(path) => programs.push(Program { kind, source, path }),
                None => left_out.push(name),
            }
        }
    }
    Ok((programs, left_out.join(", ")))
}

/// Returns the shared libraries of the compiler with this prefix.
fn libraries(prefix: &str, arch: Arch) -> Result<Vec<FileIn>, String> {
    // The path of the dynamic linker is part of each program; it looks for libraries in /lib.
    let linker = match arch {
        Arch::Amd64 => "/lib64/ld-linux-x86-64.so.2",
        Arch::Arm64 => "/lib/ld-linux-aarch64.so.1",
    };
    let in_guest = LIBRARIES.iter().map(|name| format!("/lib/{name}")).chain([linker.to_owned()]);
    let mut files = Vec::new();
    for path in in_guest {
        let name = guests::name_of(Path::new(&path));
        let mut compiler = Command::new(format!("{prefix}gcc"));
        let output = compiler.arg(format!("-print-file-name={name}")).output();
        let file = output.map_err(|e| format!("{prefix}gcc: {e}"))?.stdout;
        files.push(guests::program(Path::new(String::from_utf8_lossy(&file).trim()), &path)?);
    }
    Ok(files)
}

fn punctual(arch: Arch) -> Result<PathBuf, String> {
    match arch {
        Arch::Amd64 => built::program("release/punctual", "cargo build --release"),
        Arch::Arm64 => built::program(
            "aarch64-unknown-linux-gnu/release/punctual",
            "cargo xtask cross arm64 -- build --release -p punctual",
        ),
    }
}
