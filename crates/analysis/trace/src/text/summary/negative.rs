//! Finds times below zero that a tool printed as unsigned numbers.

/// Returns the first number of a text that is near 2^64 ns, in ns, µs, ms or s.
fn below_zero(head: &str) -> Option<&str> {
    head.lines().filter(|line| !is_bucket(line)).flat_map(words).find(|word| is_negative(word))
}

/// True for a row of a histogram: the last bucket ends there.
fn is_bucket(line: &str) -> bool {
    line.contains("->") || (line.trim_start().starts_with(['[', '(']) && line.contains('|'))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|word| !word.is_empty())
}

fn is_negative(word: &str) -> bool {
    let whole = word.split('.').next().unwrap_or(word);
    // 18446744073709551615 ns, also shown in µs, ms or s.
    matches!(whole.len(), 11 | 14 | 17 | 20) && whole.starts_with("1844674407")
}

/// Returns a remark on a number below zero.
pub(super) fn note(head: &str) -> Option<String> {
    below_zero(head)
        .map(|word| format!("; {word} is a number below 0 that was printed as an unsigned one, and not a time"))
}

/// Reads a text as if its numbers below zero were 0. If such a number would be the answer, says so instead.
pub(super) fn without(
    head: &str,
    read: impl Fn(&str) -> Option<(String, &'static str)>,
) -> Option<(String, &'static str)> {
    let Some(remark) = note(head) else { return read(head) };
    let replaced = |by: char| {
        let lines = head.lines().map(|line| {
            let mut line = line.to_owned();
            let found: Vec<String> = match is_bucket(&line) {
                true => Vec::new(),
                false => words(&line).filter(|word| is_negative(word)).map(str::to_owned).collect(),
            };
            for word in found {
                // Keeps the number of decimals.
                let decimals = word.split_once('.').map(|(_, decimals)| decimals.len());
                let zero = decimals.map_or(by.to_string(), |n| format!("{by}.{}", "0".repeat(n)));
                line = line.replace(&word, &zero);
            }
            line + "\n"
        });
        lines.collect::<String>()
    };
    let (what, next) = read(&replaced('0'))?;
    let (other, _) = read(&replaced('1'))?;
    if what == other {
        return Some((what + &remark, next));
    }
    let tool = what.split(" (").next().unwrap_or(&what);
    let of = head.lines().zip(head.lines().skip(1)).find(|(_, line)| words(line).any(is_negative));
    let alone = |line: &str| words(line).count() == 1 && line.trim().bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let of = of
        .map(|(before, line)| if alone(line) { before } else { line }.split_whitespace().collect::<Vec<_>>().join(" "));
    let of = of.map(|of| format!(", in \"{}\"", crate::text::scan::text(of.as_bytes(), 80))).unwrap_or_default();
    Some((format!("{tool}{remark}{of}: no other time of it is longer than 0"), next))
}

#[cfg(test)]
mod tests {
    use super::super::summary;

    fn said(text: &str) -> String {
        summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_time_below_zero_is_none() {
        let only = "waker:            0\n    --               --\n    finish_task_switch\n    schedule_idle\n    do_idle\n    target:          \
                    swapper/8 0\n        18446744073743394\n";
        assert!(
            said(only).starts_with("wakeuptime or offwaketime; 18446744073743394 is a number below 0"),
            "{}",
            said(only)
        );
        assert!(
            said(only).contains("in \"target: swapper/8 0\"") && !said(only).contains("was blocked"),
            "{}",
            said(only)
        );
        let beside = "TIME     COMM   TID   LAT(us)\n04:30:27 job  18   7500\n04:30:28 other  19   18446744073709551\n";
        assert!(
            said(beside).contains("is 7500 µs, of job (18)); 18446744073709551 is a number below 0"),
            "{}",
            said(beside)
        );
        let bucket =
            "usecs : count distribution\n 0 -> 1 : 4 |**|\n 9223372036854775808 -> 18446744073709551615 : 1 |*|\n";
        assert!(!said(bucket).contains("below 0"), "{}", said(bucket));
    }
}
