//! Status rows, printed while a tool runs, such as
//! `T: 0 (22445) P:95 I:200 C:   9878 Min:     10 Act:   52 Avg:   35 Max:    4952`. A log has many per thread.

use super::run::Facts;
use crate::block::{Beyond, Block, Loss, MOST_THREADS, Samples, Skips, Thread};
use crate::number;
use punctual_model::{LostKind, Series};
use std::collections::BTreeMap;

/// Maximum length of a row that a mail client wrapped.
pub(super) const LONGEST: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Cyclictest,
    /// The row has no priority, and its interval is a deadline.
    Cyclicdeadline,
    /// In the row, `A:` is the CPU.
    Jitterdebugger,
}

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Tool::Cyclictest => "cyclictest",
            Tool::Cyclicdeadline => "cyclicdeadline",
            Tool::Jitterdebugger => "jitterdebugger",
        }
    }

    pub fn format(self) -> &'static str {
        match self {
            Tool::Cyclictest => "cyclictest-live",
            Tool::Cyclicdeadline => "cyclicdeadline-live",
            Tool::Jitterdebugger => "jitterdebugger-live",
        }
    }
}

/// A status row. Latencies are in the units of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub thread: u32,
    pub tid: Option<i32>,
    pub priority: Option<u8>,
    pub interval_us: Option<u64>,
    pub cpu: Option<u32>,
    pub cycles: u64,
    pub min: Option<i64>,
    pub act: Option<i64>,
    pub max: Option<i64>,
    pub avg: Option<f64>,
}

pub(super) enum Parsed {
    Row(Row),
    /// A spike: thread and latency.
    Spike(u32, u64),
    /// The row is incomplete, because a mail client may have wrapped it.
    Open,
    Unreadable,
    /// The line is output of another program.
    Other,
}

/// Returns the rows in a line. Empty if the line begins with anything other than a row or the load average printed by
/// cyclictest.
pub(super) fn rows(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = text.match_indices("T:").map(|(at, _)| at).filter(|&at| is_start(text, at)).collect();
    let Some(&first) = starts.first() else { return Vec::new() };
    if first > 0 && !text.contains("loadavg:") {
        return Vec::new();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).filter_map(|(&from, to)| Some(text.get(from..to)?.trim_end())).collect()
}

/// Returns true for `T: 0 (` or `T: 0 Spike:`, even if the preceding line break was lost, but not within a word.
fn is_start(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at + 2..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    before.is_none_or(|c| !c.is_alphabetic()) && rest.len() < after.len() && {
        let rest = rest.trim_start();
        rest.is_empty() || rest.starts_with('(') || rest.starts_with("Spike:")
    }
}

/// Returns true if `line` is the remainder of a wrapped row.
pub(super) fn continues(open: &str, line: &str) -> bool {
    const KEYS: [&str; 9] = ["P:", "I:", "C:", "A:", "Min:", "Act:", "Avg:", "Max:", "TS:"];
    let numbers = || !line.is_empty() && line.split_ascii_whitespace().all(|w| number::signed(w).is_some());
    open.len() < LONGEST / 2 && (numbers() || KEYS.iter().any(|key| line.starts_with(key)))
}

pub(super) fn parse(text: &str) -> Parsed {
    if text.contains("Spike:") {
        return spike(text);
    }
    let Some(fields) = fields(text) else { return Parsed::Unreadable };
    if !fields.contains_key("Max") {
        return Parsed::Open;
    }
    // Rows of signaltest have no interval.
    if !fields.contains_key("I") && !fields.contains_key("A") {
        return Parsed::Other;
    }
    read(&fields).map_or(Parsed::Unreadable, Parsed::Row)
}

