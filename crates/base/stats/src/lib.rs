//! Statistics of latency samples: conclusions from one sample, and comparisons of samples.
//!
//! - One sample: bounds on exceedance probabilities and quantiles, clustering, and tails (generalised Pareto and
//!   extreme value distributions) with the conditions for extrapolating a level ([`extrapolate`]).
//! - Two samples: rank tests, ratios with intervals, the number of boots needed to detect a difference
//!   ([`boots_for_difference`]), and whether temperature explains a difference ([`split_ratio`]).
//! - Series: effective sample size, stationarity, and shifts at a given rate of false alarms ([`watch`]).
//! - Many samples: which of them is too large to be the largest by chance ([`GumbelScores`]).
//! - Rare events: the probability of observing them, bounds on their rate, and whether they are periodic, bursty or
//!   independent ([`arrivals`]).
//!
//! Probabilities and confidences are `f64` from 0 to 1 (`0.95`, not `95`). Counts that may be corrected for clustering
//! are `f64` as well.
//!
//! The values of a sample must be independent. To compare two kernels, use one value per boot. Within one boot,
//! [`effective_n`] gives the effective sample size.
//!
//! No function panics. For invalid input (NaN, an empty sample, a confidence outside 0–1), bounds are the trivial
//! bounds 0 and 1, and other results are `None` or NaN.
//!
//! This crate has its own incomplete beta function ([`ln_beta_tails`]). The function of statrs 0.19 subtracts
//! logarithms of gamma functions and stops its continued fraction after 140 steps, so that at 1e12 samples its fourth
//! digit is wrong and its far tails are zero, as a test shows. Where statrs is accurate, tests use it as a reference.
//! erfc and Γ come from libm.
//!
//! Architecture invariant: this crate uses no other crate of this workspace, does no I/O, and reads no clock.

#![forbid(unsafe_code)]

mod arrivals;
mod beta;
mod binned;
mod covariate;
mod cusum;
mod estimate;
mod evalue;
mod exceedance;
mod extremal;
mod fit_test;
mod gamma;
mod gate;
mod gev;
mod gpd;
mod gpd_fit;
mod integral;
mod kolmogorov;
mod looks;
mod mann_whitney;
mod minimise;
mod multiple;
mod normal;
mod order;
mod outliers;
mod pairwise;
mod power;
mod random;
mod rank;
mod rare;
mod series;
mod signed_rank;
mod special;
mod stationarity;
mod subset;
mod welch;

pub use arrivals::{Arrivals, MIN_ARRIVALS, Observed, Pattern, Period, arrivals, burst_p, period};
pub use beta::{Tail, Tails, beta_quantile, ln_beta_tails};
pub use binned::{Bin, Binned};
pub use covariate::{AdjustedRatio, Point, Split, Threshold, adjusted_ratio, split_ratio, threshold};
pub use cusum::{LEARNT, LevelShift, Watched, least_shift, watch};
pub use estimate::{Estimate, Interval};
pub use evalue::{expected_lower, expected_upper, ln_e_above, ln_e_below, ln_e_needed, ln_mean_e};
pub use exceedance::{exceedance_interval, exceedance_lower, exceedance_upper, samples_required};
pub use extremal::{Gap, gaps, intervals_estimator, runs_estimator};
pub use fit_test::{Distances, binned_fit_p, distances, fit_p};
pub use gamma::{chi_square_sf, student_p, student_two_sided};
pub use gate::{Assessment, Evidence, Extrapolation, Refusal, ThresholdFit, assess, extrapolate, threshold_fits};
pub use gev::{Gev, gev_fit, gev_moments};
pub use gpd::{Gpd, LMoments, gpd_moments, l_moments};
pub use gpd_fit::{Exceedances, GpdFit, Values, level_interval, shape_interval};
pub use kolmogorov::{KolmogorovSmirnov, kolmogorov_p, kolmogorov_smirnov};
pub use looks::confidence_at_look;
pub use mann_whitney::{MannWhitney, Method, mann_whitney, mann_whitney_normal, ratio, samples_for_interval, shift};
pub use multiple::benjamini_hochberg;
pub use normal::{normal_cdf, normal_quantile, normal_two_sided};
pub use order::{median, quantile, quantile_of_sorted};
pub use outliers::{GumbelScores, location};
pub use power::boots_for_difference;
pub use random::SplitMix64;
pub use rank::{RankBounds, quantile_rank_bounds, quantile_rank_bounds_clustered, quantile_rank_upper};
pub use rare::probability_seen;
pub use series::{LjungBox, autocorrelation, effective_n, lag_one, ljung_box, pearson};
pub use signed_rank::{SignedRank, paired_ratio, paired_shift, pairs_for_interval, signed_rank, signed_rank_least_p};
pub use stationarity::{KPSS_CRITICAL_5, kpss, kpss_lags};
pub use welch::{Welch, welch};
