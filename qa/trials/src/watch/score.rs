//! Checks whether a trial of `watch` meets its targets.

use super::{INJECTED, Injection, SAMPLES, SERIES, Sample};
use punctual_model::{Watch, WatchLine, WatchMaximum};
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const MAX_DRIFT: f64 = 1_048_576.0;
const MAX_PER_CPU_AND_DAY: f64 = 1_048_576.0;
const MAX_CPU_PERCENT: f64 = 1.0;
/// Time after the start during which memory may grow, s.
const WARM: f64 = 300.0;
/// Length of the intervals at both ends over which memory is compared, s.
const END: f64 = 600.0;
/// Time until a verdict is written, ns. A maximum injected less than this before the end is not judged.
const SETTLE_NS: u64 = 15_000_000_000;

/// Returns the table, and whether all targets are met. Also works on an unfinished trial.
pub(super) fn of(out: &Path) -> Result<(String, bool), String> {
    let samples: Vec<Sample> = lines(&out.join(SAMPLES))?;
    let injections: Vec<Injection> = lines(&out.join(INJECTED))?;
    let series: Vec<WatchLine> = lines(&out.join(SERIES).join("series.jsonl"))?;
    let state = fs::read(out.join(SERIES).join("watch.json")).map_err(|e| format!("watch.json: {e}"))?;
    let watch: Watch = serde_json::from_slice(&state).map_err(|e| format!("watch.json: {e}"))?;
    let mut text = String::new();
    let passed = [
        length(&mut text, &samples),
        memory(&mut text, &samples),
        bytes(&mut text, &samples, watch.settings.cpus.len()),
        cpu(&mut text, &samples),
        maxima(&mut text, &injections, &series, &watch),
        disk(&mut text, &watch),
    ];
    Ok((text, passed.iter().all(|one| *one)))
}

/// Reads lines of JSON. The last line may be incomplete.
fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let whole = text.rfind('\n').map_or("", |at| text.get(..at).unwrap_or_default());
    whole.lines().map(|line| serde_json::from_str(line).map_err(|e| format!("{}: {e}", path.display()))).collect()
}

fn said(text: &mut String, ok: bool, what: &str) -> bool {
    let _ = writeln!(text, "{}  {what}", if ok { "ok    " } else { "FAILED" });
    ok
}

