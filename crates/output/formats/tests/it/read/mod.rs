//! Parsers that are as strict as the consumers of the formats.

/// Checks a text for control characters except newline, signals, and characters that hide or reverse text.
pub fn plain(text: &str) {
    let at = text.find("<LAVA_");
    assert!(at.is_none(), "a LAVA signal got through: {:?}", at.map(|at| text.get(at.saturating_sub(60)..at + 40)));
    unhidden(text, "");
}

/// Like [`plain`], for a format that allows some control characters.
fn unhidden(text: &str, allowed: &str) {
    for c in text.chars() {
        let hides = matches!(u32::from(c), 0x061c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe0000..=0xe007f);
        assert!(!hides, "U+{:04X} got through", u32::from(c));
        assert!(!c.is_control() || c == '\n' || allowed.contains(c), "U+{:04X} got through", u32::from(c));
    }
}

pub fn html(page: &str) {
    plain(page);
    // The script of the page comes last and contains no names from a run.
    let lower = page.split("<script>").next().unwrap_or_default().to_ascii_lowercase();
    assert_eq!(page.matches("<script>").count(), 1);
    for forbidden in ["<script", "<img", "<iframe", "src=", "url(", "@import"] {
        assert!(!lower.contains(forbidden), "{forbidden}");
    }
    assert_eq!(lower.matches("href=").count(), lower.matches("href=\"#").count(), "a link leads out of the page");
}

/// Checks for a complete document without any `<`, even in strings.
pub fn json(text: &str) {
    plain(text);
    assert!(!text.contains('<'), "a browser could be led astray");
    serde_json::from_str::<serde_json::Value>(text).unwrap();
}

/// Checks that no field is a formula, and that every row has as many fields as the header.
pub fn csv(text: &str) {
    plain(text);
    let rows: Vec<Vec<String>> = text.lines().map(fields).collect();
    for row in &rows {
        assert_eq!(row.len(), rows[0].len(), "{row:?}");
        for field in row {
            let number = field.parse::<f64>().is_ok();
            assert!(number || !field.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']), "{field}");
        }
    }
}

/// Splits fields as in RFC 4180: quoted fields double their quotes. The fields written by this program contain no
/// newline.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    assert!(!quoted, "{line}");
    all.push(field);
    all
}

/// Checks that every line is a row of a microsecond and counts, or a comment.
pub fn cyclictest(text: &str) {
    unhidden(text, "\t");
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let numbers = line.split([' ', '\t']);
        assert!(
            numbers.clone().count() > 1 && numbers.clone().all(|n| n.len() >= 6 && n.parse::<u64>().is_ok()),
            "{line}"
        );
    }
}

/// Checks that the document is well-formed, uses only the expected elements, and has correct totals.
pub fn junit(text: &str) {
    plain(text);
    assert!(!text.contains(['\u{fffe}', '\u{ffff}']), "not XML");
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let (mut cases, mut stated) = (0usize, None);
    loop {
        use quick_xml::events::Event;
        let element = match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(e) | Event::Empty(e) => e,
            Event::CData(_) | Event::Comment(_) | Event::DocType(_) | Event::PI(_) => panic!("nothing of ours"),
            Event::GeneralRef(r) => {
                assert!(r.is_char_ref() || ["amp", "lt", "gt", "quot"].contains(&std::str::from_utf8(&r).unwrap()));
                continue;
            }
            _ => continue,
        };
        let name = std::str::from_utf8(element.name().into_inner()).unwrap().to_owned();
        let known = [
            "testsuites",
            "testsuite",
            "properties",
            "property",
            "testcase",
            "failure",
            "error",
            "skipped",
            "system-out",
        ];
        assert!(known.contains(&name.as_str()), "{name}");
        for attribute in element.attributes() {
            let attribute = attribute.unwrap();
            if name == "testsuites" && attribute.key.into_inner() == b"tests" {
                stated = std::str::from_utf8(&attribute.value).unwrap().parse::<usize>().ok();
            }
        }
        cases += usize::from(name == "testcase");
    }
    assert_eq!(Some(cases), stated);
}

