use crate::Series;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../boards/", $name, ".toml")))),*]
    };
}

/// Key and text of each file of `boards/`. A test fails if a file is missing from this list.
const FILES: &[(&str, &str)] = files![
    "raspberry-pi-1",
    "raspberry-pi-2",
    "raspberry-pi-3-32",
    "raspberry-pi-3-64",
    "raspberry-pi-4-32",
    "raspberry-pi-4-64",
    "raspberry-pi-5",
    "pc-amd64",
    "pc-i386",
    "arm-board",
    "arm64-board",
    "riscv64-board",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    Hardware,
    /// Tested in QEMU's model of the board.
    Qemu,
    /// Untested; derived from documents.
    Model,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    Arm,
    Arm64,
    #[serde(rename = "x86_64")]
    X86,
    I386,
    Riscv,
}

impl Arch {
    pub fn name(self) -> &'static str {
        match self {
            Arch::Arm => "arm",
            Arch::Arm64 => "arm64",
            Arch::X86 => "x86_64",
            Arch::I386 => "i386",
            Arch::Riscv => "riscv",
        }
    }

    /// Returns the folder below `arch/` (scripts/subarch.include, and SRCARCH in the Makefile).
    pub fn folder(self) -> &'static str {
        if matches!(self, Arch::X86 | Arch::I386) { "x86" } else { self.name() }
    }

    /// Determines the architecture from a compiler's `-dumpmachine`.
    pub fn of_compiler(machine: &str) -> Option<Arch> {
        let cpu = machine.split('-').next().unwrap_or_default();
        match cpu {
            "aarch64" => Some(Arch::Arm64),
            "x86_64" => Some(Arch::X86),
            "i386" | "i486" | "i586" | "i686" => Some(Arch::I386),
            "riscv64" => Some(Arch::Riscv),
            cpu if cpu.starts_with("arm") && !cpu.starts_with("armeb") => Some(Arch::Arm),
            _ => None,
        }
    }
}

/// How the board boots, which determines how a kernel is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootWay {
    /// The board boots through config.txt and tryboot.txt.
    RaspberryPi,
    /// The board boots through EFI, GRUB or U-Boot; the one in use is detected on the machine.
    Firmware,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiNames {
    /// First series that supports this board.
    pub since: Series,
    /// Name of the `make` target.
    pub defconfig: String,
    pub image: String,
    /// File names of the device trees, with `*` as a wildcard.
    pub dtbs: Vec<String>,
    /// The configuration with PREEMPT_RT, if there is one.
    pub rt_defconfig: Option<String>,
    /// The kernel file of `rt_defconfig`.
    pub rt_image: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mainline {
    /// Name of the `make` target.
    pub defconfig: String,
    /// First series that supports this board.
    pub since: Series,
    /// Device trees below `arch/*/boot/dts`, with `*` as a wildcard; empty if the firmware provides its own.
    pub dtbs: Vec<String>,
}

/// A part of a board for which the kernel needs a driver, for example the keyboard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Name of the part, for example `SPI`, `USB` or `HID`.
    pub what: String,
    /// Options of which one is enough, each with the name of its module if it is `m`, without `.ko`. Mainline and the
    /// Raspberry Pi tree have different drivers for some parts.
    pub any: BTreeMap<String, String>,
}

/// A board, or several boards that use the same kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    pub key: String,
    pub name: String,
    /// Prefixes of `/proc/device-tree/model`; empty if any machine of the architecture matches.
    pub models: Vec<String>,
    /// Accepted values of `uname -m`.
    pub machines: Vec<String>,
    pub arch: Arch,
    /// Prefix of Debian's cross compiler, up to but not including `gcc`.
    pub cross: String,
    pub boot: BootWay,
    pub target: String,
    /// Page size of the default kernel, KiB.
    pub page_kib: u32,
    /// True if the board has the USB controller whose downstream driver uses a FIQ (dwc_otg).
    pub usb_dwc_otg: bool,
    pub verified: Verified,
    pub verified_by: String,
    pub needs: Vec<Need>,
    pub traps: Vec<String>,
    pub sources: Vec<String>,
    pub pi: Option<PiNames>,
    /// Configuration of mainline kernels for the board; `None` if mainline has no complete device tree for it.
    pub mainline: Option<Mainline>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    #[error("no board is named `{0}`: choose one of {1}")]
    Unknown(String, String),
    #[error(
        "the machine does not report its architecture (/proc/sys/kernel/arch, since Linux 6.1): give the board with --board {0}"
    )]
    NoArchitecture(String),
    /// A kernel for another architecture would not help, so only boards of this architecture are listed.
    #[error(
        "{model}, {machine} is not a known board: {}",
        if known.is_empty() {
            "no board of its architecture is known, so no plan can be made".to_owned()
        } else {
            format!("if it can use the kernel of another board of its architecture, give that board with --board: {known}")
        }
    )]
    NotListed { model: String, machine: String, known: String },
}

// The tests parse every file, so none is skipped.
static ALL: LazyLock<Vec<Board>> =
    LazyLock::new(|| FILES.iter().filter_map(|(_, text)| toml::from_str(text).ok()).collect());

pub fn boards() -> &'static [Board] {
    &ALL
}

fn keys<'b>(boards: impl Iterator<Item = &'b Board>) -> String {
    boards.map(|board| board.key.as_str()).collect::<Vec<_>>().join(", ")
}

/// Looks up a board by its key.
///
/// # Errors
/// There is no such board; the message lists all boards.
pub fn board(key: &str) -> Result<&'static Board, BoardError> {
    let found = boards().iter().find(|board| board.key == key);
    found.ok_or_else(|| BoardError::Unknown(key.to_owned(), keys(boards().iter())))
}

