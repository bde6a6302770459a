//! Reconciles the stated values of a thread: places its samples in the histogram, bounds their possible values, and
//! detects contradictions.

use crate::block::{Beyond, Loss, Samples, Skips, Thread};
use crate::number::{LARGEST_NS, MOST_SAMPLES};
use punctual_model::{Blur, CpuResult, Distribution, LostKind, Unplaced};
use punctual_units::{CpuId, Histogram, Nanos};

pub(crate) struct Settled {
    pub result: CpuResult,
    pub distribution: Distribution,
    pub lost: Vec<Loss>,
}

pub(crate) fn settle(thread: Thread, cpu: CpuId) -> Settled {
    let mut lost = thread.lost.clone();
    let (mut raw, width) = placed(&thread);
    let blur_width = width.saturating_sub(1);
    let beyond = beyond(&thread, raw.count(), &mut lost);
    lost.extend(contradictions(&thread, &raw, beyond.0));
    let beyond = with_missing(&thread, raw.count(), beyond);
    extremes_alone(&mut raw, &thread);
    let unplaced = add_beyond(&mut raw, &thread, beyond, &mut lost);
    let (below_ns, above_ns) = if thread.upper_edges { (width, 0) } else { (0, blur_width) };
    let hidden_from_ns = match thread.beyond {
        Beyond::Unknown { from_ns } => Some(from_ns),
        _ => None,
    };
    let mut blur = Blur { below_ns, above_ns, unplaced, hidden_from_ns, skipped_at_most: None };
    blur.skipped_at_most = skipped_at_most(&thread, &raw, &blur);
    if thread.skips == Skips::Uncounted {
        blur.skipped_at_most = blur.skipped_at_most.into_iter().chain(time_for(&thread, raw.count())).min();
    }
    let skipped = match (thread.skips, blur.skipped_at_most) {
        (Skips::Never | Skips::Uncounted, Some(0)) => Some(0),
        _ => None,
    };
    lost.extend(skips_loss(&thread, &blur));
    if let Some(from) = hidden_from_ns.filter(|&ns| ns > 0) {
        let text = format!(
            "samples of {} and more are neither counted nor shown: it is unknown whether any occurred",
            Nanos(from)
        );
        lost.push(Loss::reported(LostKind::OverflowUnknown, None, text));
    }
    let complete = unplaced.is_none() && hidden_from_ns.is_none();
    let result = CpuResult {
        cpu,
        tid: thread.tid,
        got: thread.got,
        released: skipped.map(|_| raw.count()),
        ran: raw.count(),
        skipped,
        // If samples have no value, the minimum is known only if it is stated.
        min_ns: raw
            .min()
            .filter(|_| thread.min_ns.is_some() || unplaced.is_none_or(|unplaced| raw.min() < Some(unplaced.from_ns))),
        max_ns: raw.max(),
        // The mean in the file is better than one computed from whole bins. A mean of single values is exact.
        mean_ns: thread.mean_ns.or_else(|| raw.mean().filter(|_| complete && width <= 1_000 && !thread.upper_edges)),
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: Some(blur),
        episodes: Vec::new(),
        blocks: Vec::new(),
    };
    Settled { result, distribution: Distribution { raw, skipped: Histogram::new() }, lost }
}

/// Returns the samples that have a value, and the bin width. Samples of the lowest wide bin are placed at the
/// recorded minimum.
fn placed(thread: &Thread) -> (Histogram, u64) {
    match &thread.samples {
        Samples::Each(histogram) => (histogram.clone(), thread.width_ns),
        Samples::Summary => (Histogram::new(), thread.width_ns),
        Samples::Bins(bins) => {
            let mut histogram = Histogram::new();
            let (lowest, highest) = bins.range().unwrap_or_default();
            let width = thread.width_ns.max(1);
            let in_bin = |value: u64, edge: u64| value >= edge && value - edge < width;
            for &(edge, samples) in &bins.filled {
                let floor = thread.min_ns.filter(|&min| !thread.upper_edges && edge == lowest && in_bin(min, edge));
                let at = floor.unwrap_or(edge);
                // If the maximum is known exactly, one sample of the last bin is placed at it. A stated maximum beyond
                // that bin, which contradicts the bins, is kept as well.
                let all = thread.beyond == Beyond::None && thread.count.is_none_or(|count| count <= bins.count);
                let top = thread.max_ns.filter(|&max| {
                    let inside = width > 1 && in_bin(max, edge) && max > at;
                    let outside = all && max >= edge.saturating_add(width) && max <= LARGEST_NS;
                    !thread.upper_edges && edge == highest && (inside || outside)
                });
                let bottom = thread
                    .min_ns
                    .filter(|&min| edge == lowest && all && min < edge && samples > 1 && !thread.upper_edges);
                let taken = u64::from(top.is_some()) + u64::from(bottom.is_some());
                histogram.record_n(at, samples.saturating_sub(taken));
                bottom.into_iter().chain(top).for_each(|ns| histogram.record(ns));
            }
            (histogram, width)
        }
    }
}

