//! Tests the lists of `punctual references`: width, height, and completeness with `--full`.

use punctual_model::{Finding, State};
use punctual_references::{Flavour, LoadClass, ReadFrom, check, read};
use punctual_references::{board, boards};
use punctual_report::{TextStyle, contribution, references_board, references_list};
use punctual_testing::{golden, runs};
use std::path::Path;

const STYLE: TextStyle = TextStyle { color: false, width: 80 };

#[test]
fn the_list_fits_a_terminal_and_says_how_to_see_the_rest() {
    let text = references_list(boards(), false, STYLE);
    assert!(text.lines().count() <= 22 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("158 figures of 36 boards") && text.contains("punctual references --full"), "{text}");
    let pi = text.lines().find(|line| line.starts_with("raspberry-pi-4b ")).unwrap();
    assert!(pi.contains("58 to 288") && pi.contains("70 to 717"), "{pi}");
    let full = references_list(boards(), true, STYLE);
    assert!(boards().iter().all(|board| full.contains(&format!("\n{} ", board.key))), "{full}");
}

#[test]
fn a_board_shows_its_spread_and_every_figure_with_its_source() {
    for one in boards() {
        let text = references_board(one, false, STYLE);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let table = text.split("WORST  KERNEL").nth(1).unwrap().split("\nSources\n").next().unwrap();
        assert_eq!(table.lines().filter(|line| line.contains(" µs  ")).count(), one.published.len(), "{text}");
        let plot = text.split("WORST  KERNEL").next().unwrap();
        assert!(plot.contains('•'), "{text}");
        let full = references_board(one, true, TextStyle { width: 4000, ..STYLE });
        for p in &one.published {
            // Runs of spaces are one space in wrapped text.
            let quote: Vec<&str> = p.quote.as_ref().unwrap().split_whitespace().collect();
            assert!(full.contains(p.url.as_ref().unwrap()) && full.contains(&quote.join(" ")), "{full}");
        }
    }
}

#[test]
fn the_plot_is_in_order() {
    let text = references_board(board("raspberry-pi-4b").unwrap(), false, STYLE);
    let stock = text.lines().find(|line| line.starts_with("stock 5.4, loaded")).unwrap();
    let rt = text.lines().find(|line| line.starts_with("PREEMPT_RT 5.15, loaded")).unwrap();
    assert!(stock.ends_with("717") && rt.ends_with("58 to 60"), "{text}");
    assert!(stock.find('•') > rt.find('•'), "{text}");
}

/// The contribution passes its own check. It contains the run's results, and nothing that identifies the machine or its
/// owner.
#[test]
fn a_run_is_contributed_without_what_identifies_it() {
    let (mut recording, _) = runs::good();
    let machine = &mut recording.run.machine;
    machine.cmdline = Some("root=/dev/secret isolcpus=2-3 nohz_full=2-3 mycompany.key=1 idle=poll\u{1b}".into());
    machine.cpu_model = Some("ARM Cortex-A72".into());
    recording.run.phases[0].load = "cmd:secret-program --of me".into();
    let made = contribution(&recording).unwrap();
    golden(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/contribution.toml"), &made.text);
    assert!(check(&made.text).iter().all(|problem| !problem.is_error));
    let board = read(&made.text).unwrap();
    assert_eq!((board.key.as_str(), board.core.as_deref()), ("raspberry-pi-4b", Some("Cortex-A72")));
    assert_eq!(board.published.len(), recording.run.phases.len());
    let first = &board.published[0];
    assert!(
        first.flavour == Flavour::PreemptRt && first.read == ReadFrom::Own && first.load_class() == LoadClass::Loaded
    );
    assert_eq!(first.tuning.as_deref(), Some("isolcpus=2-3 nohz_full=2-3 governor performance"));
    let phase = &recording.run.phases[0];
    let worst = phase.cpus.iter().filter_map(|cpu| cpu.max_ns).max().unwrap();
    assert_eq!(first.worst_us, worst as f64 / 1e3);
    assert_eq!(first.samples, phase.cpus.iter().map(|cpu| cpu.scored()).min());
    let host = recording.run.host.clone().unwrap();
    for private in [host.as_str(), "secret", "mycompany", "prove"] {
        assert!(!made.text.contains(private), "{private}: {}", made.text);
    }
    assert!(made.left_out.iter().any(|what| what.contains("host name")), "{:?}", made.left_out);
    assert!(made.left_out.iter().any(|what| what.contains("1 command line of a load")), "{:?}", made.left_out);
}

#[test]
fn the_audit_is_contributed_by_rule_and_state_only() {
    let (mut recording, _) = runs::failing();
    recording.findings.retain(|finding| finding.state == State::Fail);
    let made = contribution(&recording).unwrap();
    let settings = read(&made.text).unwrap().published[0].settings.clone();
    let expected = recording.findings.iter().map(|Finding { id, .. }| format!("{id}: fail"));
    assert!(!settings.is_empty() && settings == expected.collect::<Vec<_>>(), "{settings:?}");
}

#[test]
fn what_is_no_measurement_of_a_board_is_refused_with_the_reason() {
    let (good, _) = runs::good();
    let mut unnamed = good.clone();
    (unnamed.run.machine.board, unnamed.run.machine.cpu_model) = (None, None);
    let mut damaged = good.clone();
    damaged.damage.push("a torn tail".into());
    let mut short = good.clone();
    short.run.phases.iter_mut().flat_map(|phase| &mut phase.cpus).for_each(|cpu| cpu.released = Some(7));
    for (recording, why) in
        [(unnamed, "neither its board nor its processor"), (damaged, "a torn tail"), (short, "no phase has 100")]
    {
        assert!(contribution(&recording).unwrap_err().contains(why), "{why}");
    }
}

/// A run under a hypervisor does not count as a run of the board's own kernel.
#[test]
fn a_virtual_machine_is_of_another_flavour() {
    let (mut recording, _) = runs::good();
    recording.run.machine.virtualisation = Some("kvm".into());
    let board = read(&contribution(&recording).unwrap().text).unwrap();
    assert!(
        board
            .published
            .iter()
            .all(|p| p.flavour == Flavour::Other && p.note.as_ref().is_some_and(|n| n.contains("virtual")))
    );
}

/// A machine without firmware names is named by its processor.
#[test]
fn without_a_board_the_processor_is_named() {
    let (mut recording, _) = runs::good();
    (recording.run.machine.board, recording.run.machine.cpu_model) = (None, Some("Some(R) CPU @ 2 GHz".into()));
    let board = read(&contribution(&recording).unwrap().text).unwrap();
    assert_eq!((board.key.as_str(), board.name.as_str()), ("some-r-cpu-2-ghz", "Some(R) CPU @ 2 GHz"));
}
