//! Describes a table of osnoise: its worst row, and the kind of noise that is more frequent on that CPU than on the
//! others.

use crate::event::OsnoiseSample;
use std::collections::BTreeMap;

/// What osnoise counted on one CPU, over one period or several (Documentation/trace/osnoise-tracer.rst).
#[derive(Clone, Debug, Default)]
pub struct Noises {
    pub runtime_us: u64,
    pub noise_us: u64,
    /// The largest total noise in one period, if the table states it.
    pub max_period_us: Option<u64>,
    pub max_single_us: u64,
    /// Noises by hardware or a hypervisor, NMIs, interrupts, softirqs, threads; `None` if the table lacks them.
    pub counts: Option<[u64; KINDS]>,
}

const KINDS: usize = 5;
const NAMES: [&str; KINDS] = ["by hardware or a hypervisor", "NMIs", "interrupts", "softirqs", "threads"];

impl Noises {
    /// Adds a period.
    pub fn add(&mut self, sample: &OsnoiseSample) {
        self.runtime_us = self.runtime_us.saturating_add(sample.runtime_us);
        self.noise_us = self.noise_us.saturating_add(sample.noise_us);
        self.max_single_us = self.max_single_us.max(sample.max_sample_us);
        let more = [sample.hw_count, sample.nmi_count, sample.irq_count, sample.softirq_count, sample.thread_count];
        let counts = self.counts.get_or_insert_default();
        counts.iter_mut().zip(more).for_each(|(count, more)| *count = count.saturating_add(more));
    }
}

/// Names the CPU with the longest single noise, and the CPU with the most noise together with what was counted there.
pub fn worst_noise(cpus: &BTreeMap<u32, Noises>) -> Option<String> {
    let (single_cpu, single) = cpus.iter().max_by_key(|(cpu, row)| (row.max_single_us, std::cmp::Reverse(**cpu)))?;
    // Noise in units of 10⁻⁷ of the time, the resolution of the tables.
    const WHOLE: u128 = 10_000_000;
    let part = |row: &Noises| u128::from(row.noise_us) * WHOLE / u128::from(row.runtime_us.max(1));
    let (cpu, most) = cpus.iter().max_by_key(|(cpu, row)| (part(row), std::cmp::Reverse(**cpu)))?;
    let kinds = |counts: [u64; KINDS]| {
        let [hardware, rest @ ..] = counts;
        let [by_hardware, names @ ..] = NAMES;
        let rest: Vec<String> = rest.iter().zip(names).map(|(count, name)| format!("{count} {name}")).collect();
        format!("counted there: {hardware} {by_hardware}, {}", rest.join(", "))
    };
    let is_one = matches!(single.counts, Some([0, 0, _, 0, _]));
    let one = if is_one { ", from an interrupt or a thread" } else { "" };
    let own = single.counts.filter(|_| cpu != single_cpu).map(|counts| format!(" ({})", kinds(counts)));
    let own = own.unwrap_or_default();
    let left =
        (WHOLE * (u128::from(most.runtime_us.saturating_sub(most.noise_us)))) / u128::from(most.runtime_us.max(1));
    let period = most.max_period_us.map(|us| format!(", at most {us} us in one period")).unwrap_or_default();
    let counts = most.counts.map(|counts| format!("; {}{}", kinds(counts), more(cpus, *cpu, most)));
    let counts = counts.unwrap_or_default();
    let on = match cpus.len() {
        1 => "; in all there were".to_owned(),
        _ => format!("; most noise is on CPU {cpu}:"),
    };
    Some(format!(
        "the longest single noise is {} us on CPU {single_cpu}{one}{own}{on} {} us of {} us ({}.{:05} % left){period}, at most {} us at once{counts}; the counts do not show which noise took long",
        single.max_single_us,
        most.noise_us,
        most.runtime_us,
        left / (WHOLE / 100),
        left % (WHOLE / 100),
        most.max_single_us,
    ))
}

/// Returns the kind of noise that is several times as frequent on this CPU as on the others, if it can be the kind that
/// took long.
fn more(cpus: &BTreeMap<u32, Noises>, cpu: u32, row: &Noises) -> String {
    const TIMES: u64 = 2;
    const FEWEST: u64 = 5;
    let others = |kind: usize| {
        let counts =
            cpus.iter().filter(|(other, _)| **other != cpu).filter_map(|(_, row)| row.counts?.get(kind).copied());
        let mut counts: Vec<u64> = counts.collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied()
    };
    // Noises so numerous that each was a small part of the longest one do not explain it, and too few do not explain
    // the sum.
    const PART: u64 = 100;
    let is_enough = |count: u64| {
        let each = row.noise_us / count.max(1);
        each.saturating_mul(PART) >= row.max_single_us && count.saturating_mul(row.max_single_us) >= row.noise_us / 2
    };
    let kinds =
        row.counts.unwrap_or_default().into_iter().zip(NAMES).enumerate().filter_map(|(kind, (count, name))| {
            let usual = others(kind)?;
            let is_more = count >= usual.saturating_mul(TIMES).max(FEWEST);
            (is_more && is_enough(count)).then_some((count / usual.max(1), count, usual, name))
        });
    let most = kinds.max();
    most.map(|(_, count, usual, name)| {
        format!(" (of the {name} more than on other CPUs: {count} against {usual} in the middle)")
    })
    .unwrap_or_default()
}
