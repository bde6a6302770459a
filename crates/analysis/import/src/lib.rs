//! Imports results of other tools as a [`Recording`](punctual_model::Recording): cyclictest, cyclicdeadline and oslat
//! of rt-tests, rtla, jitterdebugger, histograms as CSV, and the N-queens tables of rPI-Tests.
//!
//! [`read`] reads one file; [`recording`] makes a run of several. Rules:
//!
//! - Counts, minima and maxima are those of the file. Contradictory figures are a problem of the phase, which then can
//!   fail but never pass.
//! - **Unknown is never zero.** A period, policy, thread ID or number of skipped periods that is not recorded is
//!   `None`.
//! - Every loss is named: as a [`Lost`](punctual_model::Lost) for people, as a [`Blur`](punctual_model::Blur) for the
//!   judge.
//! - A sample is placed in the histogram at the *least* value it can have had: at the lower edge of its bin (cyclictest
//!   truncates) or, beyond the last bin, at that bin's end. The maximum is placed exactly where known. oslat names bins
//!   by their upper edge: samples are placed there, and may have been smaller.
//!
//! Text may be pasted: prompts, colours, quoting, HTML, surrounding text, wrapped lines. Logs are read line by line in
//! bounded memory; JSON files of more than 32 MiB are refused.
//!
//! Architecture invariant: reads bytes, opens no files, and no input causes a panic.

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
mod format;
mod json;
mod lines;
mod nqueens;
mod number;
mod raw;
mod repair;
mod rtla;
mod settle;
mod text;
mod tools;

pub use assemble::recording;
pub use error::Error;
pub use format::Format;

use block::Found;
use lines::Counted;
use punctual_model::ImportedFile;
use punctual_units::Nanos;
use std::io::Read;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Overrides detection.
    pub format: Option<Format>,
    /// Unit of the values; default: as in the file, otherwise microseconds, which is reported.
    pub unit: Option<Unit>,
    /// Period of the threads if the file lacks it.
    pub period: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Truncated to whole microseconds.
    Micros,
    Nanos,
}

impl Unit {
    pub(crate) fn ns(self) -> u64 {
        match self {
            Unit::Micros => 1_000,
            Unit::Nanos => 1,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Imported {
    pub(crate) file: ImportedFile,
    pub(crate) found: Found,
}

impl Imported {
    pub fn figures(&self) -> usize {
        self.found.blocks.iter().map(|b| b.threads.len()).sum::<usize>() + self.found.series.len()
    }
}

/// Reads one file. `name` appears in messages and is a hint for detection.
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
    // The rest of the file counts for its size and checksum.
    let (bytes, crc32) = input.finish().map_err(|e| Error::io(&name, e))?;
    if found.blocks.iter().all(|b| b.threads.is_empty()) && found.series.is_empty() {
        return Err(Error::Nothing { file: name, format: format.name() });
    }
    let file = ImportedFile { name, format: found.format.clone(), bytes, crc32 };
    Ok(Imported { file, found })
}
