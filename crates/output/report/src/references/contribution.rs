//! Formats a run as a file that its owner can publish beside the results of others: without names, times, paths or
//! command lines.

use crate::figures::recorded_ns;
use crate::number::plural;
use punctual_model::{Blur, Known, Phase, Recording, State};
use punctual_references::{Board, EpisodeCount, Flavour, LARGEST, Published, Quantile, Quantity, ReadFrom, core_of};
use punctual_units::{Histogram, Nanos};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Parameters of the kernel's command line that are written, with their values: those that isolate CPUs and tune
/// latencies (Documentation/admin-guide/kernel-parameters.txt). All others may be private.
const PARAMETERS: &[&str] = &[
    "cpuidle.off",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "preempt",
    "processor.max_cstate",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcupdate.rcu_expedited",
    "skew_tick",
    "threadirqs",
    "tsc",
];

const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// Minimum number of wakeups of a CPU for a measurement to count, as in the file format.
const FEWEST: u64 = 100;

/// Parts of a run that are not written to the contributed file.
const LEFT_OUT: &str = "host name, command lines, paths, times of day, names of tasks and devices, texts of the audit, \
                        other kernel parameters, worst wakeups, traces, histograms";

#[derive(Debug)]
pub struct Contribution {
    /// The contribution as TOML in the format of `crates/output/references/boards`.
    pub text: String,
    /// Number of entries in the contribution.
    pub measurements: usize,
    /// Descriptions of what was omitted from the contribution.
    pub left_out: Vec<String>,
}

/// Formats a run as a contribution. Fails if nothing can be contributed.
///
/// # Errors
///
/// Returns why: the run is not a measurement of wakeups on a real clock, is damaged, or names neither board nor
/// processor.
pub fn contribution(recording: &Recording) -> Result<Contribution, String> {
    let run = &recording.run;
    if run.import.is_some() || run.virtual_time.is_some() || !super::is_of_timers(recording) {
        return Err("only wakeups by a timer that punctual measured on a real clock can be contributed".into());
    }
    if !recording.damage.is_empty() {
        return Err(format!("the run is damaged: {}", recording.damage.join("; ")));
    }
    let named = run.machine.board.as_deref().or(run.machine.cpu_model.as_deref());
    let model = named.ok_or("the run names neither its board nor its processor")?;
    let mut left_out = vec![LEFT_OUT.to_owned()];
    let mut published = Vec::new();
    for phase in &run.phases {
        match entry(recording, phase) {
            Some(entry) => published.push(entry),
            None => left_out.push(format!("phase {}: fewer than {FEWEST} wakeups of a CPU", phase.id)),
        }
    }
    if published.is_empty() {
        return Err(format!("no phase has {FEWEST} wakeups of each CPU"));
    }
    let commands = run.phases.iter().filter(|phase| own_command(&phase.load)).count() as u64;
    if commands > 0 {
        left_out.push(format!("{} of a load", plural(commands, "command line", "command lines")));
    }
    let measurements = published.len();
    let board = board(recording, model, published);
    let text = toml::to_string(&board).map_err(|error| error.to_string())?;
    let text = format!("{HEAD}{text}");
    let errors: Vec<String> =
        punctual_references::check(&text).into_iter().filter(|p| p.is_error).map(|p| p.what).collect();
    if !errors.is_empty() || text.len() > LARGEST {
        return Err(format!("the run cannot be written in this format: {}", errors.join("; ")));
    }
    Ok(Contribution { text, measurements, left_out })
}

const HEAD: &str = "\
# Measured wakeup latencies, to be published: read this file, remove what you do not want to show, add `soc`, `date` and `note`.
# Once it is published, add its address as `url`. Check: punctual references check FILE
";

fn board(recording: &Recording, model: &str, published: Vec<Published>) -> Board {
    let machine = &recording.run.machine;
    let known = punctual_references::board(model);
    let plain: String = model.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Board {
        key: known.map_or_else(|| key(&plain), |board| board.key.clone()),
        name: known.map_or(plain, |board| board.name.clone()),
        soc: known.and_then(|board| board.soc.clone()),
        core: machine.cpu_model.as_deref().and_then(core_of).map(str::to_owned),
        cpus: machine.cpus_online.as_ref().map(|cpus| cpus.len() as u64).filter(|n| *n > 0),
        soc_source: None,
        models: Vec::new(),
        plans: Vec::new(),
        notes: Vec::new(),
        published,
    }
}

/// Converts `Some Board, rev. 2` to `some-board-rev-2`.
fn key(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    let cut: String = joined.chars().take(60).collect();
    if cut.is_empty() { "board".to_owned() } else { cut }
}

fn own_command(load: &str) -> bool {
    load.starts_with("cmd:")
}

