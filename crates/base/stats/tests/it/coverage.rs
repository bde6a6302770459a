//! Tests the coverage of the crate's 95 % intervals under the documented conditions.
//!
//! Every simulation has a fixed seed and [`RUNS`] draws. The interval must contain the true value in at least 461 of
//! them. [`the_bar_is_fair`] computes the probability that an interval with a true coverage of 95 % fails. Each
//! interval is also computed at a confidence of 75 %, where it must fail: this exposes intervals that always contain
//! the true value, and simulations that cannot fail.
//!
//! Two functions are not tested here: `confidence_at_look`, which looks.rs tests, and `extrapolate`, whose intervals
//! come from `level_interval`.

use crate::coverage_of;

use coverage_of::*;
use punctual_stats::*;

#[test]
fn the_bar_is_fair() {
    // P(fewer than 461 of 500 at 95 %) = I_.05(40, 461), below four in a thousand.
    let missed = RUNS as f64 - BAR as f64 + 1.0;
    let unlucky = ln_beta_tails(missed, BAR as f64, 0.05, 0.95).ln(Tail::Lower).exp();
    assert!((0.001..0.004).contains(&unlucky), "{unlucky}");
    // An interval with a coverage of 90 % seldom passes.
    let passes = ln_beta_tails(missed, BAR as f64, 0.1, 0.9).ln(Tail::Upper).exp();
    assert!(passes < 0.06, "{passes}");
}

#[test]
fn exceedances() {
    let (n, p) = (2_000u32, 0.02);
    let drawn = |random: &mut SplitMix64| (0..n).filter(|_| random.uniform() < p).count() as f64;
    covers("exceedance_upper", |c, random| Some(p <= exceedance_upper(drawn(random), f64::from(n), c)));
    covers("exceedance_lower", |c, random| Some(p >= exceedance_lower(drawn(random), f64::from(n), c)));
    covers("exceedance_interval", |c, random| {
        let (low, high) = exceedance_interval(drawn(random), f64::from(n), c);
        Some(low <= p && p <= high)
    });
    // Late samples in fours: non-integer counts, divided by 1/θ = 4.
    covers("exceedance_interval of clusters", |c, random| {
        let clusters = (0..n).filter(|_| random.uniform() < p).count() as f64;
        let (low, high) = exceedance_interval(4.0 * clusters * 0.25, f64::from(4 * n) * 0.25, c);
        Some(low <= p && p <= high)
    });
}

/// Returns true if the values at the ranks enclose the quantile; a missing rank does not bound it.
fn ranks_hold(sorted: &[f64], bounds: RankBounds, truth: f64) -> bool {
    let at = |rank: u64| sorted[rank as usize - 1];
    bounds.lower.is_none_or(|r| at(r) <= truth) && bounds.upper.is_none_or(|r| at(r) >= truth)
}

#[test]
fn quantiles() {
    let drawn = |random: &mut SplitMix64, n: usize| sorted((0..n).map(|_| random.uniform()).collect());
    for (n, q) in [(400, 0.5), (400, 0.95)] {
        covers("quantile_rank_bounds", |c, random| {
            Some(ranks_hold(&drawn(random, n), quantile_rank_bounds(n as u64, q, c), q))
        });
        covers("quantile_rank_upper", |c, random| {
            let upper = quantile_rank_upper(n as u64, q, c);
            Some(ranks_hold(&drawn(random, n), RankBounds { lower: None, upper }, q))
        });
    }
    // Each value four times: θ = 1/4.
    covers("quantile_rank_bounds_clustered", |c, random| {
        let values = sorted(drawn(random, 500).into_iter().flat_map(|v| [v; 4]).collect());
        Some(ranks_hold(&values, quantile_rank_bounds_clustered(2_000, 0.25, 0.9, c), 0.9))
    });
    // The larger of two neighbours: θ = 1/2 in the tail.
    covers("quantile_rank_bounds_clustered of moving maxima", |c, random| {
        let e: Vec<f64> = (0..2_001).map(|_| random.uniform()).collect();
        let values = sorted(e.windows(2).map(|w| w[0].max(w[1])).collect());
        Some(ranks_hold(&values, quantile_rank_bounds_clustered(2_000, 0.5, 0.98, c), 0.98f64.sqrt()))
    });
}

