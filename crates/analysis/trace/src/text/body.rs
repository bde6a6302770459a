//! Parses the body of an event line: dispatches to the parser of the event.

use super::names::Names;
use super::scan::{find, number, skip_spaces, split, text, trim, word};
use super::{irq, noise, sched, timer};
use crate::event::Kind;
use crate::words::Name;

#[derive(Debug, PartialEq)]
pub(crate) enum Body {
    Kind(Kind),
    /// A known event with missing fields, because its line was wrapped or truncated.
    Incomplete(Name),
    /// `<stack trace>`: the frames follow on separate lines.
    Stack,
}

const MOST: usize = 1024;

pub(crate) struct Bodies {
    pub(crate) names: Names,
    /// True to keep the bodies of events of kind `Kind::Other`.
    pub(crate) keep: bool,
}

impl Bodies {
    pub(crate) fn read(&mut self, body: &[u8], line: sched::Line) -> Body {
        let body = without_arrow(without_difference(trim(body)));
        if let Some((name, rest)) = event_name(body) {
            return self.named(name, skip_spaces(rest));
        }
        if let Some(known) = self.without_colon(body) {
            return known;
        }
        match body.first() {
            Some(b'#') => self.sample(body),
            Some(b'<') if body == b"<stack trace>" || body == b"<user stack trace>" => Body::Stack,
            Some(b'0'..=b'9' | b'<' | b'-') => match (sched::tracer_line(body, line), noise::osnoise(body)) {
                (Some(Some(kind)), _) | (_, Some(kind)) => Body::Kind(kind),
                (Some(None), None) => Body::Incomplete(self.names.get(b"line of a wakeup tracer")),
                (None, None) => self.function(body),
            },
            _ => self.function(body),
        }
    }

    fn named(&mut self, name: &[u8], rest: &[u8]) -> Body {
        let name = match memchr::memchr(b':', name) {
            Some(at) => name.get(at + 1..).unwrap_or(name),
            None => name,
        };
        let names = &mut self.names;
        let mut read = |rest: &[u8]| match name {
            // Most events are of these kinds, so their names are checked first.
            [b's', b'c', b'h', b'e', b'd', b'_', ..] => sched::read(name, rest),
            [b'h', b'r', b't', b'i', b'm', b'e', b'r', ..] => timer::read(name, rest, names),
            [b'l', ..] | [b'i', b'r', b'q', ..] => {
                irq::read(name, rest, names).or_else(|| noise::read(name, rest, names))
            }
            _ => sched::read(name, rest)
                .or_else(|| timer::read(name, rest, names))
                .or_else(|| irq::read(name, rest, names))
                .or_else(|| noise::read(name, rest, names)),
        };
        // Whoever pasted the line may have appended a remark or aligned its fields.
        let known = match read(rest) {
            Some(Some(kind)) => Some(Some(kind)),
            Some(None) if find(rest, b"  ").is_some() => read(&single_spaced(rest)),
            other => without_remark(rest).map_or(other, read),
        };
        let names = &mut self.names;
        match known {
            Some(Some(kind)) => Body::Kind(kind),
            Some(None) => Body::Incomplete(names.get(name)),
            None if is_cut_work(name, rest) => Body::Incomplete(names.get(name)),
            None if is_print(name) => Body::Kind(Kind::Print { text: text(print_text(rest), MOST).into() }),
            None => self.other(name, rest),
        }
    }

    /// `irq_handler_entry   irq=343 name=dwc3`, an event line without a colon; accepted only for a known event with all
    /// of its fields.
    fn without_colon(&mut self, body: &[u8]) -> Option<Body> {
        const FIRST: [&[u8]; 5] = [b"comm=", b"prev_comm=", b"irq=", b"vec=", b"vector="];
        let (name, rest) = word(body);
        let rest = skip_spaces(rest);
        FIRST.iter().any(|field| rest.starts_with(field)).then_some(())?;
        match self.named(name, &single_spaced(rest)) {
            Body::Kind(Kind::Other { .. }) => None,
            known => Some(known),
        }
    }

    fn other(&mut self, name: &[u8], rest: &[u8]) -> Body {
        // A synthetic event with a latency is an answer (Documentation/trace/histogram.rst), and so is a report of a
        // runtime verification monitor.
        let kept = self.keep
            || name.ends_with(b"lat")
            || name.ends_with(b"latency")
            || name.ends_with(b"latspot")
            || name.starts_with(b"workqueue_")
            || name == b"tick_stop"
            || find(name, b"ipi").is_some()
            || name.ends_with(b"reschedule")
            || rest.starts_with(b"event ");
        let body = kept.then(|| text(rest, MOST).into());
        Body::Kind(Kind::Other { name: self.names.get(name), body })
    }

