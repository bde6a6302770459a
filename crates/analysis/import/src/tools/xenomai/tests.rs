use super::super::alone;
use super::*;
use proptest::prelude::*;

const HISTOGRAM: &str = include_str!("../../../tests/fixtures/tools/xenomai-3-histogram.txt");
const NEGATIVE: &str = include_str!("../../../tests/fixtures/tools/xenomai-2.txt");
const PLOT: &str = include_str!("../../../tests/fixtures/tools/latmus-plot.txt");

fn read(text: &str) -> Option<Found> {
    alone(Box::new(Reader::new(&Options::default())), text)
}

fn problems(found: &Found) -> Vec<String> {
    let settled = |t: &Thread| crate::settle::settle(t.clone(), punctual_units::CpuId(0)).lost;
    let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(settled);
    let all = found.lost.iter().cloned().chain(found.blocks.iter().flat_map(|b| b.lost.clone())).chain(threads);
    all.filter(|l| l.problem).map(|l| l.text).collect()
}

fn bins(thread: &Thread) -> &Bins {
    match &thread.samples {
        Samples::Bins(bins) => bins,
        other => panic!("{other:?}"),
    }
}

fn summary(thread: &Thread) -> (Option<u64>, Option<u64>, Option<u64>) {
    assert!(matches!(thread.samples, Samples::Summary));
    (thread.count, thread.min_ns, thread.max_ns)
}

#[test]
fn xenomai_with_a_histogram() {
    let found = read(HISTOGRAM).unwrap();
    assert_eq!((found.format.as_str(), problems(&found)), ("xenomai-latency", vec![]));
    let [block] = found.blocks.as_slice() else { panic!() };
    assert_eq!((block.label.as_str(), block.line), ("wakeup latency (periodic user-mode task)", 1));
    let [thread] = block.threads.as_slice() else { panic!() };
    assert_eq!((thread.cpu, thread.period_ns, thread.count), (None, Some(100_000), Some(453_210)));
    assert_eq!((thread.min_ns, thread.mean_ns, thread.max_ns), (Some(2_132), Some(2_833.0), Some(26_948)));
    assert_eq!((bins(thread).filled.first(), bins(thread).count), (Some(&(2_000, 304_221)), 453_210));
    assert_eq!((thread.width_ns, thread.beyond, thread.skips), (1_000, Beyond::None, Skips::Never));
}

#[test]
fn the_last_cell_holds_everything_beyond_it() {
    let text = HISTOGRAM.replace("26.948|       0|     0|    00", "99.948|       0|     0|    00");
    let found = read(&text).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let thread = &found.blocks[0].threads[0];
    assert_eq!((thread.beyond, thread.max_ns), (Beyond::Counted { count: 1, from_ns: 26_000 }, Some(99_948)));
    assert_eq!(bins(thread).count, 453_209);
}

#[test]
fn latencies_below_zero_and_overruns() {
    let found = read(NEGATIVE).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let thread = &found.blocks[0].threads[0];
    assert_eq!((summary(thread), thread.mean_ns), ((Some(8_000), None, Some(32_503)), None));
    assert_eq!(thread.beyond, Beyond::Counted { count: 8_000, from_ns: 0 });
    assert_eq!((thread.skips, thread.period_ns), (Skips::Uncounted, Some(1_000_000)));
    assert!(thread.lost.iter().any(|l| l.text.contains("-1767 ns")), "{:?}", thread.lost);
    assert!(found.blocks[0].lost.iter().any(|l| l.count == Some(2) && l.kind == LostKind::SkippedPeriods));
}

#[test]
fn latmus_with_its_plot() {
    let found = read(PLOT).unwrap();
    assert_eq!((found.format.as_str(), problems(&found)), ("evl-latmus", vec![]));
    let [block] = found.blocks.as_slice() else { panic!("{}", found.blocks.len()) };
    assert_eq!(block.label, "wakeup latency (user)");
    let thread = &block.threads[0];
    assert_eq!((thread.cpu, thread.number, thread.count), (Some(1), 1, Some(6_402)));
    assert_eq!(bins(thread).filled, [(1_000, 5_000), (2_000, 1_400), (13_000, 2)]);
    assert_eq!((thread.min_ns, thread.max_ns, thread.beyond), (Some(1_126), Some(13_908), Beyond::None));
    // The plot file alone, with outliers.
    let from = PLOT.find("# test").unwrap();
    let plot = PLOT[from..PLOT.find("---|").map_or(PLOT.len(), |_| PLOT.rfind("---|----").unwrap())]
        .replace("\n13 2", "\n13+ 2")
        .replace("max latency: 13.908", "max latency: 44.000");
    let found = read(&plot).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    let thread = &found.blocks[0].threads[0];
    assert_eq!((thread.beyond, thread.cpu), (Beyond::Counted { count: 2, from_ns: 13_000 }, Some(1)));
}

