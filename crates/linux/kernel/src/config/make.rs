//! Creates a configuration outside the source tree: defconfig, fragments, olddefconfig.

use super::{Dropped, Kconfig, Options, Value, dropped, of_config, requested};
use crate::Arch;
use crate::programs::{ProgramError, last_lines, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Debug)]
pub struct Job {
    /// A clean, unpacked kernel source.
    pub tree: PathBuf,
    /// The build folder; created if missing.
    pub out: PathBuf,
    pub arch: Arch,
    /// Prefix of a cross compiler, up to but not including `gcc`; some options depend on the compiler.
    pub cross: Option<String>,
    pub base: Base,
    /// Name and text of each fragment; later fragments override earlier fragments.
    pub fragments: Vec<(String, String)>,
    /// True to run `make menuconfig` on this terminal before the result is compared.
    pub menu: bool,
}

/// The configuration to which the options are added.
#[derive(Clone, Debug)]
pub enum Base {
    /// A `make` target: `defconfig`, `tinyconfig`, `bcm2711_defconfig`.
    Target(String),
    /// The text of a configuration, for example the running kernel's.
    Config(String),
}

/// File with the requested options, saved next to the configuration: the package is compared with them again.
pub const REQUESTED: &str = "punctual-requested.config";
/// Part of the release name of every kernel built here, so that no kernel of the distribution is overwritten.
const OURS: &str = "-punctual";

#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("{0}: {1}")]
    Fragment(String, super::FragmentError),
    #[error("CONFIG_{symbol} is {first} in one fragment and {second} in {name}: remove one")]
    Disagree { symbol: String, first: String, second: String, name: String },
    #[error("{0} already has a .config: give a new folder with --out, or delete the file")]
    Exists(String),
    #[error(
        "`{0}` is not a configuration target of the kernel: use one such as defconfig or bcm2711_defconfig (--defconfig)"
    )]
    Target(String),
    #[error("make {target} failed in {}: {said}", tree.display())]
    Make { target: String, tree: PathBuf, said: String },
}

#[derive(Clone, Debug)]
pub struct Configured {
    pub path: PathBuf,
    pub text: String,
    pub requested: Options,
    pub dropped: Vec<Dropped>,
}

/// Merges the options of all fragments.
///
/// # Errors
/// A fragment is invalid, or two disagree.
pub fn merged(fragments: &[(String, String)]) -> Result<Options, ConfigureError> {
    let mut all = Options::new();
    for (name, text) in fragments {
        let options = requested(text).map_err(|error| ConfigureError::Fragment(name.clone(), error))?;
        for (symbol, value) in options {
            if let Some(first) = all.get(&symbol).filter(|first| **first != value) {
                let (first, second) = (first.to_string(), value.to_string());
                return Err(ConfigureError::Disagree { symbol, first, second, name: name.clone() });
            }
            all.insert(symbol, value);
        }
    }
    Ok(all)
}

/// Creates a configuration. Dropped options are reported, and the file is kept for inspection.
///
/// # Errors
/// Fragments disagree, the folder already has a configuration, or make fails; an unfinished `.config` is removed.
pub fn configure(job: &Job) -> Result<Configured, ConfigureError> {
    let mut wanted = merged(&job.fragments)?;
    ours(&mut wanted);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_target = |name: &str| name.ends_with("config") && name.chars().all(is_part) && !name.starts_with('-');
    if let Base::Target(name) = &job.base
        && !is_target(name)
    {
        return Err(ConfigureError::Target(name.clone()));
    }
    let out = std::path::absolute(&job.out).map_err(ProgramError::file("find", &job.out))?;
    let path = out.join(".config");
    if path.exists() {
        return Err(ConfigureError::Exists(out.display().to_string()));
    }
    fs::create_dir_all(&out).map_err(ProgramError::file("make", &out))?;
    let made = made(job, &out, &path, &wanted);
    if made.is_err() {
        // An unfinished configuration would be mistaken for a finished one.
        let _ = fs::remove_file(&path);
    }
    let text = made?;
    let note = out.join(REQUESTED);
    fs::write(&note, super::fragment(&wanted)).map_err(ProgramError::file("write", &note))?;
    let kconfig = Kconfig::of_tree(&job.tree, job.arch.folder());
    let dropped = dropped(&wanted, &of_config(&text), &kconfig);
    Ok(Configured { path, text, requested: wanted, dropped })
}

/// Sets a local version, and clears the distribution's certificates, which its source does not contain.
fn ours(wanted: &mut Options) {
    let name = wanted.get("LOCALVERSION").map_or("", |value| value.text().trim_matches('"'));
    if !name.contains(OURS) {
        let name = Value::string(&format!("{name}{OURS}"));
        wanted.insert("LOCALVERSION".to_owned(), name);
    }
    for symbol in ["SYSTEM_TRUSTED_KEYS", "SYSTEM_REVOCATION_KEYS"] {
        wanted.entry(symbol.to_owned()).or_insert_with(|| Value::string(""));
    }
}

fn made(job: &Job, out: &Path, path: &Path, wanted: &Options) -> Result<String, ConfigureError> {
    let mut text = match &job.base {
        Base::Target(name) => {
            make(job, out, name)?;
            fs::read_to_string(path).map_err(ProgramError::file("read", path))?
        }
        Base::Config(text) => format!("{}\n", text.trim_end()),
    };
    // kconfig uses the last value of an option (scripts/kconfig/confdata.c).
    text += &super::fragment(wanted);
    fs::write(path, text).map_err(ProgramError::file("write", path))?;
    make(job, out, "olddefconfig")?;
    if job.menu {
        menu(job, out)?;
    }
    Ok(fs::read_to_string(path).map_err(ProgramError::file("read", path))?)
}

/// Runs `make menuconfig` on this terminal.
fn menu(job: &Job, out: &Path) -> Result<(), ConfigureError> {
    let mut make = command(job, out, "menuconfig");
    let status = make.status().map_err(|source| ProgramError::Failed { program: "make".to_owned(), source })?;
    match status.success() {
        true => Ok(()),
        false => {
            let said = format!("{status}; it needs ncurses: apt-get install libncurses-dev");
            Err(ConfigureError::Make { target: "menuconfig".to_owned(), tree: job.tree.clone(), said })
        }
    }
}

fn command(job: &Job, out: &Path, target: &str) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(&job.tree).arg(format!("O={}", out.display())).arg(format!("ARCH={}", job.arch.name()));
    if let Some(cross) = &job.cross {
        make.arg(format!("CROSS_COMPILE={cross}"));
    }
    // These environment variables would silently change the configuration.
    for name in [
        "KCONFIG_ALLCONFIG",
        "KCONFIG_CONFIG",
        "KCONFIG_DEFCONFIG_LIST",
        "MAKEFLAGS",
        "CROSS_COMPILE",
        "ARCH",
        "LOCALVERSION",
    ] {
        make.env_remove(name);
    }
    make.arg(target);
    make
}

fn make(job: &Job, out: &Path, target: &str) -> Result<(), ConfigureError> {
    let ran = run(&mut command(job, out, target), b"", "apt-get install make gcc flex bison")?;
    match ran.status.success() {
        true => Ok(()),
        false => {
            let said = last_lines(&ran.said(), 6);
            Err(ConfigureError::Make { target: target.to_owned(), tree: job.tree.clone(), said })
        }
    }
}
