//! Tests every wakeup source that needs no device. Every release must be accounted for even if the machine is busy.

use punctual_measure::{Outcome, Plan, WORST, start};
use punctual_model::{Alignment, ProblemKind};
use punctual_units::{CpuList, Nanos, Scheduling, WakeupSource};
use std::time::Duration;

fn plan(via: WakeupSource, ms: u64) -> Plan {
    Plan {
        phase: "1-idle".into(),
        cpus: punctual_uapi::affinity(0).unwrap(),
        scheduling: Scheduling::Other { nice: 0 },
        via,
        senders: CpuList::new(),
        groups: Default::default(),
        period: Nanos::from_millis(1),
        alignment: Alignment::Staggered,
        warmup: Nanos::from_millis(5),
        duration: Nanos::from_millis(ms),
        keep: WORST,
        limits: Vec::new(),
        bell: None,
    }
}

fn measure(plan: Plan) -> Outcome {
    let running = start(plan).unwrap();
    let begun = std::time::Instant::now();
    while !running.finished() {
        assert!(begun.elapsed().as_secs() < 20, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.collect()
}

fn account(outcome: &Outcome, planned: u64) {
    for cpu in &outcome.cpus {
        assert_eq!(cpu.released, cpu.skipped.map(|skipped| cpu.ran + skipped), "{cpu:?}");
        assert!(cpu.ran > 0 && cpu.released <= Some(planned), "{cpu:?}");
        assert_eq!(cpu.page_faults, Some(0));
    }
    for (cpu, sent) in &outcome.senders {
        assert_eq!(sent.messages + sent.unsent, planned);
        let result = outcome.cpus.iter().find(|result| result.cpu == *cpu).unwrap();
        assert!(result.released <= Some(sent.messages));
    }
    let all = outcome.distributions.iter().map(|(_, d)| d.raw.count() + d.skipped.count()).sum::<u64>();
    assert_eq!(all, outcome.cpus.iter().filter_map(|cpu| cpu.released).sum::<u64>());
}

#[test]
#[ignore = "live: timing"]
fn every_way_accounts_for_every_period() {
    for via in WakeupSource::without_device() {
        for warmup in [5, 0] {
            let outcome = measure(Plan { warmup: Nanos::from_millis(warmup), ..plan(via.clone(), 200) });
            account(&outcome, 200);
            assert_eq!(outcome.senders.len(), if via.is_woken() { outcome.cpus.len() } else { 0 }, "{via}");
            let starved = |p: &&punctual_model::Problem| !p.text.contains("starved");
            assert_eq!(outcome.problems.iter().filter(starved).count(), 0, "{via}: {:?}", outcome.problems);
            assert!(
                outcome.notes.iter().any(|n| n.contains("behind an absolute cycle")) == (via == WakeupSource::Relative)
            );
            if matches!(via, WakeupSource::Nanosleep | WakeupSource::Timerfd | WakeupSource::PosixTimer) {
                assert!(outcome.cpus.iter().all(|cpu| cpu.released == Some(200)), "{via}: {:?}", outcome.cpus);
            }
        }
    }
}

#[test]
#[ignore = "live: timing"]
fn a_sender_has_a_cpu_of_its_own_where_there_is_one() {
    let all = punctual_uapi::affinity(0).unwrap();
    let one: CpuList = all.iter().take(1).collect();
    let others = all.minus(&one);
    let outcome = measure(Plan { cpus: one, senders: others.clone(), ..plan(WakeupSource::Futex, 100) });
    account(&outcome, 100);
    let place = outcome.senders[0].1.place;
    assert_eq!((place.shared, others.contains(place.cpu)), (others.is_empty(), !others.is_empty()));
    let reported = outcome.notes.iter().find(|n| n.contains("--via futex")).unwrap();
    assert!(reported.contains(&format!("a sender on CPU {}", place.cpu)), "{reported}");
}

#[test]
#[ignore = "live: timing"]
fn a_stop_ends_every_way_even_in_a_long_sleep() {
    punctual_uapi::install_wakeup().unwrap();
    for via in WakeupSource::without_device() {
        let period = Nanos::from_secs(600);
        let running = start(Plan { period, warmup: Nanos::ZERO, ..plan(via.clone(), 3_600_000) }).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let begun = std::time::Instant::now();
        while !running.finished() {
            running.stop();
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(begun.elapsed().as_secs() < 5, "{via}");
        let outcome = running.collect();
        assert_eq!(outcome.problems.len(), 1, "{via}: {:?}", outcome.problems);
        assert_eq!(outcome.problems[0].kind, ProblemKind::EndedEarly);
        for cpu in &outcome.cpus {
            assert_eq!(cpu.released, cpu.skipped.map(|skipped| cpu.ran + skipped), "{via}: {cpu:?}");
        }
    }
}

#[test]
#[ignore = "live: timing"]
fn an_early_end_loses_nothing() {
    punctual_uapi::install_wakeup().unwrap();
    for via in WakeupSource::without_device() {
        let running = start(plan(via.clone(), 3_600_000)).unwrap();
        std::thread::sleep(Duration::from_millis(40));
        while !running.finished() {
            running.end_early();
            std::thread::sleep(Duration::from_millis(2));
        }
        let outcome = running.collect();
        let other = |p: &&punctual_model::Problem| p.kind != ProblemKind::EndedEarly && !p.text.contains("starved");
        assert_eq!(outcome.problems.iter().filter(other).count(), 0, "{via}: {:?}", outcome.problems);
        for cpu in &outcome.cpus {
            assert!(cpu.ran > 0 && cpu.released == cpu.skipped.map(|s| cpu.ran + s), "{via}: {cpu:?}");
        }
    }
}

#[test]
fn a_port_that_is_none_is_refused_with_the_next_command() {
    let one: CpuList = punctual_uapi::affinity(0).unwrap().iter().take(1).collect();
    let error =
        start(Plan { cpus: one, ..plan(WakeupSource::Serial("/dev/null".into()), 10) }).err().unwrap().to_string();
    assert!(error.contains("/proc/tty/driver/serial"), "{error}");
    let two: CpuList = "0-1".parse().unwrap();
    let error =
        start(Plan { cpus: two, ..plan(WakeupSource::Serial("/dev/null".into()), 10) }).err().unwrap().to_string();
    assert!(error.contains("--cpus"), "{error}");
}
