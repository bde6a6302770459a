//! Parses dates, and durations before the current time.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use punctual_units::Nanos;

/// Parses a day (`2026-11-01`, UTC) or a duration before now (`30d`). Returns nanoseconds since 1970.
pub fn since(text: &str) -> Result<u64, String> {
    if let Some(day) = day(text.trim()) {
        return Ok(day);
    }
    let back = text.trim().parse::<Nanos>();
    let back = back.map_err(|_| format!("`{text}` is neither a date nor a duration: write 2026-11-01 or 30d"))?;
    let now = u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default();
    Ok(now.saturating_sub(back.0))
}

fn day(text: &str) -> Option<u64> {
    let begins = Date::strptime("%Y-%m-%d", text).ok()?.to_zoned(TimeZone::UTC).ok()?;
    u64::try_from(begins.timestamp().as_nanosecond()).ok()
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
            ["yesterday", "2026-13-01", "2026-02-31", "2026-1", "1-2-3-4", "99999999999999999999-1-1"]
                .iter()
                .all(|t| since(t).is_err())
        );
    }
}
