//! Decodes pages of the kernel's ring buffer (kernel/trace/ring_buffer.c, include/linux/ring_buffer.h).

/// Event types (5 bits); 1–28 are lengths in words.
const LONG: u32 = 0;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The high bits of the time, which an absolute timestamp does not contain.
const STAMP_MISSING: u64 = 0xf8 << 56;
/// Mask of the data length in the commit word. The next two constants are flags in the same word.
const COMMIT: u64 = (1 << 27) - 1;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub big_endian: bool,
    /// Size of the commit word, a kernel `long`, in bytes: 4 or 8.
    pub long: usize,
    /// Offset of the data in a page.
    pub data: usize,
    /// Size of a sub-buffer in bytes (`buffer_subbuf_size_kb`; one page on kernels before 6.8).
    pub page: usize,
}

impl Layout {
    /// Returns the usual layout of 32-bit (`long` = 4) and 64-bit kernels.
    pub fn new(big_endian: bool, long: usize, page: usize) -> Layout {
        let long = if long == 4 { 4 } else { 8 };
        Layout { big_endian, long, data: 8 + long, page }
    }

    /// Takes the layout from the text of `events/header_page`; implausible values are ignored.
    pub fn with_header_page(mut self, text: &[u8]) -> Layout {
        for line in text.split(|b| *b == b'\n') {
            let value = |key: &[u8]| {
                let at = memchr::memmem::find(line, key)? + key.len();
                let digits = line.get(at..)?.iter().take_while(|b| b.is_ascii_digit()).count();
                std::str::from_utf8(line.get(at..at + digits)?).ok()?.parse::<usize>().ok()
            };
            let (offset, size) = (value(b"offset:"), value(b"size:"));
            if memchr::memmem::find(line, b" commit;").is_some()
                && let Some(long @ (4 | 8)) = size
            {
                self.long = long;
            }
            if memchr::memmem::find(line, b" data;").is_some()
                && let (Some(data @ (12 | 16)), Some(size)) = (offset, size)
            {
                self.data = data;
                self.page = data.saturating_add(size);
            }
        }
        self
    }

    pub(crate) fn u16(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let b: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.big_endian { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) })
    }

    pub(crate) fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let b: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
    }

    pub(crate) fn u64(&self, bytes: &[u8], at: usize) -> Option<u64> {
        let b: [u8; 8] = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(if self.big_endian { u64::from_be_bytes(b) } else { u64::from_le_bytes(b) })
    }

    pub fn long(&self, bytes: &[u8], at: usize) -> Option<u64> {
        if self.long == 4 { self.u32(bytes, at).map(u64::from) } else { self.u64(bytes, at) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub t: u64,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageDamage {
    pub at: usize,
    pub what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    at: usize,
    end: usize,
    t: u64,
    /// Set if events were lost before this page: `Some(None)` if the page had no room for their number.
    pub missed: Option<Option<u64>>,
}

impl Walk {
    /// Starts to read the records of a page.
    ///
    /// # Errors
    ///
    /// Fails if the page is shorter than its header, or claims more data than it contains.
    pub fn new(page: &[u8], layout: &Layout) -> Result<Walk, PageDamage> {
        let header = PageDamage { at: 0, what: "page header" };
        let t = layout.u64(page, 0).ok_or(header)?;
        let commit = layout.long(page, 8).ok_or(header)?;
        let length = usize::try_from(commit & COMMIT).map_err(|_| header)?;
        let end = layout.data.saturating_add(length);
        if end > page.len() {
            return Err(PageDamage { at: 8, what: "length of a page's data" });
        }
        let missed = (commit & MISSED != 0).then(|| {
            let count = layout.long(page, end.checked_next_multiple_of(layout.long).unwrap_or(end));
            count.filter(|count| commit & MISSED_STORED != 0 && *count > 0)
        });
        Ok(Walk { at: layout.data, end, t, missed })
    }

    /// Returns the next record; `None` after the last. Nothing after damage can be read.
    ///
    /// # Errors
    ///
    /// Fails if a record is longer than the rest of the page, or shorter than its own header.
    pub fn next(&mut self, page: &[u8], layout: &Layout) -> Result<Option<Record>, PageDamage> {
        while self.at < self.end {
            let at = self.at;
            let word = layout.u32(page, at).ok_or_else(|| self.damaged(at, "record header"))?;
            let (kind, delta) = match layout.big_endian {
                true => (word >> 27, word & 0x07ff_ffff),
                false => (word & 0x1f, word >> 5),
            };
            let array = || layout.u32(page, at.saturating_add(4));
            match kind {
                PADDING if delta == 0 => break,
                PADDING => {
                    let length = array().ok_or_else(|| self.damaged(at, "padding"))?;
                    self.t = self.t.wrapping_add(delta.into());
                    self.advance(at, 4 + length as usize, 8)?;
                }
                TIME_EXTEND | TIME_STAMP => {
                    let high = array().ok_or_else(|| self.damaged(at, "time"))?;
                    self.set_time(kind, u64::from(high) << 27 | u64::from(delta));
                    self.advance(at, 8, 8)?;
                }
                LONG => {
                    let length = array().ok_or_else(|| self.damaged(at, "record length"))? as usize;
                    self.t = self.t.wrapping_add(delta.into());
                    let padded = length.checked_next_multiple_of(4).unwrap_or(usize::MAX);
                    self.advance(at, padded.saturating_add(4), 8)?;
                    let end = at.saturating_add(4).saturating_add(length);
                    return Ok(Some(Record { t: self.t, start: at + 8, end }));
                }
                words => {
                    self.t = self.t.wrapping_add(delta.into());
                    self.advance(at, 4 + 4 * words as usize, 8)?;
                    return Ok(Some(Record { t: self.t, start: at + 4, end: self.at }));
                }
            }
        }
        self.at = self.end;
        Ok(None)
    }

    fn set_time(&mut self, kind: u32, value: u64) {
        if kind == TIME_EXTEND {
            self.t = self.t.wrapping_add(value);
            return;
        }
        // The timestamp has 59 bits: the upper bits are those of the preceding time, plus one on wraparound
        // (libtraceevent, kbuffer).
        let top = self.t & STAMP_MISSING;
        let stamp = top | value;
        self.t = if top != 0 && stamp < self.t { stamp.wrapping_add(1 << 59) } else { stamp };
    }

    fn advance(&mut self, at: usize, length: usize, least: usize) -> Result<(), PageDamage> {
        let next = at.saturating_add(length);
        if length < least || next > self.end {
            return Err(self.damaged(at, "record length"));
        }
        self.at = next;
        Ok(())
    }

    fn damaged(&mut self, at: usize, what: &'static str) -> PageDamage {
        self.at = self.end;
        PageDamage { at, what }
    }
}

#[cfg(test)]
mod tests;
