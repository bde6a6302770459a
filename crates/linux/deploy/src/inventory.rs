//! Lists the devices that a kernel finds: the new kernel has to find all devices that the old one found.

use punctual_machine::{Listing, Machine, Read};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Devices by kind, identified by properties that do not change between boots; `None` if the kind could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory(pub BTreeMap<String, Option<Vec<String>>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Missing devices, for example `spi: spi0.0 spidev`.
    pub devices: Vec<String>,
    /// Kinds of devices that could be read under only one of the two kernels.
    pub unknown: Vec<String>,
}

/// Name of a kind of device, its folder in sysfs, and the function that names an entry of the folder or skips it.
type Kind = (&'static str, &'static str, fn(&dyn Machine, &str, &str) -> Option<String>);

/// The kinds of devices that are compared. Sources: Documentation/ABI/testing/sysfs-bus-usb, -bus-i2c-devices-…,
/// sysfs-class-net; drivers/{spi,gpio,hid}.
const KINDS: [Kind; 8] = [
    ("usb", "/sys/bus/usb/devices", usb),
    ("hid", "/sys/bus/hid/devices", hid),
    ("spi-controller", "/sys/class/spi_master", as_is),
    ("spi", "/sys/bus/spi/devices", spi),
    ("i2c-adapter", "/sys/class/i2c-adapter", named),
    ("i2c", "/sys/bus/i2c/devices", i2c),
    ("gpio", "/sys/bus/gpio/devices", chip),
    ("net", "/sys/class/net", interface),
];

impl Inventory {
    pub fn of(view: &dyn Machine) -> Inventory {
        Inventory(KINDS.iter().map(|(kind, folder, name)| ((*kind).to_owned(), found(view, folder, *name))).collect())
    }

    /// Returns the devices missing from `now`.
    pub fn lost(&self, now: &Inventory) -> Lost {
        let mut lost = Lost::default();
        for (kind, before) in &self.0 {
            match (before, now.0.get(kind).and_then(Option::as_ref)) {
                (Some(before), Some(now)) => {
                    lost.devices.extend(missing(before, now).map(|name| format!("{kind}: {name}")))
                }
                // If a kind cannot be read, some of its devices may be lost.
                (None, _) | (Some(_), None) => lost.unknown.push(kind.clone()),
            }
        }
        lost
    }

    pub fn count(&self) -> usize {
        self.0.values().flatten().map(Vec::len).sum()
    }
}

/// Returns the names that occur more often in `before` than in `now`.
fn missing<'b>(before: &'b [String], now: &'b [String]) -> impl Iterator<Item = &'b String> {
    let count = |list: &[String], name: &String| list.iter().filter(|other| *other == name).count();
    before
        .iter()
        .enumerate()
        .filter(move |(n, name)| count(before.get(..=*n).unwrap_or_default(), name) > count(now, name))
        .map(|(_, name)| name)
}

fn found(
    view: &dyn Machine,
    folder: &str,
    name: fn(&dyn Machine, &str, &str) -> Option<String>,
) -> Option<Vec<String>> {
    let names = match view.list(folder) {
        Listing::Known(names) => names,
        // A kernel without that bus has none of its devices.
        Listing::Absent => Vec::new(),
        _ => return None,
    };
    let mut found: Vec<String> = names.iter().filter_map(|entry| name(view, folder, entry)).collect();
    found.sort();
    Some(found)
}

fn text(view: &dyn Machine, path: &str) -> Option<String> {
    view.read(path).text().map(str::to_owned)
}

fn as_is(_: &dyn Machine, _: &str, entry: &str) -> Option<String> {
    Some(entry.to_owned())
}

/// Identifies a device by vendor and product, because bus and device numbers change between boots. Skips interfaces
/// (`1-1:1.0`), which belong to a device.
fn usb(view: &dyn Machine, folder: &str, entry: &str) -> Option<String> {
    let of = |file: &str| text(view, &format!("{folder}/{entry}/{file}"));
    if entry.contains(':') {
        return None;
    }
    Some(format!("{}:{}", of("idVendor")?, of("idProduct")?))
}

/// Removes the last part of `0003:046D:C31C.0001`, which is a counter.
fn hid(_: &dyn Machine, _: &str, entry: &str) -> Option<String> {
    Some(entry.split('.').next().unwrap_or(entry).to_owned())
}

fn spi(view: &dyn Machine, folder: &str, entry: &str) -> Option<String> {
    let modalias = text(view, &format!("{folder}/{entry}/modalias")).unwrap_or_default();
    Some(format!("{entry} {}", modalias.trim_start_matches("spi:")).trim_end().to_owned())
}

/// Identifies an adapter by its name, because numbers follow the order of probing.
fn named(view: &dyn Machine, folder: &str, entry: &str) -> Option<String> {
    text(view, &format!("{folder}/{entry}/name")).or_else(|| Some(entry.to_owned()))
}

/// Identifies a device (`BUS-ADDRESS`) by its name and address. Skips adapters (`i2c-N`), which are another kind.
fn i2c(view: &dyn Machine, folder: &str, entry: &str) -> Option<String> {
    let (_, address) = entry.split_once('-').filter(|_| !entry.starts_with("i2c-"))?;
    Some(format!("{} at {address}", text(view, &format!("{folder}/{entry}/name")).unwrap_or_default()))
}