fn beyond(thread: &Thread, placed: u64, lost: &mut Vec<Loss>) -> (u64, u64) {
    match thread.beyond {
        Beyond::None | Beyond::Unknown { .. } => (0, 0),
        Beyond::Counted { count, from_ns } if count.checked_add(placed).is_some_and(|n| n <= MOST_SAMPLES) => {
            (count, from_ns)
        }
        Beyond::Counted { count, from_ns } => {
            let text = "more samples are stated beyond the last bin than a run can have".to_owned();
            lost.push(Loss::problem(LostKind::Disagreement, Some(count), text));
            (0, from_ns)
        }
        Beyond::Rest { from_ns } => (thread.count.unwrap_or(placed).saturating_sub(placed).min(MOST_SAMPLES), from_ns),
    }
}

/// Adds samples that are stated but are in no bin, since the file has lost them.
fn with_missing(thread: &Thread, placed: u64, (count, from_ns): (u64, u64)) -> (u64, u64) {
    let whole = !matches!(thread.samples, Samples::Summary) && !is_unknown(thread.beyond);
    let stated = thread.count.filter(|&n| whole && n <= MOST_SAMPLES).unwrap_or(0);
    match stated.saturating_sub(placed.saturating_add(count)) {
        0 => (count, from_ns),
        missing => (count + missing, thread.min_ns.unwrap_or(0)),
    }
}

/// Adds the extremes if nothing else is known, as for a summary without a count. A stated maximum beyond the bins is a
/// sample that the bins do not include.
fn extremes_alone(raw: &mut Histogram, thread: &Thread) {
    let beyond = |max: u64| raw.max().is_some_and(|highest| max > highest.saturating_add(thread.width_ns));
    if let Some(max) = thread.max_ns.filter(|&max| is_unknown(thread.beyond) && beyond(max) && max <= LARGEST_NS) {
        return raw.record(max);
    }
    let (min, max) = (thread.min_ns, thread.max_ns.filter(|&ns| ns <= LARGEST_NS));
    if raw.is_empty() && is_unknown(thread.beyond) && matches!(thread.samples, Samples::Summary) {
        let apart = min.zip(max).filter(|(min, max)| min < max).map(|(min, _)| min);
        max.into_iter().chain(apart).for_each(|ns| raw.record(ns));
    }
}

/// Places the samples without a value: one at the recorded maximum, one at the minimum if it must be among them, and
/// the others at their lower bound.
fn add_beyond(
    raw: &mut Histogram,
    thread: &Thread,
    (count, from_ns): (u64, u64),
    lost: &mut Vec<Loss>,
) -> Option<Unplaced> {
    if count == 0 {
        return None;
    }
    let alone = raw.is_empty();
    let from_ns = if alone { from_ns.max(thread.min_ns.unwrap_or(0)) } else { from_ns };
    let to_ns = thread.max_ns.filter(|&max| max >= from_ns);
    let mut left = count;
    if let Some(max) = to_ns {
        raw.record(max);
        left -= 1;
    }
    if alone && left > 0 && thread.min_ns == Some(from_ns) {
        raw.record(from_ns);
        left -= 1;
    }
    raw.record_n(from_ns, left);
    let to = to_ns.map_or("the largest latency is unknown".into(), |to| format!("at most {}", Nanos(to)));
    lost.push(match thread.samples {
        Samples::Summary => Loss::reported(
            LostKind::Distribution,
            Some(count),
            format!(
                "only the number of samples and the smallest and largest latency are stated ({} to {})",
                Nanos(from_ns),
                to.trim_start_matches("at most ")
            ),
        ),
        _ => Loss::reported(
            LostKind::Overflow,
            Some(count),
            format!("samples of {} and more are counted without their values; {to}", Nanos(from_ns)),
        ),
    });
    // A single sample that is the maximum has a known value.
    (left > 0).then_some(Unplaced { count: left, from_ns, to_ns })
}

