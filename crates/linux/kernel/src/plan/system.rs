//! The operating system, determined from os-release(5), files that identify derived systems, and the name of the
//! running kernel.

use crate::{Arch, SystemEntry, UsualLoader, systems};
use punctual_machine::{Machine, Read};
use std::fmt;

/// The operating system, as determined from os-release(5) and the running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// Identifier: `debian`, `raspberry-pi-os`, `armbian`, `jetson-linux`, …
    pub id: String,
    /// ID_LIKE: the systems from which this system is derived, nearest first.
    pub like: Vec<String>,
    /// VERSION_ID; for Jetson Linux, the version of Jetson Linux and not of the Ubuntu that it is based on.
    pub version: Option<String>,
}

impl System {
    fn of(id: &str, version: Option<String>) -> System {
        System { id: id.to_owned(), like: Vec::new(), version }
    }

    /// Returns the table's entry for this system or, if there is none, the entry of a system from which it is derived.
    fn entry(&self) -> Option<&'static SystemEntry> {
        let of = |id: &String| systems().iter().find(|entry| entry.os.contains(id));
        of(&self.id).or_else(|| self.like.iter().find_map(of))
    }

    pub(super) fn own_entry(&self) -> Option<&'static SystemEntry> {
        systems().iter().find(|entry| entry.os.contains(&self.id))
    }

    pub(super) fn usual_loader(&self, arch: Arch) -> Option<UsualLoader> {
        self.entry()?.loader.get(&arch).copied()
    }

    pub(super) fn is_like(&self, id: &str) -> bool {
        self.id == id || self.like.iter().any(|like| like == id)
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}", self.id),
            None if self.is_rolling() => f.write_str(&self.id),
            None => write!(f, "{} (version unknown)", self.id),
        }
    }
}

impl System {
    /// Returns true for Arch Linux and derived systems, which have no VERSION_ID (os-release(5)).
    fn is_rolling(&self) -> bool {
        self.is_like("arch")
    }
}

/// Reads os-release(5). The file in /usr/lib is used only if there is none in /etc.
pub(super) fn system(view: &dyn Machine, release: Option<&str>) -> Option<System> {
    let read = match view.read("/etc/os-release") {
        Read::Absent => view.read("/usr/lib/os-release"),
        other => other,
    };
    let text = read.text()?;
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
    };
    let pretty = field("PRETTY_NAME");
    // Recordings may have only the pretty name: `Debian GNU/Linux 12 (bookworm)`.
    let id = field("ID").or_else(|| pretty_id(pretty.as_deref()?))?;
    let version = field("VERSION_ID").or_else(|| numbers(pretty.as_deref()?));
    if let Some(derived) = derived(view, release.unwrap_or_default(), &id, version.as_ref()) {
        return Some(derived);
    }
    let like = field("ID_LIKE").map(|all| all.split_whitespace().map(str::to_owned).collect()).unwrap_or_default();
    Some(System { id, like, version })
}

/// Recognises systems that use the os-release of the system they are derived from.
fn derived(view: &dyn Machine, release: &str, id: &str, version: Option<&String>) -> Option<System> {
    let has = |path: &str| !matches!(view.read(path), Read::Absent | Read::NotGiven);
    if release.contains("-tegra") || has("/etc/nv_tegra_release") {
        return Some(System::of("jetson-linux", jetson(view, release)));
    }
    if has("/etc/armbian-release") {
        return Some(System::of("armbian", version.cloned()));
    }
    // KERNEL_VERSION_EXTENSION of linux-yocto: 6.6.50-yocto-standard.
    if release.contains("-yocto-") {
        return Some(System::of("poky", version.cloned()));
    }
    // Raspberry Pi OS calls itself debian (64-bit) or raspbian; its kernels are named …+rpt-rpi-…, before Debian 12
    // …-v8+.
    let is_its_kernel = release.contains("+rpt") || ["-v7+", "-v7l+", "-v8+"].iter().any(|end| release.ends_with(end));
    let is_pi_os = id == "raspbian" || id == "debian" && (has("/etc/rpi-issue") || is_its_kernel);
    is_pi_os.then(|| System::of("raspberry-pi-os", version.cloned()))
}

/// Parses `# R36 (release), REVISION: 4.3, …`; without it, the version follows from the series of NVIDIA's kernel
/// (Jetson Linux Developer Guide, Kernel: release 35 has 5.10, 36 has 5.15, 38 has 6.8).
fn jetson(view: &dyn Machine, release: &str) -> Option<String> {
    let of_file = || {
        let read = view.read("/etc/nv_tegra_release");
        let (major, rest) = read.text()?.strip_prefix("# R")?.split_once(' ')?;
        let minor = rest.split_once("REVISION: ")?.1.split(',').next()?.trim();
        Some(format!("{major}.{minor}"))
    };
    let series = [("4.9.", "32"), ("5.10.", "35"), ("5.15.", "36"), ("6.8.", "38")];
    of_file().or_else(|| series.iter().find(|(start, _)| release.starts_with(start)).map(|(_, v)| (*v).to_owned()))
}

fn pretty_id(pretty: &str) -> Option<String> {
    let known = [("Debian", "debian"), ("Ubuntu", "ubuntu"), ("Red Hat Enterprise Linux", "rhel")];
    known.iter().find(|(start, _)| pretty.starts_with(start)).map(|(_, id)| (*id).to_owned())
}

fn numbers(pretty: &str) -> Option<String> {
    let word = pretty.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(word.to_owned())
}
