use crate::common;

use common::*;
use punctual_judge::judge;
use punctual_model::Outcome::{Fail, Held, Inconclusive, Pass};
use punctual_model::{CpuResult, EndedBy, Event, Kind, Outcome, Problem, ProblemKind, Recording};
use punctual_units::{CpuId, Histogram, Scheduling};

/// Returns a run of two phases on two CPUs, with a wakeup of 500 µs in the second phase on CPU 1.
fn good() -> Recording {
    let mut late = quiet(5_000, 4);
    late[1_234] = 500_000;
    recording(&[("idle", &[quiet(5_000, 1), quiet(5_000, 2)]), ("cpu", &[quiet(5_000, 3), late])])
}

/// Returns the outcomes of `max < 1ms`: idle 0, idle 1, cpu 0, cpu 1, and overall.
fn cells(run: &Recording) -> (Vec<Outcome>, Outcome) {
    let judged = judged(run, "max < 1ms");
    let mut cells = judged.cells;
    cells.sort_by_key(|c| (c.phase.clone(), c.cpu));
    (cells.iter().map(|c| c.outcome).collect(), judged.outcome)
}

fn said(run: &Recording) -> Vec<(Option<String>, ProblemKind)> {
    judge(run, &[]).problems.into_iter().map(|(phase, p)| (phase, p.kind)).collect()
}

fn second() -> Option<String> {
    Some("2-cpu".into())
}

#[test]
fn nothing_stands_against_a_good_run() {
    assert_eq!(cells(&good()), (vec![Held; 4], Held));
    assert_eq!(said(&good()), []);
}

/// The choice of the end of a phase does not affect results that are valid at any time. A quantile cannot pass then,
/// but a failure remains.
#[test]
fn a_phase_that_its_user_ended_can_fail_and_shows_no_quantile() {
    let ended = |mut run: Recording, by_event: bool| {
        let (kind, phase) = (ProblemKind::EndedEarly, second().unwrap());
        match by_event {
            true => run.events.push(Event::EndedEarly { mono_ns: 1, phase }),
            false => run.run.phases[1].problems.push(Problem { kind, text: "3s recorded of 60s".into() }),
        }
        run
    };
    for by_event in [true, false] {
        let run = ended(good(), by_event);
        assert_eq!(cells(&run), (vec![Held; 4], Held));
        assert_eq!(said(&run), [(second(), ProblemKind::EndedEarly)]);
        for (claim, outcome) in
            [("p99 < 1ms", Inconclusive), ("P(>1ms) < 0.5", Pass), ("missed = 0", Held), ("missed <= 1 per 2", Pass)]
        {
            assert_eq!(judged(&run, claim).outcome, outcome, "{claim}");
            assert_eq!(judge(&run, &claims(&[claim])).outcome, outcome, "{claim}");
        }
        assert_eq!(judged(&run, "max < 400us").outcome, Fail);
        assert_eq!(judged(&run, "p50 < 1ns").outcome, Fail);
        assert_eq!(said(&ended(run, !by_event)).len(), 1);
    }
}

#[test]
fn no_claim_no_pass() {
    assert_eq!(judge(&good(), &[]).outcome, Inconclusive);
}

#[test]
fn no_phase_no_pass() {
    for claim in ["max < 10s", "missed = 0", "p99 < 1s", "P(>1s) < 0.5", "soft"] {
        let judged = judged(&empty(), claim);
        assert_eq!((judged.outcome, judged.cells.len()), (Inconclusive, 0), "{claim}");
    }
    assert_eq!(judge(&empty(), &claims(&["missed = 0"])).worst, None);
    assert_eq!(said(&empty()), [(None, ProblemKind::Interrupted)]);
}

#[test]
fn a_phase_without_cpus_is_no_pass() {
    let mut run = empty();
    add_phase(&mut run, "idle", &[]);
    assert_eq!(cells(&run), (vec![], Inconclusive));
    let mut run = recording(&[("idle", &[quiet(5_000, 1)])]);
    run.run.settings.cpus = Default::default();
    add_phase(&mut run, "cpu", &[]);
    assert_eq!(cells(&run), (vec![Held], Inconclusive));
}

#[test]
fn a_cpu_without_samples_is_no_pass() {
    let run = recording(&[("idle", &[quiet(5_000, 1), vec![]])]);
    assert_eq!(cells(&run), (vec![Held, Inconclusive], Inconclusive));
    assert_eq!(said(&run), [(Some("1-idle".into()), ProblemKind::Storage)]);
    for claim in ["missed = 0", "p99 < 1s", "P(>1s) < 0.5", "soft"] {
        let first = judged(&run, claim).cells.remove(0);
        assert_eq!((first.cpu, first.outcome, first.samples), (CpuId(1), Inconclusive, 0), "{claim}");
        assert_eq!((first.max_ns, first.upper, first.p_beyond_max), (None, None, None));
    }
}

