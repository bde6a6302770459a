//! `cargo xtask boots`: changes of kernel parameters in a guest that boots from its own disk through OVMF and GRUB.

mod chroot;
mod keep;
mod kills;
mod place;
mod product;
mod trials;

use punctual_vm::{Cache, DiskBoot, DiskGuest, DiskImage, DiskRun, Ending, FileIn, Step};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SYSTEM: &str = include_str!("system.sh");
const TESTS: [&str; 4] = ["keep", "trial", "kill", "chroot"];
const USAGE: &str =
    "cargo xtask boots [--punctual FILE --rule ID --word PARAMETER] [--kills N] [--out DIR] [keep|trial|kill|chroot]…";

/// What every test needs.
pub struct Bench {
    image: DiskImage,
    folder: PathBuf,
    tools: Vec<FileIn>,
    /// The functions every step has.
    system: String,
    /// The parameter that fix brings.
    word: String,
    /// How many times the emulator, or in chroot the product, is killed, in fix and in undo each.
    kills: u32,
    /// The product, where it is tried instead of the shell stand-in.
    program: Option<String>,
    /// The rule that it fixes.
    rule: Option<String>,
}

/// Runs the named tests; where none is named, all of them that need no root.
pub fn run(words: &[String]) -> Result<(), String> {
    let (bench, names) = options(words)?;
    let megabytes = bench.image.bytes().map_err(|e| e.to_string())? / 1_000_000;
    let made =
        bench.image.made_in.map_or("kept from before".into(), |time| format!("made in {:.0} s", time.as_secs_f64()));
    println!("image: {megabytes} MB, {made}; {}", bench.image.kernels.join(", "));
    let mut failed = Vec::new();
    for name in TESTS.iter().filter(|name| names.is_empty() && **name != "chroot" || names.iter().any(|n| n == *name)) {
        let begun = Instant::now();
        let result = match *name {
            "keep" => keep::run(&bench),
            "trial" if bench.program.is_some() => product::run(&bench),
            "trial" => trials::run(&bench),
            "chroot" => chroot::run(&bench),
            _ => kills::run(&bench),
        };
        let seconds = begun.elapsed().as_secs_f64();
        match result {
            Ok(figures) => println!("ok      {name:6} {seconds:6.1} s  {figures}"),
            Err(why) => {
                println!("FAILED  {name:6} {seconds:6.1} s  {why}");
                failed.push(*name);
            }
        }
    }
    match failed.is_empty() {
        true => fs::remove_dir_all(&bench.folder).map_err(|e| e.to_string()),
        false => Err(format!("failed: {}; kept in {}", failed.join(", "), bench.folder.display())),
    }
}

#[derive(Default)]
struct Options {
    names: Vec<String>,
    folder: Option<PathBuf>,
    punctual: Option<String>,
    rule: Option<String>,
    word: Option<String>,
    kills: Option<u32>,
}

fn parse(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(USAGE);
        match word.as_str() {
            "--kills" => options.kills = Some(value()?.parse().map_err(|_| USAGE)?),
            "--out" => options.folder = Some(PathBuf::from(value()?)),
            "--punctual" => options.punctual = Some(value()?),
            "--rule" => options.rule = Some(value()?),
            "--word" => options.word = Some(value()?),
            name if TESTS.contains(&name) => options.names.push(name.to_owned()),
            _ => return Err(USAGE.into()),
        }
    }
    match (&options.punctual, &options.rule, &options.word) {
        (None, None, None) | (Some(_), Some(_), Some(_)) => Ok(options),
        _ => Err(USAGE.into()),
    }
}

fn options(words: &[String]) -> Result<(Bench, Vec<String>), String> {
    let options = parse(words)?;
    let folder =
        options.folder.unwrap_or_else(|| std::env::temp_dir().join(format!("punctual-boots-{}", std::process::id())));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (mut tools, mut system) = (Vec::new(), SYSTEM.to_owned());
    if let (Some(path), Some(rule)) = (&options.punctual, &options.rule) {
        let content = fs::read(path).map_err(|e| format!("{path}: {e}"))?;
        tools.push(FileIn { path: "punctual".into(), mode: 0o755, content });
        system += &format!("fix() {{ punctual audit --fix '{rule}' --persist; }}\nundo() {{ punctual undo; }}\n");
    }
    let cache = Cache::usual().map_err(|e| e.to_string())?;
    let image = DiskImage::debian(&cache).map_err(|e| e.to_string())?;
    let word = options.word.unwrap_or_else(|| "skew_tick=1".into());
    let (program, rule, kills) = (options.punctual, options.rule, options.kills.unwrap_or(6));
    Ok((Bench { image, folder, tools, system, word, kills, program, rule }, options.names))
}

impl Bench {
    /// A fresh guest in a folder of its own.
    fn guest(&self, name: &str) -> Result<DiskGuest, String> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut guest = DiskGuest::new(&self.image, &folder).map_err(|e| e.to_string())?;
        guest.tools = self.tools.clone();
        // Generous: with other work on the host the firmware alone takes minutes.
        guest.limit = Duration::from_secs(600);
        Ok(guest)
    }

    /// A step's script with the functions in front.
    fn step(&self, script: &str) -> Step {
        Step::new(format!("{}\n{script}\n", self.system))
    }

    /// Keeps what the consoles said.
    fn keep(&self, name: &str, run: &DiskRun) {
        let text: Vec<String> = run.boots.iter().map(|boot| format!("{}\n----\n", boot.console())).collect();
        // For people only: a test does not fail because of it.
        let _ = fs::write(self.folder.join(format!("{name}.console")), text.concat());
    }

    /// Runs to the end; every step has to end with 0.
    fn whole(&self, name: &str, guest: &DiskGuest, steps: &[Step]) -> Result<Vec<DiskBoot>, String> {
        let run = guest.run(steps, None).map_err(|e| e.to_string())?;
        self.keep(name, &run);
        if run.ending != Ending::Off {
            return Err(format!("{name}: {:?} after {} boots:\n{}", run.ending, run.boots.len(), tail(&run)));
        }
        let last = |boot: &&DiskBoot| boot.exit_code.is_some_and(|code| code != 0);
        match run.boots.iter().find(last) {
            Some(boot) => Err(format!("{name}: step {:?} ended with {:?}:\n{}", boot.step, boot.exit_code, tail(&run))),
            None => Ok(run.boots),
        }
    }
}

fn tail(run: &DiskRun) -> String {
    let text: String = run.boots.iter().map(DiskBoot::console).collect();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(15)..).unwrap_or_default();
    last.iter().map(|line| line.chars().take(160).collect::<String>() + "\n").collect()
}

fn boot_of(boots: &[DiskBoot], step: usize) -> Result<&DiskBoot, String> {
    boots.iter().find(|boot| boot.step == Some(step)).ok_or(format!("no boot ran step {step}"))
}

fn expect(truth: bool, why: impl Into<String>) -> Result<(), String> {
    if truth { Ok(()) } else { Err(why.into()) }
}
