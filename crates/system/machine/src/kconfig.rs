use crate::{Machine, READ_LIMIT, Read, kconfig_defaults};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::io::Read as _;

/// A kernel's `.config` and the file it was read from.
///
/// Reading it takes some milliseconds (250 KB are inflated and split), so [`crate::facts`] does not.
#[derive(Clone, Debug)]
pub struct KernelConfig {
    path: String,
    text: String,
    /// Offsets of the lines that set an option, sorted by its name; a configuration has about ten thousand.
    lines: Box<[u32]>,
    whole: bool,
    is_defconfig: bool,
    version: Option<String>,
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

    /// Possible locations of the configuration of kernel `release`, most reliable first: /proc/config.gz always belongs
    /// to the running kernel, the others only by name.
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
        let mut tried = Vec::new();
        for path in KernelConfig::places(release.text()) {
            let read = machine.read(&path);
            let config = read.bytes().map(|bytes| KernelConfig::from_bytes(&path, bytes));
            match config {
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
        let text = text_of(bytes).ok()?;
        let mut named: Vec<(&str, u32)> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let from = u32::try_from(at).ok()?;
            named.extend(assignment(line).map(|(name, _)| (name, from)));
            at += line.len();
        }
        named.sort_unstable();
        // Not into_iter(): the collected list would keep the memory of this one.
        let lines: Box<[u32]> = named.iter().map(|(_, at)| *at).collect();
        drop(named);
        let (path, whole, version) = (path.to_owned(), is_whole(&text), version(&text));
        let is_defconfig = text.starts_with(KernelConfig::DEFCONFIG);
        (!lines.is_empty()).then_some(KernelConfig { path, text, lines, whole, is_defconfig, version })
    }

    /// Returns the value of an option; the last of several lines that set it counts.
    fn value(&self, option: &str) -> Option<&str> {
        let set = |at: u32| assignment(self.text.get(usize::try_from(at).ok()?..)?.split_inclusive('\n').next()?);
        let after = self.lines.partition_point(|at| set(*at).is_some_and(|(name, _)| name <= option));
        let (name, value) = set(*self.lines.get(after.checked_sub(1)?)?)?;
        (name == option).then_some(value)
    }

    /// The version in the header, such as `6.12.9`: the release without local suffixes.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the setting of an option, given without `CONFIG_`.
    pub fn get(&self, option: &str) -> Setting {
        match self.value(option) {
            Some("n") => Setting::Off,
            Some(value) => Setting::Is(value.to_owned()),
            None if self.whole => Setting::Off,
            None => match self.derived(option) {
                Some((value, _)) if value == "n" => Setting::Off,
                Some((value, _)) => Setting::Is(value),
                None => Setting::Unknown,
            },
        }
    }

    fn derived(&self, option: &str) -> Option<(String, &'static str)> {
        let off = |name: &str| self.value(name) == Some("n");
        kconfig_defaults::of(option, self.is_defconfig, &|name| self.is_on(name), &off)
    }

    /// Explains why the value of an option that an incomplete configuration does not mention is known.
    pub fn why(&self, option: &str) -> Option<&'static str> {
        let is_said = self.whole || self.value(option).is_some();
        if is_said { None } else { self.derived(option).map(|(_, why)| why) }
    }

    /// Returns true if the option is `y`, but not if it is `m`.
    pub fn is_on(&self, option: &str) -> bool {
        self.value(option) == Some("y")
    }
}

/// Option and value of a line; the value of `# CONFIG_X is not set` is `n`. A last line without a line end may be
/// truncated: `CONFIG_HZ=2` of 250.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_suffix('\n')?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line.strip_prefix("# CONFIG_") {
        Some(rest) => Some((rest.strip_suffix(" is not set")?, "n")),
        None => line.strip_prefix("CONFIG_")?.split_once('=').map(|(name, value)| (name, unquoted(value))),
    }
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

