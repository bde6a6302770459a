//! Any file: no panic, no endless loop, time in order. Start from tests/fixtures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_trace::{Kind, Options, open};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut source) = open(Cursor::new(bytes), Options { bodies: true }) else { return };
    let mut last = 0;
    for event in source.by_ref() {
        assert!(event.t_ns >= last);
        last = if event.kind == Kind::Restart { 0 } else { event.t_ns };
    }
    assert!(source.info().notes.len() <= punctual_trace::MAX_NOTES);
});
