use punctual_model::{Claim, Quantity, Recording};
use punctual_units::Nanos;
use std::fmt;
use std::str::FromStr;

/// The quantity to minimise. The worst CPU under the worst load determines its value. Skipped periods are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    Max,
    /// A quantile, 0 to 1. If a block has too few samples for it, the largest latency is used.
    Quantile(f64),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be minimised: use max, or a quantile such as p99.9")]
pub struct ObjectiveError(String);

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Objective, ObjectiveError> {
        if text == "max" {
            return Ok(Objective::Max);
        }
        let percent = text.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
        match percent.filter(|percent| *percent > 0.0 && *percent < 100.0) {
            Some(percent) => Ok(Objective::Quantile(percent / 100.0)),
            None => Err(ObjectiveError(text.to_owned())),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objective::Max => f.write_str("largest latency"),
            // Digits of the percentage after the sixth are only rounding errors of binary fractions.
            Objective::Quantile(q) => write!(f, "p{}", (q * 1e8).round() / 1e6),
        }
    }
}

impl Objective {
    /// Returns the quantity that the strictest claim limits, or the largest latency if there are no claims.
    pub fn of_claims(claims: &[Claim]) -> Objective {
        let quantile = |claim: &Claim| match claim.quantity {
            Quantity::Max(_) | Quantity::NoneMissed | Quantity::Episodes { .. } => 1.0,
            Quantity::Quantile { q, .. } => q,
            Quantity::Exceedance { p, .. } | Quantity::MissedShare(p) => 1.0 - p,
        };
        match claims.iter().map(quantile).reduce(f64::max) {
            Some(q) if q > 0.0 && q < 1.0 => Objective::Quantile(q),
            _ => Objective::Max,
        }
    }

    /// Returns this quantity for a measured block, ns. A CPU whose thread never woke counts as late for the whole
    /// phase.
    pub(crate) fn figure(self, recording: &Recording) -> f64 {
        let mut worst = 0;
        for phase in &recording.run.phases {
            let starved = phase.planned_ns.map_or(0, |Nanos(ns)| ns);
            for result in &phase.cpus {
                let all = recording.distribution(&phase.id, result.cpu).map(|d| d.corrected());
                let figure = all.and_then(|all| match self {
                    Objective::Max => all.max(),
                    Objective::Quantile(q) => all.quantile(q).or_else(|| all.max()),
                });
                worst = worst.max(figure.unwrap_or(starved));
            }
        }
        worst as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_claim_decides() {
        let of = |texts: &[&str]| {
            let claims: Vec<Claim> = texts.iter().map(|text| text.parse().unwrap()).collect();
            Objective::of_claims(&claims).to_string()
        };
        assert_eq!(of(&[]), "largest latency");
        assert_eq!(of(&["p99.9 < 50us"]), "p99.9");
        assert_eq!(of(&["p99 < 50us", "P(>100us) < 1e-4"]), "p99.99");
        assert_eq!(of(&["soft"]), "p99.9");
        assert_eq!(of(&["p99 < 50us", "max < 1ms"]), "largest latency");
        assert_eq!(of(&["missed = 0"]), "largest latency");
    }

    #[test]
    fn figures_are_named() {
        assert_eq!("max".parse(), Ok(Objective::Max));
        assert_eq!("p99.9".parse::<Objective>().unwrap().to_string(), "p99.9");
        for wrong in ["p0", "p100", "pNaN", "p", "mean", ""] {
            assert!(wrong.parse::<Objective>().is_err(), "{wrong}");
        }
    }
}
