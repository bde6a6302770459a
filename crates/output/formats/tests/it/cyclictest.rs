//! Output in cyclictest's formats can be imported and has the same wakeups.

use proptest::prelude::*;
use punctual_formats::{cyclictest_json, cyclictest_text};
use punctual_model::Recording;
use punctual_testing::runs;

fn imported(name: &str, text: &str) -> Recording {
    let read = punctual_import::read(name, text.as_bytes(), &punctual_import::Options::default()).unwrap();
    punctual_import::recording(vec![read])
}

/// Returns the number of wakeups, minimum and maximum of each CPU, in whole microseconds.
fn figures(recording: &Recording) -> Vec<(u64, Option<u64>, Option<u64>)> {
    let of = |c: &punctual_model::CpuResult| (c.ran, c.min_ns.map(|ns| ns / 1_000), c.max_ns.map(|ns| ns / 1_000));
    recording.run.phases.iter().flat_map(|p| &p.cpus).map(of).collect()
}

#[test]
fn both_forms_come_back_with_every_wakeup() {
    let (recording, _) = runs::good();
    let load = Some("io");
    let wanted: Vec<_> = {
        let phase = recording.run.phases.iter().find(|p| p.load == "io").unwrap();
        phase.cpus.iter().map(|c| (c.ran, c.min_ns.map(|n| n / 1_000), c.max_ns.map(|n| n / 1_000))).collect()
    };
    assert_eq!(figures(&imported("x.txt", &cyclictest_text(&recording, load).unwrap())), wanted);
    assert_eq!(figures(&imported("x.json", &cyclictest_json(&recording, load).unwrap())), wanted);
}

#[test]
fn all_loads_together_are_one_thread_a_cpu() {
    let (recording, _) = runs::failing();
    let back = imported("x.json", &cyclictest_json(&recording, None).unwrap());
    let ran = |cpu: usize| recording.run.phases.iter().map(|p| p.cpus[cpu].ran).sum::<u64>();
    let max = |cpu: usize| recording.run.phases.iter().filter_map(|p| p.cpus[cpu].max_ns).max().map(|ns| ns / 1_000);
    let found: Vec<_> = figures(&back).into_iter().map(|(ran, _, max)| (ran, max)).collect();
    assert_eq!(found, [(ran(0), max(0)), (ran(1), max(1))]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// No wakeup is lost, no latency becomes smaller, and no latency grows by more than 0.8 % plus a microsecond.
    #[test]
    fn any_distribution_comes_back(latencies in proptest::collection::vec(0u64..40_000_000_000, 1..200)) {
        let (mut recording, _) = runs::good();
        recording.run.phases.truncate(1);
        recording.run.phases[0].cpus.truncate(1);
        let phase = &mut recording.run.phases[0];
        let cpu = phase.cpus[0].cpu;
        let kept = recording.distributions.get_mut(&(phase.id.clone(), cpu)).unwrap();
        kept.raw = Default::default();
        latencies.iter().for_each(|ns| kept.raw.record(*ns));
        phase.cpus[0].ran = latencies.len() as u64;
        let exact = kept.raw.clone();
        for text in [cyclictest_text(&recording, None).unwrap(), cyclictest_json(&recording, None).unwrap()] {
            let back = imported("x", &text);
            let key = (back.run.phases[0].id.clone(), back.run.phases[0].cpus[0].cpu);
            let raw = &back.distributions[&key].raw;
            prop_assert_eq!(raw.count(), exact.count());
            prop_assert_eq!(raw.quantile(0.9).is_some(), exact.quantile(0.9).is_some());
            for rank in [1, exact.count().div_ceil(2), exact.count()] {
                let (was, is) = (exact.value_at_rank(rank).unwrap() as f64, raw.value_at_rank(rank).unwrap() as f64);
                prop_assert!(is + 1_000.0 > was * 0.992 && is <= was * 1.017 + 1_000.0, "{} {} {}", rank, was, is);
            }
        }
    }
}
