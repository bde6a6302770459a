use super::Looks;
use punctual_units::Nanos;

pub(super) fn unknown(looks: Looks) -> &'static str {
    if looks.unicode { "–" } else { "-" }
}

/// Formats a latency, for example `12.3 µs`; a placeholder if unknown.
pub(super) fn latency(ns: Option<u64>, looks: Looks) -> String {
    match ns {
        Some(ns) => ascii(Nanos(ns).to_string(), looks),
        None => unknown(looks).into(),
    }
}

/// Replaces µ by u if the terminal cannot display it.
pub(super) fn ascii(text: String, looks: Looks) -> String {
    if looks.unicode { text } else { text.replace('µ', "u") }
}

/// Formats a duration that changes while it is displayed: in whole seconds, or tenths of a second if it is short.
pub(super) fn seconds(ns: Nanos) -> String {
    let s = ns.0 / 1_000_000_000;
    match s {
        0..=9 => format!("{}.{} s", s, ns.0 / 100_000_000 % 10),
        10..=119 => format!("{s} s"),
        120..=7199 => format!("{} min {:02} s", s / 60, s % 60),
        7200..=172_799 => format!("{} h {:02} min", s / 3600, s / 60 % 60),
        _ => format!("{} days", s / 86_400),
    }
}

/// Formats the remaining time, rounded up, so that it and the displayed elapsed time add up to the total.
pub(super) fn rest(ns: Nanos) -> String {
    seconds(if ns.0 >= 10_000_000_000 { Nanos(ns.0.saturating_add(999_999_999)) } else { ns })
}

/// Formats a share as a percentage. A non-zero share is never displayed as zero.
pub(super) fn share(of_one: Option<f64>, looks: Looks) -> String {
    match of_one {
        Some(share) if share > 0.0 && share < 0.001 => "<0.1 %".into(),
        Some(share) => format!("{:.1} %", share * 100.0),
        None => unknown(looks).into(),
    }
}

/// Formats a temperature given in m°C.
pub(super) fn celsius(milli: i64, looks: Looks) -> String {
    let unit = if looks.unicode { "°C" } else { "C" };
    format!("{:.0} {unit}", milli as f64 / 1000.0)
}

pub(super) fn hertz(khz: u64) -> String {
    if khz >= 1_000_000 { format!("{:.2} GHz", khz as f64 / 1e6) } else { format!("{} MHz", khz / 1000) }
}

/// Formats a count in at most eight columns: `12345678`, then `123.5 M`.
pub(super) fn count(n: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G")];
    if n < 100_000_000 {
        return n.to_string();
    }
    let n = n as f64;
    match UNITS.into_iter().find(|(unit, _)| n >= *unit) {
        Some((unit, letter)) => format!("{:.2} {letter}", n / unit),
        None => format!("{:.1} M", n / 1e6),
    }
}

pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

/// Returns the first `room` characters of a text.
pub(super) fn shortened(text: &str, room: usize, looks: Looks) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    if room == 0 { kept } else { kept + if looks.unicode { "…" } else { "~" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let looks = Looks { unicode: true, colour: false };
        assert_eq!(
            [0, 9_990_000_000, 59_000_000_000, 3_725_000_000_000].map(|n| seconds(Nanos(n))),
            ["0.0 s", "9.9 s", "59 s", "62 min 05 s"]
        );
        assert_eq!(seconds(Nanos(86_400_000_000_000)), "24 h 00 min");
        assert_eq!(
            [99_999_999, 123_456_789, 1_500_000_000_000, u64::MAX].map(count),
            ["99999999", "123.5 M", "1.50 T", "18.45 E"]
        );
        assert_eq!(
            [Some(0.0), Some(0.0001), Some(0.5), None].map(|s| share(s, looks)),
            ["0.0 %", "<0.1 %", "50.0 %", "–"]
        );
        assert_eq!((hertz(800_000), hertz(2_400_000)), ("800 MHz".into(), "2.40 GHz".into()));
        assert_eq!((shortened("abcdef", 4, looks), shortened("abc", 0, looks)), ("abc…".into(), String::new()));
        assert_eq!(clean("a\x1b[2Jb\n"), "a [2Jb ");
        assert_eq!(latency(Some(1_500), Looks { unicode: false, colour: false }), "1.50 us");
    }
}
