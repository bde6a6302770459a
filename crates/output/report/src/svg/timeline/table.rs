use super::super::Table;
use super::{LANES, SPANS, View, bars};
use crate::words::causes;
use punctual_model::Span;
use punctual_units::{Arrange, Nanos};

/// Maximum number of rows: the causes, then the longest of the other spans.
const ROWS: usize = 20;

/// Lists what ran between T0 and T3, ordered by start time.
pub fn of(view: &View) -> Table {
    let (t0, t3) = (view.timeline.moments.t0_ns, view.timeline.moments.t4_ns.unwrap_or(view.timeline.moments.t3_ns));
    let length = |span: &Span| span.end_ns.min(t3).saturating_sub(span.start_ns.max(t0));
    let mut all: Vec<(u32, &Span)> = Vec::new();
    for lane in view.timeline.lanes.iter().take(LANES) {
        let spans = lane.spans.iter().take(SPANS).filter(|span| span.start_ns < t3 && span.end_ns > t0);
        all.extend(spans.map(|span| (lane.cpu.0, span)));
    }
    all.arrange_by_key(|(_, span)| (span.cause.is_none(), std::cmp::Reverse(length(span))));
    all.truncate(ROWS);
    all.arrange_by_key(|(cpu, span)| (span.start_ns, *cpu));
    let row = |(cpu, span): &(u32, &Span)| {
        vec![
            format!("CPU {cpu}"),
            Nanos(span.start_ns.saturating_sub(t0)).to_string(),
            Nanos(length(span)).to_string(),
            bars::name(span),
            span.cause.map_or("–".into(), |class| causes::class(class).to_owned()),
        ]
    };
    let head = ["CPU", "after T0", "for", "what", "delays by"].map(String::from).to_vec();
    Table { head, rows: all.iter().map(row).collect() }
}
