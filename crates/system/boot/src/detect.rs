use crate::read::{BootError, efi_text, exists, hint, names};
use crate::{bls, pi};
use punctual_machine::{Machine, Read};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    RaspberryPi,
    /// GRUB with a generated grub.cfg, as on Debian and Ubuntu.
    GrubDebian,
    /// GRUB with entries of the Boot Loader Specification, as on Fedora and RHEL.
    GrubBls,
    /// systemd-boot, or unified kernel images that firmware starts without a boot loader.
    SystemdBoot,
    /// Deployments of rpm-ostree or bootc.
    Ostree,
    /// extlinux.conf, which U-Boot or syslinux reads.
    Extlinux,
    Armbian,
    /// Ubuntu Core, where snapd sets the command line.
    UbuntuCore,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::RaspberryPi => "Raspberry Pi firmware",
            Kind::GrubDebian => "GRUB (grub-mkconfig)",
            Kind::GrubBls => "GRUB (Boot Loader Specification)",
            Kind::SystemdBoot => "systemd-boot",
            Kind::Ostree => "ostree",
            Kind::Extlinux => "extlinux.conf",
            Kind::Armbian => "Armbian",
            Kind::UbuntuCore => "Ubuntu Core",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub kind: Kind,
    pub evidence: Vec<String>,
    /// Evidence for other boot chains, and files that could not be read.
    pub doubts: Vec<String>,
}

struct Candidate {
    kind: Kind,
    installed: Vec<String>,
    booted: Option<String>,
    not: Option<String>,
}

const LOOKED: &str = "config.txt of a Raspberry Pi, /etc/default/grub, /boot/loader/entries, systemd-boot's entries, \
    /run/ostree-booted, extlinux.conf, /boot/armbianEnv.txt, Ubuntu Core";

/// Determines the boot chain. Evidence of what booted the machine takes precedence over what is installed. If several
/// chains are installed and there is no such evidence, the result is an error.
///
/// # Errors
/// [`BootError::Unknown`] and [`BootError::Ambiguous`].
pub fn detect(view: &dyn Machine) -> Result<Chain, BootError> {
    let traces = Traces::of(view);
    // These systems set the command line, whichever boot loader reads it.
    if let Some(chain) = ostree(view, &traces).or_else(|| ubuntu_core(view, &traces)) {
        return Ok(chain);
    }
    let all = [
        raspberry(view, &traces),
        grub(view, &traces),
        systemd_boot(view, &traces),
        uboot(view, &traces),
        armbian(view, &traces),
    ];
    choose(all.into_iter().flatten().collect())
}

fn choose(all: Vec<Candidate>) -> Result<Chain, BootError> {
    if all.is_empty() {
        return Err(BootError::Unknown { looked: LOOKED.to_owned() });
    }
    let booted: Vec<&Candidate> = all.iter().filter(|c| c.booted.is_some()).collect();
    let possible: Vec<&Candidate> = all.iter().filter(|c| c.not.is_none()).collect();
    let chosen = match (booted.as_slice(), possible.as_slice()) {
        ([one], _) | ([], [one]) => *one,
        _ => {
            let reported = |c: &Candidate| {
                let more = c.booted.iter().chain(&c.not).map(String::as_str);
                let all: Vec<&str> = c.installed.iter().map(String::as_str).chain(more).collect();
                format!("{} ({})", c.kind.name(), all.join(", "))
            };
            return Err(BootError::Ambiguous { found: all.iter().map(reported).collect() });
        }
    };
    let evidence = chosen.installed.iter().chain(&chosen.booted).cloned().collect();
    let mut doubts: Vec<String> = chosen.not.iter().cloned().collect();
    for other in all.iter().filter(|c| c.kind != chosen.kind) {
        let why = other.not.as_deref().unwrap_or("there is no evidence that it boots the machine");
        doubts.push(format!("{} is also installed ({}): {why}", other.kind.name(), other.installed.join(", ")));
    }
    Ok(Chain { kind: chosen.kind, evidence, doubts })
}

struct Traces {
    cmdline: Option<String>,
    /// LoaderInfo, for example `systemd-boot 257` or `GRUB 2.12`.
    loader: Option<String>,
    is_efi: bool,
    runs: bool,
    /// True for a directory tree, false for a running system.
    is_offline: bool,
    model: Option<String>,
    os: String,
}

