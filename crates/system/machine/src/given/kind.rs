use super::{Given, GivenError};
use crate::READ_LIMIT;
use crate::boot_file::{boot_file, boot_file_cmdline, has_open_quote};
use crate::kconfig::{KernelConfig, text_of};
use crate::parameters;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A kernel's `.config`, possibly gzipped.
    Kconfig,
    /// A saved /proc/cmdline, a Raspberry Pi's cmdline.txt, or another file that has a command line:
    /// [`crate::BootFile`].
    Cmdline,
    ConfigTxt,
    /// A saved /proc/device-tree/model.
    Model,
}

impl Kind {
    /// All kinds, each with the prefix by which users select them: `kconfig:FILE`.
    pub const ALL: [(Kind, &'static str); 4] = [
        (Kind::Kconfig, "kconfig"),
        (Kind::Cmdline, "cmdline"),
        (Kind::ConfigTxt, "config.txt"),
        (Kind::Model, "model"),
    ];

    pub fn describe(self) -> &'static str {
        match self {
            Kind::Kconfig => "kernel configuration",
            Kind::Cmdline => "kernel command line",
            Kind::ConfigTxt => "Raspberry Pi config.txt",
            Kind::Model => "board model",
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Kind::Kconfig => "it has no line such as CONFIG_HZ=250, or is damaged",
            Kind::Cmdline => "expected one line of parameters, or a boot loader's file or log that contains them",
            Kind::ConfigTxt => "it has lines such as dtparam=audio=on and sections such as [pi4]",
            Kind::Model => "expected one line that begins with the maker's name",
        }
    }
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the mark of a configuration that is named as a defconfig or as a fragment, for merge_config.sh of
/// scripts/kconfig, kernel-yocto or Buildroot.
pub(super) fn mark(name: &str) -> Option<&'static str> {
    let name = file_name(name).to_ascii_lowercase();
    if name.contains("fragment") || [".cfg", ".frag", ".scc"].iter().any(|end| name.ends_with(end)) {
        return Some(KernelConfig::FRAGMENT);
    }
    name.contains("defconfig").then_some(KernelConfig::DEFCONFIG)
}

/// Magic numbers of unsupported compression formats, with the program that decompresses them.
const PACKED: &[(&[u8], &str)] =
    &[(&[0xfd, b'7', b'z', b'X', b'Z'], "xz"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (b"BZh", "bzip2")];

pub(super) fn tell(name: &str, bytes: &[u8], said: Option<Kind>) -> Result<(Kind, String), GivenError> {
    let own = || name.to_owned();
    if bytes.len() > READ_LIMIT {
        return Err(GivenError::Large(own()));
    }
    if let Some((_, program)) = PACKED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(GivenError::Packed(own(), program));
    }
    let is_gzip = bytes.starts_with(&[0x1f, 0x8b]);
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(true) => return Err(GivenError::Large(own())),
        Err(false) => return Err(GivenError::Binary(own())),
    };
    // The kernel ends the model with a NUL.
    let text = text.trim_end_matches('\0');
    if text.contains('\0') {
        return Err(GivenError::Binary(own()));
    }
    if text.trim().is_empty() {
        return Err(GivenError::Empty(own()));
    }
    let kind = match said {
        // Lines that the firmware ignores may be what the user asks about.
        Some(Kind::ConfigTxt) if !is_gzip && !has_options(text) && lines(text).any(is_config_txt_line) => {
            Kind::ConfigTxt
        }
        Some(Kind::Cmdline) if has_open_quote(text) => {
            return Err(GivenError::Unlike(own(), Kind::Cmdline.describe(), UNCLOSED));
        }
        Some(kind) if fits(kind, text, bytes) && (kind == Kind::Kconfig || !is_gzip) => kind,
        Some(Kind::Cmdline) if is_environment(file_name(name), text) => {
            return Err(GivenError::Unlike(
                own(),
                Kind::Cmdline.describe(),
                "it is a boot loader's file without kernel parameters",
            ));
        }
        Some(kind) => return Err(GivenError::Unlike(own(), kind.describe(), kind.wanted())),
        None if is_gzip && fits(Kind::Kconfig, text, bytes) => Kind::Kconfig,
        None if is_gzip => {
            return Err(GivenError::Unclear(own(), "is gzipped but does not contain a kernel configuration"));
        }
        None => guess(file_name(name), text, bytes).map_err(|why| GivenError::Unclear(own(), why))?,
    };
    Ok((kind, text.to_owned()))
}

