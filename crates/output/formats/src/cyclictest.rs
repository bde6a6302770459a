//! Runs in the formats of cyclictest (rt-tests): the text of `-q -h`, and the document of `--json`.
//!
//! cyclictest measures wakeups in whole microseconds, rounded down, with one thread per CPU, and has neither loads nor
//! skipped periods. This module therefore writes the raw wakeups of all loads together or of a single load. A bin wider
//! than a microsecond (from 131 µs on) counts at its upper end, but not above the maximum.
//!
//! Values that another tool's file does not state are omitted; a row of the text is written only if its value is known
//! for every thread. Samples beyond the last bin are overflows. The output thus contains all known values and no
//! others.

use punctual_clean as clean;
use punctual_model::{Blur, CpuResult, Import, Known, Recording, Run};
use punctual_report::{utc_mail, words};
use punctual_units::{Bin, CpuId, Histogram};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CyclictestError {
    /// Nothing was measured, or nothing under this load.
    #[error("{} has no wakeups to write in cyclictest's format; see its loads with `punctual report RUN`", phase.as_ref().map_or("the run".to_owned(), |p| format!("load `{p}`")))]
    Nothing { phase: Option<String> },
    #[error("no histogram was kept for CPU {0}: cyclictest's formats would show no wakeups although there were some")]
    NoHistogram(CpuId),
}

/// Wakeups of one CPU. Unknown values are `None`.
struct Thread {
    cpu: CpuId,
    /// Samples by microsecond; `None` if only the count and the extremes are known.
    bins: Option<BTreeMap<u64, u64>>,
    /// Number of counted samples that do not fall into any bin.
    overflows: Option<u64>,
    cycles: Option<u64>,
    min_us: Option<u64>,
    max_us: Option<u64>,
    mean_us: Option<f64>,
    skipped: Option<u64>,
}

/// Result of a CPU in a phase, and its wakeups.
type Part<'a> = (&'a CpuResult, &'a Histogram);

impl Thread {
    /// Returns cyclictest's `Total`: the number of samples in the bins, without the overflows.
    fn total(&self) -> Option<u64> {
        let beyond = if self.bins.is_some() { self.overflows? } else { 0 };
        Some(self.cycles? - beyond)
    }
}

/// Writes the output of `cyclictest -q -h`.
///
/// # Errors
/// There are no wakeups, or none on one of the CPUs.
pub fn cyclictest_text(recording: &Recording, load: Option<&str>) -> Result<String, CyclictestError> {
    let threads = threads(recording, load)?;
    let mut out = String::new();
    if let Some(us) = recording.run.settings.cpu_dma_latency_us {
        let _ = writeln!(out, "# /dev/cpu_dma_latency set to {us}us");
    }
    out.push_str("# Histogram\n");
    bins(&mut out, &threads);
    row(&mut out, "Total", 9, &threads, Thread::total);
    row(&mut out, "Min Latencies", 5, &threads, |t| t.min_us);
    row(&mut out, "Avg Latencies", 5, &threads, |t| t.mean_us.map(|us| us as u64));
    row(&mut out, "Max Latencies", 5, &threads, |t| t.max_us);
    if threads.iter().all(|t| t.bins.is_some() && t.overflows.is_some()) {
        row(&mut out, "Histogram Overflows", 5, &threads, |t| t.overflows);
        out.push_str("# Histogram Overflow at cycle number:\n");
        (0..threads.len()).for_each(|n| out.push_str(&format!("# Thread {n}:\n")));
    }
    for sentence in words::not_known(recording) {
        let _ = writeln!(out, "# not known: {}", clean::line(&sentence));
    }
    out.push('\n');
    Ok(out)
}

/// Writes the rows of the histogram, up to the end of the first thread's bins. Writes nothing unless every thread has a
/// histogram.
fn bins(out: &mut String, threads: &[Thread]) {
    let Some(all) = threads.iter().map(|t| t.bins.as_ref()).collect::<Option<Vec<_>>>() else { return };
    let rows: BTreeSet<u64> = all.iter().flat_map(|bins| bins.keys().copied()).collect();
    for us in rows {
        let cells: Vec<String> = all.iter().map(|bins| format!("{:06}", bins.get(&us).unwrap_or(&0))).collect();
        let _ = writeln!(out, "{us:06} {}", cells.join("\t"));
    }
}

/// Writes a row of the summary. Writes nothing if the value is unknown for one of the threads.
fn row(out: &mut String, name: &str, width: usize, threads: &[Thread], of: impl Fn(&Thread) -> Option<u64>) {
    if let Some(values) = threads.iter().map(of).collect::<Option<Vec<u64>>>() {
        let values: String = values.iter().map(|value| format!(" {value:0width$}")).collect();
        let _ = writeln!(out, "# {name}:{values}");
    }
}

/// Writes the document of `cyclictest --json` with its keys (two of which end in a colon), and `skipped` for each
/// thread.
///
/// # Errors
/// There are no wakeups, or none on one of the CPUs.
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
    let not_known = words::not_known(recording);
    if !not_known.is_empty() {
        let sentences: Vec<String> = not_known.iter().map(|text| quoted(text)).collect();
        let _ = writeln!(out, "  \"not_known\": [{}],", sentences.join(", "));
    }
    // 0 as for a completed cyclictest. An incomplete run, or one from a damaged file, counts as failed.
    let has_failed = !run.complete || !recording.damaged().is_empty();
    let _ = writeln!(out, "  \"return_code\": {},\n  \"sysinfo\": {{", u8::from(has_failed));
    out.push_str(&system(run).join(",\n"));
    let _ =
        writeln!(out, "\n  }},\n  \"num_threads\": {},\n  \"resolution_in_ns\": 0,\n  \"thread\": {{", threads.len());
    let all: Vec<String> = threads.iter().enumerate().map(|(n, t)| thread_json(n, t)).collect();
    Ok(out + &all.join(",\n") + "\n  }\n}\n")
}

