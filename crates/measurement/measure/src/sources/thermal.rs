//! Reads temperatures and throttling from thermal zones, x86 throttle counters and the Raspberry Pi's firmware.
//!
//! Reading some sensors interrupts a CPU, or sends a message to firmware, which answers with an interrupt. During a
//! measurement such a sensor is read only if the interrupt is known to go to a CPU that is not measured.

use super::{Source, read_trimmed};
use punctual_model::Reading;
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList};
use std::fs::{self, File};
use std::path::Path;

/// All readable sensors, kept open.
#[derive(Debug, Default)]
pub(crate) struct Thermal {
    zones: Vec<Zone>,
    counters: Vec<(String, Source)>,
    firmware: Option<Source>,
    undervoltage: Option<Source>,
    vcio: Option<File>,
    /// True if a request to the Raspberry Pi's firmware interrupts no measured CPU.
    is_mailbox_quiet: bool,
}

#[derive(Debug)]
struct Zone {
    name: String,
    source: Source,
    /// True if reading the sensor disturbs no measured CPU.
    is_quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// During a measurement. Only sensors whose reading disturbs no measured CPU are read.
    Measuring,
    Between,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThermalReadings {
    /// Temperatures, m°C.
    pub temperatures: Vec<Reading>,
    /// Throttle counters and firmware flags: a count, or 1 if the condition is present.
    pub throttling: Vec<Reading>,
}

/// Bits of the Raspberry Pi firmware's `get_throttled`: the present state, and 16 bits higher whether it has occurred
/// since boot.
const PI_BITS: [(u32, &str); 4] =
    [(0, "under-voltage"), (1, "frequency capped"), (2, "throttled"), (3, "soft temperature limit")];

impl Thermal {
    /// Finds the sensors below `root`, which is `/` except in tests. `measured` are the CPUs that must not be
    /// interrupted.
    pub fn open(root: &Path, measured: &CpuList) -> Thermal {
        let mut thermal = Thermal { zones: zones(root, measured), ..Thermal::default() };
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
        thermal.is_mailbox_quiet = is_mailbox_quiet(root, measured);
        thermal
    }

    /// Reads the sensors. Omits those that fail and, during a measurement, those that may disturb a measured CPU.
    pub fn read(&mut self, when: When) -> ThermalReadings {
        let mut now = ThermalReadings::default();
        let reading = |name: &str, value| Reading { name: name.to_owned(), value };
        let all = when == When::Between;
        for zone in self.zones.iter_mut().filter(|zone| all || zone.is_quiet) {
            now.temperatures.extend(zone.source.number().map(|m| reading(&zone.name, m)));
        }
        for (name, source) in &mut self.counters {
            now.throttling.extend(source.number().map(|n| reading(name, n)));
        }
        if all || self.is_mailbox_quiet {
            self.ask_firmware(&mut now);
        }
        if let Some(alarm) = self.undervoltage.as_mut().and_then(Source::number) {
            now.throttling.push(reading("under-voltage alarm", alarm));
        }
        now
    }

    /// Sends two messages to the firmware's mailbox (drivers/firmware/raspberrypi.c).
    fn ask_firmware(&mut self, now: &mut ThermalReadings) {
        let reading = |name: &str, value| Reading { name: name.to_owned(), value };
        if let Some(Ok(m)) = self.vcio.as_ref().map(uapi::gpu_temperature) {
            now.temperatures.push(reading("GPU (firmware)", m));
        }
        if let Some(bits) = self.firmware.as_mut().and_then(|s| parse_hex(s.read()?)) {
            now.throttling.extend(PI_BITS.iter().map(|(bit, name)| reading(name, i64::from(bits >> bit & 1))));
        }
    }

