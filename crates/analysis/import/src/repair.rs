//! Reverts changes that terminals, mail clients and web pages make to a line: escapes, colours, quoting, HTML,
//! quoted-printable.

use std::borrow::Cow;

const ESCAPES: &[(&str, &str)] = &[
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&nbsp;", " "),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&#9;", "\t"),
    ("&#35;", "#"),
    ("&#58;", ":"),
    ("&amp;", "&"),
];

/// Elements of web pages that begin a new line.
const BLOCKS: [&str; 20] = [
    "br",
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "tr",
    "table",
    "pre",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "tbody",
    "thead",
    "dd",
    "dt",
    "section",
];
const INLINE: [&str; 16] =
    ["span", "code", "tt", "b", "i", "em", "strong", "a", "font", "samp", "kbd", "td", "th", "u", "small", "sup"];

/// Removes the tags of a web page. Block elements become line breaks.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let name: String = after.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let known = |list: &[&str]| list.iter().any(|tag| name.eq_ignore_ascii_case(tag));
        match after.split_once('>').filter(|(tag, _)| tag.len() < 300 && (known(&BLOCKS) || known(&INLINE))) {
            Some((_, next)) => {
                out.push_str(if known(&BLOCKS) {
                    "\n"
                } else if name == "td" || name == "th" {
                    "\t"
                } else {
                    ""
                });
                rest = next;
            }
            None => {
                out.push('<');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Cleans a line. The caller must already have split the text at carriage returns.
pub(crate) fn line(line: &str) -> Cow<'_, str> {
    // Figures neither begin with these characters nor contain them.
    let suspicious =
        |b: &u8| matches!(b, 0x1b | 0x08 | 0 | b'&' | b'<' | b'>' | b'|' | b'^' | b'\\' | 0xc2 | 0xe2 | 0xef);
    if !line.as_bytes().iter().any(suspicious) {
        return Cow::Borrowed(line.trim_end());
    }
    let mut text =
        if line.contains(['\u{1b}', '\u{9b}', '\u{8}', '\0']) { without_escapes(line) } else { line.to_owned() };
    if text.contains(['&', '<', '\u{a0}', '\u{feff}', '\u{202f}', '\u{200b}']) && !is_element(&text) {
        text = without_tags(&text).replace(['\u{a0}', '\u{202f}'], " ").replace(['\u{feff}', '\u{200b}'], "");
        for (from, to) in ESCAPES.iter().filter(|_| text.contains('&')).copied().collect::<Vec<_>>() {
            text = text.replace(from, to);
        }
    }
    // Terminals echo the interrupt key.
    while let Some(rest) = text.trim_start().strip_prefix("^C") {
        text = rest.to_owned();
    }
    if text.contains("\\nT:") || text.contains("\\n0") || text.contains("\\n#") {
        text = text.replace("\\n", "\n").replace("\\t", "\t");
    }
    Cow::Owned(unquoted(&text).trim_end().to_owned())
}

/// Returns true for an XML element with attributes, whose escapes must be kept; false for an element of a web page.
fn is_element(text: &str) -> bool {
    let Some(after) = text.trim_start().strip_prefix('<') else { return false };
    let name: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    let page = BLOCKS.iter().chain(&INLINE).any(|tag| name.eq_ignore_ascii_case(tag));
    after.contains("=\"") && !page
}

/// Detects quoted-printable text (RFC 2045, 6.7), by its header, or if every `=` begins an escape or ends its line, and
/// at least one escapes a tab, a space at the end of a line, or `=`.
pub(crate) fn is_quoted_printable(head: &str) -> bool {
    let header = "content-transfer-encoding: quoted-printable";
    if head.lines().take(400).any(|line| line.trim().eq_ignore_ascii_case(header)) {
        return true;
    }
    // The last line may be truncated.
    let whole = head.rsplit_once('\n').map_or(head, |(whole, _)| whole);
    let mut telling = 0;
    for line in whole.lines().map(str::trim_end) {
        for (at, _) in line.match_indices('=') {
            let rest = line.get(at + 1..).unwrap_or_default();
            match escape(rest) {
                _ if rest.is_empty() => {}
                Some(b'\t' | b'=') => telling += 1,
                Some(b' ') if rest.len() == 2 => telling += 1,
                Some(_) => {}
                None => return false,
            }
        }
    }
    telling > 0
}

/// Decodes two hexadecimal digits such as `3D`.
fn escape(text: &str) -> Option<u8> {
    let hex = text.get(..2)?;
    let upper = hex.bytes().all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b));
    u8::from_str_radix(hex, 16).ok().filter(|_| upper)
}

