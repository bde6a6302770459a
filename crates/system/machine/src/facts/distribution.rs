use super::text;
use crate::{KernelConfig, Machine, Read, Setting};

/// A distribution or environment, as far as the way to another kernel depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    Arch,
    Armbian,
    Debian,
    Gentoo,
    RaspberryPiOs,
    /// RHEL and its rebuilds.
    Rhel,
    Suse,
    Ubuntu,
    /// Windows Subsystem for Linux.
    Wsl,
    /// Another one, without a package of a real-time kernel.
    Other,
}

use Distribution::{Arch, Armbian, Debian, Gentoo, Other, RaspberryPiOs, Rhel, Suse, Ubuntu, Wsl};

/// Identifiers of os-release(5).
const IDS: &[(&str, Distribution)] = &[
    ("almalinux", Rhel),
    ("alpine", Other),
    ("amzn", Other),
    ("android", Other),
    ("arch", Arch),
    ("armbian", Armbian),
    ("buildroot", Other),
    ("centos", Rhel),
    ("chromeos", Other),
    ("debian", Debian),
    ("fedora", Other),
    ("gentoo", Gentoo),
    ("nixos", Other),
    ("ol", Other),
    ("openwrt", Other),
    ("opensuse", Suse),
    ("opensuse-leap", Suse),
    ("opensuse-tumbleweed", Suse),
    ("poky", Other),
    ("raspbian", RaspberryPiOs),
    ("rhel", Rhel),
    ("rocky", Rhel),
    ("sled", Suse),
    ("sles", Suse),
    ("suse", Suse),
    ("ubuntu", Ubuntu),
];

/// Parts of the names of kernels' releases that only one distribution uses; the more specific ones first.
const RELEASES: &[(&str, Distribution)] = &[
    ("microsoft", Wsl),
    ("+rpt", RaspberryPiOs),
    ("-android", Other),
    ("-arch", Arch),
    ("-gentoo", Gentoo),
    (".fc", Other),
    (".amzn", Other),
    ("+deb", Debian),
    ("-sunxi", Armbian),
    ("-meson64", Armbian),
    ("-rockchip64", Armbian),
    ("-rk35xx", Armbian),
    ("-generic", Ubuntu),
    ("-lowlatency", Ubuntu),
    ("-raspi", Ubuntu),
];

/// Parts of `uname -v` or of the log's banner, or of CONFIG_VERSION_SIGNATURE.
const VERSIONS: &[(&str, Distribution)] = &[("-Ubuntu ", Ubuntu), ("Ubuntu ", Ubuntu), (" Debian ", Debian)];

/// Returns the distribution of the kernel that runs: by os-release(5), the release's name, `uname -v`, the
/// configuration; `None` if none of these shows it.
pub fn kernels_distribution(machine: &dyn Machine, config: Option<&KernelConfig>) -> Option<Distribution> {
    let release = text(machine, "/proc/sys/kernel/osrelease").unwrap_or_default();
    let setting = |option: &str| match config.map(|config| config.get(option)) {
        Some(Setting::Is(value)) => value,
        _ => String::new(),
    };
    let heading = config.and_then(KernelConfig::version).unwrap_or_default();
    let names = [release.as_str(), heading, &setting("LOCALVERSION"), &setting("BUILD_SALT")];
    let of_name = |name: &str| {
        let of_table = RELEASES.iter().find(|(part, _)| name.contains(part)).map(|(_, which)| *which);
        of_table.or_else(|| crate::backports(name).then(|| if name.contains(".el") { Rhel } else { Suse }))
    };
    let by_name = || names.iter().find_map(|name| of_name(name));
    let versions = [text(machine, "/proc/sys/kernel/version").unwrap_or_default(), setting("VERSION_SIGNATURE")];
    let of_version =
        |version: &String| VERSIONS.iter().find(|(part, _)| version.contains(part)).map(|(_, which)| *which);
    let by_version = || versions.iter().find_map(of_version);
    let by_option = || config.is_some_and(|config| config.has_on("GENTOO_LINUX")).then_some(Gentoo);
    // Microsoft's WSL kernel runs any distribution.
    let by_system = || if release.contains("microsoft") { Some(Wsl) } else { of_system(machine) };
    by_system().or_else(by_name).or_else(by_version).or_else(by_option)
}

/// The ID of os-release(5), else the first known one of ID_LIKE. Raspberry Pi OS with 64 bits calls itself Debian, and
/// Armbian keeps the ID of the distribution that it is based on.
fn of_system(machine: &dyn Machine) -> Option<Distribution> {
    let read = match machine.read("/etc/os-release") {
        Read::Absent => machine.read("/usr/lib/os-release"),
        other => other,
    };
    let release = read.text()?;
    let of = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\''])
    };
    let exists = |path: &str| matches!(machine.read(path), Read::Known(_));
    if exists("/etc/armbian-release") {
        return Some(Armbian);
    }
    let known = |id: &str| IDS.iter().find(|(name, _)| *name == id).map(|(_, which)| *which);
    let which = known(of("ID")).or_else(|| of("ID_LIKE").split_whitespace().find_map(known)).unwrap_or(Other);
    Some(if which == Debian && exists("/etc/rpi-issue") { RaspberryPiOs } else { which })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorded;

    #[test]
    fn a_kernel_shows_its_distribution() {
        for (path, content, expected) in [
            ("/etc/os-release", "ID=rocky\nID_LIKE=\"rhel centos fedora\"\n", Some(Rhel)),
            ("/etc/os-release", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", Some(Ubuntu)),
            ("/etc/os-release", "ID=mine\n", Some(Other)),
            ("/proc/sys/kernel/osrelease", "6.1.21.2-microsoft-standard-WSL2", Some(Wsl)),
            ("/proc/sys/kernel/osrelease", "5.14.0-503.el9.x86_64", Some(Rhel)),
            ("/proc/sys/kernel/osrelease", "6.4.0-150600.23.25-default", Some(Suse)),
            ("/proc/sys/kernel/osrelease", "6.12.47+rpt-rpi-v8", Some(RaspberryPiOs)),
            ("/proc/sys/kernel/osrelease", "6.12.9", None),
            ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1 (2025-01-10)", Some(Debian)),
            ("/proc/sys/kernel/version", "#31-Ubuntu SMP Fri Jan 17 17:27:26 UTC 2020", Some(Ubuntu)),
            ("/proc/config.gz", "# Linux/x86 6.3.0-arch1 Kernel Configuration\nCONFIG_HZ=300\n", Some(Arch)),
            ("/proc/config.gz", "CONFIG_GENTOO_LINUX=y\n", Some(Gentoo)),
        ] {
            let mut machine = Recorded::default();
            machine.set(path, Read::Known(content.as_bytes().to_vec()));
            let config = KernelConfig::read(&machine).ok();
            assert_eq!(kernels_distribution(&machine, config.as_ref()), expected, "{content}");
        }
    }
}
