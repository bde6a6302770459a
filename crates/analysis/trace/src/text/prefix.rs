//! Parses the part of an event line before its body: task, CPU, flag columns, time.

use super::scan::{find, number, seconds, skip_spaces, whole, whole_i32};
use crate::flags::Flags;
use crate::words::Comm;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prefix {
    pub comm: Option<Comm>,
    /// Thread ID; −1 if the line does not contain it.
    pub tid: i32,
    /// CPU number; 0 if the line does not contain it.
    pub cpu: u32,
    pub flags: Option<Flags>,
    /// Time in nanoseconds, or in ticks if `decimals` is `None`.
    pub time: u64,
    /// Number of decimals of the seconds; `None` for a plain number.
    pub decimals: Option<u32>,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `comm-pid [cpu] flags time:`; trace-cmd uses this layout as well.
    Normal,
    /// `comm-pid cpuflags 12us+:` of the latency format.
    Latency,
    /// `comm pid [cpu] time:` of perf script.
    Perf,
}

pub(crate) enum Front<'a> {
    /// A line with an event, as the parsed prefix and the text of the body.
    Event(Prefix, &'a [u8]),
    /// An event line wrapped or truncated before its body.
    Cut,
    Other,
}

/// Reads the prefix in normal layout or latency format; the latter is tried first if `latency_first`.
pub(crate) fn front(line: &[u8], latency_first: bool) -> Front<'_> {
    if latency_first && let Some((prefix, body)) = latency(line).or_else(|| latency_call(line)) {
        return Front::Event(prefix, body);
    }
    match normal(line) {
        Front::Other if !latency_first => match latency(line) {
            Some((prefix, body)) => Front::Event(prefix, body),
            None => Front::Other,
        },
        found => found,
    }
}

fn normal(line: &[u8]) -> Front<'_> {
    for at in memchr::memchr_iter(b'[', line).take(8) {
        let Some((cpu, rest)) = line.get(at + 1..).and_then(number) else { continue };
        let (Some(rest), Ok(cpu)) = (rest.strip_prefix(b"]"), u32::try_from(cpu)) else { continue };
        let Some((comm, tid, perf)) = line.get(..at).and_then(task) else { continue };
        let style = if perf { Style::Perf } else { Style::Normal };
        let Some((flags, time, decimals, body)) = flags_and_time(rest) else { return Front::Cut };
        return Front::Event(Prefix { comm, tid, cpu, flags, time, decimals, style }, body);
    }
    Front::Other
}

/// Parses a line that lacks its thread or its CPU: `[007] 154.892213: …`, `<idle>-0  6.594695: …`, `16169.624862: …`.
/// The second value is true if the CPU is present.
pub(crate) fn partial(line: &[u8]) -> Option<(Prefix, bool, &[u8])> {
    let line = line.trim_ascii();
    let is_time = |word: &[u8]| matches!(seconds(word), Some((_, Some(3..), [])));
    let (at, end) = memchr::memchr_iter(b':', line).take(4).find_map(|end| {
        let before = line.get(..end)?;
        let at = before.iter().rposition(|b| matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1);
        is_time(before.get(at..)?).then_some((at, end))
    })?;
    let (time, decimals, _) = seconds(line.get(at..end)?)?;
    let mut before = line.get(..at)?.trim_ascii_end();
    let columns = before.iter().rposition(|b| matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1);
    let flags = Flags::from_columns(before.get(columns..)?);
    if flags.is_some() {
        before = before.get(..columns)?.trim_ascii_end();
    }
    let open = memchr::memrchr(b'[', before).filter(|_| before.ends_with(b"]"));
    let cpu: Option<u32> = open.and_then(|open| whole(before.get(open + 1..before.len() - 1)?));
    if cpu.is_some() {
        before = before.get(..open?)?.trim_ascii_end();
    }
    let (comm, tid) = match before {
        [] => (None, -1),
        // Some lines omit the thread ID.
        who => task(who).map(|(comm, tid, _)| (comm, tid)).or_else(|| Some((Some(one_word(who)?), -1)))?,
    };
    let prefix = Prefix { comm, tid, cpu: cpu.unwrap_or(0), flags, time, decimals, style: Style::Normal };
    Some((prefix, cpu.is_some(), line.get(end + 1..)?))
}

/// Flag columns, time, number of its decimals, rest of the line.
type FlagsAndTime<'a> = (Option<Flags>, u64, Option<u32>, &'a [u8]);

fn flags_and_time(rest: &[u8]) -> Option<FlagsAndTime<'_>> {
    let rest = skip_spaces(rest);
    if rest.first()?.is_ascii_digit() {
        let (time, decimals, body) = time(rest)?;
        return Some((None, time, decimals, body));
    }
    let end = rest.iter().position(|b| matches!(b, b' ' | b'\t'))?;
    let flags = Flags::from_columns(rest.get(..end)?)?;
    let (time, decimals, body) = time(skip_spaces(rest.get(end..)?))?;
    Some((Some(flags), time, decimals, body))
}

fn time(s: &[u8]) -> Option<(u64, Option<u32>, &[u8])> {
    let (time, decimals, rest) = seconds(s)?;
    Some((time, decimals, rest.strip_prefix(b":")?))
}

