//! Undoes what mail clients and web pages do to a line: quoting, escapes, tags, quoted-printable.

/// Markup that never occurs in a trace, unlike `<idle>` and `<...>`.
const TAGS: &[&[u8]] = &[
    b"<br>", b"<br/>", b"<br />", b"<pre>", b"</pre>", b"<code>", b"</code>", b"</span>", b"<p>", b"</p>", b"<tt>",
    b"</tt>",
];

const ESCAPES: &[(&[u8], &[u8])] = &[
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&amp;", b"&"),
    (b"&quot;", b"\""),
    (b"&nbsp;", b" "),
    (b"&#39;", b"'"),
    (b"&#x27;", b"'"),
    (b"&#43;", b"+"),
    (b"&#61;", b"="),
    (b"&#62;", b">"),
    (b"&#60;", b"<"),
    (b"\xc2\xa0", b" "),
];

/// Checks cheaply, for every line, whether [`clean`] may be needed. `plain` is true if the line cannot contain markup.
pub(crate) fn suspicious(line: &[u8], plain: bool) -> bool {
    matches!(line.first(), Some(b'>' | b'|'))
        || line.starts_with(b"// ")
        || (!plain && (memchr::memchr2(b'&', 0xc2, line).is_some() || is_markdown(line)))
        || matches!(line.last(), Some(b'=' | b'>'))
}

/// True for a line of a header in quoted-printable (`#  =3D> started at: foo`), or one that begins with a no-break
/// space.
pub(crate) fn encoded_header(line: &[u8]) -> bool {
    match line.first() {
        Some(b'#') => memchr::memmem::find(line, b"=3D").is_some(),
        Some(b'=') => line.starts_with(b"=C2=A0"),
        _ => false,
    }
}

/// Writes the cleaned line to `out` (cleared first). Returns what was done, if anything.
pub(crate) fn clean(line: &[u8], out: &mut Vec<u8>) -> Option<&'static str> {
    let (mut line, quoted) = unquote(line);
    out.clear();
    let markdown = is_markdown(line);
    // Markdown marks bold text like this.
    if let Some(bold) = line.strip_prefix(b"**").filter(|_| markdown) {
        line = bold;
    }
    if markdown {
        line = line.trim_ascii_end();
        line = line.strip_suffix(b"**").unwrap_or(line);
    }
    let printable = is_quoted_printable(line);
    let mut escaped = false;
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        let (bytes, skip) = match first {
            b'&' | 0xc2 => ESCAPES.iter().find(|(e, _)| rest.starts_with(e)).map(|(e, to)| (*to, e.len())),
            b'<' => TAGS.iter().find(|tag| rest.starts_with(tag)).map(|tag| (&b""[..], tag.len())),
            _ => None,
        }
        .unwrap_or((rest.get(..1).unwrap_or_default(), 1));
        if printable
            && *first == b'='
            && let Some(byte) = hex_pair(after)
        {
            out.push(byte);
            rest = after.get(2..).unwrap_or_default();
            continue;
        }
        if markdown && *first == b'\\' && after.first().is_some_and(u8::is_ascii_punctuation) {
            rest = after;
            out.extend_from_slice(rest.get(..1).unwrap_or_default());
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        escaped |= skip > 1;
        out.extend_from_slice(bytes);
        rest = rest.get(skip..).unwrap_or_default();
    }
    if printable {
        while let Some(at) = memchr::memmem::find(out, b"\xc2\xa0") {
            out.splice(at..at + 2, *b" ");
        }
        return Some("quoted-printable");
    }
    if escaped {
        return Some("HTML escapes");
    }
    if markdown {
        return Some("Markdown escapes");
    }
    quoted.then_some("quoting")
}

/// Joins a wrapped line with the next one.
pub(crate) fn join(line: &mut Vec<u8>, next: &[u8]) {
    // A time contains no space.
    let in_time = line.ends_with(b".") && next.first().is_some_and(u8::is_ascii_digit);
    if !in_time && !in_field(line, next) {
        line.push(b' ');
    }
    line.extend_from_slice(next);
}

