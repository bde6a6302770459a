//! Decodes the contents of perf records: `struct perf_event_attr` (include/uapi/linux/perf_event.h,
//! perf_event_open(2)).

use crate::raw::Layout;
use std::collections::HashMap;

const TRACEPOINT: u32 = 2;
/// Bits of `sample_type`, in the order of the fields of a sample.
const IDENTIFIER: u64 = 1 << 16;
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
/// Bits of `read_format` that add a value per event, bits that add a time, and the bit that groups events.
const READ_EACH: [u64; 2] = [1 << 2, 1 << 4];
const READ_TIMES: [u64; 2] = [1, 1 << 1];
const READ_GROUP: u64 = 1 << 3;
/// Bit numbers of the flags.
const SAMPLE_ID_ALL: u32 = 18;
const USE_CLOCKID: u32 = 25;
/// Maximum number of events, and of event IDs (one per event and CPU).
const ATTRS: usize = 1 << 14;
const IDS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attr {
    tracepoint: bool,
    sample_type: u64,
    read_format: u64,
    /// True if records other than samples also end with time, CPU etc.
    id_all: bool,
    /// clock_gettime(2) clock of the times; `None` for perf's own clock.
    pub(super) clock: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub(super) t_ns: u64,
    pub(super) cpu: Option<u32>,
    pub(super) raw: &'a [u8],
}

/// The end of every record other than a sample (`struct sample_id`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) tid: Option<i32>,
    pub(super) t_ns: u64,
    pub(super) cpu: Option<u32>,
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// A sample of a counter or another event that is not a tracepoint.
    Other,
    /// A sample whose fields exceed the record.
    Short,
    /// A sample whose event is not in the file.
    Unknown,
}

impl Attr {
    pub(super) fn parse(bytes: &[u8], layout: &Layout) -> Option<Attr> {
        let flags = layout.u64(bytes, 40)?;
        // Bit fields start at the other end on big-endian machines.
        let flag = |bit: u32| flags >> (if layout.big_endian { 63 - bit } else { bit }) & 1 == 1;
        let clock = layout.u32(bytes, 92).filter(|_| flag(USE_CLOCKID)).map(|clock| clock as i32);
        Some(Attr {
            tracepoint: layout.u32(bytes, 0)? == TRACEPOINT,
            sample_type: layout.u64(bytes, 24)?,
            read_format: layout.u64(bytes, 32)?,
            id_all: flag(SAMPLE_ID_ALL),
            clock,
        })
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    fn id_at(&self) -> Option<usize> {
        match () {
            () if self.has(IDENTIFIER) => Some(0),
            () if self.has(ID) => Some(8 * [IP, TID, TIME, ADDR].iter().filter(|bit| self.has(**bit)).count()),
            () => None,
        }
    }

    fn sample<'a>(&self, body: &'a [u8], layout: &Layout) -> Option<Sample<'a>> {
        let mut at = 8 * [IDENTIFIER, IP, TID].iter().filter(|bit| self.has(**bit)).count();
        let t_ns = if self.has(TIME) { layout.u64(body, at)? } else { 0 };
        at += 8 * [TIME, ADDR, ID, STREAM_ID].iter().filter(|bit| self.has(**bit)).count();
        let cpu = if self.has(CPU) { Some(layout.u32(body, at)?) } else { None };
        at += 8 * [CPU, PERIOD].iter().filter(|bit| self.has(**bit)).count();
        if self.has(READ) {
            at = at.checked_add(self.read_size(body, at, layout)?)?;
        }
        if self.has(CALLCHAIN) {
            let frames = usize::try_from(layout.u64(body, at)?).ok()?;
            at = at.checked_add(frames.checked_add(1)?.checked_mul(8)?)?;
        }
        let size = layout.u32(body, at)? as usize;
        Some(Sample { t_ns, cpu, raw: body.get(at + 4..(at + 4).checked_add(size)?)? })
    }

    fn read_size(&self, body: &[u8], at: usize, layout: &Layout) -> Option<usize> {
        let count = |bits: [u64; 2]| bits.iter().filter(|bit| self.read_format & **bit != 0).count();
        let (each, times) = (1 + count(READ_EACH), count(READ_TIMES));
        let words = match self.read_format & READ_GROUP {
            0 => each + times,
            _ => usize::try_from(layout.u64(body, at)?).ok()?.checked_mul(each)?.checked_add(1 + times)?,
        };
        words.checked_mul(8)
    }

    fn trailer(&self, body: &[u8], layout: &Layout) -> Option<Trailer> {
        if !self.id_all {
            return Some(Trailer::default());
        }
        let bytes = 8 * [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER].iter().filter(|bit| self.has(**bit)).count();
        let mut trailer = Trailer { bytes, ..Trailer::default() };
        let mut at = body.len().checked_sub(bytes)?;
        if self.has(TID) {
            trailer.tid = Some(layout.u32(body, at + 4)? as i32);
            at += 8;
        }
        if self.has(TIME) {
            trailer.t_ns = layout.u64(body, at)?;
            at += 8;
        }
        at += 8 * [ID, STREAM_ID].iter().filter(|bit| self.has(**bit)).count();
        if self.has(CPU) {
            trailer.cpu = Some(layout.u32(body, at)?);
        }
        Some(trailer)
    }
}