/// Parses `comm-pid`, `comm-pid (tgid)`, or perf's `comm pid` and `comm pid/tid` at the end of `s`. The last value is
/// true for perf's layout.
fn task(s: &[u8]) -> Option<(Option<Comm>, i32, bool)> {
    let mut s = s.trim_ascii_end();
    if s.ends_with(b")") {
        s = s.get(..memchr::memrchr(b'(', s)?)?.trim_ascii_end();
    }
    let digits = s.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (rest, tid) = s.split_at_checked(s.len() - digits)?;
    let tid = i32::try_from(whole::<u64>(tid)?).ok()?;
    match rest.split_last()? {
        (b'-', comm) => Some((name(comm), tid, false)),
        (b'/', pid) => {
            let digits = pid.iter().rev().take_while(|b| b.is_ascii_digit()).count();
            Some((name(pid.get(..pid.len() - digits)?.strip_suffix(b" ")?), tid, true))
        }
        (b' ' | b'\t', comm) => Some((Some(name(comm).or_else(|| one_word(comm))?), tid, true)),
        _ => None,
    }
}

/// Returns the task name at the end of the text before the pid, without leading quoting, log timestamps or file names.
fn name(s: &[u8]) -> Option<Comm> {
    let mut s = s.trim_ascii();
    if s.first() == Some(&b'[') && s.len() > 15 {
        s = s.get(memchr::memchr(b']', s)? + 1..)?.trim_ascii_start();
    }
    if s.len() > 15 {
        let at = memchr::memmem::rfind(s, b"  ")?;
        s = s.get(at + 2..)?;
    }
    (!s.is_empty() && s != b"<...>" && s.len() <= 16).then(|| Comm::new(s))
}

/// Handles a name that the person who pasted it made longer than the kernel allows: `engine_worker_<..>`.
fn one_word(s: &[u8]) -> Option<Comm> {
    let s = s.trim_ascii();
    (s.len() <= 64 && !s.is_empty() && s != b"<...>" && !s.iter().any(u8::is_ascii_whitespace)).then(|| Comm::new(s))
}

/// Parses `comm-pid  1dNh5.  13us+: body`, or trace-cmd's form of it with absolute time.
fn latency(line: &[u8]) -> Option<(Prefix, &[u8])> {
    let mut from = 0;
    for _ in 0..4 {
        let colon = from + memchr::memchr(b':', line.get(from..)?)?;
        let found = line.get(..colon).and_then(latency_front);
        if let Some(prefix) = found {
            return Some((prefix, line.get(colon + 1..)?));
        }
        from = colon + 1;
    }
    None
}

/// Parses a system call that begins (`5us > sys_read (3 0 0)`) or ends (`16us < (0)`) in the latency tracer of 2.6,
/// without a colon.
fn latency_call(line: &[u8]) -> Option<(Prefix, &[u8])> {
    let at = find(line, b"< (").or_else(|| find(line, b"> sys_"))?;
    Some((latency_front(line.get(..at)?)?, line.get(at..)?))
}

fn latency_front(s: &[u8]) -> Option<Prefix> {
    let (s, time, decimals) = latency_time(s)?;
    let s = s.trim_ascii_end();
    let start = s.iter().rposition(|b| matches!(b, b' ' | b'\t'))? + 1;
    let (cpu, columns) = number(s.get(start..)?)?;
    let flags = Flags::from_columns(columns)?;
    let (comm, tid, perf) = task(s.get(..start)?)?;
    let cpu = u32::try_from(cpu).ok()?;
    (!perf).then_some(Prefix { comm, tid, cpu, flags: Some(flags), time, decimals, style: Style::Latency })
}

/// Parses `   13us+` or `   13us ` (the mark classifies the time until the next event) or ` 53.488060` at the end.
fn latency_time(s: &[u8]) -> Option<(&[u8], u64, Option<u32>)> {
    let unmarked = match s.split_last()? {
        (b' ' | b'+' | b'!' | b'#' | b'*' | b'@' | b'$', rest) => rest,
        _ => s,
    };
    let (digits, relative) = match unmarked.strip_suffix(b"us").or_else(|| without_micro(unmarked)) {
        Some(digits) => (digits, true),
        None => (s, false),
    };
    let length = digits.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let (rest, digits) = digits.split_at_checked(digits.len() - length)?;
    if relative {
        return Some((rest, whole::<u64>(digits)?.checked_mul(1000)?, Some(6)));
    }
    match seconds(digits)? {
        (ns, Some(decimals), []) => Some((rest, ns, Some(decimals))),
        _ => None,
    }
}

/// Handles `µs`, which the latency tracer of 2.6 prints in Latin-1; web pages show it in other encodings, or as a
/// replacement character.
fn without_micro(s: &[u8]) -> Option<&[u8]> {
    let s = s.strip_suffix(b"s").unwrap_or(s);
    let end = s.iter().rposition(u8::is_ascii)? + 1;
    s.get(..end).filter(|digits| digits.len() < s.len() && s.len() - end <= 3)
}

/// Parses `comm-pid` of function_graph.
pub(crate) fn comm_dash_pid(s: &[u8]) -> Option<(Option<Comm>, i32)> {
    task(s).filter(|(.., perf)| !perf).map(|(comm, tid, _)| (comm, tid))
}

/// Parses `comm:pid` of trace-cmd's reports. The last colon is the separator, since names may contain colons
/// (`kworker/0:1`).
pub(crate) fn comm_pid(s: &[u8]) -> Option<(Option<Comm>, i32)> {
    let at = memchr::memrchr(b':', s)?;
    let comm = s.get(..at)?;
    let tid = whole_i32(s.get(at + 1..)?)?;
    Some(((!comm.is_empty() && comm != b"<...>").then(|| Comm::new(comm)), tid))
}

#[cfg(test)]
mod tests;
