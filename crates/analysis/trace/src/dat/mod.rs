//! Reads trace.dat of trace-cmd, versions 6 and 7: per-CPU streams merged by time.

pub(crate) mod meta;
mod stream;
mod symbols;
mod unpack;
mod v6;
mod v7;
mod write;

use crate::event::Event;
use crate::info::{Damage, Format, Place, TraceError, TraceInfo};
use crate::input::Input;
use crate::raw::{Decoder, Layout, undecoded};
use crate::text::{TextSource, loss, restart};
use crate::{Options, Source};
use meta::{Buffer, Meta, Tsc};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{Cursor, Read, Seek};
use stream::Stream;
use unpack::Codec;
pub use write::{DatFile, DatHead, symbols};

pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
const FORMAT: &str = "trace.dat";
/// Maximum number of bytes of pages in memory for all CPUs together. `STREAM` has the limits for one CPU.
const BUDGET: usize = 32 << 20;
const STREAM: (usize, usize) = (64 << 10, 16 << 20);
/// Bytes of uncompressed pages read at once.
const AHEAD: usize = 256 << 10;
/// Largest backward step in time that is tolerated, ns; see `BACKSTEP` of the text reader.
const BACKSTEP: u64 = 100_000;
const PAGE: usize = 8 << 20;

struct DatSource<R> {
    input: Input<R>,
    decoder: Decoder,
    info: TraceInfo,
    streams: Vec<Stream>,
    /// Time of the next record of each stream, and the index of the stream.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    tsc: Option<Tsc>,
    /// Position of the symbols; `None` once they are read.
    symbols: Option<meta::At>,
    last: Option<u64>,
    pending: VecDeque<Event>,
    overrun: Option<u64>,
}

pub(crate) fn open<'a, R: Read + Seek + 'a>(reader: R, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    let mut input = Input::new(reader, FORMAT)?;
    input.expect(MAGIC, "magic number")?;
    let version = input.string(16)?;
    let big_endian = match input.u8()? {
        0 => false,
        1 => true,
        _ => return Err(input.damaged("byte order")),
    };
    input.big_endian = big_endian;
    let long = input.u8()?;
    if !matches!(long, 4 | 8) {
        return Err(input.damaged("size of a long"));
    }
    let page = usize::try_from(input.u32()?).unwrap_or(usize::MAX);
    let layout = Layout::new(big_endian, long.into(), page);
    match version.as_slice() {
        b"6" => open_v6(input, Meta::new(layout, Format::TraceDat6), options),
        b"7" => open_v7(input, Meta::new(layout, Format::TraceDat7), options),
        other => Err(TraceError::Unsupported {
            format: "trace.dat",
            what: format!("version {}", String::from_utf8_lossy(other)),
        }),
    }
}

fn open_v6<'a, R: Read + Seek + 'a>(
    mut input: Input<R>,
    mut meta: Meta,
    options: Options,
) -> Result<Box<dyn Source + 'a>, TraceError> {
    if v6::read(&mut input, &mut meta)? {
        return Ok(Box::new(TextSource::new(&[], input.into_inner(), options)?));
    }
    start(input, meta, Codec::None, options)
}

fn open_v7<'a, R: Read + Seek + 'a>(
    mut input: Input<R>,
    mut meta: Meta,
    options: Options,
) -> Result<Box<dyn Source + 'a>, TraceError> {
    let codec = input.string(32)?;
    input.string(64)?;
    let codec = Codec::of(&codec).ok_or_else(|| TraceError::Unsupported {
        format: "trace.dat",
        what: format!("compression {}", String::from_utf8_lossy(&codec)),
    })?;
    match v7::read(&mut input, &mut meta, codec)? {
        Some(text) if meta.buffers.is_empty() => Ok(Box::new(TextSource::new(&[], Cursor::new(text), options)?)),
        _ => start(input, meta, codec, options),
    }
}

fn start<'a, R: Read + Seek + 'a>(
    input: Input<R>,
    mut meta: Meta,
    codec: Codec,
    options: Options,
) -> Result<Box<dyn Source + 'a>, TraceError> {
    if meta.formats.is_empty() {
        return Err(input.damaged("no event formats"));
    }
    let Some(buffer) = choose(&mut meta) else { return Err(input.damaged("no trace data")) };
    if let Some(page) = buffer.page.filter(|page| *page > 0) {
        meta.layout.page = page;
    }
    if meta.layout.page <= meta.layout.data || meta.layout.page > PAGE {
        return Err(input.damaged("size of a page"));
    }
    let decoder = meta.decoder(options);
    let mut source = DatSource {
        input,
        decoder,
        streams: streams(&buffer, meta.layout, codec),
        order: BinaryHeap::new(),
        tsc: meta.tsc,
        symbols: meta.symbols,
        last: None,
        pending: VecDeque::new(),
        overrun: meta.overrun,
        info: meta.info,
    };
    source.begin();
    Ok(Box::new(source))
}

