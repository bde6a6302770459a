//! A machine known only by a few files: kernel configuration, command line, a Raspberry Pi's config.txt.

mod kind;

pub use kind::Kind;

use crate::kconfig::KernelConfig;
use crate::{BuiltIn, Listing, Machine, READ_LIMIT, Read, Setting};
use rustix::io::Errno;
use std::collections::BTreeMap;

const CONFIG: &str = "/proc/config.gz";
const CMDLINE: &str = "/proc/cmdline";
const CONFIG_TXT: &str = "/boot/firmware/config.txt";
const CMDLINE_TXT: &str = "/boot/firmware/cmdline.txt";
const MODEL: &str = "/proc/device-tree/model";
const ARCH: &str = "/proc/sys/kernel/arch";
const LOG: &str = "/dev/kmsg";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const VERSION: &str = "/proc/sys/kernel/version";
const REALTIME: &str = "/sys/kernel/realtime";

/// Each file appears at its path on a real machine. Every other path reads as [`Read::NotGiven`], except those that
/// follow from the kernel configuration: the architecture, the preemption words of `uname -v`, and the absence of
/// /sys/kernel/realtime without PREEMPT_RT.
#[derive(Clone, Debug, Default)]
pub struct Given {
    files: BTreeMap<&'static str, Read>,
    origins: Vec<(&'static str, String)>,
    kinds: BTreeMap<Kind, String>,
    config: Option<KernelConfig>,
    /// The line from the boot loader, or /proc/cmdline.
    line: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    #[error("{0} is empty: give {EXPECTED}")]
    Empty(String),
    /// The file is larger than [`READ_LIMIT`] bytes, compressed or not.
    #[error("{0} is larger than 4 MiB, more than any supported file: give {EXPECTED}")]
    Large(String),
    /// The file is compressed in an unsupported format; the second field is the program that decompresses it.
    #[error("{0} is packed: unpack it first, `{1} -dc {0} > config`, and give that")]
    Packed(String, &'static str),
    /// The file is not UTF-8, or contains NUL bytes.
    #[error("{0} is not a text file: give {EXPECTED}")]
    Binary(String),
    /// The file is text of an unknown or ambiguous kind.
    #[error(
        "{0} {1}: give {EXPECTED}; or name its kind, as in `--config cmdline:{0}` (kconfig:, cmdline:, config.txt:, model:)"
    )]
    Unclear(String, &'static str),
    #[error("{0} is not a {1}: {2}")]
    Unlike(String, &'static str, &'static str),
    #[error("{1} and {2} are both {0}: give the files of one machine")]
    Twice(&'static str, String, String),
}

const EXPECTED: &str = "a kernel's .config (also gzipped), a saved /proc/cmdline or a boot loader's file that has it, or a Raspberry Pi's config.txt";

impl Given {
    /// The board's model if config.txt is given without the model.
    pub const SOME_PI: &str = "Raspberry Pi (which one is not given)";

    pub fn new() -> Given {
        Given::default()
    }

    /// Adds a file. `name` is for messages, and decides the kind if the content does not; `kind` is what the user
    /// named, if anything. Returns the kind.
    ///
    /// # Errors
    /// If the kind is unknown, ambiguous or already present. Nothing is added then.
    pub fn add(&mut self, name: &str, bytes: &[u8], kind: Option<Kind>) -> Result<Kind, GivenError> {
        let (kind, text) = kind::tell(name, bytes, kind)?;
        if let Some(other) = self.kinds.get(&kind) {
            return Err(GivenError::Twice(kind.describe(), other.clone(), name.to_owned()));
        }
        self.kinds.insert(kind, name.to_owned());
        match kind {
            Kind::Kconfig => {
                let is_defconfig =
                    kind::file_name(name).contains("defconfig") && !text.contains("Automatically generated");
                let marked = format!("{}{text}", KernelConfig::DEFCONFIG);
                let bytes = if is_defconfig { marked.as_bytes() } else { bytes };
                self.put(CONFIG, bytes, name.to_owned());
                self.config = KernelConfig::from_bytes(name, bytes);
                self.derive(name);
            }
            Kind::Cmdline => {
                // The firmware and boot loaders pass only the first line to the kernel; what follows is reported.
                let mut lines = text.lines().filter(|line| !line.trim().is_empty());
                let first = lines.next().unwrap_or_default().to_owned();
                let own = crate::boot_file_cmdline(&text);
                let has_more = own.is_none() && lines.next().is_some();
                let line = own.unwrap_or(first);
                self.put(CMDLINE, line.as_bytes(), name.to_owned());
                self.line = Some(line);
                if let Some(release) = crate::boot_file::logged_release(&text) {
                    self.put(RELEASE, release.as_bytes(), name.to_owned());
                }
                if let Some(records) = crate::boot_file::log_records(&text) {
                    self.put(LOG, records.as_bytes(), name.to_owned());
                }
                if has_more || kind::file_name(name) == "cmdline.txt" {
                    self.put(CMDLINE_TXT, bytes, name.to_owned());
                }
            }
            Kind::ConfigTxt => self.put(CONFIG_TXT, bytes, name.to_owned()),
            Kind::Model => self.put(MODEL, bytes, name.to_owned()),
        }
        self.join();
        if self.kinds.contains_key(&Kind::ConfigTxt) && !self.kinds.contains_key(&Kind::Model) {
            self.put(MODEL, Given::SOME_PI.as_bytes(), "config.txt (it is a Raspberry Pi's)".to_owned());
        }
        Ok(kind)
    }

    pub fn kinds(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.kinds.iter().map(|(kind, name)| (*kind, name.as_str()))
    }

    /// Returns the readable paths, each with the name of the file its content comes from.
    pub fn origins(&self) -> impl Iterator<Item = (&str, &str)> {
        self.origins.iter().map(|(path, origin)| (*path, origin.as_str()))
    }

    /// Replaces paths of the machine in `text` by the names of the given files.
    pub fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, origin) in &self.origins {
            text = text.replace(path, origin);
        }
        text
    }