fn entry(recording: &Recording, phase: &Phase) -> Option<Published> {
    let run = &recording.run;
    let samples = phase.cpus.iter().map(|cpu| cpu.scored()).min().filter(|n| *n >= FEWEST)?;
    let mut all = Histogram::new();
    for cpu in &phase.cpus {
        let distribution = recording.distribution(&phase.id, cpu.cpu)?;
        all.merge(&distribution.corrected());
    }
    let known = Known::new(Cow::Owned(all), Blur::EXACT);
    let worst = known.all().max()?;
    let mean = known.all().mean()?;
    let quantiles = QUANTILES.iter().filter_map(|p| Some(Quantile { p: *p, us: micros(known.quantile(*p)?) }));
    let load = if own_command(&phase.load) { "a command of the user".to_owned() } else { phase.load.clone() };
    let is_virtual = run.machine.virtualisation.as_ref().is_some_and(|name| name != "none");
    Some(Published {
        flavour: match (is_virtual, run.machine.preempt_rt) {
            (false, Some(true)) => Flavour::PreemptRt,
            (false, Some(false)) => Flavour::Stock,
            _ => Flavour::Other,
        },
        quantity: Quantity::Wakeup,
        approximate: false,
        kernel: run.machine.kernel_release.clone(),
        preempt: run.machine.preemption.clone(),
        tuning: tuning(recording),
        settings: settings(recording),
        load: Some(load),
        tool: Some(
            run.tool.version.as_ref().map_or_else(|| run.tool.name.clone(), |v| format!("{} {v}", run.tool.name)),
        ),
        options: run.settings.scheduling.map(|scheduling| scheduling.to_string()),
        duration_s: Some((recorded_ns(recording, phase) + 500_000_000) / 1_000_000_000).filter(|s| *s > 0),
        samples: Some(samples),
        interval_us: run.settings.period_ns.map(|period| micros(period.0)),
        threads: Some(phase.cpus.len() as u64),
        worst_us: micros(worst),
        mean_us: Some(micros(mean.round() as u64).min(micros(worst))),
        min_us: known.all().min().map(micros),
        quantiles: quantiles.collect(),
        episodes: episodes(phase),
        temperature_c: None,
        date: None,
        source: format!("measured with {} by the owner of the machine", run.tool.name),
        url: None,
        read: ReadFrom::Own,
        quote: None,
        note: note(recording, phase, is_virtual),
    })
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Lists the isolation and tuning parameters, and the governors.
fn tuning(recording: &Recording) -> Option<String> {
    let machine = &recording.run.machine;
    let words = machine.cmdline.iter().flat_map(|line| line.split_whitespace());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,.:_-".contains(c);
    let shown = words.filter(|word| {
        let name = word.split('=').next().unwrap_or_default().replace('-', "_");
        PARAMETERS.contains(&name.as_str()) && word.chars().all(is_plain)
    });
    let mut parts: Vec<String> = shown.map(str::to_owned).collect();
    let mut governors = machine.governors.clone().unwrap_or_default();
    governors.sort();
    governors.dedup();
    governors.retain(|name| name.chars().all(is_plain));
    if !governors.is_empty() {
        parts.push(format!("governor {}", governors.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Lists the rules of the audit that fail or warn.
fn settings(recording: &Recording) -> Vec<String> {
    let open = recording.findings.iter().filter(|finding| matches!(finding.state, State::Fail | State::Warn));
    open.map(|finding| format!("{}: {}", finding.id, if finding.state == State::Fail { "fail" } else { "warn" }))
        .collect()
}

/// Returns the late episodes of all CPUs above each limit, without the limits that were never exceeded.
fn episodes(phase: &Phase) -> Vec<EpisodeCount> {
    let mut counts: BTreeMap<Nanos, u64> = BTreeMap::new();
    for episodes in phase.cpus.iter().flat_map(|cpu| &cpu.episodes) {
        *counts.entry(episodes.limit_ns).or_default() += episodes.count;
    }
    counts.retain(|_, count| *count > 0);
    let mut kept: Vec<EpisodeCount> = Vec::new();
    for (limit, count) in counts {
        // A limit may be claimed for one CPU only. A count larger than that of a lower limit is from more CPUs.
        if kept.last().is_none_or(|last| count <= last.count) {
            kept.push(EpisodeCount { above_us: micros(limit.0), count });
        }
    }
    kept
}

fn note(recording: &Recording, phase: &Phase, is_virtual: bool) -> Option<String> {
    let mut parts = Vec::new();
    if is_virtual {
        parts.push("in a virtual machine".to_owned());
    }
    if !recording.run.complete {
        parts.push("the run was ended before its planned end".to_owned());
    }
    let problems = (phase.problems.len() + recording.run.problems.len()) as u64;
    if problems > 0 {
        parts.push(format!("{} made this phase inconclusive", plural(problems, "problem", "problems")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
