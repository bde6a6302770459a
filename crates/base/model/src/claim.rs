//! Claims: statements about a run, in a readable text form.

use crate::AppValue;
use punctual_units::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A statement about a run that the run can confirm, refute or leave undecided.
///
/// Text forms: `max < 100us`, `p99.99 < 50us`, `P(>100us) < 1e-6 @stall 50ms @95%`, `episodes(>100us) < 1 per day`,
/// `missed = 0`, `missed <= 3 per 1e6`, or a name: `hard` (none missed), `firm` (at most 3 in 1e6), `soft` (at most 1
/// in 1000).
///
/// Text forms for an application: `response(control) < 800us`, `late(control) = 0` (no response longer than the period,
/// none skipped), `p99.9 jitter(control) < 50us`, `P(response(control) > 800us) < 1e-6`,
/// `chain(driver > control) < 2ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub quantity: Quantity,
    /// The application value to which the claim applies; `None` if it applies to wakeup latency, or to all values of
    /// the run.
    pub of: Option<AppValue>,
    /// Confidence required for a pass or fail, 0–1.
    pub confidence: f64,
    /// Longest time for which one disturbance makes releases late, as declared in the claim; `None` if not declared. It
    /// is used only for claims about shares of releases and about quantiles.
    pub stall: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// The largest observed corrected latency is below this limit.
    Max(Nanos),
    /// The quantile `q` (0–1) of the corrected latency is below `limit`.
    Quantile {
        /// Quantile, 0–1; for example 0.9999 for p99.99.
        q: f64,
        limit: Nanos,
    },
    /// The probability that the latency of a release exceeds `limit` is below `p`.
    Exceedance {
        limit: Nanos,
        p: f64,
    },
    /// Fewer than `per_second` episodes of latencies above `limit` occur per second.
    Episodes {
        limit: Nanos,
        per_second: f64,
    },
    NoneMissed,
    /// At most this share (0–1) of the releases is missed.
    MissedShare(f64),
}

const USUAL_CONFIDENCE: f64 = 0.95;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a claim ({why}): write for example `max < 100us`, `p99.99 < 50us`, `P(>100us) < 1e-6 @stall 50ms @95%`, \
     `episodes(>100us) < 1 per day`, `missed = 0` or `missed <= 3 per 1e6`; for an application `response(THREAD) < 800us`, \
     `late(THREAD) = 0`, `jitter(THREAD) < 50us`, `cpu(THREAD) < 300us` or `chain(A > B) < 2ms`"
)]
pub struct ClaimError {
    text: String,
    why: String,
}

impl Claim {
    pub fn none_missed() -> Claim {
        Claim::new(Quantity::NoneMissed, None)
    }

    pub fn max(limit: Nanos) -> Claim {
        Claim::new(Quantity::Max(limit), None)
    }

    /// Creates a claim with the default confidence.
    pub fn new(quantity: Quantity, of: Option<AppValue>) -> Claim {
        Claim { quantity, of, confidence: USUAL_CONFIDENCE, stall: None }
    }

    /// Returns true if the claim limits how often something may happen; a run can prove such a claim. Other claims
    /// (`max`, `missed`) hold until they are refuted.
    pub fn is_of_frequency(&self) -> bool {
        !matches!(self.quantity, Quantity::Max(_) | Quantity::NoneMissed)
    }
}

impl FromStr for Claim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let claim = Claim::read(text)?;
        // Runs store claims as text, so the text must parse back to the same claim.
        match Claim::read(&claim.to_string()) {
            Ok(again) if again.is_nearly(&claim) => Ok(claim),
            _ => Err(ClaimError {
                text: text.trim().into(),
                why: "its values are too large or too small to be stored".into(),
            }),
        }
    }
}

