use proptest::prelude::*;
use punctual_model::{Class, Explained, Explanation, Lane, Recording, Verdict};
use punctual_report::{
    Place, SUMMARY_LINES, TextStyle, explanation_html, explanation_summary, html, json, summary, text, timeline_text,
};
use punctual_testing::runs;
use punctual_units::Nanos;

#[test]
fn a_run_without_traces_says_nothing_of_it() {
    let (recording, verdict) = runs::failing();
    let page = html(&recording, &verdict, "run");
    assert!(!page.contains("traced; by what") && !page.contains("How the delay splits"));
    assert!(!text(&recording, &verdict, TextStyle::default()).contains("\nWhy\n"));
    assert_eq!(serde_json::to_value(json(&recording, &verdict)).unwrap()["explained"], serde_json::json!([]));
}

#[test]
fn the_cause_stands_below_the_verdict_and_the_worst_three_are_drawn() {
    let (recording, verdict) = runs::explained();
    let page = html(&recording, &verdict, "run");
    let front = &page[..page.find("<nav").unwrap()];
    assert!(front.contains("12 late wakeups were traced; by main cause:"), "{front}");
    assert!(front.contains("higher priority: 2 of 12 (multipathd)"), "{front}");
    let why = &page[page.find("id=\"why\"").unwrap()..page.find("id=\"late\"").unwrap()];
    assert!(why.contains("multipathd (RT 99, pid 195) ran 33.2\u{a0}ms of it (97\u{a0}%)"), "{why}");
    assert_eq!(why.matches("<div class=\"split\">").count(), 2, "one bar a load");
    assert_eq!(why.matches("<figure>").count(), 3);
    // Both loads have pictures, so no collapsed part for another load follows.
    assert!(!why.contains("The worst wakeup of each other load"));
    // The culprit of the worst wakeup under `cpu` is outlined, in both sizes of the chart.
    assert_eq!(why.matches("<rect class=\"k3 cause main\"").count(), 2);
    // Moments that cannot be told apart are magnified.
    assert!(why.contains(">T0 T1 T2<") && why.contains(">magnified<"), "{why}");
    assert!(why.contains("T2 it is woken (sched_waking), +82.9\u{a0}µs"), "{why}");
    assert!(why.contains("cyclictest (RT 80, pid 191) was due on CPU 1 at T0, was woken 82.9 µs later (T2) and ran"));
}

/// The first cause shown is that of the run's worst wakeup, or follows a note that this one is not explained.
#[test]
fn the_cause_is_that_of_the_worst_wakeup_of_the_run() {
    let (mut recording, mut verdict) = runs::explained();
    let style = TextStyle { color: false, width: 1_000 };
    let all = |recording: &Recording, verdict: &Verdict| {
        let summary = summary(recording, verdict, Place::default(), style);
        let page = html(recording, verdict, "run").replace('\u{a0}', " ");
        (summary, page, text(recording, verdict, style))
    };
    // The most frequent cause is another one.
    recording.explained.retain(|line| line.latency_ns < 60_000_000);
    let worst = recording.explained.iter().max_by_key(|line| line.latency_ns).unwrap().clone();
    verdict.worst.as_mut().unwrap().max_ns = worst.latency_ns;
    let said = worst.victim.verdict.split(" (").next().unwrap();
    let (summary, page, full) = all(&recording, &verdict);
    assert!(summary.contains("Cause  ") && summary.split("Cause  ").nth(1).unwrap().contains(said), "{summary}");
    assert!(!(summary + &page + &full).contains("not explained"));
    recording.explained.retain(|line| line.latency_ns < worst.latency_ns);
    let (summary, page, full) = all(&recording, &verdict);
    let note = format!("he worst wakeup, {} (CPU", Nanos(worst.latency_ns));
    for text in [&summary, &page, &full] {
        assert!(text.contains(&note) && text.contains("is not explained"), "{text}");
    }
    assert!(summary.contains("is not explained; the worst explained: "), "{summary}");
}

#[test]
fn the_summary_names_each_culprit_and_splits_each_load() {
    let (recording, verdict) = runs::explained();
    let summary = text(&recording, &verdict, TextStyle { color: false, width: 1_000 });
    assert!(summary.contains("\nWhy\n  - While idle: CPU1 63.6 ms late: the whole machine stood still"), "{summary}");
    assert!(summary.contains("`cpu`, 7 wakeups, 91.4 ms in all: yes (nice 0, pid 188) 50.3 ms (55 %)"), "{summary}");
    let document = serde_json::to_value(json(&recording, &verdict)).unwrap();
    assert_eq!(document["explained"].as_array().unwrap().len(), recording.explained.len());
    assert_eq!(document["explained"][0]["victim"]["causes"][0]["class"], "machine_stall");
}

