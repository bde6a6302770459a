//! Runs in the formats of cyclictest (rt-tests): the text of `-q -h`, and the document of `--json`.
//!
//! cyclictest measures wakeups in whole microseconds, rounded down, with one thread per CPU; it knows neither loads nor
//! skipped periods. So this writes the raw wakeups of all loads together or of one. A bin wider than a microsecond
//! (from 131 µs on) counts at its end, but not above the maximum.

use punctual_clean as clean;
use punctual_model::{CpuResult, Import, Recording, Run};
use punctual_report::utc_mail;
use punctual_units::{CpuId, Histogram};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CyclictestError {
    /// Nothing was measured, or nothing under this load.
    #[error("{} has no wakeups to write as cyclictest does; type `punctual report RUN` to see its loads", phase.as_ref().map_or("the run".to_owned(), |p| format!("load `{p}`")))]
    Nothing { phase: Option<String> },
    #[error("no histogram was kept of CPU {0}: cyclictest's formats would show nothing where wakeups were")]
    NoHistogram(CpuId),
}

struct Thread {
    cpu: CpuId,
    bins: BTreeMap<u64, u64>,
    cycles: u64,
    min_us: u64,
    max_us: u64,
    mean_us: f64,
    skipped: Option<u64>,
}

/// The output of `cyclictest -q -h`.
///
/// # Errors
/// There are no wakeups, or none of a CPU.
pub fn cyclictest_text(recording: &Recording, load: Option<&str>) -> Result<String, CyclictestError> {
    let threads = threads(recording, load)?;
    let mut out = String::new();
    if let Some(us) = recording.run.settings.cpu_dma_latency_us {
        let _ = writeln!(out, "# /dev/cpu_dma_latency set to {us}us");
    }
    out.push_str("# Histogram\n");
    let mut all: Vec<u64> = threads.iter().flat_map(|t| t.bins.keys().copied()).collect();
    all.sort_unstable();
    all.dedup();
    for us in all {
        let cells: Vec<String> = threads.iter().map(|t| format!("{:06}", t.bins.get(&us).unwrap_or(&0))).collect();
        let _ = writeln!(out, "{us:06} {}", cells.join("\t"));
    }
    let mut row = |name: &str, width: usize, of: &dyn Fn(&Thread) -> u64| {
        let values: String = threads.iter().map(|t| format!(" {:0width$}", of(t))).collect();
        let _ = writeln!(out, "# {name}:{values}");
    };
    row("Total", 9, &|t| t.cycles);
    row("Min Latencies", 5, &|t| t.min_us);
    row("Avg Latencies", 5, &|t| t.mean_us as u64);
    row("Max Latencies", 5, &|t| t.max_us);
    row("Histogram Overflows", 5, &|_| 0);
    out.push_str("# Histogram Overflow at cycle number:\n");
    (0..threads.len()).for_each(|n| out.push_str(&format!("# Thread {n}:\n")));
    out.push('\n');
    Ok(out)
}

/// The document of `cyclictest --json`, with its keys (two of which end in a colon) and `skipped` in each thread.
///
/// # Errors
/// There are no wakeups, or none of a CPU.
pub fn cyclictest_json(recording: &Recording, load: Option<&str>) -> Result<String, CyclictestError> {
    let threads = threads(recording, load)?;
    let run = &recording.run;
    let mut out = String::from("{\n  \"file_version\": 1,\n");
    let command: Vec<&str> = run.command.iter().map(String::as_str).collect();
    let (start, end) = times(run);
    for (key, value) in [
        ("cmdline:", Some(command.join(" "))),
        ("rt_test_version:", Some("2.40".into())),
        ("tool", Some(crate::About::of(run).tool)),
        ("start_time", start),
        ("end_time", end),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "  \"{key}\": {},", quoted(&value));
        }
    }
    // As a finished cyclictest; an incomplete run has failed.
    let _ = writeln!(out, "  \"return_code\": {},\n  \"sysinfo\": {{", u8::from(!run.complete));
    out.push_str(&system(run).join(",\n"));
    let _ =
        writeln!(out, "\n  }},\n  \"num_threads\": {},\n  \"resolution_in_ns\": 0,\n  \"thread\": {{", threads.len());
    let all: Vec<String> = threads.iter().enumerate().map(|(n, t)| thread_json(n, t)).collect();
    Ok(out + &all.join(",\n") + "\n  }\n}\n")
}

