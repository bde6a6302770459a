//! Reports what an export omits because another tool's file does not contain it.

use super::{and, phase_name, stopped};
use crate::number::plural;
use punctual_model::{Blur, CpuResult, Known, Phase, Recording, Unplaced};
use punctual_units::{CpuId, Histogram, Nanos};
use std::borrow::Cow;

/// Maximum number of CPUs named in a sentence.
const NAMED: usize = 4;

/// Returns one sentence for each kind of unknown values of a phase, and one for each kind of damage to the file. Empty
/// for a run whose samples are all known.
pub fn not_known(recording: &Recording) -> Vec<String> {
    let phases = recording.run.phases.iter().flat_map(|phase| of_phase(recording, phase));
    let damage = recording.damaged().into_iter().map(|text| stopped(&format!("the data are damaged: {text}")));
    phases.chain(damage).collect()
}

/// The CPUs with the same kind of gap, the number of samples that it affects, and the least latency of these samples.
#[derive(Default)]
struct Gap {
    cpus: Vec<CpuId>,
    samples: u64,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
}

impl Gap {
    fn add(&mut self, cpu: CpuId, samples: u64, from_ns: u64, to_ns: Option<u64>) {
        let was_bounded = self.cpus.is_empty() || self.to_ns.is_some();
        self.to_ns = to_ns.filter(|_| was_bounded).map(|to| to.max(self.to_ns.unwrap_or(0)));
        self.cpus.push(cpu);
        self.samples = self.samples.saturating_add(samples);
        self.from_ns = self.from_ns.into_iter().chain([from_ns]).min();
    }
}

fn of_phase(recording: &Recording, phase: &Phase) -> Vec<String> {
    let (mut summary, mut overflow, mut hidden) = (Gap::default(), Gap::default(), Gap::default());
    for result in &phase.cpus {
        let blur = Blur::of(result);
        if let Some(Unplaced { from_ns, to_ns, .. }) = blur.unplaced {
            let (is_summary, beyond) = beyond(recording, phase, result, blur);
            let gap = if is_summary { &mut summary } else { &mut overflow };
            gap.add(result.cpu, beyond, from_ns, to_ns);
        }
        if let Some(from_ns) = blur.hidden_from_ns {
            hidden.add(result.cpu, 0, from_ns, None);
        }
    }
    let from = |gap: &Gap| Nanos(gap.from_ns.unwrap_or(0));
    let to = |gap: &Gap| gap.to_ns.map(|to| format!(" and at most {}", Nanos(to))).unwrap_or_default();
    let said = |gap: &Gap, text: String| {
        (!gap.cpus.is_empty()).then(|| stopped(&format!("{}{text}", place(recording, phase, &gap.cpus))))
    };
    let samples = |gap: &Gap| plural(gap.samples, "sample", "samples");
    [
        said(
            &summary,
            format!(
                "for {} the file contains only the number of samples and the smallest{} and largest value; the histogram and the quantiles are omitted",
                samples(&summary),
                if phase.cpus.iter().all(|result| result.mean_ns.is_some()) { ", mean" } else { "" }
            ),
        ),
        said(
            &overflow,
            format!(
                "for {} the file contains only that each is at least {}{}; bins and quantiles from there on are omitted",
                samples(&overflow),
                from(&overflow),
                to(&overflow)
            ),
        ),
        said(
            &hidden,
            format!(
                "latencies of {} and more are not counted in the file; their number, the largest and the quantiles are omitted",
                from(&hidden)
            ),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns whether only number and extremes are known, and how many samples have no value.
fn beyond(recording: &Recording, phase: &Phase, result: &CpuResult, blur: Blur) -> (bool, u64) {
    let none = Histogram::new();
    let raw = recording.distribution(&phase.id, result.cpu).map_or(&none, |d| &d.raw);
    let known = Known::new(Cow::Borrowed(raw), blur);
    (known.values().is_empty(), known.beyond())
}

fn place(recording: &Recording, phase: &Phase, cpus: &[CpuId]) -> String {
    let several = recording.run.phases.len() > 1;
    let name = several.then(|| format!("`{}`", phase_name(recording, &phase.id)));
    let cpus = match cpus {
        all if all.len() == phase.cpus.len() => None,
        few if few.len() <= NAMED => {
            Some(format!("CPU {}", and(&few.iter().map(CpuId::to_string).collect::<Vec<_>>())))
        }
        many => Some(format!("{} CPUs", many.len())),
    };
    let both: Vec<String> = name.into_iter().chain(cpus).collect();
    if both.is_empty() { String::new() } else { format!("{}: ", both.join(", ")) }
}