/// Selects the main buffer, or the first instance with data if the main one is empty. Adds a note about the others.
fn choose(meta: &mut Meta) -> Option<Buffer> {
    let mut buffers = std::mem::take(&mut meta.buffers);
    let holds = |b: &Buffer| b.cpus.iter().any(|(_, _, size)| *size > 0);
    let at = (buffers.iter().position(|b| b.name.is_empty() && holds(b)))
        .or_else(|| buffers.iter().position(holds))
        .unwrap_or(0);
    if buffers.is_empty() {
        return None;
    }
    let chosen = buffers.swap_remove(at);
    for other in buffers.iter().filter(|b| holds(b)) {
        let what = format!("the trace instance \"{}\"", String::from_utf8_lossy(&other.name));
        meta.info.note(Damage::Unsupported { what }, Place::Whole);
    }
    Some(chosen)
}

fn streams(buffer: &Buffer, layout: Layout, codec: Codec) -> Vec<Stream> {
    let used = buffer.cpus.iter().filter(|(_, _, size)| *size > 0);
    let limit = (BUDGET / used.clone().count().max(1)).clamp(STREAM.0, STREAM.1);
    let packed = buffer.packed && codec != Codec::None;
    used.map(|(cpu, at, size)| {
        // The size of compressed data excludes the leading number of chunks.
        let end = at.saturating_add(*size).saturating_add(if packed { 4 } else { 0 });
        let limit = if packed { limit } else { limit.min(AHEAD) };
        Stream::new(*cpu, *at, end, packed.then_some(codec), layout, limit)
    })
    .collect()
}

impl<R: Read + Seek> DatSource<R> {
    fn begin(&mut self) {
        for (n, stream) in self.streams.iter_mut().enumerate() {
            if stream.start_offset() > self.input.length() {
                self.info.note(Damage::Truncated { inside: "a CPU's data" }, Place::Byte(self.input.length()));
                continue;
            }
            stream.start(&mut self.input, &mut self.info);
            if let Some((record, _)) = stream.head {
                self.order.push(Reverse((record.t, n)));
            }
        }
    }

    fn step(&mut self) -> Option<Event> {
        loop {
            let Some(Reverse((t, n))) = self.order.pop() else { return self.finish() };
            let stream = self.streams.get_mut(n)?;
            let Some((record, missed)) = stream.head else { continue };
            let cpu = stream.cpu;
            let t_ns = self.tsc.map_or(t, |tsc| tsc.ns(t));
            let mut decoded = self.decoder.decode(cpu, t_ns, stream.bytes(record));
            if self.symbols.is_some() && self.decoder.symbols().wanted() {
                if let Some(at) = self.symbols.take()
                    && symbols::load(at, &mut self.input, self.decoder.symbols()).is_err()
                {
                    self.info.note(Damage::Corrupt { what: "kernel symbols" }, Place::Whole);
                }
                decoded = self.decoder.decode(cpu, t_ns, stream.bytes(record));
            }
            stream.advance(&mut self.input, &mut self.info);
            if let Some((record, _)) = stream.head {
                self.order.push(Reverse((record.t, n)));
            }
            let event = match decoded {
                Ok(event) => Some(event),
                Err(why) => {
                    undecoded(&mut self.info, why, Place::Whole);
                    None
                }
            };
            let Some(count) = missed else {
                match event {
                    Some(event) => return Some(event),
                    None => continue,
                }
            };
            self.info.lose(cpu, count, Place::Whole);
            self.pending.extend(event);
            return Some(loss(t_ns, cpu, count));
        }
    }

    fn finish(&mut self) -> Option<Event> {
        if let Some(overrun) = self.overrun.take() {
            self.info.lost_events = Some(self.info.lost_events.unwrap_or(0).max(overrun));
        }
        None
    }

    /// Ensures that time does not decrease. A step larger than `BACKSTEP` restarts the trace.
    fn ordered(&mut self, mut event: Event) -> Event {
        match self.last {
            Some(last) if event.t_ns < last => {
                self.info.note(Damage::TimeWentBack, Place::Whole);
                if last - event.t_ns <= BACKSTEP {
                    event.t_ns = last;
                    return event;
                }
                self.last = None;
                let restart = restart(last);
                self.pending.push_front(event);
                restart
            }
            _ => {
                self.last = Some(event.t_ns);
                event
            }
        }
    }
}

impl<R: Read + Seek> Iterator for DatSource<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let event = match self.pending.pop_front() {
            Some(event) => event,
            None => self.step()?,
        };
        Some(self.ordered(event))
    }
}

impl<R: Read + Seek> Source for DatSource<R> {
    fn info(&self) -> &TraceInfo {
        &self.info
    }
}