impl Claim {
    /// Returns true if the claims are equal, apart from relative differences of numbers below 1e-6.
    fn is_nearly(&self, other: &Claim) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().min(b.abs());
        let quantity = match (self.quantity, other.quantity) {
            (Quantity::Quantile { q: a, limit }, Quantity::Quantile { q: b, limit: other }) => {
                limit == other && near(1.0 - a, 1.0 - b) && near(a, b)
            }
            (Quantity::Exceedance { p: a, limit }, Quantity::Exceedance { p: b, limit: other }) => {
                limit == other && near(a, b)
            }
            (Quantity::Episodes { per_second: a, limit }, Quantity::Episodes { per_second: b, limit: other }) => {
                limit == other && near(a, b)
            }
            (Quantity::MissedShare(a), Quantity::MissedShare(b)) => near(a, b),
            (a, b) => a == b,
        };
        let confidence = near(1.0 - self.confidence, 1.0 - other.confidence);
        quantity && confidence && self.stall == other.stall && self.of == other.of
    }

    fn read(text: &str) -> Result<Claim, ClaimError> {
        let fail = |why: String| ClaimError { text: text.trim().into(), why };
        let (of, plain) = without_value(text).map_err(fail)?;
        let mut parts = plain.split('@');
        let body = parts.next().unwrap_or_default();
        let (mut sure, mut stall) = (None, None);
        for part in parts.map(str::trim) {
            let twice = match part.strip_prefix("stall") {
                Some(time) => {
                    stall.replace(limit(time.trim()).map_err(|e| fail(format!("the longest stall: {e}")))?).is_some()
                }
                None => sure.replace(confidence(part).map_err(fail)?).is_some(),
            };
            if twice {
                return Err(fail(format!("`@{part}`: given twice")));
            }
        }
        let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        let quantity = match body.as_str() {
            "hard" => Quantity::NoneMissed,
            "firm" => Quantity::MissedShare(3e-6),
            "soft" => Quantity::MissedShare(1e-3),
            body => quantity(body).map_err(fail)?,
        };
        let has_stall =
            matches!(quantity, Quantity::Exceedance { .. } | Quantity::MissedShare(_) | Quantity::Quantile { .. });
        if stall.is_some() && !has_stall {
            return Err(fail(
                "`@stall` applies only to a share or a quantile, for example `P(>100us) < 1e-6 @stall 50ms`".into(),
            ));
        }
        Ok(Claim { quantity, of, confidence: sure.unwrap_or(USUAL_CONFIDENCE), stall })
    }
}

/// Splits a claim into its application value and the rest: `p99 response(x) < 1ms` becomes `response(x)` and
/// `p99 < 1ms`.
fn without_value(text: &str) -> Result<(Option<AppValue>, String), String> {
    let words = ["response(", "jitter(", "cpu(", "chain(", "late("];
    let Some((at, word)) = words.iter().filter_map(|word| Some((text.find(word)?, *word))).min() else {
        return Ok((None, text.to_owned()));
    };
    let (before, rest) = text.split_at(at);
    if word == "late(" {
        if !before.trim().is_empty() {
            return Err("late(THREAD) must be at the beginning of a claim: `late(control) = 0`".into());
        }
        let (value, rest) = AppValue::split(&format!("response{}", &rest["late".len()..]))
            .map(|(value, rest)| (value, rest.to_owned()))?;
        return Ok((Some(value), format!("missed{rest}")));
    }
    let (value, rest) = AppValue::split(rest)?;
    let plain = if before.trim().is_empty() { "max" } else { before };
    Ok((Some(value), format!("{plain}{rest}")))
}

fn confidence(text: &str) -> Result<f64, String> {
    let number =
        text.trim().strip_suffix('%').ok_or("write the confidence as @95%, the longest stall as @stall 50ms")?;
    match number.trim().parse::<f64>() {
        Ok(c) if (50.0..100.0).contains(&c) => Ok(c / 100.0),
        _ => Err("the confidence must be at least 50 % and below 100 %".into()),
    }
}

fn quantity(body: &str) -> Result<Quantity, String> {
    let at = body.find(['<', '=', '≤'].as_slice()).filter(|_| !body.contains('(')).or_else(|| {
        // In `P(>100us)<1e-6` the comparison operator follows the parenthesis.
        let close = body.find(')')?;
        body[close..].find(['<', '=', '≤'].as_slice()).map(|i| close + i)
    });
    let at = at.ok_or("it has no comparison operator")?;
    let (left, right) = body.split_at(at);
    let (equal, right) = match right {
        r if r.starts_with("<=") => (true, &r[2..]),
        r if r.starts_with('≤') => (true, &r['≤'.len_utf8()..]),
        r if r.starts_with('=') => (true, r[1..].trim_start_matches('=')),
        r => (false, &r[1..]),
    };
    if left.eq_ignore_ascii_case("missed") {
        return missed(right, equal);
    }
    if left.eq_ignore_ascii_case("max") {
        return Ok(Quantity::Max(limit(right)?));
    }
    if let Some(inner) = left.strip_prefix("P(>").or_else(|| left.strip_prefix("p(>")) {
        let inner = inner.strip_suffix(')').ok_or("the bracket has no closing `)`")?;
        return Ok(Quantity::Exceedance { limit: limit(inner)?, p: probability(right)? });
    }
    if let Some(inner) = left.strip_prefix("episodes(>") {
        let inner = inner.strip_suffix(')').ok_or("the bracket has no closing `)`")?;
        return Ok(Quantity::Episodes { limit: limit(inner)?, per_second: rate(right)? });
    }
    if let Some(percent) = left.strip_prefix(['p', 'P']) {
        let percent: f64 = percent.parse().map_err(|_| format!("`{left}` is not a quantile"))?;
        if !(percent > 0.0 && percent < 100.0) {
            return Err("a quantile must lie between p0 and p100".into());
        }
        return Ok(Quantity::Quantile { q: percent / 100.0, limit: limit(right)? });
    }
    Err(format!("`{left}` is unknown"))
}

