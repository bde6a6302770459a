use crate::kconfig_known::{lacks, rivals};
use crate::release::{Release, backports, is_mainline, series};
use crate::{Machine, READ_LIMIT, Read, kconfig_defaults};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::io::Read as _;

/// A kernel's `.config` and the file it was read from.
///
/// Reading it takes a few milliseconds (250 KB are inflated and split), so [`crate::facts`] does not.
#[derive(Clone, Debug)]
pub struct KernelConfig {
    path: String,
    /// The first lines, which are a comment.
    head: String,
    /// The lines that set an option, as `NAME=value`, in the order of the file; this text is about half as long as the
    /// file.
    text: String,
    /// Offsets of these lines, sorted by name; a configuration has about ten thousand.
    lines: Box<[u32]>,
    whole: bool,
    is_defconfig: bool,
    is_fragment: bool,
    version: Option<String>,
    /// `None` if unknown, or if the kernel may contain backported options of later releases.
    release: Option<Release>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The option's value: `y`, `m`, a number, or a string without quotes.
    Is(String),
    /// The option is explicitly off, or not mentioned in a complete configuration.
    Off,
    /// The option is not mentioned in a configuration that may be truncated.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no kernel configuration could be read: {}", describe(.tried))]
pub struct ConfigError {
    /// Each path with the result of reading it; content that is not a configuration counts as `Failed(EINVAL)`.
    pub tried: Vec<(String, Read)>,
}

fn describe(tried: &[(String, Read)]) -> String {
    let words = tried.iter().map(|(path, read)| match read {
        Read::Absent => format!("{path} does not exist"),
        Read::Denied => format!("{path} is refused"),
        Read::Failed(errno) => format!("{path} cannot be read (error {errno})"),
        Read::NotGiven => format!("{path} was not given"),
        Read::Known(_) => format!("{path} is not a configuration"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Maximum length of a release in a path, NAME_MAX of limits.h; a release has at most 64 characters (__NEW_UTS_LEN).
const LONGEST_NAME: usize = 255;

const EINVAL: i32 = 22;

impl KernelConfig {
    /// Prepended to the text of a file that is named as a defconfig (`make savedefconfig`): options it omits have their
    /// default.
    pub(crate) const DEFCONFIG: &str = "# defconfig\n";

    /// Prepended to the text of a file that is named as a fragment.
    pub(crate) const FRAGMENT: &str = "# fragment\n";

    /// Returns the possible locations of the configuration of kernel `release`, most reliable first: /proc/config.gz
    /// always belongs to the running kernel, the others only by name.
    pub fn places(release: Option<&str>) -> Vec<String> {
        let mut places = vec!["/proc/config.gz".to_owned()];
        if let Some(release) =
            release.filter(|r| !r.is_empty() && r.len() <= LONGEST_NAME && !r.contains('/') && *r != "..")
        {
            places.extend([
                format!("/boot/config-{release}"),
                format!("/lib/modules/{release}/config"),
                format!("/usr/lib/modules/{release}/config"),
                format!("/lib/modules/{release}/build/.config"),
            ]);
        }
        places
    }

    /// Reads the first configuration found.
    ///
    /// # Errors
    /// If none can be read; the error names every path tried.
    pub fn read(machine: &dyn Machine) -> Result<KernelConfig, ConfigError> {
        let release = machine.read("/proc/sys/kernel/osrelease");
        let running = release.text().filter(|release| !backports(release)).and_then(series);
        let mut tried = Vec::new();
        for path in KernelConfig::places(release.text()) {
            let read = machine.read(&path);
            let config = read.bytes().map(|bytes| KernelConfig::from_bytes(&path, bytes));
            match config {
                Some(Some(config)) if config.version.is_none() => {
                    return Ok(KernelConfig { release: running, ..config });
                }
                Some(Some(config)) => return Ok(config),
                Some(None) => tried.push((path, Read::Failed(EINVAL))),
                None => tried.push((path, read)),
            }
        }
        Err(ConfigError { tried })
    }

    /// Returns `None` if the bytes are not a kernel configuration: not text, damaged gzip (its checksum is verified),
    /// too large, or without any option.
    pub(crate) fn from_bytes(path: &str, bytes: &[u8]) -> Option<KernelConfig> {
        let file = text_of(bytes).ok()?;
        let (mut text, mut named): (String, Vec<(&str, u32)>) = Default::default();
        for (name, value) in file.split_inclusive('\n').filter_map(assignment) {
            named.push((name, u32::try_from(text.len()).ok()?));
            text.extend([name, "=", value, "\n"]);
        }
        text.shrink_to_fit();
        named.sort_unstable();
        let version = version(&file);
        let release = version.as_deref().filter(|version| is_mainline(version)).and_then(series);
        let is_made = is_made(&file);
        let is_written = !is_made && is_written(&file);
        let is_defconfig = !file.starts_with(KernelConfig::FRAGMENT)
            && (first_lines(&file).any(|line| line.starts_with('#') && line.contains(GENERATED)) || is_saved(&file));
        (!named.is_empty()).then(|| KernelConfig {
            path: path.to_owned(),
            head: first_lines(&file).collect::<Vec<_>>().join("\n"),
            text,
            // Not into_iter(), because the collected list would keep the memory of the old one.
            lines: named.iter().map(|(_, at)| *at).collect(),
            whole: is_whole(&file),
            is_defconfig,
            is_fragment: !is_defconfig
                && !is_made
                && named.len() < WHOLE
                && (file.starts_with(KernelConfig::FRAGMENT) || is_written),
            version,
            release,
        })
    }

    /// Returns the value to which Kconfig sets an option that the file contains; `n` if Kconfig ignores the option's
    /// line.
    fn value(&self, option: &str) -> Option<&str> {
        let (at, value) = self.line(option)?;
        Some(if self.overruled(option, at, value).is_some() { "n" } else { value })
    }

    /// Returns why an option is off although a line sets it; `None` if it is not off.
    fn overruled(&self, option: &str, at: u32, value: &str) -> Option<&'static str> {
        let is_later = |rival: &str| self.line(rival).is_some_and(|(other, value)| other > at && value == "y");
        if value == "n" {
            None
        } else if value == "y" && rivals(option).any(is_later) {
            Some("not set: a later line chooses another option")
        } else {
            lacks(option, self)
        }
    }

    /// Returns where the line that sets an option begins, and the value; of several such lines, the last one counts.
    pub(crate) fn line(&self, option: &str) -> Option<(u32, &str)> {
        let after = self.lines.partition_point(|at| option_at(&self.text, *at).is_some_and(|(name, _)| name <= option));
        let at = *self.lines.get(after.checked_sub(1)?)?;
        let (name, value) = option_at(&self.text, at)?;
        (name == option).then_some((at, value))
    }

    /// Returns the version in the header, such as `6.12.9`: the release without local suffixes.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    pub(crate) fn release(&self) -> Option<Release> {
        self.release
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the first lines, which are a comment.
    pub(crate) fn head(&self) -> impl Iterator<Item = &str> {
        self.head.lines()
    }

    /// Returns the setting of an option, given without `CONFIG_`.
    pub fn get(&self, option: &str) -> Setting {
        let value = self.derived(option).map(|(value, _)| value).or_else(|| self.value(option).map(str::to_owned));
        match value {
            Some(value) if value == "n" => Setting::Off,
            Some(value) => Setting::Is(value),
            None if self.whole => Setting::Off,
            None => Setting::Unknown,
        }
    }

    /// Returns the value of an option that is not determined by its line, and the reason: the line is missing, or
    /// Kconfig ignores it.
    fn derived(&self, option: &str) -> Option<(String, &'static str)> {
        if let Some((value, why)) = kconfig_defaults::selected(option, self) {
            return Some((value.to_owned(), why));
        }
        match self.line(option) {
            Some((at, value)) => self.overruled(option, at, value).map(|why| ("n".to_owned(), why)),
            None => kconfig_defaults::of(option, self).or_else(|| Some(("n".to_owned(), lacks(option, self)?))),
        }
    }

    /// Explains why the option's value differs from the one that its line sets; `None` if it does not.
    pub fn why(&self, option: &str) -> Option<&'static str> {
        self.derived(option).map(|(_, why)| why)
    }

    /// Returns true if the file has all options of the kernel.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(crate) fn is_defconfig(&self) -> bool {
        self.is_defconfig
    }

    /// Returns true if the file was written by hand, to be merged into another configuration (merge_config.sh of
    /// scripts/kconfig): a later file may overrule its options, and Kconfig drops those with a dependency that is off.
    pub fn is_fragment(&self) -> bool {
        self.is_fragment
    }

    /// Returns `whole`, `defconfig`, `fragment`, or `part` for a file as long as a whole configuration that lacks options or
    /// the heading that Kconfig writes. Snapshots and recorded machines have selected options, fewer than that.
    pub fn form(&self) -> &'static str {
        match (self.is_fragment, self.is_defconfig) {
            (true, _) => "fragment",
            (_, true) => "defconfig",
            _ if self.whole || self.lines.len() < WHOLE => "whole",
            _ => "part",
        }
    }

    /// Returns why the file does not mention some options of the kernel; `None` if it mentions all.
    pub fn why_incomplete(&self) -> Option<&'static str> {
        match (self.whole, self.is_fragment, self.is_defconfig) {
            (true, ..) => None,
            (_, true, _) => Some("it is a fragment, to be merged into another configuration"),
            (.., true) => Some("it is a defconfig, which omits defaults"),
            _ => Some("it is truncated, or the kernel's release has no such option"),
        }
    }

