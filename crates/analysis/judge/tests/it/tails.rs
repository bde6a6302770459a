//! A tail is reported if its fit is sound, but never if the run contains a rare cause.

use crate::common;

use common::*;
use punctual_judge::{judge, judge_with_tails};
use punctual_model::*;
use punctual_units::{CpuId, Histogram, Nanos};

const SECOND: u64 = 1_000_000_000;
const EVERY: u64 = 4_000_000;
const A_SECOND: u64 = SECOND / EVERY;
/// Interval of the spikes, as caused by memory scrubbing of server firmware.
const FOURTEEN_MINUTES: u64 = 14 * 60;

/// Returns the worst wakeup of each second, ns, recorded on an idle shared virtual machine for 10 minutes.
fn recorded() -> Vec<u64> {
    let line =
        include_str!("../../../compare/tests/fixtures/seconds.txt").lines().find_map(|l| l.strip_prefix("idle: "));
    line.unwrap().split_whitespace().map(|ns| ns.parse().unwrap()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Body {
    /// Latencies of 2 µs plus an exponential tail, which a fit extrapolates well.
    Smooth,
    /// The same latencies, with one of the recorded worst wakeups in each second.
    Recorded,
}

impl Body {
    fn spike(self) -> u64 {
        match self {
            Body::Smooth => 300_000,
            Body::Recorded => 2 * recorded().into_iter().max().unwrap(),
        }
    }
}

/// Returns a run of `seconds` that begins `from` seconds after a spike. With `spikes`, spikes occur every 14 minutes.
fn run(body: Body, (from, seconds): (u64, u64), spikes: bool) -> Recording {
    let mut recording = one(vec![2_000]);
    recording.run.settings.period_ns = Some(Nanos(EVERY));
    let worst_of_second = recorded();
    let (mut distribution, mut kept, mut windows) = (Distribution::default(), vec![], vec![0u64; seconds as usize]);
    let noise = quiet((seconds * A_SECOND) as usize, 1_000 + from);
    let mut cycle = 0;
    while cycle < seconds * A_SECOND {
        let second = cycle / A_SECOND;
        let drawn = noise[(second * A_SECOND) as usize];
        let latency = match cycle % A_SECOND {
            25 if spikes && (from + second).is_multiple_of(FOURTEEN_MINUTES) => body.spike(),
            at if body == Body::Recorded && at == drawn % 20 => worst_of_second[drawn as usize % worst_of_second.len()],
            _ => noise[cycle as usize],
        };
        let skipped = (latency / EVERY).min(seconds * A_SECOND - cycle - 1);
        distribution.raw.record(latency);
        (1..=skipped).for_each(|j| distribution.skipped.record(latency - j * EVERY));
        windows[second as usize] = windows[second as usize].max(latency);
        kept.push((latency, cycle, skipped));
        cycle += 1 + skipped;
    }
    if kept.len() > KEEP {
        kept.select_nth_unstable_by_key(KEEP, |(latency, ..)| std::cmp::Reverse(*latency));
        kept.truncate(KEEP);
    }
    kept.sort_unstable_by_key(|(latency, ..)| std::cmp::Reverse(*latency));
    install(&mut recording, distribution, &kept, &windows);
    recording
}

fn install(recording: &mut Recording, distribution: Distribution, kept: &[(u64, u64, u64)], windows: &[u64]) {
    let phase = &mut recording.run.phases[0];
    phase.end_mono_ns = Some(windows.len() as u64 * SECOND);
    let template = recording.worst[0].clone();
    let worst = |&(latency_ns, cycle, skipped): &(u64, u64, u64)| Worst {
        latency_ns,
        cycle,
        skipped,
        release_mono_ns: cycle * EVERY,
        ..template.clone()
    };
    recording.worst = kept.iter().map(worst).collect();
    let result = &mut phase.cpus[0];
    let Distribution { raw, skipped } = &distribution;
    (result.released, result.ran, result.skipped) =
        (Some(raw.count() + skipped.count()), raw.count(), Some(skipped.count()));
    (result.min_ns, result.max_ns, result.mean_ns) = (raw.min(), raw.max(), raw.mean());
    let window = |(max, second): (&u64, u64)| {
        let max_ns = vec![(CpuId(0), *max)];
        Event::Window(WindowMax { mono_ns: second * SECOND, interval_ns: SECOND, phase: phase.id.clone(), max_ns })
    };
    recording.events = windows.iter().zip(1..).map(window).collect();
    let phase = recording.run.phases[0].id.clone();
    recording.distributions.insert((phase, CpuId(0)), distribution);
}

fn tail(recording: &Recording) -> Tail {
    let mut tails = judge_with_tails(recording, &[]).tails;
    assert_eq!(tails.len(), 1);
    tails.remove(0)
}

fn reasons(recording: &Recording) -> Vec<TailRefusal> {
    match tail(recording).outcome {
        TailOutcome::Refused { reasons, .. } => reasons,
        level => panic!("{level:?}"),
    }
}

/// A run of 15 minutes with a spike every 14 minutes never passes a claim of 1e-8, and never has a level below the
/// spike.
#[test]
fn a_spike_every_14_minutes_is_in_no_level_of_any_15_minutes() {
    for body in [Body::Smooth, Body::Recorded] {
        for from in (0..FOURTEEN_MINUTES).step_by(140) {
            let recording = run(body, (from, 15 * 60), true);
            for limit in [body.spike() / 4, body.spike() / 2, body.spike() - 1, body.spike(), 10 * body.spike()] {
                let claim = format!("P(>{limit}ns) < 1e-8");
                assert_ne!(outcome(&recording, &claim), Outcome::Pass, "{body:?} from {from} s: {claim}");
            }
            match tail(&recording).outcome {
                TailOutcome::Level { upper_ns, .. } => {
                    assert!(upper_ns >= body.spike() as f64, "{body:?} from {from} s: {upper_ns}");
                }
                TailOutcome::Refused { reasons, .. } => assert!(!reasons.is_empty()),
            }
        }
    }
}

/// Without the spike, the same smooth runs have a level far below it, so the spike causes the refusal.
#[test]
fn without_the_spike_there_is_a_level() {
    let mut levels = 0;
    for from in (0..FOURTEEN_MINUTES).step_by(70) {
        let TailOutcome::Level { level_ns, lower_ns, upper_ns, once_in, decades, .. } =
            tail(&run(Body::Smooth, (from, 15 * 60), false)).outcome
        else {
            continue;
        };
        levels += 1;
        assert!(lower_ns < level_ns && level_ns < upper_ns && upper_ns < Body::Smooth.spike() as f64 / 2.0);
        assert!((once_in - 1e7).abs() < 1.0 && decades > 1.0 && decades <= 2.0 + 1e-6, "{once_in} {decades}");
        // The expected level is 2 µs + 500 ns · ln 1e7.
        assert!((lower_ns..upper_ns).contains(&(2_000.0 + 500.0 * 1e7f64.ln())), "{lower_ns} {upper_ns}");
    }
    assert!(levels >= 8, "{levels} of 12");
}

#[test]
fn three_hours_tell_the_14_minutes() {
    for body in [Body::Smooth, Body::Recorded] {
        let arrivals = tail(&run(body, (333, 3 * 3_600), true)).arrivals;
        let ArrivalPattern::Periodic { period_ns, p, in_step } = arrivals.pattern else {
            panic!("{body:?} {arrivals:?}")
        };
        assert!((period_ns.0 as f64 / (FOURTEEN_MINUTES * SECOND) as f64 - 1.0).abs() < 0.001, "{body:?} {arrivals:?}");
        assert!(p < 1e-4 && in_step >= 8 && arrivals.source == ArrivalSource::Wakeups, "{body:?} {arrivals:?}");
        let without = tail(&run(body, (333, 3 * 3_600), false)).arrivals;
        assert!(!matches!(without.pattern, ArrivalPattern::Periodic { .. }), "{body:?} {without:?}");
    }
}

#[test]
fn the_seconds_tell_what_the_list_does_not_hold() {
    let mut recording = run(Body::Smooth, (333, 3 * 3_600), true);
    recording.worst.truncate(3);
    recording.run.settings.worst_kept = 3;
    let arrivals = tail(&recording).arrivals;
    assert_eq!(arrivals.source, ArrivalSource::Seconds);
    let ArrivalPattern::Periodic { period_ns, .. } = arrivals.pattern else { panic!("{arrivals:?}") };
    assert!((period_ns.0 as f64 / (FOURTEEN_MINUTES * SECOND) as f64 - 1.0).abs() < 0.002, "{arrivals:?}");
}

#[test]
fn what_is_not_known_is_a_reason() {
    let good = run(Body::Smooth, (70, 15 * 60), false);
    assert!(matches!(tail(&good).outcome, TailOutcome::Level { .. }), "{:?}", tail(&good).outcome);
    let mut blind = good.clone();
    blind.events.clear();
    assert_eq!(reasons(&blind), [TailRefusal::OrderUnknown]);
    let mut listless = good.clone();
    listless.worst.clear();
    assert_eq!(reasons(&listless)[0], TailRefusal::ClusteringUnknown { from: 0 });
    let mut troubled = good.clone();
    troubled.run.problems.push(problem(ProblemKind::NoRealTime));
    assert_eq!(reasons(&troubled), [TailRefusal::Doubtful]);
    let mut blurred = good.clone();
    blurred.run.phases[0].cpus[0].blur = Some(Blur { above_ns: 5, skipped_at_most: Some(0), ..Blur::default() });
    assert_eq!(reasons(&blurred), [TailRefusal::Imprecise]);
}

#[test]
fn a_run_that_changes_is_refused() {
    let mut recording = run(Body::Smooth, (70, 15 * 60), false);
    for (n, event) in recording.events.iter_mut().enumerate() {
        let Event::Window(window) = event else { continue };
        window.max_ns[0].1 += if n > 450 { 3_000 } else { 0 };
    }
    let reasons = reasons(&recording);
    assert!(matches!(reasons[..], [TailRefusal::NotStationary { kpss }] if kpss > 0.463), "{reasons:?}");
}

#[test]
fn blocks_stand_in_for_seconds() {
    let mut recording = run(Body::Smooth, (70, 15 * 60), false);
    let windows = std::mem::take(&mut recording.events);
    recording.run.settings.maxima_block_ns = Some(Nanos(30 * SECOND));
    recording.maxima = windows
        .chunks(30)
        .map(|block| {
            let max = block.iter().map(|e| if let Event::Window(w) = e { w.max_ns[0].1 } else { 0 }).max();
            let to_mono_ns = block.last().unwrap().mono_ns();
            let phase = recording.run.phases[0].id.clone();
            BlockMaximum { phase, cpu: CpuId(0), from_mono_ns: to_mono_ns - 30 * SECOND, to_mono_ns, max_ns: max }
        })
        .collect();
    let tail = tail(&recording);
    assert_eq!(tail.series, Some(TailSeries::Blocks));
    assert!(matches!(tail.outcome, TailOutcome::Level { .. }), "{:?}", tail.outcome);
}

#[test]
fn an_imported_histogram_has_fits_and_no_level() {
    let mut recording = one(vec![2_000]);
    // Exponential latencies with a mean of 20 µs, starting at 5 µs.
    let counts: Vec<(u64, u64)> =
        (0..230u64).map(|us| ((5 + us) * 1_000, (50_000.0 * (-0.05 * us as f64).exp()).round() as u64)).collect();
    replace_in_bulk(&mut recording, &counts);
    let blur = Blur { above_ns: 999, skipped_at_most: Some(0), ..Blur::default() };
    recording.run.phases[0].cpus[0].blur = Some(blur);
    let tail = tail(&recording);
    assert!(tail.thresholds.len() >= 5, "{:?}", tail.thresholds);
    assert!(tail.thresholds.iter().all(|t| t.threshold_ns % 1_000.0 == 0.0), "{:?}", tail.thresholds);
    // Noiseless counts rounded to integers end early. Beyond that the fitted shape reflects the rounding.
    assert!(tail.thresholds.iter().take(5).all(|t| t.shape.abs() < 0.05), "{:?}", tail.thresholds);
    assert!((tail.thresholds[0].scale_ns / 20_000.0 - 1.0).abs() < 0.05, "{:?}", tail.thresholds);
    assert!(reasons(&recording).contains(&TailRefusal::OrderUnknown));
    assert_eq!(tail.arrivals.pattern, ArrivalPattern::TooFew);
}

#[test]
fn nothing_measured_has_no_tail_and_the_verdict_stays_the_same() {
    assert_eq!(judge_with_tails(&empty(), &[]).tails, []);
    let mut lost = one(quiet(2_000, 1));
    lost.distributions.clear();
    assert_eq!(judge_with_tails(&lost, &[]).tails, []);
    let mut bare = recording(&[("idle", &[vec![]])]);
    bare.distributions
        .insert(("1-idle".into(), CpuId(0)), Distribution { raw: Histogram::new(), skipped: Histogram::new() });
    assert_eq!(judge_with_tails(&bare, &[]).tails, []);
    let recording = recording(&[("idle", &[quiet(2_000, 1), quiet(2_000, 2)]), ("cpu", &[quiet(2_000, 3)])]);
    let verdict = judge_with_tails(&recording, &claims(&["max < 1s"]));
    assert_eq!(verdict.tails.iter().map(|t| t.phase.as_str()).collect::<Vec<_>>(), ["1-idle", "2-cpu"]);
    assert_eq!(Verdict { tails: vec![], ..verdict.clone() }, judge(&recording, &claims(&["max < 1s"])));
    assert_eq!(verdict, judge_with_tails(&recording, &claims(&["max < 1s"])));
}
