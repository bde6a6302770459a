#![allow(dead_code, reason = "every test uses its own part")]

pub mod build;

use punctual_trace::{Event, Kind, Options, TraceInfo, open};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

pub fn read(bytes: &[u8]) -> (Vec<Event>, TraceInfo) {
    let mut source = open(Cursor::new(bytes), Options::default()).unwrap();
    let events: Vec<Event> = source.by_ref().collect();
    let info = source.info().clone();
    in_order(&events);
    (events, info)
}

pub fn read_fixture(name: &str) -> (Vec<Event>, TraceInfo) {
    read(&fixture(name))
}

/// Checks that time decreases only at a restart.
pub fn in_order(events: &[Event]) {
    for pair in events.windows(2) {
        assert!(pair[0].t_ns <= pair[1].t_ns || pair[0].kind == Kind::Restart, "{pair:?}");
    }
}

pub fn event_name(kind: &Kind) -> String {
    let debug = format!("{kind:?}");
    let variant = debug.split([' ', '(', '{']).next().unwrap_or_default();
    match (kind, variant) {
        (Kind::Other { name, .. }, _) => name.to_string(),
        (Kind::VectorEntry { .. }, _) => "local_timer_entry".into(),
        (Kind::VectorExit { .. }, _) => "local_timer_exit".into(),
        (Kind::IrqEntry { .. }, _) => "irq_handler_entry".into(),
        (Kind::IrqExit { .. }, _) => "irq_handler_exit".into(),
        (Kind::SchedMigrate { .. }, _) => "sched_migrate_task".into(),
        (Kind::StatRuntime { .. }, _) => "sched_stat_runtime".into(),
        (Kind::Print { .. }, _) => "tracing_mark_write".into(),
        _ => {
            let mut name = String::new();
            for (n, c) in variant.chars().enumerate() {
                if c.is_uppercase() && n > 0 {
                    name.push('_');
                }
                name.push(c.to_ascii_lowercase());
            }
            name
        }
    }
}

pub fn counts(events: &[Event]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events {
        *counts.entry(event_name(&event.kind)).or_default() += 1;
    }
    counts
}
