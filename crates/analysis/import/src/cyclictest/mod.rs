//! Reads the text output of cyclictest (histograms, status rows, `-v` rows, spikes, break values), and the similar
//! status rows of cyclicdeadline and jitterdebugger.
//!
//! Formats (rt-tests 0.4 to 2.10, cyclictest.c `print_hist` and `print_stat`): see docs/import.md.

mod live;
mod run;
mod table;
mod verbose;

use crate::Options;
use crate::block::{Found, Loss};
use crate::cmdline::{self, Command};
use crate::tools::{self, Line, Taken};
use live::Tool;
use punctual_model::LostKind;
use run::Run;

/// Maximum number of runs distinguished in one text.
const MOST_RUNS: usize = 256;

pub(crate) struct Reader {
    options: Options,
    /// Runs read so far. The last one is being read.
    runs: Vec<Run>,
    /// The next run, if its start has been read but none of its figures.
    next: Option<Next>,
    /// A status row that a mail client wrapped, and the number of its last line.
    open: Option<(String, u64)>,
    /// Number of filled bins in all tables.
    filled: usize,
    /// Number of runs that were not kept.
    beyond: u64,
}

/// Lines that precede a run.
#[derive(Default)]
struct Next {
    line: u64,
    before: Option<String>,
    command: Option<Command>,
    dma_latency_us: Option<i32>,
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        Reader { options: options.clone(), runs: Vec::new(), next: None, open: None, filled: 0, beyond: 0 }
    }

    /// Begins a run at this line.
    fn begin(&mut self, line: &Line) -> &mut Run {
        let next = self.next.take().unwrap_or_else(|| Next::at(line));
        if self.runs.len() >= MOST_RUNS {
            self.beyond += 1;
            self.runs.pop();
        }
        self.runs.push(Run::new(next, self.options.unit));
        let last = self.runs.len() - 1;
        &mut self.runs[last]
    }

    /// Returns the run being read. Begins one if it was announced, or if there is none.
    fn now(&mut self, line: &Line) -> &mut Run {
        match self.runs.len() {
            n if n > 0 && self.next.is_none() => &mut self.runs[n - 1],
            _ => self.begin(line),
        }
    }

    fn announced(&mut self, line: &Line) -> &mut Next {
        self.next.get_or_insert_with(|| Next::at(line))
    }

    fn prompt(&mut self, line: &Line) -> Taken {
        let Some(words) = cmdline::in_prompt(line.text, "cyclictest") else { return Taken::No };
        self.announced(line).command = Some(Command::parse(words));
        // The line also counts as text, because it may name the run.
        Taken::No
    }

    fn comment(&mut self, line: &Line) -> bool {
        let text = line.text.trim_start();
        if let Some(us) = text.strip_prefix("# /dev/cpu_dma_latency set to ") {
            let us = us.strip_suffix("us").and_then(|us| us.trim().parse().ok());
            self.announced(line).dma_latency_us = us;
            return true;
        }
        let short = |text: &str| Some(text.trim().chars().take(20).collect::<String>());
        let Some(run) = self.runs.last_mut() else { return false };
        if let Some(value) = text.strip_prefix("# Break value:") {
            run.break_value = short(value);
            return true;
        }
        if let Some(thread) = text.strip_prefix("# Break thread:") {
            run.break_thread = short(thread);
            return true;
        }
        // A line such as `policy: fifo: loadavg: 0.23 0.24 0.11 1/220 1636`, which is redrawn with the rows.
        text.starts_with("policy: ") && text.contains("loadavg:") && live::rows(text).is_empty()
    }

    /// Reads status rows. A line may contain several.
    fn live(&mut self, line: &Line) -> Taken {
        let text = line.text.trim_start();
        if let Some((open, at)) = self.open.take() {
            if at + 1 == line.number && live::continues(&open, text) {
                return self.live_row(format!("{open} {text}"), line);
            }
            // The rest of the row is missing.
            self.now(line).unread(&open);
        }
        let rows = live::rows(text);
        let mut taken = Taken::No;
        for row in rows {
            taken = match (self.live_row(row.to_owned(), line), taken) {
                (Taken::No, _) | (_, Taken::Unreadable) => taken,
                (new, _) => new,
            };
        }
        taken
    }

    fn live_row(&mut self, text: String, line: &Line) -> Taken {
        match live::parse(&text) {
            live::Parsed::Row(row) => {
                if !self.continues_run(&row) {
                    self.begin(line);
                }
                self.now(line).live.add(row);
                Taken::Yes
            }
            live::Parsed::Spike(thread, us) => {
                self.now(line).live.spike(thread, us);
                Taken::Yes
            }
            live::Parsed::Open if text.len() < live::LONGEST => {
                self.open = Some((text, line.number));
                Taken::Yes
            }
            live::Parsed::Open | live::Parsed::Unreadable => {
                self.now(line).unread(&text);
                Taken::Unreadable
            }
            live::Parsed::Other => Taken::No,
        }
    }

    /// Returns true if the row continues the run being read. A run ends with its histogram, or at a row whose thread
    /// differs from that of the run, or whose counts or extremes decrease. If rows of two programs alternate, they are
    /// assigned to the most recent runs.
    fn continues_run(&mut self, row: &live::Row) -> bool {
        let Some(now) = self.runs.last() else { return true };
        if self.next.is_some() || now.can_include(row) {
            return true;
        }
        let recent = self.runs.len().saturating_sub(8);
        let known =
            self.runs.iter().enumerate().skip(recent).rev().find(|(_, run)| run.has(row) && run.can_include(row));
        let Some((at, _)) = known else { return false };
        let run = self.runs.remove(at);
        self.runs.push(run);
        true
    }

    fn verbose(&mut self, line: &Line) -> Taken {
        let text = line.text.trim_start();
        if let Some((thread, us)) = verbose::interval(text) {
            let started = self.runs.last().is_some_and(|run| !run.is_empty());
            if started && self.next.is_none() {
                self.begin(line);
            }
            self.now(line).verbose.interval(thread, us);
            return Taken::Yes;
        }
        let Some(row) = verbose::row(line.text) else { return Taken::No };
        if self.next.is_none() && self.runs.last().is_some_and(|run| run.ended() || run.verbose.restarts(&row)) {
            self.begin(line);
        }
        let run = self.now(line);
        let unit = run.unit().ns();
        run.verbose.add(&row, unit);
        Taken::Yes
    }

    fn table(&mut self, line: &Line) -> Taken {
        let Some(part) = table::part(line.text) else {
            if let Some(run) = self.runs.last_mut() {
                run.interrupted();
            }
            return Taken::No;
        };
        let begins = match self.runs.last() {
            None => true,
            Some(_) if self.next.is_some() => true,
            Some(run) => run.ends_before(&part, line),
        };
        let belongs = self.runs.last().is_some_and(|run| run.table.is_some() && !begins) || part.begins();
        if !belongs {
            return Taken::No;
        }
        if begins {
            self.begin(line);
        }
        if self.filled > crate::bins::MOST_BINS {
            self.now(line).too_many = true;
            return Taken::Unreadable;
        }
        let mut filled = self.filled;
        let run = self.now(line);
        let unit = run.unit().ns();
        let taken = run.table.get_or_insert_default().add(part, line, unit, &mut filled);
        if taken == Taken::Unreadable {
            run.unread(line.text.trim());
        }
        self.filled = filled;
        taken
    }
}