    /// Returns the sensors that are not read during a measurement because that may disturb a measured CPU.
    pub fn left_out(&self) -> Vec<String> {
        let zones = self.zones.iter().filter(|zone| !zone.is_quiet).map(|zone| zone.name.clone());
        let asks = self.firmware.is_some() || self.vcio.is_some();
        let firmware =
            (asks && !self.is_mailbox_quiet).then(|| "the Raspberry Pi's firmware (throttling, GPU)".to_owned());
        zones.chain(firmware).collect()
    }
}

fn zones(root: &Path, measured: &CpuList) -> Vec<Zone> {
    let is_pi = read_trimmed(root.join("proc/device-tree/model")).is_some_and(|model| model.contains("Raspberry Pi"));
    let all = folders(&root.join("sys/class/thermal"), "thermal_zone").into_iter();
    let all: Vec<(String, String, Source)> = all
        .filter_map(|(folder, dir)| {
            let kind = read_trimmed(dir.join("type")).unwrap_or_default();
            Some((folder, kind, Source::open(dir.join("temp"))?))
        })
        .collect();
    let packages = all.iter().filter(|(_, kind, _)| kind == PACKAGE).count();
    let zone = |(folder, kind, source): (String, String, Source)| {
        let is_quiet = measured.is_empty() || is_quiet(&kind, is_pi, packages, measured);
        Zone { name: format!("{folder} {kind}").trim_end().to_owned(), source, is_quiet }
    };
    all.into_iter().map(zone).collect()
}

const PACKAGE: &str = "x86_pkg_temp";

/// Returns true if reading a thermal zone of this type is known not to disturb a measured CPU.
///
/// drivers/thermal/intel/x86_pkg_temp_thermal.c reads a register on the first CPU of the package by interrupting it,
/// and that CPU is known only for the package of CPU 0. bcm2835_thermal.c and bcm2711_thermal.c under
/// drivers/thermal/broadcom (Raspberry Pi) and intel_pch_thermal.c read registers in memory. processor_thermal_device.c
/// (TCPU) interrupts every CPU, and ACPI zones run firmware code, which may enter system management mode. All other
/// drivers are unknown.
fn is_quiet(kind: &str, is_pi: bool, packages: usize, measured: &CpuList) -> bool {
    match kind {
        PACKAGE => packages == 1 && !measured.contains(CpuId(0)),
        "cpu-thermal" => is_pi,
        _ => kind.starts_with("pch_"),
    }
}

/// Returns true if the mailbox interrupt is known to go only to CPUs that are not measured.
fn is_mailbox_quiet(root: &Path, measured: &CpuList) -> bool {
    if measured.is_empty() {
        return true;
    }
    let irqs = fs::read_dir(root.join("sys/kernel/irq")).into_iter().flatten().flatten();
    let of_mailbox = irqs.filter(|irq| read_trimmed(irq.path().join("actions")).is_some_and(|a| a.contains("mailbox")));
    let cpus = of_mailbox.map(|irq| {
        let folder = root.join("proc/irq").join(irq.file_name());
        let list = |name: &str| read_trimmed(folder.join(name)).filter(|text| !text.is_empty());
        list("effective_affinity_list").or_else(|| list("smp_affinity_list"))?.parse::<CpuList>().ok()
    });
    let cpus: Vec<Option<CpuList>> = cpus.collect();
    !cpus.is_empty() && cpus.iter().all(|cpus| cpus.as_ref().is_some_and(|cpus| cpus.and(measured).is_empty()))
}

impl ThermalReadings {
    /// Returns throttling since `before`: counters that increased, and flags that are set.
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

/// Returns the directories in `dir` whose names are `prefix` and a number, in ascending order.
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
        let mut thermal = Thermal::open(root, &CpuList::new());
        let before = thermal.read(When::Between);
        assert_eq!(before.temperatures[0], Reading { name: "thermal_zone0 cpu-thermal".into(), value: 81790 });
        assert!(before.throttled_since(&before).iter().all(|r| r.value == 0));
        write(root, "sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
        let events = thermal.read(When::Between).throttled_since(&before);
        let up: Vec<&str> = events.iter().filter(|r| r.value > 0).map(|r| r.name.as_str()).collect();
        assert_eq!(up, ["under-voltage", "throttled"]);
    }

    #[test]
    fn an_intel_counter_that_rises_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let path = "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count";
        write(root.path(), path, "7\n");
        let mut thermal = Thermal::open(root.path(), &CpuList::new());
        let before = thermal.read(When::Between);
        write(root.path(), path, "9\n");
        let events = thermal.read(When::Between).throttled_since(&before);
        assert_eq!(events, [Reading { name: "cpu1 core_throttle_count".into(), value: 2 }]);
    }

    fn names(readings: &[Reading]) -> Vec<&str> {
        readings.iter().map(|reading| reading.name.as_str()).collect()
    }

    #[test]
    fn no_measured_cpu_is_interrupted_for_a_temperature() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for (zone, kind) in ["acpitz", "x86_pkg_temp", "TCPU", "pch_cannonlake"].iter().enumerate() {
            write(root, &format!("sys/class/thermal/thermal_zone{zone}/type"), kind);
            write(root, &format!("sys/class/thermal/thermal_zone{zone}/temp"), "40000\n");
        }
        let read = |cpus: &str, when| {
            let mut thermal = Thermal::open(root, &cpus.parse().unwrap());
            let readings = thermal.read(when).temperatures;
            (names(&readings).into_iter().map(str::to_owned).collect::<Vec<_>>(), thermal.left_out())
        };
        let (quiet, left_out) = read("2-3", When::Measuring);
        assert_eq!(quiet, ["thermal_zone1 x86_pkg_temp", "thermal_zone3 pch_cannonlake"]);
        assert_eq!(left_out, ["thermal_zone0 acpitz", "thermal_zone2 TCPU"]);
        assert_eq!(read("0-3", When::Measuring).0, ["thermal_zone3 pch_cannonlake"]);
        assert_eq!(read("0-3", When::Between).0.len(), 4);
        // With a second package it is unknown which CPU is interrupted.
        write(root, "sys/class/thermal/thermal_zone4/type", "x86_pkg_temp");
        write(root, "sys/class/thermal/thermal_zone4/temp", "40000");
        assert_eq!(read("2-3", When::Measuring).0, ["thermal_zone3 pch_cannonlake"]);
    }

    #[test]
    fn the_firmware_is_asked_where_its_answer_interrupts_no_measured_cpu() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, "proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0");
        write(root, "sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        write(root, "sys/class/thermal/thermal_zone0/temp", "50000\n");
        write(root, "sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
        let read = |when| {
            let mut thermal = Thermal::open(root, &"2-3".parse().unwrap());
            let readings = thermal.read(when);
            (readings.temperatures.len(), readings.throttling.len(), thermal.left_out().len())
        };
        assert_eq!(read(When::Measuring), (1, 0, 1), "which CPU the mailbox interrupts is not known");
        assert_eq!(read(When::Between), (1, 4, 1));
        write(root, "sys/kernel/irq/33/actions", "fe00b880.mailbox\n");
        write(root, "proc/irq/33/effective_affinity_list", "0\n");
        assert_eq!(read(When::Measuring), (1, 4, 0));
        write(root, "proc/irq/33/effective_affinity_list", "3\n");
        assert_eq!(read(When::Measuring), (1, 0, 1));
    }
}
