//! Text output of rtla: `timerlat hist`, `osnoise hist`, `timerlat top`, `osnoise top`, `hwnoise`
//! (tools/tracing/rtla/src).

mod hist;
mod top;

use crate::block::{Block, Found, Loss};
use crate::tools::{self, Line, Taken};
use crate::{Options, Unit};
use hist::Hist;
use punctual_model::LostKind;
use top::{Noise, Timerlat};

const MOST: usize = 64;

#[derive(Default)]
enum Now {
    #[default]
    Nothing,
    Hist(Hist),
    Timerlat(Timerlat),
    Noise(Noise),
}

pub(crate) struct Reader {
    unit: Option<Unit>,
    now: Now,
    hists: Vec<(Hist, Place)>,
    timerlats: Vec<(Timerlat, Place)>,
    noises: Vec<(Noise, Place)>,
    /// Number of the first line of the table being read.
    line: u64,
    before: Option<String>,
    unreadable: u64,
    full: bool,
    beyond: u64,
    /// The largest latency reported by an auto-analysis.
    analysed_us: Option<f64>,
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        let (hists, timerlats, noises) = Default::default();
        let (line, before, unreadable, full, beyond) = Default::default();
        Reader {
            unit: options.unit,
            now: Now::Nothing,
            hists,
            timerlats,
            noises,
            line,
            before,
            unreadable,
            full,
            beyond,
            analysed_us: None,
        }
    }

    fn header(line: &str) -> Option<Now> {
        let lower = line.to_ascii_lowercase();
        match () {
            () if lower.starts_with("# rtla timerlat hist") => Some(Now::Hist(Hist::new(false))),
            () if lower.starts_with("# rtla osnoise hist") => Some(Now::Hist(Hist::new(true))),
            () if line == "Timer Latency" => Some(Now::Timerlat(Timerlat::default())),
            () if line == "Operating System Noise" => Some(Now::Noise(Noise::new("OS noise"))),
            () if line == "Hardware-related Noise" => Some(Now::Noise(Noise::new("hardware noise"))),
            () => None,
        }
    }

    fn finish_run(&mut self) {
        let place = Place { line: self.line, before: self.before.take() };
        self.beyond += match std::mem::take(&mut self.now) {
            Now::Hist(hist) => put(&mut self.hists, hist, place, |_, _| false),
            // A redrawn screen shows the same run at a later time.
            Now::Timerlat(top) => put(&mut self.timerlats, top, place, Timerlat::continues),
            Now::Noise(noise) => put(&mut self.noises, noise, place, Noise::continues),
            Now::Nothing => 0,
        };
    }
}

impl tools::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let trimmed = line.text.trim();
        if let Some(next) = Reader::header(trimmed) {
            self.finish_run();
            self.now = next;
            (self.line, self.before) = (line.number, line.before.map(str::to_owned));
            return Taken::Yes;
        }
        let analysed = ["Thread latency:", "IRQ latency:"].iter().find_map(|label| trimmed.strip_prefix(label));
        if let Some(us) = analysed.and_then(micros) {
            self.analysed_us = Some(self.analysed_us.unwrap_or(0.0).max(us));
            return Taken::Yes;
        }
        let read = match &mut self.now {
            // Text that was pasted without its comments still has the row of column names.
            Now::Nothing if hist::is_header(trimmed) => {
                let mut hist = Hist::new(trimmed.contains("CPU-"));
                let read = hist.line(trimmed);
                self.now = Now::Hist(hist);
                (self.line, self.before) = (line.number, line.before.map(str::to_owned));
                read
            }
            Now::Nothing => return Taken::No,
            Now::Hist(hist) if hist.is_full() => {
                self.full = true;
                return Taken::Unreadable;
            }
            Now::Hist(hist) => hist.line(trimmed),
            Now::Timerlat(top) => top.line(trimmed),
            Now::Noise(noise) => noise.line(trimmed),
        };
        match read {
            Some(taken) => taken,
            None => {
                self.unreadable += 1;
                Taken::Unreadable
            }
        }
    }

    fn finish(mut self: Box<Self>, options: &Options) -> Option<Found> {
        self.finish_run();
        let mut found = Found { tool: Some("rtla".into()), ..Found::default() };
        let untold = self.unit.is_none() && self.hists.iter().any(|(hist, _)| hist.without_unit());
        let mut name = |format: &str| {
            if found.format.is_empty() {
                found.format = format.into();
            }
        };
        self.hists.iter().for_each(|(hist, _)| name(hist.format()));
        self.timerlats.iter().for_each(|_| name("rtla-timerlat-top"));
        self.noises.iter().for_each(|_| name("rtla-noise-top"));
        for (hist, place) in self.hists {
            found.blocks.extend(hist.blocks(self.unit, options).into_iter().map(|block| place.of(block)));
        }
        for (top, place) in self.timerlats {
            found.blocks.extend(top.blocks(options).into_iter().map(|block| place.of(block)));
        }
        for (noise, _) in self.noises {
            found.series.extend(noise.series());
        }
        if untold {
            let text = "the text does not state its unit: microseconds are assumed (otherwise use --unit ns)";
            found.lost.push(Loss::reported(LostKind::Unit, None, text));
        }
        let full = format!("a table has more than {} filled bins: use a larger --bucket-size", crate::bins::MOST_BINS);
        let problems = [
            (self.unreadable, "rows that look like results could not be read"),
            (u64::from(self.full), full.as_str()),
            (self.beyond, "the text has more tables than can be read"),
        ];
        for (n, text) in problems.into_iter().filter(|(n, _)| *n > 0) {
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(n), text));
        }
        let largest = found.blocks.iter().flat_map(|b| &b.threads).filter_map(|t| t.max_ns).max().unwrap_or(0);
        if let Some(us) = self.analysed_us.filter(|us| (us.floor() * 1_000.0) as u64 > largest) {
            let text = format!("the auto-analysis reports a latency of {us} µs, which is in none of the tables");
            found.lost.push(Loss::problem(LostKind::Disagreement, None, text));
        }
        (found.has_figures() || self.analysed_us.is_some()).then_some(found)
    }
}

/// Parses a value such as `  243.04 us (100%)`.
fn micros(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let us = crate::number::decimal(words.next()?)?;
    (words.next() == Some("us")).then_some(us)
}

/// Where a table starts in the text.
#[derive(Clone, Default)]
struct Place {
    line: u64,
    before: Option<String>,
}

impl Place {
    fn of(&self, block: Block) -> Block {
        Block { line: self.line, before: self.before.clone(), ..block }
    }
}

/// Replaces the last element with `one` if `one` continues it, otherwise appends `one`.
fn put<T>(all: &mut Vec<(T, Place)>, one: T, place: Place, continues: fn(&T, &T) -> bool) -> u64 {
    // Different text before two tables indicates different runs.
    let earlier = all.pop_if(|(last, before)| before.before == place.before && continues(&one, last));
    if all.len() >= MOST {
        return 1;
    }
    all.push((one, earlier.map_or(place, |(_, place)| place)));
    0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Irq,
    Thread,
    User,
    Noise,
}

impl Kind {
    pub fn label(self) -> &'static str {
        match self {
            Kind::Irq => "IRQ latency",
            Kind::Thread => "thread latency",
            Kind::User => "return-to-user latency",
            Kind::Noise => "noise",
        }
    }
}
