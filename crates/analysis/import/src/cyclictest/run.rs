//! One run of the program, with all parts of its output.

use super::Next;
use super::live::{self, Live, Tool};
use super::table::{Part, Table};
use super::verbose::Verbose;
use crate::block::{Block, Loss, Thread};
use crate::cmdline::Command;
use crate::tools::Line;
use crate::{Options, Unit};
use punctual_model::LostKind;
use punctual_units::Priority;

pub(super) struct Run {
    line: u64,
    before: Option<String>,
    pub command: Option<Command>,
    pub dma_latency_us: Option<i32>,
    given: Option<Unit>,
    pub table: Option<Table>,
    pub live: Live,
    pub verbose: Verbose,
    pub break_value: Option<String>,
    pub break_thread: Option<String>,
    /// An incomplete status row at the end of the text.
    pub torn: Option<String>,
    pub too_many: bool,
    unreadable: u64,
    first_unreadable: Option<String>,
}

impl Run {
    pub fn new(next: Next, given: Option<Unit>) -> Run {
        Run {
            line: next.line,
            before: next.before,
            command: next.command,
            dma_latency_us: next.dma_latency_us,
            given,
            table: None,
            live: Live::default(),
            verbose: Verbose::default(),
            break_value: None,
            break_thread: None,
            torn: None,
            too_many: false,
            unreadable: 0,
            first_unreadable: None,
        }
    }

    pub fn unit(&self) -> Unit {
        self.given.or_else(|| self.command.as_ref().map(Command::unit)).unwrap_or(Unit::Micros)
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_none() && self.live.is_empty() && self.verbose.is_empty()
    }

    /// Returns true if the run's histogram is complete, so that following lines belong to another run.
    pub fn ended(&self) -> bool {
        self.table.as_ref().is_some_and(Table::is_summed)
    }

    /// Returns true if another table begins. For a run of status rows this is the histogram at their end.
    pub fn ends_before(&self, part: &Part, line: &Line) -> bool {
        match &self.table {
            Some(table) => table.ends_before(part, line),
            None => false,
        }
    }

    /// Notes that text other than a table occurred.
    pub fn interrupted(&mut self) {
        if let Some(table) = &mut self.table {
            table.interrupted();
        }
    }

    pub fn has(&self, row: &live::Row) -> bool {
        self.live.row(row.thread).is_some_and(|known| known.tid == row.tid)
    }

    /// Returns true if the status row can belong to this run.
    pub fn can_include(&self, row: &live::Row) -> bool {
        !self.ended() && self.live.row(row.thread).is_none_or(|before| row.continues(before))
    }

    pub fn unread(&mut self, line: &str) {
        self.unreadable += 1;
        self.first_unreadable.get_or_insert_with(|| line.chars().filter(|c| !c.is_control()).take(60).collect());
    }

    /// Completes the last row of the table, which was kept open because a continuation line could follow it.
    pub fn filled_in(&mut self, filled: &mut usize) {
        let unit = self.unit().ns();
        if let Some(table) = &mut self.table {
            table.end_row(unit, filled);
        }
    }

