//! Reads columns of numbers: histograms (one bin per row), one latency per row, or extremes over time. Columns are
//! separated by commas, semicolons, tabs or spaces.
//!
//! The meaning of the columns is derived from their names, from `--columns`, or, without names, from the shape of a
//! histogram. Otherwise the table is refused with a description, because for example the seconds of a file transfer are
//! not latencies.

mod roles;
mod table;

pub use roles::{Columns, Role};

use crate::block::{Found, Loss};
use crate::tools::{Line, Taken};
use crate::{Options, number};
use punctual_model::LostKind;
use table::Table;

/// Maximum number of tables in a text.
const MOST_TABLES: usize = 64;
/// Maximum number of columns of a table.
const WIDEST: usize = crate::block::MOST_THREADS as usize + 8;

pub(crate) struct Reader {
    options: Options,
    tables: Vec<Table>,
    /// Column names of the previous line, if it has any, and its number.
    header: Option<(Vec<String>, u64)>,
    rows: u64,
    first: u64,
    /// Line of the last row, and the number of text lines after it.
    last: u64,
    between: u64,
    /// True if a table has column names or several columns.
    telling: bool,
    /// Number of rows in tables that were not kept.
    beyond: u64,
}

/// Returns the cells of a line, split by its separator. Also supports tables in Markdown.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let separator = ['|', ';', '\t', ','].into_iter().find(|separator| line.contains(*separator));
    let line = if separator == Some('|') { line.trim().trim_matches('|') } else { line };
    let by_mark = separator.into_iter().flat_map(move |separator| line.split(separator));
    let by_space = line.split_ascii_whitespace().filter(move |_| separator.is_none());
    by_mark.chain(by_space).map(|cell| cell.trim().trim_matches(['"', '\'', '`', '*']).trim())
}

/// Returns the value of a cell: `None` if it is empty, NaN if it contains words.
fn read(cell: &str) -> Option<f64> {
    let nothing = cell.is_empty() || ["-", "–", "None", "NaN", "nan", "null", "NA", "n/a"].contains(&cell);
    (!nothing).then(|| value(cell).unwrap_or(f64::NAN))
}

/// Returns true if the row has as many cells as its table, but only some of them are numbers.
fn is_torn(table: &Table, row: &[Option<f64>]) -> bool {
    row.len() == table.wide() && row.iter().flatten().any(|value| !value.is_nan())
}

/// Parses a number, including `1.2e-05` and, if commas are not separators, `12,5`. `1,200` is ambiguous.
fn value(cell: &str) -> Option<f64> {
    let thousands = |(whole, rest): (&str, &str)| rest.len() == 3 && !whole.starts_with('0');
    if cell.split_once(',').is_some_and(thousands) {
        return None;
    }
    number::signed(cell).or_else(|| {
        let plain = cell.len() <= 40 && cell.bytes().all(|b| b.is_ascii_digit() || b",.eE+-".contains(&b));
        let starts = cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let text = cell.replace(',', ".");
        text.parse::<f64>().ok().filter(|value| plain && starts && value.is_finite())
    })
}

