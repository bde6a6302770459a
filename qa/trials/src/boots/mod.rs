//! `cargo trials boots`: changes kernel parameters in a guest that boots from its own disk through OVMF and GRUB.

mod chroot;
mod keep;
mod kills;
mod place;
mod product;
mod trials;

use crate::cases;
use crate::guests::{self, keep_consoles, tail};
use clap::builder::PossibleValuesParser;
use punctual_vm::{Cache, DiskBoot, DiskGuest, DiskImage, DiskRun, Ending, FileIn, Step};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const SYSTEM: &str = include_str!("system.sh");
const TESTS: [&str; 4] = ["keep", "trial", "kill", "chroot"];

pub struct Bench {
    image: DiskImage,
    folder: PathBuf,
    tools: Vec<FileIn>,
    /// Shell functions available to every step.
    system: String,
    word: String,
    /// Number of kills of the emulator (in `chroot`: of the program), in fix and in undo each.
    kills: u32,
    /// The program to test; `None` to test the shell functions that replace it.
    program: Option<PathBuf>,
    rule: Option<String>,
}

/// Change kernel parameters in a guest that boots through OVMF and GRUB (docs/disk-guest.md)
///
/// The changes are made permanent, tried once, and interrupted by kills.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Program to test instead of shell functions that do the same
    #[arg(long, value_name = "FILE", requires_all = ["rule", "word"])]
    punctual: Option<PathBuf>,
    /// Rule to fix with the program given by --punctual
    #[arg(long, value_name = "ID", requires = "punctual")]
    rule: Option<String>,
    /// Kernel parameter that the fix adds
    #[arg(long, value_name = "PARAMETER", requires = "punctual")]
    word: Option<String>,
    /// Number of kills in fix and in undo, each
    #[arg(long, value_name = "N", default_value_t = 6)]
    kills: u32,
    /// Folder for disks and consoles; kept if a test fails
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join(format!("punctual-boots-{}", std::process::id())))]
    out: PathBuf,
    /// Tests to run; by default all except chroot, which kills the program on a copy of the disk, as root
    #[arg(value_name = "TEST", value_parser = PossibleValuesParser::new(TESTS))]
    names: Vec<String>,
}

pub fn run(wanted: Wanted) -> Result<(), String> {
    let names = wanted.names.clone();
    let bench = Bench::new(wanted)?;
    let megabytes = bench.image.bytes().map_err(|e| e.to_string())? / 1_000_000;
    let made = bench.image.made_in.map_or("reused".into(), |time| format!("made in {:.0} s", time.as_secs_f64()));
    println!("image: {megabytes} MB, {made}; {}", bench.image.kernels.join(", "));
    let mut failed = Vec::new();
    for name in TESTS.iter().filter(|name| names.is_empty() && **name != "chroot" || names.iter().any(|n| n == *name)) {
        let run = || match *name {
            "keep" => keep::run(&bench),
            "trial" if bench.program.is_some() => product::run(&bench),
            "trial" => trials::run(&bench),
            "chroot" => chroot::run(&bench),
            _ => kills::run(&bench),
        };
        if cases::tried(name, run).is_none() {
            failed.push(*name);
        }
    }
    match failed.is_empty() {
        true => fs::remove_dir_all(&bench.folder).map_err(|e| e.to_string()),
        false => Err(format!("failed: {}; kept in {}", failed.join(", "), bench.folder.display())),
    }
}

impl Bench {
    fn new(wanted: Wanted) -> Result<Bench, String> {
        let Wanted { punctual: program, rule, word, kills, out: folder, .. } = wanted;
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let (mut tools, mut system) = (Vec::new(), SYSTEM.to_owned());
        if let (Some(path), Some(rule)) = (&program, &rule) {
            tools.push(guests::program(path, "punctual")?);
            system += &format!("fix() {{ punctual audit --fix '{rule}' --persist; }}\nundo() {{ punctual undo; }}\n");
        }
        let cache = Cache::usual().map_err(|e| e.to_string())?;
        let image = DiskImage::debian(&cache).map_err(|e| e.to_string())?;
        let word = word.unwrap_or_else(|| "skew_tick=1".into());
        Ok(Bench { image, folder, tools, system, word, kills, program, rule })
    }

    fn guest(&self, name: &str) -> Result<DiskGuest, String> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut guest = DiskGuest::new(&self.image, &folder).map_err(|e| e.to_string())?;
        guest.tools = self.tools.clone();
        // Generous: if the host is busy, the firmware alone takes minutes.
        guest.limit = Duration::from_secs(600);
        Ok(guest)
    }

    fn step(&self, script: &str) -> Step {
        Step::new(format!("{}\n{script}\n", self.system))
    }

    fn keep(&self, name: &str, run: &DiskRun) {
        keep_consoles(&self.folder, name, run);
    }

    /// Runs a guest to its end; every step must exit with 0.
    fn whole(&self, name: &str, guest: &DiskGuest, steps: &[Step]) -> Result<Vec<DiskBoot>, String> {
        let run = guest.run(steps, None).map_err(|e| e.to_string())?;
        self.keep(name, &run);
        if run.ending != Ending::Off {
            return Err(format!("{name}: {:?} after {} boots:{}", run.ending, run.boots.len(), tail(&run)));
        }
        let last = |boot: &&DiskBoot| boot.exit_code.is_some_and(|code| code != 0);
        match run.boots.iter().find(last) {
            Some(boot) => Err(format!("{name}: step {:?} ended with {:?}:{}", boot.step, boot.exit_code, tail(&run))),
            None => Ok(run.boots),
        }
    }
}

fn boot_of(boots: &[DiskBoot], step: usize) -> Result<&DiskBoot, String> {
    boots.iter().find(|boot| boot.step == Some(step)).ok_or(format!("no boot ran step {step}"))
}

fn expect(truth: bool, why: impl Into<String>) -> Result<(), String> {
    if truth { Ok(()) } else { Err(why.into()) }
}
