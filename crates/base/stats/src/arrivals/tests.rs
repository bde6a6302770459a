use super::*;
use crate::random::SplitMix64;
use proptest::prelude::*;

const HOURS: f64 = 3_600.0;

fn whole(to: f64) -> [(f64, f64); 1] {
    [(0.0, to)]
}

fn uniform(random: &mut SplitMix64, n: usize, to: f64) -> Vec<f64> {
    (0..n).map(|_| random.uniform() * to).collect()
}

/// Returns the times of periodic events with jitter, in random order, followed by `others` independent events.
fn spikes(random: &mut SplitMix64, (period, wobble): (f64, f64), to: f64, others: usize) -> Vec<f64> {
    let from = random.uniform() * period;
    let mut at: Vec<f64> = (0..).map(|i| from + period * f64::from(i)).take_while(|t| *t < to).collect();
    at.iter_mut().for_each(|t| *t = (*t + wobble * (random.uniform() - 0.5)).clamp(0.0, to));
    random.shuffle(&mut at);
    at.extend(uniform(random, others, to));
    at
}

fn found(times: &[f64], stretches: &[(f64, f64)], resolution: f64) -> Pattern {
    arrivals(times, &Observed { stretches, resolution }).unwrap().pattern
}

#[test]
fn impossible_input_is_none() {
    let observed = Observed { stretches: &whole(100.0), resolution: 1e-3 };
    let few: Vec<f64> = (0..7).map(f64::from).collect();
    let beyond: Vec<f64> = (95..105).map(f64::from).collect();
    for times in [&[][..], &few, &beyond, &[f64::NAN; 9]] {
        assert_eq!((arrivals(times, &observed), burst_p(times, &observed)), (None, None), "{times:?}");
        assert_eq!(period(times, &observed), None);
    }
    let good: Vec<f64> = (0..20).map(f64::from).collect();
    for stretches in
        [&[][..], &[(0.0, 0.0)], &[(0.0, 50.0), (40.0, 100.0)], &[(f64::NAN, 100.0)], &[(0.0, f64::INFINITY)]]
    {
        assert_eq!(arrivals(&good, &Observed { stretches, resolution: 1e-3 }), None, "{stretches:?}");
    }
    // All events at one instant are a burst.
    assert!(matches!(found(&[50.0; 20], &whole(100.0), 1e-3), Pattern::Bursts(_)));
}

/// Simulates firmware events every 14 minutes for 3 hours, first alone, then among as many or more events of lower
/// severity.
#[test]
fn an_injected_period_is_found() {
    let mut random = SplitMix64::new(14);
    for (period, wobble, hours, others) in [
        (840.0, 0.01, 3.0, 0),
        (840.0, 1.0, 3.0, 51),
        (840.0, 0.01, 24.0, 100),
        (30.0, 0.5, 0.25, 20),
        (60.0, 8.0, 1.0, 4),
    ] {
        for _ in 0..10 {
            let to = hours * HOURS;
            let times = spikes(&mut random, (period, wobble), to, others);
            let Pattern::Periodic(named) = found(&times, &whole(to), 1e-3) else { panic!("{period} {hours} {others}") };
            assert!((named.period / period - 1.0).abs() < 0.01, "{named:?} for {period} {hours} {others}");
            assert!(named.p <= 0.01 && named.in_step >= 8);
        }
    }
}

/// Periodic bursts are reported with their own period, not a fraction of it.
#[test]
fn periodic_bursts_are_periodic() {
    let mut random = SplitMix64::new(15);
    let starts = spikes(&mut random, (600.0, 5.0), 2.0 * HOURS - 10.0, 0);
    let times: Vec<f64> = starts.iter().flat_map(|t| (0..5).map(move |i| t + f64::from(i))).collect();
    let Pattern::Periodic(named) = found(&times, &whole(2.0 * HOURS), 1e-3) else { panic!() };
    assert!((named.period / 600.0 - 1.0).abs() < 0.01, "{named:?}");
}

fn wrong(n: usize, runs: u64, seed: u64, stretches: &[(f64, f64)], resolution: f64) -> (u32, u32) {
    let (mut random, mut wrong) = (SplitMix64::new(seed), (0, 0));
    for _ in 0..runs {
        let mut times = Vec::new();
        while times.len() < n {
            let t = random.uniform() * stretches.last().unwrap().1;
            let t = if resolution < 1.0 { t } else { t.floor() + 0.5 };
            if stretches.iter().any(|(a, b)| *a <= t && t <= *b) {
                times.push(t);
            }
        }
        match found(&times, stretches, resolution) {
            Pattern::Periodic(_) => wrong.0 += 1,
            Pattern::Bursts(_) => wrong.1 += 1,
            Pattern::Independent(_) => {}
        }
    }
    wrong
}

