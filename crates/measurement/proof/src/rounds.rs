//! Merges the rounds of a phase.

use punctual_model::{
    Blocks, CpuResult, Distribution, Episodes, LoadReport, Phase, PhaseTrace, Proof, Rate, Recording, Worst,
};
use punctual_units::{Arrange, CpuId, Nanos};
use std::collections::BTreeMap;

/// Results of one CPU in the earlier rounds of a phase.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    pub distribution: Distribution,
    pub worst: Vec<Worst>,
    pub episodes: Vec<Episodes>,
    pub released: u64,
}

/// Returns the results of the earlier rounds of a phase, by CPU; empty before the first round.
pub(crate) fn earlier(kept: &Recording, phase: &str) -> BTreeMap<CpuId, Earlier> {
    let Some(known) = kept.run.phases.iter().find(|p| p.id == phase) else { return BTreeMap::new() };
    let of = |result: &CpuResult| {
        let distribution = kept.distribution(phase, result.cpu)?.clone();
        let worst = kept.worst_of(phase, result.cpu).cloned().collect();
        let (episodes, released) = (result.episodes.clone(), result.scored());
        Some((result.cpu, Earlier { distribution, worst, episodes, released }))
    };
    known.cpus.iter().filter_map(of).collect()
}

/// Adds the results of the earlier rounds, and keeps the `keep` worst wakeups. Each list has the worst wakeups of its
/// rounds, so the merged list has the worst of all rounds.
pub(crate) fn add(distribution: &mut Distribution, worst: &mut Vec<Worst>, earlier: &Earlier, keep: usize) {
    distribution.raw.merge(&earlier.distribution.raw);
    distribution.skipped.merge(&earlier.distribution.skipped);
    worst.iter_mut().for_each(|w| w.cycle = w.cycle.saturating_add(earlier.released));
    worst.extend(earlier.worst.iter().cloned());
    worst.arrange_by_key(|w| (std::cmp::Reverse(w.latency_ns), w.cycle));
    worst.truncate(keep);
}

/// Calls [`add`] for all CPUs of a round.
pub(crate) fn add_all(
    mut distributions: Vec<(CpuId, Distribution)>,
    worst: Vec<Worst>,
    earlier: &BTreeMap<CpuId, Earlier>,
    keep: usize,
) -> (Vec<(CpuId, Distribution)>, Vec<Worst>) {
    if earlier.is_empty() {
        return (distributions, worst);
    }
    let mut all = Vec::new();
    for (cpu, distribution) in &mut distributions {
        let mut mine: Vec<Worst> = worst.iter().filter(|w| w.cpu == *cpu).cloned().collect();
        if let Some(earlier) = earlier.get(cpu) {
            add(distribution, &mut mine, earlier, keep);
        }
        all.extend(mine);
    }
    (distributions, all)
}

/// Merges the phase of all earlier rounds with `new`, the last round. `raw` returns the distribution of a CPU over all
/// rounds.
pub(crate) fn merge(old: &Phase, new: Phase, raw: &dyn Fn(CpuId) -> Option<Distribution>) -> Phase {
    let mut problems = old.problems.clone();
    problems.extend(new.problems.into_iter().filter(|p| !old.problems.contains(p)));
    let cpus = new.cpus.into_iter().map(|result| match old.cpus.iter().find(|c| c.cpu == result.cpu) {
        Some(before) => merge_cpu(before, result, raw),
        None => result,
    });
    Phase {
        id: new.id,
        load: new.load,
        label: new.label,
        value: None,
        period_ns: None,
        start_mono_ns: old.start_mono_ns,
        end_mono_ns: new.end_mono_ns,
        planned_ns: old.planned_ns.zip(new.planned_ns).map(|(before, longer)| before + longer),
        cpus: cpus.collect(),
        // The round in which most else ran.
        busy_with_others: [old.busy_with_others, new.busy_with_others].into_iter().flatten().reduce(f64::max),
        load_report: match (&old.load_report, new.load_report) {
            (Some(old_report), Some(new_report)) => {
                Some(merge_report(old_report, new_report, (old, planned(new.planned_ns))))
            }
            (old, new) => new.or_else(|| old.clone()),
        },
        traced: merge_trace(old.traced.clone(), new.traced),
        rounds: old.rounds.iter().chain(&new.rounds).copied().collect(),
        problems,
    }
}

fn merge_cpu(old: &CpuResult, new: CpuResult, raw: &dyn Fn(CpuId) -> Option<Distribution>) -> CpuResult {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let all = raw(new.cpu).unwrap_or_default().raw;
    CpuResult {
        released: sum(old.released, new.released),
        ran: old.ran.saturating_add(new.ran),
        skipped: sum(old.skipped, new.skipped),
        min_ns: all.min(),
        max_ns: all.max(),
        mean_ns: all.mean(),
        page_faults: sum(old.page_faults, new.page_faults),
        involuntary_switches: sum(old.involuntary_switches, new.involuntary_switches),
        run_delay_ns: sum(old.run_delay_ns, new.run_delay_ns),
        episodes: episodes(&old.episodes, &new.episodes, old.scored()),
        blocks: blocks(old, &new),
        ..new
    }
}

