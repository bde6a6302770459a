//! Recorded traces whose causes are known.

use punctual_explain::{Class, Confidence, ExplainOptions, Explanation, Facts, Victim, Victims, explain};
use punctual_trace::open;
use punctual_units::Policy;
use std::io::Cursor;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = here.join("tests/fixtures").join(name);
    let path = if own.exists() { own } else { here.join("../trace/tests/fixtures").join(name) };
    std::fs::read(path).unwrap()
}

fn with(name: &str, options: ExplainOptions) -> Explanation {
    let mut source = open(Cursor::new(fixture(name)), punctual_trace::Options::default()).unwrap();
    let explanation = explain(source.as_mut(), ExplainOptions { cycles: true, ..options });
    for cycle in &explanation.cycles {
        let rest = cycle.delays.iter().map(|c| c.ns).chain(cycle.blocked.iter().map(|b| b.ns));
        assert_eq!(cycle.ran_ns + rest.sum::<u64>(), cycle.length_ns, "{}", cycle.verdict);
    }
    for victim in &explanation.victims {
        sums(victim);
    }
    explanation
}

fn explained(name: &str) -> Explanation {
    with(name, ExplainOptions::default())
}

fn sums(victim: &Victim) {
    assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), victim.latency_ns, "{}", victim.verdict);
    let shares: f64 = victim.causes.iter().map(|c| c.share).sum();
    assert!((shares - 1.0).abs() < 1e-9 || victim.latency_ns == 0);
}

fn near(share: f64, percent: f64) -> bool {
    (share * 100.0 - percent).abs() <= 5.0
}

#[test]
fn the_rogue_in_kernel_text() {
    let facts = Facts { policies: [(195, Policy::Rr), (213, Policy::Fifo)].into(), ..Facts::default() };
    let found = with("g612.trace.txt", ExplainOptions { facts, ..ExplainOptions::default() });
    let victim = &found.victims[0];
    // cyclictest measured 34,499 µs; its own way back to user space is not in the trace.
    assert_eq!((victim.tid, victim.cpu, victim.latency_ns), (Some(213), Some(1), 34_363_769));
    assert_eq!((victim.scheduled.policy.as_deref(), victim.scheduled.prio), (Some("FIFO"), Some(80)));
    let cause = &victim.causes[0];
    assert_eq!((cause.class, cause.tid, cause.comm.as_deref()), (Class::HigherPriority, Some(195), Some("multipathd")));
    assert_eq!((cause.scheduled.policy.as_deref(), cause.scheduled.prio), (Some("RR"), Some(99)));
    assert!(near(cause.share, 96.0), "{}", cause.share);
    assert_eq!(cause.confidence, Confidence::High);
    // After the tick that woke the thread, the CPU was idle although it was awake. The trace does not show why.
    assert_eq!(victim.unaccounted_ns, 71_000);
    assert_eq!(
        victim.verdict,
        "cyclictest (FIFO 80, pid 213) on CPU 1, 34.4 ms late: multipathd (RR 99, pid 195) ran 33.2 ms of it (97 %) — lower its priority or stop it"
    );
    assert!(
        found.victims.iter().all(|v| v.tid == Some(213)),
        "its main thread has the same name and no real-time priority"
    );
}

#[test]
fn fifo_and_rr_are_not_told_apart_without_a_snapshot() {
    let verdict = &explained("g612.trace.txt").victims[0].verdict;
    assert!(verdict.contains("multipathd (RT 99, pid 195)"), "{verdict}");
}

/// Bursts of the rogue, from its own log.
fn bursts() -> Vec<(u64, u64)> {
    let text = String::from_utf8(fixture("g612.dat.groundtruth.csv")).unwrap();
    let lines = text.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
    lines.map(|l| l.split_once(',').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).unwrap()).collect()
}

