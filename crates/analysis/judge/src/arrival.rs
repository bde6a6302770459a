use crate::cell::Cell;
use punctual_model::{ArrivalPattern, ArrivalSource, Arrivals, Recording};
use punctual_stats::{Observed, Pattern};
use punctual_units::{Arrange, Nanos};

const SECONDS: usize = 256;
const NS: f64 = 1e9;

/// Tests the worst wakeups, whose times are exact. If they show no period, or if few were kept, also tests the seconds
/// with the worst wakeups, which include smaller latencies.
pub(crate) fn arrivals(recording: &Recording, cell: &Cell, seconds: &[(u64, u64)]) -> Arrivals {
    let wakeups: Vec<u64> = recording.worst_of(cell.phase, cell.cpu).map(|w| w.release_mono_ns).collect();
    let mut worst: Vec<&(u64, u64)> = seconds.iter().collect();
    worst.arrange_by_key(|(at, max)| (std::cmp::Reverse(*max), *at));
    // Only a share of the seconds is used. All of them would show the times of the measurements, not those of late
    // wakeups.
    worst.truncate(SECONDS.min(seconds.len() / 4));
    let worst: Vec<u64> = worst.into_iter().map(|(at, _)| *at).collect();
    let period = recording.run.settings.period_ns.map_or(1.0, |p| p.0 as f64 / NS);
    let exact = found(recording, cell, ArrivalSource::Wakeups, (&wakeups, period));
    if exact.is_some_and(|a| matches!(a.pattern, ArrivalPattern::Periodic { .. })) {
        return exact.unwrap_or_else(nothing);
    }
    let coarse = found(recording, cell, ArrivalSource::Seconds, (&worst, 1.0));
    let periodic = coarse.filter(|a| matches!(a.pattern, ArrivalPattern::Periodic { .. }));
    periodic.or(exact).or(coarse).unwrap_or_else(nothing)
}

fn nothing() -> Arrivals {
    Arrivals { source: ArrivalSource::Wakeups, of: 0, pattern: ArrivalPattern::TooFew }
}

/// Tests for periods and bursts. `None` if there are too few wakeups, or the measurement time is unknown.
fn found(
    recording: &Recording,
    cell: &Cell,
    source: ArrivalSource,
    (times, resolution): (&[u64], f64),
) -> Option<Arrivals> {
    let phase = recording.run.phases.iter().find(|p| p.id == cell.phase)?;
    let last = recording.events.last().map_or(0, |e| e.mono_ns()).max(times.iter().copied().max()?);
    let stretches: Vec<(u64, u64)> =
        phase.stretches().into_iter().map(|(from, to)| (from, to.unwrap_or(last))).collect();
    let first = stretches.first()?.0;
    let since = |ns: u64| ns.saturating_sub(first) as f64 / NS;
    // Times outside the phase come from a damaged file.
    let within = |t: &&u64| stretches.iter().any(|(from, to)| from <= *t && *t <= to);
    let at: Vec<f64> = times.iter().filter(within).map(|t| since(*t)).collect();
    let stretches: Vec<(f64, f64)> = stretches.iter().map(|(from, to)| (since(*from), since(*to))).collect();
    let found = punctual_stats::arrivals(&at, &Observed { stretches: &stretches, resolution })?;
    let pattern = match found.pattern {
        Pattern::Periodic(period) => ArrivalPattern::Periodic {
            period_ns: Nanos((period.period * NS).round() as u64),
            p: period.p,
            in_step: period.in_step as u64,
        },
        Pattern::Bursts(p) => ArrivalPattern::Bursts { p },
        Pattern::Independent(p) => ArrivalPattern::Independent { p },
    };
    Some(Arrivals { source, of: found.of as u64, pattern })
}
