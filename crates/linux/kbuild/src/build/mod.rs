//! Builds outside the source tree. The result depends only on source, configuration and compiler: name, user, host,
//! date and number of the build are fixed, so an interrupted and resumed build equals an undisturbed one (except for
//! the random key of MODULE_SIG and the seed of RANDSTRUCT, which both stay in the folder).

mod attend;
mod broken;
mod heat;
mod own;
mod progress;
mod state;

pub use broken::Broken;
pub use heat::{Heat, HeatError};
pub use progress::Progress;
pub use state::State;

use crate::KbuildError;
use crate::files::lock;
use jiff::Timestamp;
use punctual_kernel::Arch;
use punctual_kernel::config::of_config;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub const LOG: &str = "punctual-build.log";
const LOCK: &str = ".punctual-build.lock";
/// Part of every release name, so that no kernel of the distribution is overwritten.
pub const OURS: &str = "-punctual";
/// Part of the name of a diagnostic kernel, so that it can be installed beside the plain one.
pub const DIAGNOSTIC: &str = "-diagnostic";

#[derive(Clone, Debug)]
pub struct Job {
    pub tree: PathBuf,
    /// The build folder; it contains `.config`.
    pub out: PathBuf,
    pub arch: Arch,
    /// Prefix of a cross compiler, up to but not including `gcc`.
    pub cross: Option<String>,
    /// The make target of the image.
    pub target: String,
    /// Number of parallel jobs: make's -j.
    pub jobs: usize,
    /// Date of the source in seconds since 1970, used as the date of the build.
    pub epoch: u64,
    /// Temperature limit at which the build pauses; `None` to never pause.
    pub heat: Option<Heat>,
    /// True to add the options of [`punctual_kernel::diagnostic`] and a distinct name to the configuration.
    pub diagnostic: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Output of `uname -r`.
    pub release: String,
    pub image: PathBuf,
    pub log: PathBuf,
    /// Number of objects to compile this time; `None` if unknown.
    pub objects: Option<usize>,
    pub lasted: Duration,
    pub paused: Duration,
}

pub fn usual_target(arch: Arch) -> &'static str {
    match arch {
        Arch::Arm => "zImage",
        Arch::Arm64 | Arch::Riscv => "Image.gz",
        Arch::X86 | Arch::I386 => "bzImage",
    }
}

/// Builds image, modules and device trees, or resumes an interrupted build. `report` receives messages, `show` the
/// progress.
///
/// # Errors
/// There is no configuration, a program is missing, the folder belongs to another tree, or make fails; the first file
/// and line with an error are named.
pub fn build(job: &Job, report: &mut dyn FnMut(&str), show: &mut dyn FnMut(&Progress)) -> Result<Built, KbuildError> {
    let begun = Instant::now();
    let job = absolute(job)?;
    if !job.out.join(".config").is_file() {
        let said = format!("{} has no .config: run punctual kernel configure --out {0} …", job.out.display());
        return Err(KbuildError::Usage(said));
    }
    state::end_of_before(&job.out)?;
    let lock = lock(&job.out.join(LOCK), report)?;
    let config = own::own(&job, report)?;
    let mut state = State::open(&job, &punctual_directory::sha256::of_bytes(config.as_bytes()))?;
    let log = Log::open(&job.out)?;
    let job = Job { epoch: state.epoch, ..job };
    attend::prepare(&job, &log)?;
    let objects = attend::count(&job)?;
    if let Some(objects) = objects {
        report(&format!("{objects} objects to compile, {} in parallel", job.jobs));
    }
    let paused = attend::compile(&job, &log, &lock, objects, &mut state, report, show)?;
    let (release, image) = (release(&job.out)?, image(&job)?);
    state.release = Some(release.clone());
    state.done = true;
    state.write(&job.out)?;
    Ok(Built { release, image, log: log.path, objects, lasted: begun.elapsed(), paused })
}

