//! Text of pmqtest, ptsematest, svsematest and sigwaittest of rt-tests: a line for each pair of threads, followed by a
//! line with the measurement of each pair's receiver, redrawn in place. In a log the last screen of a run is used.
//!
//! ```text
//! #0: ID1234, P80, CPU0, I1000; #1: ID1235, P80, CPU0, TO 0, Cycles 964
//! #1 -> #0, Min    3, Cur    5, Avg    6, Max   67
//! ```
//!
//! Format: `main` or `print_stat` of each program, rt-tests 0.70 to 2.10. Only pmqtest has `TO`. Values are in
//! microseconds.

use super::extremes::Stated;
use super::rttests_json::{OF_SECONDS, OF_SENDER, fifo, pair_label};
use super::scan::Scan;
use super::{Line, Taken};
use crate::block::{Block, Found, Loss, MOST_THREADS, Thread};
use crate::{Options, cmdline, number};
use punctual_model::LostKind;
use std::collections::BTreeMap;

const MOST_RUNS: usize = 64;
const PROGRAMS: [&str; 4] = ["pmqtest", "ptsematest", "svsematest", "sigwaittest"];

#[derive(Default)]
pub(crate) struct Reader {
    runs: Vec<Run>,
    /// Number of runs beyond the maximum.
    further: u64,
    /// Program of the next run.
    program: Option<&'static str>,
    command: Vec<String>,
    unreadable: u64,
}

#[derive(Default)]
struct Run {
    line: u64,
    before: Option<String>,
    program: Option<&'static str>,
    command: Vec<String>,
    rows: BTreeMap<u32, Row>,
    /// Number of pairs on a screen.
    size: Option<u32>,
    measured: bool,
    next: u32,
    /// Number of lines that are out of order, duplicated or missing, and of values that decreased.
    broken: u64,
    timeouts: bool,
}

#[derive(Default)]
struct Row {
    pair: Option<Pair>,
    measured: Option<Measured>,
}

#[derive(Clone, Copy)]
struct Pair {
    ids: [i64; 2],
    priority: u64,
    cpu: i64,
    cycles: u64,
    timeouts: Option<u64>,
}

#[derive(Clone, Copy)]
struct Measured {
    min: u64,
    now: u64,
    mean: u64,
    max: u64,
}

impl Reader {
    pub fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn run(&mut self, line: &Line, fresh: bool) -> Option<&mut Run> {
        if fresh || self.runs.is_empty() {
            let stated = PROGRAMS.iter().find(|p| line.before.is_some_and(|b| b.contains(**p))).copied();
            let run = Run {
                line: line.number,
                before: line.before.map(str::to_owned),
                program: self.program.take().or(stated),
                command: std::mem::take(&mut self.command),
                ..Run::default()
            };
            if self.runs.len() < MOST_RUNS {
                self.runs.push(run);
            } else {
                self.further = self.further.saturating_add(1);
            }
        }
        if self.further > 0 { None } else { self.runs.last_mut() }
    }

    fn unread(&mut self) -> Taken {
        self.unreadable = self.unreadable.saturating_add(1);
        Taken::Unreadable
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim_start();
        if !text.starts_with('#') {
            for program in PROGRAMS {
                if let Some(words) = cmdline::in_prompt(text, program) {
                    (self.program, self.command) = (Some(program), words);
                }
            }
            return Taken::No;
        }
        if looks_like_pair(text) {
            let Some((number, pair)) = pair(text) else { return self.unread() };
            let before = self.runs.last().and_then(|run| run.rows.get(&number)).and_then(|row| row.pair);
            // Text between two screens, or the same count again after other figures, indicates another run.
            let named = self.runs.last().is_some_and(|run| run.before.as_deref() != line.before);
            let fresh = before.is_some_and(|b| b.ids != pair.ids || b.cycles > pair.cycles || named);
            if let Some(run) = self.run(line, fresh) {
                run.pair(number, pair);
            }
            return Taken::Yes;
        }
        let Some(number) = receiver(text) else { return Taken::No };
        if text.ends_with("(not yet ready)") {
            if let Some(run) = self.run(line, false) {
                run.step(number);
            }
            return Taken::Yes;
        }
        if !text.contains(", Min") && self.runs.is_empty() {
            return Taken::No;
        }
        let Some(measured) = measured(text) else { return self.unread() };
        if let Some(run) = self.run(line, false) {
            run.measured(number, measured);
        }
        Taken::Yes
    }

