//! Values that are read only between phases, because reading them interrupts a CPU: model-specific registers and, with
//! some drivers, frequencies.

use super::read_trimmed;
use punctual_model::Event;
use punctual_rt::monotonic;
use punctual_units::{CpuId, CpuList};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads the frequencies and SMI counts of these CPUs. Returns one event per kind that can be read.
pub fn between_phases(cpus: &CpuList) -> Vec<Event> {
    let mono_ns = monotonic().0;
    let khz = frequencies(cpus);
    let counts = smi_counts(cpus);
    let mut events = Vec::new();
    if !khz.is_empty() {
        events.push(Event::Frequency { mono_ns, khz });
    }
    if !counts.is_empty() {
        events.push(Event::Smi { mono_ns, counts });
    }
    events
}

/// Returns the current frequencies, kHz, of CPUs for which they can be read. Some drivers interrupt the CPU to read
/// them.
pub fn frequencies(cpus: &CpuList) -> Vec<(CpuId, u64)> {
    cpus.iter().filter_map(|cpu| Some((cpu, frequency(cpu)?))).collect()
}

/// Returns the number of system management interrupts since boot for each CPU on which they can be counted.
pub(crate) fn smi_counts(cpus: &CpuList) -> Vec<(CpuId, u64)> {
    match is_intel() {
        true => cpus.iter().filter_map(|cpu| Some((cpu, smi_count(cpu)?))).collect(),
        false => Vec::new(),
    }
}

fn frequency(cpu: CpuId) -> Option<u64> {
    read_trimmed(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"))?.parse().ok()
}

/// Reads MSR_SMI_COUNT of Intel processors since Nehalem (Software Developer's Manual vol. 4, register 34H, bits 31:0).
fn smi_count(cpu: CpuId) -> Option<u64> {
    const MSR_SMI_COUNT: u64 = 0x34;
    let mut value = [0u8; 8];
    File::open(format!("/dev/cpu/{cpu}/msr")).ok()?.read_exact_at(&mut value, MSR_SMI_COUNT).ok()?;
    Some(u64::from_le_bytes(value) & 0xffff_ffff)
}

fn is_intel() -> bool {
    read_trimmed("/proc/cpuinfo").is_some_and(|text| text.contains("GenuineIntel"))
}
