//! A bundle yields the same explanation of its wakeup as the whole trace.

use punctual_explain::{ExplainOptions, Facts, Measured, Victim, explain};
use punctual_formats::{BundleHead, bundle, bundle_head};
use punctual_units::Policy;
use std::io::Cursor;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    let analysis = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../analysis");
    let own = analysis.join("explain/tests/fixtures").join(name);
    std::fs::read(if own.exists() { own } else { analysis.join("trace/tests/fixtures").join(name) }).unwrap()
}

fn victims(trace: &[u8], options: ExplainOptions) -> Vec<Victim> {
    let mut source = punctual_trace::open(Cursor::new(trace), Default::default()).unwrap();
    explain(source.as_mut(), options).victims
}

fn cut(trace: &[u8], victim: &Victim, head: &BundleHead) -> Vec<u8> {
    let mut source = punctual_trace::open(Cursor::new(trace), Default::default()).unwrap();
    let mut out = Vec::new();
    assert!(bundle(source.as_mut(), victim, head, &mut out).unwrap() > 4);
    out
}

#[test]
fn the_same_causes_from_the_bundle_as_from_the_trace() {
    for name in ["g612.trace.txt", "g612.fair_server.trace.txt", "g61.steal.trace.txt", "g612.dat"] {
        let trace = fixture(name);
        for whole in victims(&trace, ExplainOptions { most: 5, ..ExplainOptions::default() }) {
            let small = cut(&trace, &whole, &BundleHead::default());
            assert!(small.len() < trace.len(), "{name}");
            let moments = whole.moments.unwrap();
            let measured = Measured { tid: whole.tid.unwrap(), due_ns: moments.t0_ns, woke_ns: moments.t3_ns };
            let again = victims(&small, ExplainOptions { measured: vec![measured], ..ExplainOptions::default() });
            let again = again.first().unwrap_or_else(|| panic!("{name}: {}", whole.verdict));
            let parts =
                |victim: &Victim| victim.causes.iter().map(|c| (c.class, c.tid, c.ns)).take(3).collect::<Vec<_>>();
            assert_eq!(parts(again), parts(&whole), "{name}");
        }
    }
}

#[test]
fn comments_carry_what_a_trace_does_not() {
    let trace = fixture("g612.trace.txt");
    let mut late = victims(&trace, ExplainOptions::default()).into_iter();
    let first = late.find(|victim| victim.causes[0].tid.is_some()).unwrap();
    let culprit = first.causes[0].tid.unwrap();
    let head = BundleHead { kernel: Some("6.12.1-rt".into()), policies: [(culprit, Policy::Rr)].into() };
    let small = cut(&trace, &first, &head);
    let text = String::from_utf8(small.clone()).unwrap();
    assert_eq!(bundle_head(&text), Some(head.clone()));
    assert_eq!(bundle_head("# tracer: nop\n"), None);
    let facts = Facts { policies: head.policies.into_iter().collect(), ..Facts::default() };
    let again = victims(&small, ExplainOptions { facts, ..ExplainOptions::default() }).remove(0);
    assert_eq!(again.causes[0].scheduled.policy.as_deref(), Some("RR"));
    assert!(text.contains("hrtimer=0000000000000001") && !text.contains("ffff"));
}
