//! Days and times back.

use punctual_units::Nanos;
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970 of the beginning of a day (`2026-11-01`, UTC), or of this long ago (`30d`).
pub fn since(text: &str) -> Result<u64, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    if let Some(day) = day(text.trim()) {
        return Ok(day);
    }
    let back = text.trim().parse::<Nanos>();
    let back = back.map_err(|_| format!("`{text}` is no day and no time: write 2026-11-01 or 30d"))?;
    Ok(u64::try_from(now).unwrap_or(u64::MAX).saturating_sub(back.0))
}

fn day(text: &str) -> Option<u64> {
    let mut parts = text.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let possible = parts.next().is_none() && (1970..=2500).contains(&year) && (1..=12).contains(&month);
    if !possible || !(1..=31).contains(&day) {
        return None;
    }
    // Howard Hinnant's days_from_civil (howardhinnant.github.io/date_algorithms.html): years begin in March.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    days.checked_sub(719_468)?.checked_mul(86_400_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for text in ["1970-01-01", "2000-02-29", "2024-12-31", "2026-11-01", "2100-03-01"] {
            assert_eq!(punctual_report::utc(since(text).unwrap()), format!("{text}T00:00:00Z"));
        }
        assert!(since("30d").unwrap() < since("1d").unwrap());
        assert!(
            ["yesterday", "2026-13-01", "2026-1", "1-2-3-4", "99999999999999999999-1-1"]
                .iter()
                .all(|t| since(t).is_err())
        );
    }
}
