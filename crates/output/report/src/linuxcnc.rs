//! Formats the results of a run in the terms of LinuxCNC's latency-test: the time between wakeups compared with the
//! period.
//!
//! latency-test reads `timedelta` (src/hal/components/timedelta.comp): the longest and the last time between two runs
//! of a thread, and as jitter max(longest − period, period − shortest). Recordings contain the latency of each wakeup,
//! so the time between two consecutive wakeups is the period plus the difference of their latencies. The order is known
//! for the worst wakeups only; the other wakeups give bounds.

use crate::figures::{Cell, Figures};
use crate::number::count;
use crate::text::page::{Page, Tint};
use crate::{TextStyle, words};
use punctual_model::{Recording, Verdict, Worst};
use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Bounds of what latency-test would have shown for a thread, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jitter {
    least: u64,
    most: u64,
}

/// Computes the jitter of a thread without skipped periods from the exact extremes, the worst wakeups (worst first),
/// and an upper bound of all others (`None` if unknown).
fn jitter(period: u64, (min, max): (u64, u64), worst: &[&Worst], rest_below: Option<u64>) -> Jitter {
    let Some(rest) = rest_below else { return Jitter { least: 0, most: max - min } };
    let by_release: BTreeMap<u64, u64> = worst.iter().map(|w| (w.release_mono_ns, w.latency_ns)).collect();
    let mut all = Jitter { least: 0, most: rest.saturating_sub(min) };
    for w in worst {
        let neighbours = [w.release_mono_ns.checked_sub(period), w.release_mono_ns.checked_add(period)];
        let known = neighbours.map(|at| by_release.get(&at?).map(|latency| latency.abs_diff(w.latency_ns)));
        // The first wakeup has no predecessor and the last no successor, but each has one of the two.
        let least = known.iter().flatten().max().copied().unwrap_or(w.latency_ns.saturating_sub(rest));
        let most = known.map(|difference| difference.unwrap_or(w.latency_ns - min.min(w.latency_ns)));
        all.least = all.least.max(least);
        all.most = most.iter().fold(all.most, |a, b| a.max(*b));
    }
    all
}

/// Computes the jitter of a thread that skipped periods: the thread ran before the worst wakeup was due, and the next
/// release was at most one period after that wakeup.
fn jitter_with_skips(period: u64, max: u64) -> Jitter {
    Jitter { least: max.saturating_sub(period), most: max.max(period) }
}

/// Computes the jitter of a CPU; `None` if it is unknown, or if the samples are not wakeups.
fn of_cell(recording: &Recording, cell: &Cell) -> Option<Jitter> {
    let raw = cell.raw.filter(|raw| raw.count() > 1)?;
    let settings = &recording.run.settings;
    let period = settings.period_ns.filter(|_| cell.phase.label.is_none())?.0;
    let extremes = (raw.min()?, raw.max()?);
    let worst: Vec<&Worst> = recording.worst_of(&cell.phase.id, cell.cpu()).collect();
    let Some(skipped) = cell.result.skipped else {
        return Some(Jitter { least: 0, ..jitter_with_skips(period, extremes.1) });
    };
    if skipped > 0 {
        let bounds = jitter_with_skips(period, extremes.1);
        // The first wakeup has no preceding interval.
        let is_first = |w: &&Worst| {
            let since = |(from, _): (u64, Option<u64>)| w.release_mono_ns.checked_sub(from);
            cell.phase.stretches().into_iter().filter_map(since).any(|since| since < period)
        };
        let known = worst.first().is_some_and(|w| w.latency_ns == extremes.1 && !is_first(w));
        return Some(if known { bounds } else { Jitter { least: 0, ..bounds } });
    }
    let on_time = raw.bins().find(|bin| bin.low == 0).map_or(0, |bin| bin.count);
    let rest = match worst.len() {
        n if n > 0 && worst.first().map(|w| w.latency_ns) != raw.max() => None,
        n if n as u64 >= raw.count() - on_time => Some(0),
        n if n > 0 && n >= settings.worst_kept => worst.last().map(|w| w.latency_ns),
        _ => None,
    };
    Some(jitter(period, extremes, &worst, rest))
}

