//! Sentences about a benchmark, shared by text and HTML.

use crate::clean::line;
use crate::number::{bytes, count, percent, plural};
use punctual_model::{Bench, BenchSettings, Beside, NqueensMode, NqueensSettings, Reading, Series};
use punctual_units::{Arrange, Nanos};
use std::collections::BTreeMap;

pub fn title(bench: &Bench) -> String {
    match &bench.plan.settings {
        BenchSettings::Nqueens(settings) => nqueens(settings),
        BenchSettings::Network(n) => {
            let to = n.to.as_deref().map_or("over loopback".into(), |to| format!("to {}", line(to)));
            let beside = match n.beside {
                Beside::Nothing => String::new(),
                Beside::Nqueens { n, threads } => {
                    format!(", while counting {n} queens in {}", plural(threads.into(), "thread", "threads"))
                }
                Beside::Measure => ", while measuring wakeup latency".into(),
            };
            format!("images of {} posted {to} for {}{beside}", bytes(n.bytes), n.duration_ns)
        }
        BenchSettings::Memory { threads, bytes: size } => {
            format!("memory bandwidth, {}, {} each", plural((*threads).into(), "thread", "threads"), bytes(*size))
        }
        BenchSettings::Disk { folder, bytes: size, writes } => {
            let folder = line(&folder.display().to_string());
            format!("{} synced writes of {} of each kind in `{folder}`", count((*writes).into()), bytes(*size))
        }
        BenchSettings::Switch { rounds, cpu, other } => {
            let cpus = other.map_or(format!("CPU {cpu}"), |other| format!("CPU {cpu} and {other}"));
            format!("wakeups and switches, {} round trips of each kind on {cpus}", count((*rounds).into()))
        }
    }
}

fn nqueens(settings: &NqueensSettings) -> String {
    let mode = match settings.mode {
        NqueensMode::Compat => "the published search in native code".to_owned(),
        NqueensMode::Native => {
            format!("the fastest search ({})", line(settings.kernel.as_deref().unwrap_or("kernel not recorded")))
        }
    };
    let threads = plural(settings.threads.into(), "thread", "threads");
    let batch = match settings.batch {
        1 => String::new(),
        n => format!(", {} counts per repetition", count(n)),
    };
    format!("{} queens by {mode}, {threads}{batch}", settings.n)
}

/// Returns the warnings that a reader must see first: errors, missing data, throttling.
pub fn warnings(bench: &Bench) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (number, check) in bench.wrong().take(8) {
        let expected = check.expected.unwrap_or(0);
        all.push(format!(
            "WRONG in repetition {number}: {} are {}, but {} were counted",
            line(&check.what),
            count(expected),
            count(check.got)
        ));
    }
    if bench.interrupted {
        let (done, of) = (bench.repetitions.len() as u64, bench.plan.repetitions);
        all.push(format!(
            "{} of {} repetitions are complete: --resume continues with the rest",
            count(done),
            count(of)
        ));
    }
    let resumed = bench.repetitions.iter().filter(|r| r.resumed > 0).count() as u64;
    if resumed > 0 {
        let were = if resumed == 1 { "was" } else { "were" };
        let those = plural(resumed, "repetition", "repetitions");
        all.push(format!("{those} {were} interrupted and resumed: their times are not included"));
    }
    all.extend(throttled(bench));
    all
}

fn throttled(bench: &Bench) -> Option<String> {
    let mut reported: BTreeMap<&str, u64> = BTreeMap::new();
    let up = |r: &&Reading| r.value > 0;
    for reading in bench.repetitions.iter().flat_map(|r| r.conditions.throttling.iter().filter(up)) {
        *reported.entry(&reading.name).or_default() += 1;
    }
    let of = bench.repetitions.len() as u64;
    let each: Vec<String> =
        reported.iter().map(|(name, n)| format!("{} in {} of {of}", line(name), count(*n))).collect();
    (!each.is_empty()).then(|| format!("throttled: {}", each.join(", ")))
}

