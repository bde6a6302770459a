//! Removes prefixes of log lines: time stamps of CI systems, and prefixes of the kernel log, syslog, containers and
//! LAVA.
//!
//! A prefix is removed only if a reader recognizes the line without it but not with it ([`crate::text`]), so that
//! figures are never mistaken for a prefix.

use std::borrow::Cow;

/// A line without its prefix, and the source named by the prefix: `VM 1`, `web_1`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Peeled<'a> {
    pub rest: Cow<'a, str>,
    pub source: Option<String>,
    pub what: &'static str,
}

/// Removes all known prefixes; `None` if there are none.
pub(crate) fn peel(line: &str) -> Option<Peeled<'_>> {
    if let Some(rest) = lava(line) {
        return Some(Peeled { rest: rest.into(), source: None, what: "LAVA" });
    }
    if let Some(rest) = message(line) {
        return Some(Peeled { rest: rest.into(), source: None, what: "log in JSON" });
    }
    let mut rest = line;
    let mut found: Option<&'static str> = None;
    let mut source = None;
    // Logs have at most six nested prefixes.
    for _ in 0..6 {
        let Some((after, what)) = one(rest, &mut source) else { break };
        rest = after;
        found = found.or(Some(what));
    }
    if let Some(inner) = quoted(rest) {
        return Some(Peeled { rest: inner.into(), source, what: found.unwrap_or("quotes") });
    }
    let what = found?;
    Some(Peeled { rest: rest.into(), source, what })
}

type Known = fn(&str) -> Option<(&str, &'static str)>;

const KNOWN: [Known; 8] = [stamped, kernel, syslog, logcat, stream, level, step, remark];

fn one<'a>(line: &'a str, source: &mut Option<String>) -> Option<(&'a str, &'static str)> {
    let text = line.trim_start();
    if let Some(found) = KNOWN.iter().find_map(|way| way(text)) {
        return Some(found);
    }
    let (label, rest, what) = labelled(text)?;
    let label: String = label.trim().chars().take(40).collect();
    if !is_level(&label) {
        *source = match source.take() {
            Some(outer) => Some(format!("{outer} {label}")),
            None => Some(label),
        };
    }
    Some((rest, what))
}

/// Consumes the characters of a pattern, in which `9` stands for any digit and other characters for themselves.
fn pattern<'a>(text: &'a str, shape: &str) -> Option<&'a str> {
    let mut rest = text;
    for want in shape.chars() {
        let c = rest.chars().next()?;
        let same = if want == '9' { c.is_ascii_digit() } else { c == want };
        if !same {
            return None;
        }
        rest = rest.get(c.len_utf8()..)?;
    }
    Some(rest)
}

fn digits(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit())
}

/// Skips a fraction such as `.123` or `,123`.
fn fraction(text: &str) -> &str {
    text.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).map_or(text, digits)
}

/// Skips a time zone such as `Z`, `+00:00`, `+0000` or ` UTC`.
fn zone(text: &str) -> &str {
    let offset = |sign| ["99:99", "9999"].iter().find_map(|shape| pattern(text.strip_prefix(sign)?, shape));
    text.strip_prefix('Z')
        .or_else(|| offset('+'))
        .or_else(|| offset('-'))
        .or_else(|| text.strip_prefix(" UTC"))
        .unwrap_or(text)
}

fn clock(text: &str) -> Option<&str> {
    Some(fraction(pattern(text, "99:99:99")?))
}

/// Skips a date and time such as `2024-03-05T10:11:12.123Z` or `2024/03/05 10:11:12`.
fn date_time(text: &str) -> Option<&str> {
    let date = pattern(text, "9999-99-99").or_else(|| pattern(text, "9999/99/99"))?;
    Some(zone(clock(date.strip_prefix(['T', ' ', '_'])?)?))
}

/// Consumes the end of a time stamp: a space, or a bracket or another mark with an optional space.
fn after_stamp(text: &str) -> Option<&str> {
    let rest = text.strip_prefix([']', ')', '|', ':', ';']).unwrap_or(text);
    if rest.is_empty() {
        return Some(rest);
    }
    match rest.strip_prefix([' ', '\t']) {
        Some(rest) => Some(rest.strip_prefix("- ").or_else(|| rest.strip_prefix("| ")).unwrap_or(rest)),
        None => (rest.len() < text.len()).then_some(rest),
    }
}

fn stamped(text: &str) -> Option<(&str, &'static str)> {
    let inner = text.strip_prefix(['[', '(']).unwrap_or(text);
    let rest = date_time(inner).or_else(|| clock(inner))?;
    // Stream marker of GitLab: `00O `, `01E+`.
    let stream = pattern(rest, " 99").and_then(|r| r.strip_prefix(['O', 'E'])?.strip_prefix([' ', '+']));
    Some((stream.or_else(|| after_stamp(rest))?, "time stamp"))
}

