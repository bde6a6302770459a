//! Passes the lines of a text to the readers of all tools.
//!
//! A line is offered to the reader that accepted the previous line, then to the others; first unchanged, then without
//! the prefix of a log. Each source named by a prefix has separate readers. Lines that no reader accepts are text,
//! which names the following run.

use crate::block::{Found, Loss};
use crate::columns;
use crate::lines::Lines;
use crate::tools::{Line, Reader, Taken};
use crate::{Error, Options, clues, peel, repair, tools};
use punctual_model::LostKind;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Maximum number of sources that prefixes distinguish.
const MOST_SOURCES: usize = 64;
/// Number of characters kept of the text before a run.
const KEPT: usize = 80;

pub(crate) struct Text {
    pub found: Vec<Found>,
    /// The reason why a table of numbers was not read, with an example command.
    pub refused: Option<String>,
    /// The first non-empty line. `likely` is advice derived from a line that reveals the type of the text.
    pub begins: Option<String>,
    pub likely: Option<&'static str>,
    /// The first line that looks like results but was accepted by no reader.
    pub unread: Option<String>,
}

/// The readers for one source.
struct Stream {
    readers: Vec<Box<dyn Reader>>,
    /// Index of the reader that accepted the last line.
    last: usize,
    /// Reader for lists of numbers that belong to no known tool.
    columns: columns::Reader,
    before: String,
}

impl Stream {
    fn new(options: &Options) -> Stream {
        Stream { readers: tools::all(options), last: 0, columns: columns::Reader::new(options), before: String::new() }
    }

    fn offer(&mut self, text: &str, number: u64) -> bool {
        let before = Some(self.before.as_str()).filter(|text| !text.is_empty());
        let line = Line { text, number, before };
        if let Some(reader) = self.readers.get_mut(self.last)
            && reader.line(&line) != Taken::No
        {
            return true;
        }
        let last = self.last;
        let others = self.readers.iter_mut().enumerate().filter(|(at, _)| *at != last);
        let took = others.into_iter().find_map(|(at, reader)| (reader.line(&line) != Taken::No).then_some(at));
        self.last = took.unwrap_or(last);
        took.is_some()
    }

    fn offer_columns(&mut self, text: &str, number: u64) -> bool {
        let before = Some(self.before.as_str()).filter(|text| !text.is_empty());
        self.columns.line(&Line { text, number, before }) != Taken::No
    }

    fn passes(&mut self, text: &str) {
        let text = text.trim();
        if text.chars().any(char::is_alphanumeric) {
            self.before = text.chars().filter(|c| !c.is_control()).take(KEPT).collect();
        }
    }

    fn finish(self, options: &Options) -> (Vec<Found>, columns::Reader) {
        (self.readers.into_iter().filter_map(|reader| reader.finish(options)).collect(), self.columns)
    }
}

struct Driver<'o> {
    options: &'o Options,
    streams: BTreeMap<String, Stream>,
    /// Readers for the next new source.
    spare: Option<Stream>,
    /// True if the last accepted line had a prefix.
    prefixed: bool,
    peeled: BTreeMap<&'static str, u64>,
    /// Number of lines of sources beyond the limit.
    beyond: u64,
    begins: Option<String>,
    likely: Option<&'static str>,
    /// Number of lines that look like results of a tool but were accepted by no reader.
    unread: u64,
    first_unread: Option<String>,
}

pub(crate) fn read(name: &str, input: &mut Lines, options: &Options) -> Result<Text, Error> {
    let mut driver = Driver {
        options,
        streams: BTreeMap::from([(String::new(), Stream::new(options))]),
        spare: None,
        prefixed: false,
        peeled: BTreeMap::new(),
        beyond: 0,
        begins: None,
        likely: None,
        unread: 0,
        first_unread: None,
    };
    let head = input.head(crate::detect::HEAD).map_err(|e| Error::io(name, e))?;
    let printable = repair::is_quoted_printable(&String::from_utf8_lossy(head));
    let (mut raw, mut joined, mut number) = (Vec::new(), Vec::new(), 0);
    while input.line(&mut raw).map_err(|e| Error::io(name, e))? {
        number += 1;
        if printable {
            let soft = repair::printable(&String::from_utf8_lossy(&raw), &mut joined);
            if soft && joined.len() < crate::lines::LONGEST {
                continue;
            }
            std::mem::swap(&mut raw, &mut joined);
            joined.clear();
        }
        let clean = String::from_utf8_lossy(&raw);
        if driver.lines(&repair::line(&clean), number) && !printable {
            let (bytes, lines) = driver.many(input.ahead());
            input.skip(bytes);
            number += lines;
        }
    }
    if !joined.is_empty() {
        driver.lines(&repair::line(&String::from_utf8_lossy(&joined)), number);
    }
    Ok(driver.finish(printable, input))
}