fn times(run: &Run) -> (Option<String>, Option<String>) {
    let imported = |of: fn(&Import) -> Option<u64>| run.import.as_ref().and_then(of);
    let start = run.started.map(|s| s.real_ns).or_else(|| imported(|i| i.started_real_ns));
    let end = run.ended.map(|s| s.real_ns).or_else(|| imported(|i| i.ended_real_ns));
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
    let histogram = thread.bins.as_ref().map(|bins| {
        let bins: Vec<String> = bins.iter().map(|(us, count)| format!("\n        \"{us}\": {count}")).collect();
        format!("{{{}\n      }}", bins.join(","))
    });
    let number = |value: Option<u64>| value.map(|n| n.to_string());
    let fields = [
        ("histogram", histogram),
        ("cycles", number(thread.cycles)),
        ("min", number(thread.min_us)),
        ("max", number(thread.max_us)),
        ("avg", thread.mean_us.map(|us| format!("{us:.2}"))),
        ("skipped", number(thread.skipped)),
        ("cpu", Some(thread.cpu.to_string())),
        ("node", Some("-1".into())),
    ];
    let known: Vec<String> =
        fields.into_iter().filter_map(|(key, value)| Some(format!("      \"{key}\": {}", value?))).collect();
    format!("    \"{n}\": {{\n{}\n    }}", known.join(",\n"))
}

/// Returns a sanitised JSON string, with `<` escaped as in all documents of this program.
fn quoted(text: &str) -> String {
    Value::from(clean::line(text)).to_string().replace('<', "\\u003c")
}

/// Returns one thread per CPU in ascending order, from all phases, or from those whose load, label or ID is `load`.
fn threads(recording: &Recording, load: Option<&str>) -> Result<Vec<Thread>, CyclictestError> {
    let mut by_cpu: BTreeMap<CpuId, (Known, Vec<Part>)> = BTreeMap::new();
    for phase in &recording.run.phases {
        let names = [Some(phase.id.as_str()), Some(phase.load.as_str()), phase.label.as_deref()];
        if load.is_some_and(|load| !names.contains(&Some(load))) {
            continue;
        }
        for result in phase.cpus.iter().filter(|result| result.ran > 0) {
            let kept = recording.distribution(&phase.id, result.cpu).filter(|d| !d.raw.is_empty());
            let kept = kept.ok_or(CyclictestError::NoHistogram(result.cpu))?;
            let (known, results) = by_cpu.entry(result.cpu).or_default();
            known.add(&Known::new(Cow::Borrowed(&kept.raw), Blur::of(result)));
            results.push((result, &kept.raw));
        }
    }
    if by_cpu.is_empty() {
        return Err(CyclictestError::Nothing { phase: load.map(clean::line) });
    }
    let end_us = by_cpu.values().filter_map(|(known, _)| known.blur().unplaced).map(|u| u.from_ns / 1_000).min();
    Ok(by_cpu.into_iter().map(|(cpu, (known, results))| thread(cpu, &known, &results, end_us)).collect())
}

/// Converts the results of a CPU. Bins from `end_us` (the end of the first thread's bins) on are omitted, because each
/// row has a column for every thread.
fn thread(cpu: CpuId, known: &Known, results: &[Part], end_us: Option<u64>) -> Thread {
    let values = known.values();
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let us = |bin: &Bin| known.blur().most_of(bin, values.max()).saturating_sub(known.blur().above_ns) / 1_000;
    for bin in values.bins().filter(|bin| end_us.is_none_or(|end| us(bin) < end)) {
        let at = bins.entry(us(&bin)).or_default();
        *at = at.saturating_add(bin.count);
    }
    let binned = bins.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    // Adds an empty last bin, because a reader assumes that overflows start at the row after the last one.
    end_us.and_then(|end| end.checked_sub(1)).map(|last| bins.entry(last).or_default());
    Thread {
        cpu,
        bins: (!known.is_summary()).then_some(bins),
        overflows: known.count().map(|all| all - binned),
        cycles: known.count(),
        min_us: known.min().map(|ns| ns / 1_000),
        max_us: known.max().map(|ns| ns / 1_000),
        mean_us: mean_ns(results).map(|ns| ns / 1_000.0),
        skipped: results.iter().try_fold(0u64, |sum, (r, _)| Some(sum.saturating_add(r.skipped?))),
    }
}

/// Returns the mean latency, ns; for an imported file, the mean stated in the file.
fn mean_ns(results: &[Part]) -> Option<f64> {
    let mean = |result: &CpuResult, raw: &Histogram| if result.blur.is_some() { result.mean_ns } else { raw.mean() };
    let mut sum = 0.0;
    for (result, raw) in results {
        sum += mean(result, raw)? * raw.count() as f64;
    }
    let count: u64 = results.iter().map(|(_, raw)| raw.count()).sum();
    (count > 0).then(|| sum / count as f64)
}
