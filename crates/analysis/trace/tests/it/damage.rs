//! Tests damaged files: truncated at every byte, changed at random, with false lengths. Readers must not panic, loop
//! endlessly, or return events in the wrong order.

use crate::common;
use crate::common::build;

use build::Builder;
use common::{fixture, in_order, read};
use proptest::prelude::*;
use punctual_trace::{Damage, Event, Kind, Options, TraceError, open};
use std::io::Cursor;

/// Reads as many events of a damaged file as possible; `None` if the file's header is unreadable.
fn survive(bytes: &[u8]) -> Option<Vec<Event>> {
    let mut source = open(Cursor::new(bytes), Options { bodies: true }).ok()?;
    let events: Vec<Event> = source.by_ref().take(100_000).collect();
    assert!(events.len() < 100_000);
    in_order(&events);
    Some(events)
}

fn cut_everywhere(name: &str, complete: usize) {
    let whole = fixture(name);
    let mut readable = 0;
    for end in 0..whole.len() {
        if let Some(events) = survive(&whole[..end]) {
            assert!(events.len() <= complete, "{end}");
            readable += 1;
        }
    }
    assert_eq!(survive(&whole).unwrap().len(), complete);
    println!("{name}: {readable} of {} cuts could be read in part", whole.len());
}

#[test]
fn version_6_cut_at_every_byte() {
    cut_everywhere("g612.small.v6.dat", 135);
}

#[test]
fn version_7_cut_at_every_byte() {
    cut_everywhere("g612.small.dat", 928);
}

#[test]
fn a_cut_in_the_data_keeps_what_came_before_and_says_so() {
    let whole = fixture("g612.small.v6.dat");
    let (events, info) = read(&whole[..whole.len() - 3000]);
    assert!(events.len() > 50);
    assert!(info.notes.iter().any(|n| matches!(n.what, Damage::Truncated { .. })), "{:?}", info.notes);
}

#[test]
fn lengths_that_lie_are_errors_not_allocations() {
    let head = |page: u32| {
        let mut b = Builder::new(false, 8);
        b.bytes.extend(b"\x17\x08\x44tracing6\0\0\x08");
        b.u32(page);
        b.text("header_page\0");
        b
    };
    let mut b = head(4096);
    b.u64(u64::MAX);
    assert!(matches!(open(Cursor::new(b.bytes), Options::default()), Err(TraceError::Damaged { .. })));
    let mut b = head(u32::MAX);
    b.u64(0);
    b.text("header_event\0");
    b.u64(0);
    b.u32(u32::MAX);
    b.u64(1 << 40);
    assert!(matches!(open(Cursor::new(b.bytes), Options::default()), Err(TraceError::Damaged { .. })));
    for text in
        [&b"\x17\x08\x44tracing9\0\0\x08"[..], b"\x17\x08\x44tracing6\0\x07\x08", b"\x17\x08\x44tracing", b"", b"hi"]
    {
        assert!(open(Cursor::new(text), Options::default()).is_err());
    }
}

#[test]
fn what_cannot_be_read_says_what_to_do() {
    let error = open(Cursor::new(b"\x1f\x8b\x08 gzip"), Options::default()).err().unwrap().to_string();
    assert!(error.contains("gunzip"), "{error}");
}

#[test]
fn option_sections_in_a_circle_end() {
    let mut whole = fixture("g612.small.dat");
    // The last option of the only section is DONE with the offset of the next section. It is changed to point to its
    // own section.
    let section = u64::from_le_bytes(whole[0x1d..0x25].try_into().unwrap());
    let end = whole.len() - 8;
    whole[end..].copy_from_slice(&section.to_le_bytes());
    survive(&whole);
}

#[test]
fn a_damaged_page_is_a_loss_on_its_cpu() {
    let mut whole = fixture("g612.small.v6.dat");
    let page = whole.len() - 4096;
    whole[page + 8..page + 16].copy_from_slice(&u64::MAX.to_le_bytes());
    let (events, info) = read(&whole);
    assert!(events.iter().all(|e| e.cpu == 0) && !events.is_empty());
    assert!(info.notes.iter().any(|n| matches!(n.what, Damage::Corrupt { .. })));
    // After damage in the middle of a page, the following events on that CPU are marked as lost.
    let mut whole = fixture("g612.small.v6.dat");
    whole[page + 16 + 600] = 0;
    let (events, _) = read(&whole);
    assert!(events.iter().filter(|e| !matches!(e.kind, Kind::LostEvents { .. })).count() <= 215);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_version_6(changes in proptest::collection::vec((0usize..13_893, any::<u8>()), 1..20)) {
        let mut whole = fixture("g612.small.v6.dat");
        for (at, byte) in changes {
            whole[at] = byte;
        }
        survive(&whole);
    }

    #[test]
    fn changed_version_7(changes in proptest::collection::vec((0usize..11_009, any::<u8>()), 1..8)) {
        let mut whole = fixture("g612.small.dat");
        for (at, byte) in changes {
            whole[at] = byte;
        }
        survive(&whole);
    }

    #[test]
    fn changed_pages(changes in proptest::collection::vec((5_701usize..13_893, any::<u8>()), 1..40)) {
        let mut whole = fixture("g612.small.v6.dat");
        for (at, byte) in changes {
            whole[at] = byte;
        }
        survive(&whole);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400), version: bool) {
        let head: &[u8] = if version { b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0header_page\0" } else { b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0zstd\0x\0" };
        survive(&[head, &bytes].concat());
        survive(&bytes);
    }
}
