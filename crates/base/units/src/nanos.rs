//! Nanoseconds, and durations as text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// A duration, or a point in time on a clock that the context determines, in nanoseconds.
///
/// The range is 584 years. Serialized as a plain number under a key that ends in `_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const ZERO: Nanos = Nanos(0);

    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }

    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Returns the difference, or zero if `other` is larger.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(n: Nanos) -> Self {
        std::time::Duration::from_nanos(n.0)
    }
}

/// Prints three significant digits with a suitable unit: `850 ns`, `9.34 µs`, `331 µs`, `4.16 ms`, `1.50 s`,
/// `2 min 5 s`, `34.7 days`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.as_secs_f64();
        // The limits are the values that round to three digits in the next unit.
        let text = match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..999_500 => three_digits(self.as_micros_f64(), "µs"),
            999_500..999_500_000 => three_digits(s * 1e3, "ms"),
            999_500_000..119_500_000_000 => three_digits(s, "s"),
            119_500_000_000..7_200_000_000_000 => two_units(s.round() as u64, 60, "min", "s"),
            7_200_000_000_000..172_800_000_000_000 => two_units((s / 60.0).round() as u64, 60, "h", "min"),
            _ if s < 2.0 * 365.25 * 86400.0 => three_digits(s / 86400.0, "days"),
            _ => three_digits(s / (365.25 * 86400.0), "years"),
        };
        f.pad(&text)
    }
}

fn three_digits(value: f64, unit: &str) -> String {
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

fn two_units(small: u64, per: u64, big: &str, little: &str) -> String {
    match small % per {
        0 => format!("{} {big}", small / per),
        rest => format!("{} {big} {rest} {little}", small / per),
    }
}

#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("`{0}` has no unit: write for example 500us, 2ms, 30s, 15m or 24h")]
    NoUnit(String),
    /// The unit is not one of ns, us, µs, ms, s, sec, m, min, h, d.
    #[error("`{0}` ends in an unknown unit `{1}`: use ns, us, ms, s, m, h or d")]
    UnknownUnit(String, String),
    #[error("`{0}` is not a duration: write a number and a unit, for example 500us or 15m")]
    NotANumber(String),
    /// The duration exceeds `i64::MAX` nanoseconds.
    #[error("`{0}` is longer than 292 years, the longest duration that is supported")]
    TooLong(String),
}

/// Parses durations such as `500us`, `1.5ms`, `2s`, `15m`, `24h` and `7d`. A unit is required, except for `0`, because
/// a number such as `1000` would be ambiguous.
impl FromStr for Nanos {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let at = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..at], trimmed[at..].trim());
        if number.is_empty() || number.matches('.').count() > 1 || !number.contains(|c: char| c.is_ascii_digit()) {
            return Err(DurationError::NotANumber(text.into()));
        }
        if unit.is_empty() && number.chars().all(|c| c == '0') {
            return Ok(Nanos::ZERO);
        }
        let scale: u64 = match unit {
            "" => return Err(DurationError::NoUnit(text.into())),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" | "sec" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            other => return Err(DurationError::UnknownUnit(text.into(), other.into())),
        };
        decimal_times(number, scale).ok_or_else(|| DurationError::TooLong(text.into()))
    }
}

/// Returns `number × scale`, computed without floating point. Fractions of a nanosecond are truncated. `None` if the
/// result exceeds `i64::MAX`.
fn decimal_times(number: &str, scale: u64) -> Option<Nanos> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.bytes() {
        unit /= 10;
        total = total.checked_add(unit * u64::from(digit - b'0'))?;
    }
    (total <= i64::MAX as u64).then_some(Nanos(total))
}

crate::debug_as_display!(DurationError);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_type() {
        for (text, ns) in [
            ("500us", 500_000),
            ("2s", 2_000_000_000),
            ("1.5ms", 1_500_000),
            ("15m", 900_000_000_000),
            ("24h", 86_400_000_000_000),
            ("7d", 604_800_000_000_000),
            ("100 µs", 100_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn refuses_what_could_mean_two_things() {
        assert!(matches!("1000".parse::<Nanos>(), Err(DurationError::NoUnit(_))));
        assert!(matches!("1x".parse::<Nanos>(), Err(DurationError::UnknownUnit(..))));
        assert!(matches!("-1s".parse::<Nanos>(), Err(DurationError::NotANumber(_))));
        assert!(matches!("1.2.3s".parse::<Nanos>(), Err(DurationError::NotANumber(_))));
        assert!(matches!("999999999d".parse::<Nanos>(), Err(DurationError::TooLong(_))));
        assert!(matches!("99999999999999999999999s".parse::<Nanos>(), Err(DurationError::TooLong(_))));
    }

    #[test]
    fn shows_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (9_340, "9.34 µs"),
            (93_000, "93.0 µs"),
            (331_200, "331 µs"),
            (999_600, "1.00 ms"),
            (4_164_000, "4.16 ms"),
            (1_500_000_000, "1.50 s"),
            (125_000_000_000, "2 min 5 s"),
            (86_400_000_000_000, "24 h"),
            (2_995_732_000_000_000, "34.7 days"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = text.parse::<Nanos>();
        }

        #[test]
        fn whole_nanoseconds_survive(ns in 0u64..=i64::MAX as u64) {
            prop_assert_eq!(format!("{ns}ns").parse(), Ok(Nanos(ns)));
        }
    }
}
