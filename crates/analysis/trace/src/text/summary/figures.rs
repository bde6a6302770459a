//! The figures of tables and lists of latencies that no reader knows.
//!
//! Only what the text states is returned: the largest value, the row it is in, and its unit if the text has one.

use crate::text::scan::text;
use std::collections::BTreeMap;

/// Names of times that a thread or a request waits.
const LATENCIES: [&str; 13] = [
    "lat",
    "latency",
    "latencies",
    "wait",
    "waits",
    "waited",
    "await",
    "hold",
    "held",
    "delay",
    "delays",
    "jitter",
    "overrun",
];
const MAXIMA: [&str; 3] = ["max", "maximum", "worst"];
const OTHERS: [&str; 11] =
    ["min", "minimum", "avg", "average", "mean", "median", "stddev", "count", "total", "samples", "sum"];
const UNITS: [&str; 20] = [
    "ns",
    "nsec",
    "nsecs",
    "nanoseconds",
    "us",
    "usec",
    "usecs",
    "µs",
    "μs",
    "microseconds",
    "ms",
    "msec",
    "msecs",
    "milliseconds",
    "s",
    "sec",
    "secs",
    "seconds",
    "jiffies",
    "cycles",
];
const MOST: usize = 3;

/// Describes the largest values of the tables and lists in a text; `None` if there are none, and for source code and
/// logs.
pub(super) fn figures(head: &str) -> Option<String> {
    (!is_source(head) && !is_log(head)).then_some(())?;
    let mut found = tables(head);
    if found.is_empty() {
        found = lists(head);
    }
    if found.is_empty() {
        found = single(head).into_iter().collect();
    }
    (!found.is_empty()).then(|| {
        let more = found.len().saturating_sub(MOST);
        found.truncate(MOST);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{more}", found.join("; "))
    })
}

/// The words of a name: `Max_Wait(us)` has `max`, `wait` and `us`.
fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    name.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn has(name: &str, list: &[&str]) -> bool {
    words(name).any(|word| list.contains(&word.as_str()))
}

/// The percentile in `p99.9`, `99%`, `99th`, `99.99 th %ile`.
fn percentile(name: &str) -> Option<f64> {
    let number = |word: &str| word.parse::<f64>().ok();
    let found = words(name).find_map(|word| match word.strip_prefix('p').or_else(|| word.strip_suffix("th")) {
        Some(at) => number(at),
        None => number(&word).filter(|_| name.contains('%')),
    });
    found.filter(|at| (0.0..=100.0).contains(at))
}

/// How much a column or key of that name is what is looked for: maxima first, then high percentiles, waits, means.
fn rank(name: &str) -> Option<u32> {
    let is_latency = has(name, &LATENCIES);
    match () {
        () if has(name, &MAXIMA) && is_latency => Some(6),
        () if has(name, &MAXIMA) => Some(5),
        () if percentile(name).is_some_and(|at| at > 50.0) => Some(4),
        () if has(name, &OTHERS) && has(name, &["avg", "average", "mean"]) => Some(1),
        () if is_latency && !has(name, &OTHERS) => Some(3),
        () if is_latency && !has(name, &["count", "samples"]) => Some(2),
        () => None,
    }
}

/// True if columns or keys of these names can be those of latencies.
fn is_of_latencies<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    let ranked = names.clone().filter(|name| rank(name).is_some()).count();
    let is_statistic = |name: &&str| rank(name).is_some() || percentile(name).is_some() || has(name, &OTHERS);
    let statistics = names.clone().filter(is_statistic).count();
    ranked > 0 && (statistics >= 2 || names.clone().any(|name| has(name, &LATENCIES)))
}