pub(crate) struct Log {
    pub path: PathBuf,
    pub file: File,
}

impl Log {
    fn open(out: &Path) -> Result<Log, KbuildError> {
        let path = out.join(LOG);
        let file = File::options().append(true).create(true).open(&path).map_err(KbuildError::file("write", &path))?;
        Ok(Log { path, file })
    }
}

fn absolute(job: &Job) -> Result<Job, KbuildError> {
    let whole = |path: &Path| std::path::absolute(path).map_err(KbuildError::file("find", path));
    let (tree, out) = (whole(&job.tree)?, whole(&job.out)?);
    if !tree.join("Makefile").is_file() {
        return Err(KbuildError::Usage(format!(
            "{} has no Makefile: give a kernel source with --tree",
            tree.display()
        )));
    }
    if out.starts_with(&tree) {
        let said = format!("{} is inside the source tree: give a folder outside of it with --out", out.display());
        return Err(KbuildError::Usage(said));
    }
    Ok(Job { tree, out, ..job.clone() })
}

pub(crate) const MAKE: &str = "apt-get install make gcc flex bison bc libssl-dev libelf-dev";

/// Returns a make command with fixed values for everything that would make the result vary.
pub(crate) fn make(job: &Job) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(&job.tree).arg(format!("O={}", job.out.display())).arg(format!("ARCH={}", job.arch.name()));
    make.arg(format!("CROSS_COMPILE={}", job.cross.as_deref().unwrap_or_default()));
    // Set to an empty value, so that a modified tree gets no `+` (scripts/setlocalversion).
    make.arg("LOCALVERSION=");
    make.args(["KBUILD_BUILD_USER=punctual", "KBUILD_BUILD_HOST=kbuild", "KBUILD_BUILD_VERSION=1"]);
    make.arg(format!("KBUILD_BUILD_TIMESTAMP={}", date(job.epoch)));
    make.env("LC_ALL", "C").env("SOURCE_DATE_EPOCH", job.epoch.to_string()).env("TZ", "UTC");
    for name in ["MAKEFLAGS", "MAKELEVEL", "KCONFIG_CONFIG", "KBUILD_OUTPUT", "KBUILD_EXTMOD", "INSTALL_MOD_PATH"] {
        make.env_remove(name);
    }
    make
}

/// Returns the date as printed by `date -u`; it becomes the end of `uname -v`.
fn date(epoch: u64) -> String {
    let time = i64::try_from(epoch).ok().and_then(|second| Timestamp::from_second(second).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%a %b %d %T UTC %Y").to_string()
}

pub(crate) fn has_modules(job: &Job) -> bool {
    let options = fs::read_to_string(job.out.join(".config")).map(|text| of_config(&text)).unwrap_or_default();
    options.get("MODULES").is_some_and(|value| value.text() == "y")
}

/// Returns true if the source has device trees for the architecture.
pub(crate) fn has_dtbs(job: &Job) -> bool {
    let options = fs::read_to_string(job.out.join(".config")).map(|text| of_config(&text)).unwrap_or_default();
    !matches!(job.arch, Arch::X86 | Arch::I386) && options.get("OF").is_some_and(|value| value.text() == "y")
}

fn release(out: &Path) -> Result<String, KbuildError> {
    let path = out.join("include/config/kernel.release");
    let text = fs::read_to_string(&path).map_err(KbuildError::file("read", &path))?;
    Ok(text.trim().to_owned())
}

pub(crate) fn image(job: &Job) -> Result<PathBuf, KbuildError> {
    let path = job.out.join("arch").join(job.arch.folder()).join("boot").join(&job.target);
    match path.is_file() {
        true => Ok(path),
        false => Err(KbuildError::bad(&path, "make succeeded but produced no image: give its target with --target")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_date_does() {
        assert_eq!(date(784_111_777), "Sun Nov 06 08:49:37 UTC 1994");
        assert!(date(u64::MAX).ends_with("UTC 9999"));
    }
}