fn times(run: &Run) -> (Option<String>, Option<String>) {
    let told = |of: fn(&Import) -> Option<u64>| run.import.as_ref().and_then(of);
    let start = run.started.map(|s| s.real_ns).or_else(|| told(|i| i.started_real_ns));
    let end = run.ended.map(|s| s.real_ns).or_else(|| told(|i| i.ended_real_ns));
    (start.map(utc_mail), end.map(utc_mail))
}

fn system(run: &Run) -> Vec<String> {
    let machine = &run.machine;
    let text = |value: &Option<String>| value.as_deref().map(quoted);
    let rows = [
        ("sysname", Some("\"Linux\"".to_owned())),
        ("nodename", text(&run.host)),
        ("release", text(&machine.kernel_release)),
        ("version", text(&machine.kernel_version)),
        ("machine", text(&machine.architecture)),
        ("realtime", machine.preempt_rt.map(|is| u8::from(is).to_string())),
    ];
    rows.into_iter().filter_map(|(key, value)| Some(format!("    \"{key}\": {}", value?))).collect()
}

fn thread_json(n: usize, thread: &Thread) -> String {
    let bins: Vec<String> = thread.bins.iter().map(|(us, count)| format!("\n        \"{us}\": {count}")).collect();
    let skipped = thread.skipped.map(|n| format!("      \"skipped\": {n},\n")).unwrap_or_default();
    let Thread { cpu, cycles, min_us, max_us, mean_us, .. } = thread;
    format!(
        "    \"{n}\": {{\n      \"histogram\": {{{}\n      }},\n      \"cycles\": {cycles},\n      \"min\": {min_us},\n      \
         \"max\": {max_us},\n      \"avg\": {mean_us:.2},\n{skipped}      \"cpu\": {cpu},\n      \"node\": -1\n    }}",
        bins.join(",")
    )
}

/// A JSON string made harmless, with `<` escaped as in all our documents.
fn quoted(text: &str) -> String {
    Value::from(clean::line(text)).to_string().replace('<', "\\u003c")
}

/// One thread per CPU in ascending order, from all phases or those whose load, label or id is `load`.
fn threads(recording: &Recording, load: Option<&str>) -> Result<Vec<Thread>, CyclictestError> {
    let mut by_cpu: BTreeMap<CpuId, (Histogram, Vec<&CpuResult>)> = BTreeMap::new();
    for phase in &recording.run.phases {
        let names = [Some(phase.id.as_str()), Some(phase.load.as_str()), phase.label.as_deref()];
        if load.is_some_and(|load| !names.contains(&Some(load))) {
            continue;
        }
        for result in phase.cpus.iter().filter(|result| result.ran > 0) {
            let kept = recording.distribution(&phase.id, result.cpu).filter(|d| !d.raw.is_empty());
            let kept = kept.ok_or(CyclictestError::NoHistogram(result.cpu))?;
            let (histogram, results) = by_cpu.entry(result.cpu).or_default();
            histogram.merge(&kept.raw);
            results.push(result);
        }
    }
    if by_cpu.is_empty() {
        return Err(CyclictestError::Nothing { phase: load.map(clean::line) });
    }
    Ok(by_cpu.into_iter().map(|(cpu, (histogram, results))| thread(cpu, &histogram, &results)).collect())
}

fn thread(cpu: CpuId, histogram: &Histogram, results: &[&CpuResult]) -> Thread {
    let max = histogram.max().unwrap_or(0);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for bin in histogram.bins() {
        let at = bins.entry(bin.high.min(max) / 1_000).or_default();
        *at = at.saturating_add(bin.count);
    }
    Thread {
        cpu,
        bins,
        cycles: histogram.count(),
        min_us: histogram.min().unwrap_or(0) / 1_000,
        max_us: max / 1_000,
        mean_us: histogram.mean().unwrap_or(0.0) / 1_000.0,
        skipped: results.iter().try_fold(0u64, |sum, r| Some(sum.saturating_add(r.skipped?))),
    }
}