fn read(fields: &BTreeMap<&str, &str>) -> Option<Row> {
    let get = |key: &str| fields.get(key).copied();
    let thread = get("T").and_then(number::whole).filter(|&n| n < u64::from(MOST_THREADS))? as u32;
    let cycles = get("C").and_then(number::samples)?;
    let latency = |key: &str| match get(key).filter(|_| cycles > 0) {
        Some(text) => Some(Some(number::integer(text)?)),
        None => Some(None),
    };
    Some(Row {
        thread,
        tid: get("tid").and_then(|v| v.parse().ok()).filter(|&tid: &i32| tid > 0),
        priority: get("P").and_then(|v| v.parse().ok()),
        interval_us: get("I").and_then(number::whole).filter(|&us| us > 0),
        cpu: get("A").and_then(|v| v.parse().ok()).filter(|&cpu: &u32| cpu < 8_192),
        cycles,
        min: latency("Min")?,
        act: latency("Act")?,
        max: latency("Max")?,
        avg: get("Avg").and_then(number::signed).filter(|_| cycles > 0),
    })
}

/// Parses a spike such as `T: 0 Spike:      32: TS:   1249672310`.
fn spike(text: &str) -> Parsed {
    let mut parts = text.split(':').map(str::trim);
    let thread = parts.nth(1).and_then(|p| p.split_ascii_whitespace().next()).and_then(number::whole);
    let value = parts.next().and_then(number::whole);
    let (Some(thread), Some(value)) = (thread.filter(|&n| n < u64::from(MOST_THREADS)), value) else {
        return Parsed::Unreadable;
    };
    // If the last line ends within its timestamp, its latency is still complete.
    if text.contains("TS") { Parsed::Spike(thread as u32, value) } else { Parsed::Unreadable }
}

