//! Parses numbers, fields and words of a line, without allocation, regular expressions or overflow.

use crate::words::Comm;

pub(crate) fn skip_spaces(s: &[u8]) -> &[u8] {
    let n = s.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    s.get(n..).unwrap_or_default()
}

pub(crate) fn trim(s: &[u8]) -> &[u8] {
    s.trim_ascii()
}

/// Parses a leading unsigned number; returns the rest too. `None` for more than 19 digits.
pub(crate) fn number(s: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut digits = 0;
    for b in s {
        let d = b.wrapping_sub(b'0');
        if d > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(d));
        digits += 1;
    }
    if digits == 0 || digits > 19 {
        return None;
    }
    Some((value, s.get(digits..)?))
}

pub(crate) fn signed(s: &[u8]) -> Option<(i64, &[u8])> {
    match s.split_first() {
        Some((b'-', rest)) => number(rest).map(|(v, rest)| ((v as i64).wrapping_neg(), rest)),
        _ => number(s).map(|(v, rest)| (v as i64, rest)),
    }
}

pub(crate) fn whole<T: TryFrom<u64>>(s: &[u8]) -> Option<T> {
    match number(s)? {
        (value, []) => T::try_from(value).ok(),
        _ => None,
    }
}

pub(crate) fn whole_i32(s: &[u8]) -> Option<i32> {
    match signed(s)? {
        (value, []) => i32::try_from(value).ok(),
        _ => None,
    }
}

/// Parses a leading hexadecimal number, with or without `0x`; returns the rest too.
pub(crate) fn hex(s: &[u8]) -> Option<(u64, &[u8])> {
    let s = s.strip_prefix(b"0x").unwrap_or(s);
    let mut value = 0u64;
    let mut digits = 0;
    for b in s {
        let d = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            b'A'..=b'F' => b - b'A' + 10,
            _ => break,
        };
        value = value << 4 | u64::from(d);
        digits += 1;
    }
    if digits == 0 || digits > 16 {
        return None;
    }
    Some((value, s.get(digits..)?))
}

/// Parses a leading `seconds.fraction` or plain number: nanoseconds (or the plain number), number of decimals (`None`
/// for a plain number), rest.
pub(crate) fn seconds(s: &[u8]) -> Option<(u64, Option<u32>, &[u8])> {
    let (whole, rest) = number(s)?;
    let Some(fraction) = rest.strip_prefix(b".") else { return Some((whole, None, rest)) };
    let (value, after) = number(fraction)?;
    let digits = u32::try_from(fraction.len() - after.len()).ok()?;
    let scale = 10u64.checked_pow(9u32.checked_sub(digits)?)?;
    let ns = whole.checked_mul(1_000_000_000)?.checked_add(value.checked_mul(scale)?)?;
    Some((ns, Some(digits), after))
}

/// Finds `needle` by searching for the byte of `needle` that is rarest in traces. On a single line this is cheaper than
/// preparing a substring search.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let rare = |b: &u8| !b.is_ascii_alphanumeric() && !matches!(b, b' ' | b'=' | b':' | b'_');
    let at = needle.iter().position(rare).or_else(|| needle.iter().position(|b| *b != b' ')).unwrap_or(0);
    let byte = *needle.get(at)?;
    let mut from = at;
    loop {
        let start = from + memchr::memchr(byte, haystack.get(from..)?)? - at;
        if haystack.get(start..)?.starts_with(needle) {
            return Some(start);
        }
        from = start + at + 1;
    }
}

pub(crate) fn split<'a>(s: &'a [u8], needle: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = find(s, needle)?;
    Some((s.get(..at)?, s.get(at + needle.len()..)?))
}

pub(crate) fn word(s: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b' ', s) {
        Some(at) => (s.get(..at).unwrap_or_default(), s.get(at + 1..).unwrap_or_default()),
        None => (s, &[]),
    }
}

/// Returns the value of `key=value`, where `key` is at the start or after a space. Values end at a space.
pub(crate) fn field<'a>(body: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut rest = body;
    while !rest.is_empty() {
        let (item, after) = word(rest);
        if let Some(value) = item.strip_prefix(key).and_then(|v| v.strip_prefix(b"=")) {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// Parses a leading task name that ends at `next` (such as `" pid="`); returns the rest after `next` too. Names may
/// contain anything, so the last `next` within the 16 bytes of a name counts. A longer name was edited by hand to hide
/// the real one: its first 16 bytes are used.
pub(crate) fn comm_until<'a>(s: &'a [u8], next: &[u8]) -> Option<(Comm, &'a [u8])> {
    const BY_HAND: usize = 64;
    let within = |most: usize| s.get(..s.len().min(most + next.len())).unwrap_or_default().windows(next.len());
    let at = within(16).rposition(|w| w == next).or_else(|| within(BY_HAND).position(|w| w == next))?;
    Some((Comm::new(s.get(..at)?), s.get(at + next.len()..)?))
}

/// Returns valid UTF-8 of at most `most` bytes, for messages and fields that are kept.
pub(crate) fn text(s: &[u8], most: usize) -> String {
    String::from_utf8_lossy(s.get(..s.len().min(most)).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_none() {
        assert_eq!(number(b"12 x"), Some((12, &b" x"[..])));
        assert_eq!(number(b"99999999999999999999"), None);
        assert_eq!(whole::<u8>(b"256"), None);
        assert_eq!(whole_i32(b"-5"), Some(-5));
        assert_eq!(hex(b"0xff17:"), Some((0xff17, &b":"[..])));
    }

    #[test]
    fn words_are_found_wherever_their_rare_byte_is() {
        for (text, needle) in [
            ("a ==> b", " ==> "),
            ("= ==> ==> ", " ==> "),
            ("x <- <-y", " <-"),
            ("12 us", " us"),
            ("us", " us"),
            ("", "a"),
        ] {
            assert_eq!(find(text.as_bytes(), needle.as_bytes()), text.find(needle), "{text}");
        }
    }

    #[test]
    fn seconds_of_any_precision() {
        assert_eq!(seconds(b"1.000002: x"), Some((1_000_002_000, Some(6), &b": x"[..])));
        assert_eq!(seconds(b"1.000000002:"), Some((1_000_000_002, Some(9), &b":"[..])));
        assert_eq!(seconds(b"1234:"), Some((1234, None, &b":"[..])));
        assert_eq!(seconds(b"99999999999999.5"), None);
    }

    #[test]
    fn a_comm_may_hold_the_key_that_follows_it() {
        let (comm, rest) = comm_until(b"a pid=1 pid=22 prio=3", b" pid=").unwrap();
        assert_eq!((comm.to_string().as_str(), rest), ("a pid=1", &b"22 prio=3"[..]));
    }
}