/// Returns true for a rule between column names and rows: `|---|:---:|`, `-----`.
fn is_rule(text: &str) -> bool {
    text.contains("--") && text.chars().all(|c| "-|:+= ".contains(c))
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        Reader {
            options: options.clone(),
            tables: Vec::new(),
            header: None,
            rows: 0,
            first: 0,
            last: 0,
            between: 0,
            telling: false,
            beyond: 0,
        }
    }

    /// Returns the line number of the first row.
    pub fn first(&self) -> u64 {
        self.first
    }

    pub fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if is_rule(text) {
            if let Some((_, at)) = self.header.as_mut().filter(|(_, at)| *at + 1 == line.number) {
                *at = line.number;
            }
            return Taken::No;
        }
        let row: Vec<Option<f64>> = cells(text).take(WIDEST).map(read).collect();
        // `latency (us)` is the name of a single column.
        if let Some((names, at)) = &mut self.header
            && row.len() == 1
            && *at + 1 == line.number
        {
            *names = vec![names.join(" ")];
        }
        let numbers = row.iter().any(Option::is_some) && !row.iter().flatten().any(|value| value.is_nan());
        if numbers || self.is_row(&row, line) {
            return self.row(row, line);
        }
        let figure = text.bytes().any(|b| b.is_ascii_digit()) && !text.starts_with(['#', '%', '/']);
        if self.last > 0 && self.last + 1 + self.between == line.number && figure {
            self.between += 1;
        }
        self.header = header(text).map(|names| (names, line.number));
        Taken::No
    }

    /// Returns true if a row that contains words belongs to the current table, or is the first row below the column
    /// names.
    fn is_row(&self, row: &[Option<f64>], line: &Line) -> bool {
        let below = self.header.as_ref().filter(|(names, at)| at + 1 == line.number && names.len() == row.len());
        match below {
            Some((names, _)) => Table::new(names.clone(), row.len(), line, &self.options).takes(row),
            None => {
                self.last + 1 == line.number
                    && self
                        .tables
                        .last()
                        .is_some_and(|table| table.wide() > 1 && (table.takes(row) || is_torn(table, row)))
            }
        }
    }

    fn row(&mut self, row: Vec<Option<f64>>, line: &Line) -> Taken {
        if self.rows == 0 {
            self.first = line.number;
        }
        self.rows += 1;
        let between = std::mem::take(&mut self.between);
        self.last = line.number;
        let header = self.header.take().filter(|(names, at)| at + 1 == line.number && names.len() == row.len());
        let begins = header.is_some() || self.tables.last().is_none_or(|table| table.ends_before(&row));
        if begins && self.tables.len() >= MOST_TABLES {
            self.beyond += 1;
            return Taken::Yes;
        }
        if begins {
            let last = self.tables.last().map(|table| table.names.clone()).filter(|names| names.len() == row.len());
            let names = header.map(|(names, _)| names).or(last).unwrap_or_default();
            self.telling |= !names.is_empty() || row.len() > 1;
            self.tables.push(Table::new(names, row.len(), line, &self.options));
        }
        if let Some(table) = self.tables.last_mut() {
            if !begins {
                table.torn(between);
            }
            table.add(&row);
        }
        Taken::Yes
    }

    /// Returns the number of rows that may be a result in addition to the results of a tool. A CPU list or a few
    /// numbers in successive lines do not count.
    pub fn weigh(&self) -> u64 {
        let named = self.tables.iter().any(|table| !table.names.is_empty());
        match (self.telling, self.rows) {
            (true, 2..) | (false, 20..) => self.rows,
            (true, 1) if named => 1,
            _ => 0,
        }
    }

    /// Returns the tables of latencies. The error states why there are none, and gives an example command.
    pub fn finish(self, options: &Options) -> Result<Option<Found>, String> {
        let mut found = Found { format: "csv".into(), ..Found::default() };
        let (mut refused, mut skipped) = (None, 0);
        let mut tables = self.tables;
        if let Some(last) = tables.last_mut() {
            last.torn(self.between);
        }
        for mut table in tables {
            table.settle();
            match table.block(options) {
                Ok((block, format)) => {
                    if found.blocks.is_empty() {
                        found.format = format.into();
                    }
                    found.lost.extend(table.unit_lost());
                    found.notes.extend(table.note());
                    found.blocks.push(block);
                }
                Err(why) => {
                    skipped += 1;
                    refused.get_or_insert(why);
                }
            }
        }
        if found.blocks.is_empty() {
            return refused.map_or(Ok(None), Err);
        }
        if let Some(why) = refused {
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(skipped), format!("tables were not read: {why}")));
        }
        if self.beyond > 0 {
            let text = format!("rows of more than {MOST_TABLES} tables were left out");
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.beyond), text));
        }
        Ok(Some(found))
    }
}

/// Parses column names: words, at least one of which contains a letter, optionally in a comment.
fn header(text: &str) -> Option<Vec<String>> {
    let text = text.trim_start_matches(['#', '%', '!']).trim();
    let names: Vec<String> =
        cells(text).take(WIDEST).map(|name| name.chars().filter(|c| !c.is_control()).take(40).collect()).collect();
    let lettered = |name: &String| name.chars().any(char::is_alphabetic);
    (!names.is_empty() && names.iter().any(lettered)).then_some(names)
}
