//! Text traces: the kernel's, trace-cmd's, perf script's, rtla's analysis, and pieces of them that were pasted somewhere.
//!
//! Data is trusted, headers are not: each line is read for what it is, and headers only add what lines cannot say.

mod body;
mod header;
mod irq;
mod lines;
mod mend;
mod names;
mod noise;
mod prefix;
mod rtla;
mod scan;
mod sched;
mod timer;

pub(crate) use irq::{reason_of, vector_of};
pub(crate) use names::Names;
pub(crate) use sched::state_of;

use crate::event::{Event, Kind};
use crate::info::{Damage, Format, Place, TimeBase, TraceError, TraceInfo};
use crate::words::Symbol;
use crate::{Options, Source};
use body::{Bodies, Body, Line};
use header::Header;
use lines::Lines;
use prefix::{Front, Prefix, Style, front};
use std::collections::{BTreeSet, VecDeque};
use std::io::Read;

/// Bytes looked at before a text without any trace line is given up.
const SEARCH: u64 = 16 << 20;
/// Lines a wrapped event may be spread over, besides the first.
const WRAPS: usize = 3;
/// The same for soft line breaks of quoted-printable mails, which are certain.
const SOFT_WRAPS: usize = 64;
/// Frames kept of a stack.
const FRAMES: usize = 128;
/// CPUs remembered for marking omissions.
const CPUS: usize = 8192;
/// Steps back of time that are put down to clocks of different CPUs, ns; more means another trace.
const BACKSTEP: u64 = 100_000;

/// Events of a text trace.
pub(crate) struct TextSource<R> {
    lines: Lines<R>,
    reader: Reader,
    queue: VecDeque<Event>,
    joined: Vec<u8>,
    scratch: Vec<u8>,
}

/// What is known while reading lines.
struct Reader {
    info: TraceInfo,
    bodies: Bodies,
    rtla: rtla::Rtla,
    latency: bool,
    last: Option<u64>,
    stack: Option<(Event, Vec<Symbol>)>,
    cpus: BTreeSet<u32>,
    mended: BTreeSet<&'static str>,
    events: u64,
    compared: bool,
}

/// What one line gave.
enum Read1 {
    Event(Event),
    /// Wrapped or cut: the event as far as it can be known, if its front was whole.
    Partial(Option<Event>, crate::words::Name),
    Lost(u32, Option<u64>),
    Omitted,
    /// A line that belongs to a trace but is no event.
    Known,
    /// Anything else.
    Nothing,
}

