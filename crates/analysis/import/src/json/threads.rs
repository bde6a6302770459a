use crate::bins::Bins;
use crate::block::{Beyond, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::cmdline::Command;
use crate::number;
use crate::{Options, Unit};
use punctual_model::LostKind;
use punctual_units::Arrange;
use serde_json::Value;

pub(super) fn of<'a>(value: &'a Value, key: &str) -> Vec<(u32, &'a Value)> {
    let all = value.get(key).and_then(Value::as_object);
    let mut found: Vec<(u32, &Value)> = all
        .into_iter()
        .flatten()
        .filter_map(|(number, one)| Some((u32::try_from(number::whole(number)?).ok()?, one)))
        .filter(|(number, one)| *number < MOST_THREADS && one.is_object())
        .collect();
    found.arrange_by_key(|(number, _)| *number);
    found
}

/// Returns keys and sample counts; `None` for a malformed entry.
fn bins_of(one: &Value) -> impl Iterator<Item = Option<(&str, u64)>> {
    let all = one.get("histogram").and_then(Value::as_object).into_iter().flatten();
    all.map(|(key, n)| Some((key.as_str(), n.as_u64().filter(|&n| n <= number::MOST_SAMPLES)?)))
}

fn whole_bins(one: &Value, unit_ns: u64) -> (Bins, u64) {
    let (mut bins, mut bad) = (Bins::default(), 0);
    for bin in bins_of(one) {
        let edge = bin.and_then(|(key, n)| Some((number::latency(key, unit_ns)?, n)));
        bad += u64::from(!edge.is_some_and(|(edge, n)| bins.add(edge, n)));
    }
    bins.filled.sort_unstable();
    (bins, bad)
}

fn unreadable(thread: &mut Thread, bad: u64) {
    if bad > 0 {
        let text = "bins could not be read";
        thread.lost.push(Loss::problem(LostKind::Unreadable, Some(bad), text));
    }
}

fn stated(thread: &mut Thread, one: &Value, count: &str, unit_ns: u64) {
    let whole = |key: &str| one.get(key).and_then(number::json);
    thread.count = whole(count).filter(|&n| n <= number::MOST_SAMPLES);
    let missing = [count, "min", "max"].into_iter().filter(|key| whole(key).is_none());
    for key in missing.filter(|_| one.get("freq").is_none()) {
        let text = format!("`{key}` is missing or not a number");
        thread.lost.push(Loss::problem(LostKind::Unreadable, None, text));
    }
    if thread.count == Some(0) {
        return;
    }
    let scaled = |key: &str| whole(key).and_then(|n| number::scaled(n, unit_ns));
    (thread.min_ns, thread.max_ns) = (scaled("min"), scaled("max"));
    let mean = one.get("avg").and_then(Value::as_f64).filter(|v| v.is_finite() && *v >= 0.0);
    thread.mean_ns = mean.map(|v| v * unit_ns as f64);
}

/// Returns a thread of cyclictest or cyclicdeadline. The format has no overflow field: cycles that are not in the bins
/// are beyond the last bin.
pub(super) fn cyclic(
    number: u32,
    one: &Value,
    file: &Value,
    command: &Command,
    cyclictest: bool,
    options: &Options,
) -> Thread {
    let nanos = file.get("resolution_in_ns").and_then(Value::as_u64) == Some(1);
    let unit_ns = options.unit.unwrap_or(if nanos { Unit::Nanos } else { Unit::Micros }).ns();
    let (bins, bad) = whole_bins(one, unit_ns);
    let has_histogram = one.get("histogram").is_some_and(Value::is_object);
    let end = bins.range().map_or(0, |(_, last)| last.saturating_add(unit_ns));
    let samples = if has_histogram { Samples::Bins(bins) } else { Samples::Summary };
    let mut thread = Thread::new(number, samples, unit_ns);
    unreadable(&mut thread, bad);
    stated(&mut thread, one, "cycles", unit_ns);
    // With the number given by -h, all bins up to it are present, including empty ones. Without it the samples are only
    // known to lie beyond the last filled bin.
    let bins_end = command.bins().filter(|_| has_histogram).and_then(|n| number::scaled(n, unit_ns));
    thread.beyond = match thread.count {
        Some(_) => Beyond::Rest { from_ns: bins_end.unwrap_or(end).max(end) },
        None => Beyond::Unknown { from_ns: end },
    };
    let cpu = one.get("cpu").and_then(Value::as_u64).and_then(|cpu| u32::try_from(cpu).ok()).filter(|&cpu| cpu < 8_192);
    let given = options.period.map(|p| p.0);
    if cyclictest {
        thread.cpu = cpu.or_else(|| command.cpu(number));
        thread.period_ns = given.or_else(|| command.period_ns(number).filter(|_| !command.words.is_empty()));
        thread.got = command.scheduling();
    } else {
        thread.period_ns = given;
    }
    thread
}

