//! Reads perf.data: tracepoints recorded by `perf record -e 'sched:*' -a`, as file or pipe output, compressed or not.

mod attr;
mod head;
mod packed;
mod records;
mod rounds;

pub(crate) use head::is_magic;

use crate::dat::meta::Meta;
use crate::event::{Event, Kind};
use crate::info::{Damage, Format, Place, TraceError, TraceInfo};
use crate::raw::{Decoder, Layout, undecoded};
use crate::text::loss;
use crate::words::{Comm, Task};
use crate::{Options, Source};
use attr::{Attrs, Trailer, Unread};
use records::{Next, Records};
use rounds::Rounds;
use std::collections::VecDeque;
use std::io::{Read, Seek};

const FORMAT: &str = "perf.data";
/// Record types (include/uapi/linux/perf_event.h, tools/lib/perf/include/perf/event.h).
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const HEADER_ATTR: u32 = 64;
const HEADER_FEATURE: u32 = 80;
/// Largest backward step in time that is tolerated, ns; see `BACKSTEP` of the text reader.
const BACKSTEP: u64 = 100_000;

struct PerfSource<R> {
    records: Records<R>,
    body: Vec<u8>,
    attrs: Attrs,
    meta: Meta,
    /// Created at the first sample, since the formats may be in records.
    decoder: Option<Decoder>,
    options: Options,
    rounds: Rounds,
    last: u64,
    pending: VecDeque<Event>,
    cut: bool,
    others: bool,
}

pub(crate) fn open<'a, R: Read + Seek + 'a>(reader: R, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    let mut input = head::input(reader)?;
    let layout = Layout::new(input.big_endian, 8, 4096);
    let mut meta = Meta::new(layout, Format::PerfData);
    let mut attrs = Attrs::default();
    let end = head::read(&mut input, &mut meta, &mut attrs)?;
    let mut source = PerfSource {
        records: Records::new(input, end, layout),
        body: Vec::new(),
        attrs,
        meta,
        decoder: None,
        options,
        rounds: Rounds::default(),
        last: 0,
        pending: VecDeque::new(),
        cut: false,
        others: false,
    };
    let first = source.step();
    source.pending.extend(first);
    match &source.decoder {
        Some(_) => Ok(Box::new(source)),
        None if source.others => {
            let what = "a recording without tracepoints (record with `perf record -a -e 'sched:*,irq:*,timer:*'`)";
            Err(TraceError::Unsupported { format: FORMAT, what: what.to_owned() })
        }
        None => Err(TraceError::Damaged { format: FORMAT, what: "no sample with an event's format", at: end }),
    }
}

