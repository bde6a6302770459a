//! `cargo trials power`: cuts the power while fixes, undos and measurements write. A guest works on a disk whose writes
//! and flushes are logged; other guests check what survives a cut.

mod judge;
mod log;

use crate::{built, guests};
use clap::builder::PossibleValuesParser;
use judge::{Facts, State};
use log::{Entry, Image, WriteLog};
use punctual_stats::SplitMix64;
use punctual_vm::{Arch, Cache, Clock, FileIn, Guest, Kernel, Machine, boot};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A file system: the program that creates it, and the modules that it needs.
struct Kind {
    name: &'static str,
    make: &'static [&'static str],
    package: &'static str,
    modules: &'static [&'static str],
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "ext4",
        make: &["mkfs.ext4", "-q"],
        package: "e2fsprogs",
        modules: &["crc32c_generic", "crc32c_intel", "ext4"],
    },
    Kind {
        name: "f2fs",
        make: &["mkfs.f2fs", "-q"],
        package: "f2fs-tools",
        modules: &["crc32_generic", "crc32_pclmul", "f2fs"],
    },
];

/// Size of the file system, bytes. The marks follow it on the disk.
const SIZE: u64 = 128 << 20;
const DISK: u64 = SIZE + (1 << 20);
const SECTOR: u64 = 512;
/// Number of disks per guest.
const TOGETHER: usize = 12;
/// Rules whose fixes write files, and rules whose fixes set values.
const RULES: &str = "mem-dirty-limits mem-compaction timer-migration";
/// Shares of the unflushed blocks that survive a cut.
const KEPT: [f64; 4] = [0.0, 0.5, 0.9, 1.0];
const KERNEL: &str = "rt@6.12";

/// Cut the power of guests that fix, undo and measure, at random writes
///
/// Requires: cargo build --release, qemu-system-x86, and mkfs of the file systems (e2fsprogs, f2fs-tools).
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// File systems [default: all]
    #[arg(value_name = "FS", value_parser = PossibleValuesParser::new(["ext4", "f2fs"]))]
    names: Vec<String>,
    /// Number of cuts per file system
    #[arg(long, value_name = "N", default_value_t = 25)]
    cuts: usize,
    /// Duration of the guest's work, s
    #[arg(long, value_name = "N", default_value_t = 120)]
    seconds: u64,
    /// Measure with --no-sync. As a control, cuts after a measurement must then lose the run
    #[arg(long)]
    no_sync: bool,
    /// Seed of the random numbers [default: the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Folder for disks, in which inconsistent disks are kept
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join(format!("punctual-power-{}", std::process::id())))]
    out: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let seed =
        wanted.seed.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos())));
    println!("--seed {seed}");
    let mut wrong = Vec::new();
    for kind in KINDS.iter().filter(|kind| wanted.names.is_empty() || wanted.names.iter().any(|n| n == kind.name)) {
        let folder = wanted.out.join(kind.name);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let trial = Trial { kind, folder, seconds: wanted.seconds, no_sync: wanted.no_sync };
        wrong.extend(trial.run(wanted.cuts, SplitMix64::new(seed))?);
    }
    match wrong.is_empty() {
        true => fs::remove_dir_all(&wanted.out).map_err(|e| e.to_string()),
        false => Err(format!("{}\nkept in {}", wrong.join("\n"), wanted.out.display())),
    }
}

struct Trial<'a> {
    kind: &'a Kind,
    folder: PathBuf,
    seconds: u64,
    no_sync: bool,
}

