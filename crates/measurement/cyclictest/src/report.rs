//! Writes what follows after the threads have ended: the rest of standard output, the files, and warnings about results
//! that cyclictest's format cannot express.

use crate::error::RunError;
use crate::json::{self, Circumstances};
use crate::options::Options;
use crate::output::{print, warn};
use crate::plan::Plan;
use crate::stat::Stat;
use crate::text;
use crate::worker::Shared;
use punctual_directory::Dir;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) fn report(
    options: &Options,
    plan: &Plan,
    (shared, interrupts): (&Shared, &[u64]),
    when: &Circumstances,
) -> Result<(), RunError> {
    let stats = &shared.stats;
    let broke = (shared.broke.0.load(Relaxed), shared.broke.1.load(Relaxed));
    let (out, histogram) = texts(options, plan, stats, interrupts, broke);
    if let (Some(path), Some(histogram)) = (&options.histfile, histogram) {
        write(path, &histogram)?;
    }
    print(&out);
    if let Some(path) = &options.json {
        write(path, &json::document(options, &plan.threads, stats, when))?;
    }
    warn_of_omissions(options, stats);
    Ok(())
}

/// Returns the rest of standard output, and the content of `--histfile` if requested. `broke` is the ID of the thread
/// that exceeded the limit of `-b` (0: none) and its latency.
pub(crate) fn texts(
    options: &Options,
    plan: &Plan,
    stats: &[Stat],
    interrupts: &[u64],
    broke: (i64, u64),
) -> (String, Option<String>) {
    let (mut out, mut file) = (String::new(), None);
    if options.quiet && options.histogram.is_none() {
        for (index, (thread, stat)) in plan.threads.iter().zip(stats).enumerate() {
            out.push_str(&text::line(options, index, thread, stat, interrupts.get(index).copied()));
        }
    }
    if options.spike.is_some() {
        out.push_str(&text::spikes(stats, options.spike_nodes));
    }
    if options.histogram.is_some() {
        let histogram = text::histogram(options, stats);
        match &options.histfile {
            Some(_) => file = Some(histogram),
            None => out.push_str(&histogram),
        }
    }
    if options.breaktrace.is_some() {
        out.push_str(&text::broken(stats, broke));
    }
    (out, file)
}

/// Warns about results that cyclictest's format cannot express.
fn warn_of_omissions(options: &Options, stats: &[Stat]) {
    let unit = if options.nsecs { "ns" } else { "us" };
    for (index, stat) in stats.iter().enumerate() {
        let (skipped, early, over) =
            (stat.skipped.load(Relaxed), stat.early.load(Relaxed), stat.overflows.load(Relaxed));
        if stat.cycles.load(Relaxed) == 0 {
            warn(&format!("thread {index} completed no cycle: its results are meaningless"));
        }
        if skipped > 0 {
            warn(&format!("thread {index} missed {skipped} intervals while it was late: these have no sample"));
        }
        if early > 0 {
            warn(&format!("thread {index} woke {early} times too early because the clock was set; counted as 0"));
        }
        if over > 0 {
            let max = stat.max.load(Relaxed);
            warn(&format!("thread {index}: {over} samples are beyond the histogram, up to {max} {unit}"));
        }
    }
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> Result<(), RunError> {
    let failed = |e: io::Error| RunError::Refused(format!("cannot write {}: {e}", path.display()));
    let (dir, name) = Dir::of_file(path).map_err(|e| failed(e.cause()))?;
    // A pipe or /dev/stdout cannot be replaced, so it is written to directly.
    if let Ok(mut file) = dir.special(&name, true) {
        return file.write_all(text.as_bytes()).map_err(failed);
    }
    dir.replace(name, text.as_bytes(), false).map_err(|e| failed(e.cause()))
}