#[test]
fn samples_that_are_missing_are_no_pass() {
    let mut run = good();
    run.distributions.remove(&("2-cpu".into(), CpuId(0)));
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held], Inconclusive));
    assert_eq!(said(&run), [(second(), ProblemKind::Storage)]);
}

#[test]
fn totals_that_are_missing_are_no_pass() {
    let mut run = good();
    run.run.phases[1].cpus.remove(0);
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held], Inconclusive));
}

#[test]
fn a_cpu_that_was_to_be_measured_is_missed() {
    let mut run = good();
    run.run.settings.cpus.insert(CpuId(2));
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held, Held, Inconclusive], Inconclusive));
}

#[test]
fn samples_of_an_unknown_phase_are_told_of() {
    let mut run = good();
    let d = run.distributions[&("2-cpu".to_string(), CpuId(0))].clone();
    run.distributions.insert(("3-io".into(), CpuId(0)), d);
    assert_eq!(cells(&run), (vec![Held; 4], Inconclusive));
}

#[test]
fn counts_must_add_up() {
    let spoil: [fn(&mut CpuResult); 5] = [
        |c| c.released = c.released.map(|n| n + 1),
        |c| c.ran -= 1,
        |c| (c.ran, c.released) = (c.ran - 1, c.released.map(|n| n - 1)),
        |c| (c.skipped, c.ran) = (Some(u64::MAX), 2),
        |c| c.max_ns = c.max_ns.map(|m| m - 1),
    ];
    for (i, spoil) in spoil.iter().enumerate() {
        let mut run = good();
        spoil(&mut run.run.phases[1].cpus[0]);
        assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held], Inconclusive), "{i}");
        assert_eq!(said(&run), [(second(), ProblemKind::Storage)], "{i}");
        assert_eq!(outcome(&run, "max < 2us"), Fail);
    }
}

#[test]
fn a_miss_that_only_the_totals_know_is_one() {
    let mut run = good();
    let result = &mut run.run.phases[0].cpus[0];
    (result.skipped, result.released) = (Some(1), result.released.map(|n| n + 1));
    assert_eq!(outcome(&run, "missed = 0"), Fail);
}

#[test]
fn histograms_that_overflow_together_are_no_samples() {
    let mut run = good();
    let d = run.distributions.get_mut(&("2-cpu".to_string(), CpuId(0))).unwrap();
    (d.raw, d.skipped) = (Histogram::new(), Histogram::new());
    d.raw.record_n(1, u64::MAX);
    d.skipped.record_n(1, 1);
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held], Inconclusive));
}

/// Clustering is determined from the list. Without it the effective number of samples would be too large.
#[test]
fn a_lost_list_of_the_worst_cannot_pass() {
    let lose: [fn(&mut Recording); 3] = [
        |run| run.worst.retain(|w| (w.phase.as_str(), w.cpu) != ("2-cpu", CpuId(0))),
        |run| {
            run.worst
                .remove(run.worst.iter().position(|w| (w.phase.as_str(), w.cpu) == ("2-cpu", CpuId(0))).unwrap())
                .cycle = 0
        },
        |run| {
            run.worst
                .remove(run.worst.iter().rposition(|w| (w.phase.as_str(), w.cpu) == ("2-cpu", CpuId(0))).unwrap())
                .cycle = 0
        },
    ];
    for lose in lose {
        let mut run = good();
        lose(&mut run);
        assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held], Inconclusive));
        assert_eq!(said(&run), [(second(), ProblemKind::Storage)]);
        run.run.kind = Kind::Imported;
        assert_eq!(cells(&run).1, Held);
    }
}

#[test]
fn the_larger_maximum_counts_where_files_disagree() {
    let mut run = good();
    run.worst[0].latency_ns = 2_000_000;
    assert_eq!(outcome(&run, "max < 1ms"), Fail);
    assert!(judge(&run, &[]).problems[0].1.text.contains("2000000 ns"));
    let mut run = good();
    run.run.phases[0].cpus[0].max_ns = Some(2_000_000);
    assert_eq!(outcome(&run, "max < 1ms"), Fail);
    assert_eq!(cells(&run).0, [Fail, Held, Held, Held]);
}

#[test]
fn every_problem_of_the_run_touches_every_cell() {
    use ProblemKind::*;
    for kind in [LoadDidNotRun, NotAsAsked, NoRealTime, CpuLost, Throttled, Suspended, Interrupted, PageFaults, Storage]
    {
        let mut run = good();
        run.run.problems.push(problem(kind));
        assert_eq!(cells(&run), (vec![Inconclusive; 4], Inconclusive), "{kind:?}");
        assert_eq!(said(&run), [(None, kind)]);
        assert_eq!(outcome(&run, "max < 400us"), Fail, "{kind:?}");

        let mut run = good();
        run.run.phases[1].problems.push(problem(kind));
        assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Inconclusive], Inconclusive), "{kind:?}");
        assert_eq!(said(&run), [(second(), kind)]);
        assert_eq!(outcome(&run, "max < 400us"), Fail, "{kind:?}");
        assert!(judged(&run, "max < 1ms").cells[0].needed.is_none(), "time does not cure a problem");
    }
}