fn contradictions(thread: &Thread, raw: &Histogram, beyond: u64) -> Vec<Loss> {
    let mut texts = Vec::new();
    let samples = raw.count().saturating_add(beyond);
    let has_values = !matches!(thread.samples, Samples::Summary);
    if let Some(stated) = thread.count.filter(|&stated| has_values && stated != samples && !is_unknown(thread.beyond)) {
        texts.push(format!("{stated} samples are stated, but {samples} are in the bins and beyond them"));
    }
    let range = match &thread.samples {
        Samples::Bins(bins) => bins.range(),
        Samples::Each(histogram) => histogram.min().zip(histogram.max()),
        Samples::Summary => None,
    };
    if let Some((lowest, highest)) = range {
        texts.extend(outside(thread, (lowest, highest), beyond));
    }
    if let (Some(max), Beyond::Counted { from_ns, .. } | Beyond::Rest { from_ns }) = (thread.max_ns, thread.beyond)
        && beyond > 0
        && max < from_ns
    {
        texts.push(format!(
            "samples lie beyond {}, but the largest latency is stated as {}",
            Nanos(from_ns),
            Nanos(max)
        ));
    }
    texts.into_iter().map(|text| Loss::problem(LostKind::Disagreement, None, text)).collect()
}

/// Describes the stated extremes that lie outside the outermost bins.
fn outside(thread: &Thread, (lowest, highest): (u64, u64), beyond: u64) -> Vec<String> {
    let mut texts = Vec::new();
    let width = thread.width_ns.max(1);
    // A bin contains values from its edge up to its width beyond it; a bin named by its upper edge contains the values
    // below.
    let (below, above) = if thread.upper_edges { (width, width) } else { (0, width - 1) };
    let of_bin = |value: u64, edge: u64| value.saturating_add(below) >= edge && value <= edge.saturating_add(above);
    if let Some(stated) = thread.min_ns.filter(|&stated| !of_bin(stated, lowest)) {
        texts.push(format!(
            "the smallest latency is stated as {}, but the lowest bin is {}",
            Nanos(stated),
            Nanos(lowest)
        ));
    }
    let known = beyond == 0 && !is_unknown(thread.beyond);
    if let Some(stated) = thread.max_ns.filter(|&stated| known && !of_bin(stated, highest)) {
        texts.push(format!(
            "the largest latency is stated as {}, but the highest bin is {}",
            Nanos(stated),
            Nanos(highest)
        ));
    }
    texts
}

fn is_unknown(beyond: Beyond) -> bool {
    matches!(beyond, Beyond::Unknown { .. })
}

/// Returns the maximum number of skipped periods. A wakeup later than its period skips at most as many periods as its
/// latency covers. Other wakeups skip none.
fn skipped_at_most(thread: &Thread, raw: &Histogram, blur: &Blur) -> Option<u64> {
    if thread.skips != Skips::Uncounted {
        return Some(0);
    }
    if blur.hidden_from_ns.is_some() {
        return None;
    }
    let period = thread.period_ns.filter(|&p| p > 0)?;
    let skips = |latency: u64| latency.saturating_add(blur.above_ns).min(LARGEST_NS) / period;
    if let Some(unplaced) = blur.unplaced {
        let each = skips(unplaced.to_ns?);
        let placed = raw.bins().map(|b| skips(b.high.min(raw.max().unwrap_or(0))).saturating_mul(b.count));
        // Samples at `from_ns` are counted twice, so the result remains an upper bound.
        return Some(placed.fold(each.saturating_mul(unplaced.count), u64::saturating_add));
    }
    let each = raw.bins().map(|b| skips(b.high.min(raw.max().unwrap_or(0))).saturating_mul(b.count));
    Some(each.fold(0, u64::saturating_add))
}

/// Returns the maximum number of skipped periods: the number of periods that fit into the measurement time, minus the
/// `ran` periods in which the thread ran.
fn time_for(thread: &Thread, ran: u64) -> Option<u64> {
    let period = thread.period_ns.filter(|&p| p > 0)?;
    Some((thread.longest_ns? / period).saturating_add(1).saturating_sub(ran))
}

fn skips_loss(thread: &Thread, blur: &Blur) -> Option<Loss> {
    let text = match blur.skipped_at_most {
        Some(0) => return None,
        Some(most) => format!("periods that passed while the thread was late were not counted; there are at most {most}"),
        None if thread.period_ns.is_none() => {
            "periods that passed while the thread was late were not counted, and the period is unknown (set it with --period)"
                .into()
        }
        None => "periods that passed while the thread was late were not counted".into(),
    };
    Some(Loss::reported(LostKind::SkippedPeriods, None, text))
}
