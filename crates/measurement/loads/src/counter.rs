//! Kernel counters that must increase while a load runs. The load selects them; the parent reads them.

use crate::LoadError;
use punctual_watchdog::proc::Stat;
use serde::{Deserialize, Serialize};
use std::fs;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counter {
    /// Name of the counter for display.
    pub what: String,
    pub source: Source,
    /// Required increase per second of recording; the total must increase by at least 1.
    pub per_second: f64,
    /// Index of a unit of work, and required increase for each such unit.
    pub per_unit: Option<(usize, f64)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// Value of a key of /proc/stat: `processes`, `ctxt`.
    Stat(String),
    /// Minor faults of all threads, from /proc/PID/stat.
    MinorFaults(i32),
    /// User and system time, from /proc/PID/stat.
    CpuTicks(i32),
    /// Sectors written to the device with this major and minor number, from /proc/diskstats.
    DiskSectors(u32, u32),
    /// Sectors written on all disks.
    AllDiskSectors,
    /// Protocol and field of /proc/net/snmp.
    Snmp(String, String),
    /// Interface in /proc/net/dev, and `rx_packets` or `tx_packets`. /sys/class/net is not used, because it shows the
    /// network namespace in which sysfs was mounted, which may be another one (systemd.exec(5), PrivateNetwork=).
    Interface(String, String),
    /// Sum of the lines of /proc/interrupts with these numbers or names.
    Interrupts(Vec<u32>, Vec<String>),
    /// Timer interrupts and softirqs, whichever the architecture has.
    Timers,
    /// Line of /proc/softirqs, summed over all CPUs.
    Softirq(String),
}

impl Counter {
    pub fn new(what: impl Into<String>, source: Source) -> Counter {
        Counter { what: what.into(), source, per_second: 0.0, per_unit: None }
    }

    pub fn per_second(self, per_second: f64) -> Counter {
        Counter { per_second, ..self }
    }

    pub fn per_unit(self, unit: usize, factor: f64) -> Counter {
        Counter { per_unit: Some((unit, factor)), ..self }
    }

    pub fn needed(&self, seconds: f64, done: &[u64]) -> u64 {
        let claimed = self.per_unit.map_or(0.0, |(unit, factor)| done.get(unit).map_or(0.0, |n| *n as f64 * factor));
        (self.per_second * seconds).max(claimed).max(1.0) as u64
    }

    pub fn read(&self) -> Result<u64, LoadError> {
        let gone = |pid: &i32| LoadError::Refused(format!("/proc/{pid}/stat does not exist: the load has ended"));
        match &self.source {
            Source::Stat(key) => parsed("/proc/stat", |text| first_behind(text, key)),
            Source::MinorFaults(pid) => Stat::of(*pid).map(|s| s.minor_faults).ok_or_else(|| gone(pid)),
            Source::CpuTicks(pid) => Stat::of(*pid).map(|s| s.cpu_ticks).ok_or_else(|| gone(pid)),
            Source::DiskSectors(major, minor) => {
                parsed("/proc/diskstats", |text| disk_sectors(text, Some((*major, *minor))))
            }
            Source::AllDiskSectors => parsed("/proc/diskstats", |text| disk_sectors(text, None)),
            Source::Snmp(protocol, key) => parsed("/proc/net/snmp", |text| snmp(text, protocol, key)),
            Source::Interface(name, what) => parsed("/proc/net/dev", |text| interface(text, name, what)),
            Source::Interrupts(numbers, names) => {
                parsed("/proc/interrupts", |text| interrupts(text, |id, rest| device_line(id, rest, numbers, names)))
            }
            Source::Timers => timers(),
            Source::Softirq(name) => parsed("/proc/softirqs", |text| interrupts(text, |id, _| id == name)),
        }
    }
}

fn parsed(path: &str, parse: impl FnOnce(&str) -> Option<u64>) -> Result<u64, LoadError> {
    let text = fs::read_to_string(path).map_err(LoadError::on("read", path))?;
    parse(&text).ok_or_else(|| LoadError::Refused(format!("{path} does not have the counter")))
}

