//! Handwritten tails with every possible outcome.

use punctual_model::{
    ArrivalPattern, ArrivalSource, Arrivals, ClusterNote, Recording, Tail, TailOutcome, TailRefusal, TailSeries,
    TailThreshold, Verdict,
};
use punctual_units::Nanos;

/// Adds a tail per phase: the first with a level and a period, the others with the reason why there is none.
pub fn add(recording: &Recording, verdict: &mut Verdict) {
    let outcomes = [level(), mixture(), TailOutcome::Refused { once_in: 1e6, reasons: every_other() }];
    let patterns = [
        ArrivalPattern::Periodic { period_ns: Nanos::from_secs(30), p: 3e-13, in_step: 13 },
        ArrivalPattern::Bursts { p: 0.0021 },
        ArrivalPattern::Independent { p: 0.41 },
        ArrivalPattern::TooFew,
    ];
    let all = recording.run.phases.iter().zip(outcomes.into_iter().cycle()).zip(patterns.into_iter().cycle());
    verdict.tails = all
        .map(|((phase, outcome), pattern)| {
            let worst = phase.cpus.iter().max_by_key(|c| c.max_ns).unwrap();
            let stable = matches!(outcome, TailOutcome::Level { .. });
            let source = if stable { ArrivalSource::Wakeups } else { ArrivalSource::Seconds };
            Tail {
                phase: phase.id.clone(),
                cpu: worst.cpu,
                samples: worst.scored(),
                max_ns: worst.max_ns.unwrap_or(0),
                clustering: ClusterNote::Estimated { theta: 0.4, from: 63 },
                series: Some(TailSeries::Seconds),
                kpss: Some(0.21),
                thresholds: thresholds(stable),
                outcome,
                arrivals: Arrivals { source, of: if pattern == ArrivalPattern::TooFew { 0 } else { 16 }, pattern },
            }
        })
        .collect();
}

fn level() -> TailOutcome {
    TailOutcome::Level {
        once_in: 1e8,
        once_in_ns: Some(Nanos(100_000_000_000_000)),
        level_ns: 93_456.7,
        lower_ns: 88_012.3,
        upper_ns: 101_999.9,
        confidence: 0.95,
        fit_p: 0.33,
        decades: 1.72,
    }
}

fn mixture() -> TailOutcome {
    let reasons = vec![
        TailRefusal::ShapeUnstable { at_most: -0.1, at_least: 0.35 },
        TailRefusal::PoorFit { p: Some(0.01) },
        TailRefusal::BelowObserved { upper_ns: 85_000.0, observed_ns: 93_100 },
    ];
    TailOutcome::Refused { once_in: 1e8, reasons }
}

fn every_other() -> Vec<TailRefusal> {
    vec![
        TailRefusal::Doubtful,
        TailRefusal::Imprecise,
        TailRefusal::OrderUnknown,
        TailRefusal::NotStationary { kpss: 0.931 },
        TailRefusal::ClusteringUnknown { from: 4 },
        TailRefusal::FewThresholds { thresholds: 2 },
        TailRefusal::PoorFit { p: None },
        TailRefusal::TooFar { decades: 3.2 },
        TailRefusal::Unbounded,
        TailRefusal::NotPossible,
    ]
}

fn thresholds(stable: bool) -> Vec<TailThreshold> {
    let fit = |i: u32| {
        let x = f64::from(i);
        let (shape, width) = (if stable { 0.05 } else { -0.25 + 0.12 * x }, 0.04 + 0.025 * x);
        let threshold_ns = 9_000.0 + 2_500.0 * x;
        TailThreshold {
            threshold_ns,
            exceedances: 12_000 >> i,
            shape,
            shape_interval: (stable || i < 6).then_some((shape - width, shape + width)),
            scale_ns: 3_000.0,
            modified_scale_ns: 3_000.0 - shape * threshold_ns,
        }
    };
    (0..7).map(fit).collect()
}
