//! The table of `perf sched latency`, with a row for each task.
//!
//! Format: `output_lat_thread` and `perf_sched__lat` of tools/perf/builtin-sched.c. Until Linux 5.10 it has `Average
//! delay ms` and one `max at:`, later `Avg delay ms`, `max start:` and `max end:`. Since 6.6 `Count` replaces
//! `Switches`. Values are in milliseconds with three decimals.

use super::extremes::{Stated, clean, ns};
use super::{Line, Taken};
use crate::block::{Block, Found, Loss, MOST_THREADS};
use crate::{Options, number};
use punctual_model::LostKind;

const MOST_TABLES: usize = 64;
/// Maximum number of tasks whose names are reported.
const MOST_NAMES: usize = 200;

#[derive(Default)]
pub(crate) struct Reader {
    tables: Vec<Table>,
    /// Number of tables beyond the maximum.
    further: u64,
    rows: usize,
    unreadable: u64,
    /// Text above the horizontal line that begins a table.
    above: Option<String>,
}

#[derive(Default)]
struct Table {
    line: u64,
    before: Option<String>,
    header: bool,
    rows: Vec<Row>,
    total: Option<(f64, u64)>,
    dropped: u64,
    lost: Vec<Loss>,
}

struct Row {
    task: String,
    runtime_ms: f64,
    count: u64,
    mean_ms: f64,
    max_ms: f64,
}

impl Reader {
    pub fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn begin(&mut self, line: &Line, header: bool) {
        if self.tables.len() >= MOST_TABLES {
            self.further = self.further.saturating_add(1);
            return;
        }
        let above = self.above.take();
        let before = if line.before.is_some_and(is_rule) { above } else { line.before.map(|b| clean(b, 200)) };
        self.tables.push(Table { line: line.number, before, header, ..Table::default() });
    }

    /// Returns the table being read.
    fn open(&mut self) -> Option<&mut Table> {
        self.tables.last_mut().filter(|t| t.total.is_none() && self.further == 0)
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if is_header(text) {
            self.begin(line, true);
            return Taken::Yes;
        }
        if text.contains("| avg:") {
            if self.open().is_none() {
                // The beginning of the table is missing.
                self.begin(line, false);
            }
            let full = self.rows >= MOST_THREADS as usize;
            let row = row(text);
            let readable = row.is_some();
            self.rows = self.rows.saturating_add(usize::from(readable && !full));
            match (self.open(), row) {
                (Some(table), Some(row)) if !full => table.rows.push(row),
                (Some(table), Some(_)) => table.dropped = table.dropped.saturating_add(1),
                _ => {}
            }
            if readable {
                return Taken::Yes;
            }
            self.unreadable = self.unreadable.saturating_add(1);
            return Taken::Unreadable;
        }
        if is_rule(text) {
            if self.open().is_some() {
                return Taken::Yes;
            }
            if !line.before.is_some_and(is_rule) {
                self.above = line.before.map(|b| clean(b, 200));
            }
            return Taken::No;
        }
        if let Some(rest) = text.strip_prefix("TOTAL:") {
            let Some(table) = self.open() else { return Taken::No };
            table.total = total(rest);
            if table.total.is_some() {
                return Taken::Yes;
            }
            self.unreadable = self.unreadable.saturating_add(1);
            return Taken::Unreadable;
        }
        match (self.tables.last_mut(), info(text)) {
            (Some(table), Some(loss)) if table.lost.len() < 8 => {
                table.lost.push(loss);
                Taken::Yes
            }
            _ => Taken::No,
        }
    }

    fn finish(self: Box<Self>, _: &Options) -> Option<Found> {
        if self.rows == 0 {
            return None;
        }
        let mut found =
            Found { tool: Some("perf sched".into()), format: "perf-sched-latency".into(), ..Found::default() };
        if self.unreadable > 0 {
            let text = "rows of perf sched latency could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.further > 0 {
            let text = format!("only the first {MOST_TABLES} tables of the text are read");
            found.lost.push(Loss::problem(LostKind::Other, Some(self.further), text));
        }
        let several = self.tables.len() > 1;
        for table in self.tables.into_iter().filter(|t| !t.rows.is_empty()) {
            found.notes.push(table.names(several));
            found.blocks.push(table.block());
        }
        Some(found)
    }
}

