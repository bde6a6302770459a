//! Implements `kernel build`, which compiles a configured kernel.

use super::args::building::BuildArgs;
use super::inputs::{progress_lines, source, text_file};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::{self, harmless};
use punctual_kbuild::BuildResult;
use punctual_kbuild::build::{Built, Heat, Job, Progress, usual_target};
use punctual_kbuild::fetch::read_manifest;
use punctual_kernel::Arch;
use punctual_kernel::config::of_config;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant, UNIX_EPOCH};

const LARGEST_CONFIG: usize = 4 << 20;
const THERMAL: &str = "/sys/class/thermal";
/// Interval of progress lines if standard error is not a terminal.
const LINE: Duration = Duration::from_secs(60);

pub fn run(args: &BuildArgs) -> Result<Answer, Refusal> {
    let job = job(args)?;
    let mut show = Shown::new(args.output.quiet);
    let built = punctual_kbuild::build(&job, &mut progress_lines(args.output), &mut |progress| show.show(progress));
    show.end();
    let built = built?;
    Ok(Answer::new(args.output, 0, || BuildResult::new(&built, job.arch), || harmless(&text(&built))))
}

fn job(args: &BuildArgs) -> Result<Job, Refusal> {
    let tree = source(&args.tree)?;
    let arch = arch_of(&args.out)?;
    let is_native = host_arch() == Some(arch);
    let cross = args.cross.clone().or_else(|| (!is_native).then(|| usual_cross(arch).to_owned()));
    let heat = Heat::at(args.pause_at, Path::new(THERMAL)).map_err(Refusal::usage)?;
    let jobs = args.jobs.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    Ok(Job {
        epoch: epoch(&args.tree, &tree)?,
        tree,
        out: args.out.clone(),
        arch,
        cross,
        target: args.target.clone().unwrap_or_else(|| usual_target(arch).to_owned()),
        jobs,
        heat: is_native.then_some(heat),
        diagnostic: args.diagnostic,
    })
}

/// Returns the architecture for which a build directory is configured.
pub fn arch_of(out: &Path) -> Result<Arch, Refusal> {
    let path = out.join(".config");
    if !path.is_file() {
        let out = out.display();
        return Err(Refusal::usage(format!("{out} has no .config: run punctual kernel configure --out {out} …")));
    }
    let options = of_config(&text_file(&path, LARGEST_CONFIG)?);
    let on = |name: &str| options.get(name).is_some_and(|value| value.text() == "y");
    let known = [("ARM64", Arch::Arm64), ("ARM", Arch::Arm), ("X86_64", Arch::X86), ("RISCV", Arch::Riscv)];
    let found = known.into_iter().find(|(name, _)| on(name)).map(|(_, arch)| arch);
    found.ok_or_else(|| {
        Refusal::usage(format!("{} is for an architecture other than arm64, arm, x86_64 and riscv", path.display()))
    })
}

pub fn host_arch() -> Option<Arch> {
    Arch::of_compiler(std::env::consts::ARCH).or(match std::env::consts::ARCH {
        "riscv64" => Some(Arch::Riscv),
        _ => None,
    })
}

/// Returns the prefix of Debian's cross compiler for an architecture.
pub fn usual_cross(arch: Arch) -> &'static str {
    match arch {
        Arch::Arm => "arm-linux-gnueabihf-",
        Arch::Arm64 => "aarch64-linux-gnu-",
        Arch::X86 => "x86_64-linux-gnu-",
        Arch::I386 => "i686-linux-gnu-",
        Arch::Riscv => "riscv64-linux-gnu-",
    }
}

/// Returns SOURCE_DATE_EPOCH: the date in the source's manifest, or, without a manifest, the modification time of its
/// Makefile.
fn epoch(folder: &Path, tree: &Path) -> Result<u64, Refusal> {
    if let Some(manifest) = read_manifest(folder)? {
        return Ok(manifest.epoch);
    }
    let path = tree.join("Makefile");
    let changed = path.metadata().and_then(|meta| meta.modified());
    let changed =
        changed.map_err(|e| Refusal::usage(format!("cannot read {}: {e}; name a source (--tree)", path.display())))?;
    Ok(changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

fn text(built: &Built) -> String {
    let paused = match built.paused.as_secs() {
        0 => String::new(),
        paused => format!(", {paused} s of them paused because of high temperature"),
    };
    let (release, image) = (&built.release, built.image.display());
    format!("{release} in {} s{paused}\n{image}\nlog: {}\n", built.lasted.as_secs(), built.log.display())
}

/// Shows progress: on a terminal, as a line that is rewritten; elsewhere, as one line a minute.
struct Shown {
    quiet: bool,
    terminal: bool,
    last: Option<Instant>,
}

impl Shown {
    fn new(quiet: bool) -> Shown {
        Shown { quiet, terminal: terminal::can_overwrite(), last: None }
    }

    fn show(&mut self, progress: &Progress) {
        if self.quiet {
            return;
        }
        if self.terminal {
            terminal::overwrite(&progress.to_string());
            self.last = Some(Instant::now());
        } else if self.last.is_none_or(|last| last.elapsed() >= LINE) {
            progress!("{progress}\n");
            self.last = Some(Instant::now());
        }
    }

    fn end(&self) {
        if self.terminal && self.last.is_some() && !self.quiet {
            progress!("\n");
        }
    }
}
