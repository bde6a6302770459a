//! Counts which of the injected delays each program found.

use punctual_inject::{Held, Seen};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Latencies that a run reports, µs.
struct Reported {
    rows: Vec<(u64, u64)>,
    overflows: u64,
    max: u64,
    /// Latency, and the time at which the thread woke, µs.
    spikes: Vec<(u64, u64)>,
}

/// Results for delays of one size.
#[derive(Default)]
struct Size {
    injected: u32,
    /// Number of delays injected too late: the injecting thread got the CPU only after the release.
    late: u32,
    found: u32,
    /// Number of delays that were found, but were longer than the injected delay and the run's ordinary wakeups
    /// explain.
    larger: u32,
    missed: u32,
    /// Number of delays that are not separate: the thread was still late from an earlier release, and the program
    /// reported that wakeup, prolonged by this delay.
    within: u32,
    /// Differences between reported and injected latency, µs.
    errors: Vec<i64>,
}

#[derive(Default)]
struct Program {
    runs: u32,
    failed: u32,
    sizes: BTreeMap<u64, Size>,
    /// Number of samples above [`TAIL`], whether injected or not.
    tail: u64,
    injected: u64,
    /// Number of runs whose largest latency belongs to the largest delay found.
    max_is_injected: u32,
    /// Median of each run's wakeups that no injection delayed, µs; `p99s` has the 99th percentiles.
    medians: Vec<u64>,
    p99s: Vec<u64>,
}

/// Latency above which a sample belongs to the tail, µs. The smallest injected delay is 1 ms.
const TAIL: u64 = 800;
/// Time by which a wakeup may exceed the sum of the injected delay and the run's 99th percentile, µs.
const SLACK: i64 = 100;

pub fn table(folder: &Path) -> Result<String, String> {
    let (mut ours, mut theirs) = (Program::default(), Program::default());
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in entries.flatten().map(|e| e.path()).filter(|path| path.extension().is_some_and(|e| e == "json")) {
        let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let seen: Seen = serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        let is_ours = path.to_string_lossy().ends_with("-ours.json");
        if is_ours { &mut ours } else { &mut theirs }.add(&seen);
    }
    let mut out = format!("{}\n\n", folder.file_name().unwrap_or_default().to_string_lossy());
    out += "| program | injected | times | too late | found | larger | within a longer one | missed | error, median | error, from … to |\n\
            |---|---|---|---|---|---|---|---|---|---|\n";
    for (name, program) in [("cyclictest 2.4", &mut theirs), ("punctual cyclictest", &mut ours)] {
        program.sizes(&mut out, name);
    }
    out += "\n| program | runs | failed | injected | samples > 0.8 ms | of those not injected | largest is an injected one | median | 99 % |\n\
            |---|---|---|---|---|---|---|---|---|\n";
    for (name, program) in [("cyclictest 2.4", &mut theirs), ("punctual cyclictest", &mut ours)] {
        program.sums(&mut out, name);
    }
    Ok(out + "\n")
}

impl Program {
    fn add(&mut self, seen: &Seen) {
        self.runs += 1;
        let Some(reported) = parse(&seen.stdout).filter(|_| seen.code == Some(0)) else {
            self.failed += 1;
            return;
        };
        let (p50, p99) = (reported.quantile(0.5), reported.quantile(0.99));
        self.medians.push(p50);
        self.p99s.push(p99);
        self.injected += seen.injected.len() as u64;
        self.tail += reported.tail();
        let mut largest = None;
        for held in &seen.injected {
            let latency = reported.latency_of(held);
            largest = largest.max(latency);
            let size = self.sizes.entry(held.size_ns / 1000).or_default();
            match latency {
                None if reported.is_within_another(held) => size.within(held),
                latency => size.add(held, latency, SLACK + p99 as i64),
            }
        }
        self.max_is_injected += u32::from(largest == Some(reported.max));
    }

    fn sizes(&mut self, out: &mut String, name: &str) {
        for (us, size) in &mut self.sizes {
            size.errors.sort_unstable();
            let errors = &size.errors;
            let at = |n: usize| errors.get(n).map_or("–".to_owned(), |error| format!("{error} µs"));
            let (mid, first, last) = (at(errors.len() / 2), at(0), at(errors.len().saturating_sub(1)));
            let Size { injected, late, found, larger, within, missed, .. } = size;
            let ms = *us as f64 / 1000.0;
            let _ = writeln!(
                out,
                "| {name} | {ms} ms | {injected} | {late} | {found} | {larger} | {within} | {missed} | {mid} | {first} … {last} |"
            );
        }
    }

    fn sums(&mut self, out: &mut String, name: &str) {
        let middle = |all: &mut Vec<u64>| -> String {
            all.sort_unstable();
            all.get(all.len() / 2).map_or("–".into(), |us| format!("{us} µs"))
        };
        let (median, p99) = (middle(&mut self.medians), middle(&mut self.p99s));
        let found: u64 = self.sizes.values().map(|size| u64::from(size.found + size.larger)).sum();
        let (runs, failed, injected, tail, max) =
            (self.runs, self.failed, self.injected, self.tail, self.max_is_injected);
        let others = tail as i64 - found as i64;
        let _ = writeln!(
            out,
            "| {name} | {runs} | {failed} | {injected} | {tail} | {others} | {max} of {runs} | {median} | {p99} |"
        );
    }
}

