use jiff::fmt::rfc2822::DateTimeParser;

/// Parses a date such as `Fri, 20 Nov 2026 21:04:11 +0000` to nanoseconds since 1970; `None` if it has another format.
pub(crate) fn rfc2822(text: &str) -> Option<u64> {
    let time = DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_rt_tests() {
        assert_eq!(rfc2822("Fri, 20 Nov 2026 21:04:11 +0000"), Some(1_795_208_651_000_000_000));
        assert_eq!(rfc2822("Fri, 20 Nov 2026 22:04:11 +0100"), Some(1_795_208_651_000_000_000));
        assert_eq!(rfc2822("Thu, 01 Jan 1970 00:00:00 +0000"), Some(0));
        for bad in [
            "",
            "Fri",
            "Fri, 99 Nov 2026 21:04:11 +0000",
            "31 Feb 2026 21:04:11 +0000",
            "1 x 2026",
            "1 Jan 2026 9",
            "1 Jan 1970 00:00:00 +0100",
        ] {
            assert_eq!(rfc2822(bad), None, "{bad}");
        }
    }
}