impl<R: Read + Seek> PerfSource<R> {
    fn step(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.rounds.pop() {
                return Some(self.ordered(event));
            }
            match self.records.next(&mut self.body, &mut self.meta.info) {
                Some(Next::Record(SAMPLE)) => self.sample(),
                Some(Next::Record(kind)) => self.record(kind),
                Some(Next::Round) => self.rounds.round(),
                Some(Next::Tracing) => {
                    let bytes = std::mem::take(&mut self.body);
                    let layout = self.meta.layout;
                    if head::tracing(&mut self.meta, bytes).is_err() {
                        self.meta.layout = layout;
                        self.meta.info.note(Damage::Corrupt { what: "event formats" }, Place::Whole);
                    }
                }
                None if self.rounds.end() => {}
                None => return None,
            }
        }
    }

    fn decoder(&mut self) -> Option<&mut Decoder> {
        if self.decoder.is_none() && !self.meta.formats.is_empty() {
            self.meta.info.clock = self.attrs.clock().map(str::to_owned);
            self.decoder = Some(self.meta.decoder(self.options));
        }
        self.decoder.as_mut()
    }

    fn sample(&mut self) {
        let body = std::mem::take(&mut self.body);
        match self.attrs.sample(&body, &self.meta.layout) {
            Ok(sample) => match sample.cpu {
                Some(cpu) => self.decode(cpu, sample.t_ns, sample.raw),
                None => self.other("samples without a CPU (record with -a)"),
            },
            Err(Unread::Other) => self.other("samples of events that are not tracepoints"),
            Err(Unread::Short) => self.corrupt("sample"),
            Err(Unread::Unknown) => self.corrupt("identity of a sample's event"),
        }
        self.body = body;
    }

    fn decode(&mut self, cpu: u32, t_ns: u64, raw: &[u8]) {
        let Some(decoder) = self.decoder() else {
            self.meta.info.skipped += 1;
            return;
        };
        match decoder.decode(cpu, t_ns, raw) {
            Ok(event) => self.push(event),
            Err(why) => undecoded(&mut self.meta.info, why, Place::Whole),
        }
    }

    fn corrupt(&mut self, what: &'static str) {
        self.meta.info.skipped += 1;
        self.meta.info.note(Damage::Corrupt { what }, Place::Whole);
    }

    fn other(&mut self, what: &str) {
        if !std::mem::replace(&mut self.others, true) {
            self.meta.info.note(Damage::Unsupported { what: what.to_owned() }, Place::Whole);
        }
    }

    fn push(&mut self, event: Event) {
        if !self.rounds.push(event) && !std::mem::replace(&mut self.cut, true) {
            let what = "events held back to put them in order; some may be missing";
            self.meta.info.note(Damage::LimitReached { what }, Place::Whole);
        }
    }

    fn record(&mut self, kind: u32) {
        let body = std::mem::take(&mut self.body);
        match kind {
            HEADER_ATTR => self.attr(&body),
            HEADER_FEATURE => {
                if let Some(id) = self.meta.layout.u64(&body, 0) {
                    head::feature(&mut self.meta, id, body.get(8..).unwrap_or_default());
                }
            }
            COMM | EXIT | FORK | LOST | LOST_SAMPLES | THROTTLE => {
                if let Some(trailer) = self.attrs.trailer(&body, &self.meta.layout) {
                    self.side(kind, &body, trailer);
                }
            }
            _ => {}
        }
        self.body = body;
    }

    /// Reads `PERF_RECORD_HEADER_ATTR`: the attr, which contains its own size, then the IDs.
    fn attr(&mut self, body: &[u8]) {
        let layout = self.meta.layout;
        let size = layout.u32(body, 4).map_or(usize::MAX, |size| size as usize);
        let parts = body.get(..size).zip(body.get(size..));
        if !parts.is_some_and(|(attr, ids)| head::add(layout, &mut self.attrs, attr, ids)) {
            self.corrupt("attributes of an event");
        }
    }

    fn side(&mut self, kind: u32, body: &[u8], trailer: Trailer) {
        let layout = self.meta.layout;
        let word = |at| layout.u32(body, at).map(|word| word as i32);
        let end = body.len().saturating_sub(trailer.bytes);
        let kind = match kind {
            COMM => {
                let (Some(tid), Some(name)) = (word(4), body.get(8..end)) else { return };
                let new = Comm::new(name);
                if let Some(decoder) = self.decoder() {
                    decoder.add_comm(tid, new);
                }
                Kind::Rename { tid, new: Some(new) }
            }
            FORK => {
                let (Some(child_tid), Some(parent_tid)) = (word(8), word(12)) else { return };
                Kind::Fork { parent_tid, child_tid, child_comm: None }
            }
            EXIT => {
                let Some(tid) = word(8) else { return };
                Kind::Exit { task: Task { tid, comm: None, prio: None } }
            }
            LOST => Kind::LostEvents { count: layout.u64(body, 8) },
            LOST_SAMPLES => Kind::LostEvents { count: layout.u64(body, 0) },
            _ => Kind::LostEvents { count: None },
        };
        let cpu = trailer.cpu;
        if let Kind::LostEvents { count } = kind {
            self.meta.info.lose(cpu.unwrap_or(0), count, Place::Whole);
        }
        // Synthesised records about tasks older than the recording have no time.
        if let Some(cpu) = cpu.filter(|_| trailer.t_ns > 0) {
            self.push(Event { t_ns: trailer.t_ns, cpu, tid: trailer.tid, comm: None, flags: None, kind });
        }
    }

    /// Ensures that time does not decrease. An event that is too old to be placed counts as lost.
    fn ordered(&mut self, mut event: Event) -> Event {
        let late = self.last.saturating_sub(event.t_ns);
        if late > 0 {
            self.meta.info.note(Damage::TimeWentBack, Place::Whole);
            event.t_ns = self.last;
        }
        if late > BACKSTEP {
            self.meta.info.lose(event.cpu, Some(1), Place::Whole);
            return loss(self.last, event.cpu, Some(1));
        }
        self.last = event.t_ns;
        event
    }
}

impl<R: Read + Seek> Iterator for PerfSource<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.pending.pop_front().or_else(|| self.step())
    }
}

impl<R: Read + Seek> Source for PerfSource<R> {
    fn info(&self) -> &TraceInfo {
        &self.meta.info
    }
}