impl Trial<'_> {
    fn run(&self, count: usize, mut random: SplitMix64) -> Result<Vec<String>, String> {
        let (disk, written) = (self.folder.join("disk"), self.folder.join("log"));
        let base = self.made(&disk)?;
        let before = self.recorded(&disk, &written)?;
        let log = WriteLog::read(&written)?;
        let marks = marks(&log);
        let cuts = choose(&marks, count, &mut random)?;
        let mut images = vec![PathBuf::new(); cuts.len()];
        log.cut(base, &cuts, &mut random, |which, image| {
            images[which] = self.folder.join(format!("cut-{which}"));
            image.write(&images[which], DISK).map_err(|e| format!("{}: {e}", images[which].display()))
        })?;
        let mut wrong = Vec::new();
        let mut tally: BTreeMap<&str, u32> = BTreeMap::new();
        for (first, together) in images.chunks(TOGETHER).enumerate() {
            let all = self.checked(together, first)?;
            for (facts, which) in all.iter().zip(first * TOGETHER..) {
                let (at, kept) = cuts[which];
                let state = State::of(&marks, at);
                let problems = judge::judge(&state, facts, &before);
                *tally.entry(state.phase()).or_default() += 1;
                let name = format!("{} cut {which} at write {at} ({state}, {kept} kept)", self.kind.name);
                println!("{name}: {}", if problems.is_empty() { "consistent".into() } else { problems.join("; ") });
                match problems.is_empty() {
                    true => fs::remove_file(&images[which]).map_err(|e| e.to_string())?,
                    false => wrong.push(format!("{name}: {}", problems.join("; "))),
                }
            }
        }
        let flushes = log.entries.iter().filter(|entry| matches!(entry, Entry::Flush)).count();
        let phases: Vec<String> = tally.iter().map(|(phase, n)| format!("{n} {phase}")).collect();
        println!(
            "{}: {} of {} cuts consistent ({}); {} writes and {flushes} flushes of {} rounds",
            self.kind.name,
            cuts.len() - wrong.len(),
            cuts.len(),
            phases.join(", "),
            log.entries.len() - flushes,
            before.runs.len(),
        );
        Ok(wrong)
    }

    /// Creates an empty file system. Returns an image of it.
    fn made(&self, disk: &Path) -> Result<Image, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", disk.display());
        let file = fs::File::create(disk).map_err(failed)?;
        file.set_len(SIZE).map_err(failed)?;
        let [program, words @ ..] = self.kind.make else { return Err("no mkfs".into()) };
        let made = Command::new(program).args(words).arg(disk).output();
        let made = made.map_err(|e| format!("{program}: {e}: apt-get install {}", self.kind.package))?;
        if !made.status.success() {
            return Err(format!("{program}: {}", String::from_utf8_lossy(&made.stderr)));
        }
        file.set_len(DISK).map_err(failed)?;
        Image::read(disk).map_err(failed)
    }

    fn guest(&self, script: &str) -> Result<(Guest, Cache), String> {
        let (kernel, cache): (Kernel, Cache) = guests::kernel(KERNEL, Arch::Amd64)?;
        let script = [include_str!("within.sh"), script].concat();
        let script = script.replace("@FS@", self.kind.name).replace("@END@", &(SIZE / SECTOR).to_string());
        let script = script
            .replace("@SECONDS@", &self.seconds.to_string())
            .replace("@RULES@", RULES)
            .replace("@SYNC@", if self.no_sync { "--no-sync" } else { "" });
        let mut guest = Guest::new(Machine::usual(Arch::Amd64), kernel, script);
        guest.clock = Clock::Real;
        guest.memory_mib = 1024;
        guest.limit = Duration::from_secs(self.seconds + 900);
        guest.fetch = vec!["/facts".into()];
        guest.files = built::for_guests()?;
        guest.files.extend(host_program("/usr/bin/dd")?);
        guest.modules = ["virtio_pci", "virtio_blk"].iter().chain(self.kind.modules).map(|&name| name.into()).collect();
        Ok((guest, cache))
    }

    /// Runs a guest on the disk. Returns what the guest wrote.
    fn recorded(&self, disk: &Path, written: &Path) -> Result<Facts, String> {
        fs::File::create(written).map_err(|e| format!("{}: {e}", written.display()))?;
        let (mut guest, cache) = self.guest(include_str!("write.sh"))?;
        guest.images = vec![disk.to_owned()];
        guest.write_log = Some(written.to_owned());
        let facts = self.booted(&guest, &cache, "written")?;
        Facts::of_work(&facts)
    }

    fn checked(&self, images: &[PathBuf], number: usize) -> Result<Vec<Facts>, String> {
        let (mut guest, cache) = self.guest(include_str!("check.sh"))?;
        guest.images = images.to_vec();
        let facts = self.booted(&guest, &cache, &format!("checked-{number}"))?;
        (b'a'..).zip(images).map(|(letter, _)| Facts::of_disk(&facts, &format!("vd{}", letter as char))).collect()
    }

    fn booted(&self, guest: &Guest, cache: &Cache, name: &str) -> Result<PathBuf, String> {
        let place = self.folder.join(name);
        let booted = boot(guest, cache, Some(&place)).map_err(|e| e.to_string())?;
        println!("{} {name}: {:.0} s", self.kind.name, booted.lasted.as_secs_f64());
        let console = || guests::tail_of(&booted.console);
        if booted.exit_code == 0 { Ok(place.join("facts")) } else { Err(format!("{name}:{}", console())) }
    }
}

/// Returns the positions of the guest's marks in the log, with their texts.
fn marks(log: &WriteLog) -> Vec<(usize, String)> {
    let is_mark = |entry: &Entry| matches!(entry, Entry::Write { at, .. } if *at >= SIZE);
    let marks = log.entries.iter().enumerate().filter(|(_, entry)| is_mark(entry));
    let text = |entry| String::from_utf8_lossy(log.content(entry)).trim_end().replacen("MARK ", "", 1);
    marks.map(|(at, entry)| (at, text(entry))).collect()
}

/// Chooses the cuts: a third directly after a mark, when nothing may be lost, the others within an operation.
fn choose(marks: &[(usize, String)], count: usize, random: &mut SplitMix64) -> Result<Vec<(usize, f64)>, String> {
    let of = |words: &[&str]| -> Vec<usize> {
        let is = |text: &str| words.iter().any(|word| text.split(' ').next() == Some(word));
        (0..marks.len().saturating_sub(1)).filter(|n| is(&marks[*n].1)).collect()
    };
    let (ended, begun) = (of(&["fixed", "measured", "undone"]), [of(&["fix"]), of(&["measure"]), of(&["undo"])]);
    if ended.is_empty() || begun.iter().any(Vec::is_empty) {
        return Err(format!("too little was done: {} marks", marks.len()));
    }
    let mut cut = |n: usize| {
        let at = match n % 3 {
            0 => marks[ended[random.below(ended.len())]].0,
            _ => {
                let phase = &begun[random.below(begun.len())];
                let mark = phase[random.below(phase.len())];
                let (from, to) = (marks[mark].0, marks[mark + 1].0);
                from + random.below(to - from)
            }
        };
        (at, KEPT[random.below(KEPT.len())])
    };
    Ok((0..count).map(&mut cut).collect())
}

/// Returns a program of this machine with its libraries. BusyBox's dd cannot be used, since it cannot bypass the page
/// cache.
fn host_program(path: &str) -> Result<Vec<FileIn>, String> {
    let libraries = guests::libraries(path).ok_or_else(|| format!("{path} is missing"))?;
    let file = |path: &str| guests::program(Path::new(path), path);
    [path.to_owned()].iter().chain(&libraries).map(|path| file(path)).collect()
}
