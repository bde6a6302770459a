//! Undoes what terminals, mail clients and web pages do to a line: escapes, colours, quoting, HTML, quoted-printable.

const MARKUP: &[(&str, &str)] = &[
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
    ("\u{a0}", " "),
    ("\u{feff}", ""),
    ("<br>", ""),
    ("<br/>", ""),
    ("<br />", ""),
    ("<pre>", ""),
    ("</pre>", ""),
    ("<code>", ""),
    ("</code>", ""),
    ("<p>", ""),
    ("</p>", ""),
];

/// A cleaned line. Carriage returns must have been treated as line ends already.
pub(crate) fn line(line: &str) -> String {
    let mut text =
        if line.contains(['\u{1b}', '\u{9b}', '\u{8}', '\0']) { without_escapes(line) } else { line.to_owned() };
    if text.contains(['&', '<', '\u{a0}', '\u{feff}']) {
        for (from, to) in MARKUP {
            if text.contains(from) {
                text = text.replace(from, to);
            }
        }
    }
    if text.contains("=09") || text.contains("=3D") || text.contains("=20") {
        text = text.replace("=09", "\t").replace("=20", " ").replace("=3D", "=");
    }
    unquoted(&text).trim_end().to_owned()
}

/// Cleans every line of a text; carriage returns end lines too.
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
            ("000011 000000=09000001", "000011 000000\t000001"),
            ("\u{1b}]0;title\u{7}T: 1", "T: 1"),
            ("| 0:  1:  2", "0:  1:  2"),
            ("", ""),
        ] {
            assert_eq!(line(dirty), clean);
        }
    }
}