/// Returns the sum of local timer interrupts (`LOC` on x86; `arch_timer` and others on Arm) and of softirqs that expire
/// timers. Which of them counts a timer depends on the architecture, PREEMPT_RT and the kind of timer.
fn timers() -> Result<u64, LoadError> {
    let is_timer = |id: &str, rest: &str| id == "LOC" || rest.to_ascii_lowercase().contains("timer");
    let hard = parsed("/proc/interrupts", |text| interrupts(text, is_timer));
    let soft = parsed("/proc/softirqs", |text| interrupts(text, |id, _| id == "TIMER" || id == "HRTIMER"));
    match (hard, soft) {
        (Ok(hard), Ok(soft)) => Ok(hard + soft),
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
        (Err(e), Err(_)) => Err(e),
    }
}

/// Returns the packet count of an interface, from the column that `dev_seq_printf_stats` in net/core/net-procfs.c
/// writes.
fn interface(text: &str, name: &str, what: &str) -> Option<u64> {
    let column = match what {
        "rx_packets" => 1,
        "tx_packets" => 9,
        _ => return None,
    };
    let numbers = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    numbers.split_ascii_whitespace().nth(column)?.parse().ok()
}

fn first_behind(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(' '))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the sectors written (field 10) to a device, or to all disks. Partitions are ignored, because their writes
/// are included in the count of their disk; loop and RAM devices are ignored as well.
fn disk_sectors(text: &str, device: Option<(u32, u32)>) -> Option<u64> {
    let mut sum = None;
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [major, minor, name, _, _, _, _, _, _, written, ..] = fields[..] else { continue };
        let this = device.map_or_else(
            || {
                !["loop", "ram", "zram", "sr", "fd", "dm-", "md"].iter().any(|p| name.starts_with(p))
                    && !partition(name)
            },
            |(a, b)| major.parse() == Ok(a) && minor.parse() == Ok(b),
        );
        if let (true, Ok(sectors)) = (this, written.parse::<u64>()) {
            sum = Some(sum.unwrap_or(0) + sectors);
        }
    }
    sum
}

fn partition(name: &str) -> bool {
    fs::exists(format!("/sys/class/block/{name}/partition")).unwrap_or(false)
}

/// Returns a field of a protocol. /proc/net/snmp has two lines per protocol: names, then values.
fn snmp(text: &str, protocol: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|l| l.strip_prefix(protocol)?.strip_prefix(": "));
    let at = lines.next()?.split(' ').position(|k| k == key)?;
    lines.next()?.split(' ').nth(at)?.parse().ok()
}