    /// Returns true if an option whose name begins with `prefix` is `y`.
    pub(crate) fn has_on(&self, prefix: &str) -> bool {
        let from = self.lines.partition_point(|at| option_at(&self.text, *at).is_some_and(|(name, _)| name < prefix));
        let named = self.lines.iter().skip(from).map_while(|at| option_at(&self.text, *at));
        named.take_while(|(name, _)| name.starts_with(prefix)).any(|(_, value)| value == "y")
    }

    /// Returns true if the option is `y`, but not if it is `m`.
    pub fn is_on(&self, option: &str) -> bool {
        self.value(option) == Some("y")
    }
}

/// Returns the option and the value of the line of [`KernelConfig::text`] that begins at `at`.
fn option_at(text: &str, at: u32) -> Option<(&str, &str)> {
    text.get(usize::try_from(at).ok()?..)?.lines().next()?.split_once('=')
}

/// Number of lines of the heading.
const HEAD: usize = 4;

fn first_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take(HEAD)
}

/// Returns the option and the value of a line; the value of `# CONFIG_X is not set` is `n`. A last line without a line
/// end may be truncated: `CONFIG_HZ=2` instead of `CONFIG_HZ=250`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_suffix('\n')?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line.strip_prefix("# CONFIG_") {
        Some(rest) => rest.strip_suffix(" is not set").filter(|name| !name.contains('=')).map(|name| (name, "n")),
        None => line.strip_prefix("CONFIG_")?.split_once('=').map(|(name, value)| (name, unquoted(value))),
    }
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