fn fits(kind: Kind, text: &str, bytes: &[u8]) -> bool {
    match kind {
        Kind::Kconfig => KernelConfig::from_bytes("", bytes).is_some(),
        Kind::Cmdline if boot_file(text).is_some() => boot_file_cmdline(text).is_some() && !has_options(text),
        Kind::Cmdline => {
            let is_listed = |line: &str| parameters(line).iter().any(|word| is_boot_parameter(word));
            let mut said = lines(text).filter(|line| !line.starts_with('#'));
            let is_line = said.next().is_some_and(|first| is_listed(first) || said.next().is_none());
            is_line && !has_options(text) && !lines(text).any(|line| line.starts_with('['))
        }
        Kind::ConfigTxt => !has_options(text) && text.lines().all(is_config_txt_line),
        Kind::Model => lines(text).count() == 1 && !text.contains('=') && text.trim().len() <= LONGEST_MODEL,
    }
}

const LONGEST_MODEL: usize = 128;

fn has_options(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_"))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Returns true for a comment, a section, `name=value`, or one of the firmware's two commands
/// (https://www.raspberrypi.com/documentation/computers/config_txt.html).
fn is_config_txt_line(line: &str) -> bool {
    let line = line.trim();
    let is_name = |name: &str| {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
        !name.is_empty() && name.chars().all(fine)
    };
    line.is_empty()
        || line.starts_with('#')
        || (line.starts_with('[') && line.ends_with(']'))
        || line.split_once('=').is_some_and(|(name, _)| is_name(name.trim()))
        || ["include ", "initramfs "].iter().any(|command| line.starts_with(command))
}

/// Parameters of the base device tree that only boards with the BCM2712 have (boot/overlays/README of
/// raspberrypi/firmware: "2712 only", "Pi5 only"), and that published files for other boards do not set.
const OF_2712: &[&str] = &["nvme", "rtc_bbat_vchg"];
const BEGIN_2712: &[&str] = &["pciex1", "drm_fb0_rp1_", "drm_fb1_rp1_", "drm_fb2_rp1_"];

/// Returns true for the section of a board without the BCM2712.
fn is_section_of_other(line: &str) -> bool {
    let name = line.strip_prefix('[').unwrap_or_default();
    ["pi", "cm", "board-type="].iter().any(|begin| name.starts_with(begin))
        && !["pi5]", "pi500]", "cm5]"].contains(&name)
}

/// Returns the board whose device tree, kernel, overlay or parameter the unconditional lines of a config.txt name;
/// `None` if they name several processors or none (boot/ and boot/overlays of raspberrypi/firmware).
///
/// The firmware ignores a parameter that the board's device tree does not have, so parameters show nothing in a file
/// for several boards. After `dtoverlay=NAME` a parameter may be that overlay's; an empty `dtoverlay=` ends this
/// (raspberrypi/documentation, configuration/device-tree.adoc).
pub(super) fn implied_model(text: &str) -> Option<&'static str> {
    let is_for_several = lines(text).any(is_section_of_other);
    let (mut is_conditional, mut is_of_overlay) = (false, false);
    let mut found: Vec<&str> = Vec::new();
    let is_2712 = |parameter: &str| {
        let name = parameter.split('=').next().unwrap_or_default().trim();
        OF_2712.contains(&name) || BEGIN_2712.iter().any(|begin| name.starts_with(begin))
    };
    for line in lines(text) {
        if line.starts_with('[') {
            is_conditional = line != "[all]";
        }
        let Some((name, list)) = line.split_once('=') else { continue };
        if name == "dtoverlay" {
            is_of_overlay = !list.is_empty() || (is_of_overlay && is_conditional);
        }
        if is_conditional {
            continue;
        }
        let value = list.split(',').next().unwrap_or_default().trim_end_matches(".dtbo");
        found.extend(match name {
            "dtparam" if !is_of_overlay && !is_for_several && list.split(',').any(is_2712) => Some(Given::PI_5),
            "device_tree" if value.contains("bcm2712-rpi-cm5") => Some("Raspberry Pi Compute Module 5"),
            "device_tree" if value.contains("bcm2712-rpi-500") => Some("Raspberry Pi 500"),
            "device_tree" if value.contains("bcm2712") => Some(Given::PI_5),
            "device_tree" if value.contains("bcm2711-rpi-cm4") => Some("Raspberry Pi Compute Module 4"),
            "device_tree" if value.contains("bcm2711-rpi-400") => Some("Raspberry Pi 400"),
            "device_tree" if value.contains("bcm2711") => Some(Given::PI_4),
            "dtoverlay" if value.ends_with("-pi5") => Some(Given::PI_5),
            "dtoverlay" if value.ends_with("-pi4") => Some(Given::PI_4),
            "kernel" if value == "kernel_2712.img" => Some(Given::PI_5),
            _ => None,
        });
    }
    // A Compute Module 5 and a Raspberry Pi 500 have the processor of the Raspberry Pi 5.
    let processor =
        |model: &str| if model.ends_with("4") || model.ends_with("400") { Given::PI_4 } else { Given::PI_5 };
    let family = processor(found.first().copied()?);
    let is_one = found.iter().all(|model| processor(model) == family);
    found.retain(|model| *model != family);
    let (first, rest) = found.split_first().unwrap_or((&family, &[]));
    is_one.then_some(if rest.iter().all(|other| other == first) { first } else { family })
}