impl Driver<'_> {
    /// Processes a line of the file. A line with markup may contain several lines of text.
    fn lines(&mut self, text: &str, number: u64) -> bool {
        let mut taken = false;
        for line in text.split('\n') {
            taken = self.line(line, number);
        }
        taken
    }

    /// Returns `true` if a reader accepted the line unchanged.
    fn line(&mut self, text: &str, number: u64) -> bool {
        if self.begins.is_none() && !text.trim().is_empty() {
            self.begins = Some(text.trim().chars().filter(|c| !c.is_control()).take(60).collect());
        }
        let taken = match self.prefixed {
            true => self.without_prefix(text, number) || self.as_it_is(text, number),
            false => self.as_it_is(text, number) || self.without_prefix(text, number),
        };
        if !taken && !self.inside(text, number) && !self.columns(text, number) {
            if clues::figures(text) {
                self.unread += 1;
                self.first_unread
                    .get_or_insert_with(|| text.trim().chars().filter(|c| !c.is_control()).take(60).collect());
            }
            self.passes(text);
        }
        taken && !self.prefixed
    }

    /// Lets the reader that accepted the last line consume whole lines.
    fn many(&mut self, bytes: &[u8]) -> (usize, u64) {
        let stream = self.streams.get_mut("");
        stream.and_then(|stream| stream.readers.get_mut(stream.last)).map_or((0, 0), |reader| reader.many(bytes))
    }

    fn as_it_is(&mut self, text: &str, number: u64) -> bool {
        let taken = self.streams.get_mut("").is_some_and(|stream| stream.offer(text, number));
        self.prefixed &= !taken;
        taken
    }

    fn without_prefix(&mut self, text: &str, number: u64) -> bool {
        let Some(peeled) = peel::peel(text) else { return false };
        let source = peeled.source.as_deref().unwrap_or_default();
        let taken = match self.streams.get_mut(source) {
            Some(stream) => stream.offer(&peeled.rest, number),
            None => self.new_source(source, &peeled.rest, number),
        };
        if taken {
            self.prefixed = true;
            *self.peeled.entry(peeled.what).or_default() += 1;
        }
        taken
    }

    /// Reads a row that follows text other than a known prefix: `With load: T: 0 (…`.
    fn inside(&mut self, text: &str, number: u64) -> bool {
        let Some(at) = clues::inside(text) else { return false };
        let (before, row) = text.split_at_checked(at).unwrap_or((text, ""));
        let Some(stream) = self.streams.get_mut("") else { return false };
        let kept = stream.before.clone();
        stream.passes(before);
        let taken = stream.offer(row, number);
        if !taken {
            stream.before = kept;
        }
        taken
    }

    /// Begins a new source with the first line that a reader recognizes.
    fn new_source(&mut self, source: &str, text: &str, number: u64) -> bool {
        let options = self.options;
        let mut stream = self.spare.take().unwrap_or_else(|| Stream::new(options));
        let taken = stream.offer(text, number);
        match taken {
            true if self.streams.len() >= MOST_SOURCES => self.beyond += 1,
            true => {
                self.streams.insert(source.to_owned(), stream);
            }
            false => self.spare = Some(stream),
        }
        taken
    }

    /// Reads numbers that belong to no tool, unchanged or after a time stamp.
    fn columns(&mut self, text: &str, number: u64) -> bool {
        let Some(stream) = self.streams.get_mut("") else { return false };
        if stream.offer_columns(text, number) {
            return true;
        }
        let peeled = peel::peel(text).filter(|peeled| peeled.source.is_none());
        peeled.is_some_and(|peeled| stream.offer_columns(&peeled.rest, number))
    }

    /// Records `text`, the name of the results that follow.
    fn passes(&mut self, text: &str) {
        self.likely = self.likely.or_else(|| crate::detect::likely(text));
        let peeled = peel::peel(text);
        let (rest, source) = match &peeled {
            Some(peeled) => (peeled.rest.clone(), peeled.source.as_deref().unwrap_or_default()),
            None => (Cow::Borrowed(text), ""),
        };
        if let Some(stream) = self.streams.get_mut(source) {
            stream.passes(&rest);
        }
        if let Some(stream) = self.streams.get_mut("").filter(|_| !source.is_empty()) {
            stream.passes(text);
        }
    }

    fn finish(self, printable: bool, input: &mut Lines) -> Text {
        let options = self.options;
        let (mut all, mut tables) = (Vec::new(), None);
        for (source, stream) in self.streams {
            let (found, columns) = stream.finish(options);
            tables = tables.or(Some(columns).filter(|_| source.is_empty()));
            for mut found in found {
                if !source.is_empty() {
                    found.blocks.iter_mut().for_each(|block| block.source = Some(source.clone()));
                    found.series.iter_mut().for_each(|series| series.of = format!("{source}: {}", series.of));
                }
                all.push(found);
            }
        }
        let mut refused = None;
        match (all.iter_mut().find(|found: &&mut Found| found.has_figures()), tables) {
            (None, Some(tables)) => match tables.finish(options) {
                Ok(found) => all.extend(found),
                Err(why) => refused = Some(why),
            },
            // A few numbers between the lines of a tool are a list of CPUs or similar.
            (Some(first), Some(tables)) if tables.weigh() > 0 => {
                let text = format!(
                    "a table of numbers from line {} on belongs to no known tool and was not read",
                    tables.first()
                );
                first.lost.push(Loss::problem(LostKind::Unreadable, Some(tables.weigh()), text));
            }
            _ => {}
        }
        if let Some(first) = all.first_mut() {
            let lines = |(what, n): (&'static str, u64)| format!("{n} lines had a prefix ({what}), which was removed");
            first.notes.extend(self.peeled.into_iter().map(lines));
            if printable {
                first.notes.push("the text was quoted-printable and was decoded".into());
            }
            if let Some(line) = &self.first_unread {
                let text = format!("lines that look like results could not be read; the first: `{line}`");
                first.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unread), text));
            }
            let mut problem = |n: u64, text: &str| {
                if n > 0 {
                    first.lost.push(Loss::problem(LostKind::Unreadable, Some(n), text));
                }
            };
            problem(self.beyond, "lines have prefixes with more sources than can be distinguished");
            problem(input.cut, "lines are too long and were truncated");
            if let Some(e) = input.failed.take() {
                let text = format!("the file could not be read to its end: {e}");
                first.lost.push(Loss::problem(LostKind::Truncated, None, text));
            }
        }
        Text { found: all, refused, begins: self.begins, likely: self.likely, unread: self.first_unread }
    }
}