/// Finds the board of a machine by model and `uname -m`: the longest matching name, otherwise the entry for any machine
/// of the architecture. An unlisted Raspberry Pi has no board, because it cannot use another board's kernel.
///
/// # Errors
/// Nothing matches, or the architecture decides and is unknown.
pub fn detect(model: Option<&str>, machine: Option<&str>) -> Result<&'static Board, BoardError> {
    let fits = |board: &&Board| model.is_some_and(|m| board.models.iter().any(|start| m.starts_with(start.as_str())));
    let length = |board: &&Board| {
        let named = board.models.iter().filter(|start| model.is_some_and(|m| m.starts_with(start.as_str())));
        named.map(String::len).max().unwrap_or(0)
    };
    let by_name: Vec<&Board> = boards().iter().filter(fits).collect();
    let Some(machine) = machine else {
        let likely = if by_name.is_empty() { keys(boards().iter()) } else { keys(by_name.into_iter()) };
        return Err(BoardError::NoArchitecture(likely.replace(", ", " or ")));
    };
    let runs = |board: &&Board| board.machines.iter().any(|m| m == machine);
    if let Some(best) = by_name.into_iter().filter(|b| runs(b)).max_by_key(length) {
        return Ok(best);
    }
    let is_pi = model.is_some_and(|m| m.starts_with("Raspberry Pi"));
    let any = boards().iter().find(|board| board.models.is_empty() && runs(board) && !is_pi);
    any.ok_or_else(|| BoardError::NotListed {
        model: model.unwrap_or("a machine without a model name").to_owned(),
        machine: machine.to_owned(),
        known: keys(boards().iter().filter(runs)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_listed_and_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../boards");
        let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let found: BTreeSet<String> = names.map(|name| name.strip_suffix(".toml").unwrap().to_owned()).collect();
        let listed: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(found, listed);
        for (name, text) in FILES {
            let board: Board = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(board.key, *name);
            assert!(!board.sources.is_empty() && !board.verified_by.is_empty() && !board.machines.is_empty(), "{name}");
            assert!(board.pi.is_some() || board.mainline.is_some(), "{name}");
            assert!(board.pi.is_some() == (board.boot == BootWay::RaspberryPi), "{name}");
            assert!(!board.needs.is_empty() && board.needs.iter().all(|need| !need.any.is_empty()), "{name}");
            assert_eq!(Arch::of_compiler(board.cross.trim_end_matches('-')), Some(board.arch), "{name}");
        }
        assert_eq!(boards().len(), FILES.len());
    }

    #[test]
    fn a_board_is_recognised_by_its_longest_name_and_its_kernel() {
        let key = |model, machine| detect(Some(model), Some(machine)).map(|b| b.key.as_str());
        assert_eq!(key("Raspberry Pi Zero 2 W Rev 1.0", "aarch64"), Ok("raspberry-pi-3-64"));
        assert_eq!(key("Raspberry Pi Zero 2 W Rev 1.0", "armv7l"), Ok("raspberry-pi-3-32"));
        assert_eq!(key("Raspberry Pi Zero W Rev 1.1", "armv6l"), Ok("raspberry-pi-1"));
        assert_eq!(key("Raspberry Pi 4 Model B Rev 1.4", "aarch64"), Ok("raspberry-pi-4-64"));
        assert_eq!(key("Raspberry Pi Compute Module 4S Rev 1.0", "armv7l"), Ok("raspberry-pi-4-32"));
        assert_eq!(key("Raspberry Pi Compute Module Rev 1.0", "armv6l"), Ok("raspberry-pi-1"));
        assert_eq!(key("Radxa ROCK 5B", "aarch64"), Ok("arm64-board"));
        assert_eq!(key("TI AM335x BeagleBone Black", "armv7l"), Ok("arm-board"));
        assert_eq!(detect(None, Some("i686")).unwrap().key, "pc-i386");
        assert_eq!(detect(None, Some("x86_64")).unwrap().key, "pc-amd64");
    }

    #[test]
    fn what_is_not_known_is_no_board() {
        let said = |model, machine| detect(model, machine).unwrap_err().to_string();
        assert!(
            said(Some("Raspberry Pi 7 Model B"), Some("aarch64"))
                .contains("Raspberry Pi 7 Model B, aarch64 is not a known board")
        );
        assert!(said(None, Some("s390x")).contains("no board of its architecture is known"));
        let other = said(Some("Raspberry Pi 7 Model B"), Some("armv7l"));
        assert!(other.ends_with("raspberry-pi-2, raspberry-pi-3-32, raspberry-pi-4-32, arm-board"), "{other}");
        let either = said(Some("Raspberry Pi 4 Model B Rev 1.4"), None);
        assert!(either.ends_with("--board raspberry-pi-4-32 or raspberry-pi-4-64"), "{either}");
        assert!(board("pi").unwrap_err().to_string().contains("raspberry-pi-5"));
    }

    #[test]
    fn compilers_name_their_architecture() {
        assert_eq!(Arch::of_compiler("arm-linux-gnueabihf"), Some(Arch::Arm));
        assert_eq!(Arch::of_compiler("aarch64-linux-gnu"), Some(Arch::Arm64));
        assert_eq!(Arch::of_compiler("i686-linux-gnu"), Some(Arch::I386));
        assert_eq!((Arch::of_compiler("armeb-linux-gnueabi"), Arch::of_compiler("")), (None, None));
    }
}
