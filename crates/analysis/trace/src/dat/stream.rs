//! Reads the records of one CPU, page by page.

use super::unpack::Codec;
use crate::info::{Damage, Place, TraceInfo};
use crate::input::Input;
use crate::raw::{Layout, Record, Walk};
use std::io::{Read, Seek};

pub(super) struct Stream {
    pub(super) cpu: u32,
    at: u64,
    end: u64,
    /// Remaining chunks of compressed data; `None` if the data is not compressed.
    chunks: Option<u32>,
    codec: Codec,
    /// The pages that have been read. `page` is the offset of the current page in this buffer.
    buffer: Vec<u8>,
    page: usize,
    walk: Option<Walk>,
    /// The next record. If the second value is `Some`, events were lost before it, with their number if known.
    pub(super) head: Option<(Record, Option<Option<u64>>)>,
    layout: Layout,
    limit: usize,
}

impl Stream {
    /// Creates a stream; `limit`: maximum bytes of pages in memory.
    pub(super) fn new(cpu: u32, at: u64, end: u64, codec: Option<Codec>, layout: Layout, limit: usize) -> Stream {
        Stream {
            cpu,
            at,
            end,
            chunks: codec.map(|_| 0),
            codec: codec.unwrap_or(Codec::None),
            buffer: Vec::new(),
            page: 0,
            walk: None,
            head: None,
            layout,
            limit: limit.max(layout.page),
        }
    }

    pub(super) fn start_offset(&self) -> u64 {
        self.at
    }

    /// Reads the number of chunks. Must be called once before the first [`Stream::advance`].
    pub(super) fn start<R: Read + Seek>(&mut self, input: &mut Input<R>, info: &mut TraceInfo) {
        if self.chunks.is_some() {
            let count = input.seek(self.at).and_then(|()| input.u32());
            self.at = self.at.saturating_add(4);
            self.chunks = count.ok().or(Some(0));
            if count_is_missing(self.chunks, self.end, self.at) {
                info.note(Damage::Truncated { inside: "compressed data" }, Place::Byte(self.at));
            }
        }
        self.advance(input, info);
    }

    /// Moves `head` to the next record; `None` at the end.
    pub(super) fn advance<R: Read + Seek>(&mut self, input: &mut Input<R>, info: &mut TraceInfo) {
        let mut missed = None;
        loop {
            while let Some(mut walk) = self.walk.take() {
                let page = self.buffer.get(self.page..).unwrap_or_default();
                let page = page.get(..page.len().min(self.layout.page)).unwrap_or_default();
                match walk.next(page, &self.layout) {
                    Ok(Some(record)) => {
                        self.walk = Some(walk);
                        self.head = Some((record, missed));
                        return;
                    }
                    Ok(None) => self.page += self.layout.page,
                    Err(damage) => {
                        info.note(Damage::Corrupt { what: damage.what }, Place::Byte(self.at));
                        missed = Some(None);
                        self.page += self.layout.page;
                    }
                }
                self.open(&mut missed, info);
            }
            self.buffer.clear();
            self.page = 0;
            if !self.refill(input, info) {
                self.head = None;
                return;
            }
            self.open(&mut missed, info);
        }
    }

    pub(super) fn bytes(&self, record: Record) -> &[u8] {
        self.buffer.get(self.page + record.start..self.page + record.end).unwrap_or_default()
    }

    /// Starts reading the page at `self.page`; skips damaged pages.
    fn open(&mut self, missed: &mut Option<Option<u64>>, info: &mut TraceInfo) {
        while self.page < self.buffer.len() {
            let page = self.buffer.get(self.page..).unwrap_or_default();
            let page = page.get(..page.len().min(self.layout.page)).unwrap_or_default();
            match Walk::new(page, &self.layout) {
                Ok(walk) => {
                    *missed = missed.or(walk.missed);
                    self.walk = Some(walk);
                    return;
                }
                Err(damage) => {
                    info.note(Damage::Corrupt { what: damage.what }, Place::Byte(self.at));
                    *missed = Some(None);
                    self.page += self.layout.page;
                }
            }
        }
    }

    /// Reads the next pages; `false` at the end.
    fn refill<R: Read + Seek>(&mut self, input: &mut Input<R>, info: &mut TraceInfo) -> bool {
        let result = match self.chunks {
            Some(0) => return false,
            Some(left) => {
                self.chunks = Some(left - 1);
                self.chunk(input)
            }
            None => self.pages(input),
        };
        match result {
            Ok(more) => more,
            Err(damage) => {
                info.note(damage, Place::Byte(self.at));
                self.chunks = self.chunks.map(|_| 0);
                self.at = self.end;
                !self.buffer.is_empty()
            }
        }
    }

    fn pages<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<bool, Damage> {
        let page = self.layout.page.max(1);
        let most = (self.limit / page * page).max(page);
        let most = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(most);
        if most == 0 {
            return Ok(false);
        }
        let truncated = Damage::Truncated { inside: "a CPU's data" };
        input.seek(self.at).map_err(|_| truncated.clone())?;
        input.fill(&mut self.buffer, most).map_err(|_| truncated.clone())?;
        self.at = self.at.saturating_add(self.buffer.len() as u64);
        if self.buffer.len() < most { Err(truncated) } else { Ok(true) }
    }

    fn chunk<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<bool, Damage> {
        let truncated = |_| Damage::Truncated { inside: "compressed data" };
        input.seek(self.at).map_err(truncated)?;
        let packed = input.u32().map_err(truncated)?;
        let size = input.u32().map_err(truncated)?;
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        if most > self.limit || packed as usize > self.limit {
            return Err(Damage::LimitReached { what: "size of a compressed chunk" });
        }
        let bytes = input.bytes(packed.into(), self.limit).map_err(truncated)?;
        self.at = input.at();
        if self.codec.unpack(&bytes, most, &mut self.buffer) && self.buffer.len() == most {
            return Ok(true);
        }
        Err(Damage::Corrupt { what: "compressed data" })
    }
}

/// True if there is data, but the number of chunks could not be read.
fn count_is_missing(chunks: Option<u32>, end: u64, at: u64) -> bool {
    chunks == Some(0) && end > at
}