/// Returns a thread of jitterdebugger. The tool has bins up to 1000, drops larger samples, and skips no period.
pub(super) fn jitterdebugger(number: u32, one: &Value, unit_ns: u64, options: &Options) -> Thread {
    let (bins, bad) = whole_bins(one, unit_ns);
    let end = bins.range().map_or(0, |(_, last)| last.saturating_add(unit_ns));
    let mut thread = Thread::new(number, Samples::Bins(bins), unit_ns);
    unreadable(&mut thread, bad);
    stated(&mut thread, one, "count", unit_ns);
    thread.beyond = match thread.count {
        Some(_) => Beyond::Rest { from_ns: end },
        None => Beyond::Unknown { from_ns: end },
    };
    thread.skips = Skips::Never;
    thread.period_ns = options.period.map(|p| p.0);
    thread
}

/// Returns a thread of oslat. Bins are named by their upper edge, and the last one also contains all larger samples.
pub(super) fn oslat(number: u32, one: &Value) -> Thread {
    // If the bins have fractions of a microsecond, the extremes are in nanoseconds.
    let fine = bins_of(one).flatten().any(|(key, _)| key.contains('.'));
    let unit_ns = if fine { 1 } else { 1_000 };
    let (mut all, mut bad) = (Vec::new(), 0);
    for bin in bins_of(one) {
        let edge = bin.and_then(|(key, n)| Some((number::decimal(key).filter(|us| *us < 1e12)?, n)));
        match edge {
            Some((us, n)) => all.push(((us * 1_000.0).round() as u64, n)),
            None => bad += 1,
        }
    }
    all.sort_unstable();
    let apart = all.windows(2).filter_map(|w| w.get(1)?.0.checked_sub(w.first()?.0)).filter(|&d| d > 0).min();
    let first = all.first().map(|b| b.0);
    // The buckets begin at 0, so the first edge is an upper bound on the width as well.
    let width = apart.into_iter().chain(first).min().unwrap_or(1_000).max(1);
    let mut thread = Thread::new(number, Samples::Summary, width);
    unreadable(&mut thread, bad);
    stated(&mut thread, one, "count", unit_ns);
    // The mean is in microseconds, whatever the bins.
    thread.mean_ns = one.get("avg").and_then(Value::as_f64).filter(|v| v.is_finite() && *v >= 0.0).map(|v| v * 1_000.0);
    let last = all.last().copied();
    if let Some((edge, n)) = last.filter(|&(edge, _)| thread.max_ns.is_some_and(|max| max > edge)) {
        all.pop();
        thread.beyond = Beyond::Counted { count: n, from_ns: edge.saturating_sub(width) };
    }
    let mut bins = Bins::default();
    bad = all.iter().map(|&(edge, n)| u64::from(edge > number::LARGEST_NS || !bins.add(edge, n))).sum();
    unreadable(&mut thread, bad);
    thread.samples = Samples::Bins(bins);
    (thread.upper_edges, thread.skips) = (true, Skips::NoPeriods);
    thread.cpu = one.get("cpu").and_then(Value::as_u64).and_then(|c| u32::try_from(c).ok()).filter(|&c| c < 8_192);
    thread
}
