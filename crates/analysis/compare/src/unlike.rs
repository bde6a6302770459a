use crate::Side;
use crate::figures::{is_of_latencies, of_latencies};
use punctual_model::{Event, Recording, Unlike, UnlikeKind};
use punctual_stats::median;
use std::collections::BTreeSet;

/// Ratio of lengths at or above which the longer run is noticeably more likely to contain a late wakeup.
const LONGER: f64 = 1.5;
const WARMER: f64 = 3.0;
const FASTER: f64 = 1.05;
/// Parameters of the kernel command line that vary between boots or machines.
const OF_BOOT: [&str; 5] = ["root=", "BOOT_IMAGE=", "initrd=", "resume=", "punctual.trial="];

pub(crate) fn unlike(sides: &[Side]) -> Vec<Unlike> {
    let difference = |what, of: fn(&Recording) -> Option<String>| differing(sides, what, of);
    let settings = [
        difference(UnlikeKind::Machine, machine),
        difference(UnlikeKind::Virtualisation, |r| r.run.machine.virtualisation.clone()),
        difference(UnlikeKind::Cpus, cpus),
        difference(UnlikeKind::Period, |r| r.run.settings.period_ns.map(|p| p.to_string())),
        difference(UnlikeKind::Scheduling, scheduling),
        difference(UnlikeKind::Way, |r| r.run.settings.via.as_ref().map(ToString::to_string)),
        difference(UnlikeKind::Alignment, |r| r.run.settings.alignment.map(|a| format!("{a:?}").to_lowercase())),
        difference(UnlikeKind::DmaLatency, dma_latency),
        difference(UnlikeKind::Tool, |r| Some(r.run.tool.name.clone())),
        difference(UnlikeKind::Resolution, resolution),
        difference(UnlikeKind::Tracing, tracing),
        difference(UnlikeKind::Governor, |r| r.run.machine.governors.as_ref().map(|g| g.join(", "))),
        difference(UnlikeKind::Parameters, parameters),
    ];
    let conditions = [length(sides), frequency(sides), temperature(sides), throttling(sides)];
    settings.into_iter().chain(conditions).flatten().collect()
}

/// Returns the value of each group if the groups differ. Uses only the runs with latencies if there are any.
fn differing(sides: &[Side], what: UnlikeKind, of: fn(&Recording) -> Option<String>) -> Option<Unlike> {
    let values: Vec<Option<String>> = sides.iter().map(|side| together(side, of)).collect();
    let known: BTreeSet<&String> = values.iter().flatten().collect();
    (known.len() > 1).then_some(Unlike { what, values })
}

/// Returns the value of a group, or all values if its runs differ.
fn together(side: &Side, of: fn(&Recording) -> Option<String>) -> Option<String> {
    let any = of_latencies(side).next().is_some();
    let runs = side.runs.iter().filter(|(_, r)| !any || is_of_latencies(r));
    let values: BTreeSet<String> = runs.filter_map(|(_, r)| of(r)).collect();
    (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(" and "))
}

fn machine(r: &Recording) -> Option<String> {
    let m = &r.run.machine;
    m.board.clone().or_else(|| m.cpu_model.clone())
}

fn cpus(r: &Recording) -> Option<String> {
    let most = r.run.phases.iter().map(|p| p.cpus.len()).max().filter(|n| *n > 0)?;
    Some(most.to_string())
}

fn scheduling(r: &Recording) -> Option<String> {
    let got: BTreeSet<String> =
        r.run.phases.iter().flat_map(|p| &p.cpus).filter_map(|c| c.got.map(|g| g.to_string())).collect();
    match got.is_empty() {
        true => r.run.settings.scheduling.map(|s| s.to_string()),
        false => Some(got.into_iter().collect::<Vec<_>>().join(" and ")),
    }
}

fn dma_latency(r: &Recording) -> Option<String> {
    r.run.import.is_none().then(|| match r.run.settings.cpu_dma_latency_us {
        Some(us) => format!("{us} µs"),
        None => "not set".into(),
    })
}

