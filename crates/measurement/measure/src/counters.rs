//! Differences of counters over an interval: steal time, system management interrupts, throttling, interrupts.

use crate::sources::between::smi_counts;
use crate::sources::interrupts::Table;
use crate::sources::system::Stat;
use crate::sources::thermal::{Thermal, ThermalReadings, When};
use punctual_model::Reading;
use punctual_units::{CpuId, CpuList};
use std::path::Path;

/// Counters at one instant. They must not be read during a measurement, because reading the SMI count briefly
/// interrupts each CPU.
#[derive(Debug)]
pub struct Counters {
    cpus: CpuList,
    steal_ticks: Option<Vec<(CpuId, u64)>>,
    smi: Vec<(CpuId, u64)>,
    thermal: ThermalReadings,
    interrupts: Option<Table>,
}

impl Counters {
    pub fn read(cpus: &CpuList) -> Counters {
        let list: Vec<CpuId> = cpus.iter().collect();
        let interrupts = std::fs::read_to_string("/proc/interrupts").ok();
        Counters {
            cpus: cpus.clone(),
            steal_ticks: steal_ticks(),
            smi: smi_counts(cpus),
            thermal: Thermal::open(Path::new("/"), &CpuList::new()).read(When::Between),
            interrupts: interrupts.map(|text| Table::parse(&text, &list)),
        }
    }

    /// Returns the number of system management interrupts of a CPU since `before`; `None` if they cannot be counted.
    pub fn smi_since(&self, before: &Counters, cpu: CpuId) -> Option<u64> {
        let of = |counters: &Counters| counters.smi.iter().find(|(c, _)| *c == cpu).map(|(_, n)| *n);
        // The counter has 32 bits.
        Some(of(self)?.wrapping_sub(of(before)?) & 0xffff_ffff)
    }

    /// Returns the steal time of a CPU since `before`, ns, a multiple of 10 ms as in /proc/stat; `None` if it is not
    /// recorded.
    pub fn steal_since(&self, before: &Counters, cpu: CpuId) -> Option<u64> {
        let of = |c: &Counters| c.steal_ticks.as_ref()?.iter().find(|(id, _)| *id == cpu).map(|(_, ticks)| *ticks);
        Some(of(self)?.saturating_sub(of(before)?).saturating_mul(TICK_NS))
    }

    /// Returns throttling since `before`: counters that increased, and flags that are set.
    pub fn throttled_since(&self, before: &Counters) -> Vec<Reading> {
        self.thermal.throttled_since(&before.thermal).into_iter().filter(|reading| reading.value > 0).collect()
    }

    /// Like [`Counters::throttled_since`], but includes zeros.
    pub fn throttling_since(&self, before: &Counters) -> Vec<Reading> {
        self.thermal.throttled_since(&before.thermal)
    }

    pub fn temperatures(&self) -> &[Reading] {
        &self.thermal.temperatures
    }

    pub fn hottest(&self) -> Option<Reading> {
        self.thermal.temperatures.iter().max_by_key(|reading| reading.value).cloned()
    }

    /// Returns the interrupts of a CPU since `before`, most frequent first; `None` if they could not be read.
    pub fn interrupts_since(&self, before: &Counters, cpu: CpuId) -> Option<Vec<(String, u64)>> {
        self.interrupts.as_ref()?.risen(before.interrupts.as_ref()?, cpu)
    }

    pub fn cpus(&self) -> &CpuList {
        &self.cpus
    }
}

/// Duration of a tick of USER_HZ, which is 100 on all supported architectures (include/asm-generic/param.h).
const TICK_NS: u64 = 10_000_000;

/// Returns the time since boot in which tasks ran on these CPUs, all together, ns, a multiple of 10 ms (proc_stat(5));
/// `None` if it is unknown for a CPU.
pub fn busy_ns(cpus: &CpuList) -> Option<u64> {
    let stat = Stat::parse(&std::fs::read_to_string("/proc/stat").ok()?);
    let of = |cpu: CpuId| stat.busy_ticks.iter().find(|(id, _)| *id == cpu).map(|(_, ticks)| *ticks);
    let ticks = cpus.iter().map(of).try_fold(0u64, |sum, ticks| Some(sum.saturating_add(ticks?)))?;
    Some(ticks.saturating_mul(TICK_NS))
}

/// Returns each CPU's steal time since boot in ticks of 10 ms (proc_stat(5)); `None` if /proc/stat cannot be read.
pub fn steal_ticks() -> Option<Vec<(CpuId, u64)>> {
    Some(Stat::parse(&std::fs::read_to_string("/proc/stat").ok()?).steal_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_pass_did_not_rise_and_the_unknown_is_not_zero() {
        let cpus: CpuList = "0".parse().unwrap();
        let counters = Counters::read(&cpus);
        assert!(matches!(counters.steal_since(&counters, CpuId(0)), Some(0) | None));
        assert_eq!(counters.steal_since(&counters, CpuId(8000)), None);
        assert_eq!(counters.smi_since(&counters, CpuId(8000)), None);
        assert!(counters.interrupts_since(&counters, CpuId(0)).is_none_or(|risen| risen.is_empty()));
        let of = |n| Counters {
            smi: vec![(CpuId(0), n)],
            cpus: cpus.clone(),
            steal_ticks: Some(vec![(CpuId(0), n)]),
            thermal: ThermalReadings::default(),
            interrupts: None,
        };
        assert_eq!(of(2).smi_since(&of(0xffff_ffff), CpuId(0)), Some(3));
        assert_eq!(of(7).steal_since(&of(4), CpuId(0)), Some(30_000_000));
        assert_eq!(of(1).interrupts_since(&of(0), CpuId(0)), None);
    }
}
