use crate::Imported;
use crate::block::{Block, Found, Loss};
use crate::settle::settle;
use punctual_model::{
    CpuResult, Import, Kind, Lost, LostKind, Phase, Problem, ProblemKind, Recording, Run, Series, Tool,
};
use punctual_units::{Arrange, CpuId, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// First version of the run format that supports imports.
const SCHEMA_VERSION: &str = "1.3";

/// Makes a run with one phase per table, in the order of the files. `punctual-rundir` can write it, and it is judged
/// and reported like any other run.
pub fn recording(files: Vec<Imported>) -> Recording {
    let several = files.len() > 1;
    let tool = Tool { name: "another tool".into(), version: None };
    let mut recording = Recording::new(Run { schema_version: SCHEMA_VERSION.into(), ..Run::new(tool, Kind::Imported) });
    let mut import = Import::default();
    let mut facts = Facts::default();
    for Imported { file, found } in files {
        if import.format.is_empty() {
            import.format.clone_from(&file.format);
        }
        let name = stem(&file.name);
        import.files.push(file);
        let mut names = Names::of(&found);
        for found in found {
            facts.add(&found);
            for loss in &found.lost {
                lose(&mut recording.run.problems, &mut import.lost, loss, None);
            }
            recording.run.notes.extend(found.notes);
            import.series.extend(found.series.into_iter().map(|s| of_file(s, several.then_some(&name))));
            for block in found.blocks {
                let label = names.label(&block);
                let label = if several { format!("{name}: {label}") } else { label };
                add_phase(&mut recording, &mut import, block, label);
            }
        }
    }
    facts.into_run(&mut recording.run, &mut import);
    usual_losses(&recording, &mut import);
    recording.run.complete = !import.lost.iter().any(|l| l.kind == LostKind::Truncated);
    recording.run.import = Some(import);
    recording
}

/// Generates names that distinguish several results in one text.
struct Names {
    /// Number of occurrences of each label.
    labels: BTreeMap<String, usize>,
    /// For each label, the number of results named so far.
    named: BTreeMap<String, usize>,
}

impl Names {
    fn of(found: &[Found]) -> Names {
        let mut labels: BTreeMap<String, usize> = BTreeMap::new();
        for block in found.iter().flat_map(|found| &found.blocks) {
            *labels.entry(block.label.clone()).or_default() += 1;
        }
        Names { labels, named: BTreeMap::new() }
    }

    /// Returns the name of a result. If a text has several results of a kind, it consists of number, line, and the
    /// preceding text.
    fn label(&mut self, block: &Block) -> String {
        let number = self.named.entry(block.label.clone()).or_default();
        *number += 1;
        let mut parts = Vec::new();
        if self.labels.get(&block.label).is_some_and(|n| *n > 1) {
            let line = if block.line > 0 { format!(", line {}", block.line) } else { String::new() };
            let before = block.before.as_deref().map(|text| text.trim_matches(['=', '-', '*', '#', ':', ' ']));
            let before = before.filter(|text| !text.is_empty()).map(|text| text.chars().take(40).collect::<String>());
            let before = before.map_or_else(String::new, |text| format!(" ({text})"));
            parts.push(format!("run {number}{line}{before}"));
        }
        parts.splice(0..0, block.source.clone());
        parts.push(block.label.clone());
        parts.join(": ")
    }
}

fn stem(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let short: String = stem.chars().take(40).collect();
    if short.is_empty() { "file".into() } else { short }
}

fn of_file(mut series: Series, name: Option<&String>) -> Series {
    if let Some(name) = name {
        series.of = format!("{name}: {}", series.of);
    }
    series
}

/// Facts that apply to the run only if all files agree, or if there is a single file.
#[derive(Default)]
struct Facts {
    tools: Vec<(Option<String>, Option<String>)>,
    hosts: BTreeSet<Option<String>>,
    machines: Vec<punctual_model::MachineFacts>,
    commands: Vec<Vec<String>>,
    dma: BTreeSet<Option<i32>>,
    started: Option<u64>,
    ended: Option<u64>,
    periods: BTreeSet<Option<u64>>,
    resolution: Option<u64>,
}

impl Facts {
    fn add(&mut self, found: &Found) {
        self.tools.push((found.tool.clone(), found.version.clone()));
        self.hosts.insert(found.host.clone());
        self.machines.push(found.machine.clone());
        self.commands.push(found.command.clone());
        self.dma.insert(found.dma_latency_us);
        self.started = self.started.into_iter().chain(found.started_real_ns).min();
        self.ended = self.ended.into_iter().chain(found.ended_real_ns).max();
        for thread in found.blocks.iter().flat_map(|b| &b.threads) {
            self.periods.insert(thread.period_ns);
            self.resolution = self.resolution.max(Some(thread.width_ns.max(1)));
        }
    }

    fn into_run(self, run: &mut Run, import: &mut Import) {
        let same = |set: &BTreeSet<Option<u64>>| if set.len() == 1 { set.first().copied().flatten() } else { None };
        run.settings.period_ns = same(&self.periods).map(Nanos);
        if self.hosts.len() == 1 {
            run.host = self.hosts.into_iter().next().flatten();
        }
        if self.dma.len() == 1 {
            run.settings.cpu_dma_latency_us = self.dma.into_iter().next().flatten();
        }
        if let [first, rest @ ..] = self.machines.as_slice()
            && rest.iter().all(|m| m == first)
        {
            run.machine = first.clone();
        }
        if let [only] = self.commands.as_slice() {
            run.command.clone_from(only);
        }
        let names: BTreeSet<&str> = self.tools.iter().filter_map(|(name, _)| name.as_deref()).collect();
        if !names.is_empty() {
            run.tool.name = names.into_iter().collect::<Vec<_>>().join(", ");
        }
        let versions: BTreeSet<&Option<String>> = self.tools.iter().map(|(_, version)| version).collect();
        if versions.len() == 1 {
            run.tool.version = versions.into_iter().next().cloned().flatten();
        }
        (import.started_real_ns, import.ended_real_ns, import.resolution_ns) =
            (self.started, self.ended, self.resolution);
    }
}

fn lose(problems: &mut Vec<Problem>, lost: &mut Vec<Lost>, loss: &Loss, place: Option<(&str, Option<CpuId>)>) {
    let number = loss.count.map(|n| format!(" ({n})")).unwrap_or_default();
    let cpu = place.and_then(|(_, cpu)| cpu);
    if loss.problem {
        let who = cpu.map(|cpu| format!("CPU {cpu}: ")).unwrap_or_default();
        let kind = if loss.kind == LostKind::Truncated { ProblemKind::Interrupted } else { ProblemKind::Storage };
        problems.push(Problem { kind, text: format!("{who}{}{number}", loss.text) });
    }
    let phase = place.map(|(phase, _)| phase.to_owned());
    lost.push(Lost { kind: loss.kind, phase, cpu, count: loss.count, text: loss.text.clone() });
}

fn add_phase(recording: &mut Recording, import: &mut Import, block: Block, label: String) {
    let id = format!("{}-{}", recording.run.phases.len() + 1, word(&block.label));
    let (mut problems, mut cpus): (Vec<Problem>, Vec<CpuResult>) = Default::default();
    for loss in &block.lost {
        lose(&mut problems, &mut import.lost, loss, Some((&id, None)));
    }
    // Uses either the recorded CPUs or thread numbers for all threads; mixes and duplicates are not allowed.
    let stated: BTreeSet<u32> = block.threads.iter().filter_map(|t| t.cpu).collect();
    let by_cpu = stated.len() == block.threads.len();
    let numbers: BTreeSet<u32> = block.threads.iter().map(|t| t.number).collect();
    let by_number = numbers.len() == block.threads.len();
    if !by_cpu && !by_number {
        let text = "a thread or CPU appears twice: column numbers are used as CPU numbers";
        lose(&mut problems, &mut import.lost, &Loss::problem(LostKind::Disagreement, None, text), Some((&id, None)));
    } else if !by_cpu {
        let text = "the CPU of each thread is not stated: thread numbers are used as CPU numbers";
        lose(&mut problems, &mut import.lost, &Loss::reported(LostKind::Affinity, None, text), Some((&id, None)));
    }
    for (column, thread) in block.threads.into_iter().enumerate() {
        let number = if by_number { thread.number } else { column as u32 };
        let cpu = CpuId(thread.cpu.filter(|_| by_cpu).unwrap_or(number));
        let settled = settle(thread, cpu);
        for loss in &settled.lost {
            lose(&mut problems, &mut import.lost, loss, Some((&id, Some(cpu))));
        }
        cpus.push(settled.result);
        recording.distributions.insert((id.clone(), cpu), settled.distribution);
    }
    cpus.arrange_by_key(|c| c.cpu);
    recording.run.phases.push(Phase {
        id,
        load: "unknown".into(),
        label: Some(label),
        value: None,
        period_ns: None,
        start_mono_ns: None,
        end_mono_ns: None,
        planned_ns: None,
        cpus,
        load_report: None,
        busy_with_others: None,
        traced: None,
        rounds: Vec::new(),
        problems,
    });
}

fn word(label: &str) -> String {
    let word: String =
        label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    word.trim_matches('-').chars().take(40).collect()
}

fn usual_losses(recording: &Recording, import: &mut Import) {
    if recording.run.phases.is_empty() {
        return;
    }
    let mut add = |kind, text: String| import.lost.push(Lost { kind, phase: None, cpu: None, count: None, text });
    if let Some(step) = import.resolution_ns.filter(|&ns| ns > 1) {
        let text = format!(
            "latencies have steps of {}: each is placed at its lowest possible value, and quantiles may be at most a step, or \
             0.78 %, below the actual values",
            Nanos(step)
        );
        add(LostKind::Resolution, text);
    }
    let upper = recording.run.phases.iter().flat_map(|p| &p.cpus).any(|c| c.blur.is_some_and(|b| b.below_ns > 0));
    if upper {
        let text = "oslat names bins by their upper edge: each gap is placed at its highest possible value".into();
        add(LostKind::Resolution, text);
    }
    let order =
        "samples have no order in time: clusters of late ones cannot be detected, and they count as independent";
    add(LostKind::Order, order.into());
}
