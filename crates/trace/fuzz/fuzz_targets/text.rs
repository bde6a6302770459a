//! Lines after a line that makes them a trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_trace::{Options, open_text};

fuzz_target!(|bytes: &[u8]| {
    let text = [b"# tracer: nop\n  a-1 [000] d..1 1.000001: sched_switch: ", bytes].concat();
    if let Ok(source) = open_text(&text[..], Options { bodies: true }) {
        source.for_each(drop);
    }
});