/// Returns LinuxCNC's assessment of a max jitter.
///
/// Source: LinuxCNC, docs/src/install/latency-test.adoc, "So, what do the results mean?". It gives limits for software
/// stepping, which the base thread does, and a limit of 1 ms for LinuxCNC in general; it gives no assessment between
/// its ranges.
fn acceptance(ns: u64, is_base: bool) -> &'static str {
    match ns {
        1_000_001.. => "more than 1 ms: not a good candidate for LinuxCNC, with software stepping or without",
        _ if !is_base => {
            "not more than 1 ms, the only limit in the documentation for a machine without software stepping"
        }
        100_000.. => "100 µs or more: not a good candidate for software stepping",
        50_001.. => "between the bands: 30-50 µs limits the step rate, from 100 µs on software stepping is not advised",
        30_000.. => "30-50 µs: good results are possible, but the maximum step rate may disappoint",
        20_001.. => {
            "between the bands: up to 15-20 µs is very nice for software stepping, 30-50 µs limits the step rate"
        }
        _ => "less than about 15-20 µs: very nice results with software stepping",
    }
}

/// Formats a run in the terms of LinuxCNC's latency-test, for a terminal. The text ends in a newline.
pub fn linuxcnc(recording: &Recording, verdict: &Verdict, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let figures = Figures::new(recording, verdict);
    let Some(period) = recording.run.settings.period_ns else {
        page.tagged(
            "",
            Tint::Plain,
            "The imported file does not record the period, so the time between wakeups is unknown.",
        );
        return page.finish();
    };
    let is_base = period < Nanos::from_micros(500);
    let (thread, other) = match is_base {
        true => ("base thread", "servo thread: not measured in this run; measure it with --period 1ms"),
        false => ("servo thread", "base thread: not measured in this run; measure it with --period 25us"),
    };
    page.tagged(
        "",
        Tint::Strong,
        &format!("In the terms of LinuxCNC's latency-test: {thread}, {} ns", count(period.0)),
    );
    words::warnings(recording, verdict).iter().for_each(|w| page.tagged("! ", Tint::Warn, w));
    page.gap();
    page.row(Tint::Strong, &row(["load", "CPU", "max interval (ns)", "max jitter (ns)", "last interval"]));
    let mut all: Option<Jitter> = None;
    for cell in &figures.cells {
        let name = words::phase_name(recording, &cell.phase.id);
        let jitter = of_cell(recording, cell);
        page.row(Tint::Plain, &cell_row(&name, cell, jitter, period.0));
        if let Some(j) = jitter {
            let before = all.unwrap_or(j);
            all = Some(Jitter { least: before.least.max(j.least), most: before.most.max(j.most) });
        }
    }
    page.gap();
    match all {
        Some(all) => verdict_of(&mut page, all, thread, is_base),
        None => page.tagged("", Tint::Plain, "Nothing was measured: all intervals are unknown."),
    }
    page.tagged("", Tint::Plain, other);
    known(&mut page);
    page.finish()
}

fn row([load, cpu, interval, jitter, last]: [&str; 5]) -> String {
    format!("{load:<10} {cpu:>4} {interval:>20} {jitter:>25} {last:>14}")
}

fn cell_row(name: &str, cell: &Cell, jitter: Option<Jitter>, period: u64) -> String {
    let name = crate::clean::clip(&crate::clean::line(name), 10);
    let (interval, jitter) = match jitter {
        Some(j) => (format!("≤ {}", count(period.saturating_add(j.most))), span(j)),
        None => ("–".into(), "–".into()),
    };
    row([&name, &cell.cpu().to_string(), &interval, &jitter, "not recorded"])
}

fn span(j: Jitter) -> String {
    match j {
        Jitter { least, most } if least == most => count(most),
        Jitter { least: 0, most } => format!("≤ {}", count(most)),
        Jitter { least, most } => format!("{} – {}", count(least), count(most)),
    }
}

fn verdict_of(page: &mut Page, all: Jitter, thread: &str, is_base: bool) {
    page.tagged("", Tint::Strong, &format!("Max jitter of the {thread}: {} ns", span(all)));
    let most = count(all.most);
    let signed = format!(
        "Signed, as in latency-histogram: the time between two wakeups differed from the period by at most {most} ns"
    );
    page.tagged("  ", Tint::Plain, &signed);
    let (best, worst) = (acceptance(all.least, is_base), acceptance(all.most, is_base));
    if best == worst {
        page.tagged("  ", Tint::Plain, worst);
    } else {
        page.tagged("  ", Tint::Plain, &format!("at worst {worst}; at best {best}"));
    }
    page.tagged(
        "  ",
        Tint::Plain,
        "(docs/src/install/latency-test.adoc of LinuxCNC; it requires at least several minutes under abuse)",
    );
}

