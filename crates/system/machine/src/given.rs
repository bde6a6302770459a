//! A machine of which only a few files are known: kernel configuration, command line, a Raspberry Pi's config.txt.

mod kind;

pub use kind::Kind;

use crate::boot_file::boot_file_release;
use crate::kconfig::KernelConfig;
use crate::{BuiltIn, Listing, Machine, READ_LIMIT, Read, Setting, kconfig_known};
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
    /// The file with the command line.
    text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    #[error("{0} is empty: give {EXPECTED}")]
    Empty(String),
    /// The file is larger than [`READ_LIMIT`] bytes, compressed or not.
    #[error("{0} is larger than 4 MiB, more than any supported file: give {EXPECTED}")]
    Large(String),
    /// The file is compressed in an unsupported format; the second field is the program that decompresses it.
    #[error("{0} is compressed: decompress it first with `{1} -dc {0} > config`, and give that file")]
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

const EXPECTED: &str = "a kernel's .config (also gzipped), a saved /proc/cmdline or a boot loader's file that contains it, or a Raspberry Pi's config.txt";

impl Given {
    /// Path of a file with a command line of which the running kernel may not use all words, because the file has
    /// several lines or the kernel ignores it.
    pub const LINES: &str = "/given/cmdline";

    /// Path of what the boot loader's file shows about the board: present if it is no Raspberry Pi.
    pub const BOARD: &str = "/given/board";

    /// The variables that Armbian's boot script reads.
    pub const ARMBIAN: &str = "/boot/armbianEnv.txt";

    /// The board's model if config.txt is given without the model.
    pub const SOME_PI: &str = "Raspberry Pi (which one is not given)";

    /// The model if config.txt only shows that the board's processor is the BCM2711 or the BCM2712, which Compute Modules
    /// and the Raspberry Pi 400 and 500 have, too.
    pub const PI_4: &str = "Raspberry Pi 4";
    pub const PI_5: &str = "Raspberry Pi 5";

    pub fn new() -> Given {
        Given::default()
    }

