//! Live rows: `T: 0 (22445) P:95 I:200 C:   9878 Min:     10 Act:   52 Avg:   35 Max:    4952`; a log has many per
//! thread.

use super::verbose::Verbose;
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::cmdline::Command;
use crate::number;
use punctual_model::{LostKind, Series};
use punctual_units::Priority;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Cyclictest,
    /// No priority, and the interval is a deadline.
    Cyclicdeadline,
    /// `A:` is the CPU.
    Jitterdebugger,
}

#[derive(Default)]
pub(super) struct Live {
    rows: BTreeMap<u32, Row>,
    /// A row that a mail client wrapped.
    open: Option<String>,
    spikes: BTreeMap<u32, Series>,
    /// Rows with fewer cycles than an earlier row of the thread: another run.
    restarts: u64,
}

#[derive(Clone, Debug, Default)]
struct Row {
    tid: Option<i32>,
    priority: Option<u8>,
    interval_us: Option<u64>,
    cpu: Option<u32>,
    cycles: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    mean_ns: Option<f64>,
}

pub(super) struct Facts<'a> {
    pub command: Option<&'a Command>,
    pub live: &'a Live,
    pub verbose: &'a Verbose,
    pub period: Option<u64>,
}

impl Facts<'_> {
    /// Adds the facts to a thread. `single`: the live rows are of the same run.
    pub fn add_to(&self, thread: &mut Thread, single: bool) {
        let row = self.live.rows.get(&thread.number).filter(|_| single);
        let number = thread.number;
        thread.tid = thread.tid.or(row.and_then(|r| r.tid));
        let told = row.and_then(|r| r.interval_us).or_else(|| self.verbose.interval_us(number));
        thread.period_ns = self
            .period
            .or_else(|| told.and_then(|us| us.checked_mul(1_000)))
            .or_else(|| self.command.and_then(|c| c.period_ns(number)))
            .filter(|&p| p > 0);
        // A row shows the priority without the policy; 0 is not real-time.
        let asked = self.command.and_then(Command::scheduling);
        thread.got = asked.filter(|asked| row.is_none_or(|r| r.priority == asked.priority().map(Priority::get)));
        thread.cpu = thread.cpu.or(row.and_then(|r| r.cpu)).or_else(|| self.command.and_then(|c| c.cpu(number)));
    }
}

