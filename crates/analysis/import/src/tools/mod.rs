//! Readers for the text of one tool each. Each line is offered to all readers until one accepts it, so a text may
//! contain results of several tools, with any text between them.

mod extremes;
#[cfg(test)]
mod foreign;
mod hwlatdetect;
mod oslat;
mod pairs;
mod perf_sched;
mod performance_test;
mod rtai;
mod rteval;
mod rttests_json;
mod scan;
mod signaltest;
mod signed;
mod stress_ng;
mod sysjitter;
mod xenomai;

use crate::block::Found;
use crate::{Format, Options, cyclictest, json, nqueens, rtla};
use serde_json::Value;

/// A cleaned line, without escapes, quoting, markup and log prefixes. Leading white space is kept, trailing white space
/// is removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub text: &'a str,
    /// Line number, counted from 1.
    pub number: u64,
    /// The last preceding text that no reader accepted, which names a run.
    pub before: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The line does not belong to this reader.
    No,
    /// The line is a header, a comment or a result of this reader's tool.
    Yes,
    /// The line belongs to this reader but has unreadable values. This is a problem, which the reader reports in
    /// `finish`.
    Unreadable,
}

/// Reads the text of one tool in bounded memory.
///
/// A line is accepted only on evidence: its format together with the preceding lines. A new run begins where the
/// program was restarted (its header is repeated, counters decrease, or a thread differs). Each run is a
/// [`crate::block::Block`] with its line and the preceding text.
pub(crate) trait Reader {
    fn line(&mut self, line: &Line) -> Taken;

    /// Consumes whole lines at the beginning of `bytes` whose format is unambiguous, without examining each as text:
    /// logs may have several gigabytes. Returns the number of bytes and lines.
    fn many(&mut self, _bytes: &[u8]) -> (usize, u64) {
        (0, 0)
    }

    /// Returns the results; `None` if there are none.
    fn finish(self: Box<Self>, options: &Options) -> Option<Found>;
}

/// Reads a JSON document; `None` if it belongs to another tool.
pub(crate) type JsonReader = fn(&Value, &Options) -> Option<Found>;

/// Readers of JSON documents of one tool each. The readers for rt-tests and jitterdebugger are tried after these
/// ([`crate::json`]).
pub(crate) const JSON: &[JsonReader] = &[rttests_json::read, performance_test::json];

/// Returns the readers for the given format, in the order in which a line is offered to them.
pub(crate) fn all(options: &Options) -> Vec<Box<dyn Reader>> {
    let wants = |format: Format| options.format.is_none_or(|wanted| wanted == format);
    let mut all: Vec<Box<dyn Reader>> = Vec::new();
    if wants(Format::Cyclictest) {
        all.push(Box::new(cyclictest::Reader::new(options)));
    }
    if wants(Format::Json) {
        all.push(Box::new(json::Reader::new(options)));
    }
    if wants(Format::NQueens) {
        all.push(Box::new(nqueens::Reader::default()));
    }
    if wants(Format::Rtla) {
        all.push(Box::new(rtla::Reader::new(options)));
    }
    if wants(Format::Text) {
        let others: [Box<dyn Reader>; 12] = [
            Box::new(oslat::Reader::new(options)),
            Box::new(hwlatdetect::Reader::new(options)),
            Box::new(xenomai::Reader::new(options)),
            Box::new(rtai::Reader::new(options)),
            Box::new(stress_ng::Reader::new(options)),
            Box::new(pairs::Reader::new(options)),
            Box::new(signaltest::Reader::new(options)),
            Box::new(performance_test::Reader::new(options)),
            Box::new(perf_sched::Reader::new(options)),
            Box::new(sysjitter::Reader::new(options)),
            Box::new(rteval::report::Reader::new(options)),
            Box::new(rteval::Reader::new(options)),
        ];
        all.extend(others);
    }
    all
}

/// Reads a text with a single reader.
#[cfg(test)]
pub(crate) fn alone(mut reader: Box<dyn Reader>, text: &str) -> Option<Found> {
    let mut before = None;
    for (number, line) in (1..).zip(text.lines()) {
        let text = line.trim_end();
        match reader.line(&Line { text, number, before }) {
            Taken::No if !text.trim().is_empty() => before = Some(text.trim()),
            _ => {}
        }
    }
    reader.finish(&Options::default())
}
