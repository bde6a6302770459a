//! Samples the state of the machine during a repetition: temperatures, frequencies, throttling, steal time.

use punctual_measure::{Counters, frequencies};
use punctual_model::Conditions;
use punctual_units::{CpuId, CpuList};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Sampling interval. It is long enough to cost little, and short enough to show that a board throttles.
const EVERY: Duration = Duration::from_millis(500);

/// For each CPU, the sum of the frequency readings in kHz, and their number.
type Sums = BTreeMap<CpuId, (u64, u64)>;

pub(crate) struct Watch<'s> {
    cpus: CpuList,
    before: Counters,
    sampler: Option<ScopedJoinHandle<'s, Sums>>,
    over: &'s AtomicBool,
}

impl<'s> Watch<'s> {
    /// Starts sampling, which ends when `over` is set; `over` must not be set yet. If the sampling thread cannot be
    /// started, frequencies are read only once, at the end.
    pub fn begin<'e>(scope: &'s Scope<'s, 'e>, cpus: &CpuList, over: &'s AtomicBool) -> Watch<'s> {
        let list = cpus.clone();
        let sample = move || {
            let mut sums = Sums::new();
            while !over.load(Relaxed) {
                thread::park_timeout(EVERY);
                add(&mut sums, &list);
            }
            sums
        };
        let sampler = thread::Builder::new().name("conditions".into()).spawn_scoped(scope, sample).ok();
        Watch { cpus: cpus.clone(), before: Counters::read(cpus), sampler, over }
    }

    pub fn end(self) -> Conditions {
        self.over.store(true, Relaxed);
        // Wakes the sampling thread for a last reading. It is the only one if the repetition took less than half a
        // second.
        self.sampler.iter().for_each(|s| s.thread().unpark());
        let mut sums = self.sampler.and_then(|s| s.join().ok()).unwrap_or_default();
        if sums.is_empty() {
            add(&mut sums, &self.cpus);
        }
        let after = Counters::read(&self.cpus);
        let steal = self.cpus.iter().map(|cpu| after.steal_since(&self.before, cpu));
        Conditions {
            temperatures: after.temperatures().to_vec(),
            khz: sums.into_iter().map(|(cpu, (sum, n))| (cpu, sum / n.max(1))).collect(),
            throttling: after.throttling_since(&self.before),
            steal_ns: steal.sum(),
        }
    }
}

fn add(sums: &mut Sums, cpus: &CpuList) {
    for (cpu, khz) in frequencies(cpus) {
        let (sum, n) = sums.entry(cpu).or_default();
        (*sum, *n) = (sum.saturating_add(khz), *n + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watching_ends_and_reports_this_machine() {
        let cpus: CpuList = "0".parse().unwrap();
        let over = AtomicBool::new(false);
        let seen = thread::scope(|scope| Watch::begin(scope, &cpus, &over).end());
        assert_eq!(seen.khz.is_empty(), frequencies(&cpus).is_empty());
        assert!(seen.khz.iter().all(|(cpu, khz)| *cpu == CpuId(0) && *khz > 0));
        assert!(over.load(Relaxed));
    }
}
