use jiff::Timestamp;
use punctual_model::{Event, Recording};
use std::time::Duration;

/// Formats nanoseconds since 1970 as ISO 8601: `2026-01-02T03:04:05Z`.
pub fn utc(real_ns: u64) -> String {
    format!("{:.0}", timestamp(real_ns))
}

/// Formats as [`utc`] does, with milliseconds.
pub fn utc_millis(real_ns: u64) -> String {
    format!("{:.3}", timestamp(real_ns))
}

/// Formats as mail and rt-tests do (RFC 5322): `Fri, 20 Nov 2026 21:03:58 +0000`.
pub fn utc_mail(real_ns: u64) -> String {
    timestamp(real_ns).strftime("%a, %d %b %Y %T %z").to_string()
}

fn timestamp(real_ns: u64) -> Timestamp {
    Timestamp::UNIX_EPOCH + Duration::from_nanos(real_ns)
}

/// Converts CLOCK_MONOTONIC to ns since 1970: the run's start plus the time since then, including the time the machine
/// was suspended. Steps of CLOCK_REALTIME during the run are ignored.
pub fn real_of(recording: &Recording, mono_ns: u64) -> u64 {
    // An imported run without a start contains no times.
    let Some(start) = recording.run.started else { return mono_ns };
    let asleep = recording.events.iter().fold(0u64, |sum, event| match event {
        Event::Suspend { mono_ns: at, asleep_ns } if *at <= mono_ns => sum.saturating_add(*asleep_ns),
        _ => sum,
    });
    // A time before the start (an imported clock, a damaged line) must not wrap around.
    let since = start.real_ns.saturating_add(mono_ns).saturating_add(asleep);
    since.saturating_sub(start.mono_ns)
}

/// Formats CLOCK_MONOTONIC as UTC with milliseconds; `None` for an imported run without a start.
pub fn utc_of(recording: &Recording, mono_ns: u64) -> Option<String> {
    recording.run.started.map(|_| utc_millis(real_of(recording, mono_ns)))
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
    fn the_far_end_is_a_date_too() {
        assert_eq!(utc(u64::MAX), "2554-07-21T23:34:33Z");
    }
}
