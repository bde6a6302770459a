use super::super::alone;
use super::*;
use proptest::prelude::*;

const TRACER: &str = include_str!("../../../tests/fixtures/tools/hwlatdetect-2.4.txt");
const NONE: &str = include_str!("../../../tests/fixtures/tools/hwlatdetect-none.txt");
const COUNTS: &str = include_str!("../../../tests/fixtures/tools/hwlatdetect-2.9-counts.txt");
const MODULE: &str = include_str!("../../../tests/fixtures/tools/hwlatdetect-0.84.txt");

fn read(text: &str) -> Option<Found> {
    alone(Box::new(Reader::new(&Options::default())), text)
}

fn problems(found: &Found) -> Vec<String> {
    let settled = |t: &Thread| crate::settle::settle(t.clone(), punctual_units::CpuId(0)).lost;
    let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(settled);
    let all = found.lost.iter().cloned().chain(found.blocks.iter().flat_map(|b| b.lost.clone())).chain(threads);
    all.filter(|l| l.problem).map(|l| l.text).collect()
}

fn each(thread: &Thread) -> (u64, Option<u64>, Option<u64>) {
    match &thread.samples {
        Samples::Each(h) => (h.count(), h.min(), h.max()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn gaps_of_each_cpu() {
    let found = read(TRACER).unwrap();
    assert_eq!((found.format.as_str(), problems(&found)), ("hwlatdetect", vec![]));
    let [block] = found.blocks.as_slice() else { panic!() };
    assert_eq!((block.label.as_str(), block.line), ("hardware latency of more than 10.0 µs", 1));
    let [a, b] = block.threads.as_slice() else { panic!() };
    assert_eq!((a.cpu, b.cpu), (Some(0), Some(3)));
    assert_eq!((each(a), each(b)), ((2, Some(13_000), Some(17_000)), (2, Some(11_000), Some(46_000))));
    assert_eq!((a.width_ns, a.beyond, a.skips), (1_000, Beyond::None, Skips::NoPeriods));
    assert_eq!(found.notes, ["hwlatdetect counted 3 system management interrupts (SMIs)"]);
    assert!(block.lost.iter().any(|l| l.text.contains("60 s, of which 500 ms in each 1.00 s")), "{:?}", block.lost);
}

#[test]
fn no_gap_at_all() {
    let found = read(NONE).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let [thread] = found.blocks[0].threads.as_slice() else { panic!() };
    assert_eq!((thread.count, thread.min_ns, thread.max_ns, thread.beyond), (Some(0), None, None, Beyond::None));
}

#[test]
fn gaps_that_are_counted_but_not_listed() {
    let found = read(COUNTS).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let [thread] = found.blocks[0].threads.as_slice() else { panic!() };
    assert_eq!((thread.cpu, each(thread)), (None, (3, Some(6_000), Some(29_000))));
    assert_eq!(thread.beyond, Beyond::Counted { count: 4, from_ns: 5_000 });
    // The samples were written to a file.
    let found = read(MODULE).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let [thread] = found.blocks[0].threads.as_slice() else { panic!() };
    assert_eq!((thread.count, thread.max_ns), (Some(57), Some(23_000)));
    assert_eq!(thread.beyond, Beyond::Counted { count: 57, from_ns: 10_000 });
    // The samples are listed by the kernel module.
    let text = "hwlatdetect:  test duration 9 seconds\nMax Latency: 15us\nSamples recorded: 2\nSamples exceeding threshold: 2\n\
                0001234567.0012345678\t15\n0001234568.0012345678\t11\t12\n";
    let found = read(text).unwrap();
    assert_eq!((problems(&found), each(&found.blocks[0].threads[0])), (vec![], (2, Some(12_000), Some(15_000))));
}

#[test]
fn every_cut_doubled_or_missing_line_of_results_is_a_problem() {
    for text in [TRACER, COUNTS] {
        let lines: Vec<&str> = text.lines().collect();
        let results = |l: &str| ["Max Lat", "Samples ", "ts: "].iter().any(|p| l.starts_with(p));
        for at in (0..lines.len()).filter(|&at| results(lines[at])) {
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(!problems(&read(&fewer.join("\n")).unwrap()).is_empty(), "without {}", lines[at]);
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(!problems(&read(&more.join("\n")).unwrap()).is_empty(), "twice {}", lines[at]);
            if let Some(found) = read(&lines[..at].join("\n")) {
                assert!(!problems(&found).is_empty(), "cut before {}", lines[at]);
            }
        }
    }
}

#[test]
fn contradictions_are_problems() {
    for (from, to) in [
        ("Max Latency: 46us", "Max Latency: 45us"),
        ("Max Latency: 46us", "Max Latency: Below threshold"),
        ("Max Latency: 46us", "Max Latency: 460us"),
        ("recorded: 4", "recorded: 5"),
        ("threshold: 4", "threshold: 3"),
        ("inner:46", "inner:4x"),
    ] {
        assert!(TRACER.contains(from), "{from}");
        assert!(!problems(&read(&TRACER.replace(from, to)).unwrap()).is_empty(), "{to}");
    }
}

#[test]
fn several_runs_and_text_around() {
    let found = read(&format!("Hello,\nwithout load:\n{NONE}\nwith load:\n{TRACER}\nSo far.\n")).unwrap();
    assert_eq!((found.blocks.len(), problems(&found)), (2, vec![]));
    assert_eq!(found.blocks[0].before.as_deref(), Some("without load:"));
    assert_eq!(found.blocks[1].before.as_deref(), Some("with load:"));
    let cut = TRACER.find("Starting").unwrap();
    assert!(read(&TRACER[..cut]).is_none());
    assert_eq!(problems(&read(&format!("{NONE}{}", &TRACER[..cut])).unwrap()).len(), 1);
    let found = read(&TRACER[TRACER.find("Max Lat").unwrap()..]).unwrap();
    assert_eq!((found.blocks[0].threads.len(), problems(&found)), (2, vec![]));
}

#[test]
fn other_text_is_not_taken() {
    for text in ["ts: 12.3, inner:12, outer:0", "Samples recorded: 12", "Max Latency: 12us", "Max Latency: 5 ms"] {
        assert!(read(text).is_none(), "{text}");
    }
    let mut reader = Reader::default();
    for text in
        ["#1 inner/outer(us): 12/13 ts:12.5", "Max Latency: 17.5 ms", "Sample width: 12", "0001234567.0012345678\t15"]
    {
        let line = Line { text, number: 1, before: None };
        assert_eq!(super::super::Reader::line(&mut reader, &line), Taken::No, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_read_or_refused(at in 0usize..1_400, with in "[ 0-9a-z.:,()\t\n-]{0,40}", cut in 0usize..40) {
        let mut text = format!("{TRACER}{COUNTS}");
        let (at, end) = (at.min(text.len()), (at + cut).min(text.len()));
        text.replace_range(at..end, &with);
        if let Some(found) = read(&text) {
            problems(&found);
        }
    }
}
