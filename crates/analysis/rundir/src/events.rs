//! Parses lines of `events.jsonl`. In a run of days almost all of them are windows and contexts, each written once per
//! second.

use punctual_model::{ContextSample, Event, Reading, WindowMax};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Whole,
    /// Parses only temperatures and throttling of contexts.
    Brief,
}

#[derive(Deserialize)]
struct BriefContext {
    mono_ns: u64,
    interval_ns: u64,
    temperatures: Vec<Reading>,
    throttling: Vec<Reading>,
}

/// Parses a line. This program writes the tag first, so the two most frequent kinds are recognized by their prefix.
/// Parsing the line to find the tag takes three times as long.
pub(crate) fn event(line: &[u8], detail: Detail) -> Result<Event, serde_json::Error> {
    if line.starts_with(b"{\"event\":\"window\",") {
        return serde_json::from_slice::<WindowMax>(line).map(Event::Window);
    }
    match (line.starts_with(b"{\"event\":\"context\","), detail) {
        (true, Detail::Whole) => serde_json::from_slice::<ContextSample>(line).map(Event::Context),
        (true, Detail::Brief) => brief_context(line).map(|brief| {
            Event::Context(ContextSample {
                mono_ns: brief.mono_ns,
                interval_ns: brief.interval_ns,
                temperatures: brief.temperatures,
                throttling: brief.throttling,
                ..ContextSample::default()
            })
        }),
        (false, _) => serde_json::from_slice(line),
    }
}

/// End of the required part of a context line, as this program writes it. It cannot match within a string, where quotes
/// are escaped.
const REST: &[u8] = b",\"frequency_transitions\":";
const MOST_HEAD: usize = 1_024;

/// Parses only the head of the line (a tenth of it), if it can be separated from the rest.
fn brief_context(line: &[u8]) -> Result<BriefContext, serde_json::Error> {
    let place = memchr::memmem::find(line.get(..MOST_HEAD).unwrap_or(line), REST);
    if let Some(head) = place.and_then(|at| line.get(..at))
        && line.ends_with(b"}")
    {
        let mut whole = Vec::with_capacity(head.len() + 1);
        whole.extend_from_slice(head);
        whole.push(b'}');
        if let Ok(brief) = serde_json::from_slice(&whole) {
            return Ok(brief);
        }
    }
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_units::CpuId;

    #[test]
    fn however_a_line_is_read_it_is_the_same() {
        let window = Event::Window(WindowMax {
            mono_ns: 5,
            interval_ns: 6,
            phase: "1-idle".into(),
            max_ns: vec![(CpuId(0), 7), (CpuId(1), 0)],
        });
        let reading = |name: &str, value| Reading { name: name.into(), value };
        let context = Event::Context(ContextSample {
            mono_ns: 1,
            interval_ns: 2,
            temperatures: vec![reading("thermal_zone0 cpu-thermal", 55_000)],
            throttling: vec![reading("under-voltage", 1)],
            page_faults: Some(3),
            ..ContextSample::default()
        });
        for whole in [window.clone(), context.clone(), Event::Signal { mono_ns: 1, number: 2 }] {
            let line = serde_json::to_vec(&whole).unwrap();
            assert_eq!(event(&line, Detail::Whole).unwrap(), whole);
            assert_eq!(serde_json::from_slice::<Event>(&line).unwrap(), whole);
        }
        let line = serde_json::to_vec(&context).unwrap();
        let Event::Context(brief) = event(&line, Detail::Brief).unwrap() else { panic!("another kind") };
        assert_eq!(
            (brief.mono_ns, brief.temperatures.len(), brief.throttling.len(), brief.page_faults),
            (1, 1, 1, None)
        );
        // If the fields have another order, or the line is truncated, the head alone does not suffice.
        let turned = br#"{"event":"context","mono_ns":1,"frequency_transitions":null,"interval_ns":2,"temperatures":[],"throttling":[]}"#;
        assert!(matches!(event(turned, Detail::Brief).unwrap(), Event::Context(c) if c.interval_ns == 2));
        assert!(event(&line[..line.len() - 1], Detail::Brief).is_err());
        assert!(event(b"{\"event\":\"window\",\"mono_ns\":\"x\"}", Detail::Whole).is_err());
    }
}
