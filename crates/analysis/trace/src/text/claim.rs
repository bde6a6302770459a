//! Reads a maximum that a line beside the trace states, such as `max latency 17373 µs` of the program that was run.

use super::scan;

/// Returns the largest time in the line, ns, and the line; `None` if it states no maximum.
pub(super) fn claim(line: &[u8]) -> Option<(u64, String)> {
    const LONGEST: usize = 200;
    const UNITS: [(&str, f64); 8] = [
        ("us", 1e3),
        ("µs", 1e3),
        ("μs", 1e3),
        ("usec", 1e3),
        ("usecs", 1e3),
        ("ms", 1e6),
        ("msec", 1e6),
        ("msecs", 1e6),
    ];
    let line = std::str::from_utf8(line).ok().filter(|line| line.len() <= LONGEST)?;
    line.to_ascii_lowercase().contains("max").then_some(())?;
    let words: Vec<&str> =
        line.split([' ', '\t', ',', ';', '(', ')', ':', '=']).filter(|word| !word.is_empty()).collect();
    let times = words.iter().enumerate().filter_map(|(n, word)| {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let (number, rest) = word.split_at_checked(end)?;
        let unit = if rest.is_empty() { words.get(n + 1)? } else { rest };
        let (_, ns) = UNITS.iter().find(|(name, _)| *name == unit)?;
        Some((number.parse::<f64>().ok()? * ns) as u64)
    });
    Some((times.max()?, scan::text(line.trim().as_bytes(), 80)))
}

#[cfg(test)]
mod tests {
    use super::claim;

    #[test]
    fn a_maximum_has_a_unit() {
        assert_eq!(claim("test 259.4 s max seen 17373 µs".as_bytes()).map(|(ns, _)| ns), Some(17_373_000));
        assert_eq!(claim(b" Max=2.5ms, avg=3us").map(|(ns, _)| ns), Some(2_500_000));
        for line in ["# echo 0 >preempt_max_latency", "lost 17373 us", "max 17373"] {
            assert_eq!(claim(line.as_bytes()), None);
        }
    }
}
