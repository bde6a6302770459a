//! Classifies the part of gaps that Linux did not cause.

use super::{GapEvidence, Sum, Surroundings};
use Confidence::{High, Medium, Suspected};
use punctual_model::{Confidence, Gap, GapClass, GapFinding};
use punctual_units::CpuId;
use std::collections::BTreeMap;

/// Minimum uncharged time that counts as evidence, ns: some kernels do not charge interrupts either.
const CHARGED_FROM: u64 = 100_000;
/// Minimum gap for which ticks of steal count, ns: steal is counted in ticks of 10 ms, and on a busy host one coincides
/// with every short gap.
const TICKED_FROM: u64 = 1_000_000;

/// Evidence that the hypervisor ran something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Steal {
    None,
    /// Steal time increased in the same fraction of a second.
    Ticked,
    /// The scheduler did not charge at least half of the gap, or steal increased with a gap as long as its ticks.
    Charged,
}

impl Steal {
    pub fn of(beyond_ns: u64, evidence: &GapEvidence) -> Steal {
        let uncharged = evidence.uncharged_ns.is_some_and(|ns| ns >= beyond_ns / 2);
        match evidence.steal_rose {
            _ if uncharged && beyond_ns >= CHARGED_FROM => Steal::Charged,
            Some(true) if beyond_ns >= TICKED_FROM => Steal::Charged,
            Some(true) => Steal::Ticked,
            _ => Steal::None,
        }
    }

    pub fn seen(self) -> bool {
        self != Steal::None
    }
}

/// The CPU and the evidence by which gaps are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cpu: CpuId,
    at_once: Option<bool>,
    steal: Steal,
    /// True if the gaps are long enough for steal time to show. Leaving a guest briefly, as every write to its timer
    /// does, is not steal.
    long: bool,
}

/// Gaps not caused by Linux. At most 18 sums per CPU.
#[derive(Debug, Default)]
pub(super) struct Natures {
    sums: BTreeMap<Key, Sum>,
    /// Number of stalls of all CPUs, each counted once; `stalled_until` is the end of the last one.
    stalls: u64,
    stalled_until: u64,
}

impl Natures {
    pub fn add(&mut self, gap: Gap, ns: u64, at_once: Option<bool>, steal: Steal) {
        let key = Key { cpu: gap.cpu, at_once, steal, long: ns >= TICKED_FROM };
        self.sums.entry(key).or_default().add(gap.cpu, ns, at_once == Some(true));
        if at_once == Some(true) {
            self.stalls += u64::from(gap.start_ns >= self.stalled_until);
            self.stalled_until = self.stalled_until.max(gap.start_ns.saturating_add(gap.length_ns));
        }
    }

    pub fn findings(self, around: &Surroundings) -> Vec<GapFinding> {
        let mut by_class: BTreeMap<GapClass, (Sum, [u64; 3])> = BTreeMap::new();
        for (key, sum) in &self.sums {
            let (class, sure) = self.nature(key, around);
            let (all, by_sure) = by_class.entry(class).or_default();
            all.absorb(sum);
            if let Some(ns) = by_sure.get_mut(sure as usize) {
                *ns = ns.saturating_add(sum.total_ns);
            }
        }
        let stalls = self.stalls;
        let finding = |(class, (sum, sure)): (GapClass, (Sum, [u64; 3]))| {
            let finding = sum.finding(class, at_least_half(sum.total_ns, sure))?;
            // The same stall is a gap on every CPU, so stalls are counted.
            let firmware = class == GapClass::Firmware;
            Some(GapFinding { at_once: if firmware { stalls } else { finding.at_once }, ..finding })
        };
        by_class.into_iter().filter_map(finding).collect()
    }

    fn nature(&self, key: &Key, around: &Surroundings) -> (GapClass, Confidence) {
        match around.guest() {
            Some(true) => self.of_guest(key, around),
            Some(false) => self.of_bare_metal(key, around),
            None => (GapClass::BeyondLinux, Suspected),
        }
    }

    fn of_guest(&self, key: &Key, around: &Surroundings) -> (GapClass, Confidence) {
        let total = self.sum(|other| other.cpu == key.cpu && other.long == key.long).total_ns;
        let stolen = around.steal_ns.get(&key.cpu).copied().unwrap_or(0);
        let mostly_stolen = stolen > 0 && stolen >= total / 2;
        match (key.steal, key.at_once) {
            (Steal::Charged, _) => (GapClass::Hypervisor, High),
            (Steal::Ticked, _) => (GapClass::Hypervisor, if mostly_stolen { High } else { Medium }),
            // Firmware would have stopped the other CPUs too.
            (Steal::None, Some(false)) => (GapClass::Hypervisor, Medium),
            (Steal::None, _) if mostly_stolen => (GapClass::Hypervisor, Medium),
            (Steal::None, None) if self.others_go_on(key.long) => (GapClass::Hypervisor, Suspected),
            (Steal::None, _) => (GapClass::BeyondLinux, Medium),
        }
    }

    fn of_bare_metal(&self, key: &Key, around: &Surroundings) -> (GapClass, Confidence) {
        let alone = || self.sum(|other| other.cpu == key.cpu && other.at_once.is_none()).gaps;
        match (around.smi.get(&key.cpu), key.at_once) {
            // An SMI stops all CPUs (Intel SDM vol. 3, 34.3), but the others continued.
            (_, Some(false)) => (GapClass::Hardware, Medium),
            (Some(0), _) => (GapClass::Hardware, Medium),
            (Some(smis), Some(true)) if self.stalls <= *smis => (GapClass::Firmware, High),
            (Some(smis), None) if alone() <= *smis => (GapClass::Firmware, High),
            (Some(_), _) => (GapClass::Firmware, Medium),
            (None, Some(true)) => (GapClass::Firmware, Suspected),
            (None, None) => (GapClass::Hardware, Suspected),
        }
    }

    /// True if nearly all gaps that could be compared with other CPUs were on one CPU only, so that the other gaps
    /// probably were, too.
    fn others_go_on(&self, long: bool) -> bool {
        let count = |at_once| self.sum(|key| key.at_once == Some(at_once) && key.long == long).gaps;
        let (at_once, alone) = (count(true), count(false));
        alone >= 20 && at_once <= alone / 20
    }

    fn sum(&self, wanted: impl Fn(&Key) -> bool) -> Sum {
        let mut all = Sum::default();
        self.sums.iter().filter(|(key, _)| wanted(key)).for_each(|(_, sum)| all.absorb(sum));
        all
    }
}

/// Returns the confidence that applies to at least half of the time.
fn at_least_half(total: u64, [suspected, medium, _]: [u64; 3]) -> Confidence {
    match total / 2 {
        half if suspected > half => Suspected,
        half if suspected.saturating_add(medium) > half => Medium,
        _ => High,
    }
}