impl Table {
    /// Returns the names of the threads, for a note, because threads are identified by number.
    fn names(&self, several: bool) -> String {
        let names: Vec<String> =
            self.rows.iter().take(MOST_NAMES).enumerate().map(|(n, row)| format!("{n} {}", row.task)).collect();
        let more = if self.rows.len() > MOST_NAMES { ", …" } else { "" };
        let of = if several { format!("tasks of the table in line {}", self.line) } else { "tasks".into() };
        format!("{of}: {}{more}", names.join(", "))
    }

    fn block(self) -> Block {
        let mut block = Block {
            label: "scheduling delay".into(),
            line: self.line,
            before: self.before,
            lost: self.lost,
            ..Block::default()
        };
        if !self.header {
            block.lost.push(Loss::problem(LostKind::Truncated, None, "the beginning of the table is missing"));
        }
        if self.dropped > 0 {
            let text = format!("the table has more than {MOST_THREADS} tasks: the others are not read");
            block.lost.push(Loss::problem(LostKind::Other, Some(self.dropped), text));
        }
        match self.total {
            None => {
                let text = "the table has no total: its end is missing";
                block.lost.push(Loss::problem(LostKind::Truncated, None, text));
            }
            Some((runtime_ms, count)) if self.dropped == 0 => {
                let sum = self.rows.iter().try_fold(0_u64, |sum, row| sum.checked_add(row.count));
                let runtime: f64 = self.rows.iter().map(|row| row.runtime_ms).sum();
                // Each figure is rounded to a thousandth.
                let slack = 0.000_51 * (self.rows.len() as f64 + 1.0);
                if sum != Some(count) || (runtime - runtime_ms).abs() > slack {
                    let stated = sum.unwrap_or(u64::MAX);
                    let text = format!(
                        "the total is {count} in {runtime_ms:.3} ms, but the rows have {stated} in {runtime:.3} ms"
                    );
                    block.lost.push(Loss::problem(LostKind::Disagreement, None, text));
                }
            }
            Some(_) => {}
        }
        for (number, row) in self.rows.into_iter().enumerate() {
            let stated = Stated {
                count: Some(row.count),
                min_ns: None,
                max_ns: ns(row.max_ms, 1e6),
                mean_ns: Some(row.mean_ms * 1e6),
            };
            let mut thread = stated.thread(number as u32, 1_000);
            // `(5)` after a name is the number of tasks with that name.
            thread.tid = row.task.rsplit_once(':').and_then(|(_, tid)| tid.parse().ok()).filter(|&tid: &i32| tid > 0);
            block.threads.push(thread);
        }
        block
    }
}

fn is_rule(text: &str) -> bool {
    text.len() > 20 && text.bytes().all(|b| b == b'-')
}

fn is_header(text: &str) -> bool {
    let mut fields = text.split('|').map(str::trim);
    fields.next() == Some("Task")
        && fields.next() == Some("Runtime ms")
        && matches!(fields.next(), Some("Switches" | "Count"))
        && matches!(fields.next(), Some("Avg delay ms" | "Average delay ms"))
        && matches!(fields.next(), Some("Max delay ms" | "Maximum delay ms"))
}

/// Parses a row such as `name:12 |  1.250 ms |  14 | avg:  0.013 ms | max:  0.881 ms | max start:  5210.440121 s | max
/// end:  5210.441002 s`.
fn row(text: &str) -> Option<Row> {
    let mut fields = text.rsplit('|').map(str::trim).collect::<Vec<_>>().into_iter().rev();
    let many = fields.len();
    // A name may contain bars.
    let times = if text.contains("max start:") { 2 } else { 1 };
    let names = many.checked_sub(4 + times).filter(|&n| n > 0)?;
    let task = fields.by_ref().take(names).collect::<Vec<_>>().join("|");
    let ms =
        |field: Option<&str>, key: &str| number::decimal(field?.strip_prefix(key)?.trim_start().strip_suffix("ms")?);
    let runtime_ms = ms(fields.next(), "")?;
    let count = number::samples(fields.next()?)?;
    let (mean_ms, max_ms) = (ms(fields.next(), "avg:")?, ms(fields.next(), "max:")?);
    for field in fields {
        let (key, at) = field.split_once(':')?;
        let known = ["max at", "max start", "max end"].contains(&key);
        number::decimal(at.strip_suffix('s')?).filter(|_| known)?;
    }
    let (_, id) = task.rsplit_once(':')?;
    let digits = id.strip_prefix('(').and_then(|id| id.strip_suffix(')')).unwrap_or(id);
    number::whole(digits)?;
    Some(Row { task: clean(&task, 80), runtime_ms, count, mean_ms, max_ms })
}

