//! Ring-buffer pages, with the formats of a 6.12 kernel.
#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_trace::{Decoder, Layout, Options, Pages};

const FORMATS: &str = include_str!("../../tests/fixtures/g612.formats.txt");

fuzz_target!(|bytes: &[u8]| {
    let Some((first, page)) = bytes.split_first() else { return };
    let layout = Layout::new(first & 1 != 0, if first & 2 != 0 { 4 } else { 8 }, page.len());
    let mut decoder = Decoder::new(layout, Options { bodies: true });
    for format in FORMATS.split("name: ").skip(1) {
        decoder.add_format(format!("name: {format}").as_bytes());
    }
    Pages::new(decoder).page(0, page, drop);
});
