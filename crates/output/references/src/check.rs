//! Validates and reads a file in the format of `boards/*.toml`.

use crate::fields::{BOARD, Field, Kind};
use crate::{Board, Published, ReadFrom};
use serde::Serialize;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum size of a file, bytes.
pub const LARGEST: usize = 1 << 20;

/// Maximum length of a text field, in characters.
const LONGEST: usize = 2000;

/// An error in a file, or a remark on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Line number, counted from 1.
    pub line: usize,
    pub what: String,
    /// False for a remark: the file can be used, but lacks useful information.
    pub is_error: bool,
}

/// Returns all errors and remarks, ordered by line. A file without errors can be [`read`].
pub fn check(text: &str) -> Vec<Problem> {
    let mut walk = Walk { text, found: Vec::new() };
    if text.len() > LARGEST {
        walk.error(0, format!("the file is larger than {LARGEST} bytes"));
        return walk.found;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        walk.error(error.span().map_or(0, |span| span.start), error.message().to_owned());
    }
    if errors.is_empty() {
        walk.table(table.get_ref(), BOARD, table.span());
    }
    if walk.found.is_empty() {
        match toml::from_str::<Board>(text) {
            Ok(board) => walk.board(&board, table.get_ref()),
            Err(error) => walk.error(error.span().map_or(0, |span| span.start), error.message().to_owned()),
        }
    }
    walk.found.sort_by_key(|problem| problem.line);
    walk.found
}

/// Reads a file.
///
/// # Errors
/// The problems found by [`check`], if at least one is an error.
pub fn read(text: &str) -> Result<Board, Vec<Problem>> {
    let found = check(text);
    match found.iter().any(|problem| problem.is_error) {
        true => Err(found),
        false => toml::from_str(text).map_err(|_| found),
    }
}

struct Walk<'t> {
    text: &'t str,
    found: Vec<Problem>,
}

impl Walk<'_> {
    fn add(&mut self, at: usize, what: String, is_error: bool) {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        self.found.push(Problem { line, what, is_error });
    }

    fn error(&mut self, at: usize, what: String) {
        self.add(at, what, true);
    }

    fn table(&mut self, table: &DeTable<'_>, fields: &[Field], span: Range<usize>) {
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            match fields.iter().find(|field| field.name == name) {
                None => self.error(at, unknown(name, fields)),
                Some(field) => {
                    if let Err(why) = self.value(value, &field.kind) {
                        self.error(value.span().start, format!("`{name}`: {why}"));
                    }
                }
            }
        }
        for field in fields.iter().filter(|field| field.is_required && !table.contains_key(field.name)) {
            self.error(span.start, format!("`{}` is missing: {}", field.name, field.what));
        }
    }

    /// Checks a value. Problems of nested tables are added to the list; others are returned.
    fn value(&mut self, value: &Spanned<DeValue<'_>>, kind: &Kind) -> Result<(), String> {
        let value = value.get_ref();
        let text = || value.as_str().ok_or_else(|| "a string in quotation marks is expected".to_owned());
        match kind {
            Kind::Text => of_text(text()?),
            Kind::Key => of_key(text()?),
            Kind::Date => of_date(text()?),
            Kind::Address => of_address(text()?),
            Kind::Flag => value.as_bool().map(drop).ok_or_else(|| "true or false is expected".into()),
            Kind::Texts => {
                let all = value.as_array().ok_or("a list of strings is expected: [\"…\"]")?;
                all.iter().try_for_each(|one| {
                    of_text(one.get_ref().as_str().ok_or("an element of the list is not a string")?)
                })
            }
            Kind::Number(least, most) => match number(value) {
                Some(number) if (*least..=*most).contains(&number) => Ok(()),
                Some(number) => Err(format!("{number} is not within the range {least} to {most}")),
                None => Err("a number is expected".into()),
            },
            Kind::Count(least, most) => match whole(value) {
                Some(count) if (*least..=*most).contains(&count) => Ok(()),
                Some(count) => Err(format!("{count} is not within the range {least} to {most}")),
                None => Err("a whole number is expected".into()),
            },
            Kind::Choice(names) => match text()? {
                name if names.contains(&name) => Ok(()),
                name => Err(format!("\"{}\" is not one of {}", clip(name), names.join(", "))),
            },
            Kind::Tables(fields) => {
                let all = value.as_array().ok_or("a list of tables is expected")?;
                if all.is_empty() {
                    return Err("it is empty".into());
                }
                for one in all {
                    let table = one.get_ref().as_table().ok_or("an element of the list is not a table")?;
                    self.table(table, fields, one.span());
                }
                Ok(())
            }
        }
    }

    /// Checks conditions that involve more than one field.
    fn board(&mut self, board: &Board, table: &DeTable<'_>) {
        let spans = table.get("published").and_then(|all| all.get_ref().as_array());
        let starts: Vec<usize> = spans.into_iter().flatten().map(|one| one.span().start).collect();
        for (n, published) in board.published.iter().enumerate() {
            let at = starts.get(n).copied().unwrap_or(0);
            contradictions(published).into_iter().for_each(|what| self.error(at, what));
            if board.published.get(..n).is_some_and(|before| before.contains(published)) {
                self.error(at, "the entry is a duplicate".into());
            }
            unknowns(published).into_iter().for_each(|what| self.add(at, what, false));
        }
    }
}

