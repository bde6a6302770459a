//! Invariants of every timeline.
#![allow(dead_code, reason = "every test file uses another part")]

use punctual_model::{Lane, Span, SpanKind, Timeline, Victim};

/// Panics if a timeline contradicts itself or its victim.
pub fn check(timeline: &Timeline, victim: &Victim) {
    let Timeline { start_ns, end_ns, moments, .. } = timeline;
    assert_eq!(Some(*moments), victim.moments);
    assert!(*start_ns <= moments.t0_ns && moments.t3_ns <= *end_ns);
    let margin = ((moments.t3_ns - moments.t0_ns) / 10).clamp(50_000, 1_000_000);
    let over = moments.t4_ns.unwrap_or(moments.t3_ns);
    assert!(moments.t0_ns - start_ns <= margin && end_ns.saturating_sub(over) <= margin);
    assert!(timeline.lanes.len() <= 8 && Some(timeline.lanes[0].cpu.0) == victim.cpu);
    assert!(timeline.lanes.iter().map(|lane| lane.spans.len()).sum::<usize>() <= 620);
    timeline.lanes.iter().for_each(|lane| check_lane(lane, timeline));
    let states = timeline.states.iter().map(|s| (s.start_ns, s.end_ns));
    seamless(states, (*start_ns, *end_ns));
    assert!(timeline.states.windows(2).all(|pair| pair[0].state != pair[1].state || pair[0].end_ns == moments.t3_ns));
}

fn check_lane(lane: &Lane, timeline: &Timeline) {
    let (start, end) = (timeline.start_ns, timeline.end_ns);
    let below = || lane.spans.iter().filter(|span| is_below(span));
    seamless(below().map(|s| (s.start_ns, s.end_ns)), (start, end));
    for span in below().filter(|span| span.cause.is_some() && lane.joined == 0) {
        let over = timeline.moments.t4_ns.unwrap_or(timeline.moments.t3_ns);
        assert!(timeline.moments.t0_ns <= span.start_ns && span.end_ns <= over, "{span:?}");
    }
    for span in &lane.spans {
        assert!(start <= span.start_ns && span.start_ns <= span.end_ns && span.end_ns <= end, "{span:?}");
    }
    assert!(lane.spans.windows(2).all(|pair| pair[0].start_ns <= pair[1].start_ns));
}

/// True for a task, idle or unknown time; false for an interrupt on top of it.
pub fn is_below(span: &Span) -> bool {
    matches!(span.kind, SpanKind::Unknown | SpanKind::Idle | SpanKind::Task)
}

fn seamless(spans: impl Iterator<Item = (u64, u64)>, (start, end): (u64, u64)) {
    let mut at = start;
    for (from, to) in spans {
        assert_eq!(from, at);
        at = to;
    }
    assert_eq!(at, end);
}
