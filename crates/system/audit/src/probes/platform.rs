//! What kind of machine this is, as far as the given files show it, and where a real-time kernel for it comes from.

use super::{CONFIG_READS, Probe, With};
use crate::cmdline::arches;
use crate::reading::{Cause, Gap, Reading};
use crate::sight::{Notes, Sight};
use punctual_machine::{Distribution, Given, architectures_with, kernels_distribution, parameters};

const ARCH: &str = "/proc/sys/kernel/arch";
const MODEL: &str = "/proc/device-tree/model";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const VERSION: &str = "/proc/sys/kernel/version";
const CMDLINE: &str = "/proc/cmdline";
const CMDLINE_TXT: &str = "/boot/firmware/cmdline.txt";
const OS: &[&str] = &["/etc/os-release", "/usr/lib/os-release", "/etc/armbian-release", "/etc/rpi-issue"];

pub(super) const PROBES: &[Probe] = &[
    // The machine (`uname -m`), even if only parameters of one architecture reveal it.
    Probe { name: "machine", with: &[], reads: &[&[ARCH, CMDLINE, CMDLINE_TXT]], run: machine },
    Probe {
        name: "raspberry-pi",
        with: &[],
        reads: &[&[MODEL, ARCH, CMDLINE, CMDLINE_TXT, Given::BOARD], CONFIG_READS],
        run: raspberry_pi,
    },
    // Where a real-time kernel comes from: `debian-amd64`, `arch-linux`, …; `build` if no package exists, `none` if the
    // architecture has no PREEMPT_RT, `old-patches` if only the real-time patches up to 4.19 had it, `host` if the host
    // of a virtual machine supplies the kernel. See [`source`].
    Probe {
        name: "rt-kernel-source",
        with: &[],
        reads: &[&[ARCH, RELEASE, VERSION, CMDLINE, CMDLINE_TXT, MODEL, Given::BOARD], OS, CONFIG_READS],
        run: rt_kernel_source,
    },
    // `yes` if only single files of a machine are given, so that nothing shows its present state, otherwise `no`.
    Probe {
        name: "single-files",
        with: &[],
        reads: &[&["/sys"]],
        run: |sight, _, _| {
            Reading::word(if sight.names("/sys").is_err_and(|gap| gap.is_not_given()) { "yes" } else { "no" })
        },
    },
    // `yes` if the kernel is unknown and a configuration fragment requests PREEMPT_RT.
    Probe { name: "rt-fragment", with: &[], reads: &[&[VERSION], CONFIG_READS], run: rt_fragment },
];

/// Beginnings of words that only command lines of boards with Arm processors have.
const OF_BOARDS: &[&str] = &[
    "8250.nr_uarts=",
    "bcm2708_fb.",
    "coherent_pool=",
    "console=serial0",
    "console=ttyAMA",
    "console=ttymxc",
    "dwc_otg.",
    "root=/dev/mmcblk",
];

pub(super) fn machine_of(sight: &Sight, notes: &mut Notes) -> Result<String, Gap> {
    let gap = match sight.text(ARCH, notes) {
        Err(gap) if gap.is_not_given() => gap,
        read => return read,
    };
    let is_pi_file = sight.text(CMDLINE_TXT, &mut Notes::default()).is_ok();
    let words = sight.cmdline().map(|line| parameters(&line)).unwrap_or_default();
    // Boot scripts of U-Boot add words to these command lines, on boards that are hardly ever x86.
    let is_board =
        words.iter().any(|word| word == "${script}" || OF_BOARDS.iter().any(|begin| word.starts_with(begin)));
    let mut of_x86: Vec<&str> = words.iter().filter(|word| arches::is_x86_only(word)).map(String::as_str).collect();
    of_x86.dedup();
    if of_x86.is_empty() || is_board || is_pi_file {
        return Err(gap);
    }
    notes.add(format!("{CMDLINE}: parameters of x86"), of_x86.join(" "));
    Ok("x86_64".to_owned())
}

fn machine(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    machine_of(sight, notes).map_or_else(Reading::gap, Reading::word)
}