fn contradictions(p: &Published) -> Vec<String> {
    let mut found = Vec::new();
    let mut unless = |holds: bool, what: &str| {
        if !holds {
            found.push(what.to_owned());
        }
    };
    unless(p.mean_us.is_none_or(|mean| mean <= p.worst_us), "`mean_us` is above `worst_us`");
    unless(
        p.min_us.is_none_or(|min| min <= p.mean_us.unwrap_or(p.worst_us)),
        "`min_us` is above the mean or the worst",
    );
    let ascending = p.quantiles.is_sorted_by(|a, b| a.p < b.p && a.us <= b.us);
    let last = p.quantiles.last().is_none_or(|last| last.us <= p.worst_us);
    unless(ascending && last, "`quantiles` are not ascending, or exceed `worst_us`");
    let ascending = p.episodes.is_sorted_by(|a, b| a.above_us < b.above_us && a.count >= b.count);
    unless(ascending, "`episodes`: a higher limit has more episodes, or the limits are not ascending");
    if let (Some(samples), Some(duration), Some(interval)) = (p.samples, p.duration_s, p.interval_us) {
        // Allows a tenth more, because durations are rounded.
        let most = duration as f64 * 1e6 / interval * 1.1;
        unless(samples as f64 <= most, "more `samples` than `duration_s` has intervals of `interval_us`");
    }
    unless(p.url.is_some() || p.read == ReadFrom::Own, "`url` is missing: the address of the source");
    found
}

/// Returns a remark for each field that a comparison needs and the entry does not state.
fn unknowns(p: &Published) -> Vec<String> {
    let mut missing = Vec::new();
    let mut need = |is_there: bool, what: &str| {
        if !is_there {
            missing.push(what.to_owned());
        }
    };
    need(p.url.is_some(), "`url` is not stated: add the address where the measurement is published");
    need(p.kernel.is_some(), "`kernel` is not stated: the output of uname -r");
    need(p.load.is_some(), "`load` is not stated: what ran during the measurement, or \"idle\"");
    need(p.tool.is_some(), "`tool` is not stated: the measuring program");
    need(p.samples.is_some() || p.duration_s.is_some(), "neither `samples` nor `duration_s` is stated");
    missing
}

fn of_text(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("it is empty; omit the field instead".into());
    }
    if text.chars().count() > LONGEST {
        return Err(format!("it is longer than {LONGEST} characters"));
    }
    let is_bad = |c: char| {
        c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.chars().any(is_bad) { Err("it has control characters or line breaks".into()) } else { Ok(()) }
}

fn of_key(text: &str) -> Result<(), String> {
    let is_good = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    match !text.is_empty() && text.len() <= 60 && text.bytes().all(is_good) {
        true => Ok(()),
        false => Err("lower case letters, digits and hyphens are expected, at most 60".into()),
    }
}

fn of_date(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, width: usize| {
        let is_number = part.len() == width && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_number)
    };
    let year = |part: &str| number(part, 4).is_some_and(|year| (1995..=2100).contains(&year));
    let within = |part: &str, most: u32| number(part, 2).is_some_and(|n| (1..=most).contains(&n));
    let is_good = match parts.as_slice() {
        [y] => year(y),
        [y, m, d] => year(y) && within(m, 12) && within(d, 31),
        _ => false,
    };
    if is_good { Ok(()) } else { Err("a year or a day is expected: \"2019\", \"2019-06-18\"".into()) }
}

fn of_address(text: &str) -> Result<(), String> {
    of_text(text)?;
    let is_page =
        ["https://", "http://"].iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    let is_file = text.split_once(", ").is_some_and(|(repository, path)| {
        let parts = repository.split('/').filter(|part| !part.is_empty() && !part.contains(' ')).count();
        parts == 2 && !repository.contains(' ') && !path.is_empty()
    });
    if (is_page && !text.contains(' ')) || is_file {
        return Ok(());
    }
    Err("an address is expected: \"https://…\" or \"owner/repository, path\"".into())
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok()?,
        DeValue::Integer(_) => i64_of(value)? as f64,
        _ => return None,
    };
    Some(number).filter(|number: &f64| number.is_finite())
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    i64_of(value).and_then(|number| u64::try_from(number).ok())
}

fn i64_of(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn clip(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn unknown(name: &str, fields: &[Field]) -> String {
    let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
    format!("`{}` is not a known field here; known are {}", clip(name), known.join(", "))
}
