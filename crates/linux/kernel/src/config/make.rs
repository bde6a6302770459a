//! Makes a configuration in a folder outside the source: defconfig, fragments, olddefconfig.

use super::{Dropped, Kconfig, Options, Value, dropped, of_config, requested};
use crate::Arch;
use crate::programs::{ProgramError, last_lines, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to configure.
#[derive(Clone, Debug)]
pub struct Job {
    /// An unpacked kernel source, clean.
    pub tree: PathBuf,
    /// Where `.config` goes; made where it is not there.
    pub out: PathBuf,
    /// For which architecture.
    pub arch: Arch,
    /// A cross compiler's name up to `gcc`: some options ask the compiler.
    pub cross: Option<String>,
    /// `make` target to begin with: `defconfig`, `tinyconfig`, `bcm2711_defconfig`.
    pub defconfig: String,
    /// Fragments with their names, the later before the earlier.
    pub fragments: Vec<(String, String)>,
    /// Let the user change the result in `make menuconfig`, on this terminal, before it is compared.
    pub menu: bool,
}

/// What was asked for, beside the configuration: a package is compared with it once more.
pub const REQUESTED: &str = "punctual-requested.config";
/// In the name of every kernel built here, so that none goes over one of the distribution.
const OURS: &str = "-punctual";

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// A program or file.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A fragment is not one.
    #[error("{0}: {1}")]
    Fragment(String, super::FragmentError),
    /// Two fragments disagree.
    #[error("CONFIG_{symbol} is {first} in one fragment and {second} in {name}: leave one out")]
    Disagree {
        /// The option.
        symbol: String,
        /// Before.
        first: String,
        /// Now.
        second: String,
        /// In which file.
        name: String,
    },
    /// The folder has a configuration already.
    #[error("{0} has a .config already: name a new folder (--out), or delete it")]
    Exists(String),
    /// A name would be taken for something else.
    #[error(
        "`{0}` is no configuration target of a kernel: name one such as defconfig or bcm2711_defconfig (--defconfig)"
    )]
    Target(String),
    /// make failed.
    #[error("make {target} failed in {}: {said}", tree.display())]
    Make {
        /// The target.
        target: String,
        /// The tree.
        tree: PathBuf,
        /// The end of what it said.
        said: String,
    },
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What was asked for.
    pub requested: Options,
    /// What of it is not in it, and why.
    pub dropped: Vec<Dropped>,
}

/// The options of all fragments.
///
/// # Errors
/// One is none, or two disagree.
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

/// Configures. What was dropped is told, not hidden: the file stays for a look.
///
/// # Errors
/// Fragments disagree, the folder is taken, or make fails; a `.config` begun is taken away then.
pub fn configure(job: &Job) -> Result<Configured, ConfigureError> {
    let mut wanted = merged(&job.fragments)?;
    ours(&mut wanted);
    let is_target = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !job.defconfig.ends_with("config") || !job.defconfig.chars().all(is_target) || job.defconfig.starts_with('-') {
        return Err(ConfigureError::Target(job.defconfig.clone()));
    }
    let out = std::path::absolute(&job.out).map_err(ProgramError::file("find", &job.out))?;
    let path = out.join(".config");
    if path.exists() {
        return Err(ConfigureError::Exists(out.display().to_string()));
    }
    fs::create_dir_all(&out).map_err(ProgramError::file("make", &out))?;
    let made = made(job, &out, &path, &wanted);
    if made.is_err() {
        // Half a configuration would be taken for one.
        let _ = fs::remove_file(&path);
    }
    let text = made?;
    let note = out.join(REQUESTED);
    fs::write(&note, super::fragment(&wanted)).map_err(ProgramError::file("write", &note))?;
    let kconfig = Kconfig::of_tree(&job.tree, job.arch.folder());
    let dropped = dropped(&wanted, &of_config(&text), &kconfig);
    Ok(Configured { path, text, requested: wanted, dropped })
}

/// A name of its own, always; and no certificate of the distribution's, which its source does not hold.
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
    make(job, out, &job.defconfig)?;
    let mut text = fs::read_to_string(path).map_err(ProgramError::file("read", path))?;
    // kconfig takes the last value of an option (scripts/kconfig/confdata.c).
    text += &super::fragment(wanted);
    fs::write(path, text).map_err(ProgramError::file("write", path))?;
    make(job, out, "olddefconfig")?;
    if job.menu {
        menu(job, out)?;
    }
    Ok(fs::read_to_string(path).map_err(ProgramError::file("read", path))?)
}

/// `make menuconfig` draws on the terminal and reads from it.
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
    // These would change what is configured without being seen.
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