/// A value and the unit behind it: `5.315us`, `12`.
fn value(word: &str) -> Option<(f64, Option<&str>)> {
    let word = word.trim_matches(|c: char| matches!(c, ',' | ';' | '"' | ')' | ']' | '(' | '[' | '}' | '{'));
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at_checked(end)?;
    number.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    let value = number.trim_end_matches('.').parse().ok()?;
    match unit {
        "" => Some((value, None)),
        unit => UNITS.iter().find(|known| **known == unit).map(|unit| (value, Some(*unit))),
    }
}

/// The unit in a name: `Max (us)`, `runq_latency_ns`, `avg[ms]`.
fn unit_of(name: &str) -> Option<&'static str> {
    let last = words(name).last()?;
    UNITS.iter().find(|unit| **unit == last && name.len() > unit.len()).copied()
}

/// A value in seconds; `None` without a unit of time.
fn seconds(value: f64, unit: &str) -> Option<f64> {
    let scale = match unit.chars().next()? {
        'n' => 1e-9,
        'u' | 'µ' | 'μ' => 1e-6,
        _ if unit.starts_with("mic") => 1e-6,
        'm' => 1e-3,
        's' => 1.0,
        _ => return None,
    };
    Some(value * scale)
}

/// Returns the row with the largest value. `None` if the values do not compare: in several units that are not all times, or
/// some without a unit.
fn largest<R>(rows: Vec<(f64, Option<String>, R)>) -> Option<(f64, Option<String>, R)> {
    let (_, unit, _) = rows.first()?;
    let is_one = rows.iter().all(|(_, other, _)| other == unit);
    let comparable = |(value, unit, row): (f64, Option<String>, R)| {
        let size = if is_one { value } else { seconds(value, unit.as_deref()?)? };
        Some((size, (value, unit, row)))
    };
    let rows: Vec<_> = rows.into_iter().map(comparable).collect::<Option<_>>()?;
    rows.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, row)| row)
}

fn with_unit(value: f64, unit: Option<&str>) -> String {
    unit.map_or_else(|| format!("{value} (unit not stated)"), |unit| format!("{value} {unit}"))
}

/// Splits a row at bars and tabs, or at two spaces and more.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_matches('|');
    let parts = line.split(['|', '\t']).flat_map(|part| part.split("  "));
    parts.map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn split(line: &str, at_gaps: bool) -> Vec<&str> {
    if at_gaps { cells(line) } else { line.split_whitespace().collect() }
}

/// Describes the largest value of each table with a heading.
fn tables(head: &str) -> Vec<String> {
    let lines: Vec<&str> = head.lines().collect();
    let of = |n: usize, at_gaps: bool| {
        let names = split(lines.get(n)?, at_gaps);
        let is_heading = names.len() >= 2 && names.iter().all(|name| value(name).is_none());
        (is_heading && is_of_latencies(names.iter().copied())).then_some(())?;
        let (at, name) = names
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|(_, name)| (rank(name), percentile(name).map_or(0, |at| (at * 1e3) as u64)))?;
        rank(name)?;
        let is_rule = |line: &&&str| line.chars().all(|c| !c.is_alphanumeric());
        // The first row directly follows the heading.
        let first = lines.iter().skip(n + 1).find(|line| !is_rule(line))?;
        let row = |line: &str| {
            let cells = split(line, at_gaps);
            let numbers = cells.iter().filter(|cell| value(cell).is_some()).count();
            let found = value(cells.get(at)?).filter(|_| cells.len() == names.len() && numbers >= 2)?;
            let unit = found.1.or_else(|| unit_of(name)).map(str::to_owned);
            Some((found.0, unit, cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()))
        };
        row(first)?;
        let is_other = |line: &&&str| is_of_latencies(split(line, at_gaps).into_iter()) && row(line).is_none();
        let rows = lines.iter().skip(n + 1).take_while(|line| !is_other(line)).filter_map(|line| row(line));
        let (worst, unit, cells) = largest(rows.collect())?;
        let rest = names.iter().zip(&cells).enumerate().filter(|(of, _)| *of != at);
        let rest: Vec<String> = rest.map(|(_, (name, cell))| format!("{name} {cell}")).collect();
        let name = text(name.as_bytes(), 40);
        let rest = text(rest.join(", ").as_bytes(), 160);
        Some(format!(
            "a table whose largest \"{name}\" in the rows shown is {}: {rest}",
            with_unit(worst, unit.as_deref())
        ))
    };
    (0..lines.len()).filter_map(|n| of(n, true).or_else(|| of(n, false))).collect()
}

