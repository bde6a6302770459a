//! `cargo trials deploy`: installs kernels next to a guest's own kernel, boots them through OVMF and GRUB, and commits
//! them or returns to the old one.
//!
//! Each case is deployed once, and its armed disk is copied for every run: a run is the trial boot and the boots after
//! it.

mod cases;
mod cut;
mod link;
mod package;

use crate::built::missing;
use crate::guests::{self, keep_consoles, tail};
use cases::{CASES, Case};
use clap::builder::{PossibleValue, PossibleValuesParser};
use punctual_vm::{Cache, DiskGuest, DiskImage, Ending, FileIn, Step};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

const SCRIPT: &str = include_str!("script.sh");
/// Name of the case over ssh in which the controller is killed at random moments; it runs only if named, as root.
const LINK: &str = "link";
/// Name of the case over ssh to a guest in which the link is cut at random points and the guest is restarted each time;
/// it runs only if named.
const CUT: &str = "cut";
/// Time limit of a boot on a busy host, including the firmware and a hang that a watchdog ends after 180 s.
const LIMIT: Duration = Duration::from_secs(900);

struct Bench {
    image: DiskImage,
    folder: PathBuf,
    program: FileIn,
    path: PathBuf,
    runs: usize,
    jobs: usize,
    cut: cut::Request,
}

/// Deploy good and bad kernels in guests that boot through OVMF and GRUB (docs/deploy.md)
///
/// Good kernels must be committed. For kernels that panic, find no root file system, hang, lose the network or starve
/// their guard, the machine must return to the old kernel.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// Number of trial boots per case, and of runs of the case link
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
    /// Number of guests that run at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Folder for disks and consoles
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join(format!("punctual-deploy-{}", std::process::id())))]
    out: PathBuf,
    #[command(flatten)]
    cut: cut::Request,
    /// Cases to try; by default all except link and cut
    #[arg(value_name = "CASE", value_parser = names())]
    names: Vec<String>,
}

fn names() -> PossibleValuesParser {
    let link = PossibleValue::new(LINK).help("Over ssh, with the controller killed at random moments; as root");
    let cut = PossibleValue::new(CUT)
        .help("Over ssh to a guest, with the link cut at random points and the guest restarted each time");
    let cases = CASES.iter().map(|case| PossibleValue::new(case.name));
    PossibleValuesParser::new(cases.chain([link, cut]))
}

pub fn run(wanted: Wanted) -> Result<(), String> {
    let names = wanted.names.clone();
    let bench = Bench::new(wanted)?;
    if names.iter().any(|name| name == LINK) {
        let said = link::run(&bench.path, &package::kernel(&CASES[0])?, bench.runs, &bench.folder)?;
        println!("ok      {LINK}  {said}");
        return Ok(());
    }
    if names.iter().any(|name| name == CUT) {
        println!("ok      {CUT}  {}", cut::run(&bench, bench.cut)?);
        return Ok(());
    }
    let chosen: Vec<&Case> =
        CASES.iter().filter(|case| names.is_empty() || names.iter().any(|n| n == case.name)).collect();
    let mut failed = Vec::new();
    for case in chosen {
        if crate::cases::tried(case.name, || series(&bench, case)).is_none() {
            failed.push(case.name);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}; consoles are in {}", failed.join(", "), bench.folder.display())),
    }
}

impl Bench {
    fn new(wanted: Wanted) -> Result<Bench, String> {
        let Wanted { punctual: path, runs, jobs, out: folder, cut, .. } = wanted;
        fs::metadata(&path).map_err(|e| missing(&path, &e))?;
        let program = guests::program(&path, "punctual")?;
        let cache = Cache::usual().map_err(|e| e.to_string())?;
        let image = DiskImage::debian(&cache).map_err(|e| e.to_string())?;
        Ok(Bench { image, folder, program, path, runs, jobs, cut })
    }
}

/// Deploys the case once, then tries it the requested number of times.
fn series(bench: &Bench, case: &Case) -> Result<String, String> {
    let armed = armed(bench, case)?;
    let numbers = Mutex::new(1..=bench.runs);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..bench.jobs.max(1) {
            scope.spawn(|| {
                while let Some(number) = numbers.lock().ok().and_then(|mut left| left.next()) {
                    let result = tried(bench, case, &armed, number);
                    if let Ok(mut results) = results.lock() {
                        results.push((number, result));
                    }
                }
            });
        }
    });
    let results = results.into_inner().map_err(|e| e.to_string())?;
    let bad: Vec<String> =
        results.iter().filter_map(|(n, result)| result.as_ref().err().map(|why| format!("run {n}: {why}"))).collect();
    let good: Vec<u64> = results.iter().filter_map(|(_, result)| result.as_ref().ok().copied()).collect();
    let text = format!("{} of {} {}, {:?} s", good.len(), results.len(), case.comes.words(), good);
    if bad.is_empty() { Ok(text) } else { Err(format!("{text}; {}", bad.join("; "))) }
}

fn guest(bench: &Bench, name: &str) -> Result<DiskGuest, String> {
    let folder = bench.folder.join(name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut guest = DiskGuest::new(&bench.image, &folder).map_err(|e| e.to_string())?;
    guest.limit = LIMIT;
    let words =
        ["-netdev", "user,id=n0,restrict=on", "-device", "virtio-net-pci,netdev=n0,romfile=", "-device", "i6300esb"];
    guest.devices = words.map(str::to_owned).to_vec();
    guest.tools = vec![bench.program.clone()];
    Ok(guest)
}

fn step(script: &str) -> Step {
    Step::new(format!("{SCRIPT}\n{script}\n"))
}

fn armed(bench: &Bench, case: &Case) -> Result<DiskGuest, String> {
    let name = format!("{}-armed", case.name);
    let mut guest = guest(bench, &name)?;
    let kernel = package::kernel(case)?;
    guest.tools.push(FileIn { path: "kernel.tar".into(), mode: 0o644, content: kernel });
    let words: Vec<String> = case.words.iter().map(|word| format!("'{word}'")).collect();
    let run = guest
        .run(&[step(&format!("{}\ndeployed {}", case.before, words.join(" ")))], None)
        .map_err(|e| e.to_string())?;
    keep_consoles(&bench.folder, &name, &run);
    match (&run.ending, run.boots.last().and_then(|boot| boot.exit_code)) {
        (Ending::Off, Some(0)) => {}
        (ending, code) => return Err(format!("not deployed: {ending:?}, exit code {code:?}: {}", tail(&run))),
    }
    // The trial needs only the program, because the kernel is on the disk.
    guest.tools.truncate(1);
    Ok(guest)
}

/// Tries the armed disk once. Returns the duration, s.
fn tried(bench: &Bench, case: &Case, armed: &DiskGuest, number: usize) -> Result<u64, String> {
    let name = format!("{}-{number}", case.name);
    let folder = bench.folder.join(&name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let guest = armed.copy(&folder).map_err(|e| e.to_string())?;
    let steps = [step("turn"), step("turn")];
    let run = guest.run(&steps, None).map_err(|e| e.to_string())?;
    keep_consoles(&bench.folder, &name, &run);
    let marks: Vec<&str> = run.boots.iter().flat_map(|boot| &boot.marks).map(String::as_str).collect();
    let result = case.comes.judge(&run, &marks);
    if result.is_ok() {
        // A disk image takes hundreds of megabytes.
        let _ = fs::remove_dir_all(&folder);
    }
    result.map(|()| run.lasted.as_secs()).map_err(|why| format!("{why}; marks {marks:?}: {}", tail(&run)))
}
