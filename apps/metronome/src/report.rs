use crate::paper::{Column, Means, published};
use crate::plan::Measured;
use punctual_units::{Histogram, Nanos};
use serde_json::{Value, json};

pub(crate) fn json(measured: &Measured) -> Value {
    let (plan, counted) = (&measured.plan, &measured.stats.counted);
    let real_time = plan.scheduling.policy().is_real_time();
    let column = Column::of_load(&plan.load.to_string());
    let paper = |means| column.and_then(|column| published(plan.period, means, real_time, column)).map(|worst| worst.0);
    let edges = measured.edges.as_ref().map(|(edges, lost)| {
        json!({
            "seen": edges.seen, "unseen": edges.unseen, "strays": edges.strays, "dropped": lost.dropped,
            "latency_ns": distribution(&edges.latency),
            "worst_scheduled_mono_ns": edges.worst.map(|(scheduled, _)| scheduled.0),
        })
    });
    json!({
        "event": "measured",
        "load": plan.load.to_string(),
        "period_ns": plan.period.0,
        "scheduling": plan.scheduling.to_string(),
        "released": counted.released, "ran": counted.ran, "skipped": counted.skipped,
        "beats": measured.beats.made, "beats_untold": measured.beats.unreported,
        "accounted_for": measured.accounted_for(),
        "lateness_ns": distribution(&counted.lateness),
        "given_up_ns": distribution(&counted.given_up),
        "page_faults": measured.stats.usage.page_faults,
        "edges": edges,
        "paper_worst_ns": {"edges": paper(Means::Edges), "task": paper(Means::Task)},
        "load_report": measured.load,
        "doubts": measured.doubts(),
    })
}

fn distribution(histogram: &Histogram) -> Value {
    json!({
        "count": histogram.count(), "min": histogram.min(), "mean": histogram.mean(),
        "p50": histogram.quantile(0.5), "p99": histogram.quantile(0.99), "max": histogram.max(),
    })
}

pub(crate) fn text(measured: &Measured) -> String {
    let (plan, counted) = (&measured.plan, &measured.stats.counted);
    let shown = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| Nanos(ns).to_string());
    let edges = match &measured.edges {
        None => "edges not measured".into(),
        Some((edges, _)) => format!(
            "{} edges, late by {} at the median, {} at most",
            edges.seen,
            shown(edges.latency.quantile(0.5)),
            shown(edges.latency.max())
        ),
    };
    format!(
        "{}, every {}, {}: {} released, {} ran, {} skipped; late by {} at the median, {} at most; {edges}\n",
        plan.load,
        plan.period,
        plan.scheduling,
        counted.released,
        counted.ran,
        counted.skipped,
        shown(counted.lateness.quantile(0.5)),
        shown(counted.lateness.max()),
    )
}
