//! Text of signaltest of rt-tests: a row for each thread, redrawn in place. In a log the last row of a run is used.
//!
//! ```text
//! T: 0 ( 1234) P:80 C:   1521 Min:     12 Act:   20 Avg:   23 Max:     741
//! ```
//!
//! Format: `print_stat` of signaltest.c, which is the same in rt-tests 0.70 to 2.10. Rows of cyclictest have `I:`
//! before `C:`, and rows of cyclicdeadline have no `P:`. Values are in microseconds.

use super::extremes::{Stated, clean};
use super::rttests_json::{OF_ROUNDS, fifo};
use super::scan::Scan;
use super::{Line, Taken};
use crate::block::{Block, Found, Loss, MOST_THREADS, Thread};
use crate::{Options, cmdline, number};
use punctual_model::LostKind;
use std::collections::BTreeMap;

const MOST_RUNS: usize = 64;

#[derive(Default)]
pub(crate) struct Reader {
    runs: Vec<Run>,
    /// Number of runs beyond the maximum.
    further: u64,
    command: Vec<String>,
    unreadable: u64,
    /// Text above the load average that begins a screen.
    above: Option<String>,
}

#[derive(Default)]
struct Run {
    line: u64,
    before: Option<String>,
    /// Text that preceded the last row read.
    after: Option<String>,
    command: Vec<String>,
    rows: BTreeMap<u32, Row>,
    /// Number of rows of a screen, after it is complete.
    size: Option<u32>,
    next: u32,
    /// Number of rows that are out of order, duplicated or missing, and of values that decreased.
    broken: u64,
}

#[derive(Clone, Copy, Default)]
struct Row {
    tid: i64,
    priority: u64,
    cycles: u64,
    min: u64,
    now: u64,
    mean: u64,
    max: u64,
}

impl Reader {
    pub fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn take(&mut self, line: &Line, number: u32, row: Row) {
        let before = self.runs.last().and_then(|run| run.rows.get(&number));
        let named = number == 0 && self.runs.last().is_some_and(|run| run.after != line.before.map(str::to_owned));
        let back = |b: &Row| b.max > row.max || (b.min < row.min && b.cycles > 0);
        let fresh = before.is_some_and(|b| b.tid != row.tid || b.cycles > row.cycles || (named && back(b)));
        if fresh || self.runs.is_empty() {
            if self.runs.len() >= MOST_RUNS {
                self.further = self.further.saturating_add(1);
                return;
            }
            self.runs.push(Run {
                line: line.number,
                before: if line.before.is_some_and(is_load) {
                    self.above.take()
                } else {
                    line.before.map(|b| clean(b, 200))
                },
                command: std::mem::take(&mut self.command),
                ..Run::default()
            });
        }
        if let Some(run) = self.runs.last_mut().filter(|_| self.further == 0) {
            run.after = line.before.map(str::to_owned);
            run.row(number, row);
        }
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim_start();
        if is_load(text.trim_end()) {
            if !self.runs.is_empty() {
                return Taken::Yes;
            }
            if !line.before.is_some_and(is_load) {
                self.above = line.before.map(|b| clean(b, 200));
            }
            return Taken::No;
        }
        if !text.starts_with("T:") {
            if let Some(words) = cmdline::in_prompt(text, "signaltest") {
                self.command = words;
            }
            return Taken::No;
        }
        let mut scan = Scan(text);
        if begin(&mut scan).is_none() {
            return Taken::No;
        }
        // A line may contain several rows.
        let mut scan = Scan(text);
        let mut rows = Vec::new();
        let whole = loop {
            match row(&mut scan) {
                Some(one) => rows.push(one),
                None => break false,
            }
            if scan.end().is_some() {
                break true;
            }
        };
        for (number, row) in rows {
            self.take(line, number, row);
        }
        if whole {
            return Taken::Yes;
        }
        self.unreadable = self.unreadable.saturating_add(1);
        Taken::Unreadable
    }

    fn finish(self: Box<Self>, _: &Options) -> Option<Found> {
        if self.runs.is_empty() {
            return None;
        }
        let mut found = Found { tool: Some("signaltest".into()), format: "signaltest-text".into(), ..Found::default() };
        if let [only] = self.runs.as_slice() {
            found.command.clone_from(&only.command);
        }
        if self.unreadable > 0 {
            let text = "rows of signaltest could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.further > 0 {
            let text = format!("only the first {MOST_RUNS} runs of the text are read");
            found.lost.push(Loss::problem(LostKind::Other, Some(self.further), text));
        }
        found.blocks = self.runs.into_iter().map(Run::block).collect();
        Some(found)
    }
}