/// Kconfig omits options whose dependencies are off, so "not mentioned" means off in a complete file and unknown in a
/// truncated one. Every generated file begins with the same comment. Since Linux 5.4 each menu also ends with a
/// comment, and "Kernel hacking" is the last menu of every architecture (a few options of io_uring may follow it). In
/// earlier files the beginnings of menus are recognised: "Library routines" is the last up to 4.19, "Kernel hacking"
/// since 4.20 (commit 06ec64b84c35). A heading that contains `(cut …)` belongs to a recorded machine, which has
/// selected options only. The end of a menu without its beginning, and a line such as `[...]`, show that lines are
/// missing in between.
fn is_whole(text: &str) -> bool {
    let head = || text.lines().take(4);
    // The second form ended with Linux 2.6.39.
    let is_made = head().any(|line| {
        line.contains("Automatically generated file; DO NOT EDIT.")
            || line.contains("Automatically generated make config: don't edit")
    });
    let is_chosen = head().any(|line| line.contains("(cut "));
    if !is_made || is_chosen || !text.ends_with('\n') {
        return false;
    }
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

/// Parses the version in a header such as `# Linux/x86 6.12.9 Kernel Configuration` (scripts/kconfig/confdata.c: the
/// main menu's title). Before 4.19 the title was `Linux Kernel Configuration` with other words around it, which is not
/// parsed; up to 2.6.35 it is `# Linux kernel version: 2.6.23`.
fn version(text: &str) -> Option<String> {
    let head = || text.lines().take(4);
    let title = head().find_map(|line| line.strip_prefix("# Linux/")?.strip_suffix(" Kernel Configuration"));
    let of_title = title.and_then(|title| title.split_whitespace().nth(1));
    let version = of_title.or_else(|| head().find_map(|line| line.strip_prefix("# Linux kernel version: ")))?;
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
mod tests {
    use super::*;

    const WHOLE: &str = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.12.0 Kernel Configuration\n#\n\
        CONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\nCONFIG_LOCALVERSION=\"-x\"\n#\n# Kernel hacking\n#\n# end of Kernel hacking\n";

    fn config(text: &str) -> KernelConfig {
        KernelConfig::from_bytes("/boot/config", text.as_bytes()).unwrap()
    }

    #[test]
    fn configurations_of_linux_2_6_are_whole_and_have_a_version() {
        let head = "#\n# Automatically generated make config: don't edit\n# Linux kernel version: 2.6.23-gentoo-r3\n# Thu Jan  3 10:55:37 2008\n#\n";
        let old = config(&format!(
            "{head}CONFIG_X86=y\n\n#\n# Kernel hacking\n#\n\n#\n# Library routines\n#\nCONFIG_PLIST=y\n"
        ));
        assert_eq!((old.version(), old.get("HIGH_RES_TIMERS")), (Some("2.6.23-gentoo-r3"), Setting::Off));
    }

    #[test]
    fn options_are_read() {
        let c = config(WHOLE);
        assert_eq!(c.get("HZ"), Setting::Is("250".into()));
        assert_eq!(c.get("LOCALVERSION"), Setting::Is("-x".into()));
        assert_eq!(c.get("PREEMPT_RT"), Setting::Off);
        assert_eq!(c.get("RT_GROUP_SCHED"), Setting::Off);
        assert_eq!(c.version(), Some("6.12.0"));
        assert_eq!(config("CONFIG_A=y\n").version(), None);
    }

    #[test]
    fn the_last_of_several_lines_counts() {
        let c = config("CONFIG_A=y\nCONFIG_AB=m\n# CONFIG_A is not set\r\nCONFIG_A=3\nCONFIG_B=y\nCONFIG_=1\n");
        assert_eq!((c.get("A"), c.get("AB")), (Setting::Is("3".into()), Setting::Is("m".into())));
        assert!(c.is_on("B") && !c.is_on("AB") && !c.is_on("C"));
    }

    #[test]
    fn a_cut_text_does_not_turn_options_off() {
        let chosen = WHOLE.replace("6.12.0 Kernel Configuration", "Kernel Configuration (cut to what rules ask for)");
        assert_eq!(config(&chosen).get("RT_GROUP_SCHED"), Setting::Unknown);
        let end = "# end of Kernel hacking\n";
        for (from, to) in [
            (end, "# Power management\n# end of Power management\nCONFIG_A=y\n"),
            ("# Kernel hacking\n", ""),
            ("# Linux/x86 6.12.0 Kernel Configuration\n", "[...]\n"),
            (end, "# end of Kernel hacking\n...\n"),
            (end, "# end of Power management\n# end of Kernel hacking\n"),
        ] {
            assert_eq!(config(&WHOLE.replacen(from, to, 1)).get("RT_GROUP_SCHED"), Setting::Unknown, "{to}");
        }
        assert_eq!(config(&WHOLE.replace('\n', "\r\n")).get("RT_GROUP_SCHED"), Setting::Off);
        assert_eq!(config("CONFIG_A=y\n").get("B"), Setting::Unknown);
    }

    #[test]
    fn an_option_is_off_with_what_it_depends_on() {
        let part = config("# CONFIG_DEBUG_KERNEL is not set\nCONFIG_HZ_1000=y\n");
        assert_eq!((part.get("PROVE_LOCKING"), part.get("HZ")), (Setting::Off, Setting::Is("1000".into())));
        assert_eq!((part.get("KASAN"), part.get("RCU_BOOST")), (Setting::Unknown, Setting::Unknown));
    }

    #[test]
    fn a_defconfig_has_defaults() {
        let text = format!("{}CONFIG_PREEMPT_RT=y\n# CONFIG_RCU_BOOST is not set\n", KernelConfig::DEFCONFIG);
        let small = config(&text);
        assert_eq!((small.get("PROVE_LOCKING"), small.get("PREEMPT_RCU")), (Setting::Off, Setting::Is("y".into())));
        assert_eq!((small.get("RCU_BOOST"), small.get("TRACING")), (Setting::Off, Setting::Unknown));
        assert!(small.why("PROVE_LOCKING").is_some() && small.why("RCU_BOOST").is_none());
        let locks = config(&format!("{}CONFIG_PROVE_LOCKING=y\n", KernelConfig::DEFCONFIG));
        assert_eq!(locks.get("LOCKDEP"), Setting::Unknown);
    }

    #[test]
    fn menus_before_5_4_have_no_end() {
        let head = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 4.19.0 Kernel Configuration\n#\nCONFIG_NET=y\n";
        assert_eq!(config(head).get("PROVE_LOCKING"), Setting::Unknown);
        let whole = format!("{head}#\n# Kernel hacking\n#\nCONFIG_A=y\n#\n# Library routines\n#\nCONFIG_B=y\n");
        assert_eq!(config(&whole).get("PROVE_LOCKING"), Setting::Off);
    }

    #[test]
    fn a_line_that_is_cut_says_nothing() {
        let cut = config("CONFIG_A=y\nCONFIG_HZ=2");
        assert_eq!((cut.get("A"), cut.get("HZ")), (Setting::Is("y".to_owned()), Setting::Unknown));
    }

    #[test]
    fn rubbish_is_no_configuration() {
        for bad in [&b"\x1f\x8bnonsense"[..], b"", b"hello\n", b"CONFIG_A=\xff\n"] {
            assert!(KernelConfig::from_bytes("/x", bad).is_none());
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let line = "CONFIG_A=y\n".repeat(1 << 12);
        for _ in 0..200 {
            std::io::Write::write_all(&mut encoder, line.as_bytes()).unwrap();
        }
        assert!(KernelConfig::from_bytes("/x", &encoder.finish().unwrap()).is_none());
    }
}