#[test]
fn shifts_and_ratios() {
    for (m, n) in [(4, 4), (8, 10), (40, 40)] {
        covers("ratio", |c, random| {
            let (a, b) = (many(m, || lognormal(random)), many(n, || 1.11 * lognormal(random)));
            ratio(&a, &b, c)?.interval.map(|i| i.holds(1.11))
        });
    }
    covers("shift", |c, random| {
        // Skewed, like latencies.
        let (a, b) = (many(12, || exponential(random)), many(9, || 0.7 + exponential(random)));
        shift(&a, &b, c)?.interval.map(|i| i.holds(0.7))
    });
    for n in [6, 20, 300] {
        covers("paired_ratio", |c, random| {
            let pairs = many(n, || {
                let boot = 1.0 + random.uniform();
                (boot * lognormal(random), 1.11 * boot * lognormal(random))
            });
            paired_ratio(&pairs, c)?.interval.map(|i| i.holds(1.11))
        });
        covers("paired_shift", |c, random| {
            let pairs = many(n, || (normal(random), 0.3 + normal(random)));
            paired_shift(&pairs, c)?.interval.map(|i| i.holds(0.3))
        });
    }
}

#[test]
fn split_ratios() {
    // Values above 78 are a quarter slower in both samples; below, b is 5 % slower than a.
    let drawn = |random: &mut SplitMix64, factor: f64| {
        many(30, || {
            let covariate = 70.0 + 15.0 * random.uniform();
            let value = factor * lognormal(random) * if covariate < 78.0 { 1.0 } else { 1.25 };
            Point { value, covariate }
        })
    };
    covers("split_ratio", |c, random| {
        let (a, b) = (drawn(random, 1.0), drawn(random, 1.05));
        split_ratio(&a, &b, 78.0, c)?.below.interval.map(|i| i.holds(1.05))
    });
}

/// Values grow by 1 % per degree. b is two degrees warmer and in addition 5 % slower, and both samples warm up.
#[test]
fn adjusted_ratios() {
    for (n, rho) in [(20, 0.0), (60, 0.4), (60, 0.6), (120, 0.8), (200, 0.9), (300, 0.9)] {
        covers("adjusted_ratio", |c, random| {
            let mut drawn = |warmer: f64, factor: f64| -> Vec<Point> {
                let noise = autoregressive(random, n, rho, factor);
                let rise = 6.0 / n as f64;
                let heat = |i: usize, random: &mut SplitMix64| 60.0 + warmer + rise * i as f64 + 8.0 * random.uniform();
                let warm = |(i, v): (usize, f64)| {
                    let covariate = heat(i, random);
                    Point { value: v * f64::exp(0.01 * covariate), covariate }
                };
                noise.into_iter().enumerate().map(warm).collect()
            };
            let (a, b) = (drawn(0.0, 1.0), drawn(2.0, 1.05));
            adjusted_ratio(&a, &b, c)?.interval.map(|i| i.holds(1.05))
        });
    }
}

const SHAPES: [f64; 3] = [-0.2, 0.0, 0.2];

/// Returns true if the interval of the shape (`is_shape`) or of the one-in-1000 level contains the true value; `None`
/// if there is no interval.
fn of_tail(data: &impl Exceedances, fit: Option<GpdFit>, gpd: Gpd, theta: f64, c: f64, is_shape: bool) -> Option<bool> {
    let fit = fit?;
    match is_shape {
        true => shape_interval(data, &fit, theta, c).map(|i| i.holds(gpd.shape)),
        false => level_interval(data, &fit, 1e3, theta, c).map(|i| i.holds(gpd.return_level(1e3).unwrap())),
    }
}

fn tail_drawn(random: &mut SplitMix64) -> (Gpd, Vec<f64>) {
    let gpd = Gpd { shape: SHAPES[random.below(3)], scale: 5.0 };
    (gpd, many(100, || gpd.exceeded_with(random.uniform()).unwrap()))
}

#[test]
fn shapes_and_levels_of_values() {
    for is_shape in [true, false] {
        covers("interval of values", |c, random| {
            let (gpd, x) = tail_drawn(random);
            let data = Values::new(&x)?;
            of_tail(&data, data.fit(), gpd, 1.0, c, is_shape)
        });
    }
}

/// Tests with a hundred exceedances that each occur twice, so that θ = 1/2.
#[test]
fn shapes_and_levels_of_clusters() {
    for is_shape in [true, false] {
        covers("interval of clusters", |c, random| {
            let (gpd, x) = tail_drawn(random);
            let data = Values::weighted(x.into_iter().map(|x| (x, 2.0)).collect())?;
            of_tail(&data, data.fit(), gpd, 0.5, c, is_shape)
        });
    }
}

#[test]
fn shapes_and_levels_of_bins() {
    for is_shape in [true, false] {
        covers("interval of bins", |c, random| {
            let (gpd, x) = tail_drawn(random);
            let mut counts = vec![0u64; 1_000];
            x.iter().for_each(|x| counts[(*x as usize).min(999)] += 1);
            let bin = |(low, count)| Bin { low, high: low + 1.0, count };
            let bins: Vec<Bin> = (0..).map(f64::from).zip(counts).map(bin).filter(|b| b.count > 0).collect();
            let data = Binned::above(&bins, 0.0)?;
            of_tail(&data, data.fit(), gpd, 1.0, c, is_shape)
        });
    }
}
