//! Imports results of other tools as a [`Recording`](punctual_model::Recording): cyclictest, cyclicdeadline and oslat
//! of rt-tests, rtla, jitterdebugger, histograms as CSV, and the N-queens tables of rPI-Tests.
//!
//! [`read`] reads one file; [`recording`] combines several into a run. Rules:
//!
//! - Counts, minima and maxima are taken from the file. Contradictory values are a problem of the phase, which can then
//!   fail but never pass.
//! - **Unknown is never zero.** A period, policy, thread ID or number of skipped periods that is not recorded is
//!   `None`.
//! - Every loss is reported: as a [`Lost`](punctual_model::Lost) for people, and as a [`Blur`](punctual_model::Blur)
//!   for the judge.
//! - A sample is placed in the histogram at its *smallest* possible value: the lower edge of its bin (cyclictest
//!   truncates) or, beyond the last bin, the end of that bin. The maximum is placed exactly if it is known. oslat names
//!   bins by their upper edge: its samples are placed there, and may have been smaller.
//!
//! Text may be pasted, with prompts, colours, quoting, HTML, surrounding text or wrapped lines. Logs are read line by
//! line in bounded memory. JSON files of more than 32 MiB are refused.
//!
//! Architecture invariant: reads bytes, opens no files, and never panics on any input.

#![forbid(unsafe_code)]

mod assemble;
mod bins;
mod block;
mod clues;
mod cmdline;
mod columns;
mod cyclictest;
mod date;
mod detect;
mod error;
mod format;
mod input;
mod json;
mod lines;
mod nqueens;
mod number;
mod peel;
mod raw;
mod repair;
mod rtla;
mod settle;
mod text;
mod tools;

pub use assemble::recording;
pub use columns::{Columns, Role};
pub use error::Error;
pub use format::Format;

use block::Found;
use input::Opened;
use lines::Lines;
use punctual_model::ImportedFile;
use punctual_units::Nanos;
use std::io::Read;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// If set, excludes the readers of other formats.
    pub format: Option<Format>,
    /// Unit of the values. If `None`, the unit that the file states is used or, if it states none, microseconds, with a
    /// note.
    pub unit: Option<Unit>,
    /// Period of the threads, used if the file does not state it.
    pub period: Option<Nanos>,
    /// Roles of the columns of a table.
    pub columns: Option<Columns>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, truncated to whole numbers.
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
    /// Results of each tool's reader.
    pub(crate) found: Vec<Found>,
}

impl Imported {
    pub fn figures(&self) -> usize {
        let of = |found: &Found| found.blocks.iter().map(|b| b.threads.len()).sum::<usize>() + found.series.len();
        self.found.iter().map(of).sum()
    }
}

/// Reads one file, which may be compressed. `name` is used in messages.
pub fn read(name: &str, input: impl Read, options: &Options) -> Result<Imported, Error> {
    let name = lines::clean_name(name);
    let mut opened = Opened::new(input).map_err(|e| Error::io(&name, e))?;
    let bytes = std::mem::replace(&mut opened.bytes, Box::new(std::io::empty()));
    let mut lines = Lines::new(bytes);
    let head = lines.head(detect::HEAD).map_err(|e| Error::io(&name, e))?;
    let raw = options.format.map_or_else(|| detect::is_raw(head), |format| format == Format::JitterdebuggerRaw);
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(match lines.failed.take() {
            Some(e) => Error::io(&name, e),
            None => Error::Empty { file: name },
        });
    }
    let mut found = match raw {
        true => vec![raw::read(&name, &mut lines, options)?],
        false => of_text(&name, &mut lines, options)?,
    };
    if let Some(first) = found.first_mut() {
        first.notes.extend(opened.peeled.iter().map(|what| format!("the file was {what} and was unpacked")));
    }
    drop(lines);
    // The rest of the file is needed for its size and checksum.
    let (bytes, crc32) = opened.finish().map_err(|e| Error::io(&name, e))?;
    let format = found.iter().map(|found| found.format.as_str()).find(|format| !format.is_empty()).unwrap_or_default();
    let file = ImportedFile { name, format: format.into(), bytes, crc32 };
    Ok(Imported { file, found })
}

/// Returns results of the readers of text, or an error if there are none.
fn of_text(name: &str, lines: &mut Lines, options: &Options) -> Result<Vec<Found>, Error> {
    let text = text::read(name, lines, options)?;
    if text.found.iter().any(Found::has_figures) {
        return Ok(text.found);
    }
    let file = name.to_owned();
    let torn = text
        .found
        .iter()
        .flat_map(|found| &found.lost)
        .chain(text.found.iter().flat_map(|f| f.blocks.iter().flat_map(|b| &b.lost)));
    Err(match (text.refused, torn.into_iter().next()) {
        (Some(seen), _) => Error::Unlike { file, seen },
        (None, Some(loss)) => Error::Broken { file, why: loss.text.clone() },
        (None, None) if text.unread.is_some() => {
            let line = text.unread.unwrap_or_default();
            Error::Broken { file, why: format!("lines that look like results could not be read; the first: `{line}`") }
        }
        (None, None) => Error::Unknown { file, begins: text.begins.unwrap_or_default(), likely: text.likely },
    })
}
