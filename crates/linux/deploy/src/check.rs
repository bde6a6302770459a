use punctual_kernel::Outcome;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    pub id: &'static str,
    /// Outcome of the check; only `Pass` counts as a pass.
    pub outcome: Outcome,
    pub found: String,
    /// The command to run; empty if nothing has to be done.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fix: &'static str,
}

impl Check {
    pub(crate) fn new(id: &'static str, outcome: Outcome, found: impl Into<String>, fix: &'static str) -> Check {
        let fix = if matches!(outcome, Outcome::Pass | Outcome::Skip) { "" } else { fix };
        Check { id, outcome, found: found.into(), fix }
    }

    pub(crate) fn holds(id: &'static str, is_so: bool, found: impl Into<String>, fix: &'static str) -> Check {
        Check::new(id, if is_so { Outcome::Pass } else { Outcome::Fail }, found, fix)
    }
}

/// Returns the overall outcome: a failure takes precedence, then an unknown outcome.
pub fn worst(checks: &[Check]) -> Outcome {
    let any = |outcome| checks.iter().any(|check| check.outcome == outcome);
    match (any(Outcome::Fail), any(Outcome::Unknown)) {
        (true, _) => Outcome::Fail,
        (false, true) => Outcome::Unknown,
        (false, false) => Outcome::Pass,
    }
}
