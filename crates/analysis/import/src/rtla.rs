//! Text output of rtla: `timerlat hist`, `osnoise hist`, `timerlat top`, `osnoise top`, `hwnoise`
//! (tools/tracing/rtla/src).

mod hist;
mod top;

use crate::block::{Found, Loss};
use crate::text::Lines;
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
    hists: Vec<Hist>,
    timerlats: Vec<Timerlat>,
    noises: Vec<Noise>,
    unreadable: u64,
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        let (hists, timerlats, noises) = Default::default();
        Reader { unit: options.unit, now: Now::Nothing, hists, timerlats, noises, unreadable: 0 }
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

    fn put_away(&mut self) {
        match std::mem::take(&mut self.now) {
            Now::Hist(hist) if self.hists.len() < MOST => self.hists.push(hist),
            // A redrawn screen shows the same run at a later time.
            Now::Timerlat(top) => put(&mut self.timerlats, top, Timerlat::continues),
            Now::Noise(noise) => put(&mut self.noises, noise, Noise::continues),
            _ => {}
        }
    }
}

impl Lines for Reader {
    fn line(&mut self, line: &str) -> Result<(), (String, &'static str)> {
        let trimmed = line.trim();
        if let Some(next) = Reader::header(trimmed) {
            self.put_away();
            self.now = next;
            return Ok(());
        }
        let read = match &mut self.now {
            Now::Nothing => {
                // Text pasted without its comments still has the row of column names.
                if trimmed.starts_with("Index") {
                    let mut hist = Hist::new(trimmed.contains("CPU-"));
                    let read = hist.line(trimmed);
                    self.now = Now::Hist(hist);
                    read
                } else {
                    Some(())
                }
            }
            Now::Hist(hist) => hist.line(trimmed),
            Now::Timerlat(top) => top.line(trimmed),
            Now::Noise(noise) => noise.line(trimmed),
        };
        self.unreadable += u64::from(read.is_none());
        match &self.now {
            Now::Hist(hist) if hist.is_full() => {
                Err((format!("more than {} filled bins", crate::bins::MOST_BINS), "use a larger --bucket-size"))
            }
            _ => Ok(()),
        }
    }

    fn finish(mut self, options: &Options) -> Found {
        self.put_away();
        let mut found = Found { tool: Some("rtla".into()), ..Found::default() };
        let untold = self.unit.is_none() && self.hists.iter().any(Hist::without_unit);
        for hist in self.hists {
            found.format = if found.format.is_empty() { hist.format().into() } else { found.format };
            found.blocks.extend(hist.blocks(self.unit, options));
        }
        for top in self.timerlats {
            found.format = if found.format.is_empty() { "rtla-timerlat-top".into() } else { found.format };
            found.blocks.extend(top.blocks(options));
        }
        for noise in self.noises {
            found.format = if found.format.is_empty() { "rtla-noise-top".into() } else { found.format };
            found.series.extend(noise.series());
        }
        if untold {
            let text = "the text does not tell its unit: microseconds are assumed (else say --unit ns)";
            found.lost.push(Loss::told(LostKind::Unit, None, text));
        }
        if self.unreadable > 0 {
            let text = "rows that look like figures could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        found
    }
}

/// Replaces the last element if `one` continues it, otherwise appends.
fn put<T>(all: &mut Vec<T>, one: T, continues: fn(&T, &T) -> bool) {
    if all.last().is_some_and(|last| continues(&one, last)) {
        all.pop();
    }
    if all.len() < MOST {
        all.push(one);
    }
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
