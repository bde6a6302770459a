use crate::cell::Samples;
use crate::episodes::{self, Exposure, Late, releases_of};
use crate::quantile::{self, UNORDERED};
use punctual_model::{Claim, EPISODE_GAP, EpisodeCounts, Outcome, Quantity, StallBound};
use punctual_stats::{
    chi_square_sf, expected_lower, expected_upper, ln_e_above, ln_e_below, ln_e_needed, quantile_rank_bounds_clustered,
};
use punctual_units::Nanos;

/// Stall lengths for which a share is bounded, in addition to one period and the declared length.
const STALLS: [Nanos; 2] = [Nanos::from_millis(10), Nanos::from_millis(50)];

/// Minimum number of late releases for estimating their variance from the data.
const MANY: u64 = 100;

/// The result from the samples alone, before doubts.
pub(crate) struct Finding {
    pub outcome: Outcome,
    /// ln of the e-value against "the claim holds".
    pub ln_e: f64,
    /// Minimum and maximum number of samples that are beyond the limit, or missed.
    pub beyond: (u64, u64),
    /// True if a longer stall was observed than the claim allows.
    pub exceeded: bool,
    pub episodes: Option<EpisodeCounts>,
    pub bounds: Vec<StallBound>,
    /// Estimate: a latency in ns, a probability, or a rate per second.
    pub estimate: Option<f64>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

pub(crate) fn limit(quantity: Quantity, samples: &Samples) -> u64 {
    limit_of(quantity, samples.period, samples.deadline)
}

/// Returns the limits of the claims for which a run must record late episodes.
pub fn episode_limits(claims: &[Claim], period: Nanos, deadline: Option<Nanos>) -> Vec<Nanos> {
    let of_episodes = claims.iter().filter(|claim| !matches!(claim.quantity, Quantity::Quantile { .. }));
    of_episodes.map(|claim| Nanos(limit_of(claim.quantity, period.0, deadline.map(|d| d.0)))).collect()
}

/// Returns the limits of the quantile claims, for which a run must record counts per block of time.
pub fn block_limits(claims: &[Claim]) -> Vec<Nanos> {
    let of_blocks = claims.iter().filter(|claim| matches!(claim.quantity, Quantity::Quantile { .. }));
    of_blocks.map(|claim| Nanos(limit_of(claim.quantity, 0, None))).collect()
}

fn limit_of(quantity: Quantity, period: u64, deadline: Option<u64>) -> u64 {
    match quantity {
        // These claims require a latency below the limit, so a sample at the limit is beyond it.
        Quantity::Max(limit) | Quantity::Quantile { limit, .. } => limit.0.saturating_sub(1),
        Quantity::Exceedance { limit, .. } | Quantity::Episodes { limit, .. } => limit.0,
        // A wakeup late by a whole period skips the next release.
        Quantity::NoneMissed | Quantity::MissedShare(_) => {
            let skips = period.saturating_sub(1);
            deadline.map_or(skips, |deadline| deadline.min(skips))
        }
    }
}

/// Evaluates a claim on a cell. `refute`: confidence with which a quantile is refuted in one cell among several.
pub(crate) fn find(claim: &Claim, samples: &Samples, theta: f64, refute: f64) -> Finding {
    let limit = limit(claim.quantity, samples);
    match claim.quantity {
        Quantity::Max(_) => observed(claim, samples, limit, samples.beyond(limit)),
        Quantity::NoneMissed => observed(claim, samples, limit, missed(samples)),
        Quantity::Exceedance { p, .. } => share(claim, samples, limit, samples.beyond(limit), p),
        Quantity::MissedShare(most) => {
            let found = share(claim, samples, limit, missed(samples), most);
            let within = found.beyond.1 as f64 <= most * samples.corrected.count() as f64;
            match found.outcome {
                Outcome::Inconclusive if within => Finding { outcome: Outcome::Held, ..found },
                _ => found,
            }
        }
        Quantity::Episodes { per_second, .. } => rate(claim, samples, limit, per_second),
        Quantity::Quantile { q, .. } => quantile(claim, samples, limit, q, theta, refute),
    }
}

fn missed(samples: &Samples) -> (u64, u64) {
    let late = samples.deadline.map_or((0, 0), |deadline| samples.raw_beyond(deadline));
    let most = samples.missed.saturating_add(samples.uncounted);
    (samples.missed.saturating_add(late.0), most.saturating_add(late.1))
}

/// Judges a claim about the observed samples: one late sample refutes it, otherwise it is held.
fn observed(claim: &Claim, samples: &Samples, limit: u64, beyond: (u64, u64)) -> Finding {
    let found = share(claim, samples, limit, beyond, 0.5);
    let (outcome, ln_e) = match beyond {
        (1.., _) => (Outcome::Fail, f64::INFINITY),
        (0, 0) => (Outcome::Held, f64::NEG_INFINITY),
        (0, _) => (Outcome::Inconclusive, f64::NEG_INFINITY),
    };
    Finding { outcome, ln_e, ..found }
}

/// Judges a claim that bounds the share of late releases. If the claim declares no stall, the bound assumes that each disturbance makes one
/// release late. If longer stalls than assumed or declared were observed, the claim is not proven. If the order of the
/// samples is unknown, stalls of 50 ms are assumed.
fn share(claim: &Claim, samples: &Samples, limit: u64, beyond: (u64, u64), most: f64) -> Finding {
    let late = episodes::late(samples, limit, beyond);
    // Skipped periods that were not counted are releases as well. If no release was late, there may be no skipped
    // periods.
    let least = samples.corrected.count() as f64;
    let all = least + samples.uncounted as f64;
    let over = |stall: f64| Exposure { released: least, stall };
    let declared = claim.stall.map(|stall| releases_of(stall, samples.period));
    let usual = releases_of(episodes::USUAL_STALL, samples.period);
    // Without a period the number of releases in a declared stall is unknown.
    let stall = match (declared, late.episodes) {
        (Some(declared), _) => declared,
        (None, None) => Some(usual.unwrap_or(1.0)),
        (None, Some(_)) => Some(1.0),
    };
    let needed = ln_e_needed(claim.confidence);
    let exceeded = late.episodes.is_some_and(|seen| match declared {
        Some(most) => most.is_some_and(|most| seen.most_late as f64 > most),
        None => seen.most_late > 1 && !is_by_chance(seen, least),
    });
    let is_shown = stall.is_some_and(|stall| late.ln_e_below(most, over(stall)) >= needed);
    let to_refute =
        declared.unwrap_or(usual).filter(|_| declared.is_some() || late.episodes.is_none() && samples.is_unordered);
    let to_refute = to_refute.filter(|_| !exceeded);
    let ln_e = late.ln_e_above(most, all, to_refute);
    let outcome = match (is_shown, late.episodes) {
        _ if ln_e >= needed => Outcome::Fail,
        (true, Some(_)) if !exceeded => Outcome::Pass,
        (true, None) => Outcome::Held,
        _ => Outcome::Inconclusive,
    };
    let known = samples.uncounted == 0;
    Finding {
        outcome,
        ln_e,
        beyond,
        exceeded,
        episodes: late.episodes,
        bounds: bounds(claim, samples, &late, least),
        estimate: known.then(|| (0.5 * (beyond.0 as f64 + beyond.1 as f64) / least).min(1.0)),
        lower: Some(late.lower(all, to_refute, claim.confidence)),
        upper: stall.map(|stall| late.upper(over(stall), claim.confidence)),
    }
}

/// Returns true if late releases that follow each other within a few periods are no more frequent than expected of
/// independent late releases (p > 1 %). For an independent release, the probability of another one within the gap that
/// ends an episode is the share of late releases times the length of the gap.
fn is_by_chance(seen: EpisodeCounts, released: f64) -> bool {
    let more = seen.late.saturating_sub(seen.count) as f64;
    let expected = seen.late as f64 * (EPISODE_GAP as f64 * seen.late as f64 / released).min(1.0);
    // P(at least `more` | Poisson) = 1 − Q(more, expected).
    seen.most_late <= 3 && 1.0 - chi_square_sf(2.0 * expected, 2.0 * more) > 0.01
}

fn bounds(claim: &Claim, samples: &Samples, late: &Late, released: f64) -> Vec<StallBound> {
    let bound = |stall: f64| late.upper(Exposure { released, stall }, claim.confidence);
    let period = Nanos(samples.period);
    let mut all = vec![StallBound { stall_ns: period, upper: bound(1.0) }];
    let mut stalls: Vec<Nanos> = STALLS.into_iter().chain(claim.stall).filter(|stall| *stall > period).collect();
    stalls.sort_unstable();
    stalls.dedup();
    let longer = stalls
        .into_iter()
        .filter_map(|stall_ns| Some(StallBound { stall_ns, upper: bound(releases_of(stall_ns, samples.period)?) }));
    all.extend(longer);
    all
}

/// Maximum share of all releases that may lie within late episodes if a claim about their rate is to pass.
const MOST_LATE_TIME: f64 = 0.05;

/// Judges a rate of episodes of any length. Episodes do not overlap: none begins before the previous one has ended.
fn rate(claim: &Claim, samples: &Samples, limit: u64, per_second: f64) -> Finding {
    let beyond = samples.beyond(limit);
    let late = episodes::late(samples, limit, beyond);
    // Without late samples the order does not matter.
    let seen = late.episodes.or((beyond.1 == 0).then(EpisodeCounts::default));
    let found = Finding {
        outcome: Outcome::Inconclusive,
        ln_e: f64::NEG_INFINITY,
        beyond,
        exceeded: false,
        episodes: late.episodes,
        bounds: Vec::new(),
        estimate: None,
        lower: None,
        upper: None,
    };
    let released = samples.corrected.count() as f64;
    let second = samples.period as f64 / 1e9;
    let Some(seen) = seen.filter(|_| second > 0.0) else { return found };
    let (count, free) = (seen.count as f64, (released - seen.length as f64).max(0.0) * second);
    let needed = ln_e_needed(claim.confidence);
    let ln_e = ln_e_above(count, per_second * (free + second));
    let is_free = seen.length as f64 <= MOST_LATE_TIME * released;
    let passes = is_free && ln_e_below(count, per_second * free) >= needed;
    let outcome = if late.episodes.is_none() && passes { Outcome::Held } else { decide(passes, ln_e >= needed) };
    Finding {
        outcome,
        ln_e,
        exceeded: !is_free,
        estimate: (free > 0.0).then(|| count / free),
        lower: Some(expected_lower(count, claim.confidence) / (free + second)),
        upper: (free > 0.0 && is_free).then(|| expected_upper(count, claim.confidence) / free),
        ..found
    }
}

fn decide(passes: bool, fails: bool) -> Outcome {
    match (passes, fails) {
        (_, true) => Outcome::Fail,
        (true, false) => Outcome::Pass,
        (false, false) => Outcome::Inconclusive,
    }
}

/// Judges a quantile by the share beyond its limit in blocks of time. Without blocks (an imported run, a run of an
/// earlier version) the claim can be held, and is refuted only by a wide margin.
fn quantile(claim: &Claim, samples: &Samples, limit: u64, q: f64, theta: f64, refute: f64) -> Finding {
    let allowed = 1.0 - q;
    let shares = quantile::share(samples, limit, claim.confidence);
    let to_refute = quantile::share(samples, limit, refute);
    let is_recorded = samples.blocks.iter().any(|blocks| blocks.limit_ns.0 == limit);
    let found = ranks(q, samples, shares.map_or(theta, |share| share.effective), claim.confidence);
    // With few late releases blocks cannot be used, since the variance cannot be estimated.
    let late = episodes::late(samples, limit, samples.beyond(limit));
    let stall = claim.stall.map_or(Some(1.0), |stall| releases_of(stall, samples.period));
    let released = samples.corrected.count() as f64;
    let rare = stall.map_or(f64::NEG_INFINITY, |stall| late.ln_e_below(allowed, Exposure { released, stall }));
    let is_rare = late.releases.0 >= MANY || rare >= ln_e_needed(claim.confidence);
    let outcome = match shares {
        Some(share) => decide(share.upper < allowed && is_rare, to_refute.is_some_and(|share| share.lower > allowed)),
        None if is_recorded => Outcome::Inconclusive,
        None => {
            let few = UNORDERED as f64 / samples.corrected.count().max(UNORDERED) as f64;
            let wide = ranks(q, samples, theta.min(few), refute);
            match (found.1, wide.0) {
                (_, Some(lower)) if lower > limit as f64 + 1.0 => Outcome::Fail,
                (Some(upper), _) if upper <= limit as f64 => Outcome::Held,
                _ => Outcome::Inconclusive,
            }
        }
    };
    let high = |rank| samples.edges_at(rank).and_then(|(_, high)| high);
    let n = samples.corrected.count();
    let nearest = ((q * n as f64).ceil() as u64).clamp(1, n);
    Finding {
        outcome,
        ln_e: if outcome == Outcome::Fail { f64::INFINITY } else { f64::NEG_INFINITY },
        beyond: samples.beyond(limit),
        exceeded: false,
        episodes: None,
        bounds: if late.releases.0 < MANY { bounds(claim, samples, &late, released) } else { Vec::new() },
        estimate: high(nearest).map(|high| high as f64),
        lower: found.0,
        upper: found.1,
    }
}

/// Returns bounds of a quantile, ns: the lower edge of the bin of the lower rank, and the upper edge of the bin of the
/// upper rank. Uncounted skipped periods are assumed to be early for the lower bound and late for the upper one.
fn ranks(q: f64, samples: &Samples, theta: f64, confidence: f64) -> (Option<f64>, Option<f64>) {
    let n = samples.corrected.count();
    let ranks = |n: u64| quantile_rank_bounds_clustered(n, theta, q, confidence);
    let (lower, upper) = match n.checked_add(samples.uncounted) {
        Some(all) => {
            let ranks = ranks(all);
            (ranks.lower.and_then(|rank| rank.checked_sub(samples.uncounted)), ranks.upper.map(|rank| rank.min(n)))
        }
        None => (None, ranks(n).upper.map(|_| n)),
    };
    let low = lower.and_then(|rank| samples.edges_at(rank)).map(|(low, _)| low as f64);
    (low, upper.and_then(|rank| samples.edges_at(rank)).and_then(|(_, high)| high).map(|high| high as f64))
}
