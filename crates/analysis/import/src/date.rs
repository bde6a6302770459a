/// Nanoseconds since 1970 of a date such as `Fri, 20 Nov 2026 21:04:11 +0000`.
pub(crate) fn rfc2822(text: &str) -> Option<u64> {
    let rest = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = rest.split_ascii_whitespace();
    let day: i64 = words.next()?.parse().ok().filter(|d| (1..=31).contains(d))?;
    let name = words.next()?.to_ascii_lowercase();
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let month = months.iter().position(|m| name.starts_with(m))? as i64 + 1;
    let year: i64 = words.next()?.parse().ok().filter(|y| (1970..=2500).contains(y))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let mut part = |most: i64| clock.next()?.filter(|n| (0..=most).contains(n));
    let (hour, minute, second) = (part(23)?, part(59)?, part(60)?);
    let zone = words.next().unwrap_or("+0000");
    let offset: i64 = zone.parse().ok().filter(|z: &i64| z.abs() <= 1_400)?;
    let east = (offset / 100) * 3_600 + (offset % 100) * 60;
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - east;
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)
}

/// Days since 1970-01-01 in the Gregorian calendar. Howard Hinnant's `days_from_civil`
/// (howardhinnant.github.io/date_algorithms.html).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_rt_tests() {
        assert_eq!(rfc2822("Fri, 20 Nov 2026 21:04:11 +0000"), Some(1_795_208_651_000_000_000));
        assert_eq!(rfc2822("Fri, 20 Nov 2026 22:04:11 +0100"), Some(1_795_208_651_000_000_000));
        assert_eq!(rfc2822("Thu, 01 Jan 1970 00:00:00 +0000"), Some(0));
        for bad in
            ["", "Fri", "Fri, 99 Nov 2026 21:04:11 +0000", "1 x 2026", "1 Jan 2026 9", "1 Jan 1970 00:00:00 +0100"]
        {
            assert_eq!(rfc2822(bad), None, "{bad}");
        }
    }
}