    fn put(&mut self, path: &'static str, bytes: &[u8], origin: String) {
        self.set(path, Read::Known(bytes.to_vec()), origin);
    }

    fn set(&mut self, path: &'static str, read: Read, origin: String) {
        self.files.insert(path, read);
        self.origins.retain(|(other, _)| *other != path);
        self.origins.push((path, origin));
    }

    /// Combines the command line with the words built into the kernel.
    fn join(&mut self) {
        let Some(built_in) = self.config.as_ref().and_then(KernelConfig::built_in) else { return };
        let (given, name) = (self.line.clone(), self.kinds.get(&Kind::Cmdline).cloned());
        let Some(line) = built_in.with(given.as_deref()).filter(|line| Some(line) != given.as_ref()) else { return };
        let config = self.kinds.get(&Kind::Kconfig).map_or("", String::as_str);
        let origin = format!("CONFIG_CMDLINE of {config}");
        match (built_in, name.zip(given)) {
            (BuiltIn::Instead(_), Some((name, given))) => {
                self.put(CMDLINE, line.as_bytes(), origin);
                // Ignored words are reported by the comparison with the boot loader's file.
                self.put(CMDLINE_TXT, given.as_bytes(), name);
            }
            (_, Some((name, _))) => self.put(CMDLINE, line.as_bytes(), format!("{name} with {origin}")),
            (_, None) => self.put(CMDLINE, line.as_bytes(), origin),
        }
    }

    fn derive(&mut self, name: &str) {
        let Some(config) = self.config.clone() else { return };
        if let Some(arch) = architecture(&config) {
            self.put(ARCH, arch.as_bytes(), format!("{name} (architecture)"));
        }
        if let Some(version) = version_words(&config) {
            if !crate::is_preempt_rt(version) {
                self.set(REALTIME, Read::Absent, format!("{name} (no PREEMPT_RT)"));
            }
            self.put(VERSION, version.as_bytes(), format!("{name} (as printed by uname -v)"));
        }
    }
}

/// The name in `uname -m` (UTS_MACHINE of arch/*/Makefile), for the architectures that rules use.
fn architecture(config: &KernelConfig) -> Option<&'static str> {
    let names = [
        ("X86_64", "x86_64"),
        ("X86_32", "i686"),
        ("ARM64", "aarch64"),
        ("CPU_32v7", "armv7l"),
        ("ARM", "armv6l"),
        ("RISCV", "riscv64"),
        ("PPC64", "ppc64le"),
        ("S390", "s390x"),
        ("MIPS", "mips"),
        ("LOONGARCH", "loongarch64"),
    ];
    names.into_iter().find(|(option, _)| config.is_on(option)).map(|(_, name)| name)
}

/// The words of `uname -v` that the build derives from the configuration (init/Makefile, preempt-flag and smp-flag),
/// without build number and time. `None` if the configuration is truncated and does not determine them.
fn version_words(config: &KernelConfig) -> Option<&'static str> {
    if config.is_on("PREEMPT_RT") || config.is_on("PREEMPT_RT_FULL") {
        return Some("PREEMPT_RT");
    }
    let off = |option: &str| config.get(option) == Setting::Off;
    let is_reported = off("PREEMPT_RT") || config.is_on("PREEMPT_NONE") || config.is_on("PREEMPT_VOLUNTARY");
    let words = if config.is_on("PREEMPT_DYNAMIC") {
        "PREEMPT_DYNAMIC"
    } else if config.is_on("PREEMPT_BUILD") || config.is_on("PREEMPT") {
        "PREEMPT"
    } else {
        "no preemption flag"
    };
    is_reported.then_some(words)
}

impl Machine for Given {
    fn read(&self, path: &str) -> Read {
        if !path.starts_with('/') {
            return Read::Failed(Errno::INVAL.raw_os_error());
        }
        self.files.get(path).cloned().unwrap_or(Read::NotGiven)
    }

    fn list(&self, folder: &str) -> Listing {
        if folder.starts_with('/') { Listing::NotGiven } else { Listing::Failed(Errno::INVAL.raw_os_error()) }
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        match self.read(path) {
            Read::Known(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let to = from.saturating_add(length.min(READ_LIMIT)).min(bytes.len());
                Read::Known(bytes.get(from..to).unwrap_or_default().to_vec())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
