//! Converts the lines of a text trace to ordered events, and holds the state that is kept between lines.

use super::body::{self, Bodies, Body};
use super::graph::{self, Calls, Graph};
use super::header::{self, Header};
use super::names::Names;
use super::old::{Found, Old};
use super::prefix::{self, Front, Prefix, Style, front};
use super::scan::split;
use super::sched::{self, Line};
use super::{claim, log, loss, lttng, old, repair, restart, rtla, scan};
use crate::Options;
use crate::event::{Event, Kind};
use crate::info::{Damage, Format, LatencyHeader, Place, TimeBase, TraceInfo};
use crate::words::{Comm, Name, Symbol};
use std::collections::{BTreeSet, VecDeque};

const FRAMES: usize = 128;
const CPUS: usize = 8192;
/// Largest step back in time, ns, that is attributed to clocks of different CPUs; a larger one means another trace.
const BACKSTEP: u64 = 100_000;

pub(super) struct Reader {
    pub(super) info: TraceInfo,
    bodies: Bodies,
    rtla: rtla::Rtla,
    calls: Calls,
    pub(super) latency: bool,
    last: Option<u64>,
    stack: Option<(Event, Vec<Symbol>)>,
    old: Old,
    /// CPU and thread of the last line in latency format.
    last_task: Option<(u32, i32, Option<Comm>)>,
    cpus: BTreeSet<u32>,
    /// CPU of the last event; `cpus` contains it too, unless that set was full.
    last_cpu: Option<u32>,
    repaired: BTreeSet<&'static str>,
    /// Layout of the current line; `last_style` is the layout of the last event's line.
    style: Option<Style>,
    last_style: Option<Style>,
    events: u64,
    compared: bool,
    /// True if event lines without a CPU are accepted.
    may_be_partial: bool,
    is_partial: bool,
    /// The last event without its kind: a stack may follow.
    last_event: Option<Event>,
    pub(super) event_line: u64,
}

pub(super) enum Read1 {
    Event(Event),
    /// A wrapped or truncated line: the event as far as it is known, if its prefix is complete.
    Partial(Option<Event>, Name),
    Lost(u32, Option<u64>),
    Omitted,
    Known,
    Nothing,
}

impl Reader {
    /// Creates a reader. `may_be_partial` is true if the beginning of the text has no event with its thread, CPU and
    /// time.
    pub(super) fn new(options: Options, may_be_partial: bool) -> Reader {
        Reader {
            info: TraceInfo::default(),
            bodies: Bodies { names: Names::new(), keep: options.bodies },
            rtla: rtla::Rtla::default(),
            calls: Calls::default(),
            latency: false,
            last: None,
            stack: None,
            old: Old::default(),
            last_task: None,
            cpus: BTreeSet::new(),
            last_cpu: None,
            repaired: BTreeSet::new(),
            style: None,
            last_style: None,
            events: 0,
            compared: false,
            may_be_partial,
            is_partial: false,
            last_event: None,
            event_line: 0,
        }
    }

    pub(super) fn line(&mut self, line: &[u8], queue: &mut VecDeque<Event>) -> Read1 {
        let header = self.info.latency.last().filter(|header| self.latency && header.is_old());
        if let Some((prefix, body)) = header.and_then(|header| old::milliseconds(line, header)) {
            return self.event(&prefix, body);
        }
        match front(line, self.latency) {
            Front::Event(prefix, body) => self.event(&prefix, body),
            Front::Cut => Read1::Partial(None, self.bodies.names.get(b"line")),
            Front::Other => match lttng::line(line) {
                Some((prefix, body)) => self.event(&prefix, &body),
                None => self.no_event(line, queue),
            },
        }
    }

    /// Handles a line that belongs to no trace.
    pub(super) fn skip(&mut self, line: &[u8]) {
        self.info.skipped += u64::from(!line.is_empty());
        self.info.claimed = self.info.claimed.take().max(claim::claim(line));
    }

