//! Undoes what mail clients do to the lines of a log.

/// Minimum length at which mail clients break a line.
const WIDTH: usize = 66;
/// Minimum number of lines with a time stamp from which a log is known to have them.
const FEWEST: usize = 3;

/// Returns the lines of a log as they were before a mail client broke them.
pub(super) fn unwrapped(head: &str) -> Vec<String> {
    joined(soft(head))
}

/// Undoes quoted-printable: `=3D`, `=0D`, and `=` where a line was broken.
fn soft(head: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_broken = false;
    for line in head.lines() {
        let line = line.trim_end();
        let line = line.strip_suffix("=0D").unwrap_or(line);
        // A horizontal rule ends in several of these characters.
        let broken = line.strip_suffix('=').filter(|line| !line.ends_with('='));
        let (line, breaks) = broken.map_or((line, false), |line| (line, true));
        let line = line.replace("=3D", "=");
        match lines.last_mut().filter(|_| is_broken) {
            Some(last) => last.push_str(&line),
            None => lines.push(line),
        }
        is_broken = breaks;
    }
    lines
}

/// Joins lines without a time stamp to those with one, if both together are too long for one line of a mail.
fn joined(lines: Vec<String>) -> Vec<String> {
    let filled = lines.iter().filter(|line| !line.is_empty()).count();
    let stamped = lines.iter().filter(|line| is_stamped(line)).count();
    if stamped < FEWEST || stamped * 2 < filled {
        return lines;
    }
    let mut out: Vec<String> = Vec::new();
    // Length of the last line, if the next one may continue it.
    let mut last = None;
    for line in lines {
        let is_new = is_stamped(&line);
        let first = line.split_whitespace().next().filter(|_| !is_new);
        let goes_on = last.zip(first).is_some_and(|(last, first)| last + 1 + first.len() > WIDTH);
        last = (is_new || goes_on).then_some(line.len());
        match out.last_mut().filter(|_| goes_on) {
            Some(before) => {
                before.push(' ');
                before.push_str(line.trim());
            }
            None => out.push(line),
        }
    }
    out
}

/// True for a line that begins with a time: `[   12.345678]`, `[Fri Sep  3 07:30:00 2021]`, `Sep  3 07:30:00 host`.
fn is_stamped(line: &str) -> bool {
    const DIGITS: usize = 4;
    // Lines of patches and diffs begin with a mark.
    let line = line.trim_start_matches(['+', '-']).trim_start();
    let line = line.strip_prefix('<').and_then(|line| line.split_once('>')).map_or(line, |(_, line)| line.trim_start());
    if let Some(inner) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
        return inner.contains(['.', ':'])
            && !inner.starts_with('<')
            && inner.bytes().filter(u8::is_ascii_digit).count() >= DIGITS;
    }
    let is_clock = |word: &str| word.len() >= 8 && word.split(':').count() == 3 && !word.contains("0x");
    line.split_whitespace().take(3).any(|word| is_clock(word) && word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_are_joined_if_a_mail_client_broke_them() {
        let log = "[Fri Sep  3 07:30:00 2021] rcu:         2-....: (5249 ticks this GP)\nidle=0c2/1/0x4000000000000000 softirq=5/5\n\
                   [Fri Sep  3 07:30:00 2021] RIP:\n0010:wait_slowpath_of_a_queued_lock+0x1a2/0x1d0\n[Fri Sep  3 07:30:00 2021]  f+0x1/0x2\nThat is all.\n";
        let lines = unwrapped(log);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].ends_with("this GP) idle=0c2/1/0x4000000000000000 softirq=5/5"), "{lines:?}");
        assert_eq!(lines[1], "[Fri Sep  3 07:30:00 2021] RIP: 0010:wait_slowpath_of_a_queued_lock+0x1a2/0x1d0");
        assert_eq!(lines[3], "That is all.");
        assert_eq!(unwrapped("one\ntwo\n"), ["one", "two"]);
    }
}