    fn finish(self: Box<Self>, _: &Options) -> Option<Found> {
        if self.runs.iter().all(|run| run.rows.is_empty()) {
            return None;
        }
        let mut found = Found::default();
        let programs: Vec<Option<&str>> = self.runs.iter().map(Run::program).collect();
        let tool = match programs.first().copied().flatten() {
            Some(first) if programs.iter().all(|p| *p == Some(first)) => first,
            _ => "rt-tests",
        };
        (found.tool, found.format) = (Some(tool.into()), format!("{tool}-text"));
        if let [only] = self.runs.as_slice() {
            found.command.clone_from(&only.command);
        }
        if self.unreadable > 0 {
            let text = format!("lines of {tool} could not be read");
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.further > 0 {
            let text = format!("only the first {MOST_RUNS} runs of the text are read");
            found.lost.push(Loss::problem(LostKind::Other, Some(self.further), text));
        }
        found.blocks = self.runs.into_iter().filter(|run| !run.rows.is_empty()).map(Run::block).collect();
        Some(found)
    }
}

impl Run {
    fn program(&self) -> Option<&'static str> {
        self.program.or_else(|| self.timeouts.then_some("pmqtest"))
    }

    fn broke(&mut self, broken: bool) {
        self.broken = self.broken.saturating_add(u64::from(broken));
    }

    /// Reads the line of a pair. A screen lists all pairs in order, followed by all of their receivers.
    fn pair(&mut self, number: u32, pair: Pair) {
        if self.measured {
            self.broke(self.size != Some(self.next));
            (self.measured, self.next) = (false, 0);
        }
        self.broke(number != self.next);
        self.next = number.saturating_add(1);
        self.timeouts |= pair.timeouts.is_some();
        self.rows.entry(number).or_default().pair = Some(pair);
    }

    fn step(&mut self, number: u32) {
        if !self.measured {
            self.broke(self.size.is_some_and(|size| size != self.next));
            (self.size, self.measured, self.next) = (self.size.or(Some(self.next)), true, 0);
        }
        self.broke(number != self.next);
        self.next = number.saturating_add(1);
    }

    fn measured(&mut self, number: u32, mut new: Measured) {
        self.step(number);
        let row = self.rows.entry(number).or_default();
        let back = row.measured.is_some_and(|old| old.min < new.min || old.max > new.max);
        if let Some(old) = row.measured {
            (new.min, new.max) = (new.min.min(old.min), new.max.max(old.max));
        }
        row.measured = Some(new);
        self.broke(back);
    }

    fn block(self) -> Block {
        let program = self.program();
        let label = program.and_then(pair_label).unwrap_or("latency from sender to receiver");
        let (line, before) = (self.line, self.before);
        let mut block = Block { label: label.into(), line, before, ..Block::default() };
        let mut lose = |loss| block.lost.push(loss);
        lose(Loss::reported(LostKind::Other, None, OF_SENDER));
        lose(Loss::reported(LostKind::Other, None, OF_SECONDS));
        if program.is_none() {
            let text = "it is unknown which of ptsematest, svsematest and sigwaittest wrote the text";
            lose(Loss::reported(LostKind::Other, None, text));
        }
        if self.broken > 0 {
            let text = "lines are duplicated, missing or out of order, or values decreased";
            lose(Loss::problem(LostKind::Disagreement, Some(self.broken), text));
        }
        if !self.measured || self.size != Some(self.next) {
            lose(Loss::problem(LostKind::Truncated, None, "the last values of the run are truncated"));
        }
        block.threads = self.rows.into_iter().map(|(number, row)| row.thread(number)).collect();
        block
    }
}

