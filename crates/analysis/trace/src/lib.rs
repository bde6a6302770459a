//! Reads scheduler traces: trace.dat, perf.data, ring-buffer pages, kernel text in all dialects, `trace-cmd report`,
//! rtla, and pasted excerpts. All yield the same [`Event`]s.
//!
//! Architecture invariant: pure. The caller opens the input; nothing here opens files, uses tracefs, or draws
//! conclusions. Untrusted input never causes a panic, and memory does not grow with the size of a trace.

#![forbid(unsafe_code)]

mod dat;
mod event;
mod flags;
mod info;
mod input;
mod kept;
mod noises;
mod perf;
mod raw;
mod text;
mod words;

use std::io::{Read, Seek, SeekFrom};

pub use dat::{DatFile, DatHead, symbols};
pub use event::{CpuMask, Delay, Event, Kind, NoiseSource, OsnoiseSample, RETURN, TimerlatContext, Vector};
pub use flags::{Context, Flags};
pub use info::{
    Call, Damage, Format, LatencyHeader, Logged, MAX_NOTES, Note, Place, RtlaAnalysis, TimeBase, TraceError, TraceInfo,
};
pub use kept::Kept;
pub use noises::{Noises, worst_noise};
pub use raw::{
    Decoder, EventFormat, FieldFormat, Layout, PageDamage, Pages, Record, Slot, Symbols, Walk, functions_at,
};
pub use words::{Comm, Name, Symbol, Task, TaskState, interrupted, is_interrupt_entry};

/// The events of a trace in chronological order, and facts about the trace.
///
/// Between two [`Kind::Restart`] events `t_ns` never decreases. Memory use is bounded.
pub trait Source: Iterator<Item = Event> {
    /// Returns what is known so far; complete once the iterator has ended.
    fn info(&self) -> &TraceInfo;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Fill in the body of [`Kind::Other`] (text: as printed; binary: `field=value` of plain fields). Slower.
    pub bodies: bool,
}

const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "gzip", "a compressed file (type `gunzip FILE`)"),
    (b"\x28\xb5\x2f\xfd", "zstd", "a compressed file (type `unzstd FILE`)"),
];

/// Reads a trace of any format, detected from its first bytes or its lines.
///
/// Damage inside the trace is not an error: everything readable is read, and [`TraceInfo::notes`] lists what is
/// missing.
///
/// # Errors
///
/// [`TraceError::Unrecognised`] if the format is unknown, [`TraceError::Damaged`] if the head cannot be read,
/// [`TraceError::Unsupported`], [`TraceError::Io`].
pub fn open<'a>(input: impl Read + Seek + 'a, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    open_boxed(Box::new(input), options)
}

trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Opens a trace; not generic, so that the readers are compiled in this crate, with its optimisation.
fn open_boxed<'a>(mut input: Box<dyn ReadSeek + 'a>, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
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
    // A text without a trace is recognised by its beginning.
    input.by_ref().take(HEAD - head.len() as u64).read_to_end(&mut head)?;
    Ok(Box::new(text::TextSource::new(&head, input, options)?))
}

/// Number of bytes of a text that are searched for lines of a known format.
const HEAD: u64 = 64 << 10;

/// Reads, as [`open`] does, a text trace from a stream that cannot seek, such as a pipe.
///
/// # Errors
///
/// [`TraceError::Unrecognised`] if the first 16 MiB contain no line of a known trace; [`TraceError::Io`].
pub fn open_text<'a>(input: impl Read + 'a, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    text_boxed(Box::new(input), options)
}

fn text_boxed<'a>(mut input: Box<dyn Read + 'a>, options: Options) -> Result<Box<dyn Source + 'a>, TraceError> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut head)?;
    Ok(Box::new(text::TextSource::new(&head, input, options)?))
}
