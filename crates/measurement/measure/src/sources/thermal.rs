//! Temperatures and throttling: thermal zones, x86 throttle counters, the Raspberry Pi's firmware.

use super::{Source, read_trimmed};
use punctual_model::Reading;
use punctual_uapi as uapi;
use std::fs::{self, File};
use std::path::Path;

/// All readable sensors, kept open.
#[derive(Debug, Default)]
pub(crate) struct Thermal {
    zones: Vec<(String, Source)>,
    counters: Vec<(String, Source)>,
    firmware: Option<Source>,
    undervoltage: Option<Source>,
    vcio: Option<File>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThermalReadings {
    /// m°C.
    pub temperatures: Vec<Reading>,
    /// Throttle counters and firmware flags: a count, or 1 while it lasts.
    pub throttling: Vec<Reading>,
}

/// Bits of the Pi firmware's `get_throttled`: now, and since boot 16 places higher.
const PI_BITS: [(u32, &str); 4] =
    [(0, "under-voltage"), (1, "frequency capped"), (2, "throttled"), (3, "soft temperature limit")];

impl Thermal {
    /// Finds the sensors below `root` (`/` except in tests).
    pub fn open(root: &Path) -> Thermal {
        let mut thermal = Thermal::default();
        for (folder, dir) in folders(&root.join("sys/class/thermal"), "thermal_zone") {
            let kind = read_trimmed(dir.join("type")).unwrap_or_default();
            if let Some(source) = Source::open(dir.join("temp")) {
                thermal.zones.push((format!("{folder} {kind}").trim_end().to_owned(), source));
            }
        }
        for (folder, dir) in folders(&root.join("sys/devices/system/cpu"), "cpu") {
            for counter in ["core_throttle_count", "package_throttle_count"] {
                if let Some(source) = Source::open(dir.join("thermal_throttle").join(counter)) {
                    thermal.counters.push((format!("{folder} {counter}"), source));
                }
            }
        }
        thermal.firmware = Source::open(root.join("sys/devices/platform/soc/soc:firmware/get_throttled"));
        let hwmon = folders(&root.join("sys/class/hwmon"), "hwmon").into_iter();
        thermal.undervoltage = hwmon
            .filter(|(_, dir)| read_trimmed(dir.join("name")).as_deref() == Some("rpi_volt"))
            .find_map(|(_, dir)| Source::open(dir.join("in0_lcrit_alarm")));
        thermal.vcio = File::open(root.join("dev/vcio")).ok();
        thermal
    }

    /// Reads them all; failures are left out.
    pub fn read(&mut self) -> ThermalReadings {
        let mut now = ThermalReadings::default();
        let reading = |name: &str, value| Reading { name: name.to_owned(), value };
        for (name, source) in &mut self.zones {
            now.temperatures.extend(source.number().map(|m| reading(name, m)));
        }
        if let Some(Ok(m)) = self.vcio.as_ref().map(uapi::gpu_temperature) {
            now.temperatures.push(reading("GPU (firmware)", m));
        }
        for (name, source) in &mut self.counters {
            now.throttling.extend(source.number().map(|n| reading(name, n)));
        }
        if let Some(bits) = self.firmware.as_mut().and_then(|s| parse_hex(s.read()?)) {
            now.throttling.extend(PI_BITS.iter().map(|(bit, name)| reading(name, i64::from(bits >> bit & 1))));
        }
        if let Some(alarm) = self.undervoltage.as_mut().and_then(Source::number) {
            now.throttling.push(reading("under-voltage alarm", alarm));
        }
        now
    }
}

impl ThermalReadings {
    /// Throttling since `before`: the increase of counters, and flags that are set.
    pub fn throttled_since(&self, before: &ThermalReadings) -> Vec<Reading> {
        let old = |name: &str| before.throttling.iter().find(|r| r.name == name).map_or(0, |r| r.value);
        let events = |r: &Reading| match r.name.ends_with("_count") {
            true => (r.value - old(&r.name)).max(0),
            false => r.value,
        };
        self.throttling.iter().map(|r| Reading { name: r.name.clone(), value: events(r) }).collect()
    }
}

fn parse_hex(text: &str) -> Option<u32> {
    let text = text.trim();
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// Folders below `dir` named `prefix` and a number, ascending.
fn folders(dir: &Path, prefix: &str) -> Vec<(String, std::path::PathBuf)> {
    let mut found: Vec<(u32, String, std::path::PathBuf)> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(prefix)?.parse().ok()?;
            Some((number, name, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name, path)| (name, path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_pi_that_throttles_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, "sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        write(root, "sys/class/thermal/thermal_zone0/temp", "81790\n");
        write(root, "sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
        write(root, "sys/class/hwmon/hwmon1/name", "rpi_volt\n");
        write(root, "sys/class/hwmon/hwmon1/in0_lcrit_alarm", "0\n");
        let mut thermal = Thermal::open(root);
        let before = thermal.read();
        assert_eq!(before.temperatures[0], Reading { name: "thermal_zone0 cpu-thermal".into(), value: 81790 });
        assert!(before.throttled_since(&before).iter().all(|r| r.value == 0));
        write(root, "sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
        let events = thermal.read().throttled_since(&before);
        let up: Vec<&str> = events.iter().filter(|r| r.value > 0).map(|r| r.name.as_str()).collect();
        assert_eq!(up, ["under-voltage", "throttled"]);
    }

    #[test]
    fn an_intel_counter_that_rises_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let path = "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count";
        write(root.path(), path, "7\n");
        let mut thermal = Thermal::open(root.path());
        let before = thermal.read();
        write(root.path(), path, "9\n");
        let events = thermal.read().throttled_since(&before);
        assert_eq!(events, [Reading { name: "cpu1 core_throttle_count".into(), value: 2 }]);
    }
}
