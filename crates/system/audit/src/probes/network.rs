use super::{Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};

const NETS: &str = "/sys/class/net";
const SYSTEM: &str = "/etc/systemd/system";
const READS: &[&str] = &[NETS, "/sys/class/net/*", "/sys/class/net/*/device/uevent"];

pub(super) const PROBES: &[Probe] = &[
    // Interfaces with a device, and the driver: `eth0 (igb)`.
    Probe { name: "network-cards", with: &[], reads: &[READS], run: cards },
    // Interfaces connected by USB or radio, or with a driver known for high latency.
    Probe { name: "network-cards-poor", with: &[], reads: &[READS], run: poor },
    Probe { name: "wifi-interfaces", with: &[], reads: &[READS], run: wifi },
    // `yes` if suspend and sleep are masked, else `no`.
    Probe {
        name: "sleep-masked",
        with: &[],
        reads: &[&[SYSTEM, "/etc/systemd/system/sleep.target", "/etc/systemd/system/suspend.target"]],
        run: sleep_masked,
    },
];

/// Drivers of USB network cards, and one driver that has high latency on some chips (according to LinuxCNC's users).
const POOR: &[&str] = &[
    "r8152",
    "asix",
    "ax88179_178a",
    "smsc95xx",
    "smsc75xx",
    "lan78xx",
    "cdc_ether",
    "cdc_ncm",
    "rtl8150",
    "sr9700",
    "aqc111",
    "dm9601",
    "rndis_host",
    "r8169",
];

struct Card {
    name: String,
    driver: Option<String>,
    is_wifi: bool,
}

fn find(sight: &Sight) -> Result<Vec<Card>, Gap> {
    let mut found = Vec::new();
    for name in sight.names(NETS).map_err(Gap::expected)? {
        let folder = format!("{NETS}/{name}");
        let inside = match sight.names(&folder) {
            Ok(inside) => inside,
            Err(gap) if gap.cause == Cause::Absent => continue,
            Err(gap) => return Err(gap),
        };
        if !inside.iter().any(|entry| entry == "device") && !inside.iter().any(|entry| entry == "wireless") {
            continue;
        }
        let uevent = sight.text(&format!("{folder}/device/uevent"), &mut Notes::default());
        let driver = match uevent {
            Ok(text) => text.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned),
            Err(gap) if gap.cause == Cause::Absent => None,
            Err(gap) => return Err(gap),
        };
        let is_wifi = inside.iter().any(|entry| entry == "wireless" || entry == "phy80211");
        found.push(Card { name, driver, is_wifi });
    }
    Ok(found)
}

fn show(sight: &Sight, notes: &mut Notes, choose: impl Fn(&Card) -> bool) -> Reading {
    let mut many = Many::default();
    match find(sight) {
        Ok(cards) => {
            for card in cards.iter().filter(|card| choose(card)) {
                let kind = card.driver.as_deref().unwrap_or("driver unknown");
                many.push("", Ok(Value::Text(format!("{} ({kind})", card.name))));
            }
        }
        Err(gap) => many.missing = Some(gap),
    }
    let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
    notes.add(NETS, format!("{}{gap}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

fn cards(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    show(sight, notes, |_| true)
}

fn poor(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    show(sight, notes, |card| card.is_wifi || card.driver.as_deref().is_some_and(|driver| POOR.contains(&driver)))
}

fn wifi(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    show(sight, notes, |card| card.is_wifi)
}

/// Returns whether the sleep targets are masked. A masked unit is a link to /dev/null; reading it fails with ENXIO,
/// because it is a device.
fn sleep_masked(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    const DEVICE: i32 = 6;
    if let Err(gap) = sight.names(SYSTEM) {
        notes.add(SYSTEM, gap.cause.describe());
        return Reading::gap(gap.expected());
    }
    let masked = ["sleep.target", "suspend.target"].iter().all(|unit| {
        let read = sight.text(&format!("{SYSTEM}/{unit}"), notes);
        matches!(read, Err(Gap { cause: Cause::Failed(DEVICE), .. }))
    });
    Reading::word(if masked { "yes" } else { "no" })
}
