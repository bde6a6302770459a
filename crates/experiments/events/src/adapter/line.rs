#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line `hello VERSION NAME`.
    Hello(u64, String),
    /// The line `fact KEY VALUE`.
    Fact(String, String),
    /// The line `a NUMBER COUNT LATENESS_NS`.
    Arrival { number: u64, count: u64, lateness: u64 },
    /// The line `sent EVENTS`.
    Sent(u64),
    /// The line `overflowed EVENTS`.
    Overflowed(u64),
    /// The line `faults COUNT`.
    Faults(u64),
    /// The line `switches COUNT`.
    Switches(u64),
    /// The line `note TEXT`.
    Note(String),
    /// The line `unsupported WHY`.
    Unsupported(String),
    /// The line `failed WHY`.
    Failed(String),
    /// The line `end`.
    End,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Line, String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    known(text).ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        format!("it sent '{}', which is not a line of the protocol", shown.escape_debug())
    })
}

fn known(text: &str) -> Option<Line> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let number = || rest.parse::<u64>().ok();
    let said = || Some(rest.to_owned()).filter(|text| !text.is_empty());
    match word {
        "a" => arrival(rest),
        "hello" => rest.split_once(' ').and_then(|(v, name)| Some(Line::Hello(v.parse().ok()?, name.to_owned()))),
        "fact" => rest.split_once(' ').map(|(key, value)| Line::Fact(key.to_owned(), value.to_owned())),
        "sent" => number().map(Line::Sent),
        "overflowed" => number().map(Line::Overflowed),
        "faults" => number().map(Line::Faults),
        "switches" => number().map(Line::Switches),
        "note" => said().map(Line::Note),
        "unsupported" => said().map(Line::Unsupported),
        "failed" => said().map(Line::Failed),
        "end" if rest.is_empty() => Some(Line::End),
        _ => None,
    }
}

fn arrival(rest: &str) -> Option<Line> {
    let mut numbers = rest.split(' ').map(|word| word.parse::<u64>().ok());
    let (number, count, lateness) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (count > 0 && numbers.next().is_none()).then_some(Line::Arrival { number, count, lateness })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read() {
        assert_eq!(parse(b"a 7 2 1500\n"), Ok(Line::Arrival { number: 7, count: 2, lateness: 1500 }));
        assert_eq!(parse(b"hello 1 two words\n"), Ok(Line::Hello(1, "two words".into())));
        assert_eq!(parse(b"fact kernel 6.1 x"), Ok(Line::Fact("kernel".into(), "6.1 x".into())));
        assert_eq!(parse(b"end\r\n"), Ok(Line::End));
        for bad in ["", "a 1 1", "a 1 0 5", "a 1 1 5 6", "a -1 1 5", "sent", "end now", "note ", "Sent 5"] {
            assert!(parse(bad.as_bytes()).is_err_and(|e| e.contains("not a line of the protocol")), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