fn known(page: &mut Page) {
    page.heading("Accuracy");
    for sentence in [
        "The run records how late each wakeup was. The time between two wakeups is the period plus the difference of their latencies; \
         the order of wakeups is known for the worst ones only.",
        "A single figure for max jitter is exact. Of two figures the first is a lower bound and the second an upper bound: the difference of the largest and the smallest latency, or less if the worst wakeups show it.",
        "Where periods were skipped the bounds are wider: LinuxCNC's thread would have executed these cycles late, one after the other.",
        "Max interval is an upper bound; the last interval is not recorded. LinuxCNC's threads share one CPU; \
         here each CPU had one thread.",
    ] {
        page.tagged("  - ", Tint::Plain, sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_units::CpuId;

    const PERIOD: u64 = 25_000;

    fn wakeup(n: u64, latency_ns: u64) -> Worst {
        Worst {
            phase: "1-idle".into(),
            cpu: CpuId(0),
            release_mono_ns: 1_000_000 + n * PERIOD,
            latency_ns,
            cycle: n,
            skipped: 0,
            trace_offset: None,
            suspicions: vec![],
        }
    }

    fn timedelta(woke: &[u64]) -> u64 {
        let all: Vec<u64> = woke.windows(2).map(|w| w[1] - w[0]).collect();
        let (min, max) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        max.saturating_sub(PERIOD).max(PERIOD.saturating_sub(*min))
    }

    #[test]
    fn the_documentations_bands() {
        for (ns, words) in
            [(9_000, "very nice"), (40_000, "30-50"), (25_000, "between"), (100_000, "software stepping")]
        {
            assert!(acceptance(ns, true).contains(words), "{ns}");
        }
        assert!(acceptance(150_000, false).contains("not more than 1 ms"));
        assert!(acceptance(1_200_000, false).contains("not a good candidate for LinuxCNC"));
    }

    proptest! {
        /// The true jitter is within the bounds, and equals them if all wakeups are known.
        #[test]
        fn the_bounds_hold(latencies in proptest::collection::vec(1u64..PERIOD, 2..120), keep in 1usize..150) {
            let woke: Vec<u64> = (0..).zip(&latencies).map(|(n, l)| n * PERIOD + l).collect();
            let all: Vec<Worst> = (0..).zip(&latencies).map(|(n, &l)| wakeup(n, l)).collect();
            let mut worst: Vec<&Worst> = all.iter().collect();
            worst.sort_by_key(|w| (std::cmp::Reverse(w.latency_ns), w.cycle));
            worst.truncate(keep);
            let extremes = (*latencies.iter().min().unwrap(), *latencies.iter().max().unwrap());
            let rest = if keep >= latencies.len() { 0 } else { worst.last().unwrap().latency_ns };
            let (found, truth) = (jitter(PERIOD, extremes, &worst, Some(rest)), timedelta(&woke));
            prop_assert!(found.least <= truth && truth <= found.most, "{found:?} {truth}");
            prop_assert!(found.most <= extremes.1 - extremes.0);
            let blind = jitter(PERIOD, extremes, &[], None);
            prop_assert!(blind.least <= truth && truth <= blind.most);
        }

        /// Like the test above, with wakeups so late that periods are skipped.
        #[test]
        fn the_bounds_hold_with_skips(latencies in proptest::collection::vec(1u64..5 * PERIOD, 2..120)) {
            let (mut release, mut woke) = (0, Vec::new());
            for latency in &latencies {
                woke.push(release + latency);
                release += PERIOD * (1 + latency / PERIOD);
            }
            let max = *latencies.iter().max().unwrap();
            let (found, truth) = (jitter_with_skips(PERIOD, max), timedelta(&woke));
            prop_assert!(truth <= found.most, "{found:?} {truth}");
            prop_assert!(found.least <= truth || latencies[0] == max, "{found:?} {truth}");
        }
    }
}
