//! Mapping of pulses to digits, which differs between countries.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DigitMap {
    /// One to nine pulses mean 1 to 9, ten mean 0; used in most countries.
    #[default]
    Usual,
    /// One pulse means 0, ten mean 9.
    Sweden,
    /// Reversed: one pulse means 9, nine mean 1, ten mean 0. Also used in Oslo.
    NewZealand,
}

impl DigitMap {
    pub const ALL: [DigitMap; 3] = [DigitMap::Usual, DigitMap::Sweden, DigitMap::NewZealand];

    /// Returns the digit for 1 to 10 pulses; `None` for other numbers.
    pub fn digit(self, pulses: u8) -> Option<u8> {
        match (self, pulses) {
            (_, 0 | 11..) => None,
            (DigitMap::Usual, n) => Some(n % 10),
            (DigitMap::Sweden, n) => Some(n - 1),
            (DigitMap::NewZealand, n) => Some(10 - n),
        }
    }

    /// Returns the number of pulses of a digit, 0 to 9; `None` for other numbers.
    pub fn pulses(self, digit: u8) -> Option<u8> {
        (1..=10).find(|pulses| self.digit(*pulses) == Some(digit))
    }
}

impl fmt::Display for DigitMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DigitMap::Usual => "usual",
            DigitMap::Sweden => "sweden",
            DigitMap::NewZealand => "new-zealand",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digit map: write usual (ten pulses are 0), sweden (one pulse is 0) or new-zealand (reversed)")]
pub struct NoMap(String);

impl FromStr for DigitMap {
    type Err = NoMap;

    fn from_str(text: &str) -> Result<DigitMap, NoMap> {
        DigitMap::ALL.into_iter().find(|map| map.to_string() == text).ok_or_else(|| NoMap(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_country_has_ten_digits_and_its_own_zero() {
        for (map, zero, one, nine) in
            [(DigitMap::Usual, 10, 1, 9), (DigitMap::Sweden, 1, 2, 10), (DigitMap::NewZealand, 10, 9, 1)]
        {
            assert_eq!((map.pulses(0), map.pulses(1), map.pulses(9)), (Some(zero), Some(one), Some(nine)), "{map}");
            let mut digits: Vec<u8> = (1..=10).filter_map(|pulses| map.digit(pulses)).collect();
            digits.sort_unstable();
            assert_eq!(digits, (0..10).collect::<Vec<_>>());
            assert_eq!((map.digit(0), map.digit(11), map.pulses(10)), (None, None, None));
            assert_eq!(map.to_string().parse(), Ok(map));
        }
        assert!("swedish".parse::<DigitMap>().unwrap_err().to_string().contains("sweden"));
    }
}