/// Removes a prefix such as `<6>[   12.345678] ` or `[   12.345678][  T123] `.
fn kernel(text: &str) -> Option<(&str, &'static str)> {
    let level = text.strip_prefix('<').and_then(|rest| digits(rest).strip_prefix('>')).unwrap_or(text);
    let inner = level.strip_prefix('[')?.trim_start();
    let seconds = digits(inner);
    let rest = fraction(seconds);
    if seconds.len() == inner.len() || rest.len() == seconds.len() {
        return None;
    }
    let rest = rest.strip_prefix(']')?;
    let caller = rest.strip_prefix('[').and_then(|caller| {
        let (name, rest) = caller.split_once(']')?;
        name.trim().starts_with(['T', 'C']).then_some(rest)
    });
    let rest = caller.unwrap_or(rest);
    Some((rest.strip_prefix(' ').unwrap_or(rest), "kernel log"))
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Removes a prefix such as `Mar  5 10:11:12 host program[123]: `, or one with an ISO date (RFC 3164, RFC 5424,
/// journalctl(1)). Also `Mar 05 10:11:12 ` of ts(1).
fn syslog(text: &str) -> Option<(&str, &'static str)> {
    let month = MONTHS.iter().find_map(|month| text.strip_prefix(month));
    if let Some(rest) = month {
        let day = rest.strip_prefix(' ')?.trim_start();
        let rest = clock(digits(day).strip_prefix(' ')?)?.strip_prefix(' ')?;
        return Some((tagged(rest).unwrap_or(rest), "syslog"));
    }
    // The date has already been removed.
    Some((tagged(text)?, "syslog"))
}

/// Removes a prefix such as `host program[123]: `.
fn tagged(text: &str) -> Option<&str> {
    let name = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./@".contains(c));
    let (host, rest) = text.split_once(' ')?;
    let (tag, rest) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let (program, pid) = tag.strip_suffix(']')?.split_once('[')?;
    (name(host) && name(program) && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
}

/// Removes a prefix such as `03-05 10:11:12.123  1234  1235 I tag     : `.
fn logcat(text: &str) -> Option<(&str, &'static str)> {
    let rest = clock(pattern(text, "99-99 ")?)?;
    let mut words = rest.split_ascii_whitespace();
    let numbers = words.by_ref().take(2).all(|w| w.bytes().all(|b| b.is_ascii_digit()));
    let letter = words.next().filter(|w| w.len() == 1 && "VDIWEF".contains(*w));
    let (_, rest) = rest.split_once(": ").filter(|_| numbers && letter.is_some())?;
    Some((rest, "logcat"))
}

/// Removes a prefix such as `stdout: ` or `out| `.
fn stream(text: &str) -> Option<(&str, &'static str)> {
    let names = ["stdout", "stderr", "out", "err", "target", "console", "output"];
    let rest = names.iter().find_map(|name| text.strip_prefix(name)?.strip_prefix([':', '|']))?;
    Some((rest.strip_prefix(' ').unwrap_or(rest), "stream"))
}

fn is_level(word: &str) -> bool {
    let levels = [
        "INFO", "DEBUG", "NOTICE", "WARN", "WARNING", "ERROR", "TRACE", "FATAL", "I", "D", "W", "E", "OUT", "ERR",
        "STDOUT", "STDERR", "INF", "DBG",
    ];
    levels.iter().any(|level| word.trim().eq_ignore_ascii_case(level))
}

/// Removes a prefix such as `INFO - `, `INFO: ` or `DEBUG    root:`.
fn level(text: &str) -> Option<(&str, &'static str)> {
    let end = text.find([' ', ':', '\t', '|'])?;
    let (_, rest) = text.split_at_checked(end).filter(|(word, _)| word.len() > 1 && is_level(word))?;
    let rest = rest.trim_start_matches([' ', ':', '\t', '|']);
    Some((rest.strip_prefix("- ").unwrap_or(rest), "level of a log"))
}

/// Removes a prefix such as `#12 1.234 ` of docker build.
fn step(text: &str) -> Option<(&str, &'static str)> {
    let number = text.strip_prefix('#')?;
    let rest = digits(number).strip_prefix(' ').filter(|_| digits(number).len() < number.len())?;
    let after = fraction(digits(rest));
    let stamp = digits(rest).len() < rest.len() && after.len() < digits(rest).len();
    Some((after.strip_prefix(' ').filter(|_| stamp)?, "build step"))
}

/// Removes the comment mark with which TAP and kselftest prefix the output of a test: `# T: 0`, `# # Histogram`.
fn remark(text: &str) -> Option<(&str, &'static str)> {
    let rest = text.strip_prefix("# ")?;
    let figures =
        rest.starts_with("# ") || rest.starts_with("T:") || rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    figures.then_some((rest, "TAP"))
}

/// Removes a prefix such as `[VM 1] `, `web_1  | ` or `node7: `.
fn labelled(text: &str) -> Option<(&str, &str, &'static str)> {
    if let Some((label, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let short = !label.is_empty() && label.len() <= 60 && !label.contains('[');
        return short.then(|| (label, rest.strip_prefix([' ', ':']).unwrap_or(rest).trim_start_matches(' '), "label"));
    }
    let name = |text: &str| {
        !text.is_empty() && text.len() <= 40 && text.chars().all(|c| c.is_alphanumeric() || "-_.@/".contains(c))
    };
    let lettered = |text: &str| text.chars().any(char::is_alphabetic);
    if let Some((label, rest)) = text.split_once('|')
        && name(label.trim_end())
        && lettered(label)
    {
        return Some((label.trim_end(), rest.strip_prefix(' ').unwrap_or(rest), "container"));
    }
    let (label, rest) = text.split_once(": ")?;
    (name(label) && lettered(label) && label.len() > 1).then_some((label, rest, "label"))
}

/// Extracts the message of a line such as `- {"dt": "…", "lvl": "target", "msg": "T: 0 …"}`, in JSON or YAML.
fn lava(line: &str) -> Option<String> {
    let body = line.trim().strip_prefix("- {")?.strip_suffix('}')?;
    let json = format!("{{{body}}}");
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(&json) {
        return value.get("msg")?.as_str().map(str::to_owned);
    }
    let (_, message) = body.split_once("msg: ")?;
    let inner = message.strip_prefix('\'').and_then(|m| m.strip_suffix('\''));
    Some(inner.map_or_else(|| message.trim_matches('"').to_owned(), |inner| inner.replace("''", "'")))
}

/// Extracts the message of a line such as `{"log":"T: 0 …\n","stream":"stdout",…}` of a container's log or a structured
/// log.
pub(crate) fn message(line: &str) -> Option<String> {
    let text = line.trim();
    if !text.starts_with('{') || !text.ends_with('}') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let message = ["log", "message", "msg", "MESSAGE"].iter().find_map(|key| value.get(key)?.as_str())?;
    Some(message.trim_end().to_owned())
}

/// Decodes `"T: 0 …",`, an element of a list in JSON such as Ansible's stdout_lines.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.len() < 2 || !text.starts_with('"') || !text.ends_with('"') {
        return None;
    }
    serde_json::from_str::<String>(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_logs_and_their_source() {
        for (before, source) in [
            ("2024-03-05T10:11:12.1234567Z ", None),
            ("2024-03-05 10:11:12,123 INFO - ", None),
            ("2024-03-05T10:11:12.123456Z 00O ", None),
            ("[2024-03-05T10:11:12.123Z] ", None),
            ("10:11:12  ", None),
            ("[10:11:12.123] ", None),
            ("[   12.345678] ", None),
            ("<6>[   12.345678][  T123] ", None),
            ("Mar  5 10:11:12 board cyclictest[321]: ", None),
            ("2024-03-05T10:11:12+0000 board cyclictest[321]: ", None),
            ("Mar 05 10:11:12 ", None),
            ("03-05 10:11:12.123  1234  1235 I rt      : ", None),
            ("[VM 1] ", Some("VM 1")),
            ("rt_1  | ", Some("rt_1")),
            ("2024-03-05T10:11:12Z [node-7] ", Some("node-7")),
            ("#12 1.234 ", None),
            ("stdout: ", None),
            ("# ", None),
            ("[INFO] ", None),
        ] {
            for text in ["T: 0 ( 12) P:95 I:1000", "000010 000090\t000095", "# Histogram"] {
                let line = format!("{before}{text}");
                let peeled = peel(&line).unwrap_or_else(|| panic!("{line}"));
                assert_eq!((peeled.rest.trim_start(), peeled.source.as_deref()), (text, source), "{line}");
            }
        }
        let lava = r#"- {"dt": "2024-03-05T10:11:12.1", "lvl": "target", "msg": "T: 0 (1) P:9"}"#;
        assert_eq!(peel(lava).unwrap().rest, "T: 0 (1) P:9");
        assert_eq!(
            peel("- {dt: '2024-03-05T10:11:12', lvl: target, msg: '000010 000090'}").unwrap().rest,
            "000010 000090"
        );
        assert_eq!(peel("    \"000010 000090\\t000095\",").unwrap().rest, "000010 000090\t000095");
    }

    #[test]
    fn figures_are_no_prefix() {
        for text in ["000010 000090\t000095", "       0:       0:      49", "10,500,480", "T: 0 ( 12) P:95", ""] {
            assert_eq!(peel(text), None, "{text}");
        }
    }
}