impl Run {
    fn broke(&mut self, broken: bool) {
        self.broken = self.broken.saturating_add(u64::from(broken));
    }

    /// Adds a row. Rows repeat in the order of their threads.
    fn row(&mut self, number: u32, mut row: Row) {
        if number == 0 && self.next > 0 {
            let size = *self.size.get_or_insert(self.next);
            self.broke(self.next != size);
        } else {
            self.broke(number != self.next || self.size.is_some_and(|size| number >= size));
        }
        self.next = number.saturating_add(1);
        let old = self.rows.get(&number).filter(|old| old.cycles > 0).copied();
        if let Some(old) = old {
            self.broke(old.min < row.min || old.max > row.max);
            (row.min, row.max) = (row.min.min(old.min), row.max.max(old.max));
        }
        self.rows.insert(number, row);
    }

    fn block(self) -> Block {
        let (line, before) = (self.line, self.before);
        let mut block = Block { label: "signal round trip".into(), line, before, ..Block::default() };
        block.lost.push(Loss::reported(LostKind::Other, None, OF_ROUNDS));
        if self.broken > 0 {
            let text = "rows are duplicated, missing or out of order, or values decreased";
            block.lost.push(Loss::problem(LostKind::Disagreement, Some(self.broken), text));
        }
        if self.next as usize != self.rows.len() {
            block.lost.push(Loss::problem(LostKind::Truncated, None, "the last values of the run are truncated"));
        }
        block.threads = self.rows.into_iter().map(|(number, row)| row.thread(number)).collect();
        block
    }
}