impl Next {
    fn at(line: &Line) -> Next {
        Next { line: line.number, before: line.before.map(str::to_owned), ..Next::default() }
    }
}

type Parse = fn(&mut Reader, &Line) -> Taken;

impl tools::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let digits = line.text.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if !digits && self.comment(line) {
            return Taken::Yes;
        }
        let parsers: &[Parse] = match digits && self.open.is_none() {
            true => &[Reader::verbose, Reader::table, Reader::prompt],
            false => &[Reader::live, Reader::verbose, Reader::table, Reader::prompt],
        };
        for parse in parsers {
            match parse(self, line) {
                Taken::No => {}
                taken => return taken,
            }
        }
        Taken::No
    }

    fn many(&mut self, bytes: &[u8]) -> (usize, u64) {
        let Some(run) = self.runs.last_mut().filter(|run| self.next.is_none() && !run.ended()) else { return (0, 0) };
        let unit = run.unit().ns();
        run.verbose.many(bytes, unit)
    }

    fn finish(mut self: Box<Self>, options: &Options) -> Option<Found> {
        if let Some((open, _)) = self.open.take()
            && let Some(run) = self.runs.last_mut()
        {
            run.torn = Some(open);
        }
        let mut found = Found { tool: Some("cyclictest".into()), ..Found::default() };
        let mut names: Vec<(&'static str, Tool)> = Vec::new();
        let single = self.runs.iter().filter(|run| !run.is_empty()).count() == 1;
        let mut stated = true;
        for mut run in self.runs {
            run.filled_in(&mut self.filled);
            stated &= run.command.is_some();
            let (blocks, kinds) = run.blocks(options);
            names.extend(kinds);
            found.blocks.extend(blocks);
            found.series.extend(run.live.spikes());
            found.notes.extend(run.broke());
            if single {
                found.dma_latency_us = run.dma_latency_us;
                found.command = run.command.map(|c| c.words).unwrap_or_default();
            }
        }
        let (format, tool) = names.first().copied()?;
        found.format = format.into();
        found.tool = Some(tool.name().into());
        if self.beyond > 0 {
            let text = format!("the text has more than {MOST_RUNS} runs: the others are skipped");
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.beyond), text));
        }
        if options.unit.is_none() && !stated && !found.blocks.is_empty() {
            let text =
                "the text does not state its unit: microseconds are assumed (if cyclictest ran with -N, use --unit ns)";
            found.lost.push(Loss::reported(LostKind::Unit, None, text));
        }
        (!found.blocks.is_empty() || !found.series.is_empty()).then_some(found)
    }
}
