//! Readers of scheduler traces into one event model: trace.dat, perf.data, ring-buffer pages, kernel text in all its
//! dialects, `trace-cmd report`, rtla, pasted pieces of them.
//!
//! Architecture invariant: pure. Input is bytes that somebody else opened; nothing here opens files, knows tracefs, or judges
//! what it reads. Foreign input never panics, and memory does not grow with the size of a trace.

#![forbid(unsafe_code)]

mod dat;
mod event;
mod flags;
mod info;
mod input;
mod kept;
mod perf;
mod raw;
mod text;
mod words;

use std::io::{Read, Seek, SeekFrom};

pub use dat::{DatFile, DatHead};
pub use event::{CpuMask, Delay, Event, Kind, NoiseSource, OsnoiseSample, TimerlatContext, Vector};
pub use flags::{Context, Flags};
pub use info::{Damage, Format, LatencyHeader, MAX_NOTES, Note, Place, RtlaAnalysis, TimeBase, TraceError, TraceInfo};
pub use kept::Kept;
pub use raw::{Decoder, EventFormat, FieldFormat, Layout, PageDamage, Pages, Record, Slot, Walk};
pub use words::{Comm, Name, Symbol, Task, TaskState};

/// A trace being read: its events in order of time, and what is known about it so far.
///
/// Between two [`Kind::Restart`] events `t_ns` never decreases. Memory is bounded whatever the size of the trace.
pub trait Source: Iterator<Item = Event> {
    /// What is known about the trace so far; complete once the iterator has ended.
    fn info(&self) -> &TraceInfo;
}

/// What to read besides what attribution needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Give [`Kind::Other`] its body (text formats: as printed; binary: `field=value` of plain fields). Slower.
    pub bodies: bool,
}

/// Files that are recognised only to say what to do with them.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "gzip", "a compressed file (type `gunzip FILE`)"),
    (b"\x28\xb5\x2f\xfd", "zstd", "a compressed file (type `unzstd FILE`)"),
];

/// Reads any trace: what it is shows in its first bytes, or in its lines.
///
/// Damage inside the trace is no error: what can be read is read, and [`TraceInfo::notes`] says what is missing.
///
/// # Errors
///
/// [`TraceError::Unrecognised`] if it is no trace of a known format, [`TraceError::Damaged`] if its head cannot be read,
/// [`TraceError::Unsupported`], [`TraceError::Io`].
pub fn open<'a, R: Read + Seek + 'a>(mut input: R, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    let mut head = Vec::new();
    input.by_ref().take(dat::MAGIC.len() as u64).read_to_end(&mut head)?;
    if head == dat::MAGIC {
        input.seek(SeekFrom::Start(0))?;
        return dat::open(input, options);
    }
    if perf::is_magic(&head) {
        input.seek(SeekFrom::Start(0))?;
        return perf::open(input, options);
    }
    if let Some((_, format, what)) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Err(TraceError::Unsupported { format, what: (*what).to_owned() });
    }
    Ok(Box::new(text::TextSource::new(&head, input, options)?))
}

/// Reads a text trace from a stream that cannot seek, such as a pipe; otherwise like [`open`].
///
/// # Errors
///
/// [`TraceError::Unrecognised`] if no line of a known trace is found in the first 16 MiB; [`TraceError::Io`].
pub fn open_text<'a, R: Read + 'a>(input: R, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    Ok(Box::new(text::TextSource::new(&[], input, options)?))
}