/// A named value in a line.
struct Pair<'a> {
    name: String,
    value: f64,
    unit: Option<&'a str>,
}

/// Returns the values in a line with the words before them: `wait time 12.5us ::: enter count 7`. A comma within digits may
/// group them or be decimal, so these are no values.
fn pairs(line: &str) -> Vec<Pair<'_>> {
    line.split(", ").flat_map(|part| part.split(",\"")).flat_map(pairs_of).collect()
}

fn pairs_of(part: &str) -> Vec<Pair<'_>> {
    /// Number of words of a name.
    const NAME: usize = 5;
    let words = part.split(|c: char| c.is_whitespace() || matches!(c, '=' | '>'));
    // `key: 5` and `key:5`, but not `a::b`.
    let words = words.flat_map(|word| {
        let both = word.split_once(':').filter(|(_, after)| value(after).is_some());
        let (first, second) = both.map_or((word, ""), |(before, after)| (before, after));
        [first, second]
    });
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    for (n, word) in words.iter().enumerate() {
        let Some((value, unit)) = value(word) else {
            let is_address = word.starts_with("0x") || !word.contains(|c: char| c.is_alphabetic());
            if is_address || word.starts_with('[') {
                before.clear();
            } else {
                before.push(word);
            }
            continue;
        };
        let next = words.get(n + 1).map(|next| next.trim_matches(|c: char| !c.is_alphanumeric()));
        let unit = unit.or_else(|| next.filter(|next| UNITS.contains(next)));
        let name = before.get(before.len().saturating_sub(NAME)..).unwrap_or_default().join(" ");
        let name = name.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
        let name = name.trim_end_matches(" is").trim_start_matches("th ");
        found.push(Pair { name: name.to_owned(), value, unit: unit.or_else(|| unit_of(name)) });
        before.clear();
    }
    found
}

/// Lines with a value of the same name.
struct Kind<'a> {
    /// Number of the first line.
    first: usize,
    /// Value, unit and line.
    rows: Vec<(f64, Option<&'a str>, &'a str)>,
    /// True if the names in the lines are those of latencies.
    named: bool,
}

/// Describes the largest value of lines that repeat the same names.
fn lists(head: &str) -> Vec<String> {
    const ALIKE: usize = 2;
    /// Minimum number of lines whose names are not those of latencies, but whose values have a unit of time.
    const TIMES: usize = 3;
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let lines = head.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    for (n, line) in lines.iter().enumerate() {
        let all = pairs(line);
        let named = is_of_latencies(all.iter().map(|pair| pair.name.as_str()));
        let chosen = match named {
            true => all.iter().rev().max_by_key(|pair| rank(&pair.name)),
            // Only the first value of a line, behind the words with which all such lines begin.
            false => all.first().filter(|pair| pair.unit.is_some() && unit_of(&pair.name).is_none()),
        };
        let Some(pair) = chosen.filter(|pair| !pair.name.is_empty()) else { continue };
        let kind = kinds.entry(pair.name.clone()).or_insert(Kind { first: n, rows: Vec::new(), named });
        kind.rows.push((pair.value, pair.unit, line));
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, kind)| kind.first);
    let said = kinds.into_iter().filter_map(|(name, Kind { rows, named, .. })| {
        let is_list = if named { rows.len() >= ALIKE } else { rows.len() >= TIMES && rows.len() * 2 > lines.len() };
        let begin =
            |line: &str| line.find(|c: char| c.is_ascii_digit()).and_then(|at| line.get(..at)).map(str::to_owned);
        let first = begin(rows.first()?.2);
        (is_list && (named || rows.iter().all(|(.., line)| begin(line) == first))).then_some(())?;
        let count = rows.len();
        let rows = rows.into_iter().map(|(value, unit, line)| (value, unit.map(str::to_owned), line));
        let (worst, unit, line) = largest(rows.collect())?;
        let line = text(line.as_bytes(), 160);
        let name = text(name.as_bytes(), 60);
        let worst = with_unit(worst, unit.as_deref());
        Some(format!("{count} lines with \"{name}\", whose largest value shown is {worst} in \"{line}\""))
    });
    said.collect()
}

