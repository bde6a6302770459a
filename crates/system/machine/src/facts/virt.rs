use super::text;
use crate::text::field_values;
use crate::{Machine, Read};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Virtualisation {
    /// No hypervisor was found in the processor's flags (x86), or in the device tree or DMI (others). A hypervisor may
    /// hide all of these.
    None,
    /// The hypervisor's name; `unknown hypervisor` when only the processor's flag shows it.
    Guest(String),
    /// Whether a hypervisor is present could not be determined, because these files could not be read.
    Unknown(Vec<String>),
}

impl Virtualisation {
    /// Returns `none` without a hypervisor, else the hypervisor's name; `None` when it cannot be determined.
    pub fn name(&self) -> Option<String> {
        match self {
            Virtualisation::None => Some("none".to_owned()),
            Virtualisation::Guest(name) => Some(name.clone()),
            Virtualisation::Unknown(_) => None,
        }
    }
}

/// Prefixes of DMI vendor and product strings that only guests have.
const DMI_GUESTS: &[(&str, &str)] = &[
    ("QEMU", "qemu"),
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("Amazon EC2", "kvm (Amazon EC2)"),
    ("Google Compute Engine", "kvm (Google)"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("HVM domU", "xen"),
    ("Virtual Machine", "hyper-v"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Apple Virtualization", "apple virtualization"),
    ("Apple Inc. Virtualization", "apple virtualization"),
];

const XEN: &str = "/sys/hypervisor/type";
const CPUINFO: &str = "/proc/cpuinfo";
const TREE: &str = "/proc/device-tree";
const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

pub fn virtualisation(machine: &dyn Machine) -> Virtualisation {
    by_cpuinfo(machine, text(machine, CPUINFO).as_deref())
}

/// Like [`virtualisation`], for a caller that has read /proc/cpuinfo: from 4.15 to 5.17 x86 kernels sleep for up to 10
/// ms while it is read.
pub(super) fn by_cpuinfo(machine: &dyn Machine, cpuinfo: Option<&str>) -> Virtualisation {
    let mut unread = Vec::new();
    match machine.read(XEN) {
        Read::Absent => {}
        read => match read.text() {
            Some(kind) if !kind.is_empty() => return Virtualisation::Guest(kind.to_owned()),
            _ => unread.push(XEN.to_owned()),
        },
    }
    let dmi = dmi_guest(machine, &mut unread);
    if let Some(name) = dmi.guest.or_else(|| device_tree_guest(machine, &mut unread)) {
        return Virtualisation::Guest(name);
    }
    match cpuinfo.and_then(hypervisor_flag) {
        Some(true) => Virtualisation::Guest(paravirtual_clock(machine).unwrap_or("unknown hypervisor").to_owned()),
        Some(false) if unread.is_empty() => Virtualisation::None,
        None if unread.is_empty() && (dmi.looked_at || has_device_tree(machine)) && cpuinfo.is_some_and(is_not_x86) => {
            Virtualisation::None
        }
        flag => {
            unread.extend(flag.is_none().then(|| CPUINFO.to_owned()));
            Virtualisation::Unknown(unread)
        }
    }
}

struct Dmi {
    guest: Option<String>,
    looked_at: bool,
}

fn dmi_guest(machine: &dyn Machine, unread: &mut Vec<String>) -> Dmi {
    let mut dmi = Dmi { guest: None, looked_at: false };
    for field in ["product_name", "sys_vendor", "board_vendor", "bios_vendor"] {
        let path = format!("/sys/class/dmi/id/{field}");
        match machine.read(&path) {
            Read::Absent => {}
            read => match read.text() {
                Some(value) => {
                    dmi.looked_at = true;
                    let known = DMI_GUESTS.iter().find(|(start, _)| value.starts_with(start));
                    dmi.guest = dmi.guest.or(known.map(|(_, name)| (*name).to_owned()));
                }
                None => unread.push(path),
            },
        }
    }
    dmi
}

/// Returns the hypervisor according to the device tree: `/hypervisor` names KVM or Xen; QEMU's boards are recognised by
/// the root's `compatible`.
fn device_tree_guest(machine: &dyn Machine, unread: &mut Vec<String>) -> Option<String> {
    let node = format!("{TREE}/hypervisor/compatible");
    match machine.read(&node) {
        Read::Absent => {}
        read => match read.text() {
            Some("linux,kvm") => return Some("kvm".to_owned()),
            Some(other) if !other.is_empty() => {
                return Some(other.split([',', '\0']).next().unwrap_or(other).to_owned());
            }
            _ => unread.push(node),
        },
    }
    let compatible = text(machine, &format!("{TREE}/compatible"))?;
    compatible.split('\0').any(|c| c == "linux,dummy-virt" || c.contains("qemu")).then(|| "qemu".to_owned())
}

fn has_device_tree(machine: &dyn Machine) -> bool {
    text(machine, &format!("{TREE}/compatible")).or_else(|| text(machine, &format!("{TREE}/model"))).is_some()
}

/// Returns whether the kernel shows the flag `hypervisor`: CPUID leaf 1, ECX bit 31. `None` if /proc/cpuinfo has no x86
/// flags.
fn hypervisor_flag(cpuinfo: &str) -> Option<bool> {
    let flags = field_values(cpuinfo, "flags").next()?;
    let is_x86 = flags.split_whitespace().any(|f| f == "fpu");
    is_x86.then(|| flags.split_whitespace().any(|f| f == "hypervisor"))
}

/// Returns true if /proc/cpuinfo is that of another architecture. On x86 the flags decide, so if /proc/cpuinfo has no
/// flags the machine may still be a guest.
fn is_not_x86(cpuinfo: &str) -> bool {
    ["CPU implementer", "isa", "Features"].iter().any(|name| field_values(cpuinfo, name).next().is_some())
}

/// Returns the hypervisor that the paravirtual clock identifies, for guests without DMI (Firecracker).
fn paravirtual_clock(machine: &dyn Machine) -> Option<&'static str> {
    let clocks = text(machine, CLOCKS)?;
    let kinds = [("kvm-clock", "kvm"), ("hyperv_clocksource", "hyper-v"), ("xen", "xen"), ("vmware", "vmware")];
    let found = kinds.iter().find(|(clock, _)| clocks.split_whitespace().any(|c| c.starts_with(clock)));
    found.map(|(_, name)| *name)
}

impl Virtualisation {
    pub const READS: &[&str] = &[
        XEN,
        CPUINFO,
        "/sys/class/dmi/id/*",
        "/proc/device-tree/compatible",
        "/proc/device-tree/model",
        "/proc/device-tree/hypervisor/compatible",
        CLOCKS,
    ];
}