#[test]
fn damage_touches_every_cell() {
    let mut run = good();
    run.damage.push("worst.jsonl: a torn line dropped".into());
    assert_eq!(cells(&run), (vec![Inconclusive; 4], Inconclusive));
    assert_eq!(said(&run), [(None, ProblemKind::Storage)]);
    assert_eq!(outcome(&run, "max < 400us"), Fail);
}

/// Results measured before a signal are complete. Loads that were not measured cannot hold, and neither can a run that
/// was killed.
#[test]
fn a_signal_ends_a_run_at_any_moment_and_a_kill_loses_it() {
    let mut run = good();
    run.run.complete = false;
    run.run.ended_by = Some(EndedBy::Signal { number: 2, name: "SIGINT".into() });
    assert_eq!(cells(&run), (vec![Held; 4], Held));
    assert!(judge(&run, &[]).problems[0].1.text.contains("SIGINT"));
    let mut early = run.clone();
    early.run.settings.loads.push("io".into());
    assert_eq!(cells(&early), (vec![Held; 4], Inconclusive));
    let killed =
        Recording { run: punctual_model::Run { ended_by: Some(EndedBy::Killed), ..run.run.clone() }, ..run.clone() };
    assert_eq!(cells(&killed), (vec![Held; 4], Inconclusive));
    run.run.phases[1].problems.push(problem(ProblemKind::Interrupted));
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Inconclusive], Inconclusive));
    assert_eq!(outcome(&run, "max < 400us"), Fail);
}

#[test]
fn a_phase_without_end_cannot_pass() {
    let mut run = good();
    run.run.complete = false;
    run.run.ended_by = None;
    run.run.phases[1].end_mono_ns = None;
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Inconclusive], Inconclusive));
    assert_eq!(said(&run), [(None, ProblemKind::Interrupted), (second(), ProblemKind::Interrupted)]);
    // The same applies if the run is marked as complete, since one of the two is wrong.
    run.run.complete = true;
    assert_eq!(cells(&run).1, Inconclusive);
}

#[test]
fn a_killed_run_cannot_pass_whatever_it_says() {
    let mut run = good();
    run.run.ended_by = Some(EndedBy::Killed);
    assert_eq!(cells(&run).1, Inconclusive);
}

#[test]
fn a_load_without_proof_cannot_pass() {
    let mut run = good();
    let report = run.run.phases[1].load_report.as_mut().unwrap();
    (report.ran, report.why_not) = (false, Some("no disk".into()));
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Inconclusive], Inconclusive));
    assert_eq!(said(&run), [(second(), ProblemKind::LoadDidNotRun)]);
    assert_eq!(judge(&run, &[]).problems[0].1.text, "no disk");
    run.run.phases[1].problems.push(problem(ProblemKind::LoadDidNotRun));
    assert_eq!(said(&run).len(), 1);
    run.run.phases[1].problems.clear();
    run.run.phases[1].load_report = None;
    assert_eq!(cells(&run).1, Inconclusive);
    run.run.kind = Kind::Imported;
    assert_eq!(cells(&run).1, Held);
}

#[test]
fn a_load_that_has_no_phase_is_missed() {
    let mut run = good();
    run.run.settings.loads.extend(["io".into(), "timers".into()]);
    assert_eq!(cells(&run), (vec![Held; 4], Inconclusive));
    assert_eq!(said(&run), [(None, ProblemKind::LoadDidNotRun)]);
    assert!(judge(&run, &[]).problems[0].1.text.ends_with(": io, timers"));
}

#[test]
fn another_policy_than_asked_cannot_pass() {
    let mut run = good();
    run.run.phases[1].cpus[0].got = Some(Scheduling::Other { nice: 0 });
    assert_eq!(cells(&run), (vec![Held, Held, Inconclusive, Held], Inconclusive));
    assert_eq!(said(&run), [(second(), ProblemKind::NotAsAsked)]);
    run.run.problems.push(problem(ProblemKind::NoRealTime));
    assert_eq!(said(&run), [(None, ProblemKind::NoRealTime)]);
}

#[test]
fn a_failed_claim_wins_over_problems_everywhere() {
    let mut run = good();
    run.run.problems.push(problem(ProblemKind::Throttled));
    run.damage.push("torn".into());
    run.run.complete = false;
    let verdict = judge(&run, &claims(&["max < 400us", "missed = 0"]));
    assert_eq!((verdict.outcome, verdict.claims[1].outcome), (Fail, Inconclusive));
    assert_eq!(verdict.claims[0].cells[0].max_ns, Some(500_000));
}