    fn sample(&mut self, body: &[u8]) -> Body {
        match noise::timerlat(body).or_else(|| noise::hwlat(body)) {
            Some(kind) => Body::Kind(kind),
            None => Body::Incomplete(self.names.get(b"sample")),
        }
    }

    fn function(&mut self, body: &[u8]) -> Body {
        let remark = [&b" //"[..], b" # "].iter().filter_map(|start| find(body, start)).min();
        let body = remark.and_then(|at| body.get(..at)).map_or(body, trim);
        if let Some(kind) = irq::syscall(body, &mut self.names) {
            return Body::Kind(kind);
        }
        if let Some((function, parent)) = split(body, b" <-") {
            let (function, parent) = (self.names.symbol(trim(function)), self.names.symbol(trim(parent)));
            return Body::Kind(Kind::Function { function, parent: Some(parent) });
        }
        if !body.is_empty() && body.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) {
            return Body::Kind(Kind::Function { function: self.names.symbol(body), parent: None });
        }
        if body.is_empty() { Body::Incomplete(self.names.get(b"")) } else { self.other(b"", body) }
    }
}

/// Splits `name: rest` into name and rest. In perf's `system:name: rest`, the system remains part of the name.
fn event_name(body: &[u8]) -> Option<(&[u8], &[u8])> {
    if !body.first()?.is_ascii_alphabetic() && body.first() != Some(&b'_') {
        return None;
    }
    let word = |s: &[u8]| s.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let mut end = word(body);
    if body.get(end) != Some(&b':') {
        return None;
    }
    let second = word(body.get(end + 1..)?);
    if second > 0 && body.get(end + 1 + second) == Some(&b':') {
        end += 1 + second;
    }
    Some((body.get(..end)?, body.get(end + 1..)?))
}

/// Removes the time since the preceding event that `trace-cmd report --ts-diff` inserts: `(+3000)`.
fn without_difference(body: &[u8]) -> &[u8] {
    let rest = body.strip_prefix(b"(+").and_then(number).and_then(|(_, rest)| rest.strip_prefix(b")"));
    rest.map_or(body, skip_spaces)
}

/// Removes `← remark`, which the person who pasted the line added after a space.
fn without_arrow(body: &[u8]) -> &[u8] {
    const ARROW: &[u8] = "←".as_bytes();
    let at = memchr::memchr(0xe2, body).and_then(|_| find(body, ARROW));
    let before = at.and_then(|at| body.get(..at)).filter(|before| before.ends_with(b" ") || before.ends_with(b"\t"));
    before.map_or(body, trim)
}

/// Returns the text before `<===`, `<--`, `//` or `#` that follows a blank.
pub(super) fn without_remark(rest: &[u8]) -> Option<&[u8]> {
    memchr::memchr3(b'<', b'/', b'#', rest)?;
    let starts = [&b" <="[..], b" <-", b"\t<-", b"\t<=", b" //", b" #"];
    let at = starts.iter().filter_map(|start| find(rest, start)).min()?;
    rest.get(..at).map(trim)
}

fn single_spaced(s: &[u8]) -> Vec<u8> {
    let words: Vec<&[u8]> = s.split(|b| *b == b' ').filter(|word| !word.is_empty()).collect();
    words.join(&b' ')
}

/// True for an event of a workqueue whose line ends before the work or its function, as in `workqueue_execute_start:` and
/// `workqueue_queue_work: work struct=00000000e43c1ebb`.
fn is_cut_work(name: &[u8], rest: &[u8]) -> bool {
    let is_cut = matches!(rest, b"" | b"work" | b"work struct") || rest.ends_with(b": function");
    let of_queue = name == b"workqueue_queue_work" && rest.starts_with(b"work struct");
    name.starts_with(b"workqueue_") && (is_cut || of_queue && find(rest, b"function").is_none())
}

fn is_print(name: &[u8]) -> bool {
    matches!(name, b"console" | b"tracing_mark_write" | b"print" | b"bprint" | b"bputs" | b"tracing_mark_raw_write")
}

/// Removes the name of the function that wrote the text, which trace-cmd prints before the text.
fn print_text(rest: &[u8]) -> &[u8] {
    match find(rest, b"tracing_mark_write: ") {
        Some(0) => rest.get(20..).unwrap_or(rest),
        _ => rest,
    }
}