#[test]
fn the_rogue_in_trace_dat() {
    let found = explained("g612.dat");
    // cyclictest measured 49,845 µs.
    assert_eq!((found.victims[0].tid, found.victims[0].cpu), (Some(249), Some(1)));
    assert!(found.victims[0].latency_ns.abs_diff(49_845_000) < 200_000);
    assert!(found.cycles[0].length_ns > found.victims[0].latency_ns && found.cycles[0].ran_ns < 1_000_000);
    let bursts = bursts();
    let mut during = 0;
    for victim in &found.victims {
        let moments = victim.moments.unwrap();
        let part = |(from, to): &(u64, u64)| (*to).min(moments.t3_ns).saturating_sub((*from).max(moments.t0_ns));
        let burst: u64 = bursts.iter().map(part).sum();
        let blamed: f64 = victim.causes.iter().filter(|c| c.tid == Some(244)).map(|c| c.share).sum();
        if burst == 0 {
            assert_eq!(blamed, 0.0, "{}", victim.verdict);
            continue;
        }
        during += 1;
        let main = &victim.causes[0];
        assert_eq!((main.class, main.tid), (Class::HigherPriority, Some(244)), "{}", victim.verdict);
        // The log counts interrupts during a burst as time of the rogue task.
        let irq: f64 = victim.causes.iter().filter(|c| c.class == Class::Irq).map(|c| c.share).sum();
        let truth = burst as f64 / victim.latency_ns as f64;
        assert!((blamed..=blamed + irq + 0.05).contains(&truth) || near(blamed, truth * 100.0), "{}", victim.verdict);
        assert!(victim.coverage >= 0.95);
    }
    assert_eq!(during, 4);
    let group = &found.groups[0];
    assert_eq!((group.class, group.tid, group.wakeups), (Class::HigherPriority, Some(244), 4));
    assert!(group.every_ns.is_some_and(|ns| ns.abs_diff(700_000_000) < 20_000_000), "{}", group.sentence);
    assert!(group.sentence.contains("every ~700 ms"), "{}", group.sentence);
}

#[test]
fn the_report_of_trace_cmd_gives_the_same_culprits() {
    let report = explained("g612.dat.report.txt");
    assert!(report.victims.iter().all(|v| v.tid == Some(249)), "{:?}", report.chosen);
    let rogue = report.victims.iter().filter(|v| v.causes[0].tid == Some(244)).count();
    assert!(report.victims.len() == 10 && rogue <= 4);
}

#[test]
fn the_fair_server_is_named() {
    let facts = Facts { kernel: Some("6.12.95+deb12-rt-amd64".into()), ..Facts::default() };
    let found = with("g612.fair_server.trace.txt", ExplainOptions { facts, ..ExplainOptions::default() });
    let victim = &found.victims[0];
    assert_eq!((victim.tid, victim.cpu, victim.latency_ns / 100_000), (Some(191), Some(1), 542));
    let cause = &victim.causes[0];
    assert_eq!((cause.class, cause.tid, cause.comm.as_deref()), (Class::FairServer, Some(188), Some("yes")));
    assert!(near(cause.share, 93.0));
    assert!(
        victim.verdict.contains(
            "the fair server (before 6.12, or with RT groups, real-time throttling) ran yes (nice 0, pid 188)"
        ),
        "{}",
        victim.verdict
    );
    // The file is an excerpt of a longer trace.
    assert_eq!(cause.confidence, Confidence::Suspected);
    assert!(victim.doubts.iter().any(|d| d.contains("476115")), "{:?}", victim.doubts);
}

#[test]
fn without_the_release_the_callbacks_tell_the_kernel() {
    assert_eq!(explained("g612.fair_server.trace.txt").victims[0].causes[0].class, Class::FairServer);
    let facts = Facts { kernel: Some("6.1.0-30-rt-amd64".into()), ..Facts::default() };
    let older = with("g612.fair_server.trace.txt", ExplainOptions { facts, ..ExplainOptions::default() });
    assert_eq!(older.victims[0].causes[0].class, Class::RtThrottling);
}