fn fields(line: &str) -> Option<BTreeMap<&str, &str>> {
    let mut found = BTreeMap::new();
    let (head, rest) = match line.split_once('(') {
        Some((head, rest)) => (head, rest),
        None => return thread_of(line).map(|_| BTreeMap::new()),
    };
    found.insert("T", thread_of(head)?);
    let Some((tid, mut rest)) = rest.split_once(')') else { return Some(BTreeMap::new()) };
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

fn thread_of(head: &str) -> Option<&str> {
    Some(head.strip_prefix("T:")?.trim()).filter(|n| number::whole(n).is_some())
}

impl Row {
    /// Returns true for a later row of the same thread in the same run.
    pub fn continues(&self, before: &Row) -> bool {
        let same_tid = self.tid.zip(before.tid).is_none_or(|(tid, other)| tid == other);
        let max = before.max.zip(self.max).is_none_or(|(before, now)| now >= before);
        let min = before.min.zip(self.min).is_none_or(|(before, now)| now <= before);
        same_tid && max && min && self.cycles >= before.cycles
    }

    /// Returns true if the figures cannot belong to one thread.
    fn contradicts(&self) -> bool {
        let (Some(min), Some(max)) = (self.min, self.max) else { return false };
        let outside = |v: f64| v < min as f64 - 1.0 || v > max as f64 + 1.0;
        min > max || self.act.is_some_and(|act| outside(act as f64)) || self.avg.is_some_and(outside)
    }
}

#[derive(Default)]
pub(super) struct Live {
    rows: BTreeMap<u32, Row>,
    spikes: BTreeMap<u32, Series>,
    /// Number of rows whose figures contradict each other.
    contradictions: u64,
}

impl Live {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.spikes.is_empty()
    }

    pub fn add(&mut self, row: Row) {
        self.contradictions += u64::from(row.contradicts());
        self.rows.insert(row.thread, row);
    }

    pub fn spike(&mut self, thread: u32, value: u64) {
        let series = self
            .spikes
            .entry(thread)
            .or_insert_with(|| Series::new("spikes beyond the trigger", format!("thread {thread}"), "µs"));
        series.push(value as f64);
    }

    pub fn row(&self, thread: u32) -> Option<&Row> {
        self.rows.get(&thread)
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    pub fn spikes(&self) -> Vec<Series> {
        self.spikes.values().cloned().collect()
    }

    pub fn tool(&self) -> Tool {
        let any = |stated: fn(&Row) -> bool| self.rows.values().any(stated);
        match () {
            () if any(|r| r.cpu.is_some()) => Tool::Jitterdebugger,
            () if any(|r| r.priority.is_none()) => Tool::Cyclicdeadline,
            () => Tool::Cyclictest,
        }
    }

    pub fn block(&self, unit_ns: u64, facts: &Facts) -> Block {
        let tool = self.tool();
        let mut block = Block { label: "wakeup latency".into(), ..Block::default() };
        if self.contradictions > 0 {
            let text = "rows are contradictory: the smallest, last or mean latency exceeds the largest";
            block.lost.push(Loss::problem(LostKind::Disagreement, Some(self.contradictions), text));
        }
        let numbers = self.rows.keys().copied();
        if let Some((missing, _)) = (0..).zip(numbers).find(|(n, number)| n != number) {
            let text = format!("the row of thread {missing} is missing");
            block.lost.push(Loss::problem(LostKind::Gap, None, text));
        }
        block.threads = self.rows.values().map(|row| row.thread(tool, unit_ns, facts)).collect();
        block
    }
}

impl Row {
    fn thread(&self, tool: Tool, unit_ns: u64, facts: &Facts) -> Thread {
        let mut thread = Thread::new(self.thread, Samples::Summary, unit_ns);
        let scaled = |value: Option<i64>| number::scaled(u64::try_from(value?).ok()?, unit_ns);
        thread.beyond = Beyond::Counted { count: self.cycles, from_ns: 0 };
        (thread.min_ns, thread.max_ns) = (scaled(self.min), scaled(self.max));
        thread.mean_ns = self.avg.filter(|avg| *avg >= 0.0).map(|avg| avg * unit_ns as f64);
        thread.count = Some(self.cycles);
        if let Some(min) = self.min.filter(|min| *min < 0) {
            let text =
                format!("the smallest latency is stated as {min}: a clock was set back, or the thread woke too early");
            thread.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        if self.cycles > 0 && thread.max_ns.is_none() {
            let text = "the largest latency cannot be read";
            thread.lost.push(Loss::problem(LostKind::Unreadable, None, text));
        }
        facts.add_to(&mut thread);
        match tool {
            Tool::Cyclictest => {}
            Tool::Jitterdebugger => thread.skips = Skips::Never,
            // The interval of cyclicdeadline is its deadline, and its handling of missed deadlines is undocumented.
            Tool::Cyclicdeadline => thread.period_ns = facts.period,
        }
        thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        match parse(text) {
            Parsed::Row(row) => row,
            _ => panic!("{text}"),
        }
    }

    #[test]
    fn rows_of_three_tools_and_a_wrapped_one() {
        let open = "T: 0 (22445) P:95 I:200 C:   9878 Min:     10 Act:   52 Avg:   35 Max:";
        assert!(matches!(parse(open), Parsed::Open) && continues(open, "4952"));
        let first = row(&format!("{open} 4952"));
        assert_eq!((first.cycles, first.min, first.max, first.tid), (9_878, Some(10), Some(4_952), Some(22_445)));
        let none = row("T: 1 (22446) P:95 I:700 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0");
        assert_eq!((none.min, none.max), (None, None));
        let mut live = Live::default();
        live.add(first);
        assert_eq!(live.tool(), Tool::Cyclictest);
        let mut other = Live::default();
        other.add(row("T: 0 (24833) A: 0 C:      1927 Min:        16 Avg:  249.82 Max:     11683"));
        assert_eq!(other.tool(), Tool::Jitterdebugger);
        assert!(matches!(parse("T: x (1) C: 1 Max: 1"), Parsed::Unreadable));
        assert!(matches!(parse("T: 0 ( 12) P:80 C: 1521 Min: 12 Act: 20 Avg: 23 Max: 741"), Parsed::Other));
    }

    #[test]
    fn rows_in_one_line() {
        let one = "T: 0 (1) P:9 I:1 C: 1 Min: 1 Act: 1 Avg: 1 Max: 3";
        assert_eq!(rows(&format!("{one} {one}")), [one, one]);
        assert_eq!(rows(&format!("policy: fifo: loadavg: 0.1 0.2 0.3 1/22 33 {one}")), [one]);
        assert!(rows(&format!("2024-03-05T10:11:12Z {one}")).is_empty() && rows("LAT: 0 (1)").is_empty());
    }
}