impl Traces {
    fn of(view: &dyn Machine) -> Traces {
        let cmdline = hint(view, "/proc/cmdline").filter(|line| !line.is_empty());
        let os = hint(view, "/etc/os-release").or_else(|| hint(view, "/usr/lib/os-release")).unwrap_or_default();
        Traces {
            loader: efi_text(view, "LoaderInfo"),
            is_efi: exists(view, "/sys/firmware/efi"),
            runs: cmdline.is_some(),
            is_offline: view.read("/proc/cmdline") == Read::Absent,
            model: hint(view, "/proc/device-tree/model").or_else(|| hint(view, "/sys/firmware/devicetree/base/model")),
            cmdline,
            os,
        }
    }

    fn word(&self, start: &str) -> Option<String> {
        let words = crate::words::words(self.cmdline.as_deref()?);
        words.into_iter().find(|word| word.starts_with(start))
    }

    fn is_os(&self, key: &str, name: &str) -> bool {
        let value =
            |line: &str| line.strip_prefix(key)?.strip_prefix('=').map(|v| v.trim_matches(['"', '\'']).to_owned());
        self.os.lines().filter_map(value).any(|value| value.split(' ').any(|word| word == name))
    }
}

fn ostree(view: &dyn Machine, traces: &Traces) -> Option<Chain> {
    let booted = exists(view, "/run/ostree-booted").then(|| "/run/ostree-booted exists".to_owned());
    let word = traces.word("ostree=").map(|_| "/proc/cmdline has ostree=".to_owned());
    // On a running system a repository does not prove that ostree booted it: flatpak and build machines also have one.
    let tree = (traces.is_offline && exists(view, "/ostree/repo")).then(|| "/ostree/repo exists".to_owned());
    let evidence: Vec<String> = [booted, word, tree].into_iter().flatten().collect();
    (!evidence.is_empty()).then_some(Chain { kind: Kind::Ostree, evidence, doubts: Vec::new() })
}

fn ubuntu_core(_: &dyn Machine, traces: &Traces) -> Option<Chain> {
    let mode = traces.word("snapd_recovery_mode=").map(|word| format!("/proc/cmdline has {word}"));
    let os = traces.is_os("ID", "ubuntu-core").then(|| "/etc/os-release: ID=ubuntu-core".to_owned());
    // snapd_recovery_mode also occurs on Ubuntu with TPM-backed full disk encryption, where snapd sets the command line
    // too.
    let evidence: Vec<String> = [mode, os].into_iter().flatten().collect();
    (!evidence.is_empty()).then_some(Chain { kind: Kind::UbuntuCore, evidence, doubts: Vec::new() })
}

fn raspberry(view: &dyn Machine, traces: &Traces) -> Option<Candidate> {
    let folder = pi::folder(view)?;
    let model = traces.model.as_deref();
    let is_pi = model.map(|model| model.contains("Raspberry Pi"));
    let mut installed = vec![format!("{folder}/config.txt")];
    installed.extend(model.map(|model| format!("model {model}")));
    let loaded = pi::loads(view);
    let not = if is_pi == Some(false) {
        Some("the machine is not a Raspberry Pi".to_owned())
    } else if let Some(loader) = &loaded {
        Some(format!("config.txt starts {loader}, which loads the kernel"))
    } else if traces.is_efi {
        Some("the machine was booted by EFI".to_owned())
    } else {
        None
    };
    let booted =
        (is_pi == Some(true) && not.is_none() && traces.runs).then(|| "the firmware loads the kernel".to_owned());
    Some(Candidate { kind: Kind::RaspberryPi, installed, booted, not })
}

fn grub(view: &dyn Machine, traces: &Traces) -> Option<Candidate> {
    let defaults = hint(view, "/etc/default/grub");
    let configs = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg", "/boot/grub/grubenv", "/boot/grub2/grubenv"];
    let mut installed: Vec<String> = defaults.iter().map(|_| "/etc/default/grub".to_owned()).collect();
    installed.extend(configs.iter().filter(|path| exists(view, path)).map(|path| (*path).to_owned()));
    if installed.is_empty() {
        return None;
    }
    let is_bls = is_bls(view, defaults.as_deref().unwrap_or_default(), &mut installed);
    let (booted, not) = grub_booted(traces);
    Some(Candidate { kind: if is_bls { Kind::GrubBls } else { Kind::GrubDebian }, installed, booted, not })
}