fn length(text: &mut String, samples: &[Sample]) -> bool {
    let seconds = samples.last().map_or(0.0, |last| last.seconds);
    said(text, seconds > WARM + 2.0 * END, &format!("length: {:.1} min, {} samples", seconds / 60.0, samples.len()))
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn memory(text: &mut String, samples: &[Sample]) -> bool {
    let last = samples.last().map_or(0.0, |last| last.seconds);
    let within = |from: f64, to: f64| {
        samples.iter().filter(|s| s.seconds >= from && s.seconds <= to).map(|s| s.rss_bytes as f64).collect::<Vec<_>>()
    };
    let most = within(WARM, last).into_iter().fold(0.0, f64::max);
    let (Some(first), Some(end)) = (middle(within(WARM, WARM + END)), middle(within(last - END, last))) else {
        return said(text, false, "memory: too few samples");
    };
    let what = format!(
        "memory: {:.0} KiB at the beginning, {:.0} KiB at the end, drift {:+.0} KiB (most {:.0} KiB); target: < 1024",
        first / 1024.0,
        end / 1024.0,
        (end - first) / 1024.0,
        most / 1024.0
    );
    said(text, end - first < MAX_DRIFT, &what)
}

fn bytes(text: &mut String, samples: &[Sample], cpus: usize) -> bool {
    let Some(last) = samples.last() else { return said(text, false, "files: no sample") };
    let pro_rata = |bytes: u64| bytes as f64 / cpus.max(1) as f64 / (last.seconds / 86_400.0);
    let what = format!(
        "files: {} bytes of {cpus} CPUs, {:.2} MiB per CPU and day ({:.2} as disk blocks); target: <= 1.00",
        last.file_bytes,
        pro_rata(last.file_bytes) / 1_048_576.0,
        pro_rata(last.disk_bytes) / 1_048_576.0
    );
    said(text, pro_rata(last.file_bytes) <= MAX_PER_CPU_AND_DAY, &what)
}

fn cpu(text: &mut String, samples: &[Sample]) -> bool {
    let Some((first, last)) = samples.first().zip(samples.last()) else {
        return said(text, false, "CPU time: no sample");
    };
    let ticks = last.cpu_ticks.saturating_sub(first.cpu_ticks) as f64 / rustix::param::clock_ticks_per_second() as f64;
    let percent = 100.0 * ticks / (last.seconds - first.seconds).max(1.0);
    said(text, percent < MAX_CPU_PERCENT, &format!("CPU time: {ticks:.2} s, {percent:.3} % of one CPU; target: < 1"))
}

/// Checks whether each injected delay was a new maximum and its cause was named.
fn maxima(text: &mut String, injections: &[Injection], series: &[WatchLine], watch: &Watch) -> bool {
    let found: Vec<&WatchMaximum> = series
        .iter()
        .filter_map(|line| match line {
            WatchLine::Maximum(maximum) => Some(maximum),
            _ => None,
        })
        .collect();
    let (mut named, mut failed, mut void) = (0, Vec::new(), 0);
    for injection in injections.iter().filter(|injection| injection.held.to_ns + SETTLE_NS < watch.updated.mono_ns) {
        let is_over = injection.held.from_ns < injection.held.release_ns;
        // Late between the reading of the largest latency and the injection.
        let meanwhile = found.iter().any(|m| {
            m.cpu.0 == injection.cpu
                && m.mono_ns + 2_000_000_000 > injection.held.release_ns
                && m.mono_ns + 1_000_000 < injection.held.release_ns
        });
        let mine = found
            .iter()
            .find(|m| m.cpu.0 == injection.cpu && m.mono_ns.abs_diff(injection.held.release_ns) < 1_000_000);
        match mine {
            Some(m) if m.verdict.as_ref().is_some_and(|verdict| verdict.contains(&injection.comm)) => named += 1,
            None if !is_over || meanwhile => void += 1,
            mine => failed.push(format!("{} on CPU {}: {mine:?}", injection.comm, injection.cpu)),
        }
    }
    let m = &watch.maxima;
    let what = format!(
        "injected maxima: {named} named, {} not, {void} were not maxima; all new maxima: {} seen, {} explained, {} left out, {} failed",
        failed.len(),
        m.seen,
        m.explained,
        m.too_many,
        m.failed
    );
    let ok = said(text, failed.is_empty() && named > 0, &what);
    failed.iter().for_each(|why| {
        let _ = writeln!(text, "          {why}");
    });
    ok
}

fn disk(text: &mut String, watch: &Watch) -> bool {
    said(text, watch.disk.failures == 0, &format!("checkpoints that could not be written: {}", watch.disk.failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: f64, rss_bytes: u64) -> Sample {
        Sample { seconds, rss_bytes, cpu_ticks: seconds as u64 / 10, file_bytes: seconds as u64 * 10, disk_bytes: 0 }
    }

    #[test]
    fn memory_that_grows_fails_and_that_of_the_start_does_not_count() {
        let at = |rss: fn(u64) -> u64| (0..700).map(|n| sample(n as f64 * 10.0, rss(n))).collect::<Vec<_>>();
        let mut text = String::new();
        assert!(memory(&mut text, &at(|n| if n < 20 { 1 << 20 } else { 5 << 20 })));
        assert!(!memory(&mut text, &at(|n| (5 << 20) + n * 4096)));
        assert!(!memory(&mut text, &[]));
    }

    #[test]
    fn files_and_cpu_time_are_scored_pro_rata() {
        let samples = [sample(0.0, 0), sample(7_200.0, 0)];
        let mut text = String::new();
        assert!(bytes(&mut text, &samples, 2) && cpu(&mut text, &samples), "{text}");
        assert!(!bytes(&mut text, &[Sample { file_bytes: 200_000, ..samples[1] }], 2), "{text}");
        assert!(!cpu(&mut text, &[samples[0], Sample { cpu_ticks: 8_000, ..samples[1] }]), "{text}");
    }
}