impl Row {
    fn thread(self, number: u32) -> Thread {
        let us = |us: u64| number::scaled(us, 1_000);
        let stated = Stated {
            count: self.pair.map(|p| p.cycles),
            min_ns: self.measured.and_then(|m| us(m.min)),
            max_ns: self.measured.and_then(|m| us(m.max)),
            mean_ns: self.measured.and_then(|m| us(m.mean)).map(|ns| ns as f64),
        };
        let mut thread = stated.thread(number, 1_000);
        if self.measured.is_some_and(|m| m.now > m.max) {
            let text = "a latency is larger than the stated maximum";
            thread.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        let Some(pair) = self.pair else {
            let text = "the line of the pair is missing: the number of samples is unknown";
            thread.lost.push(Loss::problem(LostKind::Truncated, None, text));
            return thread;
        };
        let [receiver, _] = pair.ids;
        thread.tid = i32::try_from(receiver).ok().filter(|&tid| tid > 0);
        thread.cpu = u32::try_from(pair.cpu).ok().filter(|&cpu| cpu < 8_192);
        thread.got = fifo(pair.priority);
        if let Some(n) = pair.timeouts.filter(|&n| n > 0) {
            thread.lost.push(Loss::reported(LostKind::Other, Some(n), "the receiver timed out while waiting"));
        }
        thread
    }
}

/// Returns true for a line that begins like `#0: ID`.
fn looks_like_pair(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.skip("#").is_some() && scan.whole().is_some() && scan.0.starts_with(": ID")
}

/// Parses a pair. Pair n consists of receiver 2n and sender 2n + 1.
fn pair(text: &str) -> Option<(u32, Pair)> {
    let mut scan = Scan(text);
    scan.skip("#")?;
    let receiver = scan.whole()?;
    scan.skip(": ID")?;
    let id = scan.int()?;
    scan.skip(", P")?;
    let priority = scan.whole()?;
    scan.skip(", CPU")?;
    let cpu = scan.int()?;
    scan.skip(", I")?;
    scan.int()?;
    scan.skip("; #")?;
    let sender = scan.whole()?;
    scan.skip(": ID")?;
    let sender_id = scan.int()?;
    scan.skip(", P")?;
    scan.whole()?;
    scan.skip(", CPU")?;
    scan.int()?;
    let timeouts = match scan.skip(", TO") {
        Some(()) => Some(scan.whole()?),
        None => None,
    };
    scan.skip(", Cycles")?;
    let cycles = scan.whole().filter(|&n| n <= number::MOST_SAMPLES)?;
    scan.end()?;
    let number = of_pair(sender, receiver)?;
    Some((number, Pair { ids: [id, sender_id], priority, cpu, cycles, timeouts }))
}

fn of_pair(sender: u64, receiver: u64) -> Option<u32> {
    let fits = receiver.is_multiple_of(2) && receiver.checked_add(1) == Some(sender);
    u32::try_from(receiver / 2).ok().filter(|&n| fits && n < MOST_THREADS)
}

/// Parses the beginning of a line such as `#1 -> #0`.
fn receiver(text: &str) -> Option<u32> {
    let mut scan = Scan(text);
    scan.skip("#")?;
    let sender = scan.whole()?;
    scan.skip("-> #")?;
    let receiver = scan.whole()?;
    of_pair(sender, receiver).filter(|_| scan.0.starts_with([',', ' ']))
}

/// Parses a line such as `#1 -> #0, Min    3, Cur    5, Avg    6, Max   67`.
fn measured(text: &str) -> Option<Measured> {
    let mut fields = text.split(", ").skip(1);
    let mut get = |key: &str| fields.next()?.strip_prefix(key)?.strip_prefix(' ');
    let texts = [get("Min")?, get("Cur")?, get("Avg")?, get("Max")?];
    // All values are padded to four characters, so a shorter last one is truncated.
    let [min, now, mean, max] = texts;
    if fields.next().is_some() || max.len() < 4 && [min, now, mean].iter().all(|t| t.len() >= 4) {
        return None;
    }
    let whole = |text| number::latency(text, 1_000).and_then(|_| number::whole(text));
    Some(Measured { min: whole(min)?, now: whole(now)?, mean: whole(mean)?, max: whole(max)? })
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = include_str!("../../tests/fixtures/tools/pmqtest.txt");

    fn found(text: &str) -> Found {
        alone(Box::new(Reader::new(&Options::default())), text).unwrap()
    }

    fn problems(found: &Found) -> usize {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        threads.chain(found.blocks.iter().flat_map(|b| &b.lost)).chain(&found.lost).filter(|l| l.problem).count()
    }

    #[test]
    fn the_last_screen_counts() {
        let found = found(LOG);
        assert_eq!((found.tool.as_deref(), found.format.as_str()), (Some("pmqtest"), "pmqtest-text"));
        let [block] = found.blocks.as_slice() else { panic!() };
        assert_eq!((block.label.as_str(), block.line), ("message queue latency", 3));
        let [a, b] = block.threads.as_slice() else { panic!() };
        assert_eq!((a.count, a.min_ns, a.max_ns, a.cpu), (Some(1_804), Some(4_000), Some(88_000), Some(1)));
        assert_eq!((b.count, b.min_ns, b.max_ns, b.tid), (Some(1_203), Some(3_000), Some(12_345_000), Some(4_107)));
        assert_eq!((b.cpu, a.got), (None, fifo(80)));
        assert_eq!(found.command.first().map(String::as_str), Some("pmqtest"));
        assert_eq!(problems(&found), 0, "{found:?}");
    }

    #[test]
    fn a_new_run_is_a_block() {
        let line = |id: u32, cycles: u32, max: u32| {
            format!(
                "#0: ID{id}, P80, CPU0, I1000; #1: ID{}, P80, CPU0, Cycles {cycles}\n#1 -> #0, Min    3, Cur    5, Avg    6, Max {max:4}\n",
                id + 1
            )
        };
        let text = format!("first\n{}{}idle, loaded\n{}", line(50, 10, 9), line(50, 900, 9_200), line(70, 800, 40));
        let all = found(&text);
        let maxima: Vec<_> = all.blocks.iter().map(|b| (b.threads[0].max_ns, b.before.as_deref())).collect();
        assert_eq!(maxima, [(Some(9_200_000), Some("first")), (Some(40_000), Some("idle, loaded"))]);
        assert_eq!(problems(&all), 0);
        assert_eq!(all.tool.as_deref(), Some("rt-tests"));
        // The same ID occurs with fewer cycles.
        assert_eq!(found(&format!("{}{}", line(50, 10, 9_200), line(50, 9, 9))).blocks.len(), 2);
        // A maximum is kept even if a later one is smaller.
        let back = found(&format!("{}{}", line(50, 10, 9_200), line(50, 11, 9)));
        assert_eq!((back.blocks[0].threads[0].max_ns, problems(&back)), (Some(9_200_000), 1));
        let named = found(&format!("$ sudo sigwaittest -p 80\n{}", line(7, 9, 9)));
        assert_eq!((named.tool.as_deref(), named.blocks[0].label.as_str()), (Some("sigwaittest"), "signal latency"));
    }

    #[test]
    fn lost_and_doubled_lines_are_problems() {
        let lines: Vec<&str> = LOG.lines().collect();
        for at in 2..lines.len() - 1 {
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(problems(&found(&fewer.join("\n"))) > 0, "without line {at}");
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(problems(&found(&more.join("\n"))) > 0, "line {at} twice");
        }
        let end = LOG.rfind("#3 -> #2").unwrap();
        for cut in end - 90..LOG.rfind("345").unwrap() {
            assert!(problems(&found(&LOG[..cut])) > 0, "cut at {cut}: {}", &LOG[..cut]);
        }
    }

    #[test]
    fn other_text_is_not_taken() {
        for text in [
            "# Histogram\n#1 -> #0 is the fix\n# Total: 000000 100",
            "T: 0 ( 1234) P:80 I:1000 C: 5 Min: 1 Act: 2 Avg: 3 Max: 4",
            "#12: IDs are stated, P80",
            "1,2,3\n#",
        ] {
            let mut reader = Reader::default();
            for line in text.lines() {
                let taken = super::super::Reader::line(&mut reader, &Line { text: line, number: 1, before: None });
                assert!(taken == Taken::No || line.contains(": ID"), "{line}");
            }
        }
        assert!(alone(Box::new(Reader::default()), "# Histogram\n").is_none());
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..900, n in 0_usize..60, with in "[0-9#:>, -]{0,9}") {
            let at = at.min(LOG.len());
            let end = (at + n).min(LOG.len());
            let text = format!("{}{with}{}", &LOG[..at], &LOG[end..]);
            alone(Box::new(Reader::default()), &text);
        }
    }
}