impl Size {
    /// Counts the delay. Returns `true` if it was injected too late.
    fn is_late(&mut self, held: &Held) -> bool {
        self.injected += 1;
        let is_late = held.from_ns > held.release_ns;
        self.late += u32::from(is_late);
        is_late
    }

    fn within(&mut self, held: &Held) {
        self.within += u32::from(!self.is_late(held));
    }

    fn add(&mut self, held: &Held, latency: Option<u64>, most: i64) {
        if self.is_late(held) {
            return;
        }
        let Some(latency) = latency else {
            self.missed += 1;
            return;
        };
        // Truncated to microseconds, like the latencies both programs report.
        let injected = held.to_ns.saturating_sub(held.release_ns) / 1000;
        let error = latency as i64 - injected as i64;
        self.errors.push(error);
        match error {
            ..-1 => self.missed += 1,
            error if error > most => self.larger += 1,
            _ => self.found += 1,
        }
    }
}

impl Reported {
    /// Returns the latency of the wakeup with this release.
    fn latency_of(&self, held: &Held) -> Option<u64> {
        let release = held.release_ns / 1000;
        let spike = self.spikes.iter().find(|(latency, at)| at.saturating_sub(*latency).abs_diff(release) <= 2);
        spike.map(|(latency, _)| *latency)
    }

    /// Returns `true` if a wakeup was late from before this release until after the delay was over.
    fn is_within_another(&self, held: &Held) -> bool {
        let (release, to) = (held.release_ns / 1000, held.to_ns / 1000);
        self.spikes.iter().any(|(latency, at)| at.saturating_sub(*latency) + 2 < release && *at >= to)
    }

    fn tail(&self) -> u64 {
        self.overflows + self.rows.iter().filter(|(bin, _)| *bin > TAIL).map(|(_, count)| count).sum::<u64>()
    }

    /// Returns a quantile of the wakeups below [`TAIL`].
    fn quantile(&self, part: f64) -> u64 {
        let rows: Vec<(u64, u64)> = self.rows.iter().copied().filter(|(bin, _)| *bin <= TAIL).collect();
        let all: u64 = rows.iter().map(|(_, count)| count).sum();
        let mut left = (all as f64 * part) as u64;
        for (bin, count) in rows {
            if left < count {
                return bin;
            }
            left -= count;
        }
        TAIL
    }
}

/// Parses the output of a run. Returns `None` if it has no result.
fn parse(text: &str) -> Option<Reported> {
    let comment = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
    };
    let row = |line: &str| -> Option<(u64, u64)> {
        let (bin, count) = line.split_once(' ')?;
        Some((bin.parse().ok()?, count.parse().ok()?))
    };
    let spike = |line: &str| -> Option<(u64, u64)> {
        let (_, rest) = line.split_once("Spike:")?;
        let (latency, at) = rest.split_once(": TS:")?;
        Some((latency.trim().parse().ok()?, at.trim().parse().ok()?))
    };
    Some(Reported {
        rows: text.lines().filter_map(row).collect(),
        overflows: comment("# Histogram Overflows:")?,
        max: comment("# Max Latencies:")?,
        spikes: text.lines().filter_map(spike).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(stdout: &str) -> Seen {
        let held = |release_ms: u64, size_ms: u64| Held {
            release_ns: release_ms * 1_000_000,
            size_ns: size_ms * 1_000_000,
            from_ns: release_ms * 1_000_000 - 400_000,
            to_ns: (release_ms + size_ms) * 1_000_000 + 100,
            gaps: Vec::new(),
        };
        let injected = vec![held(100, 1), held(200, 5), held(300, 20)];
        Seen { command: Vec::new(), code: Some(0), stdout: stdout.into(), stderr: String::new(), injected }
    }

    #[test]
    fn found_larger_and_missed_are_told_apart() {
        let text = "T: 0 Spike:    1005: TS:       101005\nT: 0 Spike:    9000: TS:       209000\n\
                    000020 000090\n000040 000010\n001005 000001\n# Max Latencies: 09000\n# Histogram Overflows: 00001\n";
        let mut program = Program::default();
        program.add(&seen(text));
        let of = |us: u64| program.sizes.get(&us).map(|size| (size.found, size.larger, size.missed)).unwrap();
        assert_eq!((of(1000), of(5000), of(20_000)), ((1, 0, 0), (0, 1, 0), (0, 0, 1)));
        assert_eq!((program.tail, program.max_is_injected, program.medians[0], program.p99s[0]), (2, 1, 20, 40));
        assert_eq!(program.sizes[&1000].errors, [5]);
        program.add(&seen(&text.replace("   9000: TS:       209000", "  15000: TS:       205000")));
        assert_eq!((program.sizes[&5000].within, program.sizes[&5000].missed), (1, 0));
        let mut late = seen(text);
        late.injected[2].from_ns = late.injected[2].release_ns + 1;
        program.add(&late);
        assert_eq!((program.sizes[&20_000].late, program.sizes[&20_000].missed), (1, 2));
        program.add(&seen("nothing"));
        assert_eq!((program.runs, program.failed), (4, 1));
    }
}
