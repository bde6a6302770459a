//! Published figures for a run's board appear next to the run's worst wakeup, with their source and the differences in
//! conditions; no figure is invented.

use punctual_model::{Recording, Verdict};
use punctual_report::{TextStyle, html, json, text};
use punctual_testing::runs;

fn sentences((recording, verdict): &(Recording, Verdict)) -> Vec<String> {
    let value = serde_json::to_value(json(recording, verdict)).unwrap();
    value["published"]["sentences"].as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect()
}

/// Returns the good run with this board, kernel and worst wakeup.
fn run(board: Option<&str>, rt: Option<bool>, worst_ns: u64) -> (Recording, Verdict) {
    let (mut recording, mut verdict) = runs::good();
    recording.run.machine.board = board.map(str::to_owned);
    recording.run.machine.preempt_rt = rt;
    if let Some(worst) = &mut verdict.worst {
        worst.max_ns = worst_ns;
    }
    (recording, verdict)
}

const PI: Option<&str> = Some("Raspberry Pi 4 Model B Rev 1.4");

#[test]
fn the_worst_lies_below_within_or_above() {
    for (worst, place) in [(40_000, "is below all of"), (120_000, "lies within"), (900_000, "is above all of")] {
        let all = sentences(&run(PI, Some(true), worst));
        assert!(all[0].contains(place) && all[0].contains("58.0 µs to 288 µs"), "{}", all[0]);
        assert!(all[0].contains("with a PREEMPT_RT kernel") && all[0].contains("not a verdict"), "{}", all[0]);
    }
    let stock = sentences(&run(PI, Some(false), 200_000));
    assert!(stock.iter().any(|s| s.starts_with("301 µs: ") && s.contains("49,999,700 wakeups on each of 4 threads")));
    assert!(stock.iter().all(|s| !s.contains("PREEMPT_RT kernel")), "{stock:?}");
    let unknown = sentences(&run(PI, None, 200_000));
    assert!(unknown[0].contains("kernel is unknown") && unknown[0].contains("58.0 µs to 717 µs"), "{unknown:?}");
}

#[test]
fn every_figure_has_its_source_and_how_comparable_it_is() {
    let (mut recording, verdict) = run(PI, Some(true), 100_000);
    recording.run.machine.virtualisation = Some("kvm".into());
    let all = sentences(&(recording, verdict));
    let last = all.last().unwrap();
    assert!(all[1..all.len() - 2].iter().all(|s| s.contains("Source: ")), "{all:?}");
    assert!(
        all[all.len() - 2].contains("more, under conditions that differ more: `punctual references raspberry-pi-4b`")
    );
    assert!(last.starts_with("How comparable they are: ") && last.contains("virtual machine (`kvm`)"), "{last}");
    assert!(
        last.contains("per CPU, the longest published measurement 49,999,700") && last.contains("state their tuning"),
        "{last}"
    );
}

/// The figures measured under the most similar conditions are shown in full: for an idle run, the figures of idle runs.
#[test]
fn the_figures_with_the_most_similar_conditions_come_first() {
    let (mut recording, verdict) = run(PI, Some(false), 80_000);
    recording.run.phases.iter_mut().for_each(|phase| phase.load = "idle".into());
    let first = &sentences(&(recording, verdict))[1];
    assert!(first.starts_with("70.0 µs: ") && first.contains("load: idle"), "{first}");
}

#[test]
fn without_figures_of_the_board_those_of_its_core_are_shown_as_such() {
    let (mut recording, verdict) = run(Some("Raspberry Pi Compute Module 4 Rev 1.0"), Some(true), 100_000);
    recording.run.machine.cpu_model = Some("ARM Cortex-A72".into());
    let value = serde_json::to_value(json(&recording, &verdict)).unwrap();
    assert!(value["published"]["board"].is_null() && value["published"]["core"] == "Cortex-A72");
    let all = sentences(&(recording, verdict));
    assert!(
        all[0].contains("same processor core (Cortex-A72), because no figures are published for this board,"),
        "{}",
        all[0]
    );
    assert!(all[1].contains(". Raspberry Pi 4 Model B. Source: "), "{}", all[1]);
}

#[test]
fn of_another_board_there_are_none() {
    for board in [None, Some("Some board of nobody")] {
        let (recording, verdict) = run(board, Some(true), 100_000);
        let value = serde_json::to_value(json(&recording, &verdict)).unwrap();
        let none = "there are no built-in published figures for this board";
        assert_eq!(value["published"]["note"], none);
        assert!(value["published"]["entries"].as_array().unwrap().is_empty() && value["published"]["board"].is_null());
        let page = html(&recording, &verdict, "run") + &text(&recording, &verdict, TextStyle::default());
        assert!(!page.contains("ublished"), "{page}");
    }
}

/// The label of an imported phase names the quantity of its samples.
#[test]
fn beside_an_imported_file_only_where_it_has_latencies() {
    for (label, shown) in [
        ("latency", true),
        ("a.csv: wakeup latency", true),
        ("gap of a busy loop", false),
        ("noise in a second", false),
    ] {
        let (mut recording, verdict) = run(PI, None, 93_000);
        recording.run.phases.iter_mut().for_each(|p| p.label = Some(label.into()));
        assert_eq!(!sentences(&(recording, verdict)).is_empty(), shown, "{label}");
    }
}
