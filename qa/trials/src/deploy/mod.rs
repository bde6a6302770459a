//! `cargo xtask deploy`: kernels put beside a guest's own, tried through OVMF and GRUB, committed or returned from.
//!
//! Each case is deployed once, and its armed disk is copied for every run: a run is the trial boot and what comes after it.

mod cases;
mod cut;
mod link;
mod package;

use cases::{CASES, Case};
use punctual_vm::{Cache, DiskGuest, DiskImage, DiskRun, Ending, FileIn, Step};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("script.sh");
const USAGE: &str =
    "cargo xtask deploy --punctual FILE [--runs N] [--jobs N] [--out DIR] [CASE… | link | cut [--cuts N] [--seed S]]";
/// Over ssh with the controller killed at random instants; by name only, as root.
const LINK: &str = "link";
/// Over ssh to a guest, the link cut at random points and the guest restarted each time; by name only.
const CUT: &str = "cut";
/// The longest boot: firmware, and a hang that a watchdog ends after 180 s, on a busy host.
const LIMIT: Duration = Duration::from_secs(900);

struct Bench {
    image: DiskImage,
    folder: PathBuf,
    program: Vec<u8>,
    path: String,
    runs: usize,
    jobs: usize,
    cut: cut::Wish,
}

/// Runs the named cases; where none is named, all.
pub fn run(words: &[String]) -> Result<(), String> {
    let (bench, names) = options(words)?;
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
        let begun = Instant::now();
        let result = series(&bench, case);
        let seconds = begun.elapsed().as_secs();
        match result {
            Ok(text) => println!("ok      {:14} {seconds:5} s  {text}", case.name),
            Err(why) => {
                println!("FAILED  {:14} {seconds:5} s  {why}", case.name);
                failed.push(case.name);
            }
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}; consoles are in {}", failed.join(", "), bench.folder.display())),
    }
}

fn options(words: &[String]) -> Result<(Bench, Vec<String>), String> {
    let (mut names, mut folder, mut program) = (Vec::new(), None, None);
    let (mut runs, mut jobs) = (1, 1);
    let mut cut = cut::Wish { cuts: 20, seed: 1 };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(USAGE);
        match word.as_str() {
            "--punctual" => program = Some(value()?),
            "--out" => folder = Some(PathBuf::from(value()?)),
            "--runs" => runs = value()?.parse().map_err(|_| USAGE)?,
            "--jobs" => jobs = value()?.parse().map_err(|_| USAGE)?,
            "--cuts" => cut.cuts = value()?.parse().map_err(|_| USAGE)?,
            "--seed" => cut.seed = value()?.parse().map_err(|_| USAGE)?,
            name if [LINK, CUT].contains(&name) || CASES.iter().any(|case| case.name == name) => {
                names.push(name.to_owned())
            }
            _ => return Err(format!("{USAGE}; cases: {}", CASES.map(|case| case.name).join(", "))),
        }
    }
    let program = program.ok_or(USAGE)?;
    let path = program;
    let program = fs::read(&path).map_err(|e| format!("{path}: {e}"))?;
    let usual = || std::env::temp_dir().join(format!("punctual-deploy-{}", std::process::id()));
    let folder = folder.unwrap_or_else(usual);
    let cache = Cache::usual().map_err(|e| e.to_string())?;
    let image = DiskImage::debian(&cache).map_err(|e| e.to_string())?;
    Ok((Bench { image, folder, program, path, runs, jobs, cut }, names))
}

/// The case deployed once, then tried as often as asked.
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
    guest.tools = vec![FileIn { path: "punctual".into(), mode: 0o755, content: bench.program.clone() }];
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
    keep(bench, &name, &run);
    match (&run.ending, run.boots.last().and_then(|boot| boot.exit_code)) {
        (Ending::Off, Some(0)) => {}
        (ending, code) => return Err(format!("not deployed: {ending:?}, exit code {code:?}: {}", tail(&run))),
    }
    // The trial needs the program only: the kernel is on the disk.
    guest.tools.truncate(1);
    Ok(guest)
}

/// One trial; its seconds.
fn tried(bench: &Bench, case: &Case, armed: &DiskGuest, number: usize) -> Result<u64, String> {
    let name = format!("{}-{number}", case.name);
    let folder = bench.folder.join(&name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let guest = armed.copy(&folder).map_err(|e| e.to_string())?;
    let steps = [step("turn"), step("turn")];
    let run = guest.run(&steps, None).map_err(|e| e.to_string())?;
    keep(bench, &name, &run);
    let marks: Vec<&str> = run.boots.iter().flat_map(|boot| &boot.marks).map(String::as_str).collect();
    let result = case.comes.judge(&run, &marks);
    if result.is_ok() {
        // A disk takes hundreds of megabytes.
        let _ = fs::remove_dir_all(&folder);
    }
    result.map(|()| run.lasted.as_secs()).map_err(|why| format!("{why}; marks {marks:?}: {}", tail(&run)))
}

fn keep(bench: &Bench, name: &str, run: &DiskRun) {
    let text: Vec<String> = run.boots.iter().map(|boot| format!("{}\n----\n", boot.console())).collect();
    let _ = fs::write(bench.folder.join(format!("{name}.console")), text.concat());
}

fn tail(run: &DiskRun) -> String {
    let text: String = run.boots.iter().map(|boot| boot.console().to_owned() + "\n----\n").collect();
    tail_of(&text)
}

fn tail_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(25)..).unwrap_or_default();
    last.iter().map(|line| format!("\n    {}", line.chars().take(180).collect::<String>())).collect()
}
