//! Reads text traces: the kernel's, trace-cmd's, perf script's, rtla's analysis, and pasted excerpts.
//!
//! Each line is interpreted on its own; headers only add information that lines do not contain.

mod body;
mod claim;
mod graph;
mod header;
mod irq;
mod lines;
mod log;
mod lttng;
mod names;
mod noise;
mod old;
mod order;
mod prefix;
mod reader;
mod repair;
mod rtla;
mod scan;
mod sched;
mod summary;
mod timer;
mod untimed;

pub(crate) use irq::{reason_of, vector_of};
pub(crate) use names::Names;

use crate::event::{Event, Kind};
use crate::info::{Damage, Format, Place, TraceError, TraceInfo};
use crate::words::Name;
use crate::{Options, Source};
use lines::Lines;
use prefix::{Front, front};
use reader::{Read1, Reader};
use std::collections::VecDeque;
use std::io::Read;

/// Bytes searched before a text without a trace line is rejected.
const SEARCH: u64 = 16 << 20;
/// Maximum number of further lines that a wrapped event may occupy.
const WRAPS: usize = 3;
/// Maximum number of further lines that an event may occupy because of the soft line breaks of quoted-printable mail,
/// which are unambiguous.
const SOFT_WRAPS: usize = 64;

pub(crate) struct TextSource<R> {
    lines: Lines<R>,
    /// Original line numbers of a text whose lines were sorted by time; empty if they were not.
    numbers: Vec<u64>,
    reader: Reader,
    queue: VecDeque<Event>,
    joined: Vec<u8>,
    scratch: Vec<u8>,
}

impl<R: Read> TextSource<R> {
    /// `head` holds the bytes already read from `input`, up to [`crate::HEAD`] if there are as many. Fails if no trace is found.
    pub(crate) fn new(head: &[u8], input: R, options: Options) -> Result<TextSource<R>, TraceError> {
        let whole = (head.len() as u64) < crate::HEAD;
        let (ordered, numbers) = whole.then(|| order::sorted(head)).flatten().unzip();
        let mut reader = Reader::new(options, !has_events(head));
        if ordered.is_some() {
            reader.info.note(Damage::Repaired { how: "lines out of order" }, Place::Whole);
        }
        let mut source = TextSource {
            lines: Lines::new(ordered.as_deref().unwrap_or(head), input),
            numbers: numbers.unwrap_or_default(),
            reader,
            queue: VecDeque::new(),
            joined: Vec::new(),
            scratch: Vec::new(),
        };
        let first = source.read_event(true);
        if let Some(error) = source.lines.error.take() {
            return Err(error.into());
        }
        match first {
            Some(event) => source.queue.push_front(event),
            // Other texts contain `cpus=2` as well.
            None if matches!(source.reader.info.format, Format::Unknown | Format::TraceCmdReport) => {
                let refusal = untimed::untimed(head).or_else(|| summary::summary(head)).or_else(|| unplaced(head));
                let refusal = match source.reader.info.format {
                    Format::Unknown => {
                        Some(refusal.or_else(|| summary::unknown(head)).unwrap_or(TraceError::Unrecognised))
                    }
                    _ => refusal,
                };
                if let Some(refusal) = refusal {
                    return Err(refusal);
                }
            }
            None => {}
        }
        Ok(source)
    }

