use punctual_model::{Coverage, PeriodSeen, Phase, Run};
use punctual_stats::probability_seen;
use punctual_units::Nanos;

/// Mean times between typical rare events: a minute; 14 minutes (memory scrubbing of server firmware by System
/// Management Interrupts); an hour (leases, log rotation); a day (timers of the distribution).
pub const RARE_EVENTS: [Nanos; 4] =
    [Nanos::from_secs(60), Nanos::from_secs(14 * 60), Nanos::from_secs(3_600), Nanos::from_secs(86_400)];

/// Returns the probability of having observed each of [`RARE_EVENTS`], in the shortest phase and in all phases
/// together.
///
/// Empty if the recorded time is unknown, as for an imported file without a period.
pub(crate) fn coverage(run: &Run) -> Vec<Coverage> {
    if run.settings.period_ns.is_none() {
        return Vec::new();
    }
    let recorded: Vec<f64> = run.phases.iter().map(|phase| recorded_ns(run, phase)).collect();
    let (shortest, all) = (recorded.iter().copied().reduce(f64::min).unwrap_or(0.0), recorded.iter().sum());
    RARE_EVENTS
        .iter()
        .map(|&every_ns| {
            let seen = |observed| probability_seen(observed, every_ns.0 as f64);
            Coverage { every_ns, p_one_phase: seen(shortest), p_run: seen(all) }
        })
        .collect()
}

/// Required share of the offsets of a periodic event for which it occurs within the measured time.
const SEEN: f64 = 0.95;
/// Step between the periods that are tried, as a factor.
const STEP: f64 = 1.001;
const MOST_STRETCHES: usize = 1_000;

/// Returns for each load the longest period up to which every periodic event was observed with 95 % probability. Empty
/// if the times are unknown.
pub(crate) fn periods(run: &Run) -> Vec<PeriodSeen> {
    let seen = |phase: &Phase| {
        let period = longest_period(&stretches(phase))?;
        Some(PeriodSeen { phase: phase.id.clone(), period_ns: Nanos(period) })
    };
    run.phases.iter().filter_map(seen).collect()
}

/// Returns the start and end of each measured interval, ns.
fn stretches(phase: &Phase) -> Vec<(u64, u64)> {
    let whole = phase.start_mono_ns.zip(phase.end_mono_ns);
    let rounds = phase.rounds.iter().filter_map(|round| Some((round.start_mono_ns, round.end_mono_ns?)));
    let all: Vec<(u64, u64)> = if phase.rounds.is_empty() { whole.into_iter().collect() } else { rounds.collect() };
    all.into_iter().filter(|(from, to)| from < to).collect()
}

/// Returns the longest period up to which an event falls into the measured intervals for at least 95 % of its
/// offsets. An interval contains an occurrence of every event whose period does not exceed its length. Longer periods
/// are tried until the intervals modulo the period leave more than a twentieth of it uncovered.
fn longest_period(stretches: &[(u64, u64)]) -> Option<u64> {
    let longest = stretches.iter().map(|(from, to)| to - from).max()?;
    let all: u64 = stretches.iter().map(|(from, to)| to - from).fold(0, u64::saturating_add);
    let mut period = longest;
    // A larger number of rounds than in a run of months indicates a damaged file.
    let stretches = stretches.get(..MOST_STRETCHES).unwrap_or(stretches);
    loop {
        let next = ((period as f64 * STEP) as u64).saturating_add(1);
        // Even without overlap the stretches would not cover enough.
        if next == u64::MAX
            || all as f64 / (next as f64) < SEEN
            || (covered(stretches, next) as f64) < SEEN * next as f64
        {
            return Some(period);
        }
        period = next;
    }
}

/// Returns the length of the union of the stretches modulo a period.
fn covered(stretches: &[(u64, u64)], period: u64) -> u64 {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for (from, to) in stretches {
        let (at, length) = (from % period, (to - from).min(period));
        parts.push((at, at.saturating_add(length).min(period)));
        // Compared by a difference, so that no sum can overflow.
        if length > period - at {
            parts.push((0, length - (period - at)));
        }
    }
    parts.sort_unstable();
    let (mut sum, mut end) = (0, 0);
    for (from, to) in parts {
        sum += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    sum
}

/// Returns the shortest recorded time of a CPU, computed from its periods, not from the planned time; 0 if there is
/// none.
fn recorded_ns(run: &Run, phase: &Phase) -> f64 {
    let released = phase.cpus.iter().map(|c| c.scored()).min().unwrap_or(0);
    released as f64 * run.settings.period_ns.map_or(0, |p| p.0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn one_stretch_sees_a_period_a_twentieth_longer_than_itself() {
        let seen = longest_period(&[(7 * SECOND, 67 * SECOND)]).unwrap();
        assert!((seen as f64 / (60.0 / 0.95 * SECOND as f64) - 1.0).abs() < 0.002, "{seen}");
        assert_eq!(longest_period(&[]), None);
    }

    #[test]
    fn rounds_in_step_with_an_event_never_see_it_and_others_do() {
        // 20 rounds of 30 s, one per minute: an event that occurs every minute is observed in half of the cases.
        let regular: Vec<(u64, u64)> = (0..20).map(|n| (n * 60 * SECOND, (n * 60 + 30) * SECOND)).collect();
        assert!(longest_period(&regular).unwrap() < 60 * SECOND);
        let mut at = 0;
        let random: Vec<(u64, u64)> = (0..20u64)
            .map(|n| {
                let from = at;
                at += (45 + n * n * 7 % 31) * SECOND;
                (from, from + 30 * SECOND)
            })
            .collect();
        assert!(longest_period(&random).unwrap() > 60 * SECOND);
    }

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(covered(&[(0, 5), (13, 18), (25, 26)], 10), 8);
        assert_eq!(covered(&[(8, 13)], 10), 5);
        assert_eq!(covered(&[(3, 40)], 10), 10);
    }
}