/// Returns true if the configuration is complete. Kconfig omits options whose dependencies are off, so "not mentioned"
/// means off in a complete file and unknown in a truncated one. Every generated file begins with the same comment.
/// Since Linux 5.4 each menu also ends with a comment, and "Kernel hacking" is the last menu of every architecture (a
/// few options of io_uring may follow it). In earlier files the beginnings of menus are recognised: "Library routines"
/// is the last up to 4.19, "Kernel hacking" since 4.20 (commit 06ec64b84c35). A heading that contains `(cut …)` belongs
/// to a recorded machine, which has selected options only. The end of a menu without its beginning, and a line such as
/// `[...]`, show that lines are missing in between.
fn is_whole(text: &str) -> bool {
    let is_chosen = first_lines(text).any(|line| line.contains("(cut "));
    if !is_made(text) || is_chosen {
        return false;
    }
    // Without a line end, the last line may be truncated.
    let text = match text.strip_suffix('\n') {
        Some(_) => text,
        None if text.ends_with("\n# end of Kernel hacking") => text,
        None => return false,
    };
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(menu) = line.strip_prefix("# end of ") {
            if !begun.contains(menu) {
                return false;
            }
            ended.insert(menu);
        } else if let Some(words) = line.strip_prefix("# ") {
            if !words.starts_with("CONFIG_") {
                begun.insert(words);
            }
        } else if !(line.is_empty() || line == "#" || line.starts_with("CONFIG_")) {
            return false;
        }
    }
    let last = "Kernel hacking";
    let is_old = || begun.contains("Library routines") && begun.contains(last);
    if ended.is_empty() { is_old() } else { ended.contains(last) }
}

/// Returns true if the file has the heading that Kconfig writes; the second form ended with Linux 2.6.39.
fn is_made(text: &str) -> bool {
    first_lines(text).any(|line| {
        line.contains("Automatically generated file; DO NOT EDIT.")
            || line.contains("Automatically generated make config: don't edit")
    })
}

/// Number of options from which on a file is a whole configuration, perhaps with lines added by hand.
const WHOLE: usize = 1000;

