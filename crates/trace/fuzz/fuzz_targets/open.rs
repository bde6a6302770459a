//! Any file: no panic, no endless loop, time in order, labels that add up. Start from tests/fixtures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_explain::{Attribution, Victims};
use punctual_trace::{Kind, Options, open};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut source) = open(Cursor::new(bytes), Options { bodies: true }) else { return };
    let options =
        punctual_explain::Options { victims: Victims::AllRealTime, cycles: true, ..punctual_explain::Options::default() };
    let mut attribution = Attribution::new(options);
    let mut last = 0;
    while let Some(event) = source.next() {
        assert!(event.t_ns >= last);
        last = if event.kind == Kind::Restart { 0 } else { event.t_ns };
        attribution.event(&event, source.info());
    }
    assert!(source.info().notes.len() <= punctual_trace::MAX_NOTES);
    let found = attribution.finish(source.info());
    for victim in &found.victims {
        assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), victim.latency_ns);
    }
    for cycle in &found.cycles {
        let rest = cycle.delays.iter().map(|c| c.ns).chain(cycle.blocked.iter().map(|b| b.ns));
        assert_eq!(cycle.ran_ns + rest.sum::<u64>(), cycle.length_ns);
    }
});