    fn read_event(&mut self, searching: bool) -> Option<Event> {
        let mut searched = 0;
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let Some(span) = self.lines.advance() else { return self.finish() };
            let number = self.number();
            let line = self.lines.get(span);
            searched += line.len() as u64 + 1;
            if searching && searched > SEARCH && self.reader.info.format == Format::Unknown {
                return None;
            }
            if !repair::suspicious(line, self.lines.plain) && !repair::encoded_header(line) {
                match self.reader.line(line, &mut self.queue) {
                    Read1::Event(event) if !is_callee(&event) => {
                        if let Some(event) = self.reader.emit(event, number, &mut self.queue) {
                            return Some(event);
                        }
                        continue;
                    }
                    Read1::Known => continue,
                    Read1::Nothing if !line.starts_with(b" >") && !line.starts_with(b"\t>") => {
                        self.reader.skip(line);
                        continue;
                    }
                    _ => {}
                }
            }
            self.joined.clear();
            self.joined.extend_from_slice(line);
            self.slow(number);
        }
    }

    /// Handles a line that needs cleaning, needs joining with the next ones, or only requires a note.
    fn slow(&mut self, number: u64) {
        let mut joins = 0;
        while self.joined.ends_with(b"=") && joins < SOFT_WRAPS && self.join_next(true) {
            joins += 1;
        }
        let mut partial = None;
        for attempt in 0..=WRAPS {
            let how = repair::clean(&self.joined, &mut self.scratch);
            let joined = joins + attempt > 0;
            match self.reader.line(&self.scratch, &mut self.queue) {
                Read1::Event(event) => {
                    if attempt < WRAPS && is_callee(&event) && self.caller_follows() && self.join_next(false) {
                        continue;
                    }
                    self.reader.repaired(how, joined, number);
                    self.place(event, number);
                    return;
                }
                Read1::Partial(event, name) => partial = Some((event, name)),
                Read1::Lost(cpu, count) => return self.reader.lost(cpu, count, number, &mut self.queue),
                Read1::Omitted => return self.reader.omitted(&self.scratch, number, &mut self.queue),
                Read1::Known => return self.reader.repaired(how, joined, number),
                Read1::Nothing => break,
            }
            if attempt == WRAPS || !self.join_next(false) {
                break;
            }
        }
        self.incomplete(partial, number);
    }

    /// True if the next line is the caller of a function whose line was wrapped.
    fn caller_follows(&mut self) -> bool {
        let Some(span) = self.lines.peek() else { return false };
        repair::clean(self.lines.get(span), &mut self.scratch);
        self.scratch.trim_ascii_start().starts_with(b"<-")
    }

    fn place(&mut self, event: Event, number: u64) {
        if let Some(first) = self.reader.emit(event, number, &mut self.queue) {
            self.queue.push_front(first);
        }
    }

    fn join_next(&mut self, soft: bool) -> bool {
        let Some(span) = self.lines.peek() else { return false };
        repair::clean(self.lines.get(span), &mut self.scratch);
        let next = self.scratch.trim_ascii();
        let starts_anew = next.is_empty()
            || next.starts_with(b"#")
            || lttng::is_line(next)
            || repair::is_omission(next)
            || graph::line(next).is_some_and(|line| !line.is_cut());
        if starts_anew || (!soft && !matches!(front(&self.scratch, self.reader.latency), Front::Other)) {
            return false;
        }
        if soft {
            self.joined.pop();
            let (raw, _) = repair::unquote(self.lines.get(span));
            self.joined.extend_from_slice(raw.trim_ascii_end());
        } else {
            repair::join(&mut self.joined, next);
        }
        self.lines.advance();
        self.joined.len() < 8192
    }

    fn incomplete(&mut self, partial: Option<(Option<Event>, Name)>, number: u64) {
        let Some((event, name)) = partial else {
            self.reader.skip(&self.joined);
            return;
        };
        self.reader.info.note(Damage::Incomplete { event: name }, Place::Line(number));
        if let Some(event) = event {
            self.place(event, number);
        }
    }

    fn number(&self) -> u64 {
        let number = self.lines.number;
        self.numbers.get((number as usize).wrapping_sub(1)).copied().unwrap_or(number)
    }

    fn finish(&mut self) -> Option<Event> {
        if let Some(error) = self.lines.error.take() {
            let what = format!("the rest of the input: {error}");
            self.reader.info.note(Damage::Unsupported { what }, Place::Line(self.lines.number));
        }
        if std::mem::take(&mut self.lines.cut) {
            self.reader.info.note(Damage::LimitReached { what: "length of a line" }, Place::Whole);
        }
        if std::mem::take(&mut self.lines.unfinished) && self.reader.event_line == self.number() {
            self.reader.info.note(Damage::Truncated { inside: "the last line" }, Place::Line(self.number()));
        }
        self.reader.compare_with_header();
        self.reader.take_held()
    }
}

/// True for a function without its caller, which a wrapped line has on the next one.
fn is_callee(event: &Event) -> bool {
    matches!(event.kind, Kind::Function { parent: None, .. })
}

/// True if the text has an event with its thread, CPU and time.
fn has_events(head: &[u8]) -> bool {
    let mut cleaned = Vec::new();
    head.split(|b| *b == b'\n').any(|line| {
        repair::clean(line, &mut cleaned);
        matches!(front(&cleaned, false), Front::Event(..) | Front::Cut) || lttng::is_line(&cleaned)
    })
}

/// Detects lines that name an event and lack the columns before it: `sched_stat_wait: comm=…`, ` [000] 154.892148:
/// sched_waking: …`.
fn unplaced(head: &[u8]) -> Option<TraceError> {
    const EVENTS: [&[u8]; 11] = [
        b"sched_wakeup:",
        b"sched_waking:",
        b"sched_switch:",
        b"sched_migrate_task:",
        b"sched_stat_wait: comm=",
        b"irq_handler_entry:",
        b"softirq_entry:",
        b"hrtimer_expire_entry:",
        b"local_timer_entry:",
        b"sched_stat_runtime: comm=",
        b" ==> ",
    ];
    let line = head
        .split(|b| *b == b'\n')
        .find(|line| line.len() <= 512 && EVENTS.iter().any(|name| memchr::memmem::find(line, name).is_some()))?;
    Some(TraceError::Unplaced { line: scan::text(scan::trim(line), 80) })
}

impl<R: Read> Iterator for TextSource<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.read_event(false)
    }
}

impl<R: Read> Source for TextSource<R> {
    fn info(&self) -> &TraceInfo {
        &self.reader.info
    }
}

/// Returns an event that invalidates all state.
pub(crate) fn restart(t_ns: u64) -> Event {
    Event { t_ns, cpu: 0, tid: None, comm: None, flags: None, kind: Kind::Restart }
}

pub(crate) fn loss(t_ns: u64, cpu: u32, count: Option<u64>) -> Event {
    Event { t_ns, cpu, tid: None, comm: None, flags: None, kind: Kind::LostEvents { count } }
}