#[test]
fn a_timeline_fits_any_terminal() {
    for line in runs::lines() {
        for width in [40, 80, 132, 300] {
            let style = TextStyle { color: false, width };
            let picture = timeline_text(&line.victim, line.timeline.as_ref().unwrap(), style);
            assert!(picture.lines().all(|l| l.chars().count() <= width && !l.ends_with('…')), "{picture}");
            assert!(picture.contains("T0") && picture.contains("T3"));
        }
    }
}

#[test]
fn the_rogue_fills_its_row_from_t0_to_t3() {
    let line = runs::lines().into_iter().find(|line| line.victim.verdict.contains("pid 195")).unwrap();
    let picture = timeline_text(&line.victim, line.timeline.as_ref().unwrap(), TextStyle::default());
    let row = picture.lines().find(|row| row.starts_with("CPU 1")).unwrap();
    assert!(row.contains(&"A".repeat(60)) && row.ends_with('*'), "{picture}");
    assert!(
        picture.contains("  A multipathd (RT 99, pid 195), 34.0 ms: 33.2 ms of the delay, higher priority"),
        "{picture}"
    );
}

pub fn explanation_page() -> String {
    let timelines: Vec<_> = runs::lines().into_iter().map(|line| line.timeline).collect();
    explanation_html("g612.dat", &runs::explanation(), &timelines)
}

#[test]
fn a_summary_of_an_explanation_is_one_screen() {
    let mut explanation = runs::explanation();
    for _ in 0..3 {
        let style = TextStyle { color: false, width: 80 };
        let summary = explanation_summary(&explanation, &[], "trace.dat", style);
        assert!(summary.lines().count() <= SUMMARY_LINES, "{summary}");
        assert!(summary.lines().all(|line| line.chars().count() <= 80 && !line.contains("\\n")), "{summary}");
        let groups = explanation.groups.clone();
        explanation.groups.extend(groups);
        explanation.victims.iter_mut().for_each(|victim| victim.verdict = victim.verdict.repeat(8));
    }
    explanation.victims.clear();
    assert!(explanation_summary(&explanation, &[], "-", TextStyle::default()).lines().count() <= SUMMARY_LINES);
}

#[test]
fn the_page_of_one_trace_begins_with_its_worst() {
    let page = explanation_page();
    assert!(page.contains("<h1 class=\"said\">CPU1 35.5\u{a0}ms late: the whole machine stood still"), "{page}");
    assert!(page.contains("<title>Late wakeups in g612.dat</title>"));
    let empty = explanation_html("x", &Explanation::default(), &[]);
    assert!(empty.contains("No late wakeup can be explained from this trace."));
}

/// Returns a number of any size, often an edge case.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0u64..1_000, 1_000_000u64..90_000_000, any::<u64>()]
}

/// Writes times that go back, impossible shares and far too many spans to a line, as a damaged file may contain them.
fn disturb(line: &mut Explained, take: &mut impl FnMut() -> u64) {
    let many = (take() % 3_000) as usize;
    let timeline = line.timeline.as_mut().unwrap();
    (timeline.start_ns, timeline.end_ns) = (take(), take());
    (timeline.moments.t0_ns, timeline.moments.t1_ns) = (take(), Some(take()));
    (timeline.moments.t2_ns, timeline.moments.t3_ns) = (take(), take());
    timeline.states.iter_mut().for_each(|state| (state.start_ns, state.end_ns) = (take(), take()));
    if let Some(Lane { spans, .. }) = timeline.lanes.first_mut() {
        let first = spans[0].clone();
        spans.resize(spans.len() + many, first);
    }
    for span in timeline.lanes.iter_mut().flat_map(|lane| &mut lane.spans) {
        (span.start_ns, span.end_ns) = (take(), take());
        span.cause = take().is_multiple_of(2).then_some(Class::Steal);
    }
    for cause in &mut line.victim.causes {
        (cause.ns, cause.share) = (take(), f64::NAN);
    }
    (line.latency_ns, line.victim.latency_ns, line.victim.unaccounted_ns) = (take(), take(), take());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_timeline_is_answered(numbers in proptest::collection::vec(number(), 40)) {
        let (mut recording, verdict) = runs::explained();
        let mut next = numbers.iter().copied().cycle();
        recording.explained.iter_mut().for_each(|line| disturb(line, &mut || next.next().unwrap()));
        let page = html(&recording, &verdict, "run");
        prop_assert!(page.len() < 3_000_000 && !page.contains("=\"NaN") && !page.contains("=\"inf"));
        text(&recording, &verdict, TextStyle::default());
        for line in &recording.explained {
            timeline_text(&line.victim, line.timeline.as_ref().unwrap(), TextStyle::default());
        }
    }
}