#[derive(Debug, Default)]
pub(super) struct Attrs {
    all: Vec<Attr>,
    ids: HashMap<u64, u16>,
    /// True if the events differ in the layout of their samples.
    mixed: bool,
}

impl Attrs {
    /// Adds an event and its IDs. Returns `false` beyond the limits.
    pub(super) fn add(&mut self, attr: Attr, ids: impl Iterator<Item = u64>) -> bool {
        if self.all.len() >= ATTRS {
            return false;
        }
        self.mixed |= self.all.first().is_some_and(|first| *first != attr);
        for id in ids {
            if self.ids.len() >= IDS {
                return false;
            }
            self.ids.insert(id, self.all.len() as u16);
        }
        self.all.push(attr);
        true
    }

    pub(super) fn clock(&self) -> Option<&'static str> {
        Some(match self.all.iter().find(|attr| attr.tracepoint)?.clock {
            // perf uses local_clock(), as does the trace clock of this name.
            None => "local",
            Some(0) => "realtime",
            Some(1) => "mono",
            Some(4) => "mono_raw",
            Some(7) => "boot",
            Some(11) => "tai",
            Some(_) => return None,
        })
    }

    /// Reads the body of a `PERF_RECORD_SAMPLE`.
    pub(super) fn sample<'a>(&self, body: &'a [u8], layout: &Layout) -> Result<Sample<'a>, Unread> {
        let first = self.all.first().ok_or(Unread::Unknown)?;
        let attr = match first.id_at().filter(|_| self.mixed) {
            Some(at) => self.of(layout.u64(body, at).ok_or(Unread::Short)?).ok_or(Unread::Unknown)?,
            None => first,
        };
        if !attr.tracepoint || !attr.has(RAW) {
            return Err(Unread::Other);
        }
        attr.sample(body, layout).ok_or(Unread::Short)
    }

    pub(super) fn trailer(&self, body: &[u8], layout: &Layout) -> Option<Trailer> {
        let first = self.all.first()?;
        let id = first.has(IDENTIFIER).then(|| layout.u64(body, body.len().checked_sub(8)?)).flatten();
        id.and_then(|id| self.of(id)).unwrap_or(first).trailer(body, layout)
    }

    fn of(&self, id: u64) -> Option<&Attr> {
        self.all.get(usize::from(*self.ids.get(&id)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(sample_type: u64, read_format: u64) -> Attr {
        Attr { tracepoint: true, sample_type, read_format, id_all: true, clock: None }
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn counters_and_chains_before_the_data_are_passed_over() {
        let layout = Layout::new(false, 8, 4096);
        let mut attrs = Attrs::default();
        let all = IP | TID | TIME | CPU | PERIOD | READ | CALLCHAIN | RAW;
        attrs.add(attr(all, 1 | 1 << 2 | READ_GROUP), [].into_iter());
        let mut body = words(&[7, 9, 1234, 3, 1, 2, 55, 10, 20, 30, 40, 3, 8, 8, 8]);
        body.extend([4, 0, 0, 0, b'd', b'a', b't', b'a']);
        let sample = attrs.sample(&body, &layout).unwrap();
        assert_eq!(sample, Sample { t_ns: 1234, cpu: Some(3), raw: b"data" });
        assert_eq!(attrs.sample(&body[..body.len() - 1], &layout), Err(Unread::Short));
    }

    #[test]
    fn a_sample_is_read_by_the_event_it_is_of() {
        let layout = Layout::new(false, 8, 4096);
        let mut attrs = Attrs::default();
        attrs.add(attr(IDENTIFIER | TIME | CPU | RAW, 0), [5, 6].into_iter());
        attrs.add(Attr { tracepoint: false, ..attr(IDENTIFIER | TIME, 0) }, [7].into_iter());
        let mut body = words(&[6, 99, 1]);
        body.extend([0; 4]);
        assert_eq!(attrs.sample(&body, &layout).unwrap().t_ns, 99);
        assert_eq!(attrs.sample(&words(&[7, 99]), &layout), Err(Unread::Other));
        assert_eq!(attrs.sample(&words(&[8, 99]), &layout), Err(Unread::Unknown));
        let trailer = attrs.trailer(&words(&[1, 42, 2, 5]), &layout).unwrap();
        assert_eq!((trailer.t_ns, trailer.cpu, trailer.bytes), (42, Some(2), 24));
    }

    #[test]
    fn flags_of_both_byte_orders() {
        for big_endian in [false, true] {
            let layout = Layout::new(big_endian, 8, 4096);
            let flags: u64 = if big_endian { 1 << 45 | 1 << 38 } else { 1 << 18 | 1 << 25 };
            let put = |value: u64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
            let mut bytes = vec![0; 96];
            bytes[40..48].copy_from_slice(&put(flags));
            bytes[92..96].copy_from_slice(if big_endian { &[0, 0, 0, 1] } else { &[1, 0, 0, 0] });
            let attr = Attr::parse(&bytes, &layout).unwrap();
            assert_eq!((attr.id_all, attr.clock), (true, Some(1)));
        }
    }
}