fn missed(right: &str, equal: bool) -> Result<Quantity, String> {
    let (count, per) = right.split_once("per").unwrap_or((right, "1"));
    let number = |t: &str| t.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    let (count, per) = (
        number(count).ok_or("the number before `per` is missing or invalid")?,
        number(per).filter(|p| *p >= 1.0).ok_or("the number after `per` is missing or below 1")?,
    );
    match (count, per, equal) {
        (0.0, _, true) => Ok(Quantity::NoneMissed),
        (c, 1.0, _) if c >= 1.0 => Err("state the number of releases: `missed <= 3 per 1e6`".into()),
        (c, p, _) if c > 0.0 && c < p => Ok(Quantity::MissedShare(c / p)),
        _ => Err("the share must lie between 0 and 1".into()),
    }
}

/// Names of the units of a rate and their lengths in seconds, longest first.
const RATES: [(&str, f64); 5] =
    [("week", 604_800.0), ("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0)];

fn rate(text: &str) -> Result<f64, String> {
    let (count, unit) = text.split_once("per").ok_or("write a rate, for example `episodes(>100us) < 1 per day`")?;
    let count = count
        .parse::<f64>()
        .ok()
        .filter(|x| x.is_finite() && *x > 0.0)
        .ok_or("the number of episodes is missing or not positive")?;
    let unit = RATES.iter().find(|(name, _)| *name == unit);
    let (_, seconds) = unit.ok_or("the unit of a rate must be second, minute, hour, day or week")?;
    Ok(count / seconds)
}

fn limit(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos(0)) => Err("no wakeup can meet a limit of 0".into()),
        Ok(limit) => Ok(limit),
        Err(e) => Err(e.to_string()),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if p > 0.0 && p < 1.0 => Ok(p),
        _ => Err("a probability must lie between 0 and 1, for example 1e-6".into()),
    }
}

/// Formats a duration in the largest unit that is exact, so that it parses back to the same number.
fn exact(n: Nanos) -> String {
    for (size, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if n.0 >= size && n.0.is_multiple_of(size) {
            return format!("{}{unit}", n.0 / size);
        }
    }
    format!("{}ns", n.0)
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.of.as_ref().map(ToString::to_string).unwrap_or_default();
        let (space, max) = if of.is_empty() { ("", "max") } else { (" ", of.as_str()) };
        let missed = match &self.of {
            Some(of) => format!("late({})", of.threads().join(" > ")),
            None => "missed".to_owned(),
        };
        match self.quantity {
            Quantity::Max(limit) => write!(f, "{max} < {}", exact(limit))?,
            Quantity::Quantile { q, limit } => {
                // Rounding to twelve digits hides the floating-point error of q = percent / 100.
                let percent = format!("{:.10}", q * 100.0);
                let percent = percent.trim_end_matches('0').trim_end_matches('.');
                write!(f, "p{percent}{space}{of} < {}", exact(limit))?;
            }
            Quantity::Exceedance { limit, p } => write!(f, "P({of}{space}>{space}{}) < {p:e}", exact(limit))?,
            Quantity::Episodes { limit, per_second } => {
                // Uses the longest unit in which the rate is a whole number, otherwise a week.
                let in_unit = |seconds: f64| round_share(per_second * seconds);
                let whole =
                    RATES.iter().rev().find(|(_, seconds)| in_unit(*seconds).fract() == 0.0).unwrap_or(&RATES[0]);
                let (limit, count) = (exact(limit), in_unit(whole.1));
                write!(f, "episodes({of}{space}>{space}{limit}) < {count} per {}", whole.0)?;
            }
            Quantity::NoneMissed => write!(f, "{missed} = 0")?,
            Quantity::MissedShare(share) => write!(f, "{missed} <= {} per 1e6", round_share(share * 1e6))?,
        }
        if let Some(stall) = self.stall {
            write!(f, " @stall {}", exact(stall))?;
        }
        match self.quantity {
            Quantity::Max(_) | Quantity::NoneMissed if self.confidence == USUAL_CONFIDENCE => Ok(()),
            _ => write!(f, " @{}%", round_share(self.confidence * 100.0)),
        }
    }
}