/// perf and ftrace recorded at the same time: both show the same wakeups and the same culprit.
#[test]
fn perf_data_tells_what_ftrace_tells() {
    let perf = explained("h618.perf.data");
    let text = explained("h618.trace.txt");
    assert_eq!((perf.wakeups, text.wakeups), (50, 50));
    for (perf, text) in perf.victims.iter().zip(&text.victims).take(2) {
        let cause = &perf.causes[0];
        assert_eq!(
            (cause.class, cause.tid, cause.comm.as_deref()),
            (Class::HigherPriority, Some(26229), Some("rogue"))
        );
        assert_eq!((cause.scheduled.prio, cause.confidence), (Some(95), Confidence::High));
        assert!(near(cause.share, 99.0), "{}", cause.share);
        assert_eq!((perf.tid, perf.cpu, perf.verdict.as_str()), (text.tid, text.cpu, text.verdict.as_str()));
        let (perf, text) = (perf.moments.unwrap(), text.moments.unwrap());
        assert_eq!(perf.t0_ns, text.t0_ns);
        assert!(perf.t3_ns.abs_diff(text.t3_ns) < 2_000);
    }
    for name in ["h618.zstd.perf.data", "h618.pipe.perf.data"] {
        let found = explained(name);
        let cause = &found.victims[0].causes[0];
        assert_eq!((found.wakeups, cause.tid, cause.confidence), (50, Some(26229), Confidence::High), "{name}");
    }
}

#[test]
fn a_stalled_machine_blames_no_task() {
    let found = explained("g61.steal.trace.txt");
    let victim = &found.victims[0];
    // cyclictest measured 63,734 µs.
    assert_eq!((victim.tid, victim.cpu, victim.latency_ns / 100_000), (Some(146), Some(1), 636));
    let cause = &victim.causes[0];
    assert_eq!((cause.class, cause.tid, cause.confidence), (Class::MachineStall, None, Confidence::Medium));
    // Both CPUs were silent for 62.6 ms.
    assert!(near(cause.share, 62.6 / 63.6 * 100.0), "{}", cause.share);
    assert_eq!(victim.unaccounted_ns, 0);
    for victim in &found.victims {
        assert!(!victim.verdict.contains("yes ("), "{}", victim.verdict);
        assert!(victim.causes[0].tid.is_none(), "{}", victim.verdict);
    }
}

#[test]
fn wakeup_rt_is_blind_to_a_running_hog_and_that_is_said() {
    for (name, latency) in [("g612.wakeup_rt.txt", "4.01 ms"), ("g612.wakeup_rt_nofunc.txt", "4.16 ms")] {
        let found = explained(name);
        let said = &found.tracers[0];
        assert!(said.contains("cannot see a hog that is already running") && said.contains(latency), "{said}");
        assert!(found.victims.iter().all(|v| v.causes[0].confidence < Confidence::High || v.causes[0].tid.is_none()));
    }
}

#[test]
fn rtla_names_the_rogue_and_no_priority() {
    let found = explained("g612.rtla-aa.txt");
    let victim = &found.victims[0];
    assert_eq!((victim.tid, victim.cpu, victim.latency_ns), (None, Some(1), 26_200_210));
    let cause = &victim.causes[0];
    assert_eq!((cause.class, cause.tid, cause.confidence), (Class::HigherPriority, Some(183), Confidence::Suspected));
    assert!(near(cause.share, 78.6) && victim.unaccounted_ns * 20 <= victim.latency_ns);
    assert!(victim.verdict.contains("suspected: multipathd (pid 183) ran 20.6 ms"), "{}", victim.verdict);
}

#[test]
fn timerlat_and_noise_events_tell_what_rtla_tells() {
    let found = explained("g612.rtla-trace.txt");
    let victim = &found.victims[0];
    assert_eq!((victim.cpu, victim.latency_ns / 10_000), (Some(1), 2620));
    let cause = &victim.causes[0];
    assert_eq!((cause.class, cause.tid, cause.confidence), (Class::HigherPriority, Some(183), Confidence::Suspected));
    assert!(near(cause.share, 78.6) && victim.unaccounted_ns * 20 <= victim.latency_ns);
}