/// Returns true if grub-mkconfig uses entries of the Boot Loader Specification. Fedora's 10_linux does so if
/// GRUB_ENABLE_BLSCFG is true, which its installer sets; Debian's never does.
fn is_bls(view: &dyn Machine, defaults: &str, installed: &mut Vec<String>) -> bool {
    let value =
        |line: &str| line.trim().strip_prefix("GRUB_ENABLE_BLSCFG=").map(|v| v.trim_matches(['"', '\'']) == "true");
    let said = defaults.lines().filter_map(value).next_back();
    let has_entries = bls::folders(view).iter().any(|folder| !names(view, folder).is_empty());
    let is_bls = has_entries && said.unwrap_or_else(|| exists(view, "/boot/grub2"));
    if is_bls {
        installed.push("/boot/loader/entries".to_owned());
    }
    is_bls
}

fn grub_booted(traces: &Traces) -> (Option<String>, Option<String>) {
    if let Some(loader) = &traces.loader {
        let said = format!("LoaderInfo is `{loader}`");
        return if loader.starts_with("GRUB") { (Some(said), None) } else { (None, Some(said)) };
    }
    match traces.word("BOOT_IMAGE=") {
        Some(word) => (Some(format!("/proc/cmdline has {}", punctual_machine::scrub(&word))), None),
        None if traces.runs => (None, Some("/proc/cmdline has no BOOT_IMAGE=, which GRUB writes".to_owned())),
        None => (None, None),
    }
}

fn systemd_boot(view: &dyn Machine, traces: &Traces) -> Option<Candidate> {
    let mut installed = Vec::new();
    for folder in bls::PARTITIONS {
        let has = |path: &str| exists(view, &format!("{folder}/{path}")).then(|| format!("{folder}/{path}"));
        // File names on the EFI system partition are not case-sensitive; these are the ones that bootctl uses.
        installed.extend(has("loader/loader.conf").or_else(|| has("EFI/systemd")));
        let images = names(view, &format!("{folder}/EFI/Linux"));
        installed.extend(images.iter().find(|n| n.ends_with(".efi")).map(|n| format!("{folder}/EFI/Linux/{n}")));
    }
    let loader = traces.loader.as_ref();
    let stub = efi_text(view, "StubInfo").map(|stub| format!("StubInfo is `{stub}`"));
    let is_it = loader.is_some_and(|loader| loader.starts_with("systemd-boot"));
    let booted = if is_it { loader.map(|l| format!("LoaderInfo is `{l}`")) } else { stub.filter(|_| loader.is_none()) };
    if installed.is_empty() && booted.is_none() {
        return None;
    }
    let not = match loader {
        Some(loader) if !is_it => Some(format!("LoaderInfo is `{loader}`")),
        _ if traces.runs && !traces.is_efi => Some("the machine was not booted by EFI".to_owned()),
        _ if booted.is_none() && traces.word("BOOT_IMAGE=").is_some() => {
            Some("/proc/cmdline has BOOT_IMAGE=, which systemd-boot does not write".to_owned())
        }
        _ => None,
    };
    Some(Candidate { kind: Kind::SystemdBoot, installed, booted, not })
}

fn uboot(view: &dyn Machine, traces: &Traces) -> Option<Candidate> {
    let path = crate::extlinux::path(view)?;
    let mut not = None;
    if traces.is_efi && !is_jetson(traces) {
        not = Some("the machine was booted by EFI".to_owned());
    } else if traces.word("ubootpart=").is_some() {
        not = Some("/proc/cmdline has ubootpart=, which Armbian's boot script writes".to_owned());
    }
    Some(Candidate { kind: Kind::Extlinux, installed: vec![path.to_owned()], booted: None, not })
}

/// Returns true for NVIDIA Jetson, whose EFI launcher reads extlinux.conf (L4TLauncher, since JetPack 5).
fn is_jetson(traces: &Traces) -> bool {
    traces.model.as_deref().is_some_and(|model| model.contains("Jetson") || model.contains("NVIDIA"))
}

fn armbian(view: &dyn Machine, traces: &Traces) -> Option<Candidate> {
    exists(view, crate::armbian::ENV).then_some(())?;
    let booted = traces
        .word("ubootpart=")
        .map(|_| "/proc/cmdline has ubootpart=, which Armbian's boot script writes".to_owned());
    Some(Candidate { kind: Kind::Armbian, installed: vec![crate::armbian::ENV.to_owned()], booted, not: None })
}