impl<R: Read> TextSource<R> {
    /// Starts reading: `head` was read from `input` already. Fails if no trace is found.
    pub(crate) fn new(head: &[u8], input: R, options: Options) -> Result<TextSource<R>, TraceError> {
        let mut source = TextSource {
            lines: Lines::new(head, input),
            reader: Reader::new(options),
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
            None if source.reader.info.format == Format::Unknown => return Err(TraceError::Unrecognised),
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
            let number = self.lines.number;
            let line = self.lines.get(span);
            searched += line.len() as u64 + 1;
            if searching && searched > SEARCH && self.reader.info.format == Format::Unknown {
                return None;
            }
            if !mend::suspicious(line) {
                match self.reader.line(line, &mut self.queue) {
                    Read1::Event(event) => {
                        if let Some(event) = self.reader.emit(event, number, &mut self.queue) {
                            return Some(event);
                        }
                        continue;
                    }
                    Read1::Known => continue,
                    Read1::Nothing if !line.starts_with(b" >") && !line.starts_with(b"\t>") => {
                        self.reader.info.skipped += u64::from(!line.is_empty());
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

    /// A line that needs mending, joining with the next ones, or a note.
    fn slow(&mut self, number: u64) {
        let mut joins = 0;
        while self.joined.ends_with(b"=") && joins < SOFT_WRAPS && self.join_next(true) {
            joins += 1;
        }
        let mut partial = None;
        for attempt in 0..=WRAPS {
            let how = mend::clean(&self.joined, &mut self.scratch);
            let joined = joins + attempt > 0;
            match self.reader.line(&self.scratch, &mut self.queue) {
                Read1::Event(event) => {
                    self.reader.mended(how, joined, number);
                    let event = self.reader.emit(event, number, &mut self.queue);
                    self.queue.extend(event);
                    return;
                }
                Read1::Partial(event, name) => partial = Some((event, name)),
                Read1::Lost(cpu, count) => return self.reader.lost(cpu, count, number, &mut self.queue),
                Read1::Omitted => return self.reader.omitted(&self.scratch, number, &mut self.queue),
                Read1::Known => return self.reader.mended(how, joined, number),
                Read1::Nothing => break,
            }
            if attempt == WRAPS || !self.join_next(false) {
                break;
            }
        }
        self.incomplete(partial, number);
    }

    /// Appends the next line if it can be the rest of this one.
    fn join_next(&mut self, soft: bool) -> bool {
        let Some(span) = self.lines.peek() else { return false };
        mend::clean(self.lines.get(span), &mut self.scratch);
        let next = self.scratch.trim_ascii();
        let starts_anew = next.is_empty() || next.starts_with(b"#") || mend::tells_of_omission(next);
        if starts_anew || (!soft && !matches!(front(&self.scratch, self.reader.latency), Front::Other)) {
            return false;
        }
        if soft {
            self.joined.pop();
            let (raw, _) = mend::unquote(self.lines.get(span));
            self.joined.extend_from_slice(raw.trim_ascii_end());
        } else {
            self.joined.push(b' ');
            self.joined.extend_from_slice(next);
        }
        self.lines.advance();
        self.joined.len() < 8192
    }

    fn incomplete(&mut self, partial: Option<(Option<Event>, crate::words::Name)>, number: u64) {
        let Some((event, name)) = partial else {
            self.reader.info.skipped += 1;
            return;
        };
        self.reader.info.note(Damage::Incomplete { event: name }, Place::Line(number));
        if let Some(event) = event {
            let event = self.reader.emit(event, number, &mut self.queue);
            self.queue.extend(event);
        }
    }

    fn finish(&mut self) -> Option<Event> {
        if let Some(error) = self.lines.error.take() {
            let what = format!("the rest of the input: {error}");
            self.reader.info.note(Damage::Unsupported { what }, Place::Line(self.lines.number));
        }
        if std::mem::take(&mut self.lines.cut) {
            self.reader.info.note(Damage::LimitReached { what: "length of a line" }, Place::Whole);
        }
        if std::mem::take(&mut self.lines.unfinished) {
            self.reader.info.note(Damage::Truncated { inside: "the last line" }, Place::Line(self.lines.number));
        }
        self.reader.compare_with_header();
        self.reader.take_stack()
    }
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

impl Reader {
    fn new(options: Options) -> Reader {
        Reader {
            info: TraceInfo::default(),
            bodies: Bodies { names: Names::new(), keep: options.bodies },
            rtla: rtla::Rtla::default(),
            latency: false,
            last: None,
            stack: None,
            cpus: BTreeSet::new(),
            mended: BTreeSet::new(),
            events: 0,
            compared: false,
        }
    }

    /// Reads one line as it is.
    fn line(&mut self, line: &[u8], queue: &mut VecDeque<Event>) -> Read1 {
        match front(line, self.latency) {
            Front::Event(prefix, body) => self.event(&prefix, body),
            Front::Cut => Read1::Partial(None, self.bodies.names.get(b"line")),
            Front::Other => self.no_event(line, queue),
        }
    }

    fn event(&mut self, prefix: &Prefix, body: &[u8]) -> Read1 {
        self.learn(prefix);
        let Prefix { comm, tid, cpu, flags, .. } = *prefix;
        let event = |kind| Event { t_ns: prefix.time, cpu, tid: Some(tid), comm, flags, kind };
        match self.bodies.read(body, Line { cpu, tid, comm }) {
            Body::Kind(kind) => Read1::Event(event(kind)),
            Body::Stack => Read1::Event(event(Kind::Stack { frames: Box::default() })),
            Body::Incomplete(name) => {
                let known = event(Kind::Other { name: name.clone(), body: None });
                Read1::Partial(Some(known), name)
            }
        }
    }

    /// Format, units and resolution show in the first event.
    fn learn(&mut self, prefix: &Prefix) {
        let unknown = matches!(self.info.format, Format::Unknown | Format::RtlaText);
        if !unknown && self.info.resolution_ns.is_some() {
            return;
        }
        if unknown {
            self.info.format = match prefix.style {
                Style::Normal => Format::KernelText,
                Style::Latency => Format::LatencyText,
                Style::Perf => Format::PerfScript,
            };
        }
        self.info.resolution_ns = 10u64.checked_pow(9 - prefix.decimals.unwrap_or(9).min(9));
        self.info.comms_cut = prefix.style == Style::Latency;
        self.info.time = match (prefix.decimals, prefix.style) {
            (None, _) => TimeBase::Ticks,
            (_, Style::Latency) => TimeBase::Relative,
            _ => TimeBase::Absolute,
        };
    }

    fn no_event(&mut self, line: &[u8], queue: &mut VecDeque<Event>) -> Read1 {
        let trimmed = line.trim_ascii();
        if let Some(frame) = trimmed.strip_prefix(b"=> ")
            && let Some((_, frames)) = self.stack.as_mut()
        {
            if frames.len() < FRAMES {
                frames.push(self.bodies.names.symbol(frame));
            }
            return Read1::Known;
        }
        if self.rtla.line(line, &mut self.info.rtla) {
            if self.info.format == Format::Unknown {
                self.info.format = Format::RtlaText;
            }
            return Read1::Known;
        }
        match header::read(line, &mut self.info) {
            Header::Begins => return self.begin(queue),
            Header::Latency => {
                self.latency = true;
                self.info.format = Format::LatencyText;
                return Read1::Known;
            }
            Header::Known => return Read1::Known,
            Header::No => {}
        }
        if trimmed.is_empty() || trimmed.starts_with(b"#") || header::report(line, &mut self.info) {
            return Read1::Known;
        }
        match header::lost(line) {
            Some((cpu, count)) => Read1::Lost(cpu, count),
            None if self.events > 0 && mend::tells_of_omission(line) => Read1::Omitted,
            None => Read1::Nothing,
        }
    }

    /// `# tracer:`: another trace begins, in its own layout.
    fn begin(&mut self, queue: &mut VecDeque<Event>) -> Read1 {
        self.latency = false;
        if matches!(self.info.format, Format::Unknown | Format::RtlaText) {
            self.info.format = Format::KernelText;
        }
        if let Some(t_ns) = self.last.take() {
            queue.extend(self.take_stack());
            queue.push_back(restart(t_ns));
            self.cpus.clear();
        }
        Read1::Known
    }

    fn take_stack(&mut self) -> Option<Event> {
        let (mut event, frames) = self.stack.take()?;
        event.kind = Kind::Stack { frames: frames.into() };
        Some(event)
    }

    /// Puts an event in its place: after a stack that is complete now, after a restart if time went back. Returns it if
    /// nothing is queued before it.
    fn emit(&mut self, mut event: Event, number: u64, queue: &mut VecDeque<Event>) -> Option<Event> {
        self.events += 1;
        queue.extend(self.take_stack());
        if let Some(last) = self.last
            && event.t_ns < last
        {
            self.info.note(Damage::TimeWentBack, Place::Line(number));
            if last - event.t_ns <= BACKSTEP {
                event.t_ns = last;
            } else {
                queue.push_back(restart(last));
                self.cpus.clear();
            }
        }
        self.last = Some(event.t_ns);
        if self.cpus.len() < CPUS {
            self.cpus.insert(event.cpu);
        }
        if matches!(event.kind, Kind::Stack { .. }) {
            self.stack = Some((event, Vec::new()));
            return queue.pop_front();
        }
        if queue.is_empty() {
            return Some(event);
        }
        queue.push_back(event);
        queue.pop_front()
    }

    /// Fewer events than the only header says: somebody cut the trace.
    fn compare_with_header(&mut self) {
        let Some(expected) = self.info.entries_in_buffer.filter(|n| *n > self.events) else { return };
        if !std::mem::replace(&mut self.compared, true) {
            let text = format!("{} of {expected} entries are here", self.events);
            self.info.note(Damage::Omitted { text }, Place::Whole);
        }
    }

    fn lost(&mut self, cpu: u32, count: Option<u64>, number: u64, queue: &mut VecDeque<Event>) {
        self.info.lose(cpu, count, Place::Line(number));
        queue.extend(self.take_stack());
        queue.push_back(loss(self.last.unwrap_or(0), cpu, count));
    }

    /// Lines were left out: no CPU's state is known after this.
    fn omitted(&mut self, line: &[u8], number: u64, queue: &mut VecDeque<Event>) {
        self.info.note(Damage::Omitted { text: scan::text(scan::trim(line), 80) }, Place::Line(number));
        queue.extend(self.take_stack());
        queue.extend(self.cpus.iter().map(|cpu| loss(self.last.unwrap_or(0), *cpu, None)));
    }

    fn mended(&mut self, how: Option<&'static str>, joined: bool, number: u64) {
        for how in how.into_iter().chain(joined.then_some("wrapped lines")) {
            if self.mended.insert(how) {
                self.info.note(Damage::Mended { how }, Place::Line(number));
            }
        }
    }
}

pub(crate) fn restart(t_ns: u64) -> Event {
    Event { t_ns, cpu: 0, tid: None, comm: None, flags: None, kind: Kind::Restart }
}

pub(crate) fn loss(t_ns: u64, cpu: u32, count: Option<u64>) -> Event {
    Event { t_ns, cpu, tid: None, comm: None, flags: None, kind: Kind::LostEvents { count } }
}