fn resolution(r: &Recording) -> Option<String> {
    match &r.run.import {
        None => Some("1 ns".into()),
        Some(import) => import.resolution_ns.map(|ns| punctual_units::Nanos(ns).to_string()),
    }
}

fn tracing(r: &Recording) -> Option<String> {
    let traced = r.run.tracing.as_ref().is_some_and(|t| t.why_not.is_none());
    r.run.import.is_none().then(|| if traced { "traced" } else { "not traced" }.into())
}

/// Returns the kernel parameters that do not depend on the boot, sorted.
fn parameters(r: &Recording) -> Option<String> {
    let line = r.run.machine.cmdline.as_ref()?;
    let words: BTreeSet<&str> =
        line.split_whitespace().filter(|w| !OF_BOOT.iter().any(|own| w.starts_with(own))).collect();
    Some(if words.is_empty() { "none".into() } else { words.into_iter().collect::<Vec<_>>().join(" ") })
}

/// Compares the numbers of periods per run, since a run with more periods tends to have a larger maximum.
fn length(sides: &[Side]) -> Option<Unlike> {
    let scored = |r: &Recording| r.run.phases.iter().flat_map(|p| &p.cpus).map(|c| c.scored()).sum::<u64>() as f64;
    let of_side = |side: &Side| {
        let runs: Vec<f64> = of_latencies(side).map(scored).collect();
        median(&runs)
    };
    let lengths: Vec<Option<f64>> = sides.iter().map(of_side).collect();
    apart(&lengths, |low, high| high > low * LONGER).then(|| Unlike {
        what: UnlikeKind::Length,
        values: lengths.into_iter().map(|l| l.map(|n| format!("{n:.0}"))).collect(),
    })
}

fn frequency(sides: &[Side]) -> Option<Unlike> {
    let of_side = |side: &Side| {
        let read = side.runs.iter().flat_map(|(_, r)| &r.events).filter_map(|e| match e {
            Event::Frequency { khz, .. } => Some(khz),
            _ => None,
        });
        median(&read.flatten().map(|(_, khz)| *khz as f64).collect::<Vec<_>>())
    };
    let all: Vec<Option<f64>> = sides.iter().map(of_side).collect();
    apart(&all, |low, high| high > low * FASTER).then(|| Unlike {
        what: UnlikeKind::Frequency,
        values: all.into_iter().map(|f| f.map(|khz| format!("{:.0} MHz", khz / 1e3))).collect(),
    })
}

fn temperature(sides: &[Side]) -> Option<Unlike> {
    let of_side = |side: &Side| {
        let context = side.runs.iter().flat_map(|(_, r)| &r.events).filter_map(|e| match e {
            Event::Context(context) => context.temperatures.iter().map(|t| t.value).max(),
            _ => None,
        });
        median(&context.map(|milli| milli as f64 / 1e3).collect::<Vec<_>>())
    };
    let all: Vec<Option<f64>> = sides.iter().map(of_side).collect();
    apart(&all, |low, high| high - low > WARMER).then(|| Unlike {
        what: UnlikeKind::Temperature,
        values: all.into_iter().map(|t| t.map(|t| format!("{t:.1} °C"))).collect(),
    })
}

fn throttling(sides: &[Side]) -> Option<Unlike> {
    let of_side = |side: &Side| {
        let mut known = false;
        let mut sum = 0u64;
        for event in side.runs.iter().flat_map(|(_, r)| &r.events) {
            let Event::Context(context) = event else { continue };
            known |= !context.throttling.is_empty();
            sum += context.throttling.iter().map(|t| t.value.max(0) as u64).sum::<u64>();
        }
        known.then_some(sum)
    };
    let all: Vec<Option<u64>> = sides.iter().map(of_side).collect();
    let some = all.iter().flatten().any(|n| *n > 0) && all.iter().flatten().any(|n| *n == 0);
    some.then(|| Unlike {
        what: UnlikeKind::Throttling,
        values: all.into_iter().map(|n| n.map(|n| n.to_string())).collect(),
    })
}

fn apart(values: &[Option<f64>], differ: impl Fn(f64, f64) -> bool) -> bool {
    let known = || values.iter().flatten().copied();
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    low <= high && differ(low, high)
}