/// Checks for a version, a correct plan, numbered test points with plain names, and comments that start with a known
/// word.
pub fn tap(text: &str) {
    plain(text);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("TAP version 13"));
    let planned: usize = lines.next().unwrap().strip_prefix("1..").unwrap().parse().unwrap();
    let mut seen = 0;
    for line in lines {
        if let Some(comment) = line.strip_prefix("# ") {
            let word = comment.split(':').next().unwrap();
            assert!(["clock", "figure", "not known", "pass", "skip", "inconclusive", "fail"].contains(&word), "{line}");
            continue;
        }
        let point = line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ").unwrap();
        let (number, rest) = point.split_once(" - ").unwrap();
        seen += 1;
        assert_eq!(number.parse(), Ok(seen));
        let name = rest.strip_suffix(" # SKIP").unwrap_or(rest);
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)), "{line}");
    }
    assert_eq!(seen, planned);
}

/// Checks that every line is a signal that matches the dispatcher's expression completely, with plain words as
/// parameters, and that IDs are unique.
pub fn lava(text: &str) {
    let mut ids = std::collections::BTreeSet::new();
    for line in text.lines() {
        let inside = line.strip_prefix("<LAVA_SIGNAL_TESTCASE ").and_then(|l| l.strip_suffix('>')).unwrap();
        for parameter in inside.split(' ') {
            let (key, value) = parameter.split_once('=').unwrap();
            assert!(["TEST_CASE_ID", "RESULT", "UNITS", "MEASUREMENT"].contains(&key), "{line}");
            assert!(
                !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)),
                "{line}"
            );
            match key {
                "TEST_CASE_ID" => assert!(!value.contains('.') && ids.insert(value.to_owned()), "{line}"),
                "RESULT" => assert!(["pass", "fail", "skip", "unknown"].contains(&value), "{line}"),
                "MEASUREMENT" => assert!(value.parse::<f64>().unwrap().is_finite(), "{line}"),
                _ => {}
            }
        }
    }
}

/// Checks the syntax `name{label="value",…} number`: types precede samples, samples are unique, buckets grow, at most
/// 20 per CPU.
pub fn prometheus(text: &str) {
    plain(text);
    let mut seen = std::collections::BTreeSet::new();
    let mut typed = std::collections::BTreeSet::new();
    let mut bucket: (String, u64, u32) = Default::default();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            if words.next() == Some("TYPE") {
                assert!(typed.insert(words.next().unwrap().to_owned()), "{line}");
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok() && seen.insert(series.to_owned()), "{line}");
        let (name, labels) = series.split_once('{').map_or((series, ""), |(n, l)| (n, l.strip_suffix('}').unwrap()));
        assert!(typed.iter().any(|known| name.starts_with(known.as_str())), "{line}");
        let names = label_names(labels);
        if let Some(place) = name.ends_with("_bucket").then(|| labels.rsplit_once(",le=").unwrap().0) {
            assert!(names.contains(&"le".to_owned()));
            let count = value.parse().unwrap();
            let same = bucket.0 == place;
            bucket = (place.to_owned(), count, if same { bucket.2 + 1 } else { 1 });
            assert!(bucket.2 <= 20, "{line}");
        }
    }
}

/// Returns the names of the labels. Panics on anything but `name="value"` with the three escapes.
fn label_names(mut labels: &str) -> Vec<String> {
    let mut names = Vec::new();
    while !labels.is_empty() {
        let (name, rest) = labels.split_once("=\"").unwrap();
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{labels}");
        names.push(name.to_owned());
        let (mut end, mut escaped) = (None, false);
        for (at, c) in rest.char_indices() {
            match c {
                _ if escaped => {
                    assert!(['\\', '"', 'n'].contains(&c), "{labels}");
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        labels = &rest[end.unwrap() + 1..];
        labels = labels.strip_prefix(',').unwrap_or(labels);
    }
    names
}
