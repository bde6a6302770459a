//! Hardware watchdogs: finds the one that resets the machine if the kernel or its first processes hang.
//!
//! Three intervals have to be covered: from the loader to the driver (the loader or the firmware arms the watchdog),
//! from the driver to the guard (the initramfs opens the device), and from then on (the guard feeds it).

use crate::site::Site;
use punctual_boot::{Kind, PI_WATCHDOG_S};
use punctual_machine::Listing;

/// Watchdog timeout in seconds for the interval from the loader to the driver.
const LOADER_S: u32 = 180;

/// The mechanism that resets a kernel that hangs before its first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Early {
    Armed(String),
    None(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Identity of the watchdog, for example `i6300ESB timer`.
    pub identity: String,
    /// The module of the driver; `None` if it is built in.
    pub driver: Option<String>,
}

/// Returns the first watchdog other than softdog, which runs on the CPUs that may hang.
pub fn hardware(site: &Site) -> Option<Hardware> {
    let Listing::Known(names) = site.view.list("/sys/class/watchdog") else { return None };
    names.iter().find_map(|name| {
        let identity = site.text(&format!("/sys/class/watchdog/{name}/identity"))?;
        let uevent = site.text(&format!("/sys/class/watchdog/{name}/device/uevent")).unwrap_or_default();
        let driver = uevent.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(driver_module);
        (!identity.starts_with("Software")).then_some(Hardware { identity, driver })
    })
}

/// Maps drivers to modules with another name: drivers/watchdog/i6300esb.c names its driver "i6300ESB timer".
fn driver_module(driver: &str) -> String {
    match driver {
        name if name.starts_with("i6300ESB") => "i6300esb".to_owned(),
        name => name.replace('-', "_"),
    }
}

/// Returns what resets a kernel that hangs before its driver is loaded, and the loader's lines that arm it.
pub fn early(site: &Site, kind: Kind) -> (Early, Vec<String>) {
    match kind {
        Kind::RaspberryPi => {
            let by = format!("the firmware arms the watchdog for {PI_WATCHDOG_S} s (kernel_watchdog_timeout)");
            (Early::Armed(by), Vec::new())
        }
        Kind::GrubDebian => match i6300esb(site) {
            Some(registers) => {
                (Early::Armed(format!("GRUB arms the i6300ESB for {LOADER_S} s")), arm_i6300esb(registers, LOADER_S))
            }
            None => (Early::None("GRUB can only arm an i6300ESB, which this machine lacks".to_owned()), Vec::new()),
        },
        _ => (Early::None("this loader does not arm a watchdog".to_owned()), Vec::new()),
    }
}

/// Returns the address of the registers of the i6300ESB (PCI 8086:25ab), which are in its first memory range.
fn i6300esb(site: &Site) -> Option<u64> {
    let folder = "/sys/bus/pci/devices";
    let Listing::Known(names) = site.view.list(folder) else { return None };
    let of = |name: &str, file: &str| site.text(&format!("{folder}/{name}/{file}"));
    let is_it = |name: &&String| {
        of(name, "vendor").as_deref() == Some("0x8086") && of(name, "device").as_deref() == Some("0x25ab")
    };
    let resource = of(names.iter().find(is_it)?, "resource")?;
    let start = resource.lines().next()?.split_whitespace().next()?.strip_prefix("0x")?;
    u64::from_str_radix(start, 16).ok().filter(|at| *at != 0 && *at < 1 << 32)
}

/// Arms the watchdog as its driver does (drivers/watchdog/i6300esb.c): two timers with units of 2^-9 s, unlocked by
/// 0x80 and 0x86, which reset the machine when the second one ends. Uses GRUB's setpci and memrw; if the firmware has
/// moved the registers, GRUB restarts and then boots the default.
fn arm_i6300esb(registers: u64, seconds: u32) -> Vec<String> {
    let reload = registers + 0xc;
    let unlock = || [format!("write_word {reload:#x} 0x80"), format!("write_word {reload:#x} 0x86")];
    let card = "setpci -d 8086:25ab";
    let mut lines: Vec<String> = vec![
        "insmod setpci".to_owned(),
        "insmod memrw".to_owned(),
        format!("{card} -v punctual_at 10.l"),
        format!("if [ \"$punctual_at\" != \"{registers:x}\" ]; then"),
        "\treboot".to_owned(),
        "fi".to_owned(),
        format!("{card} 4.w=2:2"),
        // Interrupt off, 1 kHz, reset on: ESB_CONFIG_REG.
        format!("{card} 60.w=3"),
    ];
    for timer in [registers, registers + 4] {
        lines.extend(unlock());
        lines.push(format!("write_dword {timer:#x} {:#x}", u64::from(seconds) << 9));
    }
    lines.extend(unlock());
    lines.push(format!("write_word {reload:#x} 0x100"));
    lines.push(format!("{card} 68.b=2"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_unlock_before_every_register() {
        let lines = arm_i6300esb(0xfebf_1000, 180);
        assert_eq!(lines.iter().filter(|line| line.ends_with("0xfebf100c 0x80")).count(), 3);
        assert!(lines.contains(&"write_dword 0xfebf1004 0x16800".to_owned()));
        // The timer is enabled last, because it runs from then on.
        assert_eq!(lines.last().map(String::as_str), Some("setpci -d 8086:25ab 68.b=2"));
    }
}
