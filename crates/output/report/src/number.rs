use punctual_units::Nanos;

/// Formats a number with thousands separators: `1,800,000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a possibly fractional (effective) number of samples: `720,000`.
pub fn count_f(n: f64) -> String {
    if n.is_finite() && n < 1e15 { count(n.max(0.0).round() as u64) } else { format!("{n:.1e}") }
}

/// Formats an upper bound with two digits, rounded up, so that the printed bound holds too: `1.7e-6`, `0.42`.
pub fn at_most(p: f64) -> String {
    bound(p, |shown| shown < p, 1.0)
}

/// Formats a lower bound with two digits, rounded down.
pub fn at_least(p: f64) -> String {
    bound(p, |shown| shown > p, -1.0)
}

/// Formats two digits; adds `step` to the last digit if rounding would be too optimistic.
fn bound(p: f64, flatters: impl Fn(f64) -> bool, step: f64) -> String {
    let text = probability(p);
    match text.parse::<f64>() {
        Ok(shown) if flatters(shown) => {
            let last = if p >= 0.01 { 0.01 } else { 10f64.powf(p.log10().floor() - 1.0) };
            probability((shown + step * last).clamp(0.0, 1.0))
        }
        _ => text,
    }
}

/// Formats a probability with two significant digits: `1.7e-6`, `0.42`.
pub fn probability(p: f64) -> String {
    if p >= 0.01 || p == 0.0 { format!("{p:.2}") } else { plain_exponent(format!("{p:.1e}")) }
}

/// Formats a probability that somebody chose, as short as possible: `1e-7`.
pub fn round_probability(p: f64) -> String {
    plain_exponent(format!("{p:.1e}"))
}

fn plain_exponent(text: String) -> String {
    text.replace(".0e", "e")
}

/// Formats a percentage: `51 %`, with decimals if needed.
pub fn percent(p: f64) -> String {
    let percent = p * 100.0;
    match percent {
        x if x >= 99.95 && p < 1.0 => "> 99.9 %".into(),
        x if (9.95..99.0).contains(&x) || x == 0.0 || x >= 99.95 => format!("{x:.0} %"),
        x if x >= 0.095 => format!("{x:.1} %"),
        _ => "< 0.1 %".into(),
    }
}

pub fn confidence(c: f64) -> String {
    let text = format!("{:.4}", c * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats three digits, or `–` if the value is missing: `93.0 µs`.
pub fn nanos(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".into(), |n| Nanos(n).to_string())
}

/// Formats as [`nanos`] does; formats a whole number of microseconds if latencies are recorded in microseconds: `93
/// µs`.
pub fn latency(ns: Option<u64>, whole_micros: bool) -> String {
    match ns {
        // An upper bound ends just below the next microsecond.
        Some(n @ 1_000..999_000) if whole_micros => format!("{} µs", n.div_ceil(1_000)),
        _ => nanos(ns),
    }
}

/// Formats a size with binary units: `2.1 MiB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_024 => format!("{n} B"),
        1_024..1_048_576 => format!("{:.1} KiB", n as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", n as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", n as f64 / 1_073_741_824.0),
    }
}

/// Formats three significant digits, with separators from a thousand on.
pub fn rate(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "–".into(),
        v if v >= 1000.0 => count_f(value),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats a number and its noun: `1 load`, `3 loads`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Inserts no-break spaces where a line must not break: in `93.0 µs`, and in `P(> 93.0 µs) ≤ 4e-5`.
pub fn tie(text: &str) -> String {
    const UNITS: [&str; 7] = ["ns", "µs", "ms", "s", "min", "h", "%"];
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    for (n, word) in text.split(' ').enumerate() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')', '`']));
        let to_number = is_unit && before.ends_with(|c: char| c.is_ascii_digit());
        let to_sign = matches!(word, "<" | "≤" | "=") || before.ends_with(['<', '≤', '=']) || before == "P(>";
        match n {
            0 => {}
            _ if to_number || to_sign => out.push('\u{a0}'),
            _ => out.push(' '),
        }
        out.push_str(word);
        before = word;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_them() {
        assert_eq!([0, 999, 1_000, 1_800_000].map(count), ["0", "999", "1,000", "1,800,000"]);
        assert_eq!([1.7e-6, 1e-7, 0.42, 0.0].map(probability), ["1.7e-6", "1e-7", "0.42", "0.00"]);
        assert_eq!([0.512, 0.9999, 1.0, 0.0004, 0.042].map(percent), ["51 %", "> 99.9 %", "100 %", "< 0.1 %", "4.2 %"]);
        assert_eq!([0.95, 0.999].map(confidence), ["95 %", "99.9 %"]);
        assert_eq!([512, 2_200_000].map(bytes), ["512 B", "2.1 MiB"]);
        assert_eq!([1_234.6, 12.345].map(rate), ["1,235", "12.3"]);
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(tie("late by 9 µs, so"), "late by 9\u{a0}µs, so");
        assert_eq!(tie("P(> 9 µs) ≤ 4e-5 at s"), "P(>\u{a0}9\u{a0}µs)\u{a0}≤\u{a0}4e-5 at s");
    }
}
