use crate::common;

use common::{judged, outcome, quiet, quiet_but, recording};
use punctual_judge::{judge, virtual_control};
use punctual_model::{Outcome, ProblemKind, Recording, VirtualTime};

fn in_virtual_time(mut recording: Recording, cpus: u32) -> Recording {
    recording.run.virtual_time = Some(VirtualTime {
        emulator: "QEMU 7.2.22".into(),
        machine: "pc".into(),
        kernel: "6.12.111-rt".into(),
        instruction_ns: 2,
        cpus,
        seed: 1,
    });
    recording
}

fn two_cpus(control: Vec<u64>) -> Recording {
    recording(&[
        ("idle", &[quiet(1_000, 1), quiet(1_000, 2)]),
        ("control", &[quiet(1_000, 6), quiet(1_000, 3)]),
        ("control-all", &[control, quiet(1_000, 7)]),
        ("cpu", &[quiet(1_000, 4), quiet(1_000, 5)]),
    ])
}

fn has_doubt(recording: &Recording) -> bool {
    judge(recording, &[]).problems.iter().any(|(_, p)| p.kind == ProblemKind::VirtualCpus)
}

#[test]
fn one_cpu_needs_no_control() {
    let run = in_virtual_time(common::one(quiet(1_000, 1)), 1);
    assert_eq!(outcome(&run, "max < 1ms"), Outcome::Held);
    assert!(!has_doubt(&run));
}

#[test]
fn a_control_that_passes_lets_several_cpus_be_judged() {
    let run = in_virtual_time(two_cpus(quiet(1_000, 9)), 2);
    assert!(virtual_control(&run).unwrap().passed());
    assert_eq!(outcome(&run, "max < 1ms"), Outcome::Held);
    assert_eq!(outcome(&run, "max < 1us"), Outcome::Fail);
}

#[test]
fn a_control_that_fails_makes_passes_and_failures_inconclusive() {
    let run = in_virtual_time(two_cpus(quiet_but(1_000, &[(500, 1_451_000)])), 2);
    let control = virtual_control(&run).unwrap();
    assert!(!control.passed() && control.ratio() > 100.0, "{control:?}");
    for claim in ["max < 1s", "max < 1us", "missed = 0"] {
        let judged = judged(&run, claim);
        assert_eq!(judged.outcome, Outcome::Inconclusive, "{claim}");
        assert!(judged.cells.iter().all(|c| c.outcome == Outcome::Inconclusive), "{claim}");
    }
    let verdict = judge(&run, &[]);
    let text = &verdict.problems.iter().find(|(_, p)| p.kind == ProblemKind::VirtualCpus).unwrap().1.text;
    assert!(text.contains("1.45 ms") && text.contains("one virtual CPU"), "{text}");
}

#[test]
fn without_a_control_nothing_is_claimed() {
    let idle_only = recording(&[("idle", &[quiet(1_000, 1), quiet(1_000, 2)])]);
    assert!(has_doubt(&in_virtual_time(idle_only.clone(), 2)));
    assert!(!has_doubt(&idle_only), "in real time there is nothing to control");
}