/// Returns the sum over all CPUs of the lines that `wanted` accepts, given their number or name and their description;
/// `None` if it accepts no line.
fn interrupts(text: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<u64> {
    let mut lines = text.lines();
    let cpus = lines.next()?.split_ascii_whitespace().count();
    let mut sum = None;
    for line in lines {
        let Some((id, rest)) = line.split_once(':') else { continue };
        let counts: Vec<u64> = rest.split_ascii_whitespace().take(cpus).map_while(|n| n.parse().ok()).collect();
        let words: Vec<&str> = rest.split_ascii_whitespace().skip(counts.len()).collect();
        if wanted(id.trim(), &words.join(" ")) {
            sum = Some(sum.unwrap_or(0) + counts.iter().sum::<u64>());
        }
    }
    sum
}

/// Returns true if a line of /proc/interrupts belongs to a device: its number is listed, or it contains the name of the
/// device or one of its queues (`eth0`, `eth0-rx-1`, `virtio3-tx`; not `eth01`).
fn device_line(id: &str, rest: &str, numbers: &[u32], names: &[String]) -> bool {
    let ends = |tail: &str| !tail.starts_with(|c: char| c.is_alphanumeric());
    let named = |word: &str| names.iter().any(|n| word.strip_prefix(n.as_str()).is_some_and(ends));
    id.parse().is_ok_and(|n: u32| numbers.contains(&n)) || rest.split([' ', ',']).any(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERRUPTS: &str = "           CPU0       CPU1       \n \
        24:          1          0  IO-APIC   5-edge      ACPI:Ged\n \
        40:          0          0 PCI-MSIX-0000:00:04.0   0-edge      virtio3-config\n \
        41:       2129          1 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx\n \
        42:          0       4486 PCI-MSIX-0000:00:04.0   2-edge      virtio3-tx\n \
        43:          7          0 PCI-MSIX-0000:00:04.0   2-edge      virtio33-tx\n\
        LOC:      34313      38609   Local timer interrupts\nERR:          5\n";

    #[test]
    fn packets_of_an_interface() {
        let text = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
            \x20   lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  eth0:21 22 0 0 0 0 0 0 29 30 0 0 0 0 0 0\n";
        assert_eq!(interface(text, "lo", "rx_packets"), Some(2));
        assert_eq!(interface(text, "lo", "tx_packets"), Some(10));
        assert_eq!(interface(text, "eth0", "tx_packets"), Some(30));
        assert_eq!((interface(text, "eth", "tx_packets"), interface(text, "lo", "tx_bytes")), (None, None));
    }

    #[test]
    fn interrupts_of_a_device() {
        let names = ["virtio3".to_string()];
        let sum = |numbers: &[u32]| interrupts(INTERRUPTS, |id, rest| device_line(id, rest, numbers, &names));
        assert_eq!(sum(&[]), Some(6616));
        assert_eq!(sum(&[24, 41]), Some(6617));
        assert_eq!(interrupts(INTERRUPTS, |id, _| id == "LOC"), Some(72922));
        assert_eq!(interrupts(INTERRUPTS, |id, _| id == "ERR"), Some(5));
        assert_eq!(interrupts(INTERRUPTS, |id, _| id == "XYZ"), None);
    }

    #[test]
    fn disks_by_number_or_all() {
        let text = " 7 0 loop0 1 0 2 0 0 0 99 0 0 0 0\n 254 0 vda 92849 26375 6931250 28151 27199 22632 3421088 7562 0\n\
                    8 16 sdb 1 1 1 1 1 1 50 1 0\n";
        assert_eq!(disk_sectors(text, Some((254, 0))), Some(3_421_088));
        assert_eq!(disk_sectors(text, Some((8, 0))), None);
        assert_eq!(disk_sectors(text, None), Some(3_421_138));
    }

    #[test]
    fn fields_of_snmp_and_stat() {
        let text = "Tcp: RtoAlgorithm InSegs OutSegs\nTcp: 1 11 12\nUdp: InDatagrams OutDatagrams\nUdp: 5 6\n";
        assert_eq!(snmp(text, "Tcp", "OutSegs"), Some(12));
        assert_eq!(snmp(text, "Udp", "OutDatagrams"), Some(6));
        assert_eq!(snmp(text, "Udp", "None"), None);
        assert_eq!(first_behind("ctxt 12\nprocesses 34\n", "processes"), Some(34));
    }

    #[test]
    fn this_machine_has_them() {
        let me = std::process::id() as i32;
        let sources = [
            Source::Stat("ctxt".into()),
            Source::MinorFaults(me),
            Source::CpuTicks(me),
            Source::Timers,
            Source::Softirq("NET_RX".into()),
        ];
        let disks = std::fs::read_to_string("/proc/diskstats").is_ok_and(|listed| !listed.is_empty());
        for source in sources.into_iter().chain(disks.then_some(Source::AllDiskSectors)) {
            Counter::new("x", source).read().unwrap();
        }
    }

    #[test]
    fn what_is_needed_follows_time_and_claims() {
        let counter = Counter::new("x", Source::Timers).per_second(2.0).per_unit(1, 0.5);
        assert_eq!(counter.needed(3.0, &[0, 4]), 6);
        assert_eq!(counter.needed(3.0, &[0, 40]), 20);
        assert_eq!(Counter::new("x", Source::Timers).needed(0.1, &[]), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[0-9a-z: \\n\\PC]*") {
            let _ = disk_sectors(&text, None);
            let _ = snmp(&text, "Tcp", "a");
            let _ = first_behind(&text, "a");
            let _ = interrupts(&text, |id, rest| device_line(id, rest, &[1], &["a".into()]));
        }
    }
}