    /// Returns a block for each measured quantity, with its format and tool. Status rows that contradict the
    /// histogram belong to another run.
    pub fn blocks(&self, options: &Options) -> (Vec<Block>, Vec<(&'static str, Tool)>) {
        let unit = self.unit().ns();
        let facts = Facts {
            command: self.command.as_ref(),
            live: &self.live,
            verbose: &self.verbose,
            period: options.period.map(|p| p.0),
        };
        let mut blocks = Vec::new();
        let mut kinds = Vec::new();
        let table = self.table.as_ref().map(|table| table.block(unit, &facts)).filter(|b| !b.threads.is_empty());
        let agree = |block: &Block| {
            self.live.rows().all(|row| block.threads.iter().any(|thread| of_one_run(row, thread, unit)))
        };
        if !self.live.is_empty() && self.live.rows().next().is_some() && !table.as_ref().is_some_and(agree) {
            let tool = self.live.tool();
            kinds.push((tool.format(), tool));
            blocks.push(self.live.block(unit, &facts));
        }
        if !self.verbose.is_empty() {
            kinds.push(("cyclictest-verbose", Tool::Cyclictest));
            blocks.push(self.verbose.block(unit, &facts));
        }
        if let Some(block) = table {
            kinds.insert(0, ("cyclictest-histogram", Tool::Cyclictest));
            blocks.push(block);
        }
        for block in &mut blocks {
            (block.line, block.before) = (self.line, self.before.clone());
        }
        let largest = blocks.iter().flat_map(|b| &b.threads).filter_map(|thread| thread.max_ns).max();
        let broke =
            self.break_value.as_deref().and_then(crate::number::whole).and_then(|v| crate::number::scaled(v, unit));
        match blocks.last_mut() {
            Some(last) => {
                last.lost.extend(self.faults());
                if broke.zip(largest).is_some_and(|(broke, largest)| broke > largest) {
                    let text = "the break value is larger than the largest latency";
                    last.lost.push(Loss::problem(LostKind::Disagreement, None, text));
                }
            }
            // The run consists only of unreadable lines.
            None if self.unreadable > 0 || self.torn.is_some() => {
                kinds.push(("cyclictest-live", Tool::Cyclictest));
                let lost = self.faults();
                blocks.push(Block {
                    label: "wakeup latency".into(),
                    line: self.line,
                    before: self.before.clone(),
                    lost,
                    ..Block::default()
                });
            }
            None if !self.live.is_empty() => kinds.push(("cyclictest-spikes", Tool::Cyclictest)),
            None => {}
        }
        (blocks, kinds)
    }

    fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        if self.torn.is_some() {
            lost.push(Loss::problem(LostKind::Truncated, None, "the last row is incomplete"));
        }
        if self.too_many {
            let text = format!("more than {} filled bins: the rest of the table is not read", crate::bins::MOST_BINS);
            lost.push(Loss::problem(LostKind::Unreadable, None, text));
        }
        if self.unreadable > 0 {
            let first = self.first_unreadable.as_deref().unwrap_or_default();
            let text = format!("lines that look like results could not be read; the first: `{first}`");
            lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        lost
    }

    pub fn broke(&self) -> Option<String> {
        let value = self.break_value.as_ref()?;
        let thread = self.break_thread.as_deref().unwrap_or("unknown");
        Some(format!("cyclictest stopped at its break value: thread {thread}, {value}"))
    }
}

/// Returns true if the status row can belong to the run of this histogram. The last row is printed at the end of the
/// run or a few milliseconds before it.
fn of_one_run(row: &live::Row, thread: &Thread, unit_ns: u64) -> bool {
    let scaled = |value: Option<i64>| {
        value.map(|v| crate::number::scaled(u64::try_from(v).unwrap_or(0), unit_ns).unwrap_or(u64::MAX))
    };
    let max = scaled(row.max).zip(thread.max_ns).is_none_or(|(row, all)| row <= all);
    let min = scaled(row.min).zip(thread.min_ns).is_none_or(|(row, all)| row >= all);
    let late = |count: u64| row.cycles <= count && count - row.cycles <= (count / 10).max(100);
    row.thread == thread.number && max && min && thread.count.is_none_or(late)
}

/// Facts about a thread other than its latencies.
pub(super) struct Facts<'a> {
    pub command: Option<&'a Command>,
    pub live: &'a Live,
    pub verbose: &'a Verbose,
    pub period: Option<u64>,
}

impl Facts<'_> {
    pub fn add_to(&self, thread: &mut Thread) {
        let row = self.live.row(thread.number);
        let number = thread.number;
        thread.tid = thread.tid.or(row.and_then(|r| r.tid));
        let stated = row.and_then(|r| r.interval_us).or_else(|| self.verbose.interval_us(number));
        thread.period_ns = self
            .period
            .or_else(|| stated.and_then(|us| us.checked_mul(1_000)))
            .or_else(|| self.command.and_then(|c| c.period_ns(number)))
            .filter(|&p| p > 0);
        // A row contains the priority without the policy. Priority 0 is not real-time.
        let asked = self.command.and_then(Command::scheduling);
        thread.got = asked.filter(|asked| row.is_none_or(|r| r.priority == asked.priority().map(Priority::get)));
        thread.cpu = thread.cpu.or(row.and_then(|r| r.cpu)).or_else(|| self.command.and_then(|c| c.cpu(number)));
    }
}
