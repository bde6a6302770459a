use super::super::alone;
use super::*;
use proptest::prelude::*;

const V2_4: &str = include_str!("../../../tests/fixtures/tools/oslat-2.4.txt");
const V2_6: &str = include_str!("../../../tests/fixtures/tools/oslat-2.6.txt");
const V2_7_NS: &str = include_str!("../../../tests/fixtures/tools/oslat-2.7-ns.txt");
const OMIT: &str = include_str!("../../../tests/fixtures/tools/oslat-2.9-omit.txt");

fn read(text: &str) -> Option<Found> {
    alone(Box::new(Reader::new(&Options::default())), text)
}

fn bins(thread: &Thread) -> &Bins {
    match &thread.samples {
        Samples::Bins(bins) => bins,
        other => panic!("{other:?}"),
    }
}

/// Returns the problems that the reader found in the text, and those found when the values of each thread are
/// reconciled.
fn problems(found: &Found) -> Vec<String> {
    let settled = |t: &Thread| crate::settle::settle(t.clone(), punctual_units::CpuId(0)).lost;
    let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(settled);
    let all = found.lost.iter().cloned().chain(found.blocks.iter().flat_map(|b| b.lost.clone())).chain(threads);
    all.filter(|l| l.problem).map(|l| l.text).collect()
}

#[test]
fn buckets_before_2_5_are_named_by_their_latency() {
    let found = read(V2_4).unwrap();
    assert_eq!((found.tool.as_deref(), found.version.as_deref()), (Some("oslat"), Some("2.40")));
    assert_eq!(problems(&found), [""; 0]);
    let [block] = found.blocks.as_slice() else { panic!() };
    assert_eq!((block.label.as_str(), block.line), ("operating system noise", 1));
    let [a, b] = block.threads.as_slice() else { panic!() };
    assert_eq!((a.cpu, b.cpu, a.got.unwrap().to_string().as_str()), (Some(2), Some(3), "FIFO 1"));
    assert_eq!(bins(a).filled, [(1_000, 9_000_123), (2_000, 70), (3_000, 12), (7_000, 3), (19_000, 1)]);
    assert_eq!((a.min_ns, a.max_ns, a.width_ns, a.beyond), (Some(1_000), Some(19_000), 1_000, Beyond::None));
    assert_eq!((bins(b).count, b.max_ns), (9_000_526, Some(212_000)));
    assert_eq!(b.beyond, Beyond::Counted { count: 4, from_ns: 31_000 });
    // The mean of a CPU with overflows cannot be checked from the text.
    assert_eq!((a.mean_ns.map(f64::round), b.mean_ns), (Some(1_000.0), None));
    assert!(a.upper_edges && a.skips == Skips::NoPeriods);
}

#[test]
fn later_buckets_are_named_one_step_above() {
    let found = read(V2_6).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let [a, b] = found.blocks[0].threads.as_slice() else { panic!() };
    assert_eq!(bins(a).filled, [(1_000, 8_100_200), (2_000, 44), (5_000, 7), (27_000, 1)]);
    assert_eq!((a.max_ns, b.max_ns, b.cpu), (Some(27_000), Some(12_000), Some(2)));
    // From 2.9 on the printed extremes are rounded down.
    let found = read(OMIT).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let a = &found.blocks[0].threads[0];
    assert_eq!((bins(a).filled.last(), a.max_ns, a.width_ns), (Some(&(28_000, 1)), Some(28_000), 2_000));
    assert_eq!(found.blocks[0].lost.len(), 1);
    let found = read(V2_7_NS).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let a = &found.blocks[0].threads[0];
    assert_eq!((a.width_ns, a.min_ns, a.max_ns), (250, Some(82), Some(9_733)));
    assert_eq!(bins(a).filled, [(249, 5_000), (499, 200), (1_249, 3), (9_749, 1)]);
}

#[test]
fn every_cut_doubled_or_missing_line_is_a_problem() {
    for text in [V2_4, V2_6, V2_7_NS, OMIT] {
        let lines: Vec<&str> = text.lines().collect();
        let table = lines.iter().position(|l| l.contains("(us):")).unwrap();
        let end = lines.iter().position(|l| l.contains("Duration:")).unwrap();
        for at in table..=end {
            let mut fewer = lines.clone();
            fewer.remove(at);
            let found = read(&fewer.join("\n")).unwrap();
            // If empty rows are omitted (-z), a missing row before such a gap is detected only if it changes the mean.
            if lines[at + 1].trim() != "..." {
                assert!(!problems(&found).is_empty(), "without {}", lines[at]);
            }
            // Repeated dots have the same meaning as single ones.
            if lines[at].trim() != "..." {
                let mut more = lines.clone();
                more.insert(at, lines[at]);
                assert!(!problems(&read(&more.join("\n")).unwrap()).is_empty(), "twice {}", lines[at]);
            }
            if let Some(found) = read(&lines[..at].join("\n")) {
                assert!(!problems(&found).is_empty(), "cut before {}", lines[at]);
            }
        }
    }
}

#[test]
fn changed_figures_are_problems() {
    for (from, to) in [(" 7 2", " 7000 2"), ("Maximum:\t 27", "Maximum:\t 29"), (" 44 55", " 44"), (" 44 55", " 44 5x")]
    {
        assert!(V2_6.contains(from));
        assert!(!problems(&read(&V2_6.replace(from, to)).unwrap()).is_empty(), "{to}");
    }
}

#[test]
fn several_runs_are_several_tables() {
    let text = format!("idle:\n{V2_4}\nunder load:\n{V2_6}");
    let found = read(&text).unwrap();
    assert_eq!((found.blocks.len(), found.version.as_deref()), (2, None));
    assert_eq!(found.blocks[0].before.as_deref(), Some("idle:"));
    assert_eq!(found.blocks[1].before.as_deref(), Some("under load:"));
    assert_eq!(problems(&found), [""; 0]);
    // The second run ended before its table.
    let cut = V2_6.find("        Core").unwrap();
    let found = read(&format!("{V2_4}{}", &V2_6[..cut])).unwrap();
    assert_eq!((found.blocks.len(), problems(&found).len()), (1, 1));
    assert!(read(&V2_6[..cut]).is_none());
    // A table is also read without its header.
    let found = read(&V2_4[V2_4.find("        Core").unwrap()..]).unwrap();
    assert_eq!((found.blocks.len(), found.blocks[0].threads[1].got), (1, None));
}

#[test]
fn other_text_is_not_taken() {
    for text in [
        "Core: 0 1 2 3\n",
        "Core: 0 1\nAverage: 3 4 (us)\n",
        "    001 (us):\t 5 6\n",
        "Minimum:\t 1 (us)\n",
        "CPU list: 0-3",
    ] {
        assert!(read(text).is_none(), "{text}");
    }
    let mut reader = Reader::default();
    for text in ["Workload: heavy", "T: 0 (123) P:95 C: 100 Min: 1 Act: 2 Avg: 2 Max: 9", "000001 000123"] {
        let line = Line { text, number: 1, before: None };
        assert_eq!(super::super::Reader::line(&mut reader, &line), Taken::No, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_read_or_refused(at in 0usize..2_000, with in "[ 0-9a-z.:()\t\n-]{0,40}", cut in 0usize..40) {
        let mut text = format!("{V2_4}{V2_7_NS}");
        let (at, end) = (at.min(text.len()), (at + cut).min(text.len()));
        text.replace_range(at..end, &with);
        if let Some(found) = read(&text) {
            problems(&found);
        }
    }
}
