//! Text output of cyclictest: histograms, live rows, `-v` rows, spikes, break values. Also the similar live rows of
//! cyclicdeadline and jitterdebugger.
//!
//! Formats (rt-tests 2.4 and 2.10, cyclictest.c `print_hist` and `print_stat`): see docs/import.md.

mod histogram;
mod live;
mod verbose;

use crate::block::{Found, Loss};
use crate::cmdline::{self, Command};
use crate::text::Lines;
use crate::{Options, Unit, detect};
use histogram::Histograms;
use live::{Live, Tool};
use punctual_model::LostKind;
use verbose::Verbose;

pub(crate) struct Reader {
    unit_given: bool,
    unit: Unit,
    command: Option<Command>,
    histograms: Histograms,
    live: Live,
    verbose: Verbose,
    dma_latency_us: Option<i32>,
    break_value: Option<String>,
    break_thread: Option<String>,
    unreadable: u64,
    first_unreadable: Option<String>,
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        Reader {
            unit_given: options.unit.is_some(),
            unit: options.unit.unwrap_or(Unit::Micros),
            command: None,
            histograms: Histograms::default(),
            live: Live::default(),
            verbose: Verbose::default(),
            dma_latency_us: None,
            break_value: None,
            break_thread: None,
            unreadable: 0,
            first_unreadable: None,
        }
    }

    fn prompt(&mut self, line: &str) -> bool {
        let Some(words) = cmdline::in_prompt(line, "cyclictest") else { return false };
        let command = Command::parse(words);
        // Only a command before the first figure is known to have produced the figures.
        if self.histograms.is_empty() && self.live.is_empty() && self.verbose.is_empty() {
            if !self.unit_given {
                self.unit = command.unit();
            }
            self.command = Some(command);
        }
        true
    }

    fn comment(&mut self, line: &str) -> bool {
        if let Some(us) = line.strip_prefix("# /dev/cpu_dma_latency set to ") {
            self.dma_latency_us = us.strip_suffix("us").and_then(|us| us.trim().parse().ok());
            return true;
        }
        let short = |text: &str| Some(text.trim().chars().take(20).collect::<String>());
        if let Some(value) = line.strip_prefix("# Break value:") {
            self.break_value = short(value);
            return true;
        }
        if let Some(thread) = line.strip_prefix("# Break thread:") {
            self.break_thread = short(thread);
            return true;
        }
        false
    }

    fn unread(&mut self, line: &str) {
        self.unreadable += 1;
        self.first_unreadable.get_or_insert_with(|| line.chars().filter(|c| !c.is_control()).take(60).collect());
    }
}

impl Lines for Reader {
    fn line(&mut self, line: &str) -> Result<(), (String, &'static str)> {
        let trimmed = line.trim_start();
        let unit = self.unit.ns();
        if self.live.wants(trimmed) {
            if !self.live.row(trimmed, unit) {
                self.unread(trimmed);
            }
            return Ok(());
        }
        if self.verbose.interval(trimmed) || self.comment(trimmed) {
            return Ok(());
        }
        if trimmed.starts_with(|c: char| c.is_ascii_digit()) && detect::is_raw_row(trimmed) {
            if !self.verbose.row(trimmed, unit) {
                self.unread(trimmed);
            }
            return Ok(());
        }
        match self.histograms.line(line, unit) {
            histogram::Taken::Yes => Ok(()),
            histogram::Taken::Unreadable => {
                self.unread(trimmed);
                Ok(())
            }
            histogram::Taken::TooMany => Err((
                format!("more than {} filled bins", crate::bins::MOST_BINS),
                "import fewer threads, or a histogram with fewer bins",
            )),
            histogram::Taken::No => {
                self.prompt(line);
                Ok(())
            }
        }
    }

    fn finish(self, options: &Options) -> Found {
        let mut found = Found { tool: Some("cyclictest".into()), ..Found::default() };
        let period = options.period.map(|p| p.0);
        let unreadable = self.unreadable;
        let Reader { unit, command, histograms, live, verbose, .. } = self;
        let facts = live::Facts { command: command.as_ref(), live: &live, verbose: &verbose, period };
        found.blocks = histograms.finish(unit.ns(), &facts);
        found.format = "cyclictest-histogram".into();
        if found.blocks.is_empty() && !verbose.is_empty() {
            found.format = "cyclictest-verbose".into();
            found.blocks = vec![verbose.block(unit.ns(), &facts)];
        } else if found.blocks.is_empty() && !live.is_empty() {
            let (format, tool) = match live.tool() {
                Tool::Cyclictest => ("cyclictest-live", "cyclictest"),
                Tool::Cyclicdeadline => ("cyclicdeadline-live", "cyclicdeadline"),
                Tool::Jitterdebugger => ("jitterdebugger-live", "jitterdebugger"),
            };
            (found.format, found.tool) = (format.into(), Some(tool.into()));
            found.blocks = vec![live.block(unit.ns(), &facts)];
        }
        found.series = live.spikes();
        found.lost.extend(lost_unit(self.unit_given, command.is_some(), found.blocks.is_empty()));
        if unreadable > 0 {
            let first = self.first_unreadable.unwrap_or_default();
            let text = format!("lines that look like figures could not be read; the first: `{first}`");
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(unreadable), text));
        }
        if let Some(value) = self.break_value {
            let thread = self.break_thread.unwrap_or_else(|| "unknown".into());
            found.notes.push(format!("cyclictest stopped at its break value: thread {thread}, {value}"));
        }
        found.dma_latency_us = self.dma_latency_us;
        found.command = command.map(|c| c.words).unwrap_or_default();
        found
    }
}

fn lost_unit(given: bool, command: bool, nothing: bool) -> Option<Loss> {
    let text =
        "the text does not tell its unit: microseconds are assumed; with -N they are nanoseconds (say --unit ns)";
    (!given && !command && !nothing).then(|| Loss::told(LostKind::Unit, None, text))
}
