//! Gaps that the hwlat tracer found.

use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Gaps by CPU: number, longest in µs, number of NMIs in them.
#[derive(Debug, Default)]
pub(super) struct Gaps(BTreeMap<u32, (u64, u64, u64)>);

impl Gaps {
    pub fn add(&mut self, cpu: u32, us: u64, nmis: u32) {
        const CPUS: usize = 8192;
        if self.0.len() < CPUS || self.0.contains_key(&cpu) {
            let (gaps, longest, all) = self.0.entry(cpu).or_default();
            (*gaps, *longest, *all) = (*gaps + 1, us.max(*longest), *all + u64::from(nmis));
        }
    }

    pub fn said(&self) -> Option<String> {
        const NAMED: usize = 8;
        let (cpu, (_, longest, _)) =
            self.0.iter().max_by_key(|(cpu, (_, longest, _))| (*longest, std::cmp::Reverse(**cpu)))?;
        let gaps: u64 = self.0.values().map(|(gaps, ..)| gaps).sum();
        let nmis: u64 = self.0.values().map(|(.., nmis)| nmis).sum();
        let nmis = if nmis > 0 { format!(", with {nmis} NMIs in them") } else { String::new() };
        let cpus: Vec<String> = self.0.keys().map(u32::to_string).collect();
        let cpus = match cpus.len() {
            1 => String::new(),
            2..=NAMED => format!(" (of CPUs {})", cpus.join(", ")),
            n => format!(" (of {n} CPUs)"),
        };
        let longest = Nanos(longest.saturating_mul(1000));
        let plural = if gaps == 1 { "gap" } else { "gaps" };
        Some(format!(
            "hwlat: {gaps} {plural} in which the hardware stopped a CPU with interrupts off{cpus}, no task is responsible: the longest {longest} on CPU \
             {cpu}{nmis}; the cause is not in the trace (firmware (SMI), the host of a guest, a bus or memory that stalls)"
        ))
    }
}
