//! What a latency sample may claim: bounds on exceedance probabilities and quantiles, clustering, rare events.
//!
//! Pure mathematics on numbers. Probabilities and confidences are plain `f64` in 0–1 (`0.95`, not `95`), because
//! here they have no unit; counts that may be divided by the clustering are real-valued.
//!
//! No function panics. Impossible input (not a number, no sample, a confidence outside 0–1) gets the answer that
//! claims nothing: the bounds 0 and 1, or `None`.
//!
//! The incomplete beta function is our own ([`ln_beta_tails`]): that of statrs 0.19 subtracts logarithms of gamma
//! functions and ends its continued fraction after 140 steps, so at 1e12 samples its fourth digit is wrong and its far
//! tails are zero; a test shows it. Where statrs is right it serves the tests as a second opinion.
//!
//! Architecture invariant: no other crate of this workspace, no clock, no input or output is used here.

#![forbid(unsafe_code)]

mod beta;
mod bootstrap;
mod change;
mod covariate;
mod estimate;
mod exceedance;
mod extremal;
mod gamma;
mod integral;
mod kolmogorov;
mod mann_whitney;
mod multiple;
mod normal;
mod order;
mod pairwise;
mod random;
mod rank;
mod rare;
mod series;
mod signed_rank;
mod special;
mod stationarity;
mod subset;
mod trend;

pub use beta::{Tail, Tails, beta_quantile, ln_beta_tails};
pub use bootstrap::{BootstrapRatio, Resampling, block_length, bootstrap_ratio, bootstrap_ratios};
pub use change::{ChangePoint, change_points, pettitt};
pub use covariate::{AdjustedRatio, Point, Split, Threshold, adjusted_ratio, split_ratio, threshold};
pub use estimate::{Estimate, Interval};
pub use exceedance::{exceedance_interval, exceedance_lower, exceedance_upper, samples_required};
pub use extremal::{Gap, gaps, intervals_estimator, runs_estimator};
pub use gamma::{chi_square_sf, student_two_sided};
pub use kolmogorov::{KolmogorovSmirnov, kolmogorov_p, kolmogorov_smirnov};
pub use mann_whitney::{MannWhitney, Method, mann_whitney, mann_whitney_normal, ratio, samples_for_interval, shift};
pub use multiple::benjamini_hochberg;
pub use normal::{normal_cdf, normal_quantile, normal_two_sided};
pub use order::{median, quantile, quantile_of_sorted};
pub use random::SplitMix64;
pub use rank::{RankBounds, quantile_rank_bounds, quantile_rank_bounds_clustered, quantile_rank_upper};
pub use rare::probability_seen;
pub use series::{LjungBox, autocorrelation, effective_n, lag_one, ljung_box, pearson};
pub use signed_rank::{SignedRank, paired_ratio, paired_shift, pairs_for_interval, signed_rank, signed_rank_least_p};
pub use stationarity::{KPSS_CRITICAL_5, kpss, kpss_lags};
pub use trend::{MannKendall, TheilSen, mann_kendall, theil_sen};
