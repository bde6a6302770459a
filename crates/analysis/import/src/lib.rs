//! Other tools' results, read from bytes into a [`Recording`](punctual_model::Recording): cyclictest, cyclicdeadline and
//! oslat of rt-tests, rtla, jitterdebugger, histograms as CSV, and the N-queens tables of rPI-Tests.
//!
//! [`read`] reads one file, [`recording`] makes a run of several. What it holds to:
//!
//! - Counts, minima and maxima stand as the file tells them. Figures that contradict each other are a problem of the phase,
//!   which then can fail but never pass.
//! - **Unknown is never zero.** A period, a policy, a thread id or skipped periods that are not told are `None`.
//! - Every loss is named, as a [`Lost`](punctual_model::Lost) for people and as a [`Blur`](punctual_model::Blur) for the judge.
//! - A sample stands in the histogram at the *least* it can have been: at the lower edge of its bin (cyclictest cuts off), and
//!   one of which only is told that it lay beyond the last bin, at that bin's end. The largest stands where it is told.
//!   oslat names bins by their upper edge: there a sample stands at it, and may have been less.
//!
//! Text may be pasted: prompts, colours, quoting, HTML, text around it, wrapped lines. Logs are read line by line in bounded
//! memory; JSON files of more than 32 MiB are refused.
//!
//! Architecture invariant: reads bytes, opens no file, and no input makes it panic.

#![forbid(unsafe_code)]

mod assemble;
mod bins;
mod block;
mod cmdline;
mod csv;
mod cyclictest;
mod date;
mod detect;
mod error;
mod json;
mod lines;
mod mend;
mod nqueens;
mod number;
mod raw;
mod rtla;
mod settle;
mod text;

pub use assemble::recording;
pub use detect::Format;
pub use error::Error;

use block::Found;
use lines::Counted;
use punctual_model::ImportedFile;
use punctual_units::Nanos;
use std::io::Read;

/// What the caller knows and the file does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Read it as this, whatever it looks like.
    pub format: Option<Format>,
    /// Unit of its values; default: as the file tells, else microseconds, and said.
    pub unit: Option<Unit>,
    /// Period of the threads, where the file does not tell.
    pub period: Option<Nanos>,
}

/// Unit of the values of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole microseconds, cut off.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Unit {
    /// Nanoseconds of one.
    pub(crate) fn ns(self) -> u64 {
        match self {
            Unit::Micros => 1_000,
            Unit::Nanos => 1,
        }
    }
}

/// One file, read.
#[derive(Clone, Debug)]
pub struct Imported {
    pub(crate) file: ImportedFile,
    pub(crate) found: Found,
}

impl Imported {
    /// Threads and series it holds.
    pub fn figures(&self) -> usize {
        self.found.blocks.iter().map(|b| b.threads.len()).sum::<usize>() + self.found.series.len()
    }
}

/// Reads one file. `name` is used in messages and as a hint.
///
/// # Errors
/// [`Error`]: it is none of the formats, holds no figures, or cannot be read.
pub fn read(name: &str, input: impl Read, options: &Options) -> Result<Imported, Error> {
    let name = lines::clean_name(name);
    let mut input = Counted::new(input);
    let head = input.head(detect::HEAD).map_err(|e| Error::io(&name, e))?;
    let format = match options.format {
        Some(format) => format,
        None => detect::detect(&name, head).ok_or_else(|| Error::unknown(&name, head))?,
    };
    let found = match format {
        Format::Cyclictest => text::read(&name, &mut input, options, cyclictest::Reader::new(options)),
        Format::Rtla => text::read(&name, &mut input, options, rtla::Reader::new(options)),
        Format::Csv => text::read(&name, &mut input, options, csv::Reader::new(options)),
        Format::NQueens => text::read(&name, &mut input, options, nqueens::Reader::default()),
        Format::Json => json::read(&name, &mut input, options),
        Format::JitterdebuggerRaw => raw::read(&name, &mut input, options),
    }?;
    // What comes after the last figure belongs to the file and its checksum.
    let (bytes, crc32) = input.finish().map_err(|e| Error::io(&name, e))?;
    if found.blocks.iter().all(|b| b.threads.is_empty()) && found.series.is_empty() {
        return Err(Error::Nothing { file: name, format: format.name() });
    }
    let file = ImportedFile { name, format: found.format.clone(), bytes, crc32 };
    Ok(Imported { file, found })
}
