//! Clustering of the late wakeups of a cell. The crate documentation explains its use.

use crate::late::Late;
use punctual_model::ClusterNote;
use punctual_stats::{intervals_estimator, runs_estimator};

/// Minimum number of late samples for an estimate of clustering. With fewer, independence (1) is assumed and reported.
pub const LEAST_LATE: u64 = 10;

/// Returns how the clustering was determined, and the extremal index to apply (above 0, at most 1). `limit` is the
/// limit of the claim.
pub(crate) fn clustering(late: &Late, limit: u64) -> (ClusterNote, f64) {
    let Some(threshold) = late.cluster_threshold() else { return (ClusterNote::TooFew { from: 0 }, 1.0) };
    let (theta, from) = extremal_index(late, threshold);
    if from < LEAST_LATE {
        return (ClusterNote::TooFew { from }, 1.0);
    }
    let at_limit = Some(extremal_index(late, limit)).filter(|&(t, n)| limit > threshold && n > 0 && t < theta);
    // A few samples beyond the limit that are caused by one stall are one event. In that case `from` is that of the
    // estimate over all samples.
    let (theta, from) = at_limit.map_or((theta, from), |(t, n)| (t, if n < LEAST_LATE { from } else { n }));
    (ClusterNote::Estimated { theta, from }, theta)
}

fn extremal_index(late: &Late, threshold: u64) -> (f64, u64) {
    let (gaps, from) = late.gaps_above(threshold);
    let runs = runs_estimator(gaps.iter().copied(), 1);
    let intervals = intervals_estimator(gaps).filter(|_| from >= LEAST_LATE);
    (intervals.map_or(runs, |theta| theta.min(runs)), from)
}
