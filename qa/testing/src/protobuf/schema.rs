//! The subset of Perfetto's messages that the program writes, and a check of traces against it. Names, numbers and
//! types are those in protos/perfetto/trace of Perfetto 0.59 (taken from the descriptors of its Python package).

use super::{decode, each, number, text};
use std::collections::BTreeMap;

#[derive(Clone, Copy)]
enum Type {
    Uint64,
    Int64,
    Uint32,
    Int32,
    Bool,
    Text,
    Of(&'static str),
}
use Type::{Bool, Int32, Int64, Of, Text, Uint32, Uint64};

const WAKING: &[(u32, Type)] = &[(1, Text), (2, Int32), (3, Int32), (4, Int32), (5, Int32)];
const SOFTIRQ: &[(u32, Type)] = &[(1, Uint32)];
const SCHEMA: &[(&str, &[(u32, Type)])] = &[
    ("Trace", &[(1, Of("TracePacket"))]),
    (
        "TracePacket",
        &[
            (1, Of("FtraceEventBundle")),
            (8, Uint64),
            (10, Uint32),
            (11, Of("TrackEvent")),
            (13, Uint32),
            (60, Of("TrackDescriptor")),
        ],
    ),
    ("FtraceEventBundle", &[(1, Uint32), (2, Of("FtraceEvent")), (3, Bool)]),
    ("TrackDescriptor", &[(1, Uint64), (2, Text), (5, Uint64)]),
    ("TrackEvent", &[(4, Of("DebugAnnotation")), (9, Int32), (11, Uint64), (22, Text), (23, Text)]),
    ("DebugAnnotation", &[(3, Uint64), (6, Text), (10, Text)]),
    (
        "FtraceEvent",
        &[
            (1, Uint64),
            (2, Uint32),
            (3, Of("print")),
            (4, Of("sched_switch")),
            (11, Of("cpu_frequency")),
            (13, Of("cpu_idle")),
            (17, Of("sched_wakeup")),
            (20, Of("sched_waking")),
            (24, Of("softirq_entry")),
            (25, Of("softirq_exit")),
            (26, Of("softirq_raise")),
            (36, Of("irq_handler_entry")),
            (37, Of("irq_handler_exit")),
            (114, Of("sched_wakeup_new")),
            (236, Of("task_rename")),
            (238, Of("sched_process_exit")),
            (353, Of("sched_pi_setprio")),
            (491, Of("sched_migrate_task")),
            (551, Of("hrtimer_start")),
            (552, Of("hrtimer_cancel")),
            (553, Of("hrtimer_expire_entry")),
            (554, Of("hrtimer_expire_exit")),
            (559, Of("local_timer_entry")),
            (560, Of("local_timer_exit")),
        ],
    ),
    ("print", &[(1, Uint64), (2, Text)]),
    ("sched_switch", &[(1, Text), (2, Int32), (3, Int32), (4, Int64), (5, Text), (6, Int32), (7, Int32)]),
    ("cpu_frequency", &[(1, Uint32), (2, Uint32)]),
    ("cpu_idle", &[(1, Uint32), (2, Uint32)]),
    ("sched_wakeup", WAKING),
    ("sched_waking", WAKING),
    ("sched_wakeup_new", WAKING),
    ("softirq_entry", SOFTIRQ),
    ("softirq_exit", SOFTIRQ),
    ("softirq_raise", SOFTIRQ),
    ("irq_handler_entry", &[(1, Int32), (2, Text), (3, Uint32)]),
    ("irq_handler_exit", &[(1, Int32), (2, Int32)]),
    ("task_rename", &[(1, Int32), (2, Text), (3, Text), (4, Int32)]),
    ("sched_process_exit", &[(1, Text), (2, Int32), (3, Int32), (4, Int32)]),
    ("sched_pi_setprio", &[(1, Text), (2, Int32), (3, Int32), (4, Int32)]),
    ("sched_migrate_task", &[(1, Text), (2, Int32), (3, Int32), (4, Int32), (5, Int32), (6, Int32), (7, Uint32)]),
    ("hrtimer_start", &[(1, Uint64), (2, Uint64), (3, Int64), (4, Int64), (5, Uint32)]),
    ("hrtimer_cancel", &[(1, Uint64)]),
    ("hrtimer_expire_entry", &[(1, Uint64), (2, Int64), (3, Uint64)]),
    ("hrtimer_expire_exit", &[(1, Uint64)]),
    ("local_timer_entry", &[(1, Int32)]),
    ("local_timer_exit", &[(1, Int32)]),
];

/// Checks a trace and returns the number of messages by type. Panics if a message violates the schema, the track of a
/// slice is not described, or the slices of a track are not properly nested in time.
pub fn check(trace: &[u8]) -> BTreeMap<&'static str, usize> {
    let mut found = BTreeMap::new();
    message("Trace", trace, &mut found);
    slices(trace);
    found
}

fn message(name: &'static str, bytes: &[u8], found: &mut BTreeMap<&'static str, usize>) {
    *found.entry(name).or_default() += 1;
    let (_, fields) = SCHEMA.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no message {name}"));
    for (field, value, body) in decode(bytes) {
        let at = format!("{name}.{field} = {value}");
        let kind = fields.iter().find(|(n, _)| *n == field).unwrap_or_else(|| panic!("{at} is not in the schema")).1;
        match (kind, body) {
            (Of(inner), Some(body)) => message(inner, &body, found),
            (Text, Some(body)) => drop(String::from_utf8(body).unwrap_or_else(|e| panic!("{at}: {e}"))),
            (Uint64 | Int64, None) => {}
            (Uint32, None) => assert!(u32::try_from(value).is_ok(), "{at}"),
            (Int32, None) => assert!(i32::try_from(value as i64).is_ok(), "{at}"),
            (Bool, None) => assert!(value <= 1, "{at}"),
            (_, body) => panic!("{at} has the wrong wire type (a body: {})", body.is_some()),
        }
    }
}

fn slices(trace: &[u8]) {
    let (mut known, mut open) = (Vec::new(), BTreeMap::<u64, Vec<u64>>::new());
    for packet in each(trace, 1).into_iter().map(|packet| decode(&packet)) {
        assert!(number(&packet, 10).is_some_and(|sequence| sequence > 0), "a packet without a sequence");
        let part = |field| packet.iter().find(|f| f.0 == field).and_then(|f| f.2.as_deref()).map(decode);
        if let Some(described) = part(60) {
            assert!(text(&described, 2).is_some_and(|name| !name.is_empty()));
            assert!(number(&described, 5).is_none_or(|parent| known.contains(&parent)), "a parent comes first");
            known.push(number(&described, 1).unwrap());
        }
        let Some(event) = part(11) else { continue };
        let (track, t) = (number(&event, 11).unwrap(), number(&packet, 8).unwrap());
        assert!(known.contains(&track), "track {track} is not described");
        let stack = open.entry(track).or_default();
        match number(&event, 9) {
            Some(1) => stack.push(t),
            Some(2) => assert!(stack.pop().is_some_and(|begun| begun <= t), "track {track} ends what never began"),
            other => panic!("a slice begins or ends, it does not {other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "slices are left open: {open:?}");
}
