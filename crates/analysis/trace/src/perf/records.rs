//! Reads the records of a perf.data in order, including compressed ones.

use super::packed::Packed;
use crate::info::{Damage, Place, TraceInfo};
use crate::input::{Input, MOST};
use crate::raw::Layout;
use std::io::{Read, Seek};

/// Record types that affect how the file is read (tools/lib/perf/include/perf/event.h).
const HEADER_TRACING_DATA: u32 = 66;
const FINISHED_ROUND: u32 = 68;
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
const HEAD: usize = 8;
const AHEAD: u64 = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A record of this type; its body is filled in.
    Record(u32),
    /// The event formats, which may exceed the size of a record.
    Tracing,
    Round,
}

pub(super) struct Records<R> {
    input: Input<R>,
    end: u64,
    layout: Layout,
    buffer: Vec<u8>,
    at: usize,
    packed: Packed,
    over: bool,
}

impl<R: Read + Seek> Records<R> {
    pub(super) fn new(input: Input<R>, end: u64, layout: Layout) -> Records<R> {
        Records { input, end, layout, buffer: Vec::new(), at: 0, packed: Packed::new(), over: false }
    }

    /// Reads the body of the next record into `body`.
    pub(super) fn next(&mut self, body: &mut Vec<u8>, info: &mut TraceInfo) -> Option<Next> {
        loop {
            if self.packed.take_round() {
                return Some(Next::Round);
            }
            if let Some(kind) = self.unpacked(body, info) {
                return Some(Next::Record(kind));
            }
            match self.packed.step() {
                Ok(true) => continue,
                Ok(false) if self.over => {
                    self.rest(info);
                    return None;
                }
                Ok(false) => {}
                Err(_) => self.broken(info),
            }
            match self.record(body, info) {
                Some(next) => return Some(next),
                None if self.over && self.packed.end().is_err() => self.broken(info),
                None => {}
            }
        }
    }

    /// Reads the next record of the file itself. `None` if the record was handled here, or at the end of the file.
    fn record(&mut self, body: &mut Vec<u8>, info: &mut TraceInfo) -> Option<Next> {
        let layout = self.layout;
        let head = self.need(HEAD, info)?;
        let (kind, size) = (layout.u32(head, 0)?, usize::from(layout.u16(head, 6)?));
        if size < HEAD {
            info.note(Damage::Corrupt { what: "length of a record" }, Place::Byte(self.place()));
            self.over = true;
            return None;
        }
        let record = self.need(size, info)?;
        body.clear();
        body.extend_from_slice(record.get(HEAD..).unwrap_or_default());
        self.at += size;
        match kind {
            FINISHED_ROUND if self.packed.used => self.packed.round(),
            FINISHED_ROUND => return Some(Next::Round),
            COMPRESSED => self.packed.feed(body),
            COMPRESSED2 => {
                let length = self.layout.u64(body, 0).and_then(|length| usize::try_from(length).ok());
                let data = body.get(8..).unwrap_or_default();
                self.packed.feed(data.get(..length.unwrap_or(usize::MAX).min(data.len())).unwrap_or_default());
            }
            HEADER_TRACING_DATA => return self.tracing(body, info),
            AUXTRACE => {
                let size = self.layout.u64(body, 0).unwrap_or(0);
                self.pass(size);
            }
            _ => return Some(Next::Record(kind)),
        }
        None
    }

    fn tracing(&mut self, body: &mut Vec<u8>, info: &mut TraceInfo) -> Option<Next> {
        let size = self.layout.u32(body, 0)? as usize;
        if size > MOST {
            info.note(Damage::LimitReached { what: "size of the event formats" }, Place::Byte(self.place()));
            self.pass(size as u64);
            return None;
        }
        let data = self.need(size, info)?;
        body.clear();
        body.extend_from_slice(data);
        self.at += size;
        Some(Next::Tracing)
    }

    fn unpacked(&mut self, body: &mut Vec<u8>, info: &mut TraceInfo) -> Option<u32> {
        let plain = self.packed.plain();
        let (kind, size) = (self.layout.u32(plain, 0)?, usize::from(self.layout.u16(plain, 6)?));
        if size < HEAD {
            self.broken(info);
            return None;
        }
        body.clear();
        body.extend_from_slice(plain.get(HEAD..size)?);
        self.packed.take(size);
        Some(kind)
    }

    fn need(&mut self, size: usize, info: &mut TraceInfo) -> Option<&[u8]> {
        if self.buffer.len() - self.at < size {
            self.buffer.drain(..self.at);
            self.at = 0;
            let most = self.end.saturating_sub(self.input.at()).min(AHEAD.max(size as u64));
            // A read error looks like the end of the file.
            let _ = self.input.append(&mut self.buffer, most);
        }
        if self.buffer.len() - self.at < size {
            if self.buffer.len() > self.at || self.input.at() < self.end {
                info.note(Damage::Truncated { inside: "a record" }, Place::Byte(self.place()));
            }
            self.over = true;
            self.at = self.buffer.len();
            return None;
        }
        self.buffer.get(self.at..self.at + size)
    }

    fn pass(&mut self, size: u64) {
        let here = (self.buffer.len() - self.at) as u64;
        self.at += here.min(size) as usize;
        if self.input.skip(size.saturating_sub(here)).is_err() {
            self.over = true;
        }
    }

    fn rest(&mut self, info: &mut TraceInfo) {
        let rest = self.packed.plain().len();
        if rest > 0 {
            self.packed.take(rest);
            info.note(Damage::Truncated { inside: "compressed data" }, Place::Byte(self.place()));
        }
    }

    fn place(&self) -> u64 {
        self.input.at().saturating_sub((self.buffer.len() - self.at) as u64)
    }

    fn broken(&mut self, info: &mut TraceInfo) {
        info.note(Damage::Corrupt { what: "compressed data" }, Place::Byte(self.place()));
        (self.packed, self.over) = (Packed::new(), true);
        self.at = self.buffer.len();
    }
}