    fn event(&mut self, prefix: &Prefix, body: &[u8]) -> Read1 {
        self.learn(prefix);
        self.style = Some(prefix.style);
        let Prefix { tid, cpu, flags, .. } = *prefix;
        // The header has the full name, which the lines truncate.
        let whole = self
            .info
            .latency
            .last()
            .filter(|header| prefix.style == Style::Latency && header.tid == Some(tid) && tid != 0);
        let comm = whole.and_then(|header| header.task).or(prefix.comm);
        let event = |kind| Event { t_ns: prefix.time, cpu, tid: Some(tid).filter(|tid| *tid >= 0), comm, flags, kind };
        if prefix.style == Style::Latency {
            let before = self.last_task.replace((cpu, tid, comm));
            if let Some(line) = old::line(scan::trim(body)) {
                let header = self.info.latency.last();
                let mut here = event(Kind::Restart);
                // In the latency tracer of 2.6, `d` is set wherever its own code had interrupts off; `D` means that
                // they were off in hardware (-rt patches, kernel/latency_trace.c, TRACE_FLAG_IRQS_HARD_OFF).
                if let Some(flags) = here.flags.as_mut().filter(|_| header.is_some_and(LatencyHeader::is_old)) {
                    let hard_off = flags.irqs_off == Some(true) && flags.bh_off == Some(true);
                    (flags.irqs_off, flags.bh_off) = (hard_off.then_some(true), None);
                }
                return match self.old.read(line, here, before, header, &mut self.bodies.names) {
                    Found::Event(event) => Read1::Event(event),
                    Found::Cut(event, name) => Read1::Partial(Some(event), name),
                    Found::Held => {
                        self.events += 1;
                        Read1::Known
                    }
                };
            }
        }
        match graph::of_event(body, prefix).filter(|found| !found.is_cut()) {
            Some(found) => self.calls.line(&found, &mut self.info.longest_call),
            None if scan::trim(body).starts_with(b"funcgraph_e") => {
                let name = self.bodies.names.get(b"line of function_graph");
                return Read1::Partial(Some(event(Kind::Other { name: name.clone(), body: None })), name);
            }
            None => {}
        }
        match self.bodies.read(body, Line { tid, comm }) {
            Body::Kind(kind) => Read1::Event(event(kind)),
            Body::Stack => Read1::Event(event(Kind::Stack { frames: Box::default() })),
            Body::Incomplete(name) => {
                let switch = split(body, b"sched_switch: ").and_then(|(_, fields)| sched::cut_switch(fields));
                let known = switch.unwrap_or_else(|| Kind::Other { name: name.clone(), body: None });
                Read1::Partial(Some(event(known)), name)
            }
        }
    }

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
                frames.push(self.bodies.names.symbol(body::without_remark(frame).unwrap_or(frame)));
            }
            return Read1::Known;
        }
        if self.rtla.line(line, &mut self.info.rtla) {
            if self.info.format == Format::Unknown {
                self.info.format = Format::RtlaText;
            }
            return Read1::Known;
        }
        if let Some(found) = graph::line(line) {
            return match found.is_cut() {
                true => Read1::Partial(None, self.bodies.names.get(b"line of function_graph")),
                false => self.graph(&found),
            };
        }
        match header::read(line, &mut self.info) {
            Header::Begins => return self.begin(queue),
            Header::Latency => {
                if self.last.is_some() {
                    self.begin(queue);
                }
                self.latency = true;
                self.info.format = Format::LatencyText;
                return Read1::Known;
            }
            Header::Known => return Read1::Known,
            Header::No => {}
        }
        if matches!(trimmed, b"kernel_stack:" | b"<stack trace>")
            && let Some(event) = self.last_event.clone()
        {
            return Read1::Event(Event { kind: Kind::Stack { frames: Box::default() }, ..event });
        }
        if let Some(event) = self.partial(line) {
            return event;
        }
        self.info.without_workload |= scan::find(line, b"NO_OSNOISE_WORKLOAD").is_some();
        if trimmed.is_empty() || trimmed.starts_with(b"#") || header::report(line, &mut self.info) {
            return Read1::Known;
        }
        match header::lost(line) {
            Some((cpu, count)) => Read1::Lost(cpu, count),
            None if repair::is_omission(line) => {
                self.calls.omitted();
                if self.events > 0 { Read1::Omitted } else { Read1::Nothing }
            }
            None => {
                const LOG: usize = 8;
                if self.info.log.len() < LOG
                    && let Some(said) = log::line(line)
                    && !self.info.log.contains(&said)
                {
                    self.info.log.push(said);
                }
                Read1::Nothing
            }
        }
    }

    /// Reads a scheduler or interrupt event without its thread or CPU, in a text that has no complete events.
    fn partial(&mut self, line: &[u8]) -> Option<Read1> {
        let (prefix, has_cpu, body) =
            prefix::partial(line).filter(|(_, has_cpu, _)| *has_cpu || self.may_be_partial)?;
        let (tid, comm) = (prefix.tid, prefix.comm);
        let kind = match self.bodies.read(body, Line { tid, comm }) {
            Body::Kind(Kind::Other { .. } | Kind::Print { .. } | Kind::Function { parent: None, .. }) => {
                super::sched::switch_short(scan::trim(body))?
            }
            Body::Kind(Kind::Function { .. }) if !self.is_partial => return None,
            Body::Kind(kind) => kind,
            Body::Stack | Body::Incomplete(_) => return None,
        };
        self.learn(&prefix);
        self.is_partial = true;
        self.info.without_cpu |= !has_cpu;
        self.style = Some(prefix.style);
        let Prefix { time: t_ns, cpu, flags, .. } = prefix;
        Some(Read1::Event(Event { t_ns, cpu, tid: Some(tid).filter(|tid| *tid >= 0), comm, flags, kind }))
    }

    fn graph(&mut self, found: &Graph) -> Read1 {
        if matches!(self.info.format, Format::Unknown | Format::RtlaText) {
            self.info.format = Format::KernelText;
        }
        self.calls.line(found, &mut self.info.longest_call);
        let Some(time) = found.time else {
            self.info.untimed += 1;
            return Read1::Known;
        };
        let Some(body) = found.event else { return Read1::Known };
        let (comm, tid) = found.task.map_or((None, None), |(comm, tid)| (comm, Some(tid)));
        match self.bodies.read(body, Line { tid: tid.unwrap_or(-1), comm }) {
            Body::Kind(kind) => Read1::Event(Event { t_ns: time, cpu: found.cpu, tid, comm, flags: None, kind }),
            Body::Stack | Body::Incomplete(_) => Read1::Known,
        }
    }

    /// Handles `# tracer:`: another trace begins, with its own layout.
    fn begin(&mut self, queue: &mut VecDeque<Event>) -> Read1 {
        self.latency = false;
        (self.old.prios, self.last_task) = (Default::default(), None);
        if matches!(self.info.format, Format::Unknown | Format::RtlaText) {
            self.info.format = Format::KernelText;
        }
        if let Some(t_ns) = self.last.take() {
            queue.extend(self.take_held());
            queue.push_back(restart(t_ns));
            self.forget_cpus();
        }
        Read1::Known
    }

    /// Returns the event that was held back until its following lines were read: one with a stack, or a switch.
    pub(super) fn take_held(&mut self) -> Option<Event> {
        if let Some(switch) = self.old.switch.take() {
            return Some(switch);
        }
        let (mut event, frames) = self.stack.take()?;
        event.kind = Kind::Stack { frames: frames.into() };
        Some(event)
    }

    /// Puts an event in order: after a stack that is now complete, and after a restart if time decreased. Returns it if
    /// nothing was queued before it.
    pub(super) fn emit(&mut self, mut event: Event, number: u64, queue: &mut VecDeque<Event>) -> Option<Event> {
        self.events += 1;
        (self.event_line, self.info.line) = (number, Some(number));
        queue.extend(self.take_held());
        // Times since a trace's start and times since boot belong to two traces.
        let before = std::mem::replace(&mut self.last_style, self.style);
        if before != self.style
            && [before, self.style].contains(&Some(Style::Latency))
            && let Some(last) = self.last.take()
        {
            queue.push_back(restart(last));
            self.forget_cpus();
        }
        if let Some(last) = self.last
            && event.t_ns < last
        {
            self.info.note(Damage::TimeWentBack, Place::Line(number));
            if last - event.t_ns <= BACKSTEP {
                event.t_ns = last;
            } else {
                self.info.went_back.get_or_insert((number, last - event.t_ns));
                queue.push_back(restart(last));
                self.forget_cpus();
            }
        }
        self.last = Some(event.t_ns);
        if !matches!(event.kind, Kind::Stack { .. }) {
            let Event { t_ns, cpu, tid, comm, flags, .. } = event;
            self.last_event = Some(Event { t_ns, cpu, tid, comm, flags, kind: Kind::Restart });
        }
        if self.last_cpu.replace(event.cpu) != Some(event.cpu) && self.cpus.len() < CPUS {
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

    fn forget_cpus(&mut self) {
        self.cpus.clear();
        self.last_cpu = None;
    }

    /// Detects a truncated trace: its only header states more events than the trace contains.
    pub(super) fn compare_with_header(&mut self) {
        let Some(expected) = self.info.entries_in_buffer.filter(|n| *n > self.events) else { return };
        if !std::mem::replace(&mut self.compared, true) {
            let text = format!("{} of {expected} entries are present", self.events);
            self.info.note(Damage::Omitted { text }, Place::Whole);
        }
    }

    pub(super) fn lost(&mut self, cpu: u32, count: Option<u64>, number: u64, queue: &mut VecDeque<Event>) {
        self.info.lose(cpu, count, Place::Line(number));
        queue.extend(self.take_held());
        queue.push_back(loss(self.last.unwrap_or(0), cpu, count));
    }

    /// Handles omitted lines: the state of every CPU becomes unknown.
    pub(super) fn omitted(&mut self, line: &[u8], number: u64, queue: &mut VecDeque<Event>) {
        self.info.note(Damage::Omitted { text: scan::text(scan::trim(line), 80) }, Place::Line(number));
        queue.extend(self.take_held());
        queue.extend(self.cpus.iter().map(|cpu| loss(self.last.unwrap_or(0), *cpu, None)));
    }

    pub(super) fn repaired(&mut self, how: Option<&'static str>, joined: bool, number: u64) {
        for how in how.into_iter().chain(joined.then_some("wrapped lines")) {
            if self.repaired.insert(how) {
                self.info.note(Damage::Repaired { how }, Place::Line(number));
            }
        }
    }
}