/// True if a terminal broke the line inside the name of a scheduler event's field, or inside the number in it: `… nex` and
/// `t_pid=297 …`, `… next_pid=766` and `9 next_prio=120`.
fn in_field(line: &[u8], next: &[u8]) -> bool {
    const FIELDS: [&[u8]; 12] = [
        b"prev_comm",
        b"prev_pid",
        b"prev_prio",
        b"prev_state",
        b"next_comm",
        b"next_pid",
        b"next_prio",
        b"comm",
        b"pid",
        b"prio",
        b"target_cpu",
        b"dest_cpu",
    ];
    let last = line.rsplit(|b| *b == b' ').next().unwrap_or_default();
    let first = next.split(|b| *b == b' ').next().unwrap_or_default();
    let (begun, value) = match last.iter().position(|b| *b == b'=') {
        Some(at) => (last.get(..at).unwrap_or_default(), last.get(at + 1..).unwrap_or_default()),
        None => (last, &b""[..]),
    };
    let are_digits = |s: &[u8]| !s.is_empty() && s.iter().all(u8::is_ascii_digit);
    if !value.is_empty() {
        return FIELDS.contains(&begun) && !begun.ends_with(b"comm") && are_digits(value) && are_digits(first);
    }
    let Some(end) = first.iter().position(|b| *b == b'=').filter(|_| !last.is_empty() && !last.ends_with(b"=")) else {
        return false;
    };
    let rest = first.get(..end).unwrap_or_default();
    FIELDS.iter().any(|field| field.strip_prefix(begun) == Some(rest)) && !FIELDS.contains(&rest)
}

/// Strips leading `> `, `>> ` and `| `.
pub(crate) fn unquote(line: &[u8]) -> (&[u8], bool) {
    let mut rest = line;
    let mut quoted = false;
    loop {
        let trimmed = rest.trim_ascii_start();
        let after = match trimmed.split_first() {
            Some((b'>', after)) => after,
            // Headers of the latency tracers contain `| task: …`.
            Some((b'/', after)) if after.starts_with(b"/ ") => after.get(1..).unwrap_or_default(),
            Some((b'|', after)) if after.starts_with(b" ") && !after.starts_with(b" task: ") => after,
            _ if trimmed.starts_with(b"&gt;") => trimmed.get(4..).unwrap_or_default(),
            _ => return (rest, quoted),
        };
        rest = after.strip_prefix(b" ").unwrap_or(after);
        quoted = true;
    }
}

/// True if every `=` is followed by two hexadecimal digits (or ends the line), and `=3D`, the escape of `=`, occurs.
fn is_quoted_printable(line: &[u8]) -> bool {
    [&b"=3D"[..], b"=C2=A0"].iter().any(|escape| memchr::memmem::find(line, escape).is_some())
        && memchr::memchr_iter(b'=', line).all(|at| {
            let after = line.get(at + 1..).unwrap_or_default();
            after.is_empty() || hex_pair(after).is_some()
        })
}

/// Detects Markdown: no trace contains `\_` or a line that begins with `**`.
fn is_markdown(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"\\_").is_some() || line.starts_with(b"**")
}

fn hex_pair(s: &[u8]) -> Option<u8> {
    let digit = |b: u8| (b as char).to_digit(16).filter(|_| !b.is_ascii_lowercase());
    Some((digit(*s.first()?)? << 4 | digit(*s.get(1)?)?) as u8)
}