/// Merges the episodes of two rounds. The first round has `released` periods. Returns an empty list if a round has no
/// episodes recorded.
pub(crate) fn episodes(old: &[Episodes], new: &[Episodes], released: u64) -> Vec<Episodes> {
    let both = old.iter().filter_map(|before| {
        let later = new.iter().find(|later| later.limit_ns == before.limit_ns)?;
        Some(before.clone().and(later, released))
    });
    both.collect()
}

fn blocks(old: &CpuResult, new: &CpuResult) -> Vec<Blocks> {
    let both = old.blocks.iter().filter_map(|before| {
        let later = new.blocks.iter().find(|later| later.limit_ns == before.limit_ns)?;
        let mut all = before.clone();
        later.counts.iter().for_each(|count| all.push(*count));
        Some(all)
    });
    both.collect()
}

fn planned(ns: Option<Nanos>) -> u64 {
    ns.map_or(0, |ns| ns.0)
}

/// Merges load reports. The load ran if it ran in every round. Rates are weighted with the lengths of the rounds.
fn merge_report(old: &LoadReport, new: LoadReport, (phase, longer): (&Phase, u64)) -> LoadReport {
    let (before, longer) = (planned(phase.planned_ns) as f64, longer as f64);
    let rate = |new: Rate| match old.rates.iter().find(|r| r.what == new.what && r.unit == new.unit) {
        Some(r) => Rate { value: (r.value * before + new.value * longer) / (before + longer).max(1.0), ..new },
        None => new,
    };
    // Counters also increase between rounds, while other loads run. Each proof is therefore reported as if the rounds
    // were consecutive.
    let proof = |new: Proof| match old.proofs.iter().find(|p| p.what == new.what) {
        Some(p) => Proof {
            before: p.before,
            after: p.after.saturating_add(new.after.saturating_sub(new.before)),
            needed: p.needed.saturating_add(new.needed),
            ..new
        },
        None => new,
    };
    let mut notes = old.notes.clone();
    notes.extend(new.notes.into_iter().filter(|note| !old.notes.contains(note)));
    LoadReport {
        ran: old.ran && new.ran,
        why_not: old.why_not.clone().or(new.why_not),
        workers: old.workers.max(new.workers),
        beats: old.beats.saturating_add(new.beats),
        longest_silence_ns: old.longest_silence_ns.max(new.longest_silence_ns),
        rates: new.rates.into_iter().map(rate).collect(),
        proofs: new.proofs.into_iter().map(proof).collect(),
        written_bytes: old.written_bytes.saturating_add(new.written_bytes),
        notes,
        load: new.load,
    }
}

/// Merges trace results. Windows are numbered through all rounds, so the last count is the total.
fn merge_trace(old: Option<PhaseTrace>, new: Option<PhaseTrace>) -> Option<PhaseTrace> {
    let (Some(mut all), Some(new)) = (old.clone(), new.clone()) else { return new.or(old) };
    all.events = all.events.saturating_add(new.events);
    all.wakeups = all.wakeups.saturating_add(new.wakeups);
    all.captures = new.captures;
    all.problems.extend(new.problems.into_iter().filter(|p| !old.iter().any(|o| o.problems.contains(p))));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_units::Histogram;

    fn results(latencies: &[u64], from: u64, keep: usize) -> (Distribution, Vec<Worst>) {
        let mut raw = Histogram::new();
        latencies.iter().for_each(|&l| raw.record(l));
        let mut worst: Vec<Worst> = (0..).zip(latencies).map(|(n, &l)| wakeup(from + n, l)).collect();
        worst.sort_by_key(|w| (std::cmp::Reverse(w.latency_ns), w.cycle));
        worst.truncate(keep);
        (Distribution { raw, skipped: Histogram::new() }, worst)
    }

    fn wakeup(cycle: u64, latency_ns: u64) -> Worst {
        Worst {
            phase: "1-idle".into(),
            cpu: CpuId(0),
            release_mono_ns: 0,
            latency_ns,
            cycle,
            skipped: 0,
            trace_offset: None,
            suspicions: vec![],
        }
    }

    proptest! {
        #[test]
        fn rounds_add_up(first in proptest::collection::vec(0u64..2_000, 1..200), second in proptest::collection::vec(0u64..2_000, 1..200), keep in 1usize..12) {
            let (distribution, worst) = results(&first, 0, keep);
            let earlier = Earlier { distribution, worst, episodes: Vec::new(), released: first.len() as u64 };
            let (mut distribution, mut worst) = results(&second, 0, keep);
            add(&mut distribution, &mut worst, &earlier, keep);
            let whole = results(&[first, second].concat(), 0, keep);
            prop_assert_eq!(distribution, whole.0);
            prop_assert_eq!(worst, whole.1);
        }
    }
}