fn round_share(x: f64) -> f64 {
    let scale = 10f64.powi(9 - x.abs().log10().ceil() as i32);
    (x * scale).round() / scale
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Claim {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Claim".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "What must hold: max < 100us, p99.99 < 50us @95%, P(>100us) < 1e-6 @stall 50ms @95%, episodes(>100us) < 1 per day @95%, missed = 0; for an application response(THREAD) < 800us, late(THREAD) = 0, jitter(THREAD) < 50us, cpu(THREAD) < 300us, chain(A > B) < 2ms"})
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_contracts_forms() {
        let claim = |s: &str| s.parse::<Claim>().unwrap();
        assert_eq!(claim("max < 100us").quantity, Quantity::Max(Nanos::from_micros(100)));
        assert_eq!(claim("max<=10s").quantity, Quantity::Max(Nanos::from_secs(10)));
        assert_eq!(claim("missed = 0"), Claim::none_missed());
        assert_eq!(claim("hard"), Claim::none_missed());
        assert_eq!(claim("firm").quantity, claim("missed ≤ 3 per 1e6").quantity);
        let p = claim("P(>100us) < 1e-6 @99%");
        assert_eq!(p.quantity, Quantity::Exceedance { limit: Nanos::from_micros(100), p: 1e-6 });
        assert_eq!(p.confidence, 0.99);
        match claim("p99.99 < 50us").quantity {
            Quantity::Quantile { q, limit } => {
                assert!((q - 0.9999).abs() < 1e-12);
                assert_eq!(limit, Nanos::from_micros(50));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for bad in [
            "",
            "max",
            "max < 100",
            "max < 0us",
            "p101 < 1us",
            "p0 < 1us",
            "P(>1us < 2",
            "P(>1us) < 2",
            "mean < 1us",
            "missed = 3",
            "missed < 0",
            "p99 < 1us @5",
            "p99 < 1us @100%",
            "max > 3us",
            "max < 1us @stall 1ms",
            "P(>1us) < 0.1 @stall",
            "P(>1us) < 0.1 @stall 1ms @stall 2ms",
            "P(>1us) < 0.1 @95% @99%",
            "episodes(>1us) < 1",
            "episodes(>1us) < 1 per year",
            "episodes(>1us) < 0 per day",
            "episodes(>1us) < 1e-300 per week",
            "P(>1us) < 0.1 @99.99999999999%",
            "p99.999999999999 < 1ms",
            "p0.00000000001 < 1ms",
            "episodes(>1us < 1 per day",
            "response() < 1ms",
            "response(a < 1ms",
            "response(a)",
            "chain(a) < 1ms",
            "max late(a) = 0",
            "late(a) = 3",
            "response(a) < 1ms < 2ms",
            "@",
            "P(",
            ")<",
        ] {
            let error = bad.parse::<Claim>().expect_err(bad).to_string();
            assert!(error.contains("max < 100us"), "{error}");
        }
    }

    #[test]
    fn reads_back_what_it_writes() {
        for text in [
            "max < 100us",
            "p99.99 < 50us @95%",
            "P(>100us) < 1e-6 @95%",
            "missed = 0",
            "missed <= 3 per 1e6 @95%",
            "P(>1s) < 1e-12 @99.9%",
            "max < 1500ns",
            "missed <= 1000 per 1e6 @95%",
            "missed <= 1000 per 1e6 @stall 1500us @95%",
            "P(>100us) < 1e-6 @stall 50ms @95%",
            "p99.99 < 50us @stall 50ms @95%",
            "episodes(>100us) < 1 per day @95%",
            "episodes(>100us) < 3 per week @99%",
            "episodes(>1ms) < 7 per hour @95%",
            "response(control) < 800us",
            "response(rx 1 (a)) < 800us",
            "late(control) = 0",
            "late(control) <= 3 per 1e6 @95%",
            "p99.9 jitter(control) < 50us @95%",
            "cpu(control) < 300us",
            "chain(driver > control > log) < 2ms",
            "P(response(control) > 800us) < 1e-6 @stall 50ms @95%",
            "episodes(response(control) > 1ms) < 7 per hour @95%",
        ] {
            let claim: Claim = text.parse().unwrap();
            assert_eq!(claim.to_string(), text);
            assert_eq!(claim.to_string().parse::<Claim>().unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = text.parse::<Claim>();
        }

        #[test]
        fn nearly_claims_are_answered(text in "(max|p[0-9.]{0,4}|P\\(>[0-9a-z]{0,4}\\)|missed)[<=≤]{0,2}[0-9.e a-z-]{0,8}(@[0-9]{0,3}%?)?") {
            if let Ok(claim) = text.parse::<Claim>() {
                prop_assert!(claim.to_string().parse::<Claim>().is_ok(), "{claim}");
            }
        }
    }
}