/// Describes lines that consist of a name and its value: `max latency: 49 us`.
fn single(head: &str) -> Option<String> {
    const FEWEST: usize = 2;
    let row = |line: &str| {
        let (name, rest) = line.trim().split_once([':', '='])?;
        let mut words = rest.split_whitespace();
        let (number, unit) = value(words.next()?)?;
        let next = words.next();
        let unit = unit.or(next.filter(|next| UNITS.contains(next))).or_else(|| unit_of(name));
        let is_whole = words.next().is_none() && next.is_none_or(|next| UNITS.contains(&next));
        is_whole.then(|| (name.trim().trim_matches('"').to_owned(), number, unit.map(str::to_owned)))
    };
    let rows: Vec<_> = head.lines().filter_map(row).collect();
    let has_time = rows.iter().any(|(name, _, unit)| unit.is_some() || has(name, &LATENCIES));
    let of_latencies = rows.len() >= FEWEST && has_time && is_of_latencies(rows.iter().map(|(name, ..)| name.as_str()));
    // Settings have names of latencies as well: `kernel.sched_latency_ns = 24000000`.
    let is_statistic = |name: &str| has(name, &MAXIMA) || has(name, &OTHERS) || percentile(name).is_some();
    let is_measured = of_latencies && rows.iter().any(|(name, ..)| is_statistic(name));
    let highest = rows.iter().filter_map(|(name, ..)| rank(name)).max().filter(|_| is_measured)?;
    let rows = rows.iter().filter(|(name, ..)| rank(name) == Some(highest));
    let (worst, unit, name) = largest(rows.map(|(name, value, unit)| (*value, unit.clone(), name)).collect())?;
    let name = text(name.as_bytes(), 60);
    Some(format!("a list in which \"{name}\" is {}", with_unit(worst, unit.as_deref())))
}

/// True if at least a tenth of the lines are those of a program.
fn is_source(head: &str) -> bool {
    const STARTS: [&str; 9] = ["#include", "#define", "//", "/*", "import ", "def ", "return ", "fn ", "use "];
    const BLOCKS: [&str; 8] = ["if ", "elif ", "else", "for ", "while ", "try", "except", "class "];
    let lines = head.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_code = |line: &str| {
        line.ends_with([';', '{'])
            || line.ends_with('}') && (!line.contains('{') || line.contains(';'))
            || line.ends_with("},")
            || STARTS.iter().any(|start| line.starts_with(start))
            || line.ends_with(':') && BLOCKS.iter().any(|start| line.starts_with(start))
    };
    lines.clone().filter(|line| is_code(line)).count() * 10 >= lines.count().max(1)
}

/// True if at least half of the lines begin with the time stamp of a log, `[    1.234567] `.
fn is_log(head: &str) -> bool {
    let lines = head.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_stamped = |line: &str| {
        let stamp = line.strip_prefix('[').and_then(|rest| rest.split(']').next());
        stamp.is_some_and(|stamp| stamp.contains('.') && stamp.trim().parse::<f64>().is_ok())
    };
    lines.clone().filter(|line| is_stamped(line)).count() * 2 >= lines.count().max(1)
}

#[cfg(test)]
mod tests;