impl Live {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.spikes.is_empty()
    }

    pub fn wants(&self, line: &str) -> bool {
        let rest = |open: &String| {
            open.len() < 200 && !line.is_empty() && line.split_ascii_whitespace().all(|w| number::whole(w).is_some())
                || open.len() < 200 && KEYS.iter().any(|key| line.starts_with(key))
        };
        line.starts_with("T:") || self.open.as_ref().is_some_and(rest)
    }

    /// Returns `false` if the row cannot be read.
    pub fn row(&mut self, line: &str, unit_ns: u64) -> bool {
        if !line.starts_with("T:") {
            let Some(open) = self.open.take() else { return false };
            return self.whole_or_open(format!("{open} {line}"), unit_ns);
        }
        // The preceding row never ended.
        let torn = self.open.take().is_some();
        self.whole_or_open(line.to_owned(), unit_ns) && !torn
    }

    fn whole_or_open(&mut self, line: String, unit_ns: u64) -> bool {
        if line.contains("Spike:") {
            return self.spike(&line, unit_ns);
        }
        match fields(&line) {
            Some(fields) if fields.contains_key("Max") => self.take(&fields, unit_ns),
            Some(_) if line.len() < 400 => {
                self.open = Some(line);
                true
            }
            _ => false,
        }
    }

    fn take(&mut self, fields: &BTreeMap<&str, &str>, unit_ns: u64) -> bool {
        let get = |key: &str| fields.get(key).copied();
        let Some(number) = get("T").and_then(number::whole).filter(|&n| n < u64::from(MOST_THREADS)) else {
            return false;
        };
        let Some(cycles) = get("C").and_then(number::samples) else { return false };
        let latency = |key: &str| get(key).and_then(|v| number::latency(v, unit_ns));
        let row = Row {
            tid: get("tid").and_then(|v| v.parse().ok()).filter(|&tid: &i32| tid > 0),
            priority: get("P").and_then(|v| v.parse().ok()),
            interval_us: get("I").and_then(number::whole).filter(|&us| us > 0),
            cpu: get("A").and_then(|v| v.parse().ok()).filter(|&cpu: &u32| cpu < 8_192),
            cycles,
            min_ns: latency("Min").filter(|_| cycles > 0),
            max_ns: latency("Max").filter(|_| cycles > 0),
            mean_ns: get("Avg").and_then(number::decimal).map(|v| v * unit_ns as f64).filter(|_| cycles > 0),
        };
        let readable = cycles == 0 || row.max_ns.is_some();
        if let Some(before) = self.rows.insert(number as u32, row)
            && before.cycles > cycles
        {
            self.restarts += 1;
        }
        readable
    }

    /// `T: 0 Spike:      32: TS:   1249672310`
    fn spike(&mut self, line: &str, unit_ns: u64) -> bool {
        let mut parts = line.split(':').map(str::trim);
        let number = parts.nth(1).and_then(|p| p.split_ascii_whitespace().next()).and_then(number::whole);
        let value = parts.next().and_then(|v| number::latency(v, unit_ns));
        let (Some(number), Some(ns)) = (number.filter(|&n| n < u64::from(MOST_THREADS)), value) else { return false };
        // The last line may be cut within its timestamp; its latency is still complete.
        if !parts.any(|p| p == "TS") && !line.contains("TS") {
            return false;
        }
        let series = self
            .spikes
            .entry(number as u32)
            .or_insert_with(|| Series::new("spikes beyond the trigger", format!("thread {number}"), "µs"));
        series.push(ns as f64 / 1_000.0);
        true
    }

    pub fn spikes(&self) -> Vec<Series> {
        self.spikes.values().cloned().collect()
    }

    pub fn tool(&self) -> Tool {
        let any = |told: fn(&Row) -> bool| self.rows.values().any(told);
        match () {
            () if any(|r| r.cpu.is_some()) => Tool::Jitterdebugger,
            () if any(|r| r.priority.is_none()) => Tool::Cyclicdeadline,
            () => Tool::Cyclictest,
        }
    }

    pub fn block(&self, unit_ns: u64, facts: &Facts) -> Block {
        let tool = self.tool();
        let mut block = Block { label: "wakeup latency".into(), ..Block::default() };
        if self.restarts > 0 {
            let text = "threads start over: the text holds several runs, of which the last is taken";
            block.lost.push(Loss::told(LostKind::Other, Some(self.restarts), text));
        }
        if self.open.is_some() {
            let text = "the last row has no end";
            block.lost.push(Loss::problem(LostKind::Truncated, None, text));
        }
        for (&number, row) in &self.rows {
            let mut thread = Thread::new(number, Samples::Summary, unit_ns);
            thread.beyond = Beyond::Counted { count: row.cycles, from_ns: 0 };
            (thread.min_ns, thread.max_ns, thread.mean_ns) = (row.min_ns, row.max_ns, row.mean_ns);
            thread.count = Some(row.cycles);
            facts.add_to(&mut thread, true);
            match tool {
                Tool::Cyclictest => {}
                Tool::Jitterdebugger => thread.skips = Skips::Never,
                // Its interval is the deadline, and how it skips missed ones is undocumented.
                Tool::Cyclicdeadline => thread.period_ns = facts.period,
            }
            block.threads.push(thread);
        }
        block
    }
}

const KEYS: [&str; 9] = ["T:", "P:", "I:", "C:", "A:", "Min:", "Act:", "Avg:", "Max:"];

fn fields(line: &str) -> Option<BTreeMap<&str, &str>> {
    let mut found = BTreeMap::new();
    let (head, rest) = match line.split_once('(') {
        Some((head, rest)) => (head, rest),
        None => return found_thread(line).map(|_| BTreeMap::new()),
    };
    found.insert("T", found_thread(head)?);
    let (tid, mut rest) = rest.split_once(')')?;
    found.insert("tid", tid.trim());
    while let Some((key, after)) = rest.split_once(':') {
        let after = after.trim_start();
        let end = after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len());
        let (value, next) = after.split_at_checked(end)?;
        if !value.is_empty() {
            found.insert(key.trim(), value);
        }
        rest = next;
    }
    Some(found)
}

fn found_thread(head: &str) -> Option<&str> {
    Some(head.strip_prefix("T:")?.trim()).filter(|n| number::whole(n).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_three_tools_and_a_wrapped_one() {
        let mut live = Live::default();
        assert!(live.row("T: 0 (22445) P:95 I:200 C:   9878 Min:     10 Act:   52 Avg:   35 Max:", 1_000));
        assert!(live.wants("4952") && live.row("4952", 1_000));
        assert!(live.row("T: 1 (22446) P:95 I:700 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0", 1_000));
        let row = &live.rows[&0];
        assert_eq!((row.cycles, row.min_ns, row.max_ns, row.tid), (9_878, Some(10_000), Some(4_952_000), Some(22_445)));
        assert_eq!((live.rows[&1].min_ns, live.tool()), (None, Tool::Cyclictest));
        let mut other = Live::default();
        assert!(other.row("T: 0 (24833) A: 0 C:      1927 Min:        16 Avg:  249.82 Max:     11683", 1_000));
        assert_eq!(other.tool(), Tool::Jitterdebugger);
        assert!(!other.row("T: x (1) C: 1 Max: 1", 1_000));
    }
}