/// Options of the boards' kernels; without all of them a kernel does not boot on a Raspberry Pi (arch/arm/mach-bcm, and
/// the downstream kernels before 4.9).
const BOARDS: &[&str] = &["ARCH_BCM2708", "ARCH_BCM2709", "ARCH_BCM2835"];

/// Beginnings of words with consoles that the processors of a Raspberry Pi do not have: their UARTs are a PL011
/// (ttyAMA) and an 8250 (ttyS).
const OTHER_CONSOLES: &[&str] = &[
    "console=ttyAML",
    "console=ttyHS",
    "console=ttyLP",
    "console=ttyMSM",
    "console=ttyO",
    "console=ttyPS",
    "console=ttySAC",
    "console=ttyTHS",
    "console=ttymxc",
];

/// Parts of the releases of kernels for other boards, and of WSL.
const OTHERS: &[&str] =
    &["-bone", "-imx", "-meson64", "-rk35xx", "-rockchip", "-sunxi", "-tegra", "-ti-", "-microsoft"];

fn raspberry_pi(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let gap = match sight.text(MODEL, notes) {
        Ok(model) => return Reading::word(if model.contains("Raspberry Pi") { "yes" } else { "no" }),
        Err(gap) if gap.cause == Cause::Absent => return Reading::word("no"),
        Err(gap) => gap,
    };
    let mut is_other = || {
        let arch = machine_of(sight, notes).ok();
        let of_arch = arch.is_some_and(|arch| !matches!(arches::folder(&arch), "arm" | "arm64"));
        let mut unnoted = Notes::default();
        let release = sight.text(RELEASE, &mut unnoted).unwrap_or_default();
        let is_off = |option: &&str| sight.option(option, &mut Notes::default()).is_ok_and(|value| value.text() == "n");
        let is_on = |option: &&str| sight.option(option, &mut Notes::default()).is_ok_and(|value| value.text() == "y");
        let words = sight.cmdline().map(|line| parameters(&line)).unwrap_or_default();
        of_arch
            || sight.text(Given::BOARD, notes).is_ok()
            || OTHERS.iter().any(|part| release.contains(part))
            || BOARDS.iter().all(is_off)
            // arch/arm/mach-bcm/Kconfig, arch/arm64/Kconfig.platforms; the downstream kernels before 4.9 have no such
            // dependency.
            || (is_off(&"ARCH_BCM") && !BOARDS.iter().any(is_on))
            || words.iter().any(|word| OTHER_CONSOLES.iter().any(|begin| word.starts_with(begin)))
    };
    if gap.is_not_given() && is_other() { Reading::word("no") } else { Reading::gap(gap) }
}

/// Mainline has PREEMPT_RT where arch/*/Kconfig selects ARCH_SUPPORTS_RT: x86, arm64 and riscv since 6.12, loongarch
/// since 6.13, arm since 7.1. The real-time patches add powerpc, and up to 4.19 whatever has IRQ_FORCED_THREADING.
fn source(arch: &str, of: Option<Distribution>, release: Option<(u32, u32)>) -> &'static str {
    use Distribution::{Arch, Debian, Gentoo, RaspberryPiOs, Rhel, Suse, Ubuntu, Wsl};
    match (arch, of) {
        (_, Some(Wsl)) => "wsl",
        ("x86_64", Some(Arch)) => "arch-linux",
        (_, Some(Gentoo)) if matches!(arches::folder(arch), "x86" | "arm64") => "gentoo",
        ("x86_64" | "aarch64", Some(Rhel)) => "rhel",
        ("x86_64" | "aarch64", Some(Suse)) => "suse",
        // The first Ubuntu release with this package is 22.04, which has Linux 5.15 and later.
        ("x86_64" | "aarch64", Some(Ubuntu)) if release.is_some_and(|release| release < (5, 15)) => "ubuntu-old",
        ("x86_64" | "aarch64", Some(Ubuntu)) => "ubuntu",
        ("aarch64", Some(RaspberryPiOs)) => "raspberry-pi-os",
        ("x86_64", Some(Debian)) => "debian-amd64",
        ("aarch64", Some(Debian)) => "debian-arm64",
        ("armv7l", Some(Debian)) => "debian-armmp",
        ("i686", Some(Debian)) => "debian-686",
        ("x86_64", None) => "any-amd64",
        ("aarch64", None) => "any-arm64",
        ("armv7l", None) => "any-armmp",
        _ => match arches::folder(arch) {
            "arm" => "build-arm",
            "loongarch" => "build-loongarch",
            "x86" if arch != "x86_64" => "build-686",
            "arm64" | "riscv" | "x86" => "build",
            "powerpc" => "build-patched",
            folder if release.is_some_and(|release| had_patches(folder, release)) => "old-patches",
            _ => "none",
        },
    }
}