    /// Adds a file. `name` is for messages, and decides the kind if the content does not; `kind` is what the user
    /// named, if anything. Returns the kind.
    ///
    /// # Errors
    /// If the kind is unknown, ambiguous or already present, unless the files are a command line and a log of a boot with
    /// that line. Nothing is added then.
    pub fn add(&mut self, name: &str, bytes: &[u8], kind: Option<Kind>) -> Result<Kind, GivenError> {
        let (kind, text) = kind::tell(name, bytes, kind)?;
        if let Some(other) = self.kinds.get(&kind) {
            if self.text.as_deref().is_some_and(|old| kind == Kind::Cmdline && are_line_and_log(old, &text)) {
                // The log contains the command line.
                if crate::boot_log::log_records(&text).is_none() {
                    return Ok(kind);
                }
            } else {
                return Err(GivenError::Twice(kind.describe(), other.clone(), name.to_owned()));
            }
        }
        self.kinds.insert(kind, name.to_owned());
        match kind {
            Kind::Kconfig => {
                let mark = kind::mark(name).filter(|_| !text.contains("Automatically generated"));
                let marked = mark.map(|mark| format!("{mark}{text}").into_bytes());
                self.put(CONFIG, marked.as_deref().unwrap_or(bytes), name.to_owned());
            }
            Kind::Cmdline => self.text = Some(text),
            Kind::ConfigTxt => self.put(CONFIG_TXT, bytes, name.to_owned()),
            Kind::Model => self.put(MODEL, bytes, name.to_owned()),
        }
        self.tell();
        if self.kinds.contains_key(&Kind::ConfigTxt) && self.read(MODEL) == Read::NotGiven {
            let config_txt = self.read(CONFIG_TXT);
            let model = config_txt.text().and_then(kind::implied_model).unwrap_or(Given::SOME_PI);
            self.put(MODEL, model.as_bytes(), "config.txt (used only by a Raspberry Pi)".to_owned());
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

    fn remove(&mut self, path: &str) {
        self.files.remove(path);
        self.origins.retain(|(other, _)| *other != path);
    }

    /// Adds what follows from the given files: release and log from a saved log, what the configuration determines, and
    /// the command line.
    fn tell(&mut self) {
        let name = |kind| self.kinds.get(&kind).cloned().unwrap_or_default();
        let (config, cmdline) = (name(Kind::Kconfig), name(Kind::Cmdline));
        for path in [RELEASE, ARCH, VERSION, REALTIME, Given::BOARD, Given::ARMBIAN] {
            self.remove(path);
        }
        if let Some(text) = self.text.clone() {
            if let Some(release) = self.release(&text) {
                if let Some(machine) = crate::release::machine(&release) {
                    self.put(ARCH, machine.as_bytes(), format!("{cmdline} (architecture, inferred from the release)"));
                }
                self.put(RELEASE, release.as_bytes(), cmdline.clone());
            }
            if let Some(version) = crate::boot_log::logged_version(&text) {
                self.put(VERSION, version.as_bytes(), cmdline.clone());
                if !crate::is_preempt_rt(version) {
                    self.set(REALTIME, Read::Absent, format!("{cmdline} (no PREEMPT_RT)"));
                }
            }
            if let Some(machine) = crate::boot_log::logged_machine(&text).filter(|_| self.read(ARCH) == Read::NotGiven)
            {
                self.put(ARCH, machine.as_bytes(), format!("{cmdline} (architecture)"));
            }
            if let Some(model) = crate::boot_log::logged_model(&text).filter(|_| !self.kinds.contains_key(&Kind::Model))
            {
                self.put(MODEL, model.as_bytes(), cmdline.clone());
            }
            if crate::boot_script::is_other_board(&text) {
                self.put(Given::BOARD, b"no Raspberry Pi", cmdline.clone());
            }
            if crate::boot_script::is_armbian(kind::file_name(&cmdline)) {
                self.put(Given::ARMBIAN, text.as_bytes(), cmdline.clone());
            }
            if let Some(records) = crate::boot_log::log_records(&text) {
                self.put(LOG, records.as_bytes(), cmdline.clone());
            }
        }
        self.config = KernelConfig::read(self).ok();
        if self.config.is_some() {
            self.derive(&config);
        }
        self.line(&cmdline, &config);
    }

    /// Returns the release that the log reports. If there is none, and no configuration is given, which would have a
    /// release of its own, returns the release of the kernel's file.
    fn release(&self, text: &str) -> Option<String> {
        let of_file = || (!self.kinds.contains_key(&Kind::Kconfig)).then(|| boot_file_release(text)).flatten();
        crate::boot_log::logged_release(text).map(str::to_owned).or_else(of_file)
    }

    /// Determines the command line. The firmware of a Raspberry Pi passes only the first line of cmdline.txt to the
    /// kernel. Of other files the lines are joined, as kernel-install does (90-loaderentry.install), without comments.
    fn line(&mut self, name: &str, config: &str) {
        let is_pi_file = kind::file_name(name) == "cmdline.txt";
        let is_pi = is_pi_file || self.kinds.contains_key(&Kind::ConfigTxt) || self.is_pi_model();
        let own = self.text.as_deref().and_then(crate::boot_file_cmdline);
        let text = self.text.clone().unwrap_or_default();
        let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said: Vec<&str> = all.iter().copied().filter(|line| !line.starts_with('#')).collect();
        let several = own.is_none() && (if is_pi { &all } else { &said }).len() > 1;
        let given = self.text.is_some().then(|| match own {
            // Nothing sets the variable before this file does, unlike in a drop-in of /etc/default/grub.d.
            Some(line) if kind::file_name(name) == "grub" => crate::boot_file::without_own(&line),
            Some(line) => line,
            None if is_pi => all.first().copied().unwrap_or_default().to_owned(),
            None => said.join(" "),
        });
        let built_in = self.config.as_ref().and_then(KernelConfig::built_in);
        let joined = built_in.as_ref().and_then(|built_in| built_in.with(given.as_deref()));
        let origin = format!("CONFIG_CMDLINE of {config}");
        for path in [Given::LINES, CMDLINE_TXT] {
            self.remove(path);
        }
        match (joined.filter(|line| Some(line) != given.as_ref()), given) {
            (Some(line), Some(given)) if matches!(built_in, Some(BuiltIn::Instead(_))) => {
                self.put(CMDLINE, line.as_bytes(), origin);
                // The comparison with the boot loader's file reports words that are ignored.
                self.put(Given::LINES, given.as_bytes(), name.to_owned());
                return;
            }
            (Some(line), Some(_)) => self.put(CMDLINE, line.as_bytes(), format!("{name} with {origin}")),
            (Some(line), None) => self.put(CMDLINE, line.as_bytes(), origin),
            (None, Some(line)) => self.put(CMDLINE, line.as_bytes(), name.to_owned()),
            (None, None) => {}
        }
        if is_pi && (several || is_pi_file) {
            self.put(CMDLINE_TXT, text.as_bytes(), name.to_owned());
        } else if several {
            self.put(Given::LINES, said.join("\n").as_bytes(), name.to_owned());
        }
    }

    fn is_pi_model(&self) -> bool {
        self.read(MODEL).text().is_some_and(|model| model.starts_with("Raspberry Pi"))
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

/// Returns true if one text is a command line and the other a log of a boot with that line.
fn are_line_and_log(a: &str, b: &str) -> bool {
    let line = |text: &str| crate::boot_file_cmdline(text).unwrap_or_else(|| text.trim().to_owned());
    let is_log = |text: &str| crate::boot_log::log_records(text).is_some();
    is_log(a) != is_log(b) && line(a) == line(b)
}

/// Returns the machine name that `uname -m` prints (UTS_MACHINE of arch/*/Makefile), for the architectures that rules
/// use; `arm` if the version of the processor is unknown.
fn architecture(config: &KernelConfig) -> Option<&'static str> {
    let is = |option: &str| config.is_on(option);
    Some(match kconfig_known::architecture(config)? {
        "x86" if is("X86_64") || is("64BIT") => "x86_64",
        // The name follows from the processor (arch/x86/kernel/cpu/bugs.c, init_utsname).
        "x86" if is("M486") => "i486",
        "x86" if ["M586", "M586TSC", "M586MMX"].iter().any(|option| is(option)) => "i586",
        "x86" if is("X86_32") || is("M686") => "i686",
        "arm64" => "aarch64",
        "arm" if is("CPU_32v7") => "armv7l",
        "arm" if is("CPU_32v6") || is("CPU_32v6K") => "armv6l",
        "arm" if is("CPU_32v5") && is("CPU_BIG_ENDIAN") => "armv5teb",
        "arm" if is("CPU_32v5") => "armv5tel",
        "arm" => "arm",
        "riscv" if is("32BIT") => "riscv32",
        "riscv" => "riscv64",
        "powerpc" if is("PPC32") => "ppc",
        // The choice defaults to CPU_BIG_ENDIAN (arch/powerpc/platforms/Kconfig.cputype).
        "powerpc" if is("CPU_LITTLE_ENDIAN") => "ppc64le",
        "powerpc" if is("PPC64") => "ppc64",
        "s390" => "s390x",
        "mips" if is("64BIT") => "mips64",
        "mips" => "mips",
        "loongarch" => "loongarch64",
        "sparc" if is("64BIT") => "sparc64",
        _ => return None,
    })
}

/// Returns the words of `uname -v` that the build derives from the configuration (init/Makefile, preempt-flag and
/// smp-flag), without build number and time. `None` if the configuration is truncated and does not determine them,
/// or is a fragment. Before Linux
/// 5.18 there is no PREEMPT_DYNAMIC (commit 51d72596c870).
fn version_words(config: &KernelConfig) -> Option<&'static str> {
    if config.is_fragment() {
        return None;
    }
    // scripts/mkcompile_h of the real-time patches before 5.4 wrote a blank.
    if config.is_on("PREEMPT_RT_FULL")
        || config.release().is_some_and(|release| release < (5, 3)) && config.is_on("PREEMPT_RT")
    {
        return Some("PREEMPT RT");
    }
    if config.is_on("PREEMPT_RT") {
        return Some("PREEMPT_RT");
    }
    let off = |option: &str| config.get(option) == Setting::Off;
    let is_reported = off("PREEMPT_RT") || config.is_on("PREEMPT_NONE") || config.is_on("PREEMPT_VOLUNTARY");
    let is_dynamic = config.is_on("PREEMPT_DYNAMIC");
    let words = if is_dynamic && config.release().is_none_or(|release| release >= (5, 18)) {
        "PREEMPT_DYNAMIC"
    } else if is_dynamic || config.is_on("PREEMPT_BUILD") || config.is_on("PREEMPT") || config.is_on("PREEMPT_LAZY") {
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
