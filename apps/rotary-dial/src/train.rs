//! A pulse train, which consists of the breaks and makes of a dial that returns to its rest position, and the reasons
//! to reject a train.

use punctual_units::Nanos;
use serde::Serialize;

/// Limits on the lengths of breaks and makes. They apply to samples every 10 ms that are up to 9 ms late: an edge is
/// seen up to 19 ms after it happened, and bounce adds 3 ms. They suit dials with 7 to 12 pulses/s and a make ratio of
/// 30 to 50 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time for which the line must stay closed after a pulse before the dial counts as at rest and the digit as
    /// complete. A line that was lifted needs the same time to settle.
    pub digit_timeout: Nanos,
    /// Time for which the line must stay open before the handset counts as hung up.
    pub hang_up: Nanos,
    /// Maximum break: 7 pulses/s and 30 % make give 100 ms, plus 22 ms because edges are seen late.
    pub longest_break: Nanos,
    /// Minimum break: 12 pulses/s and 50 % make give 41.7 ms, minus 22 ms.
    pub shortest_break: Nanos,
    /// Maximum make between two pulses (71 ms plus 22 ms). A longer make that is shorter than the digit timeout is
    /// neither within a digit nor between two digits.
    pub longest_make: Nanos,
    /// Minimum length of both parts of a break that is split. A break is split at a single closed sample in it, because
    /// a make can be so short (25 ms) that only one sample falls into it.
    pub shortest_part: Nanos,
    /// Minimum length of a break that may really be two breaks, separated by a make that fell between two samples.
    pub doubtful_break: Nanos,
    /// Time between two samples above which a make between them may be missed.
    pub make_unseen: Nanos,
    /// Time between the first and the last of three samples above which a break may be missed, because only one of the
    /// samples falls into the break.
    pub break_unseen: Nanos,
}

impl Default for Timing {
    fn default() -> Timing {
        let ms = Nanos::from_millis;
        Timing {
            digit_timeout: ms(200),
            hang_up: ms(200),
            longest_break: ms(124),
            shortest_break: ms(15),
            longest_make: ms(110),
            shortest_part: ms(30),
            doubtful_break: ms(100),
            make_unseen: ms(22),
            break_unseen: ms(36),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The handset was hung up before the dial had come to rest.
    HungUp,
    /// A break was longer than a break of any dial, but shorter than a hang-up.
    LongBreak,
    /// A break was shorter than a break of any dial.
    ShortBreak,
    /// A make was longer than any make within a digit, but shorter than the pause between two digits.
    LongMake,
    Doubtful,
    /// Samples were missing, or so late that a pulse may have been missed.
    Samples,
    TooMany,
}

impl Reason {
    /// All reasons, in the order of their counters.
    pub const ALL: [Reason; 7] = [
        Reason::HungUp,
        Reason::LongBreak,
        Reason::ShortBreak,
        Reason::LongMake,
        Reason::Doubtful,
        Reason::Samples,
        Reason::TooMany,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Reason::HungUp => "hung_up",
            Reason::LongBreak => "long_break",
            Reason::ShortBreak => "short_break",
            Reason::LongMake => "long_make",
            Reason::Doubtful => "doubtful",
            Reason::Samples => "samples",
            Reason::TooMany => "too_many",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Break {
    start: Nanos,
    /// Start of the part of the break after its last split.
    part: Nanos,
    /// Time of a closed sample that may split the break.
    cut: Option<Nanos>,
    cuts: u8,
    unseen: bool,
}

/// The pulses since the dial left its rest position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    pulses: u8,
    /// The first reason to reject the train, if there is one.
    wrong: Option<Reason>,
    now: Break,
}

impl Train {
    /// Starts a train with its first break, at `at`.
    pub(crate) fn new(at: Nanos) -> Train {
        Train { pulses: 0, wrong: None, now: Break { start: at, part: at, cut: None, cuts: 0, unseen: false } }
    }

    /// Rejects the train. Only the first reason is kept.
    pub(crate) fn reject(&mut self, reason: Reason) {
        self.wrong = self.wrong.or(Some(reason));
    }

    /// Starts the next break at `at`, after a make of length `make`.
    pub(crate) fn open(&mut self, at: Nanos, make: Nanos, timing: &Timing) {
        if make > timing.longest_make {
            self.reject(Reason::LongMake);
        }
        self.now = Train::new(at).now;
    }

    /// Records that samples were so far apart that a make in this break may have been missed.
    pub(crate) fn unseen(&mut self) {
        self.now.unseen = true;
    }

    /// Records one closed sample between two open ones, which is bounce or a short make.
    pub(crate) fn contrary(&mut self, at: Nanos, timing: &Timing) {
        if at.saturating_sub(self.now.part) < timing.shortest_part {
            return;
        }
        match self.now.cut {
            Some(cut) if at.saturating_sub(cut) < timing.shortest_part => {}
            Some(cut) => {
                self.cut(cut, timing);
                self.now.cut = Some(at);
            }
            None => self.now.cut = Some(at),
        }
    }

    fn cut(&mut self, at: Nanos, timing: &Timing) {
        if at.saturating_sub(self.now.part) > timing.longest_break {
            self.reject(Reason::LongBreak);
        }
        self.now.part = at;
        self.now.cuts = self.now.cuts.saturating_add(1);
    }

    /// Returns how long the line has been open without a closed sample.
    pub(crate) fn open_for(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.now.cut.unwrap_or(self.now.part))
    }

    /// Ends the break, which counts as one pulse, or as several if it was split.
    pub(crate) fn close(&mut self, at: Nanos, timing: &Timing) {
        if let Some(cut) = self.now.cut.filter(|cut| at.saturating_sub(*cut) >= timing.shortest_part) {
            self.cut(cut, timing);
        }
        let (whole, last) = (at.saturating_sub(self.now.start), at.saturating_sub(self.now.part));
        if last > timing.longest_break {
            self.reject(Reason::LongBreak);
        } else if whole < timing.shortest_break {
            self.reject(Reason::ShortBreak);
        }
        // This is one break of a slow dial or two of a fast one: ambiguous.
        let doubtful = self.now.cuts > 0 && whole <= timing.longest_break;
        if doubtful || (self.now.unseen && whole >= timing.doubtful_break) {
            self.reject(Reason::Doubtful);
        }
        self.pulses = self.pulses.saturating_add(1).saturating_add(self.now.cuts);
    }

    /// Ends the train when the dial is at rest. Returns the number of pulses, or the reason to reject them.
    pub(crate) fn end(&self) -> Result<u8, Reason> {
        match self.wrong {
            Some(reason) => Err(reason),
            None if self.pulses > 10 => Err(Reason::TooMany),
            None => Ok(self.pulses),
        }
    }

    pub(crate) fn pulses(&self) -> u8 {
        self.pulses
    }
}