impl Row {
    fn thread(self, number: u32) -> Thread {
        let us = |us: u64| number::scaled(us, 1_000);
        let stated = Stated {
            count: Some(self.cycles),
            min_ns: us(self.min),
            max_ns: us(self.max),
            mean_ns: us(self.mean).map(|ns| ns as f64),
        };
        let mut thread = stated.thread(number, 1_000);
        thread.tid = i32::try_from(self.tid).ok().filter(|&tid| tid > 0);
        thread.got = fifo(self.priority);
        if self.cycles > 0 && self.now > self.max {
            let text = "a latency is larger than the stated maximum";
            thread.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        thread
    }
}

/// Returns true for a load average such as `0.31 0.12 0.04 2/118 2312` of /proc/loadavg.
fn is_load(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().take(6).collect();
    let [a, b, c, tasks, last] = words.as_slice() else { return false };
    let load = |text: &str| text.contains('.') && number::decimal(text).is_some();
    let whole = |text: &str| number::whole(text).is_some();
    load(a) && load(b) && load(c) && whole(last) && tasks.split_once('/').is_some_and(|(a, b)| whole(a) && whole(b))
}

/// Parses the beginning of a row such as `T: 0 ( 1234) P:80 C:`.
fn begin(scan: &mut Scan) -> Option<(u32, Row)> {
    scan.skip("T:")?;
    let number = u32::try_from(scan.whole()?).ok().filter(|&n| n < MOST_THREADS)?;
    scan.skip("(")?;
    let tid = scan.int()?;
    scan.skip(")")?;
    scan.skip("P:")?;
    let priority = scan.whole()?;
    scan.skip("C:")?;
    Some((number, Row { tid, priority, ..Row::default() }))
}

fn row(scan: &mut Scan) -> Option<(u32, Row)> {
    let (number, mut row) = begin(scan)?;
    row.cycles = scan.whole().filter(|&n| n <= number::MOST_SAMPLES)?;
    let mut padded = true;
    for (key, width, value) in
        [("Min:", 7, &mut row.min), ("Act:", 5, &mut row.now), ("Avg:", 5, &mut row.mean), ("Max:", 8, &mut row.max)]
    {
        scan.skip(key)?;
        let before = scan.0.len();
        *value = scan.whole().filter(|&us| number::scaled(us, 1_000).is_some())?;
        let narrow = before.saturating_sub(scan.0.len()) < width;
        // If the other figures have their full width, a narrower maximum is truncated.
        if key == "Max:" && padded && narrow {
            return None;
        }
        padded &= !narrow;
    }
    Some((number, row))
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = include_str!("../../tests/fixtures/tools/signaltest.txt");

    fn found(text: &str) -> Found {
        alone(Box::new(Reader::new(&Options::default())), text).unwrap()
    }

    fn problems(found: &Found) -> usize {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        threads.chain(found.blocks.iter().flat_map(|b| &b.lost)).chain(&found.lost).filter(|l| l.problem).count()
    }

    #[test]
    fn the_last_row_of_each_thread_counts() {
        let found = found(LOG);
        let [block] = found.blocks.as_slice() else { panic!() };
        assert_eq!((block.label.as_str(), block.line), ("signal round trip", 4));
        assert_eq!(block.before.as_deref(), Some("$ signaltest -t 2 -p 75 -D 20"));
        let [a, b] = block.threads.as_slice() else { panic!() };
        assert_eq!((a.count, a.min_ns, a.max_ns, a.tid), (Some(1_744), Some(11_000), Some(702_000), Some(2_311)));
        assert_eq!((b.count, b.min_ns, b.max_ns, b.got), (Some(1_743), Some(12_000), Some(10_733_000), fifo(75)));
        assert_eq!(found.command.first().map(String::as_str), Some("signaltest"));
        assert_eq!(problems(&found), 0, "{found:?}");
    }

    #[test]
    fn a_new_run_is_a_block() {
        let row = |tid: u32, cycles: u32, max: u32| {
            format!("T: 0 ({tid:5}) P:80 C:{cycles:7} Min:     12 Act:   20 Avg:   23 Max:{max:8}\n")
        };
        let text = format!("idle\n{}{}loaded\n{}", row(50, 9, 30), row(50, 70, 39_242), row(61, 60, 25));
        let all = found(&text);
        let maxima: Vec<_> = all.blocks.iter().map(|b| (b.threads[0].max_ns, b.before.as_deref())).collect();
        assert_eq!(maxima, [(Some(39_242_000), Some("idle")), (Some(25_000), Some("loaded"))]);
        assert_eq!(problems(&all), 0, "{all:?}");
        assert_eq!(found(&format!("{}{}", row(50, 70, 39_242), row(50, 60, 25))).blocks.len(), 2);
        let back = found(&format!("{}{}", row(50, 70, 39_242), row(50, 71, 25)));
        assert_eq!((back.blocks[0].threads[0].max_ns, problems(&back)), (Some(39_242_000), 1));
    }

    #[test]
    fn rows_side_by_side_are_all_read() {
        let text = LOG.lines().skip(5).collect::<Vec<_>>().join(" ");
        let found = found(&text);
        assert_eq!(found.blocks[0].threads.len(), 2);
        assert_eq!(problems(&found), 0, "{found:?}");
    }

    #[test]
    fn lost_doubled_and_cut_rows_are_problems() {
        let lines: Vec<&str> = LOG.lines().collect();
        // If the last row of the first thread is missing, the row of the second thread appears twice in succession.
        for at in 3..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(problems(&found(&fewer.join("\n"))) > 0, "without row {at}");
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(problems(&found(&more.join("\n"))) > 0, "row {at} twice");
        }
        let end = LOG.trim_end();
        let last = end.rfind("T:").unwrap();
        for cut in last..end.len() {
            assert!(problems(&found(&LOG[..cut])) > 0, "{}", &LOG[..cut]);
        }
    }

    #[test]
    fn rows_of_other_tools_are_not_taken() {
        let text = "T: 0 ( 1234) P:80 I:1000 C:   1521 Min:     12 Act:   20 Avg:   23 Max:     741\n\
                    T: 0 ( 1234) I:1000 C:   1521 Min:     12 Act:   20 Avg:   23 Max:     741\n\
                    T: 0 (  614) A: 0 C:      1000 Min:         5 Avg:   11.15 Max:        22\n\
                    T: 0 Spike:      32: TS:   1249672310\nT: the time\nT: 0 ( 1234) P:80";
        assert!(alone(Box::new(Reader::default()), text).is_none());
        let mut reader = Reader::default();
        for line in text.lines() {
            let taken = super::super::Reader::line(&mut reader, &Line { text: line, number: 1, before: None });
            assert_eq!(taken, Taken::No, "{line}");
        }
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..500, n in 0_usize..60, with in "[0-9TC():P -]{0,9}") {
            let at = at.min(LOG.len());
            let end = (at + n).min(LOG.len());
            let text = format!("{}{with}{}", &LOG[..at], &LOG[end..]);
            alone(Box::new(Reader::default()), &text);
        }
    }
}
