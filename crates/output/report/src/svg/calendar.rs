//! Computes an axis of UTC: ticks at round times, labelled as briefly as possible without ambiguity.

use crate::date;
use jiff::civil::Date;
use jiff::tz::TimeZone;

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400;
/// Tick intervals shorter than a month, in seconds.
const STEPS: [u64; 19] = [
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    2 * 3_600,
    3 * 3_600,
    6 * 3_600,
    12 * 3_600,
    DAY,
    2 * DAY,
];
/// Tick intervals of a month or more, in months.
const MONTHS: [i16; 7] = [1, 3, 6, 12, 24, 60, 120];

/// Returns at most about `wanted` ticks between two instants of UTC, ns, with their labels.
pub fn ticks(from: u64, to: u64, wanted: usize) -> Vec<(u64, String)> {
    let least = to.saturating_sub(from) / wanted.max(1) as u64 / SECOND;
    let weeks = [7 * DAY, 14 * DAY];
    match STEPS.into_iter().chain(weeks).find(|step| *step >= least) {
        Some(step) => even(from, to, step),
        None => months(from, to, least),
    }
}

fn even(from: u64, to: u64, step: u64) -> Vec<(u64, String)> {
    // The first Monday of 1970 was the fifth of January.
    let shift = if step >= 7 * DAY { 4 * DAY } else { 0 };
    let ns = |n: u64| n.saturating_mul(step).saturating_add(shift).saturating_mul(SECOND);
    let first = (from / SECOND).saturating_sub(shift).div_ceil(step);
    (first..first.saturating_add(64))
        .map(ns)
        .filter(|at| *at >= from)
        .take_while(|at| *at <= to)
        .map(|at| (at, label(at, step)))
        .collect()
}

/// Formats a tick label: `03:04:05`, `03:04`, or the date at midnight.
fn label(at: u64, step: u64) -> String {
    let text = date::utc(at);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    match (step, at / SECOND % DAY) {
        (..60, clock) if clock != 0 => part(11, 19),
        (..DAY, clock) if clock != 0 => part(11, 16),
        _ => part(5, 10),
    }
}

fn months(from: u64, to: u64, least: u64) -> Vec<(u64, String)> {
    let step = MONTHS.into_iter().find(|n| *n as u64 * 28 * DAY > least).unwrap_or(120);
    let text = date::utc(from);
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<i16>().ok());
    let (Some(year), Some(month)) = (number(0, 4), number(5, 7)) else { return Vec::new() };
    let first = (year * 12 + month - 1) / step * step;
    let one = |n: i16| {
        let at = first.checked_add(n.checked_mul(step)?)?;
        let day = Date::new(at / 12, (at % 12 + 1) as i8, 1).ok()?;
        let ns = day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
        let label = if step < 12 { day.strftime("%Y-%m").to_string() } else { day.strftime("%Y").to_string() };
        Some((u64::try_from(ns).ok()?, label))
    };
    (0..64).filter_map(one).filter(|(at, _)| (from..=to).contains(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: &str, to: &str) -> Vec<String> {
        let ns = |text: &str| u64::try_from(text.parse::<jiff::Timestamp>().unwrap().as_nanosecond()).unwrap();
        ticks(ns(from), ns(to), 6).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn labels_are_round_and_differ() {
        assert_eq!(
            labels("2026-03-31T03:04:05Z", "2026-03-31T03:04:17Z"),
            ["03:04:06", "03:04:08", "03:04:10", "03:04:12", "03:04:14", "03:04:16"].map(String::from)
        );
        assert_eq!(labels("2026-03-31T21:10:00Z", "2026-04-01T04:00:00Z"), ["22:00", "04-01", "02:00", "04:00"]);
        assert_eq!(labels("2026-03-01T12:00:00Z", "2026-03-20T00:00:00Z"), ["03-02", "03-09", "03-16"]);
        assert_eq!(labels("2025-11-11T00:00:00Z", "2026-09-20T00:00:00Z"), ["2026-01", "2026-04", "2026-07"]);
        let years = ["2000", "2005", "2010", "2015", "2020", "2025"];
        assert_eq!(labels("1999-11-11T00:00:00Z", "2026-09-20T00:00:00Z"), years);
        for (from, to) in [(0, 0), (5, 5), (0, u64::MAX), (u64::MAX - 1, u64::MAX), (9, 3)] {
            assert!(ticks(from, to, 6).len() <= 64);
        }
    }
}