#[test]
fn every_cut_doubled_or_missing_line_is_a_problem() {
    let figures = |l: &str| l.starts_with(|c: char| c.is_ascii_digit()) || l.starts_with("HS") && !l.starts_with("HSH");
    for text in [HISTOGRAM, PLOT] {
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let last_page = text == HISTOGRAM && at >= lines.iter().rposition(|l| l.starts_with("RTT")).unwrap();
            let row = lines[at].starts_with("RTD") && text == HISTOGRAM && !last_page;
            if row || figures(lines[at]) || lines[at].starts_with("RTS") {
                let mut fewer = lines.clone();
                fewer.remove(at);
                assert!(!problems(&read(&fewer.join("\n")).unwrap()).is_empty(), "without {}", lines[at]);
                let mut more = lines.clone();
                more.insert(at, lines[at]);
                assert!(!problems(&read(&more.join("\n")).unwrap()).is_empty(), "twice {}", lines[at]);
            }
            if let Some(found) = read(&lines[..at].join("\n")) {
                assert!(!problems(&found).is_empty(), "cut before {}", lines[at]);
            }
        }
    }
    // The largest latency is in a row that was removed.
    let without: Vec<&str> =
        NEGATIVE.lines().filter(|l| !l.contains("|     32.503|       0|     0|     -1.734|")).collect();
    assert!(!problems(&read(&without.join("\n")).unwrap()).is_empty());
    let middle = NEGATIVE.find("RTD|     -1.560").unwrap();
    assert!(problems(&read(&NEGATIVE[middle..]).unwrap())[0].contains("begins in the middle"));
}

#[test]
fn contradictions_are_problems() {
    for (text, from, to) in [
        (HISTOGRAM, "|   148000", "|   148001"),
        (HISTOGRAM, "HSD|    avg|   5 -  6", "HSD|    avg|   6 -  7"),
        (HISTOGRAM, "RTS|      2.132|      2.833", "RTS|      2.132|     12.833"),
        (HISTOGRAM, "    00:00:46/", "    00:02:46/"),
        (PLOT, "\n2 1400\n", "\n2 1401\n"),
        (PLOT, "RTS|      1.126|      1.402|     13.908", "RTS|      1.126|      1.402|     14.908"),
        (PLOT, "|     13.908|       0|     0|    00", "|     13.908|       0|     3|    00"),
        (NEGATIVE, "RTS|     -1.767", "RTS|     -1.700"),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(!problems(&read(&text.replace(from, to)).unwrap()).is_empty(), "{to}");
    }
}

#[test]
fn several_runs_are_several_blocks() {
    let found = read(&format!("quiet:\n{NEGATIVE}\nloaded:\n{HISTOGRAM}\nThanks\n")).unwrap();
    assert_eq!((found.blocks.len(), problems(&found)), (2, vec![]));
    assert_eq!(found.blocks[1].before.as_deref(), Some("loaded:"));
    // In rows without headers (-l 0), a monotonic value decreases.
    let row =
        |max: &str, worst: &str| format!("RTD|      1.000|      2.000|{max}|       0|     0|      1.000|{worst}\n");
    let text = format!(
        "{}{}a\n{}",
        row("      9.000", "      9.000"),
        row("      8.000", "      9.000"),
        row("      7.000", "      7.000")
    );
    let found = read(&text).unwrap();
    assert_eq!((found.blocks.len(), found.blocks[1].before.as_deref()), (2, Some("a")));
    assert_eq!(found.blocks[0].threads[0].beyond, Beyond::Unknown { from_ns: 1_000 });
}

#[test]
fn older_columns() {
    let text = "RTT|  00:00:01  (in-kernel timer handler, 100 us period, priority 99)\n\
                RTH|-----lat min|-----lat avg|-----lat max|-overrun|----lat best|---lat worst\n\
                RTD|       0.500|       0.700|       4.000|       0|       0.500|       4.000\n\
                RTD|       0.400|       0.700|       3.000|       0|       0.400|       4.000\n\
                ---|------------|------------|------------|--------|-------------------------\n\
                RTS|       0.400|       0.700|       4.000|       0|    00:00:02/00:00:02\n";
    let found = read(text).unwrap();
    assert_eq!(problems(&found), [""; 0]);
    assert_eq!(summary(&found.blocks[0].threads[0]), (Some(20_000), Some(400), Some(4_000)));
}

#[test]
fn other_text_is_not_taken() {
    let rtai = "RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns\n\
                RTD|         60|         60|        141|       1040|       1040|          0\n";
    let errors = "RTH|----lat min|----lat avg|----lat max|-overrun|-errors|---lat best|--lat worst\n\
                  RTD|      1.000|      2.000|      3.000|       0|       0|      1.000|      3.000\n";
    for text in
        [rtai, errors, "RTD|        2247|       95967\n", "warming up...\n", "3 4\n", "# test passed\n", "a|b|c\n"]
    {
        assert!(read(text).is_none(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_read_or_refused(at in 0usize..7_000, with in "[ 0-9RTSDH|:,.+#\n-]{0,40}", cut in 0usize..60) {
        let mut text = format!("{PLOT}{NEGATIVE}{HISTOGRAM}");
        let (at, end) = (at.min(text.len()), (at + cut).min(text.len()));
        text.replace_range(at..end, &with);
        if let Some(found) = read(&text) {
            problems(&found);
        }
    }
}