fn total(rest: &str) -> Option<(f64, u64)> {
    let mut fields = rest.split('|').map(str::trim).skip(1);
    let runtime = number::decimal(fields.next()?.strip_suffix("ms")?)?;
    let count = number::samples(fields.next()?)?;
    // Without the bar after it, the number may be truncated.
    fields.next().map(|_| (runtime, count))
}

/// Parses a line such as `INFO: 0.120% lost events (5 out of 4166, in 1 chunks)`.
fn info(text: &str) -> Option<Loss> {
    let (_, rest) = text.strip_prefix("INFO: ")?.split_once("% ")?;
    let (what, rest) = rest.split_once(" (")?;
    let count = number::whole(rest.split_once(" out of ")?.0)?;
    match what {
        "lost events" => {
            Some(Loss::problem(LostKind::Gap, Some(count), "perf lost events: delays may be missing or wrong"))
        }
        "unordered timestamps" | "context switch bugs" | "state machine bugs" => {
            Some(Loss::reported(LostKind::Other, Some(count), format!("perf counts {what}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;

    const NEW: &str = include_str!("../../tests/fixtures/tools/perf-sched-latency.txt");
    const OLD: &str = include_str!("../../tests/fixtures/tools/perf-sched-latency-old.txt");

    fn found(text: &str) -> Found {
        alone(Box::new(Reader::new(&Options::default())), text).unwrap()
    }

    fn problems(found: &Found) -> Vec<&str> {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        let all = threads.chain(found.blocks.iter().flat_map(|b| &b.lost)).chain(&found.lost);
        all.filter(|l| l.problem).map(|l| l.text.as_str()).collect()
    }

    #[test]
    fn tables_old_and_new() {
        let all = found(NEW);
        let [block] = all.blocks.as_slice() else { panic!() };
        assert_eq!((block.label.as_str(), block.threads.len()), ("scheduling delay", 4));
        let motor = &block.threads[0];
        assert_eq!((motor.count, motor.min_ns, motor.max_ns), (Some(2_418), None, Some(881_000)));
        assert_eq!((motor.mean_ns.map(|ns| ns.round() as u64), motor.tid), (Some(13_000), Some(4_120)));
        assert_eq!((block.threads[1].tid, block.threads[1].max_ns), (None, Some(58_337_000)));
        assert!(all.notes[0].contains("1 CPU 2/KVM:(3)"), "{:?}", all.notes);
        assert!(problems(&all).is_empty(), "{all:?}");

        let old = found(OLD);
        assert_eq!(old.blocks[0].threads[0].max_ns, Some(10_234_000));
        assert_eq!(problems(&old), ["perf lost events: delays may be missing or wrong"]);
        let two = found(&format!("{NEW}\nafter tuning\n{OLD}"));
        let before: Vec<_> = two.blocks.iter().map(|b| b.before.as_deref()).collect();
        assert_eq!(before, [Some("root@bench:~# perf sched latency -s max"), Some("after tuning")]);
    }

    #[test]
    fn lost_doubled_and_cut_rows_are_problems() {
        let lines: Vec<&str> = NEW.lines().collect();
        for at in 2..8 {
            let rule = lines[at].trim().starts_with("---");
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(rule || !problems(&found(&fewer.join("\n"))).is_empty(), "without line {at}");
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            let more = found(&more.join("\n"));
            let head = is_header(lines[at].trim());
            assert!(rule || head || !problems(&more).is_empty(), "line {at} twice");
        }
        let end = NEW.rfind(" |").unwrap();
        for cut in NEW.find("motor").unwrap() + 60..end {
            if let Some(found) = alone(Box::new(Reader::default()), &NEW[..cut]) {
                assert!(!problems(&found).is_empty(), "{}", &NEW[..cut]);
            }
        }
    }

    #[test]
    fn other_text_is_not_taken() {
        let text = "Task | Runtime\n| a | b |\nTOTAL: 3\n-----------------------------------\nINFO: 1% x (2 out of 3)\n\
                    CPU COUNT | avg: 3\n";
        assert!(alone(Box::new(Reader::default()), text).is_none());
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..1400, n in 0_usize..60, with in "[0-9|:.ms -]{0,9}") {
            let at = at.min(NEW.len());
            let end = (at + n).min(NEW.len());
            let text = format!("{}{with}{}", &NEW[..at], &NEW[end..]);
            alone(Box::new(Reader::default()), &text);
        }
    }
}