/// Returns true if the line has a form that occurs only in a Raspberry Pi's config.txt.
fn is_firmware_line(line: &str) -> bool {
    let names =
        ["dtparam=", "dtoverlay=", "arm_64bit=", "gpu_mem", "kernel=", "hdmi_", "initramfs ", "arm_freq", "camera_"];
    let filters = ["[pi", "[cm", "[all]", "[none]", "[board-type=", "[HDMI:"];
    names.iter().chain(&filters).any(|begin| line.starts_with(begin))
}

/// Returns true for parameters such as `root`, at least one of which almost every command line contains.
fn is_boot_parameter(word: &str) -> bool {
    let (key, _) = word.split_once('=').unwrap_or((word, ""));
    let names = [
        "root",
        "BOOT_IMAGE",
        "console",
        "ro",
        "rw",
        "quiet",
        "splash",
        "rootwait",
        "isolcpus",
        "nohz_full",
        "init",
        "panic",
    ];
    names.contains(&key)
        || ["initrd", "rd.", "systemd.", "coherent_pool", "8250.", "rootfstype"].iter().any(|n| key.starts_with(n))
}

fn guess(name: &str, text: &str, bytes: &[u8]) -> Result<Kind, &'static str> {
    if has_options(text) {
        return fits(Kind::Kconfig, text, bytes).then_some(Kind::Kconfig).ok_or("has CONFIG_ lines that set nothing");
    }
    if text.starts_with("Raspberry Pi ") && fits(Kind::Model, text, bytes) {
        return Ok(Kind::Model);
    }
    let named = [("cmdline", Kind::Cmdline), ("config.txt", Kind::ConfigTxt), ("usercfg.txt", Kind::ConfigTxt)];
    let named = named.iter().find(|(part, _)| name.contains(part)).map(|(_, kind)| *kind);
    let may_be = |kind: Kind| fits(kind, text, bytes);
    // The firmware ignores lines that it does not understand.
    let is_config_txt = || named == Some(Kind::ConfigTxt) && lines(text).any(is_firmware_line);
    match named.filter(|kind| may_be(*kind) || is_config_txt()) {
        Some(kind) => Ok(kind),
        None if boot_file(text).is_some() && may_be(Kind::Cmdline) => Ok(Kind::Cmdline),
        None if !is_environment(name, text) && may_be(Kind::ConfigTxt) && lines(text).any(is_firmware_line) => {
            Ok(Kind::ConfigTxt)
        }
        None if has_open_quote(text) => Err(UNCLOSED),
        None if may_be(Kind::Cmdline)
            && lines(text).filter(|line| !line.starts_with('#')).count() == 1
            && parameters(text).iter().any(|word| is_boot_parameter(word)) =>
        {
            Ok(Kind::Cmdline)
        }
        None if is_environment(name, text) => Err(EMPTY),
        None => Err("is not recognised by its content"),
    }
}

const UNCLOSED: &str = "sets GRUB_CMDLINE_LINUX… with a quote that is not closed (a typographic quote does not close it): update-grub fails on it";

const EMPTY: &str = "is a boot loader's file, but has no kernel parameters (they would follow extraargs=, optargs=, cmdline=, bootargs= or APPEND)";

/// Recognises the files of U-Boot's boot scripts: uEnv.txt, armbianEnv.txt, orangepiEnv.txt, extlinux.conf.
fn is_environment(name: &str, text: &str) -> bool {
    const NAMES: &[&str] = &["uenv", "armbianenv", "orangepienv", "dietpienv", "boot.cmd", "boot.scr", "extlinux"];
    const VARIABLES: &[&str] = &[
        "bootdelay=",
        "bootlogo=",
        "dtb=",
        "fdtfile=",
        "overlay_prefix=",
        "overlays=",
        "rootdev=",
        "rootfstype=",
        "uname_r=",
        "user_overlays=",
        "verbosity=",
    ];
    let name = name.to_ascii_lowercase();
    let of = lines(text).filter(|line| VARIABLES.iter().any(|start| line.trim_start_matches('#').starts_with(start)));
    NAMES.iter().any(|part| name.contains(part)) || of.count() >= 2
}
