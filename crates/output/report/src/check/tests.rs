use super::*;
use crate::text::{SUMMARY_LINES, TextStyle};
use punctual_model::{CheckCycles, CheckSource, Finding, Outcome, Severity};
use punctual_units::{Priority, Scheduling};

fn finding(n: u32, name: &str) -> CheckFinding {
    let place = CheckFrame {
        function: Some("step".into()),
        file: Some("/src/loop.c".into()),
        line: Some(n),
        module: Some("/opt/app".into()),
        address: None,
    };
    CheckFinding {
        finding: Finding {
            id: "page-fault".into(),
            group: "Real-time threads".into(),
            severity: Severity::High,
            state: State::Fail,
            summary: format!("{name}: page fault, in step() at loop.c:{n}"),
            evidence: Vec::new(),
            why: "It waits.".into(),
            fix: Some("call mlockall".into()),
        },
        thread: name.into(),
        tids: vec![8],
        count: 1_234,
        is_at_least: false,
        per_cycle: Some(0.25),
        worst_ns: Some(Nanos(12_345)),
        is_in_cycle: true,
        stack: vec![
            place.clone(),
            CheckFrame { module: Some("/opt/app".into()), address: Some(0x11b9), ..CheckFrame::default() },
        ],
        place: Some(place),
        is_stack_cut: true,
        is_known: false,
    }
}

fn check(findings: Vec<CheckFinding>) -> Check {
    let cycles = CheckCycles {
        release: "absolute sleep".into(),
        place: None,
        count: 9_999,
        period_ns: Some(Nanos(1_000_000)),
        phase_ns: Some(Nanos(5)),
        jitter_ns: Some(Nanos(4_000)),
        jitter_max_ns: Some(Nanos(40_000)),
        skipped: Some(2),
        ambiguous_with: None,
    };
    let thread = CheckThread {
        name: "control".into(),
        tid: 8,
        pid: 7,
        scheduling: Some(Scheduling::Fifo { priority: Priority::try_from(80).unwrap() }),
        is_real_time: true,
        cycles: Some(cycles),
    };
    Check {
        outcome: if findings.is_empty() { Outcome::Inconclusive } else { Outcome::Fail },
        program: "./app".into(),
        duration_ns: Nanos(10_000_000_000),
        ended: "ended".into(),
        real_time_from: "the first cycle of each real-time thread, as detected".into(),
        findings,
        threads: vec![thread],
        sources: vec![CheckSource { name: "wakeups".into(), missing: Some("no such event".into()) }],
        lost: 0,
        events: 100,
        own_cpu_ns: Nanos(1),
        own_cpu_observing_ns: Nanos(1),
        notes: vec!["attached while it ran".into()],
    }
}

#[test]
fn the_summary_fits_a_terminal_and_the_rest_is_in_full() {
    let all = check((1..30).map(|n| finding(n, "control")).collect());
    let brief = check_text(&all, CheckListing::Brief, TextStyle::default());
    let lines: Vec<&str> = brief.lines().collect();
    assert!(lines.len() <= SUMMARY_LINES && lines.iter().all(|line| line.chars().count() <= 80), "{brief}");
    assert!(brief.starts_with("FAIL ./app: 29 findings in 1 real-time thread, 9,999 cycles in 10.0 s"), "{brief}");
    for part in [
        "in step() at loop.c:1: 1,234 times, 0.25 per cycle, worst 12.3 µs",
        "more findings",
        "NOT OBSERVED   wakeups",
        "--explain page-fault",
    ] {
        assert!(brief.contains(part), "{part}: {brief}");
    }
    let full = check_text(&all, CheckListing::Full, TextStyle::default());
    for part in
        ["step (loop.c:29)", "app+0x11b9", "instead: call mlockall", "every 1.00 ms", "2 skipped", "Not observed"]
    {
        assert!(full.contains(part), "{part}: {full}");
    }
    assert!(check_text(&all, CheckListing::Cycles, TextStyle::default()).contains("released by absolute sleep"));
}

#[test]
fn a_long_finding_is_wrapped() {
    let mut long = finding(20, "rtloop");
    long.finding.summary =
        "rtloop: the address space is changed (mmap(2), munmap(2), mprotect(2), madvise(2)), in step() at loop.c:20"
            .into();
    let brief = check_text(&check(vec![long]), CheckListing::Brief, TextStyle::default());
    let words = brief.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(mmap(2), munmap(2), mprotect(2), madvise(2)) in step() at loop.c:20"), "{brief}");
    assert!(!brief.contains('…'), "{brief}");
}

#[test]
fn warnings_of_a_rule_are_one_line_and_the_places_where_threads_are_made_are_said() {
    let warning = |n: u32| {
        let mut one = CheckFinding { is_in_cycle: false, per_cycle: None, ..finding(n, "control") };
        one.finding.state = State::Warn;
        one
    };
    let mut lock = finding(40, "control");
    lock.finding.summary = "control: memory is not locked: 8 KiB, made real-time in main() at app.c:40".into();
    let all = check((1..30).map(warning).chain([lock]).collect());
    let brief = check_text(&all, CheckListing::Brief, TextStyle { width: 200, ..TextStyle::default() });
    for part in ["outside of its cycles; also at 28 other places", "made real-time in main() at app.c:40: 1,234 times"]
    {
        assert!(brief.contains(part), "{part}: {brief}");
    }
    assert!(!brief.contains("more finding"), "{brief}");
    let unknown = Check { threads: Vec::new(), ..check(vec![warning(1)]) };
    assert!(check_text(&unknown, CheckListing::Full, TextStyle::default()).contains("its cycles are unknown"));
}

#[test]
fn the_share_of_a_cpu_is_that_of_the_observation() {
    let short = Check {
        duration_ns: Nanos(10_000_000),
        own_cpu_ns: Nanos(100_000_000),
        own_cpu_observing_ns: Nanos(500_000),
        ..check(Vec::new())
    };
    let text = check_text(&short, CheckListing::Full, TextStyle { width: 200, ..TextStyle::default() });
    assert!(text.contains("used 5.0 % of a CPU meanwhile, and 99.5 ms of CPU time before and after"), "{text}");
}

#[test]
fn a_count_of_a_part_of_the_time_is_a_lower_bound() {
    let sampled = CheckFinding { is_at_least: true, per_cycle: None, ..finding(1, "control") };
    let text = check_text(&check(vec![sampled]), CheckListing::Brief, TextStyle::default());
    assert!(text.contains("in step() at loop.c:1: at least 1,234 times, worst"), "{text}");
}

#[test]
fn nothing_unseen_looks_like_a_pass() {
    let text = check_text(&check(Vec::new()), CheckListing::Brief, TextStyle::default());
    assert!(text.starts_with("INCONCLUSIVE") && text.contains("NOT OBSERVED"), "{text}");
}

#[test]
fn names_of_programs_are_harmless() {
    let all = check(vec![finding(1, "<b>\x1b[31m")]);
    let page = check_html(&all);
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>\x1b"), "{page}");
    assert!(!check_text(&all, CheckListing::Full, TextStyle::default()).contains('\x1b'));
}