/// If the error rate is 1 %, the probability of more than 5 errors in 100 runs is about 1 in 2000.
#[test]
fn independent_events_are_rarely_called_anything_else() {
    for (n, resolution) in [(8, 1e-3), (13, 1e-3), (40, 1e-3), (40, 1.0)] {
        let (periodic, bursts) = wrong(n, 100, 16 + n as u64, &whole(3.0 * HOURS), resolution);
        assert!(periodic <= 4 && bursts <= 5, "{n} {resolution}: {periodic} {bursts} of 100");
    }
}

/// Four loads are measured in rotation, ten minutes each. Each load is therefore observed at periodic intervals, but
/// the events are not periodic.
#[test]
fn looking_in_turns_is_no_period() {
    let turns: Vec<(f64, f64)> = (0..9).map(|i| (2_400.0 * f64::from(i), 2_400.0 * f64::from(i) + 600.0)).collect();
    let (periodic, bursts) = wrong(30, 60, 17, &turns, 1e-3);
    assert!(periodic <= 4 && bursts <= 6, "{periodic} {bursts} of 60");
}

/// Like `independent_events_are_rarely_called_anything_else`, with enough runs to measure the error rate.
#[test]
#[ignore = "takes a minute: cargo test -p punctual-stats --release -- --ignored"]
fn independent_events_are_rarely_called_anything_else_in_8000_runs() {
    for (n, resolution) in [(8, 1e-3), (13, 1e-3), (64, 1e-3), (64, 1.0)] {
        let (periodic, bursts) = wrong(n, 2_000, 18 + n as u64, &whole(3.0 * HOURS), resolution);
        assert!(periodic <= 40 && bursts <= 50, "{n} {resolution}: {periodic} {bursts} of 2000");
    }
}

#[test]
fn bursts_are_found() {
    let mut random = SplitMix64::new(18);
    for size in [2, 4, 8] {
        for _ in 0..20 {
            let starts = uniform(&mut random, 64 / size, 3.0 * HOURS - 30.0);
            let times: Vec<f64> = starts.iter().flat_map(|t| (0..size).map(move |i| t + 2.0 * i as f64)).collect();
            let pattern = found(&times, &whole(3.0 * HOURS), 1e-3);
            assert!(matches!(pattern, Pattern::Bursts(_)), "{size}: {pattern:?}");
        }
    }
    // Events occur only in one of three hours.
    assert!(matches!(found(&uniform(&mut random, 64, HOURS), &whole(3.0 * HOURS), 1e-3), Pattern::Bursts(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_unit_and_the_start_do_not_matter(seed in any::<u64>(), unit in 1e-3f64..1e3, from in 0.0f64..1e4) {
        let times = spikes(&mut SplitMix64::new(seed), (100.0, 1.0), 2_000.0, 6);
        let moved: Vec<f64> = times.iter().map(|t| from + t * unit).collect();
        let (a, b) = (found(&times, &whole(2_000.0), 1e-3), found(&moved, &[(from, from + 2_000.0 * unit)], 1e-3 * unit));
        match (a, b) {
            (Pattern::Periodic(a), Pattern::Periodic(b)) => prop_assert!((a.period * unit / b.period - 1.0).abs() < 1e-3),
            (a, b) => prop_assert!(false, "{a:?} {b:?}"),
        }
    }

    #[test]
    fn any_times_are_answered(times in proptest::collection::vec(0.0f64..1e3, 0..80), resolution in prop_oneof![Just(0.0), 1e-6f64..1e3]) {
        let stretches = whole(1e3);
        let observed = Observed { stretches: &stretches, resolution };
        if let Some(found) = arrivals(&times, &observed) {
            let p = match found.pattern {
                Pattern::Periodic(period) => {
                    prop_assert!(period.period <= 210.0 && period.period >= 4.0 * resolution * 0.9);
                    period.p
                }
                Pattern::Bursts(p) | Pattern::Independent(p) => p,
            };
            prop_assert!((0.0..=1.0).contains(&p) && found.of <= times.len());
        } else {
            prop_assert!(times.len() < MIN_ARRIVALS);
        }
    }
}
