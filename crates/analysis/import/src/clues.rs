//! Recognizes figures of a tool in lines that no reader accepted. Where it is safe, such figures are read even after
//! other text on the line. Otherwise they are reported as a problem, since they may include a worse latency.

/// Returns the position at which a row of cyclictest or signaltest begins after other text.
pub(crate) fn inside(text: &str) -> Option<usize> {
    let at = text.match_indices("T:").map(|(at, _)| at).find(|&at| is_row(text.get(at..).unwrap_or_default()))?;
    (at > 0).then_some(at)
}

/// Returns true for a row such as `T: 0 (22445) …`.
fn is_row(text: &str) -> bool {
    let after = text.get(2..).unwrap_or_default().trim_start();
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(tid) = rest.trim_start().strip_prefix('(').filter(|_| rest.len() < after.len()) else { return false };
    let tid = tid.trim_start();
    tid.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with(')')
        && tid.starts_with(|c: char| c.is_ascii_digit())
}

/// Substrings that identify the figures of a tool.
const MARKS: [&str; 17] = [
    "# histogram",
    "latencies:",
    "latencys:",
    "# total:",
    "histogram overflow",
    "rtd|",
    "rth|",
    "rts|",
    "cyclic: sched",
    "max latency:",
    "irq timer latency",
    "thread latency:",
    "# break value",
    "spike:",
    "oslat v",
    "t_experiment",
    "core_i:",
];

/// Returns true if the line looks like figures of a tool.
pub(crate) fn figures(text: &str) -> bool {
    // All of these formats have a colon, a bar, a hash or zeros before a number.
    let telling = |b: u8| matches!(b, b':' | b'|' | b'#');
    if !text.bytes().any(telling) && !text.contains("000") && !text.contains("max") && !text.contains("MAX") {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let mark = MARKS.iter().any(|mark| lower.contains(mark)) && lower.bytes().any(|b| b.is_ascii_digit());
    mark || live(&lower) || bins(&lower) || top(&lower) || verbose(&lower)
}

/// Returns true for a row with thread, cycles and extremes, in any case.
fn live(lower: &str) -> bool {
    let number_after = |key: &str| {
        let mut found = lower.match_indices(key).filter_map(|(at, _)| lower.get(at + key.len()..));
        found.any(|rest| rest.trim_start_matches([':', ' ']).starts_with(|c: char| c.is_ascii_digit()))
    };
    lower.contains('(') && number_after("min") && number_after("max") && number_after("avg") && number_after("t")
}

/// Returns true for bins such as `000011 000000`, with at least six digits each.
fn bins(lower: &str) -> bool {
    let padded = |word: &str| word.len() == 6 && word.starts_with('0') && word.bytes().all(|b| b.is_ascii_digit());
    let mut before = false;
    lower.contains("000")
        && lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).any(|word| {
            let now = padded(word);
            std::mem::replace(&mut before, now) && now
        })
}

/// Returns true for a CPU of rtla top, such as `1 #120004 |`.
fn top(lower: &str) -> bool {
    let count =
        |word: &str| word.strip_prefix('#').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    lower.contains('|') && lower.split_ascii_whitespace().any(count)
}

/// Returns true for a row such as `       0:       0:      49`.
fn verbose(lower: &str) -> bool {
    let mut parts = lower.rsplit(':');
    let padded = |part: &str| {
        part.starts_with("   ") && part.trim().bytes().all(|b| b.is_ascii_digit()) && !part.trim().is_empty()
    };
    parts.next().is_some_and(padded) && parts.next().is_some_and(padded) && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_known_anywhere_and_prose_is_none() {
        for yes in [
            "(000011 000000 000001)",
            "* RTD|  1.2|  2.3|  149.8",
            "host-a 1 #120004 | 1 2 3 4",
            "t: 0 (12) p:95 i:1000 c: 60000 min: 9 act: 18 avg: 15 max: 3400",
            "worst # Max Latencies: 00534",
            "x       0:       0:      49",
        ] {
            assert!(figures(yes), "{yes}");
        }
        for no in [
            "at 12:31:01 we saw 3 errors",
            "min, avg and max were fine (see below)",
            "CPU 2,3 of 4",
            "| a | b |",
            "issue 12 | closed",
        ] {
            assert!(!figures(no), "{no}");
        }
        assert_eq!(inside("With load: T: 0 ( 12) P:95"), Some(11));
        assert_eq!(inside("T: 0 ( 12) P:95"), None);
        assert_eq!(inside("LAT: 0 of 5"), None);
    }
}