pub fn conditions(bench: &Bench) -> Vec<String> {
    let of = |name: &str| bench.series.iter().find(|s| s.name == name);
    let heat = |s: Option<&Series>, what: &str| match s {
        Some(s) => format!("{what}: {:.1} to {:.1} °C", s.min, s.max),
        None => format!("{what}: not readable on this machine"),
    };
    let mut all = vec![heat(of("CPU temperature after it"), "CPU temperature after each repetition")];
    if let Some(gpu) = of("GPU temperature after it") {
        all.push(heat(Some(gpu), "GPU temperature after each repetition"));
    }
    let khz = || bench.repetitions.iter().flat_map(|r| &r.conditions.khz).map(|(_, khz)| *khz);
    all.push(match (khz().min(), khz().max()) {
        (Some(low), Some(high)) => {
            format!("CPU frequency, mean of a repetition: {:.0} to {:.0} MHz", low as f64 / 1e3, high as f64 / 1e3)
        }
        _ => "CPU frequency: not readable on this machine".into(),
    });
    if bench.repetitions.iter().all(|r| r.conditions.throttling.is_empty()) {
        all.push("throttling: not readable on this machine".into());
    }
    let steal: Option<u64> = bench.repetitions.iter().map(|r| r.conditions.steal_ns).sum();
    all.extend(steal.map(|ns| format!("steal time, all CPUs: {}", Nanos(ns))));
    let elapsed: u64 = bench.repetitions.iter().map(|r| r.elapsed_ns).sum();
    let cpu: Option<u64> = bench.repetitions.iter().map(|r| r.cpu_ns).sum();
    all.push(match cpu {
        Some(cpu) if elapsed > 0 => {
            let share = percent(cpu as f64 / elapsed as f64);
            format!("measured for {}; this program used {share} of one CPU", Nanos(elapsed))
        }
        _ => format!("measured for {}", Nanos(elapsed)),
    });
    all
}

pub fn notes(bench: &Bench) -> Vec<String> {
    let mut all: Vec<String> = bench.plan.notes.iter().map(|n| line(n)).collect();
    for one in &bench.repetitions {
        for note in one.notes.iter().map(|n| line(n)) {
            if all.len() < 40 && !all.iter().any(|known| known.ends_with(&note)) {
                all.push(format!("repetition {}: {note}", one.number));
            }
        }
    }
    all
}

pub const HEAD: [&str; 7] = ["of", "figure", "n", "median", "min", "max", "mean"];

pub fn rows(bench: &Bench) -> Vec<[String; 7]> {
    let row = |s: &Series| {
        let unit = line(&s.unit);
        let shown = |v: f64| crate::comparison::shown(v, &unit);
        [line(&s.of), line(&s.name), count(s.count), shown(median(s)), shown(s.min), shown(s.max), shown(s.mean)]
    };
    bench.series.iter().filter(|s| s.unit != "°C").map(row).collect()
}

fn median(series: &Series) -> f64 {
    let mut points = series.points.clone();
    points.arrange_by(f64::total_cmp);
    let at = |n: usize| points.get(n).copied().unwrap_or(series.mean);
    match points.len() {
        0 => series.mean,
        n if n % 2 == 1 => at(n / 2),
        n => (at(n / 2 - 1) + at(n / 2)) / 2.0,
    }
}

pub const TIMES: [&str; 7] = ["of", "time of each", "n", "median", "p99", "p99.9", "max"];

pub fn times(bench: &Bench) -> Vec<[String; 7]> {
    let row = |d: &punctual_model::BenchDistribution| {
        let h = &d.histogram;
        let shown = crate::number::nanos;
        [
            line(&d.of),
            line(&d.name),
            count(h.count()),
            shown(h.quantile(0.5)),
            shown(h.quantile(0.99)),
            shown(h.quantile(0.999)),
            shown(h.max()),
        ]
    };
    bench.distributions.iter().map(row).collect()
}