/// Gives all GPIO chips the same name, so that only the number of chips is compared: their own names are consecutive
/// numbers.
fn chip(_: &dyn Machine, _: &str, entry: &str) -> Option<String> {
    entry.starts_with("gpiochip").then(|| "gpiochip".to_owned())
}

/// Returns only interfaces with a device, because bridges and tunnels are created by programs.
fn interface(view: &dyn Machine, folder: &str, entry: &str) -> Option<String> {
    let has_device = matches!(view.list(&format!("{folder}/{entry}/device")), Listing::Known(_));
    has_device.then(|| entry.to_owned())
}

/// Returns the interface of the default route, IPv4 first (/proc/net/route, /proc/net/ipv6_route); `None` if there is
/// none.
pub fn default_route(view: &dyn Machine) -> Option<String> {
    let v4 = text(view, "/proc/net/route").unwrap_or_default();
    let of_v4 = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, destination) = (words.next()?, words.next()?);
        let mask = words.nth(5)?;
        (destination == "00000000" && mask == "00000000").then(|| name.to_owned())
    };
    let v6 = text(view, "/proc/net/ipv6_route").unwrap_or_default();
    let of_v6 = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_default = words.first().is_some_and(|w| w.bytes().all(|b| b == b'0')) && words.get(1) == Some(&"00");
        words.last().filter(|name| is_default && **name != "lo").map(|name| (*name).to_owned())
    };
    v4.lines().find_map(of_v4).or_else(|| v6.lines().find_map(of_v6))
}

/// Returns true if the interface is up; `None` if unknown.
pub fn is_up(view: &dyn Machine, interface: &str) -> Option<bool> {
    match view.read(&format!("/sys/class/net/{interface}/operstate")) {
        Read::Absent => Some(false),
        // Drivers without carrier detection report `unknown` (Documentation/ABI/testing/sysfs-class-net).
        read => read.text().map(|state| matches!(state, "up" | "unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_machine::Recorded;

    fn machine(spi: bool) -> Recorded {
        let mut machine = Recorded::default();
        let mut set = |path: &str, text: &str| machine.set(path, Read::Known(text.as_bytes().to_vec()));
        for port in ["1-1", "2-4"] {
            set(&format!("/sys/bus/usb/devices/{port}/idVendor"), "046d\n");
            set(&format!("/sys/bus/usb/devices/{port}/idProduct"), "c31c\n");
        }
        set("/sys/bus/usb/devices/1-1:1.0/bInterfaceClass", "03\n");
        set("/sys/bus/hid/devices/0003:046D:C31C.0001/modalias", "hid:b0003\n");
        if spi {
            set("/sys/bus/spi/devices/spi0.0/modalias", "spi:spidev\n");
        }
        set("/sys/class/i2c-adapter/i2c-1/name", "bcm2835 (i2c@7e804000)\n");
        set("/sys/bus/gpio/devices/gpiochip0/dev", "254:0\n");
        set("/sys/class/net/eth0/device/uevent", "x\n");
        set("/sys/class/net/lo/operstate", "unknown\n");
        machine
    }

    #[test]
    fn a_missing_spi_device_is_named() {
        let (before, after) = (Inventory::of(&machine(true)), Inventory::of(&machine(false)));
        assert_eq!(before.count(), 7);
        assert_eq!(before.lost(&after).devices, ["spi: spi0.0 spidev"]);
        assert_eq!(after.lost(&before), Lost::default());
    }

    #[test]
    fn one_of_two_equal_devices_is_missed() {
        let mut one = machine(true);
        one.set("/sys/bus/usb/devices/2-4/idVendor", Read::Absent);
        let lost = Inventory::of(&machine(true)).lost(&Inventory::of(&one));
        assert_eq!(lost.devices, ["usb: 046d:c31c"]);
    }

    #[test]
    fn what_could_not_be_looked_at_is_not_there_by_default() {
        let mut before = Inventory::of(&machine(true));
        before.0.insert("spi".into(), None);
        assert_eq!(before.lost(&Inventory::of(&machine(true))).unknown, ["spi"]);
        let after = before.clone();
        assert_eq!(Inventory::of(&machine(true)).lost(&after).unknown, ["spi"]);
    }

    #[test]
    fn the_default_route_has_neither_destination_nor_mask() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\nwlan0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n\
            eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\n";
        let mut view = Recorded::default();
        assert_eq!(default_route(&view), None);
        view.set("/proc/net/route", Read::Known(table.into()));
        assert_eq!(default_route(&view).as_deref(), Some("eth0"));
    }

    proptest! {
        #[test]
        fn only_what_is_missing_is_missed(before in prop::collection::vec("[ab]", 0..6), now in prop::collection::vec("[ab]", 0..6)) {
            let count = |list: &[String], name: &str| list.iter().filter(|other| *other == name).count();
            let lost: Vec<String> = missing(&before, &now).cloned().collect();
            for name in ["a", "b"] {
                prop_assert_eq!(count(&lost, name), count(&before, name).saturating_sub(count(&now, name)));
            }
        }
    }
}