/// The real-time patches for Linux 3.0 to 4.19 let every architecture with IRQ_FORCED_THREADING select PREEMPT_RT_FULL.
fn had_patches(folder: &str, release: (u32, u32)) -> bool {
    let since =
        architectures_with("IRQ_FORCED_THREADING").unwrap_or_default().iter().find(|(name, ..)| *name == folder);
    release <= (4, 19) && since.is_some_and(|(.., with)| release >= *with)
}

fn rt_kernel_source(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let config = sight.config().as_ref().ok();
    let of = kernels_distribution(sight.machine, config);
    let release = super::kernel::release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    // The host supplies the kernel of a small virtual machine such as Firecracker's, and names its devices this way.
    let words = sight.cmdline().map(|line| parameters(&line)).unwrap_or_default();
    if words.iter().any(|word| word.starts_with("virtio_mmio.device=")) {
        return Reading::word("host");
    }
    match machine_of(sight, notes) {
        Ok(arch) => Reading::word(source(&arch, of, release)),
        Err(_) if of == Some(Distribution::Wsl) => Reading::word("wsl"),
        Err(gap) => Reading::gap(gap.expected()),
    }
}

fn rt_fragment(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let is_unknown = sight.text(VERSION, &mut Notes::default()).is_err_and(|gap| gap.is_not_given());
    let is_asked = sight.config().as_ref().is_ok_and(|config| config.is_fragment() && config.is_on("PREEMPT_RT"));
    Reading::word(if is_unknown && is_asked { "yes" } else { "no" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Distribution::{Arch, Armbian, Debian, Other, RaspberryPiOs, Suse, Ubuntu, Wsl};

    #[test]
    fn a_real_time_kernel_comes_from_where_it_exists() {
        for (arch, of, release, expected) in [
            ("x86_64", Some(Ubuntu), Some((5, 4)), "ubuntu-old"),
            ("x86_64", Some(Ubuntu), Some((6, 8)), "ubuntu"),
            ("x86_64", Some(Arch), None, "arch-linux"),
            ("aarch64", Some(Arch), None, "build"),
            ("x86_64", Some(Wsl), None, "wsl"),
            ("x86_64", Some(Other), None, "build"),
            ("x86_64", None, None, "any-amd64"),
            ("aarch64", Some(Armbian), None, "build"),
            ("aarch64", Some(RaspberryPiOs), None, "raspberry-pi-os"),
            ("armv7l", Some(RaspberryPiOs), None, "build-arm"),
            ("armv7l", Some(Debian), None, "debian-armmp"),
            ("armv6l", Some(Debian), None, "build-arm"),
            ("riscv64", Some(Debian), None, "build"),
            ("s390x", Some(Suse), None, "none"),
            ("s390x", None, None, "none"),
            ("ppc64le", Some(Debian), None, "build-patched"),
            ("mips", None, None, "none"),
            ("mips", None, Some((3, 10)), "old-patches"),
            ("mips", None, Some((5, 10)), "none"),
            ("i586", None, None, "build-686"),
            ("i686", Some(Arch), None, "build-686"),
            ("sparc64", None, None, "none"),
            ("loongarch64", None, None, "build-loongarch"),
        ] {
            assert_eq!(source(arch, of, release), expected, "{arch} {of:?}");
        }
    }
}
