use punctual_model::{Event, Recording};

/// `2026-01-02T03:04:05Z` (ISO 8601) from nanoseconds since 1970.
pub fn utc(real_ns: u64) -> String {
    let (date, second, _) = parts(real_ns);
    format!("{date}T{}Z", clock(second))
}

/// As [`utc`], with milliseconds.
pub fn utc_millis(real_ns: u64) -> String {
    let (date, second, nanos) = parts(real_ns);
    format!("{date}T{}.{:03}Z", clock(second), nanos / 1_000_000)
}

/// `Fri, 20 Nov 2026 21:03:58 +0000` (RFC 5322), as mail and rt-tests write it.
pub fn utc_mail(real_ns: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = real_ns / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    // 1970-01-01 was a Thursday; months are 1 to 12.
    let weekday = DAYS[(seconds / 86_400 % 7) as usize];
    let month = MONTHS[(month as usize - 1) % 12];
    format!("{weekday}, {day:02} {month} {year:04} {} +0000", clock(seconds % 86_400))
}

fn parts(real_ns: u64) -> (String, u64, u64) {
    let seconds = real_ns / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    (format!("{year:04}-{month:02}-{day:02}"), seconds % 86_400, real_ns % 1_000_000_000)
}

fn clock(second: u64) -> String {
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// Gregorian year, month and day from days since 1970-01-01. Howard Hinnant's `civil_from_days`
/// (howardhinnant.github.io/date_algorithms.html): years begin in March, so that the leap day comes last.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Converts CLOCK_MONOTONIC to ns since 1970: counted from the run's start, plus the time the machine was suspended.
/// Steps of CLOCK_REALTIME during the run are ignored.
pub fn real_of(recording: &Recording, mono_ns: u64) -> u64 {
    // An imported run without a start has nothing with a time.
    let Some(start) = recording.run.started else { return mono_ns };
    let asleep = recording.events.iter().fold(0u64, |sum, event| match event {
        Event::Suspend { mono_ns: at, asleep_ns } if *at <= mono_ns => sum.saturating_add(*asleep_ns),
        _ => sum,
    });
    // A time before the start (an imported clock, a damaged line) must not wrap around.
    let since = start.real_ns.saturating_add(mono_ns).saturating_add(asleep);
    since.saturating_sub(start.mono_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), text);
        }
        assert_eq!(utc_millis(1_234_567_890_123_456_789), "2009-02-13T23:31:30.123Z");
    }

    #[test]
    fn mail_has_the_day_of_the_week() {
        assert_eq!(utc_mail(1_795_208_638_000_000_000), "Fri, 20 Nov 2026 21:03:58 +0000");
        assert_eq!(utc_mail(951_782_400_000_000_000), "Tue, 29 Feb 2000 00:00:00 +0000");
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = (1970, 1, 0);
        for day in 0..200_000 {
            let now = civil(day);
            let next_day = now == (before.0, before.1, before.2 + 1);
            let next_month = now.2 == 1 && (now.0, now.1) == (before.0 + before.1 / 12, before.1 % 12 + 1);
            assert!(next_day || next_month, "{before:?} {now:?}");
            before = now;
        }
    }

    #[test]
    fn the_far_end_is_a_date_too() {
        assert_eq!(utc(u64::MAX), "2554-07-21T23:34:33Z");
    }
}