/// True if the line states that lines are omitted, as in "[...]" or "snip".
pub(crate) fn is_omission(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.is_empty() || line.len() > 200 {
        return false;
    }
    let lower = line.to_ascii_lowercase();
    // `[...]`, `(...)`, `[ etc ]`, and one or two Unicode ellipses.
    let is_frame = |b: &u8| matches!(b, b'[' | b']' | b'(' | b')' | b'<' | b'>' | b' ' | b'-' | b'.');
    let dots = lower.iter().filter(|b| **b == b'.').count();
    let mut inner: &[u8] = &lower;
    while let Some((_, rest)) = inner.split_first().filter(|(first, _)| is_frame(first)) {
        inner = rest;
    }
    while let Some((_, rest)) = inner.split_last().filter(|(last, _)| is_frame(last)) {
        inner = rest;
    }
    let ellipses = !inner.is_empty() && inner.chunks(3).all(|chunk| chunk == b"\xe2\x80\xa6");
    if ellipses || (inner.is_empty() && dots >= 2) || matches!(inner, b"etc" | b"cut" | b"skip" | b"skipped") {
        return true;
    }
    let has = |word: &[u8]| memchr::memmem::find(&lower, word).is_some();
    has(b"omitted") || has(b"snip") || has(b"truncated") || has(b"cut here") || has(b"lines removed") || has(b"8<--")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(line: &[u8]) -> (Vec<u8>, Option<&'static str>) {
        let mut out = Vec::new();
        let how = clean(line, &mut out);
        (out, how)
    }

    #[test]
    fn quotes_escapes_and_quoted_printable() {
        assert_eq!(cleaned(b"> >  <idle>-0 x"), (b" <idle>-0 x".to_vec(), Some("quoting")));
        assert_eq!(cleaned(b"&lt;idle&gt;-0 ==&gt; y<br>"), (b"<idle>-0 ==> y".to_vec(), Some("HTML escapes")));
        assert_eq!(cleaned(b"pid=3D20 prio=3D5"), (b"pid=20 prio=5".to_vec(), Some("quoted-printable")));
        assert_eq!(
            cleaned(b"**-0 0d.h. 0us#: do\\_timer <-f**  "),
            (b"-0 0d.h. 0us#: do_timer <-f".to_vec(), Some("Markdown escapes"))
        );
        assert_eq!(cleaned(b"#     \\   /   |  \\  |"), (b"#     \\   /   |  \\  |".to_vec(), None));
        assert_eq!(cleaned(b"comm=x vec=3D"), (b"comm=x vec=3D".to_vec(), None));
    }

    #[test]
    fn a_line_broken_within_a_field_is_joined_without_a_blank() {
        let joined = |line: &[u8], next: &[u8]| {
            let mut line = line.to_vec();
            join(&mut line, next);
            String::from_utf8(line).unwrap()
        };
        assert_eq!(joined(b"next_comm=kw nex", b"t_pid=297 next_prio=120"), "next_comm=kw next_pid=297 next_prio=120");
        assert_eq!(joined(b"next_comm=f next_pid=76", b"69 next_prio=120"), "next_comm=f next_pid=7669 next_prio=120");
        assert_eq!(joined(b"next_comm=f next_pid", b"=7 next_prio=1"), "next_comm=f next_pid=7 next_prio=1");
        assert_eq!(joined(b"prev_comm=b", b"7 prev_pid=1"), "prev_comm=b 7 prev_pid=1");
        assert_eq!(joined(b"prev_pid=7669", b"prev_prio=120"), "prev_pid=7669 prev_prio=120");
        assert_eq!(joined(b"prev_comm=next_", b"pid=1"), "prev_comm=next_ pid=1");
    }

    #[test]
    fn omissions() {
        assert!(is_omission(b"  [omitted for brevity]"));
        for left_out in ["[...]", "....", "[ etc ]", "etc.", "(...)", "\u{2026}\u{2026}", "[\u{2026}]", "<cut>"] {
            assert!(is_omission(left_out.as_bytes()), "{left_out}");
        }
        assert!(!is_omission(b"----------"));
        assert!(!is_omission(b"echo x > y."));
        assert!(!is_omission(b" => schedule"));
        assert!(!is_omission(b""));
    }
}