/// Appends a decoded line of quoted-printable. Returns `true` if the next line continues it.
pub(crate) fn printable(line: &str, out: &mut Vec<u8>) -> bool {
    let line = line.trim_end();
    let (line, soft) = line.strip_suffix('=').map_or((line, false), |line| (line, true));
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('=') {
        out.extend_from_slice(before.as_bytes());
        match escape(after) {
            Some(byte) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(b'=');
                rest = after;
            }
        }
    }
    out.extend_from_slice(rest.as_bytes());
    soft
}

/// Cleans every line of a text. Carriage returns count as line ends.
pub(crate) fn whole(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.split(['\n', '\r']) {
        out.push_str(&line(one));
        out.push('\n');
    }
    out
}

/// Strips leading `> `, `>> ` and `| `.
fn unquoted(text: &str) -> &str {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let after = match trimmed.strip_prefix('>').or_else(|| trimmed.strip_prefix("| ")) {
            Some(after) => after,
            None => return rest,
        };
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
}

/// Removes ECMA-48 control sequences (`ESC [ … letter`), operating system commands, and control characters except tabs.
fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let start = match (c, chars.peek()) {
            ('\u{1b}', Some('[')) => chars.next(),
            ('\u{1b}', Some(']')) => {
                // An operating system command ends with BEL or ESC \.
                while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {}
                continue;
            }
            ('\u{9b}', _) => Some('['),
            _ => None,
        };
        match start {
            Some(_) => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
            None if c == '\u{1b}' => {
                chars.next();
            }
            None if c == '\t' || !c.is_control() => out.push(c),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_paste_does_is_undone() {
        for (dirty, clean) in [
            ("> > T: 0", "T: 0"),
            ("\u{1b}[2A\u{1b}[31mT: 0\u{1b}[K ", "T: 0"),
            ("000011 000000&#9;000001<br>", "000011 000000\t000001"),
            ("<p>Results:</p><pre class=\"x\">T: 0", "\nResults:\n\nT: 0"),
            ("^CT: 0", "T: 0"),
            ("a <idle> b < 3", "a <idle> b < 3"),
            ("\u{1b}]0;title\u{7}T: 1", "T: 1"),
            ("| 0:  1:  2", "0:  1:  2"),
            ("", ""),
        ] {
            assert_eq!(line(dirty), clean);
        }
    }

    #[test]
    fn quoted_printable_is_known_by_its_escapes() {
        for yes in [
            "000011 000000=09000001\n",
            "a =3D b\nlong=\nline\n",
            "Content-Transfer-Encoding: Quoted-Printable\n\n=== a ===\n",
        ] {
            assert!(is_quoted_printable(yes), "{yes}");
        }
        for no in ["=== load ===\n", "cyclictest --interval=20 -q\n", "--priority=3D=\nx=y\n", "==\n"] {
            assert!(!is_quoted_printable(no), "{no}");
        }
        let mut out = Vec::new();
        assert!(printable("000011 000000=09=", &mut out) && !printable("000001=C2=B5", &mut out));
        assert_eq!(String::from_utf8(out).unwrap(), "000011 000000\t000001µ");
    }
}