/// Returns true if a line has a form that Kconfig never writes: `CONFIG_X=n`, an option commented out, or a comment that
/// is no title of a menu, which stands between two lines with only `#`.
fn is_written(text: &str) -> bool {
    let mut before = "";
    text.lines().enumerate().any(|(at, line)| {
        let above = std::mem::replace(&mut before, line);
        match line.strip_prefix('#') {
            None => line.starts_with("CONFIG_") && line.ends_with("=n"),
            Some("") => false,
            Some(_) if at < HEAD => false,
            Some(words) => {
                let words = words.trim_start();
                let is_off = words.starts_with("CONFIG_") && words.ends_with(" is not set");
                !is_off && !words.starts_with("end of ") && above != "#"
            }
        }
    })
}

/// Number of options below which a file without a heading may be a fragment. The smallest defconfigs of arch/ that a
/// board boots have about as many.
const SAVED: usize = 80;

/// The first options of init/Kconfig, which is the first menu of every architecture; powerpc and mips have the choice of
/// the processor before it.
const FIRST: &[&str] = &[
    "AUDIT",
    "BLK_DEV_INITRD",
    "BSD_PROCESS_ACCT",
    "CGROUPS",
    "HIGH_RES_TIMERS",
    "IKCONFIG",
    "LOCALVERSION",
    "LOCALVERSION_AUTO",
    "LOG_BUF_SHIFT",
    "NO_HZ",
    "NO_HZ_FULL",
    "NO_HZ_IDLE",
    "POSIX_MQUEUE",
    "SYSVIPC",
];

/// Recognises what `make savedefconfig` writes: options only, in the order of Kconfig. Fragments are shorter, have
/// comments or `=n`, are sorted by name, or begin with other options. A file that is named as a defconfig may be short,
/// and may have comments.
fn is_saved(text: &str) -> bool {
    let is_named = text.starts_with(KernelConfig::DEFCONFIG);
    let mut names: Vec<&str> = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        match assignment(line) {
            Some(_) if line.trim_end().ends_with("=n") => return false,
            Some((name, _)) => names.push(name),
            None if is_named || line.trim().is_empty() || (at < HEAD && line.starts_with('#')) => {}
            None => return false,
        }
    }
    let first = names.iter().take(16).filter(|name| FIRST.contains(name)).count();
    // In Kconfig's order, names descend about as often as they ascend.
    let descents = names.windows(2).filter(|pair| matches!(pair, [a, b] if a > b)).count();
    is_named || (names.len() >= SAVED && first >= 2 && descents * 8 > names.len())
}

/// Text that precedes the release series in the first line of Armbian's defconfigs.
const GENERATED: &str = " defconfig generated with ";

/// Parses the version in a header such as `# Linux/x86 6.12.9 Kernel Configuration` (scripts/kconfig/confdata.c: the
/// main menu's title). Before 4.19 the title was `Linux Kernel Configuration` with other words around it, which is not
/// parsed; up to 2.6.35 it is `# Linux kernel version: 2.6.23`.
fn version(text: &str) -> Option<String> {
    let head = || first_lines(text);
    let title = head().find_map(|line| line.strip_prefix("# Linux/")?.strip_suffix(" Kernel Configuration"));
    let of_title = title.and_then(|title| title.split_whitespace().nth(1));
    let of_defconfig = || head().find_map(|line| line.split_once(GENERATED)).map(|(_, version)| version.trim());
    let of_old = || head().find_map(|line| line.strip_prefix("# Linux kernel version: "));
    let version = of_title.or_else(of_old).or_else(of_defconfig)?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

/// Returns the text of a configuration, inflated if gzipped; `None` if it is neither text nor a complete gzip file of
/// at most [`READ_LIMIT`] bytes.
pub fn config_text(bytes: &[u8]) -> Option<String> {
    text_of(bytes).ok()
}

/// Inflates a gzipped file. `Err(true)` if it is larger than [`READ_LIMIT`], `Err(false)` if it is not text.
pub(crate) fn text_of(bytes: &[u8]) -> Result<String, bool> {
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) { inflate(bytes)? } else { bytes.to_vec() };
    String::from_utf8(bytes).map_err(|_| false)
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, bool> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).take(READ_LIMIT as u64 + 1).read_to_end(&mut text).map_err(|_| false)?;
    if text.len() <= READ_LIMIT { Ok(text) } else { Err(true) }
}

#[cfg(test)]
mod tests;
