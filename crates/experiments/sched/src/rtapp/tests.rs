use super::*;
use crate::body::Action::{Run, Sleep, Timer};
use crate::spec::{Amount, Place};
use proptest::prelude::*;
use punctual_units::Scheduling;

const EXAMPLE: &str = include_str!("../../tests/fixtures/example.json");

#[test]
fn an_example_with_everything_that_is_understood_is_read() {
    let spec = import("example.json", EXAMPLE).unwrap();
    assert_eq!((spec.name.as_str(), spec.at_most), ("example", Some(Nanos::from_secs(2))));
    let names: Vec<&str> = spec.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["fast", "batch-0", "batch-1", "server"]);
    let Amount::Body(fast) = &spec.threads[0].amount else { panic!() };
    let us = Nanos::from_micros;
    assert_eq!(
        fast.actions,
        [Run(us(2000)), Sleep(us(500)), Run(us(1000)), Timer(us(20_000))],
        "in the order of the keys"
    );
    assert_eq!((fast.loops, spec.threads[0].offset), (Some(40), us(4000)));
    assert_eq!(spec.threads[0].cpus, Place::Cpus("1".parse().unwrap()));
    assert_eq!(spec.threads[1].scheduling, Scheduling::Batch { nice: 5 });
    let Amount::Body(batch) = &spec.threads[1].amount else { panic!() };
    assert_eq!(batch.actions, [Run(us(100)), Run(us(100)), Run(us(300)), Sleep(us(50))]);
    assert!(batch.loops.is_none());
    assert!(matches!(spec.threads[3].scheduling, Scheduling::Deadline { runtime_ns, .. } if runtime_ns == us(5000)));
    assert!(spec.notes.iter().any(|note| note.contains("global.calibration")), "{:?}", spec.notes);
}

#[test]
fn what_is_not_understood_is_named_with_its_path() {
    let task = |inside: &str| format!("{{\"tasks\": {{\"a\": {{{inside}}}}}, \"global\": {{\"duration\": 1}}}}");
    let cases = [
        (task(r#""run": 10, "mem": 5"#), "`tasks.a.mem`"),
        (task(r#""run": 10, "lock": "r0""#), "`tasks.a.lock`"),
        (task(r#""run": -1"#), "`tasks.a.run`"),
        (task(r#""run": 1.5"#), "whole number"),
        (task(r#""loop": 5"#), "does nothing"),
        (task(r#""timer": {"ref": "t", "period": 100, "mode": "absolute"}, "run": 5"#), "`tasks.a.timer.mode`"),
        (task(r#""phases": {"p": {"loop": -1, "run": 5}}"#), "`tasks.a.phases.p.loop`"),
        (task(r#""phases": {"p": {"loop": 100001, "run": 5}}"#), "more than 100000"),
        (task(r#""run": 5, "policy": "SCHED_FIFO", "priority": 100"#), "1 to 99"),
        (task(r#""run": 5, "cpus": []"#), "`tasks.a.cpus`"),
        (r#"{"tasks": {"a": {"loop": -1, "run": 5}}}"#.into(), "`tasks.a.loop`"),
        (r#"{"tasks": {"a": {"run": 5}}, "resources": {"m": {"type": "mutex"}}}"#.into(), "`resources`"),
        (r#"{"tasks": {}, "global": {"colour": 5}}"#.into(), "`global.colour`"),
        (r#"{"tasks": {}}"#.into(), "0 threads"),
        ("{".into(), "x.json"),
    ];
    for (text, said) in cases {
        let error = import("x.json", &text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn comments_are_passed_over_but_not_in_texts() {
    let json = Json::parse("/* a \"b\" */ {\"k/*\": /**/ 1, \"e\\\\\": \"*/\" /* end */}").unwrap();
    let pairs = [("k/*".into(), Json::Integer(1)), ("e\\".into(), Json::Text("*/".into()))];
    assert_eq!(json, Json::Object(pairs.into()));
}

proptest! {
    #[test]
    fn damaged_files_never_panic(at in 0usize..2000, byte in any::<u8>()) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = import("x.json", &String::from_utf8_lossy(&bytes));
        let _ = import("x.json", &String::from_utf8_lossy(&bytes[..at]));
    }
}
