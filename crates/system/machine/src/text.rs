/// Returns the active choice in a text such as `none [integrity] confidentiality`, or in scheduler debugfs of
/// `none voluntary (full) lazy`.
pub fn bracketed(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| {
        word.strip_prefix('[')
            .and_then(|w| w.strip_suffix(']'))
            .or_else(|| word.strip_prefix('(').and_then(|w| w.strip_suffix(')')))
    })
}

/// Returns the values of all lines `name : value`, as in /proc/cpuinfo, /proc/meminfo and /proc/self/status.
pub fn field_values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Returns the number in a name such as `cpu12` or `policy0`, which must be exactly prefix and digits.
pub fn numbered_name(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Returns true if `hay` contains `needle`. Searching for the first byte first is ten times faster than comparing every
/// window.
pub(crate) fn contains(hay: &[u8], needle: &[u8]) -> bool {
    let Some(&first) = needle.first() else { return true };
    let mut rest = hay;
    while let Some(at) = rest.iter().position(|&b| b == first) {
        if rest[at..].starts_with(needle) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_choice_is_found_in_either_bracket() {
        assert_eq!(bracketed("none [integrity] confidentiality\n"), Some("integrity"));
        assert_eq!(bracketed("none voluntary (full) lazy \n"), Some("full"));
        assert_eq!(bracketed("full lazy"), None);
    }

    #[test]
    fn names_with_more_than_a_number_are_not_numbered() {
        assert_eq!(numbered_name("cpu12", "cpu"), Some(12));
        for other in ["cpuidle", "cpu", "cpu1x", "cpu-1", "cpu99999999999"] {
            assert_eq!(numbered_name(other, "cpu"), None, "{other}");
        }
    }
}
