//! Sentences about tails are the same in every format.

use punctual_model::{ArrivalPattern, Recording, TailOutcome, TailRefusal, Verdict};
use punctual_report::{TextStyle, html, json, text, words};
use punctual_testing::runs;

fn with_tails() -> (Recording, Verdict) {
    let (recording, mut verdict) = runs::good();
    runs::tails::add(&recording, &mut verdict);
    (recording, verdict)
}

#[test]
fn each_load_has_its_sentence_in_every_format() {
    let (recording, verdict) = with_tails();
    let sentences = words::tails(&recording, &verdict);
    assert_eq!(sentences.len(), 5);
    let page = html(&recording, &verdict, "run").replace('\u{a0}', " ");
    let plain = text(&recording, &verdict, TextStyle { color: false, width: 10_000 });
    let document = serde_json::to_value(json(&recording, &verdict)).unwrap();
    for (n, sentence) in sentences.iter().enumerate() {
        let line = format!("  - {sentence}");
        assert!(plain.lines().any(|l| l == line), "{line}\n{plain}");
        let first = sentence.split(['`', '<', '>', '\'']).next().unwrap();
        assert!(page.contains(first), "{first}");
        if let Some(tail) = document["verdict"]["tails"].get(n) {
            let [level, arrivals] = [&tail["sentence"], &tail["arrivals"]["sentence"]].map(|s| s.as_str().unwrap());
            assert_eq!(&format!("{level} {arrivals}"), sentence);
        }
    }
    assert!(!plain.contains("WCET") && !page.contains("WCET"));
    let tail = &document["verdict"]["tails"][0];
    assert_eq!((&tail["outcome"]["outcome"], &tail["outcome"]["once_in"]), (&"level".into(), &1e8.into()));
    assert_eq!(tail["arrivals"]["pattern"]["period_ns"], 30_000_000_000u64);
    assert_eq!(document["verdict"]["tails"][1]["outcome"]["reasons"][0]["gate"], "shape_unstable");
}

#[test]
fn the_sentences() {
    let (recording, verdict) = with_tails();
    let all = words::tails(&recording, &verdict);
    for (sentence, says) in all.iter().zip([
        "while idle: one wakeup in 1e8 (27 h 47 min) is later than 93.5 µs, between 88.0 µs and 102 µs at 95 %. This extrapolates the \
         tail of the run by 1.7 decades, and does not cover causes that did not occur in it. The worst recur every 30.0 s: 13 of the 16 worst \
         wakeups are in phase with it (p < 1e-9 if they were independent).",
        "under `cpu`: a level beyond the data is refused: the tail is a mixture: its shape changes with the threshold (ξ at most -0.10 \
         above one threshold, at least 0.35 above another); the worst wakeups are not distributed like the fit (p = 0.01; above 0.05 is required); \
         the fit gives a level of at most 85.0 µs, but 93.1 µs was observed. The 16 seconds with the worst wakeups occur in bursts, closer \
         together than independent events would be (p = 2.1e-3).",
        "under `io`: a level beyond the data is refused: the problems of the run affect it;",
        "under `all`: one wakeup in 1e8",
        "A level requires one cause at a time",
    ]) {
        assert!(sentence.contains(says), "{sentence}\n{says}");
    }
    assert!(all[2].contains(
        "(KPSS 0.93; below 0.463 is required); 4 late wakeups are too few to determine how they cluster; 2 thresholds have 100"
    ));
    assert!(all[2].ends_with("look like independent rare events: no period and no bursts were found (p = 0.41)."));
    assert!(all[3].ends_with("Too few wakeups have a known time to look for a period."));
}

/// A mixture of distributions is reported only if the reason why a tail was refused indicates one.
#[test]
fn what_is_merely_short_is_no_mixture() {
    let (recording, mut verdict) = with_tails();
    verdict.tails.truncate(1);
    let few = TailRefusal::FewThresholds { thresholds: 1 };
    verdict.tails[0].outcome = TailOutcome::Refused { once_in: 1e4, reasons: vec![few] };
    verdict.tails[0].arrivals.pattern = ArrivalPattern::TooFew;
    let all = words::tails(&recording, &verdict);
    assert!(all[0].contains("is refused: 1 threshold has 100 later wakeups and a fit; 5 are required."), "{}", all[0]);
    assert_eq!(all[1], "A level requires a longer run.");
}

#[test]
fn the_shapes_are_drawn_with_their_figures() {
    let (recording, mut verdict) = with_tails();
    let page = html(&recording, &verdict, "run");
    assert_eq!(page.matches("id=\"tail").count(), 4 * 2);
    assert!(page.contains("<summary>Shape of the tail by threshold (4 loads)</summary>"));
    assert_eq!(page.matches("Shaded: the shapes that all intervals contain.").count(), 2);
    assert_eq!(page.matches("No shape is in all intervals.").count(), 2);
    assert!(
        page.contains("above 11.5\u{a0}µs: ξ 0.050 [-0.015, 0.115], 6,000 later wakeups")
            || page.contains("above 11.5 µs: ξ 0.050 [-0.015, 0.115], 6,000 later wakeups")
    );
    // Without a fit nothing is drawn, and unusual values do not make it fail.
    verdict.tails[0].thresholds.clear();
    verdict.tails[1].thresholds[0].shape = f64::NAN;
    verdict.tails[1].thresholds[1].shape_interval = Some((f64::NEG_INFINITY, f64::INFINITY));
    verdict.tails[1].thresholds[2].threshold_ns = f64::INFINITY;
    let page = html(&recording, &verdict, "run");
    assert!(page.contains("threshold (3 loads)") && !page.contains("=\"NaN") && !page.contains("=\"inf"));
    verdict.tails.clear();
    assert!(!html(&recording, &verdict, "run").contains("Beyond the data"));
}
