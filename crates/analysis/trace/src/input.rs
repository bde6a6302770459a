//! Reads untrusted files: every length is checked against the length of the file.

use crate::info::TraceError;
use std::io::{Read, Seek, SeekFrom};

/// Maximum size of a section read. The format files of all events of a large kernel are about 4 MiB.
pub(crate) const MOST: usize = 16 << 20;

pub(crate) struct Input<R> {
    inner: R,
    format: &'static str,
    at: u64,
    length: u64,
    pub(crate) big_endian: bool,
}

impl<R: Read + Seek> Input<R> {
    pub(crate) fn new(mut inner: R, format: &'static str) -> Result<Input<R>, TraceError> {
        let length = inner.seek(SeekFrom::End(0))?;
        inner.seek(SeekFrom::Start(0))?;
        Ok(Input { inner, format, at: 0, length, big_endian: false })
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Moves to `offset`, which must be inside the file or at its end.
    pub(crate) fn seek(&mut self, offset: u64) -> Result<(), TraceError> {
        if offset > self.length {
            return Err(self.damaged("offset beyond the end"));
        }
        if offset != self.at {
            self.inner.seek(SeekFrom::Start(offset))?;
            self.at = offset;
        }
        Ok(())
    }

    pub(crate) fn skip(&mut self, n: u64) -> Result<(), TraceError> {
        let to = self.at.saturating_add(n);
        self.seek(to)
    }

    /// Returns the next `n` bytes; fails if fewer are left or `n` exceeds `most`.
    pub(crate) fn bytes(&mut self, n: u64, most: usize) -> Result<Vec<u8>, TraceError> {
        if n > self.length.saturating_sub(self.at) {
            return Err(self.damaged("length beyond the end"));
        }
        let n = usize::try_from(n).ok().filter(|n| *n <= most).ok_or_else(|| self.damaged("length above the limit"))?;
        let mut bytes = vec![0; n];
        self.inner.read_exact(&mut bytes)?;
        self.at += n as u64;
        Ok(bytes)
    }

    /// Reads up to `most` bytes into `buffer`, fewer only at the end of the file.
    pub(crate) fn fill(&mut self, buffer: &mut Vec<u8>, most: usize) -> Result<(), TraceError> {
        let most = u64::try_from(most).unwrap_or(u64::MAX).min(self.length.saturating_sub(self.at));
        buffer.clear();
        let read = self.inner.by_ref().take(most).read_to_end(buffer)?;
        self.at += read as u64;
        Ok(())
    }

    /// Appends up to `most` bytes and returns their number.
    pub(crate) fn append(&mut self, buffer: &mut Vec<u8>, most: u64) -> Result<u64, TraceError> {
        let most = most.min(self.length.saturating_sub(self.at));
        let read = self.inner.by_ref().take(most).read_to_end(buffer)? as u64;
        self.at += read;
        Ok(read)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TraceError> {
        let mut bytes = [0; N];
        if N as u64 > self.length.saturating_sub(self.at) {
            return Err(self.damaged("end of file"));
        }
        self.inner.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, TraceError> {
        self.array().map(|[byte]: [u8; 1]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, TraceError> {
        let b = self.array()?;
        Ok(if self.big_endian { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) })
    }

    pub(crate) fn u32(&mut self) -> Result<u32, TraceError> {
        let b = self.array()?;
        Ok(if self.big_endian { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
    }

    pub(crate) fn u64(&mut self) -> Result<u64, TraceError> {
        let b = self.array()?;
        Ok(if self.big_endian { u64::from_be_bytes(b) } else { u64::from_le_bytes(b) })
    }

    /// Returns the bytes before a NUL, at most `most`. Consumes the NUL.
    pub(crate) fn string(&mut self, most: usize) -> Result<Vec<u8>, TraceError> {
        let mut bytes = Vec::new();
        loop {
            match self.u8()? {
                0 => return Ok(bytes),
                _ if bytes.len() >= most => return Err(self.damaged("unterminated string")),
                byte => bytes.push(byte),
            }
        }
    }

    pub(crate) fn expect(&mut self, bytes: &[u8], what: &'static str) -> Result<(), TraceError> {
        for byte in bytes {
            if self.u8()? != *byte {
                return Err(self.damaged(what));
            }
        }
        Ok(())
    }

    pub(crate) fn part(&mut self, size: u64) -> Part<'_, R> {
        Part { left: size.min(self.length.saturating_sub(self.at)), input: self }
    }

    pub(crate) fn damaged(&self, what: &'static str) -> TraceError {
        TraceError::Damaged { format: self.format, what, at: self.at }
    }

    pub(crate) fn into_inner(self) -> R {
        self.inner
    }
}

pub(crate) struct Part<'a, R> {
    input: &'a mut Input<R>,
    left: u64,
}

impl<R: Read> Read for Part<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.input.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.left -= read as u64;
        self.input.at += read as u64;
        Ok(read)
    }
}