#[test]
fn summaries_of_the_other_tracers() {
    let said = |name: &str| explained(name).tracers.join("\n");
    assert!(said("g612.hwlat.txt").contains("3 gaps"), "{}", said("g612.hwlat.txt"));
    assert!(said("g612.osnoise.txt").contains("longest single noise is 23"), "{}", said("g612.osnoise.txt"));
    assert!(said("g612.timerlat.txt").contains("worst thread latency 993 µs on CPU 0"));
}

#[test]
fn without_timer_events_the_waking_begins_and_that_is_said() {
    let found = explained("g612.hist-onmax-snapshot.txt");
    let cause = &found.victims[0].causes[0];
    assert_eq!((cause.class, cause.comm.as_deref()), (Class::HigherPriority, Some("multipathd")));
    assert!(found.notes.iter().any(|n| n.contains("no hrtimer events")), "{:?}", found.notes);
}

#[test]
fn victims_by_tid_by_name_and_all() {
    let of = |victims| with("g612.trace.txt", ExplainOptions { victims, ..ExplainOptions::default() });
    let main = of(Victims::Tid(210));
    assert!(main.victims.iter().all(|v| v.tid == Some(210)) && main.wakeups > 0);
    let named = of(Victims::Comm("cyclictest".into()));
    assert!(named.victims.iter().any(|v| v.tid == Some(213)) && named.wakeups > 97);
    let all = of(Victims::AllRealTime);
    assert!(all.victims.iter().any(|v| v.tid != Some(213)) && all.wakeups > 97);
    let few =
        with("g612.trace.txt", ExplainOptions { most: 3, threshold_ns: Some(1_000_000), ..ExplainOptions::default() });
    assert_eq!((few.victims.len(), few.groups.len()), (1, 1));
}

#[test]
fn the_json_form_is_the_contract() {
    let found = explained("g612.trace.txt");
    let json = serde_json::to_value(&found).unwrap();
    let victim = &json["victims"][0];
    for field in ["tid", "comm", "cpu", "latency_ns", "causes", "unaccounted_ns", "coverage", "verdict"] {
        assert!(!victim[field].is_null(), "{field}");
    }
    let cause = &victim["causes"][0];
    assert_eq!(
        (&cause["class"], &cause["policy"], &cause["prio"]),
        (&"higher_priority".into(), &"RT".into(), &99.into())
    );
    for field in ["tid", "comm", "ns", "share", "confidence"] {
        assert!(!cause[field].is_null(), "{field}");
    }
}

/// Lines are missing and nothing says so: what remains may say less, but no other task is blamed with high confidence.
#[test]
fn a_trace_with_holes_never_names_another_culprit_for_sure() {
    let text = String::from_utf8(fixture("g612.trace.txt")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for (every, first) in [(2, 0), (3, 1), (5, 0), (7, 3), (11, 5), (23, 0), (50, 17), (101, 60)] {
        let kept: Vec<&str> = lines.iter().enumerate().filter(|(n, _)| n % every != first).map(|(_, l)| *l).collect();
        let mut source = open(Cursor::new(kept.join("\n")), punctual_trace::Options::default()).unwrap();
        let found = explain(source.as_mut(), ExplainOptions { cycles: true, ..ExplainOptions::default() });
        for victim in found.victims.iter().filter(|v| v.latency_ns > 3_000_000) {
            sums(victim);
            let sure = victim.causes.iter().filter(|c| c.confidence == Confidence::High && c.share > 0.2);
            for cause in sure.filter(|c| c.class != Class::Unaccounted) {
                assert_eq!(cause.tid, Some(195), "every {every}: {}", victim.verdict);
            }
        }
    }
}
